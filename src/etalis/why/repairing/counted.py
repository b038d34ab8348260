"""Elements that a repetition or an aggregate lacks, or has too many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.language.traversal import names, postorder, variables
from etalis.semantics.matches import ground, match_all
from etalis.why import justification as j
from etalis.why.repairing.data import AddEvent, InputChange, RemoveEvent
from etalis.why.repairing.moments import Calendar, Span
from etalis.why.repairing.values import Bindings, ValueChooser
from etalis.why.why_not import AttemptPart, WrongValue

_MOST = 10


class CountedRepairs:
    """Adds and removes elements of what is counted."""

    def __init__(self, calendar: Calendar, values: ValueChooser, inputs: Sequence[j.Received]) -> None:
        self._calendar, self._values, self._inputs = calendar, values, inputs

    def changes(self, rule: s.Rule, cause: WrongValue, bound: Bindings) -> Iterator[tuple[InputChange, ...]]:
        """Yield the element of the difference, of a count or a sum; of a repetition all that lack."""
        counted = [node for node in postorder(rule.pattern) if isinstance(node, s.Repeat | s.Aggregate)]
        if len(counted) != 1 or not isinstance(counted[0].pattern, s.EventPattern) or not cause.found:
            return
        (node,), (had, time) = counted, cause.found[0]
        element = counted[0].pattern
        assert isinstance(element, s.EventPattern)
        wanted = _number(cause.wanted)
        if wanted is None or not isinstance(had, int | float):
            return
        difference = wanted - had
        if isinstance(node, s.Aggregate) and node.kind == "sum" and isinstance(node.value, s.Var):
            values = {**bound, node.value.name: difference}
            yield (self._element(element, values, self._calendar.after(time)),)
            for given in self._matching(element, bound):
                found = match_all(element.args, given.args, dict(bound))
                if found is not None and found.get(node.value.name) == -difference:
                    yield (RemoveEvent(given),)
        elif isinstance(node, s.Repeat) or node.kind == "count":
            if difference < 0:
                yield from (
                    (RemoveEvent(given),) for given in self._matching(element, bound)[:_MOST] if difference == -1
                )
            elif isinstance(difference, int) and difference <= _MOST:
                yield self._several(element, bound, time, difference)

    def elements(
        self, rule: s.Rule, part: AttemptPart, spans: Sequence[Span], bound: Bindings
    ) -> Iterator[tuple[InputChange, ...]]:
        """Yield the elements of a repetition or an aggregate of which there are too few."""
        counted = [node for node in postorder(rule.pattern) if isinstance(node, s.Repeat | s.Aggregate)]
        if len(counted) != 1 or not isinstance(counted[0].pattern, s.EventPattern):
            return
        node, element = counted[0], counted[0].pattern
        least = ground(node.least, dict(bound)) if isinstance(node, s.Repeat) else 1
        lack = (least if isinstance(least, int) else 1) - (part.count or 0)
        if 0 < lack <= _MOST:
            for start, _ in spans:
                yield self._several(element, bound, start - 1, lack)
                yield tuple(self._element(element, bound, start - back) for back in reversed(range(lack)))

    def _several(self, element: s.EventPattern, bound: Bindings, time: int, count: int) -> tuple[InputChange, ...]:
        found: list[InputChange] = []
        for _ in range(count):
            time = self._calendar.after(time)
            found.append(self._element(element, bound, time))
        return tuple(found)

    def _element(self, element: s.EventPattern, bound: Bindings, time: int) -> AddEvent:
        values: dict[str, Value] = dict(bound)
        for place, arg in enumerate(element.args):
            for name in names(variables(arg)) - values.keys():
                values[name] = self._values.domain((element.name, len(element.args)), place)[0]
        return AddEvent(element.name, tuple(ground(arg, values) for arg in element.args), time, time)

    def _matching(self, element: s.EventPattern, bound: Bindings) -> list[j.Received]:
        """Return the inputs that are elements, the latest first."""
        same = [x for x in self._inputs if x.name == element.name and len(x.args) == len(element.args)]
        return [x for x in reversed(same) if match_all(element.args, x.args, dict(bound)) is not None]


def _number(text: str) -> int | float | None:
    """Return the number that a text is, or begins with."""
    first = text.split()[0] if text.split() else ""
    for read in (int, float):
        try:
            return read(first)
        except ValueError:
            continue
    return None
