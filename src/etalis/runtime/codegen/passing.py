"""The tests that a match must pass, as generated code."""

from __future__ import annotations

from etalis.plan import algebra as p


class Passing:
    """A node's tests as written: expressions to be true, solutions to loop over, actions to run."""

    __slots__ = ("actions", "expressions", "loops")

    def __init__(
        self, expressions: list[str], loops: list[tuple[str, tuple[str, ...]]], actions: list[p.Action]
    ) -> None:
        self.expressions = expressions
        self.loops = loops
        self.actions = actions
