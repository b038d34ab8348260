"""Requests to others: to a checked address, once, without redirects or proxies, in five seconds and 64 KB."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from etalis.service.outbound.addresses import AddressRefused, AddressRules

SECONDS = 5.0
LONGEST = 64 * 1024


@dataclass(frozen=True, slots=True)
class Reply:
    """What the other side answered; `body` is cut at 64 KB."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


class SendFailed(Exception):  # noqa: N818
    """An attempt without an answer: refused, not reached, or too slow."""


class Sender:
    """The one way out of a service."""

    def __init__(
        self, rules: AddressRules, *, transport: httpx.AsyncBaseTransport | None = None, seconds: float = SECONDS
    ) -> None:
        self.rules = rules
        self._transport = transport
        self._seconds = seconds
        self._client: httpx.AsyncClient | None = None

    async def send(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Send one request; raise `SendFailed` if no answer came."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._send(method, url, body, headers)
        except AddressRefused as error:
            raise SendFailed(error.problems[0].message) from error
        except (httpx.HTTPError, OSError, ssl.SSLError) as error:  # a timeout is an OSError
            raise SendFailed(str(error) or type(error).__name__) from error

    async def _send(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        target = await self.rules.resolve(url)
        request = self._http().build_request(
            method,
            target.connect_url,
            content=body,
            headers={**headers, "host": target.host_header, "accept-encoding": "identity", "user-agent": "etalis"},
            extensions={"sni_hostname": target.host} if target.is_secure else {},
        )
        reply = await self._http().send(request, stream=True)
        try:
            found = bytearray()
            async for part in reply.aiter_raw():
                found += part
                if len(found) >= LONGEST:
                    break
            return Reply(reply.status_code, dict(reply.headers), bytes(found[:LONGEST]))
        finally:
            await reply.aclose()

    def _http(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                transport=self._transport,
                trust_env=False,
                follow_redirects=False,
                timeout=self._seconds,
                limits=httpx.Limits(max_connections=100, max_keepalive_connections=0),
            )
        return self._client

    async def close(self) -> None:
        """Give the connections back."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None
