"""How an instance is stored on its side of a join, in generated code: by the rows of relation and policy."""

from __future__ import annotations

from contextlib import nullcontext

from etalis.plan import algebra as p
from etalis.plan.retention import waits_as_instant
from etalis.runtime.codegen.joins.outer import OuterJoins
from etalis.runtime.codegen.joins.stores import JoinStores
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.ropes import spread
from etalis.runtime.codegen.rule_code import Names, RuleCode
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.runtime.operators import store as groups


class Storing:
    """Writes how the instances of a rule set wait."""

    def __init__(self, base: RuleCode, stores: JoinStores, outer: OuterJoins) -> None:
        self.base = base
        self.stores = stores
        self.outer = outer

    def write(
        self, code: Code, entry: Wired, place: int, names: Names, key: str, t1: str, t2: str, matched: str = ""
    ) -> None:  # fmt: skip
        """Write the code that lets an instance wait, if it can ever be used; `matched`: whether it has partners."""
        node = entry.node
        assert isinstance(node, p.Join)
        if self.outer.awaits(entry, place):
            self._store(code, entry, node, place, names, key, t1, t2, matched or "False")
            return
        if t1 != t2 and waits_as_instant(node.relation, place):
            with code.block(f"if {t1} == {t2}:"):
                self._store(code, entry, node, place, names, key, t1, t2)
        else:
            self._store(code, entry, node, place, names, key, t1, t2)

    def _store(
        self, code: Code, entry: Wired, node: p.Join, place: int, names: Names, key: str, t1: str, t2: str,
        matched: str = "",
    ) -> None:  # fmt: skip
        instance = self._instance(code, entry, place, names, t1, t2)
        if matched:
            local, text = code.fresh("i"), instance
            code(f"{local} = {text}")
            instance = local
        where, keep = code.constant(self.stores.side(entry, place)), self.stores.retention(entry, place)
        fifo = "" if keep is None else code.constant(self._fifo(entry, place))
        if keep == 0 and not self.lasts_a_moment(entry):
            code.groups.pop((id(self.stores.side(entry, place)), key), "")
            self.drop_past(code, entry, place, t2)
        is_stored = self._put(code, entry, node, place, key, instance, t1, t2, is_told=bool(matched))
        if matched:
            matched = f"{matched} or not {is_stored}" if is_stored else matched
            with nullcontext() if matched == "False" else code.block(f"if not ({matched}):"):
                self.outer.wait(code, entry, key, instance, t1, t2)
        if keep is not None:
            code(f"{fifo}.append(({t2}, {key}))")
        if keep:
            with code.block(f"if {t2} > {fifo}.due:"):
                stays = not node.policy.consume
                code(f"{code.constant(groups.expire_lot)}({where}, {fifo}, {t2}, {code.constant(keep)}, {stays})")

    def drop_past(self, code: Code, entry: Wired, place: int, t2: str) -> None:
        """Write that what waits on one side for its own moment alone goes when that is past."""
        if self.stores.retention(entry, place) == 0:
            where = code.constant(self.stores.side(entry, place))
            fifo = code.constant(self._fifo(entry, place))
            code(f"if {t2} > {fifo}.due: {code.constant(groups.expire_past)}({where}, {fifo}, {t2})")

    def lasts_a_moment(self, entry: Wired) -> bool:
        """Tell whether both sides of a join wait for their own moment alone, in groups that nothing else refers to."""
        keys, sides = self.stores.join_keys(entry), (0, 1)
        return (
            all(self.stores.retention(entry, place) == 0 for place in sides)
            and not any(self.outer.awaits(entry, place) or self.outer.alone_at_once(entry, place) for place in sides)
            and not (keys.gathers or keys.is_loose or keys.fact or self.base.meets_itself(entry))
        )

    def write_first(
        self, code: Code, entry: Wired, place: int, names: Names, key: str, t1: str, t2: str
    ) -> None:  # fmt: skip
        """Write that the first instance of a moment waits: what is past goes, and nothing else is there to be found.

        What comes sets the moment of side 0 alone, what is put back that of its own side.
        """
        stores = [code.constant(self.stores.side(entry, side)) for side in (0, 1)]
        fifos = [code.constant(self._fifo(entry, side)) for side in (0, 1)]
        with code.block(f"if {' and '.join(f'{t2} > {fifo}.due' for fifo in fifos)}:"):
            code(f"{fifos[0]}.due = {t2}")
            for where, fifo in zip(stores, fifos, strict=True):
                with code.block(f"if {fifo}:"):
                    code.add([f"{where}.clear()", f"{fifo}.clear()"])
            code(f"{stores[place]}[{key}] = {self._instance(code, entry, place, names, t1, t2)}")
            code(f"{fifos[place]}.append(({t2}, {key}))")

    def _fifo(self, entry: Wired, place: int) -> groups.Fifo:
        found: groups.Fifo = self.base.remember(entry, f"fifo{place}", groups.Fifo)
        return found

    def _instance(self, code: Code, entry: Wired, place: int, names: Names, t1: str, t2: str) -> str:
        marks = {mark: f"{code.constant(make)}()" for mark, make in self.stores.join_keys(entry).marks.items()}
        values = spread(names)
        return tuple_of([*(marks.get(v) or values[v] for v in self.stores.columns(entry, place)), t1, t2])

    def _put(
        self, code: Code, entry: Wired, node: p.Join, place: int, key: str, instance: str, t1: str, t2: str, *,
        is_told: bool,
    ) -> str:  # fmt: skip
        """Write that an instance joins its group; return the name that tells whether it did, if not always."""
        where, newest = code.constant(self.stores.side(entry, place)), node.policy.keep == "newest"
        once = None
        if place == 0 and node.relation.sequential:
            once = groups.Once.among(self.stores.columns(entry, place))
        if self.base.meets_itself(entry):
            held = self._put_newest_for(code, where, key, instance, once, t2, is_instant=t1 == t2)
            if held:
                code.know_held(self.stores.side(entry, place), key, held)
        elif once is not None:
            put_once = code.constant(groups.put_newest_once if newest else groups.put_once)
            stored = code.fresh("h") if is_told else ""
            told = f"{stored} = " if is_told else ""
            with nullcontext() if is_told or newest else code.block(f"if {key} in {where}:"):
                code(f"{told}{put_once}({where}, {key}, {instance}, {code.constant(once)})")
            if not (is_told or newest):
                with code.block("else:"):
                    code(f"{where}[{key}] = {instance}")
            return stored
        elif newest and t1 == t2:  # nothing that waits ends after an instant, or starts after it
            code(f"{where}[{key}] = {instance}")
        elif newest:
            code(f"{code.constant(groups.put_newest)}({where}, {key}, {instance})")
        else:
            group = code.take_place(self.stores.side(entry, place), key)
            self._add(code, where, group, key, instance, t1, t2)
        return ""

    def _put_newest_for(
        self, code: Code, where: str, key: str, instance: str, once: groups.Once | None, t2: str, *, is_instant: bool
    ) -> str:  # fmt: skip
        """Write that an instance is the newest of its key; what it replaces stays in sight of the event it is of.

        Return the name that then holds the group, if one does.
        """
        event = f"{code.constant(self.base.state)}.current"
        put = f"{code.constant(groups.put_newest_for)}({where}, {key}, {instance}, {event}, {code.constant(once)})"
        if once is not None:
            code(put)
            return ""
        held = code.fresh("h")
        last = "" if is_instant else f" and {held}.items[-1][-1] < {t2}"  # nothing that waits ends after an instant
        code(f"{held} = {where}.get({key})")
        with code.block(f"if {held} is None:"):
            code(f"{held} = {where}[{key}] = {code.constant(groups.Newest)}({event}, {instance})")
        with code.block(f"elif {held}.event != {event}{last}:"):
            code(f"{held}.items = [{held}.items[-1], {instance}]")
            code(f"{held}.event = {event}")
        with code.block("else:"):
            code(put)
        return held

    def _add(self, code: Code, where: str, group: str, key: str, instance: str, t1: str, t2: str) -> None:
        """Write that an instance is the last of its group, or put where it belongs."""
        if not group:
            group = code.fresh("g")
            code(f"{group} = {where}.get({key})")
        with code.block(f"if {group} is None:"):
            code(f"{where}[{key}] = {instance}")
        if t1 == t2:
            with code.block(f"elif {group}.__class__ is tuple:"):
                code(f"{where}[{key}] = [{group}, {instance}]")
        apart = "" if t1 == t2 else f" or ({group}[-1][-1] == {t2} and {group}[-1][-2] > {t1})"
        single = "" if t1 == t2 else f"{group}.__class__ is tuple or "
        with code.block(f"elif {single}len({group}) == {groups.LONG - 1}{apart}:"):
            code(f"{code.constant(groups.put)}({where}, {key}, {instance})")
        with code.block("else:"):
            code(f"{group}.append({instance})")
