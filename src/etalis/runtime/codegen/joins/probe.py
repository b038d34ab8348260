"""What every search for partners writes: where they are found, what leaves or waits, who has met a partner.

Law: what waits in a group is in order of (end, start, arrival), and nothing that waits ends after what arrives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from etalis.plan import algebra as p
from etalis.plan.retention import waits_as_instant
from etalis.runtime.codegen.absences import Absences
from etalis.runtime.codegen.emission import Emission
from etalis.runtime.codegen.joins.outer import OuterJoins
from etalis.runtime.codegen.joins.pair import Pair
from etalis.runtime.codegen.joins.stores import JoinStores
from etalis.runtime.codegen.joins.storing import Storing
from etalis.runtime.codegen.match_tests import MatchTests
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.passing import Passing
from etalis.runtime.codegen.rule_code import Names, RuleCode
from etalis.runtime.codegen.source import Code
from etalis.runtime.operators import store as groups
from etalis.runtime.operators.gathering import leave_gathered


@dataclass(frozen=True, slots=True)
class JoinParts:
    """What the code of a join is written by."""

    base: RuleCode
    stores: JoinStores
    outer: OuterJoins
    storing: Storing
    absences: Absences
    tests: MatchTests
    emission: Emission
    leave_repetition: Callable[[Code, Wired, int, Names, str], None]


class Probe:
    """The search for partners of one arriving instance; `keeps` says that it may wait afterwards."""

    def __init__(
        self, parts: JoinParts, code: Code, entry: Wired, place: int, names: Names, key: str, t1: str, t2: str, *,
        keeps: bool,
    ) -> None:  # fmt: skip
        self.parts = parts
        self.code = code
        self.entry = entry
        assert isinstance(entry.node, p.Join)
        self.node = entry.node
        self.place = place
        self.names = names
        self.key = key
        self.keeps = keeps
        self.pair = Pair(parts.stores, parts.tests, code, entry, place, names, t1, t2)
        self.keys = parts.stores.join_keys(entry)
        self.store = parts.stores.side(entry, 1 - place)
        self.at = key if self.keys.fact is None else code.fresh("q")  # of the group that is found there
        self.is_alone = parts.outer.alone_at_once(entry, place)
        self.unmatched = parts.outer.unmatched(entry) if parts.outer.awaits(entry, 1 - place) else None

    @property
    def other(self) -> str:
        """The name of the other side's store."""
        return self.code.constant(self.store)

    def passing(self) -> tuple[Passing, Names, str, str]:
        """Return the candidate test of a pair with its variables and interval."""
        return self.pair.passing(self.keys, self.at)

    def find(self, group: str) -> None:
        """Write that the group of the partners is found, unless the event has just been put into it."""
        known = self.code.held.pop((id(self.store), self.key), "")
        if known and self.keys.fact is None and not self.keys.is_loose:
            self.code(f"{group} = {known}")
            return
        database = self.parts.base.conditions.solver.database
        seldom = waits_as_instant(self.node.relation, 1 - self.place) and self.unmatched is None
        self.keys.find(
            self.code, self.place, self.names, self.key, self.at, self.other, group, database, seldom=seldom
        )  # fmt: skip

    def hand_on(self, tests: Passing, names: Names, start: str, end: str) -> None:
        """Write that a match is handed on."""
        self.parts.emission.multiplied(self.code, self.entry, tests, names, start, end)

    # what leaves

    def forget(self) -> None:
        """Let blockers of a key go when its last left side has gone."""
        for blockers in self.parts.absences.watching(self.entry):
            self.code(f"{self.code.constant(blockers.groups)}.pop({self.key}, None)")

    def consumed(self) -> None:
        """What consumes a repetition consumes the whole."""
        columns = self.pair.columns
        if "$token" in columns and self.node.policy.consume:
            token = self.pair.locals[columns.index("$token")]
            with self.code.block(f"if {token} is not None:"):
                self.code(f"{token}.kill()")
                self._leave_repetition(token)

    def leave(self, group: str, hits: str) -> None:
        """Write that all candidates that are found leave their group, as a rule all that are in it."""
        code = self.code
        gone = code.fresh("z")
        if self.keys.gathers:
            code(f"{gone} = set(map(id, {hits}))")
            code(f"{code.constant(leave_gathered)}({self.other}, {self.at}, {group}, {gone})")
        else:
            with code.block(f"if len({hits}) == len({group}):"):
                code(f"del {self.other}[{self.at}]")
            with code.block("else:"):
                code(f"{gone} = set(map(id, {hits}))")
                rest = f"[z for z in {group} if id(z) not in {gone}]"
                code(f"{code.constant(groups.leave)}({self.other}, {self.at}, {rest})")
        if self.parts.absences.watching(self.entry):
            with code.block(f"if {self.key} not in {self.other}:"):
                self.forget()
        if "$token" in self.pair.columns:
            place = self.pair.columns.index("$token")
            with code.block(f"for {gone} in {hits}:"), code.block(f"if {gone}[{place}] is not None:"):
                code(f"{gone}[{place}].kill()")
            self._leave_repetition("")

    def _leave_repetition(self, token: str) -> None:
        """Write that what a repetition counted after leaves it when matches of it are consumed, perhaps one alone."""
        self.parts.leave_repetition(self.code, self.entry, 1 - self.place, self.names, token)

    # what waits

    def keep_waiting(self, matched: str = "") -> None:
        """Write that the arriving instance waits, if it may; `matched`: whether it has partners."""
        if self.keeps:
            pair = self.pair
            self.parts.storing.write(
                self.code, self.entry, self.place, self.names, self.key, pair.x1, pair.x2, matched
            )  # fmt: skip

    def keep_after(self, hits: str) -> None:
        """Write that it waits after its candidates are found, where the policy lets it."""
        if self.keeps and self.node.policy.keep == "unmatched":
            with self.code.block(f"if not {hits}:"):
                self.keep_waiting()
        else:
            self.keep_waiting(hits)

    # parts that may be missing

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
                self.parts.outer.deliver(self.code, self.entry, self.names, self.pair.x1, self.pair.x2)
