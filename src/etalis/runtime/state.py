"""The state that all rules of an engine share: clock, numbering, timers, and the events derived at this stamp."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappush
from operator import itemgetter, lt
from types import CellType
from typing import Any

from etalis.language.steps import Occur, Step
from etalis.runtime.deadlines import timers as deadlines
from etalis.runtime.deadlines.timers import LEVELS, Owner, Tag, Timers
from etalis.temporal.event import Event, EventKind, new_event, sort_key
from etalis.temporal.interval import EARLIEST, show_moment
from etalis.temporal.rope import SLOT, Rope

NEVER = deadlines.NEVER
BEGINNING = -(1 << 200)
BEFORE = EARLIEST - 1  # what comes after it is a time

Raw = tuple[Any, ...]  # an event before it is one: (end, start, kind, *attributes[, *rope]); received: kind None


class State:
    """The moving parts that generated code and operators share."""

    __slots__ = (
        "cause",
        "clock",
        "coming",
        "current",
        "floor",
        "inside",
        "number",
        "queue",
        "reached",
        "reacting",
        "sequence",
        "steps",
        "tag",
        "timers",
        "tokens",
    )

    def __init__(self) -> None:
        self.reached = BEGINNING
        self.clock = BEFORE
        self.floor = BEGINNING
        self.inside = CellType(0)  # the thread that is in the engine (thread_guard.py)
        self.number = 0
        self.cause: Rope = None  # the match whose goal is asked, where goals raise events and ropes are kept
        self.current = 0
        self.queue: list[Raw] = []
        self.reacting: list[Raw] = []  # matches of reactions, which wait until the rounds are over
        self.timers = Timers(self.next_number)
        self.tag: Tag | None = None
        self.sequence = 0
        self.tokens = 0  # how many have been numbered
        self.steps: deque[Step] = deque()
        self.coming: list[tuple[int, int, int, Occur]] = []

    @property
    def now(self) -> int:
        """The time reached. Generated code reads and moves `clock` alone, which is no time before the first event."""
        clock = self.clock
        return clock if BEFORE < clock < NEVER else self.reached

    @now.setter
    def now(self, time: int) -> None:
        self.reached = time
        if self.clock < NEVER:
            self.clock = time if time > BEFORE else BEFORE

    def reach(self, time: int) -> None:
        """Let time go on to a moment, if it is not there yet."""
        if self.clock < time:
            self.now = time
        elif self.clock == NEVER:
            self.reached = max(self.reached, time)

    def hold(self) -> None:
        """Make every event take the general way: to generated code none comes after NEVER."""
        self.reached, self.clock = self.now, NEVER

    def release(self) -> None:
        """Open the generated ways again."""
        self.clock = max(self.reached, BEFORE)

    def schedule(self, due: int, since: int, owner: Owner, payload: Any) -> None:
        """Have something judged at a moment, after the inputs that end then.

        Of what is due together, alarms (since NEVER) come first, then absences whose left side ended last: what these
        make may block the others. What looks at events that start when it does comes after these, by level.
        """
        self.timers.add((due, -since, (owner.level << LEVELS) + self.next_number(), owner, payload, self.tag))

    def next_number(self) -> int:
        """Return the number of what is set next."""
        self.sequence += 1
        return self.sequence

    def await_event(self, event: Occur) -> None:
        """Keep an event until time reaches its end."""
        heappush(self.coming, (event.end, event.start, self.next_number(), event))

    def next_coming(self) -> int:
        """Return when the next event that is kept ends."""
        return self.coming[0][0] if self.coming else NEVER

    def is_unsettled(self) -> bool:
        """Tell whether anything is left of what an input, or what fell due, has caused."""
        return bool(self.queue or self.steps or self.reacting)

    def drop_unsettled(self) -> None:
        """Forget what is left of what was caused."""
        self.queue.clear()
        self.steps.clear()
        self.reacting.clear()

    def drop(self) -> None:
        """Forget what is due and what is to come."""
        self.timers.replace(())
        self.coming.clear()

    def fall_due(self) -> None:
        """Judge and fire what is due first, as one step; where events are parted, what is due in one partition."""
        step = self.timers.pop_step()
        tag = step[0][5]
        if tag is not None and not tag.alive:
            return
        self.tag = tag
        if len(step) > 1:
            step = [timer for timer in step if timer[3].stands(timer[4])]
        elif not step[0][3].stands(step[0][4]):
            return
        for timer in step:
            self.current += 1
            timer[3].fire(timer[4])


FEW = 4
SEVERAL = 8  # events that are worth a look at how they differ, before they are sorted
_START, _FIRST = itemgetter(1), itemgetter(3)
MOST_ROUNDS = 24  # that one function follows


class Made:
    """The events of one name and arity made at the current stamp: each (atom, interval) is made once.

    Generated code notes the first of a stamp in line, or the list of all that one search has found; `seen` holds
    (start, *attributes) and is filled when more come.
    """

    __slots__ = ("first", "seen", "seen_at", "stamp")

    def __init__(self) -> None:
        self.stamp = BEGINNING
        self.first: Raw | list[Raw] = ()
        self.seen: set[Raw] = set()
        self.seen_at = BEGINNING

    def reset(self) -> None:
        """Forget everything."""
        self.stamp = self.seen_at = BEGINNING

    def follow(self, other: Made) -> None:
        """Note what another has noted of events of equal attributes, if that is later."""
        if other.stamp > self.stamp:
            self.stamp, self.first = other.stamp, other.first
            self.seen, self.seen_at = set(other.seen), other.seen_at

    def note(self, raw: Raw, arity: int) -> bool:
        """Note an event; tell whether it is new."""
        if self.stamp != raw[0]:
            self.stamp, self.first = raw[0], raw
            return True
        return self.add(raw, arity)

    def discard(self, identity: Raw, arity: int) -> None:
        """Forget an event of this stamp: it was not made after all."""
        seen = self.identities(arity)
        seen.discard(identity)
        if not seen:
            self.reset()

    def add(self, raw: Raw, arity: int) -> bool:
        """Note a further event of this stamp; tell whether it is new. One of few is compared with each."""
        if self.seen_at != self.stamp:
            several = self.first
            if type(several) is tuple:
                if not (arity and several[3] != raw[3]) and _are_one(several, raw, arity):
                    return False
                self.first = [several, raw]
                return True
            if len(several) <= FEW:
                for other in several:
                    if not (arity and other[3] != raw[3]) and _are_one(other, raw, arity):
                        return False
                self.first = [*several, raw]
                return True
        seen = self.seen if self.seen_at == self.stamp else self.identities(arity)
        identity = (raw[1], *raw[3 : 3 + arity])
        if identity in seen:
            return False
        seen.add(identity)
        return True

    def identities(self, arity: int) -> set[Raw]:
        """Return (start, *attributes) of every event of this stamp."""
        if self.seen_at != self.stamp:
            self.seen_at = self.stamp
            several = self.first if type(self.first) is list else [self.first]
            self.seen = {(raw[1], *raw[3 : 3 + arity]) for raw in several}
        return self.seen

    def note_several(self, found: list[Raw], arity: int) -> list[Raw]:
        """Note events of one end; return those that are new, in order."""
        if self.stamp != found[0][0] and (_sort_by_first(found, arity) or _sort_plainly(found)):
            self.stamp, self.first = found[0][0], found
            return found
        seen, new = self.identities(arity) if self.stamp == found[0][0] else set(), []
        for raw in found:
            identity = (raw[1], *raw[3 : 3 + arity])
            if identity not in seen:
                seen.add(identity)
                new.append(raw)
        self.stamp, self.seen_at, self.seen = found[0][0], found[0][0], seen
        sort_round(new)
        return new


class LastMade:
    """What generated code has made of the last event that many rules are indexed for, and at which stamp.

    Of the first event at a stamp no rule has made anything yet, and each makes one event of a kind of its own: it is
    noted at the kind (`Made`), which is in no cache, only when more comes at the stamp, or somebody looks.
    """

    __slots__ = ("found", "stamp")

    def __init__(self) -> None:
        self.stamp = BEGINNING
        self.found: Sequence[Raw] = ()

    def note(self) -> None:
        """Note at their kinds that the events are made."""
        for raw in self.found:
            raw[2].made.note(raw, raw[2].arity)
        self.found = ()

    def open(self, stamp: int) -> None:
        """Let rules make events one by one, each noted as it is made, until the next stamp."""
        self.note()
        self.stamp = stamp


def _are_one(event: Raw, other: Raw, arity: int) -> bool:
    """Tell whether two events of one end are one: of equal start and attributes."""
    return bool(event[1] == other[1] and event[3 : 3 + arity] == other[3 : 3 + arity])


class Numbering:
    """The numbers that tell equal matches of one reaction apart: same attributes, same interval, from 1 on.

    What ends at one stamp is numbered together, whatever brought it about.
    """

    __slots__ = ("counts", "stamp")

    def __init__(self) -> None:
        self.stamp = BEGINNING
        self.counts: dict[Raw, int] = {}

    def next(self, stamp: int, *identity: Any) -> int:
        """Return the number of a further match that ends at a stamp."""
        if stamp != self.stamp:
            self.stamp, self.counts = stamp, {identity: 1}
            return 1
        number = self.counts[identity] = self.counts.get(identity, 0) + 1
        return number


Reported = bool | Callable[..., bool]  # of every event of a kind, or of those whose arguments pass a test


class HeadKind(EventKind):
    """The kind of a rule's events, with what the engine does with them."""

    __slots__ = (
        "alive",
        "feeds",
        "follow",
        "grows",
        "live",
        "made",
        "noted",
        "number",
        "occurred",
        "react",
        "reported",
        "shape",
    )

    def __init__(
        self, name: str, arity: int, rule: str, attributes: tuple[str, ...], made: Made, reported: Reported
    ) -> None:
        super().__init__(name, arity, rule, attributes)
        self.made = made
        self.noted = made  # where its events are noted: where those of another are that are made together with them
        self.reported = reported
        self.alive = True
        self.number = 0  # of the rule in its engine
        self.occurred = False  # whether one has been made that only `LastMade` knows of
        self.live = self  # of a second engine: the same kind in the one that runs
        self.feeds: Callable[[Raw], None] | None = None
        self.follow: Callable[[Raw, list[Raw]], int] | None = (
            None  # as `feeds`, and more rounds; how many events it made
        )
        self.react: Callable[[Raw], None] | None = None  # of a reaction: its turn for a match
        self.shape = SLOT
        self.grows = False  # whether attributes may become larger without end

    @property
    def has_occurred(self) -> bool:
        """Whether an event of this kind has ever been made."""
        return self.occurred or self.noted.stamp != BEGINNING

    def note_in(self, made: Made) -> None:
        """Have events noted with those of another kind from now on, or by themselves."""
        if self.noted is not made:
            self.made.follow(self.noted)
            self.noted = made

    def reports(self, raw: Raw) -> bool:
        """Tell whether an event of this kind is reported."""
        reported = self.reported
        return reported if isinstance(reported, bool) else reported(*raw[3 : 3 + self.arity])


def of_kind(found: list[Raw], kind: HeadKind) -> list[Raw]:
    """Return events as ones of another kind."""
    return [(*raw[:2], kind, *raw[3:]) for raw in found]


def sort_round(batch: list[Raw]) -> None:
    """Sort a round by (end, start, standard order of the atom).

    Plain comparison is that order for arguments of one type. Where types differ, or an integer meets a float of its
    value (neither is less), the keys are spelled out, of the events of that kind and interval alone.
    """
    if len(batch) < 2 or _sort_plainly(batch):
        return
    groups: dict[tuple[int, int, EventKind], list[Raw]] = {}
    for raw in batch:
        groups.setdefault(raw[:3], []).append(raw)
    batch.clear()
    for key in sorted(groups):
        group = groups[key]
        if len(group) > 1 and not (len(groups) > 1 and _sort_plainly(group)):
            group.sort(key=lambda raw: sort_key(new_event(Event, raw)))
        batch += group


def _without_rope(raw: Raw) -> Raw:
    return raw[: 3 + raw[2].arity]


def _sort_plainly(batch: list[Raw]) -> bool:
    """Sort events by plain comparison, of ropes none; tell whether that told them all apart."""
    first = batch[0]
    compared = batch
    try:
        if len(first) == 3 + first[2].arity:
            batch.sort()
        else:
            batch.sort(key=_without_rope)
            compared = list(map(_without_rope, batch))
        return all(map(lt, compared, compared[1:]))
    except TypeError:
        return False


def _sort_by_first(batch: list[Raw], arity: int) -> bool:
    """Sort events of one kind and end by their first attribute; tell whether that is how they are to be sorted.

    It is, where it tells all of one start apart: less is compared than of whole events.
    """
    if not arity or len(batch) < SEVERAL or batch[0][3] == batch[-1][3] or len(set(map(_START, batch))) > 1:
        return False
    try:
        batch.sort(key=_FIRST)
        firsts = list(map(_FIRST, batch))
        return all(map(lt, firsts, firsts[1:]))
    except TypeError:
        return False


def show_time(time: int) -> str:
    """Write a time for a message."""
    if time == BEGINNING:
        return "no event yet"
    return "the end of the stream" if time >= NEVER else show_moment(time)
