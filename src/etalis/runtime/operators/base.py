"""What stateful operators share: candidates by rank, and waiting instances by key.

An operator takes instances of its inputs as flat arguments (values..., start, end), keeps its own state, and hands its
matches to generated code: `check` tests a match, `emit` tests it and passes it on. How values are put together is told
by small functions made at compile time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar, assert_never

from etalis.temporal.policy import Policy

Emit = Callable[..., bool]
Values = tuple[Any, ...]
Key = Callable[[Values], Any]


def rank(x: Any) -> tuple[int, int]:
    """Return the rank of a candidate; a stable sort adds arrival."""
    return x.end, x.start


def select(policy: Policy, candidates: list[Any]) -> list[Any]:
    """Return the candidates that a policy matches, of all in the order of their rank."""
    match policy.select:
        case "earliest":
            return candidates[:1]
        case "latest":
            return candidates[-1:]
        case "all" | "together":
            return candidates
        case _:
            assert_never(policy.select)


W = TypeVar("W")


class Shelf(Generic[W]):
    """What waits, by join key, each group in order of rank; what ended longer than `keep` ago goes."""

    __slots__ = ("fifo", "groups", "keep")

    def __init__(self, keep: int | None) -> None:
        self.groups: dict[Any, list[W]] = {}
        self.keep = keep
        self.fifo: deque[tuple[int, Any]] = deque()

    def group(self, key: Any) -> list[W]:
        """Return what waits under a key."""
        return self.groups.get(key, [])

    def add(self, key: Any, item: W) -> None:
        """Let one more wait."""
        group = self.groups.setdefault(key, [])
        group.append(item)
        if len(group) > 1 and rank(group[-2]) > rank(item):
            self.groups[key] = sorted(group, key=rank)
        if self.keep is not None:
            self.fifo.append((rank(item)[0], key))
            self.expire(rank(item)[0])

    def keep_only(self, key: Any, items: list[W]) -> None:
        """Replace a group by what is left of it."""
        if items:
            self.groups[key] = items
        else:
            self.groups.pop(key, None)

    def expire(self, now: int) -> None:
        """Let go what nothing that ends at a moment or later can use."""
        if self.keep is None:
            return
        limit = now - self.keep
        while self.fifo and self.fifo[0][0] < limit:
            old = self.fifo.popleft()[1]
            group = self.groups.get(old)
            while group and rank(group[0])[0] < limit:
                del group[0]
            if group is not None and not group:
                del self.groups[old]
