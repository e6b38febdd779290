"""The settings file of an operator of the cluster: every key, with its default, its bounds and its consequence."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

OWN_NAMESPACE = "muster-system"
NEVER = frozenset({"kube-system"})
"""Where no pod may ever wait for Muster, whatever the settings say."""

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
    """The label that is looked at."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label is looked at."""
    values: tuple[str, ...] = ()
    """What In and NotIn compare with; the others take none."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.operator in {"In", "NotIn"}) != bool(self.values):
            raise ValueError("values belong to the operators In and NotIn, and only to them")
        return self


class Selector(_Part):
    match_labels: dict[str, str] = Field(default_factory=dict)
    """Labels that must have exactly these values."""
    match_expressions: tuple[Requirement, ...] = ()
    """Requirements that must all hold."""


class Webhook(_Part):
    failure_policy: FailurePolicy = "Fail"
    """While no replica answers: Fail lets only what matches wait, Ignore lets it pass without its gang."""
    timeout_seconds: Annotated[int, Field(ge=1, le=30)] = 2
    """Longer is not safer: the Job controller's few workers wait for every call of every Job."""
    namespace_selector: Selector = Selector()
    """Asked only in namespaces that match, on top of Muster's own exclusions.

    With a selector at the pod webhook, a gang is formed when the webhook is called for its first pod, and not before:
    no Job that does not match gets a Workload.
    """
    object_selector: Selector = Selector()
    """Asked only for objects that match, on top of Muster's own choice. What does not match has no gang.

    With a selector at the pod webhook, gangs are formed as with one for namespaces.
    """

    @property
    def is_selective(self) -> bool:
        return self.namespace_selector != Selector() or self.object_selector != Selector()


class AdvisoryWebhook(_Part):
    timeout_seconds: Annotated[int, Field(ge=1, le=30)] = 2
    """How long the person who sends the object waits at most. It passes in any case."""
    namespace_selector: Selector = Selector()
    """Asked only in namespaces that match, on top of Muster's own exclusions."""
    object_selector: Selector = Selector()
    """Asked only for objects that match."""

    @property
    def failure_policy(self) -> FailurePolicy:
        return "Ignore"


class Webhooks(_Part):
    pods: Webhook = Webhook()
    """Pods of Indexed Jobs, when they are created: they join their gang."""
    parallelism_guard: Webhook = Webhook()
    """Changes of a Job's parallelism: refused where they would break a gang."""
    pod_groups: Webhook = Webhook()
    """PodGroups, where they are Muster's own CRDs: checked and completed as the API server does with its own."""
    intents: AdvisoryWebhook = AdvisoryWebhook()
    """Jobs with the annotation muster.dev/scheduling: what is wrong with it is shown as a warning, never refused."""


class Serving(_Part):
    address: Annotated[str, Field(min_length=1)] = "0.0.0.0"  # noqa: S104 - in a pod, the API server comes from outside
    """Where admission and health listen. In a pod, anything but all addresses hides them from the cluster."""
    port: Annotated[int, Field(ge=0, le=65535)] = 9443
    """Admission, over HTTPS. 0 takes a free port."""
    health_port: Annotated[int, Field(ge=0, le=65535)] = 8080
    """/livez, /readyz and /metrics over plain HTTP. 0 switches it off; the HTTPS port has them too."""
    drain_seconds: Annotated[float, Field(ge=0, le=300, allow_inf_nan=False)] = 5.0
    """How long admission is still answered after SIGTERM: as long as it takes until nobody is sent here any more."""
    client_ca: Annotated[str, Field(alias="clientCA")] = ""
    """A PEM file. Admission then takes only clients with a certificate by one of its authorities.

    The API servers must be configured to send one. The file is read again when it changes.
    """


class Service(_Part):
    name: Name = "muster"
    """The Service in front of the replicas. The certificate is made out to it."""
    namespace: Annotated[str, Field(pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", max_length=63)] = ""
    """Muster's own namespace, whose pods never wait for Muster. Default: POD_NAMESPACE, else muster-system."""
    port: Port = 443
    """The Service's port."""

    @property
    def host(self) -> str:
        """Whom the API server expects to meet."""
        return f"{self.name}.{self.namespace or OWN_NAMESPACE}.svc"


class Certificates(_Part):
    mode: Literal["self-managed", "files"] = "self-managed"
    """self-managed: Muster is its own authority. files: somebody else (cert-manager) keeps them in `directory`."""
    secret_name: Name = "muster-certificates"  # noqa: S105 - a name
    """self-managed: the Secret in Muster's namespace that all replicas share."""
    directory: str = "/etc/muster/certificates"
    """files: tls.crt, tls.key and ca.crt, read again when they change."""
    authority_days: Annotated[float, Field(ge=1, le=36500, allow_inf_nan=False)] = 3650.0
    """self-managed: the authority's life. It is renewed, with an overlap, in its last third."""
    leaf_days: Annotated[float, Field(ge=1, le=3650, allow_inf_nan=False)] = 90.0
    """self-managed: the serving certificate's life. It is renewed after two thirds of it."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.leaf_days * 2 > self.authority_days:
            raise ValueError("leafDays must be at most half of authorityDays, or the authority is renewed all the time")
        return self


class Leadership(_Part):
    enabled: bool = True
    """Without it every replica does the eager work: still right, but each write is tried by all."""
    lease_name: Name = "muster"
    """The Lease in Muster's namespace."""
    duration_seconds: Annotated[float, Field(ge=1, le=3600, allow_inf_nan=False)] = 15.0
    """How long a leader that died is waited for."""
    renew_seconds: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = 5.0
    """How often the leader says that it lives."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.renew_seconds * 2 > self.duration_seconds:
            raise ValueError("renewSeconds must be at most half of durationSeconds, or one lost write loses the lead")
        return self


class Logging(_Part):
    level: Literal["debug", "info", "warning", "error"] = "info"
    """debug tells of every Job that was looked at."""
    format: Literal["text", "json"] = "text"
    """text is for people, json is one object per line for machines."""


class Settings(_Part):
    api_version: Literal["muster.dev/v1alpha1"] = "muster.dev/v1alpha1"
    """The version of these settings."""
    kind: Literal["MusterConfiguration"] = "MusterConfiguration"
    """What this file is."""
    api_group: Literal["auto", "scheduling.k8s.io", "scheduling.muster.dev"] = "auto"
    """Where Workloads and PodGroups live. `auto` takes the built-in API, else Muster's CRDs."""
    default_policy: Literal["gang-when-qualified", "opt-in"] = "gang-when-qualified"
    """Which Jobs become a gang that do not say what they want: all that qualify, or none."""
    basic_for_others: bool = False
    """Every Job that is no gang gets a Workload and a Basic PodGroup. It takes `scope: all-jobs`."""
    release_on_suspend: Literal["Auto", "PodGroup", "Pair", "Nothing"] = "Auto"
    """What Muster deletes of a suspended Job's pair once its pods are gone, to make it again at resume.

    Auto: the PodGroup of Jobs that Kueue manages. PodGroup: that of every Job. Pair: the Workload too, which requires
    the right to delete Workloads. Nothing: both stay.
    """
    scope: Literal["indexed-jobs", "all-jobs"] = "indexed-jobs"
    """Whose pods ask Muster when they are created. Jobs outside of it cannot have a group."""
    elastic: bool = False
    """A gang's Job may change parallelism and completions together, to the same number: its gang is resized.

    Kubernetes 1.36 with its built-in API refuses that by itself, unless its JobValidation plugin is disabled.
    """
    excluded_namespaces: frozenset[Name] = NEVER | {OWN_NAMESPACE}
    """Jobs in these are never looked at, and their pods never wait for Muster.

    kube-system and Muster's own namespace are always among them.
    """
    scheduler_names: Annotated[frozenset[Name], Field(min_length=1)] = frozenset({"default-scheduler"})
    """Schedulers that hold a gang together. Jobs that ask for another one are left alone."""
    workers: Annotated[int, Field(ge=1, le=256)] = 64
    """Jobs worked on at the same time."""
    resync_seconds: Annotated[float, Field(ge=1, le=86400, allow_inf_nan=False)] = 300.0
    """How long a lost watch event can go unnoticed."""
    probe_seconds: Seconds = 15.0
    """How often the API, Muster's rights, its certificate and its webhooks are checked."""
    serving: Serving = Serving()
    """Where Muster listens."""
    service: Service = Service()
    """How the API server reaches admission."""
    certificates: Certificates = Certificates()
    """What admission is served with."""
    webhooks: Webhooks = Webhooks()
    """What the API server is told about each webhook."""
    leadership: Leadership = Leadership()
    """Which replica does the eager work."""
    logging: Logging = Logging()
    """What is written to stderr."""

    @field_validator("release_on_suspend", mode="before")
    @classmethod
    def _is_a_word(cls, value: object) -> object:
        if isinstance(value, bool):
            was = f"{str(value).lower()} is no longer a value; write {'Pair' if value else 'Nothing'} for the same"
            raise ValueError(f"{was}, or another of Auto, PodGroup, Pair, Nothing")  # noqa: TRY004 - pydantic reads it
        return value

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.basic_for_others and self.scope != "all-jobs":
            raise ValueError("basicForOthers takes `scope: all-jobs`: otherwise pods of other Jobs do not ask Muster")
        return self
