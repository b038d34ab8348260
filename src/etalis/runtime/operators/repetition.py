"""Repetition: runs of an element, after each left side or alone (definition 13.1 to 13.21)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from etalis.runtime.operators.base import Emit, Key, Shelf, Values, rank, select
from etalis.runtime.operators.chains import (
    ChainEnd,
    Lengths,
    Limits,
    Links,
    RunLink,
    RunLog,
    Slice,
    extend_chains,
    first_of,
    lengthen,
)
from etalis.runtime.operators.lines import Line
from etalis.runtime.operators.store import LONG, Token
from etalis.temporal.policy import Policy
from etalis.temporal.rope import Rope, RunRope, SeveralRopes

NO_IDS: frozenset[int] = frozenset()
ReadLimits = Callable[[Values], Limits | None]


class Left:
    """What a repetition counts after, with its counts per values of the shared variables.

    What few need is made when it is asked for: `tied` is the token, `counted` are the counts, `noted` is the rest.
    """

    __slots__ = ("counted", "end", "noted", "parents", "replaced_by", "start", "tied", "values")

    def __init__(self, values: Values, start: int, end: int, parents: tuple[Token, ...] = ()) -> None:
        self.values = values
        self.start = start
        self.end = end
        self.parents = parents
        self.tied: Token | None = None
        self.counted: dict[Values, list[int]] | None = None
        self.noted: Noted | None = None
        self.replaced_by: int | None = None

    @property
    def token(self) -> Token:
        """What is consumed with its matches."""
        if self.tied is None:
            self.tied = Token(None, self.parents)
        return self.tied

    @property
    def counts(self) -> dict[Values, list[int]]:
        """How many were counted, since when, and until when."""
        if self.counted is None:
            self.counted = {}
        return self.counted

    @property
    def notes(self) -> Noted:
        """What was noted of the elements."""
        if self.noted is None:
            self.noted = Noted()
        return self.noted

    def stretch(self, key: Values, first: int, values: Values, marked: bool) -> list[Values]:
        """Return the elements counted from a start on, where their marks are asked for; else the last alone."""
        return [x for start, x in self.notes.elements[key] if start >= first] if marked else [values]


class Noted:
    """What is noted of the elements after a left side, per values of the shared variables."""

    __slots__ = ("chains", "elements", "logs")

    def __init__(self) -> None:
        self.chains: dict[Values, list[ChainEnd]] = {}
        self.elements: dict[Values, list[tuple[int, Values]]] = {}
        self.logs: dict[Values, RunLog] = {}  # where contributing inputs are kept

    def log(self, key: Values) -> RunLog:
        """Return what was noted of the elements of a group."""
        if key not in self.logs:
            self.logs[key] = RunLog()
        return self.logs[key]


Candidate = tuple[Left, Limits, Values, int]


class Repeater:
    """`L seq B ntimes ..`, `L seq B star_times`: a join that never consumes L and never stores B (definition 13.10)."""

    def __init__(
        self, *, policy: Policy, limits: ReadLimits, shared: Callable[[Values, Values], Values | None],
        combine: Callable[..., Values], check: Emit, emit: Emit, left_key: Key, element_key: Key,
        repeats: Callable[[list[Values], Values], bool], parents: Callable[[Values], tuple[Token, ...]],
        line_key: Key, keep: int | None, marked: bool, event: Callable[[], int] | None, needs_first: bool,
        rope_of: Callable[[Values], Rope] | None, waiting_rope: Callable[[Values, int], Rope],
    ) -> None:  # fmt: skip
        self.policy = policy
        self.rope_of = rope_of
        self.waiting_rope = waiting_rope
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
        self.line_key = line_key
        self.lines: dict[Values, Any] = {}  # what generated code keeps of the elements of a group under `unrestricted`
        self.lines_most = LONG

    def line(self, key: Values, group: Iterable[Left]) -> Line:
        """Return the elements of a group, those of a snapshot, too; forget those of other groups now and then."""
        elements = self.lines.get(key)
        if elements is None:
            chains = (left.noted.chains.pop(key, None) for left in group if left.noted is not None)
            elements = max((chain for chain in chains if chain), key=len, default=())
        if len(self.lines) > self.lines_most:
            for other, line in list(self.lines.items()):
                lefts = self.lefts.group(self.line_key(other))
                if not lefts or lefts[0].end >= max((end for _, end, _ in line), default=0):
                    del self.lines[other]
            self.lines_most = 2 * len(self.lines) + LONG
        found = self.lines[key] = Line(elements)
        return found

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
        return is_usable(left) and (replaced is None or self.event is None or replaced == self.event())

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
        complete = [c for c in select(self.policy, candidates) if self._is_complete(c, values, start, end)]
        if self.policy.select == "together" and complete:
            self._emit_together(complete, values, end)
            return
        for found in complete:
            left, _, key, first = found
            taken = left.stretch(key, first, values, self.marked)
            self.emit(*self.combine(left, values, left.token, first, taken, self._rope(found)), left.start, end)

    def _candidate(self, left: Left, values: Values, start: int, end: int) -> Candidate | None:
        key = self.shared(left.values, values)
        limits = None if key is None else self.limits((*key, *left.values))
        if key is None or limits is None:
            return None
        if not self.policy.restricts:
            first = self._extended(left, key, values, start, end, limits)
        else:
            first = self._continued(left, key, start, limits)
        first = start if first is None else first
        if self.marked:
            left.notes.elements.setdefault(key, []).append((start, values))
        taken = left.stretch(key, first, values, self.marked)
        passes = self.check(*self.combine(left, values, left.token, first, taken, None), left.start, end)
        return (left, limits, key, first) if passes else None

    def _extended(
        self, left: Left, key: Values, values: Values, start: int, end: int, limits: Limits
    ) -> int | None:  # fmt: skip
        """Return where the chains begin that this element completes; any one element is a `star_times`."""
        log = None if self.rope_of is None else left.notes.log(key)
        first: int | None = start
        if limits != (1, None) or self.needs_first:
            first = first_of(extend_chains(left.notes.chains.setdefault(key, []), start, end, limits, log), limits)
        if log is not None and self.rope_of is not None:
            log.add(start, end, self.rope_of(values))
        return first

    def _continued(self, left: Left, key: Values, start: int, limits: Limits) -> int | None:
        """Return where the count began that this element would continue; `star_times` passes over none."""
        count = left.counts.get(key)
        return count[1] if count is not None and (limits[1] is None or count[2] < start) else None

    def _is_complete(self, candidate: Candidate, values: Values, start: int, end: int) -> bool:
        """Count this element, and tell whether that makes a match."""
        left, limits, key, _ = candidate
        least, most = limits
        if not self.policy.restricts:
            return key not in left.notes.chains or first_of(left.notes.chains[key][-1][2], limits) is not None
        if key in left.counts and self._continued(left, key, start, limits) is None:
            return False
        if self.rope_of is not None:
            if key not in left.counts:
                left.notes.logs[key] = RunLog()
            left.notes.log(key).add(start, end, self.rope_of(values))
        count = left.counts.setdefault(key, [0, start, end])
        count[0] += 1
        count[2] = end
        if count[0] == most:
            del left.counts[key]
        return count[0] >= least

    def _rope(self, found: Candidate) -> Rope:
        """Return what contributes to a match: what stands left, and the elements counted."""
        if self.rope_of is None:
            return None
        left, limits, key, _ = found
        log = left.notes.log(key)
        is_chain = not self.policy.restricts and limits[1] is not None
        told = log.chain(limits) if is_chain else log.all()
        before = told[0][told[1]][0] if is_chain else log.earliest
        return RunRope(self.waiting_rope(left.values, before), *told, is_open=limits[1] is None)

    def _emit_together(self, complete: list[Candidate], values: Values, end: int) -> None:
        latest, _, _, first = complete[-1]
        token = Token(latest.token.origin, tuple(c[0].token for c in complete))
        taken = [x for left, _, key, start in complete for x in left.stretch(key, start, values, self.marked)]
        rope = _several([self._rope(c) for c in complete])
        self.emit(*self.combine(latest, values, token, first, taken, rope), min(c[0].start for c in complete), end)


def _several(ropes: list[Rope]) -> Rope:
    return ropes[0] if len(ropes) == 1 else SeveralRopes(ropes)


class Run:
    """A repetition in the making that stands alone; `tied` is its token, if anyone has asked for it."""

    __slots__ = ("end", "ids", "log", "number", "start", "tied")

    def __init__(self, start: int, end: int) -> None:
        self.number = 1
        self.start = start
        self.end = end
        self.tied: Token | None = None
        self.ids: frozenset[int] = NO_IDS
        self.log: RunLog | None = None  # where contributing inputs are kept

    @property
    def token(self) -> Token:
        """What is consumed with its matches."""
        if self.tied is None:
            self.tied = Token(None)
        return self.tied


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
        self.by_lines = False  # whether generated code keeps elements in lines, as it does under `unrestricted`

    def line(self, key: Values, end: int) -> Line:
        """Return the elements of a group, those of a snapshot, too."""
        found = self.elements[key] = Line(self.elements.get(key, ()))
        self.firsts.setdefault(key, [])
        if self.window is not None:
            found.due = end
            self.fifo.append((end, key))
        return found

    def cut(self, key: Values, due: int, limit: int) -> None:
        """Forget the elements of a group that ended before a moment; `due` is when it was to be looked at."""
        found = self.elements.get(key)
        if found is None or (isinstance(found, Line) and found.due != due):
            return
        line = found if isinstance(found, Line) else Line(found)
        del self.firsts[key][: line.cut(limit - 1)]
        if len(line):
            self.elements[key] = line
            line.due = line.ends[-1]
            self.fifo.append((line.due, key))
        else:
            del self.elements[key], self.firsts[key]

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
            rope = _several([self._rope(told, limits) for _, told in found])
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


def is_usable(x: Left | Run) -> bool:
    """Tell whether nothing that was counted has been consumed."""
    return x.tied is None or x.tied.alive


def keep_started(table: dict[Values, list[Any]], key: Values, limit: int, start: Callable[[Any], int]) -> None:
    """Keep of a group what started at a moment or later, and the group only if it has something."""
    group = table.get(key)
    if group is not None:
        group[:] = [x for x in group if start(x) >= limit]
        if not group:
            del table[key]
