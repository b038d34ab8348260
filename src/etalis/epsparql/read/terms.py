"""Terms of triples and expressions: variables, IRIs in brackets, with a prefix or bare, literals."""

from __future__ import annotations

from etalis.epsparql.read.literals import boolean, is_signed_number, read_number, read_signed_number, read_string
from etalis.epsparql.read.namespaces import UnknownNameError, bare
from etalis.epsparql.read.query_text import QueryText, ReadingError, describe
from etalis.epsparql.read.words import KEYWORDS
from etalis.language.syntax import Const, Term, Var
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.rdf.exact_terms import make_literal

_TRIPLE = "a triple is subject, predicate and object: ?s :p ?o"
_FORMS = {
    "an expression": "write a variable, a constant or a call: ?x, 5, STRLEN(?x)",
    "an argument": "write a variable, a name or a constant: ?x, acme, 5",
    "a part of the list": "a list is (?x 1 :a), closed by `)`",
}


def read_var(r: QueryText, where: str) -> Var:
    """Take a variable that must stand here."""
    token = r.token
    if token.kind != "var":
        is_name = token.kind == "word" and token.text.upper() not in KEYWORDS
        hint = f"did you mean ?{token.text}?" if is_name else "a variable begins with a question mark: ?x"
        raise r.refusal("E108", f"{where}: expected a variable, found {describe(token)}", token, hint)
    r.take()
    return Var(token.text[1:], r.span_of(token))


def begins_iri(r: QueryText) -> bool:
    """Tell whether an IRI, in brackets or with a prefix, stands here."""
    return r.token.kind in ("iri", "pname")


def begins_call(r: QueryText) -> bool:
    """Tell whether a name with a bracket behind it stands here."""
    return (r.token.kind == "word" or begins_iri(r)) and r.following.text == "("


def is_unknown_word(r: QueryText) -> bool:
    """Tell whether a word stands here that looks like one of ours: a bracket follows, and it is no name."""
    after = r.following.text
    return r.token.kind == "word" and (after == "{" or (after == "(" and not r.names.takes_bare))


def is_goal(r: QueryText) -> bool:
    """Tell whether a name stands here with a bracket that touches it: a path in brackets stands apart."""
    return r.token.kind == "word" and r.following.text == "(" and r.following.start == r.token.end


def read_iri(r: QueryText) -> Const:
    """Take an IRI; one that stands for nothing is reported, and taken as it is written."""
    token = r.token
    if not begins_iri(r):
        hint = "write it in brackets, <http://...>, or with a prefix"
        raise r.refusal("E108", f"expected an IRI, found {describe(token)}", token, hint)
    r.take()
    try:
        value = r.names.iri(token.text) if token.kind == "iri" else r.names.prefixed(token.text)
    except UnknownNameError as problem:
        r.report("E131", problem.message, token, problem.hint)
        value = f"<{token.text.strip('<>')}>"
    return Const(value, r.span_of(token))


def missing(r: QueryText, what: str) -> ReadingError:
    """Say that a term is missing here, or that this one cannot be read."""
    if r.sees("<"):
        message = "this IRI is not closed, or has a character that no IRI has"
        return r.refusal("E131", message, r.token, "write %20 for a space")
    return r.refusal(
        "E108", f"{what} is missing before {describe(r.token)}", r.token, r.meant(_FORMS.get(what, _TRIPLE))
    )


def is_bare_name(r: QueryText) -> bool:
    """Tell whether a word stands here that is meant as a name: none of ours in capitals, and nothing that is called."""
    token = r.token
    if token.kind not in ("word", "iso"):
        return False
    return not (token.text in KEYWORDS or (token.text.upper() in KEYWORDS and not r.names.takes_bare))


def read_bare_name(r: QueryText) -> Const:
    """Take a name without prefix."""
    token = r.take()
    try:
        value = r.names.bare_name(token.text)
    except UnknownNameError as problem:
        r.report("E131", problem.message, token, problem.hint)
        value = f"<{token.text}>"
    return Const(value, r.span_of(token))


def read_literal(r: QueryText) -> Const:
    """Take a text with its language or type."""
    first = r.at
    lexical = read_string(r)
    if r.token.kind == "tag":
        language = r.take().text[1:]
        return Const(make_literal(lexical, XSD + "string", language), r.span_from(first))
    if r.accept("^^"):
        kind = read_bare_name(r) if is_bare_name(r) else read_iri(r)
        return Const(make_literal(lexical, bare(str(kind.value))), r.span_from(first))
    return Const(make_literal(lexical, XSD + "string"), r.span_from(first))


def begins_constant(r: QueryText) -> bool:
    """Tell whether an IRI or literal stands here."""
    token = r.token
    if token.kind in ("iri", "pname", "string", "long", "number") or is_signed_number(r):
        return True
    return r.word in ("TRUE", "FALSE") or is_bare_name(r)


def read_constant(r: QueryText) -> Const:
    """Take an IRI or literal."""
    token = r.token
    if token.kind in ("string", "long"):
        return read_literal(r)
    if token.kind == "number":
        return read_number(r)
    if is_signed_number(r):
        return read_signed_number(r)
    if r.word in ("TRUE", "FALSE"):
        return boolean(r)
    return read_bare_name(r) if is_bare_name(r) else read_iri(r)


def read_plain(r: QueryText) -> Const:
    """Take an IRI or literal that stands in a triple or a goal; `true` is a plain name in the original's dialect."""
    if r.dialect is not None and r.word in ("TRUE", "FALSE"):
        return read_bare_name(r)
    return read_constant(r)


def read_var_or_iri(r: QueryText, where: str) -> Term:
    """Take a variable or an IRI."""
    if r.token.kind == "var":
        return read_var(r, where)
    return read_bare_name(r) if is_bare_name(r) else read_iri(r)
