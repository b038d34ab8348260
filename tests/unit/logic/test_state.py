"""State: facts that come and go and are taken back; whoever keeps conclusions from them knows of each change."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import etalis
from etalis.data.values import Value
from etalis.errors import EtalisError, ProgramError
from etalis.language.lower import load_clauses, to_logic
from etalis.language.read.parser import parse, parse_term
from etalis.logic.solver import Solver
from etalis.logic.state.state_store import StateStore
from etalis.logic.terms.unify import Variable, make_list
from helpers.compiled_goals import DECLINED, GoalRun
from helpers.examples import by_day

Row = tuple[Any, ...]


def solver(text: str) -> Solver:
    return Solver(load_clauses(parse(text)))


def store(kb: Solver) -> StateStore:
    found: StateStore = kb.database.state
    return found


def ask(kb: Solver, goal: str) -> list[tuple[Value, ...]]:
    return [tuple(found.values()) for found in kb.solve(to_logic(parse_term(goal)))]


# changes, and taking them back

ATOMS = st.sampled_from((1, 2, "a", ("f", "a"), ("f", 1), make_list([1, "a"])))
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(("insert", "insert", "delete", "put", "match", "mark", "back", "back all", "commit", "ask")),
        st.sampled_from(("p", "q", "k")),
        st.tuples(ATOMS, ATOMS),
    ),
    max_size=40,
)
TEXT = ":- state p/2, q/2, k/2 key 1. p(1, 2). p(a, f(a)). k(1, 1). k(2, 1)."


class Plain:
    """Facts in order, changed by the book."""

    def __init__(self, facts: dict[str, list[Row]]) -> None:
        self.facts = facts

    def copied(self) -> dict[str, list[Row]]:
        return {name: list(rows) for name, rows in self.facts.items()}

    def insert(self, name: str, row: Row) -> bool:
        rows = self.facts[name]
        if name == "k" and any(other[0] == row[0] and other != row for other in rows):
            return False
        if row not in rows:
            rows.append(row)
        return True

    def put(self, name: str, row: Row) -> None:
        size = 1 if name == "k" else 2
        self.facts[name] = [*(other for other in self.facts[name] if other[:size] != row[:size]), row]

    def delete(self, name: str, row: Row) -> None:
        self.facts[name] = [other for other in self.facts[name] if other != row]

    def match(self, name: str, first: Any) -> None:
        self.facts[name] = [other for other in self.facts[name] if other[0] != first]


@pytest.mark.property
@by_day(4)
@given(changes=CHANGES)
def test_state_is_what_a_plain_list_of_facts_is(changes: list[tuple[str, str, Row]]) -> None:
    """Whatever was asked, in whatever order, and however far it was taken back: the same facts in the same order."""
    kb = solver(TEXT)
    state = store(kb)
    plain = Plain({name: list(rows) for (name, _), rows in state.facts()})
    marks: list[tuple[int, dict[str, list[Row]]]] = [(0, plain.copied())]
    for what, name, row in changes:
        match what:
            case "insert":
                assert state.insert(name, row) == plain.insert(name, row)
            case "delete":
                state.delete(name, row)
                plain.delete(name, row)
            case "put":
                state.put(name, row)
                plain.put(name, row)
            case "match":
                state.delete(name, (row[0], Variable()))
                plain.match(name, row[0])
            case "mark":
                marks.append((state.mark(), plain.copied()))
            case "back" | "back all":
                mark, plain.facts = marks.pop() if what == "back" else marks[0]
                state.take_back(mark)
                marks = marks if what == "back" and marks else [(mark, plain.copied())]
            case "commit":
                state.commit()
                marks = [(0, plain.copied())]
            case "ask":
                found = list(state.predicate(name, 2).entries((row[0], Variable())))
                assert [args for _, args, _ in found] == [other for other in plain.facts[name] if other[0] == row[0]]
                assert len(state.predicate(name, 2).entries((Variable(), row[1]))) == sum(
                    other[1] == row[1] for other in plain.facts[name]
                )
        assert {name: rows for (name, _), rows in state.facts()} == plain.facts
        for (name, _), rows in state.facts():
            predicate = state.predicate(name, 2)
            assert (predicate.relation is None) == any(x.__class__ is tuple and x for row in rows for x in row)
            assert len(predicate.facts) == len(rows)


def test_a_deletion_that_is_taken_back_has_its_place_again() -> None:
    kb = solver(":- state p/1. p(a). p(b). p(c).")
    state = store(kb)
    mark = state.mark()
    state.delete("p", ("b",))
    state.insert("p", ("d",))
    assert ask(kb, "p(X)") == [("a",), ("c",), ("d",)]
    state.take_back(mark)
    assert ask(kb, "p(X)") == [("a",), ("b",), ("c",)]


def test_setting_puts_the_fact_last() -> None:
    kb = solver(":- state p/2 key 1. p(a, 1). p(b, 1).")
    store(kb).put("p", ("a", 2))
    assert ask(kb, "p(X, N)") == [("b", 1), ("a", 2)]


def test_a_goal_goes_on_after_its_state_is_back() -> None:
    kb = solver(":- state p/1, q/2. p(a). p(b). p(c). q(a, 1). q(a, 2). q(a, 3).")
    state = store(kb)
    found = []
    for goal in ("p(X)", "q(a, X)"):
        for solution in kb.solve(to_logic(parse_term(goal))):
            mark = state.mark()
            state.delete("p", (Variable(),))
            state.delete("q", ("a", 2))
            state.insert("q", ("a", 4))
            found.append(solution["X"])
            assert ask(kb, "q(a, X)") == [(1,), (3,), (4,)]
            state.take_back(mark)
    assert found == ["a", "b", "c", 1, 2, 3]


def test_places_of_dead_rows_are_let_go_at_a_commit() -> None:
    kb = solver(":- state n/1.")
    state = store(kb)
    for i in range(1_000):
        state.insert("n", (i,))
        state.delete("n", (i - 1,))
        state.commit()
    assert len(state.predicate("n", 1).facts.rows) < 40
    assert ask(kb, "n(X)") == [(999,)]


# reading

KEPT = """
    :- state edge/2, node/1, ok/0, pair/1.
    :- table path/2. path(X, Y) :- edge(X, Y). path(X, Y) :- path(X, Z), edge(Z, Y).
    reach(X, Y) :- edge(X, Y). reach(X, Z) :- edge(X, Y), reach(Y, Z).
    :- table many/1. many(N) :- node(_), findall(X, node(X), L), length(L, N).
    bare(X) :- node(X), \\+ edge(X, _), (ok -> true ; X > 1).
    paired(X) :- pair(P), P = f(X, _).
    """
GOALS = ("path(1, Y)", "path(X, Y)", "many(N)", "bare(X)", "paired(X)", "edge(2, Y)", "reach(1, 1)", "reach(1, 3)")
MOVES = st.lists(
    st.tuples(
        st.sampled_from(("insert", "insert", "delete", "mark", "back", "commit", "ask", "ask", "ask")),
        st.sampled_from(("edge", "edge", "node", "ok", "pair")),
        st.tuples(st.integers(1, 3), st.integers(1, 3)),
        st.sampled_from(GOALS),
    ),
    max_size=30,
)


@pytest.mark.property
@by_day(4)
@given(moves=MOVES)
def test_answers_from_state_are_those_of_a_fresh_start(moves: list[tuple[str, str, Row, str]]) -> None:
    """Tables, indexes of reachability and kept answers see each change, and each that is taken back."""
    kb = solver(KEPT)
    state = store(kb)
    marks = [0]
    for what, name, (x, y), goal in moves:
        row = {"edge": (x, y), "node": (x,), "ok": (), "pair": (("f", x, y),)}[name]
        match what:
            case "insert":
                state.insert(name, row)
            case "delete":
                state.delete(name, row)
            case "mark":
                marks.append(state.mark())
            case "back":
                state.take_back(marks[-1])
                marks = marks[:-1] or [0]
            case "commit":
                state.commit()
                marks = [0]
            case "ask":
                fresh = Solver(kb.database.copied())
                found, expected = [sorted(map(str, k.solve(to_logic(parse_term(goal))))) for k in (kb, fresh)]
                if goal.startswith("reach"):
                    found, expected = found[:1], expected[:1]
                assert found == expected


CONDITIONS = (
    ("stock(I, P, N), N > 5", {"I": "term"}, ("P",)),
    ("stock(I, _, _)", {"I": "term"}, ()),
    ("\\+ stock(I, _, 0)", {"I": "term"}, ()),
    ("rich(I)", {"I": "term"}, ()),
    ("listed(I, K)", {"I": "term"}, ("K",)),
    ("findall(J, stock(J, _, _), L), length(L, N)", {"I": "term"}, ("N",)),
    ("seen(I)", {"I": "term"}, ()),
)


@pytest.mark.parametrize(("condition", "types", "outputs"), CONDITIONS)
def test_generated_code_sees_state_as_it_is(condition: str, types: dict[str, str], outputs: tuple[str, ...]) -> None:
    """Look-ups, loops over facts and kept answers: after changes, commits, undoing, and with compound terms."""
    kb = solver(
        ":- state stock/3 key 1, seen/1. stock(rose, 2.0, 10). stock(aster, 1.0, 0). "
        "rich(I) :- findall(N, stock(I, _, N), [N]), N > 5. listed(I, K) :- stock(I, P, N), member(K, [P, N]), K > 3."
    )
    state = store(kb)
    run = GoalRun(kb, to_logic(parse_term(condition)), types, outputs)
    assert run.run is not None

    def check() -> None:
        for item in ("rose", "aster", "tulip"):
            assert run.found((item,)) in (run.expected((item,)), DECLINED)
            assert run.ask(item) == next(
                (
                    tuple(found.get(name) for name in outputs)
                    for found in kb.solve(to_logic(parse_term(condition)), {"I": item})
                ),
                None,
            )

    check()
    state.put("stock", ("rose", 2.0, 3))
    state.insert("seen", ("rose",))
    check()
    state.commit()
    check()
    mark = state.mark()
    state.insert("stock", (("f", "tulip"), 2.0, 9))
    state.delete("stock", ("aster", Variable(), Variable()))
    check()
    state.take_back(mark)
    check()
    for number in range(40):
        state.put("stock", ("aster", 1.0, number))
        state.commit()
    check()


# refusals


@pytest.mark.parametrize(
    "goal", ["assert(stock(a, 1))", "asserta(stock(a, 1))", "retract(stock(a, _))", "retractall(stock(_, _))",
             "abolish(stock/2)", "assert((stock(a, N) :- N = 1))", "dynamic(stock/2)"],
)  # fmt: skip
def test_goals_do_not_change_state(goal: str) -> None:
    kb = solver(":- state stock/2 key 1. stock(a, 1).")
    with pytest.raises(EtalisError) as raised:
        ask(kb, goal)
    assert raised.value.problems[0].code == "E513"
    assert raised.value.problems[0].message == "stock/2 is state: only actions change it"
    assert ask(kb, "stock(X, Y)") == [("a", 1)]


def test_facts_are_not_loaded_into_state() -> None:
    kb = solver(":- state stock/2.")
    for change in (kb.database.add_rows, kb.database.replace_rows):
        with pytest.raises(EtalisError) as raised:
            change("stock", 2, [("a", 1)])
        assert raised.value.problems[0].code == "E513"


def test_actions_change_nothing_but_state() -> None:
    kb = solver(":- state stock/2. other(1).")
    with pytest.raises(EtalisError, match="other/1 is not declared as state"):
        store(kb).insert("other", (2,))


def test_first_facts_with_one_key_are_refused() -> None:
    with pytest.raises(ProgramError) as raised:
        solver(":- state stock/2 key 1. stock(a, 1). stock(a, 1). stock(a, 2).")
    (problem,) = raised.value.problems
    assert problem.code == "E514"
    clash = "stock(a,1) and stock(a,2) cannot both hold: the first argument of stock/2 determines the rest"
    assert clash in problem.message


def test_facts_that_are_read_are_shown() -> None:
    kb = solver(":- state p/1. p(f([1])). p(b).")
    assert [found[1] for found in ask(kb, "clause(p(X), B)")] == ["true", "true"]
    assert ask(kb, "predicate_property(p(_), number_of_clauses(N))") == [(2,)]


def test_a_list_longer_than_the_recursion_limit_is_a_fact() -> None:
    kb = solver(":- state p/1, k/2 key 1.")
    state = store(kb)
    long = make_list(range(50_000))
    assert state.insert("p", (long,))
    assert state.insert("p", (make_list(range(50_000)),))
    assert state.insert("k", (1, long))
    assert not state.insert("k", (1, make_list(range(49_999))))
    state.put("k", (1, make_list(range(49_999))))
    assert ask(kb, "p(L), length(L, N), nth0(3, L, X), k(1, M), length(M, O)")[0][1:3] == (50_000, 3)
    assert len(state.predicate("p", 1).facts) == 1


def test_a_host_does_not_change_state() -> None:
    program = etalis.compile(":- state stock/2. stock(a, 1). many(X) <- a(X) where (stock(X, N), N > 0).")
    with pytest.raises(EtalisError, match="stock/2, which is state: only actions change it"):
        program.load_facts("stock", [("a", 2)])
    engine = program.engine()
    for change in (engine.assert_fact, engine.retract_fact):
        with pytest.raises(EtalisError, match="stock/2, which is state: only actions change it"):
            change("stock", "a", 1)
    with pytest.raises(EtalisError, match="stock/2, which is state: only actions change it"):
        engine.reload("stock", [("a", 2)])
    assert [event.name for event in engine.push("a", "a", at=1)] == ["many"]
