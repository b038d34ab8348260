"""Rewrites change no match: a rewritten plan gives what the program means, and what the plan as written gives."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import event, given, note, reject, settings
from hypothesis import strategies as st

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.data.values import Value, real
from etalis.errors import LimitError, ProgramError
from etalis.plan import algebra as p
from etalis.plan import rewrite
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from helpers.examples import by_day
from helpers.programs import WHOLE, Draw, policies, streams
from properties.test_engine import MOST, meaning, moment

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.property

OPERATORS = ("seq", "seq", "seq", "seq", "and", "and", "par", "meets", "during", "forall_seq")
LEAVES = ("a({0})", "a({0})", "b({1})", "b({1})", "c({0}, {1})", "c({1}, {2})", "n")
TESTS = (
    "{0} > 0", "{0} < 2", "{0} \\= 1", "{0} == 0", "{0} =:= 1", "({0} = 0 ; {0} > 1)", "\\+ {0} =< 0", "{0} < {1}",
    "({0} = 0 -> true)", "({0} > 1 -> {0} < 3 ; true)", "T is {0} + 1, T < 3", "T is {0} + {1}, T > 1, T \\= {2}",
    "{0} + 1 =< {1} * 2", "{0} \\== {1}", "{0} = {1}", "q({0})", "p({0}, _)", "!", "member(V, [0, 1]), V =< {0}",
    "1 < 2", "number({0})", "\\+ atom({0})", "{0} @> {1}", "atom_length({0}, L), L > 0", "({0} = s(_) ; {0} @< 2)",
)  # fmt: skip
FRAMES = (
    *["{0} {op} {1}"] * 7, *["({0}) {kind} ({goal})"] * 4, "{0} or {1}", "({0}) within {n}", "({0}) cnot {leaf}",
    "({0}) fnot {leaf}", "({0}) seq (not {leaf} within {n})", "({0}) seq ({leaf} ntimes {n})", "({leaf}) star_times",
    "({0}) seq aggregate({fold}, {leaf}, R)", "({0}) do q(1)", "{0} seq {1} seq {leaf}",
)  # fmt: skip
FOLDS = ("count", "sum(X)", "max(Y)", "list(X)")
KINDS = st.sampled_from(("where", "where", "where", "check", "event_multiply"))
KNOWLEDGE = "p(0, 1). p(1, 2). p(1, 0). q(1). q(x).\n"
VALUES: tuple[Value, ...] = (*[0] * 6, *[1] * 5, *[2] * 3, 3, "x", "null", real(1.0))
NUMBERS: tuple[Value, ...] = (0, 0, 1, 1, 2, 3)


@st.composite
def patterns(draw: Draw, depth: int) -> str:
    """Patterns with conditions of several conjuncts on and in them."""
    leaf = st.sampled_from(LEAVES).map(lambda leaf: leaf.format(*draw(st.permutations("XYZ"))))
    if depth == 0:
        return draw(leaf)
    frame = draw(st.sampled_from(FRAMES))
    inner = [f"({draw(patterns(draw(st.integers(0, depth - 1))))})" for _ in range(2 if "{1}" in frame else 1)]
    return frame.format(
        *inner, op=draw(st.sampled_from(OPERATORS)), kind=draw(KINDS), goal=draw(goals(" ".join(inner))),
        leaf=draw(leaf), n=draw(st.integers(1, 4)), fold=draw(st.sampled_from(FOLDS)),
    )  # fmt: skip


def goals(pattern: str) -> st.SearchStrategy[str]:
    """Conjunctions over what a pattern names, most of the time."""
    named = sorted({letter for letter in pattern if letter in "XYZ"})
    variables = st.lists(st.sampled_from([*named * 5, *"XYZ"]), min_size=3, max_size=3)
    test = st.tuples(st.sampled_from(TESTS), variables).map(lambda drawn: drawn[0].format(*drawn[1]))
    return st.lists(test, min_size=1, max_size=3).map(", ".join)


@st.composite
def selections(draw: Draw) -> str:
    """Programs of a rule with a condition on the whole pattern, perhaps one that reads what it makes."""
    pattern = draw(patterns(draw(st.sampled_from((1, 2, 2, 3)))))
    body = f"({pattern}) {draw(KINDS)} ({draw(goals(pattern))})"
    head = [v if v in body else "0" for v in draw(st.sampled_from(("XY", "YZ", "ZZ")))]
    rules = [f"d({', '.join(head)}) <- {body}."]
    if draw(st.booleans()):
        rules.append(f"e(Z) <- (d(X, Z) {draw(st.sampled_from(OPERATORS))} b(Y)) where ({draw(goals('XYZ'))}).")
    text = KNOWLEDGE + "\n".join(rules)
    try:
        etalis.compile(text)
    except ProgramError:
        reject()
    return text


@contextmanager
def as_written() -> Iterator[None]:
    """Plan without rewrites."""
    rewrites, rewrite.REWRITES = rewrite.REWRITES, ()
    try:
        yield
    finally:
        rewrite.REWRITES = rewrites


def prefilters(program: etalis.Program, policy: str) -> list[p.Prefilter]:
    nodes = [node for head in program.compiled.plans(policy) for node in p.walk(head.body)]
    return [test for node in nodes for test in p.tests(node) if isinstance(test, p.Prefilter)]


def pushed(program: etalis.Program, stream: list[Event], policy: str) -> tuple[list[Event], Counter[str]] | None:
    """What an engine gives, and what it reports; None if one input causes too much."""
    engine = program.engine(policy=policy)
    try:
        found = [e for x in stream for e in engine.push(x.name, *x.args, at=moment(x))]
        return [*found, *engine.close()], Counter(map(str, engine.errors))
    except LimitError:
        return None


@given(selections(), streams(replace(WHOLE, values=VALUES)), policies())
def test_the_engine_gives_the_meaning_and_what_the_plan_as_written_gives(
    text: str, stream: list[Event], policy: str
) -> None:
    note(f"{policy}\n{text}\n{stream}")
    with as_written():
        plain = pushed(etalis.compile(text, max_derivations=MOST), stream, policy)
    program = etalis.compile(text, max_derivations=MOST)
    found, filters = pushed(program, stream, policy), prefilters(program, policy)
    event("prefilters" if filters else "none")
    expected = meaning(text, stream, policy)
    assert (found is None) == (plain is None)
    if found is None or plain is None:
        return
    assert expected is None or found[0] == expected
    assert found[0] == plain[0]
    assert found[1] <= plain[1], "what is reported is what the plan as written reports"
    assert filters or found[1] == plain[1]


@by_day(2)
@given(selections(), streams(replace(WHOLE, values=NUMBERS)), policies(), st.data())
def test_columns_give_the_meaning(text: str, stream: list[Event], policy: str, data: st.DataObject) -> None:
    note(f"{policy}\n{text}\n{stream}")
    program = etalis.compile(text, max_derivations=MOST)
    expected = meaning(text, stream, policy)
    types = find_types(stream)
    cut = data.draw(st.integers(0, len(stream)))
    run = ColumnRun(program.compiled, types, policy=policy)
    try:
        found = [e for part in (stream[:cut], stream[cut:]) for e in run.process(gather(part, types))]
        found += run.close()
    except LimitError:
        return
    event(f"{'over columns' if run.components else 'at a time'}, {bool(prefilters(program, policy))}")
    assert expected is None or Counter(found) == Counter(expected)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_prefilters_are_met(policy: str) -> None:
    """That the properties above look at what they are about."""
    met: Counter[bool] = Counter()

    @settings(max_examples=150, database=None)
    @given(selections())
    def look(text: str) -> None:
        met[bool(prefilters(etalis.compile(text), policy))] += 1

    look()
    assert met[True] / met.total() > 0.15, met
