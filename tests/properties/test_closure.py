"""Closures in conditions are those of a search by hand, while links come and go, however the closure is written."""

from __future__ import annotations

from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import etalis
from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from etalis.temporal.interval import MICROSECONDS
from helpers.examples import by_day

pytestmark = pytest.mark.property

Step = tuple[str, int, int]
CLOSURES = {
    "right": "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z).",
    "left": "path(X, Z) :- path(X, Y), edge(Y, Z). path(X, Y) :- edge(X, Y).",
    "double": "path(X, Z) :- path(X, Y), path(Y, Z). path(X, Y) :- edge(X, Y).",
}
ASKED = """
    :- knowledge edge/2 - gone/2.
    yes(X, Y) <- ask(X, Y) where path(X, Y).
    no(X, Y) <- ask(X, Y) where \\+ path(X, Y).
    back(X, Y) <- ask(X, Y) where (X < Y, path(Y, X), \\+ edge(Y, X)).
    next(X, Y) <- ask(X, Y) where edge(X, Y).
    """
OPEN = "to(X, Z) <- ask(X, _) event_multiply path(X, Z). from(Z, Y) <- ask(_, Y) event_multiply path(Z, Y)."
NODES = st.integers(0, 4)
STEPS = st.lists(st.tuples(st.sampled_from(("edge", "edge", "gone", "ask", "ask")), NODES, NODES), max_size=25)


def reached(links: set[tuple[int, int]], start: int) -> set[int]:
    seen: set[int] = set()
    front = {start}
    while front:
        front = {b for a, b in links if a in front} - seen
        seen |= front
    return seen


def answers(steps: list[Step], *, tabled: bool) -> list[tuple[object, ...]]:
    """What the rules must say, by hand."""
    links: set[tuple[int, int]] = set()
    found: list[tuple[object, ...]] = []
    for at, (kind, x, y) in enumerate(steps):
        match kind:
            case "edge":
                links.add((x, y))
            case "gone":
                links.discard((x, y))
            case _:
                found.append(("yes" if y in reached(links, x) else "no", x, y, at))
                if x < y and x in reached(links, y) and (y, x) not in links:
                    found.append(("back", x, y, at))
                if (x, y) in links:
                    found.append(("next", x, y, at))
                if tabled:
                    found.extend(("to", x, z, at) for z in reached(links, x))
                    found.extend(("from", z, y, at) for z in range(5) if y in reached(links, z))
    return sorted(found, key=str)


@lru_cache
def text(kind: str, *, tabled: bool) -> str:
    return CLOSURES[kind] + ASKED + (":- table path/2. " + OPEN if tabled else "")


@lru_cache
def compiled(kind: str, *, tabled: bool) -> etalis.Program:
    return etalis.compile(text(kind, tabled=tabled))


def told(events: list[Event]) -> list[tuple[object, ...]]:
    return sorted(((e.name, *e.args, e.end) for e in events), key=str)


@by_day(2)
@given(st.sampled_from(sorted(CLOSURES)), st.booleans(), STEPS)
def test_closures_are_those_of_a_search(kind: str, tabled: bool, steps: list[Step]) -> None:
    wanted = answers(steps, tabled=tabled)
    engine = compiled(kind, tabled=tabled).engine(policy="unrestricted")
    assert told(list(engine.run((*step, at) for at, step in enumerate(steps)))) == wanted
    stream = [Event.make(name, (x, y), at * MICROSECONDS, at * MICROSECONDS) for at, (name, x, y) in enumerate(steps)]
    assert told(semantics.run(parse(text(kind, tabled=tabled)), stream, policy="unrestricted")) == wanted
    assert not engine.errors


REACHED = """
    :- knowledge road/2 - closed/2, rail/2 - ended/2.
    reach(X, Y) :- road(X, Y).
    reach(X, Y) :- rail(X, Y).
    reach(X, Z) :- road(X, Y), reach(Y, Z).
    reach(X, Z) :- rail(X, Y), reach(Y, Z).
    below(X, Y) :- road(Y, X).
    below(X, Z) :- road(Y, X), below(Y, Z).
    to(X, Z) <- ask(X, _) event_multiply reach(X, Z).
    up(Y, Z) <- ask(_, Y) event_multiply below(Y, Z).
    met(X, Y) <- ask(X, Y) where reach(X, Y).
    """
TRAVELS = st.lists(
    st.tuples(st.sampled_from(("road", "rail", "road", "rail", "closed", "ended", "ask")), NODES, NODES), max_size=30
)


@lru_cache
def reaching() -> etalis.Program:
    return etalis.compile(REACHED)


@by_day(2)
@given(TRAVELS)
def test_hierarchies_that_change_are_those_of_a_search(steps: list[Step]) -> None:
    links: dict[str, set[tuple[int, int]]] = {"road": set(), "rail": set()}
    wanted: list[tuple[object, ...]] = []
    steps = [(kind, x, y if kind == "ask" or y > x else x + 1 + y) for kind, x, y in steps]  # no cycles
    for at, (kind, x, y) in enumerate(steps):
        match kind:
            case "road" | "rail":
                links[kind].add((x, y))
            case "closed" | "ended":
                links["road" if kind == "closed" else "rail"].discard((x, y))
            case _:
                both = links["road"] | links["rail"]
                wanted.extend(("to", x, z, at) for z in reached(both, x))
                wanted.extend(("up", y, z, at) for z in reached({(b, a) for a, b in links["road"]}, y))
                wanted.extend(("met", x, y, at) for z in reached(both, x) if z == y)
    engine = reaching().engine(policy="unrestricted")
    assert told(list(engine.run((*step, at) for at, step in enumerate(steps)))) == sorted(wanted, key=str)
    assert not engine.errors
