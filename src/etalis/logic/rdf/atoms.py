"""Names of RDF nodes: IRIs become atoms by prefixes, properties and classes become relations by short names.

An IRI in the namespace of a prefix is `prefix:rest`, in that of the empty prefix `rest` alone, any other is written in
full; the longest namespace decides; in the exact naming an IRI keeps its brackets. Law: two IRIs never share an atom,
nor two properties or two classes a relation; where they would, the load is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from etalis.errors import InputError, Problem
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.rdf.entailment import DOMAIN, RANGE, RDF, RDFS, SUBCLASS, SUBPROPERTY, TYPE, Graph, Node
from etalis.logic.terms.unify import Term

Relations: TypeAlias = "bool | Mapping[str, str]"

OWL = "http://www.w3.org/2002/07/owl#"
VOCABULARIES: Mapping[str, str] = MappingProxyType({"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD})
_CLASS_TYPES = frozenset((RDFS + "Class", OWL + "Class"))
_PROPERTY_TYPES = frozenset(
    (RDF + "Property", *(OWL + f"{k}Property" for k in ("Object", "Datatype", "Annotation", "Transitive", "Symmetric")))
)
_ODD = re.compile(r"\W")


def refuse(message: str, hint: str) -> InputError:
    """Return the error for names that cannot be."""
    return InputError(Problem("E410", message, hint=hint))


@dataclass(slots=True)
class AtomNames:
    """The atoms of nodes, by prefix, or if `exact` as `exact_terms` names them."""

    prefixes: Mapping[str, str]
    exact: bool = False
    atoms: dict[str, str] = field(default_factory=dict)
    _spaces: dict[str, str] = field(init=False)
    _space: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        self.prefixes = {**VOCABULARIES, **self.prefixes}
        self._spaces = {space: prefix for prefix, space in reversed(self.prefixes.items()) if space}
        longest = sorted(self._spaces, key=len, reverse=True)
        self._space = re.compile("|".join(map(re.escape, longest)))

    def atom(self, node: str) -> str:
        """Return the atom of an IRI or a blank node.

        >>> names = AtomNames({"": "http://shop.example/", "geo": "http://geo.example/#"})
        >>> names.atom("http://shop.example/rose"), names.atom("http://geo.example/#Basel"), names.atom("urn:x")
        ('rose', 'geo:Basel', 'urn:x')
        """
        found = self.atoms.get(node)
        if found is None:
            found = self.atoms[node] = self._shorten(node)
        return found

    def _shorten(self, node: str) -> str:
        if self.exact:
            return node if node.startswith("_:") else f"<{node}>"
        space = self._space.match(node)
        if space is None or space.end() == len(node):
            return node
        prefix, rest = self._spaces[space[0]], node[space.end() :]
        return f"{prefix}:{rest}" if prefix else rest

    def term(self, node: Node) -> Term:
        """Return a node as a term: a literal is its value."""
        return self.atom(node) if isinstance(node, str) else node[0]

    def check(self) -> None:
        """Refuse two nodes with one atom."""
        if len(set(self.atoms.values())) < len(self.atoms):
            seen: dict[str, str] = {}
            for node, atom in self.atoms.items():
                other = seen.setdefault(atom, node)
                if other != node:
                    hint = "give prefixes={...} that keep them apart"
                    raise refuse(f"<{other}> and <{node}> would both be the atom {atom}", hint)

    def expand(self, name: str) -> str:
        """Return the IRI that a user's name stands for: `prefix:rest`, `rest` with the empty prefix, or an IRI.

        >>> AtomNames({"": "http://shop.example/"}).expand("rose"), AtomNames({}).expand("rdf:type")
        ('http://shop.example/rose', 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type')
        """
        prefix, colon, rest = name.partition(":")
        if colon:
            return self.prefixes[prefix] + rest if prefix in self.prefixes else name
        if "" in self.prefixes:
            return self.prefixes[""] + name
        raise refuse(
            f"{name!r} has no prefix, and there is no empty one", 'write prefix:name, or give prefixes={"": ...}'
        )


@dataclass(frozen=True, slots=True)
class GraphParts:
    """The properties and classes of a graph, used or declared, in order of appearance."""

    properties: Mapping[str, None]
    classes: Mapping[str, None]


def find_parts(graph: Graph) -> GraphParts:
    """Find out which IRIs are properties and which are classes."""
    declared = list(graph.pairs(TYPE))
    properties: list[Node] = [*graph.by_property, *(s for s, o in declared if o in _PROPERTY_TYPES)]
    classes: list[Node] = [*(o for _, o in declared), *(s for s, o in declared if o in _CLASS_TYPES)]
    for s, o in graph.pairs(SUBPROPERTY):
        properties += (s, o)
    for s, o in graph.pairs(SUBCLASS):
        classes += (s, o)
    for end in (DOMAIN, RANGE):
        properties += [s for s, _ in graph.pairs(end)]
        classes += [o for _, o in graph.pairs(end)]
    return GraphParts(_iris(properties), _iris(classes))


def _iris(nodes: Iterable[Node]) -> dict[str, None]:
    return {node: None for node in nodes if isinstance(node, str) and not node.startswith("_:")}


def name_relations(
    parts: GraphParts, wanted: Relations, names: AtomNames, *, complete: bool
) -> list[tuple[str, int, str]]:
    """Return (name, arity, IRI) of the relations: of a property with two arguments, of a class with one.

    With True, those of all but the vocabularies of RDF; `complete` refuses a name that stands for nothing.
    """
    if not isinstance(wanted, Mapping):
        return _name_all(parts) if wanted else []
    found = []
    for name, given in wanted.items():
        iri = names.expand(given)
        if not name or not isinstance(name, str):
            raise refuse(f"{name!r} cannot be the name of a relation", "give relations={'name': 'prefix:property'}")
        arities = [n for n, known in ((2, parts.properties), (1, parts.classes)) if iri in known]
        if complete and not arities:
            raise refuse(f"<{iri}> is no property and no class of the graph", "look for it with rdf(S, P, O)")
        found += [(name, arity, iri) for arity in arities]
    return found


def _name_all(parts: GraphParts) -> list[tuple[str, int, str]]:
    found: dict[tuple[str, int], str] = {}
    for arity, iris in ((2, parts.properties), (1, parts.classes)):
        for iri in iris:
            if iri.startswith(tuple(VOCABULARIES.values())):
                continue
            name = relation_name(iri)
            other = found.setdefault((name, arity), iri)
            if other != iri:
                hint = f"name the relations you want: relations={{'{name}': '{iri}', ...}}"
                raise refuse(f"<{other}> and <{iri}> would both be the relation {name}/{arity}", hint)
    return [(name, arity, iri) for (name, arity), iri in found.items()]


def relation_name(iri: str) -> str:
    """Return the short name of a property or class: what follows the last `#`, `/` or `:`, as a plain atom.

    >>> relation_name("http://shop.example/partOf"), relation_name("http://shop.example/#Cut-Flower")
    ('partOf', 'cut_Flower')
    """
    rest = _ODD.sub("_", re.split("[#/:]", iri)[-1])
    if not rest or not rest[0].isalpha():
        raise refuse(f"<{iri}> gives no name for a relation", f"name it: relations={{'a_name': '{iri}', ...}}")
    return rest[0].lower() + rest[1:]
