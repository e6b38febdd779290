"""Things are remembered for a while, and only so many of them."""

from types import SimpleNamespace

import pytest

from muster.runtime import ttl_cache as module
from muster.runtime.ttl_cache import TtlCache


def test_an_entry_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    memory = TtlCache[str, int](seconds=5)
    memory.remember("a", 1)
    now[0] = 5.0
    assert memory.recall("a") == 1
    now[0] = 5.1
    assert memory.recall("a") is None
    assert not memory._entries, "and it costs nothing any more"


def test_the_oldest_entry_goes_first() -> None:
    memory = TtlCache[str, int](seconds=60, capacity=2)
    for value, key in enumerate("abab"):
        memory.remember(key, value)
    memory.remember("c", 9)
    assert [memory.recall(key) for key in "abc"] == [None, 3, 9]


def test_a_forgotten_entry_is_gone() -> None:
    memory = TtlCache[str, int](seconds=60)
    memory.remember("a", 1)
    memory.forget("a")
    memory.forget("unknown")
    assert memory.recall("a") is None
