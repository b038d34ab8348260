"""Runs whose effects nobody makes: they are told, or written as JSON lines, with their keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from etalis.data.values import format_value
from etalis.reactive.effects.transaction import EffectRow, Transaction
from etalis.temporal.interval import show_moment, to_seconds
from etalis.temporal.json_values import to_plain, to_text

Tell = Callable[[Transaction, int], str]


class RehearsalSink:
    """Hands a line for every effect to `write`, and makes none."""

    def __init__(self, write: Callable[[str], object], tell: Tell) -> None:
        self._write = write
        self._tell = tell

    def perform(self, transaction: Transaction) -> Transaction:
        """Tell the effects."""
        for place in range(len(transaction.rows)):
            self._write(self._tell(transaction, place))
        return replace(transaction, rows=_as(transaction, "made"), state="done")

    def undo(self, transaction: Transaction) -> Transaction:
        """Take it that what was told need not be compensated: it was not made."""
        return replace(transaction, rows=_as(transaction, "dropped"), state="undone")


def _as(transaction: Transaction, state: str) -> tuple[EffectRow, ...]:
    return tuple(replace(row, state=state) for row in transaction.rows)  # type: ignore[arg-type]


def dry(write: Callable[[str], object] = print) -> RehearsalSink:
    """Return a sink that makes nothing, and tells in a line what would be made."""
    return RehearsalSink(write, tell_plainly)


def recording(write: Callable[[str], object]) -> RehearsalSink:
    """Return a sink that makes nothing, and hands each effect to `write` as a line of JSON."""
    return RehearsalSink(write, tell_as_json)


def nowhere() -> RehearsalSink:
    """Return a sink that makes nothing and tells nothing: for runs that only explain."""
    return dry(lambda _: None)


def tell_plainly(transaction: Transaction, place: int) -> str:
    """Return an effect as a line for people."""
    row, cause = transaction.rows[place], transaction.cause
    start, end = map(show_moment, cause.interval)
    branch = "" if cause.branch == "do" else f" ({cause.branch})"
    return f"effect {format_value(row.call)} [{start}, {end}] of {cause.label}{branch}, key {row.key}"


def tell_as_json(transaction: Transaction, place: int) -> str:
    """Return an effect as a line of JSON: a row of an outbox."""
    return to_text(as_row(transaction, place))


def as_row(transaction: Transaction, place: int) -> dict[str, Any]:
    """Return an effect as a row of an outbox."""
    row, cause = transaction.rows[place], transaction.cause
    start, end = map(to_seconds, cause.interval)
    return {
        "key": row.key,
        "transaction": transaction.id,
        "position": place,
        "reaction": cause.label,
        "name": row.name,
        "args": to_plain(row.args),
        "start": start,
        "end": end,
    }
