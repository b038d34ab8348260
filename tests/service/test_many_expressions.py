"""Many expressions over few types: they go as they came, and those that stay detect as if alone."""

from __future__ import annotations

import asyncio
import gc
import random
import time
import tracemalloc

import httpx
import pytest

from etalis.service.expressions.opening import SnoopOptions
from etalis.service.expressions.snoop_service import SnoopSettings
from etalis.service.host import Service
from helpers.service import URL, StandingClock, served

TEXT = {"content-type": "text/plain"}
TYPES = 20


def expression(number: int) -> str:
    left, right = number % TYPES, (number * 7 + 3) % TYPES
    context = ("recent", "chronicle", "unrestricted")[number % 3]
    return f'shop = "http://s". SEQ(shop:k{left}(t: T), shop:k{right}(t: T, n: "{number % 5}")) context {context}'


def rows(count: int, seed: int) -> list[dict[str, object]]:
    rng = random.Random(seed)
    return [
        {
            "operator": f"k{rng.randrange(TYPES)}",
            "language": "http://s",
            "parameters": {"t": str(rng.randrange(4)), "n": str(rng.randrange(5))},
            "at": str(at),
        }
        for at in range(count)
    ]


async def all_results(client: httpx.AsyncClient, numbers: list[int]) -> list[list[object]]:
    found = []
    for number in numbers:
        told = (await client.get(f"/snoop/expressions/{number}/results")).json()["results"]
        found.append([(each["bindings"], each["start"], each["end"]) for each in told])
    return found


def service() -> Service:
    settings = SnoopSettings(time="events", expressions=10_000)
    return Service(public_url=URL, clock=StandingClock(1), snoop=SnoopOptions(settings=settings))


async def remove_half(client: httpx.AsyncClient, count: int) -> list[float]:
    """Register so many, remove every other; return the processor time that each registration took."""
    took = []
    for number in range(count):
        began = time.process_time()
        answer = await client.post("/snoop/expressions", content=expression(number), headers=TEXT)
        took.append(time.process_time() - began)
        assert answer.status_code == 201
    for number in range(1, count, 2):
        assert (await client.delete(f"/snoop/expressions/{number + 1}")).status_code == 204
    return took


def test_what_stays_detects_as_if_alone() -> None:
    count, stream = 120, rows(400, 22)

    async def with_others() -> list[list[object]]:
        async with served(service()) as client:
            await remove_half(client, count)
            index = client.service.snoop.expressions.detector.index
            assert len(index) == count
            await client.post("/snoop/signals", json=stream)
            return await all_results(client, list(range(1, count, 2)))

    async def alone() -> list[list[object]]:
        async with served(service()) as client:
            for number in range(0, count, 2):
                await client.post("/snoop/expressions", content=expression(number), headers=TEXT)
            for row in stream:
                await client.post("/snoop/signals", json=row)
            return await all_results(client, list(range(1, count // 2 + 1)))

    found = asyncio.run(with_others())
    assert found == asyncio.run(alone())
    assert sum(map(len, found)) > 100


def held(count: int, *, half: bool) -> int:
    """Return the bytes that are held by so many expressions, after every other was removed, or of half as many."""

    async def go() -> int:
        async with served(service()) as client:
            await client.post("/snoop/expressions", content=expression(10_000), headers=TEXT)
            gc.collect()
            tracemalloc.start()
            if half:
                for number in range(0, count, 2):
                    await client.post("/snoop/expressions", content=expression(number), headers=TEXT)
            else:
                await remove_half(client, count)
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

    try:
        return asyncio.run(go())
    finally:
        tracemalloc.stop()


def test_memory_comes_back() -> None:
    held(10, half=True)
    only, rest = held(60, half=True), held(60, half=False)
    assert rest < only * 1.1 + 100_000


@pytest.mark.nightly
def test_a_thousand_expressions() -> None:
    only, rest = held(1_000, half=True), held(1_000, half=False)
    assert rest < only * 1.1

    async def go() -> list[float]:
        async with served(service()) as client:
            return await remove_half(client, 1_000)

    took = sorted(min(times) for times in zip(*(asyncio.run(go()) for _ in range(3)), strict=True))
    assert took[int(len(took) * 0.99)] < 0.01
