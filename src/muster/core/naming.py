"""Names of Workloads, templates and PodGroups: the same as those of the in-tree Job controller (1.36).

So a cluster can switch between Muster and the in-tree controller, and concurrent creators get AlreadyExists. Names are
never used for discovery. Two names differ from the in-tree ones, because with those the Job would never start: a
template name that would not be a DNS label, and the name after another owner took the first one (`collision` > 0).
"""

import re

from muster.api.keys import Uid

MAX_NAME = 253
"""The longest DNS subdomain; object names are DNS subdomains."""
MAX_LABEL = 63
"""The longest DNS label; template names are DNS labels."""

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Kubernetes' safe alphabet: no vowels, so that no hash spells a word."""
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_TEMPLATE_SUFFIX = "-pgt-0"


def workload_name(job_name: str, job_uid: Uid, collision: int = 0) -> str:
    # "(types.UID)" is how Go's %#v prints the type in front of the value; the in-tree controller hashes that text.
    digest = _hash(f"(types.UID){job_uid}{_nth(collision)}")
    return f"{job_name[: MAX_NAME - 1 - len(digest)]}-{digest}"


def template_name(job_name: str) -> str:
    name = f"{job_name}{_TEMPLATE_SUFFIX}"
    if is_dns_label(name):
        return name
    tail = f"-{_hash(job_name)}{_TEMPLATE_SUFFIX}"
    head = job_name.replace(".", "-")[: MAX_LABEL - len(tail)].rstrip("-")
    return f"{head}{tail}"


def pod_group_name(workload: str, template: str, collision: int = 0, member: str = "") -> str:
    """`member` is the UID of the Job, if many Jobs create their PodGroups from the same template."""
    digest = _hash(f"{workload}{template}{member}{_nth(collision)}")
    workload, template = _fit(workload, template, MAX_NAME - 2 - len(digest))
    return f"{workload}-{template}-{digest}"


def is_dns_label(name: str) -> bool:
    return len(name) <= MAX_LABEL and _DNS_LABEL.fullmatch(name) is not None


def _fit(workload: str, template: str, room: int) -> tuple[str, str]:
    """Shorten the longer part, or both to half of the room."""
    half = room // 2
    if len(workload) + len(template) <= room:
        return workload, template
    if len(workload) <= half:
        return workload, template[: room - len(workload)]
    if len(template) <= half:
        return workload[: room - len(template)], template
    return workload[: room - half], template[:half]


def _nth(collision: int) -> str:
    return f"#{collision}" if collision else ""


def _hash(text: str) -> str:
    digits = str(_fnv1a_32(text.encode()))
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in digits)


def _fnv1a_32(data: bytes) -> int:
    value = 0x811C9DC5
    for byte in data:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value
