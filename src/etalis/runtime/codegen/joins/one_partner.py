"""The search for one partner, the earliest or the latest: policies `chronological`, `recent` and their kin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from etalis.plan import algebra as p
from etalis.runtime.codegen.joins.probe import Probe
from etalis.runtime.codegen.passing import Passing
from etalis.runtime.codegen.rule_code import Names
from etalis.runtime.operators import store as groups
from etalis.runtime.operators.gathering import take_gathered


class OnePartner:
    """Writes that the earliest or the latest candidate is a partner; it leaves where the policy consumes.

    Where nearly every candidate passes (no condition, no absence) the group is taken out first, and put back if need
    be. Where the same event may wait under the same key next, it stays there, and is known to who lets it wait.
    """

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.pair = probe.pair
        self.code = probe.code
        is_asked = any(isinstance(t, p.GoalTest | p.Absent) for t in probe.node.tests)
        self.taken = probe.node.policy.consume and not is_asked and not probe.keys.gathers
        self.rest = probe.code.fresh("g") if self.taken and self._may_wait_next() else ""  # of the group, afterwards
        self.latest = probe.node.policy.select == "latest"

    def write(self) -> None:
        """Write the search."""
        code, probe = self.code, self.probe
        y = code.fresh("y")
        tests, names, start, end = probe.passing()
        condition = " and ".join(tests.expressions) or "True"
        if self.rest:
            code(f"{self.rest} = {y} = {probe.other}.get({probe.key})")
        elif self.taken:
            code(f"{y} = {probe.other}.pop({probe.key}, None)")
        else:
            probe.find(y)
        with code.block(f"if {y} is not None:"):
            code.add(self.pair.loop.before)
            self._try(y, condition)
            if not probe.keeps:
                with code.block(f"if {y} is not None:"):
                    self._match(y, tests, names, start, end)
        if probe.keeps:
            with code.block(f"if {y} is not None:"):
                self._match(y, tests, names, start, end)
                if probe.node.policy.keep != "unmatched":
                    probe.keep_waiting()
            with code.block("else:"):
                probe.keep_waiting()
        probe.match_alone(y)
        if self.rest:
            code.know_group(probe.store, probe.key, self.rest, self._drop)

    def _may_wait_next(self) -> bool:
        """Tell whether an event on the right side may wait on the left one next, with nothing asked between."""
        probe, sources = self.probe, [part.node for part in self.probe.entry.inputs if isinstance(part.node, p.Source)]
        kinds = [(source.name, len(source.args)) for source in sources]
        is_next = probe.place == 1 and len(kinds) == 2 and kinds[0] == kinds[1] and probe.code.depth == probe.code.base
        return is_next and len(probe.keys.names) < 2 and probe.parts.base.heads.may_gather(probe.entry)

    @property
    def _drop(self) -> tuple[str, str]:
        """The line by which the only one of a group leaves, and that by which another takes its place."""
        is_empty = f"{self.rest} = None"
        return f"del {self.probe.other}[{self.probe.key}]; {is_empty}", is_empty

    def _match(self, y: str, tests: Passing, names: Names, start: str, end: str) -> None:
        self.probe.consumed()
        self.probe.has_met(y)
        self.probe.trim_met()
        self.probe.hand_on(tests, names, start, end)

    def _try(self, y: str, condition: str) -> None:
        """Write that `y`, the group, becomes its candidate, or None where it has none."""
        if self.probe.parts.base.meets_itself(self.probe.entry):
            self._try_held(y, condition)
        elif self.probe.node.policy.keep == "newest":
            self._try_only(y, condition)
        else:
            with self.code.block(f"if {y}.__class__ is tuple:"):
                self._try_only(y, condition)
            with self.code.block("else:"):
                self._try_several(y, condition)
                if self.rest:  # one may be left, which is no list then
                    self.code(f"{self.rest} = {self.probe.other}[{self.probe.key}]")

    def _try_only(self, y: str, condition: str) -> None:
        """Test the one instance that waits under the key."""
        code, probe = self.code, self.probe
        code(self.pair.unpack(y))
        if probe.node.policy.consume and not self.taken:
            with code.block(f"if {condition}:"):
                code(f"del {probe.other}[{probe.at}]")
                probe.forget()
            with code.block("else:"):
                code(f"{y} = None")
            return
        if self.rest:
            with code.block(f"if {condition}:"):
                code(self._drop[0])
            with code.block("else:"):
                code(f"{y} = None")
            return
        with code.block(f"if not ({condition}):"):
            if self.taken:
                code(f"{probe.other}[{probe.key}] = {y}")
            code(f"{y} = None")

    def _try_held(self, y: str, condition: str) -> None:
        """Test the newest and, for the event that replaced them, the older ones of the key."""
        code = self.code
        current = f"{code.constant(self.probe.parts.base.state)}.current"
        if self._is_behind:
            code(f"{y} = {y}.items[0 if {y}.event == {current} else -1]")
            self._try_only(y, condition)
            return
        held = code.fresh("g")
        code(f"{held} = {y}")
        several = f"{held}.items[::-1] if {held}.event == {current} else {held}.items[-1:]"
        with code.block(f"for {y} in {f'{held}.candidates({current})' if self.probe.keys.gathers else several}:"):
            code(self.pair.unpack(y))
            with code.block(f"if {condition}:"):
                code("break")
        with code.block("else:"):
            code(f"{y} = None")

    @property
    def _is_behind(self) -> bool:
        """Whether a partner has ended before what arrives began, which none has that the same event brought."""
        behind = ("a2", "<", "b1") in self.probe.node.relation.comparisons
        consumes = self.probe.node.policy.consume
        return behind and self.probe.place == 1 and not self.probe.keys.gathers and not consumes

    def _try_several(self, y: str, condition: str) -> None:
        """Test the instances of a group from the end that the policy prefers."""
        code, floor = self.code, self.pair.loop.floor
        g, j = code.fresh("g"), code.fresh("j")
        code(f"{g} = {y}")
        if self.taken:
            if not self.rest:
                code(f"{self.probe.other}[{self.probe.key}] = {g}")
            if not self.latest:
                with self._take_first(y, g, condition):
                    self._try_each(y, g, j, condition, f"range(1, len({g}))")
                return
        if self.latest and not self.probe.keys.gathers:
            self._try_latest(y, g, condition)
            return
        if self.latest:
            places = f"range(len({g}) - 1, -1, -1)"
        elif floor is not None:
            places = f"range({code.constant(groups.first_since)}({g}, {floor}), len({g}))"
        else:
            places = f"range(len({g}))"
        self._try_each(y, g, j, condition, places)

    @contextmanager
    def _take_first(self, y: str, g: str, condition: str) -> Iterator[None]:
        """Take the first of a group of several, which nearly always passes; else do what follows."""
        code = self.code
        code(f"{y} = {g}[0]")
        code(self.pair.unpack(y))
        with code.block(f"if {condition}:"):
            code(f"if len({g}) == 2: {self.probe.other}[{self.probe.key}] = {g}[1]")
            code(f"else: del {g}[0]")
        with code.block("else:"):
            yield

    def _try_latest(self, y: str, g: str, condition: str) -> None:
        """Test the instances of a group, the last of them first: it nearly always is the one, or none is."""
        code, probe = self.code, self.probe
        with code.block(f"for {y} in reversed({g}):"):
            code(self.pair.unpack(y))
            if stop := self.pair.past():
                with code.block(f"if {stop}:"):
                    code(f"{y} = None")
                    code("break")
            with code.block(f"if {condition}:"):
                if probe.node.policy.consume:
                    code(f"{code.constant(groups.take_late)}({probe.other}, {probe.at}, {g}, {y})")
                code("break")
        with code.block("else:"):
            code(f"{y} = None")

    def _try_each(self, y: str, g: str, j: str, condition: str, places: str) -> None:
        code, probe = self.code, self.probe
        with code.block(f"for {j} in {places}:"):
            code(f"{y} = {g}[{j}]")
            code(self.pair.unpack(y))
            stop = self.pair.past() if self.latest else self.pair.beyond()
            if stop:
                with code.block(f"if {stop}:"):
                    code(f"{y} = None")
                    code("break")
            with code.block(f"if {condition}:"):
                if probe.node.policy.consume:
                    take = code.constant(take_gathered if probe.keys.gathers else groups.take)
                    code(f"{take}({probe.other}, {probe.at}, {g}, {j})")
                code("break")
        with code.block("else:"):
            code(f"{y} = None")
