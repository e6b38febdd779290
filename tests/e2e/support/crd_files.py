"""The CRDs as `kubectl apply -f crds/` installs them: also on a server that `muster crds install` refuses."""

import yaml

from tests.clusters.api import APPLY, Api
from tests.clusters.cluster import ROOT

CRDS = "customresourcedefinitions"


def apply_crd_files(api: Api, group: str) -> list[str]:
    """The names of the CRDs."""
    names = []
    for file in sorted((ROOT / "crds").glob(f"{group}_*.yaml")):
        crd = yaml.safe_load(file.read_text())
        names.append(crd["metadata"]["name"])
        api.patch(CRDS, names[-1], crd, how=APPLY, fieldManager="somebody", force="true")
    assert len(names) == 2
    return names
