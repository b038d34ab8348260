"""The evaluator of languages that another server evaluates: it is asked by HTTP, and signals the leaf from then on.

POST of the expression, its inputs and the leaf's URI, as JSON with the XML in it; the answer names the evaluation by
`Location`, which DELETE stops and GET asks for after a restart. Each call takes at most 5 seconds, and has 3 attempts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import urljoin

from etalis.service.evaluators.assignment import Assignment, ProviderFailed
from etalis.service.outbound.callbacks import Timing
from etalis.service.outbound.sender import Reply, Sender, SendFailed
from etalis.snoop import write_json, write_xml

ATTEMPTS = 3
_GONE = (404, 410)
_SHOWN = 200  # characters of a provider's answer


class RemoteEvaluator:
    """Asks one provider."""

    fed_by_id = True

    def __init__(self, url: str, sender: Sender, timing: Timing = Timing()) -> None:  # noqa: B008
        self.url = url
        self._sender = sender
        self._timing = timing

    def beginning(self) -> str | None:
        return None

    async def start(self, leaf: Assignment) -> RemoteEvaluation:
        if leaf.provider_id is not None:
            reply = await self.call("GET", leaf.provider_id)
            if reply.status not in _GONE:
                return RemoteEvaluation(self, leaf.provider_id)
        asked = {
            "evaluation": leaf.uri,
            "cursor": leaf.cursor,
            "inputs": dict(leaf.inputs),
            "outputs": list(leaf.outputs),
            "expression": json.loads(write_json(leaf.expression)),
            "xml": write_xml(leaf.expression),
        }
        reply = await self.call("POST", self.url, json.dumps(asked).encode())
        if not reply.is_good:
            raise ProviderFailed(f"{self.url} answered with status {reply.status}{_shown(reply)}")
        place = reply.headers.get("location")
        if place is None:
            return RemoteEvaluation(self, None)
        provider_id = urljoin(self.url, place)
        await leaf.started(provider_id)
        return RemoteEvaluation(self, provider_id)

    async def call(self, method: str, url: str, body: bytes = b"") -> Reply:
        """Send a request, up to three times while the other side does not answer or is not able to."""
        headers: Mapping[str, str] = {"content-type": "application/json"} if body else {}
        why = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                await self._timing.sleep(float(attempt))
            try:
                reply = await self._sender.send(method, url, body, headers)
            except SendFailed as error:
                why = str(error)
                continue
            if reply.status < 500 and reply.status not in (408, 429):
                return reply
            why = f"status {reply.status}{_shown(reply)}"
        raise ProviderFailed(f"{url} did not answer {method}: {why}")


class RemoteEvaluation:
    """A leaf that a provider evaluates."""

    def __init__(self, evaluator: RemoteEvaluator, provider_id: str | None) -> None:
        self._evaluator = evaluator
        self._provider_id = provider_id

    async def stop(self) -> None:
        """Tell the provider; one that cannot be told signals a leaf that is gone."""
        if self._provider_id is not None:
            try:
                await self._evaluator.call("DELETE", self._provider_id)
            except ProviderFailed:
                return

    async def leave(self) -> None:
        """Say nothing: the provider goes on, and is asked after a restart whether it knows of it."""


def _shown(reply: Reply) -> str:
    text = " ".join(reply.body.decode("utf-8", "replace").split())[:_SHOWN]
    return f": {text}" if text else ""
