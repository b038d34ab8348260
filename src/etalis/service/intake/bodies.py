"""The bodies of requests as rows of events: what comes in each content type, read as from a file.

Rows are read while they are processed, so that a large body holds up nobody. Law: JSON of the usual shape is read here
quickly, all else by the readers of `formats`, and both give the same events.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from types import MappingProxyType
from typing import Any

import msgspec

from etalis.errors import Problem
from etalis.formats import Bad, Item, Row
from etalis.formats.comma_separated import read_csv
from etalis.formats.event_files import read_event_file
from etalis.formats.full_stops import ClauseReader
from etalis.formats.json_lines import LineReader
from etalis.formats.rdf_quads import read_nquads, read_trig
from etalis.formats.row import ARRIVAL, Place, Reading, reading_of
from etalis.formats.seen import Seen
from etalis.language.attributes import Notes
from etalis.runtime.compiled import CompiledProgram
from etalis.runtime.lateness.watermark import Stamp
from etalis.runtime.state import BEGINNING
from etalis.service.intake.json_shapes import EventShapes
from etalis.service.intake.parts import NamedRow, Part, as_parts, seconds_of
from etalis.service.limits import ServiceLimits, is_too_deep
from etalis.service.problems import LargeBodyError, MalformedError, WrongTypeError

_SOURCE = "body"
_CHUNK = 1 << 15  # bytes of lines that are read at once
_USUAL_BYTES = 200  # of a row


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyOptions:
    """How events are read, as the options of `etalis run` say it."""

    event: str | None = None
    time: str | None = None
    unit: str = "s"


@dataclass(frozen=True, slots=True)
class Body:
    """A body of events; `reached` tells the time of the engine, after which events without a time come."""

    data: bytes
    known: KnownEvents
    reached: Callable[[], int]
    by_clock: bool
    limits: ServiceLimits

    def text(self) -> str:
        return self.data.decode("utf-8-sig", "surrogateescape")


class KnownEvents:
    """How the events of a program are read under some options; found once, used by every body."""

    def __init__(self, program: CompiledProgram, options: BodyOptions, *, by_clock: bool) -> None:
        time = options.time
        columns = time if time is None or "," not in time else tuple(time.split(","))
        found = reading_of(program, event=options.event, time=columns, unit=options.unit)
        self._reading = replace(found, needs_time=not by_clock, retracts=program.settings.revision)
        self.implied = frozenset(name for name in found.schema if found.is_by_name(name))
        usual = options == BodyOptions()
        self.shapes = EventShapes(self._reading, self.implied, needs_time=not by_clock) if usual else None

    def reading(self) -> Reading:
        """Return how a body is read: what is noted of it goes with it."""
        return replace(self._reading, seen=Seen(), notes=Notes())


def read_parts(media: str, body: Body) -> Iterator[Part]:
    """Yield the rows of a body of some content type, as batches take them."""
    if media not in READERS:
        raise WrongTypeError("E822", f"events do not come as {media or 'a body without a type'}", _TYPES_HINT)
    return READERS[media](body)


def count_rows(media: str, data: bytes) -> int:
    """Return about how many rows a body has, for the length of queues; large ones count for several.

    >>> count_rows("text/csv", b"event,at\\na,1\\n"), count_rows("application/vnd.apache.parquet", bytes(1_000_000))
    (3, 5000)
    """
    sign = b"\n" if media in ("application/x-ndjson", "text/csv") else b"}" if media in JSON_TYPES else b".\n"
    return max(data.count(sign) + 1, len(data) // _USUAL_BYTES)


def _as_input(item: Item, implied: frozenset[str]) -> Any:
    """Return what a reader found as batches take it."""
    if not isinstance(item, Row):
        return item
    event, name = item.event, item.id
    if event.name in implied or event.sign < 0:
        return event  # its attributes have been found by their names
    end = 0 if event.end_time == ARRIVAL else seconds_of(event.end_time)
    at: Any = end if event.start_time == event.end_time else (seconds_of(event.start_time), end)
    return (event.name, *event.args, at if name is None else Stamp(at, id=name))


def _inputs(items: Iterable[Item], body: Body) -> Iterator[Part]:
    return as_parts(_as_input(item, body.known.implied) for item in items)


class JsonRows:
    """Reads JSON texts, each an event: declared events in their usual shape at once, others by `LineReader`."""

    def __init__(self, body: Body) -> None:
        self.known = body.known
        self.shapes = body.known.shapes
        self.limits = body.limits
        self._number = 0

    @cached_property
    def _reader(self) -> LineReader:
        return LineReader(_SOURCE, self.known.reading())

    def read_lines(self, data: bytes) -> Iterator[Part]:
        """Yield the rows of JSON lines, those of a chunk together."""
        start = 0
        while start < len(data):
            end = data.rfind(b"\n", start, start + _CHUNK) + 1 or data.find(b"\n", start) + 1 or len(data)
            chunk, start = data[start:end], end
            rows = None if self.shapes is None else self.shapes.read(chunk)
            if rows is None:
                yield from as_parts(self.read_texts(chunk.removesuffix(b"\n").split(b"\n")))
            elif rows:
                self._number += len(rows)
                yield rows

    def read_texts(self, texts: Iterable[bytes]) -> Iterator[Any]:
        """Yield the rows of JSON texts."""
        for text in texts:
            self._number += 1
            rows = None if self.shapes is None else self.shapes.read(text)
            if rows is not None:
                yield from rows
                continue
            refused = self._refuse(self._number, text)
            if refused is not None:
                yield refused
                continue
            for item in self._reader.read(self._number, text.decode("utf-8", "surrogateescape")):
                yield _as_input(item, self.known.implied)

    def _refuse(self, number: int, text: bytes) -> Bad | None:
        """Refuse a text that is longer or nested deeper than the limits allow."""
        if len(text) > self.limits.line:
            message = f"the line has {len(text)} bytes, {self.limits.line} are allowed"
        elif is_too_deep(text, self.limits.depth):
            message = f"nested deeper than {self.limits.depth} levels"
        else:
            return None
        return Bad(Place(_SOURCE, number), Problem("E824", message, hint="send events with smaller values"))


def _lines(body: Body) -> Iterator[Part]:
    yield from JsonRows(body).read_lines(body.data.removeprefix(b"\xef\xbb\xbf"))


def raw_items(data: bytes) -> list[bytes]:
    """Return the texts of a JSON text: of a list its items, of anything else itself."""
    start = data.lstrip()[:1]
    try:
        if start == b"[":
            several = msgspec.json.decode(data, type=list[msgspec.Raw])
            if not several or bytes(several[0])[:1] in (b"{", b"["):
                return [bytes(item) for item in several]
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise MalformedError(
            "E402", f"not JSON: {error}", 'send {"event": "a", "at": 1, ...} or a list of these'
        ) from None
    return [data]


def _json(body: Body) -> Iterator[Part]:
    yield from as_parts(JsonRows(body).read_texts(raw_items(body.data)))


def _csv(body: Body) -> Iterator[Part]:
    yield from _inputs(read_csv(body.text().splitlines(keepends=True), _SOURCE, body.known.reading()), body)


def _terms(body: Body) -> Iterator[Part]:
    text, most = body.text(), min(body.limits.line, body.limits.program)
    if len(text) > most:
        longest = max(map(len, [*(clauses := ClauseReader()).feed(text), clauses.waiting]))
        if longest > most:
            message = f"a term has {longest} characters, {most} are allowed"
            raise LargeBodyError("E824", message, "send events with smaller values, or as JSON")
    reached = body.reached()
    going_on = {} if reached == BEGINNING else {"after": reached}
    yield from _inputs(read_event_file([text], _SOURCE, body.known.reading(), **going_on), body)


def _parquet(body: Body) -> Iterator[Part]:
    import pyarrow as pa
    import pyarrow.parquet

    from etalis.formats.arrow_tables import BATCH, read_batches

    try:
        file = pyarrow.parquet.ParquetFile(pa.BufferReader(body.data))
        names = file.schema_arrow.names
        batches = file.iter_batches(BATCH)
        yield from _inputs(read_batches(names, batches, _SOURCE, body.known.reading()), body)
    except (pa.ArrowException, OSError) as error:
        raise MalformedError("E402", f"not Parquet: {error}", "send the bytes of a Parquet file") from None


def _trig(body: Body) -> Iterator[Part]:
    yield from _inputs(read_trig(BytesIO(body.data), _SOURCE, body.known.reading()), body)


def _nquads(body: Body) -> Iterator[Part]:
    yield from _inputs(read_nquads(BytesIO(body.data), _SOURCE, body.known.reading()), body)


def _cloud_events(body: Body) -> Iterator[Part]:
    rows = JsonRows(body)
    for text in raw_items(body.data):
        key, event = cloud_event(text)
        for row in rows.read_texts((event,)):
            yield row if key is None else NamedRow(key, row)


def cloud_event(text: bytes) -> tuple[str | None, bytes]:
    """Return the name of a CloudEvent, source and id, and the event: its type, its time, its data as attributes.

    >>> cloud_event(
    ...     b'{"specversion": "1.0", "type": "a", "source": "/x", "id": "1", "time": "1970-01-01T00:00:07Z",'
    ...     b' "data": {"x": 1}}'
    ... )
    ('/x 1', b'{"event": "a", "at": "1970-01-01T00:00:07Z", "x": 1}')
    """
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return None, text
    if not isinstance(given, dict) or not isinstance(given.get("type"), str):
        return None, text
    data = given.get("data", {})
    record: dict[str, Any] = {"event": given["type"]}
    if given.get("time") is not None:
        record["at"] = given["time"]
    record |= data if isinstance(data, dict) else {"args": data if isinstance(data, list) else [data]}
    key = f"{given.get('source', '')} {given['id']}" if isinstance(given.get("id"), str) else None
    return key, json.dumps(record).encode()


JSON_TYPES = ("application/json", "application/cloudevents+json", "application/cloudevents-batch+json")
READERS: Mapping[str, Callable[[Body], Iterator[Part]]] = MappingProxyType(
    {
        "application/x-ndjson": _lines,
        "text/csv": _csv,
        "text/plain": _terms,
        "application/json": _json,
        "application/vnd.apache.parquet": _parquet,
        "application/trig": _trig,
        "application/n-quads": _nquads,
        "application/cloudevents+json": _cloud_events,
        "application/cloudevents-batch+json": _cloud_events,
    }
)
_TYPES_HINT = f"send one of {', '.join(READERS)}"
