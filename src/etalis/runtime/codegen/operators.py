"""Generated code around stateful operators (repetition, aggregate, deadline) and absences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappush
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from etalis.language import syntax as s
from etalis.logic.inline.scope import normal
from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.plan.blocking import equal_variables
from etalis.plan.retention import window_of
from etalis.runtime.codegen.aggregates.folds import Folds
from etalis.runtime.codegen.passing import Passing
from etalis.runtime.codegen.ropes import together
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.runtime.deadlines.unmatched import Unmatched
from etalis.runtime.deadlines.waiter import Waiter
from etalis.runtime.operators.aggregate import Slider
from etalis.runtime.operators.base import Values
from etalis.runtime.operators.blockers import (
    BEFORE_TIME,
    Blockers,
    JudgedBlockers,
    LooseBlockers,
    LooseJudgedBlockers,
    latest_start,
)
from etalis.runtime.operators.chains import Limits
from etalis.runtime.operators.combine import combiner, parents, picker, repeater, rope_of, sharer, waiting_rope
from etalis.runtime.operators.repetition import Repeater, Runner
from etalis.runtime.operators.store import Token
from etalis.temporal.rope import Rope

if TYPE_CHECKING:
    from etalis.runtime.codegen.compile import Compiler
    from etalis.runtime.codegen.network import Wired

Names = dict[str, str]


class Special:
    """Builds operators on first use; one per entry, kept with the entry's state."""

    def __init__(self, compiler: Compiler) -> None:
        self.compiler = compiler
        self.built: dict[int, Any] = {}
        self.folds = Folds(self)

    # absence

    def test_of(self, entry: Wired, place: int) -> p.Absent | p.Deadline:
        """Return the absence that the negated input at a place serves."""
        absent = [t for t in p.tests(entry.node) if isinstance(t, p.Absent)]
        if place < len(absent):
            return absent[place]
        assert isinstance(entry.node, p.Deadline)
        return entry.node

    def blockers(self, entry: Wired, place: int) -> Blockers | LooseBlockers:
        """Return the occurrences that one absence looks at."""
        return self.compiler.remember(entry, f"blockers{place}", lambda: self._new_blockers(entry, place))  # type: ignore[no-any-return]

    def _new_blockers(self, entry: Wired, place: int) -> Blockers | LooseBlockers:
        test = self.test_of(entry, place)
        keep, sure = self._blocking_time(entry, test), self._sure_negative(entry, place)
        is_loose = not all(v in entry.sure and v in sure for v in test.joined)
        if test.conditions:
            return LooseJudgedBlockers(keep) if is_loose else JudgedBlockers(keep)
        if is_loose:
            return LooseBlockers(keep)
        if isinstance(test, p.Absent) and test.kind != "before":
            return Blockers(keep, False, self._watched(entry, test) if keep is None else None)
        return Blockers(keep, keep is None, None)

    def _blocking_time(self, entry: Wired, test: p.Absent | p.Deadline) -> int | None:
        """Return how long an occurrence can matter, None for ever."""
        if isinstance(test, p.Deadline):
            return test.duration
        return test.window if test.kind == "before" else window_of(p.tests(entry.node))

    def key_variables(self, entry: Wired, place: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return by what the blockers of an absence stand: variables of them, and the same of a match."""
        test = self.test_of(entry, place)
        if not isinstance(self.blockers(entry, place), JudgedBlockers):
            return test.joined, test.joined
        sure = self._sure_negative(entry, place)
        pairs = [(theirs, mine) for theirs, mine in equal_variables(test) if theirs in sure and mine in entry.sure]
        return (*test.joined, *(theirs for theirs, _ in pairs)), (*test.joined, *(mine for _, mine in pairs))

    def _sure_negative(self, entry: Wired, place: int) -> frozenset[str]:
        child = entry.negated[place]
        for reader in child.readers:
            if reader.kind == "negated" and reader.target is entry and reader.place == place:
                return frozenset(reader.renames.get(v, v) for v in child.sure)
        raise AssertionError("a negated part is read by its parent")

    def _watched(self, entry: Wired, test: p.Absent) -> dict[Any, Any] | None:
        """Return the store of left sides, where only those that wait can ever be blocked."""
        node = entry.node
        if not (isinstance(node, p.Join) and test.kind == "gap" and node.relation.sequential):
            return None
        if "$first" in node.left.exports or list(test.joined) != self.compiler.keys(entry) or not test.joined:
            return None
        return self.compiler.side(entry, 0)

    def watching(self, entry: Wired) -> list[Blockers]:
        """Return the blockers to be forgotten with the last left side of a key."""
        count = sum(isinstance(t, p.Absent) for t in p.tests(entry.node))
        found = [self.blockers(entry, i) for i in range(count)]
        return [b for b in found if isinstance(b, Blockers) and b.watched is not None]

    def key(self, blockers: Blockers | LooseBlockers, values: Sequence[str]) -> str:
        if len(values) == 1 and isinstance(blockers, Blockers):
            return values[0]
        return f"({''.join(v + ', ' for v in values)})"

    def block(self, code: Code, entry: Wired, place: int, child: Wired, names: Names, t1: str, t2: str) -> None:
        """Write what an occurrence of a negated pattern does: note it."""
        del child
        blockers, test = self.blockers(entry, place), self.test_of(entry, place)
        key = self.key(blockers, [names[v] for v in self.key_variables(entry, place)[0]])
        values = f"({''.join(f'{names[v]}, ' for v in (*test.joined, *test.brought))})"
        if isinstance(blockers, LooseBlockers):
            code(f"{code.constant(blockers)}.add({values}, {t1}, {t2})")
        elif isinstance(blockers, JudgedBlockers):
            code(f"{code.constant(blockers)}.add({key}, {values}, {t1}, {t2})")
        elif blockers.watched is None:
            self._write_blocker(code, blockers, key, t1, t2)
        else:
            with code.block(f"if {key} in {code.constant(blockers.watched)}:"):
                self._write_blocker(code, blockers, key, t1, t2)

    def _write_blocker(self, code: Code, blockers: Blockers, key: str, t1: str, t2: str) -> None:
        """Write that a blocker is noted with the latest start so far, which that of an instant is."""
        group, groups = code.fresh("g"), code.constant(blockers.groups)
        code(f"{group} = {groups}.get({key})")
        with code.block(f"if {group} is None:"):
            code(f"{groups}[{key}] = [({t2}, {t1})]")
        if not blockers.first_only:
            latest = t1 if t1 == t2 else f"{t1} if {t1} > {group}[-1][1] else {group}[-1][1]"
            with code.block("else:"):
                code(f"{group}.append(({t2}, {latest}))")
        if blockers.keep is not None:
            fifo = code.constant(blockers.fifo)
            code(f"{fifo}.append(({t2}, {key}))")
            with code.block(f"if {t2} > {fifo}.due:"):
                code(f"{code.constant(blockers.expire_lot)}({t2})")

    def unblocked(
        self, code: Code, entry: Wired, place: int, test: p.Absent, names: Names, t1: str, t2: str, low: str, high: str
    ) -> str:
        """Return the test that nothing blocks a match."""
        blockers = self.blockers(entry, place)
        key = self.key(blockers, [names[v] for v in self.key_variables(entry, place)[1]])
        if test.kind == "gap":
            bounds = low, high
        elif test.kind == "inside":
            bounds = t1, t2
        elif test.window is None:
            bounds = code.constant(BEFORE_TIME), t2
        else:
            bounds = f"{t2} - {code.constant(test.window + 1)}", t2
        if test.conditions:
            judge = code.constant(self.judge(entry, place, test))
            asked = f"({''.join(f'{names[v]}, ' for v in p.asked_of_match(test))})"
            return f"not {code.constant(blockers)}.hit_judged({key}, {', '.join(bounds)}, {judge}, {asked})"
        if isinstance(blockers, Blockers) and code.loop is not None and code.loop.is_firm(key, bounds[1]):
            latest = self._write_latest(code, code.loop.before, blockers, key, bounds[1])
            if bounds[0] == code.loop.end and not code.loop.asks:
                code.loop.floor = latest
            return f"{latest} <= {bounds[0]}"
        return f"not {code.constant(blockers)}.hit({key}, {', '.join(bounds)})"

    def judge(self, entry: Wired, place: int, test: p.Absent | p.Deadline) -> Callable[..., bool]:
        """Return whether the conditions of an absence hold: of what they read of a match, and a blocker's values."""
        given = [*p.asked_of_match(test), *test.joined, *test.brought]
        code = Code([f"v{i}" for i in range(len(given))])
        names: Names = {}
        for v, parameter in zip(given, code.parameters, strict=True):  # a joined one may be unbound on one side
            names[v] = f"({names[v]} if {names[v]} is not None else {parameter})" if v in names else parameter
        for parameter in code.parameters:
            code(f"{parameter} = {code.constant(normal)}({parameter})")
        firm, passing = entry.sure | self._sure_negative(entry, place), Passing([], [], [])
        for condition in test.conditions:
            rule = self.compiler.rule_of(entry)
            self.compiler.conditions.write(code, condition, names, firm, "0", "0", passing, rule, {})
        code(f"return bool({' and '.join(passing.expressions)})")
        return self.compiler.finish(code, "condition of an absence")

    # parts that may be missing

    def unmatched(self, entry: Wired) -> Unmatched:
        """Return what has no partner yet of the side of a join that matches alone too, its emission compiled anew."""
        if id(entry) not in self.built:
            fresh = self._unmatched(entry)
            kept: Unmatched = self.compiler.remember(entry, "unmatched", lambda: fresh)
            kept.emit, kept.level = fresh.emit, fresh.level
            self.built[id(entry)] = kept
        found: Unmatched = self.built[id(entry)]
        return found

    def _unmatched(self, entry: Wired) -> Unmatched:
        node, compiler = entry.node, self.compiler
        assert isinstance(node, p.Join)
        assert node.relation.alone is not None
        place = 0 if node.alone == "left" else 1
        in_window = node.relation.alone[place] == "in its window"
        return Unmatched(
            side=f"side{place}", window=window_of(node.tests) if in_window else None,
            by_start=not node.relation.sequential,
            level=0 if node.relation.sequential else compiler.levels.get(id(node), 1),
            emit=self._lone_emitter(entry), timers=compiler.state.timers, place=entry.key,
        )  # fmt: skip

    def write_wait(self, code: Code, entry: Wired, key: str, instance: str, t1: str, t2: str) -> None:
        """Write that an instance without a partner waits for one, until its timer falls due."""
        unmatched, state = self.unmatched(entry), self.compiler.state
        due = t2
        if unmatched.window is not None:
            due = code.fresh("t")
            code(f"{due} = {t1} + {code.constant(unmatched.window)}")
        shared, timers = code.constant(state), code.constant(state.timers)
        number = f"{shared}.sequence"
        if unmatched.level:
            number = f"{number} + {code.constant(unmatched.first_number())}"
        code(f"{shared}.sequence += 1")
        since = t1 if unmatched.by_start else t2
        timer = f"({due}, -{since}, {number}, {code.constant(unmatched)}, ({key}, {instance}), {shared}.tag)"
        lane = unmatched.lane() if t1 == t2 else None
        if lane is None:
            code(f"{code.constant(heappush)}({code.constant(state.timers.heap)}, {timer})")
        else:
            code(f"{code.constant(lane)}.append({timer})")
        code(f"if {due} < {timers}.due: {timers}.due = {due}")

    def _lone_emitter(self, entry: Wired) -> Callable[..., None]:
        """Return the function (key, instance, end) that hands on an instance without a partner."""
        code = Code(["q", "y", "t2"])
        self.write_alone(code, entry, "q", "y", "t2")
        return self.compiler.finish(code, "without a partner")

    def write_alone(self, code: Code, entry: Wired, key: str, instance: str, t2: str) -> None:
        """Write that an instance without a partner is handed on, by its key and the moment when that is known."""
        compiler, node = self.compiler, entry.node
        assert isinstance(node, p.Join)
        place = 0 if node.alone == "left" else 1
        keys, columns = compiler.join_keys(entry), compiler.columns(entry, place)
        values = {v: key if len(keys.names) == 1 else f"{key}[{i}]" for i, v in enumerate(keys.shared)}
        values |= {v: code.fresh("y") for v in columns}
        code(f"{tuple_of([*(values[v] for v in columns), 't1', '_'])} = {instance}")
        compiler.deliver_alone(code, entry, together(values, p.children(node)[place]), "t1", t2)

    def _write_latest(self, code: Code, lines: list[str], blockers: Blockers, key: str, high: str) -> str:
        """Write once for all candidates when the last blocker began that ended before a moment; return its name."""
        latest = code.fresh("c")
        lines += [
            f"{latest} = {code.constant(blockers.groups)}.get({key})",
            f"if {latest} is None: {latest} = {code.constant(BEFORE_TIME)}",
            f"elif {latest}[-1][0] < {high}: {latest} = {latest}[-1][1]",
            f"else: {latest} = {code.constant(latest_start)}({latest}, {high})",
        ]
        return latest

    # operators

    def columns(self, entry: Wired, place: int) -> tuple[str, ...]:
        """Return the variables an operator's input brings."""
        return p.children(entry.node)[place].exports

    def method(self, entry: Wired, place: int) -> Callable[..., None]:
        """Return what takes the instances of one input of an operator."""
        operator = self.operator(entry)
        single = len(p.children(entry.node)) == 1
        taker = operator.on_element if single and not isinstance(operator, Waiter) else operator.on_left
        return operator.on_element if place == 1 else taker  # type: ignore[no-any-return]

    def operator(self, entry: Wired) -> Any:
        """Return the operator of an entry, its state kept, its emission compiled anew."""
        if id(entry) not in self.built:
            fresh = self._build(entry)
            kept = self.compiler.remember(entry, "operator", lambda: fresh)
            if kept is not fresh and not isinstance(kept, Slider):
                kept.emit = fresh.emit
                if isinstance(kept, Waiter):
                    kept.judge = fresh.judge
                if isinstance(kept, Repeater):
                    kept.check = fresh.check
            self.built[id(entry)] = kept
        return self.built[id(entry)]

    def _build(self, entry: Wired) -> Any:
        match entry.node:
            case p.Repetition(left=None):
                return self._runner(entry, entry.node)
            case p.Repetition():
                return self._repeater(entry, entry.node)
            case p.Fold(opener=None):
                return self.folds.slider(entry, entry.node)
            case p.Fold():
                return self.folds.openers.folder(entry, entry.node)
            case p.Deadline():
                return self._waiter(entry, entry.node)
        raise AssertionError(entry.node)

    def columns_out(self, entry: Wired) -> tuple[str, ...]:
        """Return what an operator hands to its tests: what it exports and what the tests read."""
        node = entry.node
        later = self._bound_by_tests(node)
        extra: dict[str, None] = dict.fromkeys(v for v in node.exports if v not in later)
        for test in p.tests(node):
            extra.update(dict.fromkeys(v for v in p.reads(test) if v not in later))
            if isinstance(test, p.Absent | p.Alone) and test.kind == "gap":
                extra.update({"$first": None, "$last": None})
            if isinstance(test, p.Alone):
                extra["$ids"] = None
        return tuple(extra)

    def _bound_by_tests(self, node: p.Node) -> set[str]:
        return {v for t in p.tests(node) if isinstance(t, p.GoalTest) for v in t.outputs}

    def _waiter(self, entry: Wired, node: p.Deadline) -> Waiter:
        blockers = self.blockers(entry, len(p.negated(node)) - 1)
        exports = node.left.exports
        keys = self.key_variables(entry, len(p.negated(node)) - 1)[1]
        pick = picker(exports, keys)
        scalar = len(keys) == 1 and isinstance(blockers, Blockers)
        key: Callable[[Values], Any] = (lambda values: pick(values)[0]) if scalar else pick
        emit = self.compiler.emitter(entry, exports)
        schedule = self.compiler.state.schedule
        place = len(p.negated(node)) - 1
        return Waiter(
            duration=node.duration, blockers=blockers, key=key, emit=emit, schedule=schedule, place=entry.key,
            judge=self.judge(entry, place, node) if node.conditions else None,
            asked=picker(exports, p.asked_of_match(node)),
        )  # fmt: skip

    def keep(self, node: p.Node) -> int | None:
        """Return how long what an operator matches may last."""
        return min((t.duration for t in p.tests(node) if isinstance(t, p.Window)), default=None)

    def fail(self, entry: Wired) -> Callable[[str], None]:
        """Return what reports a value that an operator cannot use."""
        return self.compiler.conditions.fail(self.compiler.rule_of(entry))

    def _limits(self, entry: Wired, node: p.Repetition, exports: tuple[str, ...]) -> Callable[[Values], Limits | None]:
        """Return how the bounds of a repetition are read off the values of the exports, or reported."""
        fail = self.fail(entry)

        def read(term: s.Term, values: Values) -> Any:
            if isinstance(term, s.Const):
                return term.value
            return values[exports.index(term.name)] if isinstance(term, s.Var) and term.name in exports else None

        def limits(values: Values) -> Limits | None:
            least = read(node.least, values)
            most = least if node.most is None else read(node.most, values)
            if not (isinstance(least, int) and isinstance(most, int) and 1 <= least <= most):
                fail(f"ntimes ({least}, {most}) needs whole numbers, 1 or more")
                return None
            return least, None if node.most is None else most

        return limits

    def _repeater(self, entry: Wired, node: p.Repetition) -> Repeater:
        assert node.left is not None
        left, element = node.left.exports, node.element.exports
        out = self.columns_out(entry)
        firm = [v for v in node.shared if v in sure(node.left) and v in sure(node.element)]
        return Repeater(
            policy=node.policy, limits=self._limits(entry, node, (*node.shared, *left)),
            shared=sharer(left, element, node.shared),
            combine=combiner(out, left, element), check=self.compiler.checker(entry, out),
            emit=self.compiler.emitter(entry, out), left_key=picker(left, firm), element_key=picker(element, firm),
            repeats=repeater(left), parents=parents(left), keep=self.keep(node), marked="$ids" in element,
            event=self._event(entry), needs_first="$last" in out, rope_of=rope_of(element),
            waiting_rope=waiting_rope(left),
        )  # fmt: skip

    def _event(self, entry: Wired) -> Callable[[], int] | None:
        """Return what tells the event being offered, where it may replace its own partner."""
        state = self.compiler.state
        return (lambda: state.current) if self.compiler.meets_itself(entry) else None

    def _runner(self, entry: Wired, node: p.Repetition) -> Runner:
        element = node.element.exports
        limits = self._limits(entry, node, node.shared)
        out = self.columns_out(entry)
        ids = element.index("$ids") if "$ids" in element else None

        def export(values: Values, token: Token, ids: frozenset[int], rope: Rope) -> Values:
            own = {"$token": token, "$ids": ids, "$parts": rope}
            return tuple(own[v] if v in own else values[element.index(v)] for v in out)

        return Runner(
            policy=node.policy, limits=limits, shared=picker(element, node.shared),
            emit=self.compiler.emitter(entry, out),
            export=export, window=self.keep(node), rope_of=rope_of(element),
            ids_of=None if ids is None else itemgetter(ids),
        )  # fmt: skip
