"""Actions that wait, as reactions: an `await` becomes an event that begins the wait, and two reactions to it.

`r rule: on P do A seq await(Q within d) seq B undo U` becomes three reactions. The first does A and raises an event,
and another one for d later: `on P do A seq raise(await 1 of r(Saga, V..))`. The second goes on, `on (await 1 of
r(Saga, V..) seq Q) within d do B`, and the third comes at the end of the wait, which undoes. V are the variables that
may have values before. Alternatives are parted in their order, calls of actions that wait are written out. Law: each
reaction does one transaction of the action, so what waits is an instance of a rule like any other. Which of the two
comes first goes on: `Saga` tells (definition 24.41).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from etalis.errors import Problem, ProgramError
from etalis.language import syntax as s
from etalis.language.check.bound_variables import bindings
from etalis.language.check.goals import Indicator, bound_by, indicator
from etalis.language.check.outline import Outline
from etalis.language.printer import print_action
from etalis.language.reaction_variables import given_variables
from etalis.language.reactive.variables import find_modes, may_bind
from etalis.language.reactive.wait_names import begins_wait, end_of_wait
from etalis.language.rules import action_clauses
from etalis.language.traversal import (
    ACTION_PARTS,
    PARTS,
    action_variables,
    actions_of,
    names,
    pattern_variables,
    rewrite,
    rewrite_action,
    rewrite_term,
    variables,
    walk_action,
)

SAGA = "Saga of the reaction"  # no variable of a text has a blank
_MOST = 500  # places where one reaction may wait


def begins_to_wait(reaction: s.Reaction) -> bool:
    """Tell whether a reaction that is written out begins to wait."""
    nodes = (node for action in actions_of(reaction) for node in walk_action(action))
    keys = (indicator(node.event) for node in nodes if isinstance(node, s.Raise))
    return any(key is not None and begins_wait(key[0]) for key in keys)


def waiting_actions(clauses: Mapping[Indicator, Sequence[s.ActionClause]]) -> frozenset[Indicator]:
    """Return the actions that wait, themselves or by way of others."""
    found: set[Indicator] = set()
    while more := {k for k, several in clauses.items() if any(waits(c.body, found) for c in several)} - found:
        found |= more
    return frozenset(found)


def waits(action: s.Action, known: frozenset[Indicator] | set[Indicator]) -> bool:
    """Tell whether an action waits, where some of those that it may call do."""
    return any(isinstance(n, s.Await) or (isinstance(n, s.Perform) and indicator(n.goal) in known)
               for n in walk_action(action))  # fmt: skip


def find_recursive(clauses: Mapping[Indicator, Sequence[s.ActionClause]]) -> Iterator[Indicator]:
    """Yield the actions that wait and come back to themselves: nothing bounds how they would be written out."""
    waiting = waiting_actions(clauses)
    called = {
        key: {to for c in clauses[key] for n in walk_action(c.body)
              if isinstance(n, s.Perform) and (to := indicator(n.goal)) in waiting and to is not None}
        for key in waiting
    }  # fmt: skip
    for key in clauses:
        reached: set[Indicator] = set()
        todo = list(called.get(key, ()))
        while todo:
            to = todo.pop()
            if to not in reached:
                reached.add(to)
                todo += called[to]
        if key in reached:
            yield key


def written_out(tree: s.Tree) -> s.Tree:
    """Return a program whose reactions do not wait: those that would are several, the others are as they were."""
    if not any(isinstance(n, s.Await) for item in tree.items for a in actions_of(item) for n in walk_action(a)):
        return tree
    cutter = _Cutter(tree)
    items, more, number = list[s.Item](), list[s.Item](), 0
    for item in tree.items:
        number += isinstance(item, s.Reaction)
        if isinstance(item, s.Reaction):
            first, *others = cutter.reactions(item, item.label or f"reaction {number}")
            items.append(first)
            more += others
        else:
            items.append(item)
    return replace(tree, items=(*items, *more))


def up_to_wait(action: s.Action, tree: s.Tree) -> s.Action:
    """Return what an action does at once: up to where it waits."""
    if not waits(action, waiting_actions(action_clauses(tree))):
        return action
    probe = s.Reaction(s.EventPattern("asked", ()), action)
    return next(iter(_Cutter(tree).reactions(probe, "asked"))).action


def as_written(action: s.Action, reactions: Sequence[s.Reaction]) -> s.Action:
    """Return the action of a reaction that is written out, with `await` where it begins to wait."""
    awaited = {reaction.part.mark: reaction.part.awaited for reaction in reactions if reaction.part is not None}

    def change(node: s.Action) -> s.Action:
        raised = node.left if isinstance(node, s.Composed) else None
        key = indicator(raised.event) if isinstance(raised, s.Raise) else None
        return node if key is None else awaited.get(key[0], node)

    return rewrite_action(action, change)


class _Cutter:
    """Cuts the actions of one program where they wait."""

    def __init__(self, tree: s.Tree) -> None:
        self.clauses = action_clauses(tree)
        self.waiting = waiting_actions(self.clauses)
        self.outline = Outline(tree)
        self.modes = find_modes(self.outline)
        self.copies = 0

    def reactions(self, reaction: s.Reaction, label: str) -> Iterator[s.Reaction]:
        """Yield a reaction up to where it waits, then those that go on."""
        given = given_variables(reaction)
        tested = given if reaction.condition is None else given | bound_by(reaction.condition).perhaps
        places: list[_Place] = []
        yield replace(
            reaction,
            action=self._cut(_in_sequence(reaction.action), tested, _Waits(reaction, label, reaction.undo, places)),
            otherwise=None if reaction.otherwise is None
            else self._cut(_in_sequence(reaction.otherwise), given, _Waits(reaction, label, None, places)),
        )  # fmt: skip
        done = 0
        while done < len(places):  # what goes on may wait again
            yield from self._going_on(places[done])
            done += 1
            if len(places) > _MOST:
                message = f"the reaction {label} waits at more than {_MOST} places, each way counted"
                raise ProgramError(Problem("E283", message, reaction.span, "raise an event, and react to it"))

    def _going_on(self, place: _Place) -> Iterator[s.Reaction]:
        """Yield what is done when it comes, and when it does not."""
        node, waits = place.node, place.waits
        head = s.EventPattern(place.mark, place.carried)
        pattern = s.Within(_behind(head, node.pattern), node.duration, node.span)
        known = place.known | bindings(node.pattern)[id(node.pattern)].perhaps
        kept = tuple(p for p in waits.reaction.properties if p.name == "priority")
        of = replace(
            waits.reaction, condition=None, otherwise=None, undo=waits.undo, label=waits.label,
            properties=(*kept, s.Property("policy", s.Const("unrestricted"))),
        )  # fmt: skip
        going_on = self._cut(place.rest, known, waits)
        yield replace(of, pattern=pattern, action=going_on, part=s.SagaPart(place.mark, node))
        end = s.EventPattern(end_of_wait(place.mark), place.carried)
        yield replace(of, pattern=end, action=s.Skip(), part=s.SagaPart(place.mark, node, is_end=True))

    def _cut(self, parts: Sequence[s.Action], known: frozenset[str], waits: _Waits) -> s.Action:
        """Return actions in sequence, up to where they wait."""
        done: list[s.Action] = []
        for place, part in enumerate(parts):
            if self._waits(part):
                done.append(self._cut_part(part, parts[place + 1 :], known, waits))
                break
            known |= may_bind(part, self.outline, self.modes)
            done.append(part)
        return reduce(lambda a, b: s.Composed("seq", a, b), done) if done else s.Skip()

    def _waits(self, action: s.Action) -> bool:
        return waits(action, self.waiting)

    def _cut_part(
        self, part: s.Action, rest: Sequence[s.Action], known: frozenset[str], waits: _Waits
    ) -> s.Action:  # fmt: skip
        """Cut what waits, with what follows it."""
        match part:
            case s.Composed(operator="or", left=left, right=right):
                sides = [self._cut((*_in_sequence(side), *rest), known, waits) for side in (left, right)]
                return replace(part, left=sides[0], right=sides[1])
            case s.IfThenElse(test=test, action=then, otherwise=otherwise):
                tested = known | may_bind(test, self.outline, self.modes)
                return replace(
                    part,
                    action=self._cut((*_in_sequence(then), *rest), tested, waits),
                    otherwise=self._cut((*_in_sequence(otherwise), *rest), known, waits),
                )
            case s.Perform(goal=goal):
                several = [_in_sequence(self._call(goal, clause)) for clause in self._clauses(goal)]
                ways = [self._cut((*body, *rest), known, waits) for body in several]
                return reduce(lambda b, a: s.Composed("or", a, b), reversed(ways))
            case s.Await():
                return self._begin(part, rest, known, waits)
            case _:
                raise AssertionError(f"E283 refuses an await inside of {part!r}")

    def _clauses(self, goal: s.Term) -> Sequence[s.ActionClause]:
        key = indicator(goal)
        assert key is not None
        return self.clauses[key]

    def _call(self, goal: s.Term, clause: s.ActionClause) -> s.Action:
        """Return the body of a clause with its own names of variables, behind what its head and a call share."""
        self.copies += 1
        number, given = self.copies, dict[str, s.Term]()
        asked, mine = _arguments(goal), _arguments(clause.head)
        counts = Counter(v.name for v in variables(*mine))

        def fresh(old: s.Term, new: s.Term) -> s.Term:
            if not isinstance(old, s.Var):
                return new
            return given.get(old.name) or replace(old, name=f"{old.name} {number}")

        equal = []
        for arg, term in zip(mine, asked, strict=True):
            if isinstance(arg, s.Var) and counts[arg.name] == 1:
                given[arg.name] = term
            else:
                equal.append((arg, term))
        tests = [s.Perform(s.Compound("=", (rewrite_term(a, fresh), b), goal.span), goal.span) for a, b in equal]
        body = _with_terms(clause.body, lambda term: rewrite_term(term, fresh))
        return reduce(lambda a, b: s.Composed("seq", a, b), (*tests, body))

    def _begin(self, node: s.Await, rest: Sequence[s.Action], known: frozenset[str], waits: _Waits) -> s.Action:
        """Return the step that begins to wait."""
        used = names(pattern_variables(node.pattern)).union(*(names(action_variables(part)) for part in rest))
        if waits.undo is not None:
            used |= names(action_variables(waits.undo))
        mark = f"{print_action(node)} at {len(waits.places) + 1} of {waits.label}"
        kept = tuple(s.Var(name) for name in sorted(known & used))
        waits.places.append(_Place(node, mark, tuple(rest), known, (s.Var(SAGA), *kept), waits))
        seconds, left = divmod(node.duration, 1_000_000)
        after = s.Const(node.duration / 1_000_000 if left else seconds)
        end = s.Compound(end_of_wait(mark), (s.Const(SAGA), *kept))
        begin = s.Compound(mark, (s.Const(SAGA), *kept))
        return s.Composed("seq", s.Raise(begin, None, node.span), s.Raise(end, after, node.span))


def _behind(mark: s.EventPattern, pattern: s.Pattern) -> s.Pattern:
    """Return a pattern that follows an event; the conditions on the whole of it see the event, too."""
    conditions: list[s.Condition] = []
    while isinstance(pattern, s.Condition):
        conditions.append(pattern)
        pattern = pattern.pattern
    found: s.Pattern = s.Binary("seq", mark, pattern, pattern.span)
    for condition in reversed(conditions):
        found = replace(condition, pattern=found)
    return found


class _Waits:
    """Where the action of one reaction waits, and what undoes it."""

    __slots__ = ("label", "places", "reaction", "undo")

    def __init__(self, reaction: s.Reaction, label: str, undo: s.Action | None, places: list[_Place]) -> None:
        self.reaction, self.label, self.undo, self.places = reaction, label, undo, places


class _Place:
    """One place where an action waits: with which variables, and what follows."""

    __slots__ = ("carried", "known", "mark", "node", "rest", "waits")

    def __init__(
        self, node: s.Await, mark: str, rest: tuple[s.Action, ...], known: frozenset[str], carried: tuple[s.Term, ...],
        waits: _Waits,
    ) -> None:  # fmt: skip
        self.node, self.mark, self.rest, self.known, self.carried, self.waits = node, mark, rest, known, carried, waits


def _in_sequence(action: s.Action) -> tuple[s.Action, ...]:
    """Return the parts of an action that are in sequence."""
    found: list[s.Action] = []
    waiting = [action]
    while waiting:
        node = waiting.pop()
        if isinstance(node, s.Composed) and node.operator == "seq":
            waiting += (node.right, node.left)
        else:
            found.append(node)
    return tuple(found)


def _arguments(term: s.Term) -> tuple[s.Term, ...]:
    return term.args if isinstance(term, s.Compound) else ()


def _with_terms(action: s.Action, change: Callable[[s.Term], s.Term]) -> s.Action:
    """Return an action with all terms in it changed, those of the patterns that it awaits included."""

    def change_node(node: s.Action) -> s.Action:
        node = _changed(node, ACTION_PARTS[type(node)].terms, change)
        return replace(node, pattern=rewrite(node.pattern, change_part)) if isinstance(node, s.Await) else node

    def change_part(node: s.Pattern) -> s.Pattern:
        found: s.Pattern = _changed(node, PARTS[type(node)].terms, change)
        return found

    return rewrite_action(action, change_node)


def _changed(node: Any, fields: Sequence[str], change: Callable[[s.Term], s.Term]) -> Any:
    found = {field: getattr(node, field) for field in fields}
    changes = {
        field: tuple(map(change, held)) if isinstance(held, tuple) else change(held)
        for field, held in found.items() if held is not None
    }  # fmt: skip
    return replace(node, **changes) if changes else node
