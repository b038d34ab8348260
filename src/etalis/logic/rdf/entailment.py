"""What a graph of RDF triples entails: RDFS, and properties that are to be transitive.

A node is an IRI or `_:n` (str), or a literal (a tuple of its one value). Of the RDFS rules those that say something
about the data are applied: 2 (domain), 3 (range, not of literals), 5 and 7 (subproperties), 9 and 11 (subclasses).
Law: the result is the least set closed under these rules, whatever the order of the triples. Hierarchies are closed
along their components, cycles included; then each triple is looked at once per round, and a round follows only if
the one before added to a hierarchy, a domain, a range or a transitive property.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from typing import TypeAlias

from etalis.errors import LimitError, Problem
from etalis.logic.tabling.components import number_components

Node: TypeAlias = "str | tuple[object]"
Triple: TypeAlias = tuple[str, str, Node]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
TYPE = RDF + "type"
SUBCLASS, SUBPROPERTY = RDFS + "subClassOf", RDFS + "subPropertyOf"
DOMAIN, RANGE = RDFS + "domain", RDFS + "range"
MAX_TRIPLES = 10_000_000


@dataclass(slots=True)
class Graph:
    """A set of triples in the order they came, also by property; `limit` bounds how many."""

    limit: int = MAX_TRIPLES
    triples: dict[Triple, None] = field(default_factory=dict)
    by_property: dict[str, list[Triple]] = field(default_factory=dict)

    def add(self, triple: Triple) -> bool:
        """Add a triple; False if it is there already."""
        triples = self.triples
        count = len(triples)
        triples[triple] = None
        if len(triples) == count:
            return False
        if count >= self.limit:
            raise too_many(self.limit)
        held = self.by_property.get(triple[1])
        if held is None:
            self.by_property[triple[1]] = [triple]
        else:
            held.append(triple)
        return True

    def pairs(self, of: str) -> Iterator[tuple[str, Node]]:
        """Yield subject and object of a property's triples."""
        return ((s, o) for s, _, o in self.by_property.get(of, ()))


def too_many(limit: int) -> LimitError:
    hint = "ask for a long hierarchy with a tabled clause instead of `transitive`, or give a larger `max_triples`"
    return LimitError(Problem("E411", f"the graph has, or entails, more than {limit:,} triples", hint=hint))


def entail(graph: Graph, *, rdfs: bool, transitive: Iterable[str] = ()) -> None:
    """Add all that a graph entails.

    >>> graph = Graph()
    >>> for triple in (("rose", TYPE, "Rose"), ("Rose", SUBCLASS, "Flower"), ("Flower", SUBCLASS, "Plant")):
    ...     _ = graph.add(triple)
    >>> entail(graph, rdfs=True)
    >>> [o for s, o in graph.pairs(TYPE)]
    ['Rose', 'Flower', 'Plant']
    """
    closed = dict.fromkeys((*transitive, SUBCLASS, SUBPROPERTY) if rdfs else transitive)
    while True:
        for name in closed:
            _close(graph, name)
        if not rdfs:
            return
        watched = (*closed, DOMAIN, RANGE)
        before = [len(graph.by_property.get(name, ())) for name in watched]
        _Round(graph).run()
        if before == [len(graph.by_property.get(name, ())) for name in watched]:
            return


def _close(graph: Graph, name: str) -> None:
    """Add the transitive closure of a property."""
    for s, reached in closure(_edges(graph, name), graph.limit).items():
        for o in reached:
            assert isinstance(s, str), "what reaches something is a subject"
            graph.add((s, name, o))


def _edges(graph: Graph, name: str) -> dict[Node, list[Node]]:
    edges: dict[Node, list[Node]] = {}
    for s, o in graph.pairs(name):
        edges.setdefault(s, []).append(o)
    return edges


@dataclass(slots=True)
class _Round:
    """One look at every triple; the hierarchies, closed before, stay as they are meanwhile."""

    graph: Graph
    above: Mapping[Node, list[Node]] = field(init=False)
    classes: Mapping[Node, list[Node]] = field(init=False)
    domains: Mapping[Node, list[Node]] = field(init=False)
    ranges: Mapping[Node, list[Node]] = field(init=False)

    def __post_init__(self) -> None:
        self.above, self.classes = _edges(self.graph, SUBPROPERTY), _edges(self.graph, SUBCLASS)
        self.domains, self.ranges = _edges(self.graph, DOMAIN), _edges(self.graph, RANGE)

    def run(self) -> None:
        """Add what the triples entail."""
        for name in [name for name in self.graph.by_property if name != TYPE]:
            self._inherit(name)
        self._inherit_types()

    def _inherit(self, name: str) -> None:
        """Hand the triples of a property to the properties above it, and their ends to classes."""
        triples = list(self.graph.by_property[name])
        for above in self._properties_above(name):
            for s, _, o in triples:
                self.graph.add((s, above, o))
        subject_classes, object_classes = self._implied(name, self.domains), self._implied(name, self.ranges)
        if subject_classes:
            for s in dict.fromkeys(s for s, _, _ in triples):
                self._add_types(s, subject_classes)
        if object_classes:
            for o in dict.fromkeys(o for _, _, o in triples):
                self._add_types(o, object_classes)

    def _inherit_types(self) -> None:
        """Do the same for `rdf:type`, whose triples grow meanwhile, and hand them up the hierarchy of classes."""
        add, classes, above = self.graph.add, self.classes, self._properties_above(TYPE)
        subject_classes, object_classes = self._implied(TYPE, self.domains), self._implied(TYPE, self.ranges)
        is_plain = not (above or subject_classes or object_classes)
        for s, _, o in self.graph.by_property.get(TYPE, []):
            for c in classes.get(o, ()):
                add((s, TYPE, c))
            if is_plain:
                continue
            self._add_types(s, subject_classes)
            self._add_types(o, object_classes)
            for name in above:
                add((s, name, o))

    def _add_types(self, node: Node, classes: Iterable[Node]) -> None:
        if isinstance(node, str):  # a literal is no subject
            for c in classes:
                self.graph.add((node, TYPE, c))

    def _properties_above(self, name: str) -> list[str]:
        """Return the other properties above one; only an IRI can be a property."""
        found = self.above.get(name, ())
        return [p for p in found if isinstance(p, str) and p != name and not p.startswith("_:")]

    def _implied(self, name: str, ends: Mapping[Node, list[Node]]) -> dict[Node, None]:
        """Return the classes of one end of a property: its own, those of the properties above, and all above these."""
        found: dict[Node, None] = {}
        for p in (name, *self._properties_above(name)):
            for c in ends.get(p, ()):
                found[c] = None
                found.update(dict.fromkeys(self.classes.get(c, ())))
        return found


def closure(edges: Mapping[Node, list[Node]], limit: int = MAX_TRIPLES) -> dict[Node, dict[Node, None]]:
    """Return what every node reaches over one or more edges.

    >>> {node: list(found) for node, found in closure({"a": ["b"], "b": ["c"], "c": ["b"]}).items()}
    {'c': ['b', 'c'], 'b': ['b', 'c'], 'a': ['b', 'c']}
    """
    reached: dict[Node, dict[Node, None]] = {}
    total = 0
    # A component comes after those it leads to, so what lies beyond it is known.
    for _, members in groupby(number_components(edges).items(), itemgetter(1)):
        component = [node for node, _ in members]
        found: dict[Node, None] = {}
        for following in chain.from_iterable(edges.get(node, ()) for node in component):
            found[following] = None
            found.update(reached.get(following, {}))
        total += len(found) * len(component)
        if total > limit:
            raise too_many(limit)
        reached.update(dict.fromkeys(component, found))
    return reached
