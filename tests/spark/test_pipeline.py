"""Pipelines on Spark: formats of sources and sinks, streams and restarts, Kafka by librdkafka's own broker."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import etalis
from etalis.errors import InputError
from etalis.pipeline import check_pipeline, drain_pipeline, run_pipeline
from etalis.pipeline.figures import Figures, read_figures
from helpers.receivers import HttpDesk

pytestmark = pytest.mark.spark

PROGRAM = """:- event(a(x: int, k: string)).
:- event(b(x: int, k: string)).
two rule: pair(X, Y) <- (a(X, K) seq b(Y, K)) within 60 where near(K).
near(none).
"""
ROWS = [{"type": "ab"[i % 2], "ts": i, "x": i, "k": f"k{i // 2 % 3}"} for i in range(24)]
HEAD = """[program]
files = "p.etalis"
policy = "chronological"
[[knowledge]]
name = "near"
path = "near.csv"
"""
SCHEMA = "type string, ts bigint, x bigint, k string"
EXPECTED = sorted((row["x"], row["x"] + 1) for row in ROWS if row["type"] == "a" and row["k"] != "k2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.etalis").write_text(PROGRAM)
    (tmp_path / "near.csv").write_text("k\nk0\nk1\n")
    (tmp_path / "in").mkdir()
    for number in range(2):
        lines = [json.dumps(row) for row in ROWS[number * 12 : number * 12 + 12]]
        path = tmp_path / "in" / f"{number}.json"
        path.write_text("\n".join(lines) + "\n")
        os.utime(path, (1_700_000_000 + number,) * 2)  # a stream takes files in the order of their age
    return tmp_path


def run(folder: Path, text: str, spark: Any, **options: Any) -> Figures:
    (folder / "p.toml").write_text(HEAD + text)
    return run_pipeline(check_pipeline(folder / "p.toml"), spark=spark, **options)


def source(**keys: Any) -> str:
    given = {"event_column": "type", "time": "ts", **keys}
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in given.items() if value is not None]
    return "".join(["[[source]]\n", *lines])


def pairs(rows: Any) -> list[tuple[int, int]]:
    return sorted((row["X"], row["Y"]) for row in rows)


@pytest.mark.parametrize("kind", ["csv", "orc", "table"])
def test_once(spark: Any, folder: Path, kind: str) -> None:
    """Files and tables of each kind, read and written again."""
    df = spark.createDataFrame(ROWS, SCHEMA)
    name = f"events_{kind}"
    if kind == "table":
        df.createOrReplaceTempView(name)
        given, sink = source(format="table", table=name), 'format = "parquet"\npath = "out"\n'
    else:
        df.write.format(kind).option("header", True).save(str(folder / kind))
        given, sink = source(format=kind, path=kind), f'format = "{kind}"\npath = "out"\n'
    figures = run(folder, f'{given}[[sink]]\n{sink}event = "pair"\n', spark)
    assert (figures.state, figures.rows, figures.matches) == ("finished", 24, {"two": len(EXPECTED)})
    found = spark.read.format("parquet" if kind == "table" else kind).options(header=True, inferSchema=True)
    assert pairs(found.load(str(folder / "out")).collect()) == EXPECTED


def test_once_with_dead_letters(spark: Any, folder: Path) -> None:
    """Rows that cannot be taken are set aside, and counted, up to a bound."""
    bad = [{"type": "a", "x": 1, "k": "k0"}, {"type": "a", "ts": 5_000_000_000_000, "x": 0, "k": ""}]
    (folder / "in" / "2.json").write_text("\n".join(map(json.dumps, [*bad, {**bad[0], "ts": 90_000}])) + "\n")
    text = source(format="json", path="in", schema=SCHEMA) + '[[sink]]\nformat = "parquet"\npath = "out"\n'
    text += 'mode = "append"\n[dead_letters]\npath = "late"\n[run]\nahead = "1 hour"\nmax_rejected = '
    figures = run(folder, f"{text}3\n", spark)
    assert (figures.rows, figures.late, figures.causes) == (24, 3, {"time": 2, "ahead": 1})
    assert pairs(spark.read.parquet(str(folder / "out")).collect()) == EXPECTED
    with pytest.raises(InputError, match=r"E710: the run failed: error E627"):
        run(folder, f"{text}2\n", spark)


def test_columns_of_different_sources(spark: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One source per event, each with its own names; expressions make columns, and choose rows."""
    common = {"format": "json", "path": "in", "event_column": None}
    a = source(**common, event="a", where="type = 'a'", select=["x", "k", "ts"])
    b = source(**common, event="b", where="type = 'b'", select=["x * 10 as x", "k", "ts as at"]).replace(
        '"ts"\n', '"at"\n'
    )
    figures = run(folder, f'{a}{b}[[sink]]\nformat = "console"\n', spark)
    assert (figures.rows, figures.matched) == (24, len(EXPECTED))
    assert "|pair |0  |10 |0    |1  |two |" in capsys.readouterr().out


def test_a_stream_and_its_restarts(spark: Any, folder: Path) -> None:
    """Two sinks, batch by batch; a second run goes on where the first has ended; figures go on too."""
    text = source(format="json", path="in", schema=SCHEMA) + "options = { maxFilesPerTrigger = 1 }\n"
    text += '[[sink]]\nformat = "parquet"\npath = "all"\n[[sink]]\nformat = "json"\npath = "pairs"\nevent = "pair"\n'
    text += '[run]\ntrigger = "available_now"\ncheckpoint = "state"\n[metrics]\nport = 0\nfile = "m.prom"\n'
    first = run(folder, text, spark)
    assert (first.state, first.batch, first.rows) == ("finished", 1, 24)
    late = [{"type": "a", "ts": 3, "x": 99, "k": "k0"}, {"type": "b", "ts": 500, "x": 0, "k": "k2"}]
    (folder / "in" / "2.json").write_text("\n".join(map(json.dumps, late)) + "\n")
    second = run(folder, text, spark)
    assert (second.batch, second.rows, second.late) == (2, 25, 1)
    assert second.matches == {"two": len(EXPECTED)}
    for path, kind in (("all", "parquet"), ("pairs", "json")):
        assert pairs(spark.read.format(kind).load(str(folder / path)).collect()) == EXPECTED
    assert read_figures(folder / "state" / "etalis-status.json") == second
    assert f'etalis_dead_letters_total{{pipeline="{folder / "p.toml"}"}} 1' in (folder / "m.prom").read_text()


def test_refreshed_knowledge(spark: Any, folder: Path) -> None:
    """A second run sees the table as it is then, and the state of the first."""
    text = 'refreshed = "batch"\n' + source(format="json", path="in", schema=SCHEMA)
    text += '[[sink]]\nformat = "parquet"\npath = "out"\nevent = "pair"\n'
    text += '[run]\ntrigger = "available_now"\ncheckpoint = "state"\n'
    run(folder, text, spark)
    assert pairs(spark.read.parquet(str(folder / "out")).collect()) == EXPECTED
    (folder / "near.csv").write_text("k\nk2\n")
    more = [{"type": t, "ts": ts, "x": ts, "k": k} for k in ("k0", "k2") for t, ts in (("a", 100), ("b", 101))]
    more.append({"type": "b", "ts": 110, "x": 0, "k": ""})
    (folder / "in" / "2.json").write_text("\n".join(map(json.dumps, more)) + "\n")
    figures = run(folder, text, spark)
    assert figures.rows == 24 + len(more)
    new = [(4, 23), (100, 101)]  # the last row of the first run was not settled: it sees the new facts too
    assert pairs(spark.read.parquet(str(folder / "out")).collect()) == sorted([*EXPECTED, *new])


def test_a_stream_without_end(spark: Any, folder: Path) -> None:
    """It runs until it is told to stop, and tells figures meanwhile."""
    text = '[[source]]\nformat = "rate"\nevent = "a"\ntime = "timestamp"\noptions = { rowsPerSecond = 50 }\n'
    text += 'select = ["value as x", "\'k0\' as k", "timestamp"]\n'
    text += '[[sink]]\nformat = "console"\noptions = { numRows = 1 }\n'
    text += '[run]\ntrigger = "0 seconds"\ncheckpoint = "state"\n'
    seen: list[int] = []

    def show(figures: Figures) -> None:
        if figures.rows and figures.is_running:
            if not seen:
                os.kill(os.getpid(), signal.SIGTERM)
            seen.append(figures.rows)

    figures = run(folder, text, spark, show=show)
    assert seen
    assert (figures.state, figures.rows) == ("stopped", max(seen))
    assert not spark.streams.active


def test_lines_of_a_socket(spark: Any, folder: Path) -> None:
    """Lines are JSON objects, if a schema says so; results go to a table."""
    server = socket.create_server(("127.0.0.1", 0))
    lines = [json.dumps(row) for row in [*ROWS, {"type": "a", "ts": 99, "x": 0, "k": ""}]]

    def serve() -> None:
        with server, server.accept()[0] as caller:
            caller.sendall("".join(f"{line}\n" for line in lines).encode())
            done.wait(60)

    done = threading.Event()
    thread = threading.Thread(target=serve)
    thread.start()
    text = source(format="socket", host="127.0.0.1", port=server.getsockname()[1], schema=SCHEMA)
    text += '[[sink]]\nformat = "table"\ntable = "pairs_of_lines"\nevent = "pair"\n'
    text += f'options = {{ path = "{folder / "table"}" }}\n[run]\ntrigger = "0 seconds"\ncheckpoint = "state"\n'

    def show(figures: Figures) -> None:
        if figures.rows == len(lines) and figures.is_running and not done.is_set():
            done.set()
            os.kill(os.getpid(), signal.SIGTERM)

    try:
        figures = run(folder, text, spark, show=show)
        assert (figures.state, figures.rows, figures.late) == ("stopped", len(lines), 0)
        assert pairs(spark.table("pairs_of_lines").collect()) == EXPECTED
    finally:
        done.set()
        thread.join()
        spark.sql("drop table if exists pairs_of_lines")


def test_what_spark_refuses(spark: Any, folder: Path) -> None:
    text = source(format="json", path="in", where="nonsense(x) > 1") + source(format="table", table="no_such_table")
    with pytest.raises(InputError) as caught:
        run(folder, text + '[[sink]]\nformat = "console"\n', spark)
    assert [problem.code for problem in caught.value.problems] == ["E709", "E709"]
    (folder / "in" / "0.json").write_text('{"type": "a", "x": 1, "k": "k0"}\n')
    with pytest.raises(InputError, match=r"E710: the run failed: .*it has no time"):
        run(folder, source(format="json", path="in", schema=SCHEMA) + '[[sink]]\nformat = "console"\n', spark)


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """A broker inside librdkafka, on loopback."""
    kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed: etalis[kafka]")
    holder = kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 0})
    (described,) = holder.list_topics(timeout=10).brokers.values()
    yield f"{described.host}:{described.port}"
    holder.flush()


def send(broker: str, topic: str, texts: list[str]) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker, "log_level": 0})
    for number, text in enumerate(texts):
        producer.produce(topic, text.encode(), partition=number % 2)
    assert producer.flush(10) == 0


def receive(broker: str, topic: str) -> list[dict[str, Any]]:
    from etalis.pipeline.connectors.kafka_source import KafkaReader, Topic

    reader = KafkaReader(Topic({"servers": broker, "topic": topic}))
    tables = [batch for part in reader.partitions() for batch in reader.read(part)]
    return [json.loads(text) for table in tables for text in table.column("value").to_pylist()]


def test_kafka(spark: Any, folder: Path, broker: str) -> None:
    """A stream from topic to topic, in batches of bounded size, through a restart; then the same topic once."""
    send(broker, "events", [json.dumps(row) for row in ROWS[:12]])
    given = source(format="kafka", servers=broker, topic="events", schema=SCHEMA, order="_offset")
    sink = f'[[sink]]\nformat = "kafka"\nservers = "{broker}"\nevent = "pair"\n'
    stream = f'{given}options = {{ max_rows = 8 }}\n{sink}topic = "pairs"\n[run]\ntrigger = "available_now"\n'
    stream += 'checkpoint = "state"\n'
    first = run(folder, stream, spark)
    assert (first.batch, first.rows) == (1, 12)
    send(broker, "events", [*(json.dumps(row) for row in ROWS[12:]), "no JSON", '{"type": "c", "ts": 900}'])
    second = run(folder, stream, spark)
    assert (second.rows, second.late) == (24, 1)
    assert pairs(receive(broker, "pairs")) == EXPECTED
    once = run(folder, f'{given}where = "ts is not null"\n{sink}topic = "again"\n', spark)
    assert once.rows == 25
    assert pairs(receive(broker, "again")) == EXPECTED


def test_a_batch_of_kafka_takes_fair_shares() -> None:
    from etalis.pipeline.connectors.kafka_source import share

    assert share({"0": (0, 30), "1": (5, 15)}, 20) == {"0": 15, "1": 10}
    assert share({"0": (0, 30), "1": (5, 15)}, 40) == {"0": 30, "1": 15}
    assert share({"0": (0, 1_000), "1": (7, 8)}, 1) == {"0": 1, "1": 8}


def test_drain(spark: Any, folder: Path) -> None:
    """Rows that wait and absences that are not due reach all sinks once; figures say why rows were not taken."""
    (folder / "p.etalis").write_text(PROGRAM + "alone rule: alone(X) <- a(X, K) seq (not b(_, K) within 60).\n")
    text = source(format="json", path="in", schema=SCHEMA) + "options = { maxFilesPerTrigger = 1 }\n"
    text += '[[sink]]\nformat = "parquet"\npath = "all"\n[[sink]]\nformat = "json"\npath = "alone"\nevent = "alone"\n'
    text += (
        '[run]\ntrigger = "0 seconds"\ncheckpoint = "state"\nlateness = "5 minutes"\nahead = 500\nmax_rejected = 0.5\n'
    )
    rows = [{"type": "a", "ts": 24, "x": 24, "k": "k9"}, {"type": "a", "ts": 9_000, "x": 0, "k": "k9"}]
    rows += [{"type": "a", "ts": 5_000_000_000_000, "x": 0, "k": ""}, {"type": None, "ts": 9, "x": 0, "k": ""}]
    (folder / "in" / "2.json").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (folder / "p.toml").write_text(HEAD + text)
    checked = check_pipeline(folder / "p.toml")
    for _ in range(2):
        figures = drain_pipeline(checked, spark=spark)
        assert (figures.state, figures.rows, figures.held) == ("finished", 25, 0)
        assert figures.causes == {"ahead": 1, "event": 1, "time": 1}
        found = spark.read.parquet(str(folder / "all"))
        assert pairs(found.where("event = 'pair'").collect()) == EXPECTED
        assert [row.X for row in spark.read.json(str(folder / "alone")).collect()] == [24]
    text = source(format="json", path="in", schema=SCHEMA) + '[[sink]]\nformat = "console"\n'
    (folder / "p.toml").write_text(HEAD + text)
    once = check_pipeline(folder / "p.toml")
    with pytest.raises(InputError, match=r"E705: this pipeline runs once"):
        drain_pipeline(once, spark=spark)


def test_times_as_text(spark: Any, folder: Path) -> None:
    """ISO 8601 and numbers written as text; what is no time is a dead letter of a stream."""
    texts = [{**row, "ts": f"2026-05-01T12:00:{row['ts']:02}Z"} for row in ROWS] + [{**ROWS[0], "ts": "soon"}]
    (folder / "in" / "0.json").write_text("\n".join(map(json.dumps, texts)) + "\n")
    (folder / "in" / "1.json").unlink()
    text = source(format="json", path="in", schema=SCHEMA.replace("ts bigint", "ts string"))
    text += '[[sink]]\nformat = "parquet"\npath = "out"\nevent = "pair"\n'
    text += '[run]\ntrigger = "available_now"\ncheckpoint = "state"\n'
    run(folder, text, spark)
    figures = drain_pipeline(check_pipeline(folder / "p.toml"), spark=spark)
    assert (figures.rows, figures.causes) == (24, {"time": 1})
    assert pairs(spark.read.parquet(str(folder / "out")).collect()) == EXPECTED


REACTIONS = """:- event(a(x: int, k: string)).
:- event(b(x: int, k: string)).
:- state seen/2 key 1.
tell rule: on a(X, K) do (seen(K, Old) -> set(seen(K, X)) ; ins(seen(K, X))) seq effect(send(K, X)).
pair(X, Y) <- a(X, K) seq b(Y, K).
"""
EFFECTS = '[[sink]]\nformat = "effects"\npath = "effects"\naddress = "sqlite:///box.db"\n'


def test_effects_are_delivered_once_by_way_of_an_outbox(spark: Any, folder: Path) -> None:
    """Over history twice, then as a stream beside other results, in batches: each has the keys of one engine."""
    (folder / "p.etalis").write_text(REACTIONS)
    lines: list[str] = []
    one = etalis.compile(REACTIONS, name="p").engine(effects=etalis.effects.recording(lines.append))
    for row in ROWS:
        one.push(row["type"], row["x"], row["k"], at=row["ts"])
    expected, made = sorted(json.loads(line)["key"] for line in lines), list[str]()

    def keep(_k: str, _x: int, *, key: str) -> None:
        made.append(key)

    text = '[program]\nfiles = "p.etalis"\n' + source(format="json", path="in", schema=SCHEMA) + EFFECTS
    for _ in range(2):
        (folder / "p.toml").write_text(text)
        run_pipeline(check_pipeline(folder / "p.toml"), spark=spark)
        etalis.Outbox(f"sqlite:///{folder / 'box.db'}").deliver({"send": keep}, once=True)
    assert sorted(made) == expected
    desk = HttpDesk()
    stream = text.replace('"sqlite:///box.db"', f'"{desk.url}"').replace('"effects"\na', '"made"\na')
    stream = stream.replace("[[sink]]", "options = { maxFilesPerTrigger = 1 }\n[[sink]]")
    stream += '[[sink]]\nformat = "parquet"\npath = "out"\n[run]\ntrigger = "available_now"\ncheckpoint = "state"\n'
    try:
        (folder / "p.toml").write_text(stream)
        drain_pipeline(check_pipeline(folder / "p.toml"), spark=spark)
    finally:
        desk.close()
    assert sorted(request.key for request in desk.requests) == expected
    assert spark.read.parquet(str(folder / "out")).count() > 0
