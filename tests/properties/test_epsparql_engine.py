"""Random queries on engines against their meaning, in all the ways that must not matter."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from etalis.epsparql.meaning import Answer, meaning
from etalis.errors import ProgramError
from etalis.language.printer import print_program
from etalis.language.read.parser import parse
from helpers.epsparql_engine import TREATMENTS, compile_case, run_case
from helpers.epsparql_examples import name_alike
from helpers.random_stream_queries import RandomCase, draw_case

pytestmark = pytest.mark.property

# What only rules cannot say: a NOT EXISTS that joins both sides of an outer operator, CONSTRUCTs that entailment ties.
REFUSED = ("E265", "E255")


def plain(rows: set[Answer]) -> set[Answer]:
    """Return answers without when they are known."""
    return {row._replace(waits=False) for row in rows}


def check_case(case: RandomCase, treatment: str, seed: int) -> bool:
    """Compare a run with the meaning; tell whether it could be compiled."""
    wanted = meaning(case.unit(), case.elements, case.background)
    try:
        rows, made = run_case(treatment, case.query, case.elements, case.background, seed)
    except ProgramError as error:
        if error.code in REFUSED:
            return False
        raise
    assert rows == plain(wanted.rows)
    assert name_alike(made) == name_alike({row._replace(query=0) for row in plain(wanted.constructed)})
    return True


@given(seed=st.integers(0, 10**9), treatment=st.sampled_from(tuple(TREATMENTS)))
def test_an_engine_answers_what_queries_mean(seed: int, treatment: str) -> None:
    case = draw_case(Random(seed))
    note(f"{case.query}\n{case.elements}\n{case.background}")
    check_case(case, treatment, seed)


@given(seed=st.integers(0, 10**9))
def test_a_translated_program_is_read_as_it_is_printed(seed: int) -> None:
    case = draw_case(Random(seed))
    note(case.query)
    try:
        tree = compile_case(case.query, case.background).compiled.tree
    except ProgramError as error:
        if error.code not in REFUSED:
            raise
    else:
        assert parse(print_program(tree)) == tree
