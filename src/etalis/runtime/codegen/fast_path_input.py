"""How events come into generated code and matches leave it: `push` takes one event, `run` many rows.

Each writes into its function how an event is read, as `name`, `x0`, `x1`, ... and `at`, what becomes of one that is not
plain, and how matches are handed out. The stages between (`fast_path`, `fast_path_late`) are the same for both.
`done` is the line that goes on to the next event, `clock` where the second of the event before is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from etalis.runtime.codegen.source import Code
from etalis.runtime.state import NEVER, State
from etalis.runtime.thread_guard import SOMEONE, enter_lines, entered

MISSING = object()  # an attribute that is not given


def places(arity: int) -> list[str]:
    """Return the names of attributes."""
    return [f"x{i}" for i in range(arity)]


class PushInput:
    """`push(name, *attributes, at, **named)`: attributes are parameters of their own, up to the most of any kind."""

    done = "return ()"

    def __init__(self, most: int, state: State, general: Callable[..., Any], *, calls_out: bool) -> None:
        self.places = places(most)
        self.code = Code(["name", *(f"{x}=k0" for x in self.places), "/", "*rest", "at=None", "**named"])
        self.missing = self.code.constant(MISSING)
        assert self.missing == "k0"
        self.state = state
        self.general = general
        self.calls_out = calls_out
        self.clock = f"{self.code.constant(state)}.seconds"

    @contextmanager
    def events(self) -> Iterator[None]:
        """Begin what is done once at most; what comes out of it goes the general way."""
        code = self.code
        with code.block("while type(at) is int and not named:"), entered(code, self.state, calls_out=self.calls_out):
            yield
            self.otherwise()
        given = f"*[x for x in ({''.join(f'{x}, ' for x in self.places)}) if x is not {self.missing}], *rest"
        code(f"return {code.constant(self.general)}(name, {given}, at=at, **named)")

    @contextmanager
    def of_arity(self, number: int, arity: int) -> Iterator[None]:
        """Begin the block for exactly so many attributes."""
        tests = [f"{self.places[arity - 1]} is not {self.missing}"] if arity else []
        tests.append(f"{self.places[arity]} is {self.missing}" if arity < len(self.places) else "not rest")
        with self.code.block(f"{'el' if number else ''}if {' and '.join(tests)}:"):
            yield

    def otherwise(self) -> None:
        """Write that an event goes the general way."""
        self.code("break")

    def own(self, events: list[str]) -> list[str]:
        """Return the lines that return matches."""
        return [f"return ({''.join(f'{event}, ' for event in events)})"]

    def all_of(self, several: str) -> list[str]:
        """Return the lines that return a tuple of matches."""
        return [f"return {several}"]


class RunInput:
    """`run(rows)`: a generator; `general` takes a row that is not plain.

    Where rows are taken in order, the clock is a local variable between hand-overs, unless it is `watched`. Whoever
    takes a match may change the rules: then `changed` is no longer empty, and `rest` takes the rows that are left. One
    thread at a time is inside, and none while the caller has a match; then it is not `here`.
    """

    done = "continue"

    def __init__(
        self, state: State, general: Callable[[Any], Any], changed: list[bool] | None = None,
        rest: Callable[[Any], Any] | None = None, *, watched: bool = False,
    ) -> None:  # fmt: skip
        self.code = Code(["rows"])
        self.code.long_running = True
        self.general = general
        self.enter = [*enter_lines(self.code, state, str(SOMEONE)), "here = True"]
        self.leave = ["inside = was", "here = False"]
        self.seconds = f"{self.code.constant(state)}.seconds"
        self.clock = self.seconds if watched else "seconds"
        self.in_order = changed is not None
        self.changed, self.rest = changed, rest

    @contextmanager
    def events(self) -> Iterator[None]:
        """Begin what is done with every row."""
        code = self.code
        code.add(["rows = iter(rows)", *self.enter])
        code.add([f"{self.clock} = {self.seconds}"] if self.in_order else [])
        with code.block("try:"), code.block("for given in rows:"):
            yield
            if self.in_order:
                self.otherwise()
        with code.block("finally:"):
            if self.in_order:
                with code.block(f"if {self.seconds} < {self.clock} < {code.constant(NEVER)}:"):
                    code(f"{self.seconds} = {self.clock}")
            with code.block("if here:"):
                code("inside = was")

    @contextmanager
    def of_arity(self, number: int, arity: int) -> Iterator[None]:
        """Begin the block for rows of so many attributes."""
        with self.code.block(f"{'el' if number else ''}if type(given) is tuple and len(given) == {arity + 2}:"):
            self.code(f"({', '.join(['name', *places(arity), 'at'])}) = given")
            if self.in_order:
                with self.code.block("if type(at) is int:"):
                    yield
                return
            with self.code.block("if type(at) is not int or type(name) is not str:"):
                self.otherwise()
            yield

    def otherwise(self) -> None:
        """Write that a row goes the general way."""
        self.code.add(self.all_of(f"{self.code.constant(self.general)}(given)"))
        self.code("continue")

    def own(self, events: list[str]) -> list[str]:
        """Return the lines that yield matches."""
        return self._in_time([*self.leave, *(f"yield {event}" for event in events), *self.enter])

    def all_of(self, several: str) -> list[str]:
        """Return the lines that yield a tuple of matches."""
        lines = (*self.leave, "yield from found", *self.enter)
        return self._in_time([f"found = {several}", "if found:", *(f"    {line}" for line in lines)])

    def _in_time(self, lines: list[str]) -> list[str]:
        """Return lines between which others may look at the clock and move it, and change the rules."""
        if not self.in_order:
            return lines
        changed, rest = self.code.constant(self.changed), self.code.constant(self.rest)
        over = [f"if {changed}:", *(f"    {line}" for line in (*self.leave, f"yield from {rest}(rows)", "return"))]
        return [f"{self.seconds} = {self.clock}", *lines, f"{self.clock} = {self.seconds}", *over]


class ReleaseOutput:
    """Matches of a function that gathers them in `out`."""

    done = "continue"

    def __init__(self) -> None:
        self.code = Code(["until"])

    def own(self, events: list[str]) -> list[str]:
        """Return the lines that gather matches."""
        return [f"out.append({event})" for event in events]

    def all_of(self, several: str) -> list[str]:
        """Return the lines that gather a tuple of matches."""
        return [f"out.extend({several})"]


EventInput: TypeAlias = PushInput | RunInput
MatchOutput: TypeAlias = PushInput | RunInput | ReleaseOutput
