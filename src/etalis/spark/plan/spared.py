"""Columns that need not travel to the shards: texts that no rule looks at.

A text is never refused, so that nothing is lost where it stays behind. Law: events of equal times are taken in the
standard order of their atoms, so a column stays behind only where no attribute after it is looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from etalis.language.check.effects import acts_on_run
from etalis.language.rules import events_in, knowledge_changes, labelled_rules
from etalis.language.syntax import Isolated, Tree, Var
from etalis.language.traversal import postorder
from etalis.plan.keys import Kind
from etalis.spark.plan.detection import DetectionPlan
from etalis.tables.schema import Frame

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram

_TEXT = "string"


def spare_columns(plan: DetectionPlan, program: CompiledProgram) -> DetectionPlan:
    """Return a plan in which columns stay behind where that changes nothing."""
    tree = program.tree
    told = plan.job.output.contributors or program.settings.store_fired_events
    if told or program.reactions or acts_on_run(tree) or _isolates(tree):
        return plan
    seen = _places_seen(tree)
    whole = frozenset(knowledge_changes(tree))
    frames = tuple(replace(frame, spared=_columns(frame, seen, whole)) for frame in plan.frames)
    return replace(plan, frames=frames)


def _isolates(tree: Tree) -> bool:
    return any(isinstance(node, Isolated) for rule in labelled_rules(tree) for node in postorder(rule.pattern))


def _places_seen(tree: Tree) -> dict[Kind, int]:
    """Return for each kind that rules read how many of its attributes there are up to the last that is looked at."""
    found: dict[Kind, int] = {}
    for rule in labelled_rules(tree):
        for event in events_in(rule.pattern):
            places = [place for place, term in enumerate(event.args, 1) if not _is_anonymous(term)]
            kind = (event.name, len(event.args))
            found[kind] = max([found.get(kind, 0), *places])
        made = (rule.head.name, len(rule.head.args))
        found[made] = made[1]  # where equal ones are one
    return found


def _is_anonymous(term: object) -> bool:
    return isinstance(term, Var) and term.name.startswith("_#")


def _columns(frame: Frame, seen: dict[Kind, int], whole: frozenset[Kind]) -> frozenset[str]:
    unread: set[str] = set()
    read: set[str] = set()
    for layout in frame.layouts:
        first = len(layout.columns) if layout.kind in whole or layout.background else seen.get(layout.kind, 0)
        texts = zip(layout.columns, layout.types, layout.attribute_types, strict=True)
        for place, (column, *types) in enumerate(texts):
            (unread if place >= first and types == [_TEXT, _TEXT] else read).add(column)
    return frozenset(unread - read)
