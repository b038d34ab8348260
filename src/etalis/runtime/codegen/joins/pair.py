"""A pair of an arriving instance and one that waits, in generated code: its variables, its interval, its tests.

The row of the relation is read here, when the code is written; the code itself knows nothing of it.
"""

from __future__ import annotations

from etalis.plan import algebra as p
from etalis.plan.retention import window_of
from etalis.runtime.codegen.joins.stores import JoinStores
from etalis.runtime.codegen.keys.join_keys import JoinKeys
from etalis.runtime.codegen.match_tests import MatchTests
from etalis.runtime.codegen.network import Wired, own_names
from etalis.runtime.codegen.passing import Passing
from etalis.runtime.codegen.ropes import change_slots, together, write_choice, write_pair
from etalis.runtime.codegen.rule_code import Names
from etalis.runtime.codegen.source import CandidateLoop, Code, tuple_of, words_of
from etalis.temporal.rope import follow


class Pair:
    """What is written of one candidate: [x1, x2] arrives at a side, [y1, y2] waits on the other."""

    def __init__(
        self, stores: JoinStores, tests: MatchTests, code: Code, entry: Wired, place: int, names: Names, t1: str,
        t2: str,
    ) -> None:  # fmt: skip
        self.stores = stores
        self.tests = tests
        self.code = code
        self.entry = entry
        assert isinstance(entry.node, p.Join)
        self.node = entry.node
        self.place = place
        self.names = names
        self.x1, self.x2 = t1, t2
        self.columns = stores.columns(entry, 1 - place)
        self.locals = [code.fresh("y") for _ in self.columns]
        self.y1, self.y2 = code.fresh("s"), code.fresh("e")
        x, y = (self.x1, self.x2), (self.y1, self.y2)
        (self.a1, self.a2), (self.b1, self.b2) = (x, y) if place == 0 else (y, x)
        self.loop = CandidateLoop(words_of(*names.values(), t1, t2), self.y2)
        self.window = self._write_window()

    @property
    def points(self) -> dict[str, str]:
        return {"a1": self.a1, "a2": self.a2, "b1": self.b1, "b2": self.b2}

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
        for column, local in self.waiting(dict(zip(self.columns, self.locals, strict=True))).items():
            if column in pair and column[0] != "$":
                pair[column] = f"({pair[column]} if {pair[column]} is not None else {local})"
            elif column == "$parts" and column in pair:
                token = self.locals[self.columns.index("$token")] if "$token" in self.columns else None
                pair[column] = self.pair_of(pair[column], self.followed(local, token))
            elif column in ("$ids", "$one") and column in pair:
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

    def waiting(self, values: Names) -> Names:
        """Return the values of a waiting instance by its variables."""
        return together(values, p.children(self.node)[1 - self.place])

    def pair_of(self, arriving: str, waiting: str) -> str:
        """Return the rope of a pair, in the order of the text; of several that are put together each side is one."""
        if self.node.policy.select == "together":
            arriving, waiting = str(arriving), str(waiting)
        pair = write_pair(arriving, waiting) if self.place == 0 else write_pair(waiting, arriving)
        return pair if self.node.alone is None else write_choice(0, pair)

    def followed(self, waiting: str, token: str | None) -> str:
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

    def difference(self) -> list[str]:
        """Return the test that no event is chosen twice, where `any` asks for it."""
        if not self.node.is_apart:
            return []
        local = self.locals[self.columns.index("$one")]
        return [f"{self.names['$one']}.isdisjoint({local})"]

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

    def passing(self, keys: JoinKeys, at: str) -> tuple[Passing, Names, str, str]:
        """Return the candidate test of a pair with its variables and interval; its group was found by the key `at`."""
        names = self.merged()
        start, end = self.interval()
        low, high = names.get("$first", start), names.get("$last", end)
        firm = self.stores.sure_of_pairs(self.entry)
        self.code.loop = self.loop
        proven = None if keys.proven is None else (keys.proven, f"{at} is not None")
        tests = self.tests.write(
            self.code, self.entry, names, firm, start, end, low, high, self.length_test(), proven
        )  # fmt: skip
        self.code.loop = None
        relation = [
            f"{self.points[x]} {'==' if op == '=' else op} {self.points[y]}"
            for x, op, y in self.node.relation.comparisons
        ]
        tests.expressions[:0] = [*relation, *self.agreement(), *self.difference()]
        return tests, names, start, end

    def length_test(self) -> str | None:
        if self.window is None:
            return None
        if self.node.relation.sequential:
            return f"{self.a1} >= {self.window}"
        own = "" if self._is_short() else f" and {self.x1} >= {self.window}"
        return f"{self.y1} >= {self.window}{own}"

    def _is_short(self) -> bool:
        """Tell whether what arrives is known to be no longer than the window: an instant, or what was tested before."""
        part, longest = p.children(self.node)[self.place], window_of(self.node.tests)
        tested = window_of(part.tests) if isinstance(part, p.Filter) else None
        return self.x1 == self.x2 or (longest is not None and tested is not None and tested <= longest)

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
