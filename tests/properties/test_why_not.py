"""Every question has an answer: what occurred is told as such, and of what did not every attempt fails for a reason.

An event of the unrestricted model that a policy withheld has an attempt that fails by that policy.
"""

from __future__ import annotations

from itertools import product

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


ORDERED = st.lists(st.tuples(st.sampled_from("pq"), st.integers(0, 1), st.integers(0, 12)), max_size=6)


@settings(max_examples=settings.default.max_examples // 4)
@given(ORDERED, st.sampled_from([None, 3, 8]))
def test_attempts_come_in_the_order_of_their_deficits(rows: list[tuple[str, int, int]], window: int | None) -> None:
    """All choices for a sequence of two events, by brute force: (missing, failed, distance), the least first."""
    rows.sort(key=lambda row: row[2])
    text = "c(X) <- p(X) seq q(X)" + ("." if window is None else f" within {window}.")
    note(f"{text} {rows}")
    engine = etalis.compile(text).engine(policy="unrestricted", justification="full")
    if any(matches for matches in [engine.push(name, x, at=at) for name, x, at in rows]):
        return  # it occurred
    answer = engine.why_not("c(_)", limit=100)
    (rule,) = answer.rules
    assert [attempt.deficit for attempt in rule.attempts] == sorted(_deficits(rows, window))


def _deficits(rows: list[tuple[str, int, int]], window: int | None) -> list[tuple[int, int, int]]:
    lefts, rights = ([(x, at) for name, x, at in rows if name == wanted] for wanted in "pq")
    found = []
    for left, right in product([None, *lefts], [None, *rights]):
        missing = (left is None) + (right is None)
        fails = []
        if left is not None and right is not None:
            if left[0] != right[0]:
                continue
            late = left[1] - right[1]
            fails += [max(late * 1_000_000, 1)] if late >= 0 else []
            longer = abs(late) - (window or 0)
            fails += [longer * 1_000_000] if window is not None and longer > 0 else []
            if window is not None and max(fails) > window * 1_000_000:
                continue  # too far off to be meant
        found.append((missing, len(fails), sum(fails)))
    return found


def test_causes_are_those_of_the_choice() -> None:
    engine = etalis.compile("c(X) <- p(X) seq q(X) within 3.").engine(justification="full")
    for row in [("q", 1, 0), ("p", 1, 1)]:
        engine.push(*row[:2], at=row[2])
    first = engine.why_not("c(1)").rules[0].attempts[0]
    assert [type(cause) for cause in first.causes] == [w.OutOfOrder]
