"""A rule that comes or goes: wired, typed and compiled for itself, the rest of the rule set as it was.

Law: the engine is the one that compiling all rules over the same state would give; `independence` says when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from etalis.plan import algebra as p
from etalis.runtime.codegen.network import PlannedRule, Wired, Wiring, below
from etalis.runtime.deadlines.unmatched import Unmatched
from etalis.runtime.deadlines.waiter import Waiter
from etalis.runtime.rule_change.independence import RuleNetwork, lone_makers, may_come, may_go
from etalis.runtime.state import Raw

Change = tuple[p.Kind, Callable[[Raw], None] | None]  # of events, and what offers them to the rules now

MOST_GONE = 1_000  # entries; after so many, all rules are compiled anew once, which frees them


def insert_apart(rules: RuleNetwork, added: Sequence[PlannedRule]) -> bool:
    """Compile rules that come; tell whether that could be done without the others."""
    part, typing = Wiring(list(added)), rules.infer_types_of(added)
    if not may_come(rules, added, part, typing):
        return False
    compiler, heads = rules.compiler, rules.heads
    joined = [rules.wiring.root(rule) for rule in lone_makers(rules, added)]
    rules.note_matched(joined)
    heads.makers.update(rule.head.kind for rule in added)
    compiler.base.add(part, typing)
    _write_anew(rules, joined)
    for leaf in part.leaves:
        _offer_by(rules, compiler.add(leaf))
    for rule in added:
        heads.kind(rule).feeds = rules.processors.get(rule.head.kind)
        rules.listened.add(rule.head.kind)
    falls_due = any(rule.head.alarm is not None for rule in added) or any(p.falls_due(e.node) for e in part.entries)
    rules.has_timers = rules.has_timers or falls_due
    rules.listened.update(kind for rule in added for kind in p.read_kinds(rule.head.body))
    rules.is_patched = True
    return True


def delete_apart(rules: RuleNetwork, gone: Sequence[PlannedRule]) -> bool:
    """Take out rules that go, and what waits in them; tell whether that could be done without the others.

    Parts that other rules have, too, are written anew.
    """
    leaving = rules.wiring.leaving(gone) if rules.compiled else None
    if leaving is None or not may_go(rules, gone, leaving):
        return False
    rules.wiring.remove(gone, leaving)
    for rule in gone:
        rules.heads.makers[rule.head.kind] -= 1
        if not rules.heads.makers[rule.head.kind]:
            del rules.heads.makers[rule.head.kind]
            if rule.head.kind not in rules.processors:
                rules.listened.discard(rule.head.kind)
    moves = False
    for entry in leaving.entries:
        if isinstance(entry.node, p.Source):
            moves = moves or rules.compiler.begins(entry)
            _offer_by(rules, rules.compiler.remove(entry))
    _write_anew(rules, [entry for entry, _ in leaving.readers])
    if moves:
        _order_anew(rules)
    names = {key[1] for key in rules.memory if key != "log"}  # few, and the keys of parts are long
    for place in [(entry.key, name) for entry in leaving.entries for name in names]:
        if place in rules.memory:
            end_timers(rules.memory.pop(place))
    rules.is_patched = True
    return len(rules.wiring.gone) <= MOST_GONE


def _order_anew(rules: RuleNetwork) -> None:
    """Put the kinds of events into the order in which the leaves that are left first read them."""
    sources = [leaf.node for leaf in rules.wiring.leaves if isinstance(leaf.node, p.Source)]
    order = dict.fromkeys((source.name, len(source.args)) for source in sources)
    rules.processors = {kind: rules.processors[kind] for kind in (*order, *(rules.processors.keys() - order))}


def _write_anew(rules: RuleNetwork, entries: Sequence[Wired]) -> None:
    """Write the code of entries anew whose readers have changed, at the places that their leaves have."""
    parts = {id(part): part for entry in entries for part in (entry, *below(entry))}
    leaves = [part for part in parts.values() if isinstance(part.node, p.Source)]
    for change in rules.compiler.rewrite(leaves, list(parts.values())):
        _offer_by(rules, change)


def end_timers(part: Any) -> None:
    """Have what a part waits for come to nothing, once it is dropped."""
    if isinstance(part, Waiter | Unmatched):
        part.alive = False


def _offer_by(rules: RuleNetwork, change: Change) -> None:
    """Let events of a kind, received or made, come to the rules by another function."""
    kind, process = change
    if process is None:
        del rules.processors[kind]
        if kind not in rules.heads.makers:
            rules.listened.discard(kind)
    elif rules.processors.get(kind) is process:
        return
    else:
        rules.processors[kind] = process
    if kind in rules.heads.makers:
        for planned, _ in rules.rules:
            if planned.head.kind == kind and not planned.head.hidden:
                rules.heads.kind(planned).feeds = process
