"""The three kinds of API server that Muster supports, as flags."""

from __future__ import annotations

from local_cluster.settings import ClusterSettings

# A component refuses WorkloadAwarePreemption unless GangScheduling is on as well.
_NATIVE_GATES = (
    "GenericWorkload",
    "GangScheduling",
    "TopologyAwareWorkloadScheduling",
    "WorkloadAwarePreemption",
    "DRAWorkloadResourceClaims",
)
_IN_TREE_GATE = "WorkloadWithJob"


def apiserver_profile(settings: ClusterSettings) -> dict[str, str]:
    match settings.profile:
        case "native":
            return {
                **controller_manager_profile(settings),
                "--runtime-config": "scheduling.k8s.io/v1alpha2=true",
            }
        case "crd":
            # The built-in group (PriorityClass) owns its whole path: CRDs in it return 404 unless it is off.
            return {
                "--runtime-config": "scheduling.k8s.io/v1=false",
                "--disable-admission-plugins": "Priority",
            }
        case "stock":
            return {}


def controller_manager_profile(settings: ClusterSettings) -> dict[str, str]:
    if settings.profile != "native":
        return {}
    in_tree = str(settings.in_tree).lower()
    return {"--feature-gates": f"{_joined_gates()},{_IN_TREE_GATE}={in_tree}"}


def scheduler_profile(settings: ClusterSettings) -> dict[str, str]:
    return {"--feature-gates": _joined_gates()} if settings.profile == "native" else {}


def _joined_gates() -> str:
    return ",".join(f"{gate}=true" for gate in _NATIVE_GATES)
