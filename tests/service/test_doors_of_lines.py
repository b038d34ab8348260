"""Lines from outside: TCP, WebSocket, `etalis shell --remote`, `etalis send`, all against one live server."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as connect_socket

from etalis.cli import make_app
from etalis.cli.service.send import send
from etalis.client import Client
from etalis.service.access import TokenFile
from etalis.shell.plain import read_plainly
from etalis.shell.remote import connect
from helpers.sessions import LiveSessions, live_sessions

SOURCE = Path(__file__).parents[2] / "src"
CASE = "c(X) <- a(X) seq b(X)."
FILES = """
:- event(w(card: string, amount: float)).
big(Card, Sum) <- w(card: Card, amount: Sum) where Sum > 10.
seen(Number) <- v(Number).
"""


@pytest.fixture(scope="module")
def live() -> Iterator[LiveSessions]:
    with live_sessions() as found:
        yield found


@pytest.fixture
def engine(live: LiveSessions, request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the name of an engine in clock time with the rule of case 23."""
    with Client(live.url) as client:
        made = client.create(CASE, name=re.sub(r"\W", "-", request.node.name)[:60], time="clock", scratch=True)
        yield made.name
        made.delete()


def told(live: LiveSessions, text: bytes) -> str:
    """Send something over TCP, end the sending, and return all that comes."""
    with socket.create_connection(("127.0.0.1", live.port), timeout=20) as connection:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65_536), b"")).decode()


def test_case_23_over_tcp(live: LiveSessions, engine: str) -> None:
    answers = told(live, f"use('{engine}').\nsubscribe(c/1).\nevent(a(1)).\nevent(b(1)).\n".encode()).splitlines()
    assert answers[:4] == ["ok."] * 4
    found = re.fullmatch(r"match\(c\(1\), \[([\d.]+), ([\d.]+)]\)\.", answers[4])
    assert found is not None
    assert float(found[1]) < float(found[2])


def test_case_23_over_websocket(live: LiveSessions, engine: str) -> None:
    with connect_socket(f"ws://127.0.0.1:{live.url.rpartition(':')[2]}/ws", proxy=None) as connection:
        answers = []
        for request in (f"use('{engine}').", "subscribe(c/1).", "event(a(1)).", "event(b(1))."):
            connection.send(request)
            answers += connection.recv(timeout=20).splitlines()
        assert answers[:4] == ["ok."] * 4
        assert re.fullmatch(r"match\(c\(1\), \[[\d.]+, [\d.]+]\)\.", answers[4])
        connection.send("halt.")
        assert connection.recv(timeout=20) == "ok."


def test_a_page_from_elsewhere_gets_no_socket(live: LiveSessions) -> None:
    port = live.url.rpartition(":")[2]
    with pytest.raises(InvalidStatus) as refused:
        connect_socket(f"ws://127.0.0.1:{port}/ws", origin="https://evil.example", proxy=None)
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("door", [0, 1], ids=["tcp", "websocket"])
def test_case_23_at_the_console(live: LiveSessions, engine: str, door: int) -> None:
    pieces: list[str] = []
    typed = (
        "event(a(1)). event(b(1)).\nmember(X, [1, 2]).\n;\n;\nfoo(1).\nd(X) <- c(X).\nbad(X, Y) <- a(X).\n"
        "event(a(2)). event(b(2)).\nwhy(d(2)).\n"
    )

    async def talk() -> list[str]:
        async with connect(f"{live.addresses[door]}/{engine}", None, pieces.append) as console:
            await read_plainly(console, io.StringIO(typed))
            return [problem.code for problem in console.errors]

    assert asyncio.run(asyncio.wait_for(talk(), 30)) == ["E506", "E204"]
    text = re.sub(r"\[2\d\d\d-[^]]*]", "[t1, t2]", "".join(pieces))
    begin = (
        "ok.\nok.\nc(1) [t1, t2]\nX = 1\nX = 2\nerror E506: foo/1 is not defined\n  hint: add a fact or a clause\nok.\n"
    )
    assert text.startswith(begin)
    assert "error E204: unsafe: Y in the head has no value" in text
    assert "ok.\nok.\nc(2) [t1, t2]\nd(2) [t1, t2]\nd(2) [" in text


def sent(*arguments: str | Path) -> tuple[int, str, str]:
    """Call `etalis send`; return exit code, standard output and standard error."""
    result = CliRunner().invoke(make_app(send), [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


def test_the_command_shell_talks_to_a_service(live: LiveSessions, engine: str) -> None:
    url = f"{live.addresses[0]}/{engine}"
    done = subprocess.run(
        [sys.executable, "-m", "etalis", "shell", "--remote", url, "-g", "event(a(7))"], capture_output=True, text=True,
        input="event(b(7)).\nhalt.\n", env=os.environ | {"PYTHONPATH": str(SOURCE)}, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"ok\.\nok\.\nc\(7\) \[.*]\n", done.stdout)


def test_send_counts_what_is_taken_and_tells_where_the_rest_stands(live: LiveSessions, tmp_path: Path) -> None:
    with Client(live.url) as client:
        client.create(FILES, name="files")
    files = {
        "w.csv": "event,at,card,amount\nw,1,007,20\nw,2,c2,5\nw,2,c3,x\nw,1,late,5\n",
        "v.events": "event(v(10), 10). sleep(1). event(v(11)).\nevnt(3). event(v(1), [1, 2]).\n",
        "w.jsonl": '{"event": "w", "at": 20, "card": "12", "amount": 30}\nfoo\n["v", 21, 21]\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    first, more = f"127.0.0.1:{live.port}", ("--engine", "files", "--kinds", "big/2,seen/1")
    results = [sent(first, tmp_path / name, *more) for name in files]
    assert [code for code, _, _ in results] == [3, 3, 3]
    matches = [[json.loads(line)["match"] for line in out.splitlines()] for _, out, _ in results]
    assert [[match.get("Card", match.get("Number")) for match in found] for found in matches] == [
        ["007"],
        [10, 11],
        ["12", 21],
    ]
    csv, events, lines = (err for _, _, err in results)
    assert "w.csv:4:8: error E405: amount: expected a number, found 'x'" in csv
    assert "w.csv:5:1: error E843: w: it ends at 1, but time has reached 2" in csv
    assert csv.endswith("2 events taken, 2 not taken, 1 match\n")
    assert "v.events:2:1: error E408" in events
    assert "E843: v: it ends at 2, but time has reached 11" in events
    assert "w.jsonl:2:1: error E402: not JSON" in lines


def test_send_of_many_rows_waits_for_all_answers(live: LiveSessions, tmp_path: Path) -> None:
    with Client(live.url) as client:
        engine = client.create(FILES, name="many", scratch=True)
        rows = "".join(json.dumps(["v", i, 100 + i]) + "\n" for i in range(5_000))
        (tmp_path / "many.jsonl").write_text(rows)
        url = f"{live.url}/many"
        code, out, err = sent(url, tmp_path / "many.jsonl", "--engine", "many")
        assert (code, out) == (0, "")
        assert err == "5,000 events taken, 0 not taken\n"
        assert engine.info()["matches"] == 5_000


def test_send_says_why_nothing_was_sent(live: LiveSessions, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text('["a", 1]\n')
    with Client(live.url) as client:
        client.create(FILES, name="some")
    file, address = tmp_path / "e.jsonl", f"127.0.0.1:{live.port}"
    found = [
        sent("127.0.0.1:1", file),
        sent(address, file, "--engine", "nobody"),
        sent(address, tmp_path / "none.jsonl", "--engine", "some"),
        sent("nowhere", file),
    ]
    assert [code for code, _, _ in found] == [3, 3, 3, 3]
    assert [re.findall(r"E\d+", err)[0] for _, _, err in found] == ["E850", "E820", "E401", "E854"]


def test_a_service_with_tokens_asks_for_one_at_every_door(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("ann s3cr3t read,signal,write\n")
    (tmp_path / "e.jsonl").write_text('["v", 1, 1]\n')
    with live_sessions(tokens=TokenFile(tmp_path / "tokens")) as live:
        with Client(live.url, token="s3cr3t") as client:
            client.create(FILES, name="files")

        doors = (f"127.0.0.1:{live.port}", live.url)
        found = [sent(door, tmp_path / "e.jsonl", "--token", token) for door in doors for token in ("wrong", "s3cr3t")]
        tcp_wrong, tcp, ws_wrong, ws = ((code, err) for code, _, err in found)
        assert tcp_wrong[0] == ws_wrong[0] == 3
        assert "E830" in tcp_wrong[1]
        assert "E850" in ws_wrong[1]
        assert tcp == ws == (0, "1 event taken, 0 not taken\n")
