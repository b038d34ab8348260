"""Conditions over columns: step by step over whole columns where that is exact, else once per distinct arguments.

Conjuncts become steps (`lowering`): arithmetic, comparison, equality and look-ups of facts are computed over arrays,
and only the rest asks the solver. A row that a step leaves in doubt is asked as a whole of the function that the engine
itself would call, which reports what is to be reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Protocol

import numpy as np

from etalis.columnar.conditions.arithmetic import InexactError
from etalis.columnar.conditions.asked import ask_each, asking, distinct, given_values, narrowed, solutions_of, tuples_of
from etalis.columnar.conditions.changing_facts import ChangingFacts
from etalis.columnar.conditions.lowering import find_steps
from etalis.columnar.conditions.steps import Comparisons, Solved, follow, places_of
from etalis.columnar.data.columns import FLAT, Column, Flags, Integers, concat, from_values, key_rows
from etalis.columnar.data.instances import Instances
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.data.values import Value
from etalis.errors import EtalisError
from etalis.language.check.goals import takes_unbound
from etalis.language.printer import print_term
from etalis.plan import algebra as p
from etalis.plan.rewrite.unread import told
from etalis.runtime.codegen.conditions import Conditions

_MUCH = 256  # rows, of which most are in doubt, after which a condition is no longer taken in steps


class OwnJudges(Protocol):
    """The judges of rules that have a condition in common."""

    def members(self, rows: Instances) -> Integers:
        """Return which of the rules each match is of."""
        ...

    def first(self, member: int) -> int:
        """Return the first of the rules that share the part of a rule: all of them have the same matches there."""
        ...

    def rank(self, member: int) -> int:
        """Return the place of a rule in the program."""
        ...

    def judge(self, member: int) -> Judge:
        """Return the judge of one of the rules."""
        ...


class Judge:
    """Decides one condition for whole columns of matches, and gives what others want of what it binds.

    Variables that are `vague` may be unbound. Those that the condition is asked with it may bind. Where rules that are
    alike have it in common, `own` has the judge of the rule that a match is of, which is asked what arrays cannot tell.
    Facts that events change are asked of `facts`.
    """

    def __init__(
        self, test: p.Condition, types: Mapping[str, str], conditions: Conditions, rule: str, wanted: Collection[str],
        vague: frozenset[str] = frozenset(), own: OwnJudges | None = None, facts: ChangingFacts | None = None,
    ) -> None:  # fmt: skip
        self.test = test
        self.replayed = None if facts is None else facts.replayed(test.goal)
        self.own = own
        asked = told(test, wanted, conditions.solver.database.overrides)
        loose = () if takes_unbound(test.goal, test.inputs) else tuple(v for v in test.inputs if v in vague)
        self.outputs = (*asked, *loose)
        self.is_firm = not loose
        self.types = types
        self.conditions = conditions
        self.key = (rule, "condition", print_term(test.goal))
        self.steps = None if vague else find_steps(test, self.outputs, types, conditions, facts)

    @cached_property
    def _solve(self) -> Callable[..., Any]:
        """The condition as a whole, which raises what is to be reported; it is compiled when a match needs it."""
        return asking(self.replayed, self.conditions, self._prepare)()

    def _prepare(self, conditions: Conditions) -> Callable[..., Any]:
        if isinstance(self.test, p.Prefilter):
            return conditions.prepare_prefilter(self.test)
        return conditions.solving(self.test, self.outputs, is_firm=self.is_firm)

    @property
    def multiplies(self) -> bool:
        """Whether a match may have several solutions."""
        return self.test.kind == "event_multiply"

    @property
    def by_arrays(self) -> bool:
        """Whether arrays may decide this condition, which then raises and binds nothing."""
        return self.test.kind == "where" and self._comparisons is not None

    @property
    def _comparisons(self) -> Comparisons | None:
        match self.steps:
            case (Comparisons() as only,):
                return only
            case _:
                return None

    def decided(self, rows: Instances) -> Flags | None:
        """Return which matches pass, None where arrays cannot tell exactly."""
        assert self._comparisons is not None
        try:
            passes, doubt = self._comparisons.judge(rows)
        except InexactError:
            return None
        return passes if doubt is None or not doubt.any() else None

    def solutions(self, rows: Instances) -> tuple[Integers | None, dict[str, Column]]:
        """Return the matches that pass, None if all do, and what the condition binds for these, in their order.

        A match passes once; once per solution where the condition multiplies.
        """
        kept, bound = self._solved(rows)
        if not self.multiplies:
            if (kept[1:] > kept[:-1]).all():  # one solution each
                return None if len(kept) == len(rows) else kept, bound
            first = np.flatnonzero(np.diff(kept, prepend=-1))
            return kept[first], {name: column.take(first) for name, column in bound.items()}
        once = KeyIndex(key_rows([[Column("int", kept), *bound.values()]], [len(kept)])[0]).first
        return kept[once], {name: column.take(once) for name, column in bound.items()}

    def _solved(self, rows: Instances) -> tuple[Integers, dict[str, Column]]:
        """Return the match of every solution, in order, and what it binds."""
        if not len(rows):
            return rows.turn, {name: from_values((), self.types[name]) for name in self.outputs}
        stepped = self._stepped(rows)
        if self.own is not None and (stepped is None or stepped.doubt is not None):
            return self._apart(self.own, rows, stepped)
        if stepped is None:
            return self._asked(rows)[:2]
        kept, bound = stepped.kept, {name: self._fit(name, column) for name, column in stepped.bound.items()}
        if stepped.doubt is None:
            return kept, bound
        doubtful = np.flatnonzero(stepped.doubt)
        if len(doubtful) > _MUCH and 2 * len(doubtful) > len(rows):
            self.steps = None
        again, more, until = self._asked(rows.take(doubtful))
        if until < len(doubtful):  # it was switched off, and nothing after that passes
            sure = np.flatnonzero(kept < doubtful[until])
            kept, bound = kept[sure], {name: column.take(sure) for name, column in bound.items()}
        both = np.concatenate([kept, doubtful[again]])
        order = np.argsort(both, kind="stable")
        return both[order], {name: concat([bound[name], more[name]]).take(order) for name in bound}

    def _apart(self, own: OwnJudges, rows: Instances, stepped: Solved | None) -> tuple[Integers, dict[str, Column]]:
        """Let the matches of rules of which some are in doubt be judged by these rules themselves."""
        member = own.members(rows)
        doubtful = np.ones(len(rows), bool) if stepped is None else np.isin(member, member[stepped.doubt])
        order = np.flatnonzero(doubtful)[np.argsort(member[doubtful], kind="stable")]
        cuts = np.flatnonzero(np.diff(member[order])) + 1
        kept: list[Integers] = []
        bound: list[Mapping[str, Column]] = []
        if stepped is not None:
            sure = np.flatnonzero(~doubtful[stepped.kept])
            kept.append(stepped.kept[sure])
            bound.append({name: self._fit(name, column.take(sure)) for name, column in stepped.bound.items()})
        known: dict[int, tuple[Integers, dict[str, Column]]] = {}
        for mine in sorted(np.split(order, cuts), key=lambda mine: own.rank(int(member[mine[0]]))):
            first = own.first(int(member[mine[0]]))
            if first not in known:
                known[first] = own.judge(first)._solved(rows.take(mine))
            some, columns = known[first]
            kept.append(mine[some])
            bound.append(columns)
        both = np.concatenate(kept)
        order = np.argsort(both, kind="stable")
        return both[order], {name: concat([each[name] for each in bound]).take(order) for name in self.outputs}

    def _stepped(self, rows: Instances) -> Solved | None:
        """Take rows through the steps; None where they cannot be."""
        off = self.conditions.breaker.off
        if self.steps is None or (off and (self.own is not None or self.key in off)):
            return None
        unbound = dict.fromkeys(self.outputs)  # an alternative has columns of nulls for what is bound here
        try:
            return follow(self.steps, rows.without(unbound), self.outputs)
        except InexactError:
            return None

    def _fit(self, name: str, column: Column) -> Column:
        """Return a column in the type of its variable, where that is a flat one."""
        kind = self.types[name]
        return from_values(column.values(), kind) if kind in FLAT and column.type != kind else column

    def _asked(self, rows: Instances) -> tuple[Integers, dict[str, Column], int]:
        """Ask of matches; return the match of every solution, what it binds, and where it was switched off."""
        answers, group, until = self._answers(rows)
        found = solutions_of(answers, multiplies=self.multiplies)
        counts = np.array(list(map(len, found)), np.int64)
        kept = np.repeat(np.arange(len(rows)), counts[group])
        solutions = list(chain.from_iterable(found))
        places = places_of(counts, group)
        columns = {name: self._column(name, [each[i] for each in solutions]) for i, name in enumerate(self.outputs)}
        bound = {name: column.take(places) for name, column in columns.items()}
        return kept, bound, until

    def _column(self, name: str, values: Sequence[Value]) -> Column:
        """Return values as a column of the type of their variable, or of the one that all of them have."""
        return from_values(values, self.types[name]) if self.types[name] in FLAT else narrowed(values)

    def _answers(self, rows: Instances) -> tuple[list[Any], Integers, int]:
        """Ask once per distinct tuple of arguments; return the answers, and which of them each match has.

        The first error is reported, and from there on matches are asked one by one: each reports its error, as in the
        engine.
        """
        given = given_values(rows, self.test.inputs, is_timed=self.test.kind == "check", replayed=self.replayed)
        first, group = distinct(given, len(rows))
        if self.key in self.conditions.breaker.off:
            return [None] * len(first), group, len(rows)
        answers: list[Any] = []
        error = ask_each(self._solve, tuples_of(given, first), answers)
        if error is None:
            return answers, group, len(rows)
        tuples, raising = list(tuples_of(given, first)), len(answers)
        self._report(error, tuples[raising])
        return self._one_by_one([*answers, None], tuples, group, int(first[raising]))

    def _one_by_one(
        self, answers: list[Any], tuples: Sequence[tuple[Value, ...]], group: Integers, begin: int
    ) -> tuple[list[Any], Integers, int]:
        """Go on after the match at which the last of the answers was an error."""
        known: dict[int, Any] = dict(enumerate(answers[:-1]))
        answers = answers + [None] * (len(tuples) - len(answers) + 1)
        off = self.conditions.breaker.off
        for row in range(begin + 1, len(group)):
            if self.key in off:
                return answers, np.where(np.arange(len(group)) < row, group, len(tuples)), row
            number = int(group[row])
            if number not in known:
                found: list[Any] = []
                error = ask_each(self._solve, iter(tuples[number : number + 1]), found)
                if error is None:
                    known[number] = answers[number] = found[0]
                else:
                    self._report(error, tuples[number])
        return answers, group, len(group)

    def _report(self, error: EtalisError, values: tuple[Value, ...]) -> None:
        assert isinstance(self.test, p.GoalTest)
        self.conditions.note_error(error, self.test, values, self.key)
