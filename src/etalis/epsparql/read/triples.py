"""Triples with `;`, `,` and `a`, collections, blank nodes in square brackets, and property paths."""

from __future__ import annotations

from etalis.epsparql.read.query_text import QueryText, ReadingError, describe
from etalis.epsparql.read.terms import (
    begins_constant,
    begins_iri,
    is_bare_name,
    is_unknown_word,
    missing,
    read_bare_name,
    read_constant,
    read_iri,
    read_plain,
    read_var,
)
from etalis.epsparql.read.words import ELEMENTS, KEYWORDS, TEMPORAL
from etalis.epsparql.syntax import Triple
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.logic.rdf.entailment import RDF
from etalis.logic.rdf.exact_terms import kind_of

TYPE = f"<{RDF}type>"
FIRST, REST, NIL = f"<{RDF}first>", f"<{RDF}rest>", f"<{RDF}nil>"
_STOPS = frozenset((";", ".", "WITHIN", "UNION")) | ELEMENTS | TEMPORAL


def begins_triple(r: QueryText) -> bool:
    """Tell whether a subject stands here; a word of ours is none, in capitals or not."""
    if r.word in KEYWORDS or (r.dialect is not None and begins_dialect(r)):
        return False
    return r.token.kind in ("var", "blank") or r.sees("[") or r.sees("(") or begins_constant(r)


def begins_dialect(r: QueryText) -> bool:
    """Tell whether a part of a group stands here that only the original's dialect has."""
    return r.word in ("DO", "AGGREGATE") and r.following.text == "("


def read_triples(r: QueryText) -> list[Triple]:
    """Read a subject with its predicates and objects."""
    found: list[Triple] = []
    subject = _read_node(r, found, "a subject")
    if not found or _begins_verb(r):  # what stands in brackets is enough
        _read_properties(r, subject, found)
    return found


def read_block(r: QueryText) -> list[Triple]:
    """Read triples as long as a full stop, or a forgotten one, lets others follow."""
    found: list[Triple] = []
    while begins_triple(r) and not r.begins_query():
        found += read_triples(r)
        if not r.accept("."):
            if not begins_triple(r) or r.sees("(") or is_unknown_word(r):
                break
            if r.dialect is None:
                hint = "end each triple with a full stop; `;` goes on with the same subject"
                r.report("E108", f"a full stop is missing before {describe(r.token)}", r.token, hint)
    return found


def _read_properties(r: QueryText, subject: Term, found: list[Triple]) -> None:
    """Read predicates with their objects; one that cannot be read is reported, and reading goes on at the next."""
    while True:
        depth = r.depth
        try:
            predicate = _read_verb(r)
            _read_objects(r, subject, predicate, found)
        except ReadingError as finding:
            r.go_on(finding, depth, _STOPS)
        more = False
        while r.accept(";"):
            more = True
        if not more or not _begins_verb(r):
            return


def _begins_verb(r: QueryText) -> bool:
    return r.token.kind == "var" or begins_iri(r) or is_bare_name(r) or any(map(r.sees, "(^!"))


def _read_verb(r: QueryText) -> Term:
    if r.token.kind == "var":
        return read_var(r, "a triple")
    if r.token.kind in ("string", "long", "number") or r.token.kind == "blank" or r.sees("["):
        if r.dialect is not None and r.token.kind in ("string", "long"):
            return read_constant(r)
        what = "a blank node" if r.token.kind == "blank" or r.sees("[") else f"the literal {describe(r.token)}"
        raise r.refusal("E135", f"{what} cannot be a predicate", r.token, "a predicate is an IRI, a variable or a path")
    if not _begins_verb(r):
        raise missing(r, "a predicate")
    return read_path(r)


def _read_objects(r: QueryText, subject: Term, predicate: Term, found: list[Triple]) -> None:
    while True:
        first = r.at
        inner: list[Triple] = []
        value = _read_node(r, inner, "an object")
        start = subject.span.start if subject.span is not None else r.tokens[first].start
        span = r.span_from(first)
        found.append(Triple(subject, predicate, value, type(span)(r.source, min(start, span.start), span.end)))
        found += inner
        if not r.accept(","):
            return


def _read_node(r: QueryText, found: list[Triple], role: str) -> Term:
    """Read a subject or object; what its brackets say is added to the triples found."""
    token = r.token
    if token.kind == "var":
        return read_var(r, "a triple")
    if token.kind == "blank":
        r.take()
        return Var(token.text, r.span_of(token))
    if r.sees("["):
        return _read_bracketed(r, found)
    if r.sees("("):
        return _read_collection(r, found)
    if not begins_constant(r):
        raise missing(r, role)
    return read_plain(r)


def _read_bracketed(r: QueryText, found: list[Triple]) -> Term:
    """Read `[]` or `[ p o; ... ]`."""
    opening = r.at
    r.deepen()
    r.take()
    node = Var(r.names.fresh_label(), r.span_from(opening))
    if not r.sees("]"):
        _read_properties(r, node, found)
    r.close("]", opening)
    r.depth -= 1
    return node


def _read_collection(r: QueryText, found: list[Triple]) -> Term:
    """Read `(a b c)`, a list of RDF."""
    opening = r.at
    r.deepen()
    r.take()
    nodes: list[Term] = []
    inner: list[Triple] = []
    while not r.sees(")"):
        if r.token.kind == "eof" or r.sees("}"):
            r.close(")", opening)
        nodes.append(_read_node(r, inner, "a part of the list"))
    r.take()
    r.depth -= 1
    span = r.span_from(opening)
    places: list[Term] = [Var(r.names.fresh_label(), span) for _ in nodes]
    places.append(Const(NIL, span))
    for place, node, rest in zip(places, nodes, places[1:], strict=False):
        found += [Triple(place, Const(FIRST, span), node, span), Triple(place, Const(REST, span), rest, span)]
    found += inner
    return places[0]


def read_path(r: QueryText) -> Term:
    """Read a property path; `/` and `|` hold all their parts."""
    first = r.at
    r.deepen()
    branches = [_read_steps(r)]
    while r.accept("|"):
        branches.append(_read_steps(r))
    r.depth -= 1
    return branches[0] if len(branches) == 1 else Compound("|", tuple(branches), r.span_from(first))


def _read_steps(r: QueryText) -> Term:
    first = r.at
    steps = [_read_inverse(r)]
    while r.accept("/"):
        steps.append(_read_inverse(r))
    return steps[0] if len(steps) == 1 else Compound("/", tuple(steps), r.span_from(first))


def _read_inverse(r: QueryText) -> Term:
    first = r.at
    if r.accept("^"):
        return Compound("^", (_read_step(r),), r.span_from(first))
    return _read_step(r)


def _read_step(r: QueryText) -> Term:
    first = r.at
    step = _read_simple_path(r)
    for sign in "*+?":
        if r.accept(sign):
            return Compound(sign, (step,), r.span_from(first))
    return step


def _read_simple_path(r: QueryText) -> Term:
    first = r.at
    if r.accept("!"):
        return Compound("!", tuple(_read_negated(r)), r.span_from(first))
    if r.accept("("):
        inner = read_path(r)
        r.close(")", first)
        return inner
    return _read_predicate(r)


def _read_predicate(r: QueryText) -> Const:
    token = r.token
    if token.text == "a" and token.kind == "word":
        r.take()
        return Const(TYPE, r.span_of(token))
    if token.kind in ("string", "long", "number") or not begins_constant(r):
        hint = "a triple is subject, predicate and object: ?s :p ?o; a function stands in FILTER or BIND"
        raise r.refusal("E108", f"expected a predicate, found {describe(token)}", token, hint)
    return read_bare_name(r) if is_bare_name(r) else read_iri(r)


def _read_negated(r: QueryText) -> list[Term]:
    """Read what stands behind `!` in a path: a predicate, or several in brackets."""
    opening = r.at
    if not r.accept("("):
        return [_read_maybe_inverse(r)]
    found = [] if r.sees(")") else [_read_maybe_inverse(r)]
    while r.accept("|"):
        found.append(_read_maybe_inverse(r))
    r.close(")", opening)
    return found


def _read_maybe_inverse(r: QueryText) -> Term:
    first = r.at
    if r.accept("^"):
        return Compound("^", (_read_predicate(r),), r.span_from(first))
    return _read_predicate(r)


def is_literal(term: Term) -> bool:
    """Tell whether a term is a literal."""
    return isinstance(term, Const) and kind_of(term.value) == "literal"
