"""A cache for the results of a pure function, bounded in bytes because users control the length of its arguments."""

from collections import OrderedDict
from collections.abc import Callable
from functools import update_wrapper
from sys import getsizeof
from typing import Any, Generic, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Key = tuple[Any, ...]

ENTRY_BYTES = 2_000
"""The size of one result without its strings."""
COPIES = 3
"""The highest number of copies of a key's string in the key and the result together."""


class Memo(Generic[Parameters, Result]):
    """A function that caches its latest results, as many as fit the budget.

    The key is everything that the result depends on. The cache keeps the key and not the arguments.
    """

    def __init__(self, function: Callable[Parameters, Result], budget: int, key: Callable[Parameters, Key]) -> None:
        update_wrapper(self, function)
        self.__wrapped__ = function
        self._budget = budget
        self._key = key
        self._results: OrderedDict[Key, Result] = OrderedDict()
        self.weight = 0
        """Approximate size in bytes."""

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
