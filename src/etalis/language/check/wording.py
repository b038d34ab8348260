"""How messages name parts of a program: as the user wrote them."""

from __future__ import annotations

from collections.abc import Iterable

from etalis.data.values import format_atom, format_value
from etalis.errors import Span
from etalis.language.reactive.constraints import tells_violation
from etalis.language.syntax import Compound, Const, EventPattern, ListTerm, Pattern, Rule, Term, Var
from etalis.temporal.interval import to_seconds

LONGEST = 50


def written(node: Term, *, longest: int = LONGEST) -> str:
    """Return a term as it stands in its source, on one line and not too long; built terms are written out."""
    text = plain(node) if node.span is None else source_text(node.span)
    return text if len(text) <= longest else text[: longest - 3] + "..."


def source_text(span: Span) -> str:
    """Return the text of a span on one line."""
    return " ".join(span.source.text[span.start : span.end].split())


def pattern_text(pattern: Pattern, *, longest: int = LONGEST) -> str:
    """Return a pattern as it stands in its source, in quotes and not too long."""
    if pattern.span is None:
        return kind(pattern.name, len(pattern.args)) if isinstance(pattern, EventPattern) else "the pattern"
    text = source_text(pattern.span)
    return f"`{text if len(text) <= longest else text[: longest - 3] + '...'}`"


def seconds(time: float) -> str:
    """Return a duration of microseconds in words.

    >>> seconds(1_000_000), seconds(2_500_000)
    ('1 second', '2.5 seconds')
    """
    number = to_seconds(int(time))
    return "1 second" if number == 1 else f"{number} seconds"


def plain(term: Term) -> str:
    """Return a term in plain functional notation."""
    match term:
        case Var(name=name):
            return "_" if name.startswith("_#") else name
        case Const(value=value):
            return format_value(value)
        case Compound(name=name, args=args):
            return f"{format_atom(name)}({', '.join(map(plain, args))})"
        case ListTerm(items=items, tail=tail):
            end = "" if tail is None else f" | {plain(tail)}"
            return f"[{', '.join(map(plain, items))}{end}]"


def kind(name: str, arity: int) -> str:
    """Return `name/arity`.

    >>> kind("a", 2)
    'a/2'
    """
    return f"{format_atom(name)}/{arity}"


def rule_name(rule: Rule) -> str:
    """Return what a message calls a rule: what it derives, or the reaction or the constraint that it belongs to.

    >>> rule_name(Rule(EventPattern("a", ()), EventPattern("b", ())))
    'a/0'
    """
    if tells_violation(rule):
        return f"the constraint {rule.label}"
    if not rule.hidden:
        return kind(rule.head.name, len(rule.head.args))
    label = rule.label or ""
    return label if label.partition(" ")[0] in ("reaction", "await") else f"the reaction {label}"


def listing(words: Iterable[str], joint: str = "and") -> str:
    """Join words the way a sentence does.

    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    several = list(words)
    if len(several) < 2:
        return "".join(several)
    return f"{', '.join(several[:-1])} {joint} {several[-1]}"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "attribute"), counted(2, "attribute")
    ('1 attribute', '2 attributes')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
