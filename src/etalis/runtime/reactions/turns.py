"""The reactions of an engine, made ready: their conditions, their actions, and what they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from etalis.language import syntax as s
from etalis.language.flags import priority_of
from etalis.language.reaction_variables import named_variables
from etalis.language.reactive.sagas import begins_to_wait
from etalis.language.rules import action_clauses, always
from etalis.language.traversal import action_variables
from etalis.reactive.effects.transaction import Branch
from etalis.reactive.search import Search
from etalis.runtime.reactions.generated_turn import condition_of, write_turn
from etalis.runtime.reactions.reactor import Reactor
from etalis.runtime.reactions.transaction import PreparedBranch, ReactionTurn, TurnContext

if TYPE_CHECKING:
    from etalis.runtime.codegen.network import PlannedRule
    from etalis.runtime.ruleset import RuleSet


def make_reactor(rules: RuleSet, context: TurnContext, search: Callable[[], Search]) -> Reactor | None:
    """Return the reactions of an engine; None if its program has none."""
    program = rules.program
    if not program.reactions:
        return None
    planned = [pair for pair in rules.rules if pair[0].head.hidden]
    maker = TurnMaker(rules, context, search())
    turns = {
        rule.number: maker.make(rule, reaction, (-priority_of(written), place))
        for place, ((rule, written), reaction) in enumerate(zip(planned, program.reactions, strict=True))
    }
    for rule, _ in planned:
        rules.heads.kind(rule).react = turns[rule.number].take
    return Reactor(rules.state, turns, program.settings.max_reactions)


class TurnMaker:
    """Makes the turns of one engine's reactions."""

    def __init__(self, rules: RuleSet, context: TurnContext, search: Search) -> None:
        program = rules.program
        self.rules = rules
        self.context = context
        self.search = search
        self.actions = action_clauses(program.tree)
        self.numbers: Counter[str | None] = Counter()
        # a path tries its own steps, and some that lead nowhere
        self.most = min(program.settings.max_path, program.settings.max_tries // 2)
        self.demands = bool(always(program.tree))

    def make(self, rule: PlannedRule, reaction: s.Reaction, place: tuple[int, ...]) -> ReactionTurn:
        """Return the turn of one reaction."""
        conditions = self.rules.conditions
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
            place, rule.head.label, self.numbers[reaction.label], names, given, self.context, condition,
            self._branch("do", reaction.action, (*known, *outputs)),
            None if reaction.otherwise is None else self._branch("else", reaction.otherwise, known),
            None if reaction.undo is None else self._branch("undo", reaction.undo, scope_of(reaction, known, outputs)),
            self.rules.traced,
            reaction.part,
        )  # fmt: skip
        waits = reaction.part is not None or begins_to_wait(reaction)
        if not (waits or self.demands or rule.number in self.rules.heads.numbered):
            written = write_turn(turn, reaction, conditions, self.actions, self.most)
            if written is not None:
                code, turn.take = written
                self.rules.turns.append((f"reaction {turn.label}", code.source(), code.objects))
                self.rules.sources += self.rules.turns[-1:]
        return turn

    def _branch(self, name: Branch, action: s.Action, inputs: tuple[str, ...]) -> PreparedBranch:
        return PreparedBranch(name, inputs, self.search.prepare(action, inputs))


def scope_of(reaction: s.Reaction, known: tuple[str, ...], outputs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the variables that what undoes a reaction is given: those of pattern, condition and action."""
    assert reaction.undo is not None
    scope = {*known, *outputs, *(v.name for v in action_variables(reaction.action))}
    return tuple(dict.fromkeys(v.name for v in action_variables(reaction.undo) if v.name in scope))
