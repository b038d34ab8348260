"""Which repetitions are written in line, and how they come into the code of what they read."""

from __future__ import annotations

from collections.abc import Callable

from etalis.plan import algebra as p
from etalis.runtime.codegen.aggregates.results import OtherOperators
from etalis.runtime.codegen.joins.stores import JoinStores
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.repetitions.alone import AloneCode
from etalis.runtime.codegen.repetitions.anchored import AnchoredCode
from etalis.runtime.codegen.repetitions.chains import AloneChains, AnchoredChains
from etalis.runtime.codegen.repetitions.shape import WrittenRepetition, shape_of
from etalis.runtime.codegen.rule_code import Names
from etalis.runtime.codegen.source import Code


class Repetitions:
    """Writes the repetitions of a rule set; what is not written is called."""

    def __init__(self, operators: OtherOperators, stores: JoinStores) -> None:
        self.operators = operators
        self.stores = stores
        self.shapes: dict[int, WrittenRepetition | None] = {}
        self.outlined: dict[tuple[int, int], Callable[..., None]] = {}

    def shape(self, entry: Wired) -> WrittenRepetition | None:
        """Return what is known of a repetition whose elements are taken by generated code, None of another."""
        if id(entry) not in self.shapes:
            found = shape_of(self.operators, self.stores, entry)
            self.shapes[id(entry)] = found if found is not None and _is_written(found) else None
        return self.shapes[id(entry)]

    def makes_one(self, entry: Wired) -> bool:
        """Tell whether an element makes one match at most, in line."""
        found = self.shape(entry)
        return found is not None and found.node.policy.select in ("earliest", "latest")

    def takes(self, entry: Wired, place: int) -> bool:
        """Tell whether the instances of one input are taken by generated code."""
        del place
        return self.shape(entry) is not None

    def take(self, code: Code, entry: Wired, place: int, names: Names, t1: str, t2: str) -> None:
        """Write what an instance does: in line, or as a call from within a probe."""
        if not code.probes:
            self._write(code, entry, place, names, t1, t2)
            return
        exports = p.children(entry.node)[place].exports
        if (id(entry), place) not in self.outlined:
            apart = Code([*(f"v{i}" for i in range(len(exports))), "t1", "t2"])
            self._write(apart, entry, place, dict(zip(exports, apart.parameters, strict=False)), "t1", "t2")
            self.outlined[id(entry), place] = self.operators.base.finish(apart, "repetition")
        given = ", ".join([*(names[v] for v in exports), t1, t2])
        code(f"{code.constant(self.outlined[id(entry), place])}({given})")
        code.queues = True

    def write_leaving(self, code: Code, join: Wired, place: int, names: Names, token: str) -> None:
        """Write that what a repetition counted after leaves its group when a join consumes its match, or several.

        One that is not first or last of its group stays until it is looked for.
        """
        child = join.inputs[place]
        shape = self.shape(child) if isinstance(child.node, p.Repetition) and child.node.left is not None else None
        if shape is None:
            return
        reader = next(r for r in child.readers if r.target is join and r.place == place and r.kind == "input")
        given = {v: reader.renames.get(v, v) for v in shape.left_names}
        own = {v: names[name] for v, name in given.items() if name in names}
        if len(own) == len(given):
            AnchoredCode(self.operators, child, shape, code).write_leaving(own, token)

    def _write(self, code: Code, entry: Wired, place: int, names: Names, t1: str, t2: str) -> None:
        shape = self.shape(entry)
        assert shape is not None
        if shape.node.left is None:
            code.probes += 1
            alone = AloneCode if shape.node.policy.restricts else AloneChains
            alone(self.operators, entry, shape, code).write_element(names, t1, t2)
        elif place == 0:
            AnchoredCode(self.operators, entry, shape, code).write_left(names, t1, t2)
        else:
            code.probes += 1
            anchored = AnchoredCode(self.operators, entry, shape, code)
            writer = anchored if shape.node.policy.restricts else AnchoredChains(anchored)
            writer.write_element(names, t1, t2)


def _is_written(shape: WrittenRepetition) -> bool:
    policy = shape.node.policy
    if policy.select in ("earliest", "latest"):
        return True
    if policy.restricts:
        return shape.node.left is None or not shape.binds
    return "$last" not in shape.columns or shape.node.left is None
