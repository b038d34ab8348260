"""Functions of the host in conditions: what they return is what counts, and each is called once for a match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import etalis
from etalis.data.values import Struct

Results = list[tuple[Any, ...]]


def run(condition: str, function: Callable[..., Any], *values: Any) -> tuple[Results, list[str], Results]:
    """Return the matches, the errors, and what the function was called with."""
    called: Results = []

    def noted(x: Any) -> Any:
        called.append((x,))
        return function(x)

    text = f"""
        r(X, Y) <- e(X) {condition}.
        known(1, a). known(2, b). known(2, c). known(f(1), d).
        twice(X, Y) :- f(X, Z), f(Z, Y).
        """
    engine = etalis.compile(text, register={"f": noted}).engine(policy="unrestricted")
    found = [match.args for at, value in enumerate(values) for match in engine.push("e", value, at=at)]
    return found, [str(error.problems[0].message) for error in engine.errors], called


def shout(x: Any) -> str:
    return f"{x}!"


def refuse(x: Any) -> Any:
    if x == 2:
        raise ValueError("not two")
    return x


def several(x: int) -> Iterator[int]:
    yield x
    yield x + 1


CASES = [
    ("where f(X, Y)", shout, [(1, "1!"), ("a", "a!")], (1, "a")),
    ("where f(X, Y)", lambda x: x / 2, [(1, 0.5), (2, 1.0)], (1, 2)),
    ("where f(X, Y)", lambda x: x if x > 1 else None, [(2, 2)], (1, 2)),
    ("where f(X, Y)", lambda x: (x, "b"), [(1, (1, "b"))], (1,)),
    ("where f(X, Y)", several, [(1, 1)], (1,)),
    ("event_multiply f(X, Y)", several, [(1, 1), (1, 2)], (1,)),
    ("where (f(X), Y = 1)", lambda x: x > 1, [(2, 1)], (1, 2)),
    ("where (f(X), Y = 1)", lambda _: None, [(1, 1)], (1,)),
    ("where (\\+ f(X), Y = 1)", lambda x: x > 1, [(1, 1)], (1, 2)),
    ("where (f(X, Z), known(Z, Y))", lambda x: x, [(1, "a"), (2, "b")], (1, 2, 3)),
    ("event_multiply (f(X, Z), known(Z, Y))", lambda x: x, [(1, "a"), (2, "b"), (2, "c")], (1, 2, 3)),
    ("event_multiply (known(X, Y), f(Y))", lambda y: y > "b", [(2, "c")], (1, 2, 3)),
    ("where (f(X, Z), known(Z, Y))", lambda x: Struct("f", (x,)), [(1, "d")], (1,)),
    ("where (f(X, 2), Y = 1)", lambda x: x + 1, [(1, 1)], (1, 2)),
    ("where (f(X, Z) -> Y = Z ; Y = none)", lambda x: x if x > 1 else None, [(1, "none"), (2, 2)], (1, 2)),
    ("where twice(X, Y)", shout, [(1, "1!!")], (1,)),
    ("where (f(X, Z), Y is Z + 1)", lambda x: x, [(1, 2)], (1,)),
]


@pytest.mark.parametrize(("condition", "function", "found", "values"), CASES)
def test_matches(condition: str, function: Callable[..., Any], found: Results, values: tuple[Any, ...]) -> None:
    assert run(condition, function, *values)[:2] == (found, [])


@pytest.mark.parametrize(
    ("condition", "function", "values", "error"),
    [
        ("where f(X, Y)", refuse, (1, 2), "raised f/2 raised ValueError: not two (X = 2)"),
        ("where f(X)", lambda _: "yes", (1,), "f/1 returned 'yes', where True, False or tuples of 1 is needed (X = 1)"),
        ("where (f(X, Z), Y is Z + 1)", shout, (1,), "is not a number and cannot be computed with (X = 1)"),
        ("where f(X, Y)", lambda _: float("nan"), (1,), "f/2 gave a wrong value"),
    ],
)
def test_errors(condition: str, function: Callable[..., Any], values: tuple[Any, ...], error: str) -> None:
    _, errors, called = run(condition.replace("f(X)", "(f(X), Y = 1)"), function, *values)
    assert len(errors) == 1
    assert error in errors[0]
    assert called == [(value,) for value in values]


@pytest.mark.parametrize(("condition", "function", "found", "values"), CASES)
def test_each_call_is_made_once(
    condition: str, function: Callable[..., Any], found: Results, values: tuple[Any, ...]
) -> None:
    """As by the solver, which is asked for all of a goal with `catch/3`."""
    _, _, called = run(condition, function, *values)
    behind = (
        condition.replace("where ", "where (").replace("event_multiply ", "event_multiply (")
        + ", catch(true, _, true))"
    )
    matches, _, by_solver = run(behind, function, *values)
    assert matches == found
    assert called == by_solver
