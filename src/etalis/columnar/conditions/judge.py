"""Conditions over columns: step by step over whole columns where that is exact, else once per distinct arguments.

A goal of comparisons and plain arithmetic over numbers, of equality between texts, and of look-ups of facts is
computed column by column (`arrays`, `lookups`). Every other goal, and what that could get wrong, goes to the function
that the engine itself would call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from etalis.columnar.conditions.lookups import Comparison, find_steps, follow, places_of
from etalis.columnar.data.arrays import InexactError, truth
from etalis.columnar.data.columns import Column, Flags, Integers, from_values, key_rows
from etalis.columnar.data.instances import Instances
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.data.values import Value
from etalis.plan import algebra as p
from etalis.runtime.codegen.conditions import Conditions


class Judge:
    """Decides one condition for whole columns of matches; variables that are `vague` may be unbound.

    Those that the condition is asked with it may bind.
    """

    def __init__(
        self, test: p.Condition, types: Mapping[str, str], conditions: Conditions, rule: str,
        vague: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self.test = test
        self.outputs = (*test.outputs, *(v for v in test.inputs if v in vague))
        self.types = types
        self.conditions = conditions
        self.ask: Callable[..., Any] = conditions.ask(test, self.outputs, rule)
        self.node, self.steps = None, None if vague else find_steps(test, types, conditions.solver.database)
        match test.kind, self.steps:
            case "where", (Comparison(node=node),):
                self.node, self.steps = node, None

    def passing(self, rows: Instances) -> tuple[Flags, dict[str, Column]]:
        """Return which matches pass, and what the condition binds for those that do, in their order."""
        decided = self.decided(rows) if self.by_arrays else None
        if decided is not None:
            return decided, {}
        stepped = self._stepped(rows)
        if stepped is not None:
            kept, columns = stepped
            first = np.flatnonzero(np.diff(kept, prepend=-1))
            passes = np.zeros(len(rows), bool)
            passes[kept[first]] = True
            return passes, {name: column.take(first) for name, column in columns.items()}
        answers, group = self._asked(rows)
        passes = np.array([answer is not None for answer in answers], bool)[group]
        return passes, self._bound(answers, group[passes])

    def solutions(self, rows: Instances) -> tuple[Integers, dict[str, Column]]:
        """Return each match once per solution, and what the solutions bind: `event_multiply`."""
        stepped = self._stepped(rows)
        if stepped is not None:
            kept, columns = stepped
            once = KeyIndex(key_rows([[Column("int", kept), *columns.values()]], [len(kept)])[0]).first
            return kept[once], {name: column.take(once) for name, column in columns.items()}
        answers, group = self._asked(rows)
        counts = np.array([len(answer or ()) for answer in answers], np.int64)
        kept = np.repeat(np.arange(len(rows)), counts[group])
        found = [solution for answer in answers for solution in answer or ()]
        return kept, self._bound(found, places_of(counts, group))

    @property
    def multiplies(self) -> bool:
        """Whether a match may have several solutions."""
        return self.test.kind == "event_multiply"

    @property
    def by_arrays(self) -> bool:
        """Whether NumPy may decide this condition, which then raises and binds nothing."""
        return self.node is not None

    def decided(self, rows: Instances) -> Flags | None:
        """Return which matches pass, None where NumPy cannot tell exactly."""
        assert self.node is not None
        try:
            return truth(self.node, {v: rows.column(v) for v in self.test.inputs}, len(rows))
        except InexactError:
            return None

    def _stepped(self, rows: Instances) -> tuple[Integers, dict[str, Column]] | None:
        """Return the match of every solution, in order, and what it binds; None where that cannot be told exactly."""
        if self.steps is None:
            return None
        try:
            kept, columns = follow(self.steps, self._given(rows), len(rows), self.test.outputs)
        except InexactError:
            return None
        return kept, {name: columns[name] for name in self.test.outputs}

    def _given(self, rows: Instances) -> dict[str, Column]:
        """Return what a condition is asked with: values, and times where it sees them."""
        given = {v: rows.column(v) for v in self.test.inputs}
        if self.test.kind == "check":
            given |= {"t1": Column("int", rows.start), "t2": Column("int", rows.end)}
        return given

    def _asked(self, rows: Instances) -> tuple[list[Any], Integers]:
        """Ask once per distinct tuple of arguments; return the answers, and which of them each match has."""
        given = list(self._given(rows).values())
        keys = key_rows([given], [len(rows)])[0]
        known = KeyIndex(keys)
        first, group = known.first, known.group
        tuples = list(zip(*(column.take(first).values() for column in given), strict=True)) or [()] * len(first)
        answers: list[Any] = []
        noisy: set[int] = set()
        for number, values in enumerate(tuples):
            before = self.conditions.reports
            answers.append(self.ask(*values))
            if self.conditions.reports > before:
                noisy.add(number)
        self._repeat(noisy, group, first, tuples)
        return answers, group

    def _repeat(self, noisy: set[int], group: Any, first: Any, tuples: Sequence[tuple[Value, ...]]) -> None:
        """Report an error once per match, as the engine does, not once per tuple."""
        if not noisy:
            return
        for row, number in enumerate(group.tolist()):
            if number in noisy and row != first[number]:
                self.ask(*tuples[number])

    def _bound(self, answers: Sequence[Any], group: Any) -> dict[str, Column]:
        bound = {}
        for place, name in enumerate(self.outputs):
            values = ["null" if answer is None else answer[place] for answer in answers]
            bound[name] = from_values(values, self.types[name]).take(group)
        return bound
