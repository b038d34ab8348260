"""How an event is offered to the branches that an index finds for it, in generated code.

Where one table or one bisection finds them all, that is in line, and so is what a branch does where all are of one
shape. What they make is gathered, where nothing follows from it. Law: this is `ConstantIndex.offer`, written out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from etalis.plan import algebra as p
from etalis.plan.keys import Kind
from etalis.runtime.codegen.branches.asked_values import NUMBERS
from etalis.runtime.codegen.branches.constant_index import ConstantIndex
from etalis.runtime.codegen.branches.levels import Level, Limit, ValueTable
from etalis.runtime.codegen.branches.segments import Segments
from etalis.runtime.codegen.branches.shapes import NOTHING, BranchShape, Hit
from etalis.runtime.codegen.fast_path.inputs import MatchOutput, places
from etalis.runtime.codegen.fast_path.offering import Offering
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.source import Code
from etalis.runtime.state import sort_round

_DECLARED_NUMBERS = frozenset(("int", "float", "time"))


class IndexedOffer:
    """Writes how events come to the branches of their kind, for one rule set."""

    def __init__(self, events: Offering) -> None:
        self.events = events
        self.indexes = events.compiler.indexes

    def index(self, kind: Kind) -> ConstantIndex | None:
        """Return the index that events of a kind come to, if that is all that is done with them."""
        found, rules = self.indexes.get(kind), self.events.rules
        own = kind in rules.learned or kind in rules.spied or rules.log is not None
        return None if own else found

    def write(self, output: MatchOutput, kind: Kind, index: ConstantIndex) -> None:
        """Write that an instant is offered, and what that causes handed out."""
        code, events = output.code, self.events
        gathers = self._gathers(kind, index)
        if gathers:
            code("found = ()")
        self.offer(code, kind, index, gathers=gathers)
        code.queues = not gathers
        events.hand_out(output, ["found"] if gathers else [])
        code(output.done)

    def offer(self, code: Code, kind: Kind, index: ConstantIndex, *, gathers: bool = False) -> None:
        """Write that an instant is offered; what the branches make is gathered in `found`, or else queued."""
        parameters, level = places(kind[1]), index.level
        rope = [code.rope] if self.events.rules.traced else []
        raw = f"({', '.join(['t', 't', 'None', *parameters, *rope])})"
        code(f"{code.constant(index.mark)}.seen = True")
        key, part = next(iter(level.parts.items()), (None, None))
        numbers = {key[1]} if key is not None and isinstance(part, Segments) else set()
        if len(level.parts) != 1 or level.open or set(level.numbers) != numbers:
            code(f"raw = {raw}")
            code(f"hits = {code.constant(level.find)}(raw)")
        elif isinstance(part, ValueTable):
            self._offer_by_value(code, index, part, parameters, raw, gathers=gathers)
            return
        elif isinstance(part, Segments) and key is not None:
            self._offer_by_number(code, index, part, parameters[key[1]], raw, gathers=gathers)
            return
        with code.block("if hits:"):
            self._take(code, index, raw, gathers=gathers)

    def _offer_by_value(
        self, code: Code, index: ConstantIndex, table: ValueTable, parameters: Sequence[str], raw: str, *, gathers: bool
    ) -> None:
        """Write that an instant is offered to what is found by a value, if it is not beyond the limit of all."""
        value = parameters[table.place]
        told = table.is_told and index.shape is not None
        limit = table.limit if told or table.is_plain else None
        unmet = code.constant(table.unmet)
        meet = [f"if {unmet} and {value} in {unmet}: {code.constant(table.meet)}({value})"] if told else []
        if limit is None:
            self._look_up(code, table, value, raw)
            with code.block("if hits:"):
                code.add(meet)
                self._take(code, index, raw, gathers=gathers, told=told)
            return
        code.add(meet)
        with code.block(f"if {self._is_within(code, index, limit)}:"):
            self._look_up(code, table, value, raw)
            with code.block("if hits:"):
                self._take(code, index, raw, gathers=gathers, told=told)

    def _is_within(self, code: Code, index: ConstantIndex, limit: Limit) -> str:
        """Return the test whether an event is not beyond a limit."""
        name, arity = index.kind
        given, signature = places(arity), self.events.rules.program.signatures.get(name, ())
        declared = len(signature) == arity
        others = [n for n in sorted(limit.numbers) if not (declared and signature[n][1] in _DECLARED_NUMBERS)]
        tests = [f"type({given[n]}) not in {code.constant(NUMBERS)}" for n in others]
        comparison = ">=" if limit.side == "above" else "<="
        return " or ".join([*tests, f"{given[limit.place]} {comparison} {code.constant(limit.bound)}"])

    def _look_up(self, code: Code, table: ValueTable, value: str, raw: str) -> None:
        code(f"hits = {code.constant(table.values.get)}({value})")
        if table.levels:
            with code.block(f"if type(hits) is {code.constant(Level)}:"):
                code(f"hits = hits.find({raw})")

    def _offer_by_number(
        self, code: Code, index: ConstantIndex, segments: Segments[Hit], value: str, raw: str, *, gathers: bool
    ) -> None:
        """Write that an instant is offered to what a bisection finds; what is no number comes to all."""
        told = index.proven is segments
        with code.block(f"if type({value}) in {code.constant(NUMBERS)}:"):
            code(f"place = {code.constant(bisect_right)}({code.constant(segments.points)}, {value})")
            code(f"hits = {code.constant(segments.found)}[place]")
            with code.block("if hits is None:"):
                code(f"hits = {code.constant(segments.put_together)}(place)")
            if told:
                with code.block("if hits:"):
                    self._take(code, index, raw, gathers=gathers, told=True)
                code("hits = ()")
        with code.block("else:"):
            code(f"hits = {code.constant(index.level.all)}()")
        with code.block("if hits:"):
            self._take(code, index, raw, gathers=gathers)

    def _take(self, code: Code, index: ConstantIndex, raw: str, *, gathers: bool, told: bool = False) -> None:
        """Write what the branches do that are found; `told` says that their patterns match."""
        shape, rules = index.shape, self.events.rules
        if shape is None:
            code(f"raw = {raw}")
            with code.block("for hit in hits:"):
                code("hit[1](raw, hit)")
            return
        code("t1 = t2 = t")
        if rules.traced:
            code(f"rope = {code.rope}")
        known, last = shape.told if told else NOTHING, code.constant(rules.heads.last)
        if not gathers:
            code(f"{last}.open(t)")
            with code.block("for hit in hits:"):
                shape.write(code, {}, known)
            return
        instead, is_kept = {id(self.events.queue): "found"}, not rules.settings.corrects and rules.record is None
        if shape.of_first and is_kept:
            with code.block(f"if {last}.stamp != t:"):
                code.add([f"{last}.stamp = t", f"{last}.found = found = []"])
                with code.block("for hit in hits:"):
                    shape.write(code, instead, {**known, **shape.of_first})
            with code.block("else:"):
                code(f"if {last}.found: {last}.note()")
                self._take_each(code, shape, instead, known)
        else:
            self._take_each(code, shape, instead, known)
        with code.block("if len(found) > 1:"):
            code(f"{code.constant(sort_round)}(found)")

    def _take_each(self, code: Code, shape: BranchShape, instead: Mapping[int, str], known: Mapping[str, str]) -> None:
        """Write what the branches do that are found, where each may have made the same at the stamp."""
        code("found = []")
        with code.block("for hit in hits:"):
            shape.write(code, instead, known)

    def _gathers(self, kind: Kind, index: ConstantIndex) -> bool:
        """Tell whether nothing follows from what branches make, which is all of one shape and written in line."""
        leaves = self.events.leaves[kind]
        if index.shape is None or not _is_filtered(leaves[0]) or self.events.rules.numbered:
            return False
        if self.events.ends_all:
            return True
        return not any(rule.head.hidden or self.events.follows(rule) for rule in self.events.heads_of(leaves))


def _is_filtered(leaf: Wired) -> bool:
    """Tell whether all that follows from events of a leaf is in the text of its branch."""
    for reader in leaf.readers:
        target = reader.target
        match reader.kind:
            case "head" if target.head.alarm is None and not target.head.actions:
                continue
            case "input" if isinstance(target.node, p.Filter) and _is_filtered(target):
                if any(isinstance(test, p.Absent | p.Alone | p.Action) for test in target.node.tests):
                    return False
            case _:
                return False
    return True
