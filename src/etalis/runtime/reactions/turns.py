"""The reactions of an engine, made ready: their conditions, their actions, and what they share."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from etalis.language import syntax as s
from etalis.language.reaction_variables import named_variables
from etalis.language.reactive.reached import action_clauses, has_effects
from etalis.language.rules import declarations
from etalis.language.traversal import action_variables
from etalis.reactive.effects.transaction import Branch
from etalis.reactive.search import Search
from etalis.runtime.reactions.generated_turn import condition_of, write_turn
from etalis.runtime.reactions.reactor import Reactor
from etalis.runtime.reactions.transaction import PreparedBranch, ReactionTurn, Surroundings

if TYPE_CHECKING:
    from etalis.runtime.codegen.network import PlannedRule
    from etalis.runtime.core import Core


def make_reactor(core: Core) -> Reactor | None:
    """Return the reactions of an engine; None if its program has none."""
    program, rules = core.program, core.rules
    if not program.reactions:
        return None
    planned = [rule for rule, _ in rules.rules if rule.head.hidden]
    workshop = TurnMaker(core)
    turns = {
        rule.number: workshop.make(rule, reaction, place)
        for place, (rule, reaction) in enumerate(zip(planned, program.reactions, strict=True))
    }
    for rule in planned:
        rules.heads.kind(rule).react = turns[rule.number].take
    return Reactor(core.state, turns, program.settings.max_reactions)


class TurnMaker:
    """Makes the turns of one engine's reactions."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.actions = action_clauses(core.program.tree)
        self.search = Search.of(core.program.tree, core.rules.solver)
        self.numbers: Counter[str | None] = Counter()
        settings = core.program.settings
        self.most = min(
            settings.max_path, settings.max_tries // 2
        )  # steps that are tried: a path's, and some of others
        self.always = any(isinstance(item, s.Always) for item in core.program.tree.items)
        self.around = Surroundings(
            core.program.name, core.state, core.rules.solver.database.state, core.sink, core.ledger, core.rules.later,
            {name: item for (name, _), item in declarations(core.program.tree).items()}, core.fail,
        )  # fmt: skip

    def make(self, rule: PlannedRule, reaction: s.Reaction, place: int) -> ReactionTurn:
        """Return the turn of one reaction."""
        conditions = self.core.rules.conditions
        attributes = rule.head.event.args[:-1]
        names = named_variables(reaction.pattern)
        given = tuple(i for i, a in enumerate(attributes) if isinstance(a, s.Var))
        known = tuple(names[i] for i in given)
        outputs: tuple[str, ...] = ()
        condition = None
        if reaction.condition is not None:
            outputs, condition = condition_of(reaction.condition, known, conditions)
        self.numbers[reaction.label] += 1
        turn = ReactionTurn(
            (place,), rule.head.label, self.numbers[reaction.label], names, given, self.around, condition,
            self._branch("do", reaction.action, (*known, *outputs)),
            None if reaction.otherwise is None else self._branch("else", reaction.otherwise, known),
            None if reaction.undo is None else self._branch("undo", reaction.undo, scope_of(reaction, known, outputs)),
            self.core.rules.traced,
        )  # fmt: skip
        if not (self.always or has_effects(reaction, self.actions)):
            written = write_turn(turn, reaction, conditions, self.actions, self.most)
            if written is not None:
                code, turn.take = written
                self.core.rules.sources.append((f"reaction {turn.label}", code.source(), code.objects))
        return turn

    def _branch(self, name: Branch, action: s.Action, inputs: tuple[str, ...]) -> PreparedBranch:
        return PreparedBranch(name, inputs, self.search.prepare(action, inputs))


def scope_of(reaction: s.Reaction, known: tuple[str, ...], outputs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the variables that what undoes a reaction is given: those of pattern, condition and action."""
    assert reaction.undo is not None
    scope = {*known, *outputs, *(v.name for v in action_variables(reaction.action))}
    return tuple(dict.fromkeys(v.name for v in action_variables(reaction.undo) if v.name in scope))
