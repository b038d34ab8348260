"""The reactions of an engine, made ready: their conditions, their actions, and what they share."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from etalis.errors import EtalisError, Problem, ProgramError
from etalis.language import syntax as s
from etalis.language.flags import priority_of
from etalis.language.lower import to_logic
from etalis.language.printer import print_term
from etalis.language.reaction_variables import named_variables
from etalis.language.rules import action_clauses, always, declarations
from etalis.language.traversal import action_variables
from etalis.reactive.effects.transaction import Branch
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
    planned = [pair for pair in rules.rules if pair[0].head.hidden]
    maker = TurnMaker(core)
    turns = {
        rule.number: maker.make(rule, reaction, (-priority_of(written), place))
        for place, ((rule, written), reaction) in enumerate(zip(planned, program.reactions, strict=True))
    }
    for rule, _ in planned:
        rules.heads.kind(rule).react = turns[rule.number].take
    return Reactor(core.state, turns, program.settings.max_reactions)


class TurnMaker:
    """Makes the turns of one engine's reactions."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.actions = action_clauses(core.program.tree)
        self.numbers: Counter[str | None] = Counter()
        settings = core.program.settings
        self.most = min(
            settings.max_path, settings.max_tries // 2
        )  # steps that are tried: a path's, and some of others
        self.always = always(core.program.tree)
        self.around = Surroundings(
            core.program.name, core.state, core.rules.solver.database.state, core.sink, core.ledger, core.rules.later,
            {name: item for (name, _), item in declarations(core.program.tree).items()}, core.fail,
        )  # fmt: skip

    def make(self, rule: PlannedRule, reaction: s.Reaction, place: tuple[int, ...]) -> ReactionTurn:
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
            place, rule.head.label, self.numbers[reaction.label], names, given, self.around, condition,
            self._branch("do", reaction.action, (*known, *outputs)),
            None if reaction.otherwise is None else self._branch("else", reaction.otherwise, known),
            None if reaction.undo is None else self._branch("undo", reaction.undo, scope_of(reaction, known, outputs)),
            self.core.rules.traced,
        )  # fmt: skip
        if not (self.always or rule.number in self.core.rules.heads.numbered):
            written = write_turn(turn, reaction, conditions, self.actions, self.most)
            if written is not None:
                code, turn.take = written
                self.core.rules.turns.append((f"reaction {turn.label}", code.source(), code.objects))
                self.core.rules.sources += self.core.rules.turns[-1:]
        return turn

    def _branch(self, name: Branch, action: s.Action, inputs: tuple[str, ...]) -> PreparedBranch:
        return PreparedBranch(name, inputs, self.core.search.prepare(action, inputs))


def refuse_illegal(core: Core) -> None:
    """Refuse a state that is not legal, of the text or of a snapshot."""
    solver, problems = core.rules.solver, []
    for item in always(core.program.tree):
        text = f"what is known at first is no legal state: always {print_term(item.goal)}"
        try:
            holds = next(solver.solve(to_logic(item.goal)), None) is not None
        except EtalisError as error:
            holds, text = False, f"{text} raised {error.problems[0].message}"
        if not holds:
            problems.append(Problem("E516", text, item.span, "change the facts, or what the program demands of them"))
    if problems:
        raise ProgramError(*problems)


def scope_of(reaction: s.Reaction, known: tuple[str, ...], outputs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the variables that what undoes a reaction is given: those of pattern, condition and action."""
    assert reaction.undo is not None
    scope = {*known, *outputs, *(v.name for v in action_variables(reaction.action))}
    return tuple(dict.fromkeys(v.name for v in action_variables(reaction.undo) if v.name in scope))
