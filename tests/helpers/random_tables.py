"""Random tables of events: columns of every type that other tools make, nulls, odd values, times told in many ways."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

EPOCH = 1_767_225_600
NAN, INF = float("nan"), float("inf")
Make = Callable[[Random], Any]


def pick(*values: Any) -> Make:
    return lambda random: random.choice(values)


WHOLE: Make = pick(0, 1, 1, 2, 7, -3)
SMALL: Make = pick(0, 1, 1, 2, 7)
REAL: Make = pick(0.0, -0.0, 1.0, 1.5, 0.1, -2.25, 7.0)
TEXT: Make = pick("a", "b", "1", "007", "1.5", "true", "Ünï 日", "f(1)", "x,y", " a", "null")
COLUMNS: Mapping[str, tuple[pa.DataType, Make]] = {
    "int8": (pa.int8(), WHOLE),
    "int32": (pa.int32(), WHOLE),
    "int64": (pa.int64(), pick(0, 1, 1, 2, 7, -3, 2**62)),
    "uint8": (pa.uint8(), SMALL),
    "uint64": (pa.uint64(), pick(0, 1, 1, 2, 7, 2**63)),
    "float16": (pa.float16(), pick(0.0, 1.0, 1.5, 7.0)),
    "float32": (pa.float32(), REAL),
    "float64": (pa.float64(), REAL),
    "odd floats": (pa.float64(), pick(1.0, 1.5, NAN, INF, -INF, 0.0)),
    "string": (pa.string(), TEXT),
    "large_string": (pa.large_string(), TEXT),
    "string_view": (pa.string_view(), TEXT),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), TEXT),
    "dictionary of ints": (pa.dictionary(pa.int16(), pa.int32()), WHOLE),
    "bool": (pa.bool_(), pick(True, False)),
    "null": (pa.null(), pick(None)),
    "whole decimal": (pa.decimal128(9, 0), pick(Decimal(1), Decimal(2), Decimal(-3))),
    "decimal": (pa.decimal128(9, 2), pick(Decimal("1.00"), Decimal("1.50"), Decimal("0.10"))),
    "date": (pa.date32(), pick(dt.date(2026, 1, 1), dt.date(1969, 12, 31))),
    "stamp": (pa.timestamp("ms", "UTC"), pick(0, 1_500, 86_400_000)),
    "list": (pa.list_(pa.int32()), pick([], [1], [1, 2], [None])),
    "list of floats": (pa.list_(pa.float64()), pick([1.0], [NAN], [])),
    "struct": (pa.struct([("p", pa.int8()), ("q", pa.string())]), pick({"p": 1, "q": "x"}, {"p": 2, "q": None})),
}
UNITS = (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9))
STAMPS = tuple((pa.timestamp(unit, zone), n) for unit, n in UNITS for zone in (None, "UTC", "Asia/Kolkata"))


@dataclass(frozen=True, slots=True)
class Times:
    """A column of time and the unit of its numbers."""

    column: pa.Array
    unit: str = "s"


def make_times(random: Random, steps: Sequence[int | None]) -> Times:
    """Tell the times of steps of a second, or none, in some way."""
    kind = random.choice(("stamps", "stamps", "numbers", "floats", "text", "odd"))
    moments = [None if step is None else EPOCH + step for step in steps]
    if kind == "stamps":
        wanted, scale = random.choice(STAMPS)
        return Times(pa.array([None if t is None else t * scale for t in moments], wanted))
    if kind == "numbers":
        unit, scale = random.choice(UNITS)
        return Times(pa.array([None if t is None else t * scale for t in moments], pa.int64()), unit)
    if kind == "floats":
        rest = random.choice((0.0, 0.5))
        return Times(pa.array([None if t is None else t + rest for t in moments], pa.float64()))
    if kind == "odd":
        wrong = [NAN, INF, 1e300, 1e12, -1e12]
        return Times(pa.array([random.choice(wrong) if t is None else float(t) for t in moments], pa.float64()))
    form = random.choice(("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.25+01:00"))
    odd = ["", "soon", "2026-13-01T00:00:00Z", None]
    texts = [random.choice(odd) if t is None else dt.datetime.fromtimestamp(t, dt.UTC).strftime(form) for t in moments]
    return Times(pa.array(texts, random.choice((pa.string(), pa.large_string()))))


@dataclass(frozen=True, slots=True)
class Stream:
    """A program, a table of its events in order of time, and how to read it."""

    text: str
    table: pa.Table
    options: Mapping[str, Any]


RULES = (
    "m({0}) <- (e({0}{rest}) seq e({0}{rest})) within 5.",
    "m({0}) <- e({0}{rest}) and e({0}{rest}).",
    "m({0}, N) <- aggregate(count, e({0}{rest}), N) within 4.",
    "m({0}) <- e({0}{rest}) where {0} = {0}.",
    "m({0}) <- (e({0}{rest}) seq e({0}{rest})) cnot e(_{anything}) within 5.",
)
_DECLARED: Mapping[str, tuple[str, ...]] = {
    "int8": ("int", "float", "term", "any"), "int32": ("int", "any"), "int64": ("int", "float", "time"),
    "uint8": ("int",), "uint64": ("int", "any"), "float16": ("float", "int"), "float32": ("float", "int", "any"),
    "float64": ("float", "int", "time"), "odd floats": ("float", "any", "int"), "string": ("string", "bool"),
    "large_string": ("string", "any"), "string_view": ("string",), "dictionary": ("string", "bool"),
    "dictionary of ints": ("int", "float"), "bool": ("bool", "term"), "null": ("int", "string", "term", "any"),
    "whole decimal": ("int", "float", "any"), "decimal": ("float", "int", "string"), "date": ("time",),
    "stamp": ("time",), "list": ("term", "any"), "list of floats": ("term",), "struct": ("term", "any"),
}  # fmt: skip


def make_stream(seed: int) -> Stream:
    """Make a random program with a random table."""
    random = Random(seed)
    count = random.choice((0, 1, 3, 6, 9))
    steps: list[int | None] = sorted(random.randrange(12) for _ in range(count))
    if random.random() < 0.3 and count:
        steps[random.randrange(count)] = None
    times = make_times(random, steps)
    kinds = [random.choice(list(COLUMNS)) for _ in range(random.choice((1, 1, 2, 3)))]
    names = [f"c{chr(97 + i)}" for i in range(len(kinds))]
    nulls = random.choice((0.0, 0.2))
    columns = {name: _column(kind, count, nulls, random) for name, kind in zip(names, kinds, strict=True)}
    order = list(columns.items())
    random.shuffle(order)
    declared = random.random() < 0.7
    text = ""
    if declared:
        types = [random.choice(_DECLARED[kind]) for kind in kinds]
        text = f":- event(e({', '.join(f'{n}: {t}' for n, t in zip(names, types, strict=True))})).\n"
    else:
        order = list(columns.items())
    rest = "".join(f", {name.capitalize()}_" for name in names[1:])
    rule = random.choice(RULES)
    text += rule.format("X", rest=rest.replace("_", str(random.randrange(2))), anything=", _" * (len(names) - 1))
    table = pa.table({"ts": times.column, **dict(order)})
    return Stream(text, table, {"time": "ts", "event": "e", "unit": times.unit})


def _column(kind: str, count: int, nulls: float, random: Random) -> pa.Array:
    wanted, make = COLUMNS[kind]
    cells = [None if random.random() < nulls else make(random) for _ in range(count)]
    if pa.types.is_dictionary(wanted):
        return pa.array(cells, wanted.value_type).dictionary_encode().cast(wanted)
    return pa.array(cells, wanted)
