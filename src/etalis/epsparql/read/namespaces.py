"""What the names of a text stand for: IRIs, prefixes, bare names, and the nodes that have no name.

`rdf:`, `rdfs:`, `xsd:` and `prov:` are known undeclared. Bare names, and `:name` where no empty prefix is declared,
belong to the caller's vocabulary; in the dialect of the original, and there only without a vocabulary if it is `:name`,
they are plain atoms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from etalis.epsparql.read.iris import resolve_iri, unescape_iri
from etalis.language.check.spelling import nearest
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.rdf.entailment import RDF, RDFS
from etalis.logic.rdf.exact_terms import PROV, UNBOUND

KNOWN: Mapping[str, str] = MappingProxyType({"rdf": RDF, "rdfs": RDFS, "xsd": XSD, "prov": PROV})
_LOCAL_ESCAPE = re.compile(r"\\(.)")


class UnknownNameError(Exception):
    """A name that stands for nothing: what is wrong, and what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Namespaces:
    """The prefixes, base and vocabulary in force."""

    __slots__ = ("_labels", "_numbered", "atoms", "base", "prefixes", "vocabulary")

    def __init__(
        self, prefixes: Mapping[str, str] | None = None, vocabulary: str | None = None, *, atoms: bool = False
    ) -> None:
        self.prefixes = {**KNOWN, **{name.rstrip(":"): bare(iri) for name, iri in (prefixes or {}).items()}}
        self.vocabulary = None if vocabulary is None else bare(vocabulary)
        self.base: str | None = None
        self.atoms = atoms
        self._labels: set[str] = set()
        self._numbered = 0

    @property
    def takes_bare(self) -> bool:
        """Whether a name without prefix stands for something."""
        return self.atoms or self.vocabulary is not None

    def iri(self, text: str) -> str:
        """Return the IRI, in its brackets, that one in brackets stands for."""
        inner = unescape_iri(text[1:-1])
        if inner is None:
            raise UnknownNameError("an escape in this IRI stands for a character that no IRI has", "write it as %20")
        return f"<{inner if self.base is None else resolve_iri(self.base, inner)}>"

    def prefixed(self, text: str) -> str:
        """Return the IRI of a name with its prefix."""
        prefix, _, local = text.partition(":")
        space = self.prefixes.get(prefix)
        if space is None and not prefix:
            if self.vocabulary is None and self.atoms and local:
                return self.bare_name(local)
            space = self.vocabulary
        if space is None:
            raise UnknownNameError(f"the prefix `{prefix}:` is not declared", self._hint(prefix, local))
        return f"<{space}{_LOCAL_ESCAPE.sub(lambda found: found[1], local)}>"

    def _hint(self, prefix: str, local: str) -> str:
        near = nearest(prefix, [name for name in self.prefixes if name]) if prefix else None
        if near is not None:
            return f"did you mean {near}:{local}?"
        declare = f"declare it: PREFIX {prefix}: <http://...>"
        return declare if prefix else f'{declare}, or give vocabulary="http://..."'

    def bare_name(self, text: str) -> str:
        """Return what a name without prefix stands for: an IRI of the vocabulary, or the atom."""
        if self.atoms and text == "_":
            raise UnknownNameError("`_` stands for nothing", "write a variable that occurs once: ?any")
        if self.atoms and text == UNBOUND:
            raise UnknownNameError(f"`{text}` stands for no value", f'put it in quotes: "{text}"')
        if self.atoms:
            return text
        if self.vocabulary is None:
            hint = f'write :{text} and declare PREFIX : <http://...>, or give vocabulary="http://..."'
            raise UnknownNameError(f"the name `{text}` has no prefix", hint)
        return f"<{self.vocabulary}{text}>"

    def keep_labels(self, labels: Iterable[str]) -> None:
        """Remember the labels of blank nodes that a text uses, so that none is made anew."""
        self._labels.update(labels)

    def fresh_label(self) -> str:
        """Return the label of a blank node that has none."""
        while True:
            self._numbered += 1
            label = f"_:b{self._numbered}"
            if label not in self._labels:
                return label


def bare(iri: str) -> str:
    """Return an IRI without its brackets."""
    return iri[1:-1] if iri.startswith("<") and iri.endswith(">") else iri
