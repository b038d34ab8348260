"""Python functions as predicates: what a host registers, and nothing else, is reached from a program.

A function of p parameters stands for a predicate of at least p arguments: it is called with the first p, and what it
returns is unified with the others. An argument that is not ground arrives as None. What it raises is an error of the
goal, like any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from etalis.data.values import Struct, to_value
from etalis.errors import EtalisError, Problem, ProgramError
from etalis.logic.builtins.table import PROTECTED
from etalis.logic.errors import LogicError
from etalis.logic.machine.database import Database, Key
from etalis.logic.machine.machine import Code, Frame, Machine
from etalis.logic.machine.predicate import Predicate, PredicateOwner
from etalis.logic.terms.unify import Term, from_value, undo, unify
from etalis.logic.terms.unify import to_value as ground

SCALARS = (str, int, float, tuple, dict, Struct)
_CALL = 64  # cells of work that one more solution of a function counts for: four steps


@dataclass(frozen=True, slots=True)
class Function:
    """A Python function as the predicate `name/arity`; it takes the first `taken` arguments."""

    name: str
    arity: int
    taken: int
    call: Callable[..., Any]

    @property
    def left(self) -> int:
        """How many arguments the result stands for."""
        return self.arity - self.taken

    def enter(self, machine: Machine, args: tuple[Term, ...], cont: Frame) -> Frame | None:
        """Call the function and go on with its first solution."""
        values = [ground(arg, machine.limits.size) for arg in args[: self.taken]]
        found = self._guard(lambda: self._found(machine.database, values))
        if self.left == 0 and (found is None or truth_of(found) is not None):
            return None if truth_of(found) is False else cont
        if found is None:
            return None
        if isinstance(found, SCALARS) or not isinstance(found, Iterable):
            if self.left != 1:
                self._refuse(f"returned {found!r}, where {self._expected()} is needed")
            term = self._guard(lambda: from_value(to_value(found)))
            return cont if unify(args[-1], term, machine.trail) else None
        return self._try(machine, (args, iter(found)), cont)

    def _found(self, database: Database, values: list[Any]) -> Any:
        """Call the function, unless the goal has done so already and noted what came of it."""
        if database.noted:
            call = database.noted.popleft()
            if call.function is self:
                if call.error is not None:
                    raise call.error
                return call.found
            database.noted.clear()
        return self.call(*values)

    def _try(self, machine: Machine, state: tuple[tuple[Term, ...], Iterator[Any]], cont: Frame) -> Frame | None:
        """Go on with the next solution that fits; those behind it wait as a choice."""
        args, rest = state
        mark = len(machine.trail)
        while True:
            machine.trail.charge(_CALL)
            row = self._guard(lambda: next(rest, _END))
            if row is _END:
                return None
            terms = self._terms(row)
            targets = args[len(args) - len(terms) :]
            if all(unify(a, b, machine.trail) for a, b in zip(targets, terms, strict=True)):
                machine.choices.append((mark, (self._try, state, cont)))
                return cont
            undo(machine.trail, mark)

    def _terms(self, row: Any) -> list[Term]:
        """Turn one solution into terms for the last arguments, or for all."""
        if self.left == 1 and not isinstance(row, tuple):
            row = (row,)
        if not isinstance(row, tuple) or len(row) not in (self.left, self.arity) or not row:
            self._refuse(f"gave the solution {row!r}, where {self._expected()} is needed")
        return self._guard(lambda: [from_value(to_value(value)) for value in row])  # type: ignore[no-any-return]

    def _expected(self) -> str:
        if self.left == 0:
            return f"True, False or tuples of {self.arity}"
        return "a value" if self.left == 1 else f"tuples of {self.left}"

    def _guard(self, run: Callable[[], Any]) -> Any:
        """Run what the host wrote; whatever it raises becomes an error of the goal."""
        try:
            return run()
        except LogicError:
            raise
        except EtalisError as error:
            self._refuse(f"gave a wrong value: {error.problems[0].message}")
        except Exception as error:  # noqa: BLE001 - a host's function may raise anything, and it must stop nothing else
            self._refuse(f"raised {type(error).__name__}: {error}")

    def _refuse(self, message: str) -> NoReturn:
        text = f"{self.name}/{self.arity} {message}"
        raise LogicError(("error", ("python_error", self.name), text), "E501", text)


class NotedCall(NamedTuple):
    """A call of a function, and what came of it."""

    function: Function
    found: Any
    error: Exception | None = None


_END = object()


def truth_of(found: Any) -> bool | None:
    """Return the truth value of a test's result, NumPy's included; None if it is none."""
    if not isinstance(found, bool) and type(found).__name__ in ("bool", "bool_"):
        found = bool(found)
    return found if isinstance(found, bool) else None


def functions(name: str, call: Callable[..., Any], arity: int | None = None) -> Iterator[Function]:
    """Yield a function as predicates: of the arity given, else as a test and with one argument for its result."""
    if not isinstance(name, str) or not name or not callable(call):
        raise _unfit(f"register takes a name and a function, not {name!r} and {call!r}", "register('name', function)")
    taken = _count_parameters(name, call)
    if arity is not None and (arity < taken or isinstance(arity, bool)):
        hint = f"it takes {taken} values: give arity={taken} for a test, {taken + 1} for a value"
        raise _unfit(f"{name}/{arity} cannot call its function", hint)
    for n in (taken, taken + 1) if arity is None else (arity,):
        if (name, n) in PROTECTED:
            raise _unfit(f"{name}/{n} is built in and cannot be registered", "give it another name")
        yield Function(name, n, taken, call)


def read_register(given: Mapping[str, Callable[..., Any]]) -> dict[Key, Function]:
    """Return the functions of a mapping from `name` or `name/arity`."""
    found = {}
    for text, call in given.items():
        name, _, arity = str(text).rpartition("/")
        named = bool(name) and arity.isdecimal()
        for function in functions(name if named else text, call, int(arity) if named else None):
            found[function.name, function.arity] = function
    return found


def _count_parameters(name: str, call: Callable[..., Any]) -> int:
    """Return how many values a function must be given."""
    hint = f"wrap it: lambda with named parameters for {name}"
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        raise _unfit(f"the parameters of {name}'s function are not known", hint) from None
    required = [p for p in parameters if p.default is p.empty]
    if any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in required if p.kind != p.VAR_KEYWORD):
        raise _unfit(f"{name}'s function takes any number of values, or some by name only", hint)
    return sum(p.kind != p.VAR_KEYWORD for p in required)


def _unfit(message: str, hint: str) -> ProgramError:
    return ProgramError(Problem("E231", message, hint=hint))


class Foreign(Predicate):
    """A predicate whose code is given; it has no clauses, and none can be added."""

    fixed = True
    __slots__ = ("_code",)

    def __init__(self, database: PredicateOwner, name: str, arity: int, code: Code) -> None:
        super().__init__(database, name, arity, has_clauses=False)
        self.defined = True
        self._code = code

    @property
    def function(self) -> Function | None:
        """The function of the host, if it is one."""
        owner = getattr(self._code, "__self__", None)
        return owner if isinstance(owner, Function) else None

    def enter(
        self,
        machine: Machine,
        args: tuple[Term, ...],
        cont: Frame,
        filling: bool = False,  # noqa: ARG002
    ) -> Frame | None:
        """Call the function, also where a table is being filled."""
        return self._code(machine, args, cont)

    def twin(self, database: PredicateOwner) -> Foreign:
        """Return the same predicate for another database."""
        return Foreign(database, self.name, self.arity, self._code)


def install(database: Database, name: str, arity: int, code: Code) -> None:
    """Make a predicate of given code part of a database."""
    database.install(Foreign(database, name, arity, code))
