"""What conditions bind from facts and rules, over columns: what the engine gives, whatever the facts are made of."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import event, given, note
from hypothesis import strategies as st

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.data.values import Value, real
from etalis.engine import Engine
from etalis.errors import ConditionError, EventError
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from helpers.examples import by_day

pytestmark = pytest.mark.property

COLUMNS: tuple[tuple[Value, ...], ...] = (
    (0, 1, 2, 3),
    (0, 1, 2, "null"),
    (real(0.0), real(1.0), 0.5),
    ("x", "y", "null"),
    (0, 1, "x", real(1.0)),
    (1, 2, 1 << 63),
    ("null",),
)
RULES = """
r(X, Y) :- f(X, Z), g(Z, Y).
s(X, Y) :- f(X, Z), Y is Z + 1.
t(X, Y) :- f(X, Y).
t(_, Y) :- g(_, Y).
u(X, X).
u(X, Y) :- f(X, Z), g(Z, W), f(W, Y).
v(X, Y) :- f(X, Y) -> true ; Y = X.
w(X, _) :- f(X, _).
"""
GOALS = (
    *(f"{name}(X, Y)" for name in "fgrstuvw"),
    "f(X, Y), Y > N", "f(1, Y)", "g(Y, null), f(Y, X)", "f(X, Z), Z < 2, g(Z, Y), Y + N > 0",
    "f(X, Z), Y is Z * N", "f(X, Z), g(X, Y), Z =< N", "f(X, Y), Y \\= N", "f(X, Y), f(N, Z), Y = Z",
    "g(X, Z), Z >= N, Y is N - 1", "f(Y, X)", "member(Y, [1, X]), f(Y, _)", "(f(X, Y) ; g(X, Y))", "\\+ f(X, N), Y = N",
)  # fmt: skip
PATTERNS = (
    "d(X, Y) <- a(X, N) where ({0}).",
    "d(X, Y) <- a(X, N) event_multiply ({0}).",
    "d(X, Y) <- (a(X, N) where ({0})) seq b(Y).",
    "d(X, Y) <- a(X, N) seq b(_) where ({0}).",
    "e(X, Y) <- a(X, N) where ({0}). d(X, Y) <- e(X, Z) seq e(Z, Y).",
    "d(S, N) <- aggregate(sum(Y), (a(X, N) where ({0})), S) within 4.",
)


@by_day(2)
@given(st.data(), st.sampled_from(GOALS), st.sampled_from(PATTERNS), st.sampled_from(sorted(POLICIES)))
def test_conditions_over_facts(data: st.DataObject, goal: str, pattern: str, policy: str) -> None:
    program = etalis.compile(RULES + pattern.format(goal))
    for name in "fg":
        columns = [st.sampled_from(data.draw(st.sampled_from(COLUMNS))) for _ in range(2)]
        rows = data.draw(st.lists(st.tuples(*columns), min_size=1, max_size=6))
        note(f"{name} {rows}")
        program.load_facts(name, rows)
    values = st.sampled_from(data.draw(st.sampled_from(COLUMNS[:5])))
    drawn = data.draw(st.lists(st.tuples(values, st.sampled_from((0, 1, 2))), min_size=1, max_size=8))
    stream = [Event.make(*_occurrence(number, *values), number, number) for number, values in enumerate(drawn)]
    note(f"{policy}\n{pattern.format(goal)}\n{stream}")
    errors: tuple[list[ConditionError], list[ConditionError]] = ([], [])
    engine = program.engine(policy=policy, on_error=errors[0].append)
    expected = [each for e in stream for each in engine.push(e.name, *e.args, at=e.start)]
    expected += engine.close()
    types = find_types(stream)
    run = ColumnRun(program.compiled, types, policy=policy, on_error=errors[1].append)
    event("over columns" if not run.at_a_time else "event at a time")
    cut = data.draw(st.integers(0, len(stream)))
    try:
        found = [each for part in (stream[:cut], stream[cut:]) for each in run.process(gather(part, types))]
        found += run.close()
    except EventError:
        assert any(isinstance(x, int) and x >= 1 << 63 for e in expected for x in e.args) or _is_large(engine)
        return
    assert found == expected if not run.is_mixed else Counter(found) == Counter(expected)
    assert Counter(map(str, errors[0])) == Counter(map(str, errors[1]))


def _occurrence(number: int, value: Value, other: int) -> tuple[str, tuple[Value, ...]]:
    return ("b", (value,)) if number % 3 == 2 else ("a", (value, other))


def _is_large(engine: Engine) -> bool:
    """Tell whether facts have integers that columns do not."""
    return any(isinstance(x, int) and x >= 1 << 63 for row in engine.query("f(A, B) ; g(A, B)") for x in row.values())
