"""The search for all partners, one match with each: policies `unrestricted` and `continuous`.

Where all that the matches do is to become events, these are gathered in one pass.
"""

from __future__ import annotations

import re

from etalis.runtime.codegen.joins.first_partner import leaves_with_first
from etalis.runtime.codegen.joins.probe import Probe
from etalis.runtime.codegen.passing import Passing
from etalis.runtime.codegen.rule_code import Names
from etalis.runtime.codegen.source import tuple_of, words_of
from etalis.runtime.state import BEGINNING, NEVER

_BOUND = re.compile(r"\b(\w+) :=")


class AllPartners:
    """Writes that every candidate is a partner, the earliest first; all leave where the policy consumes."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.pair = probe.pair
        self.code = probe.code
        self.consume = probe.node.policy.consume
        if probe.place == 1:
            self.consume = self.consume or leaves_with_first(probe.parts.stores, probe.entry)

    def write(self) -> None:
        """Write the search."""
        code, probe, policy = self.code, self.probe, self.probe.node.policy
        g, hits = code.fresh("g"), code.fresh("h")
        tests, names, start, end = probe.passing()
        is_outer = probe.is_alone or probe.parts.outer.awaits(probe.entry, probe.place)
        is_asked = policy.keep == "unmatched" or is_outer
        if is_asked:
            code(f"{hits} = ()")
        probe.find(g)
        if not (self.consume or tests.actions) and probe.parts.base.heads.may_gather(probe.entry):
            self._gather(g, hits if is_asked else None, tests, names, start, end)
        else:
            with code.block(f"if {g} is not None:"):
                code.add(self.pair.loop.before)
                if self.consume or is_asked or self.pair.past():
                    self._write_back(g, hits, tests, names, start, end)
                else:
                    self._write_forth(g, tests, names, start, end)
                probe.trim_met()
        probe.keep_after(hits)
        probe.match_alone(hits)

    def _write_forth(self, g: str, tests: Passing, names: Names, start: str, end: str) -> None:
        """Hand on the candidates as they are found, the earliest first."""
        code, y = self.code, self.code.fresh("y")
        with code.block(f"for {y} in ({g},) if {g}.__class__ is tuple else {g}:"):
            code(self.pair.unpack(y))
            ahead = self.pair.beyond()
            if ahead:
                with code.block(f"if {ahead}:"):
                    code("break")
            with code.block(f"if {' and '.join(tests.expressions) or 'True'}:"):
                self.probe.has_met(y)
                self.probe.hand_on(tests, names, start, end)

    def _write_back(self, g: str, hits: str, tests: Passing, names: Names, start: str, end: str) -> None:
        """Find the candidates from the newest back, keep what conditions bind, then hand on, the earliest first.

        The only instance of a group, as most are, is tested without a loop.
        """
        code, consume, y = self.code, self.consume, self.code.fresh("y")
        condition = " and ".join(tests.expressions) or "True"
        read = words_of(*names.values(), *(solutions for solutions, _ in tests.loops))
        bound = [v for v in dict.fromkeys(_BOUND.findall(condition)) if v in read]
        found, candidate = (code.fresh("h"), tuple_of([y, *bound])) if bound else (hits, y)
        lists = {hits: y, found: candidate}
        with code.block(f"if {g}.__class__ is tuple:"):
            code(f"{y} = {g}")
            code(self.pair.unpack(y))
            code.add([f"{g} = ({y},)"] if consume else [])
            code(f"{' = '.join(lists)} = ()")
            with code.block(f"if {condition}:"):
                code.add(f"{name} = ({item},)" for name, item in lists.items())
        with code.block("else:"):
            self._collect_back(g, y, condition, lists)
        if consume:
            with code.block(f"if {hits}:"):
                self.probe.leave(g, hits)
        with code.block(f"for {candidate} in {found}:"):
            code(self.pair.unpack(y))
            self.probe.has_met(y)
            self.probe.hand_on(tests, names, start, end)

    def _collect_back(self, g: str, y: str, condition: str, lists: dict[str, str]) -> None:
        """Write that the candidates of a group of several are found, from the newest back, in lists of what is kept."""
        code, back = self.code, self.pair.past()
        code.add(f"{name} = []" for name in lists)
        with code.block(f"for {y} in reversed({g}):"):
            code(self.pair.unpack(y))
            if back:
                with code.block(f"if {back}:"):
                    code("break")
            with code.block(f"if {condition}:"):
                code.add(f"{name}.append({item})" for name, item in lists.items())
        code.add(f"{name}.reverse()" for name in lists)

    def _gather(self, g: str, hits: str | None, tests: Passing, names: Names, start: str, end: str) -> None:
        """Make the events of all candidates in one pass; then see which are new, and put them in order.

        The candidates themselves are `hits`, where anyone asks for them. Where starts rise or fall all the way, as
        those of candidates do as a rule, events differ, and are in order, by their starts alone.
        """
        code, probe, back = self.code, self.probe, self.pair.past()
        if not probe.keys.gathers:
            code.know_group(probe.store, probe.key, g)
        with code.block(f"if {g} is not None:"):
            code.add(self.pair.loop.before)
            group = f"({g},) if {g}.__class__ is tuple else {f'reversed({g})' if back else g}"
            self._gather_each(group, hits, back, tests, names, start, end)
            probe.trim_met()

    def _gather_each(
        self, group: str, hits: str | None, back: str | None, tests: Passing, names: Names, start: str, end: str
    ) -> None:  # fmt: skip
        code, pair, loop, ahead = self.code, self.pair, self.pair.loop, None if back else self.pair.beyond()
        code.loop, loop.gathers = loop, True
        is_apart = not loop.is_firm(start) and not tests.loops
        before, far = map(code.constant, (NEVER, BEGINNING) if back else (BEGINNING, NEVER))
        last = code.fresh("p")
        if is_apart:
            code(f"{last} = {before}")
        top, y = len(code.lines), code.fresh("y")
        if hits is not None:
            code(f"{hits} = []")
        is_whole = hits is not None or self.probe.unmatched is not None
        with code.block(f"for {y if is_whole else tuple_of([*pair.locals, pair.y1, pair.y2])} in {group}:"):
            if is_whole:
                code(pair.unpack(y))
            if back or ahead:
                with code.block(f"if {back or ahead}:"):
                    code("break")
            with code.block(f"if {' and '.join(tests.expressions) or 'True'}:"):
                if hits is not None:
                    code(f"{hits}.append({y})")
                self.probe.has_met(y)
                if is_apart and not start.isidentifier():
                    local = code.fresh("s")
                    code(f"{local} = {start}")
                    start = local
                if is_apart:
                    code(f"{last} = {start} if {start} {'<' if back else '>'} {last} else {far}")
                self.probe.hand_on(tests, names, start, end)
        code.loop = None
        self._note(top, f"{last} is not {far}" if is_apart else None, back, end)

    def _note(self, top: int, in_order: str | None, back: str | None, end: str) -> None:
        """Write that what is gathered is made: the lists begin at the line `top`, and end here."""
        heads = self.probe.parts.base.heads
        for found, kinds in self.pair.loop.found.items():
            self.code.insert(top, f"{found} = []")
            order = [f"{found}.reverse()"] if back and (in_order or heads.parts) else []
            heads.note_gathered(self.code, found, kinds, in_order or f"len({found}) == 1", order, end)
