"""What happens beside the tasks of `muster run`: in the event loop, and while it ends."""

import asyncio

from muster.app.process import _last, _on_loop_error
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.metrics import Metrics


def counted(errors: InternalErrors, task: str) -> float | None:
    return errors.metrics._registry.get_sample_value("muster_internal_errors_total", {"task": task})


async def test_muster_counts_a_failed_callback_and_not_a_broken_connection() -> None:
    errors, loop = InternalErrors(Metrics()), asyncio.get_running_loop()
    _on_loop_error(
        errors, loop, {"message": "Fatal error on SSL protocol", "exception": OSError(), "protocol": object()}
    )
    assert counted(errors, "event-loop") == 0
    _on_loop_error(errors, loop, {"message": "Exception in callback", "exception": ZeroDivisionError("bug")})
    assert counted(errors, "event-loop") == 1


async def test_a_failed_shutdown_step_does_not_stop_the_next_steps() -> None:
    errors = InternalErrors(Metrics())

    async def fail() -> None:
        raise ZeroDivisionError("bug")

    await _last("release the Lease", fail(), errors)
    assert counted(errors, "shutdown") == 1
