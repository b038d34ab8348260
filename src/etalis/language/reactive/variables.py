"""Variables of actions: each has a value before it is used, on every path.

Variables are shared by all of an action, and tests bind them. Of `par` either side may bind for the other, of `or` both
sides must. What a call needs and gives is found for each action by its clauses, up to the fixpoint: an argument that
its clauses use before they bind it must have a value when it is called. So what is reported has no value whatever runs;
what may have one is left to the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from etalis.errors import Problem
from etalis.language import syntax as s
from etalis.language.check import goals as g
from etalis.language.check.bound_variables import bindings
from etalis.language.check.goals import NOTHING, BoundVariables, Names
from etalis.language.check.outline import Outline
from etalis.language.check.spelling import nearest
from etalis.language.reaction_variables import given_variables, used_variables
from etalis.language.reactive.reach import called_action
from etalis.language.traversal import (
    action_parts,
    action_variables,
    names,
    pattern_variables,
    variables,
    walk_action,
)

Bound: TypeAlias = BoundVariables | None  # None: nothing ever follows
_ROUNDS = 20
_BIND = "bind it by the pattern, by `if`, or by a test before: p(X) seq ins(q(X))"


@dataclass(frozen=True, slots=True)
class Modes:
    """Of an action: the arguments that must have a value when it is called, and those that have one afterwards."""

    needs: frozenset[int] = frozenset()
    gives: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Missing:
    """A variable without a value: it may have one in some `alternatives`; `use` says what for."""

    variable: s.Var
    use: str
    alternatives: bool = False


@dataclass(slots=True)
class _Flow:
    """What actions bind, given the modes of those that they call."""

    outline: Outline
    modes: Mapping[g.Indicator, Modes]
    bound: dict[int, Bound] = field(default_factory=dict)

    def after(self, action: s.Action) -> Bound:
        """Return what an action binds."""
        for node in reversed(list(walk_action(action))):
            self.bound[id(node)] = self._combine(node)
        return self.bound[id(action)]

    def _combine(self, node: s.Action) -> Bound:
        parts = [self.bound[id(part)] for part in action_parts(node)]
        match node:
            case s.FactChange() | s.Raise() | s.Effect() | s.Skip():
                return NOTHING
            case s.Abort():
                return None
            case s.Perform(goal=goal):
                return self._performed(node, goal)
            case s.Composed(operator="or"):
                return _either(parts[0], parts[1])
            case s.Composed():
                return _also(parts[0], parts[1])
            case s.IsoAction() | s.SubjectTo():
                return parts[0]
            case s.Possibility(holds=holds):
                return parts[0] if holds else NOTHING
            case s.IfThenElse():
                return _either(_also(parts[0], parts[1]), parts[2])
            case s.Await(pattern=pattern):
                return bindings(pattern)[id(pattern)]
            case _:
                assert_never(node)

    def _performed(self, node: s.Perform, goal: s.Term) -> Bound:
        key = called_action(node, self.outline)
        if key is None:
            return None if g.indicator(goal) in (("fail", 0), ("false", 0)) else g.bound_by(goal)
        args = goal.args if isinstance(goal, s.Compound) else ()
        given = [arg for place, arg in enumerate(args) if place in self.modes[key].gives]
        return BoundVariables(names(variables(*given)), names(variables(*args)))

    def missing(self, action: s.Action, before: BoundVariables) -> Iterator[Missing]:
        """Yield the uses of variables without a value, where some have one before."""
        for node, known in self.steps(action, before):
            yield from self._uses(node, known)

    def steps(self, action: s.Action, before: BoundVariables) -> Iterator[tuple[s.Action, BoundVariables]]:
        """Yield the parts of an action, each with what is bound before it, where some variables have a value."""
        self.after(action)
        waiting = [(action, before)]
        while waiting:
            node, known = waiting.pop()
            yield node, known
            match node:
                case s.Composed(operator="seq", left=left, right=right):
                    waiting += self._then(known, left, right)
                case s.Composed(operator="par", left=left, right=right):
                    sides = self.bound[id(left)] or NOTHING, self.bound[id(right)] or NOTHING
                    waiting += [(right, known.also(sides[0])), (left, known.also(sides[1]))]
                case s.IfThenElse(test=test, action=then, otherwise=otherwise):
                    waiting += [(otherwise, known), *self._then(known, test, then)]
                case _:
                    waiting += [(part, known) for part in reversed(action_parts(node))]

    def _then(self, known: BoundVariables, first: s.Action, second: s.Action) -> list[tuple[s.Action, BoundVariables]]:
        after = self.bound[id(first)]
        return [(first, known)] if after is None else [(second, known.also(after)), (first, known)]

    def _uses(self, node: s.Action, known: BoundVariables) -> Iterator[Missing]:
        match node:
            case s.FactChange(kind=kind, fact=fact):
                free = [v for v in variables(fact) if kind != "del" or not v.name.startswith("_#")]
                yield from _unbound(free, f"{kind}(..) needs it", known)
            case s.Raise(event=event, after=after):
                when = () if after is None else (after,)
                yield from _unbound(variables(event, *when), "the event needs it", known)
            case s.Effect(call=call):
                yield from _unbound(variables(call), "the effect needs it", known)
            case s.Perform(goal=goal):
                key = called_action(node, self.outline)
                if key is None:
                    yield from (Missing(v, "the test computes with it") for v in g.never_bound(goal, known.perhaps))
                elif isinstance(goal, s.Compound):
                    needed = [goal.args[place] for place in sorted(self.modes[key].needs)]
                    yield from _unbound(variables(*needed), f"{key[0]} needs it", known)
            case _:
                pass


def _also(a: Bound, b: Bound) -> Bound:
    return None if a is None or b is None else a.also(b)


def _either(a: Bound, b: Bound) -> Bound:
    return b if a is None else a if b is None else a.either(b)


def _unbound(found: Iterable[s.Var], use: str, known: BoundVariables) -> Iterator[Missing]:
    for v in found:
        if v.name not in known.always:
            yield Missing(v, use, v.name in known.perhaps)


def may_bind(action: s.Action, outline: Outline, modes: Mapping[g.Indicator, Modes]) -> Names:
    """Return the variables that an action may give a value."""
    after = _Flow(outline, modes).after(action)
    return NOTHING.perhaps if after is None else after.perhaps


def find_modes(outline: Outline) -> Mapping[g.Indicator, Modes]:
    """Return what each action needs and gives."""
    modes = {key: Modes(gives=frozenset(range(key[1]))) for key in outline.actions}
    for _ in range(_ROUNDS):
        flow = _Flow(outline, modes)
        found = {key: _modes_of(key, clauses, flow) for key, clauses in outline.actions.items()}
        if found == modes:
            break
        modes = found
    return modes


def _modes_of(key: g.Indicator, clauses: tuple[s.ActionClause, ...], flow: _Flow) -> Modes:
    needs: set[int] = set()
    gives = set(range(key[1]))
    for clause in clauses:
        args = clause.head.args if isinstance(clause.head, s.Compound) else ()
        wanted = {missing.variable.name for missing in flow.missing(clause.body, NOTHING)}
        needs |= {place for place, arg in enumerate(args) if wanted & names(variables(arg))}
        after = flow.bound[id(clause.body)]
        if after is not None:
            bound = after.always | wanted
            gives &= {place for place, arg in enumerate(args) if names(variables(arg)) <= bound}
    return Modes(frozenset(needs), frozenset(gives))


def check_variables(outline: Outline) -> Iterator[Problem]:
    """Yield the variables of actions that have no value where they need one."""
    flow = _Flow(outline, find_modes(outline))
    for clauses in outline.actions.values():
        for clause in clauses:
            head = names(variables(clause.head))
            yield from _problems(
                flow.missing(clause.body, BoundVariables(head, head)), names(action_variables(clause.body)) | head
            )
    for reaction, rule in outline.reactions:
        yield from _in_reaction(reaction, flow)
        yield from _partly_bound(reaction, outline.bound[id(rule.pattern)])
    for item in outline.program.items:
        if isinstance(item, s.Always):
            found = (Missing(v, "the goal computes with it") for v in g.never_bound(item.goal, frozenset()))
            yield from _problems(found, names(variables(item.goal)))


def _in_reaction(reaction: s.Reaction, flow: _Flow) -> Iterator[Problem]:
    given = given_variables(reaction)
    known = BoundVariables(given, given)
    named = names(pattern_variables(reaction.pattern)) | used_variables(reaction)
    tested = known
    if reaction.condition is not None:
        found = (Missing(v, "`if` computes with it") for v in g.never_bound(reaction.condition, given))
        yield from _problems(found, named)
        tested = known.also(g.bound_by(reaction.condition))
    yield from _problems(flow.missing(reaction.action, tested), named)
    if reaction.otherwise is not None:
        yield from _problems(flow.missing(reaction.otherwise, known), named)
    if reaction.undo is not None:
        done = flow.bound[id(reaction.action)] or NOTHING
        yield from _problems(flow.missing(reaction.undo, tested.also(done)), named)
        yield from _bound_behind_waits(reaction, tested, tested.also(done), flow)


def _bound_behind_waits(
    reaction: s.Reaction, tested: BoundVariables, done: BoundVariables, flow: _Flow
) -> Iterator[Problem]:  # fmt: skip
    """Yield the variables of what undoes that have a value once all is done, and none where a wait ends before."""
    undo = reaction.undo
    assert undo is not None
    told = {missing.variable.name for missing in flow.missing(undo, done)}
    waits = [known for node, known in flow.steps(reaction.action, tested) if isinstance(node, s.Await)]
    for missing in (missing for known in waits for missing in flow.missing(undo, known)):
        name = missing.variable.name
        if name not in told and not missing.alternatives:
            told.add(name)
            message = f"{name} has no value where the wait ends without what it waits for, and {missing.use}"
            yield Problem("W257", message, missing.variable.span, "bind it before the wait, or by a test in `undo`")


def _problems(found: Iterable[Missing], named: Names) -> Iterator[Problem]:
    seen: set[str] = set()
    for missing in found:
        name = missing.variable.name
        if name in seen:
            continue
        seen.add(name)
        if name.startswith("_#"):
            message = f"`_` has no value, and {missing.use}"
            yield Problem("E275", message, missing.variable.span, "write a value, or a variable that has one")
        elif missing.alternatives:
            message = f"{name} has a value in some alternatives only, and {missing.use}"
            yield Problem("E276", message, missing.variable.span, f"bind {name} in each of them")
        else:
            near = nearest(name, {other for other in named if not other.startswith("_#")})
            hint = f"did you mean {near}? {_BIND[0].upper()}{_BIND[1:]}" if near else _BIND
            yield Problem("E276", f"{name} has no value here, and {missing.use}", missing.variable.span, hint)


def _partly_bound(reaction: s.Reaction, bound: BoundVariables) -> Iterator[Problem]:
    """Yield the variables of a reaction that only some alternatives of its pattern bind: they are null in others."""
    several = [part for part in (reaction.action, reaction.otherwise, reaction.undo) if part is not None]
    used = [v for part in several for v in action_variables(part)]
    for v in {v.name: v for v in reversed(used)}.values():
        if v.name in bound.perhaps - bound.always:
            message = f"{v.name} is bound in some alternatives of the pattern only; in the others it is null"
            yield Problem("W202", message, v.span, "write a reaction for each of them, or ask: X \\= null")
