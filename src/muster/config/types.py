"""The settings file: every key with its default, its bounds and its effect."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from muster.api.profile import ApiGroupSetting

OWN_NAMESPACE = "muster-system"
NEVER = frozenset({"kube-system"})
"""Namespaces in which pods never wait for Muster, regardless of the settings."""

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=253)]
Port = Annotated[int, Field(ge=1, le=65535)]
Seconds = Annotated[float, Field(gt=0, le=86400, allow_inf_nan=False)]
FailurePolicy = Literal["Fail", "Ignore"]


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        use_attribute_docstrings=True,
    )


class Requirement(_Part):
    key: Annotated[str, Field(min_length=1, max_length=317)]
    """The key of the label."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """The operator, as in a Kubernetes label selector."""
    values: tuple[str, ...] = ()
    """The values for In and NotIn; must be empty for the other operators."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.operator in {"In", "NotIn"}) != bool(self.values):
            raise ValueError("the operators In and NotIn require values, and the other operators must have none")
        return self


class Selector(_Part):
    match_labels: dict[str, str] = Field(default_factory=dict)
    """Labels that must have exactly these values."""
    match_expressions: tuple[Requirement, ...] = ()
    """Requirements that must all hold."""


class Webhook(_Part):
    failure_policy: FailurePolicy = "Fail"
    """If no replica answers: Fail makes only matching objects wait, Ignore admits them without their gang."""
    timeout_seconds: Annotated[int, Field(ge=1, le=30)] = 2
    """A longer timeout is not safer: the Job controller has few workers, and they wait for every call."""
    namespace_selector: Selector = Selector()
    """The API server calls the webhook only in matching namespaces, in addition to Muster's own exclusions.

    With a selector on the pod webhook, Muster forms a gang only when the webhook is called for its first pod: a Job
    that does not match gets no Workload.
    """
    object_selector: Selector = Selector()
    """The API server calls the webhook only for matching objects, in addition to Muster's own rules. Others have no
    gang.

    With a selector on the pod webhook, Muster forms gangs as described for namespaceSelector.
    """

    @property
    def is_selective(self) -> bool:
        return self.namespace_selector != Selector() or self.object_selector != Selector()


class AdvisoryWebhook(_Part):
    timeout_seconds: Annotated[int, Field(ge=1, le=30)] = 2
    """The longest time that a client waits. The object is admitted in any case."""
    namespace_selector: Selector = Selector()
    """The API server calls the webhook only in matching namespaces, in addition to Muster's own exclusions."""
    object_selector: Selector = Selector()
    """The API server calls the webhook only for matching objects."""

    @property
    def failure_policy(self) -> FailurePolicy:
        return "Ignore"


class Webhooks(_Part):
    pods: Webhook = Webhook()
    """On creation of pods of Indexed Jobs: they join their gang."""
    parallelism_guard: Webhook = Webhook()
    """On changes of a Job's parallelism: refuses those that would break a gang."""
    pod_groups: Webhook = Webhook()
    """On creation of PodGroups of Muster's CRDs: validates and defaults them as the built-in API does."""
    intents: AdvisoryWebhook = AdvisoryWebhook()
    """On Jobs with the annotation muster.dev/scheduling: returns warnings about errors in it, and never refuses."""


class ServingSettings(_Part):
    address: Annotated[str, Field(min_length=1)] = "0.0.0.0"  # noqa: S104 - in a pod, the API server comes from outside
    """The address of admission and health. In a pod, only 0.0.0.0 is reachable from the cluster."""
    port: Annotated[int, Field(ge=0, le=65535)] = 9443
    """The port of admission (HTTPS). 0 selects a free port."""
    health_port: Annotated[int, Field(ge=0, le=65535)] = 8080
    """The port of /livez, /readyz and /metrics (HTTP). 0 disables it; the HTTPS port serves them too."""
    drain_seconds: Annotated[float, Field(ge=0, le=300, allow_inf_nan=False)] = 5.0
    """How long Muster answers admission requests after SIGTERM, until the Service sends no more requests."""
    client_ca: Annotated[str, Field(alias="clientCA")] = ""
    """A PEM file. Admission then accepts only clients with a certificate of one of these authorities.

    The API servers must be configured to send one. Muster reads the file again when it changes.
    """


class Service(_Part):
    name: Name = "muster"
    """The Service in front of the replicas. The serving certificate is issued for it."""
    namespace: Annotated[str, Field(pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", max_length=63)] = ""
    """Muster's own namespace, whose pods never wait for Muster. Default: POD_NAMESPACE, else muster-system."""
    port: Port = 443
    """The Service's port."""

    @property
    def host(self) -> str:
        """The DNS name under which the API server calls the webhooks."""
        return f"{self.name}.{self.namespace or OWN_NAMESPACE}.svc"


class Certificates(_Part):
    mode: Literal["self-managed", "files"] = "self-managed"
    """self-managed: Muster runs its own authority. files: another tool (cert-manager) writes them to `directory`."""
    secret_name: Name = "muster-certificates"  # noqa: S105 - a name
    """self-managed: the Secret in Muster's namespace that all replicas share."""
    directory: str = "/etc/muster/certificates"
    """files: tls.crt, tls.key and ca.crt. Muster reads them again when they change."""
    authority_days: Annotated[float, Field(ge=1, le=36500, allow_inf_nan=False)] = 3650.0
    """self-managed: the lifetime of the authority. Muster renews it, with an overlap, in its last third."""
    leaf_days: Annotated[float, Field(ge=1, le=3650, allow_inf_nan=False)] = 90.0
    """self-managed: the lifetime of the serving certificate. Muster renews it after two thirds."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.leaf_days * 2 > self.authority_days:
            raise ValueError("leafDays must be at most half of authorityDays, or the authority is renewed all the time")
        return self


class LeadershipSettings(_Part):
    enabled: bool = True
    """If false, every replica does the leader's work. This is correct, but every replica tries every write."""
    lease_name: Name = "muster"
    """The Lease in Muster's namespace."""
    duration_seconds: Annotated[float, Field(ge=1, le=3600, allow_inf_nan=False)] = 15.0
    """How long the other replicas wait for a leader that does not renew."""
    renew_seconds: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = 5.0
    """How often the leader renews the Lease."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.renew_seconds * 2 > self.duration_seconds:
            raise ValueError(
                "renewSeconds must be at most half of durationSeconds, or one failed write loses the Lease"
            )
        return self


class Logging(_Part):
    level: Literal["debug", "info", "warning", "error"] = "info"
    """debug logs every Job that Muster looks at."""
    format: Literal["text", "json"] = "text"
    """text is for people, json is one object per line for machines."""


class Settings(_Part):
    api_version: Literal["muster.dev/v1alpha1"] = "muster.dev/v1alpha1"
    """The version of these settings."""
    kind: Literal["MusterConfiguration"] = "MusterConfiguration"
    """What this file is."""
    api_group: ApiGroupSetting = "auto"
    """The API group of Workloads and PodGroups. `auto` selects the built-in API, else Muster's CRDs."""
    default_policy: Literal["gang-when-qualified", "opt-in"] = "gang-when-qualified"
    """Which Jobs without a scheduling annotation become a gang: all that qualify, or none."""
    basic_for_others: bool = False
    """Every Job that is not a gang gets a Workload and a Basic PodGroup. Requires `scope: all-jobs`."""
    release_on_suspend: Literal["Auto", "PodGroup", "Pair", "Nothing"] = "Auto"
    """What Muster deletes of a suspended Job's Workload and PodGroup once its pods are gone, to create it again at
    resume.

    Auto: the PodGroup, of Jobs that Kueue manages. PodGroup: the PodGroup, of every Job. Pair: the Workload too, which
    requires the permission to delete Workloads. Nothing: keep both.
    """
    scope: Literal["indexed-jobs", "all-jobs"] = "indexed-jobs"
    """The Jobs whose pods go through the pod webhook. Pods of other Jobs cannot have a PodGroup."""
    elastic: bool = False
    """The Job of a gang may change parallelism and completions together, to the same number: Muster resizes its gang.

    Kubernetes 1.36 with its built-in API refuses that change, unless its JobValidation plugin is disabled.
    """
    excluded_namespaces: frozenset[Name] = NEVER | {OWN_NAMESPACE}
    """Muster ignores Jobs in these namespaces, and their pods never wait for Muster.

    kube-system and Muster's own namespace are always excluded.
    """
    scheduler_names: Annotated[frozenset[Name], Field(min_length=1)] = frozenset({"default-scheduler"})
    """Schedulers that support gangs. Muster ignores Jobs with another schedulerName."""
    workers: Annotated[int, Field(ge=1, le=256)] = 64
    """Number of Jobs that Muster handles at the same time."""
    resync_seconds: Annotated[float, Field(ge=1, le=86400, allow_inf_nan=False)] = 300.0
    """How often Muster lists all objects, and so how long a lost watch event can go unnoticed."""
    probe_seconds: Seconds = 15.0
    """How often Muster checks the API, its permissions, its certificate and its webhooks."""
    serving: ServingSettings = ServingSettings()
    """The ports and addresses on which Muster listens."""
    service: Service = Service()
    """How the API server reaches admission."""
    certificates: Certificates = Certificates()
    """The serving certificate of the admission server."""
    webhooks: Webhooks = Webhooks()
    """The webhook configurations."""
    leadership: LeadershipSettings = LeadershipSettings()
    """The election of the replica that does the leader's work."""
    logging: Logging = Logging()
    """The log on stderr."""

    @field_validator("release_on_suspend", mode="before")
    @classmethod
    def _is_a_word(cls, value: object) -> object:
        if isinstance(value, bool):
            was = f"{str(value).lower()} is no longer supported; write {'Pair' if value else 'Nothing'} for the same"
            raise ValueError(f"{was}, or one of Auto, PodGroup, Pair, Nothing")  # noqa: TRY004 - pydantic reads it
        return value

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.basic_for_others and self.scope != "all-jobs":
            raise ValueError("basicForOthers requires `scope: all-jobs`: Muster must see the pods of all Jobs")
        return self
