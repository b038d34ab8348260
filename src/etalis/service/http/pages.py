"""The files of the page, from the package: what they are is decided by their names; which there are is found once.

They are compressed once, and sent so to who takes it; a browser that has them asks whether they are still the same.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType

from starlette.responses import Response

from etalis.service.http.call import RouteCall
from etalis.service.problems import NotFoundError

POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
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
        "Vary": "Accept-Encoding",
    }
)


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the page: its bytes, the same compressed, its type, and a mark that changes with it."""

    content: bytes
    packed: bytes
    media: str
    mark: str


@cache
def page_files() -> Mapping[str, PageFile]:
    """Return the files of the page by their names."""
    found = {}
    for each in (files("etalis.service") / "www").iterdir():
        ending = each.name.rpartition(".")[2]
        if each.is_file() and ending in MEDIA:
            content = each.read_bytes()
            mark = f'"{sha256(content).hexdigest()[:20]}"'
            found[each.name] = PageFile(content, gzip.compress(content, mtime=0), MEDIA[ending], mark)
    return MappingProxyType(found)


async def show_page(call: RouteCall) -> Response:
    """Return the page."""
    return _file("index.html", call)


async def show_file(call: RouteCall) -> Response:
    """Return a file of the page."""
    return _file(call.params["file"], call)


def _file(name: str, call: RouteCall) -> Response:
    found = page_files().get(name)
    if found is None:
        raise NotFoundError("E820", f"there is no {name}", "/openapi.json tells what there is")
    asked = call.request.headers
    headers = {**_HEADERS, "Content-Type": found.media, "ETag": found.mark}
    if asked.get("if-none-match") == found.mark:
        return Response(status_code=304, headers=headers)
    if "gzip" not in asked.get("accept-encoding", ""):
        return Response(found.content, headers=headers)
    return Response(found.packed, headers={**headers, "Content-Encoding": "gzip"})
