"""Tables that others hold: queries and cursors of databases (DB-API), data frames of pandas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from etalis.errors import InputError, Problem


def _is_query(source: Any) -> bool:
    is_pair = isinstance(source, tuple) and len(source) == 2
    return is_pair and hasattr(source[0], "cursor") and isinstance(source[1], str)


def run_query(source: Any) -> Any:
    """Return the cursor that has the rows of (connection, query); anything else as it is."""
    if not _is_query(source):
        return source
    cursor = source[0].cursor()
    try:
        executed = cursor.execute(source[1])
    except Exception as error:  # noqa: BLE001 - every driver has errors of its own
        raise InputError(Problem("E402", f"the query failed: {error}", hint=source[1])) from None
    return executed if hasattr(executed, "fetchmany") else cursor


def is_table(source: Any) -> bool:
    """Tell whether something has rows by columns, of Arrow, pandas, Polars, DuckDB or a database; or one per event."""
    if isinstance(source, Mapping):
        return bool(source) and all(map(is_table, source.values()))
    names = ("columns", "column_names", "collect_schema", "fetchmany")  # a column of a table has none of them
    return any(hasattr(source, name) for name in names) or _is_query(source)


def is_cursor(source: Any) -> bool:
    """Tell whether something is an executed cursor."""
    return hasattr(source, "description") and hasattr(source, "fetchmany")


def cursor_rows(cursor: Any, block: int) -> tuple[list[str], Iterator[list[Any]]]:
    """Return the columns of a cursor, and its rows, so many at a time."""
    if cursor.description is None:
        raise InputError(Problem("E402", "the query gives no rows", hint="write a SELECT"))
    return [item[0] for item in cursor.description], iter(lambda: list(cursor.fetchmany(block)), [])


def frame_cells(frame: Any) -> tuple[list[str], list[list[Any]]]:
    """Return the columns of a data frame of pandas, and their cells, where NaN is a missing value."""
    columns = [frame.iloc[:, i] for i in range(len(frame.columns))]
    cells = [column.astype(object).where(column.notna(), None).tolist() for column in columns]
    return [str(name) for name in frame.columns], cells
