"""Facts that events change, over columns: each match sees what the meaning sees, wherever batches are cut.

Rules ask in every condition, by look-ups and by clauses; streams have many equal stamps, and facts that come, go and
come again. An engine that goes on knows afterwards what it would know after pushes.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from etalis.data.values import Value, real
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.language.read.parser import parse
from etalis.temporal.event import Event
from helpers.examples import by_day
from helpers.programs import policies
from properties import test_carry
from properties.test_columns import check_meaning
from properties.test_constraints import is_sound
from properties.test_knowledge import EVENTS, RULES, programs, streams

pytestmark = pytest.mark.property

SECOND = 1_000_000
KNOWLEDGE = """
:- knowledge k/1 - m/1, j/2 - i/2, m/1 - k/1, on/0 - off/0.
:- table path/2.
k({0}). j({1}, {0}). j({0}, {0}).
path(X, Z) :- path(X, Y), j(Y, Z).
path(X, Y) :- j(X, Y).
known(X) :- k(X), \\+ j(X, X).
least(X, L) :- j(X, L), !.
least(_, {1}).
near(X, Y) :- j(X, Y).
near(X, Y) :- j(X, Z), near(Z, Y), Y \\= X, Z \\= X.
rated(X, {0}) :- k(X), !, j(X, _).
rated(X, Y) :- j(Y, X), Y \\= X.
rated({1}, Y) :- (m(Y) ; j(Y, {1})).
pair(X, X) :- k(X).
pair(X, Y) :- (j(X, Z) -> Z = Y ; k(X) -> Y = {0} ; fixed(X, Y)).
pair(X, Y) :- \\+ rated(X, _), once(j(Y, X)), atomic(Y).
fixed({0}, {1}). fixed({1}, {1}).
"""
ASKED = (
    *("k(X)", "j(X, Y)", "j(Y, X)", "\\+ k(X)", "known(X)", "j(X, {1})", "j({0}, {1})", "path(X, Y)", "least(X, Y)"),
    *("near(X, Y)", "(k(X) ; m(Y))", "m(X), j(X, Y)", "j(X, Z), j(Z, Y)", "j(X, Y), k(Y)", "fixed(X, Y), k(Y)", "on"),
    *("findall(Z, j(X, Z), L), length(L, Y)", "(k(X) -> j(X, Y) ; fixed(X, Y))", "\\+ on, k(X)", "j(X, X)", "k({0})"),
    *("j(_, Y)", "k(X), X \\= Y", "j(X, Y), Y \\= {0}", "j(Y, Y)", "t2(Y), k(X)", "Z is Y + 1, k(X)", "m(Y)"),
    *("rated(X, Y)", "rated(Y, X)", "pair(X, Y)", "pair(Y, X)", "pair(Y, Z), rated(Z, X)", "\\+ pair(X, X)"),
    *("(rated(X, Y) ; Y = X)", "once(pair(Y, X))", "(k(X), \\+ m(X) -> rated(X, Y) ; Y = {1})", "pair(X, Y), Y > {0}"),
)
READING = (
    "d(X) <- a(X) {kind} ({goal}).",
    "d(X, Y) <- (a(X) seq b(Y)) {kind} ({goal}).",
    "d(X) <- k(X) {kind} ({goal}).",
    "d(X, Y) <- a(X) and b(Y) {kind} ({goal}).",
    "e(X) <- (a(X) {kind} ({goal})) seq b(_).",
    "d(X) <- a(X) {kind} (k(X), {goal}).",
    "e(X) <- a(X) seq (b(X) {kind} ({goal})).",
    "f(X) <- a(X) seq (not b(X) within 1) {kind} ({goal}).",
    "f(X) <- (a(Y) seq b(X)) cnot (a(X) {kind} ({goal})).",
    "g(N) <- aggregate(count, (a(X) {kind} ({goal})), N) within 2.",
    "exceptionAlarm(h(X), 1) <- a(X) {kind} ({goal}).",
    "e(X) <- m(X) {kind} ({goal}).",
    "d(X) <- off seq a(X) {kind} ({goal}).",
    "g(X, N) <- (aggregate(count, a(X), N) within 2) {kind} ({goal}).",
    "d(X) <- (a(X) seq? b(Y)) {kind} ({goal}).",
    "d(X) <- ((a(X) or b(X)) {kind} ({goal})) during a(Y).",
    "d(X, Y) <- (a(X) ntimes 2 {kind} ({goal})) seq b(Y).",
    "d(X) <- a(X) {kind} ({goal}). e(X) <- d(X) seq b(X).",
    "d(X) <- h(X) {kind} ({goal}). h(X) <- a(X) seq b(X).",
)
MAKING = (
    "k(X) <- a(X) seq b(X).",
    "m(X) <- b(X) seq a(_).",
    "k(X) <- a(X) where fixed(X, _).",
    "j(X, Y) <- a(X) seq b(Y).",
    "exceptionAlarm(k(X), 1) <- a(X).",
    "i(X, Y) <- j(X, Y) seq a(X).",
    "k(X) <- b(X) where known(X).",
    "k(X) <- on seq a(X).",
    "m(X) <- a(X) seq (not b(X) within 1).",
    "m(X) <- k(X) seq a(X).",
    "i(X, X) <- b(X) where k(X).",
)
QUERIES = ("k(X)", "j(X, Y)", "m(X)", "on")
KINDS = {**EVENTS, "on": 0, "off": 0}
VALUES: tuple[tuple[Value, ...], ...] = ((0, 1), (0, 1, 2), ("x", "y"), ("x", "null", "ü"), (real(0.0), real(1.5)))


@st.composite
def asking(draw: st.DrawFn, values: Sequence[Value]) -> s.Tree:
    """Programs that ask for facts in every condition, and some of whose rules make such facts."""
    rules = []
    for rule in draw(st.lists(st.sampled_from(READING), min_size=1, max_size=4, unique=True)):
        kind = draw(st.sampled_from(("where", "where", "check", "event_multiply")))
        goal = draw(st.sampled_from(ASKED))
        if "t2" in goal:
            kind = "check"
        rules.append(rule.replace("{kind}", kind).replace("{goal}", goal))
    rules += draw(st.lists(st.sampled_from(MAKING), max_size=2, unique=True))
    text = KNOWLEDGE + "\n".join(rules)
    for place in (0, 1):
        value = values[place]
        text = text.replace(f"{{{place}}}", value if isinstance(value, str) else repr(value))
    tree = parse(text)
    assume(is_sound(tree))
    return tree


@st.composite
def changing_streams(draw: st.DrawFn, values: Sequence[Value]) -> list[Event]:
    found = []
    for _ in range(draw(st.integers(1, 25))):
        name, end = draw(st.sampled_from((*KINDS, "a", "a", "b", "b", "k", "j"))), draw(st.integers(0, 5))
        args = tuple(draw(st.sampled_from(values)) for _ in range(KINDS.get(name, 1)))
        start = end - draw(st.sampled_from((0, 0, 0, 1)))
        found.append(Event.make(name, args, start * SECOND, end * SECOND))
    return sorted(found, key=lambda event: (event.end_time, event.start_time))


@by_day(2)
@given(st.sampled_from(VALUES), policies(), st.data())
def test_columns_give_the_meaning(values: Sequence[Value], policy: str, data: st.DataObject) -> None:
    tree, stream = data.draw(asking(values)), data.draw(changing_streams(values))
    check_meaning(tree, stream, policy, data)


@by_day(2)
@given(programs(RULES), streams(), policies(), st.data())
def test_rules_that_learn(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    check_meaning(tree, stream, policy, data)


@by_day(4)
@given(st.sampled_from(VALUES), policies(), st.data())
def test_batches_and_pushes_alternate(values: Sequence[Value], policy: str, data: st.DataObject) -> None:
    tree, stream = data.draw(asking(values)), data.draw(changing_streams(values))
    kind = "string" if isinstance(values[0], str) else "int" if isinstance(values[0], int) else "float"
    known = {(name, arity): (kind,) * arity for name, arity in {**KINDS, "a": 1, "b": 1}.items()}
    late = data.draw(st.sampled_from(({}, {}, {"out_of_order": "on", "ooo_window": 1})))
    engines = test_carry.check(print_program(tree), stream, policy, data, late, known)
    pushed, other = ([engine.query(goal) for goal in QUERIES] for engine in engines)
    assert pushed == other
