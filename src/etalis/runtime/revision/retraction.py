"""Retraction: which event a correction names, waiting or processed already, and what replaces it.

An event is named by its id or as an atom at a time. What was never taken, and what the horizon has passed, cannot be
taken back: such a correction is a dead letter.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

from etalis.data.values import Struct, format_value
from etalis.runtime.lateness.watermark import HeldRow, Stamp, Values, atom_of
from etalis.runtime.revision.changelog import net

if TYPE_CHECKING:
    from etalis.runtime.lateness.lateness import Disorder
    from etalis.runtime.revision.revision import Revision

Instead = tuple[str, Values, int, int]  # name, attributes, start, end


class Retractions:
    """Takes events back from what is held and from the history."""

    def __init__(self, disorder: Disorder, revision: Revision) -> None:
        self.disorder = disorder
        self.revision = revision
        self.held = disorder.held
        self.dead = disorder.dead

    def take_back_term(self, what: Any, start: int, end: int, stamp: Stamp | None, out: list[Any]) -> None:
        """Take back what `rev(..)` names: an id, or an atom, at its time or, if it did not occur then, before it."""
        self.disorder.reach(end, stamp, out)
        if not isinstance(what, Struct) and self._take_back_id(what, out, None):
            return
        name, values = (what.name, tuple(what.args)) if isinstance(what, Struct) else (str(what), ())
        if self.held is not None and self._take_back_held(name, values, start, end):
            return
        place = self.revision.find(name, values, start, end, before=True)
        if place is None:
            self.dead.add("rev", (what,), start, end, f"no event {format_value(what)} within the horizon", "unknown")
        else:
            self.revision.retract(place, out)
            self.revision.follow(out)

    def _take_back_held(self, name: str, values: Values, start: int, end: int) -> bool:
        """Hold an event no more: the one at its time or, if it did not occur then, the latest before that."""
        assert self.held is not None
        held = [row[:2] for row in self.held if atom_of(row) == (name, values) and row[0] <= end]
        wanted = (end, start) if (end, start) in held else max(held, default=None)
        row = self.held.remove(lambda r: r[:2] == wanted and atom_of(r) == (name, values))
        if row is not None:
            self.disorder.hold_no_more(row[3])
        return row is not None

    def take_back(
        self, name: str, values: Values, start: int, end: int, out: list[Any], instead: Instead | None = None
    ) -> None:
        """Take back the latest event equal to this one."""
        if self.held is not None:
            row = self.held.remove(lambda r: r[:2] == (end, start) and atom_of(r) == (name, values))
            if row is not None:
                self._hold_again(row, instead, out)
                return
        place = self.revision.find(name, values, start, end, before=False)
        if place is None:
            what = Struct(name, values) if values else name
            self.dead.add("rev", (what,), start, end, "no such event within the horizon", "unknown")
        else:
            self._take_back_at(place, instead, out)
            self.revision.follow(out)

    def take_back_id(self, name: Hashable, out: list[Any], instead: Instead | None = None) -> None:
        """Take back the event of an id, or all that share it."""
        if not self._take_back_id(name, out, instead):
            now = self.disorder.state.now
            self.dead.add("rev", (name,), now, now, "no event with this id within the horizon", "unknown")

    def _take_back_id(self, name: Hashable, out: list[Any], instead: Instead | None) -> bool:
        held = list(self._held_of(name))
        places = self.revision.find_id(name)
        found: list[Any] = []
        for row in held:
            self._hold_again(row, instead, found)
            instead = None
        for place in reversed(places):
            self._take_back_at(place, instead, found)
            instead = None
        self.revision.follow(found)
        out.extend(found if len(held) + len(places) == 1 else net(found))
        return bool(held or places)

    def _held_of(self, name: Hashable) -> Iterator[HeldRow]:
        """Yield the events of an id that are held, and hold them no more."""
        for _ in range(self.disorder.held_ids.get(name, 0)):
            assert self.held is not None
            row = self.held.remove(lambda r: r[3] is not None and r[3].id == name)
            assert row is not None
            yield row

    def _hold_again(self, row: HeldRow, instead: Instead | None, out: list[Any]) -> None:
        """Put another event in the stead of one that is held no more: held too, or among those processed already."""
        assert self.held is not None
        assert self.disorder.watermark is not None
        rank, stamp = row[2:4]
        name = None if stamp is None else stamp.id
        self.disorder.hold_no_more(stamp)
        if instead is None:
            return
        event, values, start, end = instead
        if self.revision.limit() <= end <= self.disorder.watermark.reached:
            self.revision.insert((event, len(values)), (end, start, rank, *values), stamp, out)
            return
        if end > self.disorder.watermark.reached:
            row = (end, start, rank, stamp, event, *values)
        else:
            self.disorder.bury(event, values, start, end, self.revision.limit())
        self.held.add(row)
        if name is not None:
            self.disorder.held_ids[name] += 1

    def _take_back_at(self, place: int, instead: Instead | None, out: list[Any]) -> None:
        revision, disorder = self.revision, self.disorder
        row = revision.history.row(place)[0]
        assert row is not None
        if instead is None:
            revision.retract(place, out)
            return
        name, values, start, end = instead
        stamp = Stamp(None, id=revision.history.name_of(place))
        if end < revision.limit():
            disorder.bury(name, values, start, end, revision.limit())
        elif end > disorder.state.now:
            found: list[Any] = []
            revision.retract(place, found)
            disorder.take(name, values, start, end, stamp, found)
            out.extend(net(found))
        else:
            revision.retract(place, out, ((name, len(values)), (end, start, row[2], *values), stamp))
