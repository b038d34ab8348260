"""The report of a run on the command line: each kind of finding once, with its count; strict runs end with a code."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import Annotated

import typer

from etalis.errors import ConditionError
from etalis.runtime.reporting.failures import kind_of
from etalis.runtime.reporting.report import Report, lines_of

Strict = Annotated[
    bool, typer.Option("--strict", help="End with code 6 if events were not read, or rules never fired.")
]


class Failing:
    """Tells of failures as they happen: the first of each kind."""

    def __init__(self) -> None:
        self._known: set[Hashable] = set()

    def tell(self, error: ConditionError) -> None:
        """Say what failed, unless it has before."""
        kind = kind_of(error)
        if kind not in self._known:
            self._known.add(kind)
            print(error, file=sys.stderr, flush=True)


def show_failures(report: Report, *, told: bool = False) -> bool:
    """Say which conditions and actions raised, each kind once, with its count; tell whether any did."""
    for failed in report.failed:
        if not told:
            print(failed.first, file=sys.stderr)
        if failed.count > 1:
            what = f"{failed.first.message}\n  " if told else "  "
            print(f"{what}{failed.count:,} times like this", file=sys.stderr)
    return bool(report.failed)


def show_findings(report: Report, *, strict: bool, ended: bool = True) -> bool:
    """Say what no rule read and, where a stream has `ended`, which rules never fired; tell if a script should know.

    What was not taken, and what failed, is told elsewhere.
    """
    rest = Report(report.unread, report.silent if ended else (), is_empty=report.is_empty and ended)
    for line in lines_of(rest.errors if strict else rest.problems):
        print(line, file=sys.stderr)
    return strict and bool(rest)
