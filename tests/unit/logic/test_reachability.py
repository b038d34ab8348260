"""Reachability stays right while links come and go, whatever was asked before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.logic.tabling.reachability import Reachability

Link = tuple[int, int]
NODES = st.integers(0, 7)
LINKS = st.lists(st.tuples(NODES, NODES), max_size=14)
STEPS = st.lists(st.tuples(st.sampled_from(("add", "remove", "ask", "ask")), NODES, NODES), max_size=40)


def reached(links: list[Link], start: int) -> set[int]:
    seen: set[int] = set()
    front = {start}
    while front:
        front = {b for a, b in links if a in front} - seen
        seen |= front
    return seen


@pytest.mark.property
@given(links=LINKS, chain=st.integers(0, 8), steps=STEPS, limit=st.sampled_from((120, 350, 10_000)))
def test_answers_are_those_of_a_search(
    links: list[Link], chain: int, steps: list[tuple[str, int, int]], limit: int
) -> None:
    links = [*links, *((i, i + 1) for i in range(chain))]
    graph = Reachability(limit=limit, spare=0)
    graph.fill(links)
    reaches = graph.asker()
    for what, a, b in steps:
        if what == "add":
            links.append((a, b))
            graph.add(a, b)
        elif what == "remove" and links:
            graph.remove(*links.pop((8 * a + b) % len(links)))
        assert reaches(a, b) == (b in reached(links, a))
    for a in range(9):
        assert [b for b in range(9) if reaches(a, b)] == sorted(reached(links, a))


def test_a_link_that_is_there_twice_goes_with_the_second() -> None:
    graph = Reachability()
    graph.fill([("a", "b"), ("a", "b"), ("b", "c")])
    reaches = graph.asker()
    assert reaches("a", "c")
    graph.remove("a", "b")
    assert reaches("a", "c")
    graph.remove("a", "b")
    assert not reaches("a", "c")


def test_a_long_chain_counts_for_what_is_asked_about_it() -> None:
    graph = Reachability()
    graph.fill((i, i + 1) for i in range(50_000))
    reaches = graph.asker()
    assert [reaches(0, 50_000), reaches(50_000, 0), reaches(20_000, 40_000)] == [True, False, True]
    assert graph.size < 1_000
    graph.add(50_000, 10)
    assert [reaches(40_000, 20_000), reaches(40_000, 9)] == [True, False]
    graph.remove(30_000, 30_001)
    assert [reaches(40_000, 20_000), reaches(20_000, 40_000), reaches(0, 30_000)] == [True, False, True]


def test_trees_are_bounded_together() -> None:
    links = [(i, (7 * i + j) % 100) for i in range(100) for j in range(3)]
    graph = Reachability(limit=1_000)
    graph.fill(links)
    reaches = graph.asker()
    for a in range(100):
        assert reaches(a, 50) == (50 in reached(links, a))
        assert graph.size <= 1_000


def test_an_end_that_many_starts_ask_for_is_searched_once() -> None:
    graph = Reachability()
    graph.fill((i, 5_000) for i in range(5_000))
    reaches = graph.asker()
    assert all(reaches(i, 5_000) for i in range(5_000))
    assert graph.size < 10_000


def test_nodes_that_are_not_there_leave_nothing_behind() -> None:
    graph = Reachability()
    graph.fill([(1, 2)])
    reaches = graph.asker()
    assert not any(reaches(i, i + 1) for i in range(10, 1_000))
    assert graph.size == 0
