"""The grid of single changes: what must fail before two changes are proved to be the fewest.

Times are stamps, stamps and durations of the program apart, and a microsecond beside; values those of program, stream
and question; and all removals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.language.rules import events_in
from etalis.language.traversal import postorder
from etalis.why.justification import Received
from etalis.why.repairing.data import AddEvent, InputChange, MoveEvent, RemoveEvent

Kind = tuple[str, int]


class SingleChanges:
    """All single changes of a grid."""

    def __init__(
        self, inputs: Sequence[Received], rules: Iterable[s.Rule], stamps: Iterable[int], values: Sequence[Value],
        windows: Iterable[int],
    ) -> None:  # fmt: skip
        known = list(rules)
        derived = {(rule.head.name, len(rule.head.args)) for rule in known}
        read = {(e.name, len(e.args)) for rule in known for e in events_in(rule.pattern)} - derived
        self._kinds = sorted(read)
        self._inputs = inputs
        self._values = values or [0]
        durations = {0, *windows}
        for rule in known:
            for x in postorder(rule.pattern):
                if isinstance(x, s.Within | s.NotWithin):
                    durations.add(x.duration)
                elif isinstance(x, s.Negation) and x.window is not None:
                    durations.add(x.window)
        at = set(stamps)
        self.times = sorted(
            {stamp + by + near for stamp in at for d in durations for by in (d, -d) for near in (-1, 0, 1)}
        )

    def __len__(self) -> int:
        added: int = sum(len(self._values) ** arity for _, arity in self._kinds)
        return len(self._inputs) + len(self.times) * (len(self._inputs) + added)

    def __iter__(self) -> Iterator[InputChange]:
        for given in self._inputs:
            yield RemoveEvent(given)
        for given, time in product(self._inputs, self.times):
            if time != given.end:
                yield MoveEvent(given, time - given.end + given.start, time)
        for (name, arity), time in product(self._kinds, self.times):
            for args in product(self._values, repeat=arity):
                yield AddEvent(name, args, time, time)
