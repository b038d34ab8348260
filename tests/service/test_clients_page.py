"""docs/clients.md and the console of docs/cli.md: what they show is what happens."""

from __future__ import annotations

import asyncio
import re
import runpy
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from etalis.client import Client
from etalis.shell.local import LocalConsole
from etalis.shell.workspace import Workspace
from helpers.sessions import LiveSessions, live_sessions

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
SHOP = """
:- event(withdrawal(card: string, city: string, amount: float)).
fraud(Card, Total) <- (withdrawal(Card, CityA, A) seq withdrawal(Card, CityB, B)) within 10 min
                      where (CityA \\= CityB, \\+ near(CityA, CityB), Total is A + B).
near(basel, weil).
"""


@pytest.fixture
def live() -> Iterator[LiveSessions]:
    with live_sessions() as found:
        yield found


def blocks(kind: str) -> list[str]:
    return [text for name, text in BLOCK.findall(PAGE) if name == kind]


@pytest.mark.parametrize("session", blocks("lines"), ids=["terms", "json"])
def test_sessions_of_lines(live: LiveSessions, session: str) -> None:
    with Client(live.url) as client:
        client.create(SHOP, name="shop", policy="unrestricted")
    sent = "".join(f"{line.removeprefix('> ')}\n" for line in session.splitlines() if line.startswith("> "))
    with socket.create_connection(("127.0.0.1", live.port), timeout=20) as connection:
        lines = connection.makefile("rw", encoding="utf-8", newline="\n")
        said = []
        for line in session.splitlines():
            if line.startswith("> "):
                print(line.removeprefix("> "), file=lines, flush=True)
                said.append(line)
            else:
                said.append(lines.readline().rstrip("\n"))
        assert lines.read() == ""
    assert "\n".join(said) == session.rstrip("\n")
    assert sent


def test_python(live: LiveSessions, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks("python")
    expected = BLOCK.findall(PAGE[PAGE.index(program) :].partition("```\n")[2])[0][1]
    (tmp_path / "page.py").write_text(program.replace("http://localhost:8123", live.url), encoding="utf-8")
    runpy.run_path(str(tmp_path / "page.py"))
    assert capsys.readouterr().out == expected


def test_the_console_of_the_page_of_commands() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    (shown,) = [text for _, text in BLOCK.findall(page) if text.startswith("etalis> ")]
    said: list[str] = []
    console = LocalConsole(Workspace(said.append, lambda: 0), said.append)

    async def type_in() -> None:
        for line in shown.splitlines():
            if line.startswith("etalis> "):
                said.append(f"{line}\n")
                typed = line.removeprefix("etalis> ")
                for clause in re.findall(r".+?\.(?= |$)(?! \d)", typed) if typed.startswith("event") else [typed]:
                    await console.answer(clause.strip())

    asyncio.run(type_in())
    assert "".join(said) == shown
