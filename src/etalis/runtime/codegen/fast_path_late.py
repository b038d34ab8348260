"""The ways in where events are held until they are settled, generated: `push` and `run` that hold, and let go in order.

They do for plain input (whole seconds, plain attributes, one source) what `Disorder.take` does in general, and hand
everything else to it. What they let go is in order already, so the leaves are written in without a look at the clock.
Law: whatever is held, by either way, is in order of (end, start, rank).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from etalis.runtime.codegen.fast_path import EntryWriter, Kind
from etalis.runtime.codegen.source import Code
from etalis.runtime.lateness.watermark import PLAIN, HeldRow
from etalis.runtime.state import NEVER
from etalis.runtime.thread_guard import Turns, entered
from etalis.temporal.interval import EARLIEST, LATEST, MICROSECONDS

if TYPE_CHECKING:
    from etalis.runtime.lateness.lateness import Disorder
    from etalis.temporal.event import Event


@dataclass(frozen=True, slots=True)
class Way:
    """How generated code hands out events: its own, all that a function returns, and that there are no more."""

    own: Callable[[list[str]], list[str]]
    all_of: Callable[[str], list[str]]
    done: str


RETURNED = Way(
    lambda events: [f"return ({''.join(e + ', ' for e in events)})"], lambda several: [f"return {several}"], "return ()"
)
GATHERED = Way(
    lambda events: [f"out.append({event})" for event in events], lambda several: [f"out.extend({several})"], "continue"
)


class HoldingWriter:
    """Writes the entries of an engine that holds what comes, and does no more (`Disorder.holds_plainly`)."""

    def __init__(self, entries: EntryWriter, disorder: Disorder, settle: Callable[[], Any]) -> None:
        assert disorder.held is not None
        assert disorder.watermark is not None
        self.entries = entries
        self.disorder = disorder
        self.settle = settle
        self.rows = disorder.held.rows
        self.mark = disorder.watermark
        self.arities = sorted({arity for _, arity in entries.hot}, reverse=True)

    def push(self, general: Callable[..., Any]) -> Callable[..., Any]:
        """Write `push(name, *attributes, at, **named)`; `general` takes what is not plain."""
        places = _places(self.arities[0])
        code = self.entries.push_code(places)
        otherwise = partial(code, "break")  # out of what is done once at most
        state, calls_out = self.entries.state, self.entries.calls_out
        with code.block("while type(at) is int and not named:"), entered(code, state, calls_out=calls_out):
            for number, arity in enumerate(self.arities):
                with code.block(f"{'el' if number else ''}if True{self.entries.count(code, arity, places)}:"):
                    self._read(code, arity, otherwise)
            with code.block("else:"):
                otherwise()
            self._hold(code, RETURNED, otherwise)
            with code.block(f"if {code.constant(self.rows)}[1][0] <= r:"):
                code(f"return {code.constant(self._release_many())}(r)")
            code(f"row = {code.constant(self.rows.popleft)}()")
            self._let_go(code, RETURNED)
        self.entries.pass_on(code, places, general)
        return self.entries.compiler.finish(code, "push")

    def run(self, general: Callable[[Any], Any]) -> Callable[..., Any]:
        """Write `run(rows)`; `general` takes a row that is not plain."""
        code = Code(["rows"])
        code.long_running = True
        held = code.constant(self.rows)
        turns = Turns(code, self.entries.state)
        yielded = Way(turns.hand_out, turns.hand_out_all, "continue")

        def otherwise() -> None:
            for line in turns.hand_out_all(f"{code.constant(general)}(given)"):
                code(line)
            code("continue")

        with turns.taken(), code.block("for given in rows:"):
            for number, arity in enumerate(self.arities):
                with code.block(f"{'el' if number else ''}if type(given) is tuple and len(given) == {arity + 2}:"):
                    code(f"({', '.join(['name', *_places(arity), 'at'])}) = given")
                    with code.block("if type(at) is not int or type(name) is not str:"):
                        otherwise()
                    self._read(code, arity, otherwise)
            with code.block("else:"):
                otherwise()
            self._hold(code, yielded, otherwise)
            with code.block(f"while {held} and (row := {held}[0])[0] <= r:"):
                code(f"{code.constant(self.rows.popleft)}()")
                self._let_go(code, yielded)
        return self.entries.compiler.finish(code, "run")

    def _read(self, code: Code, arity: int, otherwise: Callable[[], None]) -> None:
        """Write the row to be held, of rank `n`; without declared types, attributes alone tell how to convert them."""
        places = _places(arity)
        if self.entries.rules.program.signatures:
            for number, kind in enumerate(self._kinds(arity)):
                with code.block(f"{'el' if number else ''}if name == {code.constant(kind[0])}:"):
                    self.entries.convert_or(code, kind, places, otherwise)
            with code.block("else:"):
                otherwise()
        else:
            self.entries.convert_or(code, ("", arity), places, otherwise)
        code(f"t = at * {MICROSECONDS}")
        code(f"n = {code.constant(self.disorder)}.ranked")
        code(f"row = ({', '.join(['t', 't', 'n', code.constant(PLAIN), 'name', *places])})")

    def _kinds(self, arity: int) -> list[Kind]:
        return [kind for kind in self.entries.hot if kind[1] == arity]

    def _hold(self, code: Code, way: Way, otherwise: Callable[[], None]) -> None:
        """Write that a row is held, and go on if that lets any go: those that end at or before `r`."""
        rows, mark, ranked = map(code.constant, (self.rows, self.mark, self.disorder))
        if self.entries.ahead is not None:
            with code.block(f"if t - {mark}.newest > {self.entries.ahead * MICROSECONDS}:"):
                otherwise()
        with code.block(f"if {LATEST} >= t > {mark}.newest:"):
            code(f"{rows}.append(row)")
            code(f"{mark}.newest = t")
            code(f"{ranked}.ranked = n + 1")
        with code.block(f"elif {EARLIEST} <= t <= {mark}.newest < {code.constant(NEVER)} and t > {mark}.reached:"):
            code(f"{ranked}.ranked = n + 1")
            code(f"{code.constant(self._hold_late)}(row)")
            code(way.done)
        with code.block("else:"):
            otherwise()
        code(f"r = t - {code.constant(self.mark.bound + 1)}")
        with code.block(f"if {rows}[0][0] > r:"):
            code(way.done)

    def _hold_late(self, row: HeldRow) -> None:
        """Hold a row that is not the newest. Its place is shorter than a row: only end, start and rank are compared."""
        place, rows = (row[0], row[1], row[2] + 1), self.rows
        if rows and rows[-1] > place:
            rows.insert(bisect_left(rows, place), row)
        else:
            rows.append(row)

    def _let_go(self, code: Code, way: Way) -> None:
        """Write what is done with `row` once it is settled."""
        state = code.constant(self.entries.state)
        quiet = f"row[3] is {code.constant(PLAIN)} and {state}.seconds is not {code.constant(NEVER)}"
        for number, arity in enumerate(self.arities):
            counted = f" and len(row) == {5 + arity}" if len(self.arities) > 1 else ""
            with code.block(f"{'el' if number else ''}if {quiet}{counted}:"):
                code(f"({', '.join(['t', '_', '_', '_', 'name', *_places(arity)])}) = row")
                for place, kind in enumerate(self._kinds(arity)):
                    with code.block(f"{'el' if place else ''}if name == {code.constant(kind[0])}:"):
                        self._offer(code, kind, way)
        for line in way.all_of(f"{code.constant(self.disorder.release)}(row)"):
            code(line)

    def _offer(self, code: Code, kind: Kind, way: Way) -> None:
        code(f"{code.constant(self.entries.state)}.reached = t")
        if not self.entries.offer(code, kind, _places(kind[1]), way.own):
            with code.block(f"if {code.constant(self.entries.state.queue)}:"):
                for line in way.all_of(f"{code.constant(self.settle)}()"):
                    code(line)
        code(way.done)

    def _release_many(self) -> Callable[[int], tuple[Event, ...]]:
        """Write the function that lets go all rows up to a moment."""
        code = Code(["until"])
        rows = code.constant(self.rows)
        code("out = []")
        with code.block(f"while {rows} and (row := {rows}[0])[0] <= until:"):
            code(f"{code.constant(self.rows.popleft)}()")
            self._let_go(code, GATHERED)
        code("return tuple(out)")
        return self.entries.compiler.finish(code, "release")


def _places(arity: int) -> list[str]:
    return [f"x{i}" for i in range(arity)]
