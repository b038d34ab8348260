"""What is wrong with flags and properties: unknown names, values they do not take, some that do not go together."""

from __future__ import annotations

import math
from collections.abc import Iterator

from etalis.data.values import Value
from etalis.errors import Problem, Span
from etalis.language.check.spelling import suggest
from etalis.language.check.wording import listing, written
from etalis.language.flags.table import FLAGS, PROPERTIES, REFUSED, Flag
from etalis.language.read.units import seconds_of
from etalis.language.syntax import Const, Property, SetFlag, Term
from etalis.temporal.duration import DurationError
from etalis.temporal.policy import POLICIES


def flag_problems(flag: SetFlag) -> Iterator[Problem]:
    """Yield what is wrong with one `set_flag`."""
    row = FLAGS.get(flag.name)
    if row is not None:
        yield from _value_problems(row, flag)
    elif flag.name in REFUSED:
        yield Problem("E206", f"the flag {flag.name} means nothing here", flag.span, REFUSED[flag.name])
    else:
        longer = [name for name in FLAGS if flag.name in name.split("_")]
        hint = (
            f"did you mean {longer[0]}?"
            if len(longer) == 1
            else suggest(flag.name, FLAGS, f"flags: {listing(sorted(FLAGS))}")
        )
        yield Problem("E205", f"unknown flag {flag.name}", flag.span, hint)


def _value_problems(row: Flag, flag: SetFlag) -> Iterator[Problem]:
    place = flag.value.span or flag.span
    try:
        value, hint = given_value(flag), None
    except DurationError as error:
        value, hint = None, error.hint
    if not _takes(row, value):
        if row.name == "event_consumption_policy":
            yield _unknown_policy(flag.value, place)
        else:
            yield Problem("E208", f"the flag {row.name} takes {_range(row)}, not {written(flag.value)}", place, hint)


def _takes(row: Flag, value: Value) -> bool:
    if row.number is None:
        return isinstance(value, str) and value in row.words
    if row.number != "seconds":
        return isinstance(value, int) and (value > 0 or (row.number == "limit" and value == -1))
    return isinstance(value, int | float) and (0 < value < math.inf or value == -1)


def _range(row: Flag) -> str:
    match row.number:
        case None:
            return listing(row.words, "or")
        case "count":
            return "a positive integer"
        case "limit":
            return "a positive integer, or -1 for none"
        case _:
            return "a positive duration (90, 10 min), or -1 for none"


def garbage_problems(flags: list[SetFlag]) -> Iterator[Problem]:
    """Yield the finding that general garbage control has no window to work with."""
    last = {f.name: f for f in flags}
    control, window = last.get("garbage_control"), last.get("garbage_window")
    if control is None or constant(control.value) != "general":
        return
    if window is None or constant(window.value) == -1:
        hint = "add `:- set_flag(garbage_window, 10 min).`"
        yield Problem("E208", "garbage_control(general) needs a garbage_window", control.span, hint)


def limit_problems(flags: list[SetFlag]) -> Iterator[Problem]:
    """Yield the findings that there is nothing to shed for, or that what is shed would come back."""
    last = {f.name: f for f in flags}
    given = {name: constant(f.value) for name, f in last.items()}
    shedding = given.get("shedding", "off")
    if shedding == "off":
        return
    if given.get("hard_limit", -1) == -1:
        hint = "add `:- set_flag(hard_limit, Instances).`"
        yield Problem("E208", f"shedding({shedding}) needs a hard_limit", last["shedding"].span, hint)
    late = given.get("out_of_order") == "on" and given.get("reporting") == "on_arrival"
    if shedding == "oldest" and (late or given.get("revision_flag") == "on"):
        message = "shedding(oldest) cannot go with corrections: events run again would bring back what was shed"
        yield Problem("E208", message, last["shedding"].span, "use shedding(newest), or none")


def property_problems(given: Property, *, checked: bool, reacting: bool = False) -> Iterator[Problem]:
    """Yield what is wrong with one property of a rule; where properties are `checked` there may be any other.

    Those that are `reacting`, of a reaction, have a priority.
    """
    value = constant(given.value)
    place = given.value.span or given.span
    match PROPERTIES.get(given.name):
        case "priority" if not reacting:
            yield Problem("E209", "only reactions have a priority", given.span, "event rules have no order")
        case "priority":
            if not isinstance(value, int):
                yield Problem("E210", f"a priority is a whole number, not {written(given.value)}", place)
        case None if checked:
            pass
        case None:
            known = (
                "properties: policy, window (also event_rule_window), window_step; add check_property/5 for your own"
            )
            hint = suggest(given.name, PROPERTIES, known)
            yield Problem("E209", f"unknown property {given.name}", given.span, hint)
        case "policy":
            if value not in POLICIES:
                yield _unknown_policy(given.value, place)
        case _:
            yield from _window_problems(given, place)


def _window_problems(given: Property, place: Span | None) -> Iterator[Problem]:
    try:
        value, hint = seconds_of(given.value), None
    except DurationError as error:
        value, hint = None, error.hint
    if not isinstance(value, int | float):
        message = f"the property {given.name} takes a duration, not {written(given.value)}"
        yield Problem("E210", message, place, hint)
    elif value < 0:
        yield Problem("E212", f"a window cannot be negative: {written(given.value)}", place)


def _unknown_policy(value: Term, place: Span | None) -> Problem:
    """Return the finding that there is no such policy."""
    hint = suggest(written(value), POLICIES, f"policies: {listing(POLICIES)}")
    return Problem("E211", f"unknown policy {written(value)}", place, hint)


def constant(term: Term) -> Value:
    """Return the value of a constant, None of other terms."""
    return term.value if isinstance(term, Const) else None


def given_value(flag: SetFlag) -> Value:
    """Return the value of a flag; that of one that takes a duration is seconds, however it is written."""
    row = FLAGS.get(flag.name)
    return seconds_of(flag.value) if row is not None and row.number == "seconds" else constant(flag.value)
