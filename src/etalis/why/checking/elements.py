"""Elements of repetitions and aggregates in a justification: chain, number, value, and that none is missing.

Which of them contribute is said in definition 23.6 to 23.10. That none is missing can be seen where no policy selects
what is counted: under `unrestricted`, and in aggregates of single events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from etalis.language import syntax as s
from etalis.why.checking.occurrences import RunRecord, Sighting, group, run, slide, total, value_of
from etalis.why.checking.rule_text import TextPart, limits
from etalis.why.justification import Body, FoldedValue, Node


class WrongNode(NamedTuple):
    """The first node of a justification that is not as it says, and why."""

    node: Node
    reason: str


class WrongNodeError(Exception):
    """A node is wrong."""

    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(reason)
        self.wrong = WrongNode(node, reason)


def check_run(
    record: RunRecord,
    part: TextPart,
    body: Body,
    lefts: list[list[Sighting]],
    sides: list[list[Sighting]],
    policy: str,
    followed: bool,
    every: bool,
) -> Iterator[Sighting]:
    """Yield what a repetition can be; one without upper limit that is followed may have waited since any element."""
    repeat = part.core.right if isinstance(part.core, s.Binary) else part.core
    assert isinstance(repeat, s.Repeat)
    names, free = part.below[-1].around, policy == "unrestricted"
    openers: list[Sighting] | list[None] = lefts[0] if lefts else [None]
    for a in openers:
        bound = group(a, sides[0][0], names)
        agreeing = [next((b for b in each if group(a, b, names) == bound), None) for each in sides]
        elements = [b for b in agreeing if b is not None]
        count = None if bound is None else limits(repeat, bound)
        if bound is None or count is None or len(elements) < len(sides):
            raise WrongNodeError(body, "its elements do not agree, or their number has no value")
        seen = record.elements(part, a, elements[0], names) if free or is_single(part.below[-1]) else elements
        _check_succession(body, a, elements, seen if free else None, count)
        if count[1] is not None:
            yield run(a, elements[0], elements[-1], bound, until(elements[-1], seen, elements))
            continue
        others = _others(part, a, elements, seen) if free else []
        latest = max(elements, key=lambda b: b.known)
        if not followed and any(b.known < latest.known for b in others):
            raise WrongNodeError(body, "an element is missing")
        for last in (elements if every else elements[:1]) if followed else [latest]:
            earlier = (
                [b for b in elements if b is last or b.end < last.start] if free and a is not None else elements[:1]
            )
            x = run(a, min(earlier, key=lambda b: b.start), last, bound, until(last, seen, elements))
            if followed:
                beyond = min((b.end for b in others), default=None)
                x = x._replace(until=max(b.end for b in elements), beyond=beyond)
            yield x


def until(last: Sighting, *several: list[Sighting]) -> list[Sighting]:
    """Return the elements that had come with the last."""
    return [b for elements in several for b in elements if b.known <= last.known]


def _others(part: TextPart, a: Sighting | None, elements: list[Sighting], seen: list[Sighting]) -> list[Sighting]:
    """Return the elements that could be told and are not."""
    begin = elements[0].start if a is None else a.start
    found = [b for b in seen if part.window is None or b.end - begin <= part.window]
    found = [b for b in found if a is not None or elements[0].end < b.start]
    told = Counter(b.events for b in elements)
    others = []
    for b in found:
        told[b.events] -= 1
        if told[b.events] < 0:
            others.append(b)
    return others


def _check_succession(
    body: Body, a: Sighting | None, elements: list[Sighting], seen: list[Sighting] | None, count: tuple[int, int | None]
) -> None:
    """Check number and order of the elements of a repetition; none of those seen is skipped in a chain."""
    least, most = count
    if len(elements) < least or (most is not None and len(elements) > most):
        raise WrongNodeError(body, f"it has {len(elements)} elements")
    first = min(b.start for b in elements)
    if a is not None and not (a.end < first and a.is_before(first)):
        raise WrongNodeError(body, "an element does not start after what it is counted after")
    if most is None and a is None and seen is not None:
        if any(not elements[0].end < b.start for b in elements[1:]):
            raise WrongNodeError(body, "an element does not start after the first ended")
    elif most is not None or a is None:
        for b, c in pairwise(elements):
            if not b.end < c.start:
                raise WrongNodeError(body, "its elements are not successive")
            if any(b.end < x.start and x.end < c.start for x in seen or ()):
                raise WrongNodeError(body, "an element is skipped")


def check_fold(
    record: RunRecord,
    part: TextPart,
    body: FoldedValue,
    fold: s.Aggregate,
    a: Sighting | None,
    sides: list[list[Sighting]],
    policy: str,
) -> list[Sighting]:
    """Return what an aggregate is over its elements."""
    elements = [each[0] for each in sides]
    if a is None and not elements:
        raise WrongNodeError(body, "it has no elements")
    if any(a is not None and not a.end < b.start for b in elements):
        raise WrongNodeError(body, "an element does not start after the opener ended")
    if any(b.known > c.known for b, c in pairwise(elements)):
        raise WrongNodeError(body, "its elements are not in the order of their coming")
    groups = [group(a, b, part.groups) for b in elements]
    if any(value_of(fold, b) is None for b in elements) or any(bound != groups[0] for bound in groups):
        raise WrongNodeError(body, "an element is of another group, or no number")
    if elements and (policy == "unrestricted" or is_single(part.below[-1])):
        _check_taken(record, part, body, fold, a, elements)
    value = total(fold, elements)
    if body.kind != fold.kind or value is None or value != body.value:
        raise WrongNodeError(body, f"the {fold.kind} of its elements is {value}")
    return record.folded(part, fold, a, elements)


def _check_taken(
    record: RunRecord, part: TextPart, body: Body, fold: s.Aggregate, a: Sighting | None, elements: list[Sighting]
) -> None:
    """Check that an aggregate is over all that had come; of what came with the last element some may be later."""
    last = elements[-1]
    seen = [b for b in record.elements(part, a, last, part.groups) if value_of(fold, b) is not None]
    with_last = [b for b in elements if b.known == last.known]
    expected = [*(b for b in seen if b.known < last.known), *with_last]
    expected = slide(part, expected) if a is None else expected
    too_many = Counter(b.events for b in with_last) - Counter(b.events for b in seen if b.known == last.known)
    if too_many or Counter(b.events for b in elements) != Counter(b.events for b in expected):
        raise WrongNodeError(body, "an element is missing, or one too many")


def is_single(part: TextPart) -> bool:
    """Tell whether a pattern is one event."""
    return isinstance(part.core, s.EventPattern | s.SubRule)


def combine(several: list[Sighting], *, sequential: bool) -> Sighting:
    """Return one match in place of several, on the common hull, the rest of the latest (definition 12.16)."""
    start, end = min(x.start for x in several), max(x.end for x in several)
    events = frozenset[int]().union(*(x.events for x in several))
    until = max((x.until for x in several if x.until is not None), default=None)
    beyond = min((x.beyond for x in several if x.beyond is not None), default=None)
    found = several[-1]._replace(start=start, end=end, events=events, until=until, beyond=beyond)
    return found if sequential else found._replace(first=end, last=start)
