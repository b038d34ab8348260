"""Expressions of SPARQL 1.1 -> terms named as SPARQL writes them (`epsparql.syntax`), by precedence."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from etalis.epsparql.read.durations import check_length
from etalis.epsparql.read.functions import AGGREGATES, FUNCTIONS, SAME, FunctionForm, arity_problem
from etalis.epsparql.read.literals import is_signed_number, read_signed_number, read_string
from etalis.epsparql.read.query_text import QueryText, describe
from etalis.epsparql.read.terms import (
    begins_call,
    begins_constant,
    begins_iri,
    missing,
    read_constant,
    read_iri,
    read_var,
)
from etalis.epsparql.read.tokens import QueryToken
from etalis.epsparql.read.words import REFUSED_FUNCTIONS
from etalis.epsparql.windows import TIMES
from etalis.language.check.spelling import nearest, suggest
from etalis.language.read.reader import MAX_DEPTH as MAX_TERM_DEPTH
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.rdf.exact_terms import make_literal

COMPARISONS = frozenset(("=", "!=", "<", ">", "<=", ">="))
COMPARED = 3
LEVELS: Mapping[str, int] = MappingProxyType(
    {"||": 1, "&&": 2, **dict.fromkeys(COMPARISONS, COMPARED), "+": 4, "-": 4, "*": 5, "/": 5}
)
PROLOG = MappingProxyType({"==": "=", "=:=": "=", "=\\=": "!=", "\\=": "!=", "=<": "<="})
_SINGLE = MappingProxyType({"&": "&&", "|": "||"})
_NO_FUNCTION = "the functions are those of SPARQL 1.1, and getDURATION(), getSTARTTIME(), getENDTIME()"
_SEPARATOR = 'write GROUP_CONCAT(?x; SEPARATOR=", ")'
_NEGATED = "write !goal(?x), or ! before a condition in brackets"
_EXISTS = "write it as a filter of its own: FILTER NOT EXISTS { ... }"


def read_expression(r: QueryText, floor: int = 1) -> Term:
    """Read an expression whose operators bind at least as strongly as a level says.

    Its depth is bounded, also where operators make it deep from the left.
    """
    expression = _read_operators(r, floor)
    waiting: list[tuple[Term, int]] = [(expression, 0)]
    while waiting:
        term, depth = waiting.pop()
        if depth > MAX_TERM_DEPTH:
            assert expression.span is not None
            message, hint = f"nesting deeper than {MAX_TERM_DEPTH} levels", "give parts names: BIND (expression AS ?x)"
            raise r.refusal("E112", message, expression.span, hint)
        if isinstance(term, Compound):
            waiting.extend((argument, depth + 1) for argument in term.args)
    return expression


def _read_operators(r: QueryText, floor: int) -> Term:
    first = r.at
    r.deepen()
    left = _read_unary(r)
    while True:
        sign = _operator(r)
        level = LEVELS.get(sign, COMPARED if sign else 0)
        if level < max(floor, 1):
            break
        token = r.take()
        if sign in LEVELS:
            left = Compound(sign, (left, _read_operators(r, level + 1)), r.span_from(first))
            _check_compared(r, left)
        else:
            left = _read_membership(r, left, sign, first)
        if level == COMPARED and LEVELS.get(_operator(r), COMPARED if _operator(r) else 0) == COMPARED:
            hint = f"compare two at a time: ?a {token.text} ?b && ?b {token.text} ?c"
            raise r.refusal("E108", "comparisons cannot follow each other", r.token, hint)
    r.depth -= 1
    return left


def _check_compared(r: QueryText, comparison: Compound) -> None:
    """Refuse a text beside getDURATION() that is a duration of months or years."""
    for one, other in (comparison.args, comparison.args[::-1]):
        if isinstance(one, Compound) and one.name == "getduration" and isinstance(other, Const):
            check_length(r, other, plain=True)


def _operator(r: QueryText) -> str:
    """Return the operator that stands here, IN and NOT among them, or nothing."""
    token = r.token
    if token.kind == "sign":
        if token.text in PROLOG and r.dialect is not None:
            return PROLOG[token.text]
        meant = PROLOG.get(token.text) or _SINGLE.get(token.text)
        if meant is not None:
            raise r.refusal("E108", f"{describe(token)} is no operator of expressions", token, f"write {meant}")
        return token.text if token.text in LEVELS else ""
    word = r.word
    if word == "IN" or (word == "NOT" and r.following.text.upper() == "IN"):
        return word
    return ""


def _read_membership(r: QueryText, left: Term, word: str, first: int) -> Term:
    """Read what stands behind IN, or the IN behind a NOT."""
    if word == "NOT":
        r.take()
    found = Compound("in", (left, *_arguments(r, "the list of IN")), r.span_from(first))
    return Compound("!", (found,), r.span_from(first)) if word == "NOT" else found


def _arguments(r: QueryText, where: str) -> list[Term]:
    """Read expressions in round brackets, with commas."""
    opening = r.at
    r.expect("(", where, "write it in round brackets: (?x, 1)")
    found: list[Term] = []
    while not r.sees(")"):
        if found:
            r.expect(",", where, r.meant("put a comma between, or close the bracket before"))
        found.append(_read_operators(r, 1))
    r.close(")", opening)
    return found


def _read_unary(r: QueryText) -> Term:
    first = r.at
    if is_signed_number(r):
        return read_signed_number(r)
    for sign, name in (("!", "!"), ("-", "neg"), ("+", "pos"), ("\\+", "!")):
        if (sign != "\\+" or r.dialect is not None) and r.accept(sign):
            r.deepen()
            inner = _read_unary(r)
            r.depth -= 1
            return Compound(name, (inner,), r.span_from(first))
    return _read_primary(r)


def _read_primary(r: QueryText) -> Term:
    token = r.token
    if r.sees("("):
        opening = r.at
        r.take()
        inner = _read_operators(r, 1)
        r.close(")", opening)
        return inner
    if token.kind == "var":
        return read_var(r, "an expression")
    if begins_iri(r):
        name = read_iri(r)
        return _read_call(r, str(name.value), token) if r.sees("(") else name
    if begins_call(r):
        r.take()
        return _read_call(r, SAME.get(token.text.lower(), token.text.lower()), token)
    if r.word in ("EXISTS", "NOT"):
        hint = _NEGATED if r.dialect is not None and r.word == "NOT" else _EXISTS
        raise r.refusal("E130", f"{r.word} inside an expression is not supported", token, hint)
    if token.kind == "word" and token.text.lower() in TIMES:
        r.take()
        spelling = FUNCTIONS[token.text.lower()].spelling
        r.report("E108", f"{describe(token)} is called with brackets", token, f"write {spelling}()")
        return Compound(token.text.lower(), (), r.span_of(token))
    if begins_constant(r):
        constant = read_constant(r)
        check_length(r, constant)
        return constant
    if token.kind == "blank":
        raise r.refusal("E135", "a blank node cannot stand in an expression", token, "use a variable")
    raise missing(r, "an expression")


def _read_call(r: QueryText, name: str, token: QueryToken) -> Term:
    """Read the arguments of a function, behind its name."""
    first = r.at - 1
    if name in AGGREGATES:
        return _read_aggregate(r, name, token)
    if name in ("exists", "not"):
        raise r.refusal("E130", f"{name.upper()} inside an expression is not supported", token, _EXISTS)
    arguments = tuple(_arguments(r, f"the arguments of {describe(token)}"))
    if name in REFUSED_FUNCTIONS:
        message = f"{token.text.upper()} is not supported: it differs from call to call"
        r.report("E130", message, token, REFUSED_FUNCTIONS[name])
    elif name not in FUNCTIONS:
        goals = "a goal stands by itself: goals are joined by &&, `!` negates one"
        hint = _similar(name, _NO_FUNCTION if r.dialect is None else goals)
        r.report("E132", f"there is no function {describe(token)}", token, hint)
    elif (wrong := arity_problem(FUNCTIONS[name], len(arguments))) is not None:
        r.report("E132", wrong, r.span_from(first), _form_of(FUNCTIONS[name], len(arguments)))
    elif name == "bound" and not isinstance(arguments[0], Var):
        r.report("E132", "BOUND takes a variable", arguments[0].span or r.span_from(first), "write BOUND(?x)")
    return Compound(name, arguments, r.span_from(first))


def _form_of(form: FunctionForm, given: int) -> str:
    """Say how a function is called."""
    most = form.least if form.most is None else form.most
    names = ", ".join(f"?{letter}" for letter in "xyzuvw"[: max(form.least, min(given, most))])
    return f"write {form.spelling}({names})"


def _similar(name: str, otherwise: str) -> str:
    if name.startswith("<"):
        casts = [row.spelling for key, row in FUNCTIONS.items() if key.startswith("<")]
        hint = "the functions with an IRI are the casts: xsd:double(?x)"
        return suggest(name.replace(f"<{XSD}", "xsd:").rstrip(">"), casts, hint)
    spellings = {key: row.spelling for key, row in FUNCTIONS.items()} | dict(AGGREGATES)
    near = nearest(name, spellings)
    return otherwise if near is None else f"did you mean {spellings[near]}?"


def _read_aggregate(r: QueryText, name: str, token: QueryToken) -> Term:
    """Read COUNT(*), SUM(DISTINCT ?x), GROUP_CONCAT(?x; SEPARATOR=", ")."""
    first, opening, allowed = r.at - 1, r.at, r.aggregates
    r.take()
    r.aggregates = False
    distinct = bool(r.accept_word("DISTINCT"))
    values: tuple[Term, ...] = ()
    if name != "count" or not r.accept("*"):
        values = (_read_operators(r, 1),)
    if r.sees(","):
        hint = "of two values: IF(?x > ?y, ?x, ?y)" if name in ("min", "max") else f"write {token.text.upper()}(?x)"
        raise r.refusal("E132", f"{token.text.upper()} is an aggregate of one expression", r.token, hint)
    if distinct:
        values = (Compound("distinct", values, r.span_from(opening + 1)),)
    if name == "group_concat" and r.accept(";"):
        values = (*values, _read_separator(r))
    r.close(")", opening)
    r.aggregates = allowed
    if not allowed:
        hint = "aggregates stand in SELECT, `(COUNT(?x) AS ?n)`, and in HAVING, one not inside another"
        r.report("E134", f"{token.text.upper()} is an aggregate, and cannot stand here", token, hint)
    return Compound(name, values, r.span_from(first))


def _read_separator(r: QueryText) -> Const:
    r.expect_word("SEPARATOR", "GROUP_CONCAT", _SEPARATOR)
    r.expect("=", "GROUP_CONCAT", _SEPARATOR)
    if r.token.kind not in ("string", "long"):
        raise r.refusal("E108", f"expected a text in quotes, found {describe(r.token)}", r.token, _SEPARATOR)
    first = r.at
    return Const(make_literal(read_string(r), XSD + "string"), r.span_from(first))
