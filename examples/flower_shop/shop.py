"""Runs a scenario of the flower shop: what happened, minute by minute, and a time line of it.

python examples/flower_shop/shop.py normal --ranking events --activity counters
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

import etalis
from etalis.data.values import Struct
from etalis.formats import Item, Reading, Row, feed, read
from etalis.pictures.paint.terminal import ROWS, paint_lines
from etalis.pictures.scenes.stream import draw_stream
from etalis.temporal.event import Event

FOLDER = Path(__file__).parent
SCENARIOS = ("normal", "late", "month", "handover")
VERSIONS = ("counters", "events")
TABLES = {
    "store_record": ("stores.csv", ("store", "lowest_ranking", "choice")),
    "driver_record": ("drivers.csv", ("driver", "ranking")),
    "region": ("regions.csv", None),
    "setting": ("settings.csv", ("setting", "value")),
}
STYLES = {"axis": "dim", "received": "cyan", "match": "bold green"}


def program_text(ranking: str, activity: str) -> str:
    """Return the rules of all five phases, two of them in the version asked for."""
    names = ("1_bids", "2_assignment", "3_delivery", f"4_ranking_{ranking}", f"5_activity_{activity}")
    texts = [(FOLDER / "rules" / f"{name}.etalis").read_text(encoding="utf-8") for name in names]
    return "\n".join(texts)


def load_program(scenario: str, ranking: str, activity: str) -> etalis.Program:
    """Return the program with the stores, drivers, regions and settings of a scenario as its knowledge."""
    program = etalis.compile(program_text(ranking, activity), name=f"flower shop ({ranking}, {activity})")
    for name, (file, columns) in TABLES.items():
        program.load_facts(name, FOLDER / scenario / file, columns)
    return program


def read_stream(scenario: str) -> list[Item]:
    return list(read(FOLDER / scenario / "stream.events", Reading()))


def shorten(value: Any) -> Any:
    """Return a value as a person would write it: a time of day, a place, a driver."""
    match value:
        case Struct(name="datetime", args=(_, _, _, hour, minute, _)):
            return f"{hour:02}:{minute:02}"
        case Struct(name="coordinates", args=(south_north, x, east_west, y)):
            return f"{x:g}{south_north} {y:g}{east_west}"
        case Struct(name="driver", args=(driver, rank, _)):
            return f"{driver} ({rank})"
        case Struct(name=name, args=args):
            return f"{name}({', '.join(str(shorten(arg)) for arg in args)})"
        case tuple():
            return f"[{', '.join(str(shorten(item)) for item in value)}]"
        case _:
            return value


def tell(received: list[Event], matches: list[Event]) -> Iterator[tuple[str, str]]:
    """Yield what was received and what was detected, in order of time, each with its style."""
    told = [(event.end_time, 0, event) for event in received] + [(event.end_time, 1, event) for event in matches]
    for _, found, event in sorted(told, key=lambda row: row[:2]):
        style, mark = ("match", "=>") if found else ("received", "  ")
        yield STYLES[style], f"{event.end_datetime:%d %b %H:%M:%S} {mark} {name_of(event)}"


def name_of(event: Event) -> str:
    return f"{event.name}({', '.join(str(shorten(arg)) for arg in event.args)})" if event.args else event.name


def sketch(events: list[Event]) -> list[Event]:
    """Return events that get a row each with what names them alone, so that they fit beside a time line."""
    if len(events) > ROWS:
        return events
    return [
        Event.make(e.name, tuple(arg for arg in e.args if isinstance(arg, int | str)), e.start_time, e.end_time)
        for e in events
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a scenario of the flower shop.")
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--ranking", choices=VERSIONS, default="counters", help="version of phase 4")
    parser.add_argument("--activity", choices=VERSIONS, default="counters", help="version of phase 5")
    chosen = parser.parse_args()
    console = Console(width=min(max(Console().width, 80), 140))
    engine = load_program(chosen.scenario, chosen.ranking, chosen.activity).engine()
    items = read_stream(chosen.scenario)
    received = [item.event for item in items if isinstance(item, Row)]
    matches = list(feed(engine, items))
    for style, line in tell(received, matches):
        console.print(Text(line, style), soft_wrap=True)
    console.print()
    for line in paint_lines(draw_stream(sketch(received), sketch(matches)), width=console.width):
        console.print(Text(line.text, STYLES[line.kind]), soft_wrap=True)
    for error in engine.errors:
        print(error, file=sys.stderr)
    return 1 if engine.errors else 0


if __name__ == "__main__":
    sys.exit(main())
