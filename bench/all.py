"""All workloads and programs, all contenders, tables of ratios: `python bench/all.py [W1 ...] [fraud ...] [--turns N]`.

First from memory, on one core; then W1, W2, W3 and W5 from Parquet, on two. Contenders take turns in processes of their
own and keep their matches, the median turn of each counts. Answers are checked before (W1 to W11 on a short stream in
which ids come again, programs on the whole stream) and in every turn (by number). Ratios are of processor time on one
core, of the wall on more; what was asked for and not reached is marked with `!`. Exit code 1 if an answer is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

import contenders  # noqa: E402 - the package may not be installed
import programs  # noqa: E402
import programs.contenders  # noqa: E402
import programs.table  # noqa: E402
from ratio import WrongAnswerError  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.text import Text  # noqa: E402
from run import judged, machine, new_table  # noqa: E402
from turns import Setting, Turn, expect, measure  # noqa: E402

WORKLOADS = tuple(f"W{number}" for number in range(1, 12))
FROM_PARQUET = ("W1", "W2", "W3", "W5")
GENERAL, UNIQUE = ("DuckDB", "Polars"), contenders.UNIQUE
ALL_WAYS = (*contenders.TABLES, *contenders.ROWS)
ASKED_IN_MEMORY = {
    **{name: {"push": 10.0, "run": 4.0, "hand, Numba": 0.5} for name in FROM_PARQUET},
    "W4": {"push": 6.0},
    "W6": {"push": 6.0},
}
ASKED_FROM_PARQUET = {**dict.fromkeys(GENERAL, 2.0), **dict.fromkeys(UNIQUE, 1.0)}
HEADS_ASKED = 3.0  # W7 to W1, in time

Figures = dict[str, Turn]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for and return the exit code."""
    options = read_options(arguments)
    console = Console(width=max(180, Console().width))
    console.print(Text(f"{machine()}; {os.getloadavg()[0]:.1f} processes busy at the start", "dim"))
    try:
        if options.check:
            check_programs(console, options)
            return 0
        for source, threads in (("memory", options.threads or 1), ("parquet", options.threads or 2)):
            if options.source in (source, "both"):
                show_source(console, options, source, threads)
                if source == "memory":
                    show_programs(console, options, threads)
    except WrongAnswerError as error:
        console.print(Text(f"wrong answer: {error}", "bold red"))
        return 1
    return 0


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="All workloads against all contenders, answers checked.")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="W1 to W11, programs; default: all but more")
    parser.add_argument("--more", action="store_true", help="the programs that are in no table of docs/speed.md, too")
    parser.add_argument("--events", type=int, help="length of the streams (default 1,000,000; programs have their own)")
    parser.add_argument("--turns", type=int, default=3, help="the median of so many counts (default 3)")
    parser.add_argument("--threads", type=int, help="of every contender that has them (default 1, from Parquet 2)")
    parser.add_argument("--source", choices=("memory", "parquet", "both"), default="both")
    parser.add_argument("--ways", nargs="+", choices=ALL_WAYS, help="default: all")
    parser.add_argument("--check", action="store_true", help="compare the answers of programs, measure nothing")
    parser.add_argument("--spark", action="store_true", help="PySpark's SQL takes part, from Parquet")
    parser.add_argument("--save", type=Path, help="a JSON file to which the figures are added")
    options = parser.parse_args(arguments)
    known = (*WORKLOADS, *programs.CASES)
    if unknown := set(options.workloads).difference(known):
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if not options.workloads:
        options.workloads = [*WORKLOADS, *(programs.CASES if options.more else programs.USUAL)]
    return options


def show_source(console: Console, options: argparse.Namespace, source: str, threads: int) -> None:
    """Measure workloads from one kind of input; print a table of each, and one of ratios."""
    of_all = FROM_PARQUET if source == "parquet" else WORKLOADS
    names = [name for name in of_all if name in options.workloads]
    found: dict[str, Figures] = {}
    for name in names:
        setting = Setting(name, options.events or 1_000_000, source, threads)
        found[name] = measure_one(console, options, setting, choose(options, setting))
    if names:
        show_ratios(console, found, source, threads)


def show_programs(console: Console, options: argparse.Namespace, threads: int) -> None:
    """Measure programs from memory; print a table of each, and their speeds as shares of the loop's."""
    found: dict[str, Figures] = {}
    for name, case in programs.CASES.items():
        if name in options.workloads:
            setting = Setting(name, options.events or case.events, "memory", threads)
            ways = [way for way in programs.contenders.ways(name) if way in (options.ways or ALL_WAYS)]
            found[name] = measure_one(console, options, setting, ways)
    if found:
        programs.table.show(console, found)


def check_programs(console: Console, options: argparse.Namespace) -> None:
    """Compare the answers of programs with those of their loops."""
    for name, case in programs.CASES.items():
        if name in options.workloads:
            setting = Setting(name, options.events or case.events, "memory", 1)
            ways = [way for way in programs.contenders.ways(name) if way in (options.ways or ALL_WAYS)]
            console.print(f"{name}: {expect(setting, ways):,} matches, the same by {', '.join(ways)}", highlight=False)


def measure_one(console: Console, options: argparse.Namespace, setting: Setting, chosen: list[str]) -> Figures:
    """Measure what takes part, print its table, and keep the figures if asked."""
    found = measure(setting, chosen, options.turns)
    show_workload(console, setting, found)
    if options.save:
        save(options.save, setting, found)
    return found


def choose(options: argparse.Namespace, setting: Setting) -> list[str]:
    """Return who takes part: over rows in memory only, Spark from Parquet only and if asked."""
    chosen = [way for way in contenders.ways(setting.name) if way in (options.ways or contenders.ways(setting.name))]
    if setting.source == "parquet":
        chosen = [way for way in chosen if way not in contenders.ROWS]
    elif setting.name == "W1" and "columns" in chosen:
        chosen.extend(contenders.FILES)
    with_spark = options.spark and setting.source == "parquet"
    return [way for way in chosen if way != "Spark SQL" or with_spark]


def show_workload(console: Console, setting: Setting, found: Figures) -> None:
    events = events_of(setting)
    first = next(iter(found.values()))
    title = f"{setting.name}, {events:,} events, {first.matches:,} matches; {place(setting.source, setting.threads)}"
    table = new_table(title, "Contender", "cpu s", "wall s", "M events/s cpu", "M events/s wall", "peak MB", "grown MB")
    for way, turn in found.items():
        table.add_row(
            way, f"{turn.cpu:.3f}", f"{turn.wall:.3f}", f"{events / turn.cpu / 1e6:.2f}",
            f"{events / turn.wall / 1e6:.2f}", f"{turn.peak:.0f}", f"{turn.peak - turn.before:.0f}",
        )  # fmt: skip
    console.print(table)
    if reason := contenders.NOT_IN_TABLES.get(setting.name):
        console.print(Text(f"not over columns: {reason}", "dim"))


def events_of(setting: Setting) -> int:
    return len(setting.rows()) if setting.is_program else setting.workload().events


def place(source: str, threads: int) -> str:
    return f"from {source.replace('p', 'P')}, {threads} thread{'s' if threads > 1 else ''}"


def show_ratios(console: Console, found: dict[str, Figures], source: str, threads: int) -> None:
    """Print how many times as fast as each contender `detect` is."""
    ways = [way for way in TABLE_ORDER if any(way in figures for figures in found.values())]
    by = "processor time" if threads == 1 else "the wall"
    table = new_table(
        f"columns to each contender, by {by}; {place(source, threads)}", "Workload", *map(str.lower, ways)
    )
    for name, figures in found.items():
        if "columns" in figures:
            table.add_row(name, *(ratio_cell(name, figures, way, source, threads) for way in ways))
    console.print(table)
    if all("columns" in found.get(name, ()) for name in ("W1", "W7")):
        heads = seconds(found["W7"]["columns"], threads) / seconds(found["W1"]["columns"], threads)
        console.print("W7, 16 heads to one, in time:", judged(f"{heads:.1f}", heads <= HEADS_ASKED))
    console.print(Text("! below what was asked", "dim"))


TABLE_ORDER = [*contenders.ROWS, *(way for way in contenders.TABLES if way != "columns"), *contenders.FILES]


def ratio_cell(name: str, figures: Figures, way: str, source: str, threads: int) -> Text | str:
    if way not in figures:
        return ""
    ours, theirs = seconds(figures["columns"], threads), seconds(figures[way], threads)
    if way in contenders.FILES:
        return judged(f"{ours / theirs:.2f}", ours / theirs >= 0.6)
    asked = ASKED_FROM_PARQUET.get(way) if source == "parquet" else ASKED_IN_MEMORY.get(name, {}).get(way)
    return judged(f"{theirs / ours:.2f}", None if asked is None else theirs / ours >= asked)


def seconds(turn: Turn, threads: int) -> float:
    return turn.cpu if threads == 1 else turn.wall


def save(path: Path, setting: Setting, found: Figures) -> None:
    """Add figures to a file, in place of older ones of the same setting."""
    known: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    same = (setting.name, setting.source, setting.threads)
    kept = [each for each in known if (each["workload"], each["source"], each["threads"]) != same]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=HERE
    )
    kept.append({
        "workload": setting.name, "source": setting.source, "threads": setting.threads,
        "events": events_of(setting), "date": datetime.now(UTC).date().isoformat(),
        "commit": commit.stdout.strip(), "machine": machine(), "busy": round(os.getloadavg()[0], 1),
        "ways": {way: {key: round(value, 4) for key, value in asdict(turn).items()} for way, turn in found.items()},
    })  # fmt: skip
    order = [*WORKLOADS, *programs.CASES]
    kept.sort(key=lambda each: (each["source"], order.index(each["workload"])))
    path.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
