"""The question why an event did not occur, and its answer: for every rule that could have made it how far it got.

Missing parts that rules derive are asked after in turn; questions wait on a stack of their own, none recurses.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import inf
from typing import TYPE_CHECKING

from etalis.data.values import Value, format_atom
from etalis.errors import EventError, Problem
from etalis.language import syntax as s
from etalis.language.outer.strata import most_levels
from etalis.language.printer import print_pattern
from etalis.language.rules import known_events
from etalis.language.traversal import rewrite_term, variables
from etalis.semantics.matches import ground, match, match_all
from etalis.why import why_not as w
from etalis.why.affairs import affairs_of, affairs_of_rule, not_reported
from etalis.why.asking.options import refuse_below, refuse_times
from etalis.why.build import JustificationBuilder
from etalis.why.justification import Justification
from etalis.why.justify import justify_raw, occurrences, read_question
from etalis.why.rule_texts import RuleTexts, program_digest
from etalis.why.search.asked_head import AskedHead
from etalis.why.search.measure import AskedTimes, Measure, Tester
from etalis.why.search.missing import PartLimits
from etalis.why.search.ranking import StepBudget, rank
from etalis.why.search.report import AttemptReport
from etalis.why.search.shape import ShapeLeaf, shapes
from etalis.why.why_not import TimeRange

if TYPE_CHECKING:
    from etalis.runtime.core import Core
    from etalis.runtime.ruleset import RuleLife

Key = tuple[str, AskedTimes]


def why_not(
    core: Core,
    question: str,
    *,
    at: int | None = None,
    between: tuple[int, int] | None = None,
    interval: tuple[int, int] | None = None,
    limit: int = 3,
    depth: int = 5,
    budget: int = 100_000,
    until: float = inf,
) -> w.WhyNot:
    """Say why an event did not occur; `at` and `between` speak of its end, `interval` of both ends."""
    if core.record is None:
        hint = 'make the engine with justification="full", or write `:- set_flag(etalis_justification, on).`'
        raise EventError(Problem("E340", "nothing is kept for explanations of what did not occur", hint=hint))
    refuse_times(at=at, between=between, interval=interval)
    refuse_below(1, limit=limit, budget=budget)
    refuse_below(0, depth=depth)
    pattern = read_question(core, question)
    asked = _times(at, between, interval)
    happened = _happened(core, pattern, asked)
    if happened is not None:
        return happened
    search = _Search(core, pattern, limit, StepBudget(budget, until))
    if not search.makers((pattern.name, len(pattern.args))):
        return w.WhyNot(print_pattern(pattern), unknown=_unknown(core, pattern))
    found = search.answer(_Question(pattern, asked, depth))
    return replace(found, affairs=affairs_of(core, pattern, asked.end, search.tester.selection))


def _times(at: int | None, between: tuple[int, int] | None, interval: tuple[int, int] | None) -> AskedTimes:
    if interval is not None:
        return AskedTimes((interval[1], interval[1]), (interval[0], interval[0]))
    if at is not None:
        return AskedTimes((at, at))
    return AskedTimes() if between is None else AskedTimes(between, near=between)


def _happened(core: Core, pattern: s.EventPattern, asked: AskedTimes) -> w.WhyNot | None:
    """Return the answer if the event did occur: the latest."""
    assert core.record is not None
    text = print_pattern(pattern)
    found = [raw for raw in occurrences(core, pattern, None, None) if asked.holds(raw[1], raw[0])]
    if found:
        raw = max(found, key=lambda x: x[:2])
        told = None if raw[2].rule is None else not_reported(core, raw)
        return w.WhyNot(text, occurred=justify_raw(core, raw), affairs=() if told is None else (told,))
    latest = None
    for kept in core.record.source.items():
        if (kept.name, len(kept.args)) != (pattern.name, len(pattern.args)) or not asked.holds(kept.start, kept.end):
            continue
        if match_all(pattern.args, kept.args, {}) is not None:
            latest = kept if latest is None or kept.end >= latest.end else latest
    if latest is None:
        return None
    node = JustificationBuilder(core).event(latest.number)
    return w.WhyNot(text, occurred=Justification(node, program_digest(core), core.level))


def _unknown(core: Core, pattern: s.EventPattern) -> str:
    """Say that no rule makes an event, and which name was meant."""
    heads = {life.rule.head.name: len(life.rule.head.args) for life in core.rules.lives.values()}
    near = [pattern.name] if pattern.name in heads else get_close_matches(pattern.name, sorted(heads), n=1, cutoff=0.7)
    kind = f"{format_atom(pattern.name)}/{len(pattern.args)}"
    if (pattern.name, len(pattern.args)) in known_events(core.program.tree):
        return f"no rule makes {kind}: it is received, and none that is asked for has come"
    meant = f"; did you mean {format_atom(near[0])}/{heads[near[0]]}?" if near else ""
    return f"no rule makes {kind}{meant}"


@dataclass(frozen=True, slots=True)
class _Question:
    pattern: s.EventPattern
    asked: AskedTimes
    depth: int
    above: frozenset[Key] = frozenset()

    @property
    def key(self) -> Key:
        """The same for questions that differ in the names of variables alone."""
        names: dict[str, s.Term] = {}
        args = tuple(
            rewrite_term(
                term,
                lambda _old, new: (
                    names.setdefault(new.name, s.Var(f"V{len(names)}")) if isinstance(new, s.Var) else new
                ),
            )
            for term in self.pattern.args
        )
        return print_pattern(s.EventPattern(self.pattern.name, args)), self.asked


Asking = Generator["_Question", w.WhyNot, w.WhyNot]


class _Search:
    """All questions that one question leads to."""

    def __init__(self, core: Core, question: s.EventPattern, limit: int, budget: StepBudget) -> None:
        self._core = core
        self._limit = limit
        self._budget = budget
        self.tester = Tester(core, question)
        self._texts = RuleTexts(core)
        self._answers: dict[Key, w.WhyNot] = {}
        self._makers: dict[tuple[str, int], list[tuple[str, RuleLife]]] = {}
        for _, life in sorted(core.rules.lives.items()):
            self._makers.setdefault((life.rule.head.name, len(life.rule.head.args)), []).append((life.label, life))

    def makers(self, kind: tuple[str, int]) -> list[tuple[str, RuleLife]]:
        """Return the rules that make events of a kind, those that are gone included."""
        return self._makers.get(kind, [])

    def answer(self, question: _Question) -> w.WhyNot:
        """Answer a question, those that it waits for first."""
        stack = [(question, self._ask(question))]
        told: w.WhyNot | None = None
        while stack:
            asked, asking = stack[-1]
            try:
                below = next(asking) if told is None else asking.send(told)
            except StopIteration as done:
                told = done.value
                self._answers[asked.key] = told
                stack.pop()
                continue
            told = self._answers.get(below.key)
            if told is None:
                stack.append((below, self._ask(below)))
        assert told is not None
        return told

    def _ask(self, question: _Question) -> Asking:
        """Answer one question; yield those whose answers it needs."""
        rules = []
        for label, life in self.makers((question.pattern.name, len(question.pattern.args))):
            head, asked = life.rule.head.args, question.pattern.args
            bound, terms = heads_bind(head, asked), AskedHead.of(head, asked)
            if bound is not None and (terms is None or terms.can_be(bound)):
                rules.append((yield from self._rule(question, label, life, bound, terms)))
        done = self._budget.is_left
        return w.WhyNot(
            print_pattern(question.pattern), tuple(rules), complete=done,
            steps=self._budget.steps if done else self._budget.most,
        )  # fmt: skip

    def _rule(
        self, question: _Question, label: str, life: RuleLife, bound: dict[str, Value], head: AskedHead | None
    ) -> Generator[_Question, w.WhyNot, w.RuleAnswer]:
        there = (life.since, life.until)
        settings = self._core.rules.settings
        affairs = affairs_of_rule(self._core, life, question.asked.end)
        if most_levels([life.rule]):
            text = f"rule {label} has a part that may be missing: how far it got is not told"
            return w.RuleAnswer(label, self._texts.text(life.rule), (), 0, (w.Affair("not_told", text), *affairs))
        measures = (Measure(self.tester, x, question.asked, there, head) for x in shapes(life.rule, label, settings))
        ranked = rank(measures, bound, self._limit, self._budget)
        attempts = []
        for measure, choice in ranked.attempts:
            report = AttemptReport(measure, choice, frozenset(bound))
            parts = []
            for leaf in measure.shape.leaves:
                because, note = yield from self._because(question, report, leaf)
                parts.append(report.part(leaf, because, note))
            attempts.append(report.attempt(tuple(parts)))
        return w.RuleAnswer(label, self._texts.text(life.rule), tuple(attempts), ranked.more, affairs)

    def _because(
        self, question: _Question, report: AttemptReport, leaf: ShapeLeaf
    ) -> Generator[_Question, w.WhyNot, tuple[w.WhyNot | None, str | None]]:
        """Ask why a missing leaf that rules derive did not occur."""
        if leaf.event is None or report.is_present(leaf):
            return None, None
        pattern = report.pattern(leaf)
        if not self.makers((pattern.name, len(pattern.args))):
            return None, None
        asked = _asked(report.limits(leaf), question.asked)
        below = _Question(pattern, asked, question.depth - 1, question.above | {question.key})
        if below.key in below.above:
            return None, "needs itself"
        if below.depth <= 0:
            return None, "not asked further"
        if report.occurs(leaf):
            return None, None
        return (yield below), None


def _asked(limits: PartLimits, above: AskedTimes) -> AskedTimes:
    return AskedTimes(_closed(limits.end), _closed(limits.start), above.near)


def _closed(found: TimeRange) -> tuple[int | None, int | None]:
    low, high = found.after, found.before
    return None if low is None else low.time + low.open, None if high is None else high.time - high.open


def heads_bind(head: tuple[s.Term, ...], asked: tuple[s.Term, ...]) -> dict[str, Value] | None:
    """Return what a question gives to the variables of a head; None if the head makes no such event.

    >>> heads_bind((s.Var("X"), s.Const(1)), (s.Const(2), s.Var("Y")))
    {'X': 2}
    """
    bound: dict[str, Value] | None = {}
    waiting = list(zip(head, asked, strict=True))
    while waiting and bound is not None:
        term, wanted = waiting.pop()
        if isinstance(wanted, s.Const):
            bound = match(term, wanted.value, bound)
        elif isinstance(wanted, s.Compound) and isinstance(term, s.Compound):
            if (term.name, len(term.args)) != (wanted.name, len(wanted.args)):
                return None
            waiting += zip(term.args, wanted.args, strict=True)
        elif isinstance(wanted, s.Compound | s.ListTerm) and not list(variables(wanted)):
            bound = match(term, ground(wanted, {}), bound)
    return bound
