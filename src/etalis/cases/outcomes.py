"""The outcome of a run of a case, and how it differs from the expected one, in lines that a person can act on.

Events are written as case files have them, so that a line can be copied into an expectation. A missing one comes with
the event most like it that was found, and what is different about that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from etalis.cases.atoms import read_value, write_event, write_time
from etalis.cases.case_file import Case
from etalis.data.values import Value, format_value
from etalis.errors import EtalisError
from etalis.language.check.spelling import nearest
from etalis.temporal.event import Event

SHOWN = 20  # missing events, and as many unexpected ones; how many more there are is told


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave: reported events in order, errors of conditions, a refusal, findings of `check`, output.

    Of reactions: the state at the end, what was done outside, which of them failed; None where a run does not tell.
    `notes` says, if it is asked, what may be the reason that something is missing.
    """

    events: tuple[Event, ...] = ()
    reported: tuple[str, ...] = ()
    refused: EtalisError | None = None
    warnings: tuple[str, ...] = ()
    output: str = ""
    state: tuple[Value, ...] | None = None
    effects: tuple[str, ...] | None = None
    failures: tuple[str, ...] | None = None
    notes: Callable[[], Iterable[str]] = tuple


def find_differences(case: Case, outcome: Outcome) -> list[str]:
    """Say in lines how an outcome differs from what its case expects; none if it does not."""
    if case.errors or outcome.refused is not None:
        return _refusal(case, outcome)
    lines = _missing("error of a condition", case.reported, outcome.reported)
    lines += [f"unexpected error of a condition: {text}" for text in outcome.reported if not case.reported]
    lines += _missing("warning", case.warnings, outcome.warnings)
    if case.output is not None and case.output != outcome.output:
        lines.append(f"written: {outcome.output!r} instead of {case.output!r}")
    lines += _differences_of_reactions(case, outcome)
    return lines + compare_events(case.expect or (), outcome.events, ordered=case.is_ordered)


def _differences_of_reactions(case: Case, outcome: Outcome) -> Iterator[str]:
    """Say what differs in the state at the end, in what was done outside, and in what failed."""
    if case.state is not None and outcome.state is not None and case.state != outcome.state:
        yield f"state     {_listed(map(format_value, outcome.state))}"
        yield f"  instead of {_listed(map(format_value, case.state))}"
    if case.effects is not None and outcome.effects is not None and _calls(case.effects) != _calls(outcome.effects):
        yield f"effects   {_listed(outcome.effects)}"
        yield f"  instead of {_listed(case.effects)}"
    found = outcome.failures
    if found is not None and not (len(found) == len(case.failures) and all(map(_is_failure, case.failures, found))):
        yield f"failures  {_listed(found)}"
        yield f"  instead of {_listed(case.failures)}"


def _listed(several: Iterable[str]) -> str:
    return "; ".join(several) or "none"


def _calls(lines: Iterable[str]) -> list[tuple[bool, Value]]:
    """Return effects as values, and whether each is a compensation, which is written behind a `-`."""
    return [(line.startswith("-"), read_value(line.removeprefix("-"))) for line in lines]


def _is_failure(wanted: str, found: str) -> bool:
    """Tell whether a failure is the one that a case expects: before a colon all of it, behind it a part.

    >>> _is_failure("pay 1..2 no execution: Old >= N", "pay 1..2 no execution: test Old >= N, Old = 10")
    True
    """
    what, _, part = wanted.partition(":")
    head, _, rest = found.partition(":")
    return what.strip() == head and part.strip() in rest


def compare_events(expected: Sequence[Event], found: Sequence[Event], *, ordered: bool = False) -> list[str]:
    """Say in lines which events are missing, which are too much, and which came in another order.

    >>> from etalis.cases.atoms import read_event
    >>> for line in compare_events([read_event("0..60 fraud(c1, 2)")], [read_event("0..70 fraud(c1, 3)")]):
    ...     print(line)
    missing     0..60 fraud(c1, 2)
      nearest   0..70 fraud(c1, 3): it ends at 70, attribute 2 is 3
    unexpected  0..70 fraud(c1, 3)
    """
    missing, surplus = _surplus(expected, found), _surplus(found, expected)
    lines = [line for event in missing[:SHOWN] for line in _describe_missing(event, surplus, found)]
    lines += _more(missing)
    lines += [f"unexpected  {write_event(event)}" for event in surplus[:SHOWN]]
    lines += _more(surplus)
    if not lines and ordered:
        return list(_other_order(expected, found))
    return lines


def _describe_missing(event: Event, surplus: Sequence[Event], found: Sequence[Event]) -> Iterator[str]:
    yield f"missing     {write_event(event)}"
    near = _nearest_event(event, surplus) or _nearest_event(event, found)
    if near is not None:
        yield f"  nearest   {write_event(near)}: {', '.join(_different_parts(event, near))}"


def _nearest_event(event: Event, found: Iterable[Event]) -> Event | None:
    """Return the event of the same name, or of one like it, that differs in the fewest parts."""
    several = list(found)
    name = event.name
    if all(other.name != name for other in several):
        name = nearest(name, {other.name for other in several}) or name
    alike = [other for other in several if other.name == name]
    return min(alike, key=lambda other: len(_different_parts(event, other)), default=None)


def _different_parts(event: Event, other: Event) -> list[str]:
    """Say what is different about another event."""
    parts = [] if other.name == event.name else [f"it is named {other.name}"]
    if other.start_time != event.start_time:
        parts.append(f"it starts at {write_time(other.start_time)}")
    if other.end_time != event.end_time:
        parts.append(f"it ends at {write_time(other.end_time)}")
    if len(other.args) != len(event.args):
        return [*parts, f"it has {len(other.args)} attributes, not {len(event.args)}"]
    pairs = zip(event.args, other.args, strict=True)
    parts += [f"attribute {i} is {format_value(b)}" for i, (a, b) in enumerate(pairs, 1) if a != b]
    return parts or ["it came more or less often"]


def _more(events: Sequence[Event]) -> list[str]:
    return [f"  and {len(events) - SHOWN:,} more"] if len(events) > SHOWN else []


def _other_order(expected: Sequence[Event], found: Sequence[Event]) -> Iterator[str]:
    for number, (wanted, came) in enumerate(zip(expected, found, strict=True), 1):
        if wanted != came:
            yield f"another order: number {number} is {write_event(came)} instead of {write_event(wanted)}"
            return


def _refusal(case: Case, outcome: Outcome) -> list[str]:
    if outcome.refused is None:
        return [f"not refused: {line}" for line in case.errors]
    if not case.errors:
        return [f"refused: {outcome.refused}"]
    problems = [problem for problem in outcome.refused.problems if problem.is_error]
    codes = Counter(problem.code for problem in problems), Counter(line.split()[0] for line in case.errors)
    lines = [] if codes[0] == codes[1] else [f"codes {_counted(codes[0])} instead of {_counted(codes[1])}"]
    return lines + _missing("error", case.errors, [str(problem) for problem in problems])


def _counted(codes: Counter[str]) -> str:
    return ", ".join(code if number == 1 else f"{number} times {code}" for code, number in sorted(codes.items()))


def _missing(kind: str, wanted: Iterable[str], found: Iterable[str]) -> list[str]:
    """Name each wanted line whose code and fragment no text has."""
    texts = list(found)
    return [f"no {kind} like {line!r} in {texts}" for line in wanted if not any(_is_like(line, text) for text in texts)]


def _is_like(line: str, text: str) -> bool:
    code, _, fragment = line.partition(" ")
    if code[:1] in "EW" and code[1:].isdigit():
        return code in text and fragment in text
    return line in text


def _surplus(events: Iterable[Event], others: Iterable[Event]) -> list[Event]:
    return list((Counter(events) - Counter(others)).elements())
