"""RDF terms as users give them, in the exact naming: terms of pyoxigraph, N-Triples texts, values of Python.

A text is read as N-Triples: `<http://x/a>`, `_:b`, `"text"`, `"text"@en`. What is none of these is refused, since
nobody can tell whether an IRI or a text was meant. Blank nodes keep their labels.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from etalis.data.scalars import is_numpy_time, show, to_python
from etalis.data.values import Value
from etalis.errors import EtalisError, EventError, Problem
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.rdf.exact_terms import BOOLEAN, DOUBLE, UNBOUND, decode, double_text, encode, make_literal, unescape
from etalis.temporal.interval import to_iso, to_time

_LITERAL = re.compile(r'"(?:[^"\\\n\r]|\\.)*"(?:@[A-Za-z0-9-]+|\^\^<[^<>"]*>)?')
_KINDS = {"subject": ("<", "_:"), "predicate": ("<",), "graph": ("<", "_:"), "stream": ("<",)}
_HINT = 'write <http://x/a>, _:b, "text", "text"@en or "7"^^<http://www.w3.org/2001/XMLSchema#integer>'
_OXIGRAPH = ("NamedNode", "BlankNode", "Literal", "Triple")


def parse_term(text: str) -> Value:
    """Read a term in the N-Triples syntax.

    >>> parse_term("<http://x/a>"), parse_term('"a"@EN'), parse_term('"07"^^<http://www.w3.org/2001/XMLSchema#int>')
    ('<http://x/a>', '"a"@en', 7)
    """
    try:
        if text.startswith('"') and _LITERAL.fullmatch(text) is not None:
            return encode(decode(text))
        if text.startswith("<") and text.endswith(">"):
            return encode(decode(unescape(text)))
        if text.startswith("_:"):
            return encode(decode(text))
    except (EtalisError, ValueError, OverflowError):
        pass
    raise EventError(Problem("E342", f"{show(text)} is no term in the N-Triples syntax", hint=_HINT))


def to_exact(given: Any) -> Value:
    """Return the value of a term in any of its forms.

    >>> to_exact("<http://x/a>"), to_exact(7), to_exact(2.5), to_exact(date(2026, 3, 2))
    ('<http://x/a>', 7, 2.5, '"2026-03-02"^^<http://www.w3.org/2001/XMLSchema#date>')
    """
    if given.__class__.__name__ in _OXIGRAPH and hasattr(given, "__match_args__"):
        return encode(given)
    if is_numpy_time(given):
        return make_literal(to_iso(to_time(given)), XSD + "dateTime")
    match to_python(given):
        case str() as text:
            return parse_term(text)
        case bool() as truth:
            return make_literal(str(truth).lower(), BOOLEAN)
        case int() as number:
            return int(number)
        case float() as number:
            return make_literal(double_text(number), DOUBLE)
        case Decimal() as number if number.is_finite():
            return make_literal(f"{number:f}", XSD + "decimal")
        case datetime() as moment:
            return make_literal(moment.isoformat().replace("+00:00", "Z"), XSD + "dateTime")
        case date() as day:
            return make_literal(day.isoformat(), XSD + "date")
    raise EventError(Problem("E342", f"{show(given)} is no RDF term", hint=_HINT))


def to_part(given: Any, part: str) -> Value:
    """Return the value of one part of a triple, of its graph or its stream; what cannot be that part is refused."""
    value = to_exact(given)
    wanted = _KINDS.get(part)
    if wanted is not None and not (isinstance(value, str) and value.startswith(wanted)):
        what = "an IRI or a blank node" if "_:" in wanted else "an IRI"
        raise EventError(Problem("E342", f"the {part} of a triple is {what}, not {show(given)}", hint=_HINT))
    return value


def to_name(given: Any, part: str) -> str:
    """Return the name of a graph or a stream: an IRI, in brackets or not, or a blank node; `null` where there is none.

    >>> to_name("http://x/g", "graph"), to_name("<http://x/g>", "graph"), to_name(None, "graph")
    ('<http://x/g>', '<http://x/g>', 'null')
    """
    if given is None:
        return UNBOUND
    is_bare = isinstance(given, str) and not given.startswith(("<", "_:", '"'))
    return str(to_part(f"<{given}>" if is_bare else given, part))
