"""The settings have bounds, and a typo in a name is an error."""

from typing import Any

import pytest
from pydantic import ValidationError

from muster.config.types import Settings
from muster.core.policy import Policy


@pytest.mark.parametrize(
    "wrong",
    [
        {"worker": 3},
        {"workers": 0},
        {"workers": 1000},
        {"resync_seconds": 0},
        {"resync_seconds": float("nan")},
        {"probe_seconds": 0},
        {"webhooks": {"pods": {"timeoutSeconds": 0}}},
        {"webhooks": {"pods": {"timeoutSeconds": 31}}},
        {"webhooks": {"pods": {"failurePolicy": "fail"}}},
        {"api_version": "muster.dev/v2"},
    ],
    ids=str,
)
def test_settings_out_of_bounds_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings(**wrong)


def test_the_defaults_agree_with_those_of_the_core() -> None:
    assert Settings().excluded_namespaces == Policy().excluded_namespaces
    assert Settings().scheduler_names == Policy().scheduler_names
