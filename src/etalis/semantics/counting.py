"""Repetitions and aggregates (definition sections 13 and 14): operators that count what they are handed.

A repetition or an aggregate directly right of `seq` counts after each instance of what stands left (`Anchored`,
`Opened`), elsewhere it stands alone (`Runs`, `Sliding`). Elements carry the variables that are used outside; elements
with equal ones form a group, and groups are counted apart. Law: neither ever consumes what stands left of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.semantics.chains import Limits, first_chain, joined_by_chain, taking, told_of
from etalis.semantics.matches import (
    Bindings,
    Instance,
    Names,
    Numbers,
    Receiver,
    Scope,
    Tests,
    Told,
    ground,
    join,
    match,
    pass_on,
    settled,
    tell,
    whole,
)
from etalis.semantics.operators import keep_newest, rank, repeats, restrict, select, together
from etalis.temporal.aggregate import FOLDS, explain_no_value, has_no_value


def limits_of(repeat: s.Repeat, bindings: Bindings, scope: Scope) -> Limits | None:
    """Return how many occurrences a repetition takes, or report that its bounds are no counts."""
    least = ground(repeat.least, bindings)
    most = least if repeat.most is None else ground(repeat.most, bindings)
    if not (isinstance(least, int) and isinstance(most, int) and 1 <= least <= most):
        scope.world.report(f"ntimes ({least}, {most}) needs whole numbers, 1 or more", scope.rule)
        return None
    return least, None if repeat.most is None else most


@dataclass(slots=True)
class Count:
    """How many elements were counted after one instance, from where to where, and which."""

    number: int
    start: int
    end: int
    elements: list[Instance] = field(default_factory=list)


@dataclass(slots=True)
class Anchored:
    """`L seq B ntimes ..`, `L seq B star_times`: a join that never consumes L and never stores B (definition 13.10)."""

    repeat: s.Repeat
    shared: Names
    key: Names
    tests: Tests
    emit: Receiver
    scope: Scope
    lefts: list[Instance] = field(default_factory=list)
    elements: list[Instance] = field(default_factory=list)
    counts: dict[tuple[Instance, frozenset[Any]], Count] = field(default_factory=dict)

    def receive_left(self, x: Instance) -> None:
        if repeats(self.lefts, x):
            return
        if self.scope.policy.keep == "newest":
            keep_newest(self.lefts, x, self.key, self.scope.world)
        else:
            self.lefts.append(x)

    def receive_element(self, x: Instance) -> None:
        x = restrict(x, self.shared)
        self.elements.append(x)
        candidates = []
        for a in sorted(self.lefts, key=rank):
            bindings = join(a.bindings, x.bindings)
            limits = None if bindings is None or not a.end < x.start else limits_of(self.repeat, bindings, self.scope)
            if bindings is not None and limits is not None:
                pair = self._pair(a, x, bindings, limits)
                candidates.append((a, limits, pair, self.tests(pair)))
        chosen = select(self.scope.policy, [c for c in candidates if c[3]])
        counted = [(self.count(a, x, pair.bindings, limits), pair, passed) for a, limits, pair, passed in chosen]
        complete = [(told, pair, passed) for told, pair, passed in counted if told is not None]
        matches = [replace(m, told=told) for told, _, passed in complete for m in passed]
        if self.scope.policy.select == "together" and complete:
            pairs = [replace(pair, told=told) for told, pair, _ in complete]
            matches = self.tests.again(together(pairs, sequential=True))
        pass_on(matches, self.emit)

    def _pair(self, a: Instance, x: Instance, bindings: Bindings, limits: Limits) -> Instance:
        """Return what L and this B would match as; the repetition begins with the first B that counts."""
        group = self.group(a, bindings)
        if not self.scope.policy.restricts:
            start = min((b.start for b in group if joined_by_chain(b, x, group, limits)), default=x.start)
        else:
            count = self.continued(a, x, bindings, limits)
            start = x.start if count is None else count.start
        parts = a.parts.union(*(b.parts for b in group if start <= b.start))
        told, held = settled(tell(a, x)), ((self.lefts, a),)
        return Instance(a.start, x.end, bindings, a.first, start, parts, told, origin=a, holds=held)

    def group(self, a: Instance, bindings: Bindings) -> list[Instance]:
        """Return the elements after L, up to now, that give the same bindings with it."""
        return [b for b in self.elements if a.end < b.start and join(a.bindings, b.bindings) == bindings]

    def continued(self, a: Instance, x: Instance, bindings: Bindings, limits: Limits) -> Count | None:
        """Return the count that this B would continue; `star_times` passes over none."""
        count = self.counts.get((a, frozenset(bindings.items())))
        return count if count is not None and (limits[1] is None or count.end < x.start) else None

    def count(self, a: Instance, x: Instance, bindings: Bindings, limits: Limits) -> Told | None:
        """Count this B after L; if that makes a match, return what contributes to it."""
        least, most = limits
        if not self.scope.policy.restricts:
            return self._told(a, x, bindings, limits)
        key = a, frozenset(bindings.items())
        if key in self.counts and self.continued(a, x, bindings, limits) is None:
            return None
        count = self.counts.setdefault(key, Count(0, x.start, x.end))
        count.number, count.end = count.number + 1, x.end
        count.elements.append(x)
        if count.number == most:
            del self.counts[key]
        return told_of(a, taking(count.elements, limits)) if count.number >= least else None

    def _told(self, a: Instance, x: Instance, bindings: Bindings, limits: Limits) -> Told | None:
        """Return what contributes under `unrestricted`: a chain, or without an upper limit all in the window."""
        group = self.group(a, bindings)
        firsts = [b for b in group if joined_by_chain(b, x, group, limits)]
        if not firsts:
            return None
        if limits[1] is not None:
            chain = first_chain(firsts, x, group, limits)
            return told_of(a, lambda _before: chain)
        upto, window = len(self.elements), self.scope.window

        def take(before: int | None) -> list[Instance]:
            known = self.elements[:upto] if before is None else [b for b in self.elements if b.end < before]
            alike = [b for b in known if a.end < b.start and join(a.bindings, b.bindings) == bindings]
            return [b for b in alike if window is None or b.end - a.start <= window]

        return told_of(a, take)


@dataclass(slots=True, eq=False)
class ModelRun:
    """A repetition in the making."""

    number: int
    start: int
    end: int
    bindings: Bindings
    parts: Numbers
    elements: list[Instance]
    holds: tuple[()] = ()


@dataclass(slots=True)
class Runs:
    """A repetition that stands alone, `b ntimes 3 seq c`: waiting runs are its candidates (definition 13.14)."""

    repeat: s.Repeat
    shared: Names
    tests: Tests
    emit: Receiver
    scope: Scope
    elements: list[Instance] = field(default_factory=list)
    runs: list[ModelRun] = field(default_factory=list)

    def receive(self, x: Instance) -> None:
        x = restrict(x, self.shared)
        self.elements.append(x)
        limits = limits_of(self.repeat, x.bindings, self.scope)
        if limits is None:
            return
        unrestricted = not self.scope.policy.restricts
        found = self._chains(x, limits) if unrestricted else self._extend(x, limits)
        if self.scope.policy.select == "together" and found:
            found = [together(found, sequential=False)]
        pass_on([m for y in found for m in self.tests(y)], self.emit)

    def _chains(self, x: Instance, limits: Limits) -> list[Instance]:
        group = [b for b in self.elements if b.bindings == x.bindings]
        found = [b for b in sorted(group, key=rank) if joined_by_chain(b, x, group, limits)]
        parts = {b: b.parts.union(*(c.parts for c in group if b.start <= c.start)) for b in found}
        return [whole(b.start, x.end, x.bindings, parts[b], self._told(b, x, group, limits), origin=b) for b in found]

    def _told(self, first: Instance, x: Instance, group: list[Instance], limits: Limits) -> Told:
        if limits[1] is not None:
            chain = first_chain([first], x, group, limits)
            return told_of(None, lambda _before: chain)
        upto, window = len(self.elements), self.scope.window

        def take(before: int | None) -> list[Instance]:
            known = self.elements[:upto] if before is None else [b for b in self.elements if b.end < before]
            later = [b for b in known if b.bindings == x.bindings and first.end < b.start]
            return [first, *(b for b in later if window is None or b.end - first.start <= window)]

        return told_of(None, take)

    def _extend(self, x: Instance, limits: Limits) -> list[Instance]:
        """Extend the selected runs by an element, or open one; return the matches that this makes."""
        window = self.scope.window
        alike = [r for r in sorted(self.runs, key=rank) if r.bindings == x.bindings and r.end < x.start]
        chosen = select(self.scope.policy, [r for r in alike if window is None or x.end - r.start <= window])
        for run in chosen:
            run.number, run.end, run.parts = run.number + 1, x.end, run.parts | x.parts
            run.elements.append(x)
        chosen = chosen or [ModelRun(1, x.start, x.end, x.bindings, x.parts, [x])]
        least, most = limits
        self.runs[:] = [r for r in self.runs if not any(r is c for c in chosen)]
        self.runs += [r for r in chosen if r.number != most]
        complete = [r for r in chosen if r.number >= least]
        return [self._match(r, limits) for r in complete]

    def _match(self, r: ModelRun, limits: Limits) -> Instance:
        told = told_of(None, taking(r.elements, limits))
        return whole(r.start, r.end, r.bindings, r.parts, told, origin=r, holds=((self.runs, r),))


@dataclass(slots=True)
class Folding:
    """What both forms of an aggregate need: its row, its groups, and how a value becomes a match."""

    fold: s.Aggregate
    groups: Names
    tests: Tests
    emit: Receiver
    scope: Scope

    def value_of(self, x: Instance) -> Value | None:
        """Return the value that an element adds, or report that it is no number and has none."""
        value = 0 if self.fold.value is None else ground(self.fold.value, x.bindings)
        if FOLDS[self.fold.kind].numeric and not isinstance(value, int | float):
            self.scope.world.report(f"{self.fold.kind} of {value!r}, which is not a number", self.scope.rule)
            return None
        return value

    def report(self, x: Instance, state: Any) -> None:
        """Hand on the value reached, on the interval and with the bindings of `x`, if it unifies with the result."""
        row = FOLDS[self.fold.kind]
        result = row.result(state)
        if has_no_value(row, result):
            self.scope.world.report(explain_no_value(row.name), self.scope.rule)
            return
        bindings = match(self.fold.result, result, x.bindings)
        if bindings is not None:
            pass_on(self.tests(replace(x, bindings=bindings)), self.emit)


@dataclass(slots=True)
class Total:
    """The value after one opener, from where on, and of which elements."""

    state: Any
    start: int
    elements: list[Instance] = field(default_factory=list)

    def match(self, opener: Instance, bindings: Bindings) -> Instance:
        """Return what opener and elements match as, up to the last."""
        parts = opener.parts.union(*(b.parts for b in self.elements))
        told = settled(opener.told(self.start) | tell(*self.elements))
        return Instance(opener.start, self.elements[-1].end, bindings, opener.first, self.start, parts, told)


@dataclass(slots=True)
class Opened:
    """`Opener seq aggregate(..)`: each opener keeps its own value per group, whatever the policy."""

    folding: Folding
    openers: list[Instance] = field(default_factory=list)
    totals: dict[tuple[Instance, frozenset[Any]], Total] = field(default_factory=dict)

    def receive_opener(self, x: Instance) -> None:
        if repeats(self.openers, x):
            return
        self.openers.append(x)
        row = FOLDS[self.folding.fold.kind]
        if row.at_opener and self.folding.groups & self.folding.scope.head <= x.bindings.keys():
            self.folding.report(replace(x, told=settled(tell(x)), single=None, origin=None, holds=()), row.zero)

    def receive_element(self, x: Instance) -> None:
        value = self.folding.value_of(x)
        group = restrict(x, self.folding.groups).bindings
        for a in sorted(self.openers, key=rank) if value is not None else ():
            bindings = join(a.bindings, group)
            if bindings is not None and a.end < x.start:
                total = self._add(a, x, bindings, value)
                self.folding.report(total.match(a, bindings), total.state)

    def _add(self, a: Instance, x: Instance, bindings: Bindings, value: Value) -> Total:
        row = FOLDS[self.folding.fold.kind]
        total = self.totals.setdefault((a, frozenset(bindings.items())), Total(row.zero, x.start))
        total.state = row.step(total.state, value)
        total.start = min(total.start, x.start)
        total.elements.append(x)
        return total


@dataclass(slots=True)
class Sliding:
    """An aggregate without opener, over the last `length` microseconds or `number` elements (definition 14.6)."""

    folding: Folding
    length: int | None
    number: int | None
    elements: list[tuple[Instance, Value]] = field(default_factory=list)

    def receive(self, x: Instance) -> None:
        value = self.folding.value_of(x)
        if value is None:
            return
        x = restrict(x, self.folding.groups)
        self.elements.append((x, value))
        taken = [(b, v) for b, v in self.elements if b.bindings == x.bindings]
        taken = [(b, v) for b, v in taken if self.length is None or x.end - self.length <= b.start]
        taken = taken if self.number is None else taken[-self.number :]
        row, state = FOLDS[self.folding.fold.kind], FOLDS[self.folding.fold.kind].zero
        for _, v in taken:
            state = row.step(state, v)
        parts = frozenset[int]().union(*(b.parts for b, _ in taken))
        told = settled(tell(*(b for b, _ in taken)))
        if taken:
            self.folding.report(whole(min(b.start for b, _ in taken), x.end, x.bindings, parts, told), state)
