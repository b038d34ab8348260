"""What a route gets and gives: a request that was admitted, and answers in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from etalis.service.access import Client
from etalis.service.host import Service
from etalis.service.limits import is_too_deep
from etalis.service.matches import encode
from etalis.service.problems import MalformedError, UnprocessableError

JSON = "application/json"
T = TypeVar("T")


@dataclass(slots=True)
class RouteCall:
    """A request of a client, with its body read."""

    service: Service
    client: Client
    request: Request
    body: bytes = b""
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query_params

    @property
    def media(self) -> str:
        """The content type of the body, without its parameters."""
        return media_of(self.request.headers)

    def read(self, kind: type[T]) -> T:
        """Return the body, which is JSON of a known shape."""
        most = self.service.limits.depth
        if is_too_deep(self.body, most):
            raise MalformedError("E824", f"the body is nested deeper than {most} levels", "send smaller values")
        try:
            return msgspec.json.decode(self.body or b"{}", type=kind)
        except msgspec.ValidationError as error:
            raise UnprocessableError(
                "E823", f"the body does not fit: {error}", "/openapi.json has its schema"
            ) from None
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise MalformedError("E402", f"not JSON: {error}", "send one JSON object") from None

    def number(self, name: str, otherwise: float, *, least: float = 0, most: float = float("inf")) -> float:
        """Return a number of the query."""
        text = self.query.get(name)
        if text is None:
            return otherwise
        try:
            found = float(text)
        except ValueError:
            found = float("nan")
        if not least <= found <= most:
            raise MalformedError("E823", f"{name} is {text!r}", f"a number from {least:g} to {most:g}")
        return found


def media_of(headers: Mapping[str, str]) -> str:
    """Return the content type of a body, without its parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def answer(plain: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer in JSON."""
    return Response(encode(plain), status, dict(headers or {}), media_type=JSON)


def raw_answer(text: bytes, status: int = 200) -> Response:
    """Return an answer that is JSON already."""
    return Response(text, status, media_type=JSON)
