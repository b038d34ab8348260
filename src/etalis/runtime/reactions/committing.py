"""Commits of an engine to its outbox: what has become of its effects comes in, then state and effects go out.

Law: what comes in changes the engine before its state is taken, and is written with it; so a commit that fails, or that
nobody lives to see, is as if it had not been, and what came in comes again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from etalis.reactive.effects.transaction import Transaction
from etalis.reactive.outbox.commit_log import News
from etalis.reactive.outbox.outbox import Outbox
from etalis.reactive.outbox.sink import OutboxSink
from etalis.runtime.snapshot.chain import SnapshotChain
from etalis.runtime.state import NEVER

if TYPE_CHECKING:
    from etalis.runtime.core import Core

UNDELIVERED = ("undelivered", 2)


class Committer:
    """Commits one engine to one outbox."""

    def __init__(self, core: Core, sink: OutboxSink, outbox: Outbox, every: int) -> None:
        self.position: Any = None
        self.every = every
        self._core = core
        self._sink = sink
        self._log = outbox.log(core.program.name)
        self._log.claim()
        self._chain = SnapshotChain()

    def commit(self, position: Any, out: list[Any]) -> None:
        """Take in what has become of effects, then write state, position and new effects in one transaction."""
        for news in self._log.news(self._core.ledger.heard):
            self._hear(news, out)
            self._core.ledger.heard = news.change
        link = self._chain.take(self._core)
        self._log.commit(self._sink.pending(), link.data, is_delta=link.is_delta, position=position)
        self._chain.keep(link)
        self._sink.clear()
        self.position = position

    def close(self) -> None:
        """Give the connection back."""
        self._log.close()

    def _hear(self, news: News, out: list[Any]) -> None:
        """Take in the end of a transaction; one of which the engine knows nothing is told again when it is made."""
        ledger = self._core.ledger
        known = ledger.find(news.id)
        if known is None:
            return
        found = replace(self._log.with_states(known), failed=news.failed)
        if known.state == "open" and news.failed is not None:
            self._undo(found, out)
        elif news.state == "stuck":
            ledger.put(replace(found, state="stuck"))
        elif known.state == "open":
            ledger.put(replace(found, state="done"))
            ledger.forget_settled()

    def _undo(self, failed: Transaction, out: list[Any]) -> None:
        """Undo what could not be delivered, and let an event say so."""
        core, row = self._core, failed.failed_row
        assert row is not None
        is_stuck = any(each.state == "stuck" for each in failed.rows)
        core.failures.add(_failure(failed))
        if core.state.floor >= NEVER:
            self._end(replace(failed, state="stuck"))
            return
        undone = core.undo(failed)
        self._end(replace(undone, state="stuck") if is_stuck else undone)
        core.occur(UNDELIVERED[0], (failed.label, row.call), out)

    def _end(self, transaction: Transaction) -> None:
        self._core.ledger.put(transaction)
        if transaction.state == "stuck":
            self._sink.end(transaction)
