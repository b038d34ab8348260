"""Rules that run event at a time in an engine, beside others of the same engine that run over columns.

The engine is offered rows for some of its rules only: for each kind of event, the leaves of these rules. Law: rules
that run apart read no event that the others make, and share no part with them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from etalis.columnar.data.batches import InputBatch, Kind, listed
from etalis.plan import algebra as p
from etalis.runtime.codegen.network import Wired
from etalis.runtime.state import Raw
from etalis.temporal.event import Event, event_of

if TYPE_CHECKING:
    from etalis.runtime.engine import RuntimeEngine
    from etalis.runtime.ruleset import RuleSet, Tick

Found = tuple[int, Event]  # the row that caused it, and what it caused


def readers_of(rules: RuleSet) -> dict[int, set[int]]:
    """Return the places of the rules that read each entry, directly or through others, by the entry's identity."""
    places = {planned.number: place for place, (planned, _) in enumerate(rules.rules)}
    found: dict[int, set[int]] = {id(entry): set() for entry in rules.wiring.entries}

    def reach(entry: Wired, place: int) -> None:
        waiting = [entry]
        while waiting:
            top = waiting.pop()
            found[id(top)].add(place)
            waiting += [*top.inputs, *top.negated]

    for entry in rules.wiring.entries:
        for reader in entry.readers:
            if reader.kind == "head":
                reach(entry, places[reader.target.number])
    return found


class RowRules:
    """Some of an engine's rules, event at a time."""

    def __init__(self, engine: RuntimeEngine, rules: Collection[int]) -> None:
        self.engine = engine
        self.begun = 0  # how many rows of the last batch have been begun
        self.found: list[Found] = []  # and what they caused
        self.processors: dict[Kind, Callable[[Raw], None]] = {}
        self.is_timed = False
        self._ticks: list[Tick] = []
        if rules:
            self._write(engine.core.rules, rules)
        self.kinds = list(self.processors)

    def _write(self, whole: RuleSet, rules: Collection[int]) -> None:
        """Write the functions that offer events to these rules alone."""
        readers = readers_of(whole)
        leaves = [leaf for leaf in whole.wiring.leaves if readers[id(leaf)] & set(rules)]
        written = len(whole.compiler.base.sources)
        self.processors = _processors(whole, leaves)
        self._ticks = whole.compile_ticks(leaves)
        del whole.compiler.base.sources[written:]  # the code of the rules as a whole is what `code` shows
        mine = [planned.head for i, (planned, _) in enumerate(whole.rules) if i in set(rules)]
        self.is_timed = any(map(_is_timed, mine)) or (whole.reacts and whole.has_timers)

    def ticks(self) -> list[Tick]:
        """Return the time points of these rules that are to come."""
        return [tick for tick in self._ticks if tick[0] > self.engine.core.state.now]

    def process(self, batch: InputBatch) -> list[Found]:
        """Process the rows of a batch, in order; return what they cause."""
        engine, state, run_loop = self.engine, self.engine.core.state, self.engine.core.run_loop
        found = self.found = []
        self.begun = 0
        rules = engine.core.rules
        whole, rules.processors = rules.processors, self.processors
        try:
            for row, kind, values in self._rows(batch):
                out: list[Raw] = []
                self.begun = row + 1
                start, end = int(batch.start[row]), int(batch.end[row])
                try:
                    if kind is None:
                        run_loop.reach(end, out)
                    else:
                        number = state.number + 1 if batch.numbers is None else int(batch.numbers[row])
                        run_loop.process(kind, values, start, end, number, out)
                finally:
                    found += [(row, event_of(raw)) for raw in out]
        finally:
            rules.processors = whole
        return found

    def _rows(self, batch: InputBatch) -> Iterable[tuple[int, Kind | None, tuple[Any, ...]]]:
        """Return the rows that these rules read and the last one; all of them, where time alone makes things happen."""
        mine: dict[int, tuple[int, Kind | None, tuple[Any, ...]]] = {row[0]: row for row in listed(batch, self.kinds)}
        last = len(batch.end) - 1
        if self.is_timed:
            return [mine.get(row, (row, None, ())) for row in range(last + 1)]
        return list(mine.values()) if last < 0 or last in mine else [*mine.values(), (last, None, ())]

    def pass_time(self, time: int) -> list[Event]:
        """Say that nothing more will end at or before a time; return what that settles."""
        out: list[Raw] = []
        rules = self.engine.core.rules
        whole, rules.processors = rules.processors, self.processors
        try:
            self.engine.core.run_loop.advance(time, out)
        finally:
            rules.processors = whole
        return [event_of(raw) for raw in out]


def _is_timed(head: p.Head) -> bool:
    """Tell whether time alone makes things happen in a rule."""
    return head.alarm is not None or any(isinstance(node, p.Tick) or p.falls_due(node) for node in p.walk(head.body))


def _processors(rules: RuleSet, leaves: Iterable[Wired]) -> dict[Kind, Callable[[Raw], None]]:
    """Write the functions that offer events to some leaves."""
    by_kind: dict[Kind, list[Wired]] = {}
    for leaf in leaves:
        if isinstance(leaf.node, p.Source):
            by_kind.setdefault((leaf.node.name, len(leaf.node.args)), []).append(leaf)
    return {kind: rules.compiler.apart(kind, several) for kind, several in by_kind.items()}
