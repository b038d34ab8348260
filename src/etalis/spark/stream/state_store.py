"""Versioned state of shards: one file per (query, stage, shard, batch), on any filesystem that Arrow knows.

Law: a batch starts from the version of the batch before it, never from the latest, and writes its own version whole or
not at all; so a batch that is run again, or twice at once, comes to the same. A file begins with a checksum over all
that follows, and nothing of it is believed before that is checked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct as Layout
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

from etalis.errors import InputError, Problem, SnapshotError

MAGIC = b"ETALISST"
FORMAT = 1
KEPT = 3  # versions: the one written, the one a retry starts from, and one more
_HEAD = Layout("<8sIIQ32s")  # magic, format, length of the header, length of the held rows, checksum
_SUFFIX = ".state"
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):")  # one letter alone names a drive


@dataclass(frozen=True, slots=True)
class ShardPlace:
    """Whose state it is: a stage of a query, one shard of it."""

    query: str
    stage: str
    shard: int

    def __str__(self) -> str:
        return f"shard {self.shard} of {self.stage} of query {self.query}"


@dataclass(frozen=True, slots=True)
class ShardState:
    """What one shard knows after a batch: numbers by name, rows not yet taken, and a snapshot of its engine."""

    header: Mapping[str, Any]
    held: bytes
    snapshot: bytes


class Store:
    """The folder of all versions."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.files, self.folder = open_folder(root)

    def save(self, place: ShardPlace, batch: int, version: ShardState) -> str:
        """Write the version of a batch, in the place of any that is there; return its checksum."""
        header = json.dumps(version.header, ensure_ascii=True).encode()
        body = b"".join([header, version.held, version.snapshot])
        digest = _digest(body)
        head = _HEAD.pack(MAGIC, FORMAT, len(header), len(version.held), digest)
        write_whole(self.files, self._path(place, batch), head + body)
        return digest.hex()

    def checksum(self, place: ShardPlace, batch: int) -> str:
        """Return the checksum that the version of a batch has written down."""
        with self._open(place, batch) as file:
            return self._head(file.read(_HEAD.size), place, batch)[2].hex()

    def load(self, place: ShardPlace, batch: int) -> ShardState:
        """Return the version of a batch, checked."""
        with self._open(place, batch) as file:
            data = memoryview(file.read())
        header, held, digest = self._head(bytes(data[: _HEAD.size]), place, batch)
        body = data[_HEAD.size :]
        if _digest(body) != digest:
            raise self._damaged(place, batch, "its checksum is wrong")
        cut = header + held
        return ShardState(json.loads(bytes(body[:header])), bytes(body[header:cut]), bytes(body[cut:]))

    def header(self, place: ShardPlace, batch: int) -> dict[str, Any]:
        """Return the numbers that the version of a batch holds, without reading and checking the rest."""
        with self._open(place, batch) as file:
            length = self._head(file.read(_HEAD.size), place, batch)[0]
            return dict(json.loads(file.read(length)))

    def headers(self, query: str, batch: int) -> Iterator[tuple[str, dict[str, Any], int]]:
        """Yield, for all shards of a query, the stage, the numbers of the version of a batch, and its size."""
        selector = fs.FileSelector(f"{self.folder}/{query}", allow_not_found=True, recursive=True)
        for info in self.files.get_file_info(selector):
            if info.base_name == f"{batch}{_SUFFIX}":
                stage, shard = info.path.split("/")[-3:-1]
                yield stage, self.header(ShardPlace(query, stage, int(shard)), batch), info.size

    def prune(self, place: ShardPlace, batch: int) -> None:
        """Remove the versions that no restart can need, once the version of a batch is written."""
        folder = self._folder(place)
        for info in self.files.get_file_info(fs.FileSelector(folder)):
            number = info.base_name.removeprefix(".").partition(".")[0]  # hidden: left by a writer that was killed
            if info.type == fs.FileType.File and number.isdecimal() and int(number) <= batch - KEPT:
                remove(self.files, f"{folder}/{info.base_name}")

    def agree(self, place: ShardPlace, manifest: Mapping[str, Any], batch: int) -> None:
        """Write down how a stage is parted, or refuse to go on if it was parted in another way.

        Events that rules have begun to read since are written down as well.
        """
        before = self.compare(place.query, place.stage, manifest)
        if not before and batch > 0:
            message = f"{self.root} has no state of {place.stage} of query {place.query}"
            raise _missing(f"{message}, which has come to batch {batch}")
        now = {name: {**before.get(name, {}), **x} if isinstance(x, dict) else x for name, x in manifest.items()}
        if now != before:
            write_whole(self.files, self._manifest(place.query, place.stage), json.dumps(now, indent=1).encode())

    def compare(self, query: str, stage: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return how a stage was parted, nothing if it is new; refuse to go on if it was parted in another way."""
        before = self.manifest(query, stage)
        if before and "contributors" in manifest:
            before.setdefault("contributors", False)
        for name, was in before.items():
            if not _agrees(was, manifest[name]):
                shown = f"{name} {_shown(was)}, now it would be {_shown(manifest[name])}"
                hint = "go on as it was, or begin anew with another checkpointLocation"
                message = f"the state of query {query} was kept with {shown}"
                raise SnapshotError(Problem("E622", message, hint=hint))
        return before

    def manifest(self, query: str, stage: str) -> dict[str, Any]:
        """Return what must not change while a query lives; nothing of a stage that it does not have."""
        found = read_whole(self.files, self._manifest(query, stage))
        return {} if found is None else dict(json.loads(found))

    def queries(self) -> list[str]:
        """Return the queries that have kept state here."""
        found = self.files.get_file_info(fs.FileSelector(self.folder, allow_not_found=True))
        folders = [info.base_name for info in found if info.type == fs.FileType.Directory]
        return [name for name in folders if self.manifest(name, "stage-1")]

    def latest(self, place: ShardPlace) -> int | None:
        """Return the last batch of a shard; None if it has none."""
        folder = fs.FileSelector(self._folder(place), allow_not_found=True)
        names = [info.base_name for info in self.files.get_file_info(folder)]
        found = [int(name.removesuffix(_SUFFIX)) for name in names if name.removesuffix(_SUFFIX).isdecimal()]
        return max(found, default=None)

    def has_ended(self, query: str) -> bool:
        """Tell whether a query has reported all that it owes, and takes nothing more."""
        place = ShardPlace(query, "stage-1", 0)
        batch = self.latest(place)
        return batch is not None and bool(self.header(place, batch).get("ended"))

    def _manifest(self, query: str, stage: str) -> str:
        return f"{self.folder}/{query}/{stage}/manifest.json"

    def _open(self, place: ShardPlace, batch: int) -> Any:
        try:
            return self.files.open_input_file(self._path(place, batch))
        except FileNotFoundError:
            raise _missing(f"{self.root} has no state of batch {batch} of {place}") from None

    def _head(self, data: bytes, place: ShardPlace, batch: int) -> tuple[int, int, bytes]:
        if len(data) < _HEAD.size or data[:8] != MAGIC:
            raise self._damaged(place, batch, "it does not begin as one")
        _, version, header, held, digest = _HEAD.unpack(data)
        if version != FORMAT:
            message = f"the state of batch {batch} of {place} has format {version}, this version reads {FORMAT}"
            raise SnapshotError(Problem("E423", message, hint="go on with the version that wrote it"))
        return header, held, digest

    def _damaged(self, place: ShardPlace, batch: int, what: str) -> SnapshotError:
        hint = "put the file back as it was, or begin anew with another checkpointLocation"
        message = f"{self._path(place, batch)} is not a whole state of {place}: {what}"
        return SnapshotError(Problem("E621", message, hint=hint))

    def _folder(self, place: ShardPlace) -> str:
        return f"{self.folder}/{place.query}/{place.stage}/{place.shard}"

    def _path(self, place: ShardPlace, batch: int) -> str:
        return f"{self._folder(place)}/{batch}{_SUFFIX}"


def _agrees(was: Any, now: Any) -> bool:
    """Tell whether what both have is the same."""
    if isinstance(now, dict):
        return all(now[name] == value for name, value in was.items() if name in now)
    return bool(was == now)


def _missing(message: str) -> SnapshotError:
    hint = (
        "give the folder that the query has used before; if a batch was read in part only (show, limit or isEmpty in "
        "foreachBatch), persist it first"
    )
    return SnapshotError(Problem("E620", message, hint=hint))


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _digest(body: bytes | memoryview) -> bytes:
    return blake2b(body, digest_size=32).digest()


# files


def open_folder(uri: str) -> tuple[fs.FileSystem, str]:
    """Return the filesystem of a folder, given as a path or an address, and its path there.

    >>> open_folder("/data/state")[1], open_folder("file:/data/state/")[1]
    ('/data/state', '/data/state')
    """
    scheme = _SCHEME.match(uri)
    if scheme is None or scheme[1] == "file":
        return fs.LocalFileSystem(), os.path.abspath(re.sub("^file:(//)?", "", uri))
    try:
        files, path = fs.FileSystem.from_uri(uri)
    except (pa.ArrowException, OSError, ValueError) as error:
        hint = "give a path, or an address that Arrow knows: file:, hdfs:, s3:, gs:, abfs:"
        raise InputError(Problem("E605", f"the folder {uri} cannot be opened: {error}", hint=hint)) from error
    return files, path.rstrip("/")


def write_whole(files: fs.FileSystem, path: str, data: bytes) -> None:
    """Write a file whole or not at all, in the place of any that is there; several may do so at once.

    A writer that is killed leaves a hidden file, which readers of folders pass over.
    """
    folder, _, name = path.rpartition("/")
    aside = f"{folder}/.{name}.{uuid4().hex}"
    files.create_dir(folder, recursive=True)
    if isinstance(files, fs.LocalFileSystem):
        with open(aside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
        _sync_folder(folder)
    elif files.type_name == "s3":  # an object is there when it is whole, and not before
        with files.open_output_stream(path) as stream:
            stream.write(data)
    else:
        with files.open_output_stream(aside) as stream:
            stream.write(data)
        remove(files, path)  # where a rename does not replace
        files.move(aside, path)


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_whole(files: fs.FileSystem, path: str) -> bytes | None:
    """Return what is in a file; None if it is not there."""
    try:
        with files.open_input_file(path) as file:
            return file.read()  # type: ignore[no-any-return]
    except FileNotFoundError:
        return None


def remove(files: fs.FileSystem, path: str) -> None:
    """Remove a file; another writer may have been faster."""
    try:
        files.delete_file(path)
    except FileNotFoundError:
        return
