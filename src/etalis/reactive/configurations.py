"""What a search holds: configurations on the way, what their ends are looked for, and how far attempts got."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from etalis.logic.machine.machine import Machine
from etalis.logic.terms.unify import Term, Variable
from etalis.reactive.around import Around
from etalis.reactive.execution import Why

Steps: TypeAlias = tuple[Term, ...]  # labels, as terms
ScopeKind: TypeAlias = Literal["action", "iso", "possible", "impossible", "choose"]


class SearchAttempt:
    """How far an attempt got from a configuration: the labels of a step, and how far from where that leads."""

    __slots__ = ("after", "failed", "labels", "length", "serial", "why")

    def __init__(
        self, length: int, serial: int, labels: Steps, after: SearchAttempt | None, failed: Any = None,
        why: Why = "no execution",
    ) -> None:  # fmt: skip
        self.length = length
        self.serial = serial  # of two as long the earlier one counts
        self.labels = labels
        self.after = after
        self.failed = failed  # a leaf, or its text
        self.why: Why = why

    def is_before(self, other: SearchAttempt | None) -> bool:
        """Tell whether this is the attempt that counts."""
        if other is None or self.length != other.length:
            return other is None or self.length > other.length
        return self.serial < other.serial


class ActionScope:
    """An action whose ends are looked for, from a configuration that it is a part of."""

    __slots__ = ("answers", "around", "isolated", "kind", "known", "leaf", "outcomes", "outer", "owner", "state_mark")

    def __init__(
        self, kind: ScopeKind, outer: ActionScope | None, owner: ActionFrame | None, leaf: Term, around: Around
    ) -> None:
        self.kind: ScopeKind = kind
        self.outer = outer
        self.owner = owner
        self.leaf = leaf
        self.around = around
        self.isolated: bool = kind == "iso" or (outer is not None and outer.isolated)
        self.answers: tuple[Variable, ...] = ()  # ends with other values of these are other ends
        self.known: dict[Any, SearchAttempt | Literal["open"] | None] = {}
        self.outcomes: set[Any] = set()
        self.state_mark = 0


class ActionFrame:
    """A configuration on the way: what is left to be done, and which ways there still are."""

    __slots__ = (
        "agenda", "best", "depth", "key", "labels", "length", "machine", "parent", "rest", "resume_mark", "scope",
        "solved", "state_mark",
    )  # fmt: skip

    def __init__(
        self, rest: Term, scope: ActionScope, parent: ActionFrame | None, labels: Steps, length: int, depth: int,
        state_mark: int, trail_mark: int,
    ) -> None:  # fmt: skip
        self.rest = rest
        self.scope = scope
        self.parent = parent
        self.labels = labels  # of the step that led here
        self.length = length
        self.depth = depth  # how many steps led here from the beginning
        self.state_mark = state_mark
        self.resume_mark = trail_mark  # how many variables were bound before the step that was made last
        self.agenda: list[Any] = [(rest, None, 0)]
        self.machine: Machine | None = None  # of a test with more solutions
        self.solved: Around = None  # what is around that test
        self.best: SearchAttempt | None = None
        self.key: Any = None
