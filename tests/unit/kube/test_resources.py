"""Where the API server has things."""

import pytest

from muster.kube.resources import JOBS, PODS, Resource


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "path"),
    [
        (PODS, "", "", "/api/v1/pods"),
        (JOBS, "a", "b", "/apis/batch/v1/namespaces/a/jobs/b"),
        (JOBS, "../x", "b?c", "/apis/batch/v1/namespaces/..%2Fx/jobs/b%3Fc"),
    ],
)
def test_each_resource_has_its_path(resource: Resource, namespace: str, name: str, path: str) -> None:
    assert resource.path(namespace, name) == path
