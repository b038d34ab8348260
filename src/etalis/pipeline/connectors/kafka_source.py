"""Kafka without a jar: a data source of Spark's in Python, by confluent-kafka (the extra `etalis[kafka]`).

Law: offsets are {partition: next offset}, kept in Spark's checkpoint; a batch reads exactly what lies between two of
them, so it is the same when it is read again. What is written may be written twice after a crash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from etalis.pipeline.connectors.kafka import KAFKA_COLUMNS

FORMAT = "etalis_kafka"
SCHEMA = ", ".join(f"{name} {kind}" for name, kind in {"value": "string", **KAFKA_COLUMNS}.items())
_ARROW = pa.schema(
    [
        ("value", pa.string()), ("_key", pa.string()), ("_partition", pa.int32()), ("_offset", pa.int64()),
        ("_timestamp", pa.timestamp("us", "UTC")),
    ]
)  # fmt: skip
_OWN = ("servers", "topic", "starting", "max_rows", "path", "checkpointlocation")
_SECONDS = 30.0
_ROWS = 10_000


class OffsetRange(InputPartition):  # type: ignore[misc]
    """Messages of one partition of the topic: from one offset up to, not with, another."""

    def __init__(self, partition: int, start: int, end: int) -> None:
        self.partition = partition
        self.start = start
        self.end = end


class Topic:
    """A topic as a client sees it."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.name = options["topic"]
        self.settings = {name: value for name, value in options.items() if name.lower() not in _OWN}
        self.settings["bootstrap.servers"] = options["servers"]
        self._watcher: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_watcher": None}  # a client belongs to its process

    def consumer(self) -> Any:
        """Return a client that reads, commits nothing, and belongs to no group that shares partitions."""
        from confluent_kafka import Consumer

        usual = {"group.id": "etalis", "enable.auto.commit": False, "auto.offset.reset": "error"}
        return Consumer({**usual, **self.settings})

    def bounds(self) -> dict[str, tuple[int, int]]:
        """Return the first offset and the next one, by partition."""
        from confluent_kafka import TopicPartition

        if self._watcher is None:
            self._watcher = self.consumer()
        described = self._watcher.list_topics(self.name, timeout=_SECONDS).topics[self.name]
        if described.error is not None:
            raise ValueError(f"the topic {self.name} cannot be read: {described.error}")
        places = {n: TopicPartition(self.name, n) for n in sorted(described.partitions)}
        return {str(n): self._watcher.get_watermark_offsets(p, timeout=_SECONDS) for n, p in places.items()}

    def read(self, span: OffsetRange) -> Iterator[pa.RecordBatch]:
        """Yield the messages of a span; offsets that hold none (of transactions, or compacted) are passed over."""
        from confluent_kafka import KafkaError, TopicPartition

        consumer = self.consumer()
        place = TopicPartition(self.name, span.partition, span.start)
        try:
            consumer.assign([place])
            while True:
                messages = consumer.consume(min(_ROWS, span.end - place.offset), timeout=1.0)
                failed = [m.error() for m in messages if m.error() is not None]
                if failed and failed[0].code() != KafkaError._PARTITION_EOF:
                    raise ValueError(f"partition {span.partition} of {self.name} cannot be read: {failed[0]}")
                rows = [m for m in messages if m.error() is None and m.offset() < span.end]
                if rows:
                    yield _to_batch(rows)
                (reached,) = consumer.position([place])
                if reached.offset >= span.end:
                    return
                place = TopicPartition(self.name, span.partition, max(place.offset, reached.offset))
        finally:
            consumer.close()


def _to_batch(messages: list[Any]) -> pa.RecordBatch:
    columns = [
        [_text(m.value()) for m in messages],
        [_text(m.key()) for m in messages],
        [m.partition() for m in messages],
        [m.offset() for m in messages],
        [m.timestamp()[1] * 1000 for m in messages],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


class KafkaSource(DataSource):  # type: ignore[misc]
    """A topic: `servers` and `topic`; `starting` is earliest (default) or latest, `max_rows` bounds a batch."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: Any) -> KafkaReader:  # noqa: ARG002
        return KafkaReader(Topic(self.options))

    def streamReader(self, schema: Any) -> KafkaStreamReader:  # noqa: ARG002, N802
        return KafkaStreamReader(Topic(self.options), dict(self.options))

    def writer(self, schema: Any, overwrite: bool) -> KafkaWriter:  # noqa: ARG002
        return KafkaWriter(Topic(self.options))

    def streamWriter(self, schema: Any, overwrite: bool) -> KafkaStreamWriter:  # noqa: ARG002, N802
        return KafkaStreamWriter(Topic(self.options))


class KafkaReader(DataSourceReader):  # type: ignore[misc]
    """All messages that there are."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic

    def partitions(self) -> list[OffsetRange]:
        return [OffsetRange(int(n), low, high) for n, (low, high) in self.topic.bounds().items() if low < high]

    def read(self, partition: OffsetRange) -> Iterator[pa.RecordBatch]:
        return self.topic.read(partition)


class KafkaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Messages as they come."""

    def __init__(self, topic: Topic, options: Mapping[str, str]) -> None:
        self.topic = topic
        self.latest = options.get("starting", "earliest") == "latest"
        self.most = int(options["max_rows"]) if "max_rows" in options else None
        self.target: dict[str, int] | None = None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note how far a run goes that takes what there is and ends."""
        self.target = {n: high for n, (_, high) in self.topic.bounds().items()}

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {n: high if self.latest else low for n, (low, high) in self.topic.bounds().items()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable() if self.most is None else ReadMaxRows(self.most)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """Return how far the next batch goes: all there is, or fair shares of as many rows as are allowed."""
        bounds = self.topic.bounds()
        target = self.target
        places = {
            n: (start.get(n, low), high if target is None else target[n])
            for n, (low, high) in bounds.items()
            if target is None or n in target
        }
        if not isinstance(limit, ReadMaxRows):
            return {n: high for n, (_, high) in places.items()}
        return share(places, limit.max_rows)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[OffsetRange]:
        """Return what lies between two offsets; a partition that is new begins at its beginning."""
        return [OffsetRange(int(n), start.get(n, 0), end[n]) for n in end if start.get(n, 0) < end[n]]

    def read(self, partition: OffsetRange) -> Iterator[pa.RecordBatch]:
        return self.topic.read(partition)


def share(places: Mapping[str, tuple[int, int]], most: int) -> dict[str, int]:
    """Return ends that allow `most` rows in all, shared by what partitions have; at least one row while there is one.

    >>> share({"0": (0, 30), "1": (5, 15)}, 20)
    {'0': 15, '1': 10}
    """
    waiting = sum(high - low for low, high in places.values())
    if waiting <= most:
        return {n: high for n, (_, high) in places.items()}
    return {n: low + -(-(high - low) * most // waiting) for n, (low, high) in places.items()}


class _Sender:
    """Sends rows, and waits until the broker has them all."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        from confluent_kafka import Producer

        failed: list[str] = []
        producer = Producer({"enable.idempotence": True, **self.topic.settings})
        for row in iterator:
            while True:
                try:
                    producer.produce(
                        self.topic.name,
                        row.value.encode(),
                        on_delivery=lambda e, _: failed.append(str(e)) if e else None,
                    )
                    break
                except BufferError:  # its queue is full: let it work
                    producer.poll(0.1)
            producer.poll(0)
        left = producer.flush(_SECONDS)
        if failed or left:
            reason = failed[0] if failed else "the broker does not answer"
            raise ValueError(f"{len(failed) + left} messages did not reach {self.topic.name}: {reason}")
        return WriterCommitMessage()


class KafkaWriter(_Sender, DataSourceWriter):  # type: ignore[misc]
    """Rows, once."""


class KafkaStreamWriter(_Sender, DataSourceStreamWriter):  # type: ignore[misc]
    """Rows of every batch."""

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803
        """Do nothing: messages are with the broker when they are written."""

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803
        """Do nothing: what is sent cannot be taken back."""
