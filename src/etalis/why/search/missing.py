"""Where a missing part would have counted, and the event that came nearest to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.semantics.matches import match
from etalis.temporal.relation import Relation
from etalis.why.search.extents import NOTHING_KNOWN, Choice, Counted, PartExtent, of_counted
from etalis.why.search.instances import PartEvent, PartEvents
from etalis.why.search.measure import Measure
from etalis.why.search.shape import ShapeNode
from etalis.why.why_not import TimeBound, TimeRange


class PartLimits(NamedTuple):
    """Between which moments a part must start, and between which it must end."""

    start: TimeRange
    end: TimeRange

    def allow(self, x: PartEvent) -> bool:
        """Tell whether an event lies within."""
        return _lies_in(x.start, self.start) and _lies_in(x.end, self.end)


ANY = TimeRange(None, None)
FREE = PartLimits(ANY, ANY)


def limits_of(measure: Measure, choice: Choice) -> dict[int, PartLimits]:
    """Return the limits of every leaf by what else is there, from the whole pattern down."""
    asked = measure.asked
    whole = FREE
    if measure.shape.rule.alarm is None:
        whole = PartLimits(_closed(*asked.start), _closed(*asked.end))
    found: dict[int, PartLimits] = {}
    waiting = [(measure.shape.root, whole)]
    while waiting:
        node, given = waiting.pop()
        given = _within(node, given, choice.extents[node.number])
        if node.leaf is not None:
            leaf = measure.shape.leaves[node.leaf]
            if leaf.anchor is None:
                found[node.leaf] = given
                continue
            row, taken = measure.tester.relations["seq"], choice.taken[node.leaf]
            counted = of_counted(taken) if isinstance(taken, Counted) else NOTHING_KNOWN
            left, right = _sides(row, choice.extents[leaf.anchor.number], counted, given)
            found[node.leaf] = right
            waiting.append((leaf.anchor, left))
            continue
        sides = [choice.extents[x.number] for x in node.below]
        if node.operator is not None:
            row = measure.tester.relations[node.operator]
            waiting += zip(node.below, _sides(row, sides[0], sides[1], given), strict=True)
        elif isinstance(node.part.core, s.NotWithin):
            waiting.append((node.below[0], PartLimits(given.start, _shifted(given.end, -node.part.core.duration))))
        else:
            waiting.append((node.below[0], given))
    return found


def _within(node: ShapeNode, given: PartLimits, known: PartExtent) -> PartLimits:
    """Tighten limits by the windows on a part and where it is at least."""
    for modifier in node.part.modifiers:
        if isinstance(modifier.pattern, s.Within):
            length = modifier.pattern.duration
            if known.end is not None:
                given = given._replace(start=_both(given.start, TimeRange(TimeBound(known.end - length, False), None)))
            if known.start is not None:
                given = given._replace(end=_both(given.end, TimeRange(None, TimeBound(known.start + length, False))))
    return given


def _sides(row: Relation, a: PartExtent, b: PartExtent, given: PartLimits) -> tuple[PartLimits, PartLimits]:
    """Return the limits of both sides of an operator: those of the whole, and those by each other."""
    ordered = any(x == "a2" and y == "b1" for x, _, y in row.comparisons)
    if row.occurs_on == "hull":
        both = PartLimits(TimeRange(given.start.after, None), TimeRange(None, given.end.before))
        left = right = both
        late, soon = TimeRange(None, given.start.before), TimeRange(given.end.after, None)
        if ordered or _falls_short(b.start if b.whole else None, late):
            left = left._replace(start=_both(left.start, late))
        elif _falls_short(a.start if a.whole else None, late):
            right = right._replace(start=_both(right.start, late))
        if ordered or _falls_short(a.end if a.whole else None, soon):
            right = right._replace(end=_both(right.end, soon))
        elif _falls_short(b.end if b.whole else None, soon):
            left = left._replace(end=_both(left.end, soon))
    else:
        left, right = (given, FREE) if row.occurs_on == "a" else (FREE, given)
    before, after = (a.rightmost, b.leftmost) if row.sequential else (a if a.whole else None, b if b.whole else None)
    for x, op, y in row.comparisons:
        if x[0] == y[0]:
            continue
        x_side, y_side = (before if x[0] == "a" else after), (before if y[0] == "a" else after)
        x_time, y_time = _point(x_side, x), _point(y_side, y)
        if x_time is not None:
            bound = TimeBound(x_time, op == "<")
            limit = TimeRange(bound, bound if op == "=" else None)
            left, right = _limit(left, right, y, limit)
        if y_time is not None:
            bound = TimeBound(y_time, op == "<")
            limit = TimeRange(bound if op == "=" else None, bound)
            left, right = _limit(left, right, x, limit)
    return left, right


def _falls_short(time: int | None, wanted: TimeRange) -> bool:
    return time is not None and not _lies_in(time, wanted)


def _point(side: PartExtent | None, point: str) -> int | None:
    return None if side is None else side.start if point[1] == "1" else side.end


def _limit(left: PartLimits, right: PartLimits, point: str, limit: TimeRange) -> tuple[PartLimits, PartLimits]:
    side = left if point[0] == "a" else right
    if point[1] == "1":
        side = side._replace(start=_both(side.start, limit))
    else:
        side = side._replace(end=_both(side.end, limit))
    return (side, right) if point[0] == "a" else (left, side)


def _closed(low: int | None, high: int | None) -> TimeRange:
    return TimeRange(
        None if low is None else TimeBound(low, False), None if high is None else TimeBound(high, False)
    )  # fmt: skip


def _shifted(found: TimeRange, by: int) -> TimeRange:
    low, high = found.after, found.before
    return TimeRange(
        None if low is None else TimeBound(low.time + by, low.open),
        None if high is None else TimeBound(high.time + by, high.open),
    )


def _both(x: TimeRange, y: TimeRange) -> TimeRange:
    after = max((b for b in (x.after, y.after) if b is not None), key=lambda b: (b.time, b.open), default=None)
    before = min((b for b in (x.before, y.before) if b is not None), key=lambda b: (b.time, not b.open), default=None)
    return TimeRange(after, before)


def _lies_in(time: int, found: TimeRange) -> bool:
    low, high = found.after, found.before
    if low is not None and (time < low.time or (low.open and time == low.time)):
        return False
    return high is None or not (time > high.time or (high.open and time == high.time))


class Miss(NamedTuple):
    """An event that differs from a missing part in one value."""

    event: PartEvent
    name: str
    wanted: Value
    found: Value


def nearest_miss(
    instances: PartEvents, pattern: s.EventPattern, bound: dict[str, Value], fixed: frozenset[str], limits: PartLimits,
    around: tuple[int, int] | None,
) -> Miss | None:  # fmt: skip
    """Return the event nearest in time within limits that differs in one value that the question leaves open."""
    shelf = instances.of((pattern.name, len(pattern.args)))
    best: tuple[int, int, Miss] | None = None
    for place, name, wanted in _known(pattern, bound):
        if name in fixed:
            continue
        rest = [s.Var("_#") if n == place else term for n, term in enumerate(pattern.args)]
        for x in shelf.fitting(rest, bound):
            found = x.args[place]
            if found == wanted or not limits.allow(x) or not _agrees(rest, x, bound):
                continue
            apart = 0 if around is None else max(0, around[0] - x.end, x.start - around[1])
            if best is None or (apart, -x.end) < best[:2]:
                best = apart, -x.end, Miss(x, name, wanted, found)
    return None if best is None else best[2]


def _known(pattern: s.EventPattern, bound: dict[str, Value]) -> Iterator[tuple[int, str, Value]]:
    """Yield the places of a pattern whose value is known, with their variables or numbers."""
    for place, term in enumerate(pattern.args):
        if isinstance(term, s.Var) and term.name in bound:
            yield place, term.name, bound[term.name]
        elif isinstance(term, s.Const):
            yield place, f"attribute {place + 1}", term.value


def _agrees(terms: list[s.Term], x: PartEvent, bound: dict[str, Value]) -> bool:
    found: dict[str, Value] | None = bound
    for term, value in zip(terms, x.args, strict=True):
        if isinstance(term, s.Var) and term.name.startswith("_#"):
            continue
        found = None if found is None else match(term, value, found)
    return found is not None
