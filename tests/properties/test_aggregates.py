"""Aggregates give the meaning to the last bit: every kind, window, group and policy, however the engine gets there.

Values are chosen to tell a sum that was rounded on its way from an exact one: far apart, of both signs, infinite,
longer than 64 bits, of several types, missing. Elements come at one moment, last, and overlap, so that they leave in
any order.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import etalis
from etalis.data.values import Value, real
from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from helpers.agreement import check
from helpers.examples import by_day

pytestmark = [pytest.mark.property, pytest.mark.filterwarnings("ignore::etalis.ProgramWarning")]

SECOND = 1_000_000
BODIES = (
    "{0}", "{0} within 5", "{0} last 3", "({0} last 2) within 6", "{0} within 5 where R \\= 3",
    "({0} within 4) seq o(_)", "o(_) seq {0}", "o(G) seq {0}", "(o(_) seq {0}) within 8",
    "(o(_) and ({0} last 2)) within 9",
)  # fmt: skip
ELEMENTS = (
    "e(G, X)",
    "e(G, X)",
    "e(_, X)",
    "(o(G) seq e(G, X))",
    "(o(_) seq e(G, X))",
    "(o(G) or e(G, X))",
    "e(G, f(X))",
)
NUMBERS = (
    *map(real, (1e16, 1.0, -1e16, 0.1, 0.3, -2.5, 1e-300, 5e-324, 1e308, -1e308)), 0, 3, -1, (1 << 53) + 1, 1 << 70,
    -(1 << 70), math.inf, -math.inf,
)  # fmt: skip
VALUES: dict[str, tuple[Value, ...]] = {
    "floats far apart": NUMBERS[:10],
    "floats": tuple(map(real, (0.1, 0.2, 0.7, 12.34, 99.99, 5.0))),
    "integers": NUMBERS[10:16],
    "numbers": NUMBERS,
    "texts": ("a", "b", "null", "é"),
    "values": (1, real(1.0), "x", (1, 2), "null", etalis.Struct("f", (1,)), etalis.Struct("f", (real(0.5),))),
}


@st.composite
def rules(draw: st.DrawFn) -> str:
    """Draw a rule that aggregates."""
    kind, body, element = (
        draw(st.sampled_from([*FOLDS])),
        draw(st.sampled_from(BODIES)),
        draw(st.sampled_from(ELEMENTS)),
    )
    value = f"{kind}(X)" if FOLDS[kind].has_value else kind
    bound = draw(st.sampled_from(("R", "R", "R", "G", "[R|_]"))) if "R \\=" not in body else "R"
    head = ", ".join(v for v in ("G", "R") if v in body.format(f"{element} {bound}"))
    return f"r({head or 1}) <- {body.format(f'aggregate({value}, {element}, {bound})')}."


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    """Draw events of one kind of values."""
    values = VALUES[draw(st.sampled_from([*VALUES]))]
    found = []
    for _ in range(draw(st.integers(1, 25))):
        end, length = draw(st.integers(0, 15)), draw(st.sampled_from((0, 0, 0, 1, 4, 7)))
        group = draw(st.integers(0, 1))
        args = (group,) if draw(st.integers(0, 4)) == 0 else (group, draw(st.sampled_from(values)))
        found.append(Event.make("o" if len(args) == 1 else "e", args, (end - length) * SECOND, end * SECOND))
    return sorted(found, key=lambda event: (event.end_time, event.start_time))


def exactly(events: list[Event]) -> list[Any]:
    """Return events with the types of their attributes, and floats to the last digit."""
    return [(e.name, repr(e.args), e.start_time, e.end_time) for e in events]


def moment(event: Event) -> Any:
    return event.end if event.start == event.end else (event.start, event.end)


@by_day(8)
@given(rules(), streams(), st.sampled_from([*POLICIES]))
def test_aggregates_give_the_meaning(text: str, stream: list[Event], policy: str) -> None:
    note(f"{policy}\n{text}\n{stream}")
    program = etalis.compile(text)
    errors: list[Any] = []
    expected = exactly(semantics.run(parse(text), stream, policy=policy, errors=errors))
    engine = program.engine(policy=policy)
    assert exactly([e for x in stream for e in engine.push(x.name, *x.args, at=moment(x))]) == expected
    assert len(engine.errors) == len(errors)
    with_parts = program.engine(policy=policy, parts=True)
    assert exactly(list(with_parts.run((x.name, *x.args, moment(x)) for x in stream))) == expected
    restored, found = program.engine(policy=policy), []
    for number, x in enumerate(stream):
        if number % 5 == 3:
            restored = program.restore(restored.snapshot())
        found += restored.push(x.name, *x.args, at=moment(x))
    assert exactly(found) == expected
    if {x.name for x in stream} == {x.name for x in stream if "null" not in x.args}:  # else a column has no type
        check(text, stream, policy)
