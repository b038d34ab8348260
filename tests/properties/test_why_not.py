"""Every question has an answer: what occurred is told as such, and of what did not every attempt fails for a reason.

An event of the unrestricted model that a policy withheld has an attempt that fails by that policy.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import pytest
from hypothesis import event as tell
from hypothesis import given, note, settings
from hypothesis import strategies as st

import etalis
from etalis.errors import LimitError
from etalis.language.read.parser import parse
from etalis.temporal.event import Event
from etalis.temporal.interval import to_seconds
from etalis.why import why_not as w
from helpers.programs import policies
from properties.test_selection import ALIKE, dense_programs, dense_streams, made, run

pytestmark = pytest.mark.property

ASKED = 4  # events of each run


@settings(max_examples=settings.default.max_examples // 4)
@given(dense_programs(False) | dense_programs(True), dense_streams(), policies(ALIKE))
def test_every_event_has_its_answer(text: str, stream: list[Event], policy: str) -> None:
    note(f"{policy}\n{text}\n{stream}")
    tree = parse(text)
    try:
        free, engine = (run(tree, stream, each) for each in ("unrestricted", policy))
    except LimitError:
        return
    occurred = made(engine)
    withheld = [identity for identity in made(free) if identity not in occurred]
    for name, args, start, end in [*list(occurred)[:ASKED], *withheld[:ASKED]]:
        if not all(isinstance(x, int) for x in args):
            continue
        question = f"{name}({', '.join(map(str, args))})" if args else name
        answer = engine.why_not(question, interval=(to_seconds(start), to_seconds(end)), limit=1000)
        assert str(answer)
        if (name, args, start, end) in occurred:
            assert answer.occurred is not None
            continue
        tell("withheld")
        assert answer.occurred is None
        assert answer.rules
        for attempt in (attempt for rule in answer.rules for attempt in rule.attempts):
            assert attempt.causes, (question, attempt)
        assert comes_down_to_selection(answer) or not answer.complete, (question, answer)


def comes_down_to_selection(answer: w.WhyNot) -> bool:
    """Tell whether an attempt fails by the policy, or by what blocks it, alone; its missing parts likewise."""
    return any(all(map(_is_selection, attempt.causes)) for rule in answer.rules for attempt in rule.attempts)


def _is_selection(cause: w.Cause) -> bool:
    match cause:
        case w.Withheld() | w.BlockedBy():
            return True
        case w.MissingPart(part=part):
            return part.because is not None and comes_down_to_selection(part.because)
        case _:
            return False


Rows = list[tuple[str, int, int]]  # name, value and second of each event
LEAVES = ("p(X)", "q(X)", "q(Y)", "r(X)", "r(Y)")
ROWS = st.lists(st.tuples(st.sampled_from("pqrx"), st.integers(0, 1), st.integers(0, 12)), max_size=6)


class Shape(NamedTuple):
    """A rule `m(X) <- ...`: two or three leaves of different names, joined from the left or from the right."""

    leaves: tuple[str, ...]
    operators: tuple[str, ...]
    from_left: bool
    window: int | None
    least: int | None
    absent: bool

    @property
    def text(self) -> str:
        """The rule."""
        parts = list(self.leaves)
        while len(parts) > 1:
            place = 0 if self.from_left else len(parts) - 2
            operator = self.operators[place if not self.from_left else len(self.leaves) - len(parts)]
            parts[place : place + 2] = [f"({parts[place]} {operator} {parts[place + 1]})"]
        pattern = parts[0] + (" cnot x(_)" if self.absent else "")
        pattern += "" if self.window is None else f" within {self.window}"
        return f"m(X) <- {pattern}{'' if self.least is None else f' where X > {self.least}'}."


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    rest = draw(st.sampled_from([("q(X)",), ("q(Y)",), ("q(X)", "r(X)"), ("q(Y)", "r(X)"), ("q(X)", "r(Y)")]))
    operators = tuple(draw(st.sampled_from(["seq", "seq", "and"])) for _ in rest)
    windows, numbers = st.sampled_from([None, 3, 8]), st.sampled_from([None, None, 0, 1])
    return Shape(("p(X)", *rest), operators, draw(st.booleans()), draw(windows), draw(numbers), draw(st.booleans()))


class Extent(NamedTuple):
    """Where a part of a choice is: its ends, those of the gap that `cnot` looks at, and the outermost whole parts."""

    whole: bool
    start: int | None = None
    end: int | None = None
    first: int | None = None
    last: int | None = None
    left: Any = None
    right: Any = None


@settings(max_examples=settings.default.max_examples // 2)
@given(shapes(), ROWS)
def test_attempts_come_in_the_order_of_their_deficits(shape: Shape, rows: Rows) -> None:
    """All choices for the leaves of a rule, by brute force: (missing, failed, distance), the least first."""
    rows.sort(key=lambda row: row[2])
    note(f"{shape.text} {rows}")
    engine = etalis.compile(shape.text).engine(policy="unrestricted", justification="full")
    if any(matches for matches in [engine.push(name, x, at=at) for name, x, at in rows]):
        return  # it occurred
    (rule,) = engine.why_not("m(_)", limit=1000).rules
    assert [attempt.deficit for attempt in rule.attempts] == sorted(_deficits(shape, rows))


def _deficits(shape: Shape, rows: Rows) -> Iterator[tuple[int, int, int]]:
    several = [[None, *((x, at) for name, x, at in rows if name == leaf[0])] for leaf in shape.leaves]
    blockers = [at for name, _, at in rows if name == "x"]
    for choice in product(*several):
        joined = {one[0] for one, leaf in zip(choice, shape.leaves, strict=True) if one and "X" in leaf}
        if len(joined) > 1:
            continue
        orders: list[int] = []
        whole = _extent(shape, choice, orders)
        length = 0 if whole.start is None or whole.end is None else whole.end - whole.start
        longer = [length - shape.window] if shape.window is not None and length > shape.window else []
        if shape.window is not None and max((*orders, *longer), default=0) > shape.window:
            continue  # too far off to be meant
        fails = [max(by * 1_000_000, 1) for by in (*orders, *longer)]
        if whole.whole:
            (value,) = joined
            fails += (
                [max(1, (shape.least - value) * 1_000_000)] if shape.least is not None and value <= shape.least else []
            )
            is_sequence = (shape.operators[-1] if shape.from_left else shape.operators[0]) == "seq"
            low, high = (whole.first, whole.last) if is_sequence else (whole.start, whole.end)
            fails += [0] if shape.absent and any(low < at < high for at in blockers) else []
        yield sum(one is None for one in choice), len(fails), sum(fails)


def _extent(shape: Shape, choice: tuple[tuple[int, int] | None, ...], orders: list[int]) -> Extent:
    parts = [Extent(False) if one is None else _instant(one[1]) for one in choice]
    while len(parts) > 1:
        place = 0 if shape.from_left else len(parts) - 2
        operator = shape.operators[place if not shape.from_left else len(choice) - len(parts)]
        parts[place : place + 2] = [_pair(operator, parts[place], parts[place + 1], orders)]
    return parts[0]


def _instant(at: int) -> Extent:
    return Extent(True, at, at, at, at)


def _pair(operator: str, a: Extent, b: Extent, orders: list[int]) -> Extent:
    start = min((x.start for x in (a, b) if x.start is not None), default=None)
    end = max((x.end for x in (a, b) if x.end is not None), default=None)
    whole = a.whole and b.whole
    if operator == "and":
        return Extent(whole, start, end, end, start)
    left, right = a if a.whole else a.right, b if b.whole else b.left
    if left is not None and right is not None and left.end >= right.start:
        orders.append(left.end - right.start)
    left, right = (a if a.whole else a.left) or (b if b.whole else b.left), (b if b.whole else b.right) or left
    return Extent(whole, start, end, a.first, b.last, left, right)


def test_causes_are_those_of_the_choice() -> None:
    engine = etalis.compile("c(X) <- p(X) seq q(X) within 3.").engine(justification="full")
    for row in [("q", 1, 0), ("p", 1, 1)]:
        engine.push(*row[:2], at=row[2])
    first = engine.why_not("c(1)").rules[0].attempts[0]
    assert [type(cause) for cause in first.causes] == [w.OutOfOrder]
