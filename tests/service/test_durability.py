"""A service with a data folder: what was answered is there after a crash, with the same numbers, and nothing twice.

A crash is a copy of the folder's files while the service runs: what a process leaves that was killed.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from etalis.service.expressions.opening import SnoopOptions
from etalis.service.expressions.snoop_service import SnoopSettings
from etalis.service.host import EngineSpec, ServedProgram, Service
from etalis.service.store.log import ServiceLog
from helpers.service import LINES, URL, StandingClock, served

TEXT = {"content-type": "text/plain"}
PAIR = 'shop = "http://s". SEQ(shop:cd(t: T), shop:dvd(t: T))'
EITHER = 'shop = "http://s". OR(shop:cd(t: T), shop:dvd(t: T)) context chronicle'
PROGRAM = ":- event(a(x: int)). :- event(b(x: int)). c(X) <- a(X) seq b(X)."


def cd(title: str, name: str = "cd", **more: object) -> dict[str, object]:
    return {"operator": name, "language": "http://s", "parameters": {"t": title}, **more}


def crash(folder: Path) -> Path:
    """Return a copy of a folder, as a process leaves it that is killed now."""
    copy = folder.parent / f"{folder.name}+"
    shutil.copytree(folder, copy)
    return copy


async def results(client: httpx.AsyncClient, number: int) -> list[str]:
    """Return the results of an expression: numbers and titles."""
    found = (await client.get(f"/snoop/expressions/{number}/results")).json()["results"]
    return [f"{each['number']} {each.get('bindings', {}).get('T')}" for each in found]


def service(folder: Path, clock: StandingClock | None = None, **settings: object) -> Service:
    options = SnoopOptions(settings=SnoopSettings(**settings))  # type: ignore[arg-type]
    return Service(data=folder, public_url=URL, snoop=options, clock=clock or StandingClock(1_000_000))


async def fill(client: httpx.AsyncClient) -> None:
    for text in (PAIR, EITHER):
        assert (await client.post("/snoop/expressions", content=text, headers=TEXT)).status_code == 201
    for row in (cd("Boy"), cd("War"), cd("Boy", "dvd")):
        assert (await client.post("/snoop/signals", json=row)).json()["taken"] == 1


@pytest.mark.parametrize("marked", [False, True], ids=["log", "snapshots"])
def test_expressions_and_results_are_there_after_a_crash(tmp_path: Path, marked: bool) -> None:
    async def before() -> Path:
        async with served(service(tmp_path / "data")) as client:
            await fill(client)
            if marked:
                await client.service.durability.mark()
                await client.post("/snoop/signals", json=cd("Pop"))
            return crash(tmp_path / "data")

    async def after(folder: Path) -> None:
        async with served(service(folder)) as client:
            listed = (await client.get("/snoop/expressions")).json()["expressions"]
            assert [each["number"] for each in listed] == [1, 2]
            assert await results(client, 1) == ["1 Boy"]
            more = ["4 Pop"] if marked else []
            assert await results(client, 2) == ["1 Boy", "2 War", "3 Boy", *more]
            await client.post("/snoop/signals", json=cd("War", "dvd"))
            assert await results(client, 1) == ["1 Boy", "2 War"]  # the left part was waiting
            made = await client.post("/snoop/expressions", content=PAIR, headers=TEXT)
            assert made.json()["evaluation"].endswith("/3")

    asyncio.run(after(asyncio.run(before())))


def test_a_number_is_never_given_again(tmp_path: Path) -> None:
    async def before() -> Path:
        async with served(service(tmp_path / "data")) as client:
            await fill(client)
            assert (await client.delete("/snoop/expressions/2")).status_code == 204
            await client.service.durability.mark()
            return crash(tmp_path / "data")

    async def after(folder: Path) -> None:
        async with served(service(folder)) as client:
            assert (await client.get("/snoop/expressions/2")).status_code == 404
            made = await client.post("/snoop/expressions", content=PAIR, headers=TEXT)
            assert made.json()["evaluation"].endswith("/3")

    asyncio.run(after(asyncio.run(before())))


def test_stamps_go_on_after_a_restart_also_where_the_clock_steps_back(tmp_path: Path) -> None:
    async def before() -> Path:
        async with served(service(tmp_path / "data", StandingClock(9_000_000))) as client:
            await fill(client)
            return crash(tmp_path / "data")

    async def after(folder: Path) -> None:
        async with served(service(folder, StandingClock(2_000_000))) as client:
            await client.post("/snoop/signals", json=cd("War", "dvd"))
            (_, last) = (await client.get("/snoop/expressions/1/results")).json()["results"]
            assert last["end"] == "1970-01-01T00:00:09.000003Z"

    asyncio.run(after(asyncio.run(before())))


@pytest.mark.parametrize("marked", [False, True], ids=["log", "snapshots"])
def test_signals_that_wait_for_earlier_ones_still_wait(tmp_path: Path, marked: bool) -> None:
    settings = {"time": "events", "lateness": 10_000_000}

    async def before() -> Path:
        async with served(service(tmp_path / "data", **settings)) as client:
            await client.post("/snoop/expressions", content=PAIR, headers=TEXT)
            await client.post("/snoop/signals", json=cd("Boy", "dvd", at="20"))
            if marked:
                await client.service.durability.mark()
            return crash(tmp_path / "data")

    async def after(folder: Path) -> None:
        async with served(service(folder, **settings)) as client:
            await client.post("/snoop/signals", json=cd("Boy", at="15"))
            assert await results(client, 1) == []
            assert (await client.post("/snoop/signals", json=cd("Boy", at="5"))).json()["late"] == 1
            assert (await client.post("/snoop/advance", json={"to": 60})).status_code == 204
            assert await results(client, 1) == ["1 Boy"]

    asyncio.run(after(asyncio.run(before())))


@pytest.mark.parametrize("marked", [False, True], ids=["log", "snapshots"])
def test_ids_that_were_seen_stay_seen(tmp_path: Path, marked: bool) -> None:
    async def before() -> Path:
        async with served(service(tmp_path / "data")) as client:
            await client.post("/snoop/expressions", content=EITHER, headers=TEXT)
            await client.post("/snoop/signals", json=cd("Boy", id="one"))
            if marked:
                await client.service.durability.mark()
            return crash(tmp_path / "data")

    async def after(folder: Path) -> None:
        async with served(service(folder)) as client:
            answer = (await client.post("/snoop/signals", json=[cd("Boy", id="one"), cd("War", id="two")])).json()
            assert (answer["taken"], answer["repeated"]) == (1, 1)
            assert await results(client, 1) == ["1 Boy", "2 War"]

    asyncio.run(after(asyncio.run(before())))


@pytest.mark.parametrize("marked", [False, True], ids=["log", "snapshots"])
def test_engines_are_there_after_a_crash(tmp_path: Path, marked: bool) -> None:
    def rows(*several: tuple[str, int, int]) -> str:
        return "".join(json.dumps({"event": e, "x": x, "at": at}) + "\n" for e, x, at in several)

    async def before() -> Path:
        async with served(service(tmp_path / "data")) as client:
            for name in ("one", "two", "gone"):
                made = await client.post("/engines", json={"name": name, "program": PROGRAM, "policy": "unrestricted"})
                assert made.status_code == 201
            await client.post("/engines/one/events", content=rows(("a", 1, 1), ("a", 2, 2), ("b", 1, 3)), headers=LINES)
            await client.post("/engines/two/events", content="event(a(5), [1, 1]). event(a(6), [2, 2]).", headers=TEXT)
            await client.post("/engines/two/rules", json={"rules": "label1 rule: d(X) <- b(X)."})
            if marked:
                await client.service.durability.mark()
            await client.post("/engines/one/events", content=rows(("b", 2, 4)), headers=LINES)
            await client.delete("/engines/gone")
            return crash(tmp_path / "data")

    async def after(folder: Path) -> None:
        async with served(service(folder)) as client:
            listed = (await client.get("/engines")).json()["engines"]
            assert sorted(each["name"] for each in listed) == ["one", "two"]
            found = (await client.get("/engines/one/matches?after=0")).json()["matches"]
            assert [(each["number"], each["by"], each["match"]["event"]) for each in found] == [
                (1, 2, "c"),
                (2, 0, "c"),
            ]
            assert [each["match"]["end"] for each in found] == [3, 4]
            answer = await client.post("/engines/one/events", content=rows(("b", 1, 5)), headers=LINES)
            assert [each["number"] for each in answer.json()["matches"]] == [3]
            answer = await client.post("/engines/two/events", content=rows(("b", 5, 5)), headers=LINES)
            assert sorted(each["match"]["event"] for each in answer.json()["matches"]) == ["c", "d"]

    asyncio.run(after(asyncio.run(before())))


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def work() -> None:
        async with served(Service(public_url=URL)) as client:
            await fill(client)

    asyncio.run(work())
    assert list(tmp_path.iterdir()) == []


def test_a_clean_end_leaves_snapshots_alone(tmp_path: Path) -> None:
    async def run(work: Callable[[httpx.AsyncClient], object]) -> None:
        async with served(service(tmp_path / "data")) as client:
            await work(client)

    async def look(client: httpx.AsyncClient) -> None:
        assert list(client.service.journal.log.entries()) == []
        assert await results(client, 1) == ["1 Boy"]
        await client.post("/snoop/signals", json=cd("War", "dvd"))
        assert await results(client, 1) == ["1 Boy", "2 War"]

    asyncio.run(run(fill))
    asyncio.run(run(look))


def test_a_disk_that_takes_nothing_refuses_and_detects_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        async with served(service(tmp_path / "data")) as client:
            await fill(client)
            connection = client.service.journal.log._connection
            ((pages,),) = connection.execute("PRAGMA page_count").fetchall()
            connection.execute(f"PRAGMA max_page_count = {pages}").close()
            large = [cd("x" * 9_000) for _ in range(5)]
            answer = await client.post("/snoop/signals", json=large)
            assert answer.status_code == 503
            assert answer.json()["problems"][0]["code"] == "E810"
            assert await results(client, 2) == ["1 Boy", "2 War", "3 Boy"]
            connection.execute("PRAGMA max_page_count = 100000").close()
            assert (await client.post("/snoop/signals", json=large)).json()["taken"] == 5

    asyncio.run(work())


@pytest.mark.parametrize("is_answered", [True, False], ids=["answered", "killed before the answer"])
def test_a_request_with_a_key_is_done_once_over_a_crash(tmp_path: Path, is_answered: bool) -> None:
    rows = "".join(json.dumps({"event": e, "x": 1, "at": at}) + "\n" for e, at in (("a", 1), ("b", 2)))
    key = {"idempotency-key": "k"}

    async def ask(client: httpx.AsyncClient) -> list[httpx.Response]:
        return [
            await client.post("/snoop/expressions", content=EITHER, headers={**TEXT, **key}),
            await client.post("/snoop/signals", json=[cd("Boy"), cd("War")], headers={"idempotency-key": "k2"}),
            await client.post("/engines/e/events", content=rows, headers={**LINES, "idempotency-key": "k3"}),
        ]

    async def before() -> tuple[Path, list[bytes]]:
        async with served(service(tmp_path / "data")) as client:
            await client.post("/engines", json={"name": "e", "program": PROGRAM})
            answers = await ask(client)
            folder = crash(tmp_path / "data")
        if not is_answered:
            log = ServiceLog(folder)
            log._connection.execute("DELETE FROM answers")
            log.close()
        return folder, [each.content for each in answers]

    async def after(folder: Path, first: list[bytes]) -> None:
        async with served(service(folder)) as client:
            again = await ask(client)
            assert [each.content for each in again] == first
            assert all(each.headers["idempotency-replayed"] == "true" for each in again)
            assert await results(client, 1) == ["1 Boy", "2 War"]
            assert len((await client.get("/engines/e/matches?after=0")).json()["matches"]) == 1
            other = await client.post("/snoop/signals", json=cd("Pop"), headers={"idempotency-key": "k2"})
            assert other.status_code == 422

    folder, first = asyncio.run(before())
    asyncio.run(after(folder, first))


def test_a_program_that_was_edited_goes_on_with_its_state(tmp_path: Path) -> None:
    more = f"{PROGRAM} d(X) <- c(X) seq a(X)."
    other = ":- event(z(x: int)). y(X) <- z(X)."

    async def run(program: str, rows: list[dict[str, object]]) -> list[str]:
        made = ServedProgram(EngineSpec(program=program, name="e"))
        async with served(Service(data=tmp_path / "data", public_url=URL, programs=[made])) as client:
            for row in rows:
                await client.post("/engines/e/events", json=row)
            folder = tmp_path / "copy"
            shutil.copytree(tmp_path / "data", folder)
            found = (await client.get("/engines/e/matches?after=0")).json()["matches"]
        shutil.rmtree(tmp_path / "data")
        folder.rename(tmp_path / "data")
        return [f"{each['number']} {each['match']['event']}" for each in found]

    def row(name: str, at: int) -> dict[str, object]:
        return {"event": name, "x": 1, "at": at}

    assert asyncio.run(run(PROGRAM, [row("a", 1)])) == []
    assert asyncio.run(run(more, [row("b", 2), row("a", 3)])) == ["1 c", "2 d"]
    assert asyncio.run(run(more, [row("b", 4)])) == ["1 c", "2 d", "3 c"]
    assert asyncio.run(run(other, [row("z", 5)])) == ["1 c", "2 d", "3 c", "4 y"]
