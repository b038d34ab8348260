"""What the inputs of an engine are called, where matches tell what they are made of and ids leave the shard.

Ids travel with derived events from stage to stage, and with the state from one micro-batch to the next. Between stages
an id has the place of its row in the run, so that a match lists its rows in the order of the run, each once, in
whatever stages they were read. Law: the ids of a match are those that one engine with all rules tells.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import pyarrow as pa

from etalis.runtime.engine import RuntimeEngine
from etalis.tables.results.row_ids import LIST
from etalis.temporal.event import Event
from etalis.temporal.rope import FlatRope

Name: TypeAlias = tuple[bytes, str]  # the place of a row in the run (empty where numbers tell the order), and its id
_LENGTH = struct.Struct("<I")


class InputNames:
    """The names of an engine's inputs by their numbers; snapshots keep those of inputs that still contribute."""

    def __init__(self, engine: RuntimeEngine) -> None:
        self._state = engine.core.state
        self._names = engine.core.input_names
        self._next = self._state.number + 1
        self._places = {name: number for number, name in self._names.items() if name[0]}

    def add(self, ids: pa.Array) -> None:
        """Take the ids of the rows that the engine takes next."""
        for row_id in ids.to_pylist():
            self._names[self._next] = (b"", row_id)
            self._next += 1

    def receive(self, place: bytes, row_id: str) -> None:
        """Note what the input that was numbered last is called."""
        self._names[self._state.number] = (place, row_id)
        self._places[place, row_id] = self._state.number

    def take_in(self, coded: bytes) -> FlatRope:
        """Return what an event of another stage is made of: inputs with numbers of this engine."""
        return FlatRope(tuple(sorted({self._number(name) for name in read_names(coded)})))

    def _number(self, name: Name) -> int:
        found = self._places.get(name)
        if found is None:
            self._state.number += 1
            found = self._places[name] = self._state.number
            self._names[found] = name
        return found

    def names_of(self, event: Event) -> list[Name]:
        """Return the names of what an event is made of, in the order of the run."""
        known = [self._names[number] for number in event.parts if number in self._names]
        return sorted(set(known)) if known and known[0][0] else known

    def of_events(self, events: Sequence[Event]) -> pa.Array:
        """Return the ids of what events are made of, a list for each."""
        return pa.array([[row_id for _, row_id in self.names_of(event)] for event in events], LIST)

    def coded(self, events: Sequence[Event]) -> pa.Array:
        """Return what events are made of as it travels to other stages."""
        return pa.array([write_names(self.names_of(event)) for event in events], pa.binary())


def write_names(names: Iterable[Name]) -> bytes:
    """Return names as bytes.

    >>> list(read_names(write_names([(b"p", "r1"), (b"", "r2")])))
    [(b'p', 'r1'), (b'', 'r2')]
    """
    parts = [part for place, row_id in names for part in (place, row_id.encode())]
    return b"".join(piece for part in parts for piece in (_LENGTH.pack(len(part)), part))


def read_names(coded: bytes) -> Iterable[Name]:
    """Yield the names that were written."""
    at = 0
    parts: list[bytes] = []
    while at < len(coded):
        (length,) = _LENGTH.unpack_from(coded, at)
        at += _LENGTH.size + length
        parts.append(coded[at - length : at])
    return zip(parts[::2], map(bytes.decode, parts[1::2]), strict=True)
