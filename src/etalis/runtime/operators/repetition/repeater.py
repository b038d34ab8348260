"""Repetition after left sides (definition 13.7 to 13.12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from etalis.runtime.operators.base import Emit, Key, Shelf, Values, rank, select
from etalis.runtime.operators.repetition.chains import (
    Limits,
    RunLog,
    extend_chains,
    first_of,
)
from etalis.runtime.operators.repetition.counted import Left, is_usable
from etalis.runtime.operators.repetition.lines import ElementLine
from etalis.runtime.operators.store import LONG, Token
from etalis.temporal.policy import Policy
from etalis.temporal.rope import Rope, RunRope, SeveralRopes

ReadLimits = Callable[[Values], Limits | None]
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
        self.most = 0  # groups of left sides, before generated code drops those that have been consumed

    def line(self, key: Values, group: Iterable[Left]) -> ElementLine:
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
        found = self.lines[key] = ElementLine(elements)
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
        rope = several_ropes([self._rope(c) for c in complete])
        self.emit(*self.combine(latest, values, token, first, taken, rope), min(c[0].start for c in complete), end)


def several_ropes(ropes: list[Rope]) -> Rope:
    return ropes[0] if len(ropes) == 1 else SeveralRopes(ropes)
