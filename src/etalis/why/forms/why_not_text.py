"""Why an event did not occur, as lines for a terminal: of each rule the nearest attempt, one line per part.

A part is present, missing, or in the way; then stands what else is wrong. At most a screen, unless all is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from etalis.data.values import format_value
from etalis.language.printer import print_term, seconds
from etalis.why import justification as j
from etalis.why import why_not as w
from etalis.why.bound_terms import bind_term
from etalis.why.forms.repair_text import repair_line
from etalis.why.forms.text_form import tree_lines
from etalis.why.forms.wording import Wording, rule_text
from etalis.why.printable import form

SCREEN = 40
WIDTH = 22  # of the column of times and origins, at least
WIDEST = 120

ANY = w.TimeRange(None, None)
Row = tuple[str, str, str]


@form("WhyNot", "brief")
def write_brief(found: w.WhyNot) -> str:
    """Write the answer in a few words."""
    if found.occurred is not None:
        return f"{found.question} did occur"
    attempts = [attempt for rule in found.rules for attempt in rule.attempts]
    if not attempts:
        return f"{found.question} did not occur"
    nearest = min(attempts, key=lambda attempt: attempt.deficit)
    return f"{found.question} did not occur, nearest: {', '.join(map(_name, nearest.causes))}"


@form("WhyNot", "tree")
def write_answer(found: w.WhyNot, dates: bool = False, whole: bool = False) -> str:
    """Write the answer for a terminal."""
    writer = _Answer(Wording(dates), whole)
    lines, last = list(writer.lines(found)), list(writer.conclusion(found))
    if not whole and len(lines) + len(last) > SCREEN:
        left = max(1, SCREEN - 1 - len(last))
        lines = [*lines[:left], f"and {len(lines) - left:,} further lines (--all)"]
    return "\n".join([*lines, *last])


@dataclass(frozen=True, slots=True)
class _Answer:
    wording: Wording
    whole: bool

    def lines(self, found: w.WhyNot) -> Iterator[str]:
        """Yield the lines of an answer, those below a part before what follows it."""
        todo: list[tuple[int, w.WhyNot | str]] = [(0, found)]
        while todo:
            level, item = todo.pop()
            if isinstance(item, str):
                yield "    " * level + item
            else:
                todo.extend(reversed([(level + deeper, line) for deeper, line in self.answer(item, nested=level > 0)]))

    def answer(self, found: w.WhyNot, nested: bool) -> Iterator[tuple[int, w.WhyNot | str]]:
        """Yield the lines of one answer, and the answers that stand below some of them."""
        if found.occurred is not None:
            yield 0, f"{found.question} did occur."
            yield from ((0, line) for line in tree_lines(found.occurred.root, self.wording))
            yield from ((0, f"note: {note}") for note in found.occurred.notes)
        elif found.unknown is not None:
            yield 0, f"{found.question} did not occur: {found.unknown}"
        else:
            yield from self.failed(found, nested)
        if nested:
            yield from ((0, line) for line in self.conclusion(found))

    def conclusion(self, found: w.WhyNot) -> Iterator[str]:
        """Yield what is said of the whole answer, behind its rules."""
        yield from (self.affair(affair) for affair in found.affairs)
        if found.repair is not None:
            yield f"  {repair_line(found.repair, self.wording)}"
        if not found.complete:
            yield f"not all attempts were looked at: the budget of {found.steps:,} steps is reached"

    def failed(self, found: w.WhyNot, nested: bool) -> Iterator[tuple[int, w.WhyNot | str]]:
        """Yield how far each rule got."""
        rules = [f"Rule {rule.rule}: {rule_text(rule.rule, rule.text)}" for rule in found.rules]
        if nested:
            heads = rules
        elif len(rules) == 1:
            heads = [f"{found.question} did not occur.  {rules[0]}"]
        else:
            yield 0, f"{found.question} did not occur."
            heads = rules
        for head, rule in zip(heads, found.rules, strict=True):
            yield 0, head
            yield from self.rule(rule)

    def rule(self, rule: w.RuleAnswer) -> Iterator[tuple[int, w.WhyNot | str]]:
        """Yield the attempts of a rule that are shown."""
        shown = rule.attempts if self.whole else rule.attempts[:1]
        told = {cause.kind for attempt in shown for cause in attempt.causes if isinstance(cause, w.Affair)}
        yield from ((0, f"  {self.affair(affair)}") for affair in rule.affairs if affair.kind not in told)
        for place, attempt in enumerate(shown):
            if place:
                yield 0, f"  attempt {place + 1}:"
            yield from self.attempt(attempt)
        further = rule.more + sum(any(part.event for part in x.parts) for x in rule.attempts[len(shown) :])
        if further:
            noun = "attempt" if further == 1 else "attempts"
            yield 0, f"  and {further:,} further {noun}{'' if self.whole else ' (--all)'}"

    def attempt(self, attempt: w.Attempt) -> Iterator[tuple[int, w.WhyNot | str]]:
        """Yield a line for each part and for each cause, and why what is missing was not made."""
        parts = [self.part(part, attempt) for part in attempt.parts]
        causes = [row for cause in attempt.causes for row in self.cause(cause)]
        table = [*parts, *(row for row in causes if isinstance(row, tuple))]
        widths = [_width(row[0] for row in table), max(WIDTH, _width(row[1] for row in table))] if table else [0, 0]
        for row, part in zip(parts, attempt.parts, strict=True):
            yield 0, _columns(row, widths)
            if part.because is not None:
                yield 1, part.because
        for found in causes:
            yield 0, found if isinstance(found, str) else _columns(found, widths)

    def part(self, part: w.AttemptPart, attempt: w.Attempt) -> Row:
        """Return the line of a part: what it is, where it is or would have counted, and that it is there or not."""
        note = "" if part.note is None else f"; {part.note}"
        if part.event is not None:
            withheld = [c for c in attempt.causes if isinstance(c, w.Withheld) and c.part is part.event]
            said = self.withheld(withheld[0]) if withheld else "present"
            if part.count is not None:
                number = "1 element" if part.count == 1 else f"{part.count:,} elements"
                return f"{part.text} {self.wording.interval(part.event)}", number, f"{said}{note}"
            return self.wording.event(part.event), self.wording.origin(part.event), f"{said}{note}"
        count = f", {part.count:,} of it" if part.count else ""
        return part.text, self.place(part), f"missing: {self.missing(part)}{count}{note}"

    def place(self, part: w.AttemptPart) -> str:
        """Say when a missing part would have counted; its start and its end apart where they have other bounds."""
        start, end = part.start or ANY, part.end or ANY
        if start.after is not None and end.after is not None and end.after.time <= start.after.time:
            end = w.TimeRange(None, end.before)  # what starts later ends later
        if start.before is not None and end.before is not None and end.before.time <= start.before.time:
            start = w.TimeRange(start.after, None)
        first, last = self.bounds(start), self.bounds(end)
        if first == last or (end.after is None and end.before is None):
            return first
        if start.before is None and end.after is None:
            return self.bounds(w.TimeRange(start.after, end.before))
        if start.after is None and start.before is None:
            return f"ends {last}"
        return f"starts {first}, ends {last}"

    def bounds(self, found: w.TimeRange) -> str:
        low, high = found.after, found.before
        return self.wording.bounds(
            None if low is None else low.time, None if high is None else high.time,
            low is None or low.open, high is None or high.open,
        )  # fmt: skip

    def missing(self, part: w.AttemptPart) -> str:
        nearest = part.nearest
        if nearest is None:
            if part.count == 0:
                return "none has come"
            return f"no event {part.text} has {'come' if part.because is None and part.note is None else 'occurred'}"
        what = f"{nearest.variable} is {format_value(nearest.found)}, not {format_value(nearest.wanted)}"
        return f"nearest {self.wording.event(nearest.event)}, where {what}"

    def cause(self, cause: w.Cause) -> list[Row | str]:
        """Return the lines of a cause; a missing part has its own, and so has one that a policy withheld."""
        match cause:
            case w.MissingPart():
                return []
            case w.OutOfOrder(relation=relation, left=left, right=right, by=by):
                pair = f"{self.wording.event(left)} {relation} {self.wording.event(right)}"
                return [f"  order: {pair} does not hold, by {seconds(by)} s"]
            case w.TooLong(allowed=allowed, actual=actual):
                over = seconds(actual - allowed)
                return [f"  window: {seconds(actual)} s long, within {seconds(allowed)} s; {over} s too long"]
            case w.Refuted():
                return [f"  condition: {_refuted(cause)}"]
            case w.KnownLater(facts=facts):
                known = ", ".join(f"{print_term(fact)} only since {self.wording.moment(time)}" for fact, time in facts)
                return [f"  knowledge: it holds by what was known later: {known}"]
            case w.WrongValue(wanted=wanted, found=found):
                values = ", ".join(f"{format_value(value)} at {self.wording.moment(time)}" for value, time in found)
                return [f"  value: wanted {wanted}, found {values or 'none'}"]
            case w.BlockedBy(by=by):
                rows: list[Row | str] = []
                for event in by:
                    rows.append((self.wording.event(event), self.wording.origin(event), "blocks it"))
                    if self.whole and isinstance(event, j.Derived | j.Raised):
                        rows += [f"    {line}" for line in tree_lines(event, self.wording)]
                return rows
            case w.Withheld():
                return []
            case w.Affair():
                return [f"  {self.affair(cause)}"]
            case w.StillPending(until=until):
                return [f"  pending until {self.wording.moment(until)}"]
            case _:
                assert_never(cause)

    def withheld(self, cause: w.Withheld) -> str:
        by = ", ".join(map(self.wording.event, cause.by))
        words = {"consumed": "consumed by", "replaced": "replaced by", "merged": "merged in"}
        if cause.kind == "not_chosen":
            return f"not chosen: {by} {'goes' if len(cause.by) == 1 else 'go'} before it"
        return f"{words[cause.kind]} {by}"

    def affair(self, affair: w.Affair) -> str:
        event = "" if affair.event is None else f"{self.wording.event(affair.event)}: "
        return f"{affair.kind.replace('_', ' ')}: {event}{affair.text}"


def _refuted(cause: w.Refuted) -> str:
    goal, failing = (print_term(bind_term(term, cause.bindings)) for term in (cause.goal, cause.failing))
    whole = "" if goal == failing else f" (of {goal})"
    return f"{failing}{whole} has no proof" if cause.error is None else f"{failing}{whole} raised {cause.error}"


def _width(column: Iterable[str]) -> int:
    """Return the width of a column; what is wider than a line stands out."""
    return max((len(cell) for cell in column if len(cell) <= WIDEST), default=0)


def _columns(row: Row, widths: Sequence[int]) -> str:
    return f"  {row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}"


def _name(cause: w.Cause) -> str:
    match cause:
        case w.Withheld(kind=kind) | w.Affair(kind=kind):
            return kind.replace("_", " ")
        case w.MissingPart(part=part):
            return f"{part.text} missing"
        case _:
            names = {
                w.OutOfOrder: "order", w.TooLong: "window", w.Refuted: "condition", w.KnownLater: "knowledge",
                w.WrongValue: "value", w.BlockedBy: "blocked", w.StillPending: "pending",
            }  # fmt: skip
            return names[type(cause)]
