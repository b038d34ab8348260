"""What the routes of the service itself do: check programs, tell how it is, describe itself."""

from __future__ import annotations

from dataclasses import asdict

from starlette.responses import Response

import etalis
from etalis.service.figures import to_prometheus
from etalis.service.http.bodies_of_calls import ProgramText
from etalis.service.http.call import RouteCall, answer
from etalis.service.http.vocabulary import vocabulary
from etalis.service.problems import describe

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


async def check(call: RouteCall) -> Response:
    """Return all problems of a program, and what it reads and makes."""
    given = call.read(ProgramText)
    found = await call.service.check(given.program, given.language, call.client)
    return answer(
        {
            "ok": found.is_sound,
            "problems": [describe(problem) for problem in found.problems],
            "kinds": [asdict(kind) for kind in found.kinds],
            "rules": [asdict(rule) for rule in found.rules],
        }
    )


async def health(call: RouteCall) -> Response:
    """Say that the service runs."""
    return answer({"status": "ok", "version": etalis.__version__, "time": call.service.time})


async def metrics(call: RouteCall) -> Response:
    """Return the figures of all engines."""
    service = call.service
    text = to_prometheus(service.engines(call.client), service.figures, service.streams)
    return Response(text, headers={"Content-Type": PROMETHEUS})


async def language(_call: RouteCall) -> Response:
    """Return the words of the language."""
    return answer(vocabulary())
