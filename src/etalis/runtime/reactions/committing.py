"""Commits of an engine to its outbox: what has become of its effects comes in, then state and effects go out.

Law: what comes in changes the engine before its state is taken, and is written with it; so a commit that fails, or that
nobody lives to see, is as if it had not been, and what came in comes again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from etalis.data.values import format_value
from etalis.errors import ConditionError, OptionError, Problem
from etalis.reactive.effects.transaction import EffectRow, Transaction
from etalis.reactive.outbox.commit_log import News
from etalis.reactive.outbox.outbox import Outbox
from etalis.reactive.outbox.sink import OutboxSink
from etalis.runtime.reactions.going_on import compensate
from etalis.runtime.state import NEVER
from etalis.temporal.event import Event
from etalis.temporal.interval import show_moment

if TYPE_CHECKING:
    from etalis.runtime.core import Core
    from etalis.runtime.snapshot.chain import SnapshotChain

UNDELIVERED = "undelivered"  # with the label and the effect


class Committer:
    """Commits one engine to one outbox; `position` is what was committed last."""

    def __init__(self, core: Core, sink: OutboxSink, outbox: Outbox, every: int) -> None:
        self.position: Any = None
        self._core = core
        self._sink = sink
        self._every = every
        self._taken = 0  # rows of `run` since the last commit
        self._log = outbox.log(core.program.name)
        self._log.claim()
        self._snapshots: SnapshotChain | None = None

    def commit(self, position: Any) -> tuple[Event, ...]:
        """Take in what has become of effects, then write state, position and new effects in one transaction."""
        chain, ledger = self._chain(), self._core.ledger
        out: list[Any] = []
        for news in self._log.news(ledger.heard):
            self._hear(news, out)
            ledger.heard = news.change
        link = chain.take(self._core)
        self._log.commit(self._sink.pending(), link.data, is_delta=link.is_delta, position=position)
        chain.keep(link)
        self._sink.clear()
        self.position, self._taken = position, 0
        return self._core.delivery.hand_out(out)

    def commit_here(self) -> tuple[Event, ...]:
        """Commit with the position that the rows of `run` have reached, or that of the last commit."""
        counts = self._taken > 0 and (self.position is None or type(self.position) is int)
        return self.commit((self.position or 0) + self._taken if counts else self.position)

    def room(self) -> int:
        """Return how many rows `run` may take until a commit is due."""
        return self._every - self._taken

    def count(self, rows: int) -> tuple[Event, ...]:
        """Note that `run` has taken rows, and commit where it is time: if no position is that of the host's own."""
        self._taken += rows
        if self._taken < self._every:
            return ()
        if self.position is not None and type(self.position) is not int:
            self._taken = 0
            return ()
        return self.commit_here()

    def with_states(self, transactions: Sequence[Transaction]) -> tuple[Transaction, ...]:
        """Return transactions with what has become of their effects so far."""
        return self._log.with_states(transactions)

    def settle(self, transaction: Transaction) -> None:
        """Have the next commit write what a person has said of a transaction."""
        self._sink.end(transaction)

    def close(self) -> None:
        """Give the connection back; another commit takes a new one."""
        self._log.close()

    def _chain(self) -> SnapshotChain:
        if self._snapshots is None:
            from etalis.runtime.snapshot.chain import SnapshotChain  # Arrow is loaded where it is needed

            self._snapshots = SnapshotChain()
        return self._snapshots

    def _hear(self, news: News, out: list[Any]) -> None:
        """Take in the end of a transaction; one of which the engine knows nothing is told again when it is made."""
        ledger = self._core.ledger
        known = ledger.find(news.id)
        if known is None:
            return
        if news.state == "done":
            ledger.sagas.delivered(news.id)
            if known.state == "open":
                ledger.put(replace(known, rows=tuple(replace(row, state="made") for row in known.rows), state="done"))
            return
        (found,) = self._log.with_states([known])
        found = replace(found, failed=news.failed)
        if known.state == "open" and news.failed is not None:
            self._undo(found, out)
        elif news.state == "stuck":
            ledger.put(replace(found, state="stuck"))
        else:
            ledger.put(found)

    def _undo(self, failed: Transaction, out: list[Any]) -> None:
        """Undo what could not be delivered, and let an event say so; once the stream is closed, nothing can."""
        core, row = self._core, failed.failed_row
        assert row is not None
        is_closed, undone = core.state.floor >= NEVER, False
        saga = core.ledger.sagas.of(failed.id)
        if saga is not None:
            compensate(saga, core.ledger, core.sink, but=failed.id)
        try:
            undone = not is_closed and take_back_facts(core, failed)
        finally:  # where the engine is strict, an undo that fails ends the commit
            is_stuck = not undone or any(each.state == "stuck" for each in failed.rows)
            ended = replace(failed, state="stuck" if is_stuck else "undone")
            self._end(ended)
        if not is_closed:
            core.run_loop.occur_now(UNDELIVERED, (failed.label, row.call), out)
        if core.corrected is not None:
            core.corrected.take_back(ended, out)
        core.fail(undelivered_error(ended, row))

    def _end(self, transaction: Transaction) -> None:
        self._core.ledger.put(transaction)
        if transaction.state == "stuck":
            self._sink.end(transaction)


def run_in_pieces(
    committer: Committer, rows: Iterable[Any], run: Callable[[Iterable[Any]], Iterator[Event]]
) -> Iterator[Event]:
    """Run rows, with commits between them; a piece ends where a commit is due."""
    rest = iter(rows)
    while True:
        piece = CountedRows(islice(rest, committer.room()))
        yield from run(piece)
        if not piece.count:
            return
        yield from committer.count(piece.count)


class CountedRows:
    """Rows, and how many of them were taken."""

    def __init__(self, rows: Iterator[Any]) -> None:
        self.count = 0
        self._rows = rows

    def __iter__(self) -> Iterator[Any]:
        for row in self._rows:
            self.count += 1
            yield row


def take_back_facts(core: Core, transaction: Transaction) -> bool:
    """Undo what a transaction did with facts; tell whether that was possible. What undoes another is not undone."""
    cause, reactor = transaction.cause, core.run_loop.reactor
    if cause.branch != "do" or reactor is None:
        return cause.branch == "else" and not transaction.changed
    turn = reactor.find(cause.label, cause.number)
    if turn is None:
        return not transaction.changed
    return turn.take_back(transaction, core.state.now)


def committer_of(core: Core, outbox: Outbox | None, every: int) -> Committer | None:
    """Return what commits an engine, if it has an outbox."""
    if outbox is None:
        return None
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise OptionError(Problem("E809", f"there is no commit every {every!r} rows", hint="every: 1, 2, 3 ..."))
    assert isinstance(core.sink, OutboxSink)
    return Committer(core, core.sink, outbox, every)


def undelivered_error(transaction: Transaction, row: EffectRow) -> ConditionError:
    """Return the error that an effect was not delivered."""
    start, end = map(show_moment, transaction.cause.interval)
    when = f"at {end}" if start == end else f"on [{start}, {end}]"
    message = (
        f"{transaction.label} {when} is {transaction.state}: {format_value(row.call)} was not delivered: {row.error}"
    )
    found = ConditionError(Problem("E803", message, hint="engine.transactions() shows what is left to do"))
    found.kind = (transaction.label, "E803", row.name)
    return found
