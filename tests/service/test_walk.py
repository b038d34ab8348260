"""The walk of a request in docs/architecture.md."""

from __future__ import annotations

import asyncio
import threading

import httpx

from etalis.service.host import EngineSpec, Service
from etalis.service.http.app import make_app
from helpers.service import LINES, URL, Stream, lines
from helpers.walks import Walk, check_walk, profile_of_threads

PROGRAM = ":- event(a(x: int)). :- event(b(x: int)). d(X) <- (a(X) seq b(X)) within 10."


def request() -> Walk:
    loop = asyncio.new_event_loop()
    service = Service(public_url=URL)
    threading.setprofile(profile_of_threads)
    try:
        loop.run_until_complete(service.start())
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]
    loop.run_until_complete(service.create(EngineSpec(program=PROGRAM, name="fraud")))
    body = lines([{"event": "a", "x": 1, "at": 1}, {"event": "b", "x": 1, "at": 2}])

    async def post() -> None:
        stream = Stream(service, "/engines/fraud/matches?after=0")
        async with httpx.AsyncClient(transport=httpx.ASGITransport(make_app(service)), base_url=URL) as client:
            answer = await client.post("/engines/fraud/events", content=body, headers=LINES)
        assert len(answer.json()["matches"]) == len(await stream.read(1)) == 1
        await stream.close()
        await service.stop()

    def run() -> None:
        loop.run_until_complete(post())
        loop.close()

    return run


def test_a_request_passes_through_the_modules_that_its_walk_names() -> None:
    check_walk("One request", request)
