"""Where goals compute, and where they only look as if they did.

`is` and the comparisons of numbers compute; `=` and `==` compare terms as they stand, so `Y = X + 1` makes Y a term of
three parts and `A + B == C` never holds. What cannot be computed (a word, an unknown function) raises each time.
"""

from __future__ import annotations

from collections.abc import Iterator

from etalis.errors import Problem
from etalis.language.check.goals import COMPARISONS, Call, Names
from etalis.language.check.outline import Outline
from etalis.language.check.spelling import suggest
from etalis.language.check.wording import kind, written
from etalis.language.syntax import Compound, Condition, Const, ListTerm, Term, Var
from etalis.language.traversal import arguments, names, variables
from etalis.logic.arithmetic.functions import BINARY, CONSTANTS, UNARY
from etalis.temporal.aggregate import FOLDS

# What compares terms, and what compares the numbers they come to.
_COMPUTING = {"=": "=:=", "==": "=:=", "\\=": "=\\=", "\\==": "=\\="}
_PAIRS = frozenset({"-", "/"})  # `Key-Value` and `Name/Arity` are data as well
_CONDITIONS = frozenset({"where", "check", "event_multiply"})
_INSTEAD = {
    "len": "length(X, N) is the length of a list, atom_length(X, N) that of a word",
    "size": "write length(X, N)",
    "datetime": "moments of the calendar are compared by less_datetime(A, B)",
    "datime": "moments of the calendar are compared by less_datime(A, B)",
}


def is_expression(term: Term, *, pairs: bool) -> bool:
    """Tell whether a term looks like something to compute; with `pairs` also a difference or quotient of variables.

    >>> from etalis.language.read.parser import parse_term
    >>> [is_expression(parse_term(text), pairs=False) for text in ("X + 1", "mod(X, 2)", "K-V", "X - 1", "f(X)")]
    [True, True, False, True, False]
    """
    if not isinstance(term, Compound):
        return False
    if len(term.args) == 2 and term.name in _PAIRS:
        if any(isinstance(arg, Const) and isinstance(arg.value, str) for arg in term.args):
            return False
        return pairs or any(_is_number(arg) or is_expression(arg, pairs=False) for arg in term.args)
    return term.name in (BINARY if len(term.args) == 2 else UNARY if len(term.args) == 1 else ())


def check_computation(outline: Outline) -> Iterator[Problem]:
    """Yield comparisons of terms that look computed, and computations that cannot be."""
    for call, bound in _calls(outline):
        if len(call.args) != 2:
            continue
        if call.name in _COMPUTING:
            yield from _uncomputed(call, bound)
        elif call.indicator in COMPARISONS:
            yield from _not_numbers(call, call.args, outline)
        elif call.name == "is":
            yield from _not_numbers(call, call.args[1:], outline)


def _calls(outline: Outline) -> Iterator[tuple[Call, Names]]:
    """Yield every call with the variables that may have a value in a condition; elsewhere that is not known."""
    for rule in outline.rules:
        for node in outline.walk(rule).of(Condition):
            bound = outline.bound[id(node.pattern)].perhaps
            yield from ((call, bound) for call in outline.calls_in(node.goal))
    yield from ((call, frozenset()) for call, role in outline.called if role not in _CONDITIONS)


def _uncomputed(call: Call, bound: Names) -> Iterator[Problem]:
    a, b = call.args
    sides = [side for side in call.args if _looks_computed(side, bound) or _is_comparison(side)]
    if not sides:
        yield from _exact_number(call)
        yield from _never_equal(call)
    elif not (isinstance(a, Compound) and isinstance(b, Compound) and (a.name, len(a.args)) == (b.name, len(b.args))):
        message = f"`{call.name}` computes nothing: {written(sides[0])} stays the term that it is"
        yield Problem("W218", message, call.span, _how_to_compute(call))


def _looks_computed(side: Term, bound: Names) -> bool:
    """Tell whether a side looks like an expression; a pair of variables only where both have values to compute with."""
    found = names(variables(side))
    return is_expression(side, pairs=bool(found) and found <= bound)


def _how_to_compute(call: Call) -> str:
    a, b = call.args
    if _is_comparison(a) or _is_comparison(b):
        return "write the comparison alone; its negation is written \\+ (X > 5)"
    if call.name == "=" and isinstance(a, Var):
        return f"write {a.name} is {written(b)}, or {a.name} =:= {written(b)} where {a.name} has a value"
    if call.name == "=" and isinstance(b, Var):
        return f"write {b.name} is {written(a)}, or {b.name} =:= {written(a)} where {b.name} has a value"
    return f"write {written(a)} {_COMPUTING[call.name]} {written(b)}"


def _never_equal(call: Call) -> Iterator[Problem]:
    """Yield `upper(X) = 'BOB'`: a term and a constant are not the same, whatever the term's name promises."""
    for term, constant in (call.args, call.args[::-1]):
        if isinstance(term, Compound) and term.name in (",", ";") and call.name in ("=", "=="):
            message = f"{written(term)} is one term here, not several values"
            one = written(constant)
            yield Problem("W218", message, call.span, f"write ({one} = a ; {one} = b), or member({one}, [a, b])")
        elif isinstance(term, Compound) and isinstance(constant, Const) and term.name.isidentifier():
            message = f"{written(term)} is a term, which is never the same as {written(constant)}"
            hint = f"call a predicate that gives the value: {term.name}(X, Y), Y = {written(constant)}"
            yield Problem("W218", message, call.span, hint)


def _exact_number(call: Call) -> Iterator[Problem]:
    """Yield `X == 5`, which 5.0 is not."""
    if call.name not in ("==", "\\=="):
        return
    for number, other in (call.args, call.args[::-1]):
        if _is_number(number) and isinstance(other, Var):
            a, b = map(written, call.args)
            message = f"`{call.name}` compares numbers with their type: 5 and 5.0 are not the same"
            yield Problem("W219", message, call.span, f"write {a} {_COMPUTING[call.name]} {b}")
            return


def _not_numbers(call: Call, several: tuple[Term, ...], outline: Outline) -> Iterator[Problem]:
    """Yield the words and unknown functions in what is computed."""
    waiting = list(reversed(several))
    while waiting:
        term = waiting.pop()
        match term:
            case Compound(name="-", args=(Compound(name="-", args=(Const(), Const())), Const())):
                hint = "moments are seconds since 1970; a date that came as a text is compared by @<: D @< '2024-12-31'"
                yield Problem("W220", f"{written(term)} is a difference of numbers, no date", term.span, hint)
            case Const(value=str() as word) if word not in CONSTANTS:
                message = f"{written(term)} is no number, so `{call.name}` can compute nothing with it"
                asked = (word, 1) in outline.predicates
                hint = f"ask for its value first: {word}(V), and use V" if asked else _instead_of_word(call, word)
                yield Problem("W220", message, term.span or call.span, hint)
            case Compound(name=name, args=args) if name not in (
                BINARY if len(args) == 2 else UNARY if len(args) == 1 else ()
            ):
                message = f"{written(term)} cannot be computed: there is no function {kind(name, len(args))}"
                yield Problem("W220", message, term.span or call.span, _instead_of_function(name))
            case ListTerm():
                pass
            case _:
                waiting.extend(reversed(arguments(term)))


def _instead_of_word(call: Call, word: str) -> str:
    a, b = call.args
    sign = {"=:=": "=", "=\\=": "\\=", "is": "="}.get(call.name, f"@{call.name}")
    compared = f"words are compared by {sign}: {written(a)} {sign} {written(b)}"
    if word[:1].isdigit() and word.replace(".", "", 1).isdigit():
        return f"a number has no quotes: {word}"
    if word[:4].isdigit() and word[4:5] == "-":
        return f"{compared}; a declared time is a number: write its seconds since 1970"
    if word in ("null", "true", "false") or not word.isidentifier():
        return compared
    return f"a variable begins with a capital letter: {word[:1].upper() + word[1:]}; {compared}"


def _instead_of_function(name: str) -> str:
    if name in FOLDS:
        return f"events are aggregated in the pattern: {aggregated(name)}"
    if name in BINARY or name in UNARY:
        return f"write {name}(X)" if name in UNARY else f"write {name}(X, Y)"
    otherwise = f"call a predicate first: {name}(X, Y), Y > 1"
    return _INSTEAD.get(name) or suggest(name, {*BINARY, *UNARY}, otherwise) or otherwise


def aggregated(name: str) -> str:
    """Return how events are aggregated by a function.

    >>> aggregated("count"), aggregated("sum")
    ('aggregate(count, Pattern, Result)', 'aggregate(sum(X), Pattern, Result)')
    """
    return f"aggregate({name}{'(X)' if FOLDS[name].has_value else ''}, Pattern, Result)"


def _is_number(term: Term) -> bool:
    return isinstance(term, Const) and not isinstance(term.value, str)


def _is_comparison(term: Term) -> bool:
    return isinstance(term, Compound) and (term.name, len(term.args)) in COMPARISONS
