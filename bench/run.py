"""The benchmarks, each with its answer checked: `python bench/run.py [W1 ... W9] [--events N] [--flat] [--latency]`.

Without a name: all workloads. Exit code 1 if an answer is wrong; what was asked for and not reached is marked.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

import chain  # noqa: E402
import flat  # noqa: E402
import knowledge  # noqa: E402
import latency  # noqa: E402
import memory  # noqa: E402
import ratio  # noqa: E402
from rich.console import Console  # noqa: E402 - the package may not be installed
from rich.table import Table  # noqa: E402
from rich.text import Text  # noqa: E402
from streams import prepare  # noqa: E402

RATIOS = ("W1", "W2", "W3", "W4", "W5", "W6", "W7")
PUSH_ASKED = {"W1": 0.3, "W2": 0.35, "W3": 0.35, "W4": 0.35, "W5": 0.35, "W7": 0.4}
RUN_ASKED = 0.5
SLOWER_ASKED = 1.2
LATENCY_ASKED = {"p99": 10.0, "p99.9": 60.0}
COMPILE_ASKED = 30.0
CHAIN_RULES, CHAIN_STARTS = 50_000, 20
LINKS = (100, 1_000, 10_000, 100_000)
KNOWLEDGE_ASKED = {"static": 0.8, "inserted": 0.5, "deleted": 0.1}
WARM_UP_ASKED = 5.0
FACTS, FACTS_ASKED, FACTS_MEMORY_ASKED = 1_000_000, 10.0, 500.0
OPEN_INSTANCES = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for and return the exit code."""
    options = read_options(arguments)
    console = Console(width=max(120, Console().width))
    console.print(Text(machine(), "dim"))
    parts: list[Callable[[], None]] = []
    names = options.workloads or ([] if options.flat or options.latency else [*RATIOS, "W8", "W9"])
    if ratios := [name for name in names if name not in ("W8", "W9")]:
        parts.append(lambda: show_ratios(console, ratios, options.events, options.repetitions))
    if "W8" in names:
        parts.append(lambda: show_knowledge(console, options.events, options.repetitions, options.facts, options.links))
    if "W9" in names:
        parts.append(lambda: show_chain(console))
    if options.flat:
        parts.append(lambda: show_flat(console, options.events, options.repetitions))
    if options.latency:
        parts.append(lambda: show_latency(console, options.events))
    try:
        for part in parts:
            part()
    except ratio.WrongAnswerError as error:
        console.print(Text(f"wrong answer: {error}", "bold red"))
        return 1
    return 0


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Benchmarks: ratios to hand-written loops, answers checked.")
    parser.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(RATIOS)}, W8, W9; default: all"
    )
    parser.add_argument("--events", type=int, default=300_000, help="length of the streams (default 300,000)")
    parser.add_argument("--repetitions", type=int, default=3, help="the best of so many counts (default 3)")
    parser.add_argument("--facts", type=int, default=FACTS, help="facts that W8 loads from Parquet (default 1,000,000)")
    parser.add_argument("--links", type=int, default=LINKS[-1], help="the longest chain of W8 (default 100,000)")
    parser.add_argument("--flat", action="store_true", help="cost per event and memory on a stream ten times as long")
    parser.add_argument("--latency", action="store_true", help="how long one push takes, and the worst pause")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.workloads if name not in (*RATIOS, "W8", "W9")]
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(RATIOS)}, W8, W9")
    return options


def machine() -> str:
    """Say on what this runs."""
    models = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    return f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores, {model}"


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def new_table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column[0].islower() else "left", no_wrap=True)
    return table


def judged(text: str, reached: bool | None) -> Text:
    """Colour a number by whether it is what was asked for; a mark says so without colour."""
    return Text(text if reached is not False else f"{text} !", {True: "green", False: "bold red", None: ""}[reached])


def show_ratios(console: Console, names: list[str], events: int, repetitions: int) -> None:
    columns = ("hand us", "push us", "run us", "push/s", "push ratio", "run ratio", "peak MB", "grown MB")
    table = new_table(
        f"microseconds per event, {events:,} events, best of {repetitions}", "Workload", "matches", *columns
    )
    for name in names:
        workload = prepare(name, events)
        found = ratio.measure(workload, repetitions)
        used = memory.measure(name, events)
        push, run = found.hand / found.push, found.hand / found.run
        asked = PUSH_ASKED.get(name)
        table.add_row(
            name,
            f"{found.matches:,}",
            *(f"{seconds / found.events * 1e6:.3f}" for seconds in (found.hand, found.push, found.run)),
            f"{found.events / found.push:,.0f}",
            judged(f"{push:.2f}", None if asked is None else push >= asked),
            judged(f"{run:.2f}", None if asked is None else run >= RUN_ASKED),
            f"{used.peak:.0f}",
            f"{used.end - used.before:.0f}",
        )
        console.print(Text(f"{name} done", "dim"))
    console.print(table)
    console.print(
        Text(f"asked: push {PUSH_ASKED}, run {RUN_ASKED}; ! not reached. Memory in a process of its own.", "dim")
    )


def show_chain(console: Console) -> None:
    found = chain.measure(CHAIN_RULES, CHAIN_STARTS)
    total = found.compile + found.engine
    table = new_table("W9, a chain of rules", "rules", "compile s", "engine s", "total s", "derived", "derived/s")
    table.add_row(
        f"{found.rules:,}", f"{found.compile:.1f}", f"{found.engine:.1f}",
        judged(f"{total:.1f}", total < COMPILE_ASKED), f"{found.derived:,}", f"{found.rate:,.0f}",
    )  # fmt: skip
    console.print(table)


def show_knowledge(console: Console, events: int, repetitions: int, facts: int, longest: int) -> None:
    columns = ("links", "warm-up s", "matches", "events/s", "to short", "to static")
    table = new_table(f"W8, {events:,} events, a change per 1,000 where links change", "Links", *columns)
    lengths = tuple(length for length in LINKS if length <= longest)
    found = knowledge.measure(lengths, events, repetitions)
    short, static = found[0], found[len(lengths) - 1]
    for each in found:
        title, links = each.chain.title, each.chain.links
        asked = KNOWLEDGE_ASKED[title]
        by_length, by_change = each.rate / short.rate, each.rate / static.rate
        table.add_row(
            title, f"{links:,}", judged(f"{each.warm_up:.2f}", each.warm_up < WARM_UP_ASKED), f"{each.matches:,}",
            f"{each.rate:,.0f}", judged(f"{by_length:.2f}", by_length >= asked if title == "static" else None),
            judged(f"{by_change:.2f}", by_change >= asked) if title != "static" else "",
        )  # fmt: skip
    console.print(table)
    console.print(Text(f"asked: {KNOWLEDGE_ASKED}, warm-up {WARM_UP_ASKED:g} s; ! not reached.", "dim"))
    table = new_table("Memory in a process of its own", "What", "s", "MB before", "peak MB")
    used = knowledge.measure_apart("links", lengths[-1], events)
    row = (f"{lengths[-1]:,} links, inserted and deleted", f"{used.seconds:.1f}", f"{used.before:.0f}")
    table.add_row(*row, f"{used.peak:.0f}")
    used = knowledge.measure_apart("facts", facts)
    table.add_row(
        f"{facts:,} facts from Parquet, one looked up", judged(f"{used.seconds:.1f}", used.seconds < FACTS_ASKED),
        f"{used.before:.0f}", judged(f"{used.peak:.0f}", used.peak < FACTS_MEMORY_ASKED),
    )  # fmt: skip
    console.print(table)


def show_flat(console: Console, events: int, repetitions: int) -> None:
    columns = ("us short", "us long", "slower", "MB at 10 %", "MB at end", "peak MB", "waiting")
    table = new_table(f"W1, {events:,} and {10 * events:,} events", "Policy", "within", *columns)
    for found in flat.measure(events, 10, repetitions):
        used = found.memory
        table.add_row(
            found.policy, found.window, f"{found.short:.3f}", f"{found.long:.3f}",
            judged(f"{found.ratio:.2f}", found.ratio <= SLOWER_ASKED),
            f"{used.tenth:.1f}", judged(f"{used.end:.1f}", used.growth < 5), f"{used.peak:.1f}", f"{used.waiting:,}",
        )  # fmt: skip
    console.print(table)


def show_latency(console: Console, events: int) -> None:
    found = latency.measure(prepare("W1", events), OPEN_INSTANCES)
    table = new_table("W1, microseconds of one push", "Open instances", *found[0].shares, "own max")
    for each in found:
        cells = [
            judged(f"{value:.2f}", None if name not in LATENCY_ASKED else value < LATENCY_ASKED[name])
            for name, value in each.shares.items()
        ]
        table.add_row(each.title, *cells, f"{each.worst[0].microseconds:.2f}")
    console.print(table)
    for each in found:
        slow = ", ".join(f"{count} {cause}" for cause, count in each.slow.most_common())
        console.print(Text(f"{each.title} open: over {latency.SLOW // 1000} us: {slow or 'none'}", "dim"))
        for pause in each.worst:
            console.print(Text(f"  {pause.microseconds:9.1f} us  {pause.cause}", "dim"))


if __name__ == "__main__":
    sys.exit(main())
