"""The authorities that the API server must trust: all whose certificates a replica may be serving."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509

from muster.serving.certificates import as_pem, is_authority

REMEMBERED = timedelta(hours=1)
"""How long an authority that is no longer in use stays in the bundle: other replicas switch a little later."""


@dataclass(slots=True)
class TrustBundle:
    """Owns when each authority was last in use. The certificate renewer and the webhook reconciler add authorities."""

    clock: Callable[[], datetime]
    _seen: dict[x509.Certificate, datetime] = field(default_factory=dict)

    def note(self, met: Iterable[x509.Certificate]) -> None:
        now = self.clock()
        self._seen |= dict.fromkeys(met, now)

    def recall(self, registered: Iterable[x509.Certificate]) -> None:
        """Keep the authorities that are already registered: an older replica may still need them."""
        now = self.clock()
        for each in registered:
            if is_authority(each):
                self._seen.setdefault(each, now)

    def pem(self) -> bytes:
        """The bundle in a fixed order, so that an unchanged bundle causes no update."""
        now = self.clock()
        for each, seen in list(self._seen.items()):
            if now - seen > REMEMBERED or now >= each.not_valid_after_utc:
                del self._seen[each]
        return as_pem(*sorted(self._seen, key=lambda each: (each.not_valid_before_utc, each.serial_number)))
