"""The scheduler and the kubelets of the model: whole gangs get their nodes, and then some of their pods end."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.api.pod import COMPLETION_INDEX_LABEL
from tests.builders import Object
from tests.fake_cluster import FakeCluster, group_of, is_live

SCHEDULER, KUBELET = "kube-scheduler", "kubelet"


@dataclass(slots=True)
class Nodes:
    cluster: FakeCluster
    fates: Mapping[int, str]
    """How the pod of an index ends, once every pod of the gang has run. Its replacement runs on."""
    _met: set[int] = field(default_factory=set)

    def play(self) -> None:
        self._bind()
        if len(self._met) < len(self.fates) and self._all_run():
            self._end()

    def _bind(self) -> None:
        """As kube-scheduler does: only pods that have not ended count, and only while their group exists."""
        for pod in self._living():
            group = self.cluster.objects.get(("podgroups", pod["metadata"]["namespace"], group_of(pod)))
            if group is None or pod["spec"].get("nodeName"):
                continue
            members = [each for each in self._living() if group_of(each) == group_of(pod)]
            if len(members) >= group["spec"]["schedulingPolicy"]["gang"]["minCount"]:
                self._change(pod, SCHEDULER, nodeName="node")

    def _all_run(self) -> bool:
        pods = self._living()
        wanted = sum(job["spec"]["parallelism"] for job in self.cluster.find("jobs"))
        return len(pods) == wanted and all(pod["spec"].get("nodeName") for pod in pods)

    def _end(self) -> None:
        for pod in self._living():
            index = int(pod["metadata"]["labels"][COMPLETION_INDEX_LABEL])
            if index in self.fates and index not in self._met:
                self._met.add(index)
                self._change(pod, KUBELET, phase=self.fates[index])

    def _living(self) -> list[Object]:
        return [pod for pod in self.cluster.find("pods") if is_live(pod)]

    def _change(self, pod: Object, actor: str, nodeName: str = "", phase: str = "") -> None:  # noqa: N803 - the API's
        def change(it: Object) -> None:
            it["spec"].update({"nodeName": nodeName} if nodeName else {})
            it["status"].update({"phase": phase} if phase else {})

        self.cluster.update("pods", pod["metadata"]["namespace"], pod["metadata"]["name"], change, actor)
