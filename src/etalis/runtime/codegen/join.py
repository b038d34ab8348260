"""The search for partners of an instance that arrives at a join, written by the rows of relation and policy.

The rows are read here, when the code is written; the code itself knows neither. Law: what waits in a group is in
order of (end, start, arrival), and nothing that waits ends after what arrives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, assert_never

from etalis.plan import algebra as p
from etalis.plan.retention import window_of
from etalis.runtime.codegen.network import Wired, own_names
from etalis.runtime.codegen.passing import Passing
from etalis.runtime.codegen.ropes import change_slots, together, write_choice, write_pair
from etalis.runtime.codegen.source import CandidateLoop, Code, tuple_of, words_of
from etalis.runtime.operators import store as stores
from etalis.runtime.operators.gathering import leave_gathered, take_gathered
from etalis.runtime.state import BEGINNING, NEVER
from etalis.temporal.rope import SeveralRopes, follow

if TYPE_CHECKING:
    from etalis.runtime.codegen.compile import Compiler

Names = dict[str, str]
_BOUND = re.compile(r"\b(\w+) :=")


class Probe:
    """Writes the search for partners of one arriving instance, by the rows of relation and policy."""

    def __init__(
        self, compiler: Compiler, code: Code, entry: Wired, place: int, names: Names, key: str, t1: str, t2: str
    ) -> None:
        self.compiler = compiler
        self.code = code
        self.entry = entry
        assert isinstance(entry.node, p.Join)
        self.node = entry.node
        self.place = place
        self.names = names
        self.key = key
        self.x1, self.x2 = t1, t2
        self.keys = compiler.join_keys(entry)
        self.other = compiler.side(entry, 1 - place)
        self.at = key if self.keys.fact is None else code.fresh("q")  # of the group that is found there
        self.taken = False
        self.columns = compiler.columns(entry, 1 - place)
        self.locals = [code.fresh("y") for _ in self.columns]
        self.y1, self.y2 = code.fresh("s"), code.fresh("e")
        x, y = (self.x1, self.x2), (self.y1, self.y2)
        (self.a1, self.a2), (self.b1, self.b2) = (x, y) if place == 0 else (y, x)
        self.loop = CandidateLoop(words_of(*names.values(), t1, t2), self.y2)
        self.window = self._write_window()
        self.is_alone = compiler.alone_at_once(entry, place)
        self.unmatched = compiler.special.unmatched(entry) if compiler.awaits(entry, 1 - place) else None

    @property
    def points(self) -> dict[str, str]:
        return {"a1": self.a1, "a2": self.a2, "b1": self.b1, "b2": self.b2}

    def write(self, own: dict[Any, Any] | None) -> None:
        """Write probing and storing, as the policy's row says."""
        match self.node.policy.select:
            case "earliest" | "latest":
                self.write_one(own)
            case "all":
                self.write_all(own)
            case "together":
                self.write_together(own)
            case select:
                assert_never(select)

    # pieces

    def _write_window(self) -> str | None:
        """Return the name of the moment before which no pair can begin, where it lasts from the first to the last."""
        window = window_of(self.node.tests)
        if window is None or self.node.relation.occurs_on != "hull":
            return None
        limit = self.code.fresh("w")
        self.loop.before.append(f"{limit} = {self.x2} - {self.code.constant(window)}")
        return limit

    def merged(self) -> Names:
        """Return the variables of a pair: the arriving instance's, the waiting one's, the bound one of two."""
        pair = dict(self.names)
        for column, local in self._waiting(dict(zip(self.columns, self.locals, strict=True))).items():
            if column in pair and column[0] != "$":
                pair[column] = f"({pair[column]} if {pair[column]} is not None else {local})"
            elif column == "$parts" and column in pair:
                token = self.locals[self.columns.index("$token")] if "$token" in self.columns else None
                pair[column] = self._pair_of(pair[column], self._followed(local, token))
            elif column == "$ids" and column in pair:
                pair[column] = f"({pair[column]} | {local})"
            else:
                pair[column] = local
        self._name_marks(pair)
        return pair

    def _name_marks(self, pair: Names) -> None:
        """Give a sequence its inner bounds: end of the first part, start of the last."""
        if self.node.relation.sequential:
            left, right = own_names(self.entry)
            pair["$first"] = pair["$first"] if "$first" in left else self.a2
            pair["$last"] = pair["$last"] if "$last" in right else self.b1

    def _waiting(self, values: Names) -> Names:
        """Return the values of a waiting instance by its variables."""
        return together(values, p.children(self.node)[1 - self.place])

    def _pair_of(self, arriving: str, waiting: str) -> str:
        """Return the rope of a pair, in the order of the text; of several that are put together each side is one."""
        if self.node.policy.select == "together":
            arriving, waiting = str(arriving), str(waiting)
        pair = write_pair(arriving, waiting) if self.place == 0 else write_pair(waiting, arriving)
        return pair if self.node.alone is None else write_choice(0, pair)

    def _followed(self, waiting: str, token: str | None) -> str:
        """Return the rope of what has waited for what now follows it in a sequence."""
        if token is None or not self.node.relation.sequential:
            return waiting
        follows = self.code.constant(follow)
        return change_slots(waiting, lambda slot: f"{follows}({slot}, {token}, {self.b1})")

    def agreement(self) -> list[str]:
        """Return tests for shared variables that may be unbound."""
        found = []
        for column, local in zip(self.columns, self.locals, strict=True):
            if column in self.names and column[0] != "$":
                x = self.names[column]
                found.append(f"({x} is None or {local} is None or {x} == {local})")
        return found

    def interval(self) -> tuple[str, str]:
        """Return start and end of a pair. The arriving instance ends last, so a hull ends with it."""
        relation = self.node.relation
        if relation.occurs_on == "a":
            return self.a1, self.a2
        if relation.occurs_on == "b":
            return self.b1, self.b2
        if relation.sequential or ("a2", "=", "b1") in relation.comparisons:
            return self.a1, self.x2
        if ("a1", "=", "b1") in relation.comparisons:
            return self.x1, self.x2
        return f"({self.y1} if {self.y1} < {self.x1} else {self.x1})", self.x2

    def passing(self) -> tuple[Passing, Names, str, str]:
        """Return the candidate test of a pair with its variables and interval."""
        names = self.merged()
        start, end = self.interval()
        low, high = names.get("$first", start), names.get("$last", end)
        firm = self.compiler.sure_of_pairs(self.entry)
        self.code.loop = self.loop
        proven = None if self.keys.proven is None else (self.keys.proven, f"{self.at} is not None")
        tests = self.compiler.tests(
            self.code, self.entry, names, firm, start, end, low, high, self.length_test(), proven
        )  # fmt: skip
        self.code.loop = None
        relation = [
            f"{self.points[x]} {'==' if op == '=' else op} {self.points[y]}"
            for x, op, y in self.node.relation.comparisons
        ]
        tests.expressions[:0] = [*relation, *self.agreement()]
        return tests, names, start, end

    def length_test(self) -> str | None:
        if self.window is None:
            return None
        if self.node.relation.sequential:
            return f"{self.a1} >= {self.window}"
        own = "" if self.x1 == self.x2 else f" and {self.x1} >= {self.window}"  # an instant fits into every window
        return f"{self.y1} >= {self.window}{own}"

    def unpack(self, source: str) -> str:
        return f"{tuple_of([*self.locals, self.y1, self.y2])} = {source}"

    def past(self) -> str | None:
        """Return when, going from the newest back, nothing further can match; from the row and the window."""
        mine, other = ("a", "b") if self.place == 1 else ("b", "a")
        conditions = []
        for x, op, y in self.node.relation.comparisons:
            if x[0] == other and y[0] == mine and op in ("<", "<="):
                conditions.append(f"{self.y2} {'<=' if op == '<' else '<'} {self.points[x]}")
            elif op == "=" and f"{mine}2" in (x, y):
                partner = y if x[0] == mine else x
                conditions.append(f"{self.y2} < {self.points[partner]}")
        conditions += [f"{self.y2} < {limit}" for limit in (self.window, self.loop.floor) if limit is not None]
        return " or ".join(conditions) or None

    def beyond(self) -> str | None:
        """Return when, going from the oldest on, nothing further can match."""
        mine = "a" if self.place == 1 else "b"
        for x, op, y in self.node.relation.comparisons:
            if x == f"{mine}2" and y[0] != mine and op in ("<", "<="):
                return f"{self.y2} {'>=' if op == '<' else '>'} {self.points[y]}"
        return None

    def find(self, group: str) -> None:
        """Write that the group of the partners is found."""
        code, database = self.code, self.compiler.conditions.solver.database
        other = code.constant(self.other)
        self.keys.find(code, self.place, self.names, self.key, self.at, other, group, database)

    def forget(self) -> None:
        """Let blockers of a key go when its last left side has gone."""
        for blockers in self.compiler.special.watching(self.entry):
            self.code(f"{self.code.constant(blockers.groups)}.pop({self.key}, None)")

    def consumed(self) -> None:
        """What consumes a repetition consumes the whole."""
        if "$token" in self.columns and self.node.policy.consume:
            token = self.locals[self.columns.index("$token")]
            with self.code.block(f"if {token} is not None:"):
                self.code(f"{token}.kill()")

    def keep_waiting(self, own: dict[Any, Any] | None, matched: str = "") -> None:
        if own is not None:
            self.compiler.store(self.code, self.entry, self.place, self.names, self.key, self.x1, self.x2, matched)

    def has_met(self, candidate: str) -> None:
        """Write that a candidate has a partner, where one that has none matches alone."""
        if self.unmatched is not None:
            self.code(f"{self.code.constant(self.unmatched.met)}[id({candidate})] = {candidate}")

    def trim_met(self) -> None:
        """Write that what has met a partner long ago is forgotten."""
        if self.unmatched is not None:
            unmatched, met = map(self.code.constant, (self.unmatched, self.unmatched.met))
            self.code(f"if len({met}) > {unmatched}.trim_at: {unmatched}.trim()")

    def match_alone(self, matched: str) -> None:
        """Write that an instance without a partner matches alone, where that is known on its arrival."""
        if self.is_alone:
            with self.code.block(f"if not {matched}:"):
                self.compiler.deliver_alone(self.code, self.entry, self.names, self.x1, self.x2)

    # shapes

    def write_one(self, own: dict[Any, Any] | None) -> None:
        """Earliest or latest candidate; it leaves where the policy consumes.

        Where nearly every candidate passes (no condition, no absence) the group is taken out first, and put back if
        need be.
        """
        code, node = self.code, self.node
        y = code.fresh("y")
        tests, names, start, end = self.passing()
        condition = " and ".join(tests.expressions) or "True"
        is_asked = any(isinstance(t, p.GoalTest | p.Absent) for t in node.tests)
        self.taken = node.policy.consume and not is_asked and not self.keys.gathers
        if self.taken:
            code(f"{y} = {code.constant(self.other)}.pop({self.key}, None)")
        else:
            self.find(y)
        with code.block(f"if {y} is not None:"):
            code.add(self.loop.before)
            if self.compiler.meets_itself(self.entry):
                self._try_held(y, condition)
            elif node.policy.keep == "newest":
                self._try_only(y, condition)
            else:
                with code.block(f"if type({y}) is tuple:"):
                    self._try_only(y, condition)
                with code.block("else:"):
                    self._try_several(y, condition)
            if own is None:
                with code.block(f"if {y} is not None:"):
                    self._match_one(y, tests, names, start, end)
        if own is not None:
            with code.block(f"if {y} is not None:"):
                self._match_one(y, tests, names, start, end)
                if node.policy.keep != "unmatched":
                    self.keep_waiting(own)
            with code.block("else:"):
                self.keep_waiting(own)
        self.match_alone(y)

    def _match_one(self, y: str, tests: Passing, names: Names, start: str, end: str) -> None:
        self.consumed()
        self.has_met(y)
        self.trim_met()
        self.compiler.multiplied(self.code, self.entry, tests, names, start, end)

    def _try_only(self, y: str, condition: str) -> None:
        """Test the one instance that waits under the key; it becomes None where it is no candidate."""
        code = self.code
        code(self.unpack(y))
        if self.node.policy.consume and not self.taken:
            with code.block(f"if {condition}:"):
                code(f"del {code.constant(self.other)}[{self.at}]")
                self.forget()
            with code.block("else:"):
                code(f"{y} = None")
            return
        with code.block(f"if not ({condition}):"):
            if self.taken:
                code(f"{code.constant(self.other)}[{self.key}] = {y}")
            code(f"{y} = None")

    def _try_held(self, y: str, condition: str) -> None:
        """Test the newest and, for the event that replaced them, the older ones of the key."""
        code = self.code
        held = code.fresh("g")
        code(f"{held} = {y}")
        with code.block(f"for {y} in {held}.candidates({code.constant(self.compiler.state)}.current):"):
            code(self.unpack(y))
            with code.block(f"if {condition}:"):
                code("break")
        with code.block("else:"):
            code(f"{y} = None")

    def _try_several(self, y: str, condition: str) -> None:
        """Test the instances of a group from the end that the policy prefers."""
        code = self.code
        g, j = code.fresh("g"), code.fresh("j")
        latest = self.node.policy.select == "latest"
        code(f"{g} = {y}")
        if self.taken:
            code(f"{code.constant(self.other)}[{self.key}] = {g}")
            if not latest:
                with self._take_first(y, g, condition):
                    self._try_each(y, g, j, condition, f"range(1, len({g}))")
                return
        if latest:
            places = f"range(len({g}) - 1, -1, -1)"
        elif self.loop.floor is not None:
            places = f"range({code.constant(stores.first_since)}({g}, {self.loop.floor}), len({g}))"
        else:
            places = f"range(len({g}))"
        self._try_each(y, g, j, condition, places)

    @contextmanager
    def _take_first(self, y: str, g: str, condition: str) -> Iterator[None]:
        """Take the first of a group of several, which nearly always passes; else do what follows."""
        code = self.code
        code(f"{y} = {g}[0]")
        code(self.unpack(y))
        with code.block(f"if {condition}:"):
            code(f"if len({g}) == 2: {code.constant(self.other)}[{self.key}] = {g}[1]")
            code(f"else: del {g}[0]")
        with code.block("else:"):
            yield

    def _try_each(self, y: str, g: str, j: str, condition: str, places: str) -> None:
        code, latest = self.code, self.node.policy.select == "latest"
        with code.block(f"for {j} in {places}:"):
            code(f"{y} = {g}[{j}]")
            code(self.unpack(y))
            stop = self.past() if latest else self.beyond()
            if stop:
                with code.block(f"if {stop}:"):
                    code(f"{y} = None")
                    code("break")
            with code.block(f"if {condition}:"):
                if self.node.policy.consume:
                    take = code.constant(take_gathered if self.keys.gathers else stores.take)
                    code(f"{take}({code.constant(self.other)}, {self.at}, {g}, {j})")
                code("break")
        with code.block("else:"):
            code(f"{y} = None")

    def write_all(self, own: dict[Any, Any] | None) -> None:
        """Every candidate, earliest first; all leave where the policy consumes."""
        code, node = self.code, self.node
        g, y, hits = code.fresh("g"), code.fresh("y"), code.fresh("h")
        tests, names, start, end = self.passing()
        condition = " and ".join(tests.expressions) or "True"
        consume = node.policy.consume
        is_asked = node.policy.keep == "unmatched" or self.is_alone or self.compiler.awaits(self.entry, self.place)
        if is_asked:
            code(f"{hits} = ()")
        self.find(g)
        if not (consume or tests.actions) and self.compiler.heads.may_gather(self.entry):
            self._gather(g, hits if is_asked else None, tests, names, start, end)
            self._keep_after(hits, own)
            self.match_alone(hits)
            return
        with code.block(f"if {g} is not None:"):
            with code.block(f"if type({g}) is tuple:"):
                code(f"{g} = ({g},)")
            code.add(self.loop.before)
            if consume or is_asked or self.past():
                self._write_back(g, hits, tests, names, start, end)
            else:
                with code.block(f"for {y} in {g}:"):
                    code(self.unpack(y))
                    ahead = self.beyond()
                    if ahead:
                        with code.block(f"if {ahead}:"):
                            code("break")
                    with code.block(f"if {condition}:"):
                        self.has_met(y)
                        self.compiler.multiplied(code, self.entry, tests, names, start, end)
            self.trim_met()
        self._keep_after(hits, own)
        self.match_alone(hits)

    def _keep_after(self, hits: str, own: dict[Any, Any] | None) -> None:
        if own is not None and self.node.policy.keep == "unmatched":
            with self.code.block(f"if not {hits}:"):
                self.keep_waiting(own)
        else:
            self.keep_waiting(own, hits)

    def _leave(self, g: str, hits: str, other: str) -> None:
        code = self.code
        gone = code.fresh("z")
        code(f"{gone} = set(map(id, {hits}))")
        if self.keys.gathers:
            code(f"{code.constant(leave_gathered)}({other}, {self.at}, {g}, {gone})")
        else:
            code(f"{code.constant(stores.leave)}({other}, {self.at}, [z for z in {g} if id(z) not in {gone}])")
        if self.compiler.special.watching(self.entry):
            with code.block(f"if {self.key} not in {other}:"):
                self.forget()
        if "$token" in self.columns:
            place = self.columns.index("$token")
            with code.block(f"for {gone} in {hits}:"), code.block(f"if {gone}[{place}] is not None:"):
                code(f"{gone}[{place}].kill()")

    def _write_back(self, g: str, hits: str, tests: Passing, names: Names, start: str, end: str) -> None:
        """Find the candidates from the newest back, keep what conditions bind, then hand on, the earliest first."""
        code, back, consume = self.code, self.past(), self.node.policy.consume
        y = code.fresh("y")
        read = words_of(*names.values(), *(solutions for solutions, _ in tests.loops))
        bound = [v for v in dict.fromkeys(_BOUND.findall(" ".join(tests.expressions))) if v in read]
        found, candidate = (code.fresh("h"), tuple_of([y, *bound])) if bound else (hits, y)
        code.add(f"{name} = []" for name in dict.fromkeys([hits, found]))
        with code.block(f"for {y} in reversed({g}):"):
            code(self.unpack(y))
            if back:
                with code.block(f"if {back}:"):
                    code("break")
            with code.block(f"if {' and '.join(tests.expressions) or 'True'}:"):
                code.add(f"{name}.append({y if name == hits else candidate})" for name in dict.fromkeys([hits, found]))
        if consume:
            with code.block(f"if {hits}:"):
                self._leave(g, hits, code.constant(self.other))
        with code.block(f"for {candidate} in reversed({found}):"):
            code(self.unpack(y))
            self.has_met(y)
            self.compiler.multiplied(code, self.entry, tests, names, start, end)

    def _gather(self, g: str, hits: str | None, tests: Passing, names: Names, start: str, end: str) -> None:
        """Make the events of all candidates in one pass; then see which are new, and put them in order.

        The candidates themselves are `hits`, where anyone asks for them.

        Where starts rise or fall all the way, as those of candidates do as a rule, events differ, and are in order,
        by their starts alone.
        """
        code, back = self.code, self.past()
        if not self.keys.gathers:
            code.know_group(self.other, self.key, g)
        with code.block(f"if {g} is not None:"):
            code.add(self.loop.before)
            self._gather_each(
                f"({g},) if type({g}) is tuple else {f'reversed({g})' if back else g}",
                hits, back, tests, names, start, end,
            )  # fmt: skip
            self.trim_met()

    def _gather_each(
        self, group: str, hits: str | None, back: str | None, tests: Passing, names: Names, start: str, end: str
    ) -> None:  # fmt: skip
        code, ahead = self.code, None if back else self.beyond()
        code.loop, self.loop.gathers = self.loop, True
        is_apart = not self.loop.is_firm(start) and not tests.loops
        before, far = map(code.constant, (NEVER, BEGINNING) if back else (BEGINNING, NEVER))
        last = code.fresh("p")
        if is_apart:
            code(f"{last} = {before}")
        top, y = len(code.lines), code.fresh("y")
        if hits is not None:
            code(f"{hits} = []")
        is_whole = hits is not None or self.unmatched is not None
        with code.block(f"for {y if is_whole else tuple_of([*self.locals, self.y1, self.y2])} in {group}:"):
            if is_whole:
                code(self.unpack(y))
            if back or ahead:
                with code.block(f"if {back or ahead}:"):
                    code("break")
            with code.block(f"if {' and '.join(tests.expressions) or 'True'}:"):
                if hits is not None:
                    code(f"{hits}.append({y})")
                self.has_met(y)
                if is_apart and not start.isidentifier():
                    local = code.fresh("s")
                    code(f"{local} = {start}")
                    start = local
                if is_apart:
                    code(f"{last} = {start} if {start} {'<' if back else '>'} {last} else {far}")
                self.compiler.multiplied(code, self.entry, tests, names, start, end)
        code.loop = None
        for found, kinds in self.loop.found.items():
            code.insert(top, f"{found} = []")
            order = [f"{found}.reverse()"] if back and (is_apart or self.compiler.heads.parts) else []
            in_order = f"{last} is not {far}" if is_apart else f"len({found}) == 1"
            self.compiler.heads.note_gathered(code, found, kinds, in_order, order, end)

    def write_together(self, own: dict[Any, Any] | None) -> None:
        """One match with all candidates, on the common hull, with the variables of the latest."""
        code = self.code
        other = code.constant(self.other)
        g, y, hits, first = code.fresh("g"), code.fresh("y"), code.fresh("h"), code.fresh("m")
        tests, _, _, _ = self.passing()
        condition = " and ".join(tests.expressions) or "True"
        code(f"{hits} = []")
        self.find(g)
        with code.block(f"if {g} is not None:"):
            with code.block(f"if type({g}) is tuple:"):
                code(f"{g} = ({g},)")
            code.add(self.loop.before)
            with code.block(f"for {y} in {g}:"):
                code(self.unpack(y))
                with code.block(f"if {condition}:"):
                    code(f"{hits}.append({y})")
        with code.block(f"if {hits}:"):
            code(self.unpack(f"{hits}[-1]"))
            code(f"{first} = {self.x1 if self.node.relation.occurs_on in ('hull', 'ab'[self.place]) else self.y1}")
            if self.node.relation.occurs_on != "ab"[self.place]:
                with code.block(f"for {y} in {hits}:"), code.block(f"if {y}[-2] < {first}:"):
                    code(f"{first} = {y}[-2]")
            self._combined(first, g, hits, other)
        self._keep_after(hits, own)
        self.match_alone(hits)

    def _combined(self, first: str, g: str, hits: str, other: str) -> None:
        """Run the conditions once more on the combined match; only if it stands is anything consumed."""
        names = self.merged()
        for mark in ("$parts", "$ids"):
            if mark in self.columns:
                names[mark] = self._all_of(mark, hits)
        again = [t for t in self.node.tests if isinstance(t, p.GoalTest | p.Action)]
        x2 = self.x2
        firm = self.compiler.sure_of_pairs(self.entry)
        passing = self.compiler.judged(self.code, self.entry, again, names, firm, first, x2, first, x2, None)
        with self.code.block(f"if {' and '.join(passing.expressions) or 'True'}:"):
            if self.node.policy.consume:
                self._leave(g, hits, other)
            if self.unmatched is not None:
                y = self.code.fresh("y")
                with self.code.block(f"for {y} in {hits}:"):
                    self.has_met(y)
                self.trim_met()
            self.compiler.multiplied(self.code, self.entry, passing, names, first, self.x2)
        if passing.expressions:
            with self.code.block("else:"):
                self.code(f"{hits} = ()")

    def _all_of(self, mark: str, hits: str) -> str:
        """Return a mark of the combined match: that of the arriving instance and of all candidates."""
        own = self.names[mark]
        one = self._waiting({name: f"z[{place}]" for place, name in enumerate(self.columns)})
        if mark == "$ids":
            return f"{own}.union(*[{one[mark]} for z in {hits}])"
        others = f"[{self._followed(one[mark], one.get('$token'))} for z in {hits}]"
        return self._pair_of(own, f"{self.code.constant(SeveralRopes)}({others})")
