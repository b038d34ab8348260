"""What the commands share: errors as messages, programs from files, options that take one of some names.

Results go to standard output, everything else to standard error, so that results can be piped. Exit codes tell a script
what went wrong: see `cli_exit` and docs/cli.md.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar, assert_never

import typer

import etalis
from etalis.cli.exit_codes import ExitCode, discard_output
from etalis.cli.knowledge import KnowledgeOptions
from etalis.data.encodings import decode
from etalis.errors import EtalisError, InputError, LimitError, Problem, ProgramError, ProgramWarning
from etalis.formats import FORMATS, Bad, Item, Pause, Row
from etalis.formats.row import UNITS
from etalis.formats.written import FORMS
from etalis.runtime.state import BEGINNING
from etalis.temporal.event import sort_key
from etalis.temporal.policy import POLICIES


class MatchDisplay(StrEnum):
    """How matches are shown."""

    TEXT = "text"
    JSON = "json"
    TABLE = "table"


class ResultDisplay(StrEnum):
    """How the results of a run are shown: as matches, or as queries have them."""

    TEXT = "text"
    JSON = "json"
    TABLE = "table"
    SPARQL = "sparql"
    TRIG = "trig"


Names = TypeVar("Names", str, list[str], None)


def one_of(names: Iterable[str], text: str, *declared: str) -> Any:
    """Return an option that takes one of the names of a table, or several where it may be repeated."""
    known = tuple(names)

    def check_name(value: Names) -> Names:
        names: Sequence[str] = [value] if isinstance(value, str) else value or []
        for name in names:
            if name not in known:
                raise typer.BadParameter(f"{name!r} is not one of {', '.join(known)}")
        return value

    return typer.Option(
        *declared, help=text, metavar="|".join(known), callback=check_name, autocompletion=lambda: known
    )


ProgramFile = Annotated[Path, typer.Argument(help="File of event rules.", exists=True, dir_okay=False, readable=True)]
Policy = Annotated[str | None, one_of(POLICIES, "Consumption policy of rules that name none.")]
Format = Annotated[str | None, one_of(FORMATS, "Format of events, if the file's name does not say.", "--format")]
EventName = Annotated[str | None, typer.Option(help="Column that names the event, or the event of every row.")]
TimeColumn = Annotated[str | None, typer.Option(help="Column of time; of RDF streams, the property of graphs.")]
StreamIri = Annotated[
    str | None, typer.Option("--stream", metavar="IRI", help="Of RDF streams, the name of the stream.")
]
Until = Annotated[str | None, typer.Option(help="Of RDF streams, the property that tells the end of a graph.")]
Unit = Annotated[str, one_of(UNITS, "Unit of times given as numbers.")]
Times = Annotated[str | None, one_of(FORMS, "How times are shown: as dates, as seconds; without it as they came.")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of text files that are not UTF-8: latin-1, cp1252.")]
SkipBroken = Annotated[bool, typer.Option("--skip-broken", help="Leave out rules that have errors, and say which.")]
Sort = Annotated[bool, typer.Option("--sort", help="Read all events first and sort them by time.")]


@contextmanager
def reporting() -> Iterator[None]:
    """Turn errors into messages on standard error and exit codes; the commands show warnings of programs themselves."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProgramWarning)
            yield
    except ProgramError as error:
        raise refuse(error, ExitCode.PROGRAM) from None
    except LimitError as error:
        raise refuse(error, ExitCode.LIMIT) from None
    except EtalisError as error:
        raise refuse(error, ExitCode.INPUT) from None
    except BrokenPipeError:
        discard_output()  # whoever reads the matches has seen enough
        raise typer.Exit(ExitCode.OK) from None
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def refuse(error: EtalisError, exit_code: ExitCode) -> typer.Exit:
    sys.stdout.flush()
    for problem in error.problems:
        print(problem, file=sys.stderr)
    return typer.Exit(exit_code)


def end_with(codes: Mapping[ExitCode, bool]) -> None:
    """End with the first code that holds, if one does."""
    for code, holds in codes.items():
        if holds:
            raise typer.Exit(code)


def load(
    path: Path, knowledge: KnowledgeOptions, *, encoding: str | None = None, skip_broken: bool = False
) -> etalis.Program:
    """Compile a program and add its knowledge; its warnings go to standard error."""
    text = read_program(path, encoding)
    compiled = knowledge.compile(path, text, skip_broken=skip_broken)
    for problem in compiled.problems:
        print(problem, file=sys.stderr)
    return compiled


def read_program(path: Path, encoding: str | None = None) -> str:
    try:
        return decode(path.read_bytes(), str(path), encoding).replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise InputError(Problem("E401", f"cannot read {path}: {error.strerror}", hint="check its name")) from None


def write_text(text: str, path: Path) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(Problem("E401", f"cannot write {path}: {error.strerror}", hint="check its name")) from None


def count(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> count(1, "event"), count(2000, "match")
    ('1 event', '2,000 matches')
    """
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def in_time_order(items: Iterable[Item]) -> list[Item]:
    """Return all rows sorted by end and start, equal ones in their given order; what cannot be read comes first."""
    return sorted(items, key=_by_time)


def _by_time(item: Item) -> tuple[int, int]:
    match item:
        case Row(event):
            return sort_key(event)[:2]
        case Pause(to):
            return to, to
        case Bad():
            return BEGINNING, BEGINNING
        case _:
            assert_never(item)
