"""The programs by every way there is: what is timed keeps its matches, and every answer is compared with the loop's.

Ways over columns start from one Arrow table in memory and end with one; ways over rows start from a list of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import feeding
import pyarrow as pa

import etalis
from programs import CASES, queries
from programs.case import Case, Match

Work = Callable[[], Any]
Begin = Callable[[], Work]
LOOP = "hand, Python"
NOT_ATTRIBUTES = ("event", "rule", "start", "end")
Cell = float | str


def ways(name: str) -> list[str]:
    """Return the ways there are for a program."""
    found = ["columns", "push", "run", LOOP]
    found += ["DuckDB"] if name in queries.SQL else []
    return found + (["Polars"] if name in queries.POLARS else [])


def program_of(case: Case) -> etalis.Program:
    program = etalis.compile(case.text, register=dict(case.functions))
    for relation, rows in case.facts.items():
        program.load_facts(relation, rows)
    return program


def contender(way: str, case: Case, rows: list[Any], threads: int) -> Begin:
    """Return how a way begins its work, its input at hand."""
    if way == LOOP:
        return lambda: lambda: case.loop(rows)
    if way in ("push", "run"):
        program = program_of(case)
        return lambda: row_work(way, case, program.engine(policy=case.policy), rows)
    pa.set_cpu_count(threads)
    work = table_work(way, case, rows, threads)
    return lambda: work


def row_work(way: str, case: Case, engine: etalis.Engine, rows: list[Any]) -> Work:
    feed = feeding.run_rows if way == "run" else feeding.push_rows
    if case.closes:
        return lambda: [*feed(engine, rows), *engine.close()]
    return lambda: feed(engine, rows)


def table_work(way: str, case: Case, rows: list[Any], threads: int) -> Work:
    program = program_of(case)
    events = table_of(program, rows)
    match way:
        case "columns":
            time = ("ts", "until") if "until" in events.column_names else "ts"
            return lambda: program.detect(events, time=time, event="type", policy=case.policy, threads=threads)
        case "DuckDB":
            return queries.duckdb_work(case.name, events, threads)
        case _:
            return queries.polars_work(case.name, events)


def table_of(program: etalis.Program, rows: list[Any]) -> pa.Table:
    """Return rows as one table with a column per attribute, named as declared, else x0, x1, and so on."""
    if isinstance(rows[0], dict):
        return pa.Table.from_pylist(rows).rename_columns({"event": "type", "at": "ts"})
    names: dict[tuple[str, int], list[str]] = {}
    for row in rows:
        if (kind := (row[0], len(row))) not in names:
            declared = program.signatures.get(row[0])
            names[kind] = [name for name, _ in declared] if declared else [f"x{i}" for i in range(len(row) - 2)]
    columns: dict[str, list[Any]] = {name: [] for several in names.values() for name in several}
    for row in rows:
        given = dict(zip(names[row[0], len(row)], row[1:-1], strict=True))
        for name, column in columns.items():
            column.append(given.get(name))
    starts, ends = ([row[-1][side] if isinstance(row[-1], tuple) else row[-1] for row in rows] for side in (0, 1))
    until = {"until": ends} if starts != ends else {}
    return pa.table({
        "ts": starts, **until, "type": pa.array([row[0] for row in rows]).dictionary_encode(), **columns,
    })  # fmt: skip


# answers


def difference(way: str, found: Any, wanted: list[Match]) -> str:
    """Return how an answer differs from the loop's, or nothing; floats may differ in their last digits."""
    if isinstance(found, pa.Table) and way != "columns":
        fields = sorted(found.column_names, key=lambda field: field[1:].isdigit())
        given = zip(*(found[field].to_pylist() for field in fields), strict=True)
        return compare(given, ([told(match, field) for field in fields] for match in wanted))
    matches = from_table(found) if isinstance(found, pa.Table) else [spelled(match) for match in found]
    return compare(matches, map(spelled, wanted))


def told(match: Match, field: str) -> Any:
    """Return the part of a match that a query's column names."""
    name, args, start, end = match
    return {"name": name, "start": start, "end": end}[field] if field[1:].isalpha() else args[int(field[1:])]


def spelled(match: Any) -> tuple[Any, ...]:
    """Return a match as a row; what is null is left out, as it is of tables."""
    if isinstance(match, tuple):
        return match[0], match[2], match[3], *(value for value in match[1] if value != "null")
    return match.name, match.start, match.end, *(value for value in match.args if value != "null")


def from_table(found: pa.Table) -> Iterable[tuple[Any, ...]]:
    attributes = [name for name in found.column_names if name not in NOT_ATTRIBUTES]
    for row in found.to_pylist():
        args = (row[name] for name in attributes if row[name] is not None)
        yield row["event"], row["start"], row["end"], *args


def compare(found: Iterable[Iterable[Any]], wanted: Iterable[Iterable[Any]]) -> str:
    ours, theirs = (sorted(map(ordered, rows)) for rows in (found, wanted))
    if len(ours) != len(theirs):
        return f"{len(ours)} of {len(theirs)} matches, {next(iter({*map(str, ours)} ^ {*map(str, theirs)}), '')}"
    for a, b in zip(ours, theirs, strict=True):
        if a != b and not alike(a, b):
            return f"{a}, not {b}"
    return ""


def ordered(row: Iterable[Any]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return the texts and numbers of a row apart, times before attributes, whose last digits may differ."""
    cells = [plain(cell) for cell in row]
    return tuple(c for c in cells if isinstance(c, str)), tuple(c for c in cells if not isinstance(c, str))


def plain(cell: Any) -> Cell:
    """Return a number or a text; over columns, what has no declared type is text."""
    if isinstance(cell, datetime):
        return cell.timestamp()
    if not isinstance(cell, str):
        return cell if isinstance(cell, int | float) else str(cell)
    try:
        return float(cell) if cell[:1].isdigit() or cell[:1] == "-" else cell
    except ValueError:
        return cell


def alike(a: Any, b: Any) -> bool:
    return a[0] == b[0] and all(math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9) for x, y in zip(a[1], b[1], strict=True))


def check(name: str, rows: list[Any], chosen: Iterable[str]) -> tuple[int, str]:
    """Return how many matches there are, and what is wrong with the first wrong answer."""
    case = CASES[name]
    wanted = case.loop(rows)
    for way in chosen:
        if way != LOOP and (wrong := difference(way, contender(way, case, rows, 1)()(), wanted)):
            return len(wanted), f"{name}, {way}: {wrong}"
    return len(wanted), ""
