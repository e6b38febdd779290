"""The API profiles: which server has Workloads and PodGroups, and from where."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Profile:
    name: str
    cluster: str
    """The profile of `hack/cluster`."""
    group: str
    flags: tuple[str, ...] = ()
    """More flags of `hack/cluster`."""

    @property
    def native(self) -> bool:
        return self.cluster == "native"

    @property
    def has_priority_classes(self) -> bool:
        return self.cluster != "crd"

    @property
    def built_in_guard(self) -> bool:
        """The server itself refuses to change a gang's parallelism, where it knows of the gang."""
        return self.native and not self.flags


NATIVE = Profile("native", "native", "scheduling.k8s.io")
BUILT_IN_GROUP = Profile("crds-in-scheduling.k8s.io", "crd", "scheduling.k8s.io")
"""Muster's CRDs, in the group of the built-in API."""
OWN_GROUP = Profile("crds-in-scheduling.muster.dev", "stock", "scheduling.muster.dev")
"""Muster's CRDs, in Muster's group."""
PROFILES = (NATIVE, BUILT_IN_GROUP, OWN_GROUP)
WITHOUT_JOB_VALIDATION = replace(
    NATIVE,
    name="native-without-JobValidation",
    flags=("--apiserver-flag=--disable-admission-plugins=JobValidation",),
)
"""The native profile, where only Muster refuses to change a gang's parallelism."""
EVERY_PROFILE = (*PROFILES, WITHOUT_JOB_VALIDATION)
