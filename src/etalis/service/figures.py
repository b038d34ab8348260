"""The figures of a service in the text format of Prometheus: what each is stands once, then a line for each engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from etalis.service.hosted_engine import HostedEngine


@dataclass(slots=True)
class ServiceFigures:
    """What the service has done: answers by status and what was refused to clients."""

    answers: Counter[int] = field(default_factory=Counter)


# metric: (type, what it is, its value)
_OF_ENGINES: Mapping[str, tuple[str, str, Callable[[HostedEngine], float]]] = {
    "etalis_engine_events_total": ("counter", "events taken", lambda e: e.counts.events),
    "etalis_engine_late_total": ("counter", "events that came too late", lambda e: e.counts.late),
    "etalis_engine_rejected_total": ("counter", "rows that were not taken", lambda e: e.counts.rejected),
    "etalis_engine_repeated_total": ("counter", "events that came again", lambda e: e.counts.repeated),
    "etalis_engine_matches_total": ("counter", "complex events found", lambda e: e.counts.matches),
    "etalis_engine_retractions_total": ("counter", "complex events taken back", lambda e: e.counts.retractions),
    "etalis_engine_kept_matches": ("gauge", "matches that are kept", lambda e: e.matches.last + 1 - e.matches.first),
    "etalis_engine_readers": ("gauge", "readers that wait for matches", lambda e: e.matches.readers),
    "etalis_engine_queue_requests": ("gauge", "requests that wait", lambda e: e.actor.requests),
    "etalis_engine_queue_events": ("gauge", "events that wait", lambda e: e.actor.events),
}


def to_prometheus(engines: Iterable[HostedEngine], figures: ServiceFigures, streams: int) -> str:
    """Return the figures of engines and of the service."""
    several = list(engines)
    lines: list[str] = []
    for name, (kind, meaning, value_of) in _OF_ENGINES.items():
        lines += _head(name, kind, meaning)
        lines += [f'{name}{{engine="{engine.name}"}} {value_of(engine)}' for engine in several]
    lines += [*_head("etalis_engines", "gauge", "engines there are"), f"etalis_engines {len(several)}"]
    lines += [*_head("etalis_streams", "gauge", "streams of matches that are read"), f"etalis_streams {streams}"]
    lines += _head("etalis_answers_total", "counter", "answers by their status")
    lines += [f'etalis_answers_total{{status="{status}"}} {n}' for status, n in sorted(figures.answers.items())]
    return "\n".join(lines) + "\n"


def _head(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
