"""What is wrong with the API server, or with Muster's permissions, as data. `core.readiness` has the sentences."""

from dataclasses import dataclass

from muster.api.profile import ApiProfile


@dataclass(frozen=True, slots=True)
class NoApi:
    """The server serves none of the APIs that the setting `apiGroup` allows."""

    setting: str


@dataclass(frozen=True, slots=True)
class UnsupportedVersion:
    """The server has the built-in API in a version that Muster does not support."""

    version: str


@dataclass(frozen=True, slots=True)
class NotServed:
    """The server does not serve this kind."""

    plural: str
    profile: ApiProfile


@dataclass(frozen=True, slots=True)
class ReadForbidden:
    """Muster's account lacks a permission to list or watch."""

    message: str
    """What the API server says."""


@dataclass(frozen=True, slots=True)
class WriteForbidden:
    """Muster's account lacks a permission to write."""

    verb: str
    resource: str
    subresource: str


@dataclass(frozen=True, slots=True)
class CallFailed:
    """The API server did not answer, or with another error."""

    message: str


MissingApi = NoApi | UnsupportedVersion
AccessProblem = NotServed | ReadForbidden | WriteForbidden | CallFailed
