"""What a streamed triple entails by itself: RDFS rules have one premise that is data, and otherwise schema.

Law: what is entailed is what `logic.rdf.entailment` adds to a schema and that one triple, also where the background has
it already. Schema triples of a stream entail nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from etalis.data.values import Value
from etalis.epsparql.reads import DOMAIN, RANGE, SUBCLASS, SUBPROPERTY, TYPE
from etalis.logic.rdf.entailment import Graph, Node, entail
from etalis.logic.rdf.exact_terms import kind_of

_ATOM = "'"  # before a plain name: no IRI begins so
SCHEMA = frozenset({SUBCLASS, SUBPROPERTY, DOMAIN, RANGE})


def close(
    triples: Iterable[tuple[Value, Value, Value]], rdfs: bool, transitive: Iterable[str] = (), *,
    has_atoms: bool = False,
) -> list[tuple[Value, Value, Value]]:  # fmt: skip
    """Return triples in the exact naming with all that they entail; with atoms, texts are names, no literals."""
    graph = Graph()
    for triple in triples:
        s, p, o = (_node(part, has_atoms) for part in triple)
        graph.add((s, p, o))  # type: ignore[arg-type] # a literal is no subject or predicate
    entail(graph, rdfs=rdfs, transitive=[_node(p, has_atoms) for p in transitive])  # type: ignore[misc] # no literals
    return [(_term(s), _term(p), _term(o)) for s, p, o in graph.triples]


def _node(value: Value, has_atoms: bool) -> Node:
    match kind_of(value):
        case "iri":
            return str(value[1:-1])
        case "blank":
            return str(value)
    return f"{_ATOM}{value}" if has_atoms and isinstance(value, str) and value[:1] != '"' else (value,)


def _term(node: Node) -> Value:
    if isinstance(node, tuple):
        return node[0]
    if node.startswith(_ATOM):
        return node[len(_ATOM) :]
    return node if node.startswith("_:") else f"<{node}>"


def schema_of(closed: Iterable[tuple[Value, Value, Value]]) -> list[tuple[Value, Value, Value]]:
    """Return the triples of a closed background that streamed triples entail with."""
    return [t for t in closed if t[1] in SCHEMA]


def entailed(
    triple: tuple[Value, Value, Value], schema: Iterable[tuple[Value, Value, Value]]
) -> list[tuple[Value, Value, Value]]:
    """Return a triple and what it entails.

    >>> entailed(("<rose>", TYPE, "<Rose>"), [("<Rose>", SUBCLASS, "<Flower>")])[1:] == [("<rose>", TYPE, "<Flower>")]
    True
    """
    found = {triple: None}
    todo = [triple]
    while todo:
        s, p, o = todo.pop()
        if p in SCHEMA:
            continue
        for a, rule, b in schema:
            match rule:
                case _ if rule == SUBPROPERTY and a == p and kind_of(b) == "iri":
                    made = (s, b, o)
                case _ if rule == DOMAIN and a == p:
                    made = (s, TYPE, b)
                case _ if rule == RANGE and a == p and kind_of(o) != "literal":
                    made = (o, TYPE, b)
                case _ if rule == SUBCLASS and p == TYPE and a == o:
                    made = (s, TYPE, b)
                case _:
                    continue
            if made not in found:
                found[made] = None
                todo.append(made)
    return list(found)
