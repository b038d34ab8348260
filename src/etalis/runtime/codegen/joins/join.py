"""Joins in generated code: what an instance does that arrives at one side, by the rows of relation and policy.

The rows are read here, when the code is written; the code itself knows neither.
"""

from __future__ import annotations

from typing import assert_never

from etalis.plan import algebra as p
from etalis.plan.retention import NEVER_STORED
from etalis.runtime.codegen.joins.all_partners import AllPartners
from etalis.runtime.codegen.joins.one_partner import OnePartner
from etalis.runtime.codegen.joins.partners_together import PartnersTogether
from etalis.runtime.codegen.joins.probe import JoinParts, Probe
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.ropes import together
from etalis.runtime.codegen.rule_code import Names
from etalis.runtime.codegen.source import Code


class Joins:
    """Writes the joins of a rule set."""

    def __init__(self, parts: JoinParts) -> None:
        self.parts = parts

    def write(self, code: Code, entry: Wired, place: int, names: Names, t1: str, t2: str) -> None:
        """Write one side of a join: probe the other side's store, then store."""
        stores = self.parts.stores
        key = stores.join_keys(entry).write(code, place, names)
        stores.side(entry, place)  # has a place in reports, even if nothing ever waits there
        keeps = stores.retention(entry, place) != NEVER_STORED
        if self.parts.storing.lasts_a_moment(entry):
            code.probes += 1
            self.parts.storing.write_first(code, entry, place, names, key, t1, t2)
            with code.block("else:"):
                self._probe(Probe(self.parts, code, entry, place, names, key, t1, t2, keeps=True))
        elif stores.probes(entry, place):
            code.probes += 1
            self.parts.storing.drop_past(code, entry, 1 - place, t2)
            self._probe(Probe(self.parts, code, entry, place, names, key, t1, t2, keeps=keeps))
        elif keeps:
            self.parts.storing.write(code, entry, place, names, key, t1, t2)

    def _probe(self, probe: Probe) -> None:
        match probe.node.policy.select:
            case "earliest" | "latest":
                OnePartner(probe).write()
            case "all":
                AllPartners(probe).write()
            case "together":
                PartnersTogether(probe).write()
            case select:
                assert_never(select)

    def outline(self, entry: Wired, place: int) -> Code:
        """Return the code of a function for one side of a join, of what an instance brings there and its interval."""
        passed = self.parts.stores.passed(entry, place)
        parameters = [f"v{i}" for i in range(len(passed))]
        code = Code([*parameters, "t1", "t2"])
        names = together(dict(zip(passed, parameters, strict=True)), p.children(entry.node)[place])
        self.write(code, entry, place, names, "t1", "t2")
        return code
