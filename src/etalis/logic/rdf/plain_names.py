"""Terms of RDF as the original's dialect names them: an IRI of one namespace is the plain name behind it.

The namespace is the caller's vocabulary, or the one of the empty prefix where the background's files declare it; a text
that is no term in the N-Triples syntax is a name, too. All other terms stay in the exact naming, so that those of RDF
and RDFS mean what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from etalis.data.scalars import to_python
from etalis.data.values import Value
from etalis.errors import InputError, Problem
from etalis.logic.rdf.exact_terms import STRING, UNBOUND, kind_of, make_literal
from etalis.logic.rdf.given_terms import to_exact

Triple = tuple[Value, Value, Value]
_MARKS = ("<", '"', "_:")  # how a text begins that is a term in the N-Triples syntax


@dataclass(frozen=True, slots=True)
class PlainNames:
    """The names of a program whose queries are in the original's dialect; `namespace` is None where no IRI has any."""

    namespace: str | None = None

    def name(self, value: Value) -> Value:
        """Return a term that came in the exact naming.

        >>> names = PlainNames("http://x/")
        >>> [names.name(value) for value in ("<http://x/acme>", "<http://y/acme>", 7)]
        ['acme', '<http://y/acme>', 7]
        """
        start = f"<{(self.namespace or '').strip('<>')}"
        if self.namespace is None or not isinstance(value, str) or not value.startswith(start):
            return value
        name = value[len(start) : -1]
        if not name:
            return value
        if name == UNBOUND or kind_of(name) != "literal":
            message = f"{value} has no plain name: {name!r} means something else"
            hint = "give another vocabulary=, which is the beginning of all names"
            raise InputError(Problem("E410", message, hint=hint))
        return name

    def read(self, given: Any) -> Value:
        """Return a term as users give it; a text that is no term in the N-Triples syntax is a name.

        >>> [PlainNames().read(given) for given in ("acme", "Big Co", '"a"@en', "<http://x/a>", 7)]
        ['acme', 'Big Co', '"a"@en', '<http://x/a>', 7]
        """
        plain = to_python(given)
        if isinstance(plain, str) and not plain.startswith(_MARKS):
            return make_literal(plain, STRING)
        return self.name(to_exact(given))

    def read_iri(self, given: Any) -> str:
        """Return the name of a graph, stream or predicate as users give it: an IRI without brackets is one.

        >>> [PlainNames("http://x/").read_iri(given) for given in ("shop", "http://x/shop", "http://y/shop", None)]
        ['shop', 'shop', '<http://y/shop>', 'null']
        """
        if given is None:
            return UNBOUND
        is_iri = isinstance(given, str) and ":" in given and not given.startswith(_MARKS)
        return str(self.read(f"<{given}>" if is_iri else given))

    def name_triples(self, triples: Iterable[Triple]) -> list[Triple]:
        """Return triples that came in the exact naming."""
        return [(self.name(s), self.name(p), self.name(o)) for s, p, o in triples]
