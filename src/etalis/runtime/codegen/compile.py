"""From the wired plan to Python functions: one per kind of event, straight-line code over dictionary stores.

One emission path for every operator: probe the other side's store (`join`), join, relation, window, absence,
condition, policy, consume, hull, hand on. A reader that only stores or reports is written in line; one that probes
becomes a function of its own when reached from another probe.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, assert_never

from etalis.data.values import format_atom
from etalis.language.attributes import Signature
from etalis.language.syntax import Term
from etalis.plan import algebra as p
from etalis.plan.retention import NEVER_STORED, retention, waits_as_instant, window_of
from etalis.plan.sharing import meet
from etalis.plan.types import Typing
from etalis.runtime.codegen.conditions import Conditions
from etalis.runtime.codegen.heads import Heads
from etalis.runtime.codegen.join import Probe
from etalis.runtime.codegen.keys.join_keys import JoinKeys
from etalis.runtime.codegen.network import PlannedRule, Wired, WiredReader, Wiring, may_double, own_names
from etalis.runtime.codegen.operators import Special
from etalis.runtime.codegen.passing import Passing
from etalis.runtime.codegen.plain_floats import PlainFloats
from etalis.runtime.codegen.ropes import spread, together, with_slots, write_choice
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.runtime.codegen.terms import match_arguments
from etalis.runtime.operators import store as stores
from etalis.runtime.operators.base import Emit
from etalis.runtime.operators.blockers import EventLog
from etalis.runtime.reporting.evidence import Evidence
from etalis.runtime.state import Made, Raw, State
from etalis.temporal.rope import Rope

Names = dict[str, str]  # variable -> Python expression (a local name)


class Compiler:
    """Writes the functions of one rule set over persistent stores."""

    def __init__(
        self, wiring: Wiring, state: State, memory: dict[Any, Any], conditions: Conditions, heads: Heads,
        evidence: Evidence, infer: Callable[[], Typing], declared: Mapping[str, Signature],
        computed: Collection[p.Kind], levels: Mapping[Hashable, int],
    ) -> None:  # fmt: skip
        self.wiring = wiring
        self.state = state
        self.memory = memory
        self.conditions = conditions
        self.heads = heads
        self.evidence = evidence
        self.infer = infer
        self.computed = computed
        self.levels = levels  # of outer joins, by the ids of their nodes
        self.told = sys.maxsize  # elements of an aggregate that a match tells
        self._typing: Typing | None = None
        self._types: dict[int, Mapping[str, str]] = {}
        self.outlined: dict[int, Callable[..., Any]] = {}
        self.sources: list[tuple[str, str, list[Any]]] = []  # what it does, text and constants of every function
        self.special = Special(self)
        self.floats = PlainFloats(wiring, self.types, declared)

    def remember(self, entry: Wired, name: str, make: Callable[[], Any]) -> Any:
        """Return the part of an entry's state under a name, made on first use and kept while the rule lives."""
        key = (entry.key, name)
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]

    def types(self, entry: Wired) -> Mapping[str, str]:
        """Return the types of the variables of an entry's matches, after all its tests.

        A value is of its type, null, or None where it is not bound; `term` is any value.
        """
        if id(entry) not in self._types:
            if self._typing is None:
                self._typing = self.infer()
            self._types[id(entry)] = self._typing.variables(entry.node)
        return self._types[id(entry)]

    def log(self) -> EventLog | None:
        """Return the log of all events, if the program isolates anything."""
        several = [p.tests(e.node) for e in self.wiring.entries]
        windows = [window_of(tests) for tests in several if any(isinstance(t, p.Alone) for t in tests)]
        if not windows:
            return None
        log: EventLog = self.memory.setdefault("log", EventLog())
        bounded = [window for window in windows if window is not None]
        log.keep = max(bounded) if len(bounded) == len(windows) else None
        return log

    def meets_itself(self, entry: Wired) -> bool:
        """Tell whether one event may come to both sides of an operator that keeps the newest (definition 12.14)."""
        node = entry.node
        if not isinstance(node, p.Join | p.Repetition) or node.policy.keep != "newest" or len(entry.inputs) < 2:
            return False
        return meet(*p.children(node))

    def reads_numbers(self) -> bool:
        """Tell whether anything asks which event is being offered."""
        return self.has_doubles() or any(map(self.meets_itself, self.wiring.entries))

    def has_doubles(self) -> bool:
        """Tell whether one event may match two alternatives of an `or`."""
        unions = [e for e in self.wiring.entries if isinstance(e.node, p.Union)]
        return any(may_double(child, union) for union in unions for child in union.inputs)

    def finish(self, code: Code, what: str) -> Callable[..., Any]:
        """Compile a function and keep its text for `explain`."""
        self.sources.append((what, code.source(), code.objects))
        return code.function()

    # leaves

    def processors(self) -> dict[tuple[str, int], Callable[[Raw], None]]:
        """Return per kind of event the function that offers one to all its leaves."""
        by_kind: dict[tuple[str, int], list[Wired]] = {}
        for leaf in self.wiring.leaves:
            if isinstance(leaf.node, p.Source):
                by_kind.setdefault((leaf.node.name, len(leaf.node.args)), []).append(leaf)
        return {kind: self.processor(kind, leaves) for kind, leaves in by_kind.items()}

    def processor(self, kind: tuple[str, int], leaves: list[Wired]) -> Callable[[Raw], None]:
        """Write the function that offers one event to its leaves, left to right."""
        code = Code(["raw"])
        if len(leaves) > 4:
            for leaf in leaves:
                code(f"{code.constant(self.processor(kind, [leaf]))}(raw)")
        else:
            parameters = [f"x{i}" for i in range(kind[1])]
            if self.heads.parts:
                code.rope = "rope"
                code(f"({', '.join(['t2', 't1', 'kind', *parameters, '*rope'])}) = raw")
                code("rope = rope[0] if kind is None else raw")  # a derived event is a piece of what follows from it
            else:
                code(f"({', '.join(['t2', 't1', '_', *parameters])}) = raw")
            code.begin_event()
            for leaf in leaves:
                self.offer(code, leaf, parameters, "t1", "t2")
        return self.finish(code, f"{format_atom(kind[0])}/{kind[1]}")

    def offer(self, code: Code, leaf: Wired, parameters: Sequence[str], t1: str, t2: str) -> None:
        """Write the code that matches an instance against a leaf's pattern and hands it on."""
        assert isinstance(leaf.node, p.Source)
        wanted = set(leaf.node.exports)
        test, names = match_arguments(code, leaf.node.args, parameters, wanted)
        names.update(self.marks(code, leaf.node.exports))
        code.probes = 0
        if test:
            came = self.evidence.kind((leaf.node.name, len(leaf.node.args)))
            code(f"{code.constant(came)}.seen = True")
            with code.block(f"if {test}:"):
                self.deliver(code, leaf, names, t1, t2)
        else:
            self.deliver(code, leaf, names, t1, t2)

    def marks(self, code: Code, exports: Sequence[str]) -> Names:
        """Return the marks an instance starts with: what it is made of, itself."""
        found = {}
        if "$parts" in exports:
            found["$parts"] = code.rope
        if "$ids" in exports:
            found["$ids"] = f"frozenset(({code.constant(self.state)}.current,))"
        return found

    # handing on

    def deliver(self, code: Code, entry: Wired, names: Names, t1: str, t2: str) -> None:
        """Write the code that hands a match to all readers of an entry."""
        heads = [r for r in entry.readers if r.kind == "head"]
        others = [r for r in entry.readers if r.kind != "head"]
        mark = self.evidence.part(entry.key)
        if heads and self.makes_at(entry) is None:
            code(f"{code.constant(mark)}.seen = True")
        for reader in others:
            self.read(code, reader, entry, _renamed(names, reader), t1, t2)
        if not heads and self.waits_at(entry) is None:  # behind its readers: where these return a match, that says it
            code(f"{code.constant(mark)}.seen = {self.key_of(entry, names)}")
        if heads:
            made = [(r.target, self.floats.write_values(code, entry, r, _renamed(names, r))) for r in heads]
            self.heads.emit(code, made, t1, t2)

    def makes_at(self, entry: Wired) -> Made | None:
        """Return what notes every event that matches of an entry become, which is a mark; None if there is none."""
        for reader in entry.readers if self.evidence.by_stores else ():
            if reader.kind == "head" and reader.target.head.alarm is None and self.heads.is_lone(reader.target):
                return self.heads.kind(reader.target).made
        return None

    def key_of(self, entry: Wired, names: Names) -> str:
        """Return what tells one match of an entry from another where it is joined: the first variable of the key."""
        reader = entry.readers[0]
        if reader.kind != "input" or not isinstance(reader.target.node, p.Join):
            return "True"
        keys = self.shared_key(reader.target)
        return _renamed(names, reader)[keys[0]] if keys else "True"

    def waits_at(self, entry: Wired) -> dict[Any, Any] | None:
        """Return a store that every match of an entry comes to, which is a mark already; None if there is none."""
        for reader in entry.readers if self.evidence.by_stores else ():
            if reader.kind == "input" and isinstance(reader.target.node, p.Join):
                keeps = self.retention(reader.target, reader.place) != NEVER_STORED
                if keeps and not self.probes(reader.target, reader.place):
                    return self.side(reader.target, reader.place)
        return None

    def read(self, code: Code, reader: WiredReader, child: Wired, names: Names, t1: str, t2: str) -> None:
        """Write what one reader does with a match, in line or as a call."""
        target: Wired = reader.target
        if reader.kind == "negated":
            self.special.block(code, target, reader.place, child, names, t1, t2)
            return
        match target.node:
            case p.Join():
                if self.probes(target, reader.place) and code.probes:
                    code.queues = True
                    values = spread(names)
                    given = [values[v] for v in self.passed(target, reader.place)]
                    code(f"{code.constant(self.outline(target, reader.place))}({', '.join([*given, t1, t2])})")
                else:
                    self.join(code, target, reader.place, names, t1, t2)
            case p.Filter():
                self.filter(code, target, names, t1, t2)
            case p.Union():
                self.unite(code, target, child, reader.place, names, t1, t2)
            case p.Fold() if reader.place == len(target.inputs) - 1:
                self.special.folds.take(code, target, names, t1, t2)
            case p.Repetition() | p.Fold() | p.Deadline():
                code.queues = True
                arguments = [names[v] for v in self.special.columns(target, reader.place)]
                code(f"{code.constant(self.special.method(target, reader.place))}({', '.join([*arguments, t1, t2])})")
            case p.Source() | p.Tick():
                raise AssertionError("a leaf reads nothing")
            case _:
                assert_never(target.node)

    def carried(self, join: Wired, place: int) -> tuple[str, ...]:
        """Return the variables that an instance brings to one side of a join."""
        return p.children(join.node)[place].exports

    def passed(self, join: Wired, place: int) -> list[str]:
        """Return what an instance brings to one side of a join, one name for each value."""
        return with_slots(self.carried(join, place), p.children(join.node)[place])

    def outline(self, join: Wired, place: int) -> Callable[..., Any]:
        """Return the function for one side of a join."""
        key = id(join) * 2 + place
        if key not in self.outlined:
            passed = self.passed(join, place)
            parameters = [f"v{i}" for i in range(len(passed))]
            code = Code([*parameters, "t1", "t2"])
            names = together(dict(zip(passed, parameters, strict=True)), p.children(join.node)[place])
            self.join(code, join, place, names, "t1", "t2")
            self.outlined[key] = self.finish(code, "join")
        return self.outlined[key]

    def filter(self, code: Code, entry: Wired, names: Names, t1: str, t2: str) -> None:
        """Write a filter: the tests, then the readers."""
        names = dict(names)
        firm = self.sure_of_pairs(entry.inputs[0]) if code.pair is entry.inputs[0] else entry.inputs[0].sure
        passing = self.tests(code, entry, names, firm, t1, t2, t1, t2, None)
        self.guarded(code, entry, passing, names, t1, t2)

    def guarded(self, code: Code, entry: Wired, passing: Passing, names: Names, t1: str, t2: str) -> None:
        """Write `if tests: hand on`, with one match per solution where a condition multiplies."""
        if passing.expressions:
            with code.block(f"if {' and '.join(passing.expressions)}:"):
                self.multiplied(code, entry, passing, names, t1, t2)
        else:
            self.multiplied(code, entry, passing, names, t1, t2)

    def multiplied(self, code: Code, entry: Wired, passing: Passing, names: Names, t1: str, t2: str) -> None:
        depth = code.depth
        for solutions, outputs in passing.loops:
            row = code.fresh("o")
            code(f"for {row} in {solutions}:")
            code.depth += 1
            names.update({v: f"{row}[{i}]" for i, v in enumerate(outputs)})
        if passing.actions and self.heads.parts:
            code(f"{code.constant(self.state)}.cause = {names.get('$parts')}")
        for action in passing.actions:
            code(self.conditions.action(code, action, names, self.rule_of(entry)))
        code.pair, around = entry, code.pair
        self.deliver(code, entry, names, t1, t2)
        code.pair = around
        code.depth = depth

    def unite(
        self, code: Code, entry: Wired, child: Wired, branch: int, names: Names, t1: str, t2: str
    ) -> None:  # fmt: skip
        """Write a union: unbound variables become None; one event in two alternatives is one match."""
        full = {v: names.get(v, "None") for v in entry.node.exports}
        if "$parts" in full:
            full["$parts"] = write_choice(branch, full["$parts"])
        if not may_double(child, entry):
            self.deliver(code, entry, full, t1, t2)
            return
        seen = self.remember(entry, "seen", stores.Doubles)
        values = "".join(f"{full[v]}, " for v in entry.node.exports if v[0] != "$")
        key = f"({values}{t1}, {t2})"  # an alternative may also hold pairs that end with the event
        with code.block(f"if {code.constant(seen)}.new({code.constant(self.state)}.current, {key}):"):
            self.deliver(code, entry, full, t1, t2)

    # joins

    def probes(self, join: Wired, place: int) -> bool:
        """Tell whether an instance on this side can find partners that wait."""
        return self.retention(join, 1 - place) != NEVER_STORED

    def retention(self, join: Wired, place: int) -> int | None:
        """Return how long after its end an instance of one side can still be used: None for ever, -1 not at all."""
        assert isinstance(join.node, p.Join)
        return retention(join.node.relation, place, window_of(join.node.tests))

    def keys(self, join: Wired) -> list[str]:
        """Return the names of the parts of a join's key: variables that both sides always bind, then computed keys."""
        return self.join_keys(join).names

    def join_keys(self, join: Wired) -> JoinKeys:
        """Return the key of a join."""
        assert isinstance(join.node, p.Join)
        return JoinKeys(join.node, self.shared_key(join), self.computed)

    def key_function(self, join: Wired, place: int) -> Callable[..., Any] | None:
        """Return what makes the key of the values that an instance brings to one side; None where none is computed."""
        keys = self.join_keys(join)
        if not keys.pairs:
            return None
        carried = self.values_carried(join, place)
        code = Code([f"v{i}" for i in range(len(carried))])
        code(f"return {keys.write(code, place, dict(zip(carried, code.parameters, strict=True)))}")
        return code.function()

    def values_carried(self, join: Wired, place: int) -> tuple[str, ...]:
        """Return the variables, without marks, that an instance brings to one side of a join."""
        return tuple(v for v in self.carried(join, place) if v[0] != "$")

    def side(self, join: Wired, place: int) -> dict[Any, Any]:
        """Return the store of one side of a join."""
        found: dict[Any, Any] = self.remember(join, f"side{place}", self.join_keys(join).make_store)
        return found

    def shared_key(self, join: Wired) -> list[str]:
        """Return the variables that both sides of a join always bind."""
        left, right = join.inputs
        names = own_names(join)
        both = set(names[0]) & set(names[1])
        firm = _renamed_set(left, join, 0) & _renamed_set(right, join, 1)
        return sorted(v for v in both & firm if v[0] != "$")

    def sure_of_pairs(self, join: Wired) -> frozenset[str]:
        """Return the variables that every pair of a join binds; a match without a partner binds fewer."""
        if not isinstance(join.node, p.Join) or join.node.alone is None:
            return join.sure
        left, right = join.inputs
        return _renamed_set(left, join, 0) | _renamed_set(right, join, 1)

    def columns(self, join: Wired, place: int) -> list[str]:
        """Return what a waiting instance of one side holds besides its key."""
        keys = self.join_keys(join)
        return [*(v for v in self.passed(join, place) if v not in keys.shared), *keys.marks]

    def join(self, code: Code, entry: Wired, place: int, names: Names, t1: str, t2: str) -> None:
        """Write one side of a join: probe the other side's store, then store."""
        node = entry.node
        assert isinstance(node, p.Join)
        key = self.join_keys(entry).write(code, place, names)
        own = self.side(entry, place)
        keeps = self.retention(entry, place) != NEVER_STORED
        if self.probes(entry, place):
            code.probes += 1
            Probe(self, code, entry, place, names, key, t1, t2).write(own if keeps else None)
        elif keeps:
            self.store(code, entry, place, names, key, t1, t2)

    def deliver_alone(self, code: Code, entry: Wired, names: Names, t1: str, t2: str) -> None:
        """Write the code that hands on an instance of a join that has no partner."""
        full = {v: names.get(v, "None") for v in entry.node.exports}
        if "$parts" in full:
            full["$parts"] = write_choice(1, full["$parts"])
        self.deliver(code, entry, full, t1, t2)

    def alone_at_once(self, join: Wired, place: int) -> bool:
        """Tell whether an instance of a side matches alone where it finds no partner on arrival."""
        return self._known(join.node, place) == "at once"

    def awaits(self, join: Wired, place: int) -> bool:
        """Tell whether an instance of a side may match alone later."""
        return self._known(join.node, place) not in ("at once", None)

    def _known(self, node: p.Node, place: int) -> str | None:
        """Return when it is known that an instance of a side has no partner; None where it does not match alone."""
        if not isinstance(node, p.Join) or node.alone != ("left", "right")[place] or node.relation.alone is None:
            return None
        return node.relation.alone[place]

    def store(
        self, code: Code, entry: Wired, place: int, names: Names, key: str, t1: str, t2: str, matched: str = ""
    ) -> None:  # fmt: skip
        """Write the code that lets an instance wait, if it can ever be used; `matched`: whether it has partners."""
        node = entry.node
        assert isinstance(node, p.Join)
        if self.awaits(entry, place):
            self._store(code, entry, node, place, names, key, t1, t2, matched or "False")
            return
        if t1 != t2 and waits_as_instant(node.relation, place):
            with code.block(f"if {t1} == {t2}:"):
                self._store(code, entry, node, place, names, key, t1, t2)
        else:
            self._store(code, entry, node, place, names, key, t1, t2)

    def _store(
        self, code: Code, entry: Wired, node: p.Join, place: int, names: Names, key: str, t1: str, t2: str,
        matched: str = "",
    ) -> None:  # fmt: skip
        marks = {mark: f"{code.constant(make)}()" for mark, make in self.join_keys(entry).marks.items()}
        columns, values = self.columns(entry, place), spread(names)
        instance = tuple_of([*(marks.get(v) or values[v] for v in columns), t1, t2])
        where = code.constant(self.side(entry, place))
        newest = node.policy.keep == "newest"
        once = stores.Once.among(columns) if place == 0 and node.relation.sequential else None
        if matched:
            local, text = code.fresh("i"), instance
            code(f"{local} = {text}")
            instance = local
        keep = self.retention(entry, place)
        fifo = "" if keep is None else code.constant(self.remember(entry, f"fifo{place}", stores.Fifo))
        if keep == 0:
            code.groups.pop((id(self.side(entry, place)), key), "")
            code(f"if {t2} > {fifo}.due: {code.constant(stores.expire_past)}({where}, {fifo}, {t2})")
        if self.meets_itself(entry):
            event = f"{code.constant(self.state)}.current"
            code(f"{code.constant(stores.put_newest_for)}({where}, {key}, {instance}, {event}, {code.constant(once)})")
        elif once is not None:
            put_once = code.constant(stores.put_newest_once if newest else stores.put_once)
            stored = code.fresh("h") if matched else ""
            is_stored = f"{stored} = " if matched else ""
            code(f"{is_stored}{put_once}({where}, {key}, {instance}, {code.constant(once)})")
            matched = f"{matched} or not {stored}" if matched else ""
        elif newest and t1 == t2:  # nothing that waits ends after an instant, or starts after it
            code(f"{where}[{key}] = {instance}")
        elif newest:
            code(f"{code.constant(stores.put_newest)}({where}, {key}, {instance})")
        else:
            group = code.groups.pop((id(self.side(entry, place)), key), "")
            if not group:
                group = code.fresh("g")
                code(f"{group} = {where}.get({key})")
            with code.block(f"if {group} is None:"):
                code(f"{where}[{key}] = {instance}")
            if t1 == t2:
                with code.block(f"elif type({group}) is tuple:"):
                    code(f"{where}[{key}] = [{group}, {instance}]")
            apart = "" if t1 == t2 else f" or ({group}[-1][-1] == {t2} and {group}[-1][-2] > {t1})"
            single = "" if t1 == t2 else f"type({group}) is tuple or "
            with code.block(f"elif {single}len({group}) == {stores.LONG - 1}{apart}:"):
                code(f"{code.constant(stores.put)}({where}, {key}, {instance})")
            with code.block("else:"):
                code(f"{group}.append({instance})")
        if matched:
            with nullcontext() if matched == "False" else code.block(f"if not ({matched}):"):
                self.special.write_wait(code, entry, key, instance, t1, t2)
        if keep is not None:
            code(f"{fifo}.append(({t2}, {key}))")
        if keep:
            with code.block(f"if {t2} > {fifo}.due:"):
                stays = not node.policy.consume
                code(f"{code.constant(stores.expire_lot)}({where}, {fifo}, {t2}, {code.constant(keep)}, {stays})")

    # tests

    def tests(
        self,
        code: Code,
        entry: Wired,
        names: Names,
        firm: frozenset[str],
        t1: str,
        t2: str,
        low: str,
        high: str,
        window: str | None,
        proven: tuple[Term, str] | None = None,
    ) -> Passing:
        """Write a node's tests as expressions over a match; what conditions bind is added to `names`.

        `low` and `high` bound the gap of a sequence; `window` replaces the plain test of length where the caller has a
        better one; `proven` is a goal that holds where an expression is true.
        """
        return self.judged(code, entry, p.tests(entry.node), names, firm, t1, t2, low, high, window, proven)

    def judged(
        self, code: Code, entry: Wired, tests: Sequence[p.Test], names: Names, firm: frozenset[str], t1: str, t2: str,
        low: str, high: str, window: str | None, proven: tuple[Term, str] | None = None,
    ) -> Passing:  # fmt: skip
        """Write some of a node's tests, in order; those after an `event_multiply` judge each of its solutions."""
        passing = Passing([], [], [])
        absent = [t for t in p.tests(entry.node) if isinstance(t, p.Absent)]
        for number, test in enumerate(tests, 1):
            match test:
                case p.Window(duration=duration):
                    if window is not None or t1 != t2:  # an instant fits into every window
                        passing.expressions.append(window or f"{t2} - {t1} <= {code.constant(duration)}")
                case p.GoalTest():
                    rule, types = self.rule_of(entry), self.types(entry)
                    if code.loop is not None:
                        code.loop.asks = True
                    if self.heads.raises and "$parts" in names:
                        passing.expressions.append(f"{code.constant(self.note_cause)}({names['$parts']})")
                    self.conditions.write(code, test, names, firm, t1, t2, passing, rule, types)
                    if proven is not None and test.goal == proven[0]:
                        passing.expressions.append(f"({proven[1]} or {passing.expressions.pop()})")
                    if passing.loops and tests[number:]:
                        row = code.fresh("o")
                        inside = {**names, **{v: f"{row}[{i}]" for i, v in enumerate(passing.loops[0][1])}}
                        rest = self.judged(code, entry, tests[number:], inside, firm, t1, t2, low, high, window)
                        self.restrict_solutions(code, passing, row, rest, names, inside)
                        break
                case p.Prefilter():
                    self.conditions.write_prefilter(code, test, names, passing, self.types(entry))
                case p.Absent():
                    place = next(i for i, t in enumerate(absent) if t is test)
                    passing.expressions.append(
                        self.special.unblocked(code, entry, place, test, names, t1, t2, low, high)
                    )
                case p.Alone(kind=kind):
                    bounds = (low, high) if kind == "gap" else (t1, t2)
                    log = code.constant(self.log())
                    passing.expressions.append(f"not {log}.disturbed({names['$ids']}, {bounds[0]}, {bounds[1]})")
                case p.Action():
                    passing.actions.append(test)
        return passing

    def note_cause(self, rope: Rope) -> bool:
        """Note whose condition is asked, which may raise an event."""
        self.state.cause = rope
        return True

    def restrict_solutions(
        self, code: Code, passing: Passing, row: str, rest: Passing, names: Names, inside: Names
    ) -> None:
        """Replace the solutions of a multiplying condition by those that pass the tests written after it."""
        solutions, _ = passing.loops.pop()
        tested = f" if {' and '.join(rest.expressions)}" if rest.expressions else ""
        clauses = f"for {row} in {solutions}{tested}"
        for more, outputs in rest.loops:
            deeper = code.fresh("o")
            clauses += f" for {deeper} in {more}"
            inside.update({v: f"{deeper}[{i}]" for i, v in enumerate(outputs)})
        bound = tuple(v for v in inside if inside[v] != names.get(v))
        found = code.fresh("h")
        passing.expressions.append(f"({found} := [{tuple_of([inside[v] for v in bound])} {clauses}])")
        passing.loops.append((found, bound))
        passing.actions.extend(rest.actions)

    def rule_of(self, entry: Wired) -> str:
        """Return the label of a rule that an entry belongs to, for messages."""
        readers = entry.readers
        while readers[0].kind != "head":
            readers = readers[0].target.readers
        rule: PlannedRule = readers[0].target
        return rule.head.label

    def emitter(self, entry: Wired, exports: Sequence[str]) -> Emit:
        """Return the function (exported values..., start, end) that tests a match of an operator and hands it on."""
        code, names = self._operator_code(exports)
        passing = self._operator_tests(code, entry, names)
        with code.block(f"if {' and '.join(passing.expressions) or 'True'}:"):
            self.multiplied(code, entry, passing, names, "t1", "t2")
            code("return True")
        code("return False")
        return self.finish(code, type(entry.node).__name__.lower())

    def checker(self, entry: Wired, exports: Sequence[str]) -> Emit:
        """Return the function (exported values..., start, end) that only tests a match of an operator."""
        code, names = self._operator_code(exports)
        passing = self._operator_tests(code, entry, names)
        code(f"return bool({' and '.join(passing.expressions) or 'True'})")
        return self.finish(code, "test")

    def _operator_code(self, exports: Sequence[str]) -> tuple[Code, Names]:
        parameters = [f"v{i}" for i in range(len(exports))]
        return Code([*parameters, "t1", "t2"]), dict(zip(exports, parameters, strict=True))

    def _operator_tests(self, code: Code, entry: Wired, names: Names) -> Passing:
        low, high = names.get("$first", "t1"), names.get("$last", "t2")
        return self.tests(code, entry, names, entry.sure, "t1", "t2", low, high, None)


def _renamed(names: Names, reader: WiredReader) -> Names:
    return {reader.renames.get(v, v): e for v, e in names.items()} if reader.renames else dict(names)


def _renamed_set(child: Wired, parent: Wired, place: int) -> frozenset[str]:
    """Return what a child is sure to bind, in the parent's names."""
    for reader in child.readers:
        if reader.kind == "input" and reader.target is parent and reader.place == place:
            return frozenset(reader.renames.get(v, v) for v in child.sure)
    raise AssertionError("a child is read by its parent")
