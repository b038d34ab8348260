"""The branches of rules: what is done with an event by each leaf that reads it, and with all that follows.

Each is written like the others of its shape (`shapes`), with what it asks for (`asked_values`), by which it is found
(`constant_index`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

from etalis.data.values import format_atom
from etalis.plan import algebra as p
from etalis.plan.bindings import NodeShape
from etalis.runtime.codegen.branches.asked_values import AskedValues, asked_values
from etalis.runtime.codegen.branches.levels import RuleBranch
from etalis.runtime.codegen.branches.shapes import FIRST_NAME, BranchShapes
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.rule_code import RuleCode
from etalis.runtime.codegen.source import Code

Write = Callable[[Code, Wired, Sequence[str]], None]  # what a leaf does with an event (t1, t2) of these attributes


def unpack_event(code: Code, arity: int, *, parts: bool) -> list[str]:
    """Return the lines that give `raw`, an event, its names: t1, t2, x0, x1, ..."""
    parameters = [f"x{i}" for i in range(arity)]
    if not parts:
        return [f"({', '.join(['t2', 't1', '_', *parameters])}) = raw"]
    code.rope = "rope"
    return [
        f"({', '.join(['t2', 't1', 'kind', *parameters, '*rope'])}) = raw",
        "rope = rope[0] if kind is None else raw",  # a derived event is a piece of what follows from it
    ]


class BranchWriter:
    """Writes the branches of a rule set; `offer` writes what a leaf does, `note` that its pattern has matched."""

    def __init__(self, base: RuleCode, offer: Write, note: Write) -> None:
        self._base = base
        self._offer = offer
        self._note = note
        self._shapes: dict[p.Kind, BranchShapes] = {}
        self._marked: dict[Hashable, Wired] = {}  # of each pattern a leaf that tells whether it has matched
        self._markers: dict[int, RuleBranch] = {}

    def write(self, kind: p.Kind, leaf: Wired) -> tuple[RuleBranch, bool]:
        """Return the branch of a leaf, and whether those of other leaves have more slots now."""
        asked = asked_values(leaf)
        marker = None
        if asked.is_conditional:  # then its only reader is a filter
            mark_of = self._marked_with(kind if asked.is_plain else NodeShape().node(leaf.node), leaf)
            marker = None if asked.is_plain else partial(self._marker, kind, mark_of)
        branch, grows = self._branch(kind, leaf, asked, self._offer)
        branch.marker = marker
        return branch, grows

    def _marked_with(self, key: Hashable, leaf: Wired) -> Wired:
        """Return the leaf of which the mark is that of a leaf: one that matches alike, if neither has matched yet."""
        found = self._marked.get(key)
        if found is None or not self._base.evidence.mark_together(leaf.key, found.key):
            found = self._marked[key] = leaf
        return found

    def _marker(self, kind: p.Kind, leaf: Wired) -> RuleBranch:
        """Return what notes that a pattern has matched, where no event comes to it whose conditions fail."""
        if id(leaf) not in self._markers:
            marker, _ = self._branch(kind, leaf, AskedValues(asked_values(leaf).pattern), self._note)
            marker.shape.fit_all()
            self._markers[id(leaf)] = marker
        return self._markers[id(leaf)]

    def _branch(self, kind: p.Kind, leaf: Wired, asked: AskedValues, write: Write) -> tuple[RuleBranch, bool]:
        code = Code([])
        code.fresh_names = FIRST_NAME
        begin = unpack_event(code, kind[1], parts=self._base.heads.parts)
        code.begin_event()
        write(code, leaf, [f"x{i}" for i in range(kind[1])])
        if kind not in self._shapes:
            self._shapes[kind] = BranchShapes(self._base, f"{format_atom(kind[0])}/{kind[1]}", begin)
        shape, grows = self._shapes[kind].find(code)
        branch = RuleBranch(leaf, asked, shape, code.objects)
        if asked.is_one_constant:
            branch.mark = self._base.evidence.part(leaf.key)
            ((place, value),) = asked.pattern.items()
            marks = (branch.mark, self._base.evidence.kind(kind))
            shape.told = {f"{code.names.get(id(mark))}.seen = True": "pass" for mark in marks}
            shape.told[f"if x{place} == {code.names.get(id(value))}:"] = "if True:"
        elif asked.is_interval and shape.lines[0].startswith("if "):  # of the only reader, before all that it does
            shape.told = {shape.lines[0]: "if True:"}
        return branch, grows
