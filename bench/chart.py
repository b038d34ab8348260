"""Figures kept by `all.py --save docs/speed.json` as charts and as tables: `python bench/chart.py`.

Writes docs/speed.svg and docs/programs.svg, their PNG where `rsvg-convert` is found, and the tables of docs/speed.md,
between its marks. A filled dot was measured in the run, a hollow one is a peer from peers.py. Scales are logarithmic.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import contenders
import program_chart
from peers import DATE, PEERS
from program_chart import STYLE, markdown, said_of

DOCS = Path(__file__).resolve().parent.parent / "docs"
TITLES = {
    "W1": "W1: a, b, c in sequence, joined by id",
    "W2": "W2: a, then b under a condition",
    "W3": "W3: a, then b, with no c between",
    "W4": "W4: a, b and c in any order",
    "W5": "W5: a, then b or c",
    "W6": "W6: transitive closure of edges",
    "W7": "W7: the rule of W1 with 16 heads",
    "W8": "W8: pairs linked by a chain of facts",
    "W9": "W9: a chain of 1,000 rules, derived events",
    "W10": "W10: a, one or more b, then c",
    "W11": "W11: a, then b, a tenth taken back",
}
OURS = {"columns": "etalis over columns", "run": "etalis, run", "push": "etalis, push"}
COLOURS = {"ours": "#c2410c", "hand": "#475569", "sql": "#0369a1", "unique": "#7dd3fc", "peer": "#94a3b8"}
LEGEND = (
    ("ours", "etalis"), ("hand", "by hand"), ("sql", "query, right for repeated ids"),
    ("unique", "joins by id, right only if every id comes once"), ("peer", f"not measured in this run ({DATE})"),
)  # fmt: skip
WIDTH, LABELS, LINE, PANEL_TOP, GAP = 560, 190, 19, 30, 22
LOWEST, HIGHEST = 1e4, 1e8


@dataclass(frozen=True)
class Dot:
    """One contender in one panel."""

    label: str
    speed: float
    group: str


def dots(measured: dict[str, Any]) -> list[Dot]:
    """Return contenders of a workload, the fastest first."""
    ways, events = measured["ways"], measured["events"]
    found = [Dot(OURS.get(way, way), events / turn["cpu"], group_of(way)) for way, turn in ways.items()]
    found = [dot for dot in found if dot.label not in contenders.FILES]
    found += [Dot(name, speed * 1e3, "peer") for name, speed in PEERS.get(measured["workload"], {}).items()]
    return sorted(found, key=lambda dot: -dot.speed)


def group_of(way: str) -> str:
    if way in OURS or way.startswith("columns"):
        return "ours"
    return "hand" if way.startswith("hand") else "unique" if way in contenders.UNIQUE else "sql"


def place(speed: float) -> float:
    share = (math.log10(speed) - math.log10(LOWEST)) / (math.log10(HIGHEST) - math.log10(LOWEST))
    return LABELS + max(0.0, min(1.0, share)) * (WIDTH - LABELS - 70)


def panel(title: str, given: list[Dot]) -> list[str]:
    """Draw one workload."""
    bottom = PANEL_TOP + LINE * len(given)
    drawn = [f'<text x="0" y="14" class="title">{escape(title)}</text>']
    for power in range(4, 9):
        x = place(10.0**power)
        drawn.append(f'<line x1="{x:.1f}" y1="{PANEL_TOP - 6}" x2="{x:.1f}" y2="{bottom - 4}" class="grid"/>')
        name = {4: "10k", 5: "100k", 6: "1M", 7: "10M", 8: "100M"}[power]
        drawn.append(f'<text x="{x:.1f}" y="{bottom + 9}" class="axis">{name}</text>')
    for number, dot in enumerate(given):
        drawn += line(dot, PANEL_TOP + LINE * number + 5)
    return drawn


def line(dot: Dot, y: float) -> list[str]:
    colour, x = COLOURS[dot.group], place(dot.speed)
    fill = "#ffffff" if dot.group == "peer" else colour
    weight = ' font-weight="bold"' if dot.group == "ours" else ""
    dash = ' stroke-dasharray="2 3"' if dot.group == "peer" else ""
    style = 'class="label peer"' if dot.group == "peer" else 'class="label"'
    return [
        f'<text x="{LABELS - 10}" y="{y + 4}" {style}{weight}>{escape(dot.label)}</text>',
        f'<line x1="{LABELS}" y1="{y}" x2="{x:.1f}" y2="{y}" stroke="{colour}" stroke-width="2"{dash}/>',
        f'<circle cx="{x:.1f}" cy="{y}" r="4.5" fill="{fill}" stroke="{colour}" stroke-width="1.6"/>',
        f'<text x="{x + 10:.1f}" y="{y + 4}" class="value">{spell(dot.speed)}</text>',
    ]


def spell(speed: float) -> str:
    """Return a speed in three digits or fewer.

    >>> spell(12_345_678.0), spell(2_345_678.0), spell(17_000.0)
    ('12M', '2.3M', '17k')
    """
    if speed >= 1e6:
        return f"{speed / 1e6:.0f}M" if speed >= 1e7 else f"{speed / 1e6:.1f}M"
    return f"{speed / 1e3:.0f}k"


def draw(figures: list[dict[str, Any]]) -> str:
    """Return the chart: two columns of panels."""
    shown = TITLES.keys() - {"W9", "W11"}
    in_memory = [each for each in figures if each["source"] == "memory" and each["workload"] in shown]
    panels = [(TITLES[each["workload"]], dots(each)) for each in in_memory]
    heights, bodies = [92, 92], []
    for number, (title, given) in enumerate(panels):
        side = number % 2
        bodies.append(f'<g transform="translate({24 + side * (WIDTH + 30)}, {heights[side]})">')
        bodies += [*panel(title, given), "</g>"]
        heights[side] += PANEL_TOP + LINE * len(given) + GAP + 8
        if side:
            heights = [max(heights)] * 2
    width, height = 2 * WIDTH + 78, max(heights) + 6
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<style>{STYLE}</style>", f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        '<text x="24" y="32" class="head">Input events per second on one core, by processor time</text>',
        f'<text x="24" y="52" class="sub">{escape(said_of(in_memory))}</text>', *legend(), *bodies, "</svg>", "",
    ])  # fmt: skip


def legend() -> Iterable[str]:
    x = 30.0
    for group, text in LEGEND:
        colour = COLOURS[group]
        fill = "#ffffff" if group == "peer" else colour
        yield f'<circle cx="{x}" cy="72" r="4.5" fill="{fill}" stroke="{colour}" stroke-width="1.6"/>'
        yield f'<text x="{x + 10}" y="76" class="sub">{escape(text)}</text>'
        x += 34 + 6.1 * len(text)


# tables


def speeds_table(figures: list[dict[str, Any]], source: str) -> str:
    """Return millions of events per second of processor time, by workload and contender; of a file by the wall too."""
    chosen = [each for each in figures if each["source"] == source and each["workload"] in TITLES]
    ways = [way for way in ORDER if any(way in each["ways"] for each in chosen)]
    head = ["", "events", *(OURS.get(way, way) for way in ways)]

    def cell(events: int, turn: dict[str, float]) -> str:
        cpu, wall = (f"{events / turn[clock] / 1e6:.2f}" for clock in ("cpu", "wall"))
        return cpu if source == "memory" else f"{cpu} ({wall})"

    body = [
        [each["workload"], f"{each['events']:,}"]
        + [cell(each["events"], each["ways"][way]) if way in each["ways"] else "" for way in ways]
        for each in chosen
    ]
    return markdown([head, *body])


def memory_table(figures: list[dict[str, Any]]) -> str:
    """Return megabytes that the work added to the process and its input."""
    chosen = [each for each in figures if each["source"] == "memory" and each["workload"] in TITLES]
    ways = [way for way in ORDER if any(way in each["ways"] for each in chosen)]
    head = ["", "events", *(OURS.get(way, way) for way in ways)]

    def cell(turn: dict[str, float]) -> str:
        return f"{turn['peak'] - turn['before']:.0f} of {turn['peak']:.0f}"

    body = [
        [each["workload"], f"{each['events']:,}", *(cell(each["ways"][w]) if w in each["ways"] else "" for w in ways)]
        for each in chosen
    ]
    return markdown([head, *body])


ORDER = ("columns", *contenders.FILES, *contenders.ROWS, *contenders.TABLES[1:])


def peers_table() -> str:
    names = sorted({name for figures in PEERS.values() for name in figures})
    body = [
        [w, *(f"{figures[name]:,.0f}" if name in figures else "" for name in names)] for w, figures in PEERS.items()
    ]
    return markdown([["", *names], *body])


def main() -> None:
    figures = json.loads((DOCS / "speed.json").read_text())
    charts = {"speed": draw(figures), "programs": program_chart.draw(figures)}
    for name, chart in charts.items():
        (DOCS / f"{name}.svg").write_text(chart)
    tables = program_chart.tables(figures) | {
        "memory": speeds_table(figures, "memory"), "parquet": speeds_table(figures, "parquet"),
        "megabytes": memory_table(figures), "peers": peers_table(),
    }  # fmt: skip
    page = DOCS / "speed.md"
    if page.exists():
        marked = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
        page.write_text(marked.sub(lambda found: f"{found[1]}{tables[found[2]]}{found[3]}", page.read_text()))
    if shutil.which("rsvg-convert") is None:
        print("the PNG are not made anew: rsvg-convert is not installed")
        return
    for name in charts:
        command = ["rsvg-convert", "--zoom", "2", "--output", str(DOCS / f"{name}.png"), str(DOCS / f"{name}.svg")]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
