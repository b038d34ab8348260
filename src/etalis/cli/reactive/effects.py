"""Where the effects of a run go that the command line makes: none is made, they are told or written with their keys."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from etalis.errors import InputError, Problem
from etalis.reactive.effects.rehearsal import dry, recording
from etalis.reactive.effects.sink import EffectSink

DRY = "dry"
STANDARD_OUTPUT = "stdout"
Effects = Annotated[
    str | None,
    typer.Option(
        metavar="dry|stdout|FILE", help="What effects of reactions become: lines for people, or rows of JSON lines."
    ),
]


@contextmanager
def where_effects_go(asked: str | None, *, append: bool = False) -> Iterator[EffectSink | None]:
    """Return what takes the effects of a run; None leaves it to the program, which has no functions for them here."""
    if asked is None:
        yield None
    elif asked == DRY:
        yield dry(lambda line: print(line, file=sys.stderr))
    elif asked == STANDARD_OUTPUT:
        yield recording(print)
    else:
        path = Path(asked)
        try:
            file = path.open("a" if append else "w", encoding="utf-8")
        except OSError as error:
            message = f"cannot write {path}: {error.strerror}"
            raise InputError(Problem("E401", message, hint="--effects takes dry, stdout or a file")) from None
        with file:
            yield recording(lambda line: print(line, file=file))
