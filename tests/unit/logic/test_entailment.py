"""RDFS entailment and transitive properties: by hand, against the rules applied one by one, and in size."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.errors import LimitError
from etalis.logic.rdf.entailment import DOMAIN, RANGE, SUBCLASS, SUBPROPERTY, TYPE, Graph, Triple, closure, entail

NODES = ("a", "b", "c", "_:1")
SCHEMA = (TYPE, SUBCLASS, SUBPROPERTY, DOMAIN, RANGE)


def entailed(*triples: Triple, rdfs: bool = True, transitive: tuple[str, ...] = ()) -> set[Triple]:
    graph = Graph()
    for triple in triples:
        graph.add(triple)
    entail(graph, rdfs=rdfs, transitive=transitive)
    assert {t: None for held in graph.by_property.values() for t in held}.keys() == graph.triples.keys()
    return set(graph.triples)


def new(*triples: Triple, rdfs: bool = True, transitive: tuple[str, ...] = ()) -> set[Triple]:
    return entailed(*triples, rdfs=rdfs, transitive=transitive) - set(triples)


def apply_rules(found: set[Triple], transitive: tuple[str, ...]) -> set[Triple]:
    """Return what each rule gives for every pair of triples."""
    out: set[Triple] = set()
    for (s, p, o), (x, q, y) in itertools.product(found, found):
        if p == q and o == x and p in (*transitive, SUBCLASS, SUBPROPERTY):
            out.add((s, p, y))
        if q == SUBPROPERTY and p == x and isinstance(y, str) and not y.startswith("_:"):
            out.add((s, y, o))
        if q == SUBCLASS and p == TYPE and o == x:
            out.add((s, TYPE, y))
        if q == DOMAIN and p == x:
            out.add((s, TYPE, y))
        if q == RANGE and p == x and isinstance(o, str):
            out.add((o, TYPE, y))
    return out


def brute_force(triples: set[Triple], transitive: tuple[str, ...]) -> set[Triple]:
    found = set(triples)
    while not (more := apply_rules(found, transitive)) <= found:
        found |= more
    return found


@given(
    st.lists(
        st.tuples(
            st.sampled_from((*NODES, *SCHEMA[:2])),
            st.sampled_from(("a", "b", "c", *SCHEMA, *SCHEMA)),
            st.sampled_from((*NODES, *SCHEMA, ("text",), (1,))),
        ),
        max_size=12,
    ),
    st.sampled_from(((), ("a",), ("a", "b"), (TYPE,))),
    st.randoms(use_true_random=False),
)
@pytest.mark.property
def test_oracle_the_rules_applied_one_by_one(triples: list[Triple], transitive: tuple[str, ...], rng: object) -> None:
    expected = brute_force(set(triples), transitive)
    assert entailed(*triples, transitive=transitive) == expected
    rng.shuffle(triples)  # type: ignore[attr-defined]
    assert entailed(*triples, transitive=transitive) == expected


def test_types_are_inherited_up_the_classes() -> None:
    found = new(("rex", TYPE, "Dog"), ("Dog", SUBCLASS, "Mammal"), ("Mammal", SUBCLASS, "Animal"))
    assert found == {("rex", TYPE, "Mammal"), ("rex", TYPE, "Animal"), ("Dog", SUBCLASS, "Animal")}


def test_properties_hand_their_pairs_up() -> None:
    found = new(("ann", "mother", "eve"), ("mother", SUBPROPERTY, "parent"), ("parent", SUBPROPERTY, "kin"))
    assert found == {("ann", "parent", "eve"), ("ann", "kin", "eve"), ("mother", SUBPROPERTY, "kin")}


def test_domain_and_range_give_types_through_both_hierarchies() -> None:
    schema = [("parent", DOMAIN, "Person"), ("parent", RANGE, "Elder"), ("Person", SUBCLASS, "Being")]
    found = new(*schema, ("mother", SUBPROPERTY, "parent"), ("ann", "mother", "eve"), ("ann", "mother", ("nobody",)))
    assert found == {
        ("ann", "parent", "eve"),
        ("ann", "parent", ("nobody",)),
        ("ann", TYPE, "Person"),
        ("ann", TYPE, "Being"),
        ("eve", TYPE, "Elder"),
    }


def test_cycles_come_to_an_end() -> None:
    found = entailed(("x", TYPE, "A"), ("A", SUBCLASS, "B"), ("B", SUBCLASS, "C"), ("C", SUBCLASS, "A"))
    assert {o for s, p, o in found if s == "x"} == {"A", "B", "C"}
    assert {(s, o) for s, p, o in found if p == SUBCLASS} == set(itertools.product("ABC", repeat=2))
    assert new(("p", SUBPROPERTY, "q"), ("q", SUBPROPERTY, "p"), ("a", "p", "b")) >= {("a", "q", "b")}


def test_a_property_under_a_hierarchy_builds_it() -> None:
    found = new(("kindOf", SUBPROPERTY, SUBCLASS), ("Dog", "kindOf", "Animal"), ("rex", TYPE, "Dog"))
    assert ("rex", TYPE, "Animal") in found
    found = new(("isA", SUBPROPERTY, TYPE), ("rex", "isA", "Dog"), ("Dog", SUBCLASS, "Animal"))
    assert ("rex", TYPE, "Animal") in found


def test_transitive_properties_with_and_without_rdfs() -> None:
    chain = [("a", "in", "b"), ("b", "in", "c"), ("x", "near", "y"), ("y", "near", "z")]
    assert new(*chain, rdfs=False, transitive=("in",)) == {("a", "in", "c")}
    assert new(*chain, rdfs=False) == set()
    below = [("within", SUBPROPERTY, "in"), ("c", "within", "d")]
    assert new(*chain, *below, transitive=("in",)) == {("a", "in", "c"), *((n, "in", "d") for n in "abc")}


def test_closure_shares_what_a_cycle_reaches() -> None:
    ring = closure({str(i): [str((i + 1) % 1_000)] for i in range(1_000)})
    assert all(len(reached) == 1_000 for reached in ring.values())
    assert len({id(reached) for reached in ring.values()}) == 1


def test_more_than_the_limit_is_an_error() -> None:
    graph = Graph(limit=1_000)
    for i in range(100):
        graph.add((f"n{i}", "in", f"n{i + 1}"))
    with pytest.raises(LimitError) as caught:
        entail(graph, rdfs=False, transitive=["in"])
    assert caught.value.code == "E411"
    assert len(graph.triples) == 100
    with pytest.raises(LimitError):
        closure({str(i): [str(i + 1)] for i in range(100_000)}, limit=1_000_000)


def test_instances_of_many_classes_take_time_by_what_is_entailed() -> None:
    graph = Graph()
    for i in range(1, 300):
        graph.add((f"C{i}", SUBCLASS, f"C{i // 2}"))
    for i in range(20_000):
        graph.add((f"x{i}", TYPE, f"C{i % 300}"))
        graph.add((f"x{i}", "price", (i,)))
    graph.add(("price", DOMAIN, "C299"))
    began = time.process_time()
    entail(graph, rdfs=True)
    assert time.process_time() - began < 10  # well below one second where nothing else runs
    assert len(graph.by_property[TYPE]) > 150_000
