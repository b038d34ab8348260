"""Reactions where matches are taken back: they follow the changelog of matches, not the runs that find it.

All corrections of one input are found first: with a match that is gone go the events that its action has raised, which
are events of the history, and what follows from those. Then what was done for matches that are gone is undone, the
latest first, and those that have come take their turns: now, on the state that there is, raising at the time reached.
Law: events are those of the corrected history, state is what was done and undone (definition 24.50).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from etalis.reactive.effects.sink import EffectSink
from etalis.reactive.effects.transaction import Branch, Cause, Transaction
from etalis.runtime.reactions.reactor import Reactor
from etalis.runtime.reactions.transaction import TurnContext
from etalis.runtime.revision.revision import Revision
from etalis.runtime.run_loop import RunLoop
from etalis.runtime.state import Raw
from etalis.temporal.event import EventKind, Retraction, new_event

_OVER = ("failed", "undone")  # what needs no undoing


class CorrectedReactions:
    """What corrections mean for the reactions of one engine."""

    def __init__(self, run_loop: RunLoop, revision: Revision, reactor: Reactor, context: TurnContext) -> None:
        self.run_loop = run_loop
        self.revision = revision
        self.reactor = reactor
        self.sink: EffectSink = context.sink
        self.ledger = context.ledger
        self.ledger.remembers = True
        self.program = context.program
        self._gone: dict[tuple[Any, ...], Raw] = {}
        self._come: dict[tuple[Any, ...], Raw] = {}
        self._follows = False

    def part(self, was: list[Raw], made: list[Raw]) -> tuple[list[Raw], list[Raw]]:
        """Take the matches of reactions out of two runs, and note which differ; return the others."""
        before, after = self._matches(was), self._matches(made)
        for identity, raw in before.items():
            if identity not in after and self._come.pop(identity, None) is None:
                self._gone[identity] = raw
        for identity, raw in after.items():
            if identity not in before and self._gone.pop(identity, None) is None:
                self._come[identity] = raw
        if not before and not after:
            return was, made
        places = self.reactor.places
        return (
            [raw for raw in was if raw[2].number not in places],
            [raw for raw in made if raw[2].number not in places],
        )

    def _matches(self, raws: list[Raw]) -> dict[tuple[Any, ...], Raw]:
        places = self.reactor.places
        return {_identity(raw): raw for raw in raws if raw[2].number in places}

    def remember(self, name: str, args: tuple[Any, ...], start: int, end: int) -> None:
        """Take an event that was raised into the history."""
        self.revision.remember_raised((name, len(args)), args, start, end)

    def follow(self, out: list[Any]) -> None:
        """Undo what was done for matches that are gone, and let those that have come take their turns."""
        if self._follows:
            return
        self._follows = True
        try:
            self._undo(self._take_back_raised(out))
            come, self._come = list(self._come.values()), {}
            if come:
                self._react(come, out)
        finally:
            self._follows = False

    def take_back(self, transaction: Transaction, out: list[Any]) -> None:
        """Take back the events that a transaction has raised which is undone for another reason."""
        self._retract(transaction, out)
        self.follow(out)

    def forget_before(self, limit: int) -> None:
        """Forget transactions of matches that change no more."""
        self.ledger.forget_before(limit)

    def _take_back_raised(self, out: list[Any]) -> list[Transaction]:
        """Take back what was raised for matches that are gone, until no other match goes; return their transactions."""
        found: dict[str, Transaction] = {}
        while self._gone:
            _, raw = self._gone.popitem()
            transaction = self._find(raw)
            if transaction is not None and transaction.id not in found:
                found[transaction.id] = transaction
                self._retract(transaction, out)
        order = {transaction.id: place for place, transaction in enumerate(self.ledger.all())}
        return sorted(found.values(), key=lambda transaction: -order[transaction.id])

    def _find(self, raw: Raw) -> Transaction | None:
        """Return what was done for a match, its latest attempt."""
        kind = raw[2]
        *bindings, match = raw[3 : 3 + kind.arity]
        turn = self.reactor.reactions[kind.number]
        found = None
        branches: tuple[Branch, ...] = ("do", "else")
        for branch in branches:
            cause = Cause(self.program, turn.label, turn.number, tuple(bindings), (raw[1], raw[0]), match, branch)
            while (known := self.ledger.find(cause.id)) is not None:
                found = known
                cause = replace(cause, attempt=cause.attempt + 1)
        return None if found is None or found.state in _OVER else found

    def _retract(self, transaction: Transaction, out: list[Any]) -> None:
        """Take back the events that a transaction has raised, the latest first."""
        revision = self.revision
        for name, args, start, end in reversed(transaction.raised):
            kind = (name, len(args))
            place = revision.find(name, args, start, end, before=False) if kind in revision.history.parts else None
            if self.run_loop.rules.heads.reports_raised(name, args):
                names = self.run_loop.program.attributes.get(kind, ())
                out.append(new_event(Retraction, (end, start, EventKind(*kind, None, names), *args)))
            if place is not None:
                revision.retract(place, out)

    def _undo(self, transactions: list[Transaction]) -> None:
        for transaction in transactions:
            done = self.sink.undo(transaction) if transaction.rows else replace(transaction, state="undone")
            turn = self.reactor.find(transaction.cause.label, transaction.cause.number)
            changed = transaction.changed and transaction.cause.branch == "do"
            is_undone = not changed if turn is None else turn.take_back(transaction, self.run_loop.state.now)
            self.ledger.put(done if is_undone else replace(done, state="stuck"))

    def _react(self, come: list[Raw], out: list[Any]) -> None:
        kinds = self.run_loop.rules.heads.kinds
        raws = [(raw[0], raw[1], kinds[raw[2].number], *raw[3:]) for raw in come]
        run_loop = self.run_loop
        taking, run_loop.taking = run_loop.taking, True
        try:
            run_loop.count_anew()
            run_loop.state.reacting.extend(raws)
            run_loop.settle(out)
        finally:
            run_loop.taking = taking


def _identity(raw: Raw) -> tuple[Any, ...]:
    """Return what a match goes by: its reaction, interval, bindings and number."""
    kind = raw[2]
    return (kind.number, *raw[:2], *raw[3 : 3 + kind.arity])
