"""The graph of a window: a set of triples, found by whichever of their parts are known.

An index is made for each combination of known parts when it is first asked for. A graph never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from etalis.data.values import Value

GraphTriple: TypeAlias = tuple[Value, Value, Value]
GraphIndex: TypeAlias = dict[tuple[Value, ...], list[GraphTriple]]


class WindowGraph:
    """Triples, each once, in the order in which they were given."""

    __slots__ = ("_indexes", "_triples")

    def __init__(self, triples: Iterable[GraphTriple]) -> None:
        self._triples = list(dict.fromkeys(triples))
        self._indexes: dict[tuple[int, ...], GraphIndex] = {}

    def find(self, parts: Sequence[Value | None]) -> Sequence[GraphTriple]:
        """Return the triples with these parts; None is any.

        >>> graph = WindowGraph([("a", "p", 1), ("a", "q", 2), ("a", "p", 1)])
        >>> graph.find(("a", None, None)), graph.find((None, "q", None))
        ([('a', 'p', 1), ('a', 'q', 2)], [('a', 'q', 2)])
        """
        places = tuple(place for place, part in enumerate(parts) if part is not None)
        if not places:
            return self._triples
        if places not in self._indexes:
            index: GraphIndex = {}
            for triple in self._triples:
                index.setdefault(tuple(triple[place] for place in places), []).append(triple)
            self._indexes[places] = index
        return self._indexes[places].get(tuple(parts[place] for place in places), ())
