"""Short ways to say what was observed."""

from collections.abc import Sequence

from muster.api.keys import Uid
from muster.api.profile import NATIVE
from muster.core.naming import pod_group_name, template_name, workload_name
from muster.core.observed import NO_PODS, NOTHING_PROVEN, Observed, Pods, Proof
from muster.core.policy import Rules
from tests.builders import JobBuilder, PodGroupBuilder, WorkloadBuilder, a_gang, a_pod_group, a_workload

RULES = Rules(NATIVE)
ALL_PROVEN = Proof(True, True, Uid("proven"), own_pair_read=True, suspended=True)
PLAIN_ALIVE = Pods(exist=True, live=True)
ENDED = Pods(exist=True, live=False)

JOB = a_gang("test-job").uid("test-job-uid")
EARLIER = a_gang("test-job").uid("earlier-uid")
WORKLOAD_NAME = "test-job-6ff4fbf9db"
GROUP_NAME = "test-job-6ff4fbf9db-test-job-pgt-0-5cdc87fdc8"


def members_of(group: str) -> Pods:
    return Pods(exist=True, live=True, group=group)


def our_workload(job: JobBuilder = JOB, collision: int = 0) -> WorkloadBuilder:
    name = workload_name(job.name, job.ref.uid, collision)
    built = a_workload(name).ours().describing(job).controlled_by(job).gang(job.spec["parallelism"])
    built.spec["podGroupTemplates"][0]["name"] = template_name(job.name)
    return built


def our_group(job: JobBuilder = JOB, collision: int = 0) -> PodGroupBuilder:
    workload = our_workload(job)
    name = pod_group_name(workload.name, template_name(job.name), collision)
    return a_pod_group(name).ours().made_from(workload).controlled_by(job).gang(job.spec["parallelism"])


def saw(
    job: JobBuilder | None = JOB,
    workloads: Sequence[WorkloadBuilder] = (),
    groups: Sequence[PodGroupBuilder] = (),
    pods: Pods | None = NO_PODS,
    taken: Sequence[str] = (),
    rejected: str = "",
) -> Observed:
    """What a pod's review sees. Everything that a read can prove is proven, unless the pods were not read.

    test_proof.py has the other cases.
    """
    return Observed(
        job=job.view() if job else None,
        workloads=tuple(workload.read() for workload in workloads),
        pod_groups=tuple(group.read() for group in groups),
        pods=pods,
        taken=frozenset(taken),
        rejected=rejected,
        form_only=True,
        proof=ALL_PROVEN if pods is not None else NOTHING_PROVEN,
    )
