"""Repetitions and aggregates in attempts: one leaf each, of all the elements that could be counted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from etalis.data.values import Value, format_value
from etalis.language import syntax as s
from etalis.semantics.matches import match
from etalis.temporal.aggregate import FOLDS, has_no_value
from etalis.why.checking.rule_text import ground, join, limits
from etalis.why.search.extents import Choice, Counted, FailedTest, PartExtent
from etalis.why.search.instances import PartEvent
from etalis.why.search.measure import Measure
from etalis.why.search.shape import ShapeLeaf
from etalis.why.search.sightings import EVER, Holding
from etalis.why.why_not import WrongValue

Group = list[Holding]


def countings(measure: Measure, choice: Choice, leaf: ShapeLeaf) -> Iterator[Counted]:
    """Yield what a counted leaf may be, group by group: what counts, else all elements with what is wrong."""
    opener = None if leaf.anchor is None else choice.extents.get(leaf.anchor.number)
    if opener is not None and not opener.whole:
        opener = None
    groups = _groups(measure, choice, leaf, opener)
    if isinstance(leaf.counted, s.Repeat):
        for bound, elements in groups:
            yield from _runs(leaf.counted, choice, leaf, opener, bound, elements)
    else:
        assert isinstance(leaf.counted, s.Aggregate)
        if opener is not None and not groups:
            groups = [({}, [])]
        for bound, elements in groups:
            yield from _folds(leaf.counted, choice, leaf, opener, bound, elements)


def _groups(
    measure: Measure, choice: Choice, leaf: ShapeLeaf, opener: PartExtent | None
) -> list[tuple[dict[str, Value], Group]]:
    """Return the elements after the left side and before what follows, by the values that group them."""
    assert leaf.element is not None
    first, last = (None, None) if measure.shape.rule.alarm else (measure.asked.start[0], measure.asked.end[1])
    low = opener.end if opener is not None else None if first is None else first - 1
    following = [x.start for x in choice.taken[leaf.number + 1 :] if isinstance(x, PartEvent | Counted)]
    high = min(following, default=EVER)
    if last is not None and leaf.number + 1 == len(choice.taken) and last + 1 < high:
        high = last + 1
    names = leaf.node.part.groups if isinstance(leaf.counted, s.Aggregate) else leaf.element.outer
    known = {v: x for v, x in choice.bound.items() if v in names}
    found: dict[Any, tuple[dict[str, Value], Group]] = {}
    for one in measure.tester.sightings.find(leaf.element, low, high, known):
        own = {v: x for v, x in one.bound.items() if v in names}
        if join(own, choice.bound) is not None:
            found.setdefault(tuple(sorted(own.items(), key=lambda item: item[0])), (own, []))[1].append(one)
    return list(found.values())


# repetitions


def _runs(
    repeat: s.Repeat,
    choice: Choice,
    leaf: ShapeLeaf,
    opener: PartExtent | None,
    bound: dict[str, Value],
    elements: Group,
) -> Iterator[Counted]:
    allowed = limits(repeat, {**choice.bound, **bound})
    chain = _successive(elements)
    if allowed is None:
        wanted = " to ".join(
            format_value(ground(x, choice.bound)) for x in (repeat.least, repeat.most) if x is not None
        )
        yield _run(chain, bound, _wrong(wanted or "a number", chain))
        return
    least, most = allowed
    window = leaf.node.part.window
    begin = None if opener is None else opener.start
    if window is not None:
        start = begin if begin is not None else (chain[-1].end - window if chain else 0)
        elements = [x for x in elements if start <= x.start and x.end - start <= window]
        chain = _successive(elements)
    fits = False
    for run in _long_enough(chain, elements, least, whole=most is None):
        fits = True
        yield _run(run, bound, ())
    if chain and not fits:
        yield _run(chain, bound, _wrong(str(least), chain))


def _long_enough(chain: Group, elements: Group, least: int, *, whole: bool) -> Iterator[Group]:
    """Yield runs of at least so many elements, latest first: all that a run can have, or just as many as it needs."""
    ends = [x.end for x in chain]
    for length in range(len(chain), max(least - 1, len(chain) - 1 if whole else 0), -1):
        yield chain[0 if whole else length - least : length]
    for x in _passed_over(elements, chain):
        length = bisect_left(ends, x.start)
        if length + 1 >= least:
            yield [*chain[0 if whole else length + 1 - least : length], x]


def _wrong(wanted: str, chain: Group) -> tuple[FailedTest, ...]:
    return (FailedTest("value", WrongValue(wanted, ((len(chain), chain[-1].end),))),)


def _run(chain: Group, bound: dict[str, Value], failures: tuple[FailedTest, ...]) -> Counted:
    return Counted(chain, (min(x.start for x in chain), chain[-1].end), bound, len(chain), failures)


def _successive(elements: Group) -> Group:
    """Return the longest chain of elements of which each starts after the one before it ended.

    Those of its elements that end before some moment are the longest chain before that moment.
    """
    found: Group = []
    for x in sorted(elements, key=lambda x: (x.end, x.start)):
        if not found or found[-1].end < x.start:
            found.append(x)
    return found


def _passed_over(elements: Group, chain: Group) -> Group:
    """Return the elements that the longest chain has no place for: they may end a run, too."""
    taken = set(map(id, chain))
    return [x for x in elements if id(x) not in taken]


# aggregates


def _folds(
    fold: s.Aggregate,
    choice: Choice,
    leaf: ShapeLeaf,
    opener: PartExtent | None,
    bound: dict[str, Value],
    elements: Group,
) -> Iterator[Counted]:
    """Yield the moments at which an aggregate had the value wanted; if none, the nearest, with all that it had."""
    had: list[tuple[Value, int, Group]] = []
    fits = False
    for value, time, counted in _values(fold, leaf, opener, elements):
        given = match(fold.result, value, {**choice.bound, **bound})
        if given is None:
            had.append((value, time, counted))
        else:
            fits = True
            yield _folded(counted, opener, time, given, value, ())
    if fits or not had:
        return
    wanted = ground(fold.result, choice.bound)
    had.sort(key=lambda one: (_apart(one[0], wanted), -one[1]))
    wrong = WrongValue(format_value(wanted), tuple((value, time) for value, time, _ in had))
    value, time, counted = had[0]
    yield _folded(counted, opener, time, bound, value, (FailedTest("value", wrong),))


def _apart(value: Value, wanted: Value) -> float:
    numbers = isinstance(value, int | float) and isinstance(wanted, int | float)
    return abs(value - wanted) if numbers else float("inf")


def _folded(
    counted: Group, opener: PartExtent | None, time: int, bound: dict[str, Value], value: Value,
    failures: tuple[FailedTest, ...],
) -> Counted:  # fmt: skip
    start = min((x.start for x in counted), default=time if opener is None else opener.times[0])
    return Counted(counted, (start, time), bound, value, failures)


def _values(
    fold: s.Aggregate, leaf: ShapeLeaf, opener: PartExtent | None, elements: Group
) -> Iterator[tuple[Value, int, Group]]:
    """Yield the values that an aggregate had, when, and of which elements."""
    row = FOLDS[fold.kind]
    if opener is not None and row.at_opener:
        yield row.result(row.zero), opener.times[1], []
    numbered = [(x, 0 if fold.value is None else ground(fold.value, x.bound)) for x in elements]
    numbered = [(x, value) for x, value in numbered if not row.numeric or isinstance(value, int | float)]
    modifiers = [m.pattern for m in leaf.node.part.modifiers]
    windows = [m.duration for m in modifiers if isinstance(m, s.Within)] if opener is None else []
    counts = [m.count for m in modifiers if isinstance(m, s.Last)] if opener is None else []
    state: Any = row.zero
    for place, (x, value) in enumerate(numbered, 1):
        if windows and x.start < x.end - min(windows):  # longer than the window: not counted (definition 10.6)
            continue
        if windows or counts:
            kept = [one for one in numbered[:place] if not windows or x.end - min(windows) <= one[0].start]
            kept = kept[-min(counts) :] if counts else kept
            state = row.zero
            for _, each in kept:
                state = row.step(state, each)
            counted = [one for one, _ in kept]
        else:
            state = row.step(state, value)
            counted = [one for one, _ in numbered[:place]]
        found = row.result(state)
        if not has_no_value(row, found):
            yield found, x.end, counted
