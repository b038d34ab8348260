"""What the writers of rounds and of branches ask of what offers events to rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from etalis.plan.keys import Kind
from etalis.runtime.codegen.compile import Compiler
from etalis.runtime.codegen.fast_path.inputs import MatchOutput
from etalis.runtime.codegen.network import PlannedRule, Wired
from etalis.runtime.codegen.source import Code
from etalis.runtime.ruleset import RuleSet


class Offering(Protocol):
    """Writes how events are offered to rules, for one rule set."""

    rules: RuleSet
    compiler: Compiler
    leaves: dict[Kind, list[Wired]]
    queue: Any
    passes_time: bool
    are_few: bool

    @property
    def ends_all(self) -> bool: ...

    def is_written(self, kind: Kind) -> bool: ...
    def offer(self, code: Code, kind: Kind, args: Sequence[str] | None = None, t1: str = "t") -> None: ...
    def hand_out(self, output: MatchOutput, rounds: list[str]) -> None: ...
    def heads_of(self, leaves: list[Wired]) -> list[PlannedRule]: ...
    def follows(self, rule: PlannedRule) -> bool: ...
    def gathers(self, kind: Kind) -> bool: ...
