"""The stage of the fast path that holds events until they are settled, and lets them go in order.

It does for plain input (moments, plain attributes, one source) what `Disorder.take` does in general. What it lets
go is in order already, so it is offered without a look at the clock. Law: whatever is held, by either path, is in order
of (end, start, rank).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from etalis.runtime.codegen.fast_path.inputs import EventInput, MatchOutput, PushInput, ReleaseOutput, RunInput, places
from etalis.runtime.lateness.watermark import PLAIN, HeldRow
from etalis.runtime.state import NEVER
from etalis.temporal.interval import EARLIEST, LATEST

if TYPE_CHECKING:
    from etalis.runtime.codegen.fast_path.matches import Kind
    from etalis.runtime.codegen.fast_path.stages import FastPath
    from etalis.runtime.lateness.lateness import Disorder


class HoldStage:
    """The stage of an engine that holds what comes, and does no more (`Disorder.holds_plainly`)."""

    def __init__(self, path: FastPath, disorder: Disorder) -> None:
        assert disorder.held is not None
        assert disorder.watermark is not None
        self.path = path
        self.disorder = disorder
        self.rows = disorder.held.rows
        self.mark = disorder.watermark

    def take(self, source: EventInput) -> None:
        """Write that events are held, and that those which are settled are let go."""
        self._hold(source)
        if isinstance(source, RunInput):
            self._let_go_until(source, "r")
            return
        code = source.code
        if self.path.passes_time:
            code(f"return {code.constant(self._release())}(r)")
            return
        with code.block(f"if {code.constant(self.rows)}[1][0] <= r:"):
            code(f"return {code.constant(self._release())}(r)")
        code(f"row = {code.constant(self.rows.popleft)}()")  # one, as a rule
        self._let_go(source)

    def _release(self) -> Callable[..., Any]:
        """Write the function that lets go all rows up to a moment."""
        output = ReleaseOutput()
        output.code("out = []")
        self._let_go_until(output, "until")
        output.code("return tuple(out)")
        return self.path.compiler.base.finish(output.code, "release")

    def _hold(self, source: EventInput) -> None:
        """Write that an event is held as a row, and go on if that lets any go: those that end at or before `r`."""
        code = source.code
        for number, arity in enumerate(self.path.arities):
            with source.of_arity(number, arity):
                self._read(source, arity)
        if isinstance(source, PushInput):  # rows have been looked at before
            with code.block("else:"):
                source.otherwise()
        rows, mark, ranked = map(code.constant, (self.rows, self.mark, self.disorder))
        if self.path.ahead is not None:
            with code.block(f"if t - {mark}.newest > {self.path.ahead}:"):
                source.otherwise()
        with code.block(f"if t > {mark}.newest:"):
            code(f"{rows}.append(row)")
            code(f"{mark}.newest = t")
            code(f"{ranked}.ranked = n + 1")
        with code.block(f"elif {mark}.newest < {code.constant(NEVER)} and t > {mark}.reached:"):
            code(f"{ranked}.ranked = n + 1")
            code(f"{code.constant(self._hold_late)}(row)")
            code(source.done)
        with code.block("else:"):
            source.otherwise()
        code(f"r = t - {code.constant(self.mark.bound + 1)}")
        due = f" and r < {code.constant(self.path.state.timers)}.due" if self.path.passes_time else ""
        with code.block(f"if {rows}[0][0] > r{due}:"):
            code(source.done)

    def _read(self, source: EventInput, arity: int) -> None:
        """Write the row to be held, of rank `n`; without declared types, attributes alone tell how to convert them."""
        code = source.code
        self.path.moments.write(code)
        with code.block(f"if not {EARLIEST} <= t <= {LATEST}:"):  # a time is refused before attributes are
            source.otherwise()
        signatures, strict = self.path.rules.program.signatures, self.path.core.strict
        names = code.constant(frozenset(name for name, number in self.path.hot if number == arity))
        with code.block(f"if type(name) is not str{f' or name not in {names}' if strict else ''}:"):
            source.otherwise()
        if not signatures:
            self.path.convert(source, ("", arity))
        elif strict:
            self.path.by_kind(source, arity, lambda kind: self.path.convert(source, kind))
        else:
            with code.block(f"if name in {names}:"):
                self.path.by_kind(source, arity, lambda kind: self.path.convert(source, kind))
            with code.block(f"elif name not in {code.constant(signatures)}:"):
                self.path.convert(source, ("", arity))
            with code.block("else:"):
                source.otherwise()
        code(f"n = {code.constant(self.disorder)}.ranked")
        code(f"row = ({', '.join(['t', 't', 'n', code.constant(PLAIN), 'name', *places(arity)])})")

    def _hold_late(self, row: HeldRow) -> None:
        """Hold a row that is not the newest. Its place is shorter than a row: only end, start and rank are compared."""
        place, rows = (row[0], row[1], row[2] + 1), self.rows
        if rows and rows[-1] > place:
            rows.insert(bisect_left(rows, place), row)
        else:
            rows.append(row)

    def _let_go_until(self, output: MatchOutput, until: str) -> None:
        """Write that all rows up to a moment are let go, and all that is due until then."""
        code, timers = output.code, self.path.state.timers
        rows = code.constant(self.rows)
        with code.block(f"while {rows} and (row := {rows}[0])[0] <= {until}:"):
            code(f"{code.constant(self.rows.popleft)}()")
            self._let_go(output)
        if self.path.passes_time:
            with code.block(f"if {until} >= {code.constant(timers)}.due:"):
                code.add(output.all_of(f"{code.constant(self.path.lapse)}({until} + 1)"))

    def _let_go(self, output: MatchOutput) -> None:
        """Write what is done with `row` once it is settled."""
        code, arities = output.code, self.path.arities
        state = code.constant(self.path.state)
        quiet = f"row[3] is {code.constant(PLAIN)} and {state}.clock is not {code.constant(NEVER)}"
        for number, arity in enumerate(arities):
            with code.block(f"{'el' if number else ''}if {quiet} and len(row) == {5 + arity}:"):
                code(f"({', '.join(['t', '_', 'n', '_', 'name', *places(arity)])}) = row")
                self.path.by_kind(output, arity, lambda kind: self._offer(output, kind))
                self._count_unread(output, arity)
        code.add(output.all_of(f"{code.constant(self.disorder.release)}(row)"))

    def _count_unread(self, output: MatchOutput, arity: int) -> None:
        """Write that an event which no rule reads is counted."""
        code, rules = output.code, self.path.rules
        with code.block(f"if (name, {arity}) not in {code.constant(rules.processors)}:"):
            self._reach(output)
            code(f"{code.constant(rules.evidence.unread_names[arity])}[name] += 1")
            if self.path.passes_time:
                with code.block("if due:"):
                    code.add(output.all_of("due"))
            code(output.done)

    def _offer(self, output: MatchOutput, kind: Kind) -> None:
        self._reach(output)
        self.path.matches.write(output, kind)

    def _reach(self, output: MatchOutput) -> None:
        """Write that time reaches an event, after all that is due before it."""
        code, state = output.code, output.code.constant(self.path.state)
        if self.path.passes_time:
            code("due = ()")
            with code.block(f"if t > {code.constant(self.path.state.timers)}.due:"):
                code(f"due = {code.constant(self.path.lapse)}(t)")
        code(f"{state}.clock = t")
        if self.path.rules.traced:
            code(f"{state}.number = n")
            code.rope = "n"
