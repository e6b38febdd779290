"""What identifies things. A name is for people; only a UID proves identity."""

import re
from typing import NamedTuple, NewType

Uid = NewType("Uid", str)
ObjectKey = tuple[str, str]
"""Namespace and name of an object of a known kind."""


_NAME = re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")
_UID = re.compile(r"[-.\w]{1,64}", re.ASCII)


class JobKey(NamedTuple):
    """Where a Job lives; what the work queue carries."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class JobRef(NamedTuple):
    """One Job and no other, also after it was deleted and made again under the same name."""

    key: JobKey
    uid: Uid

    @property
    def can_exist(self) -> bool:
        """Kubernetes gives such names and UIDs. A reference to an owner may have any."""
        key = self.key
        return all((_NAME.fullmatch(key.namespace), _NAME.fullmatch(key.name), _UID.fullmatch(self.uid)))
