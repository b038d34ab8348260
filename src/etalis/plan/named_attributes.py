"""Names of the attributes of derived events: one rule for tables of results, JSON and matches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from etalis.language.syntax import EventPattern, Var
from etalis.temporal.attribute_names import place_name

Kind = tuple[str, int]
Names = tuple[str, ...]


def name_attributes(events: Iterable[EventPattern], declared: Mapping[Kind, Names]) -> dict[Kind, Names]:
    """Name the attributes of the kinds that heads make: as declared, else as the variables of the first that has one.

    An attribute that is no variable in any head is called by its place.
    """
    made: dict[Kind, list[EventPattern]] = {}
    for event in events:
        made.setdefault((event.name, len(event.args)), []).append(event)
    return {kind: declared.get(kind) or _by_variables(kind[1], several) for kind, several in made.items()}


def _by_variables(arity: int, heads: list[EventPattern]) -> Names:
    names = []
    for place in range(arity):
        terms = (head.args[place] for head in heads)
        named = (term.name for term in terms if isinstance(term, Var) and not term.name.startswith("_"))
        names.append(next(named, place_name(place)))
    return tuple(names)
