"""Terms of the background as the original's dialect names them: an IRI of one namespace is the plain name behind it.

The namespace is the caller's vocabulary, or the one of the empty prefix where the files declare it; all other terms
stay in the exact naming, so that those of RDF and RDFS mean what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable

from etalis.data.values import Value
from etalis.errors import InputError, Problem
from etalis.logic.rdf.exact_terms import UNBOUND, kind_of

KnownTriple = tuple[Value, Value, Value]


def with_plain_names(triples: Iterable[KnownTriple], namespace: str | None) -> list[KnownTriple]:
    """Return triples with plain names for the IRIs of a namespace.

    >>> with_plain_names([("<http://x/c1>", "<http://x/hasCEO>", "<http://y/ann>")], "http://x/")
    [('c1', 'hasCEO', '<http://y/ann>')]
    """
    if namespace is None:
        return list(triples)
    start = f"<{namespace.strip('<>')}"
    return [(_plain(s, start), _plain(p, start), _plain(o, start)) for s, p, o in triples]


def _plain(value: Value, start: str) -> Value:
    if not isinstance(value, str) or not value.startswith(start) or kind_of(value) != "iri":
        return value
    name = value[len(start) : -1]
    if not name:
        return value
    if name == UNBOUND or kind_of(name) != "literal":
        message = f"{value} has no plain name: {name!r} means something else"
        raise InputError(Problem("E410", message, hint="give another vocabulary=, which is the beginning of all names"))
    return name
