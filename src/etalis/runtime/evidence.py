"""What a run has shown: which parts of rules have ever matched, and which events came that no rule reads.

Generated code sets a mark where a part hands a match on, which is all that it pays; whoever asks puts the marks
together (`report`). Parts are known by the keys of their entries, so that marks outlive a new compilation; over columns
a part is known by its node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from etalis.plan import algebra as p

Kind = tuple[str, int]


class Mark:
    """Whether something has happened since the run began."""

    __slots__ = ("ever",)

    def __init__(self) -> None:
        self.ever = False


class Evidence:
    """The marks of one engine, with those of its replays."""

    def __init__(self) -> None:
        self._parts: dict[Hashable, Mark] = {}
        self._kinds: dict[Kind, Mark] = {}
        self.nodes: set[p.Node] = set()  # that have matched over columns
        self.unread: Counter[Kind] = Counter()

    def part(self, key: Hashable) -> Mark:
        """Return the mark of a part that is known by a key."""
        return self._parts.setdefault(key, Mark())

    def kind(self, kind: Kind) -> Mark:
        """Return the mark of a kind of event: set when one came."""
        return self._kinds.setdefault(kind, Mark())

    def has_matched(self, key: Hashable, node: p.Node) -> bool:
        """Tell whether a part has ever matched, event at a time or over columns."""
        mark = self._parts.get(key)
        return (mark is not None and mark.ever) or node in self.nodes

    def has_come(self, kind: Kind) -> bool:
        """Tell whether an event of a kind that patterns restrict has come."""
        return kind in self._kinds and self._kinds[kind].ever
