"""What an action would do now: the path that would be taken, or how far it gets. Nothing is changed or made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from etalis.data.values import Value, format_value
from etalis.errors import ProgramError
from etalis.language import syntax as s
from etalis.language.check.checks import findings
from etalis.language.printer import print_action
from etalis.language.reactive.sagas import up_to_wait
from etalis.language.read.parser import parse_action
from etalis.logic.state.state_store import StateStore
from etalis.logic.terms.unify import Term
from etalis.logic.terms.write import format_term
from etalis.reactive.execution import Failed, Why, steps_of

if TYPE_CHECKING:
    from etalis.runtime.core import Core

_NAME = "<simulated>"


@dataclass(frozen=True, slots=True)
class Simulation:
    """A path, what it binds and the state behind it, true if it is one; else the longest attempt, and what failed.

    `facts` are those that actions change, in order: what the path leaves, or what there is.
    """

    action: str
    path: tuple[str, ...]
    bindings: Mapping[str, Value] = field(default_factory=dict)
    facts: tuple[Term, ...] = field(default=(), repr=False)
    failed: str | None = None
    why: Why | None = None

    @property
    def state(self) -> tuple[str, ...]:
        """The facts as text."""
        return tuple(map(format_term, self.facts))

    def __bool__(self) -> bool:
        return self.why is None

    def __str__(self) -> str:
        steps = [f"  {step}" for step in self.path]
        if self.why is None:
            named = ", ".join(f"{name} = {format_value(value)}" for name, value in self.bindings.items())
            lines = [f"{self.action}:", *(steps or ["  nothing to do"]), *([f"with {named}"] if named else [])]
        else:
            lines = [f"{self.action}: {self.why}, {self.failed}", *(["after"] if steps else []), *steps]
        return "\n".join(lines)


def simulate(core: Core, text: str) -> Simulation:
    """Execute an action, and take it back."""
    action = parse_action(text, _NAME)
    _refuse(core, action)
    facts = core.rules.solver.database.state
    found = core.search.prepare(up_to_wait(action, core.program.written), ())(())
    if isinstance(found, Failed):
        reached = steps_of(found.reached)
        return Simulation(print_action(action), reached, {}, _facts(facts), found.failed, found.why)
    after = _facts(facts)
    if facts is not None:
        facts.take_back(0)
    named = {name: value for name, value in found.bindings.items() if not name.startswith("_")}
    return Simulation(print_action(action), steps_of(found.labels), named, after)


def _facts(store: StateStore | None) -> tuple[Term, ...]:
    """Return the facts of a state in order."""
    known = () if store is None else store.facts()
    return tuple((name, *row) if row else name for (name, _), rows in known for row in rows)


def _refuse(core: Core, action: s.Action) -> None:
    """Refuse an action that the program could not have."""
    clause = s.ActionClause(s.Const(_NAME), action)
    known = frozenset((*core.program.knowledge.functions, *core.program.knowledge.facts))
    found = findings(s.Tree((*core.program.tree.items, clause)), known)
    errors = [p for p in found if p.is_error and p.span is not None and p.span.source.name == _NAME]
    if errors:
        raise ProgramError(*errors)
