"""What is known where a goal is compiled: the variables that have values, and the steps written so far.

A value is described by an `Operand`: its text and its kind: int, float, number (an integer or a float), string (an
atom), list, or term (anything). Null may occur under every kind until a guard makes it sure. A float that was computed
or declared is `plain`: it need not be `Real` where it is integral, and becomes so where it meets other values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from etalis.data.values import Real, Struct, real
from etalis.logic.inline.steps import AssignStep, CheckStep, DeclineError, GuardStep, LoopStep, Step
from etalis.logic.machine.database import Database
from etalis.logic.terms.unify import Term, Variable, deref, is_ground, split_list, to_value

_MAX_NODES = 200
_SMALL = 1 << 50


class TooLargeError(Exception):
    """A goal has more parts than generated code should."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A value in generated code.

    `small`: far from the limits of floats. `safe`: its text raises nothing. `checked`: no infinity came of computing
    it. `constant` is its value where that is known, `moment` the name of its microseconds where it is a time.
    """

    text: str
    kind: str = "term"
    sure: bool = True
    plain: bool = False
    small: bool = False
    safe: bool = True
    checked: bool = True
    constant: Any = None
    moment: str = ""

    @property
    def is_name(self) -> bool:
        """Whether it costs nothing to write it twice."""
        return self.text.isidentifier()


class Compilation:
    """What all scopes of one goal share: the names given so far, the objects passed in."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.objects: list[Any] = []
        self._names: dict[int, str] = {}
        self.fresh = 0
        self.nodes = 0
        self.notes = ""  # the name of the list of what functions of the host returned
        self.times: Mapping[str, Operand] = {}
        self.between: Callable[[int, int], Any] | None = None  # the seconds between two moments
        self.stands: dict[tuple[Any, str], None] | None = None  # what somebody else sees to that it stands
        self.void: set[Variable] = set()  # those that occur once, and nobody asks for

    def constant(self, thing: Any) -> str:
        """Return the name of an object that is passed in."""
        if id(thing) not in self._names:
            self._names[id(thing)] = f"_k{len(self.objects)}"
            self.objects.append(thing)
        return self._names[id(thing)]

    def name(self) -> str:
        """Return a new name for a variable."""
        self.fresh += 1
        return f"_v{self.fresh}"

    def count(self) -> None:
        """Count a part of the goal; one with too many is left to the solver as a whole."""
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise TooLargeError


class GoalScope:
    """Variables with values, and the steps that follow each other here."""

    def __init__(
        self,
        shared: Compilation,
        known: dict[Variable, Operand],
        standing: frozenset[str] = frozenset(),
    ) -> None:
        self.shared = shared
        self.known = known
        self.steps: list[Step] = []
        self.standing = standing

    def inner(self) -> GoalScope:
        """Return a scope that begins with what is known here."""
        return GoalScope(self.shared, dict(self.known), self.standing)

    def guard(self, text: str, *, safe: bool = True) -> None:
        """Leave the goal to the solver unless something holds."""
        self.steps.append(GuardStep(text, safe))

    def stand(self, stands: Iterable[tuple[Any, str]]) -> None:
        """Leave the goal to the solver unless some objects have each the property that it had."""
        if self.shared.stands is not None:
            self.shared.stands.update(dict.fromkeys(stands))
            return
        for thing, has in stands:
            text = f"{self.shared.constant(thing)}{has}"
            if text not in self.standing:
                self.standing |= {text}
                self.guard(text)

    def check(self, text: str, *, safe: bool = True) -> None:
        """Fail unless something holds."""
        self.steps.append(CheckStep(text, safe))

    def named(self, operand: Operand) -> Operand:
        """Return an operand that can be written twice."""
        if operand.is_name:
            return operand
        name = self.shared.name()
        self.steps.append(AssignStep(name, operand.text, operand.safe))
        return replace(operand, text=name, safe=True)

    def loop(self, candidates: str) -> tuple[GoalScope, Operand]:
        """Begin a loop; return the scope of its body, and the candidate."""
        inner, name = self.inner(), self.shared.name()
        self.steps.append(LoopStep(name, candidates, inner.steps))
        return inner, Operand(name)

    def constant(self, value: Any) -> Operand:
        """Return a ground value as an operand."""
        kind = {int: "int", float: "float", Real: "float", str: "string", tuple: "list"}.get(value.__class__, "term")
        small = kind in ("int", "float") and -_SMALL < value < _SMALL
        return Operand(self.shared.constant(value), kind, small=small, constant=value)

    def is_known(self, term: Term) -> bool:
        """Tell whether a term has no variable without a value."""
        todo = [term]
        while todo:
            x = deref(todo.pop())
            if isinstance(x, Variable):
                if x not in self.known:
                    return False
            elif isinstance(x, tuple):
                todo.extend(x[1:])
        return True

    def value(self, term: Term) -> Operand:
        """Return the value that a term without unknown variables stands for."""
        self.shared.count()
        term = deref(term)
        if isinstance(term, Variable):
            if term not in self.known:
                raise DeclineError
            return self.normal(self.known[term])
        if is_ground(term):
            value = to_value(term)
            return self.constant(value)
        items, tail = split_list(term)
        if items:
            return self._list([self.value(item) for item in items], tail)
        parts = [self.value(arg) for arg in term[1:]]
        made, name, args = self.shared.constant(Struct), self.shared.constant(term[0]), ", ".join(p.text for p in parts)
        return Operand(f"{made}({name}, ({args},))", safe=all(p.safe for p in parts))

    def _list(self, items: list[Operand], tail: Term) -> Operand:
        text = f"({''.join(item.text + ', ' for item in items)})"
        safe = all(item.safe for item in items)
        if tail == ():
            return Operand(text, "list", safe=safe)
        return Operand(f"({text} + {self.shared.constant(_proper)}({self.value(tail).text}))", "list", safe=False)

    def normal(self, operand: Operand) -> Operand:
        """Return an operand that is the same value as any other of its kind: integral floats are `Real`."""
        if not operand.plain:
            return operand
        call = f"{self.shared.constant(normal)}({operand.text})"
        if operand.is_name:  # most floats are not integral
            call = f"({operand.text} if {operand.text}.__class__ is not float or {operand.text} % 1.0 else {call})"
        return replace(operand, text=call, plain=False)

    def equal(self, x: Operand, y: Operand, operator: str = "==") -> Operand:
        """Return the test whether two values are the same."""
        if x.kind != "float" or y.kind != "float":
            x, y = self.normal(x), self.normal(y)
        return Operand(f"({x.text} {operator} {y.text})", safe=x.safe and y.safe)

    def match(self, operand: Operand, pattern: Term) -> None:
        """Make a pattern equal to a value: unknown variables in it take the parts that they stand for."""
        self.shared.count()
        pattern = deref(pattern)
        if isinstance(pattern, Variable):
            if pattern in self.shared.void:
                if not operand.safe:
                    self.named(operand)
                return
            if pattern not in self.known:
                self.known[pattern] = self.named(operand)
                return
            test = self.equal(operand, self.known[pattern])
            self.check(test.text, safe=test.safe)
        elif self.is_known(pattern):
            test = self.equal(operand, self.value(pattern))
            self.check(test.text, safe=test.safe)
        else:
            self._match_parts(self.named(operand), pattern)

    def _match_parts(self, operand: Operand, pattern: Term) -> None:
        whole = operand.text
        items, tail = split_list(pattern)
        if not items:
            kind, name = self.shared.constant(Struct), self.shared.constant(pattern[0])
            size = len(pattern) - 1
            self.check(f"{whole}.__class__ is {kind} and {whole}.name == {name} and len({whole}.args) == {size}")
            parts = [Operand(f"{whole}.args[{i}]") for i in range(size)]
            for part, term in zip(parts, pattern[1:], strict=True):
                self.match(part, term)
            return
        if operand.kind != "list":
            self.guard(f"({whole}.__class__ is not {self.shared.constant(Struct)} or {whole}.name != '[|]')")
        is_list = "" if operand.kind == "list" else f"{whole}.__class__ is tuple and "
        self.check(f"{is_list}len({whole}) {'==' if tail == () else '>='} {len(items)}")
        for i, item in enumerate(items):
            self.match(Operand(f"{whole}[{i}]"), item)
        if tail != ():
            self.match(Operand(f"{whole}[{len(items)}:]", "list"), tail)


def normal(value: Any) -> Any:
    """Return a value as the engine holds it, given one that may be a float of any class."""
    return real(value) if value.__class__ is float else value


def _proper(tail: Any) -> tuple[Any, ...]:
    if tail.__class__ is not tuple:
        raise DeclineError
    return tail
