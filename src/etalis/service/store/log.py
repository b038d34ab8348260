"""The log of a service: what its actors were asked to do, in order, and what they have become since.

An actor is what is asked one thing at a time: all expressions together, or one engine. A unit is what is kept by a
snapshot of its own: an expression, an engine. Law: a snapshot numbered n holds every entry up to n of its unit, and
entries up to the mark are in snapshots all of them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import time
from types import MappingProxyType
from typing import Any, NamedTuple

from etalis.service.store.folder import explaining, open_folder
from etalis.service.store.group_commit import GroupCommit, Statement
from etalis.service.store.schema import OF_A_UNIT

KEPT_ANSWERS = 100_000
NOTHING: Mapping[str, bytes] = MappingProxyType({})
KEPT_SECONDS = 24 * 3600.0


class Entry(NamedTuple):
    """One thing that an actor was asked to do; `request` names one that may be repeated."""

    number: int
    actor: str
    kind: str
    stamp: int  # microseconds: what the clock said
    request: str | None
    body: bytes


class KeptUnit(NamedTuple):
    """A unit as its last snapshot has it."""

    name: str
    number: int
    body: bytes


class KeptResult(NamedTuple):
    """A result of a unit that a snapshot holds no more; `at` is when it came, in seconds."""

    number: int
    at: float
    body: bytes


class KeptAnswer(NamedTuple):
    """The first answer to a request with a key."""

    status: int
    headers: Mapping[str, str]
    request: bytes  # a digest of it
    body: bytes


class ServiceLog:
    """The log of one data folder; `last` is the number of the newest entry."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time) -> None:
        self.folder = folder
        self._clock = clock
        self._connection = open_folder(folder)
        with explaining(folder):
            ((self.mark,),) = self._read("SELECT mark FROM etalis_service")
            ((newest,),) = self._read("SELECT max(number) FROM log")
        self.last: int = max(self.mark, newest or 0)
        self._commits = GroupCommit(self._connection, folder)

    @property
    def commits(self) -> int:
        """How many transactions there were."""
        return self._commits.commits

    def close(self) -> None:
        """Write what waits, and let the folder go."""
        self._commits.close()
        self._connection.close()

    # at the start

    def entries(self) -> Iterator[Entry]:
        """Return the entries behind the mark, in order."""
        return map(Entry._make, self._read("SELECT * FROM log ORDER BY number"))

    def units(self) -> list[KeptUnit]:
        """Return what snapshots there are."""
        return [KeptUnit(*row) for row in self._read("SELECT unit, number, body FROM snapshots ORDER BY unit")]

    def states(self) -> dict[str, bytes]:
        """Return what the units of each actor share, as of the mark."""
        return dict(self._read("SELECT actor, body FROM states"))

    def results(self, unit: str) -> list[KeptResult]:
        """Return the kept results of a unit."""
        sql = "SELECT number, at, body FROM results WHERE unit = ? ORDER BY number"
        return [KeptResult(*row) for row in self._read(sql, unit)]

    def delivered(self) -> dict[str, int]:
        """Return up to which number the results of each unit were delivered, or given up."""
        return dict(self._read("SELECT unit, number FROM deliveries"))

    def dead_letters(self) -> dict[str, dict[int, str]]:
        """Return the results that were given up, and why, by unit."""
        found: dict[str, dict[int, str]] = {}
        for unit, number, why in self._read("SELECT unit, number, why FROM dead_letters ORDER BY number"):
            found.setdefault(unit, {})[number] = why
        return found

    def seen(self) -> list[tuple[str, float]]:
        """Return the ids of signals up to the mark, with when they came, oldest first."""
        return self._read("SELECT id, at FROM seen WHERE number <= ? ORDER BY number", self.mark)

    def answers(self) -> Iterator[tuple[str, str, float, KeptAnswer]]:
        """Return the first answers to requests with keys: client, key, when, answer."""
        sql = "SELECT client, key, at, status, headers, request, body FROM answers WHERE at > ? ORDER BY at"
        for client, key, at, status, headers, request, body in self._read(sql, self._clock() - KEPT_SECONDS):
            yield client, key, at, KeptAnswer(status, json.loads(headers), request, body)

    # at work

    async def write(
        self, actor: str, kind: str, body: bytes, stamp: int = 0, *, request: str | None = None, ids: Iterable[str] = ()
    ) -> int:
        """Write an entry with the ids of its signals; return its number when it is on the disk.

        Who waits for several goes on in the order of their numbers.
        """
        self.last = number = self.last + 1
        entry = ("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", (number, actor, kind, stamp, request, body))
        seen = [("INSERT OR IGNORE INTO seen VALUES (?, ?, ?)", (id, number, self._clock())) for id in ids]  # noqa: A001
        await self._commits.submit([entry, *seen])
        return number

    async def keep(self, unit: str, number: int, body: bytes, results: Sequence[KeptResult], first: int) -> None:
        """Keep the snapshot of a unit, its results since the last one, and none below the first that it still has."""
        await self._commits.submit(
            [
                ("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (unit, number, body)),
                ("DELETE FROM results WHERE unit = ? AND number < ?", (unit, first)),
                *(("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?)", (unit, *row)) for row in results),
            ]
        )

    async def finish(self, mark: int, units: Iterable[str], states: Mapping[str, bytes] = NOTHING) -> None:
        """Drop the entries up to a mark, since snapshots and states have them, and what there is of units gone."""
        names = json.dumps(list(units))
        old = self._clock() - KEPT_SECONDS
        await self._commits.submit(
            [
                ("UPDATE etalis_service SET mark = ?", (mark,)),
                *(("INSERT OR REPLACE INTO states VALUES (?, ?)", each) for each in states.items()),
                ("DELETE FROM log WHERE number <= ?", (mark,)),
                *(
                    (f"DELETE FROM {table} WHERE unit NOT IN (SELECT value FROM json_each(?))", (names,))
                    for table in OF_A_UNIT
                ),
                *_forget("seen", "number", old),
                *_forget("answers", "at", old),
            ]
        )
        self.mark = mark

    def delivered_to(self, unit: str, number: int, *, dead: str | None = None) -> asyncio.Future[None]:
        """Say that a result was delivered, or why it was given up."""
        done: Statement = ("INSERT OR REPLACE INTO deliveries VALUES (?, ?)", (unit, number))
        given_up: Statement = ("INSERT OR REPLACE INTO dead_letters VALUES (?, ?, ?)", (unit, number, dead))
        return self._commits.submit([done] if dead is None else [done, given_up])

    async def put_answer(self, client: str, key: str, answer: KeptAnswer) -> None:
        """Keep the first answer to a request with a key."""
        told = json.dumps(dict(answer.headers))
        row = (client, key, self._clock(), answer.status, told, answer.request, answer.body)
        await self._commits.submit([("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", row)])

    def _read(self, sql: str, *values: Any) -> list[Any]:
        with explaining(self.folder):
            return self._connection.execute(sql, values).fetchall()


def _forget(table: str, order: str, old: float) -> list[Statement]:
    """Return what drops the rows of a table that are older than a day, or more than are kept."""
    newest = f"SELECT {order} FROM {table} ORDER BY {order} DESC LIMIT 1 OFFSET {KEPT_ANSWERS}"
    return [
        (f"DELETE FROM {table} WHERE at < ?", (old,)),
        (f"DELETE FROM {table} WHERE {order} <= ({newest})", ()),
    ]
