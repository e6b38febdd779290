"""Maps a problem with the API server to its sentence in `core.readiness`."""

from muster.core import readiness
from muster.kube.problems import (
    AccessProblem,
    CallFailed,
    MissingApi,
    NoApi,
    NotServed,
    ReadForbidden,
    UnsupportedVersion,
    WriteForbidden,
)


def problem_sentence(problem: MissingApi | AccessProblem) -> str:
    match problem:
        case NoApi(setting):
            return readiness.no_api(setting)
        case UnsupportedVersion(version):
            return readiness.version_not_supported(version)
        case NotServed(plural, profile):
            return readiness.not_served(plural, profile)
        case ReadForbidden(message):
            return readiness.permission_missing(message)
        case WriteForbidden(verb, resource, subresource):
            return readiness.write_not_permitted(verb, resource, subresource)
        case CallFailed(message):
            return message
