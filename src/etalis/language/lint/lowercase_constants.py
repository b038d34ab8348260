"""Constants where a variable is probably meant: names in small letters, and numbers in quotes.

What is meant as a constant stands in quotes and is never doubted; a number in quotes is a text and equals no number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from etalis.errors import Problem
from etalis.language.attributes import Signature
from etalis.language.check.goals import Indicator
from etalis.language.check.outline import Outline
from etalis.language.check.wording import source_text, written
from etalis.language.syntax import Condition, Const, EventPattern, Rule, Term
from etalis.language.traversal import rule_variables

_VALUES = frozenset({"true", "false", "null"})
_TYPES = frozenset({"int", "float", "string", "bool"})
_EQUATIONS = frozenset({"=", "==", "\\=", "\\=="})
Declared: TypeAlias = Mapping[Indicator, Signature]


def check_constants(outline: Outline) -> Iterator[Problem]:
    """Yield constants of rules that look like variables or numbers."""
    declared = {key: item.attributes for key, item in outline.declared.items()}
    has_texts = any(kind == "string" for attributes in declared.values() for _, kind in attributes)
    for rule in outline.rules:
        events, compared = outline.walk(rule).of(EventPattern), list(_compared(rule, outline))
        if any(map(_is_word, compared)) or any(_is_word(arg) for event in events for arg in event.args):
            yield from _like_variables(rule, events, compared, declared)
            yield from _like_numbers(events, [] if has_texts else compared, declared)


def _is_word(term: Term) -> bool:
    return isinstance(term, Const) and isinstance(term.value, str)


def _like_variables(
    rule: Rule, events: Sequence[EventPattern], compared: list[Term], declared: Declared
) -> Iterator[Problem]:
    candidates = [*_arguments(events, declared), *((term, frozenset[str]()) for term in compared)]
    found = [(term, name, attributes) for term, attributes in candidates if (name := plain_name(term))]
    if not found:
        return
    variables = {v.name.casefold(): v.name for v in rule_variables(rule) if not v.name.startswith("_")}
    times = Counter(name for event in events for name in {plain_name(arg) for arg in event.args} if name is not None)
    for term in rule.head.args:
        name = plain_name(term)
        if name is not None and times[name] >= (2 if variables else 1):
            yield _constant(term, name, name[:1].upper() + name[1:])
    for term, name, attributes in found:
        if len(name) > 1 and name.casefold() in variables:
            yield _constant(term, name, variables[name.casefold()])
        elif name in attributes:
            yield _constant(term, name, name[:1].upper() + name[1:])
        elif name in _TYPES:
            message = f"{name} is a constant here, which matches itself alone"
            yield Problem("W222", message, term.span, "write a variable; types are declared: :- event(a(x: int)).")


def _constant(term: Term, name: str, variable: str) -> Problem:
    message = f"{name} is a constant, not a variable: it matches this one value"
    hint = f"a variable begins with a capital letter: {variable}; if the constant is meant, write '{name}'"
    return Problem("W222", message, term.span, hint)


def _arguments(events: Sequence[EventPattern], declared: Declared) -> Iterator[tuple[Term, frozenset[str]]]:
    """Yield the attributes of events, each with the names that those of its event are declared by."""
    for event in events:
        names = frozenset(name for name, _ in declared.get((event.name, len(event.args)), ()))
        yield from ((arg, names) for arg in event.args)


def _compared(rule: Rule, outline: Outline) -> Iterator[Term]:
    """Yield both sides of the equations in conditions."""
    for node in outline.walk(rule).of(Condition):
        for call in outline.calls_in(node.goal):
            if call.name in _EQUATIONS and len(call.args) == 2:
                yield from call.args


def plain_name(term: Term) -> str | None:
    """Return a word that stands without quotes and is no value of its own; None for anything else."""
    if not isinstance(term, Const) or not isinstance(term.value, str) or term.span is None:
        return None
    is_plain = term.value.isidentifier() and source_text(term.span) == term.value
    return term.value if is_plain and term.value not in _VALUES else None


def _like_numbers(events: Sequence[EventPattern], compared: list[Term], declared: Declared) -> Iterator[Problem]:
    """Yield numbers in quotes, where no declaration says that texts are meant."""
    undeclared = [event for event in events if (event.name, len(event.args)) not in declared]
    for term in (*(arg for event in undeclared for arg in event.args), *compared):
        number = _number_in_quotes(term)
        if number is not None:
            message = f"{written(term)} is a text, which equals no number"
            yield Problem("W219", message, term.span, f"write {number}; if texts come, declare the attribute a string")


def _number_in_quotes(term: Term) -> str | None:
    if not isinstance(term, Const) or not isinstance(term.value, str) or term.span is None:
        return None
    text = term.value
    if source_text(term.span)[:1] not in ("'", '"') or not text[:1].isdigit():
        return None
    try:
        return text if str(int(text)) == text else None
    except ValueError:
        return _float_text(text)


def _float_text(text: str) -> str | None:
    try:
        return text if "." in text and repr(float(text)) == text else None
    except ValueError:
        return None
