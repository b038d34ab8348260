"""What sessions of JSON lines do with expressions of SNOOP-R: register, signal, unregister.

A line is a message as over HTTP, `{"register": {...}}`, `{"signals": [...]}`, `{"unregister": {"evaluation": ...}}`.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from etalis.service.access import Client
from etalis.service.expressions.reading import read_register, read_signals, to_operations
from etalis.service.expressions.snoop_service import SnoopService
from etalis.service.problems import MalformedError
from etalis.snoop.markup.messages_json import to_plain_message
from etalis.snoop.messages import RegisteredMessage

_MEDIA = "application/json"


class SnoopHost(Protocol):
    """The session, as these verbs see it."""

    @property
    def client(self) -> Client:
        """Who asks."""

    @property
    def snoop(self) -> SnoopService:
        """The expressions of the service."""


async def register(on: SnoopHost, record: dict[str, Any]) -> dict[str, Any]:
    """Register an expression; return its evaluation and those of its leaves."""
    asked = read_register(_MEDIA, json.dumps(record).encode())
    snoop = on.snoop
    hosted = await snoop.register(asked.expression, on.client.name, callback=asked.callback, form="json")
    leaves = tuple((path, snoop.uris.leaf(hosted.number, path)) for path in hosted.paths())
    snoop.begin(hosted)
    return to_plain_message(RegisteredMessage(snoop.uris.expression(hosted.number), leaves))


async def signal(on: SnoopHost, record: dict[str, Any]) -> dict[str, Any]:
    """Take signals, in order; return how many were taken, matched, discarded."""
    operations = to_operations(read_signals(_MEDIA, json.dumps(record).encode()), on.snoop, on.client)
    return await on.snoop.signal(operations)


async def unregister(on: SnoopHost, record: dict[str, Any]) -> None:
    """Remove an expression."""
    given = record["unregister"]
    evaluation = given.get("evaluation") if isinstance(given, dict) else given
    if not isinstance(evaluation, str):
        hint = 'write {"unregister": {"evaluation": "..."}}'
        raise MalformedError("E841", "the evaluation of an expression is missing", hint)
    found = on.snoop.find(on.snoop.uris.read_expression(evaluation), on.client)
    await on.snoop.unregister(found.number)
