"""Running aggregates: since each opener, or over the last elements of a group (definition 14.1 to 14.16)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from etalis.data.values import Value
from etalis.runtime.operators.base import Emit, Key, Shelf, Values
from etalis.runtime.operators.fold_log import FoldLog
from etalis.runtime.operators.mixed_window import MixedWindow
from etalis.runtime.operators.running import Running
from etalis.runtime.operators.sliding import SlidingWindow
from etalis.runtime.operators.two_stacks import Item
from etalis.temporal.aggregate import AggregateFunction, explain_no_value, has_no_value
from etalis.temporal.rope import Rope


class Opener:
    """An opening event with the running values of its groups."""

    __slots__ = ("end", "start", "totals", "values")

    def __init__(self, values: Values, start: int, end: int) -> None:
        self.values = values
        self.start = start
        self.end = end
        self.totals: dict[Values, Running] = {}


class Folder:
    """`Opener seq aggregate(..)`: one match per opener at every element, and at the opener where the row says so.

    Generated code folds elements in line, unless their marks are asked for.
    """

    is_running = True

    def __init__(
        self, *, fold: AggregateFunction, value: Callable[..., Value],
        shared: Callable[[Values, Values], Values | None],
        combine: Callable[..., Values | None], at_opener: Callable[[Opener], Values | None], emit: Emit,
        repeats: Callable[[list[Values], Values], bool] | None, left_key: Key, element_key: Key, keep: int | None,
        fail: Callable[[str], None], marked: bool, told: int | None, rope_of: Callable[[Values], Rope] | None,
        waiting_rope: Callable[[Values, int], Rope],
    ) -> None:  # fmt: skip
        self.fold = fold
        self.left_key = left_key
        self.element_key = element_key
        self.marked = marked
        self.told = told  # of how many elements it is kept what contributes to a value; None: of none
        self.rope_of = rope_of
        self.waiting_rope = waiting_rope
        self.value = value
        self.shared = shared
        self.combine = combine
        self.at_opener = at_opener
        self.emit = emit
        self.repeats = repeats
        self.keep = keep
        self.fail = fail
        self.openers: Shelf[Opener] = Shelf(keep)

    def on_left(self, *instance: Any) -> None:
        """Let an opener wait and report the value it starts with."""
        key = self.left_key(instance)
        waiting = [] if self.repeats is None else [(*o.values, o.start, o.end) for o in self.openers.group(key)]
        if self.repeats is not None and self.repeats(waiting, instance):
            return
        opener = Opener(instance[:-2], instance[-2], instance[-1])
        self.openers.add(key, opener)
        if self.fold.at_opener:
            first = self.at_opener(opener)
            if first is not None:
                self.emit(*first, opener.start, opener.end)

    def on_element(self, *instance: Any) -> None:
        """Fold one element into every opener before it, and note its marks."""
        values, start, end = instance[:-2], instance[-2], instance[-1]
        value = self.value(*values)
        if not self.countable(value):
            return
        place = self.element_key(values)
        openers = self.openers.group(place) if self.keep is None else self.recent(place, end - self.keep)
        for opener in openers:
            key = self.shared(opener.values, values) if opener.end < start else None
            if key is not None:
                element = None if self.rope_of is None else self.rope_of(values)
                result, last = self.take(opener, key, value, start, element)
                total = opener.totals[key]
                total.taken.append(values)
                rope = self.rope(opener, total)
                found = None if result is None else self.combine(opener, values, result, last, total.taken, rope)
                if found is not None:
                    self.emit(*found, opener.start, end)

    def countable(self, value: Value) -> bool:
        """Tell whether an element has a value to fold, or report that it has none."""
        return countable(self.fold, value, self.fail)

    def recent(self, place: Any, limit: int) -> list[Opener]:
        """Return the openers under a key that began not before a moment; the others go."""
        found = [opener for opener in self.openers.group(place) if opener.start >= limit]
        self.openers.keep_only(place, found)
        return found

    def rope(self, opener: Opener, total: Running) -> Rope:
        """Return what contributes to the value that a total has."""
        if total.log is None:
            return None
        return total.log.tell(self.waiting_rope(opener.values, total.start), total.count)

    def take(
        self, opener: Opener, key: Values, value: Value, start: int, element: Rope = None
    ) -> tuple[Value | None, int]:  # fmt: skip
        """Fold one value into the total of a group of an opener; return what it comes to, and since when."""
        total = opener.totals.get(key)
        if total is None:
            log = None if self.told is None else FoldLog(self.told)
            total = opener.totals[key] = Running(self.fold, start, log)
        value = total.add(value, start)
        if total.log is not None:
            total.log.add(element, total.count)
        return self.judge(value), total.start

    def judge(self, value: Value) -> Value | None:
        """Return a value; report what is none."""
        return judged(self.fold, value, self.fail)


def judged(fold: AggregateFunction, value: Value, fail: Callable[[str], None]) -> Value | None:
    """Return a value; report what is none."""
    if has_no_value(fold, value):
        fail(explain_no_value(fold.name))
        return None
    return value


def countable(fold: AggregateFunction, value: Value, fail: Callable[[str], None]) -> bool:
    """Tell whether an element has a value to fold, or report that it has none."""
    if fold.numeric and not isinstance(value, int | float):
        fail(f"{fold.name} of {value!r}, which is not a number")
        return False
    return True


class Slider:
    """An aggregate over the last elements of a group: of the last `within` microseconds, the last `last`, or all.

    A group is a window; where all elements count and none is asked for again (`keeps` says otherwise), it is what they
    have come to. Generated code slides windows in line; here is what it does not do so.
    """

    def __init__(
        self, *, fold: AggregateFunction, within: int | None, last: int | None, keeps: bool,
        fail: Callable[[str], None], told: int | None,
    ) -> None:  # fmt: skip
        self.fold = fold
        self.within = within
        self.last = last
        self.fail = fail
        self.told = told  # of how many elements it is kept what contributes to a value; None: of none
        self.is_running = within is None and last is None and not keeps
        self.groups: dict[Any, Any] = {}
        self.fifo: deque[tuple[int, Any]] = deque()  # (a moment, group) in about this order; each group once

    def take(self, key: Any, item: Item, end: int) -> tuple[Value | None, int]:
        """Take one element in, let the old go; return value and start of what is left, no value where there is none."""
        if not countable(self.fold, item[1], self.fail):
            return None, 0
        group: Any = self.groups.get(key)
        if group is None:
            log = None if self.told is None else FoldLog(self.told)
            new: Any = Running(self.fold, item[0], log) if self.is_running else SlidingWindow(self.fold, log)
            group = self.groups[key] = new
            if self.within is not None:
                self.fifo.append((end, key))
        if self.is_running:
            value = group.add(item[1], item[0])
            if group.log is not None:
                group.log.add(item[2], group.count)
            return self.judge(value), group.start
        if group.items and item[0] < group.items[-1][0]:
            group = self.groups[key] = MixedWindow(self.fold, group, self.told)
        limit = None if self.within is None else end - self.within
        value, start = group.slide(item, limit, self.last)
        return None if value is None else self.judge(value), start

    def judge(self, value: Value) -> Value | None:
        """Return a value; report what is none."""
        return judged(self.fold, value, self.fail)

    def expire(self, now: int) -> None:
        """Forget groups whose elements have all left the window."""
        if self.within is None:
            return
        limit, fifo, groups = now - self.within, self.fifo, self.groups
        while fifo and fifo[0][0] < limit:
            key = fifo.popleft()[1]
            group = groups.get(key)
            if group is not None and group.latest < limit:
                del groups[key]
            elif group is not None:
                fifo.append((group.latest, key))
