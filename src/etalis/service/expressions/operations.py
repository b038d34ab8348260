"""What can happen to the expressions of a service: each operation is an entry of the log and says all it needs."""

from __future__ import annotations

from typing import Any

import msgspec


class TypeSignal(msgspec.Struct, tag="t", array_like=True, frozen=True):
    """An instance of a type: an operator of a language, with parameters."""

    operator: str
    language: str
    parameters: dict[str, str]
    at: int | None = None  # microseconds
    told: str | None = None  # the time as its sender wrote it
    id: str | None = None


class LeafSignal(msgspec.Struct, tag="l", array_like=True, frozen=True):
    """Instances of a leaf: their bindings."""

    number: int
    path: str
    tuples: list[dict[str, str]]
    at: int | None = None
    told: str | None = None
    id: str | None = None


class LeafEnd(msgspec.Struct, tag="e", array_like=True, frozen=True):
    """That a leaf will have no more instances."""

    number: int
    path: str


class LeafFailure(msgspec.Struct, tag="f", array_like=True, frozen=True):
    """That a leaf cannot be detected."""

    number: int
    path: str
    code: str
    text: str


Signal = TypeSignal | LeafSignal | LeafEnd | LeafFailure


class Register(msgspec.Struct, tag="register", frozen=True):
    """An expression, as JSON, that a client registers."""

    number: int
    client: str
    expression: dict[str, Any]
    provided: list[str]
    callback: str | None = None
    form: str = "json"
    beginnings: dict[str, str] = {}  # where evaluators begin, by the path of the leaf


class Unregister(msgspec.Struct, tag="unregister", frozen=True):
    """That an expression is wanted no more."""

    number: int


class Signals(msgspec.Struct, tag="signals", frozen=True):
    """The signals of one body, in order."""

    signals: list[Signal]
    trace: str | None = None


class Emitted(msgspec.Struct, tag="emitted", frozen=True):
    """What an evaluator of ours found; `start` and `end` where it has a time of its own."""

    number: int
    path: str
    bindings: dict[str, str]
    cursor: str | None = None
    start: int | None = None
    end: int | None = None


class Began(msgspec.Struct, tag="began", frozen=True):
    """The id that a remote provider gave to a leaf."""

    number: int
    path: str
    provider_id: str


class AdvanceTime(msgspec.Struct, tag="advance", frozen=True):
    """That time has come to a moment."""

    to: int


class NewKnowledge(msgspec.Struct, tag="knowledge", frozen=True):
    """The text of the knowledge from now on."""

    text: str


Operation = Register | Unregister | Signals | Emitted | Began | AdvanceTime | NewKnowledge

_encode = msgspec.json.Encoder().encode
_decoder: msgspec.json.Decoder[Operation] = msgspec.json.Decoder(Operation)


def write_operation(operation: Operation) -> bytes:
    """Return an operation as the log has it.

    >>> read_operation(write_operation(Unregister(7)))
    Unregister(number=7)
    """
    return _encode(operation)


def read_operation(body: bytes) -> Operation:
    """Return the operation of an entry."""
    return _decoder.decode(body)


def signal_ids(operation: Operation) -> list[str]:
    """Return the ids of the signals of an operation."""
    if not isinstance(operation, Signals):
        return []
    return [s.id for s in operation.signals if isinstance(s, TypeSignal | LeafSignal) and s.id is not None]
