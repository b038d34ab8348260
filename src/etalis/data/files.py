"""Files by their addresses: one, a folder, a pattern; compressed or not; here, or where Arrow and fsspec reach.

The ending tells the format, behind that of a compression: `events.csv.gz`. Files of a folder or pattern come in the
order of their names, and are of one format.
"""

from __future__ import annotations

import glob
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any
from urllib.parse import urlsplit

from etalis.data.encodings import ENCODING_HINT, check_encoding, decode, find_encoding
from etalis.errors import InputError, Problem

STANDARD_INPUT = "-"
FORMATS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "jsonl": (".jsonl", ".ndjson", ".json"),
        "csv": (".csv",),
        "tsv": (".tsv",),
        "parquet": (".parquet", ".pq"),
        "arrow": (".arrow", ".feather", ".ipc"),
        "events": (".events", ".event", ".stream", ".pl", ".p"),
        "nquads": (".nq",),
        "trig": (".trig",),
    }
)
_COMPRESSIONS: Mapping[str, str] = MappingProxyType({".gz": "gzip", ".bz2": "bz2", ".xz": "lzma", ".zst": "zstd"})
_PATTERN = frozenset("*?[")
_PIECE = 1 << 16  # bytes


@dataclass(frozen=True, slots=True)
class File:
    """A file: its address as it is shown, its path where it is kept (`system` is None for files here)."""

    address: str
    path: str
    format: str
    compression: str | None = None
    system: Any = None

    def open(self) -> IO[bytes]:
        """Return its bytes, decompressed."""
        if self.system is not None:
            known = None if self.compression == "lzma" else self.compression
            raw = self.system.open_input_stream(self.path, compression=known)
            return import_module("lzma").open(raw) if self.compression == "lzma" else raw  # type: ignore[no-any-return]
        if self.compression == "zstd":
            return import_module("pyarrow").input_stream(self.path, compression="zstd")  # type: ignore[no-any-return]
        opener: Any = io if self.compression is None else import_module(self.compression)
        return opener.open(self.path, "rb")  # type: ignore[no-any-return]

    def seekable(self) -> Any:
        """Return it as a file of Arrow that can be read at any place."""
        arrow = import_module("pyarrow")
        if self.compression is not None:
            return arrow.BufferReader(self.open().read())
        return arrow.memory_map(self.path) if self.system is None else self.system.open_input_file(self.path)

    def batches(self, rows: int) -> tuple[Any, Iterator[Any]]:
        """Return the schema of a Parquet or Arrow file, and its rows, so many at a time."""
        invalid: type[Exception] = import_module("pyarrow").ArrowInvalid
        try:
            if self.format == "parquet":  # piece by piece: held whole beside its rows it would cost memory for nothing
                open_parquet = import_module("pyarrow.parquet").ParquetFile
                found = open_parquet(self.seekable(), pre_buffer=False, buffer_size=_PIECE)
                return found.schema_arrow, _readable(self, invalid, found.iter_batches(rows))
            table = import_module("pyarrow.feather").read_table(self.seekable(), memory_map=False)
            return table.schema, iter(table.to_batches(rows))
        except invalid as error:
            raise _not_arrow(self, error) from None

    def text(self, encoding: str | None = None) -> str:
        """Return its text as a whole."""
        with self.open() as raw:
            return decode(raw.read(), self.address, encoding)

    def byte_lines(self, encoding: str | None = None) -> IO[Any]:
        """Return its lines as bytes of UTF-8 where it is UTF-8 text, otherwise as text."""
        raw: Any = self.open()
        if encoding is None and hasattr(raw, "peek") and "utf-8" in find_encoding(raw.peek(4)):
            return raw  # type: ignore[no-any-return]
        raw.close()
        return self.lines("surrogateescape", encoding)

    def lines(self, errors: str, encoding: str | None = None) -> IO[str]:
        """Return its text, with the ends of lines as they are."""
        check_encoding(encoding)
        raw: Any = self.open()
        chosen = encoding or find_encoding(raw.peek(4) if hasattr(raw, "peek") else b"")
        return io.TextIOWrapper(raw, encoding=chosen, errors=errors if "utf-8" in chosen else "strict", newline="")


def _readable(file: File, invalid: type[Exception], batches: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from batches
    except invalid as error:
        raise _not_arrow(file, error) from None


def _not_arrow(file: File, error: Exception) -> InputError:
    kind = "a Parquet" if file.format == "parquet" else "an Arrow"
    return InputError(Problem("E402", f"{file.address}: not {kind} file: {error}", hint="see its ending, or --format"))


def find_files(address: str | Path, chosen: str | None = None) -> list[File]:
    """Return the files at an address, or refuse it; the format may be chosen."""
    if chosen is not None and chosen not in FORMATS:
        near = get_close_matches(chosen, FORMATS, 1)
        hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(FORMATS)}"
        raise InputError(Problem("E407", f"unknown format {chosen!r}", hint=hint))
    text = str(address)
    scheme = urlsplit(text).scheme if "://" in text else ""
    if scheme in ("", "file"):
        path = Path(_local_path(text) if scheme else text)
        found = [(str(each), str(each)) for each in _local(path)]
        system, is_one = None, path.is_file()
    else:
        system, inside = _remote(text, scheme)
        paths, is_one = _listed(system, inside)
        found = [(f"{scheme}://{path}", path) for path in paths]
    if not found and not Path(text).is_dir():
        raise _missing(text)
    files = [File(shown, path, *_form(shown, chosen), system) for shown, path in found if is_one or _fits(path, chosen)]
    if not files:
        raise InputError(Problem("E401", f"{text}: no file of a known format", hint=_KNOWN))
    formats = sorted({file.format for file in files})
    if len(formats) > 1:
        raise InputError(Problem("E407", f"{text}: files of several formats: {', '.join(formats)}", hint=_ONE_FORMAT))
    return files


def _local_path(address: str) -> str:
    """Return the path that an address `file://...` means."""
    from urllib.request import url2pathname  # it brings the network along

    return url2pathname(urlsplit(address).path)


_KNOWN = f"their names end in {', '.join(ending for endings in FORMATS.values() for ending in endings)}"
_ONE_FORMAT = "name files of one format: folder/*.csv"


def format_of(path: str, chosen: str | None = None) -> str:
    """Return the format chosen, or the one that the file's name tells."""
    if path == STANDARD_INPUT and chosen is None:
        return "jsonl"
    return _form(path, chosen)[0]


def _form(path: str, chosen: str | None) -> tuple[str, str | None]:
    """Return the format and the compression that a file's name tells."""
    plain, ending = _split(path.lower())
    compression = _COMPRESSIONS.get(ending)
    if compression is not None:
        plain, ending = _split(plain)
    if chosen is not None:
        return chosen, compression
    for name, endings in FORMATS.items():
        if ending in endings:
            return name, compression
    hint = f"say it: --format {'|'.join(FORMATS)}"
    raise InputError(Problem("E407", f"{path}: no known format ends in {ending or 'nothing'!r}", hint=hint))


def _split(path: str) -> tuple[str, str]:
    suffix = Path(path).suffix
    return path.removesuffix(suffix), suffix


def _fits(path: str, chosen: str | None) -> bool:
    """Tell whether a file found in a folder is one of events: not a mark or a checksum that lies beside them."""
    name = Path(path).name
    if name.startswith(("_", ".")):
        return False
    try:
        return chosen is not None or bool(_form(path, chosen))
    except InputError:
        return False


def _local(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(each for each in path.rglob("*") if each.is_file())
    elif path.exists():
        yield path
    elif _PATTERN & set(str(path)):
        yield from sorted(Path(each) for each in glob.glob(str(path), recursive=True) if Path(each).is_file())


def _remote(address: str, scheme: str) -> tuple[Any, str]:
    """Return the file system of an address, Arrow's own or one of fsspec, and the path in it."""
    fs, arrow = import_module("pyarrow.fs"), import_module("pyarrow")
    try:
        return fs.FileSystem.from_uri(address)  # type: ignore[no-any-return]
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError):
        pass
    except OSError as error:
        raise _unreadable(address, error) from None
    try:
        reached, path = import_module("fsspec").core.url_to_fs(address)
    except ModuleNotFoundError as error:
        hint = f"pip install {(error.name or 'fsspec').split('.')[0]}"
        raise InputError(
            Problem("E412", f"{scheme}:// needs {error.name}, which is not installed", hint=hint)
        ) from None
    except (ValueError, ImportError) as error:
        raise InputError(Problem("E401", f"{address}: {error}", hint="check the address")) from None
    return fs.PyFileSystem(fs.FSSpecHandler(reached)), path


def _listed(system: Any, path: str) -> tuple[list[str], bool]:
    """Return the files at a path of a file system, and whether the path is one."""
    fs = import_module("pyarrow.fs")
    try:
        info = system.get_file_info(path)
        if info.type == fs.FileType.File:
            return [path], True
        if info.type == fs.FileType.Directory:
            inside = system.get_file_info(fs.FileSelector(path, recursive=True))
            return sorted(each.path for each in inside if each.type == fs.FileType.File), False
    except OSError as error:
        raise _unreadable(path, error) from None
    return [], False


def _missing(address: str) -> InputError:
    return InputError(Problem("E401", f"cannot read {address}: no such file", hint="check the file's name"))


def _unreadable(name: str, error: OSError) -> InputError:
    return InputError(Problem("E401", f"cannot read {name}: {error.strerror or error}", hint="check the file's name"))


def reading_file(name: str, read: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Yield what is read of a file; that it cannot be is an error of the input."""
    try:
        yield from read()
    except UnicodeDecodeError as error:
        message = f"{name}: not UTF-8 text: byte 0x{error.object[error.start]:02x} ({error.reason})"
        raise InputError(Problem("E402", message, hint=f"{ENCODING_HINT}; or see --format")) from None
    except (OSError, EOFError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Problem("E401", f"cannot read {name}: {reason}", hint="check the file's name")) from None
