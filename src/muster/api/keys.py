"""Identifiers of objects. Names are for people; only a UID proves identity."""

import re
from typing import NamedTuple, NewType

Uid = NewType("Uid", str)
ObjectKey = tuple[str, str]
"""Namespace and name of an object of a known kind."""


_NAME = re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")
_UID = re.compile(r"[-.\w]{1,64}", re.ASCII)


class JobKey(NamedTuple):
    """Namespace and name of a Job; the key of the work queue."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class JobRef(NamedTuple):
    """Exactly one Job: a Job that is created again under the same name has another UID."""

    key: JobKey
    uid: Uid

    @property
    def can_exist(self) -> bool:
        """Whether Kubernetes can create such a name and UID. An owner reference may contain any string."""
        key = self.key
        return all((_NAME.fullmatch(key.namespace), _NAME.fullmatch(key.name), _UID.fullmatch(self.uid)))
