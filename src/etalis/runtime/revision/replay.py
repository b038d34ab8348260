"""Replay of histories, partition by partition, next to the running engine.

Only one partition's own events go through at a time, so all the state they come to is that partition's, whatever the
join keys. It is then put in the place of the partition's state in the engine that runs. Every epoch of the history has
its own rule set (`epochs`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from etalis.errors import ConditionError
from etalis.plan.keys import Kind
from etalis.runtime.changes import Changes
from etalis.runtime.limits.expiry import expires, sweep
from etalis.runtime.revision.row_log import Row
from etalis.runtime.revision.rule_epochs import Content, Epoch, Shelves, Turn, carry
from etalis.runtime.run_loop import RunLoop
from etalis.runtime.state import BEGINNING, NEVER, Raw, State

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram
    from etalis.runtime.ruleset import Pair, RuleSet

Chain = list[tuple[Row, int]]  # rows of one partition with the numbers of their kinds
Order = Callable[[tuple[Row, int]], Any]
EVERY = 1024  # rows from one state that is noted on the way to the next
_OWN_NUMBERS = -(1 << 62)  # events of a replay are numbered apart from those of the engine that runs


class Replayer:
    """Runs histories from the states they begin with; between runs it is empty."""

    def __init__(self, program: CompiledProgram, again: Callable[..., RuleSet], rules: RuleSet, order: Order) -> None:
        self.errors: list[ConditionError] = []
        self.behind_due: Callable[[], Collection[int]] = tuple  # the ranks of events that come behind what is due
        self.order = order
        self.kinds: list[Kind] = []
        self.state = State()
        self.state.current = _OWN_NUMBERS
        self._made: dict[Any, Any] = {}
        self._again = again
        self.epochs = [self._epoch(0, None, rules)]
        self.run_loop = RunLoop(program, _change_nothing)
        self._changes = Changes(self.state, rules.conditions.solver.database, self.errors.append)
        self._errors_before: list[ConditionError] = []

    def _epoch(self, number: int, turn: Turn | None, rules: RuleSet, pairs: Sequence[Pair] | None = None) -> Epoch:
        """Return a new epoch with the rules of the engine that runs, or others."""
        self.state.now = BEGINNING
        like = (rules.rules if pairs is None else pairs, rules.first)
        copy = self._again(report=self.errors.append, state=self.state, made=self._made, like=like)
        return Epoch(number, turn, copy, self.kinds)

    def listen(self, kinds: Iterable[Kind]) -> None:
        """Take the kinds of event of the history, by number."""
        self.kinds = list(kinds)
        for epoch in self.epochs:
            epoch.listen(self.kinds)

    def begin_anew(self, rules: RuleSet) -> None:
        """Take other rules, for all of a history in which nothing has happened yet."""
        self.epochs = [self._epoch(0, None, rules)]

    def add(self, turn: Turn, rules: RuleSet) -> None:
        """Begin an epoch, with the rules that hold from a turn on."""
        self.epochs.append(self._epoch(self.epochs[-1].number + 1, turn, rules))

    def restore(self, epochs: Sequence[tuple[int, Turn | None, Sequence[Pair]]], rules: RuleSet) -> None:
        """Take the epochs of another run; the last has the rules of the engine that runs."""
        self.epochs = [self._epoch(number, turn, rules, pairs) for number, turn, pairs in epochs[:-1]]
        self.epochs.append(self._epoch(*epochs[-1][:2], rules))

    def drop_before(self, time: int) -> None:
        """Forget the epochs before the one that a moment is in."""
        del self.epochs[: self.at(time)]

    def at(self, time: int) -> int:
        """Return the place of the epoch that holds just before a moment."""
        return sum(epoch.turn is not None and epoch.turn.time < time for epoch in self.epochs[1:])

    @property
    def has_ticks(self) -> bool:
        """Whether any rules have time points."""
        return any(epoch.ticks for epoch in self.epochs)

    def run(
        self, base: Content | None, chain: Chain, settled: int, now: int, floor: int,
        noted: list[tuple[int, Content]] | None = None,
    ) -> tuple[list[Raw], Content]:  # fmt: skip
        """Run a history up to the time reached, deadlines as far as they are settled.

        Return all that it makes, and the state that it comes to. States on the way are `noted`, with how many rows come
        before them, while there is one epoch.
        """
        out: list[Raw] = []
        if noted is None or len(chain) <= EVERY or len(self.epochs) > 1:
            epoch = self._run_epochs(base, chain, settled, self.epochs[-1], out)
        else:
            epoch = self._run_epochs(base, [], settled, self.epochs[-1], out)
            self._run_noting(epoch, chain, settled, noted, out)
        self.run_loop.pass_time(now, out, inclusive=False)
        self.run_loop.pass_time(floor, out, inclusive=True)
        content = self._end(epoch, out)
        out += self.state.reacting
        return out, content

    def settle(self, base: Content | None, chain: Chain, settled: int, until: int) -> Content:
        """Run the history before a moment, under the rules up to it; return the state that it leaves behind."""
        out: list[Raw] = []
        epoch = self._run_epochs(base, chain, settled, self.epochs[self.at(until)], out)
        self.run_loop.pass_time(until, out, inclusive=False)
        sweep(epoch.rules, until)
        return replace(self._end(epoch, out, expires(epoch.rules)), now=max(self.state.now, until - 1))

    def _run_epochs(self, base: Content | None, chain: Chain, settled: int, last: Epoch, out: list[Raw]) -> Epoch:
        """Run a history through its epochs, up to and with the last of them."""
        self._forget_errors()
        self.state.reacting.clear()
        for each in self.epochs:
            each.rules.heads.number_anew()
        self.state.now = BEGINNING if base is None else base.now
        self.state.floor = BEGINNING
        self.run_loop.settled = settled
        epoch = self.epochs[0 if base is None else base.epoch - self.epochs[0].number]
        self._enter(epoch, None if base is None else epoch.shelves.copy(base))
        done = 0
        while epoch is not last:
            after = self.epochs[epoch.number + 1 - self.epochs[0].number]
            assert after.turn is not None
            end = bisect_right(chain, after.turn.place, key=self.order)
            self._run(epoch, chain[done:end], out)
            done = max(done, end)
            self.run_loop.pass_time(after.turn.time, out, inclusive=after.turn.passed)
            self.state.now = max(self.state.now, after.turn.time)
            self._enter(after, carry(epoch.shelves.take(), epoch, after, settled))
            epoch = after
        self._run(epoch, chain[done:], out)
        return epoch

    def _enter(self, epoch: Epoch, content: Content | None) -> None:
        """Let the rules of an epoch hold, over the state that it begins with."""
        self.run_loop.begin(epoch.rules, self._changes)
        if content is not None:
            epoch.shelves.put(content)
        if epoch.ticks:
            epoch.rules.ticks = [tick for tick in epoch.ticks if tick[0] > self.state.now]

    def _end(self, epoch: Epoch, out: list[Raw], last: int = NEVER) -> Content:
        for raw in out:
            raw[2].made.reset()
        return replace(epoch.shelves.take(), epoch=epoch.number, expires=last)

    def swap(self, key: Any, old: Chain, new: Chain, live: Shelves) -> tuple[list[Raw], list[Raw]]:
        """Run a history as it was and as it is, where all that waits stands under the bare key and nothing is timed.

        Return what either makes, and put the state in the place of the key's.
        """
        (epoch,) = self.epochs
        self.run_loop.begin(epoch.rules, self._changes)
        was = self._run_plainly(old)
        tables, fifos = epoch.shelves.tables, epoch.shelves.fifos
        held = [key in table for table in tables]  # other partitions may stand under an equal key elsewhere
        for table in tables:
            if table:
                table.clear()
        for fifo in fifos:
            fifo.clear()
        made = self._run_plainly(new)
        for table, other, is_held in zip(tables, live.tables, held, strict=True):
            if is_held:
                other.pop(key, None)
            if table:
                other.update(table)
                table.clear()
        if fifos:
            for fifo, queue in zip(fifos, live.fifos, strict=True):
                queue.extend(fifo)
                fifo.clear()
        return was, made

    def _run_plainly(self, chain: Chain) -> list[Raw]:
        run_loop, state, processors = self.run_loop, self.state, self.epochs[-1].processors
        queue, traced = state.queue, self.epochs[-1].rules.traced
        self._forget_errors()
        out: list[Raw] = []
        for row, number in chain:
            state.clock = row[0]
            processors[number](_with_rope(row) if traced else row)
            if queue:
                if len(queue) == 1 and queue[0][2].feeds is None:  # no rounds follow, and all that is made is reported
                    out.append(queue.pop())
                else:
                    run_loop.made = 0
                    run_loop.settle(out)
        for raw in out:
            raw[2].made.reset()
        return out

    def _forget_errors(self) -> None:
        """Keep the errors of the last run apart from those of the next."""
        if self.errors or self._errors_before:
            self._errors_before = self.errors.copy()
            self.errors.clear()

    def new_errors(self) -> list[ConditionError]:
        """Return the errors of conditions in the last run that the one before did not have."""
        if not self.errors:
            return []
        known = set(map(str, self._errors_before))
        return [error for error in self.errors if str(error) not in known]

    def _run_noting(
        self, epoch: Epoch, chain: Chain, settled: int, noted: list[tuple[int, Content]], out: list[Raw]
    ) -> None:
        """Run a history and note states between rows of different ends, where no deadline that is past waits."""
        begin = 0
        while begin < len(chain):
            stop = begin + EVERY
            while stop < len(chain) and chain[stop][0][0] == chain[stop - 1][0][0]:
                stop += 1
            self._run(epoch, chain[begin:stop], out)
            if stop < len(chain) and self.state.now <= settled:
                noted.append((stop, replace(epoch.shelves.copy(epoch.shelves.look()), epoch=epoch.number)))
            begin = stop

    def _run(self, epoch: Epoch, chain: Chain, out: list[Raw]) -> None:
        run_loop, state, numbered, traced = self.run_loop, self.state, epoch.rules.numbered, epoch.rules.traced
        behind = frozenset(self.behind_due())
        for row, number in chain:
            end = row[0]
            if end != state.now:
                run_loop.move_to(end, out)
            if behind and row[2] in behind:
                run_loop.pass_time(end, out, inclusive=True)
            run_loop.made = 0
            if traced:
                row = _with_rope(row)
            if numbered:
                run_loop.occur(*self.kinds[number], row)
            else:
                epoch.processors[number](row)
            if state.queue:
                run_loop.settle(out)


def _with_rope(row: Row) -> Raw:
    """Return a row as an event that was received, made of itself."""
    return (*row[:2], None, *row[3:], row[2])


def _change_nothing(step: Any) -> None:
    """Goals that act on a run are refused where events are run again."""
    raise AssertionError(step)
