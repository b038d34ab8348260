"""The console where nobody types: clauses from a file or a pipe, answers to standard output.

A line `;` asks for the next answer to the goal before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TextIO

from etalis.formats.full_stops import ClauseReader
from etalis.shell.console import Console

MORE = ";"


async def read_plainly(console: Console, source: TextIO) -> None:
    """Answer the clauses of a text until it ends or one of them says so."""
    beside = asyncio.create_task(console.stay_awake())
    reader = ClauseReader()
    try:
        async for line in _lines(source):
            if line.strip() == MORE and reader.is_idle:
                if console.asks:
                    await console.more()
                continue
            for clause in reader.feed(line):
                await console.answer(clause)
                if console.is_over:
                    return
        rest = reader.close()
        if rest:
            await console.answer(rest)
    finally:
        beside.cancel()
        with suppress(asyncio.CancelledError):
            await beside


async def _lines(source: TextIO) -> AsyncIterator[str]:
    while line := await asyncio.to_thread(source.readline):
        yield line
