"""Absences in generated code: what a blocker does when it occurs, and the test that nothing blocks a match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from etalis.logic.inline.scope import normal
from etalis.plan import algebra as p
from etalis.plan.retention import window_of
from etalis.plan.rewrite.blocking import equal_variables
from etalis.runtime.codegen.joins.stores import JoinStores
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.passing import Passing
from etalis.runtime.codegen.rule_code import Names, RuleCode
from etalis.runtime.codegen.source import Code
from etalis.runtime.operators.blockers import (
    BEFORE_TIME,
    Blockers,
    JudgedBlockers,
    LatestBlockers,
    LooseBlockers,
    LooseJudgedBlockers,
    latest_start,
)


class Absences:
    """Writes the absences of a rule set."""

    def __init__(self, base: RuleCode, stores: JoinStores) -> None:
        self.base = base
        self.stores = stores

    def test_of(self, entry: Wired, place: int) -> p.Absent | p.Deadline:
        """Return the absence that the negated input at a place serves."""
        absent = [t for t in p.tests(entry.node) if isinstance(t, p.Absent)]
        if place < len(absent):
            return absent[place]
        assert isinstance(entry.node, p.Deadline)
        return entry.node

    def blockers(self, entry: Wired, place: int) -> Blockers | LooseBlockers:
        """Return the occurrences that one absence looks at."""
        return self.base.remember(entry, f"blockers{place}", lambda: self._new_blockers(entry, place))  # type: ignore[no-any-return]

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
        if isinstance(test, p.Deadline) and test.before is None and not self.base.corrects:
            return LatestBlockers(test.duration)
        return Blockers(keep, keep is None, None)

    def _blocking_time(self, entry: Wired, test: p.Absent | p.Deadline) -> int | None:
        """Return how long an occurrence can matter, None for ever."""
        if isinstance(test, p.Deadline):
            return test.span
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
        if "$first" in node.left.exports or list(test.joined) != self.stores.keys(entry) or not test.joined:
            return None
        return self.stores.side(entry, 0)

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
        if isinstance(blockers, LatestBlockers):
            with code.block(f"if {key} not in {groups}:"):
                code(f"{groups}[{key}] = {t1}")
                self._write_expiry(code, blockers, key, t2)
            with code.block("else:" if t1 == t2 else f"elif {t1} > {groups}[{key}]:"):
                code(f"{groups}[{key}] = {t1}")
            return
        latest = t1 if t1 == t2 else f"{t1} if {t1} > {group}[-1][1] else {group}[-1][1]"
        code(f"{group} = {groups}.get({key})")
        with code.block(f"if {group} is None:"):
            code(f"{groups}[{key}] = [({t2}, {t1})]")
        if not blockers.first_only:
            with code.block("else:"):
                code(f"{group}.append(({t2}, {latest}))")
        if blockers.keep is not None:
            self._write_expiry(code, blockers, key, t2)

    def _write_expiry(self, code: Code, blockers: Blockers, key: str, t2: str) -> None:
        """Write that a blocker is let go one day, and others that came long ago now."""
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
            return self._not_judged(code, entry, place, test, key, bounds, names)
        if isinstance(blockers, Blockers) and code.loop is not None and code.loop.is_firm(key, bounds[1]):
            latest = self._write_latest(code, code.loop.before, blockers, key, bounds[1])
            if test.kind != "before" and not code.loop.is_firm(bounds[0]) and not code.loop.asks:
                code.loop.floor = latest  # what ends before the blocker began has begun before it
            return f"{latest} <= {bounds[0]}"
        return f"not {code.constant(blockers)}.hit({key}, {', '.join(bounds)})"

    def unblocked_until(self, code: Code, entry: Wired, test: p.Deadline, names: Names, end: str, due: str) -> str:
        """Return the test that nothing has blocked a left side of an absence whose deadline has come."""
        place = len(p.negated(test)) - 1
        blockers = self.blockers(entry, place)
        key = self.key(blockers, [names[v] for v in self.key_variables(entry, place)[1]])
        low = end if test.before is None else f"{end} - {code.constant(test.before + 1)}"
        if test.conditions:
            return self._not_judged(code, entry, place, test, key, (low, f"{due} + 1"), names)
        if isinstance(blockers, LooseBlockers):
            return f"not {code.constant(blockers)}.hit({key}, {low}, {due} + 1)"
        lines: list[str] = []
        latest = self._write_latest(code, lines, blockers, key, f"{due} + 1")
        code.add(lines)
        return f"{latest} <= {low}"

    def _not_judged(
        self, code: Code, entry: Wired, place: int, test: p.Absent | p.Deadline, key: str, bounds: tuple[str, str],
        names: Names,
    ) -> str:  # fmt: skip
        """Return the test that no blocker between two moments fulfils the conditions of an absence."""
        judge, blockers = code.constant(self.judge(entry, place, test)), code.constant(self.blockers(entry, place))
        asked = f"({''.join(f'{names[v]}, ' for v in p.asked_of_match(test))})"
        return f"not {blockers}.hit_judged({key}, {', '.join(bounds)}, {judge}, {asked})"

    def undisturbed(self, code: Code, ids: str, low: str, high: str) -> str:
        """Return the test that nothing else lies in between: what no part can lie in is told for all candidates."""
        log = code.constant(self.base.log())
        loop = code.loop
        if loop is None or low != loop.end or not loop.is_firm(high):
            return f"not {log}.disturbed({ids}, {low}, {high})"
        latest = code.fresh("c")
        loop.before.append(f"{latest} = {log}.latest_start({high})")
        if loop.floor is None and not loop.asks:
            loop.floor = latest
        return f"{latest} <= {low}"

    def judge(self, entry: Wired, place: int, test: p.Absent | p.Deadline) -> Callable[..., bool]:
        """Return whether a blocker of a group fulfils the conditions of an absence: between moments, of a match."""
        asked = p.asked_of_match(test)
        code = Code(["group", "low", "high", *(f"v{i}" for i in range(len(asked)))])
        given = [*zip(asked, code.parameters[3:], strict=True)]
        values = [(v, f"w{i}") for i, v in enumerate((*test.joined, *test.brought))]
        self._write_normal(code, [name for _, name in given])
        with code.block("for end, start, values in reversed(group):"):
            code("if end <= low: return False")
            with code.block("if low < start and end < high:"):
                if values:
                    code(f"({''.join(f'{name}, ' for _, name in values)}) = values")
                self._write_normal(code, [name for _, name in values])
                names: Names = {}
                for v, name in (*given, *values):  # a joined one may be unbound on one side
                    names[v] = f"({names[v]} if {names[v]} is not None else {name})" if v in names else name
                firm, passing = entry.sure | self._sure_negative(entry, place), Passing([], [], [])
                for condition in test.conditions:
                    rule = self.base.rule_of(entry)
                    self.base.conditions.write(code, condition, names, firm, "0", "0", passing, rule, {})
                code(f"if {' and '.join(passing.expressions)}: return True")
        code("return False")
        return self.base.finish(code, "condition of an absence")

    @staticmethod
    def _write_normal(code: Code, names: Sequence[str]) -> None:
        for name in names:
            code(f"if {name}.__class__ is float: {name} = {code.constant(normal)}({name})")

    def _write_latest(self, code: Code, lines: list[str], blockers: Blockers, key: str, high: str) -> str:
        """Write once for all candidates when the last blocker began that ended before a moment; return its name."""
        latest, none = code.fresh("c"), code.constant(BEFORE_TIME)
        known = f"{latest} = {code.constant(blockers.groups)}.get({key}"
        if isinstance(blockers, LatestBlockers):
            lines.append(f"{known}, {none})")
        else:
            lines += [
                f"{known})",
                f"if {latest} is None: {latest} = {none}",
                f"elif {latest}[-1][0] < {high}: {latest} = {latest}[-1][1]",
                f"else: {latest} = {code.constant(latest_start)}({latest}, {high})",
            ]
        return latest
