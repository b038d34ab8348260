"""The interface of the logic machine: goals in, values out.

A `Goal` is a term with its named variables (see `language.lower`). `solve` yields solutions as mappings; `prepare`
compiles a goal once and returns a function from input values to the first solution's outputs, `prepare_all` one to all
solutions; an input that is None is unbound. `extra` names predicates of one argument that have one value per call, such
as `("t1", 1)` and `("t2", 1)` of a `check` condition; their values follow the inputs. The goal and all clauses it calls
see them, unless the program itself defines a predicate of that name.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy

from etalis.data.values import Real, Value
from etalis.logic.host import Clock, Host
from etalis.logic.knowledge.as_of import View
from etalis.logic.machine.compiler import Query, compile_query
from etalis.logic.machine.database import Database, Key
from etalis.logic.machine.fact_lookup import Goal, Prepared, find_fact
from etalis.logic.machine.machine import DONE, GoalLimits, Machine
from etalis.logic.terms.unify import Term, Trail, Variable, from_value, to_value

PreparedAll = Callable[..., list[tuple[Value | None, ...]]]

_KEPT_PIECES = 10_000
_PLAIN = frozenset((str, int, float, Real))


class Solver:
    """Solves goals over one database, each within the limits.

    What goals write goes to `output` piece by piece; without one the last pieces are kept in `written`. The time of
    `current_datetime/1` is the clock's: seconds since 1970 or a datetime; without a clock it is refused.
    """

    def __init__(
        self,
        database: Database,
        limits: GoalLimits | None = None,
        *,
        output: Callable[[str], object] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.database = database
        self.limits = limits or GoalLimits()
        self.written: deque[str] = deque(maxlen=_KEPT_PIECES)
        self.host = Host(output or self.written.append, clock)
        self.view: View | None = None

    def within(self, limits: GoalLimits) -> Solver:
        """Return a solver over the same database whose goals have other limits."""
        other = copy(self)
        other.limits = limits
        return other

    @contextmanager
    def as_of(self, time: int) -> Iterator[None]:
        """Let goals that begin inside see the database as of a moment, all changes of that moment included.

        The moment lies within the horizon (`Database.keep_versions`). Such goals change nothing.
        """
        before, self.view = self.view, self.database.as_of(time)
        try:
            yield
        finally:
            self.view = before

    def solve(
        self, goal: Goal, bindings: Mapping[str, Value] | None = None, extra: Mapping[Key, Value] | None = None
    ) -> Iterator[dict[str, Value]]:
        """Yield the solutions one by one: the values of the goal's variables; those not ground are left out."""
        given = {name: value for name, value in (bindings or {}).items() if name in goal.variables}
        free = tuple(name for name in goal.variables if name not in given)
        query = self._compile(goal, tuple(given), free)
        values = tuple(given.values()) + tuple((extra or {}).values())
        for found in self._run(query, len(given), tuple(extra or ()), values):
            yield given | {name: value for name, value in zip(free, found, strict=True) if value is not None}

    def prepare(self, goal: Goal, inputs: Sequence[str], outputs: Sequence[str], extra: Sequence[Key] = ()) -> Prepared:
        """Return a function of the inputs' values: the outputs of the first solution, None if there is none."""
        query = self._compile(goal, inputs, outputs)
        keys = tuple(extra)
        first = self._first_simple(query, len(inputs)) if query.simple else self._first(query, len(inputs), keys)
        fact = find_fact(self.database, goal, inputs, outputs, first)
        if fact is None or self.database.versions is None:
            return fact or first
        return lambda *values: (fact if self.view is None else first)(*values)

    def _first_simple(self, query: Query, count: int) -> Prepared:
        """Run a goal that only tests: it calls nothing, so one machine serves all runs."""
        machine = Machine(self.database, self.limits, host=self.host)
        code, rest, outputs, limit = query.code, query.rest, query.outputs, self.limits.size

        def first(*values: Value) -> tuple[Value | None, ...] | None:
            registers = [*_terms(values[:count]), *rest]
            registers[count] = 0
            try:
                if code(machine, registers, DONE) is None:
                    return None
                return tuple([_output(registers[slot], limit) for slot in outputs])
            finally:
                machine.trail.reset()

        return first

    def _first(self, query: Query, count: int, keys: tuple[Key, ...]) -> Prepared:
        def first(*values: Value) -> tuple[Value | None, ...] | None:
            machine, registers = self._start(query, count, keys, values)
            if not machine.run((query.code, registers, DONE)):
                return None
            limit = self.limits.size
            return tuple([_output(registers[slot], limit) for slot in query.outputs])

        return first

    def prepare_all(
        self, goal: Goal, inputs: Sequence[str], outputs: Sequence[str], extra: Sequence[Key] = ()
    ) -> PreparedAll:
        """Return a function of the inputs' values: the outputs of all solutions."""
        query = self._compile(goal, inputs, outputs)
        count, keys = len(inputs), tuple(extra)
        return lambda *values: list(self._run(query, count, keys, values))

    def _compile(self, goal: Goal, inputs: Sequence[str], outputs: Sequence[str]) -> Query:
        given = [goal.variable(name) for name in inputs]
        return compile_query(self.database, goal.term, given, [goal.variable(name) for name in outputs])

    def _run(
        self, query: Query, count: int, keys: tuple[Key, ...], values: Sequence[Value]
    ) -> Iterator[tuple[Value | None, ...]]:
        """Run a compiled goal and yield its outputs, solution by solution."""
        machine, registers = self._start(query, count, keys, values)
        found, limit = machine.run((query.code, registers, DONE)), min(self.limits.size, self.limits.steps)
        while found:
            yield tuple([_told(registers[slot], limit, machine.trail) for slot in query.outputs])
            found = machine.run(None)

    def _start(
        self, query: Query, count: int, keys: tuple[Key, ...], values: Sequence[Value]
    ) -> tuple[Machine, list[Term]]:
        """Return a machine and the frame of a goal with its inputs filled in."""
        terms = _terms(values)
        extra = dict(zip(keys, terms[count:], strict=True)) if keys else None
        registers = [*terms[:count], *query.rest]
        registers[count] = 0
        machine = Machine(self.database, self.limits, extra, self.host)
        machine.view = self.view
        return machine, registers


def _terms(values: Sequence[Value]) -> list[Term]:
    """Turn values into terms; None is an unbound variable."""
    return [v if v.__class__ in _PLAIN else Variable() if v is None else from_value(v) for v in values]


def _told(term: Term, limit: int, meter: Trail) -> Value | None:
    """Return what an output register stands for; of many solutions each is work, what is long is more."""
    value = term if term is None or term.__class__ in _PLAIN else to_value(term, limit, meter)
    if value.__class__ is str or value.__class__ is int:
        meter.charge((len(value) if isinstance(value, str) else value.bit_length()) >> 6)
    return value


def _output(term: Term, limit: int) -> Value | None:
    """Return what an output register stands for; a register never written is unbound."""
    return term if term is None or term.__class__ in _PLAIN else to_value(term, limit)
