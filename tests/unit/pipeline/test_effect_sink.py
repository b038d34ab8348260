"""The sink of effects: from the files of shards into an outbox or to HTTP, each key once; no Spark takes part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.errors import InputError
from etalis.pipeline.check import Checked, check_pipeline
from etalis.pipeline.connectors.effects import send
from etalis.pipeline.sinks import Target, common_form, effects_folder, open_stream, write_once, write_part
from etalis.spark.effect_rows import EFFECTS, clear_shards, read_batch, write_shard
from helpers.receivers import Desk, HttpDesk, Request

PROGRAM = """:- event(sold(item: string, n: int)).
:- state seen/1.
sell rule: on sold(I, N) do ins(seen(I)) seq effect(send(I, N)).
many(I) <- sold(I, N) where N > 10.
"""
FILE = """[program]
files = "rules.etalis"
[[source]]
format = "csv"
path = "in.csv"
event = "sold"
time = "at"
schema = "item string, n int, at double"
[[sink]]
format = "effects"
path = "effects"
address = "sqlite:///box.db"
"""
STREAM = FILE.replace("in.csv", "in") + '[run]\ntrigger = "10 seconds"\ncheckpoint = "state"\n'
EFFECTS_SINK = FILE[FILE.index("[[sink]]") :]
RESULTS = '[[sink]]\nformat = "json"\npath = "out"\nevent = "many"\n'


class Frame:
    """A DataFrame: what computes it has shards write their effects."""

    def __init__(self, folder: str, *shards: list[dict[str, Any]]) -> None:
        self.folder = folder
        self.shards = shards
        self.write = self

    def format(self, _: str) -> Frame:
        return self

    def mode(self, _: str) -> Frame:
        return self

    def save(self) -> None:
        for number, rows in enumerate(self.shards):
            write_shard(self.folder, number, pa.Table.from_pylist(rows, schema=EFFECTS))


def row(number: int, *, batch: int = 0, position: int = 0) -> dict[str, Any]:
    return {
        "key": f"k{number}.{position}", "transaction": f"t{number}", "position": position, "reaction": "sell",
        "name": "send", "args": f'["rose", {number}]', "start": float(number), "end": float(number), "batch": batch,
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.etalis").write_text(PROGRAM)
    (tmp_path / "in.csv").write_text("item,n,at\n")
    (tmp_path / "in").mkdir()
    return tmp_path


@pytest.fixture
def server() -> Iterator[HttpDesk]:
    desk = HttpDesk()
    yield desk
    desk.close()


def check(folder: Path, text: str) -> Checked:
    (folder / "shop.toml").write_text(text)
    return check_pipeline(folder / "shop.toml")


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        check(folder, text)
    return [f"{problem.code}: {problem.message}" for problem in caught.value.problems]


def test_an_outbox_takes_each_key_once(folder: Path) -> None:
    pipeline = check(folder, FILE).pipeline
    target, desk = Target(pipeline.sinks[0]), Desk()
    box = etalis.Outbox(f"sqlite:///{folder / 'box.db'}")  # it lies beside the pipeline, wherever that is run from
    for _ in range(2):  # a run that is repeated
        frame = Frame(str(folder / "effects"), [row(2), row(1, position=1)], [row(1)])
        write_once(frame, target, pipeline)
        box.deliver({"send": desk.function("send", 2)}, once=True)
    assert desk.keys["send"] == ["k1.0", "k1.1", "k2.0"]


def test_a_stream_delivers_the_batch_that_is_computed(folder: Path, server: HttpDesk) -> None:
    text = STREAM.replace("sqlite:///box.db", server.url)
    pipeline = check(folder, f"{text}[spark]\nmemory = '1g'\n").pipeline
    for batch in (3, 3, 4):  # of which one is run again
        others = [row(1, batch=2), row(3, batch=3), row(4, batch=4)]
        write_part(Frame(str(folder / "effects"), others), Target(pipeline.sinks[0]), pipeline, batch)
    assert [request.key for request in server.requests] == ["k3.0", "k3.0", "k4.0"]
    parts: list[Any] = []
    stream = SimpleNamespace(writeStream=SimpleNamespace(foreachBatch=parts.append))
    open_stream(stream, Target(pipeline.sinks[0]), pipeline)
    parts[0](Frame(str(folder / "effects"), [row(9, batch=9)]), 9)
    assert server.requests[-1].key == "k9.0"


def test_a_request_tells_the_effect_and_its_key(server: HttpDesk) -> None:
    waited: list[float] = []
    server.statuses = [503, 0, 200]
    send([row(7)], server.url, {}, wait=waited.append)
    body = {"effect": "send", "args": ["rose", 7], "reaction": "sell", "transaction": "t7", "position": 0}
    assert server.requests == [Request("POST", "k7.0", {**body, "start": 7.0, "end": 7.0})] * 3
    assert waited == [1.0, 2.0]


@pytest.mark.parametrize(("status", "tries"), [(409, 1), (500, 4)])
def test_what_is_not_taken_ends_the_run(server: HttpDesk, status: int, tries: int) -> None:
    server.statuses = [status]
    with pytest.raises(InputError, match=rf"E714: effect send of sell, key k1.0, was not taken: .* answered {status}"):
        send([row(1), row(2)], server.url, {}, wait=lambda _: None)
    assert [request.key for request in server.requests] == ["k1.0"] * tries


def test_options_are_headers() -> None:
    class Client:
        def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes, timeout: float) -> int:
            sent.append(headers)
            return 200

    sent: list[Mapping[str, str]] = []
    send([row(1)], "https://shop.example/effects", {"Authorization": "Bearer x"}, client=Client())
    assert (sent[0]["Authorization"], sent[0]["Idempotency-Key"]) == ("Bearer x", "k1.0")


def test_files_of_a_run_before_are_not_taken(tmp_path: Path) -> None:
    folder = str(tmp_path / "effects")
    clear_shards(folder)
    assert read_batch(folder, "shard-", 0) == []
    Frame(folder, [row(1)], [row(2)]).save()
    clear_shards(folder)
    Frame(folder, [row(3)]).save()
    assert [each["key"] for each in read_batch(folder, "shard-", 0)] == ["k3.0"]
    assert read_batch(folder, "query-", 0) == []


def test_keys_do_not_depend_on_where_a_pipeline_lies(folder: Path) -> None:
    assert check(folder, FILE).program.name == "shop"
    assert check(folder, FILE.replace("[[source]]", 'name = "till"\n[[source]]')).program.name == "till"


def test_other_sinks_take_results_as_they_are(folder: Path) -> None:
    pipeline = check(folder, FILE + RESULTS.replace("event", "envelope = true\nevent")).pipeline
    assert common_form(pipeline.sinks).envelope
    assert effects_folder(pipeline) == str(folder / "effects")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (FILE.replace("box.db", ""), "E704: address is an address: sqlite:///file.db, postgresql:"),
        (FILE.replace("sqlite:///box.db", "https://"), "E704: address is an address"),
        (FILE.replace('path = "effects"\n', ""), "E703: format effects needs path"),
        (FILE.replace('address = "sqlite:///box.db"\n', ""), "E703: format effects needs address"),
        (FILE + 'event = "many"\n', "E705: format effects takes no event"),
        (FILE + "envelope = true\n", "E705: format effects takes no envelope"),
        (FILE + 'mode = "append"\n', "E705: format effects takes no mode"),
        (FILE + "options = { Authorization = 'x' }\n", "E705: options are headers of requests, and this is an outbox"),
        (FILE + EFFECTS_SINK.replace('"effects"\na', '"more"\na'), "E705: there is one sink of effects"),
        (FILE.replace(EFFECTS_SINK, RESULTS), "E703: reactions of the program have effects"),
    ],
)  # fmt: skip
def test_what_can_be_wrong_is_told_before_spark_starts(folder: Path, text: str, found: str) -> None:
    (only,) = problems(folder, text)
    assert only.startswith(found)


def test_a_program_without_effects_has_none_to_deliver(folder: Path) -> None:
    (folder / "rules.etalis").write_text(PROGRAM.replace(" seq effect(send(I, N))", ""))
    assert problems(folder, FILE) == ["E705: no reaction of the program has an effect"]


def test_postgresql_needs_its_client(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etalis.pipeline.connectors.effects.find_spec", lambda _: None)
    text = FILE.replace("sqlite:///box.db", "postgresql://shop@db/shop")
    assert problems(folder, text) == ["E707: an outbox in PostgreSQL needs psycopg, which is not installed"]
