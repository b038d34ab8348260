"""The worked examples of SNOOP-R: files in tests/service/examples -> `SnoopExample` (see their README)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from etalis.snoop import Contribution, Expression, ExpressionFailed, Notice, read_text, read_xml

FOLDER = Path(__file__).parents[1] / "service" / "examples"
SHOP = "http://shop.example/events"
PREFIXES = {"shop": SHOP, "prolog": "http://languages.org/prolog", "push": "urn:etalis:push"}
KEYS = {
    "number", "shows", "expressions", "time", "provided", "steps", "expect", "events", "error", "says", "permute",
}  # fmt: skip

_TYPED = re.compile(r"(?:(\d+): )?(\w+)\((.*)\)(?: -> (late|\d+))?")
_BY_LEAF = re.compile(r"(?:(\d+): )?(\w+)\.([\d.]+)((?: \{.*?\})+)(?: -> discarded: (.*))?")
_PAIR = re.compile(r"(\w+): ?((?:[^,\\]|\\.)+)")
_PART = re.compile(r"(register|unregister|end|fail) (\w+)(?:\.([\d.]+))?")
_GRAPH = re.compile(r"(leaves|nodes)((?: \S+)*)")


@dataclass(frozen=True, slots=True)
class TypedStep:
    """A signal of a type."""

    at: int | None
    operator: str
    parameters: Mapping[str, str]
    matched: int | None = None
    late: bool = False


@dataclass(frozen=True, slots=True)
class LeafStep:
    """A signal of a leaf."""

    at: int | None
    name: str
    path: str
    tuples: tuple[Mapping[str, str], ...]
    discarded: str | None = None


@dataclass(frozen=True, slots=True)
class PartStep:
    """Registers, unregisters, or says that a leaf ended or failed."""

    verb: str
    name: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class GraphStep:
    """What the event graph has now."""

    kind: str
    labels: tuple[str, ...]


Step = TypedStep | LeafStep | PartStep | GraphStep


@dataclass(frozen=True, slots=True)
class SnoopExample:
    """One example: expressions by name, what happens, what is told."""

    number: str
    shows: str
    expressions: Mapping[str, str]
    steps: tuple[Step, ...] = ()
    expect: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    time: str = "events"
    provided: frozenset[str] = frozenset()
    error: str | None = None
    says: str = ""
    permute: bool = False
    later: frozenset[str] = field(default=frozenset())  # names that a step registers

    def read(self, name: str) -> Expression:
        """Return one of its expressions."""
        text = self.expressions[name]
        return read_xml(text) if text.lstrip().startswith("<") else read_text(with_prefixes(text))


def with_prefixes(text: str) -> str:
    """Return the text of an expression with the languages that it names."""
    lines = [f'{prefix} = "{uri}".' for prefix, uri in PREFIXES.items() if re.search(rf"\b{prefix}\b", text)]
    return "\n".join([*lines, text])


def snoop_examples() -> Iterator[SnoopExample]:
    """Yield all examples."""
    for path in sorted(FOLDER.glob("*.toml")):
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["example"]:
            yield _example(row)


def _example(row: dict[str, Any]) -> SnoopExample:
    assert set(row) <= KEYS, f"unknown keys {set(row) - KEYS}"
    steps = tuple(_step(line) for line in row.get("steps", "").strip().splitlines())
    return SnoopExample(
        str(row["number"]), row["shows"], row["expressions"], steps, _lines(row, "expect"), _lines(row, "events"),
        row.get("time", "events"), frozenset(PREFIXES[name] for name in row.get("provided", [])), row.get("error"),
        row.get("says", ""), row.get("permute", False),
        frozenset(step.name for step in steps if isinstance(step, PartStep) and step.verb == "register"),
    )  # fmt: skip


def _lines(row: dict[str, Any], key: str) -> tuple[str, ...]:
    return tuple(filter(None, (line.strip() for line in row.get(key, "").splitlines())))


def _step(line: str) -> Step:
    line = line.strip()
    if found := _PART.fullmatch(line):
        return PartStep(found[1], found[2], found[3])
    if found := _GRAPH.fullmatch(line):
        return GraphStep(found[1], tuple(sorted(found[2].split())))
    if found := _BY_LEAF.fullmatch(line):
        tuples = tuple(_pairs(each) for each in re.findall(r"\{(.*?)\}", found[4]))
        return LeafStep(_second(found[1]), found[2], found[3], tuples, found[5])
    found = _TYPED.fullmatch(line)
    assert found, f"no step: {line}"
    told = found[4]
    matched = int(told) if told and told != "late" else None
    return TypedStep(_second(found[1]), found[2], _pairs(found[3]), matched, told == "late")


def _second(text: str | None) -> int | None:
    return None if text is None else int(text)


def _pairs(text: str) -> dict[str, str]:
    return {name: value.strip() for name, value in _PAIR.findall(text)}


def show_notice(name: str, notice: Notice) -> str:
    """Write a notice as examples do; times are seconds."""
    if isinstance(notice, ExpressionFailed):
        return f"{name} failed"
    last = " last" if notice.is_last else ""
    if notice.start is None or notice.end is None:
        return f"{name}{last}"
    bindings = ", ".join(f"{key}: {value}" for key, value in sorted(notice.bindings.items()))
    return f"{name}{last} {{{bindings}}} [{notice.start // 1_000_000},{notice.end // 1_000_000}]"


def show_occurrence(occurrence: Contribution) -> str:
    """Write what contributed as examples do."""
    name = occurrence.operator or "opaque"
    if occurrence.number is not None:
        return f"{name} {occurrence.number}"
    below = ", ".join(f"{key}: {show_occurrence(each)}" for key, each in occurrence.arguments)
    return f"{name}({below})"
