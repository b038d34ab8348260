"""Random queries over windows on engines: against their meaning in every treatment, and against pyoxigraph per step."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from etalis.epsparql.meaning import Answer, StreamedTriple, meaning
from etalis.errors import ProgramError
from etalis.language.printer import print_program
from etalis.language.read.parser import parse
from helpers.epsparql_engine import TREATMENTS, compile_case, run_case
from helpers.epsparql_examples import VOCABULARY, name_alike
from helpers.pyoxigraph_answers import STREAM, draw_stepwise, worth
from helpers.random_stream_queries import SECOND, RandomCase
from helpers.random_windows import draw_windows

pytestmark = pytest.mark.property

SEEDS = st.integers(0, 10**9)
NUMBERS = (1, 2, 3, 4, 0.1, 0.2, 2.5, "x", f"<{VOCABULARY}a>")


def drawn(seed: int) -> RandomCase | None:
    """Return a case; None where its query says what none may."""
    case = draw_windows(Random(seed))
    note(f"{case.query}\n{case.elements}\n{case.background}")
    try:
        case.unit()
    except ProgramError:
        return None
    return case


@given(seed=SEEDS, treatment=st.sampled_from(tuple(TREATMENTS)), origin=st.sampled_from((0, 0, 1, -7)))
def test_an_engine_answers_what_windows_mean(seed: int, treatment: str, origin: int) -> None:
    case = drawn(seed)
    if case is None:
        return
    wanted = meaning(case.unit(), case.elements, case.background, origin=origin * SECOND)
    rows, made = run_case(treatment, case.query, case.elements, case.background, seed, origin=origin)
    assert rows == known(wanted.rows)
    assert name_alike(made) == name_alike({row._replace(query=0) for row in known(wanted.constructed)})


def known(rows: set[Answer]) -> set[Answer]:
    """Return answers without when they are known."""
    return {row._replace(waits=False) for row in rows}


@given(seed=SEEDS)
def test_a_translated_window_is_read_as_it_is_printed(seed: int) -> None:
    case = drawn(seed)
    if case is not None:
        tree = compile_case(case.query, case.background).compiled.tree
        assert parse(print_program(tree)) == tree


@given(seed=SEEDS)
def test_a_step_answers_what_pyoxigraph_does_over_its_graph(seed: int) -> None:
    case = draw_stepwise(Random(seed))
    note(case.query)
    rows, _ = run_case("pushed", case.query, case.elements, case.background)
    assert {(row.end // SECOND, *map(worth, row.values)) for row in rows} == case.answers()


ITEMS = (
    "SUM(?v)",
    "COUNT(*)",
    "COUNT(DISTINCT ?v)",
    "AVG(?v)",
    "MIN(?v)",
    "MAX(?v)",
    "SAMPLE(?v)",
    "GROUP_CONCAT(?v)",
    "SUM(?d)",
)
BODIES = (
    "?x :p ?v .",
    "?x :p ?v . FILTER(isNumeric(?v))",
    "?x :p ?v . BIND(?v * 2 AS ?d)",
    "?x ?w ?v . OPTIONAL {?x :k ?d}",
)


@given(seed=SEEDS, treatment=st.sampled_from(tuple(TREATMENTS)))
def test_a_window_without_steps_slides_with_each_solution(seed: int, treatment: str) -> None:
    rng = Random(seed)
    moments = rng.sample(range(30), rng.randint(1, 12))
    elements = []
    for end in sorted(moments):
        s, p = (f"<{VOCABULARY}{rng.choice(names)}>" for names in ("ab", "pq"))
        start = max(0, end - rng.choice((0, 0, 0, 1, 4)))
        elements.append(StreamedTriple(s, p, rng.choice(NUMBERS), None, STREAM, start * SECOND, end * SECOND))
    keys, shown = rng.choice(
        (
            ("", ""),
            ("GROUP BY ?x", "?x"),
            ("GROUP BY (?v > 2 AS ?k)", "?k"),
            ("GROUP BY ?x ?v", "?v"),
            ("GROUP BY ?d", "?d"),
        )
    )
    items = " ".join(f"({item} AS ?a{i})" for i, item in enumerate(rng.sample(ITEMS, rng.randint(1, 3))))
    having = rng.choice(("", "", "HAVING (COUNT(*) > 1)"))
    window = f"FROM STREAM {STREAM} [RANGE {rng.choice((1, 2, 5, 10))}]"
    query = f"SELECT {shown} {items} {window} {{ {rng.choice(BODIES)} }} {keys} {having}"
    background = [(f"<{VOCABULARY}a>", f"<{VOCABULARY}k>", n) for n in (1, 2)]
    note(f"{query}\n{elements}")
    case = RandomCase(query, tuple(elements), tuple(background))
    wanted = meaning(case.unit(), case.elements, case.background).rows
    rows, _ = run_case(treatment, query, elements, background, seed)
    assert rows == known(wanted)
