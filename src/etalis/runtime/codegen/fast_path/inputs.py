"""How events come into generated code and matches leave it: `push` takes one event, `run` many rows.

Each writes into its function how an event is read, as `name`, `x0`, `x1`, ... and `at`, what becomes of one that is not
plain, and how matches are handed out. The stages between (`stages`, `hold`) are the same for both. `done` is the line
that goes on to the next event, `clock` where the time of the event before is kept, `given` what an event was read from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, TypeAlias

from etalis.runtime.codegen.fast_path.records import MISSING, NamedReader
from etalis.runtime.codegen.source import Code
from etalis.runtime.state import NEVER, State
from etalis.runtime.thread_guard import SOMEONE, enter_lines, entered
from etalis.temporal.event import Event

Other = Callable[[str], None]  # writes what is done with attributes that are found in a list


def places(arity: int) -> list[str]:
    """Return the names of attributes."""
    return [f"x{i}" for i in range(arity)]


class PushInput:
    """`push(name, *attributes, at, **named)`: attributes are parameters of their own, up to the most of any kind.

    Somebody may keep the function while rules come and go: once there are `changed` rules, it calls `anew`.
    """

    done = "return ()"
    given = "None"

    def __init__(
        self, most: int, state: State, general: Callable[..., Any], records: NamedReader, changed: list[bool],
        anew: Callable[..., Any], *, calls_out: bool,
    ) -> None:  # fmt: skip
        self.places = places(most)
        self.code = Code(["name", *(f"{x}=k0" for x in self.places), "/", "*rest", "at=None", "**named"])
        self.code.is_entry = True
        self.missing = self.code.constant(MISSING)
        assert self.missing == "k0"
        self.state = state
        self.general = general
        self.records = records
        self.changed, self.anew = changed, anew
        self.calls_out = calls_out
        self.clock = self.kept = f"{self.code.constant(state)}.clock"

    @property
    def values(self) -> str:
        """All attributes that are given by position."""
        return f"[*[x for x in ({''.join(f'{x}, ' for x in self.places)}) if x is not {self.missing}], *rest]"

    @contextmanager
    def events(self, arities: list[int], other: Other | None) -> Iterator[None]:
        """Begin what is done once at most; what comes out of it goes the general way."""
        del arities
        code, general = self.code, self.code.constant(self.general)
        with code.block(f"if {code.constant(self.changed)}:"):
            code(f"return {code.constant(self.anew)}(name, *{self.values}, at=at, **named)")
        called = "called" if self.records.renames else "name"
        by_name = f"return {general}({called}, at=at, **named)"
        code.add(["called = name"] if self.records.renames else [])
        with code.block("if named:"):
            if self.records.named:
                with code.block(f"if x0 is not {self.missing}:"):
                    code(f"return {general}(name, *{self.values}, at=at, **named)")
                self.records.write_named(code, self.places, by_name)
            else:
                code(f"return {general}(name, *{self.values}, at=at, **named)")
        with code.block("while True:"), entered(code, self.state, calls_out=self.calls_out):
            yield
            if other is not None:
                with code.block("else:"):
                    code(f"given = {self.values}")
                    other("given")
            self.otherwise()
        if self.records.named:
            with code.block("if named:"):
                code(by_name)
        code(f"return {general}({called}, *{self.values}, at=at)")

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

    def all_of(self, several: str, first: Sequence[str] = ()) -> list[str]:
        """Return the lines that return a tuple of matches, after others."""
        return [*first, f"return {several}"]

    def taken_by(self, call: str) -> list[str]:
        """Return the lines that return what a function takes an event to, if it does."""
        return [f"if (found := {call}) is not None:", "    return found"]


class RunInput:
    """`run(rows)`: a generator; `general` takes a row that is not plain.

    Where rows are taken in order, the clock is a local variable between hand-overs, unless it is `watched`, and so is
    the number of the last row, if rows are `counted`. Whoever takes a match may change the rules: then `changed` is no
    longer empty, and `rest` takes the rows that are left. So may who makes the rows: the guard of the engine then notes
    that it was `visited`. One thread at a time is inside, and none while the caller has a match; then it is not `here`.
    """

    done = "continue"
    given = "given"

    def __init__(
        self, state: State, general: Callable[[Any], Any], records: NamedReader, changed: list[bool],
        rest: Callable[[Any], Any], *, in_order: bool = True, watched: bool = False, counted: bool = False,
    ) -> None:  # fmt: skip
        self.code = Code(["rows"])
        self.code.long_running = True
        self.general = general
        self.records = records
        self.enter = [*enter_lines(self.code, state, str(SOMEONE)), "here = True"]
        self.leave = ["inside = was", "here = False"]
        self.kept = f"{self.code.constant(state)}.clock"
        self.clock = self.kept if watched else "clock"
        self.count = f"{self.code.constant(state)}.number" if counted and not watched else None
        self.in_order = in_order
        self.several = False
        self.changed, self.rest = changed, rest

    @contextmanager
    def events(self, arities: list[int], other: Other | None) -> Iterator[None]:
        """Begin what is done with every row; `other` writes what is done with one of another number of attributes."""
        code = self.code
        visited = [f"visited = [*{code.constant(self.changed)}]"] if self.in_order else []
        code.add(["rows = iter(rows)", *visited, *self.enter])
        code.add(self._look_up() if self.in_order else [])
        self.several = len(arities) > 1
        with code.block("try:"), code.block("for given in rows:"):
            again = self._hand_over(f"{code.constant(chain)}((given,), rows)")
            if self.in_order:
                with code.block("if visited:"):
                    code.add(["visited.clear()", *self._catch_up(), *again])
            else:
                code.add(again)
            self._read(arities, other)
            yield
            if self.in_order:
                self.otherwise()
        with code.block("finally:"):
            if self.in_order:
                with code.block(f"if {self.kept} < {self.clock} < {code.constant(NEVER)}:"):
                    code(f"{self.kept} = {self.clock}")
            if self.count:
                with code.block(f"if number > {self.count}:"):
                    code(f"{self.count} = number")
            with code.block("if here:"):
                code("inside = was")

    def _read(self, arities: list[int], other: Other | None) -> None:
        """Write that a row is read, as one of so many attributes: `n` tells how many, where that differs."""
        code = self.code
        for number, arity in enumerate(arities):
            length = "n" if number else "(n := len(given))" if self.several else "len(given)"
            with code.block(f"{'el' if number else ''}if type(given) is tuple and {length} == {arity + 2}:"):
                self._unpack(arity, "given")
        with code.block("else:"):
            code("row = given")
            with code.block("if type(given) is dict:"):
                self.records.write_row(code, self._tell)
            with code.block("elif type(given) is not tuple:"):
                code(f"row = {code.constant(_as_tuple)}(given)")
            with code.block("if row is None:"):
                code("pass")
            for arity in arities:
                with code.block(f"elif len(row) == {arity + 2}:"):
                    self._unpack(arity, "row")
                    self._tell(arity)
            with code.block("else:"):
                if other is not None:
                    with code.block("if len(row) > 1:"):
                        code("(name, *row, at) = row")
                        other("row")
                self.otherwise()

    def _unpack(self, arity: int, row: str) -> None:
        self.code(f"({', '.join(['name', *places(arity), 'at'])}) = {row}")

    def _tell(self, arity: int) -> None:
        self.code.add([f"n = {arity + 2}"] if self.several else [])

    @contextmanager
    def of_arity(self, number: int, arity: int) -> Iterator[None]:
        """Begin the block for rows of so many attributes."""
        if not self.several:
            yield
            return
        with self.code.block(f"{'el' if number else ''}if n == {arity + 2}:"):
            yield

    def otherwise(self) -> None:
        """Write that a row goes the general way."""
        self.code.add(self.all_of(f"{self.code.constant(self.general)}(given)"))
        self.code("continue")

    def own(self, events: list[str]) -> list[str]:
        """Return the lines that yield matches."""
        return self._in_time([*self.leave, *(f"yield {event}" for event in events), *self.enter])

    def all_of(self, several: str, first: Sequence[str] = ()) -> list[str]:
        """Return the lines that yield a tuple of matches, after others at the time of the event."""
        lines = (*self.leave, "yield from found", *self.enter)
        return self._in_time([*first, f"found = {several}", "if found:", *(f"    {line}" for line in lines)])

    def taken_by(self, call: str) -> list[str]:
        """Return the lines that yield what a function takes an event to, else the general way."""
        general = f"{self.code.constant(self.general)}(given)"
        return [*self.all_of(f"found if (found := {call}) is not None else {general}"), self.done]

    def _in_time(self, lines: list[str]) -> list[str]:
        """Return lines between which others may look at the clock and move it, and change the rules."""
        if not self.in_order:
            return lines
        before = [f"{self.kept} = {self.clock}", *([f"{self.count} = number"] if self.count else [])]
        return [*before, *lines, *self._look_up(), *self._hand_over("rows")]

    def _look_up(self) -> list[str]:
        """Return lines that look at the clock, which others may have moved, and at the number of the last row."""
        return [f"{self.clock} = {self.kept}", *([f"number = {self.count}"] if self.count else [])]

    def _catch_up(self) -> list[str]:
        """Return lines that look at the same where a visitor may have come before the last event had been taken."""
        of_clock = [f"if {self.clock} < {self.kept}: {self.clock} = {self.kept}"] if self.clock != self.kept else []
        return [*of_clock, *([f"if number < {self.count}: number = {self.count}"] if self.count else [])]

    def _hand_over(self, rows: str) -> list[str]:
        """Return lines that hand over the rows that are left, if the rules have changed."""
        changed, rest = self.code.constant(self.changed), self.code.constant(self.rest)
        return [f"if {changed}:", *(f"    {line}" for line in (*self.leave, f"yield from {rest}({rows})", "return"))]


def _as_tuple(given: Any) -> tuple[Any, ...]:
    """Return a row that is a tuple by another name as one, such as a named tuple; an empty one goes the general way."""
    return tuple(given) if isinstance(given, tuple) and not isinstance(given, Event) else ()


class CallInput:
    """An event in order that a function takes for another one; it returns what was due, None for the general way."""

    given = "given"

    def __init__(self, parameters: list[str], state: State, due: str) -> None:
        self.code = Code(parameters)
        self.clock = self.kept = f"{self.code.constant(state)}.clock"
        self.done = f"return {due}"

    def otherwise(self) -> None:
        """Write that an event goes the general way."""
        self.code("return None")


class ReleaseOutput:
    """Matches of a function that gathers them in `out`."""

    done = "continue"

    def __init__(self) -> None:
        self.code = Code(["until"])

    def own(self, events: list[str]) -> list[str]:
        """Return the lines that gather matches."""
        return [f"out.append({event})" for event in events]

    def all_of(self, several: str, first: Sequence[str] = ()) -> list[str]:
        """Return the lines that gather a tuple of matches, after others."""
        return [*first, f"out.extend({several})"]


class FollowOutput:
    """What follows from an event that a rule has made: reported events are gathered in `out` as they are."""

    done = ""

    def __init__(self) -> None:
        self.code = Code(["raw", "out"])

    def own(self, events: list[str]) -> list[str]:
        """Return the lines that gather events."""
        return [f"out.append({event})" for event in events]

    def all_of(self, several: str, first: Sequence[str] = ()) -> list[str]:
        """Return the lines that gather a tuple of events, after others."""
        return [*first, f"out.extend({several})"]


EventInput: TypeAlias = PushInput | RunInput
Taker: TypeAlias = EventInput | CallInput
MatchOutput: TypeAlias = PushInput | RunInput | ReleaseOutput | FollowOutput
