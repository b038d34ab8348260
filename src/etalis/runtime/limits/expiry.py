"""Expiry of state while no event comes. Stores drop expired instances when one does; this does it otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from etalis.plan import algebra as p
from etalis.plan.retention import window_of
from etalis.runtime.deadlines.unmatched import Unmatched
from etalis.runtime.deadlines.waiter import Waiter
from etalis.runtime.operators.aggregate import Folder, Slider
from etalis.runtime.operators.blockers import Blockers, EventLog, LooseBlockers
from etalis.runtime.operators.partition_state import fifos_of, held_by
from etalis.runtime.operators.repetition.repeater import Repeater
from etalis.runtime.operators.repetition.runner import Runner
from etalis.runtime.operators.store import expire
from etalis.runtime.state import BEGINNING, NEVER

if TYPE_CHECKING:
    from etalis.runtime.ruleset import RuleSet


def expires(rules: RuleSet) -> int:
    """Return after which moment nothing that waits can be used; deadlines and alarms must have passed by then."""
    found = [timer[0] for timer in rules.state.timers]
    places = {(e.key, f"side{i}"): (e, i) for e in rules.wiring.entries if isinstance(e.node, p.Join) for i in (0, 1)}
    chosen = {(e.key, f"side{i}"): e.node.tests for e in _choices(rules) for i in range(len(e.inputs))}
    for key, part in rules.memory.items():
        latest = max((end for _, end in held_by(part, rules.state)), default=None)
        if latest is not None and not isinstance(part, Waiter | Unmatched):
            keep = rules.compiler.stores.retention(*places[key]) if key in places else _kept_for(part)
            keep = window_of(chosen[key]) if key in chosen else keep
            found.append(NEVER if keep is None else latest + keep)
    return max(found, default=BEGINNING)


def _kept_for(part: Any) -> int | None:
    match part:
        case Blockers(keep=keep) | LooseBlockers(keep=keep) | EventLog(keep=keep):
            return keep
        case Repeater(keep=keep) | Folder(keep=keep) | Slider(within=keep) | Runner(window=keep):
            return keep
    return None


def sweep(rules: RuleSet, now: int) -> None:
    """Drop what nothing that ends at a moment or later can use."""
    for part in rules.memory.values():
        match part:
            case Blockers() | LooseBlockers() | EventLog() | Slider() | Runner():
                part.expire(now)
            case Repeater(lefts=shelf) | Folder(openers=shelf):
                shelf.expire(now)
    for entry in _choices(rules):
        operator = rules.compiler.operators.built.get(id(entry))
        if operator is not None:
            operator.expire(now)
    stores = rules.compiler.stores
    for entry in rules.wiring.entries:
        if isinstance(entry.node, p.Join):
            for place in (0, 1):
                fifo, keep = rules.memory.get((entry.key, f"fifo{place}")), stores.retention(entry, place)
                if fifo and keep is not None:
                    expire(rules.memory[entry.key, f"side{place}"], fifo, now - keep, len(fifo))


def _choices(rules: RuleSet) -> list[Any]:
    return [entry for entry in rules.wiring.entries if isinstance(entry.node, p.SomeOf)]


def queued(rules: RuleSet) -> int:
    """Return how many entries of queues wait to expire."""
    return sum(len(fifo) for part in rules.memory.values() for fifo in fifos_of(part))
