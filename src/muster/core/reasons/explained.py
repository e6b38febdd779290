"""A reason that docs/reasons.md explains."""

from enum import StrEnum

NOTHING = "nothing"


class Explained(StrEnum):
    sentence: str
    remedy: str
    """What a person can do about it."""

    def __new__(cls, value: str, sentence: str, remedy: str = NOTHING) -> "Explained":
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        member.remedy = remedy
        return member
