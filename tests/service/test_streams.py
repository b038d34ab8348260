"""Streams of matches: numbers, going on, gaps, ends, readers that are slow, and how many a client may have."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from etalis.service.host import EngineSpec, Service
from etalis.service.kept import Ended, LostMatches
from etalis.service.limits import ServiceLimits
from etalis.service.matches import MatchEntry, MatchLog
from etalis.service.problems import GoneError
from etalis.temporal.event import Event
from helpers.service import LINES, URL, Stream, lines, live, served

COPY = "c(X) <- a(X)."
STREAM = {"Accept": "text/event-stream"}


def rows(first: int, last: int) -> list[Any]:
    return [("a", i, i) for i in range(first, last + 1)]


def numbers(told: list[tuple[str, Any]]) -> list[int]:
    return [data["number"] for kind, data in told if kind == "match"]


def test_case_25_going_on_after_the_last_number() -> None:
    async def run() -> None:
        service = Service(public_url=URL)
        async with served(service):
            engine = await service.create(EngineSpec(program=COPY, name="e"))
            first = Stream(service, "/engines/e/matches?after=0")
            await engine.take(rows(1, 3))
            assert numbers(await first.read(3)) == [1, 2, 3]
            await first.close()
            await engine.take(rows(4, 5))
            second = Stream(service, "/engines/e/matches?after=0", {"last-event-id": "3"})
            assert numbers(await second.read(2)) == [4, 5]
            await engine.take(rows(6, 6))
            assert numbers(await second.read(3)) == [4, 5, 6]
            assert "id: 6\nevent: match\n" in second.text
            await second.close()
            assert service.streams == 0

    asyncio.run(run())


def test_case_25_a_gap_is_told() -> None:
    async def run() -> None:
        service = Service(public_url=URL, limits=ServiceLimits(kept=10))
        async with served(service) as client:
            engine = await service.create(EngineSpec(program=COPY, name="e"))
            await engine.take(rows(1, 110))
            stream = Stream(service, "/engines/e/matches?after=7")
            told = await stream.read(11)
            assert told[0] == ("gap", {"first": 101})
            assert numbers(told) == list(range(101, 111))
            await stream.close()
            gone = await client.get("/engines/e/matches?after=7")
            assert (gone.status_code, gone.json()["first"]) == (410, 101)
            assert (await client.get("/engines/e/matches?after=100")).json()["next"] == 110

    asyncio.run(run())


def test_who_names_no_number_sees_what_comes() -> None:
    async def run() -> None:
        service = Service(public_url=URL)
        async with served(service):
            engine = await service.create(EngineSpec(program=COPY + " d(X) <- a(X).", name="e"))
            await engine.take(rows(1, 2))
            stream = Stream(service, "/engines/e/matches?kinds=d/1,a/1")
            while not service.streams or not engine.followed:
                await asyncio.sleep(0)
            await engine.take(rows(3, 3))
            told = await stream.read(2)
            assert [data["match"]["event"] for _, data in told] == ["a", "d"]
            await service.delete("e")
            assert (await stream.read(3))[-1] == ("end", {})
            await stream.task

    asyncio.run(run())


def test_a_slow_reader_is_let_go_and_harms_nobody() -> None:
    async def run() -> None:
        service = Service(public_url=URL, limits=ServiceLimits(behind=100))
        async with served(service):
            engine = await service.create(EngineSpec(program=COPY, name="e"))
            slow, quick = Stream(service, "/engines/e/matches?after=0"), Stream(service, "/engines/e/matches?after=0")
            await engine.take(rows(1, 1))
            assert numbers(await slow.read(1)) == numbers(await quick.read(1)) == [1]
            slow.takes.clear()
            await engine.take(rows(2, 50))
            assert len(numbers(await quick.read(50))) == 50
            assert not slow.task.done()
            await engine.take(rows(51, 400))
            await asyncio.wait_for(slow.task, 20)
            assert numbers(await quick.read(400)) == list(range(1, 401))
            again = Stream(service, "/engines/e/matches", {"last-event-id": "1"})
            assert numbers(await again.read(399)) == list(range(2, 401))
            await asyncio.gather(quick.close(), again.close())

    asyncio.run(run())


def test_a_burst_lets_nobody_go_who_takes_what_comes() -> None:
    async def run() -> None:
        service = Service(public_url=URL, limits=ServiceLimits(behind=10))
        async with served(service):
            engine = await service.create(EngineSpec(program=COPY, name="e"))
            stream = Stream(service, "/engines/e/matches?after=0")
            await asyncio.gather(*(engine.take(rows(1000 * i, 1000 * i + 999)) for i in range(5)))
            assert numbers(await stream.read(5000)) == list(range(1, 5001))
            await stream.close()

    asyncio.run(run())


def test_a_client_has_so_many_streams() -> None:
    async def run() -> None:
        service = Service(public_url=URL, limits=ServiceLimits(streams=2))
        async with served(service) as client:
            await service.create(EngineSpec(program=COPY, name="e"))
            several = [Stream(service, "/engines/e/matches") for _ in range(2)]
            while service.streams < 2:
                await asyncio.sleep(0)
            refused = await client.get("/engines/e/matches", headers=STREAM)
            assert (refused.status_code, refused.json()["problems"][0]["code"]) == (429, "E827")
            await asyncio.gather(*(stream.close() for stream in several))
            assert service.streams == 0

    asyncio.run(run())


def test_a_quiet_stream_shows_that_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etalis.service.http.match_calls._COMMENT_SECONDS", 0.01)

    async def run() -> None:
        service = Service(public_url=URL)
        async with served(service):
            await service.create(EngineSpec(program=COPY, name="e"))
            stream = Stream(service, "/engines/e/matches")
            while stream.text.count(": still here\n\n") < 2:
                await asyncio.sleep(0.001)
            await stream.close()

    asyncio.run(run())


def test_a_live_stream_goes_on_and_ends_with_the_server() -> None:
    with live() as url, httpx.Client(base_url=url, timeout=20) as client:
        client.post("/engines", json={"program": COPY, "name": "e"}).raise_for_status()
        found = []
        with client.stream("GET", "/engines/e/matches?after=0", headers=STREAM) as stream:
            client.post("/engines/e/events", content=lines([["a", 1, 1], ["a", 2, 2]]), headers=LINES)
            for line in stream.iter_lines():
                found.append(line)
                if len(found) == 8:
                    break
        assert [line for line in found if line.startswith("id")] == ["id: 1", "id: 2"]


def test_a_log_numbers_and_forgets() -> None:
    moment = [0.0]
    log = MatchLog(kept=3, seconds=10, clock=lambda: moment[0])
    assert (log.first, log.after(0)) == (1, ([], 0))
    log.add([(None, Event("a", at=0), False)] * 4)
    assert (log.first, log.last, log.get(1), log.get(4).number) == (2, 4, None, 4)  # type: ignore[union-attr]
    with pytest.raises(GoneError) as refused:
        log.after(0)
    assert refused.value.more == {"first": 2}
    assert [entry.number for entry in log.after(1, limit=2)[0]] == [2, 3]
    moment[0] = 20.0
    assert log.after(4) == ([], 4)
    assert log.first == 5


def test_a_subscription_tells_gaps_and_the_end() -> None:
    async def run() -> None:
        log = MatchLog(kept=2)
        reader = log.subscribe(0)
        log.add([(None, Event("a", at=0), False)] * 3)
        log.end()
        told = [each async for each in reader]
        assert isinstance(told[0], LostMatches)
        assert told[0].first == 2
        assert [each.number for each in told if isinstance(each, MatchEntry)] == [2, 3]
        assert isinstance(told[-1], Ended)
        reader.close()

    asyncio.run(run())
