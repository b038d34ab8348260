"""Rules as tables of numbers, which the machine reads.

Every node of every rule is a row; lists of any length (checks, moves, keys, code) stand in one tape, and rows say
where. The slots of an instance are what its node exports, in that order, then what only its own tests ask for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.data.columns import Integers
from etalis.columnar.kernels.matching import Matching
from etalis.columnar.recursion import opcodes as t
from etalis.columnar.recursion.assemble import encode
from etalis.columnar.recursion.encoding import TYPES, Texts
from etalis.language.syntax import Const, Var
from etalis.plan import algebra as p
from etalis.plan.retention import shared_names, window_of
from etalis.plan.types import Typing

Kind: TypeAlias = tuple[str, int]
_WHERE = {"gap": t.GAP, "inside": t.INSIDE, "before": t.BEFORE}


@dataclass(frozen=True, slots=True)
class Question:
    """A condition that may be asked for: the goal, its rule, and where an instance has what it asks and binds."""

    goal: p.Condition
    rule: str
    slots: Mapping[str, int]
    types: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """What waits somewhere: the node's slots by name, and which of them with what types are its key."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    key: tuple[str, ...]


@dataclass(slots=True)
class Lowering:
    """Tables in the making."""

    types: Typing
    kinds: Sequence[Kind]
    texts: Texts
    nodes: list[Any] = field(default_factory=list)
    tests: list[Any] = field(default_factory=list)
    heads: list[Any] = field(default_factory=list)
    tape: list[int] = field(default_factory=list)
    leaves: dict[Kind, list[int]] = field(default_factory=dict)
    questions: dict[int, Question] = field(default_factory=dict)
    stores: dict[tuple[int, int], StoreLayout] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)  # of the stores of joins and absences, by their identity
    depth: int = 1
    width: int = 1
    rule: str = ""

    def add_rule(self, head: p.Head, number: int) -> None:
        """Write a rule."""
        self.rule = head.label
        kind = head.kind
        body, slots = self._add(head.body, 1)
        words: list[int] = []
        for arg, place in zip(head.event.args, self.types[kind], strict=True):
            match arg:
                case Var(name=name):
                    words += [slots[name], 0]
                case Const(value=value):
                    word = self.texts.word(value, place)
                    assert word is not None
                    words += [-1, word]
                case _:
                    raise AssertionError("refused before")
        self._read(body, t.HEAD, len(self.heads), 0)
        self.heads.append((self.kinds.index(kind), number, self._put(words)))

    def table_of_kinds(self) -> Integers:
        """Return, by kind, where its leaves are listed, its arity and the types of its attributes."""
        most = max(arity for _, arity in self.kinds)
        rows = np.zeros((len(self.kinds), 2 + most), np.int64)
        for row, kind in zip(rows, self.kinds, strict=True):
            row[:2] = self._list(self.leaves.get(kind, [])), kind[1]
            row[2 : 2 + kind[1]] = [TYPES.get(type_, t.NOTHING) for type_ in self.types[kind]]
        return rows

    def _put(self, numbers: Sequence[int]) -> int:
        self.tape.extend(numbers)
        return len(self.tape) - len(numbers)

    def _list(self, numbers: Sequence[int]) -> int:
        """Put a list with its length before it."""
        return self._put([len(numbers), *numbers])

    def _read(self, child: int, reader: int, by: int, place: int) -> None:
        self.nodes[child][t.READER], self.nodes[child][t.READ_BY], self.nodes[child][t.PLACE] = reader, by, place

    def _add(self, node: p.Node, depth: int) -> tuple[int, dict[str, int]]:
        """Write a node and all below it; return its row, and its slots by name."""
        self.depth = max(self.depth, depth + 1)
        known = {**self.types.variables(node), "$first": "int", "$last": "int"}
        number = len(self.nodes)
        row = np.zeros(t.NODE_FIELDS, np.int64)
        self.nodes.append(row)
        slots = {name: i for i, name in enumerate(_layout(node))}
        self.width = max(self.width, len(slots))
        row[t.WIDTH] = len(node.exports)
        match node:
            case p.Source():
                self._source(node, number)
            case p.Join():
                self._join(node, number, slots, known, depth)
            case p.Filter(child=child):
                row[t.KIND] = t.FILTER
                self._lift(child, number, slots, depth)
            case p.Union(branches=branches):
                row[t.KIND] = t.UNION
                for branch in branches:
                    self._lift(branch, number, slots, depth)
            case _:
                raise AssertionError("refused before")
        row[t.TESTS] = self._list([self._test(test, node, slots, known) for test in p.tests(node)])
        return number, slots

    def _source(self, node: p.Source, number: int) -> None:
        row = self.nodes[number]
        row[t.KIND] = t.SOURCE
        kind = (node.name, len(node.args))
        first: dict[str, int] = {}
        checks: list[int] = []
        for place, (arg, type_) in enumerate(zip(node.args, self.types[kind], strict=True)):
            match arg:
                case Var(name=name) if name not in first:
                    first[name] = place
                case Var(name=name):
                    checks += [place, TYPES[type_], t.PLACE_OF, first[name]]
                case Const(value=value):
                    word = self.texts.word(value, type_)
                    if type_ == "float" and word == t.MINUS_ZERO:
                        word = 0
                    checks += [place, TYPES[type_], *((t.NO_VALUE, 0) if word is None else (t.VALUE, word))]
                case _:
                    raise AssertionError("refused before")
        row[t.CHECKS] = self._put([len(checks) // 4, *checks])
        row[t.MOVES] = self._put([first[v] for v in node.exports])
        self.leaves.setdefault(kind, []).append(number)

    def _lift(self, child: p.Node, reader: int, slots: Mapping[str, int], depth: int) -> None:
        """Write a child whose instances its reader takes as its own, slot by slot."""
        number, below = self._add(child, depth)
        self._read(number, t.INPUT, reader, 0)
        self.nodes[number][t.LIFT] = self._list([below.get(v, 0) for v in slots])

    def _join(
        self, node: p.Join, number: int, slots: Mapping[str, int], known: Mapping[str, str], depth: int
    ) -> None:  # fmt: skip
        row = self.nodes[number]
        how = Matching.of(node.relation, node.policy, window_of(node.tests))
        row[t.KIND] = t.JOIN
        self.numbers[id(node)] = number
        row[t.SELECT], row[t.CONSUME], row[t.KEEP] = how.select, how.consume, how.keep
        row[t.OCCURS], row[t.WITHIN] = how.occurs_on, how.window
        row[t.RETAIN], row[t.RETAIN_RIGHT] = how.retain
        row[t.RELATION] = how.relation
        key = shared_names(node)
        sides = []
        for place, child in enumerate((node.left, node.right)):
            below, theirs = self._add(child, depth + 1)
            self._read(below, t.INPUT, number, place)
            sides.append(theirs)
            row[t.KEY_OF + place] = self._key(key, theirs, known)
            types = tuple(known.get(v, "int") for v in child.exports)
            self.stores[number, place] = StoreLayout(child.exports, types, key)
        for place in (0, 1):
            row[t.MERGE + place] = self._merge(node, place, slots, sides)

    def _key(self, key: Sequence[str], slots: Mapping[str, int], known: Mapping[str, str]) -> int:
        return self._put([len(key), *(x for v in key for x in (slots[v], TYPES[known[v]]))])

    def _merge(self, node: p.Join, place: int, slots: Mapping[str, int], sides: Sequence[Mapping[str, int]]) -> int:
        """Write where a pair has its words from: what both sides have, from the one that came last."""
        moves: list[int] = [len(slots)]
        children = (node.left, node.right)
        for name in slots:
            sources = [i for i in (place, 1 - place) if name in children[i].exports]
            if node.relation.sequential and name in ("$first", "$last"):
                sources = [i for i in sources if i == (name == "$last")]
            if sources:
                moves += [t.OF_ARRIVED if sources[0] == place else t.OF_WAITING, sides[sources[0]][name]]
            else:
                moves += [{"$first": t.END_OF_LEFT, "$last": t.START_OF_RIGHT}.get(name, t.NOTHING), 0]
        return self._put(moves)

    def _test(self, test: p.Test, node: p.Node, slots: Mapping[str, int], known: Mapping[str, str]) -> int:
        number = len(self.tests)
        row = np.full(t.TEST_FIELDS, -1)
        self.tests.append(row)
        match test:
            case p.Window(duration=duration):
                row[t.T_KIND], row[t.T_WINDOW] = t.WINDOW, duration
            case p.GoalTest() | p.Prefilter():
                code = encode(test, known, slots, self.texts)
                row[t.T_KIND] = t.ASK if code is None else t.CODE
                row[t.T_AT] = self._put(code or [])
                self.questions[number] = Question(test, self.rule, slots, known)
            case p.Absent(kind=kind, node=absent, joined=joined, window=window):
                keep = window if kind == "before" else window_of(p.tests(node))
                row[t.T_KIND], row[t.T_WHERE] = t.ABSENT, _WHERE[kind]
                row[t.T_STORE] = self.numbers[id(test)] = -2 - number
                row[t.T_KEY] = self._key(joined, slots, known)
                row[t.T_OWN] = self._key(joined, {v: i for i, v in enumerate(joined)}, known)
                row[t.T_FIRST], row[t.T_LAST] = slots.get("$first", -1), slots.get("$last", -1)
                row[t.T_WINDOW] = -1 if window is None else window
                row[t.T_KEEP] = -1 if keep is None else keep
                below, theirs = self._add(absent, 1)
                self._read(below, t.BLOCKER, number, 0)
                self.nodes[below][t.LIFT] = self._key(joined, theirs, known)
                self.stores[-2 - number, 0] = StoreLayout(joined, tuple(known[v] for v in joined), joined)
            case _:
                raise AssertionError("refused before")
        return number


def _layout(node: p.Node) -> tuple[str, ...]:
    """Return the names of an instance's slots: what a node exports, then what its tests alone ask for."""
    names = list(node.exports)
    for test in p.tests(node):
        match test:
            case p.GoalTest(inputs=inputs, outputs=outputs) | p.Prefilter(inputs=inputs, outputs=outputs):
                names += [*inputs, *outputs]
            case p.Absent(kind=kind, joined=joined):
                names += [*joined, *(("$first", "$last") if kind == "gap" else ())]
            case _:
                pass
    return tuple(dict.fromkeys(names))
