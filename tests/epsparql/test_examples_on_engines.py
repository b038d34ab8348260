"""The worked examples on engines, in every way that must not matter."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from etalis.data.values import format_value
from etalis.epsparql.meaning import Answer
from etalis.errors import ProgramError
from helpers.epsparql_engine import TREATMENTS, compile_case, dead_letters, push, run_case, standing, table_of
from helpers.epsparql_examples import Example, find_examples, name_alike

EXAMPLES = find_examples()
SECOND = 1_000_000
VALID = [example for example in EXAMPLES if example.error is None]


def alike(rows: frozenset[Answer] | set[Answer]) -> set[Answer]:
    """Return answers of one query without its number, which examples may leave out."""
    return {row._replace(query=0) for row in rows}


@pytest.mark.parametrize("treatment", TREATMENTS)
@pytest.mark.parametrize("example", VALID, ids=lambda example: example.number)
def test_an_example_on_the_engine(example: Example, treatment: str) -> None:
    rows, made = run_case(treatment, example.query, example.elements, example.background, **example.options)
    if example.rows is not None:
        assert alike(rows) == alike(example.rows)
    if example.constructed is not None:
        assert name_alike(made) == name_alike(alike(example.constructed))


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.error is not None], ids=lambda example: example.number)
def test_an_example_that_is_refused(example: Example) -> None:
    with pytest.raises(ProgramError) as refused:
        compile_case(example.query, example.background, **example.options)
    assert example.error in {problem.code for problem in refused.value.problems}
    assert example.says in str(refused.value)


@pytest.mark.parametrize("example", [e for e in VALID if e.moments], ids=lambda example: example.number)
def test_a_row_is_reported_when_it_is_known(example: Example) -> None:
    """At once, or when time passes its end."""
    engine = compile_case(example.query, example.background, **example.options).engine()
    known: dict[tuple[object, ...], bool] = {}
    for element in example.elements:
        for event in push(engine, element):
            known[event.args, event.start_time, event.end_time] = event.end_time < element.end
    for event in engine.close():
        known[event.args, event.start_time, event.end_time] = True
    for answer, waits in example.moments.items():
        values = tuple("null" if value is None else value for value in answer.values)
        assert known[values, answer.start, answer.end] == waits, answer


@pytest.mark.parametrize("example", [e for e in VALID if e.dead], ids=lambda example: example.number)
def test_a_triple_of_the_background_in_a_stream_is_a_dead_letter(example: Example) -> None:
    assert tuple(dead_letters(example.query, example.elements, example.background)) == example.dead


@pytest.mark.parametrize("example", [e for e in VALID if e.steps], ids=lambda example: example.number)
def test_late_and_retracted_elements_correct_what_was_reported(example: Example) -> None:
    flags = {"out_of_order": "on", "reporting": "on_arrival", "revision_flag": "on", "ooo_window": 1e6}
    engine = compile_case(example.query, example.background, **example.options, **flags).engine()
    found = [event for element in example.elements for event in push(engine, element)]
    for step in example.steps:
        before = {(event.args, event.start_time, event.end_time) for event in standing(found)}
        for e in step.elements:
            if step.is_added:
                found += push(engine, e)
            else:
                found += engine.retract("rdf", e.s, e.p, e.o, at=e.end / 1_000_000)
        after = {(event.args, event.start_time, event.end_time) for event in standing(found)}
        assert before - after == {_shown(row) for row in step.gone}
        assert after - before == {_shown(row) for row in step.come}


def _shown(row: Answer) -> tuple[object, ...]:
    return tuple("null" if value is None else value for value in row.values), row.start, row.end


@pytest.mark.parametrize("example", [e for e in VALID if e.rows], ids=lambda example: example.number)
def test_an_example_over_a_table(example: Example) -> None:
    """In the envelope values keep their types; a column of values of any type shows each as text.

    Columns of several queries by one name are told apart by others, so of these the envelope alone is compared.
    """
    program = compile_case(example.query, example.background, **example.options)
    numbers = {head.name: (number, head.columns or ()) for number, head in enumerate(program.queries, 1)}
    source = pa.table(table_of(example.elements))
    found = program.detect(source, on_dead_letter=lambda _: None, envelope=True).to_pylist()
    rows = [(row, json.loads(row["args"])) for row in found if row["event"] != "rdf"]
    told = [_answer(numbers[row["event"]][0], values, row) for row, values in rows]
    assert len(told) == len(example.rows or ())
    assert alike(set(told)) == alike(example.rows or frozenset())

    wide = program.detect(source, on_dead_letter=lambda _: None).to_pylist()
    shown = [row for row in wide if row["event"] != "rdf"]
    assert len(shown) == len(rows)
    if len(program.queries) > 1:
        return
    for row, (_, values) in zip(shown, rows, strict=True):
        for column, value in zip(numbers[row["event"]][1], values, strict=True):
            known = (None,) if value == "null" else (value, str(value), format_value(value))
            assert row[column] in known, (column, row[column], known)


def _answer(query: int, values: list[Any], row: dict[str, Any]) -> Answer:
    times = (round(row[name] * SECOND) for name in ("start", "end"))
    return Answer(query, tuple(None if value == "null" else value for value in values), *times)
