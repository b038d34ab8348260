"""Calls of actions with one clause, written out wherever they stand: `entered c a` is the body a that a call c enters.

Law: the executions, and what is counted, are those of the calls. What an action may call again from inside is not
written out, nor what is long, nor a clause whose head is more than variables that differ: nowhere, so that equal rests
stay equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from etalis.logic.machine.database import Key
from etalis.logic.terms.unify import Term, Variable, copy, deref, variables
from etalis.reactive.analysis import actions_below
from etalis.reactive.terms import PARTS, ActionProgram, Clauses, key_of, parts, rewrite

_MOST = 60  # parts of an action that is written out where it is called


class Unfolder:
    """Writes calls out; `program` is the program with those of its clauses written out."""

    def __init__(self, program: ActionProgram) -> None:
        below = actions_below(program)
        self.bodies: dict[Key, tuple[Term, Term] | None] = {}  # heads and bodies of what is written out
        for key in sorted(below, key=lambda key: len(below[key])):  # what is called before what calls it
            self.bodies[key] = None if key in below[key] else self._simple(program.clauses[key])
        clauses = {
            key: tuple((head, self.unfold(body)) for head, body in several) for key, several in program.clauses.items()
        }
        self.program = replace(program, clauses=clauses)

    def _simple(self, clauses: Clauses) -> tuple[Term, Term] | None:
        """Return head and body of an action that is written out, None for one that is not."""
        (head, body), *others = clauses
        args = () if isinstance(head, str) else head[1:]
        if others or not all(isinstance(arg, Variable) for arg in args) or len(set(args)) < len(args):
            return None
        body = self.unfold(body)
        return None if sum(1 for _ in parts(body)) > _MOST else (head, body)

    def unfold(self, action: Term) -> Term:
        """Return an action with its calls written out."""
        return rewrite(action, self._enter)

    def _enter(self, part: Term) -> Term:
        simple = self.bodies.get(key_of(part[1])) if part[0] == "call" else None
        if simple is None:
            return part
        _, head, body = copy(("clause", *simple))
        call = deref(part[1])
        for variable, arg in zip(() if isinstance(head, str) else head[1:], call[1:] if call else (), strict=False):
            variable.ref = arg  # for good: the copy is ours
        return ("entered", part[1], body)


def outer_variables(action: Term) -> Iterator[Variable]:
    """Yield the unbound variables of an action, but for those that are a clause's own."""
    todo = [action]
    while todo:
        part = todo.pop()
        inner = () if part[0] == "entered" else PARTS.get(part[0], ())
        todo.extend(part[i] for i in inner)
        if not inner:
            yield from variables(part[1] if part[0] == "entered" else part)
