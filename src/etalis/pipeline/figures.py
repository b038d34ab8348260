"""Metrics of a run: a file that `status` reads, and text that Prometheus reads.

Figures go on through restarts: a run that finds the figures of the one before adds to them.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

from etalis.errors import InputError, Problem

RUNNING, FINISHED, STOPPED, FAILED = "running", "finished", "stopped", "failed"
STATUS_FILE = "etalis-status.json"
_SILENCE = 120  # seconds without a sign of life after which a run on another machine counts as gone


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a run: times are seconds since 1970, counts those since the pipeline first ran."""

    pipeline: str
    state: str = RUNNING
    host: str = ""
    pid: int = 0
    started: float = 0.0
    updated: float = 0.0
    batch: int | None = None  # the last one that is done
    rows: int = 0
    rows_per_second: float = 0.0
    batch_seconds: float = 0.0
    matches: Mapping[str, int] = field(default_factory=dict)  # by rule
    late: int = 0  # rows that went to the dead letters
    held: int = 0  # rows that wait for the watermark
    state_bytes: int = 0
    latest: float | None = None  # the latest time of a row
    watermark: float | None = None
    error: str | None = None
    causes: Mapping[str, int] = field(default_factory=dict)  # of dead letters
    events: Mapping[str, int] | None = None  # by name, of a pipeline that runs once
    unread: Mapping[str, int] = field(default_factory=dict)  # events that no rule reads

    @property
    def is_running(self) -> bool:
        return self.state == RUNNING

    @property
    def matched(self) -> int:
        return sum(self.matches.values())

    @property
    def lag(self) -> float | None:
        """Seconds by which the watermark is behind the latest row."""
        return None if self.latest is None or self.watermark is None else self.latest - self.watermark

    def is_alive(self, now: float) -> bool:
        """Tell whether the process that wrote this still runs."""
        if self.state != RUNNING:
            return False
        if self.host != socket.gethostname():
            return now - self.updated < _SILENCE
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def begin(pipeline: str, now: float, before: Figures | None) -> Figures:
    """Return the figures of a run that begins, after those of the one before."""
    base = Figures(pipeline) if before is None else before
    return replace(
        base, state=RUNNING, host=socket.gethostname(), pid=os.getpid(), started=now, updated=now, error=None
    )


def write_figures(figures: Figures, path: Path) -> None:
    """Write figures whole or not at all."""
    _write(path, json.dumps(asdict(figures), indent=1))


def read_figures(path: Path) -> Figures | None:
    """Return the figures in a file; None if there is none."""
    try:
        given = dict(json.loads(path.read_text(encoding="utf-8")))
        known = {f.name for f in fields(Figures)}
        return Figures(**{name: value for name, value in given.items() if name in known})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        hint = "remove the file: figures begin anew, state and results stay"
        raise InputError(Problem("E711", f"{path} holds no figures of a run: {error}", hint=hint)) from None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{uuid4().hex}")  # several threads may write at once
    aside.write_text(text, encoding="utf-8")
    os.replace(aside, path)


# metric: (type, what it is, its value)
_METRICS: Mapping[str, tuple[str, str, Callable[[Figures], float | None]]] = {
    "etalis_up": ("gauge", "1 while the pipeline runs", lambda f: float(f.state == RUNNING)),
    "etalis_batch": ("gauge", "number of the last batch that is done", lambda f: f.batch),
    "etalis_rows_total": ("counter", "rows accepted", lambda f: f.rows),
    "etalis_rows_per_second": ("gauge", "rows accepted per second in the last batch", lambda f: f.rows_per_second),
    "etalis_batch_seconds": ("gauge", "how long the last batch took", lambda f: f.batch_seconds),
    "etalis_dead_letters_total": ("counter", "rejected rows, most of them too late", lambda f: f.late),
    "etalis_held_rows": ("gauge", "rows that wait for the watermark", lambda f: f.held),
    "etalis_state_bytes": ("gauge", "size of the state of all shards", lambda f: f.state_bytes),
    "etalis_latest_seconds": ("gauge", "latest time of a row, since 1970", lambda f: f.latest),
    "etalis_watermark_seconds": ("gauge", "the watermark, since 1970", lambda f: f.watermark),
    "etalis_lag_seconds": ("gauge", "by how much the watermark is behind the latest row", lambda f: f.lag),
    "etalis_updated_seconds": ("gauge", "when these figures were taken, since 1970", lambda f: f.updated),
}


# metric: (what it is, by what it is counted, the counts)
_COUNTS: Mapping[str, tuple[str, str, Callable[[Figures], Mapping[str, int]]]] = {
    "etalis_matches_total": ("complex events found, by rule", "rule", lambda f: f.matches),
    "etalis_dead_letters_by_cause_total": ("rejected rows, by cause", "cause", lambda f: f.causes),
}


def to_prometheus(figures: Figures) -> str:
    """Return figures in the text format of Prometheus."""
    label = f'pipeline="{_escaped(figures.pipeline)}"'
    lines: list[str] = []
    for name, (kind, meaning, value_of) in _METRICS.items():
        value = value_of(figures)
        if value is not None:
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", f"{name}{{{label}}} {_number(value)}"]
    for name, (meaning, by, counts_of) in _COUNTS.items():
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} counter"]
        counts = sorted(counts_of(figures).items())
        lines += [f'{name}{{{label},{by}="{_escaped(value)}"}} {count}' for value, count in counts]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def write_metrics(figures: Figures, path: Path) -> None:
    """Write the text of Prometheus, as its collector of text files takes it."""
    _write(path, to_prometheus(figures))


class MetricsServer:
    """Answers /metrics on loopback with the figures of the moment."""

    def __init__(self, port: int, current: Callable[[], Figures]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                known = self.path in ("/", "/metrics")
                body = to_prometheus(current()).encode() if known else b"not found: see /metrics\n"
                self.send_response(200 if known else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Say nothing: the terminal belongs to the pipeline."""

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as error:
            hint = "give another port in [metrics]; 0 takes a free one"
            raise InputError(Problem("E712", f"cannot listen on port {port}: {error.strerror}", hint=hint)) from None
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
