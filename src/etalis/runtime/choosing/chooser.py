"""`any` where the newest are kept: of all constituents those that wait, and the latest that go together.

The store of a constituent is that of a side of a join that keeps the newest: by key the newest instance, and what the
event at hand has replaced. An instance is (values..., arrival, start, end). Law: arrivals are told apart over all
stores, so that the choice with the latest instances is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from etalis.runtime.operators.base import Emit, Key, Values
from etalis.runtime.operators.store import Fifo, Instance, Newest, expire, put_newest_for

Candidate = tuple[int, Instance]  # the place of a constituent, and what waits there
_LATEST = itemgetter(-1, -2, -3)


@dataclass(frozen=True, slots=True)
class Constituent:
    """One constituent: where its instances wait, by which key, and which event one is alone.

    `found` tells for each constituent how its key is read off an instance of this one; None where it cannot be.
    """

    store: dict[Any, Newest]
    fifo: Fifo
    key: Key
    one: Callable[[Values], frozenset[int]]
    names: tuple[str, ...]
    found: tuple[Key | None, ...]


class Chooser:
    """Matches what arrives at one constituent with the latest that wait at others; all stay."""

    def __init__(
        self, *, count: int, constituents: Sequence[Constituent], combine: Callable[[dict[int, Instance]], Values],
        emit: Emit, event: Callable[[], int], keep: int | None,
    ) -> None:  # fmt: skip
        self.count = count
        self.constituents = constituents
        self.combine = combine
        self.emit = emit
        self.event = event
        self.keep = keep
        self.arrivals: int | None = None
        self.shared = [[_pairs(a.names, b.names) for b in constituents] for a in constituents]

    def receive(self, place: int, *given: Any) -> None:
        """Match an instance that arrives, then store it."""
        if self.arrivals is None:
            several = (x[-3] for part in self.constituents for group in part.store.values() for x in group.items)
            self.arrivals = max(several, default=0)
        self.arrivals += 1
        instance = (*given[:-2], self.arrivals, *given[-2:])
        self._choose({place: instance}, sorted(self._candidates(place, instance), key=_rank, reverse=True), 0)
        part, end = self.constituents[place], instance[-1]
        key = part.key(instance)
        put_newest_for(part.store, key, instance, self.event(), None)
        if self.keep is not None:
            part.fifo.append((end, key))
            self.expire(end)

    def expire(self, now: int) -> None:
        """Let go what nothing that ends at a moment or later can use."""
        if self.keep is not None:
            for part in self.constituents:
                expire(part.store, part.fifo, now - self.keep, len(part.fifo))

    def _candidates(self, place: int, instance: Instance) -> Iterator[Candidate]:
        """Yield what waits at other constituents, and agrees with an instance."""
        event, part = self.event(), self.constituents[place]
        since = None if self.keep is None else instance[-1] - self.keep
        for other, there in enumerate(self.constituents):
            if other == place:
                continue
            key = part.found[other]
            groups = list(there.store.values()) if key is None else [there.store.get(key(instance))]
            for group in groups:
                for waiting in () if group is None else group.candidates(event):
                    if (since is None or waiting[-1] >= since) and self._agree((place, instance), (other, waiting)):
                        yield other, waiting

    def _agree(self, a: Candidate, b: Candidate) -> bool:
        """Tell whether two instances are different and agree in all variables."""
        (i, x), (j, y) = a, b
        if not self.constituents[i].one(x).isdisjoint(self.constituents[j].one(y)):
            return False
        return all(x[v] is None or y[w] is None or x[v] == y[w] for v, w in self.shared[i][j])

    def _choose(self, taken: dict[int, Instance], candidates: list[Candidate], start: int) -> bool:
        """Hand on the first choice that passes the tests, the latest candidates first; tell whether there is one."""
        if len(taken) == self.count:
            values = self.combine(taken)
            first, last = min(x[-2] for x in taken.values()), max(x[-1] for x in taken.values())
            return self.emit(*values, first, last)
        for at in range(start, len(candidates)):
            place, waiting = candidates[at]
            if place in taken or not all(self._agree(other, (place, waiting)) for other in taken.items()):
                continue
            if self._choose({**taken, place: waiting}, candidates, at + 1):
                return True
        return False


def _rank(candidate: Candidate) -> tuple[int, int, int]:
    found: tuple[int, int, int] = _LATEST(candidate[1])
    return found


def _pairs(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of the variables that two constituents have in common."""
    return [(i, b.index(name)) for i, name in enumerate(a) if name[0] != "$" and name in b]
