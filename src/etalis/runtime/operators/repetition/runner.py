"""Repetition that stands alone (definition 13.13 to 13.15)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from etalis.runtime.operators.base import Emit, Values, rank, select
from etalis.runtime.operators.repetition.chains import (
    ChainEnd,
    Lengths,
    Limits,
    Links,
    RunLink,
    RunLog,
    Slice,
    first_of,
    lengthen,
)
from etalis.runtime.operators.repetition.counted import NO_IDS, Run, is_usable
from etalis.runtime.operators.repetition.lines import ElementLine
from etalis.runtime.operators.repetition.repeater import ReadLimits, several_ropes
from etalis.runtime.operators.store import Token
from etalis.temporal.policy import Policy
from etalis.temporal.rope import Rope, RunRope

Complete = tuple[Run, Slice | None]


class Runner:
    """A repetition that stands alone, `b ntimes 3 seq c`: waiting runs are its candidates (definition 13.14)."""

    def __init__(
        self, *, policy: Policy, limits: ReadLimits, shared: Callable[[Values], Values], emit: Emit,
        export: Callable[[Values, Token, frozenset[int], Rope], Values], window: int | None,
        ids_of: Callable[[Values], frozenset[int]] | None, rope_of: Callable[[Values], Rope] | None,
    ) -> None:  # fmt: skip
        self.policy = policy
        self.limits = limits
        self.shared = shared
        self.emit = emit
        self.export = export
        self.ids_of = ids_of
        self.rope_of = rope_of
        self.window = window
        self.runs: dict[Values, list[Run]] = {}
        self.firsts: dict[Values, list[tuple[Run, list[ChainEnd]]]] = {}
        self.elements: dict[Values, Any] = {}  # (start, end, values) each
        self.fifo: deque[tuple[int, Values]] = deque()
        self.most = 0  # groups of runs, before generated code drops those that have been consumed
        self.by_lines = False  # whether generated code keeps elements in lines, as it does under `unrestricted`
        self.has_tokens = True  # whether what has begun is told apart, else lines are all that there is

    def line(self, key: Values, end: int) -> ElementLine:
        """Return the elements of a group, those of a snapshot, too."""
        found = self.elements[key] = ElementLine(self.elements.get(key, ()))
        if self.has_tokens:
            self.firsts.setdefault(key, [])
        else:  # of a snapshot
            self.firsts.pop(key, None)
        if self.window is not None:
            found.due = end
            self.fifo.append((end, key))
        return found

    def cut(self, key: Values, due: int, limit: int) -> None:
        """Forget the elements of a group that ended before a moment; `due` is when it was to be looked at."""
        found = self.elements.get(key)
        if found is None or (isinstance(found, ElementLine) and found.due != due):
            return
        line = found if isinstance(found, ElementLine) else ElementLine(found)
        count = line.cut(limit - 1)
        if self.has_tokens:
            del self.firsts[key][:count]
        if len(line):
            self.elements[key] = line
            line.due = line.ends[-1]
            self.fifo.append((line.due, key))
        else:
            del self.elements[key]
            self.firsts.pop(key, None)

    def on_element(self, *instance: Any) -> None:
        """Extend the runs that the policy selects, or open one; hand on what is long enough."""
        values, start, end = instance[:-2], instance[-2], instance[-1]
        key = self.shared(values)
        limits = self.limits(key)
        if limits is None:
            return
        if self.window is not None:
            self.expire(end)
            self.fifo.append((end, key))
        take = self._extend if self.policy.restricts else self._chains
        found = take(key, values, start, end, limits)
        if self.policy.select == "together" and found:
            runs = [run for run, _ in found]
            token = Token(runs[-1].token.origin, tuple(r.token for r in runs))
            ids = frozenset[int]().union(*(r.ids for r in runs))
            rope = several_ropes([self._rope(told, limits) for _, told in found])
            self.emit(*self.export(values, token, ids, rope), min(r.start for r in runs), end)
            return
        for run, told in found:
            self.emit(*self.export(values, run.token, run.ids, self._rope(told, limits)), run.start, end)

    def _rope(self, told: Slice | None, limits: Limits) -> Rope:
        """Return what contributes to a match."""
        return None if told is None else RunRope(None, *told, is_open=limits[1] is None)

    def _chains(self, key: Values, values: Values, start: int, end: int, limits: Limits) -> list[Complete]:
        """Every first element from which a chain of allowed length leads to this one, in order of rank."""
        elements = self.elements.setdefault(key, [])
        latest = max((s for s, e, _ in elements if e < start), default=None)
        elements.append((start, end, values))
        complete: list[Complete] = []
        for run, ends in self.firsts.setdefault(key, []):
            if self.window is not None and end - run.start > self.window:
                continue
            lengths: Lengths = {}
            links = lengthen(ends, start, limits, latest, run.log, lengths)
            if lengths:
                ends.append((start, end, lengths))
                log = self._note(run, values, start, end, links)
                if first_of(lengths, limits) is not None:
                    complete.append((run, None if log is None else log.chain(limits) if limits[1] else log.all()))
        opened = Run(start, end)
        log = self._note(opened, values, start, end, {1: RunLink(0, start)})
        self.firsts[key].append((opened, [(start, end, {1: start})]))
        if limits[0] == 1:
            complete.append((opened, None if log is None else log.all()))
        if self.ids_of is not None:
            for run, _ in complete:
                run.ids = self._stretch(elements, run.start)
        return sorted(complete, key=lambda found: rank(found[0]))

    def expire(self, now: int) -> None:
        """Let go what began too long before a moment; `fifo` lists (end, key) of elements in order."""
        if self.window is None:
            return
        limit = now - self.window
        while self.fifo and self.fifo[0][0] < limit:
            due, key = self.fifo.popleft()
            if self.by_lines:
                self.cut(key, due, limit)
                continue
            keep_started(self.runs, key, limit, lambda run: run.start)
            keep_started(self.firsts, key, limit, lambda first: first[0].start)
            keep_started(self.elements, key, limit, lambda element: element[0])

    def _note(self, run: Run, values: Values, start: int, end: int, links: Links | None = None) -> RunLog | None:
        """Note an element that opens or extends a run, and its chains, where contributing inputs are kept."""
        if self.rope_of is None:
            return None
        if run.log is None:
            run.log = RunLog()
        run.log.add(start, end, self.rope_of(values))
        if links is not None:
            run.log.links.append(links)
        return run.log

    def _ids(self, values: Values) -> frozenset[int]:
        return NO_IDS if self.ids_of is None else self.ids_of(values)

    def _stretch(self, elements: list[tuple[int, int, Values]], first: int) -> frozenset[int]:
        """Return the part events of all elements from a start on: which of them a chain took is not told apart."""
        return frozenset[int]().union(*(self._ids(values) for start, _, values in elements if start >= first))

    def _extend(self, key: Values, values: Values, start: int, end: int, limits: Limits) -> list[Complete]:
        least, most = limits
        runs = [r for r in self.runs.get(key, ()) if is_usable(r)]
        runs = [r for r in runs if self.window is None or end - r.start <= self.window]
        chosen = select(self.policy, [r for r in sorted(runs, key=rank) if r.end < start])
        for run in chosen:
            run.number, run.end = run.number + 1, end
        chosen = chosen or [Run(start, end)]
        runs = [r for r in runs if r not in chosen] + [r for r in chosen if r.number != most]
        self.runs[key] = runs
        if not runs:
            del self.runs[key]
        found = []
        for run in chosen:
            run.ids |= self._ids(values)
            log = self._note(run, values, start, end)
            if run.number >= least:
                found.append((run, None if log is None else log.all()))
        return found


def keep_started(table: dict[Values, list[Any]], key: Values, limit: int, start: Callable[[Any], int]) -> None:
    """Keep of a group what started at a moment or later, and the group only if it has something."""
    group = table.get(key)
    if group is not None:
        group[:] = [x for x in group if start(x) >= limit]
        if not group:
            del table[key]
