"""Programs that a host builds as syntax trees: what texts say, and values that no text needs to quote."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

import etalis
from etalis.errors import ProgramError
from etalis.language import syntax as s
from etalis.language.given_tree import read_tree
from etalis.language.read.parser import parse
from helpers.cases import all_cases

V, C = s.Var, s.Const
ODD = [
    "L#newCD{artist,title}", "it's", "a\nb", "a\\", "\0", "\ud800", "日本 語", "\U0001f600", "", "')--", "X", "_", "%",
    "import os", "{0}", "seq",
]  # fmt: skip


def E(name: Any, args: Any = ()) -> s.EventPattern:  # noqa: N802  as the nodes are called
    return s.EventPattern(name, args)


def bare(x: Any) -> Any:
    """Return a tree without spans."""
    if isinstance(x, tuple):
        return tuple(map(bare, x))
    if not is_dataclass(x):
        return x
    return replace(x, **{f.name: None if f.name == "span" else bare(getattr(x, f.name)) for f in fields(x)})


def pair(left: s.Pattern, right: s.Pattern, *head: s.Term) -> list[s.Item]:
    return [s.Rule(E("found", head), s.Binary("seq", left, right))]


@pytest.mark.parametrize("text", ODD)
def test_names_and_values_are_any_text(text: str) -> None:
    rules = pair(E(text, (V("X"), C(text))), E("b", (V("X"),)), V("X"), C(text))
    engine = etalis.compile_tree(rules).engine()
    assert engine.push(text, 1, text, at=1) == ()
    (found,) = engine.push("b", 1, at=2)
    assert found.args == (1, text)
    assert engine.push("b", 2, at=3) == ()


def test_numbers_are_of_any_size() -> None:
    huge = 10**5000
    program = etalis.compile_tree(pair(E("a", (C(huge),)), E("b", (V("X"),)), V("X"), C(-huge)))
    engine = program.engine()
    engine.push("a", huge, at=1)
    engine = program.restore(engine.snapshot())
    (found,) = engine.push("b", 2.5, at=2)
    assert found.args == (2.5, -huge)
    assert "seq" in program.explain()


def test_one_node_may_be_given_many_times() -> None:
    a = E("a", (V("X"),))
    program = etalis.compile_tree(pair(s.Or(a, a), s.NotWithin(a, E("b"), 1_000_000), V("X")))
    nodes = program.compiled.tree.items[0].pattern  # type: ignore[union-attr]
    assert len({id(x) for x in (nodes.left.left, nodes.left.right, nodes.right.pattern)}) == 3  # type: ignore[union-attr]


def test_time_points_are_told_apart() -> None:
    point = s.TimePoint(5_000_000)
    engine = etalis.compile_tree(pair(E("a"), s.Binary("and", point, point))).engine()
    engine.push("a", at=1)
    text = etalis.compile("found <- a seq (5 and 5).").engine()
    text.push("a", at=1)
    assert [str(e) for e in engine.advance(to=6)] == [str(e) for e in text.advance(to=6)] != []


def test_flags_goals_and_declarations_are_taken() -> None:
    known = s.Compound("known", (V("X"),))
    program = etalis.compile_tree(
        [
            s.SetFlag("event_consumption_policy", C("snoop_recent")),
            s.EventDeclaration("a", (("x", "int"),)),
            s.Clause(s.Compound("known", (C(2),))),
            s.Rule(E("d", (V("X"),)), s.Condition("where", E("a", (V("X"),)), known), label="r"),
        ],
        max_steps=1_000,
    )
    assert program.compiled.settings.policy == "snoop_recent"
    assert program.compiled.settings.max_steps == 1_000
    assert [str(e) for e in program.engine().run([("a", 1, 1), ("a", 2, 2)])] == ["d(2) [2, 2]"]


def test_checks_and_warnings_are_those_of_texts() -> None:
    with pytest.raises(ProgramError) as caught:
        etalis.compile_tree([s.Rule(E("d", (V("Y"),)), E("a", (V("X"),)))])
    assert caught.value.code == "E204"
    with pytest.warns(etalis.ProgramWarning, match="W215"):
        etalis.compile_tree([s.Rule(E("d"), E("a", (V("X"),)))])


DEEP: s.Term = C(1)
for _ in range(3_000):
    DEEP = s.Compound("f", (DEEP,))
WRONG: list[tuple[Any, str]] = [
    ("d <- a.", "item 1: 'd <- a.' is not"),
    (s.Import((("a", 1),), "f"), "Import"),
    (s.Rule(E("d"), "a"), "item 1, Rule.pattern: 'a' is not of its kinds"),  # type: ignore[arg-type]
    (s.Rule(E("d"), E("a", [C(1)])), "is not a tuple"),  # type: ignore[arg-type]
    (s.Rule(E(1), E("a")), "1 is not str"),  # type: ignore[arg-type]
    (s.Rule(E("d"), E("a", (1,))), "1 is not Var or Const or Compound or ListTerm"),  # type: ignore[arg-type]
    (s.Rule(E("d"), E("a", (V("x"),))), "no text says Var(name='x')"),
    (s.Rule(E("d"), E("a", (V("_"),))), "no text says"),
    (s.Rule(E("d"), E("a", (V("$parts"),))), "no text says"),
    (s.Rule(E("d"), E("a", (V("X); import os"),))), "no text says"),
    (s.Rule(E("d"), s.Within(E("a"), True)), "True is not int"),
    (s.Rule(E("d"), s.Within(E("a"), 1.5)), "1.5 is not int"),  # type: ignore[arg-type]
    (s.Rule(E("d"), s.Binary("before", E("a"), E("b"))), "no text says"),
    (s.Rule(E("d"), s.Binary("seq", E("a"), E("b"), alone="both")), "is not 'left' or 'right'"),  # type: ignore[arg-type]
    (s.Rule(E("d"), s.Binary("meets", E("a"), E("b"), alone="left")), "no text says"),
    (s.Rule(E("d"), E("a"), hidden=True), "no text says"),
    (s.Rule(E("d", (C(float("nan")),)), E("a")), "NaN is not a value"),
    (s.Rule(E("d", (C(object()),)), E("a")), "type object cannot be an attribute"),
    (s.Rule(E("d", (s.Compound("f", ()),)), E("a")), "no text says"),
    (s.Rule(E("d", (DEEP,)), E("a")), "deeper than 200 levels"),
    (s.EventDeclaration("a", (("x", "strin"),)), "no text says"),
    (s.Clause(C(1)), "no text says"),
]


@pytest.mark.parametrize(("item", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_is_no_tree_is_refused(item: Any, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        etalis.compile_tree([s.Rule(E("c"), E("a")), item] if not isinstance(item, str) else [item])
    (problem,) = caught.value.problems
    assert problem.code in ("E124", "E112")
    assert message in problem.message.replace("item 2", "item 1")
    assert problem.hint


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(ProgramError) as caught:
        etalis.compile_tree([s.Rule(E(1), E("a")), s.Rule(E(2), E("a"))])  # type: ignore[arg-type]
    assert [p.message.split(",")[0] for p in caught.value.problems] == ["item 1", "item 2"]


def test_trees_of_texts_are_read_as_they_are() -> None:
    """Every rule, clause and flag of the cases, without its spans, comes back equal; only reactive items do not."""
    count = 0
    for case in all_cases():
        if case.errors or case.source is not None:
            continue
        tree = parse(case.program)
        if all(isinstance(item, s.Rule | s.Clause | s.SetFlag | s.EventDeclaration | s.Trigger) for item in tree.items):
            assert read_tree(bare(tree)).items == tree.items
            count += 1
    assert count > 500
