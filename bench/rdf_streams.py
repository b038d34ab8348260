"""What it costs to make events of RDF: `python bench/rdf_streams.py [--quads N]`, by processor time, no engine.

A stream of observations, an element a second with three triples and its time, as N-Quads, TriG, a table and lines with
Turtle. Beside N-Quads and TriG what pyoxigraph takes to parse them and nothing else. All take turns in one process,
kept to one core, the best turn of each counts, and the number of triples, or of events, is checked in every turn;
before anything is timed, all forms must give the same events.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

import pyoxigraph as ox  # noqa: E402 - the package may not be installed
from ratio import WrongAnswerError, timed  # noqa: E402
from rich.console import Console  # noqa: E402
from run import judged, machine, new_table  # noqa: E402
from turns import keep_to_one_core  # noqa: E402

from etalis.formats import Row, read  # noqa: E402
from etalis.temporal.event import Event  # noqa: E402

ASKED = 0.2  # of the speed of parsing alone
XSD = "http://www.w3.org/2001/XMLSchema#"
SPACE = "http://example.org/"
PREFIXES = f"@prefix : <{SPACE}> . @prefix prov: <http://www.w3.org/ns/prov#> . @prefix xsd: <{XSD}> .\n"
BEGIN = 1_772_442_000


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description="Streams of RDF to events, against their parse alone.")
    parser.add_argument("--quads", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    keep_to_one_core()
    elements = options.quads // 4
    with tempfile.TemporaryDirectory() as folder:
        files = write(Path(folder), elements)
        try:
            check(files)
            best = measure(files, elements, options.turns)
        except WrongAnswerError as error:
            print(error, file=sys.stderr)
            return 1
    show(elements * 4, best)
    return 0


def observations(elements: int) -> Iterator[tuple[str, str, list[tuple[str, str, str]]]]:
    """Yield graph, time and triples of every element, terms as in N-Triples."""
    for i in range(elements):
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BEGIN + i))
        sensor = f"<{SPACE}sensor/{i % 200}>"
        yield f"<{SPACE}stream/{i}>", moment, [
            (sensor, f"<{SPACE}value>", f'"{i / 7:.3f}"^^<{XSD}decimal>'),
            (sensor, f"<{SPACE}unit>", '"celsius"'),
            (sensor, "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", f"<{SPACE}Sensor>"),
        ]  # fmt: skip


def write(folder: Path, elements: int) -> dict[str, Path]:
    """Write the stream in all forms."""
    files = {name: folder / f"stream.{name}" for name in ("nq", "trig", "csv", "jsonl")}
    nq, trig, lines = io.StringIO(), io.StringIO(), io.StringIO()
    trig.write(PREFIXES)
    with files["csv"].open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["s", "p", "o", "g", "at"])
        for graph, moment, triples in observations(elements):
            nq.write(f'{graph} <http://www.w3.org/ns/prov#generatedAtTime> "{moment}"^^<{XSD}dateTime> .\n')
            trig.write(f'{graph} prov:generatedAtTime "{moment}"^^xsd:dateTime .\n{graph} {{\n')
            for triple in triples:
                nq.write(f"{' '.join(triple)} {graph} .\n")
                trig.write(
                    f"  {' '.join(triple)} .\n".replace(f"<{SPACE}value>", ":value").replace(
                        f"<{XSD}decimal>", "xsd:decimal"
                    )
                )
                table.writerow([*triple, graph, moment])
            trig.write("}\n")
            turtle = "".join(f"{' '.join(triple)} .\n" for triple in triples)
            lines.write(json.dumps({"at": moment, "graph": graph, "turtle": turtle}) + "\n")
    for name, text in (("nq", nq), ("trig", trig), ("jsonl", lines)):
        files[name].write_text(text.getvalue(), encoding="utf-8")
    return files


def events(path: Path) -> Iterator[Event]:
    for item in read(path):
        if not isinstance(item, Row):
            raise WrongAnswerError(f"{path.name}: {item}")
        yield item.event


def check(files: dict[str, Path]) -> None:
    """Refuse forms that do not give the same events."""
    first = list(events(files["nq"]))
    for name, path in files.items():
        if list(events(path)) != first:
            raise WrongAnswerError(f"{name} gives other events than nq")


def measure(files: dict[str, Path], elements: int, turns: int) -> dict[str, float]:
    """Return the seconds of every way, each the best of several turns."""

    def parse(name: str, form: ox.RdfFormat) -> Callable[[], int]:
        data = files[name].read_bytes()
        return lambda: sum(1 for _ in ox.parse(io.BytesIO(data), form))

    works: dict[str, tuple[Callable[[], int], int]] = {
        "parsing N-Quads alone": (parse("nq", ox.RdfFormat.N_QUADS), elements * 4),
        "N-Quads to events": (lambda: sum(1 for _ in events(files["nq"])), elements * 3),
        "parsing TriG alone": (parse("trig", ox.RdfFormat.TRIG), elements * 4),
        "TriG to events": (lambda: sum(1 for _ in events(files["trig"])), elements * 3),
        "CSV to events": (lambda: sum(1 for _ in events(files["csv"])), elements * 3),
        "lines with Turtle to events": (lambda: sum(1 for _ in events(files["jsonl"])), elements * 3),
    }
    best = dict.fromkeys(works, float("inf"))
    for _ in range(turns):
        for name, (work, expected) in works.items():
            best[name] = min(best[name], timed(work, expected, time.process_time))
    return best


def show(quads: int, best: dict[str, float]) -> None:
    console = Console(width=max(100, Console().width))
    console.print(f"{machine()}; {os.getloadavg()[0]:.1f} processes busy", style="dim")
    table = new_table(f"RDF, {quads:,} quads, one core", "Way", "cpu s", "quads/s", "of parsing alone")
    for name, seconds in best.items():
        alone = best.get(f"parsing {name.removesuffix(' to events')} alone")
        cell = "" if alone is None or alone == seconds else judged(f"{alone / seconds:.2f}", alone / seconds >= ASKED)
        table.add_row(name, f"{seconds:.3f}", f"{quads / seconds:,.0f}", cell)
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
