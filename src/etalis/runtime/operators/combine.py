"""How the values of a match are put together from its parts: small functions made at compile time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from etalis.runtime.operators.base import Values
from etalis.runtime.operators.store import Once, Token, waits
from etalis.temporal.rope import Rope, follow


def picker(exports: Sequence[str], names: Sequence[str]) -> Callable[[Values], Values]:
    """Return the function that picks the values of some names."""
    places = [exports.index(v) for v in names]
    return lambda values: tuple(values[i] for i in places)


def sharer(
    left: Sequence[str], element: Sequence[str], shared: Sequence[str]
) -> Callable[[Values, Values], Values | None]:
    """Return the function that gives the values of the shared variables, or None where left and element differ."""
    places = [(left.index(v) if v in left else None, element.index(v)) for v in shared]

    def share(a: Values, b: Values) -> Values | None:
        found = []
        for i, j in places:
            x, y = (None if i is None else a[i]), b[j]
            if x is not None and y is not None and x != y:
                return None
            found.append(y if x is None else x)
        return tuple(found)

    return share


def repeater(left: Sequence[str]) -> Callable[[list[Values], Values], bool]:
    """Return the test whether an instance of the same origin with equal values is among some."""
    once = Once.among(left)
    if once is None:
        return lambda _others, _instance: False
    return lambda others, instance: waits(others, instance, once)


def parents(left: Sequence[str]) -> Callable[[Values], tuple[Token, ...]]:
    """Return the function that gives what else goes when a left side is consumed."""
    if "$token" not in left:
        return lambda _values: ()
    place = left.index("$token")
    return lambda values: () if values[place] is None else (values[place],)


def rope_of(exports: Sequence[str]) -> Callable[[Values], Rope] | None:
    """Return what tells what contributes to an instance; None where that is not kept."""
    return itemgetter(exports.index("$parts")) if "$parts" in exports else None


def waiting_rope(left: Sequence[str]) -> Callable[[Values, int], Rope]:
    """Return what tells what contributes to an instance that has waited for something that starts at a moment."""
    rope = left.index("$parts") if "$parts" in left else None
    token = left.index("$token") if "$token" in left else None
    if rope is None:
        return lambda _values, _before: None
    if token is None:
        return lambda values, _before: values[rope]
    return lambda values, before: follow(values[rope], values[token], before)


def combiner(exports: Sequence[str], left: Sequence[str], element: Sequence[str]) -> Callable[..., Values]:
    """Return how the exported values come from a left side, an element, the token and what was counted."""

    def combine(a: Any, b: Values, token: Any, last: int, taken: list[Values], rope: Rope) -> Values:
        found: list[Any] = []
        for name in exports:
            if name == "$token":
                found.append(token)
            elif name == "$first":
                found.append(a.values[left.index(name)] if name in left else a.end)
            elif name == "$last":
                found.append(last)
            elif name == "$parts":
                found.append(rope)
            elif name == "$ids":
                own = a.values[left.index(name)]
                found.append(own.union(*(x[element.index(name)] for x in taken)))
            else:
                mine = a.values[left.index(name)] if name in left else None
                found.append(b[element.index(name)] if mine is None and name in element else mine)
        return tuple(found)

    return combine
