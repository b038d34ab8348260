"""`etalis declare`: the declarations that fit a table, to be put into a program."""

from __future__ import annotations

from typing import Annotated

import typer

from etalis.cli.common import EventName, TimeColumn, reporting

Table = Annotated[str, typer.Argument(help="Table: a file, folder, pattern or address; - is standard input.")]


def declare(table: Table, *, event: EventName = None, time: TimeColumn = None) -> None:
    """Print declarations that fit a table: one per event that it names, or for the event of every row."""
    from etalis.tables.declare import declarations_of

    with reporting():
        for line in declarations_of(table, event=event, time=time):
            print(line)
