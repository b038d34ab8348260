"""Arguments of events that look like a condition, an assignment or a computation, and are terms that match themselves.

`failed(user = U)` matches an event whose attribute is a term with the sign `=`, which no source sends. A term that is
meant stands in brackets of its own: `failed((user = U))`.
"""

from __future__ import annotations

from collections.abc import Iterator

from etalis.errors import Problem
from etalis.language.attributes import TYPES
from etalis.language.check.goals import COMPARISONS
from etalis.language.check.outline import Outline
from etalis.language.check.wording import source_text, written
from etalis.language.lint.computation import aggregated, is_expression
from etalis.language.syntax import Compound, Const, EventPattern, Term, Var
from etalis.temporal.aggregate import FOLDS

_ASSIGNMENTS = frozenset({"=", ":=", "==", "is", "=:="})
_COMPARISONS = frozenset(name for name, _ in COMPARISONS) | {"\\=", "\\==", "==", "="}
_ANYTHING = frozenset({"*", "?", "..", "..."})


def check_arguments(outline: Outline) -> Iterator[Problem]:
    """Yield the arguments of heads and patterns that look like goals."""
    for rule in outline.rules:
        for arg in rule.head.args:
            if not isinstance(arg, Var):
                yield from _in_head(arg)
        for event in outline.walk(rule).of(EventPattern):
            for arg in event.args:
                if not isinstance(arg, Var):
                    yield from _in_pattern(event, arg)


def _in_pattern(event: EventPattern, arg: Term) -> Iterator[Problem]:
    yield from _called(arg)
    match arg:
        case Const(value=str() as sign, span=span) if (
            sign in _ANYTHING and span is not None and source_text(span) == sign
        ):
            yield Problem(
                "W217", f"{sign} is a constant here, which matches itself alone", span, "write _ for any value"
            )
        case Compound(name="{}", span=span):
            hint = f"attributes are given by name without braces: {event.name}(x: X)"
            yield Problem("W217", f"{written(arg)} in {event.name} is a term, which matches itself alone", span, hint)
        case Compound(name=":", args=(Var(name=variable), Const(value=str() as type_name)), span=span) if (
            type_name in TYPES
        ):
            hint = f"write {variable} alone; types are declared: :- event({event.name}(x: int))."
            yield Problem("W217", f"{written(arg)} in {event.name} is a term, which matches itself alone", span, hint)
        case Compound(name=name, args=(left, right)) if not _is_bracketed(arg):
            shown = f"{written(arg)} in {event.name} is a term, which matches itself alone"
            if name in _ASSIGNMENTS and isinstance(left, Const) and isinstance(left.value, str):
                hint = f"an attribute is given by name as {written(left)}: {written(right)}"
                yield Problem("W217", shown, arg.span, hint)
            elif name in _COMPARISONS:
                yield Problem("W217", shown, arg.span, _as_condition(name, left, right))
            elif is_expression(arg, pairs=False):
                hint = f"write a variable, and compute behind the pattern: where X =:= {written(arg)}"
                yield Problem("W217", shown, arg.span, hint)
        case _:
            return


def _as_condition(name: str, left: Term, right: Term) -> str:
    if isinstance(left, Var):
        return f"write {left.name} here and, behind the pattern, where {left.name} {name} {written(right)}"
    if isinstance(left, Const) and isinstance(left.value, str):
        variable = left.value[:1].upper() + left.value[1:]
        return f"write {left.value}: {variable} here and, behind the pattern, where {variable} {name} {written(right)}"
    return "write a variable here, and the condition behind `where`"


def _called(arg: Term) -> Iterator[Problem]:
    """Yield `now()`, which calls nothing."""
    if isinstance(arg, Const) and arg.span is not None and source_text(arg.span).endswith("()"):
        hint = f"give a variable its value behind the pattern: where {arg.value}(Result)"
        yield Problem("W217", f"{written(arg)} calls nothing: it is the constant {arg.value}", arg.span, hint)


def _in_head(arg: Term) -> Iterator[Problem]:
    yield from _called(arg)
    if not isinstance(arg, Compound) or _is_bracketed(arg):
        return
    if len(arg.args) == 1 and arg.name in FOLDS:
        hint = f"aggregate in the pattern: {aggregated(arg.name)}, and write Result in the head"
        yield Problem("W217", f"{written(arg)} is not computed in a head: it is a term", arg.span, hint)
    elif arg.name == ":" and isinstance(arg.args[0], Var) and written(arg.args[-1]) in TYPES:
        hint = f"write {arg.args[0].name} alone; types are declared: :- event(name(x: int))."
        yield Problem("W217", f"{written(arg)} in a head is a term", arg.span, hint)
    elif is_expression(arg, pairs=False) or (len(arg.args) == 2 and arg.name in _COMPARISONS | _ASSIGNMENTS):
        hint = f"compute it behind the pattern, where Result is {written(arg)}, and write Result in the head"
        yield Problem("W217", f"{written(arg)} is not computed in a head: it is a term", arg.span, hint)


def _is_bracketed(term: Compound) -> bool:
    """Tell whether a term stands in brackets of its own."""
    if term.span is None:
        return True
    text = term.span.source.text
    before = text[max(0, term.span.start - 20) : term.span.start].rstrip()
    return (
        before.endswith("(")
        and before[:-1].rstrip()[-1:] in ("(", ",", ":")
        and text[term.span.end :].lstrip()[:1] == ")"
    )
