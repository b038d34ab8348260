"""Clients of a live service: what they send and give back is what an engine in the process takes and gives."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import etalis
from etalis.client import AsyncClient, Client, LostMatchesError, RejectedRowsError, RemoteEngine, ServiceError
from etalis.service.limits import ServiceLimits
from helpers.sessions import LiveSessions, live_sessions

PROGRAM = """
:- set_flag(event_consumption_policy, unrestricted).
:- event(w(card: string, amount: float, seen: time)).
c(X) <- (a(X) seq b(X)) within 9.
big(C, T) <- w(card: C, amount: A, seen: T) where A > 10.
near(basel, weil). near(bern, f(1, [x])).
"""


@pytest.fixture(scope="module")
def live() -> Iterator[LiveSessions]:
    with live_sessions(limits=ServiceLimits(engines=100, kept=50)) as found:
        yield found


@pytest.fixture
def client(live: LiveSessions) -> Iterator[Client]:
    with Client(live.url) as found:
        yield found


@pytest.fixture
def engine(client: Client) -> Iterator[RemoteEngine]:
    made = client.create(PROGRAM, scratch=True)
    yield made
    made.delete()


def shown(events: Any) -> list[str]:
    return [f"{event} {event.rule}" for event in events]


def test_push_gives_what_an_event_causes(engine: RemoteEngine) -> None:
    assert engine.push("a", 1, at=1) == ()
    (found,) = engine.push("b", 1, at=(1.5, Fraction(5, 2)))
    assert isinstance(found, etalis.Event)
    assert (str(found), found.rule, found.X) == ("c(1) [1, 2.5]", "1", 1)
    assert shown(engine.push("w", card="c1", amount=20.0, seen=7, at=3)) == ["big(c1, 7) [3, 3] 2"]


ROWS: list[Any] = [
    ("a", 1, 1), ("a", "x y", 2.5), ("b", 1, (3, 4)), ("b", "x y", datetime(1970, 1, 1, 0, 0, 5)),
    {"event": "a", "args": [True], "at": 6}, {"event": "b", "args": ["true"], "start": 6.5, "end": 7},
    etalis.Event("a", None, at=8), etalis.Event("b", "null", at=9), ("a", etalis.Struct("f", [1, 2.0]), 10),
    ("b", etalis.Struct("f", [1, 2.0]), Fraction(21, 2)), ("w", "c1", 11, datetime(2026, 3, 2), 11),
    {"event": "w", "at": "1970-01-01T00:00:12Z", "card": "c2", "amount": 30, "seen": "2026-03-02T00:00:00Z"},
    ("a", [1, [2]], 13), ("b", (1, (2,)), 14), ("a", -(2**70), 15), ("b", -(2**70), 16),
]  # fmt: skip


def test_rows_are_those_that_an_engine_in_the_process_takes(engine: RemoteEngine) -> None:
    wanted = [(event, event.rule) for event in etalis.compile(PROGRAM).engine().run(ROWS)]
    assert len(wanted) == 9
    assert [(event, event.rule) for event in engine.run(ROWS, batch=3)] == wanted


def test_columns_and_tables_are_rows_too(client: Client) -> None:
    frame = pd.DataFrame({
        "event": ["a", "b", "w"], "X": [1, 1, None], "card": [None, None, "c1"], "amount": [None, None, 20.0],
        "seen": [None, None, "2026-03-02T00:00:00Z"],
        "at": pd.to_datetime(["2026-03-02T09:00:00Z", "2026-03-02T09:00:01Z", "2026-03-02T09:00:02Z"]),
    })  # fmt: skip
    columns = {"event": ["a", "b"], "X": [1, 1], "at": [0, 1.5]}
    ways: list[tuple[Any, int]] = [
        (frame[["event", "X", "at"]].iloc[:2], 1), (pl.from_pandas(frame[["event", "X", "at"]].iloc[:2]), 1),
        (pa.Table.from_pydict(columns), 1), (columns, 1),
    ]  # fmt: skip
    for source, count in ways:
        engine = client.create(PROGRAM, scratch=True)
        assert len(list(engine.run(source, batch=1))) == count, type(source)
    engine = client.create("hit(X) <- tick(X).", scratch=True)
    found = list(engine.run(pd.DataFrame({"X": [1, 2], "ms": [1_000, 2_000]}), event="tick", time="ms", unit="ms"))
    assert shown(found) == ["hit(1) [1, 1] 1", "hit(2) [2, 2] 1"]


def test_rows_that_are_not_taken_are_told(engine: RemoteEngine) -> None:
    rows = [("a", 1, 1), ("w", 7, 1.0, 2, 2), ("b", 1, 2), ("w", "c", "x", 2, 3)]
    with pytest.raises(
        RejectedRowsError, match=r"row 1 was not taken: .*card should be of type string.* and 1 more"
    ) as told:
        list(engine.run(rows))
    assert shown(told.value.found) == ["c(1) [1, 2] 1"]
    seen: list[int] = []
    rows = [(name, *args, at + 10) for name, *args, at in rows]
    found = list(engine.run(rows, batch=2, on_rejected=lambda place, _: seen.append(place)))
    assert (shown(found), seen) == (["c(1) [11, 12] 1"], [1, 3])
    with pytest.raises(etalis.InputError, match="not a row of events"):
        list(engine.run([3]))


def test_questions(engine: RemoteEngine) -> None:
    list(engine.run([("a", 1, 1), ("b", 1, 2), ("a", 7, 3)]))
    rows = engine.query("near(X, Y)")
    assert rows == [{"X": "basel", "Y": "weil"}, {"X": "bern", "Y": etalis.Struct("f", [1, ["x"]])}]
    assert engine.query("near(X, _)", limit=1) == [{"X": "basel"}]
    assert engine.why(1).startswith("c(1) [1, 2]   by rule 1")
    assert engine.why(etalis.Event("c", 1, start=1, end=2)) == engine.why(1)
    assert "no event b(7) has come" in engine.why_not("c(7)", (0, 9))
    assert [row["present"] for row in engine.partial("1")] == [["a(7)"], ["a(1)"]]
    assert sum(row["instances"] for row in engine.state()) == 2
    assert "join key: X" in engine.explain()
    assert engine.explain("svg").startswith("<svg")
    assert engine.info()["policy"] == "unrestricted"


def test_rules_come_and_go_and_time_passes(engine: RemoteEngine) -> None:
    assert engine.insert_rule("none(X) <- a(X) seq (not b(X) within 5).") == "3"
    list(engine.run([("a", 1, 1)]))
    assert shown(engine.advance(to=datetime(1970, 1, 1, 0, 0, 20, tzinfo=UTC))) == ["none(1) [1, 6] 3"]
    assert engine.delete_rule("3") == 1
    list(engine.run([("a", 2, 21)]))
    engine.reset()
    assert shown(engine.run([("b", 2, 22), ("a", 3, 23)])) == []
    restored = etalis.compile(PROGRAM).restore(engine.snapshot(), justification="full")
    assert shown(restored.push("b", 3, at=24)) == ["c(3) [23, 24] 1"]
    assert engine.close() == ()
    with pytest.raises(etalis.EventError):
        engine.push("a", 1, at=30)


def test_errors_are_those_of_the_engine_with_place_and_hint(client: Client, engine: RemoteEngine) -> None:
    text = "c(X) <- a(X).\nd(X, Y) <- a(X)."
    with pytest.raises(etalis.ProgramError) as here:
        etalis.compile(text)
    with pytest.raises(etalis.ProgramError) as there:
        client.create(text)
    assert str(there.value) == str(here.value)
    with pytest.raises(etalis.ProgramError, match="<rule>:1:6: error E204"):
        engine.insert_rule("d(X, Y) <- a(X).")
    with pytest.raises(etalis.ConditionError, match="E506: foo/1 is not defined"):
        engine.query("foo(X)")
    with pytest.raises(ServiceError, match="there is no engine nobody") as refused:
        client.engine("nobody").state()
    assert refused.value.code == "E820"
    with pytest.raises(ServiceError, match="E821"):
        client.create(PROGRAM, name=engine.name)
    assert client.check("a <- (b")["ok"] is False


def test_engines_are_listed_and_deleted(client: Client) -> None:
    made = client.create(PROGRAM, name="list-me")
    assert "list-me" in [engine.name for engine in client.engines()]
    made.delete()
    assert "list-me" not in [engine.name for engine in client.engines()]
    assert client.health()["status"] == "ok"


def test_matches_are_streamed_from_any_number_on(engine: RemoteEngine) -> None:
    list(engine.run([(name, i, 10 * i + at) for i in range(1, 4) for name, at in (("a", 0), ("b", 1))]))
    stream = engine.matches(after=1)
    assert shown([next(stream), next(stream)]) == ["c(2) [20, 21] 1", "c(3) [30, 31] 1"]
    assert stream.number == 3
    engine.push("a", 4, at=40)
    engine.push("b", 4, at=41)
    assert shown([next(stream)]) == ["c(4) [40, 41] 1"]
    stream.close()
    with engine.client.engine(engine.name).matches(after=0, kinds="big/2") as none:
        engine.push("w", card="c1", amount=20.0, seen=7, at=50)
        assert next(none).name == "big"


def test_lost_matches_are_an_error_that_tells_where_to_go_on(engine: RemoteEngine) -> None:
    list(engine.run([(name, i, 10 * i + at) for i in range(1, 56) for name, at in (("a", 0), ("b", 1))]))
    stream = engine.matches(after=2)
    with pytest.raises(LostMatchesError) as lost:
        next(stream)
    assert lost.value.first == 6
    with engine.matches(after=stream.number) as again:
        assert str(next(again)) == "c(6) [60, 61]"


def test_a_stream_ends_with_its_engine(client: Client) -> None:
    engine = client.create(PROGRAM)
    engine.push("a", 1, at=1)
    engine.push("b", 1, at=2)
    stream = engine.matches(after=0)
    assert str(next(stream)) == "c(1) [1, 2]"
    engine.delete()
    assert list(stream) == []


def test_expressions_of_snoop(client: Client) -> None:
    leaf = {
        "operator": "newCD", "language": "http://shop.example/events", "with": {"T": {"mode": "bind"}},
        "having": {"title": {"bindVar": "T"}},
    }  # fmt: skip
    xml = """<expression xmlns="urn:etalis:snoop-r:1" operator="newCD" language="http://shop.example/events">
        <with><Variable name="T" mode="bind"/></with><having><parameter name="title" bindVar="T"/></having>
    </expression>"""
    signal = {"operator": "newCD", "language": "http://shop.example/events", "parameters": {"title": "Boy"}}
    first, second = (client.register(each)["evaluation"] for each in (leaf, xml))
    assert client.signal(signal)["matched"] == 2
    assert client.signal([signal, signal])["taken"] == 2
    for evaluation in (first, second):
        found = client.results(evaluation, after=1)
        assert [result["bindings"] for result in found["results"]] == [{"T": "Boy"}] * 2
        assert found["next"] == 3
        assert client.expression(evaluation)["expression"]["operator"] == "newCD"
    assert len(client.expressions()) == 2
    client.unregister(first)
    client.unregister(second)
    with pytest.raises(ServiceError, match="E860"):
        client.unregister(first)


def test_the_client_that_is_awaited(live: LiveSessions) -> None:
    async def use() -> None:
        async with AsyncClient(live.url) as client:
            engine = await client.create(PROGRAM, scratch=True)
            assert await engine.push("a", 1, at=1) == ()
            assert shown([event async for event in engine.run([("b", 1, 2), ("a", 2, 3)])]) == ["c(1) [1, 2] 1"]
            assert await engine.query("near(basel, X)") == [{"X": "weil"}]
            async with engine.matches(after=0) as stream:
                assert str(await anext(stream)) == "c(1) [1, 2]"
                waiting = asyncio.create_task(anext(stream))
                await engine.push("b", 2, at=4)
                assert str(await waiting) == "c(2) [3, 4]"
            with pytest.raises(etalis.ProgramError, match="E204"):
                await client.create("c(X, Y) <- a(X).")
            await engine.delete()
            with pytest.raises(ServiceError, match="E820"):
                await engine.state()

    asyncio.run(asyncio.wait_for(use(), 30))


def test_nobody_there(tmp_path: Path) -> None:
    with Client("http://127.0.0.1:1", retries=0) as client, pytest.raises(ServiceError, match="E850") as told:
        client.health()
    assert "etalis serve" in str(told.value)
