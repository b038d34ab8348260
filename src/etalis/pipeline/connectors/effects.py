"""Effects of reactions, from the files that shards write: into an outbox, or as requests of HTTP with their keys.

Law: what is delivered are the effects of a batch that is computed whole, in the order of their transactions, each key
once. A batch that is run again delivers the same keys, which an outbox and a receiver that honours them take once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etalis.errors import InputError, Problem
from etalis.pipeline.connectors.connector import Connector
from etalis.pipeline.values import PLACE, ValueKind
from etalis.reactive.effects.attempts import Tried, try_once
from etalis.reactive.effects.http import HttpClient, StandardClient, http
from etalis.reactive.outbox.outbox import Outbox
from etalis.spark.effect_rows import read_batch
from etalis.spark.stream.restart import query_of

if TYPE_CHECKING:
    from etalis.pipeline.parts import Pipeline, SinkPart
    from etalis.pipeline.places import Path as Key

_HTTP, _FILE = ("http://", "https://"), "sqlite:///"
_FIELDS = ("effect", "args", "reaction", "transaction", "position", "start", "end")
_WAITS = (1.0, 2.0, 4.0)  # seconds before a request is tried again


def send(
    rows: Sequence[Mapping[str, Any]], url: str, headers: Mapping[str, str], *, client: HttpClient | None = None,
    wait: Callable[[float], object] = time.sleep,
) -> None:  # fmt: skip
    """Send effects one after the other, each until it is taken; what is refused, or fails for long, is an error."""
    request = http(url, _FIELDS, headers=headers, client=client or StandardClient())
    for row in rows:
        given = (row["name"], tuple(json.loads(row["args"])), *(row[name] for name in _FIELDS[2:]))
        for number in count():
            tried = try_once(request, given, row["key"])
            if tried.outcome == "made":
                break
            if tried.outcome == "refused" or number == len(_WAITS):
                raise _undelivered(row, tried)
            wait(_WAITS[number])


def _undelivered(row: Mapping[str, Any], tried: Tried) -> InputError:
    message = f"effect {row['name']} of {row['reaction']}, key {row['key']}, was not taken: {tried.error}"
    hint = "the next run sends it again, with the same key; in an outbox an effect that fails holds up no other"
    return InputError(Problem("E714", message, hint=hint))


def _deliver(sink: SinkPart, pipeline: Pipeline, begin: str, batch: int) -> None:
    """Deliver the effects of a batch, in files whose names begin in some way."""
    rows, address = read_batch(sink.keys["path"], begin, batch), sink.keys["address"]
    if address.startswith(_HTTP):
        send(rows, address, sink.options)
    elif rows:
        Outbox(address).add(rows, program=pipeline.name)


def _write(df: Any, sink: SinkPart, pipeline: Pipeline) -> None:
    _compute(df)
    _deliver(sink, pipeline, "shard-", 0)


def _write_part(df: Any, sink: SinkPart, pipeline: Pipeline, batch: int) -> None:
    _compute(df)
    query = query_of(str(pipeline.run.checkpoint))
    _deliver(sink, pipeline, "" if query is None else f"{query}-", batch)


def _compute(df: Any) -> None:
    """Have all shards run, which write their effects beside their results."""
    df.write.format("noop").mode("overwrite").save()


def _open_stream(df: Any, sink: SinkPart, pipeline: Pipeline) -> Any:
    return df.writeStream.foreachBatch(lambda part, batch: _write_part(part, sink, pipeline, batch))


# what can be wrong


def _is_address(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    if value.startswith(_HTTP):
        return value not in _HTTP
    try:
        Outbox(value)
    except InputError:
        return False
    return True


def _placed(address: str, folder: Path) -> str:
    """Return an address whose file is looked for in a folder."""
    return f"{_FILE}{folder / address.removeprefix(_FILE)}" if address.startswith(_FILE) else address


def _check_sink(pipeline: Pipeline, sink: SinkPart, key: Key) -> Iterator[Problem]:
    if next(each for each in pipeline.sinks if each.format == "effects") is not sink:
        yield pipeline.problem("E705", "there is one sink of effects", key, "an outbox can be delivered from to many")
    given = {"event": sink.event is not None, "envelope": sink.envelope, "mode": sink.mode != "error"}
    for name in (name for name, is_given in given.items() if is_given):
        message = f"format effects takes no {name}"
        yield pipeline.problem("E705", message, (*key, name), "it takes all effects, each key once")
    if sink.options and not sink.keys.get("address", "").startswith(_HTTP):
        message = "options are headers of requests, and this is an outbox"
        yield pipeline.problem("E705", message, (*key, "options"), "leave them out")


def _needs(pipeline: Pipeline) -> tuple[str, str] | None:
    addresses = [sink.keys.get("address", "") for sink in pipeline.sinks if sink.format == "effects"]
    if any(address.startswith("postgres") for address in addresses) and find_spec("psycopg") is None:
        return "an outbox in PostgreSQL needs psycopg, which is not installed", "pip install 'etalis[postgres]'"
    return None


ADDRESS = ValueKind(
    "an address: sqlite:///file.db, postgresql://user@host/database or https://host/path", _is_address, _placed
)
EFFECTS = Connector(
    name="effects", keys={"path": PLACE, "address": ADDRESS}, takes_effects=True, write=_write, write_part=_write_part,
    open_stream=_open_stream, target="path", check_sink=_check_sink, needs=_needs,
)  # fmt: skip
