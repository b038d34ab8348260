"""Look-ups written into generated code are exact while a predicate has the shape for it, and step aside when not."""

from __future__ import annotations

import etalis

RULES = """
    yes(X) <- ask(X) where known(X).
    no(X) <- ask(X) where \\+ known(X).
    path(X, Y) <- ask(X, Y) where (X \\= Y, chain(X, Y)).
    more(X) <- more(X, Y) do assertz((known(X) :- Y)).
    link(X) <- link(X, Y) do assertz((linked(X, Z) :- member(Z, Y))).
    :- dynamic known/1. :- dynamic linked/2.
    known(a). known(1). known(2.0).
    chain(X, Y) :- linked(X, Y).
    chain(X, Z) :- linked(X, Y), chain(Y, Z).
    linked(a, b). linked(b, c). linked(c, a).
    """


def told(engine: etalis.Engine, *args: object, at: int) -> list[str]:
    return [str(match).rsplit(" [", 1)[0] for match in engine.push("ask", *args, at=at)]


def test_facts_and_values() -> None:
    engine = etalis.compile(RULES).engine()
    asked = ("a", 1, 1.0, 2, 2.0, "b", [1], {"a": 1}, None)
    answers = [told(engine, value, at=i)[0].partition("(")[0] for i, value in enumerate(asked)]
    assert answers == ["yes", "yes", "no", "no", "yes", "no", "no", "no", "no"]


def test_facts_that_come_and_go() -> None:
    engine = etalis.compile(RULES).engine()
    for i in range(100):
        assert told(engine, "b", at=4 * i) == ["no(b)"]
        engine.assert_fact("known", "b")
        assert told(engine, "b", at=4 * i + 1) == ["yes(b)"]
        engine.retract_fact("known", "b")
    engine.reload("known", [("c",)])
    assert [told(engine, x, at=1_000 + i) for i, x in enumerate("ac")] == [["no(a)"], ["yes(c)"]]


def test_facts_that_become_rules() -> None:
    engine = etalis.compile(RULES).engine()
    engine.push_term("more(b, 1 =:= 1)", at=0)
    assert [told(engine, x, at=i) for i, x in enumerate("bca", 1)] == [["yes(b)"], ["no(c)"], ["yes(a)"]]
    engine.push_term("more(c, atom_length(1, a))", at=4)
    assert told(engine, "c", at=5) == []
    assert len(engine.errors) == 2


def test_links_that_become_rules() -> None:
    engine = etalis.compile(RULES).engine()
    assert [told(engine, "a", x, at=i) for i, x in enumerate("cad", 1)] == [["path(a, c)"], [], []]
    engine.push_term("link(c, [d, e])", at=4)
    assert [told(engine, "a", x, at=i) for i, x in enumerate("cde", 5)] == [
        ["path(a, c)"],
        ["path(a, d)"],
        ["path(a, e)"],
    ]


def test_links_to_compound_terms() -> None:
    engine = etalis.compile(RULES).engine()
    assert told(engine, "a", "c", at=0) == ["path(a, c)"]
    engine.assert_fact("linked", "c", [1, 2])
    assert told(engine, "a", [1, 2], at=1) == ["path(a, [1,2])"]
    assert told(engine, "a", [1, 3], at=2) == []


def test_facts_with_old_versions() -> None:
    engine = etalis.compile(RULES, knowledge_horizon=10).engine()
    assert told(engine, "b", at=1) == ["no(b)"]
    engine.assert_fact("known", "b")
    engine.assert_fact("linked", "c", "d")
    assert (told(engine, "b", at=2), told(engine, "a", "d", at=3)) == (["yes(b)"], ["path(a, d)"])
    assert [bool(engine.query(goal, at=1)) for goal in ("known(b)", "chain(a, d)")] == [True, True]
    assert [bool(engine.query(goal, at=0)) for goal in ("known(b)", "chain(a, d)", "chain(a, a)")] == [
        False,
        False,
        True,
    ]
