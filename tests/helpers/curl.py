"""Lines of `curl` in documents, done against an application in this process, and their answers compared."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from etalis.service.host import Service
from helpers.service import URL, Stream

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
JSON = "application/json"


@dataclass(slots=True)
class Request:
    """What a line of curl asks for."""

    path: str = ""
    method: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    shows_head: bool = False
    streams: bool = False


def commands(page: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a page, each with what it answers."""
    for block in BLOCK.findall(page):
        lines = block.splitlines()
        while lines:
            command = lines.pop(0)
            assert command.startswith("$ "), command
            while not is_whole(command):
                command += "\n" + lines.pop(0)
            shown = []
            while lines and not lines[0].startswith("$ "):
                shown.append(lines.pop(0))
            yield command[2:], "\n".join(shown)


def is_whole(command: str) -> bool:
    """Tell whether the quotes of a command are closed, and it does not go on."""
    try:
        shlex.split(command)
    except ValueError:
        return False
    return not command.endswith("\\")


def read_command(command: str, root: Path) -> Request:
    """Read a line of curl."""
    words = shlex.split(command.replace("\\\n", " "))
    assert words.pop(0) == "curl", command
    found = Request()
    while words:
        match words.pop(0):
            case "-s":
                pass
            case "-N":
                found.streams = True
            case "-i":
                found.shows_head = True
            case "-X":
                found.method = words.pop(0)
            case "-H":
                name, _, value = words.pop(0).partition(": ")
                found.headers[name] = value
            case "--json":
                found.body = words.pop(0).encode()
                found.headers |= {"Content-Type": JSON, "Accept": JSON}
            case "--data-binary":
                text = words.pop(0)
                found.body = (root / text[1:]).read_bytes() if text.startswith("@") else text.encode()
            case address:
                host, _, path = address.partition("/")
                assert host == "localhost:8123", command
                found.path = "/" + path
    found.method = found.method or ("GET" if found.body is None else "POST")
    return found


async def answer(request: Request, client: httpx.AsyncClient, service: Service, wanted: str) -> str:
    """Return what a request is answered with, as curl shows it; of a stream as many events as are wanted."""
    if request.streams:
        stream = Stream(service, request.path, {name.lower(): value for name, value in request.headers.items()})
        await stream.read(wanted.count("data: "))
        await stream.close()
        return stream.text
    found = await client.request(str(request.method), request.path, headers=request.headers, content=request.body)
    if not request.shows_head:
        return found.text
    head = [f"HTTP/1.1 {found.status_code} {found.reason_phrase}", *(f"{n}: {v}" for n, v in found.headers.items())]
    return "\n".join([*head, "", found.text])


def agrees(found: str, wanted: str) -> bool:
    """Tell whether an answer is the one of the page: spaces do not count, and `...` is whatever stands there."""
    if "..." not in wanted:
        try:
            return bool(json.loads(found.replace(URL, "http://localhost:8123")) == json.loads(wanted))
        except ValueError:
            pass
    pattern = ".*?".join(map(re.escape, squeeze(wanted).split("...")))
    return re.fullmatch(pattern, squeeze(found.replace(URL, "http://localhost:8123"))) is not None


def squeeze(text: Any) -> str:
    return "".join(str(text).split())
