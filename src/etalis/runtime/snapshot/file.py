"""A snapshot as bytes: a head, an index, and one Arrow IPC stream per store.

The head holds a magic word, the version of the format and a checksum over all that follows, so that nothing is believed
before everything is checked. A delta names the snapshot it follows by its checksum; of a store that both have it says
which rows stay, as runs in the new order, and holds only the others. Law: restoring a base and its deltas gives, store
by store, the rows of the last one in their order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from struct import Struct as Layout
from typing import Any

import pyarrow as pa

from etalis.errors import Problem, SnapshotError
from etalis.runtime.snapshot.cells import Find, Number, damaged, read_column, write_column

MAGIC = b"ETALISSN"
VERSION = 6
_HEAD = Layout("<8sI32sQ")  # magic, version, checksum, length of the rest
_LENGTH = Layout("<I")

Name = tuple[str, ...]
Columns = list[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one store, with the forms of their columns and what else must be known to read them."""

    table: pa.Table
    forms: tuple[str, ...]
    note: Mapping[str, Any]

    @property
    def kind(self) -> tuple[Any, ...]:
        """What two sections must have in common for rows of one to be rows of the other."""
        return self.forms, dict(self.note)

    def columns(self, find: Find) -> list[list[Any]]:
        """Return the values, column by column."""
        return [read_column(f, _whole(c), find) for f, c in zip(self.forms, self.table.columns, strict=True)]

    def cells(self) -> list[tuple[Any, ...]]:
        """Return the rows, coded cells as they are written, to be compared."""
        columns = [_whole(c) for c in self.table.columns]
        plain = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in columns]
        return list(zip(*(c.to_numpy(zero_copy_only=False).tolist() for c in plain), strict=True))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.unify_dictionaries().chunks) if column.num_chunks else pa.array([], column.type)


def write_section(columns: Columns, number: Number, note: Mapping[str, Any]) -> Section:
    """Return the section of some columns of equal length."""
    written = [write_column(values, number) for values in columns]
    table = pa.table([column for _, column in written], names=[f"c{i}" for i in range(len(written))])
    return Section(table, tuple(form for form, _ in written), note)


@dataclass(frozen=True, slots=True)
class Image:
    """A whole snapshot: sections by name, and the checksum it is known by."""

    sections: dict[Name, Section]
    digest: bytes = b""


def digest_of(data: bytes) -> bytes:
    """Return the checksum by which a delta names the snapshot before it."""
    digest: bytes = _HEAD.unpack_from(data, 0)[2]
    return digest


@dataclass(slots=True)
class _Writer:
    """The index and the streams of a snapshot in the making."""

    index: list[dict[str, Any]] = field(default_factory=list)
    streams: list[bytes] = field(default_factory=list)

    def add(self, name: Name, section: Section, runs: list[tuple[int, int]] | None = None) -> None:
        stream = _to_stream(section.table)
        entry = {"name": name, "forms": section.forms, "note": dict(section.note), "size": len(stream)}
        self.streams.append(stream)
        if runs is not None:
            stream = _to_stream(
                pa.table(list(map(list, zip(*runs, strict=True))) or [[], []], names=["first", "count"])
            )
            entry["runs"] = len(stream)
            self.streams.append(stream)
        self.index.append(entry)


def write_image(image: Image) -> bytes:
    """Return a whole snapshot as bytes."""
    writer = _Writer()
    for name, section in image.sections.items():
        writer.add(name, section)
    return _seal({"sections": writer.index}, writer.streams)


def write_delta(image: Image, before: Image) -> bytes:
    """Return what a snapshot has that the one before it does not have, and what of that one stays."""
    writer = _Writer()
    for name, section in image.sections.items():
        old = before.sections.get(name)
        if old is None or old.kind != section.kind or not old.table.num_rows:
            writer.add(name, section)
        elif old.table.equals(section.table):
            writer.index.append({"name": name, "same": True})
        else:
            runs, fresh = _compare(old.cells(), section.cells())
            kept = Section(_compact(section.table.take(pa.array(fresh, pa.int64()))), section.forms, section.note)
            writer.add(name, kept, runs)
    return _seal({"sections": writer.index, "after": before.digest.hex()}, writer.streams)


def _compact(table: pa.Table) -> pa.Table:
    """Return a table whose dictionaries hold no more than its rows need."""
    plain = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else None for c in table.columns]
    return pa.table(
        [old if new is None else new.dictionary_encode() for old, new in zip(table.columns, plain, strict=True)],
        names=table.column_names,
    )


def _compare(old: list[Any], new: list[Any]) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the new rows as runs (first old row, count) or (-1, count of fresh rows), and which ones are fresh."""
    places: dict[Any, int] = {}
    for place in range(len(old) - 1, -1, -1):
        places[old[place]] = place
    runs: list[tuple[int, int]] = []
    fresh: list[int] = []
    first, count = -2, 0
    for number, row in enumerate(new):
        after = first + count
        if first >= 0 and after < len(old) and old[after] == row:
            count += 1
            continue
        place = places.get(row, -1)
        if place < 0:
            fresh.append(number)
            if first == -1:
                count += 1
                continue
        if count:
            runs.append((first, count))
        first, count = place, 1
    if count:
        runs.append((first, count))
    return runs, fresh


def _apply(old: Section, fresh: Section, runs: pa.Table) -> Section:
    """Return the section that a delta describes."""
    pieces, taken = [], 0
    for first, count in zip(runs["first"].to_pylist(), runs["count"].to_pylist(), strict=True):
        if first < 0:
            pieces.append(fresh.table.slice(taken, count))
            taken += count
        else:
            pieces.append(old.table.slice(first, count))
    table = pa.concat_tables([fresh.table.slice(0, 0), *pieces]).combine_chunks()
    return Section(table, fresh.forms, fresh.note)


def _to_stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for batch in table.combine_chunks().to_batches():
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _seal(index: Mapping[str, Any], streams: list[bytes]) -> bytes:
    coded = json.dumps(index, ensure_ascii=True).encode()
    rest = b"".join([_LENGTH.pack(len(coded)), coded, *streams])
    return _HEAD.pack(MAGIC, VERSION, _digest(rest), len(rest)) + rest


def _digest(rest: bytes | memoryview) -> bytes:
    return blake2b(rest, digest_size=32, person=VERSION.to_bytes(4, "little")).digest()


def read_images(data: Sequence[bytes]) -> Image:
    """Return what a snapshot and the deltas after it come to, all of it checked."""
    image: Image | None = None
    for item in data:
        image = _read(item, image)
    if image is None:
        raise damaged("there is nothing to restore from")
    return image


def _read(data: bytes, before: Image | None) -> Image:
    digest, rest = _open(data)
    (length,) = _LENGTH.unpack_from(rest, 0)
    index = json.loads(bytes(rest[4 : 4 + length]))
    after = index.get("after")
    if (after is None) != (before is None) or (before is not None and after != before.digest.hex()):
        message = "this is a whole snapshot, not a delta" if after is None else "this delta follows another snapshot"
        hint = "restore from the whole snapshot and then the deltas, in the order they were taken"
        raise SnapshotError(Problem("E422", message, hint=hint))
    return Image(dict(_sections(index["sections"], rest[4 + length :], before)), digest)


def _open(data: bytes) -> tuple[bytes, memoryview]:
    """Return checksum and content, if all is as it was written."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise damaged(f"it is no bytes but {type(data).__name__}")
    if len(data) < _HEAD.size or bytes(data[:8]) != MAGIC:
        raise damaged("it does not begin as one")
    _, version, digest, length = _HEAD.unpack_from(data, 0)
    if version != VERSION:
        message = f"the snapshot has format {version}, this version reads format {VERSION}"
        raise SnapshotError(Problem("E423", message, hint="restore it with the version that wrote it"))
    rest = memoryview(data)[_HEAD.size :]
    if len(rest) != length:
        raise damaged(f"it has {len(rest)} bytes of {length}")
    if _digest(rest) != digest:
        raise damaged("its checksum is wrong")
    return digest, rest


def _sections(index: list[Any], streams: memoryview, before: Image | None) -> Iterator[tuple[Name, Section]]:
    at = 0
    for entry in index:
        name = tuple(entry["name"])
        if entry.get("same"):
            assert before is not None
            yield name, before.sections[name]
            continue
        fresh = Section(_from_stream(streams[at : at + entry["size"]]), tuple(entry["forms"]), entry["note"])
        at += entry["size"]
        if "runs" in entry:
            assert before is not None
            runs = _from_stream(streams[at : at + entry["runs"]])
            at += entry["runs"]
            fresh = _apply(before.sections[name], fresh, runs)
        yield name, fresh


def _from_stream(stream: memoryview) -> pa.Table:
    with pa.ipc.open_stream(pa.py_buffer(stream)) as reader:
        return reader.read_all()
