"""The log of a data folder: order, groups, snapshots, marks, and what is refused."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from etalis.data.values import Struct
from etalis.errors import InputError
from etalis.runtime.lateness.watermark import Stamp
from etalis.service.store.folder import StoreError
from etalis.service.store.log import KEPT_SECONDS, Entry, KeptAnswer, KeptResult, KeptUnit, ServiceLog
from etalis.service.store.plain_data import read_data, write_data
from etalis.service.store.schema import FILE
from etalis.temporal.event import Event, Retraction


@pytest.fixture
def log(tmp_path: Path) -> Iterator[ServiceLog]:
    opened = ServiceLog(tmp_path, clock=lambda: 5_000_000.0)
    yield opened
    opened.close()


def again(log: ServiceLog) -> ServiceLog:
    """Close a log and open its folder anew."""
    log.close()
    log.__init__(log.folder, clock=log._clock)
    return log


def test_entries_come_back_in_order_from_many_writers_in_few_commits(log: ServiceLog) -> None:
    order: list[int] = []

    async def write(name: str) -> None:
        order.append(await log.write("snoop", "signals", name.encode(), 7, request=None))

    async def work() -> None:
        await asyncio.gather(*(write(f"s{i}") for i in range(1000)))

    asyncio.run(work())
    assert order == list(range(1, 1001))  # who waits goes on in order
    assert log.commits < 200
    found = list(again(log).entries())
    assert found[0] == Entry(1, "snoop", "signals", 7, None, b"s0")
    assert [e.number for e in found] == list(range(1, 1001))
    assert log.last == 1000


def test_snapshots_results_and_a_mark(log: ServiceLog) -> None:
    async def work() -> None:
        for name in ("a", "b", "c"):
            await log.write("snoop", "signals", name.encode(), ids=[f"id {name}"])
        await log.keep("e/1", 3, b"state", [KeptResult(1, 10.0, b"r1"), KeptResult(2, 11.0, b"r2")], 1)
        await log.keep("e/2", 3, b"gone", [KeptResult(1, 10.0, b"x")], 1)
        await log.delivered_to("e/1", 1)
        await log.delivered_to("e/1", 2, dead="status 500")
        await log.delivered_to("e/2", 1)
        await log.write("snoop", "signals", b"d", ids=["id d", "id a"])
        await log.finish(3, ["e/1"], {"a": b"shared"})

    asyncio.run(work())
    again(log)
    assert [e.body for e in log.entries()] == [b"d"]
    assert (log.mark, log.last) == (3, 4)
    assert log.units() == [KeptUnit("e/1", 3, b"state")]
    assert log.results("e/1") == [KeptResult(1, 10.0, b"r1"), KeptResult(2, 11.0, b"r2")]
    assert log.results("e/2") == []
    assert log.states() == {"a": b"shared"}
    assert log.delivered() == {"e/1": 2}
    assert log.dead_letters() == {"e/1": {2: "status 500"}}
    assert [name for name, _ in log.seen()] == ["id a", "id b", "id c"]  # those behind the mark come with their entries

    async def newer() -> None:
        await log.keep("e/1", 4, b"state 2", [KeptResult(3, 12.0, b"r3")], 2)
        await log.finish(4, ["e/1"])

    asyncio.run(newer())
    again(log)
    assert [r.number for r in log.results("e/1")] == [2, 3]
    assert (list(log.entries()), log.last) == ([], 4)


def test_answers_are_kept_for_a_day_the_first_one(tmp_path: Path) -> None:
    now = [1_000_000.0]
    log = ServiceLog(tmp_path, clock=lambda: now[0])
    first = KeptAnswer(201, {"location": "/x"}, b"digest", b"{}")

    async def work() -> None:
        await log.put_answer("c", "k", first)
        await log.put_answer("c", "k", KeptAnswer(500, {}, b"", b""))

    asyncio.run(work())
    again(log)
    assert list(log.answers()) == [("c", "k", 1_000_000.0, first)]
    now[0] += KEPT_SECONDS + 1
    assert list(log.answers()) == []
    asyncio.run(log.finish(0, []))
    now[0] -= KEPT_SECONDS
    assert list(log.answers()) == []
    log.close()


def test_a_folder_in_use_is_refused_and_free_when_its_process_was_killed(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from etalis.service.store.log import ServiceLog;"
        " log = ServiceLog(Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StoreError, match="in use by another process") as refused:
            ServiceLog(tmp_path)
        assert refused.value.code == "E811"
        other.kill()
    ServiceLog(tmp_path).close()


def with_database(change: Callable[[sqlite3.Connection], object]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        ServiceLog(folder).close()
        connection = sqlite3.connect(folder / FILE)
        change(connection)
        connection.commit()
        connection.close()

    return make


def overwrite(folder: Path) -> None:
    log = ServiceLog(folder)

    async def work() -> None:
        await log.write("a", "b", b"x" * 100_000)

    asyncio.run(work())
    log.close()
    data = bytearray((folder / FILE).read_bytes())
    data[4096 : len(data) // 2] = b"\xff" * (len(data) // 2 - 4096)
    (folder / FILE).write_bytes(data)


def foreign(folder: Path) -> None:
    connection = sqlite3.connect(folder / FILE)
    connection.execute("CREATE TABLE t (x)")
    connection.close()


@pytest.mark.parametrize(
    ("spoil", "code", "why"),
    [
        (with_database(lambda c: c.execute("UPDATE etalis_service SET format = 99")), "E812", "has format 99"),
        (lambda folder: (folder / FILE).write_bytes(b"no database" * 1000), "E810", "not a database"),
        (overwrite, "E810", "malformed|damaged"),
        (foreign, "E810", "another program's"),
        (lambda folder: (folder / FILE).mkdir(), "E810", "unable to open"),
    ],
    ids=["newer", "no database", "damaged", "foreign", "a folder"],
)
def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path, spoil, code: str, why: str) -> None:
    spoil(tmp_path)
    with pytest.raises(StoreError, match=why) as refused:
        ServiceLog(tmp_path)
    assert refused.value.code == code
    assert refused.value.problems[0].hint


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(StoreError, match="cannot be used"):
        ServiceLog(tmp_path / "x")


def test_a_full_disk_refuses_what_was_not_written_and_no_more(log: ServiceLog) -> None:
    def limit(pages: int) -> None:
        log._connection.execute(f"PRAGMA max_page_count = {pages}").close()

    async def work() -> None:
        await log.write("a", "b", b"first")
        ((pages,),) = log._read("PRAGMA page_count")
        limit(pages + 2)
        many: list[Awaitable[int]] = [log.write("a", "b", b"x" * 50_000)]
        found = await asyncio.gather(*many, return_exceptions=True)
        assert isinstance(found[0], StoreError)
        assert "full" in str(found[0])
        limit(pages + 1000)
        await log.write("a", "b", b"last")

    asyncio.run(work())
    assert [e.body for e in again(log).entries()] == [b"first", b"last"]


def test_what_has_no_form_on_disk_is_refused_and_nothing_else(log: ServiceLog) -> None:
    async def work() -> None:
        with pytest.raises(StoreError, match="surrogates"):
            await log.write("a", "\ud800", b"")
        with pytest.raises(StoreError):
            await log.write("a", "b", b"", 1 << 70)
        await log.write("a", "b", b"last")

    asyncio.run(work())
    assert [e.body for e in again(log).entries()] == [b"last"]


def test_rows_come_back_as_they_were() -> None:
    rows = [
        ("a", 1, 2.5, "x", True, None, ["l", 1 << 80], Struct("f", (1, ("y",))), datetime(2026, 3, 2, tzinfo=UTC)),
        {"event": "a", "at": Fraction(1, 3), "card": Decimal("2.50")}, ("b", Stamp(5, id="i", rank=2)),
        Event("c", card="c1", at="2026-03-02T09:00:00Z"), Retraction.of(Event("d", 1, start=1, end=2)),
    ]  # fmt: skip
    found = read_data(write_data({"rows": rows, "data": b"\x00\xff"}))
    assert found == {"rows": rows, "data": b"\x00\xff"}
    assert [str(row) for row in found["rows"][3:]] == [str(row) for row in rows[3:]]
    assert found["rows"][3].to_dict() == rows[3].to_dict()
    with pytest.raises(InputError, match="half a character"):
        write_data({"goal": "\ud800"})
    with pytest.raises(InputError, match="cannot be written"):
        write_data({"rows": [object()]})
