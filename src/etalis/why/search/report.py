"""Attempts as data: parts with what they are bound to, and a cause for every test that fails."""

from __future__ import annotations

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.language.printer import print_pattern
from etalis.semantics.matches import match_all
from etalis.why import why_not as w
from etalis.why.bound_terms import bind_pattern
from etalis.why.justification import Occurred
from etalis.why.search.asked_head import put_terms
from etalis.why.search.extents import Choice, Counted, FailedTest
from etalis.why.search.instances import PartEvent, PartEvents
from etalis.why.search.measure import Measure
from etalis.why.search.missing import ANY, PartLimits, limits_of, nearest_miss
from etalis.why.search.shape import ShapeLeaf


class AttemptReport:
    """One attempt while it is told; `fixed` are the variables whose values the question gives."""

    def __init__(self, measure: Measure, choice: Choice, fixed: frozenset[str]) -> None:
        self.measure, self.choice, self._fixed = measure, choice, fixed
        self.instances: PartEvents = measure.tester.instances
        self.bound: dict[str, Value] = {v: x for v, x in choice.bound.items() if not v.startswith("_#")}
        self._terms = {} if measure.head is None else measure.head.terms(self.bound)
        self._limits = limits_of(measure, choice)
        present = [x for x in choice.taken if isinstance(x, PartEvent | Counted)]
        self._around = (min(x.start for x in present), max(x.end for x in present)) if present else None
        self._events: dict[int, Occurred] = {}

    def limits(self, leaf: ShapeLeaf) -> PartLimits:
        """Return where a leaf must be."""
        return self._limits[leaf.number]

    def is_present(self, leaf: ShapeLeaf) -> bool:
        """Tell whether a leaf is there."""
        return isinstance(self.choice.taken[leaf.number], PartEvent | Counted)

    def pattern(self, leaf: ShapeLeaf) -> s.EventPattern:
        """Return the pattern of an event with what is bound."""
        assert leaf.event is not None
        found = bind_pattern(leaf.event, self.bound)
        assert isinstance(found, s.EventPattern)
        return put_terms(found, self._terms)

    def occurs(self, leaf: ShapeLeaf) -> bool:
        """Tell whether an event that would do has occurred, though this attempt has not chosen it."""
        assert leaf.event is not None
        args, limits = self.pattern(leaf).args, self.limits(leaf)
        shelf = self.instances.of((leaf.event.name, len(args)))
        return any(limits.allow(x) and match_all(args, x.args, {}) is not None for x in shelf.fitting(args, {}))

    def part(self, leaf: ShapeLeaf, because: w.WhyNot | None, note: str | None) -> w.AttemptPart:
        """Return a leaf as a part of the attempt."""
        pattern = bind_pattern(leaf.pattern, self.bound) if leaf.event is None else self.pattern(leaf)
        text = print_pattern(pattern)
        asked = pattern if isinstance(pattern, s.EventPattern) else None
        taken = self.choice.taken[leaf.number]
        if isinstance(taken, Counted):
            return w.AttemptPart(text, self.event(taken), count=len(taken.elements), note=note)
        if isinstance(taken, PartEvent):
            return w.AttemptPart(text, self.event(taken), note=note, pattern=asked)
        limits = self.limits(leaf)
        nearest = None
        if leaf.event is not None:
            miss = nearest_miss(self.instances, leaf.event, self.bound, self._fixed, limits, self._around)
            if miss is not None:
                nearest = w.NearestMiss(self.event(miss.event), miss.name, miss.wanted, miss.found)
        count = None if leaf.counted is None else 0
        return w.AttemptPart(text, None, limits.start or ANY, limits.end or ANY, nearest, because, note, count, asked)

    def event(self, taken: PartEvent | Counted) -> Occurred:
        """Return what a leaf has taken as a node of an explanation, one for each."""
        if id(taken) not in self._events:
            self._events[id(taken)] = self._node(taken)
        return self._events[id(taken)]

    def _node(self, taken: PartEvent | Counted) -> Occurred:
        if isinstance(taken, PartEvent):
            if taken.rope is None:
                return Occurred("time", (), taken.start, taken.end)
            return self.instances.node(taken)
        last = taken.elements[-1].events[-1] if taken.elements else None
        if last is None:
            return Occurred("nothing", (), taken.start, taken.end)
        return Occurred(last.name, last.args, taken.start, taken.end)

    def attempt(self, parts: tuple[w.AttemptPart, ...]) -> w.Attempt:
        """Return the attempt with its parts."""
        causes: list[w.Cause] = [w.MissingPart(part) for part in parts if part.event is None]
        causes += [self._cause(failure) for failure in self.choice.failures]
        return w.Attempt(parts, tuple(causes), self.choice.cost, self.bound)

    def _cause(self, failure: FailedTest) -> w.Cause:
        data = failure.data
        match failure.kind:
            case "order":
                relation, left, right = data
                return w.OutOfOrder(relation, self.event(left), self.event(right), failure.distance)
            case "window":
                return w.TooLong(*data)
            case "blocked":
                return w.BlockedBy(tuple(map(self.event, data)))
            case "pending":
                return w.StillPending(data)
            case "condition" | "value" | "affair":
                cause: w.Cause = data
                return cause
            case "withheld":
                kind, lost, rivals = data
                return w.Withheld(kind, self.event(lost), rivals)
            case _:
                raise AssertionError(failure.kind)
