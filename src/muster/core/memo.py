"""Remembering what a pure function returned, bounded in bytes: users decide how long its arguments are."""

from collections import OrderedDict
from collections.abc import Callable
from functools import update_wrapper
from sys import getsizeof
from typing import Any, Generic, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Key = tuple[Any, ...]

ENTRY_BYTES = 2_000
"""What one result takes, apart from its strings."""
COPIES = 3
"""How often, at most, a string of the key is held by the key and the result together."""


class Memo(Generic[Parameters, Result]):
    """A function that recalls its latest results, as many as fit the budget.

    The key is all that the result depends on, and nothing else: it is kept, the arguments are not.
    """

    def __init__(self, function: Callable[Parameters, Result], budget: int, key: Callable[Parameters, Key]) -> None:
        update_wrapper(self, function)
        self.__wrapped__ = function
        self._budget = budget
        self._key = key
        self._results: OrderedDict[Key, Result] = OrderedDict()
        self.weight = 0
        """Bytes, about."""

    def __len__(self) -> int:
        return len(self._results)

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        key = self._key(*args, **kwargs)
        if key in self._results:
            self._results.move_to_end(key)
            return self._results[key]
        result = self._results[key] = self.__wrapped__(*args, **kwargs)
        self.weight += _weight(key)
        while self.weight > self._budget:
            self.weight -= _weight(self._results.popitem(last=False)[0])
        return result


def remembering(
    budget: int, key: Callable[Parameters, Key]
) -> Callable[[Callable[Parameters, Result]], Memo[Parameters, Result]]:
    return lambda function: Memo(function, budget, key)


def _weight(key: Key) -> int:
    return ENTRY_BYTES + COPIES * sum(getsizeof(part) for part in key if isinstance(part, str))
