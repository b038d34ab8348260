"""Turns of reactions that wait, or that go on where others have waited: whose turn it is, and what ends it.

A saga that goes on does its next transaction; where that is not possible, or the wait ends first, all that it has done
is taken back: its effects are compensated, last first, then what stands behind `undo` is executed (definition 24.41).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from etalis.data.values import Struct, Value
from etalis.reactive.effects.ledger import Ledger
from etalis.reactive.effects.sagas import Saga, saga_name
from etalis.reactive.effects.sink import EffectSink
from etalis.reactive.effects.transaction import Branch, Transaction
from etalis.reactive.execution import Label
from etalis.runtime.state import Raw


def begin(raw: Raw, label: str, number: int, branch: Branch) -> Saga:
    """Return the saga that a match begins."""
    *bindings, match = raw[3 : 3 + raw[2].arity]
    return Saga(saga_name(label, number, branch, (raw[1], raw[0]), match, tuple(bindings)))


def with_name(saga: Saga, label: Label) -> Value:
    """Return the event that begins or ends a wait, with the saga that waits."""
    assert isinstance(label.term, Struct)
    return Struct(label.term.name, (saga.name, *label.term.args[1:]))


def went_on(saga: Saga, done: Transaction, labels: Sequence[Label], ledger: Ledger) -> None:
    """Note that a saga has done another transaction, at the end of which it may wait."""
    marks = [label.term.name for label in labels if label.wait == "begins" and isinstance(label.term, Struct)]
    ledger.sagas.put(replace(saga, mark=marks[-1] if marks else "", transactions=(*saga.transactions, done)))


def compensate(saga: Saga, ledger: Ledger, sink: EffectSink, *, but: str | None = None) -> bool:
    """Take back the effects of a saga, last first, but for a transaction of which that is known; tell if all are."""
    ledger.sagas.end(saga)
    is_undone = True
    for done in reversed(saga.transactions):
        if done.rows and done.id != but:
            found = sink.undo(ledger.find(done.id) or done)
            ledger.put(found)
            is_undone = is_undone and found.state != "stuck"
    return is_undone
