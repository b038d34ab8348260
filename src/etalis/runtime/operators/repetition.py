"""Repetition: runs of an element, after each left side or alone (definition 13.1 to 13.21)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from etalis.runtime.operators.base import Emit, Key, Shelf, Values, rank, select
from etalis.runtime.operators.store import Token
from etalis.temporal.policy import Policy

Limits = tuple[int, int | None]
ReadLimits = Callable[[Values], Limits | None]
Lengths = dict[int, int]  # length of a chain -> earliest start of its first element


class Left:
    """What a repetition counts after, with its counts per values of the shared variables."""

    __slots__ = ("chains", "counts", "elements", "end", "replaced_by", "start", "token", "values")

    def __init__(self, values: Values, start: int, end: int, parents: tuple[Token, ...]) -> None:
        self.values = values
        self.start = start
        self.end = end
        self.token = Token(self, parents)
        self.replaced_by: int | None = None
        self.counts: dict[Values, list[int]] = {}
        self.chains: dict[Values, list[tuple[int, int, Lengths]]] = {}
        self.elements: dict[Values, list[tuple[int, Values]]] = {}

    def stretch(self, key: Values, first: int, values: Values, marked: bool) -> list[Values]:
        """Return the elements counted from a start on, where their marks are asked for; else the last alone."""
        return [x for start, x in self.elements[key] if start >= first] if marked else [values]


def extend_chains(chains: list[tuple[int, int, Lengths]], start: int, end: int, limits: Limits) -> Lengths:
    """Add an element to the chains of its group; return the lengths of those that end at it.

    A chain goes on to an element only if no other lies strictly between. Beyond what is asked for, longer is as good
    as `least` (no upper limit) or no good at all.
    """
    least, most = limits
    top = least if most is None else most + 1
    latest = max((s for s, e, _ in chains if e < start), default=None)
    lengths: Lengths = {1: start}
    for _, e, found in chains:
        if e < start and not (latest is not None and e < latest):
            for n, first in found.items():
                longer = min(n + 1, top)
                lengths[longer] = min(first, lengths.get(longer, first))
    chains.append((start, end, lengths))
    return lengths


def first_of(lengths: Lengths, limits: Limits) -> int | None:
    """Return where the chains of an allowed length begin at the earliest; None if there is none."""
    least, most = limits
    return min((first for n, first in lengths.items() if n >= least and (most is None or n <= most)), default=None)


class Repeater:
    """`L seq B ntimes ..`, `L seq B star_times`: a join that never consumes L and never stores B (definition 13.10)."""

    def __init__(
        self, *, policy: Policy, limits: ReadLimits, shared: Callable[[Values, Values], Values | None],
        combine: Callable[..., Values], check: Emit, emit: Emit, left_key: Key, element_key: Key,
        repeats: Callable[[list[Values], Values], bool], parents: Callable[[Values], tuple[Token, ...]],
        keep: int | None, marked: bool, event: Callable[[], int] | None, needs_first: bool,
    ) -> None:  # fmt: skip
        self.policy = policy
        self.needs_first = needs_first
        self.marked = marked
        self.event = event
        self.limits = limits
        self.shared = shared
        self.combine = combine
        self.check = check
        self.emit = emit
        self.left_key = left_key
        self.element_key = element_key
        self.repeats = repeats
        self.parents = parents
        self.keep = keep
        self.lefts: Shelf[Left] = Shelf(keep)

    def on_left(self, *instance: Any) -> None:
        """Let a left side wait; of those with one origin and equal values only the first."""
        key = self.left_key(instance)
        alike = [w for w in self.lefts.group(key) if self._is_there(w)]
        if self.repeats([(*w.values, w.start, w.end) for w in alike], instance):
            return
        left = Left(instance[:-2], instance[-2], instance[-1], self.parents(instance))
        if self.policy.keep == "newest":
            if any(rank(w) > rank(left) for w in alike):
                return
            self._replace(key, alike)
        self.lefts.add(key, left)

    def _replace(self, key: Any, older: list[Left]) -> None:
        """Let older left sides go; the event that replaced them may still find them (definition 12.14)."""
        event = None if self.event is None else self.event()
        self.lefts.keep_only(key, [] if event is None else older)
        for left in older:
            left.replaced_by = event

    def _is_there(self, left: Left) -> bool:
        replaced = left.replaced_by
        return left.token.alive and (replaced is None or self.event is None or replaced == self.event())

    def on_element(self, *instance: Any) -> None:
        """Offer one element to the left sides that the policy selects."""
        values, start, end = instance[:-2], instance[-2], instance[-1]
        key = self.element_key(values)
        limit = None if self.keep is None else end - self.keep
        lefts = [w for w in self.lefts.group(key) if self._is_there(w) and (limit is None or w.start >= limit)]
        self.lefts.keep_only(key, lefts)
        candidates = []
        for left in lefts:
            found = self._candidate(left, values, start, end) if left.end < start else None
            if found is not None:
                candidates.append(found)
        chosen = select(self.policy, candidates)
        complete = [c for c in chosen if self._is_complete(c[0], c[1], c[2], start, end)]
        if self.policy.select == "together" and complete:
            self._emit_together(complete, values, end)
            return
        for left, _, key, first in complete:
            taken = left.stretch(key, first, values, self.marked)
            self.emit(*self.combine(left, values, left.token, first, taken), left.start, end)

    def _candidate(self, left: Left, values: Values, start: int, end: int) -> tuple[Left, Limits, Values, int] | None:
        key = self.shared(left.values, values)
        limits = None if key is None else self.limits((*key, *left.values))
        if key is None or limits is None:
            return None
        if not self.policy.restricts:
            first = self._extended(left, key, start, end, limits)
        else:
            first = self._continued(left, key, start, limits)
        first = start if first is None else first
        if self.marked:
            left.elements.setdefault(key, []).append((start, values))
        taken = left.stretch(key, first, values, self.marked)
        passes = self.check(*self.combine(left, values, left.token, first, taken), left.start, end)
        return (left, limits, key, first) if passes else None

    def _extended(self, left: Left, key: Values, start: int, end: int, limits: Limits) -> int | None:
        """Return where the chains begin that this element completes; any one element is a `star_times`."""
        if limits == (1, None) and not self.needs_first:
            return start
        return first_of(extend_chains(left.chains.setdefault(key, []), start, end, limits), limits)

    def _continued(self, left: Left, key: Values, start: int, limits: Limits) -> int | None:
        """Return where the count began that this element would continue; `star_times` passes over none."""
        count = left.counts.get(key)
        return count[1] if count is not None and (limits[1] is None or count[2] < start) else None

    def _is_complete(self, left: Left, limits: Limits, key: Values, start: int, end: int) -> bool:
        """Count this element, and tell whether that makes a match."""
        least, most = limits
        if not self.policy.restricts:
            return key not in left.chains or first_of(left.chains[key][-1][2], limits) is not None
        if key in left.counts and self._continued(left, key, start, limits) is None:
            return False
        count = left.counts.setdefault(key, [0, start, end])
        count[0] += 1
        count[2] = end
        if count[0] == most:
            del left.counts[key]
        return count[0] >= least

    def _emit_together(self, complete: list[tuple[Left, Limits, Values, int]], values: Values, end: int) -> None:
        latest, _, _, first = complete[-1]
        token = Token(latest, tuple(c[0].token for c in complete))
        taken = [x for left, _, key, start in complete for x in left.stretch(key, start, values, self.marked)]
        self.emit(*self.combine(latest, values, token, first, taken), min(c[0].start for c in complete), end)


class Run:
    """A repetition in the making that stands alone."""

    __slots__ = ("end", "number", "parts", "start", "token")

    def __init__(self, start: int, end: int) -> None:
        self.number = 1
        self.start = start
        self.end = end
        self.token = Token(self)
        self.parts: Any = None


class Runner:
    """A repetition that stands alone, `b ntimes 3 seq c`: waiting runs are its candidates (definition 13.14)."""

    def __init__(
        self, *, policy: Policy, limits: ReadLimits, shared: Callable[[Values], Values], emit: Emit,
        export: Callable[[Values, Token, Any], Values], merge: Callable[[Any, Values], Any], window: int | None,
    ) -> None:  # fmt: skip
        self.policy = policy
        self.limits = limits
        self.shared = shared
        self.emit = emit
        self.export = export
        self.merge = merge
        self.window = window
        self.runs: dict[Values, list[Run]] = {}
        self.firsts: dict[Values, list[tuple[Run, list[tuple[int, int, Lengths]]]]] = {}
        self.elements: dict[Values, list[tuple[int, int, Values]]] = {}
        self.fifo: deque[tuple[int, Values]] = deque()

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
            latest = found[-1]
            token = Token(latest, tuple(r.token for r in found))
            parts = [[x for some in marks for x in some] for marks in zip(*(r.parts for r in found), strict=True)]
            self.emit(*self.export(values, token, parts), min(r.start for r in found), end)
            return
        for run in found:
            self.emit(*self.export(values, run.token, run.parts), run.start, end)

    def _chains(self, key: Values, values: Values, start: int, end: int, limits: Limits) -> list[Run]:
        """Every first element from which a chain of allowed length leads to this one, in order of rank."""
        elements = self.elements.setdefault(key, [])
        latest = max((s for s, e, _ in elements if e < start), default=None)
        elements.append((start, end, values))
        least, most = limits
        top = least if most is None else most + 1
        complete = []
        for run, ends in self.firsts.setdefault(key, []):
            if self.window is not None and end - run.start > self.window:
                continue
            lengths = {
                min(n + 1, top): run.start
                for _, e, found in ends
                if e < start and not (latest is not None and e < latest)
                for n in found
            }
            if lengths:
                ends.append((start, end, lengths))
                if first_of(lengths, limits) is not None:
                    complete.append(run)
        opened = Run(start, end)
        self.firsts[key].append((opened, [(start, end, {1: start})]))
        if least == 1:
            complete.append(opened)
        own = self.merge(None, values)  # empty where no marks are asked for
        for run in complete:
            run.parts = self._stretch(elements, run.start) if own else own
        return sorted(complete, key=rank)

    def expire(self, now: int) -> None:
        """Let go what began too long before a moment; `fifo` lists (end, key) of elements in order."""
        if self.window is None:
            return
        limit = now - self.window
        while self.fifo and self.fifo[0][0] < limit:
            key = self.fifo.popleft()[1]
            _keep_started(self.runs, key, limit, lambda run: run.start)
            _keep_started(self.firsts, key, limit, lambda first: first[0].start)
            _keep_started(self.elements, key, limit, lambda element: element[0])

    def _stretch(self, elements: list[tuple[int, int, Values]], first: int) -> Any:
        """Return the marks of all elements from a start on: which of them a chain took is not told apart."""
        parts = None
        for start, _, values in elements:
            if start >= first:
                parts = self.merge(parts, values)
        return parts

    def _extend(self, key: Values, values: Values, start: int, end: int, limits: Limits) -> list[Run]:
        least, most = limits
        runs = [r for r in self.runs.get(key, ()) if r.token.alive]
        runs = [r for r in runs if self.window is None or end - r.start <= self.window]
        chosen = select(self.policy, [r for r in sorted(runs, key=rank) if r.end < start])
        for run in chosen:
            run.number, run.end, run.parts = run.number + 1, end, self.merge(run.parts, values)
        if not chosen:
            chosen = [Run(start, end)]
            chosen[0].parts = self.merge(None, values)
        runs = [r for r in runs if r not in chosen] + [r for r in chosen if r.number != most]
        self.runs[key] = runs
        return [r for r in chosen if r.number >= least]


def _keep_started(table: dict[Values, list[Any]], key: Values, limit: int, start: Callable[[Any], int]) -> None:
    """Keep of a group what started at a moment or later, and the group only if it has something."""
    group = table.get(key)
    if group is not None:
        group[:] = [x for x in group if start(x) >= limit]
        if not group:
            del table[key]
