"""Explanations as plain data: one object per node, children by number and before what refers to them; and back.

Events, nested bodies, proofs and answers are nodes, each once. All walks are loops.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from etalis.errors import InputError, Problem
from etalis.why import justification as j
from etalis.why import why_not as w
from etalis.why.forms.json_rows import BY_CLASS, read_inline, write_fields
from etalis.why.printable import form
from etalis.why.repairing.data import MoveEvent, RemoveEvent, Repair

_TESTS = (j.WithinWindow, j.ConditionHeld, j.Nothing, j.AloneBetween, j.TakenUnder)


@form("Justification", "dict")
def write_justification(found: j.Justification) -> dict[str, Any]:
    """Return a justification as plain data."""
    numbers, plain = _write_nodes(found.root)
    told = {"program": found.program, "level": found.level, "complete": found.complete}
    notes = {"notes": list(found.notes)} if found.notes else {}
    return {"root": numbers[id(found.root)], **told, **notes, **_dates(found), "nodes": plain}


@form("WhyNot", "dict")
def write_why_not(found: w.WhyNot) -> dict[str, Any]:
    """Return why an event did not occur as plain data."""
    numbers, plain = _write_nodes(found)
    return {"root": numbers[id(found)], **_dates(found), "nodes": plain}


@form("Repair", "dict")
def write_repair(found: Repair) -> dict[str, Any]:
    """Return a repair as plain data."""
    numbers, plain = _write_nodes(found)
    return {"root": numbers[id(found)], **_dates(found), "nodes": plain}


def _dates(found: j.Justification | w.WhyNot | Repair) -> dict[str, bool]:
    """Return that times are to be shown as dates, where they came so; here they are seconds."""
    return {"dates": True} if found.dates else {}


def from_dict(plain: Mapping[str, Any]) -> j.Justification | w.WhyNot | Repair:
    """Return the explanation that `to_dict` has written."""
    nodes: dict[int, Any] = {}
    try:
        for node in plain["nodes"]:
            nodes[node["n"]] = read_inline(node, nodes)
        root = nodes[plain["root"]]
    except (LookupError, TypeError, ValueError, StopIteration) as error:
        raise InputError(Problem("E402", f"no explanation: {error!r}", hint="give what to_json has written")) from None
    dates = bool(plain.get("dates"))
    if isinstance(root, w.WhyNot | Repair):
        return replace(root, dates=dates)
    told = plain["program"], plain["level"], plain["complete"]
    return j.Justification(root, *told, tuple(plain.get("notes", ())), dates)


@form("Justification", "read")
@form("WhyNot", "read")
@form("Repair", "read")
def from_json(text: str) -> j.Justification | w.WhyNot | Repair:
    """Return the explanation that `to_json` has written."""
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise InputError(Problem("E402", f"not JSON: {error}", hint="give what to_json has written")) from None
    return from_dict(plain)


def number_nodes(root: Any) -> dict[int, int]:
    """Return the numbers of all nodes by their identities, children before what refers to them."""
    return {id(node): number for number, node in enumerate(_nodes(root), 1)}


def _write_nodes(root: Any) -> tuple[dict[int, int], list[dict[str, Any]]]:
    found = list(_nodes(root))
    numbers = {id(node): number for number, node in enumerate(found, 1)}
    return numbers, [
        {"n": number, "kind": BY_CLASS[type(node)].kind, **write_fields(node, numbers)}
        for number, node in enumerate(found, 1)
    ]


def _nodes(root: Any) -> Iterator[Any]:
    """Yield what becomes a node, each once, children first."""
    done: set[int] = set()
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        found, opened = stack.pop()
        if id(found) in done:
            continue
        if opened:
            done.add(id(found))
            yield found
            continue
        stack.append((found, True))
        stack.extend((child, False) for child in reversed(list(_referred(found))))


def _referred(found: Any) -> Iterator[Any]:
    """Yield the nodes that a node refers to; what stands inside it hands on its own."""
    if isinstance(found, w.WhyNot):
        yield from _answered(found)
        return
    if isinstance(found, Repair):
        yield from _changed(found)
        return
    for child in j.below(found):
        stands_inside = isinstance(child, _TESTS) or (
            isinstance(found, j.Derived) and child is found.body and not isinstance(child, j.Occurred)
        )
        if stands_inside:
            yield from _referred(child)
        else:
            yield child


def _answered(found: w.WhyNot) -> Iterator[Any]:
    """Yield the events and the answers that an answer refers to."""
    if found.occurred is not None:
        yield found.occurred.root
    yield from found.events
    affairs = [*found.affairs, *(affair for rule in found.rules for affair in rule.affairs)]
    for attempt in (attempt for rule in found.rules for attempt in rule.attempts):
        for part in attempt.parts:
            nearest = None if part.nearest is None else part.nearest.event
            yield from (child for child in (part.event, nearest, part.because) if child is not None)
        for cause in attempt.causes:
            match cause:
                case w.OutOfOrder(left=left, right=right):
                    yield from (left, right)
                case w.BlockedBy(by=by):
                    yield from by
                case w.Withheld(part=lost, by=by):
                    yield from (lost, *by)
                case w.Affair():
                    affairs.append(cause)
                case _:
                    pass
    yield from (affair.event for affair in affairs if affair.event is not None)
    if found.repair is not None:
        yield from _changed(found.repair)


def _changed(found: Repair) -> Iterator[Any]:
    """Yield the events that a repair refers to."""
    yield from (change.event for change in found.changes if isinstance(change, RemoveEvent | MoveEvent))
    yield from (*found.gained, *found.lost)
