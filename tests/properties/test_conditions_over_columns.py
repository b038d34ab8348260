"""Random conditions over columns: what the engine gives and reports, whatever types the values have."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import event, given, note
from hypothesis import strategies as st

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.data.values import Value, real
from etalis.errors import ConditionError, EventError
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from helpers.examples import by_day
from properties.test_engine import meaning

pytestmark = pytest.mark.property

VALUES: tuple[tuple[Value, ...], ...] = (
    (0, 1, 2, -3),
    (1, 2, "null"),
    (real(0.0), real(1.0), 0.5, real(-2.0)),
    (real(1.0), 2.5, "null"),
    ("x", "y", "zz", "null"),
    (0, 1, real(1.0), "x", 0.5),
    ((1 << 62) + 1, 3, -(1 << 62), (1 << 53) + 1),
    (real(1e300), 0.1, real(-1e300)),
)
KNOWLEDGE = """
near(A, B) :- border(A, B). near(A, B) :- border(B, A).
border(x, y). border(zz, x). border(1, 2). border(2, 2). border(1.0, 0.5).
rate(x, 2, 0.5). rate(y, 1, 1.0). rate(1, 3, 2.0). rate(2, 0, 1.5). rate(x, 5, 0.25). rate(1.0, 1, null).
twice(X, Y) :- Y is X * 2.
grade(X, low) :- X < 1, !. grade(_, high).
some(X, Y) :- rate(X, Y, _). some(X, 7) :- border(X, _).
slot(X, Y) :- t2(T), Y is floor(T / 2) * X.
band(X, low) :- X < 1. band(X, mid) :- X >= 1, X < 2. band(X, Y) :- X >= 2, twice(X, Y). band(2, X) :- X = 1.
capped(X, Y) :- X > 1, !, Y = 1. capped(X, X).
"""
TERMS = ("X", "Y", "N", "1", "2", "0.5", "x", "null")
SUMS = (
    *("X", "Y", "N", "2", "0", "-1.5"), *("X + Y", "X - N", "Y * N", "X / Y", "N / 2", "X // N", "X mod 2", "Y rem N"),
    *("abs(X)", "- Y", "min(X, N)", "max(X, Y)", "sqrt(N)", "round(Y)", "floor(X / 2)", "float(N)", "X ** 2"),
    *("ceiling(Y / 3)", "floor(N / -2)", "floor(Y / 0)"),
    *("X ** N", "Y ^ 2", "2 ** X", "sin(Y)", "log(X)", "exp(N)", "atan2(X, Y)", "cos(Y) ** 0.5"),
)  # fmt: skip
SIGNS = ("<", ">", "=<", ">=", "=:=", "=\\=")
TESTS = (
    "near({0}, {1})", "\\+ near({0}, {1})", "border({0}, {1})", "\\+ border({0}, _)", "rate({0}, _, _)", "atom({0})",
    "number({0})", "({0} = {1} ; {0} \\= 1)", "({0} == {1} -> true ; border({0}, _))", "grade({0}, low)", "fail",
    "\\+ ({0} > {1})", "memberchk({0}, [1, x, {1}])", "not({0} = {1})", "true",
    "sparql('>'({0}, {1}))", "sparql('<='('*'({0}, 2), '-'({1}, 1.5)))", "sparql('='({0}, '+'({1}, 0.5)))",
    "sparql('!='({0}, {1}))", "sparql('!'('&&'(bound({0}), '<'({0}, {1}))))", "\\+ sparql('<'('+'({0}, {0}), {1}))",
)  # fmt: skip
BINDINGS = (
    "rate({0}, {1}, _)", "rate({0}, _, {1})", "rate({0}, {1}, W), W >= 0.5", "border({0}, {1})", "border({1}, {0})",
    "near({0}, {1})", "twice({0}, {1})", "{1} = {0}", "grade({0}, {1})", "some({0}, {1})", "member({1}, [{0}, 1, x])",
    "atom_length({0}, {1})", "({0} = 1, {1} = 2 ; {1} = {0})", "({0} == x -> {1} = 1 ; {1} = 2)", "rate(x, {1}, _)",
    "band({0}, {1})", "capped({0}, {1})",
    "findall(P, near({0}, P), {1})", "once(some({0}, {1}))", "rate({1}, {1}, _)", "\\+ near({0}, {1}), {1} = 0",
    "sparql('-'({0}, 1), {1})", "sparql('*'({0}, 1.0e200), {1})", "sparql('/'({0}, 2), {1})", "sparql(str({0}), {1})",
)  # fmt: skip
TIMES = (
    "t1({1})", "t2({1})", "t2(E), {1} is E * 2", "t1(S), t2(E), {1} is E - S", "t2(E), rate({0}, {1}, _), E > 1",
    "slot({0}, {1})",
)  # fmt: skip


@st.composite
def goals(draw: st.DrawFn, known: tuple[str, ...], *, timed: bool) -> str:
    """Draw conjuncts, some of which bind new variables for those behind."""
    names = list(known)
    parts = []
    for number in range(draw(st.sampled_from((1, 1, 2, 2, 3, 4)))):
        one, two = (draw(st.sampled_from((*names, *names, *TERMS[3:]))) for _ in range(2))
        sums = [draw(st.sampled_from(SUMS)) for _ in range(2)]
        for name in ("X", "Y", "N"):
            sums = [each.replace(name, draw(st.sampled_from(names))) for each in sums]
        form = draw(st.sampled_from(("order", "order", "equal", "test", "is", "bind", "bind")))
        fresh = f"V{number}"
        match form:
            case "order":
                parts.append(f"{sums[0]} {draw(st.sampled_from(SIGNS))} {sums[1]}")
            case "equal":
                parts.append(f"{one} {draw(st.sampled_from(('=', '==', chr(92) + '=', chr(92) + '==')))} {two}")
            case "test":
                parts.append(draw(st.sampled_from(TESTS)).format(one, two))
            case "is":
                target = draw(st.sampled_from((fresh, fresh, one)))
                parts.append(f"{target} is {sums[0]}")
                names += [fresh] if target == fresh else []
            case _:
                parts.append(draw(st.sampled_from(BINDINGS + (TIMES * 3 if timed else ()))).format(one, fresh))
                names.append(fresh)
    parts.append(f"R = {draw(st.sampled_from(names))}")
    return ", ".join(parts)


PATTERNS = (
    "d(X, Y, R) <- a(X, Y, N) {kind} ({goal}).",
    "d(X, Y, R) <- (a(X, Y, N) seq b(Z)) {kind} ({goal}).",
    "d(X, Y, R) <- (a(X, Y, N) seq a(_, Z, N)) {kind} ({goal}).",
    "e(X, R) <- a(X, Y, N) {kind} ({goal}). d(X, Y, R) <- (e(X, R) seq b(Y)) where R \\= Y.",
    "e(X, R) <- a(X, Y, N) {kind} ({goal}). d(R, C, 0) <- aggregate(count, e(_, R), C).",
)


@by_day(6)
@given(st.data(), st.sampled_from(PATTERNS), st.sampled_from(sorted(POLICIES)))
def test_random_conditions(data: st.DataObject, pattern: str, policy: str) -> None:
    kind = data.draw(st.sampled_from(("where", "where", "where", "check", "event_multiply")))
    known = ("X", "Y", "N", "Z") if "Z" in pattern else ("X", "Y", "N")
    text = KNOWLEDGE + pattern.format(kind=kind, goal=data.draw(goals(known, timed=kind == "check")))
    columns = [st.sampled_from(data.draw(st.sampled_from(VALUES))) for _ in range(4)]
    rows = data.draw(
        st.lists(st.tuples(st.sampled_from((True, True, False)), *columns, st.integers(0, 2)), min_size=4, max_size=12)
    )
    unit = data.draw(st.sampled_from((10**6, 4 * 10**5)))
    stream, now = [], 0
    for is_a, x, y, n, z, step in rows:
        now += step * unit
        stream.append(Event.make("a" if is_a else "b", (x, y, n) if is_a else (z,), now, now))
    note(f"{policy}\n{text[len(KNOWLEDGE) :]}\n{stream}")
    errors: tuple[list[ConditionError], list[ConditionError]] = ([], [])
    program = etalis.compile(text)
    engine = program.engine(policy=policy, on_error=errors[0].append)
    expected = [each for e in stream for each in engine.push(e.name, *e.args, at=e.start)]
    expected += engine.close()
    types = find_types(stream)
    run = ColumnRun(program.compiled, types, policy=policy, on_error=errors[1].append)
    cut = data.draw(st.integers(0, len(stream)))
    try:
        found = [each for part in (stream[:cut], stream[cut:]) for each in run.process(gather(part, types))]
        found += run.close()
    except EventError:
        assert any(isinstance(x, int) and not -(1 << 63) <= x < 1 << 63 for e in expected for x in e.args)
        return
    event("event at a time" if run.at_a_time else "over columns")
    assert found == expected if not run.is_mixed else Counter(found) == Counter(expected)
    pushed, told = (Counter(map(str, each)) for each in errors)
    if "seq" in pattern and POLICIES[policy].select in ("earliest", "latest"):
        assert pushed <= told  # an engine looks at no further candidates where one is enough
    else:
        assert pushed == told
    if not expected and not errors[0]:
        event("nothing")
    meant = meaning(text, stream, policy)
    assert meant is None or meant == expected
