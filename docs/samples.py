"""The samples of the page, made from the project's examples: `python docs/samples.py` writes `www/samples.json`.

Each has a program, events, one sentence, and what the engine finds in them, which the cards of the page draw. Tests run
every sample, and compare the file with what this command would write.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import etalis
from etalis import snoop
from etalis.data.values import format_value
from etalis.formats import Row, read
from etalis.formats.row import reading_of
from etalis.snoop.messages import read_moment
from etalis.temporal.event import Event

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
TARGET = ROOT / "src" / "etalis" / "service" / "www" / "samples.json"
SHOP = EXAMPLES / "flower_shop"
TABLES = {
    "store_record": "stores.csv",
    "driver_record": "drivers.csv",
    "region": "regions.csv",
    "setting": "settings.csv",
}
WIDTHS = {"setting": 2}  # columns that are facts, where not all are


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A program with its events, and a sentence for its card."""

    id: str
    title: str
    sentence: str
    program: str
    events: str
    suffix: str
    policy: str = ""


def samples() -> tuple[Sample, ...]:
    """Return the samples that are programs of rules, in the order of their cards."""
    return (
        Sample(
            id="fraud", title="Card fraud", suffix="csv", program=text_of("fraud/fraud.etalis"),
            sentence="One card, two withdrawals, two cities too far apart for ten "
            "minutes; blocked unless the customer confirms.",
            events=text_of("fraud/withdrawals.csv"),
        ),
        Sample(
            id="supply", title="Late orders", suffix="jsonl", program=text_of("supply/supply.etalis"),
            sentence="What does not happen: an order without shipment, a shipment "
            "without payment, a reminder in between.",
            events=text_of("supply/orders.jsonl"),
        ),
        Sample(
            id="flowers", title="Flower shop", suffix="events", program=flower_program("handover"),
            sentence="Drivers bid for deliveries, some pass them on; alerts when "
            "flowers are fetched or delivered too late.",
            events=(SHOP / "handover" / "stream.events").read_text(encoding="utf-8"),
        ),
        Sample(
            id="stock", title="Stock rally", suffix="csv", program=text_of("stock/rises.etalis"),
            sentence="Three rises of a share in a row within a minute, found by "
            "rules over rules, and the mean of the last prices.",
            events=text_of("stock/ticks.csv"),
        ),
        Sample(
            id="sensors", title="Machines and doors", suffix="csv", program=text_of("sensors/sensors.etalis"),
            sentence="Events that last: a hot measurement during a run, a door "
            "open for part of one, a run that meets the next.",
            events=text_of("sensors/shift.csv"),
        ),
    )  # fmt: skip


def text_of(path: str) -> str:
    return (EXAMPLES / path).read_text(encoding="utf-8")


def flower_program(scenario: str) -> str:
    """Return the first three phases of the flower shop, with the tables of a scenario as facts."""
    rules = [
        (SHOP / "rules" / f"{name}.etalis").read_text(encoding="utf-8")
        for name in ("1_bids", "2_assignment", "3_delivery")
    ]
    facts = [f"% From {file}.\n" + "".join(facts_of(SHOP / scenario / file, name)) for name, file in TABLES.items()]
    return "\n".join([*rules, *facts])


def facts_of(path: Path, name: str) -> Iterator[str]:
    """Yield the rows of a table as facts."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    for row in rows:
        cells = ", ".join(cell if cell.isdigit() else format_value(cell) for cell in row[: WIDTHS.get(name)])
        yield f"{name}({cells}).\n"


def run(sample: Sample, folder: Path) -> tuple[list[Event], list[Event]]:
    """Return what a sample's events are, and what its program finds in them."""
    program = etalis.compile(sample.program, name=sample.id)
    path = folder / f"events.{sample.suffix}"
    path.write_text(sample.events, encoding="utf-8")
    items = list(read(path, reading_of(program.compiled)))
    rows = [item.event for item in items if isinstance(item, Row)]
    engine = program.engine(policy=sample.policy or None)
    return rows, [*engine.run(rows), *engine.close()]


def describe(sample: Sample, folder: Path) -> dict[str, Any]:
    """Return a sample as the page reads it."""
    received, found = run(sample, folder)
    return {
        "id": sample.id, "title": sample.title, "sentence": sample.sentence,
        "language": "rules", "policy": sample.policy,
        "program": sample.program, "events": sample.events, "inputs": len(received), "matches": len(found),
        "marks": [place(event) for event in received], "found": [place(event) for event in found],
    }  # fmt: skip


def place(event: Event) -> list[Any]:
    row = event.to_dict()
    return [event.name, row["start"], row["end"]]


SHOP_EVENTS = "http://shop.example/events"
EXPRESSION = f"""shop = "{SHOP_EVENTS}".

OR(SEQ(shop:newCD(title: T, artist: A),
       shop:newMusicDVD(title: T, artist: A)),
   shop:newBook(title: B, about: A))
  with A = "U2"
"""
SIGNALS = (
    ("newCD", "09:00:00", {"title": "Boy", "artist": "U2"}),
    ("newCD", "09:04:00", {"title": "Talk on Corners", "artist": "The Corrs"}),
    ("newCD", "09:10:00", {"title": "War", "artist": "U2"}),
    ("newMusicDVD", "09:15:00", {"title": "Boy", "artist": "U2"}),
    ("newBook", "09:21:00", {"title": "Into the Heart", "about": "U2"}),
    ("newMusicDVD", "09:30:00", {"title": "Talk on Corners", "artist": "The Corrs"}),
    ("newMusicDVD", "09:36:00", {"title": "War", "artist": "U2"}),
)


def describe_shop() -> dict[str, Any]:
    """Return 004's shop as the page reads it: an expression of SNOOP-R and signals."""
    signals = [
        {"operator": name, "language": SHOP_EVENTS, "at": f"2026-03-02T{at}Z", "parameters": parameters}
        for name, at, parameters in SIGNALS
    ]
    detector = snoop.Detector(time="events")
    detector.register(snoop.checked(snoop.read_text(EXPRESSION)))
    found = []
    for (name, _, parameters), sent in zip(SIGNALS, signals, strict=True):
        taken = detector.signal(name, SHOP_EVENTS, parameters, at=read_moment(str(sent["at"])))
        found += [notice for _, notice in taken.told if isinstance(notice, snoop.Result)]
    return {
        "id": "shop", "title": "A shop on the web", "language": "snoop-r", "policy": "",
        "sentence": "The same title as CD and as DVD, or a book about the band: "
        "an expression that other programs register in XML.",
        "program": EXPRESSION, "events": "".join(json.dumps(signal) + "\n" for signal in signals),
        "inputs": len(signals), "matches": len(found),
        "marks": [[signal["operator"], *[read_moment(str(signal["at"])) // 1_000_000] * 2] for signal in signals],
        "found": [["result", result.start // 1_000_000, result.end // 1_000_000] for result in found],
    }  # fmt: skip


def write(folder: Path) -> str:
    """Return the text of the file."""
    described = [*(describe(sample, folder) for sample in samples()), describe_shop()]
    return json.dumps({"samples": described}, indent=1) + "\n"


def main() -> None:
    """Write the file."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        TARGET.write_text(write(Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
