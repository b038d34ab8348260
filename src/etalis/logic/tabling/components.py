"""Strongly connected components of a graph, without recursion (Tarjan's algorithm)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def number_components(after: Mapping[N, Iterable[N]]) -> dict[N, int]:
    """Give every node the number of its component; nodes on a common cycle have the same.

    >>> number_components({"a": ["b"], "b": ["a", "c"]})
    {'c': 0, 'b': 1, 'a': 1}
    """
    index: dict[N, int] = {}
    low: dict[N, int] = {}
    component: dict[N, int] = {}
    unplaced: list[N] = []
    path: list[tuple[N, Iterator[N]]] = []

    def enter(node: N) -> None:
        index[node] = low[node] = len(index)
        unplaced.append(node)
        path.append((node, iter(after.get(node, ()))))

    def leave(node: N) -> None:
        path.pop()
        if path:
            before = path[-1][0]
            low[before] = min(low[before], low[node])
        if low[node] == index[node]:
            number = len(component)
            while node not in component:
                component[unplaced.pop()] = number

    for root in after:
        if root not in index:
            enter(root)
        while path:
            node, rest = path[-1]
            step = next(rest, None)
            if step is None:
                leave(node)
            elif step not in index:
                enter(step)
            elif step not in component:
                low[node] = min(low[node], index[step])
    return component
