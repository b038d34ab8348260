"""Random queries of plain SPARQL 1.1 over a small graph, for pyoxigraph and for what we say they mean.

The graph is divided: triples of `:p`, `:q`, `:r` are streamed in one element, those of `:k`, `:m` are background.
What stands in MINUS and EXISTS, and what is followed by `*`, `+` or `?`, is of the background. A group begins with a
streamed triple, so that it has a time. Decimals, and terms that are computed and joined, are left out: we keep no
decimals apart from doubles. So is the order of two variables, since pyoxigraph knows that of equal IRIs, and the truth
of texts with a language, which it does not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from etalis.data.values import Value
from helpers.epsparql_examples import VOCABULARY

STREAMED, KNOWN, NODES = ("p", "q", "r"), ("k", "m"), ("a", "b", "c")
LITERALS: dict[str, Value] = {
    "1": 1, "2": 2, "3": 3, '"x"': "x", '"1"': "1", '"x"@en': '"x"@en', "2.5e0": 2.5,
    "true": '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>',
}  # fmt: skip
VARIABLES = ("?x", "?y", "?z", "?v")
Triple = tuple[Value, Value, Value]


def draw_graph(rng: Random) -> tuple[list[Triple], list[Triple]]:
    """Draw what is streamed and what is background."""
    streamed = [_triple(rng, STREAMED) for _ in range(rng.randint(4, 14))]
    known = [_triple(rng, KNOWN) for _ in range(rng.randint(2, 7))]
    names = {p for _, p, _ in known}
    known += [(_iri("c"), _iri(name), _iri("c")) for name in KNOWN if _iri(name) not in names]
    return streamed, known


def _triple(rng: Random, predicates: tuple[str, ...]) -> Triple:
    obj = _iri(rng.choice(NODES)) if rng.random() < 0.7 else rng.choice(tuple(LITERALS.values()))
    return _iri(rng.choice(NODES)), _iri(rng.choice(predicates)), obj


def _iri(name: str) -> str:
    return f"<{VOCABULARY}{name}>"


@dataclass(slots=True)
class BodyWriter:
    """Writes the body of a random query, without its braces."""

    rng: Random
    fresh: list[str] = field(default_factory=list)

    def body(self, depth: int = 2) -> str:
        """Write the elements of a group."""
        parts = [self._triple(STREAMED)]
        own = next((part for part in parts[0].split() if part.startswith("?")), ":a")
        for _ in range(self.rng.choice((0, 1, 1, 2, 3))):
            parts.append(self._exists(own) if self.rng.random() < 0.08 else self._element(depth))
        return " ".join(parts)

    def _exists(self, own: str) -> str:
        """Write EXISTS over a variable of its own group: pyoxigraph lets it see those of the groups around, too."""
        word, test = self.rng.choice(("EXISTS", "NOT EXISTS")), self.rng.choice((f"{own} != ?e", "?e > 1", "isIRI(?e)"))
        condition = f"FILTER({test})" if self.rng.random() < 0.5 else ""
        return f"FILTER {word} {{ {own} :{self.rng.choice(KNOWN)} ?e . {condition} }}"

    def _element(self, depth: int) -> str:
        kind = self.rng.randint(0, 12)
        if kind in (0, 1):
            return self._triple(STREAMED)
        if kind == 2:
            return self._triple(KNOWN)
        if kind == 3:
            return self._path()
        if kind == 4:
            return f"MINUS {{ {self._triple(KNOWN)} }}"
        if kind in (5, 6):
            self.fresh.append(f"?b{len(self.fresh)}")
            return f"BIND({self._value()} AS {self.fresh[-1]})"
        if kind == 7:
            return self._values()
        if depth == 0 or kind == 8:
            return f"FILTER({self._condition(2)})"
        if kind == 9:
            return f"{{ {self.body(depth - 1)} }} UNION {{ {self.body(depth - 1)} }}"
        if kind == 10:
            names = " ".join(self.rng.sample(VARIABLES, 2))
            return f"{{ SELECT {names} {{ {self.body(depth - 1)} }} }}"
        inner = self.rng.choice((self._triple(KNOWN), self.body(depth - 1)))
        return f"OPTIONAL {{ {inner} {self._maybe_filter()} }}"

    def _triple(self, predicates: tuple[str, ...]) -> str:
        subject = self.rng.choice(VARIABLES) if self.rng.random() < 0.93 else ":" + self.rng.choice(NODES)
        obj = self.rng.choice(VARIABLES) if self.rng.random() < 0.93 else self._constant()
        return f"{subject} :{self.rng.choice(predicates)} {obj} ."

    def _path(self) -> str:
        paths = (
            ":p/:q",
            "^:p",
            ":p|:q",
            ":p/^:q",
            "(:p|:k)/:m",
            ":k+",
            "(:k|:m)+",
            ":k/:m*",
            "^(:k/:p)",
            "!(:m|:p|:q|:r)",
        )
        path, subject = self.rng.choice(paths), self.rng.choice((*VARIABLES, ":a"))
        if self.rng.random() < 0.2:  # from a node to itself: we know the nodes of the background only
            path, subject = self.rng.choice((":k*", ":m?", "(:k/:m)*")), ":a"
        return f"{subject} {path} {self.rng.choice((*VARIABLES, ':b'))} ."

    def _values(self) -> str:
        names = " ".join(self.rng.sample(VARIABLES, 2))
        rows = (f"({self._constant()} {self.rng.choice((self._constant(), 'UNDEF'))})" for _ in range(2))
        return f"VALUES ({names}) {{ {' '.join(rows)} }}"

    def _maybe_filter(self) -> str:
        return f"FILTER({self._condition(1)})" if self.rng.random() < 0.4 else ""

    def _condition(self, depth: int) -> str:
        x, y = self._variable(), self._variable()
        choices = [
            f"{x} {self.rng.choice(('=', '!='))} {y}",
            f"{x} {self.rng.choice(('<', '>'))} {y} + 0",
            f"{x} {self.rng.choice(('<', '>', '<=', '>=', '='))} {self.rng.randint(1, 3)}",
            f"BOUND({x})",
            f"!BOUND({x})",
            f"isIRI({x})",
            f"isLITERAL({x})",
            f"{x} + 1 = {y}",
            f"{x} IN ({self._constant()}, {self._constant()})",
            f"LANG({self.rng.choice(VARIABLES)}) = 'en'",
            f"sameTerm({self.rng.choice(VARIABLES)}, {self.rng.choice(VARIABLES)})",
        ]
        if depth > 0:
            choices.append(f"({self._condition(depth - 1)} && {self._condition(depth - 1)})")
            choices.append(f"({self._condition(depth - 1)} || {self._condition(depth - 1)})")
            choices.append(f"!({self._condition(depth - 1)})")
        return self.rng.choice(choices)

    def _value(self) -> str:
        x, y = self.rng.choice(VARIABLES), self.rng.choice(VARIABLES)
        return self.rng.choice(
            (f"{x} + {y}", f"{x} * 2", f"STR({x})", f"COALESCE({x}, {y})", f"IF({x} > 1, {x}, {y})", f"{x} / 2")
        )

    def _variable(self) -> str:
        return self.rng.choice((*VARIABLES, *self.fresh))

    def _constant(self) -> str:
        return self.rng.choice((":a", ":b", *LITERALS))
