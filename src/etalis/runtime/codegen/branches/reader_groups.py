"""Readers of one entry by the hundred, in groups: each is a function of its own, so that one goes without the rest.

A part that a thousand rules share has a thousand joins that read it. When one of these rules goes, the group of its
reader is written anew, and what calls the groups. Law: groups do what their readers would do in line, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from etalis.plan import algebra as p
from etalis.runtime.codegen.joins.stores import JoinStores
from etalis.runtime.codegen.network import Wired, WiredReader
from etalis.runtime.codegen.ropes import spread, together, with_slots
from etalis.runtime.codegen.rule_code import Names, RuleCode
from etalis.runtime.codegen.source import Code

Read = Callable[[Code, WiredReader, Wired, Names, str, str], None]  # writes what one reader does with a match
Function = Callable[..., None]

MOST_IN_LINE = 32  # readers; of more, so many by their numbers are a group


class ReaderGroups:
    """The groups of readers of a rule set; `read` writes one in line."""

    def __init__(self, base: RuleCode, stores: JoinStores, read: Read) -> None:
        self._base = base
        self._stores = stores
        self._read = read
        self._written: dict[int, dict[tuple[int, bool], tuple[list[WiredReader], Function]]] = {}  # by ids of entries

    def write(self, code: Code, entry: Wired, readers: Sequence[WiredReader], names: Names, t1: str, t2: str) -> None:
        """Write what readers of an entry do with a match."""
        group: list[WiredReader] = []
        for reader in readers:
            apart = len(readers) > MOST_IN_LINE and self._goes_apart(code, reader)
            if group and not (apart and _number(reader) == _number(group[0])):
                self._call(code, entry, group, names, t1, t2)
                group = []
            if apart:
                group.append(reader)
            else:
                self._read(code, reader, entry, names, t1, t2)
        if group:
            self._call(code, entry, group, names, t1, t2)

    def _goes_apart(self, code: Code, reader: WiredReader) -> bool:
        """Tell whether a reader only lets matches wait, or would be a call in line, too."""
        node = None if reader.kind != "input" else reader.target.node
        if not isinstance(node, p.Join) or node.alone is not None:
            return False
        return bool(code.probes) or not self._stores.probes(reader.target, reader.place)

    def _call(self, code: Code, entry: Wired, group: list[WiredReader], names: Names, t1: str, t2: str) -> None:
        values, columns = spread(names), with_slots(entry.node.exports, entry.node)
        function = self._function(entry, group, columns, is_instant=t1 == t2)
        given = [*(values[v] for v in columns), *dict.fromkeys((t1, t2))]
        code(f"{code.constant(function)}({', '.join(given)})")
        code.groups.clear()  # what waits may have changed
        code.held.clear()
        code.queues = code.queues or bool(code.probes)

    def _function(
        self, entry: Wired, group: list[WiredReader], columns: Sequence[str], *, is_instant: bool
    ) -> Function:  # fmt: skip
        """Return the function of a group, which is written where its readers are others than before."""
        written, key = self._written.setdefault(id(entry), {}), (_number(group[0]), is_instant)
        known = written.get(key)
        if known is not None and list(map(id, known[0])) == list(map(id, group)):
            return known[1]
        parameters, times = [f"v{i}" for i in range(len(columns))], ["t2"] if is_instant else ["t1", "t2"]
        code = Code([*parameters, *times])
        code.begin_event()
        code.probes = 1  # readers that look for partners are functions of their own
        names = together(dict(zip(columns, parameters, strict=True)), entry.node)
        for reader in group:
            self._read(code, reader, entry, names, times[0], "t2")
        function = self._base.finish(code, "readers")
        written[key] = group, function
        return function

    def forget(self, parts: Iterable[Wired]) -> None:
        """Forget the groups with readers that are written anew."""
        ids = {id(part) for part in parts}
        for entry in ids & self._written.keys():
            kept = self._written[entry].items()
            self._written[entry] = {
                key: known for key, known in kept if not any(id(reader.target) in ids for reader in known[0])
            }


def _number(reader: WiredReader) -> int:
    """Return the number of the group of a reader, which stays when others go."""
    return reader.number // MOST_IN_LINE
