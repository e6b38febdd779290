"""Which CRDs are Muster's: those with its label. The name does not matter."""

from collections.abc import Mapping
from typing import Any

from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL


def is_ours(crd: Mapping[str, Any]) -> bool:
    labels = (crd.get("metadata") or {}).get("labels") or {}
    return bool(labels.get(MANAGED_BY_LABEL) == MANAGED_BY)
