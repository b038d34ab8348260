"""What stands outside in tests of effects: functions that note their calls, tables, and a server on the loopback."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from weakref import finalize

from etalis import Refused, Unknown


@dataclass
class Desk:
    """Notes calls as texts; `answers` says, by name, what the next calls raise: an exception, or None for done."""

    calls: list[str] = field(default_factory=list)
    keys: dict[str, list[str]] = field(default_factory=dict)
    answers: dict[str, list[Exception | None]] = field(default_factory=dict)

    def function(self, name: str, arity: int = 0) -> Callable[..., None]:
        """Return a function that notes its calls under a name."""

        def call(*args: Any, key: str) -> None:
            self.calls.append(f"{name}({', '.join(map(str, args))})" if args else name)
            self.keys.setdefault(name, []).append(key)
            raised = self.answers.get(name) or [None]
            answer = raised[0] if len(raised) == 1 else raised.pop(0)
            if answer is not None:
                raise answer

        return call

    def refuse(self, name: str) -> None:
        """Refuse every call."""
        self.answers[name] = [Refused("no")]

    def lose(self, name: str) -> None:
        """Answer no call in time."""
        self.answers[name] = [Unknown("no answer")]

    def fail(self, name: str, times: int | None = None) -> None:
        """Raise at every call, or at so many."""
        error = OSError("down")
        self.answers[name] = [error] if times is None else [*[error] * times, None]

    def taken(self) -> list[str]:
        """Return the calls since the last time."""
        calls, self.calls[:] = list(self.calls), []
        return calls


class Table:
    """A table of SQLite that takes rows by key: each once, or as often as they come; each call is committed."""

    def __init__(self, path: Path, *, unique: bool) -> None:
        self._insert = "INSERT OR IGNORE" if unique else "INSERT"
        self._connection = sqlite3.connect(path, 60, isolation_level=None, check_same_thread=False)
        finalize(self, self._connection.close)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = OFF")  # processes end here, machines do not
        key = "key TEXT PRIMARY KEY" if unique else "key TEXT"
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS taken ({key}, args TEXT)")

    def take(self, *args: Any, key: str) -> None:
        """Insert a row."""
        self._connection.execute(f"{self._insert} INTO taken VALUES (?, ?)", (key, json.dumps(args)))

    def rows(self) -> list[tuple[str, list[Any]]]:
        return [(key, json.loads(args)) for key, args in self._connection.execute("SELECT key, args FROM taken")]

    def count(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM taken").fetchone()[0])


@dataclass
class Request:
    """What a server was asked."""

    method: str
    key: str | None
    body: Any


class HttpDesk:
    """A server on the loopback that answers by a list of statuses, the last one for ever; 0 is no answer at all."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.statuses = [200]
        desk = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                desk.requests.append(Request(self.command, self.headers["Idempotency-Key"], body))
                status = desk.statuses[0] if len(desk.statuses) == 1 else desk.statuses.pop(0)
                if not status:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            do_PUT = do_POST  # noqa: N815

            def log_message(self, *_: Any) -> None:
                """Write nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/effects"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
