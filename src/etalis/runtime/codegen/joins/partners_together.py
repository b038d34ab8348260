"""The search for all partners, one match with them together: policy `cumulative`."""

from __future__ import annotations

from etalis.plan import algebra as p
from etalis.runtime.codegen.joins.probe import Probe
from etalis.temporal.rope import SeveralRopes


class PartnersTogether:
    """Writes that all candidates are one match, on the common hull, with the variables of the latest."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.pair = probe.pair
        self.code = probe.code

    def write(self) -> None:
        """Write the search."""
        code, probe, pair = self.code, self.probe, self.pair
        g, y, hits, first = code.fresh("g"), code.fresh("y"), code.fresh("h"), code.fresh("m")
        tests, _, _, _ = probe.passing()
        code(f"{hits} = []")
        probe.find(g)
        with code.block(f"if {g} is not None:"):
            with code.block(f"if {g}.__class__ is tuple:"):
                code(f"{g} = ({g},)")
            code.add(pair.loop.before)
            with code.block(f"for {y} in {g}:"):
                code(pair.unpack(y))
                with code.block(f"if {' and '.join(tests.expressions) or 'True'}:"):
                    code(f"{hits}.append({y})")
        with code.block(f"if {hits}:"):
            code(pair.unpack(f"{hits}[-1]"))
            own, relation = "ab"[probe.place], probe.node.relation
            code(f"{first} = {pair.x1 if relation.occurs_on in ('hull', own) else pair.y1}")
            if relation.occurs_on != own:
                with code.block(f"for {y} in {hits}:"), code.block(f"if {y}[-2] < {first}:"):
                    code(f"{first} = {y}[-2]")
            self._combine(first, g, hits)
        probe.keep_after(hits)
        probe.match_alone(hits)

    def _combine(self, first: str, g: str, hits: str) -> None:
        """Run the conditions once more on the combined match; only if it stands is anything consumed."""
        code, probe, pair, parts = self.code, self.probe, self.pair, self.probe.parts
        names = pair.merged()
        for mark in ("$parts", "$ids", "$one"):
            if mark in pair.columns:
                names[mark] = self._all_of(mark, hits)
        again = [t for t in probe.node.tests if isinstance(t, p.GoalTest | p.Action)]
        firm = parts.stores.sure_of_pairs(probe.entry)
        passing = parts.tests.write_some(
            code, probe.entry, again, names, firm, first, pair.x2, first, pair.x2, None
        )  # fmt: skip
        with code.block(f"if {' and '.join(passing.expressions) or 'True'}:"):
            if probe.node.policy.consume:
                probe.leave(g, hits)
            if probe.unmatched is not None:
                y = code.fresh("y")
                with code.block(f"for {y} in {hits}:"):
                    probe.has_met(y)
                probe.trim_met()
            probe.hand_on(passing, names, first, pair.x2)
        if passing.expressions:
            with code.block("else:"):
                code(f"{hits} = ()")

    def _all_of(self, mark: str, hits: str) -> str:
        """Return a mark of the combined match: that of the arriving instance and of all candidates."""
        own = self.probe.names.get(mark, "frozenset()")
        one = self.pair.waiting({name: f"z[{place}]" for place, name in enumerate(self.pair.columns)})
        if mark in ("$ids", "$one"):
            return f"{own}.union(*[{one[mark]} for z in {hits}])"
        others = f"[{self.pair.followed(one[mark], one.get('$token'))} for z in {hits}]"
        return self.pair.pair_of(own, f"{self.code.constant(SeveralRopes)}({others})")
