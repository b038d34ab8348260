"""Many rules that are alike, at the door of tables: what comes out, in which form, and what is said of it."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.columnar.data.events import find_types
from etalis.columnar.families.component import FamilyComponent
from etalis.columnar.run import ColumnRun
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES

TICK = ":- set_flag(event_consumption_policy, unrestricted).\n:- event(tick(sym: string, price: float, size: int)).\n"
RULES = {
    "own kinds": [f"r{k:02d}(P) <- tick('s{k % 7}', P, _) where P > {k}.0." for k in range(20)],
    "one kind": [f"r(S, P) <- tick(S, P, _) where (S = 's{k % 7}', P > {k}.0)." for k in range(20)],
    "thresholds": [f"r{k:02d}(S, P) <- tick(S, P, _) where P > {k}.0." for k in range(20)],
    "bounds": [f"r{k:02d}(S, P) <- tick(S, P, N) where (N > {k}, N =< {k + 5}, P < 30.0)." for k in range(20)],
    "sequences": [
        f"r{k:02d}(P, Q) <- (tick('s{k % 7}', P, _) seq tick('s{k % 5}', Q, _)) within 20 where Q > P."
        for k in range(20)
    ],
    "two families": [
        *(f"r{k:02d}(P) <- tick('s{k % 7}', P, _)." for k in range(12)),
        *(f"q{k:02d}(P, {k}) <- tick(_, P, {k})." for k in range(12)),
        "other(S) <- tick(S, P, _) where P > 30.0.",
        "again(S) <- other(S) seq other(S).",
    ],
    "names that differ": [f"r{k:02d}(P{k}) <- tick('s{k % 7}', P{k}, _)." for k in range(12)],
}


def rows(count: int = 400) -> list[tuple[Any, ...]]:
    draw = random.Random(7)
    return [("tick", f"s{draw.randrange(9)}", draw.randrange(80) / 2, draw.randrange(30), i // 2) for i in range(count)]


def table(given: Sequence[tuple[Any, ...]]) -> pa.Table:
    names = ("event", "sym", "price", "size", "at")
    return pa.table({name: pa.array(column) for name, column in zip(names, zip(*given, strict=True), strict=True)})


def families(program: etalis.Program, given: Sequence[tuple[Any, ...]]) -> int:
    types = find_types([Event.make(name, tuple(args), 0, 0) for name, *args, _ in given])
    return sum(isinstance(each, FamilyComponent) for each in ColumnRun(program.compiled, types).components)


def told(program: etalis.Program, given: Sequence[tuple[Any, ...]], **options: Any) -> list[tuple[Any, ...]]:
    found = program.detect(table(given), time="at", event="event", **options)
    return list(zip(*(found[name].to_pylist() for name in ("event", "rule", "start", "end")), strict=True))


def pushed(program: etalis.Program, given: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(match.name, match.rule, match.start, match.end) for match in program.engine().run(given)]


@pytest.mark.parametrize("form", RULES)
def test_tables_give_what_an_engine_gives(form: str) -> None:
    program, given = etalis.compile(TICK + "\n".join(RULES[form])), rows()
    assert families(program, given) == {"two families": 2, "names that differ": 0}.get(form, 1)
    expected = pushed(program, given)
    assert told(program, given) == expected
    assert told(program, given, batch=37) == expected
    found = program.detect(table(given), time="at", event="event", match_id=True)
    assert found["match_id"].to_pylist() == [match.id for match in program.engine().run(given)]
    wide = [match.to_dict() for match in program.engine().run(given)]
    for column in set(found.column_names) - {"event", "rule", "start", "end", "match_id"}:
        assert found[column].to_pylist() == [match.get(column) for match in wide]


def test_one_kind_of_many_is_selected() -> None:
    program, given = etalis.compile(TICK + "\n".join(RULES["own kinds"])), rows()
    found = program.detect(table(given), time="at", event="event", select="r03")
    assert found["end"].to_pylist() == [end for name, _, _, end in pushed(program, given) if name == "r03"]


def test_triggers_choose_among_a_family() -> None:
    program = etalis.compile(
        TICK + "print_trigger(r03(_)). print_trigger(r05(P)) :- P > 20.\n" + "\n".join(RULES["own kinds"])
    )
    assert {name for name, *_ in told(program, rows())} == {"r03", "r05"}
    assert told(program, rows()) == pushed(program, rows())


def test_rules_that_run_event_at_a_time_go_beside() -> None:
    text = (
        "\n".join(RULES["own kinds"])
        + "\nlate(S, L) <- tick(S, _, _) where (findall(X, known(X), L), L \\= []).\nknown(1)."
    )
    more = "\nmany(S) <- aggregate(count, tick(S, _, _), _) last 3."
    program, given = etalis.compile(TICK + text + more), rows(100)
    assert sorted(map(str, told(program, given))) == sorted(map(str, pushed(program, given)))


def test_a_rule_of_a_family_that_fails_is_named_and_switched_off() -> None:
    flags = ":- set_flag(max_rule_failures, 3).\n"
    rules = [f"r{k:02d}(P) <- tick('s{k % 7}', P, N) where 10 / (N - {k}) > 1." for k in range(20)]
    program, given = etalis.compile(TICK + flags + "\n".join(rules)), rows()
    errors: tuple[list[Any], list[Any]] = ([], [])
    expected = [
        (match.name, match.rule, match.start, match.end)
        for match in program.engine(on_error=errors[0].append).run(given)
    ]
    assert families(program, given) == 1
    assert told(program, given, on_error=errors[1].append) == expected
    assert sorted(map(str, errors[0])) == sorted(map(str, errors[1]))
    assert len({error.kind[0] for error in errors[1]}) > 5


def test_rules_of_a_family_that_never_matched_are_named() -> None:
    rules = [f"r{k:02d}(P) <- tick('s{k}', P, _) where P > 10.0." for k in range(12)]
    program = etalis.compile(TICK + "\n".join(rules))
    reports: list[etalis.Report] = []
    program.detect(table(rows()), time="at", event="event", on_report=reports.append)
    engine = program.engine()
    for _ in engine.run(rows()):
        pass
    assert str(reports[0]) == str(engine.report())
    assert all(name in str(reports[0]) for name in ("rule 10 ", "rule 11 ", "rule 12 "))


@pytest.mark.parametrize(
    "rule",
    [
        "r{k:02d}(Z) <- tick('s{k}', P, N) where (Z is N + 1, P > 3.0)",
        "r{k:02d}(P, Z) <- tick('s{k}', P, N) where (Z is N + 1, Z > {k}, P > 3.0)",
        "r{k:02d}(C) <- tick(S, P, _) where (S = 's{k}', near(S, C), P > {k}.0)",
        "r{k:02d}(C) <- tick('s{k}', _, N) event_multiply (many(N, C), C \\= {k})",
        "r{k:02d}(D) <- (tick('s{k}', _, _) seq tick('s{n}', _, _)) within 9 check (t1(A), t2(B), D is B-A, D > {k})",
    ],
)
def test_conditions_of_a_family_may_bind(rule: str) -> None:
    facts = "near(s1, b). near(s1, c). near(s3, d). many(1, 4). many(1, 5). many(3, 6).\n"
    program, given = (
        etalis.compile(TICK + facts + "".join(f"{rule.format(k=k, n=(k + 1) % 9)}.\n" for k in range(9))),
        rows(),
    )
    assert families(program, given) == 1
    assert told(program, given) == pushed(program, given)
    assert told(program, given)
    assert told(program, [("tick", "none", 1.0, 1, at) for at in range(3)]) == []


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_one_event_may_come_to_both_sides_of_a_join(policy: str) -> None:
    rules = (f"r{k:02d}(M, N) <- tick('s{k}', _, M) seq tick('s{k}', _, N).\n" for k in range(9))
    program, given = etalis.compile(TICK + "".join(rules)), rows()
    expected = [(m.name, m.rule, m.start, m.end) for m in program.engine(policy=policy).run(given)]
    assert families(program, given) == 1
    assert told(program, given, policy=policy) == expected
    assert expected


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions of Python some work calls."""
    count = 0

    def note(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_a_second_call_makes_nothing_of_each_rule() -> None:
    rule = "r{k}(P) <- (tick('s{k}', P, _) seq tick('s{k}', _, N)) within 9.\n"
    few, many = (etalis.compile(TICK + "".join(rule.format(k=k) for k in range(n))) for n in (20, 400))
    given = table(rows())
    found = []
    for program in (few, many):
        detect = partial(program.detect, given, time="at", event="event")
        assert detect() == detect()
        found.append(calls_of(detect))
    assert found[1] - found[0] < 400


def test_engines_of_one_program_have_rules_of_their_own() -> None:
    program = etalis.compile(TICK + "".join(f"r{k}(P) <- tick('s{k}', P, _).\n" for k in range(9)))
    first, second = program.engine(), program.engine()
    assert first.delete_rule("1") == 1
    assert first.insert_rule("also(P) <- tick('s1', P, _)") == "10"
    assert [event.name for event in first.push("tick", "s0", 1.0, 1, at=1)] == []
    assert [event.name for event in second.push("tick", "s0", 1.0, 1, at=1)] == ["r0"]
    assert [event.name for event in first.push("tick", "s1", 1.0, 1, at=2)] == ["also", "r1"]
    assert [event.name for event in second.push("tick", "s1", 1.0, 1, at=2)] == ["r1"]
    assert told(program, [("tick", "s0", 1.0, 1, 1)]) == pushed(program, [("tick", "s0", 1.0, 1, 1)])
    again = program.restore(first.snapshot())
    assert [event.name for event in again.push("tick", "s1", 1.0, 1, at=3)] == ["also", "r1"]
