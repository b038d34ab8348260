"""Effects that are requests of HTTP: the key travels as `Idempotency-Key`, the answer says what has become of it.

2xx: made. 4xx, and a redirection, which would be another request: refused. No answer in time, or none at all once the
request was sent: unknown. Anything else, such as 5xx or a server that cannot be reached: it is tried again.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from inspect import Parameter, Signature
from typing import Any, Protocol

from etalis.reactive.effects.attempts import Refused, Unknown
from etalis.reactive.effects.registry import unfit
from etalis.temporal.json_values import to_plain, to_text

_UNCERTAIN = (TimeoutError, ConnectionResetError, BrokenPipeError, HTTPException)  # something may have been sent


class HttpClient(Protocol):
    """What sends a request, and returns the status of the answer; a timeout is a `TimeoutError`."""

    def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes, timeout: float) -> int: ...


class _StayHere(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirection."""


class StandardClient:
    """The client of the standard library."""

    def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes, timeout: float) -> int:
        """Send a request on a connection of its own."""
        request = urllib.request.Request(url, body, dict(headers), method=method)
        try:
            with urllib.request.build_opener(_StayHere).open(request, timeout=timeout) as answer:
                answer.read()
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        except urllib.error.URLError as error:
            if isinstance(error.reason, _UNCERTAIN):
                raise error.reason from None
            raise


_USUAL = StandardClient()


@dataclass(frozen=True, slots=True)
class HttpEffect:
    """A request for each effect, with its arguments as JSON: an object with the names of `fields`, else a list."""

    url: str
    fields: tuple[str, ...] | None = None
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 10.0
    client: HttpClient = _USUAL

    @property
    def __signature__(self) -> Signature:
        """The parameters by which the arity is found."""
        key = Parameter("key", Parameter.KEYWORD_ONLY)
        if self.fields is None:
            return Signature([Parameter("args", Parameter.VAR_POSITIONAL), key])
        return Signature([*(Parameter(f"arg{i}", Parameter.POSITIONAL_ONLY) for i in range(len(self.fields))), key])

    def __call__(self, *args: Any, key: str) -> None:
        """Send the request; raise what says how it ended, unless it was made."""
        plain = to_plain(args)
        content = plain if self.fields is None else dict(zip(self.fields, plain, strict=True))
        headers = {"Content-Type": "application/json", **self.headers, "Idempotency-Key": key}
        try:
            status = self.client.send(self.method, self.url, headers, to_text(content).encode(), self.timeout)
        except TimeoutError:
            raise Unknown(f"no answer of {self.url} in {self.timeout:g} s") from None
        except _UNCERTAIN as error:
            raise Unknown(f"the connection to {self.url} broke: {type(error).__name__}") from None
        if 300 <= status < 500:
            raise Refused(f"{self.url} answered {status}")
        if not 200 <= status < 300:
            raise ConnectionError(f"{self.url} answered {status}")


def http(
    url: str, fields: Sequence[str] | None = None, *, method: str = "POST", headers: Mapping[str, str] | None = None,
    timeout: float = 10.0, client: HttpClient = _USUAL,
) -> HttpEffect:  # fmt: skip
    """Return a function of an effect that sends its arguments to a URL.

    >>> http("https://example.org/charges", ["card", "amount"]).fields
    ('card', 'amount')
    """
    if not url.startswith(("http://", "https://")):
        raise unfit(f"{url!r} is no address of HTTP", "http('https://host/path')")
    return HttpEffect(url, None if fields is None else tuple(fields), method, dict(headers or {}), timeout, client)
