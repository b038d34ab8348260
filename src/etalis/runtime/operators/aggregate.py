"""Running aggregates: since each opener, or over the last elements of a group (definition 14.1 to 14.16)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from etalis.data.values import Value
from etalis.runtime.operators.base import Emit, Key, Shelf, Values
from etalis.temporal.aggregate import AggregateFunction, explain_no_value, has_no_value


class Opener:
    """An opening event with the running values of its groups."""

    __slots__ = ("end", "start", "totals", "values")

    def __init__(self, values: Values, start: int, end: int) -> None:
        self.values = values
        self.start = start
        self.end = end
        self.totals: dict[Values, list[Any]] = {}


class Folder:
    """`Opener seq aggregate(..)`: one match per opener at every element, and at the opener where the row says so."""

    def __init__(
        self, *, fold: AggregateFunction, value: Callable[..., Value],
        shared: Callable[[Values, Values], Values | None],
        combine: Callable[..., Values | None], at_opener: Callable[[Opener], Values | None], emit: Emit,
        repeats: Callable[[list[Values], Values], bool], left_key: Key, element_key: Key, keep: int | None,
        fail: Callable[[str], None], marked: bool,
    ) -> None:  # fmt: skip
        self.fold = fold
        self.left_key = left_key
        self.element_key = element_key
        self.marked = marked
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
        if self.repeats([(*o.values, o.start, o.end) for o in self.openers.group(key)], instance):
            return
        opener = Opener(instance[:-2], instance[-2], instance[-1])
        self.openers.add(key, opener)
        if self.fold.at_opener:
            first = self.at_opener(opener)
            if first is not None:
                self.emit(*first, opener.start, opener.end)

    def on_element(self, *instance: Any) -> None:
        """Fold one element into every opener before it."""
        values, start, end = instance[:-2], instance[-2], instance[-1]
        value = self.value(*values)
        if not countable(self.fold, value, self.fail):
            return
        place = self.element_key(values)
        openers = self.openers.group(place)
        if self.keep is not None:
            limit = end - self.keep
            openers = [o for o in openers if o.start >= limit]
            self.openers.keep_only(place, openers)
        for opener in openers:
            key = self.shared(opener.values, values) if opener.end < start else None
            if key is not None:
                total = opener.totals.setdefault(key, [self.fold.zero, start, []])
                total[0] = self.fold.step(total[0], value)
                total[1] = min(total[1], start)
                if self.marked:
                    total[2].append(values)
                result = self.fold.result(total[0])
                if has_no_value(self.fold, result):
                    self.fail(explain_no_value(self.fold.name))
                    continue
                found = self.combine(opener, values, result, total[1], total[2])
                if found is not None:
                    self.emit(*found, opener.start, end)


def countable(fold: AggregateFunction, value: Value, fail: Callable[[str], None]) -> bool:
    """Tell whether an element has a value to fold, or report that it has none."""
    if fold.numeric and not isinstance(value, int | float):
        fail(f"{fold.name} of {value!r}, which is not a number")
        return False
    return True


class Slider:
    """An aggregate over the last elements of a group: of the last `within` microseconds, the last `last`, or all."""

    def __init__(
        self, *, fold: AggregateFunction, value: Callable[..., Value], group: Callable[[Values], Values],
        combine: Callable[..., Values | None], within: int | None, last: int | None, emit: Emit,
        fail: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.fold = fold
        self.value = value
        self.group = group
        self.combine = combine
        self.within = within
        self.last = last
        self.emit = emit
        self.fail = fail
        self.groups: dict[Values, list[tuple[int, Value, Values]]] = {}
        self.fifo: deque[tuple[int, Values]] = deque()

    def on_element(self, *instance: Any) -> None:
        """Take one element in, let the old go, report the value."""
        values, start, end = instance[:-2], instance[-2], instance[-1]
        value = self.value(*values)
        if not countable(self.fold, value, self.fail):
            return
        key = self.group(values)
        window = self.groups.setdefault(key, [])
        window.append((start, value, values))
        if self.within is not None:
            self.fifo.append((end, key))
            self.expire(end)
        if self.within is not None and min(x[0] for x in window) < end - self.within:
            window[:] = [x for x in window if x[0] >= end - self.within]
        if self.last is not None and len(window) > self.last:
            del window[: len(window) - self.last]
        if not window:
            return
        state = self.fold.zero
        for _, item, _ in window:
            state = self.fold.step(state, item)
        result = self.fold.result(state)
        if has_no_value(self.fold, result):
            self.fail(explain_no_value(self.fold.name))
            return
        found = self.combine([x[2] for x in window], values, result)
        if found is not None:
            self.emit(*found, min(x[0] for x in window), end)

    def expire(self, now: int) -> None:
        """Forget groups whose elements have all left the window; `fifo` lists (end, group) in order."""
        if self.within is None:
            return
        while self.fifo and self.fifo[0][0] < now - self.within:
            old = self.fifo.popleft()[1]
            group = self.groups.get(old)
            if group is not None and all(x[0] < now - self.within for x in group):
                del self.groups[old]
