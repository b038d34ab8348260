"""What the host lends to goals: where they write, and what time it is."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from etalis.language.check.goals import SIDE_EFFECTS
from etalis.language.lower import new_database, to_logic
from etalis.language.read.parser import parse, parse_term
from etalis.language.syntax import Clause
from etalis.logic.builtins.memory import STATE_TESTS
from etalis.logic.builtins.output import OUTPUT_TESTS
from etalis.logic.errors import LogicLimitError
from etalis.logic.machine.library import sections
from etalis.logic.solver import Solver
from etalis.logic.terms.unify import Variable

CASES = [
    ("write('A b'), nl", "A b\n"),
    ("print('A b')", "'A b'"),
    ("writeq(['A', b|c])", "['A',b|c]"),
    ("writeln(f(X, Y, X))", "f(_1,_2,_1)\n"),
    ("write_canonical(1 + 'B' * 2)", "+(1,*('B',2))"),
    ("write(1 - (2 - 3)), tab(1 + 1), put_char(x)", "1-(2-3)  x"),
    ("format('~w: ~a~n', [f(x), y])", "f(x): y\n"),
    ("format(done)", "done"),
    ("member(X, [1, 2, 3]), write(X), X >= 2", "12"),
    ("format(atom(_), 'nothing', [])", ""),
]


@pytest.mark.parametrize(("goal", "expected"), CASES)
def test_written(goal: str, expected: str) -> None:
    solver = Solver(new_database())
    assert next(solver.solve(to_logic(parse_term(goal))), None) is not None
    assert "".join(solver.written) == expected


def test_the_host_chooses_where_output_goes() -> None:
    pieces: list[str] = []
    solver = Solver(new_database(), output=pieces.append)
    solver.prepare(to_logic(parse_term("write(hello), nl")), (), ())()
    assert pieces == ["hello", "\n"]
    assert not solver.written


def test_a_term_too_large_to_write_is_a_limit_error() -> None:
    solver = Solver(new_database())
    goal = "length(L, 40), foldl(doubled, L, x, T), write(T)"
    solver.database.add(("doubled", Variable(), x := Variable(), ("f", x, x)))
    with pytest.raises(LogicLimitError):
        next(solver.solve(to_logic(parse_term(goal))))


def test_a_deep_term_is_written() -> None:
    solver = Solver(new_database())
    solver.database.add(("nested", Variable(), x := Variable(), ("f", x)))
    goal = to_logic(parse_term("length(L, 50000), foldl(nested, L, x, T), write(T), fail"))
    assert next(solver.solve(goal), None) is None
    assert "".join(solver.written) == "f(" * 50000 + "x" + ")" * 50000


MOMENTS = [
    0,
    0.75,
    datetime(1970, 1, 1),
    datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
]


@pytest.mark.parametrize("now", MOMENTS)
def test_the_time_is_the_clock_of_the_host(now: float | datetime) -> None:
    solver = Solver(new_database(), clock=lambda: now)
    goal = to_logic(parse_term("current_datetime(D), D = datetime(1970, 1, 1, 0, 0, 0)"))
    assert next(solver.solve(goal), None) is not None


def test_counters_belong_to_the_database() -> None:
    database = new_database()
    next(Solver(database).solve(to_logic(parse_term("incCounter(c)"))))
    twin = database.copied()
    next(Solver(twin).solve(to_logic(parse_term("incCounter(c)"))))
    goal = to_logic(parse_term("counter(c, N)"))
    assert [next(Solver(db).solve(goal))["N"] for db in (database, twin, new_database())] == [1, 2, 0]


def test_the_page_of_predicates_names_every_one() -> None:
    page = (Path(__file__).parents[3] / "docs" / "logic.md").read_text()
    named = set(re.findall(r"`([^`\s/]+)(?:/[0-9.,]+)?`", page)) | {"=.."}
    known = {name for name, _ in new_database().known()}
    assert known - named == {"prolog", "query", "db", "^"}


def test_a_section_of_the_library_defines_what_its_first_lines_say() -> None:
    for section, keys in sections():
        heads = [to_logic(clause.head).term for clause in parse(section).items if isinstance(clause, Clause)]
        assert {(head[0], len(head) - 1) for head in heads if not head[0].startswith("$")} == set(keys)


def test_what_writes_or_remembers_is_known_as_a_side_effect() -> None:
    pure = {("format", 3), ("counter", 2), ("get_flag", 2), ("nb_getval", 2), ("b_getval", 2)}
    assert {*OUTPUT_TESTS, *STATE_TESTS} - SIDE_EFFECTS == pure
