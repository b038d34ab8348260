"""First answers in the log of a service: kept with the request, and made again of what was done before a crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from starlette.responses import Response

from etalis.service.host import Service
from etalis.service.http.call import answer, raw_answer
from etalis.service.http.engine_calls import write_taken
from etalis.service.http.idempotency import FirstAnswers
from etalis.service.http.snoop_calls import tell_registered
from etalis.service.matches import encode
from etalis.service.problems import ConflictError, document
from etalis.service.store.log import KeptAnswer

_LOST = "what it asked was done before the service was killed, and its answer is lost"


class KeptAnswers:
    """The answers of a service to requests with keys, where it has a data folder."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._is_recalled = False

    def recall(self, answers: FirstAnswers[Response]) -> None:
        """Put what was answered in earlier runs among the answers, once."""
        journal = self._service.journal
        if journal is None or self._is_recalled:
            return
        self._is_recalled = True
        for client, key, _, kept in journal.log.answers():
            answers.restore(client, key, kept.request, Response(kept.body, kept.status, dict(kept.headers)))
        for request, kind, done in journal.redone:
            client, key, digest = request.split("\0")
            make = _AGAIN.get(kind, _lost)
            answers.restore(client, key, bytes.fromhex(digest), make(self._service, done))

    async def keep(self, client: str, key: str, request: bytes, response: Response) -> None:
        """Write an answer into the log."""
        journal = self._service.journal
        if journal is not None:
            headers = {name: value for name, value in response.headers.items() if name != "content-length"}
            kept = KeptAnswer(response.status_code, headers, request, bytes(response.body))
            await journal.log.put_answer(client, key, kept)


def _lost(_service: Service, _done: Any) -> Response:
    error = ConflictError("E825", _LOST, "ask what there is now, with GET")
    return Response(encode(document(error)), int(error.status), media_type="application/problem+json")


def _events(service: Service, done: Any) -> Response:
    if done is None:
        return _lost(service, done)
    taken, wanted = done
    return raw_answer(write_taken(taken, wanted=wanted))


_AGAIN: Mapping[str, Callable[[Service, Any], Response]] = MappingProxyType(
    {
        "events": _events,
        "signals": lambda _, done: answer(done),
        "register": lambda service, done: tell_registered(service.snoop, done),
    }
)
