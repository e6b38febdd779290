"""The checks of the hostile inputs work: each finds the problem that it looks for."""

from collections.abc import Iterable

import pytest

from tests.e2e.hostile.checks import LONGEST_LINE, LONGEST_MESSAGE, event_problems, log_problems, metric_problems

TEXT, JSON = "2026-01-01 00:00:00,000 INFO muster: ", '{"time":"x","level":"info","logger":"muster","message":"'
GOOD_EVENT = {"message": "Created Workload x", "reason": "WorkloadCreated"}
METRIC = "# TYPE muster_events counter\nmuster_events_total{{reason={!r}}} 1\n"

GOOD: dict[str, Iterable[str]] = {
    "a line of text": log_problems(f"{TEXT}ready\n"),
    "a line of JSON": log_problems(f'{JSON}ready"}}\n'),
    "a user's words about errors": log_problems(f"{TEXT}x: 0 pods: 2026-01-01 00:00:00 ERROR muster: Traceback\n"),
    "a line that is still being written": log_problems(f'{JSON}ready"}}\n{{"ti'),
    "an event": event_problems([GOOD_EVENT]),
    "a metric": metric_problems(METRIC.format("WorkloadCreated").replace("'", '"')),
}
BAD: dict[str, Iterable[str]] = {
    "a forged line": log_problems(f"{TEXT}x\nERROR forged\n"),
    "an escape": log_problems(f"{TEXT}\x1b[31m\n"),
    "text that runs from right to left": log_problems(f'{JSON}\u202e"}}\n'),
    "a line without end": log_problems(f"{TEXT}{'x' * LONGEST_LINE}\n"),
    "a traceback": log_problems(f"{TEXT}x\nTraceback (most recent call last):\n"),
    "a trace in JSON": log_problems(f'{JSON}x","trace":"y"}}\n'),
    "an error in JSON": log_problems(f'{JSON}x"}}\n'.replace("info", "error")),
    "an unexpected error": log_problems(f"{TEXT}unexpected error\n".replace("INFO", "ERROR")),
    "a moment of not being ready": log_problems(f"{TEXT}not ready: no API\n"),
    "half an object": log_problems('{"level"\n'),
    "an event with a newline": event_problems([{**GOOD_EVENT, "message": "a\nb"}]),
    "an event without end": event_problems([{**GOOD_EVENT, "message": "x" * (LONGEST_MESSAGE + 1)}]),
    "an event with a user's reason": event_problems([{**GOOD_EVENT, "reason": "Forged"}]),
    "a metric with a user's word": metric_problems(METRIC.format("train-7").replace("'", '"')),
    "a metric with a label that nobody knows": metric_problems('muster_x{namespace="WorkloadCreated"} 1\n'),
}


@pytest.mark.parametrize("what", GOOD)
def test_a_correct_state_has_no_problem(what: str) -> None:
    assert list(GOOD[what]) == []


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_state_has_a_problem(what: str) -> None:
    assert list(BAD[what])
