"""The files of the page, from the package: what they are is decided by their names; which there are is found once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from starlette.responses import Response

from etalis.service.http.call import RouteCall
from etalis.service.problems import NotFoundError

POLICY = "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
MEDIA: Mapping[str, str] = MappingProxyType(
    {
        "html": "text/html; charset=utf-8",
        "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
        "json": "application/json",
        "svg": "image/svg+xml",
    }
)
_HEADERS = MappingProxyType(
    {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }
)


@cache
def page_files() -> Mapping[str, tuple[bytes, str]]:
    """Return the files of the page by their names, each with its media type."""
    folder = files("etalis.service") / "www"
    found = {}
    for each in folder.iterdir():
        ending = each.name.rpartition(".")[2]
        if each.is_file() and ending in MEDIA:
            found[each.name] = (each.read_bytes(), MEDIA[ending])
    return MappingProxyType(found)


async def show_page(_call: RouteCall) -> Response:
    """Return the page."""
    return _file("index.html")


async def show_file(call: RouteCall) -> Response:
    """Return a file of the page."""
    return _file(call.params["file"])


def _file(name: str) -> Response:
    known = page_files()
    if name not in known:
        raise NotFoundError("E820", f"there is no {name}", "/openapi.json tells what there is")
    content, media = known[name]
    return Response(content, headers={**_HEADERS, "Content-Type": media})
