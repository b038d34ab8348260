"""Terms with variables, and unification.

Inside, an atom is a str, a number an int or float (through `term.real`), the empty list `()`, a compound term the flat
tuple `(name, argument, ...)`, a list a chain of `("[|]", head, tail)`, and a variable a `Variable` whose `ref` is None
until it is bound. `from_value` and `to_value` translate to and from ground values at the rim.
Law: every walk here is iterative and counts what it visits, so that neither a deep nor a cyclic term meets
Python's recursion limit; past `MAX_CELLS` it is a limit error. Walks charge their work to the trail of their goal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from operator import is_
from typing import Any, TypeAlias

from etalis.data.values import MAX_DEPTH, Rational, Struct, Value
from etalis.logic.errors import LogicLimitError, too_many_steps

Term: TypeAlias = Any  # str | int | float | tuple[Term, ...] | Variable

MAX_CELLS = 2_000_000
LIST = "[|]"
LONG_TEXT = 4_096  # characters from which comparing a text is charged
_LOOK = 50_000
_STRETCH = 255  # a mask: walks report their work every 256 cells


class Variable:
    """A variable; unbound while `ref` is None. Bindings are made by `unify` alone and recorded on a trail."""

    ref: Term = None
    age: int = 0  # given at the first comparison; see `order`


class Trail(list[Variable]):
    """The variables bound so far, to be undone on backtracking; also the meter of work that takes more than a step.

    `memory` is how many more blocks of memory the interpreter may hold than when it was first looked at; it is looked
    at every `_LOOK` cells of work, and by the machine at every audit, as is the clock where time is limited.
    """

    work = 0
    steps = 1 << 60
    is_cap = False
    memory = 1 << 60
    time: float | None = None
    _next_look = _LOOK
    _blocks = 0
    _began = 0.0
    _clock: Callable[[], float] | None = None

    def charge(self, cells: int) -> None:
        """Count cells walked or built; each is worth a step."""
        self.work += cells
        if self.work > self._next_look:
            self._next_look = self.work + _LOOK
            if self.work > self.steps:
                raise too_many_steps(self.steps, is_cap=self.is_cap)
            self.look()

    def limit_steps(self, steps: int, *, is_cap: bool) -> None:
        """Bound the work of a goal; where that is a cap, look as soon as it may be reached."""
        self.steps = steps
        if is_cap:
            self.is_cap = True
            self._next_look = min(_LOOK, steps)

    def limit_time(self, seconds: float, clock: Callable[[], float]) -> None:
        """Begin to measure the time of a goal."""
        self.time, self._clock, self._began = seconds, clock, clock()

    def reset(self) -> None:
        """Forget all: the next goal begins."""
        self.clear()
        self.restart()

    def restart(self) -> None:
        """Count anew: another goal begins, which binds further variables."""
        self.work, self._blocks = 0, 0
        self._next_look = min(_LOOK, self.steps) if self.is_cap else _LOOK
        if self._clock is not None:
            self._began = self._clock()

    def look(self) -> None:
        """Refuse to go on when the goal takes too long, or holds too much memory."""
        if self._clock is not None and self.time is not None and self._clock() - self._began > self.time:
            raise LogicLimitError("seconds", self.time)
        blocks = sys.getallocatedblocks()
        if not self._blocks:
            self._blocks = blocks
        elif blocks - self._blocks > self.memory:
            raise LogicLimitError("memory blocks", self.memory)


def deref(term: Term) -> Term:
    """Follow bindings to the term a variable stands for, or to the unbound variable at the end."""
    while term.__class__ is Variable:
        ref = term.ref
        if ref is None:
            return term
        term = ref
    return term


def unify(a: Term, b: Term, trail: Trail) -> bool:
    """Make two terms equal by binding variables; a failure leaves its bindings on the trail to be undone."""
    stack: list[tuple[Term, Term]] = []
    cells = 0
    while True:
        while a.__class__ is Variable and a.ref is not None:
            a = a.ref
        while b.__class__ is Variable and b.ref is not None:
            b = b.ref
        if a is b:
            pass
        elif a.__class__ is Variable:
            a.ref = b
            trail.append(a)
        elif b.__class__ is Variable:
            b.ref = a
            trail.append(b)
        elif a.__class__ is tuple:
            if b.__class__ is not tuple or len(a) != len(b) or a[0] != b[0]:
                return False
            cells += 1
            if not cells & _STRETCH:
                trail.charge(_STRETCH)
                if cells > MAX_CELLS:
                    raise LogicLimitError("size", MAX_CELLS)
            for i in range(len(a) - 1, 1, -1):
                stack.append((a[i], b[i]))
            a, b = a[1], b[1]
            continue
        else:
            if a.__class__ is str and len(a) > LONG_TEXT:
                trail.charge(len(a) >> 6)
            if a != b:
                return False
        if not stack:
            return True
        a, b = stack.pop()


def undo(trail: Trail, mark: int) -> None:
    """Take back all bindings made since the trail had length `mark`."""
    while len(trail) > mark:
        trail.pop().ref = None


def copy(term: Term, limit: int = MAX_CELLS, meter: Trail | None = None) -> Term:
    """Copy a term with its bindings applied and fresh variables; ground parts are shared, not copied."""
    names: dict[Variable, Term] = {}
    todo: list[Any] = [term]
    done: list[Any] = []
    cells = 0
    while todo:
        x = todo.pop()
        if x.__class__ is list:
            _close(x[0], done)
            continue
        x = deref(x)
        if x.__class__ is tuple and x:
            cells += 1
            if cells > limit:
                raise LogicLimitError("size", limit)
            if meter is not None and not cells & _STRETCH:
                meter.charge(_STRETCH)
            todo.append([x])
            todo.extend(x[::-1])
        elif x.__class__ is Variable:
            fresh = names.get(x)
            if fresh is None:
                fresh = names[x] = Variable()
            done.append(fresh)
        else:
            done.append(x)
    return done[0]


def _close(original: tuple[Term, ...], done: list[Any]) -> None:
    """Replace the finished parts of a compound by the compound, the original one if nothing changed."""
    size = len(original)
    parts = tuple(done[-size:])
    del done[-size:]
    done.append(original if all(map(is_, parts, original)) else parts)


def variables(term: Term, meter: Trail | None = None) -> list[Variable]:
    """Return every occurrence of an unbound variable, from left to right."""
    found: list[Variable] = []
    todo = [term]
    cells = 0
    while todo:
        x = deref(todo.pop())
        if x.__class__ is tuple and x:
            cells += 1
            if cells > MAX_CELLS:
                raise LogicLimitError("size", MAX_CELLS)
            if meter is not None and not cells & _STRETCH:
                meter.charge(_STRETCH)
            todo.extend(x[:0:-1])
        elif x.__class__ is Variable:
            found.append(x)
    return found


def flatten_key(term: Term, meter: Trail | None = None) -> tuple[Any, ...]:
    """Return a flat key, equal for terms that differ in the names of variables only.

    A nested tuple cannot be the key of a dictionary: Python hashes it by recursion, without a limit.
    """
    key: list[Any] = []
    numbers: dict[Variable, tuple[int]] = {}
    todo = [term]
    while todo:
        x = deref(todo.pop())
        if x.__class__ is tuple and x:
            key.append((x[0], len(x)))
            if len(key) > MAX_CELLS:
                raise LogicLimitError("size", MAX_CELLS)
            if meter is not None:
                meter.charge(1)
            todo.extend(x[:0:-1])
        elif x.__class__ is Variable:
            key.append(numbers.setdefault(x, (len(numbers),)))
        else:
            key.append(x)
    return tuple(key)


def is_ground(term: Term, meter: Trail | None = None) -> bool:
    """Tell whether a term has no unbound variable."""
    return not variables(term, meter)


def make_list(items: Iterable[Term], tail: Term = ()) -> Term:
    """Return the list of some terms.

    >>> make_list([1, 2])
    ('[|]', 1, ('[|]', 2, ()))
    """
    result = tail
    for item in reversed(list(items)):
        result = (LIST, item, result)
    return result


def list_cells(term: Term) -> Iterator[Term]:
    """Yield the elements of a list as far as it goes, then its tail: `()`, a variable, or what is no list."""
    cells = 0
    term = deref(term)
    while term.__class__ is tuple and len(term) == 3 and term[0] == LIST:
        cells += 1
        if cells > MAX_CELLS:
            raise LogicLimitError("size", MAX_CELLS)
        yield term[1]
        term = deref(term[2])
    yield term


def split_list(term: Term, meter: Trail | None = None) -> tuple[list[Term], Term]:
    """Return the elements and the tail of a list; the tail of a proper list is `()`."""
    cells = list(list_cells(term))
    if meter is not None:
        meter.charge(len(cells))
    return cells[:-1], cells[-1]


def from_value(value: Value, depth: int = 0) -> Term:
    """Turn a ground value into a term.

    >>> from_value(Struct("f", [(1, 2)]))
    ('f', ('[|]', 1, ('[|]', 2, ())))
    """
    if not isinstance(value, tuple | Struct):
        return value
    if depth > MAX_DEPTH:
        raise LogicLimitError("nesting of a value", MAX_DEPTH)
    if isinstance(value, tuple):
        return make_list([from_value(item, depth + 1) for item in value])
    return (value.name, *[from_value(arg, depth + 1) for arg in value.args])


def to_value(term: Term, limit: int = MAX_CELLS, meter: Trail | None = None) -> Value | None:
    """Turn a term into the ground value it stands for; None if it is not ground."""
    budget = [limit, limit]  # what is left of it
    value = _to_value(term, 0, budget)
    if meter is not None:
        meter.charge(limit - budget[0])
    return value


def _to_value(term: Term, depth: int, budget: list[int]) -> Value | None:
    term = deref(term)
    if term.__class__ is Variable:
        return None
    if term.__class__ is not tuple or not term:
        return rim_number(term) if term.__class__ is Rational else term
    if depth > MAX_DEPTH:
        raise LogicLimitError("nesting of a value", MAX_DEPTH)
    if len(term) == 3 and term[0] == LIST:
        return _list_value(term, depth, budget)
    args = _values(term[1:], depth, budget)
    return None if args is None else Struct(term[0], args)


def rim_number(number: Any) -> Value:
    """Return a number as it leaves the machine: a rational as the expression that gives it.

    >>> rim_number(Rational(2, 6))
    rdiv(1,3)
    """
    return Struct("rdiv", (number.numerator, number.denominator)) if number.__class__ is Rational else number


def _values(terms: Iterable[Term], depth: int, budget: list[int]) -> list[Value] | None:
    """Translate several terms; None if one of them is not ground."""
    values = []
    for term in terms:
        budget[0] -= 1
        if budget[0] < 0:
            raise LogicLimitError("size", budget[1])
        value = _to_value(term, depth + 1, budget)
        if value is None:
            return None
        values.append(value)
    return values


def _list_value(term: Term, depth: int, budget: list[int]) -> Value | None:
    items, tail = split_list(term)
    values = _values(items, depth, budget)
    if values is None:
        budget[0] -= len(items)
        return None
    if tail == ():
        return tuple(values)
    end = _to_value(tail, depth + 1, budget)
    if end is None:
        return None
    if len(values) > MAX_DEPTH:
        raise LogicLimitError("nesting of a value", MAX_DEPTH)
    for value in reversed(values):
        end = Struct(LIST, (value, end))
    return end
