"""`/openapi.json`, from the table of routes: OpenAPI 3.1, schemas by msgspec."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.responses import Response

import etalis
from etalis.service.http.call import JSON, RouteCall, answer
from etalis.service.http.endpoint import Endpoint

PROBLEM = "application/problem+json"
_PARAMETER = re.compile(r"{(\w+)}")
_REF = "#/components/schemas/{name}"


async def show(_call: RouteCall, endpoints: Iterable[Endpoint]) -> Response:
    """Return the description of all routes."""
    return answer(describe(endpoints))


def describe(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return the description of routes."""
    several = list(endpoints)
    shapes = list(dict.fromkeys(endpoint.body for endpoint in several if endpoint.body is not None))
    schemas, parts = msgspec.json.schema_components(shapes, ref_template=_REF)
    of_shape = dict(zip(shapes, schemas, strict=True))
    paths: dict[str, Any] = {}
    for endpoint in several:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, of_shape)
    return {
        "openapi": "3.1.0",
        "info": {"title": "etalis", "version": etalis.__version__},
        "paths": paths,
        "components": {
            "schemas": {**parts, "ProblemDocument": _problem()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, of_shape: dict[type[msgspec.Struct], dict[str, Any]]) -> dict[str, Any]:
    text = {"type": "string"}
    found: dict[str, Any] = {
        "operationId": getattr(endpoint.call, "__name__", "").strip("<>").replace("lambda", "openapi"),
        "summary": endpoint.text,
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": text} for name in names_in(endpoint.path)),
            *({"name": name, "in": "query", "schema": text} for name in endpoint.query),
        ],
        "responses": {
            **{str(int(status)): _answer(endpoint, status.phrase) for status in endpoint.answers},
            "default": {
                "description": "what was wrong",
                "content": {PROBLEM: {"schema": {"$ref": _REF.format(name="ProblemDocument")}}},
            },
        },
    }
    if endpoint.scope is not None:
        found["security"] = [{"token": [endpoint.scope]}]
    taken: dict[str, Any] = {media: {} for media in endpoint.takes}
    if endpoint.body is not None:
        taken[JSON] = {"schema": of_shape[endpoint.body]}
    if taken:
        found["requestBody"] = {"required": True, "content": taken}
    return found


def _answer(endpoint: Endpoint, phrase: str) -> dict[str, Any]:
    content: dict[str, Any] = {media.partition(";")[0]: {} for media in endpoint.gives}
    return {"description": phrase, **({"content": content} if content else {})}


def names_in(path: str) -> list[str]:
    """Return the names of the parameters of a path.

    >>> names_in("/engines/{name}/rules/{label}")
    ['name', 'label']
    """
    return _PARAMETER.findall(path)


def _problem() -> dict[str, Any]:
    text = {"type": "string"}
    number = {"type": "integer"}
    problem = {
        "type": "object",
        "required": ["code", "severity", "message"],
        "properties": {
            "code": text, "severity": {"enum": ["error", "warning"]}, "message": text, "hint": text,
            "line": number, "column": number, "end_line": number, "end_column": number,
        },
    }  # fmt: skip
    return {
        "type": "object",
        "required": ["type", "title", "status", "detail", "problems"],
        "properties": {
            "type": text, "title": text, "status": number, "detail": text,
            "problems": {"type": "array", "items": problem},
        },
    }  # fmt: skip
