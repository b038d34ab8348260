"""Which rows go to which shard: the keys of the rules as columns, and what must be said about it.

Law: values that are equal in the language (1 and 1, `true` and "true", null and "null"; not 1 and 1.0) have equal key
texts, whatever the types of their columns; so rows that a rule can join meet in one shard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from etalis.plan.keys import Group, Key, Kind, Partitioning, Reason, show
from etalis.spark.schema import Layout, refuse, transport

Form: TypeAlias = str  # integer | float | text: how a key's column is written down

_FORMS = {"bigint": "integer", "double": "float", "string": "text", "boolean": "text"}


@dataclass(frozen=True, slots=True)
class Sharding:
    """How many shards, the key columns of each kind (none: all rows in one place), and whether results are merged."""

    shards: int
    keys: tuple[tuple[Layout, tuple[tuple[str, Form], ...]], ...]
    merged: bool
    reasons: tuple[Reason, ...]

    @property
    def width(self) -> int:
        """The number of key columns."""
        return max((len(columns) for _, columns in self.keys), default=0)


def plan_shards(found: Partitioning, layouts: Sequence[Layout], asked: int | None, usual: int) -> Sharding:
    """Choose keys and the number of shards; one shard where there is no key."""
    if asked is not None and asked < 1:
        raise refuse("E605", f"shards is {asked}", "give a positive number, or leave it out")
    effects = [r for r in found.obstacles if r.rule is None]
    if asked is not None and asked > 1 and effects:
        hint = "leave out shards=, or the effect: then rules can run side by side"
        raise refuse("E608", f"more than one shard, but {'; '.join(map(str, effects))}", hint)
    chosen = [(layout, _columns(found, layout, layouts)) for layout in layouts]
    keyed = any(columns for _, columns in chosen)
    shards = (usual if asked is None else asked) if keyed else 1
    merged = shards > 1 and any(_chosen_loose(group, layouts) for group in found.groups)
    return Sharding(shards, tuple(chosen), merged, _reasons(found, layouts))


def _columns(found: Partitioning, layout: Layout, layouts: Sequence[Layout]) -> tuple[tuple[str, Form], ...]:
    group = found.group_of(layout.kind)
    if group is None or found.obstacles:
        return ()
    positions = [key.positions[layout.kind] for key in _usable(group, layouts)]
    return tuple((layout.columns[i], _form(layout, i)) for i in positions)  # type: ignore[misc]


def _usable(group: Group, layouts: Sequence[Layout]) -> list[Key]:
    """Return the keys whose columns can be written down; those that need no merging, if there are any."""
    received = [layout for layout in layouts if layout.kind in group.kinds]
    usable = [k for k in group.keys if all(_form(x, k.positions[x.kind]) is not None for x in received)]
    return [key for key in usable if not key.loose] or usable


def _form(layout: Layout, position: int) -> Form | None:
    """Return how the values of an attribute are written down as keys; None if that is not safe."""
    match layout.declared[position]:
        case "time":
            return None
        case "int":
            return "integer"
        case "float":
            return "float"
        case _:
            return _FORMS.get(transport(layout.types[position]))


def _chosen_loose(group: Group, layouts: Sequence[Layout]) -> frozenset[Kind]:
    return frozenset[Kind]().union(*(key.loose for key in _usable(group, layouts)))


def _reasons(found: Partitioning, layouts: Sequence[Layout]) -> tuple[Reason, ...]:
    """Return everything that keeps rows together, columns that cannot be keys included."""
    more = [
        Reason(None, f"the key of {', '.join(map(show, group.kinds))} is a time or a term, not shuffled by")
        for group in found.groups
        if group.keys and not _usable(group, layouts)
    ]
    return (*found.reasons, *more)


def key_columns(sharding: Sharding, event: str | None, layouts: Sequence[Layout]) -> list[Any]:
    """Return the expressions to shuffle the rows of one frame by, as many for each frame."""
    keys = {layout.tag: columns for layout, columns in sharding.keys}
    found = []
    for i in range(sharding.width):
        tags: dict[tuple[str, Form], list[str]] = {}
        for layout in layouts:
            if i < len(keys[layout.tag]):
                tags.setdefault(keys[layout.tag][i], []).append(layout.tag)
        found.append(_choice(event, tags))
    return found


def _choice(event: str | None, tags: Mapping[tuple[str, Form], list[str]]) -> Any:
    """Return the key of a row by its tag; rows without key have all the same."""
    from pyspark.sql import functions as f

    if not tags:
        return f.lit("")
    if event is None:
        return _text(*next(iter(tags)))
    chosen: Any = f
    for (column, form), several in tags.items():
        chosen = chosen.when(f.col(quoted(event)).isin(several), _text(column, form))
    return chosen.otherwise(f.lit(""))


def _text(column: str, form: Form) -> Any:
    """Return a key as text that is equal for equal values, and tells integers, floats and atoms apart.

    What cannot be converted is left to the engine, which refuses it by name.
    """
    from pyspark.sql import functions as f

    value = f.col(quoted(column))
    match form:
        case "integer":
            written = f.concat(f.lit("i"), value.try_cast("bigint").cast("string"))
        case "float":
            written = f.concat(f.lit("f"), (value.try_cast("double") + f.lit(0.0)).cast("string"))
        case _:
            written = f.concat(f.lit("a"), value.cast("string"))
    return f.coalesce(written, f.lit("anull"))


def quoted(name: str) -> str:
    """Return a column's name as Spark takes it literally.

    >>> quoted("a.b")
    '`a.b`'
    """
    return f"`{name.replace('`', '``')}`"
