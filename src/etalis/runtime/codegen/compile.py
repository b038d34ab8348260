"""From the wired plan to Python functions: one per kind of event, straight-line code over dictionary stores.

One emission path for every operator: probe the other side's store (`joins`), join, relation, window, absence,
condition, policy, consume, hull, hand on. A reader that only stores or reports is written in line; one that probes
becomes a function of its own when reached from another probe.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, assert_never

from etalis.data.values import format_atom
from etalis.plan import algebra as p
from etalis.plan.retention import NEVER_STORED
from etalis.runtime.codegen.absences import Absences
from etalis.runtime.codegen.branches.asked_values import asked_values
from etalis.runtime.codegen.branches.branch_writer import BranchWriter, unpack_event
from etalis.runtime.codegen.branches.constant_index import ConstantIndex
from etalis.runtime.codegen.branches.reader_groups import ReaderGroups
from etalis.runtime.codegen.deadlines.absences_until import Deadlines
from etalis.runtime.codegen.emission import Emission
from etalis.runtime.codegen.joins.join import Joins
from etalis.runtime.codegen.joins.outer import OuterJoins
from etalis.runtime.codegen.joins.probe import JoinParts
from etalis.runtime.codegen.joins.stores import JoinStores
from etalis.runtime.codegen.joins.storing import Storing
from etalis.runtime.codegen.match_tests import MatchTests
from etalis.runtime.codegen.network import Wired, WiredReader
from etalis.runtime.codegen.operators import Operators
from etalis.runtime.codegen.ropes import spread, write_choice
from etalis.runtime.codegen.rule_code import Names, RuleCode
from etalis.runtime.codegen.source import Code
from etalis.runtime.codegen.terms import match_arguments
from etalis.runtime.operators.store import Doubles
from etalis.runtime.state import HeadKind, Raw

_NO_EVENT: frozenset[int] = frozenset()
Text = tuple[str, str, list[Any]]  # of a function: what it does, its source, its constants

MOST_TOGETHER = 4  # leaves that one function offers an event to, where they ask for something by which they are found
MOST_OPEN = 16  # leaves that one function offers an event to, where fewer than those ask


class Compiler:
    """Writes the functions of one rule set over persistent stores."""

    def __init__(self, base: RuleCode) -> None:
        self.base = base
        self.stores = JoinStores(base)
        self.absences = Absences(base, self.stores)
        self.tests = MatchTests(base, self.absences)
        self.emission = Emission(base, self.tests, self.deliver)
        self.outer = OuterJoins(base, self.stores, self.deliver)
        self.operators = Operators(base, self.stores, self.tests, self.emission)
        storing, leaving = Storing(base, self.stores, self.outer), self.operators.repetitions.write_leaving
        self.joins = Joins(
            JoinParts(base, self.stores, self.outer, storing, self.absences, self.tests, self.emission, leaving)
        )  # fmt: skip
        self.deadlines = Deadlines(base, self.absences, self.tests, self.emission)
        self.branches = BranchWriter(base, self._offer_branch, self._note_match)
        self.groups = ReaderGroups(base, self.stores, self._read_renamed)
        self.outlined: dict[int, Callable[..., Any]] = {}
        self.indexes: dict[tuple[str, int], ConstantIndex] = {}
        self.takers: dict[tuple[str, int], dict[Hashable, tuple[Callable[..., Any], Text]]] = {}  # of the fast path

    # leaves

    def processors(self) -> dict[tuple[str, int], Callable[[Raw], None]]:
        """Return per kind of event the function that offers one to all its leaves."""
        by_kind: dict[tuple[str, int], list[Wired]] = {}
        for leaf in self.base.wiring.leaves:
            if isinstance(leaf.node, p.Source):
                by_kind.setdefault((leaf.node.name, len(leaf.node.args)), []).append(leaf)
        self.leaves = by_kind
        return {kind: self.processor(kind, leaves) for kind, leaves in by_kind.items()}

    def add(self, leaf: Wired) -> tuple[p.Kind, Callable[[Raw], None]]:
        """Return the kind of a leaf that came later, and the function that offers it to all leaves of its kind."""
        assert isinstance(leaf.node, p.Source)
        kind = (leaf.node.name, len(leaf.node.args))
        leaves = self.leaves.setdefault(kind, [])
        leaves.append(leaf)
        self.takers.pop(kind, None)
        index = self.indexes.get(kind)
        if index is None:
            return kind, self.processor(kind, leaves)
        branch, anew = self.branches.write(kind, leaf)
        index.add(branch, anew=anew)
        return kind, index.offer

    def begins(self, leaf: Wired) -> bool:
        """Tell whether a leaf is the first of several that read a kind of event."""
        assert isinstance(leaf.node, p.Source)
        several = self.leaves[leaf.node.name, len(leaf.node.args)]
        return several[0] is leaf and len(several) > 1

    def remove(self, leaf: Wired) -> tuple[p.Kind, Callable[[Raw], None] | None]:
        """Return the kind of a leaf that is gone, and the function that offers it to those left, if there are any."""
        assert isinstance(leaf.node, p.Source)
        kind = (leaf.node.name, len(leaf.node.args))
        leaves = self.leaves[kind] = [other for other in self.leaves[kind] if other is not leaf]
        self.takers.pop(kind, None)
        self.base.floats.remove(leaf)
        index = self.indexes.get(kind)
        if not leaves:
            del self.leaves[kind]
            self.indexes.pop(kind, None)
            return kind, None
        if index is None:
            return kind, self.processor(kind, leaves)
        index.remove(leaf)
        return kind, index.offer

    def rewrite(self, leaves: Sequence[Wired], parts: Sequence[Wired]) -> list[tuple[p.Kind, Callable[[Raw], None]]]:
        """Write what leaves do anew, and what the parts above them do; return what offers them events now."""
        for part in parts:
            for place in range(2):
                self.outlined.pop(id(part) * 2 + place, None)
        self.groups.forget(parts)
        changed: dict[p.Kind, Callable[[Raw], None]] = {}
        for leaf in leaves:
            assert isinstance(leaf.node, p.Source)
            kind = (leaf.node.name, len(leaf.node.args))
            self.takers.pop(kind, None)
            index = self.indexes.get(kind)
            if index is not None:
                branch, anew = self.branches.write(kind, leaf)
                index.replace(branch, anew=anew)
            elif kind not in changed:
                changed[kind] = self.processor(kind, self.leaves[kind])
        return list(changed.items())

    def processor(self, kind: tuple[str, int], leaves: list[Wired]) -> Callable[[Raw], None]:
        """Return the function that offers one event to its leaves, left to right; of many, to those that may match."""
        if not _are_indexed(leaves):
            return self._offer_all(kind, leaves)
        index = self.indexes[kind] = self._index(kind, leaves)
        return index.offer

    def apart(self, kind: tuple[str, int], leaves: list[Wired]) -> Callable[[Raw], None]:
        """Return a function that offers one event to some leaves of its kind alone; nothing else knows of it."""
        return self._index(kind, leaves).offer if _are_indexed(leaves) else self._offer_all(kind, leaves)

    def _index(self, kind: tuple[str, int], leaves: list[Wired]) -> ConstantIndex:
        branches = [self.branches.write(kind, leaf)[0] for leaf in leaves]
        return ConstantIndex(kind, self.base.evidence, self.base.heads.last, branches)

    def _offer_all(self, kind: tuple[str, int], leaves: list[Wired]) -> Callable[[Raw], None]:
        code = Code(["raw"])
        code.add(unpack_event(code, kind[1], parts=self.base.heads.parts))
        code.begin_event()
        parameters = [f"x{i}" for i in range(kind[1])]
        for leaf in leaves:
            self.offer(code, leaf, parameters, "t1", "t2")
        return self.base.finish(code, f"{format_atom(kind[0])}/{kind[1]}")

    def offer(self, code: Code, leaf: Wired, parameters: Sequence[str], t1: str, t2: str) -> None:
        """Write the code that matches an instance against a leaf's pattern and hands it on."""
        with self._matching(code, leaf, parameters) as names:
            self.deliver(code, leaf, names, t1, t2)

    def _offer_branch(self, code: Code, leaf: Wired, parameters: Sequence[str]) -> None:
        self.offer(code, leaf, parameters, "t1", "t2")

    def _note_match(self, code: Code, leaf: Wired, parameters: Sequence[str]) -> None:
        """Write that a leaf's pattern has matched, and nothing else."""
        with self._matching(code, leaf, parameters):
            code(f"{code.constant(self.base.evidence.part(leaf.key))}.seen = True")

    @contextmanager
    def _matching(self, code: Code, leaf: Wired, parameters: Sequence[str]) -> Iterator[Names]:
        """Begin the block for an event that a leaf's pattern matches; give what it binds."""
        assert isinstance(leaf.node, p.Source)
        wanted = set(leaf.node.exports)
        test, names = match_arguments(code, leaf.node.args, parameters, wanted)
        names.update(self.marks(code, leaf.node.exports))
        code.probes = 0
        if test:
            came = self.base.evidence.kind((leaf.node.name, len(leaf.node.args)))
            code(f"{code.constant(came)}.seen = True")
            with code.block(f"if {test}:"):
                yield names
        else:
            yield names

    def marks(self, code: Code, exports: Sequence[str]) -> Names:
        """Return the marks an instance starts with: what it is made of, itself."""
        found = {}
        if "$parts" in exports:
            found["$parts"] = code.rope
        if "$one" in exports:
            found["$one"] = f"frozenset(({code.constant(self.base.state)}.current,))"
        if "$ids" in exports:
            found["$ids"] = f"frozenset(({code.constant(self.base.state)}.current,))"
        return found

    # handing on

    def deliver(self, code: Code, entry: Wired, names: Names, t1: str, t2: str) -> None:
        """Write the code that hands a match to all readers of an entry."""
        heads = [r for r in entry.readers if r.kind == "head"]
        others = [r for r in entry.readers if r.kind != "head"]
        mark = self.base.evidence.part(entry.key)
        if heads and self.makes_at(entry) is None:
            code(f"{code.constant(mark)}.seen = True")
        self.groups.write(code, entry, others, names, t1, t2)
        if not heads and self.waits_at(entry) is None:  # behind its readers: where these return a match, that says it
            code(f"{code.constant(mark)}.seen = {self.key_of(entry, names)}")
        if heads:
            made = [(r.target, self.base.floats.write_values(code, entry, r, _renamed(names, r))) for r in heads]
            self.base.heads.emit(code, made, t1, t2)

    def _read_renamed(self, code: Code, reader: WiredReader, child: Wired, names: Names, t1: str, t2: str) -> None:
        self.read(code, reader, child, _renamed(names, reader), t1, t2)

    def makes_at(self, entry: Wired) -> HeadKind | None:
        """Return the kind of every event that matches of an entry become, which is a mark; None if there is none."""
        for reader in entry.readers if self.base.evidence.by_stores else ():
            if reader.kind == "head" and reader.target.head.alarm is None and self.base.heads.is_lone(reader.target):
                return self.base.heads.kind(reader.target)
        return None

    def key_of(self, entry: Wired, names: Names) -> str:
        """Return what tells one match of an entry from another where it is joined: the first variable of the key."""
        reader = entry.readers[0]
        if reader.kind != "input" or not isinstance(reader.target.node, p.Join):
            return "True"
        keys = self.stores.shared_key(reader.target)
        return _renamed(names, reader)[keys[0]] if keys else "True"

    def waits_at(self, entry: Wired) -> dict[Any, Any] | None:
        """Return a store that every match of an entry comes to, which is a mark already; None if there is none."""
        for reader in entry.readers if self.base.evidence.by_stores else ():
            if reader.kind == "input" and isinstance(reader.target.node, p.Join):
                keeps = self.stores.retention(reader.target, reader.place) != NEVER_STORED
                if keeps and not self.stores.probes(reader.target, reader.place):
                    return self.stores.side(reader.target, reader.place)
        return None

    def read(self, code: Code, reader: WiredReader, child: Wired, names: Names, t1: str, t2: str) -> None:
        """Write what one reader does with a match, in line or as a call."""
        target: Wired = reader.target
        if reader.kind == "negated":
            self.absences.block(code, target, reader.place, child, names, t1, t2)
            return
        match target.node:
            case p.Join():
                if self.stores.probes(target, reader.place) and code.probes:
                    code.queues = True
                    values = spread(names)
                    given = [values[v] for v in self.stores.passed(target, reader.place)]
                    code(f"{code.constant(self.outline(target, reader.place))}({', '.join([*given, t1, t2])})")
                else:
                    self.joins.write(code, target, reader.place, names, t1, t2)
            case p.Filter():
                self.filter(code, target, names, t1, t2)
            case p.Union():
                self.unite(code, target, child, reader.place, names, t1, t2)
            case p.Fold() if reader.place == len(target.inputs) - 1:
                self.operators.folds.take(code, target, names, t1, t2)
            case p.Repetition() if self.operators.repetitions.takes(target, reader.place):
                self.operators.repetitions.take(code, target, reader.place, names, t1, t2)
            case p.Deadline():
                self.deadlines.wait(code, target, names, t1, t2)
            case p.SomeOf() | p.Repetition() | p.Fold():
                code.queues = True
                arguments = [names[v] for v in self.operators.columns(target, reader.place)]
                code(f"{code.constant(self.operators.method(target, reader.place))}({', '.join([*arguments, t1, t2])})")
            case p.Source() | p.Tick():
                raise AssertionError("a leaf reads nothing")
            case _:
                assert_never(target.node)

    def outline(self, join: Wired, place: int) -> Callable[..., Any]:
        """Return the function for one side of a join."""
        key = id(join) * 2 + place
        if key not in self.outlined:
            self.outlined[key] = self.base.finish(self.joins.outline(join, place), "join")
        return self.outlined[key]

    def filter(self, code: Code, entry: Wired, names: Names, t1: str, t2: str) -> None:
        """Write a filter: the tests, then the readers."""
        names = dict(names)
        firm = self.stores.sure_of_pairs(entry.inputs[0]) if code.pair is entry.inputs[0] else entry.inputs[0].sure
        passing = self.tests.write(code, entry, names, firm, t1, t2, t1, t2, None)
        self.emission.guarded(code, entry, passing, names, t1, t2)

    def unite(
        self, code: Code, entry: Wired, child: Wired, branch: int, names: Names, t1: str, t2: str
    ) -> None:  # fmt: skip
        """Write a union: unbound variables become None; one event in two alternatives is one match."""
        full = {v: names.get(v, "None") for v in entry.node.exports}
        if "$parts" in full:
            full["$parts"] = write_choice(branch, full["$parts"])
        if "$one" in full and "$one" not in names:
            full["$one"] = code.constant(_NO_EVENT)
        if not self.base.may_double(child, entry):
            self.deliver(code, entry, full, t1, t2)
            return
        seen = self.base.remember(entry, "seen", Doubles)
        values = "".join(f"{full[v]}, " for v in entry.node.exports if v[0] != "$")
        key = f"({values}{t1}, {t2})"  # an alternative may also hold pairs that end with the event
        with code.block(f"if {code.constant(seen)}.new({code.constant(self.base.state)}.current, {key}):"):
            self.deliver(code, entry, full, t1, t2)


def _are_indexed(leaves: Sequence[Wired]) -> bool:
    """Tell whether an index finds which of some leaves an event comes to, or else it is offered to one by one."""
    if len(leaves) <= MOST_TOGETHER or len(leaves) > MOST_OPEN:
        return len(leaves) > MOST_TOGETHER
    return sum(asked_values(leaf).is_any for leaf in leaves) > MOST_TOGETHER


def _renamed(names: Names, reader: WiredReader) -> Names:
    return {reader.renames.get(v, v): e for v, e in names.items()} if reader.renames else dict(names)
