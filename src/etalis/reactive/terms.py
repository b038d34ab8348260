"""Actions as terms of the logic machine: tuples of a name and parts, whose variables are those of goals.

`seq a b`, `par a b`, `or a b`, `iso a`, `possible a w`, `impossible a w`, `choose t a b`, `skip`, `abort`, `ins f`,
`del f v..` (v: the variables that stand for anything), `set f`, `raise e`, `raise e seconds`, `effect c`, `test g w`,
`call h w`, `subject_to a k` (k: `demands` with several `happens l` and `never l`). The w says how it was written, which
only messages show. Law: `seq` is nested to the right, so what is left of an action in sequence is always a part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import assert_never

from etalis.language import syntax as s
from etalis.language.check.goals import indicator
from etalis.language.lower import to_term
from etalis.language.printer import print_action, print_term
from etalis.language.traversal import action_parts, walk_action
from etalis.logic.inline.knowledge.unfold import conjuncts
from etalis.logic.machine.database import Key
from etalis.logic.terms.unify import Term, Trail, Variable, deref, undo, unify
from etalis.logic.terms.unify import variables as occurrences
from etalis.logic.terms.write import format_term

Names = dict[str, Variable]
Clauses = tuple[tuple[Term, Term], ...]  # heads and bodies, in order
REPEATED = "the same rest in the same state"  # where an attempt ends that has come back to where it was


class Written:
    """How a part of an action was written. All are equal: what an action is does not depend on it."""

    __slots__ = ("names", "pattern", "text")

    def __init__(self, text: str, term: s.Term | None = None) -> None:
        self.text = text
        self.names: Names = {}
        self.pattern: Term = None if term is None else to_term(term, self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Written)

    def __hash__(self) -> int:
        return 1

    def show(self, instance: Term) -> str:
        """Return the text, with the values that its variables have in an instance of the term."""
        if not self.names:
            return self.text
        trail = Trail()
        unify(self.pattern, instance, trail)
        given = {name: deref(variable) for name, variable in self.names.items() if not name.startswith("_")}
        known = [f"{name} = {format_term(x)}" for name, x in given.items() if not isinstance(x, Variable)]
        undo(trail, 0)
        return f"{self.text} with {', '.join(known)}" if known else self.text


@dataclass(frozen=True, slots=True)
class ActionProgram:
    """The clauses of actions, and what holds in every legal state, with how it was written."""

    clauses: Mapping[Key, Clauses]
    always: tuple[tuple[Term, str], ...] = ()

    @staticmethod
    def of(program: s.Tree) -> ActionProgram:
        """Return what a program says of actions."""
        goals = [item.goal for item in program.items if isinstance(item, s.Always)]
        return ActionProgram(_clauses(program), tuple((to_term(goal, {}), print_term(goal)) for goal in goals))

    def action(self, action: s.Action, names: Names) -> Term:
        """Return an action as a term; its variables are added to those given."""
        return _to_action(action, names, self.clauses)


def _clauses(program: s.Tree) -> Mapping[Key, Clauses]:
    """Return the clauses of each action that a program defines."""
    written = [item for item in program.items if isinstance(item, s.ActionClause)]
    keys = [indicator(clause.head) for clause in written]
    defined = frozenset(key for key in keys if key is not None)
    found: dict[Key, Clauses] = {}
    for key, clause in zip(keys, written, strict=True):
        assert key is not None
        names: Names = {}
        made = to_term(clause.head, names), _to_action(clause.body, names, defined)
        found[key] = (*found.get(key, ()), made)
    return found


def _to_action(action: s.Action, names: Names, defined: Collection[Key]) -> Term:
    """Return an action as a term; its variables are added to those given, calls are of the actions `defined`."""
    made: dict[int, list[Term]] = {}  # what is in sequence
    for node in reversed(list(walk_action(action))):
        several = [made.pop(id(part)) for part in action_parts(node)]
        if isinstance(node, s.Composed) and node.operator == "seq":
            several[0].extend(several[1])
            made[id(node)] = several[0]
        else:
            made[id(node)] = [_make(node, [_in_sequence(part) for part in several], names, defined)]
    return _in_sequence(made[id(action)])


def _in_sequence(parts: Sequence[Term]) -> Term:
    """Return actions as one."""
    *before, last = parts
    for part in reversed(before):
        last = ("seq", part, last)
    return last


def _make(node: s.Action, parts: list[Term], names: Names, defined: Collection[Key]) -> Term:
    """Return one node as a term, whose parts are made."""
    match node:
        case s.FactChange(kind="del", fact=fact):
            term = to_term(fact, names)
            loose = {variable for name, variable in names.items() if name.startswith("_#")}
            return ("del", term, *(v for v in occurrences(term) if v in loose))
        case s.FactChange(kind=kind, fact=fact):
            return (kind, to_term(fact, names))
        case s.Raise(event=event, after=after):
            return ("raise", to_term(event, names), *(() if after is None else (to_term(after, names),)))
        case s.Effect(call=call):
            return ("effect", to_term(call, names))
        case s.Perform(goal=goal):
            written = Written(print_term(goal), goal)
            return ("call" if indicator(goal) in defined else "test", to_term(goal, names), written)
        case s.Composed(operator=operator):
            return (operator, *parts)
        case s.IsoAction():
            return ("iso", *parts)
        case s.Possibility(holds=holds):
            return ("possible" if holds else "impossible", *parts, Written(print_action(node)))
        case s.IfThenElse():
            return ("choose", *parts)
        case s.Skip():
            return "skip"
        case s.Abort():
            return "abort"
        case s.SubjectTo(constraint=constraint):
            demands = conjuncts(to_term(constraint, names))
            return ("subject_to", *parts, ("demands", *demands))
        case s.Await():
            # never reached: what calls an action that waits has it written out (language/reactive/sagas)
            return "abort"
        case _:
            assert_never(node)


PARTS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("seq", "par", "or"), (1, 2)),
        **dict.fromkeys(("iso", "possible", "impossible"), (1,)),
        "choose": (1, 2, 3),
        "entered": (2,),  # see `unfolding`
        "subject_to": (1,),
    }
)  # where the actions in an action stand


def parts(action: Term) -> Iterator[Term]:
    """Yield an action and all actions in it, wholes before parts, from left to right."""
    todo = [action]
    while todo:
        part = todo.pop()
        yield part
        todo.extend(part[i] for i in reversed(PARTS.get(part[0], ())))


def rewrite(action: Term, change: Callable[[Term], Term]) -> Term:
    """Apply `change` to all actions in an action, parts first, and return the new one."""
    made: dict[int, Term] = {}
    for part in reversed(list(parts(action))):
        inner = PARTS.get(part[0], ())
        new = tuple(made[id(x)] if i in inner else x for i, x in enumerate(part)) if inner else part
        made[id(part)] = change(new)
    return made[id(action)]


def key_of(head: Term) -> Key:
    """Return name and arity of a call, or of the head of a clause."""
    head = deref(head)
    return (head, 0) if isinstance(head, str) else (head[0], len(head) - 1)


def sequence(first: Term | None, then: Term) -> Term:
    """Return what is to be done when something is to be done after what is left of an action, perhaps nothing."""
    if first is None:
        return then
    parts = []
    while first.__class__ is tuple and first[0] == "seq":
        parts.append(first[1])
        first = first[2]
    return _in_sequence((*parts, first, then))


def interleaved(left: Term | None, right: Term | None) -> Term | None:
    """Return what is left of two actions side by side, of which one may be done."""
    if left is None or right is None:
        return right if left is None else left
    return ("par", left, right)
