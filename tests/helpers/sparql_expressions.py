"""Random expressions of SPARQL over random terms, as terms of the language and as the text of a query.

Left out is where pyoxigraph and SPARQL, or its exact decimals and our floats, are known to differ: the order of truth
values, tagged texts, unknown types and NaN; the truth of tagged texts and of literals that are not of their type;
decimals divided by zero, their datatype and identity; dateTimes of which only one has a zone and that may be equal;
durations against numbers and texts; durations with months; REPLACE of nothing; numbers as texts with an exponent or a
negative zero; blanks around what is cast; integers past 64 bits; `IN ()`; and arithmetic on times, which SPARQL lacks.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, QuerySolutions, Store

from etalis.data.values import Value
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.rdf.exact_terms import decode, encode

STORE = Store()
INFIX = frozenset(("+", "-", "*", "/", "=", "!=", "<", ">", "<=", ">=", "&&", "||"))
SIGNS = {"neg": "-", "pos": "+", "!": "!"}


def typed(text: str, name: str) -> Literal:
    return Literal(text, datatype=NamedNode(XSD + name))


DECIMALS = tuple(typed(text, "decimal") for text in ("0.5", "2.5", "-0.25", "0.0", "3.0"))
NUMBERS = (
    *(Literal(number) for number in (0, 1, 2, 4, -1, -2, 8)),
    *(typed(text, "double") for text in ("0.5", "-1.5", "2.0")),
    typed("2", "byte"),
)
TEXTS = tuple(
    Literal(text)
    for text in (
        *("", "a", "abc", "Abc", "abcabc", "b", "é ß", "12", "-2.5", "1e1", "true", "0", "x y", "http://x/a", "null"),
        *("2000-01-01T00:00:00Z", "PT1M", "en", "*", "<a", '"', "_:b", "urn:x"),
    )
)
TAGGED = tuple(
    Literal(text, language=tag) for text, tag in (("abc", "en"), ("abc", "de"), ("a", "en"), ("b", "en-us"), ("", "en"))
)
TRUTH = (Literal(True), Literal(False), typed("1", "boolean"))
MOMENTS = tuple(
    typed(text, "dateTime")
    for text in (
        *(
            "2000-01-01T00:00:00Z",
            "2000-01-01T01:00:00+01:00",
            "1999-12-31T23:59:59.5Z",
            "2011-01-10T14:45:13.815-05:00",
        ),
        *("2005-06-07T08:09:10", "2005-06-07T08:09:11", "-0044-03-15T12:00:00Z", "12000-01-01T00:00:00Z"),
    )
)
DURATIONS = tuple(typed(text, "duration") for text in ("PT1M", "P1D", "-PT5S", "PT0.5S", "PT1M0.5S"))
NODES = (NamedNode("http://x/a"), NamedNode("http://x/b"), NamedNode("urn:x"))
UNKNOWN = (
    Literal("x", datatype=NamedNode("urn:t")),
    Literal("y", datatype=NamedNode("urn:t")),
    typed("abc", "integer"),
    typed("yes", "boolean"),
    typed("2000-13-01T00:00:00Z", "dateTime"),
)
KINDS = {
    "X": NUMBERS,
    "Y": NUMBERS,
    "D": DECIMALS,
    "S": TEXTS,
    "T": (*TEXTS, *TAGGED),
    "B": TRUTH,
    "M": MOMENTS,
    "L": DURATIONS,
    "I": NODES,
    "U": UNKNOWN,
    "A": (*NUMBERS, *TEXTS, *TRUTH, *NODES),
    "N": (None,),
}  # the terms that variables of each name have


def call(name: str, *args: Term) -> Compound:
    return Compound(name, args)


def leaf(*names: str) -> st.SearchStrategy[Term]:
    """Draw a variable of some names, or a term that it might have."""
    terms = [term for name in names for term in KINDS[name] if term is not None]
    return st.one_of(
        st.sampled_from([Var(name) for name in names]),
        st.sampled_from(terms).map(lambda term: Const(encode(term))),
    )


def cast(name: str) -> str:
    return f"<{XSD}{name}>"


@st.composite
def numbers(draw: st.DrawFn, depth: int = 2) -> Term:
    """Draw an expression that is mostly a number."""
    plain = leaf("X", "Y")
    if not depth:
        return draw(st.one_of(plain, leaf("D")))
    inner, words = numbers(depth - 1), texts(depth - 1)
    form = draw(st.integers(0, 9))
    if form <= 2:
        return call(draw(st.sampled_from("+-*")), draw(inner), draw(inner))
    if form == 3:
        return call("/", draw(plain), draw(plain))
    if form == 4:
        return call(draw(st.sampled_from(["neg", "pos", "abs", "ceil", "floor", "round"])), draw(inner))
    if form == 5:
        return call("strlen", draw(words))
    if form == 6:
        name = draw(st.sampled_from(["year", "month", "day", "hours", "minutes", "seconds"]))
        return call(name, draw(leaf("M")))
    if form == 7:
        name = cast(draw(st.sampled_from(["integer", "decimal", "double", "float"])))
        return call(name, draw(st.one_of(inner, words, leaf("B", "I", "U"))))
    return draw(st.one_of(either(inner), plain))


def either(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    """Draw a choice between expressions of a kind."""
    return st.one_of(
        st.builds(lambda c, a, b: call("if", c, a, b), truths(1), inner, inner),
        st.lists(inner, max_size=3).map(lambda parts: call("coalesce", *parts)),
        inner.map(lambda part: call("coalesce", Var("N"), part)),
    )


@st.composite
def texts(draw: st.DrawFn, depth: int = 2) -> Term:
    """Draw an expression that is mostly a text."""
    plain = leaf("S", "T")
    if not depth:
        return draw(plain)
    inner, whole = texts(depth - 1), leaf("X", "Y")
    form = draw(st.integers(0, 11))
    if form == 0:
        return call(draw(st.sampled_from(["ucase", "lcase", "encode_for_uri", "md5", "sha1"])), draw(inner))
    if form == 1:
        return call(draw(st.sampled_from(["sha256", "sha384", "sha512"])), draw(leaf("S")))
    if form == 2:
        return call("concat", *draw(st.lists(inner, max_size=3)))
    if form == 3:
        return call(draw(st.sampled_from(["strbefore", "strafter"])), draw(inner), draw(plain))
    if form == 4:
        return call("substr", draw(inner), *draw(st.lists(whole, min_size=1, max_size=2)))
    if form == 5:
        pattern = Const(draw(st.sampled_from(["b", "a|c", "(a)(b)", "[a-c]", "^a", "(", "A"])))
        filled = Const(draw(st.sampled_from(["", "x", "[$1]", "$0$0"])))
        return call("replace", draw(inner), pattern, filled, *draw(st.sampled_from([(), (Const("i"),)])))
    if form == 6:
        return call(draw(st.sampled_from(["str", cast("string")])), draw(leaf("X", "T", "B", "M", "L", "I", "U")))
    if form == 7:
        return call("lang", draw(leaf("T", "X", "I", "U")))
    if form == 8:
        return call("strlang", draw(inner), Const(draw(st.sampled_from(["en", "de-ch", "", "x y"]))))
    if form == 9:
        return call("tz", draw(leaf("M", "S")))
    return draw(st.one_of(either(inner), plain))


@st.composite
def truths(draw: st.DrawFn, depth: int = 2) -> Term:
    """Draw an expression that is mostly a truth value."""
    if not depth:
        return draw(leaf("B"))
    inner, any_truth = truths(depth - 1), st.one_of(truths(depth - 1), leaf("X", "S", "I", "N"))
    form = draw(st.integers(0, 9))
    if form <= 2:
        return draw(comparisons(depth - 1))
    if form == 3:
        return call(draw(st.sampled_from(["&&", "||"])), draw(any_truth), draw(any_truth))
    if form == 4:
        return call("!", draw(any_truth))
    if form == 5:
        name = draw(st.sampled_from(["strstarts", "strends", "contains"]))
        return call(name, draw(texts(depth - 1)), draw(leaf("S", "T")))
    if form == 6:
        name = draw(st.sampled_from(["isiri", "isuri", "isblank", "isliteral", "isnumeric"]))
        return call(name, draw(leaf(*KINDS)))
    if form == 7:
        return draw(st.one_of(st.sampled_from(list(KINDS)).map(lambda name: call("bound", Var(name))), _matching()))
    if form == 8:
        return call(cast("boolean"), draw(leaf("X", "S", "B", "I", "U")))
    return draw(either(inner))


@st.composite
def _matching(draw: st.DrawFn) -> Term:
    form = draw(st.integers(0, 1))
    if form:
        ranges = leaf("S").filter(lambda term: isinstance(term, Var) or term != Const(""))
        return call("langmatches", call("lang", draw(leaf("T"))), draw(ranges))
    pattern = Const(draw(st.sampled_from(["b", "a|c", "^a", "c$", "a.c", "[a-c]+", "(", ""])))
    return call("regex", draw(texts(1)), pattern, *draw(st.sampled_from([(), (Const("i"),), (Const("z"),)])))


@st.composite
def comparisons(draw: st.DrawFn, depth: int = 1) -> Term:
    """Draw a comparison of what compares, or of what does not."""
    equality = draw(st.booleans())
    number, word = numbers(depth), texts(depth)
    if not equality:
        name = draw(st.sampled_from(["<", ">", "<=", ">="]))
        side = draw(st.sampled_from([number, leaf("S"), leaf("M"), leaf("L"), st.one_of(leaf("S"), number)]))
        return call(name, draw(side), draw(side))
    alike = [number, word, leaf("M"), leaf("L"), leaf("B"), leaf("I"), leaf("U"), truths(depth)]
    mixed = [
        st.one_of(number, word, leaf("B", "I", "U")),
        leaf("M", "I", "B", "U", "T"),
        leaf("L", "I", "B", "U"),
    ]
    side = draw(st.sampled_from([*alike, *mixed]))
    form = draw(st.integers(0, 4))
    if form <= 2:
        return call("=" if form else "!=", draw(side), draw(side))
    if form == 3:
        same = draw(st.sampled_from([leaf("T"), leaf("B"), leaf("I"), leaf("U"), leaf("M"), leaf("L")]))
        return call("sameterm", draw(same), draw(same))
    return call(draw(st.sampled_from(["in", "not in"])), *draw(st.lists(side, min_size=2, max_size=4)))


@st.composite
def others(draw: st.DrawFn) -> Term:
    """Draw what makes nodes, literals and times."""
    form = draw(st.integers(0, 5))
    if form == 0:
        return call(draw(st.sampled_from(["iri", "uri"])), draw(st.one_of(texts(1), leaf("I", "X"))))
    if form == 1:
        return call("datatype", draw(leaf("X", "T", "B", "M", "L", "I", "U")))
    if form == 2:
        name = draw(st.sampled_from(["integer", "boolean", "string", "dateTime", "duration"]))
        return call("strdt", draw(texts(1)), Const(cast(name)))
    if form == 3:
        return call("timezone", draw(leaf("M", "S")))
    if form == 4:
        return call(cast("dateTime"), draw(leaf("M", "S", "X")))
    return call(cast("duration"), draw(leaf("L", "S", "X")))


def expressions() -> st.SearchStrategy[Term]:
    """Draw an expression."""
    return st.one_of(numbers(), texts(), truths(), truths(3), others())


def bindings() -> st.SearchStrategy[dict[str, Value]]:
    """Draw values for all variables; N has none."""
    return st.fixed_dictionaries({n: st.sampled_from(terms).map(_encoded) for n, terms in KINDS.items()})


def _encoded(term: Any) -> Value | None:
    return None if term is None else encode(term)


def written(expression: Term) -> str:
    """Write an expression as SPARQL does."""
    match expression:
        case Var(name=name):
            return f"?{name}"
        case Const(value=value):
            return str(decode(value))
        case Compound(name=name, args=(a, b)) if name in INFIX:
            return f"({written(a)} {name} {written(b)})"
        case Compound(name=name, args=(a,)) if name in SIGNS:
            return f"({SIGNS[name]} {written(a)})"
        case Compound(name="in" | "not in" as name, args=(first, *rest)):
            return f"({written(first)} {name.upper()} ({', '.join(map(written, rest))}))"
        case Compound(name=name, args=args):
            return f"{name if name[0] == '<' else name.upper()}({', '.join(map(written, args))})"
        case _:
            raise AssertionError(expression)


def ask_pyoxigraph(expression: Term, given: dict[str, Value]) -> Any:
    """Return the term that pyoxigraph evaluates an expression to, None for an error."""
    names = " ".join(f"?{name}" for name in given)
    row = " ".join("UNDEF" if value is None else str(decode(value)) for value in given.values())
    query = f"SELECT ({written(expression)} AS ?v) WHERE {{ VALUES ({names}) {{ ({row}) }} }}"
    found = STORE.query(query)
    assert isinstance(found, QuerySolutions)
    (solution,) = found
    return solution["v"]
