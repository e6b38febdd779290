from pathlib import Path
from typing import Any

import pytest

from local_cluster.components import (
    APISERVER,
    CONTROLLER_MANAGER,
    ETCD,
    KWOK,
    SCHEDULER,
    Ports,
    components_in_start_order,
)
from local_cluster.layout import ClusterLayout
from local_cluster.settings import ClusterSettings

COMPONENTS = (ETCD, APISERVER, CONTROLLER_MANAGER, SCHEDULER, KWOK)
BINARIES = {name: Path("/bin") / name for name in COMPONENTS}
GATES = (
    "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true,"
    "WorkloadAwarePreemption=true,DRAWorkloadResourceClaims=true"
)


def flags_of(component: str, **settings: Any) -> dict[str, str]:
    built = components_in_start_order(
        ClusterLayout(Path("/state/test")), ClusterSettings(**settings), Ports(*range(1001, 1007)), BINARIES
    )
    argv = next(candidate.argv for candidate in built if candidate.name == component)
    return dict(flag.partition("=")[::2] for flag in argv[1:])


@pytest.mark.parametrize(
    ("component", "settings", "gates"),
    [
        pytest.param(APISERVER, {}, f"{GATES},WorkloadWithJob=false", id="a native server has every gate but in-tree"),
        pytest.param(
            APISERVER, {"in_tree": True}, f"{GATES},WorkloadWithJob=true", id="in-tree is on at the API server"
        ),
        pytest.param(
            CONTROLLER_MANAGER,
            {"in_tree": True},
            f"{GATES},WorkloadWithJob=true",
            id="in-tree is on at the controllers",
        ),
        pytest.param(SCHEDULER, {"in_tree": True}, GATES, id="the scheduler does not know the in-tree gate"),
        pytest.param(APISERVER, {"profile": "stock"}, None, id="a stock server has no gates"),
        pytest.param(SCHEDULER, {"profile": "crd"}, None, id="a crd scheduler has no gates"),
        pytest.param(
            SCHEDULER,
            {"profile": "stock", "scheduler_flags": ("--feature-gates=A=true",)},
            "A=true",
            id="gates can be added to a profile that has none",
        ),
    ],
)
def test_gates(component: str, settings: dict[str, Any], gates: str | None) -> None:
    assert flags_of(component, **settings).get("--feature-gates") == gates


@pytest.mark.parametrize(
    ("profile", "runtime_config", "disabled"),
    [
        pytest.param("native", "scheduling.k8s.io/v1alpha2=true", None, id="native serves the Workload API"),
        pytest.param("stock", None, None, id="stock leaves all as it is"),
        pytest.param("crd", "scheduling.k8s.io/v1=false", "Priority", id="crd gives the group up"),
    ],
)
def test_served_apis(profile: str, runtime_config: str | None, disabled: str | None) -> None:
    flags = flags_of(APISERVER, profile=profile)
    assert flags.get("--runtime-config") == runtime_config
    assert flags.get("--disable-admission-plugins") == disabled


def test_every_address_is_on_loopback() -> None:
    assert flags_of(APISERVER)["--bind-address"] == "127.0.0.1"
    urls = {name: value for name, value in flags_of(ETCD).items() if name.endswith("-urls")}
    assert len(urls) == 4
    assert all(value.startswith("http://127.0.0.1:") for value in urls.values())


def test_a_plugin_can_be_disabled_beside_those_of_the_profile() -> None:
    flags = flags_of(APISERVER, profile="crd", apiserver_flags=("--disable-admission-plugins=JobValidation",))
    assert flags["--disable-admission-plugins"] == "Priority,JobValidation"


def test_requests_are_audited_only_when_asked() -> None:
    assert "--audit-log-path" not in flags_of(APISERVER)
    assert flags_of(APISERVER, audit=True)["--audit-log-path"] == "/state/test/audit.log"


def test_the_controllers_request_rate_is_as_asked() -> None:
    flags = flags_of(CONTROLLER_MANAGER, kcm_qps=20, kcm_burst=30)
    assert (flags["--kube-api-qps"], flags["--kube-api-burst"]) == ("20", "30")
