"""Windows of queries as hosts meet them: when steps are reported, corrected and restored, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from etalis.errors import InputError, ProgramError
from etalis.temporal.event import Event
from helpers.epsparql_engine import compile_case, standing

COUNT = "SELECT (COUNT(*) AS ?n) FROM STREAM :s [RANGE PT10S STEP PT5S] {?x :p ?y}"
STREAM = "http://example.org/s"
MADE = "REGISTER STREAM :made AS CONSTRUCT {?x :p ?y}"


def push(engine: Any, value: int, at: float) -> tuple[Event, ...]:
    found: tuple[Event, ...] = engine.push_triple(
        "<http://example.org/a>", "<http://example.org/p>", value, at=at, stream=STREAM
    )
    return found


def shown(found: Any) -> list[str]:
    return [str(event) for event in found]


def test_a_step_is_reported_when_time_passes_it() -> None:
    engine = compile_case(COUNT).engine()
    assert shown(push(engine, 1, 1)) == []
    assert shown(push(engine, 2, 5)) == []
    assert shown(push(engine, 3, 5)) == []  # one more of the same stamp
    assert shown(engine.advance(to=5)) == ["select_1(3) [5, 5]"]
    assert shown(push(engine, 4, 16)) == ["select_1(3) [10, 10]"]
    assert shown(engine.close()) == ["select_1(1) [20, 20]", "select_1(1) [25, 25]"]


def test_only_results_of_queries_are_reported() -> None:
    engine = compile_case(COUNT, rules="twice(M) <- select_1(N) where M is 2 * N.").engine()
    push(engine, 1, 1)
    assert shown(engine.close()) == [
        "select_1(1) [5, 5]", "twice(2) [5, 5]", "select_1(1) [10, 10]", "twice(2) [10, 10]"
    ]  # fmt: skip


def test_a_trigger_of_the_rules_beside_decides_what_they_report() -> None:
    engine = compile_case(COUNT, rules="a(N) <- select_1(N). b(N) <- select_1(N). print_trigger(b/1).").engine()
    push(engine, 1, 4)
    assert {event.name for event in engine.close()} == {"select_1", "b"}


def test_a_late_triple_is_in_its_steps() -> None:
    engine = compile_case(COUNT, out_of_order="on", ooo_window=4).engine()
    found = [*push(engine, 1, 1), *push(engine, 2, 8), *push(engine, 3, 5), *push(engine, 4, 20)]
    assert shown(found) == ["select_1(2) [5, 5]", "select_1(3) [10, 10]", "select_1(1) [15, 15]"]


def test_a_triple_that_is_taken_back_corrects_its_steps() -> None:
    engine = compile_case(COUNT, revision_flag="on").engine()
    found = [*push(engine, 1, 1), *push(engine, 2, 4), *push(engine, 3, 6), *push(engine, 4, 16)]
    assert shown(standing(found)) == ["select_1(2) [5, 5]", "select_1(3) [10, 10]", "select_1(1) [15, 15]"]
    changes = engine.retract("rdf", "<http://example.org/a>", "<http://example.org/p>", 2, "null", f"<{STREAM}>", at=4)
    assert sorted((event.sign, str(event.reported if event.sign < 0 else event)) for event in changes) == [
        (-1, "select_1(2) [5, 5]"), (-1, "select_1(3) [10, 10]"), (1, "select_1(1) [5, 5]"),
        (1, "select_1(2) [10, 10]"),
    ]  # fmt: skip


def test_the_origin_shifts_the_steps() -> None:
    for origin in (2, 7, -3, "1970-01-01T00:00:02Z"):
        engine = compile_case(COUNT, origin=origin).engine()
        push(engine, 1, 1)
        assert shown(engine.close()) == ["select_1(1) [2, 2]", "select_1(1) [7, 7]"]


def test_an_origin_that_is_no_time_is_refused() -> None:
    with pytest.raises(InputError, match="origin: 'noon' is not a time"):
        compile_case(COUNT, origin="noon")


def test_a_window_with_nothing_in_it_costs_nothing() -> None:
    engine = compile_case(COUNT).engine()
    push(engine, 1, 1)
    assert len(push(engine, 2, 1e9)) == 2  # not 200 million steps


def test_a_window_reads_one_stream() -> None:
    engine = compile_case(COUNT).engine()
    engine.push_triple("<http://example.org/a>", "<http://example.org/p>", 1, at=1, stream="http://example.org/t")
    assert engine.close() == ()


@pytest.mark.parametrize("operator", ["EQUALSOPTIONAL", "SEQOPTIONAL", "OPTIONALEQUALS"])
def test_a_window_over_what_is_known_after_its_stamp_is_refused(operator: str) -> None:
    maker = f"{MADE} {{ {{?x :q ?y}} {operator} {{?x :r ?z}} WITHIN 5 }}"
    with pytest.raises(ProgramError, match="a window over what a query constructs when time has passed") as refused:
        compile_case(f"{maker} ; SELECT ?x FROM STREAM :made [RANGE 5 STEP 5] {{ ?x :p ?y }}")
    assert refused.value.code == "E265"


def test_a_query_over_windows_is_a_program() -> None:
    text = str(compile_case(COUNT).explain())
    assert "window_1" in text
    assert "graph_1" in text


def test_windows_read_windows_that_read_windows_at_one_step() -> None:
    """Each reads the input too, so that it has triples long before those of the others come."""
    window = "[RANGE 5 STEP 5]"
    query = f"""
    REGISTER STREAM :b AS CONSTRUCT {{?x :n ?v}} FROM STREAM :s {window} {{?x :p ?v}} ;
    REGISTER STREAM :c AS CONSTRUCT {{?x :m ?v}} FROM STREAM :b {window} FROM STREAM :s {window} {{?x :n ?v}} ;
    SELECT ?v ?w FROM STREAM :c {window} FROM STREAM :b {window} FROM STREAM :s {window} {{
      ?x :m ?v . ?x :n ?w . ?x :p ?w FILTER(?v < ?w)
    }}
    """
    engine = compile_case(query).engine()
    found = [*push(engine, 1, 1), *push(engine, 2, 5), *push(engine, 3, 5), *push(engine, 7, 6), *engine.close()]
    assert shown(event for event in found if event.name == "select_3") == [
        "select_3(1, 2) [5, 5]", "select_3(1, 3) [5, 5]", "select_3(2, 3) [5, 5]"
    ]  # fmt: skip


def test_limits_are_those_that_the_host_gives() -> None:
    assert compile_case(COUNT).compiled.settings.max_goal_steps == 50_000_000
    assert compile_case(COUNT, max_goal_steps=1000).compiled.settings.max_goal_steps == 1000


def test_a_window_of_the_original_s_dialect() -> None:
    text = "SELECT (COUNT(*) AS ?n) FROM STREAM <http://example.org/s> [RANGE 5 STEP 5] { ?c hasPrice ?p }"
    engine = compile_case(text, dialect="etalis").engine()
    engine.push("rdf", "a", "hasPrice", 3, "null", f"<{STREAM}>", at=1)
    assert shown(engine.close()) == ["select_1(1) [5, 5]", "select_event([1]) [5, 5]"]
