"""What identifies things. A name is for people; only a UID proves identity."""

from typing import NamedTuple, NewType

Uid = NewType("Uid", str)


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
