"""Goals that arrays have no answer to: the solver is asked, once per distinct tuple of the goal's own variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from etalis.columnar.conditions.steps import MOST, Found, SpreadError, places_of
from etalis.columnar.data.columns import Column, Integers, from_values, key_rows
from etalis.columnar.data.flat import type_of
from etalis.columnar.data.instances import ColumnBlock, Instances
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.data.values import Value
from etalis.errors import EtalisError

if TYPE_CHECKING:
    from etalis.columnar.conditions.changing_facts import ReplayedFacts
    from etalis.runtime.codegen.conditions import Conditions


class Asked:
    """A goal over `reads`, which have values, and the times of matches if `is_timed`; `makes` are what it binds.

    What `solving` returns is asked for the solutions: at most one, or all where it `multiplies`; of facts that are
    `replayed` where events change them. What raises is in doubt, and so is a solution that leaves a variable open.
    """

    def __init__(
        self, solving: Callable[[], Callable[..., Any]], reads: Sequence[str], makes: Sequence[str], *, is_timed: bool,
        multiplies: bool, replayed: ReplayedFacts | None = None,
    ) -> None:  # fmt: skip
        self.solving = solving
        self.reads = tuple(reads)
        self.makes = tuple(makes)
        self.is_timed = is_timed
        self.multiplies = multiplies
        self.replayed = replayed

    @cached_property
    def solve(self) -> Callable[..., Any]:
        """The goal, which is compiled when it is first asked."""
        return self.solving()

    def find(self, rows: Instances) -> Found:
        """Return the solutions of rows."""
        given = given_values(rows, self.reads, is_timed=self.is_timed, replayed=self.replayed)
        first, group = distinct(given, len(rows))
        answers, raising = self._answers(tuples_of(given, first))
        doubt = np.isin(group, raising) if raising else None
        counts = np.array([len(answer) for answer in answers], np.int64)
        mine = counts[group]
        if mine.sum() > MOST and len(rows) > 1 and self.multiplies:
            raise SpreadError
        kept = None if (mine == 1).all() else np.repeat(np.arange(len(rows)), mine)
        if not self.makes:
            return Found(kept, None, doubt)
        found = [solution for answer in answers for solution in answer]
        columns = {name: narrowed([each[i] for each in found]) for i, name in enumerate(self.makes)}
        return Found(kept, ColumnBlock(columns, places_of(counts, group)), doubt)

    def _answers(self, questions: Iterator[tuple[Value, ...]]) -> tuple[list[Sequence[tuple[Value, ...]]], list[int]]:
        """Return the solutions of each question, and for which of them one raises, or leaves something open."""
        found: list[Any] = []
        raising: list[int] = []
        while ask_each(self.solve, questions, found) is not None:
            raising.append(len(found))
            found.append(None)
        answers = solutions_of(found, multiplies=self.multiplies)
        if self.makes:
            is_open = [i for i, each in enumerate(answers) if any(None in solution for solution in each)]
            raising += is_open
            for number in is_open:
                answers[number] = ()
        return answers, raising


def ask_each(
    solve: Callable[..., Any], questions: Iterator[tuple[Value, ...]], answers: list[Any]
) -> EtalisError | None:
    """Ask one question after the other, and add the answers; stop at one that raises, and return what that is."""
    try:
        for values in questions:
            answers.append(solve(*values))
    except EtalisError as error:
        return error
    return None


def solutions_of(answers: Sequence[Any], *, multiplies: bool) -> list[Sequence[tuple[Value, ...]]]:
    """Return the solutions that answers are: of a goal that multiplies all of them, of others one at most."""
    if multiplies:
        return [answer or () for answer in answers]
    return [() if answer is None else (answer,) for answer in answers]


def given_values(
    rows: Instances, names: Sequence[str], *, is_timed: bool, replayed: ReplayedFacts | None = None
) -> list[Column]:
    """Return what a goal is asked with: values, times where it sees them, and which changes of facts a match sees."""
    given = [rows.column(v) for v in names]
    times = [Column("int", rows.start), Column("int", rows.end)] if is_timed else []
    return [*given, *times, *([] if replayed is None else [replayed.versions(rows)])]


def asking(
    replayed: ReplayedFacts | None, conditions: Conditions, prepare: Callable[[Conditions], Callable[..., Any]]
) -> Callable[[], Callable[..., Any]]:
    """Return what prepares a goal: over the knowledge of some conditions, or that of the turn of a match."""
    return partial(prepare, conditions) if replayed is None else partial(replayed.asking, prepare)


def distinct(given: Sequence[Column], count: int) -> tuple[Integers, Integers]:
    """Return the first rows that have each tuple of values, and which tuple each row has."""
    known = KeyIndex(key_rows([given], [count])[0])
    return known.first, known.group


def tuples_of(given: Sequence[Column], rows: Integers) -> Iterator[tuple[Value, ...]]:
    """Yield the values of some rows, one after the other: many at a time are a burden to the collector of cycles."""
    return zip(*(column.take(rows).values() for column in given), strict=True) if given else repeat((), len(rows))


def narrowed(values: Sequence[Value]) -> Column:
    """Return values as a column of the type that all of them have, else of terms."""
    kinds = set(map(type_of, values))
    return from_values(values, kinds.pop() if len(kinds) == 1 else "term")
