"""What both clients have of httpx in common."""

from __future__ import annotations

import httpx

import etalis
from etalis.client.exchange import IncomingAnswer

READ_SECONDS = 60.0
STREAM_TIMEOUT = httpx.Timeout(READ_SECONDS)  # a stream says every 15 seconds that it is there


def heading(token: str | None) -> dict[str, str]:
    """Return the headers of all requests."""
    headers = {"User-Agent": f"etalis/{etalis.__version__}"}
    return headers if token is None else {**headers, "Authorization": f"Bearer {token}"}


def broken(error: httpx.TransportError) -> IncomingAnswer:
    """Return that no answer came, and why."""
    return IncomingAnswer(0, body=(str(error) or type(error).__name__).encode())
