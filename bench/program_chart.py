"""The programs of docs/speed.md: a chart of their speeds as shares of the loop's, and their tables."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import Any

import programs
from causes import CAUSES
from programs.contenders import LOOP

SLOW = 5.0  # times the loop's time: such lines are named
WAYS = {
    "push": ("push", "#fdba74"), "run": ("run", "#ea580c"), "columns": ("over columns", "#7c2d12"),
    "DuckDB": ("DuckDB", "#0369a1"), "Polars": ("Polars", "#7dd3fc"),
}  # fmt: skip
OURS = ("push", "run", "columns")
LOWEST, HIGHEST = 5e-4, 1e2
LABELS, WIDTH, LINE, TOP = 190, 900, 22, 104

STYLE = """
text { font-family: 'Helvetica Neue', Helvetica, Arial, sans-serif; fill: #0f172a; font-size: 12px }
.head { font-size: 17px; font-weight: bold } .sub { fill: #475569 } .title { font-size: 13px; font-weight: bold }
.label { text-anchor: end } .peer { fill: #64748b } .value { font-size: 11px; fill: #334155 }
.axis { font-size: 10px; fill: #64748b; text-anchor: middle } .grid { stroke: #e2e8f0 }
"""


def programs_of(figures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in figures if each["workload"] in programs.USUAL]


def share(each: dict[str, Any], way: str) -> float:
    """Return the speed of a way as a share of the loop's, by processor time."""
    return each["ways"][LOOP]["cpu"] / each["ways"][way]["cpu"]


def place(value: float) -> float:
    part = (math.log10(value) - math.log10(LOWEST)) / (math.log10(HIGHEST) - math.log10(LOWEST))
    return LABELS + max(0.0, min(1.0, part)) * (WIDTH - LABELS - 30)


def draw(figures: list[dict[str, Any]]) -> str:
    """Return the chart: a line per program, a dot per way."""
    chosen = programs_of(figures)
    bottom = TOP + LINE * len(chosen)
    body: list[str] = []
    for power in range(-3, 3):
        x = place(10.0**power)
        style = 'stroke="#475569" stroke-width="1.6"' if power == 0 else 'class="grid"'
        body.append(f'<line x1="{x:.1f}" y1="{TOP - 16}" x2="{x:.1f}" y2="{bottom - 6}" {style}/>')
        name = "the loop" if power == 0 else f"{10.0**power:g}"
        body.append(f'<text x="{x:.1f}" y="{bottom + 10}" class="axis">{name}</text>')
    for number, each in enumerate(chosen):
        body += line(each, TOP + LINE * number)
    height = bottom + 24
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
        f"<style>{STYLE}</style>", f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        '<text x="24" y="32" class="head">Programs of users: speed to that of a loop by hand, matches kept</text>',
        f'<text x="24" y="52" class="sub">{escape(said_of(chosen))}</text>', *legend(), *body, "</svg>", "",
    ])  # fmt: skip


def line(each: dict[str, Any], y: float) -> Iterable[str]:
    yield f'<text x="{LABELS - 14}" y="{y + 4}" class="label">{escape(each["workload"])}</text>'
    yield f'<line x1="{LABELS}" y1="{y}" x2="{WIDTH - 30}" y2="{y}" class="grid"/>'
    for way, (_, colour) in WAYS.items():
        if way in each["ways"]:
            x = place(share(each, way))
            yield f'<circle cx="{x:.1f}" cy="{y}" r="4.5" fill="{colour}" stroke="#ffffff" stroke-width="0.8"/>'


def legend() -> Iterable[str]:
    x = 30.0
    for text, colour in WAYS.values():
        yield f'<circle cx="{x}" cy="72" r="4.5" fill="{colour}"/>'
        yield f'<text x="{x + 10}" y="76" class="sub">{escape(text)}</text>'
        x += 40 + 6.6 * len(text)


def said_of(figures: list[dict[str, Any]]) -> str:
    sizes = sorted({each["events"] for each in figures})
    dates = sorted({each["date"] for each in figures})
    size = " to ".join(f"{size:,}" for size in {sizes[0]: 0, sizes[-1]: 0})
    date = " to ".join({dates[0]: 0, dates[-1]: 0})
    return f"Logarithmic scale. {size} events in memory, answers checked. {figures[0]['machine']}; {date}."


# tables


def markdown(rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:], ""])


def tables(figures: list[dict[str, Any]]) -> dict[str, str]:
    """Return the tables of the programs by the marks in docs/speed.md."""
    chosen = programs_of(figures)
    ways = (LOOP, *WAYS)
    titles = [title for title, _ in WAYS.values()]
    head = ["", "events", "matches", "loop by hand", *titles]
    shares = [[each["workload"], *(shown_share(each, way) for way in WAYS)] for each in chosen]
    return {
        "programs": markdown([head, *([*counts(each), *(speed(each, way) for way in ways)] for each in chosen)]),
        "shares": markdown([["", *titles], *shares]),
        "usual": markdown([head, *([*counts(each), *(memory(each, way) for way in ways)] for each in chosen)]),
        "slower": slower_table(figures),
    }


def shown_share(each: dict[str, Any], way: str) -> str:
    if way not in each["ways"]:
        return ""
    value = share(each, way)
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def counts(each: dict[str, Any]) -> list[str]:
    return [each["workload"], f"{each['events']:,}", f"{each['ways'][LOOP]['matches']:,.0f}"]


def speed(each: dict[str, Any], way: str) -> str:
    """Return millions of events per second of processor time, in two digits and more."""
    if way not in each["ways"]:
        return ""
    value = each["events"] / each["ways"][way]["cpu"] / 1e6
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def memory(each: dict[str, Any], way: str) -> str:
    turn = each["ways"].get(way)
    return f"{turn['peak'] - turn['before']:.0f} of {turn['peak']:.0f}" if turn else ""


def slower_table(figures: list[dict[str, Any]]) -> str:
    """Return every line where we take more than five times as long as the loop, with its cause."""
    rows = [["", "times as long as the loop", "cause", "planned"]]
    for each in figures:
        if each["source"] != "memory" or LOOP not in each["ways"]:
            continue
        slow = {way: 1 / share(each, way) for way in OURS if way in each["ways"] and share(each, way) < 1 / SLOW}
        if slow:
            times = ", ".join(f"{way} {times:.0f}" for way, times in slow.items())
            if each["workload"] not in CAUSES:
                raise SystemExit(f"causes.py does not say why {each['workload']} is slow: {times}")
            rows.append([each["workload"], times, *CAUSES[each["workload"]]])
    return markdown(rows)
