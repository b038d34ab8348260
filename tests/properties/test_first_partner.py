"""Sequences of which inner parts show nothing: what leaves with its first partner is missed by nobody.

The programs are chains under `unrestricted`, with windows, absences and other readers here and there. Instants and
intervals come in order, or late; half of the way an engine goes on from its snapshot.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

import etalis
from etalis import Stamp
from etalis.errors import EtalisError
from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event, sort_key
from helpers.treatments import standing
from properties.test_engine import moment

pytestmark = pytest.mark.property

LEAVES = st.sampled_from(("a(K)", "b(K)", "b(K)", "c(K)", "a(J)", "a(_)", "b(_)"))
WINDOWS = ("({} within 2)", "({} within 3)")
ABSENCES = ("({} cnot c(K))", "({} cnot b(1))", "({} fnot c(_))")
AROUND = st.sampled_from((*("{}",) * 9, *WINDOWS, *ABSENCES))
OPERATORS = st.sampled_from((*("seq",) * 12, "and", "or"))
OTHERS = (
    "s <- r0 seq b(_) seq r0.",
    "s(N) <- aggregate(count, r0, N) within 2.",
    "s <- r0 seq (not b(_) within 1).",
)
ROWS = st.tuples(st.sampled_from("aabbbc"), st.integers(1, 3), st.integers(0, 9), st.sampled_from((0, 0, 0, 1, 2)))


@st.composite
def chains(draw: st.DrawFn) -> str:
    """Return the text of a program whose heads show part of what its chains bind, or nothing."""
    rules = []
    for number in range(2):
        pattern = draw(LEAVES)
        for _ in range(draw(st.sampled_from((2, 2, 3)))):
            pattern = draw(AROUND).format(f"({pattern} {draw(OPERATORS)} {draw(LEAVES)})")
        shown = "(K)" if number and "(K)" in pattern and " or " not in pattern else ""
        condition = draw(st.sampled_from(("", "", " where K = 1"))) if "K" in pattern else ""
        rules.append(f"r{number}{shown} <- {pattern}{condition}.")
    return "\n".join((*rules, draw(st.sampled_from(("", "", *OTHERS)))))


@st.composite
def events(draw: st.DrawFn) -> list[Event]:
    """Return a stream in which moments come again."""
    rows = sorted(draw(st.lists(ROWS, min_size=4, max_size=16)), key=lambda row: (row[2] + row[3], row[2]))
    return [Event.make(name, (value,), start * 10**6, (start + length) * 10**6) for name, value, start, length in rows]


@given(chains(), events(), st.randoms(use_true_random=False))
def test_what_leaves_with_its_first_partner_is_not_missed(text: str, stream: list[Event], random: Random) -> None:
    """Shows definition 12.8."""
    try:
        program = etalis.compile(text)
    except EtalisError:
        assume(False)
    note(f"{text}\n{stream}")
    expected = sorted(semantics.run(parse(text), stream, policy="unrestricted"), key=sort_key)
    rows = [(event.name, *event.args, moment(event)) for event in stream]

    engine = program.engine(policy="unrestricted")
    found = list(engine.run(rows[: len(rows) // 2]))
    again = program.restore(engine.snapshot())
    assert sorted([*found, *again.run(rows[len(rows) // 2 :]), *again.close()], key=sort_key) == expected

    late = list(enumerate(stream))
    random.shuffle(late)
    corrected = etalis.compile(text, out_of_order="on", reporting="on_arrival").engine(policy="unrestricted")
    found = list(corrected.run([(e.name, *e.args, Stamp(moment(e), rank=i)) for i, e in late]))
    assert sorted(standing([*found, *corrected.close()]), key=sort_key) == expected
