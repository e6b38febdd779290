"""What happens beside the tasks of `muster run`: in the event loop, and while it ends."""

import asyncio

from muster.app.process import _last, _on_loop_error
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.metrics import Metrics


def counted(errors: InternalErrors, task: str) -> float | None:
    return errors.metrics._registry.get_sample_value("muster_internal_errors_total", {"task": task})


async def test_a_callback_that_fails_is_counted_and_a_connection_that_breaks_is_not() -> None:
    errors, loop = InternalErrors(Metrics()), asyncio.get_running_loop()
    _on_loop_error(
        errors, loop, {"message": "Fatal error on SSL protocol", "exception": OSError(), "protocol": object()}
    )
    assert counted(errors, "event-loop") == 0
    _on_loop_error(errors, loop, {"message": "Exception in callback", "exception": ZeroDivisionError("bug")})
    assert counted(errors, "event-loop") == 1


async def test_a_step_of_the_shutdown_that_fails_does_not_keep_the_next_ones_from_being_made() -> None:
    errors = InternalErrors(Metrics())

    async def fail() -> None:
        raise ZeroDivisionError("bug")

    await _last("release the Lease", fail(), errors)
    assert counted(errors, "shutdown") == 1
