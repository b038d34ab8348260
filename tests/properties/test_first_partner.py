"""Sequences of which inner parts show nothing: what leaves with its first partner is missed by nobody.

The programs are chains under `unrestricted`, with windows, absences and other readers here and there; instants and
intervals come in time or late, and half of the way an engine goes on from its snapshot.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import etalis
from etalis import Stamp
from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event, sort_key
from helpers.treatments import standing
from properties.test_engine import moment

pytestmark = pytest.mark.property

LEAVES = st.sampled_from(("a(K)", "b(K)", "c(K)", "a(J)", "b(_)", "a(1)"))
AROUND = st.sampled_from(("({})", "({})", "({} within 2)", "({} within 3)", "({} cnot c(K))", "({} cnot b(1))", "({} fnot c(_))"))


@st.composite
def chains(draw: st.DrawFn) -> str:
    """Return the text of a program whose heads show part of what its chains bind."""
    rules = []
    for number in range(draw(st.integers(1, 3))):
        pattern = draw(LEAVES)
        for _ in range(draw(st.integers(1, 4))):
            pattern = draw(AROUND).format(f"({pattern} {draw(st.sampled_from(('seq', 'seq', 'seq', 'and', 'or')))} {draw(LEAVES)})")
        shown = draw(st.sampled_from(("", "(K)", "(J)"))) if " or " not in pattern else ""
        shown = shown if shown.strip("()") in pattern else ""
        condition = draw(st.sampled_from(("", "", " where K = 1"))) if "K" in pattern and " or " not in pattern else ""
        rules.append(f"r{number}{shown} <- {pattern}{condition}.")
    return "\n".join((*rules, draw(st.sampled_from(("", "s <- r0 seq b(_) seq r0.", "s(N) <- aggregate(count, r0, N) within 2.")))))


EVENTS = st.lists(
    st.tuples(st.sampled_from("aabbc"), st.integers(1, 2), st.integers(0, 6), st.sampled_from((0, 0, 0, 1, 2))), max_size=14
)


def fits(text: str) -> bool:
    return not etalis.check(text).errors if hasattr(etalis.check(text), "errors") else True
