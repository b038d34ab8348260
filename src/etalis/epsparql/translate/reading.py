"""Which patterns read the stream, which the background, which both (fixed when a query is compiled).

A predicate is background if the background as loaded has it, but for rdf:type and what a query constructs; the
caller's `streamed` and `background` go before that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from etalis.data.values import Value
from etalis.epsparql.translate.schema import TYPE_TERM, Schema
from etalis.language.syntax import Const, Term

Reads = Literal["stream", "background", "both"]
_NOTHING = Schema(())


@dataclass(frozen=True, slots=True)
class Background:
    """What the translation asks of the background: the predicates as loaded and as closed, and the schema to follow."""

    is_there: bool = False
    loaded: frozenset[Value] = frozenset()
    closed: frozenset[Value] = frozenset()
    schema: Schema = field(default=_NOTHING)
    streamed: frozenset[Value] = frozenset()
    given: frozenset[Value] = frozenset()
    constructed: frozenset[Value] = frozenset()
    constructs_any: bool = False

    def holds(self, predicate: Value) -> bool:
        """Tell whether a predicate is background."""
        if predicate in self.given or predicate in self.streamed:
            return predicate in self.given
        if predicate == TYPE_TERM or self.constructs_any or predicate in self.constructed:
            return False
        return predicate in self.loaded

    def reads(self, predicate: Term) -> Reads:
        """Tell what a pattern with a predicate, or a variable in its place, reads."""
        if not self.is_there:
            return "stream"
        if not isinstance(predicate, Const):
            return "both"
        if all(map(self.holds, self.schema.properties_below(predicate.value))):
            return "background"
        return "both" if predicate.value in self.closed else "stream"
