"""What a streamed triple entails under a fixed schema (RDFS, by the rules of `logic.rdf.entailment`).

An RDFS rule has one premise that is data and otherwise schema, so a triple `(s, p, o)` entails by itself, and what it
entails is known from `p`: triples whose ends are `s`, `o` or constants. Only `rdf:type`, with the properties below it,
looks at its object too, which is a class. Law: `follow(p)` is what `entail` makes of `(s, p, o)` and the schema, but
that schema triples of a stream entail nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from etalis.data.values import Value
from etalis.epsparql.reads import DOMAIN, RANGE, SUBCLASS, SUBPROPERTY, TYPE

# What is no term, since IRIs of data are absolute: the ends of the triple itself, and objects that do not matter, or
# matter as no literals.
SUBJECT, OBJECT = "<subject>", "<object>"
ANY, NODE = "<any>", "<node>"

_PARTS = (SUBCLASS, SUBPROPERTY, DOMAIN, RANGE)
Following = tuple[Value, Value, Value]


class StreamSchema:
    """The schema of a closed graph: hierarchies, domains and ranges, in the exact naming or with plain names."""

    def __init__(self, triples: Iterable[tuple[Value, Value, Value]], *, has_atoms: bool = False) -> None:
        self.has_atoms = has_atoms  # names are plain, so that every text may be one
        self._is_property = _is_name if has_atoms else _is_iri
        found: dict[Value, dict[Value, list[Value]]] = {name: {} for name in _PARTS}
        for s, p, o in triples:
            if p in found:
                found[p].setdefault(s, []).append(o)
        self.classes, self.properties, self.domains, self.ranges = (found[name] for name in _PARTS)
        self._followed: dict[tuple[Value, bool], frozenset[Following]] = {}

    def __bool__(self) -> bool:
        return bool(self.classes or self.properties or self.domains or self.ranges)

    @cached_property
    def named(self) -> list[Value]:
        """The properties of which the schema says something."""
        return sorted(
            dict.fromkeys(filter(self._is_property, (*self.properties, *self.domains, *self.ranges))), key=str
        )

    @cached_property
    def is_plain(self) -> bool:
        """Tell whether the schema says nothing of `rdf:type` itself."""
        subjects = (self.properties, self.domains, self.ranges)
        return not any(TYPE in part for part in subjects) and TYPE not in self._below_property

    @cached_property
    def _below_class(self) -> Mapping[Value, list[Value]]:
        return _reversed(self.classes)

    @cached_property
    def _below_property(self) -> Mapping[Value, list[Value]]:
        return _reversed(self.properties)

    def classes_below(self, name: Value) -> list[Value]:
        """Return a class and those below it."""
        return list(dict.fromkeys((name, *self._below_class.get(name, ()))))

    def properties_below(self, name: Value) -> list[Value]:
        """Return a property and those below it."""
        return list(dict.fromkeys((name, *filter(self._is_property, self._below_property.get(name, ())))))

    def makers(self, end: str, of: Value) -> list[Value]:
        """Return the properties whose triples make one of their ends a member of a class."""
        return [name for name in self.named if (end, TYPE, of) in self.follow(name)]

    def follow(self, name: Value, *, is_literal: bool = False, of: Value | None = None) -> frozenset[Following]:
        """Return a triple of a property and all that it entails; its object may be a literal, or a certain class."""
        key = name, is_literal
        if of is None and key in self._followed:
            return self._followed[key]
        found: set[Following] = {(SUBJECT, name, OBJECT)}
        waiting = list(found)
        while waiting:
            s, p, o = waiting.pop()
            fresh = set(self._entailed(s, p, o, is_literal, of)) - found
            found |= fresh
            waiting.extend(fresh)
        followed = frozenset(found)
        if of is None:
            self._followed[key] = followed
        return followed

    def _entailed(self, s: Value, p: Value, o: Value, is_literal: bool, of: Value | None) -> Iterator[Following]:
        if p in _PARTS:
            return
        for above in self.properties.get(p, ()):
            if self._is_property(above):
                yield s, above, o
        for c in self.domains.get(p, ()):
            yield s, TYPE, c
        if _is_node(o) and not (o == OBJECT and is_literal):
            for c in self.ranges.get(p, ()):
                yield o, TYPE, c
        if p == TYPE:
            known = of if o == OBJECT else o
            for c in () if known is None else self.classes.get(known, ()):
                yield s, TYPE, c

    def table(self) -> Iterator[tuple[Value, Value, Value, Value, Value]]:
        """Yield what triples entail beside themselves: property, object (ANY, NODE, or a class), and the triple."""
        for name in dict.fromkeys((*self.named, TYPE)):
            of_any = self.follow(name, is_literal=True) - {(SUBJECT, name, OBJECT)}
            yield from ((name, ANY, *triple) for triple in sorted(of_any, key=str))
            of_node = self.follow(name) - self.follow(name, is_literal=True)
            yield from ((name, NODE, *triple) for triple in sorted(of_node, key=str))
            if (SUBJECT, TYPE, OBJECT) in self.follow(name):
                for c in self.classes:
                    for triple in self.follow(name, of=c) - self.follow(name):
                        yield (name, c, *triple)


def _reversed(edges: Mapping[Value, list[Value]]) -> dict[Value, list[Value]]:
    found: dict[Value, list[Value]] = {}
    for low, several in edges.items():
        for high in several:
            found.setdefault(high, []).append(low)
    return found


def _is_iri(value: Value) -> bool:
    return isinstance(value, str) and value.startswith("<")


def _is_name(value: Value) -> bool:
    return isinstance(value, str) and not value.startswith(("_:", '"'))


def _is_node(value: Value) -> bool:
    return isinstance(value, str) and value.startswith(("<", "_:"))
