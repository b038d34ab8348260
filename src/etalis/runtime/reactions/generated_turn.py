"""The turn of a reaction as one generated function: condition and first path, the facts kept at once.

It is for actions without effects, of programs without `always`. Where a step has no first choice, or an error comes up,
the changes so far are taken back and the turn is done in general (`transaction`). Law: it does what that would do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from etalis.errors import EtalisError
from etalis.language import syntax as s
from etalis.language.traversal import action_variables, variables
from etalis.plan import algebra as p
from etalis.runtime.codegen.conditions import Conditions
from etalis.runtime.codegen.source import Code
from etalis.runtime.reactions.first_path import Actions, Names, PathWriter, UnwrittenError
from etalis.runtime.reactions.transaction import ReactionTurn
from etalis.runtime.state import Raw


def write_turn(
    turn: ReactionTurn, reaction: s.Reaction, conditions: Conditions, actions: Actions, most: int
) -> tuple[Code, Callable[[Raw], None]] | None:
    """Return the turn of a reaction as a function, with its text; None where it can only be done in general."""
    code = Code(["raw"])
    asked = _asked(reaction)
    known: Names = {}
    for place in turn.given:
        name = turn.names[place]
        if name not in asked:
            continue
        known[name] = code.fresh("v")
        code(f"{known[name]} = raw[{3 + place}]")
    way_out = f"return {code.constant(turn.act)}(raw)"
    top = len(code.lines)
    writer = _writer(turn, conditions, actions, most)
    writer.from_events = frozenset(known.values())
    writer.at_once = isinstance(reaction.action, s.FactChange) and reaction.otherwise is None
    with code.block("try:"):
        try:
            _write_choice(code, writer, reaction, known, way_out)
        except UnwrittenError:
            return None
    with code.block(f"except {code.constant(EtalisError)}:"):
        code(way_out)
    if not writer.at_once or writer.deletes:
        _write_end(code, turn, writer)
    if writer.raises:
        code.insert(top, "asked = []")
        with code.block("if asked:"):
            code(f"{code.constant(turn.context.ask)}(asked)")
    return code, code.function()


def _asked(reaction: s.Reaction) -> frozenset[str]:
    """Return the variables whose values a turn asks for."""
    actions = [reaction.action, *([reaction.otherwise] if reaction.otherwise is not None else [])]
    found = {variable.name for action in actions for variable in action_variables(action)}
    if reaction.condition is not None:
        found |= {variable.name for variable in variables(reaction.condition)}
    return frozenset(found)


def _writer(turn: ReactionTurn, conditions: Conditions, actions: Actions, most: int) -> PathWriter:
    cause = "raw" if turn.has_rope else "None"

    def ask(code: Code, event: Sequence[str], delay: str | None) -> None:
        occurrence = turn.context.occurrence if len(event) == 1 else turn.context.named_occurrence
        code(f"asked.append({code.constant(occurrence)}({', '.join(event)}, {delay}, raw[0], {cause}))")

    return PathWriter(conditions, turn.context.facts, actions, ask, most)


def _write_choice(code: Code, writer: PathWriter, reaction: s.Reaction, known: Names, way_out: str) -> None:
    """Write the condition, and the action or what is done otherwise."""
    if reaction.condition is None:
        writer.write(code, reaction.action, known, way_out)
        return
    row, found = writer.solution(code, reaction.condition, known)
    if found:
        code(f"if {row} is not None and None in {row}: {way_out}")
    with code.block(f"if {row} is not None:"):
        writer.write(code, reaction.action, {**known, **found}, way_out)
    with code.block("else:"):
        if reaction.otherwise is None:
            code("return")
        else:
            writer.write(code, reaction.otherwise, known, way_out)


def _write_end(code: Code, turn: ReactionTurn, writer: PathWriter) -> None:
    """Write that the facts stay."""
    facts = turn.context.facts
    if facts is None:
        return
    if not writer.deletes:
        code(f"{code.constant(facts.trail)}.clear()")
        return
    with code.block(f"if {code.constant(facts.crowded)}:"):
        code(f"{code.constant(facts.commit)}()")
    with code.block("else:"):
        code(f"{code.constant(facts.trail)}.clear()")


def condition_of(
    goal: s.Term, names: Sequence[str], conditions: Conditions
) -> tuple[tuple[str, ...], Callable[..., tuple[object, ...] | None]]:  # fmt: skip
    """Return the variables that a condition binds, and the function of its first solution."""
    mentioned = dict.fromkeys(v.name for v in variables(goal))
    inputs = tuple(name for name in names if name in mentioned)
    outputs = tuple(name for name in mentioned if name not in names and not name.startswith("_#"))
    solve = conditions.solving(p.GoalTest("where", goal, inputs, outputs), outputs, is_firm=True)
    places = [list(names).index(name) for name in inputs]
    return outputs, lambda *values: solve(*[values[place] for place in places])
