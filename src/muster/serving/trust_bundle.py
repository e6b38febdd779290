"""Whom the API server has to trust: every authority whose certificate some replica may be serving."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509

from muster.serving.certificates import as_pem, is_authority

REMEMBERED = timedelta(hours=1)
"""How long one that is no longer met is still vouched for: other replicas read the new one a little later."""


@dataclass(slots=True)
class TrustBundle:
    clock: Callable[[], datetime]
    _seen: dict[x509.Certificate, datetime] = field(default_factory=dict)

    def note(self, met: Iterable[x509.Certificate]) -> None:
        now = self.clock()
        self._seen |= dict.fromkeys(met, now)

    def recall(self, registered: Iterable[x509.Certificate]) -> None:
        """Those that were trusted before this process came: a replica that is older may still count on them."""
        now = self.clock()
        for each in registered:
            if is_authority(each):
                self._seen.setdefault(each, now)

    def pem(self) -> bytes:
        """In an order that does not depend on who asks, so that a settled bundle stays as it is."""
        now = self.clock()
        for each, seen in list(self._seen.items()):
            if now - seen > REMEMBERED or now >= each.not_valid_after_utc:
                del self._seen[each]
        return as_pem(*sorted(self._seen, key=lambda each: (each.not_valid_before_utc, each.serial_number)))
