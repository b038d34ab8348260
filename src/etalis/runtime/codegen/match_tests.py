"""The tests of a node as expressions over a match: windows, conditions, absences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from etalis.language.syntax import Term
from etalis.plan import algebra as p
from etalis.plan.rewrite.unread import told
from etalis.runtime.codegen.absences import Absences
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.passing import Passing
from etalis.runtime.codegen.rule_code import Names, RuleCode
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.temporal.rope import Rope


def _without_unread(
    entry: Wired, test: p.GoalTest, later: Sequence[p.Test], overrides: Callable[[str, int], bool]
) -> p.GoalTest:
    """Return a condition that need not tell what nobody reads."""
    read = set(entry.node.exports)
    for each in later:
        match each:
            case p.Absent() | p.Alone():
                return test
            case p.GoalTest() | p.Prefilter() | p.Action():
                read.update(each.inputs)
    return replace(test, outputs=told(test, read, overrides))


class MatchTests:
    """Writes the tests of the nodes of a rule set."""

    def __init__(self, base: RuleCode, absences: Absences) -> None:
        self.base = base
        self.absences = absences

    def write(
        self,
        code: Code,
        entry: Wired,
        names: Names,
        firm: frozenset[str],
        t1: str,
        t2: str,
        low: str,
        high: str,
        window: str | None,
        proven: tuple[Term, str] | None = None,
    ) -> Passing:
        """Write a node's tests as expressions over a match; what conditions bind is added to `names`.

        `low` and `high` bound the gap of a sequence; `window` replaces the plain test of length where the caller has a
        better one; `proven` is a goal that holds where an expression is true.
        """
        return self.write_some(code, entry, p.tests(entry.node), names, firm, t1, t2, low, high, window, proven)

    def write_some(
        self, code: Code, entry: Wired, tests: Sequence[p.Test], names: Names, firm: frozenset[str], t1: str, t2: str,
        low: str, high: str, window: str | None, proven: tuple[Term, str] | None = None,
    ) -> Passing:  # fmt: skip
        """Write some of a node's tests, in order; those after an `event_multiply` judge each of its solutions."""
        passing = Passing([], [], [])
        absent = [t for t in p.tests(entry.node) if isinstance(t, p.Absent)]
        for number, test in enumerate(tests, 1):
            match test:
                case p.Window(duration=duration):
                    if window is not None or t1 != t2:  # an instant fits into every window
                        passing.expressions.append(window or f"{t2} - {t1} <= {code.constant(duration)}")
                case p.GoalTest():
                    rule, types = self.base.rule_of(entry), self.base.types(entry)
                    if code.loop is not None:
                        code.loop.asks = True
                    if self.base.heads.raises and "$parts" in names:
                        passing.expressions.append(f"{code.constant(self._note_cause)}({names['$parts']})")
                    overrides = self.base.conditions.solver.database.overrides
                    read = _without_unread(entry, test, tests[number:], overrides)
                    self.base.conditions.write(code, read, names, firm, t1, t2, passing, rule, types)
                    if proven is not None and test.goal == proven[0]:
                        passing.expressions.append(f"({proven[1]} or {passing.expressions.pop()})")
                    if passing.loops and tests[number:]:
                        row = code.fresh("o")
                        inside = {**names, **{v: f"{row}[{i}]" for i, v in enumerate(passing.loops[0][1])}}
                        rest = self.write_some(code, entry, tests[number:], inside, firm, t1, t2, low, high, window)
                        self._restrict_solutions(code, passing, row, rest, names, inside)
                        break
                case p.Prefilter():
                    self.base.conditions.write_prefilter(code, test, names, passing, self.base.types(entry))
                case p.Absent():
                    place = next(i for i, t in enumerate(absent) if t is test)
                    passing.expressions.append(
                        self.absences.unblocked(code, entry, place, test, names, t1, t2, low, high)
                    )
                case p.Alone(kind=kind):
                    bounds = (low, high) if kind == "gap" else (t1, t2)
                    passing.expressions.append(self.absences.undisturbed(code, names["$ids"], *bounds))
                case p.Action():
                    passing.actions.append(test)
        return passing

    def _note_cause(self, rope: Rope) -> bool:
        """Note whose condition is asked, which may raise an event."""
        self.base.state.cause = rope
        return True

    def _restrict_solutions(
        self, code: Code, passing: Passing, row: str, rest: Passing, names: Names, inside: Names
    ) -> None:
        """Replace the solutions of a multiplying condition by those that pass the tests written after it."""
        solutions, _ = passing.loops.pop()
        tested = f" if {' and '.join(rest.expressions)}" if rest.expressions else ""
        clauses = f"for {row} in {solutions}{tested}"
        for more, outputs in rest.loops:
            deeper = code.fresh("o")
            clauses += f" for {deeper} in {more}"
            inside.update({v: f"{deeper}[{i}]" for i, v in enumerate(outputs)})
        bound = tuple(v for v in inside if inside[v] != names.get(v))
        found = code.fresh("h")
        passing.expressions.append(f"({found} := [{tuple_of([inside[v] for v in bound])} {clauses}])")
        passing.loops.append((found, bound))
        passing.actions.extend(rest.actions)
