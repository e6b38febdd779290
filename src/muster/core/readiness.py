"""Why a replica is not ready, as sentences for the cluster administrator: /readyz, the log and refusals repeat them.

`core.profile_choice` has the sentences about a change of the API.
"""

from collections.abc import Sequence
from datetime import datetime

from muster.api.profile import CRD_IN_OWN_GROUP, NATIVE, OWN_GROUP, ApiProfile

API_NOT_ASKED = "Muster has not checked yet which scheduling API the API server serves"
NOT_WATCHING = "the watch streams have not started yet"
NO_CERTIFICATE = "Muster has no serving certificate"
NO_CERTIFICATE_YET = f"{NO_CERTIFICATE} yet"
CERTIFICATE_NOT_TRUSTED = "the API server does not trust the certificate yet"
PORT_NOT_TRIED = "Muster has not verified yet that its admission port answers"
NO_WEBHOOKS_YET = "the webhooks are not registered yet"
UNINSTALLED = "`muster leave` removed the webhooks; to use Muster again, restart its Deployment"
API_CHANGES = "Muster changes to another scheduling API; pods of gangs wait for some seconds"
SHUTTING_DOWN = "Muster is shutting down"


# The API server and Muster's permissions.

SERVE_BUILT_IN = (
    f"start it with --runtime-config={NATIVE.api_version}=true and "
    "--feature-gates=GenericWorkload=true,GangScheduling=true"
)
INSTALL_CRDS = "run `muster crds install`"
"""What the administrator can do so that the API server serves the API."""


def no_api(setting: str) -> str:
    """`setting`: the value of `apiGroup`."""
    if setting == OWN_GROUP:
        return not_served("workloads", CRD_IN_OWN_GROUP)
    return f"{not_served('workloads', NATIVE)}, or {INSTALL_CRDS}"


def not_served(plural: str, profile: ApiProfile) -> str:
    remedy = SERVE_BUILT_IN if profile.native else INSTALL_CRDS
    return f"the API server does not serve {plural} of {profile.api_version}: {remedy}"


def version_not_supported(version: str) -> str:
    return (
        f"the API server serves Workloads as {NATIVE.group}/{version}, which this version of Muster does not "
        f"support; it supports {NATIVE.version}"
    )


def permission_missing(what: str) -> str:
    return f"Muster's ServiceAccount lacks a permission that its roles must grant: {what}"


def write_not_permitted(verb: str, resource: str, subresource: str) -> str:
    return permission_missing(f"it may not {verb} {f'the {subresource} of ' if subresource else ''}{resource}")


# The certificates.


def certificates_unusable(why: str) -> str:
    return f"the certificates cannot be read or written: {why}"


def certificate_unusable(why: str) -> str:
    return f"the certificate cannot be used: {why}"


def port_silent(why: str) -> str:
    return f"admission does not answer on its own port: {why}"


def certificate_not_servable(why: str) -> str:
    return f"the certificate cannot be served: {why}"


def certificate_files_unusable(place: str, why: str) -> str:
    return f"{place} cannot be used: {why}"


def certificate_files_unreadable(directory: str) -> str:
    return f"the certificates in {directory} cannot be read"


def certificate_in_directory_unusable(directory: str, why: str) -> str:
    return certificate_files_unusable(f"the certificate in {directory}", why)


def flags_unusable(certificate: str, key: str, why: str) -> str:
    return f"cannot serve with {certificate} and {key}: {why}"


# Why the API server would reject a certificate, as the end of a sentence.

NOT_SIGNED_BY_AUTHORITY = "it is not signed by the authority in ca.crt"


def expired_at(moment: datetime) -> str:
    return f"it expired at {_utc(moment)}"


def not_valid_before(moment: datetime) -> str:
    return f"it is not valid before {_utc(moment)}"


def not_for_host(host: str) -> str:
    return f"it is not for {host}"


def port_answers(status: int) -> str:
    return f"it answers {status}"


def _utc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def secret_keeps_changing(secret: str) -> str:
    return f"the Secret {secret} keeps changing"


def namespace_missing(namespace: str) -> str:
    return f"namespace {namespace} does not exist: create it"


# Why Muster writes the Secret of the certificate, as the end of a sentence.

NOTHING_STORED = "it did not exist"
AUTHORITY_UNREADABLE = "its ca.crt and ca.key cannot be read"
CERTIFICATES_UNREADABLE = "its certificates cannot be read"
AUTHORITY_DUE = "its authority is in the last third of its lifetime"
AUTHORITY_FOREIGN = "Muster did not create its authority"
AUTHORITY_KEY_FOREIGN = "its authority's key belongs to another certificate"
AUTHORITY_EXPIRED = "its authority has expired"
AUTHORITY_NOT_YET_VALID = "its authority is not valid yet"
LEAF_UNREADABLE = "its certificate and key cannot be read, or are not a pair"
LEAF_FOREIGN = "another authority signed its certificate"
LEAF_EXPIRED = "its certificate has expired"
LEAF_NOT_YET_VALID = "its certificate is not valid yet"
LEAF_DUE = "its certificate is in the last third of its lifetime"


def secret_lacks(key: str) -> str:
    return f"it has no {key}"


def leaf_lacks(hosts: Sequence[str]) -> str:
    return f"its certificate is not for {', '.join(hosts)}"


# The webhooks, the Lease and the tasks.


def configurations_missing(kinds: Sequence[str], name: str) -> str:
    return (
        f"there is no {' and no '.join(kinds)} {name}, and Muster may not create one: "
        "run `helm upgrade`, or `kubectl apply -f manifests/webhooks.yaml`"
    )


def owner_missing(namespace: str) -> str:
    return f"namespace {namespace} does not exist, so nothing owns the webhooks: they outlive Muster"


def owner_not_permitted(configuration: str, namespace: str, why: str) -> str:
    return f"{configuration} has no owner, and is not deleted with the namespace {namespace}: {why}"


def webhooks_unregistered(why: str) -> str:
    return f"the webhooks cannot be registered: {why}"


def agreement_unreadable(why: str) -> str:
    return f"Muster cannot read the Lease, which names the API that the replicas use: {why}"


def agreement_unwritable(why: str) -> str:
    return f"Muster cannot write the Lease, which names the API that the replicas use: {why}"


def task_keeps_failing(task: str, kind: str) -> str:
    """`kind`: the type of the unexpected error."""
    return f"the task {task} keeps failing with {kind}, which is a bug in Muster; its log says where"


def watching_cannot_start(why: str) -> str:
    """Only a restart of the process can help: /livez reports it."""
    return f"watching cannot be started: {why}"
