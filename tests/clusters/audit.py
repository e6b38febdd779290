"""What the API server's own log says that Muster's account wrote."""

from tests.clusters.api import Object


def what(write: Object) -> tuple[str, str]:
    """Verb and resource; a subresource is a resource of its own."""
    reference = write["objectRef"]
    part = f"/{reference['subresource']}" if reference.get("subresource") else ""
    return write["verb"], reference["resource"] + part


def touches_jobs_or_pods(write: Object) -> bool:
    return write["objectRef"]["resource"] in {"jobs", "pods"}


def is_about(write: Object, namespace: str, job_name: str) -> bool:
    """The Job itself, or an object that is named after it: its Workload, its PodGroup, an event on it."""
    reference = write["objectRef"]
    name = reference.get("name", "")
    named_after = name == job_name or name.startswith((f"{job_name}-", f"{job_name}."))
    return bool(reference.get("namespace") == namespace and named_after)
