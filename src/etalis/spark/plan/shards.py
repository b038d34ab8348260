"""Which rows go to which shard: the keys of the rules as columns, and what must be said about it.

Law: values that are equal in the language (1 and 1, `true` and "true", null and "null"; not 1 and 1.0) have equal key
texts, whatever the types of their columns; so rows that a rule can join meet in one shard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from etalis.plan.keys import Group, Key, Kind, Reason, show
from etalis.plan.stages import Stage
from etalis.tables.column_types import is_whole, transport
from etalis.tables.schema import Frame, Layout, refuse
from etalis.tables.sorting import TAG

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


@dataclass(frozen=True, slots=True)
class Slots:
    """The columns in which the attributes of all frames travel: their types, and the slots of each layout."""

    types: tuple[str, ...]
    places: tuple[tuple[Layout, tuple[int, ...]], ...]


def assign_slots(frames: Sequence[Frame], derived: Sequence[Layout] = ()) -> Slots:
    """Give every used column a slot of its type; frames, and derived kinds, share slots, columns of one never do."""
    types: list[str] = []
    places: list[tuple[Layout, tuple[int, ...]]] = []
    for layouts in (*(frame.layouts for frame in frames), *((layout,) for layout in derived)):
        used: dict[tuple[str, str], int] = {}
        for layout in layouts:
            slots = list(zip(layout.columns, layout.slot_types, strict=True))
            for slot in slots:
                if slot not in used:
                    used[slot] = _free_slot(slot[1], set(used.values()), types)
            places.append((layout, tuple(used[slot] for slot in slots)))
    return Slots(tuple(types), tuple(places))


def _free_slot(wanted: str, taken: set[int], types: list[str]) -> int:
    for i, slot_type in enumerate(types):
        if slot_type == wanted and i not in taken:
            return i
    types.append(wanted)
    return len(types) - 1


def plan_shards(
    stage: Stage, obstacles: Sequence[Reason], layouts: Sequence[Layout], asked: int | None, usual: int
) -> Sharding:
    """Choose keys and the number of shards for a stage; one shard where there is no key."""
    chosen = [(layout, () if obstacles else _columns(stage, layout, layouts)) for layout in layouts]
    keyed = any(columns for _, columns in chosen)
    shards = (usual if asked is None else asked) if keyed else 1
    merged = shards > 1 and any(_chosen_loose(group, layouts) for group in stage.groups)
    return Sharding(shards, tuple(chosen), merged, (*obstacles, *_reasons(stage, layouts)))


def check_shards(asked: int | None, obstacles: Sequence[Reason]) -> None:
    """Refuse a number of shards that cannot be."""
    if asked is not None and asked < 1:
        raise refuse("E605", f"shards is {asked}", "give a positive number, or leave it out")
    effects = [r for r in obstacles if r.rule is None]
    if asked is not None and asked > 1 and effects:
        hint = "leave out shards=, or the effect: then rules can run side by side"
        raise refuse("E608", f"more than one shard, but {'; '.join(map(str, effects))}", hint)


def _columns(stage: Stage, layout: Layout, layouts: Sequence[Layout]) -> tuple[tuple[str, Form], ...]:
    group = stage.group_of(layout.kind)
    if group is None:
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
        case "time" | "text":  # the latter is `TEXT`
            return None
        case "int":
            return "integer"
        case _ if is_whole(layout.types[position]):
            return "integer"
        case "float":
            return "float"
        case _:
            return _FORMS.get(transport(layout.types[position]))


def _chosen_loose(group: Group, layouts: Sequence[Layout]) -> frozenset[Kind]:
    return frozenset[Kind]().union(*(key.loose for key in _usable(group, layouts)))


def _reasons(stage: Stage, layouts: Sequence[Layout]) -> tuple[Reason, ...]:
    """Return everything that keeps rows together, columns that cannot be keys included."""
    more = [
        Reason(None, f"the key of {', '.join(map(show, group.kinds))} is a time or a term, not shuffled by")
        for group in stage.groups
        if group.keys and not _usable(group, layouts)
    ]
    return (*stage.reasons, *more)


def key_columns(sharding: Sharding, slots: Slots) -> list[Any]:
    """Return the expressions to shuffle united rows by: over their tag and their slots, so that no column is added."""
    places = {layout.tag: places for layout, places in slots.places}
    found = []
    for i in range(sharding.width):
        tags: dict[tuple[int, Form], list[str]] = {}
        for layout, keys in sharding.keys:
            if i < len(keys):
                slot = places[layout.tag][layout.columns.index(keys[i][0])]
                tags.setdefault((slot, keys[i][1]), []).append(layout.tag)
        found.append(_choice(tags, slots, sum(map(len, tags.values())) == len(sharding.keys)))
    return found


def _choice(tags: Mapping[tuple[int, Form], list[str]], slots: Slots, is_complete: bool) -> Any:
    """Return the key of a row by its tag; rows without key have all the same."""
    from pyspark.sql import functions as f

    write = _bare if len({form for _, form in tags}) == 1 else _text
    written = {several: write(f"s{slot}", slots.types[slot], form) for (slot, form), several in _frozen(tags)}
    if is_complete and len(written) == 1:
        return next(iter(written.values()))
    chosen: Any = f
    for several, key in written.items():
        chosen = chosen.when(f.col(TAG).isin(list(several)), key)
    return chosen


def _frozen(tags: Mapping[tuple[int, Form], list[str]]) -> list[tuple[tuple[int, Form], tuple[str, ...]]]:
    return [(place, tuple(several)) for place, several in tags.items()]


def _bare(column: str, column_type: str, form: Form) -> Any:
    """Return a key as it is, where all keys are of one form; what cannot be converted is left to the engine."""
    from pyspark.sql import functions as f

    value = f.col(column)
    match form:
        case "integer":
            return value if column_type == "bigint" else value.try_cast("bigint")
        case "float":
            return value.try_cast("double") + f.lit(0.0)  # one zero
        case _:
            return f.coalesce(value.cast("string"), f.lit("null"))


def _text(column: str, column_type: str, form: Form) -> Any:
    """Return a key as text that is equal for equal values, and tells integers, floats and atoms apart."""
    from pyspark.sql import functions as f

    letter = {"integer": "i", "float": "f"}.get(form, "a")
    return f.coalesce(f.concat(f.lit(letter), _bare(column, column_type, form).cast("string")), f.lit("anull"))


def quoted(name: str) -> str:
    """Return a column's name as Spark takes it literally.

    >>> quoted("a.b")
    '`a.b`'
    """
    return f"`{name.replace('`', '``')}`"
