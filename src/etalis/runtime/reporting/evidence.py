"""Evidence of a run: which parts of rules have ever matched, and which events came that no rule reads.

Generated code sets a mark where a part hands a match on, which is all that it pays; whoever asks puts the marks
together (`report`). Parts are known by the keys of their entries, so that marks outlive a new compilation; over columns
a part is known by its node.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from typing import Any

from etalis.logic.rdf.exact_terms import decode
from etalis.plan import algebra as p
from etalis.temporal.event import Shown

Kind = tuple[str, int]


class Mark:
    """Whether something has happened since the run began: None if not, else True or a key that it had."""

    __slots__ = ("seen",)

    def __init__(self) -> None:
        self.seen: Any = None


_MOST_UNSETTLED = 16
_FRESH = sys.getsizeof({})


def has_held(store: dict[Any, Any]) -> bool:
    """Tell whether a store holds something or ever did: a dictionary keeps its room when its last key goes.

    >>> store = {"c7": 1}
    >>> del store["c7"]
    >>> has_held(store), has_held({})
    (True, False)
    """
    return bool(store) or sys.getsizeof(store) > _FRESH


class Evidence:
    """The marks of one engine, with those of its replays; unless these have stores of their own, stores are marks."""

    def __init__(self, *, by_stores: bool = True) -> None:
        self.by_stores = by_stores
        self._parts: dict[Hashable, Mark] = {}
        self._kinds: dict[Kind, Mark] = {}
        self._unsettled: list[Callable[[], None]] = []  # what sets marks that are due, before anybody looks at them
        self.shown = Shown(term=decode)
        self.nodes: set[p.Node] = set()  # that have matched over columns
        self.types: dict[Kind, tuple[str, ...]] = {}  # of attributes that came in columns
        # how many events came that no rule reads, by their number of attributes (None where rows do not tell) and name
        self.unread_names: defaultdict[int | None, Counter[str]] = defaultdict(Counter)

    @property
    def unread(self) -> Counter[tuple[str, int | None]]:
        """How many events of each kind came that no rule reads."""
        return Counter({(name, arity): n for arity, names in self.unread_names.items() for name, n in names.items()})

    def settle(self) -> None:
        """Have all marks set that are due."""
        while self._unsettled:
            self._unsettled.pop()()

    def settle_later(self, do: Callable[[], None]) -> None:
        """Keep what sets marks until somebody looks at them; few are kept, since they keep rules that may be gone."""
        if len(self._unsettled) >= _MOST_UNSETTLED:
            self.settle()
        self._unsettled.append(do)

    def part(self, key: Hashable) -> Mark:
        """Return the mark of a part that is known by a key."""
        return self._parts.setdefault(key, Mark())

    def mark_together(self, key: Hashable, other: Hashable) -> bool:
        """Let two parts that match together have one mark, if neither has matched yet; tell whether they have."""
        self.settle()
        mark = self.part(other)
        if mark.seen is None and self.part(key).seen is None:
            self._parts[key] = mark
        return self.part(key) is mark

    def kind(self, kind: Kind) -> Mark:
        """Return the mark of a kind of event: set when one came."""
        return self._kinds.setdefault(kind, Mark())

    def has_matched(self, key: Hashable, node: p.Node) -> bool:
        """Tell whether a part has ever matched, event at a time or over columns."""
        self.settle()
        mark = self._parts.get(key)
        return (mark is not None and mark.seen is not None) or node in self.nodes

    def has_come(self, kind: Kind) -> bool:
        """Tell whether an event of a kind that patterns restrict has come."""
        return kind in self._kinds and self._kinds[kind].seen is not None
