"""A stream as a time line: a lane for each kind of event, those received above, those derived below, by rule.

A match knows the numbers of the inputs that it is made of if its engine kept them; then it is made of their marks.
Where events can be explained, it is made of what its rule took, and says which rule that was and what was tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from etalis.data.values import Value, format_atom, format_value
from etalis.pictures.paint.axis import are_dates, write_interval
from etalis.pictures.palette import rule_form
from etalis.pictures.scene import LaneMark, Timeline
from etalis.pictures.scenes.why_boxes import is_usual, make_box
from etalis.temporal.event import Event
from etalis.why import justification as j
from etalis.why.forms.wording import rule_text

Explain = Callable[[Event], j.Occurred]
_Key = tuple[str | None, tuple[Value, ...], int, int]


def draw_stream(
    received: Iterable[Event],
    matches: Iterable[Event],
    *,
    dates: bool | None = None,
    numbers: Sequence[int] | None = None,
    explain: Explain | None = None,
    title: str = "stream",
) -> Timeline:
    """Draw events and matches; if nothing is said of times, those after 1973 are `dates`.

    `numbers` are those of the events received, else they are counted from 1. `explain` returns why a match occurred.
    """
    inputs, found = list(received), list(matches)
    times = [time for event in (*inputs, *found) for time in (event.start_time, event.end_time)]
    timeline = Timeline(title, dates=are_dates(min(times), max(times), dates) if times else False)
    _add(timeline, inputs, "received", {})
    forms = {label: rule_form(number) for number, label in enumerate(_labels(found))}
    _add(timeline, found, "derived", forms)
    places = {number: place for place, number in enumerate(numbers or range(1, len(inputs) + 1))}
    texts = {} if explain is None else _explain(timeline, places, found, explain)
    if explain is None:
        _make_of_inputs(timeline, places, found)
    used = {mark.form for mark in timeline.marks}
    timeline.legend = [("received", "received")] if inputs else []
    timeline.legend += [
        (form, f"rule {label}" + (f": {texts[label]}" if label in texts else "")) for label, form in forms.items()
    ]
    others = {"match": "raised by an action", "taken back": "taken back"}
    timeline.legend += [(form, text) for form, text in others.items() if form in used]
    return timeline


def _labels(found: Iterable[Event]) -> list[str]:
    """Return the rules that made something."""
    return list(dict.fromkeys(event.rule for event in found if event.rule is not None))


def _add(timeline: Timeline, events: Sequence[Event], section: str, forms: Mapping[str, str]) -> None:
    lanes: dict[tuple[str, int], int] = {}
    for event in events:
        kind = (event.name, len(event.args))
        if kind not in lanes:
            lanes[kind] = timeline.add_lane(f"{format_atom(event.name)}/{kind[1]}", *([] if lanes else [section]))
        form = "received" if section == "received" else forms.get(event.rule or "", "match")
        timeline.add(
            LaneMark(
                lanes[kind],
                event.start_time,
                event.end_time,
                form if event.sign > 0 else "taken back",
                event.atom,
                tuple(_details(event, timeline.dates)),
            )
        )


def _details(event: Event, dates: bool) -> Iterator[str]:
    yield write_interval(event.start_time, event.end_time, dates)
    names = event.kind.attributes
    yield from (f"{name}: {format_value(value)}" for name, value in zip(names, event.args, strict=False))


def _make_of_inputs(timeline: Timeline, places: Mapping[int, int], found: Sequence[Event]) -> None:
    """Say of matches which inputs they are made of."""
    for mark, event in enumerate(found, len(timeline.marks) - len(found)):
        parts = tuple(places[part] for part in event.parts if part in places)
        timeline.marks[mark] = replace(timeline.marks[mark], parts=parts)


def _explain(timeline: Timeline, places: Mapping[int, int], found: Sequence[Event], explain: Explain) -> dict[str, str]:
    """Say of matches what their rules took and tested; return the texts of the rules."""
    texts: dict[str, str] = {}
    first = len(timeline.marks) - len(found)
    marks: dict[_Key, int] = {
        (event.name, event.args, event.start_time, event.end_time): mark for mark, event in enumerate(found, first)
    }
    for mark, event in enumerate(found, first):
        root = explain(event)
        told = []
        if isinstance(root, j.Derived):
            texts[root.rule] = rule_text(root.rule, root.text)
            told = [f"rule {root.rule}: {texts[root.rule]}", *([] if root.note is None else [root.note])]
        parts = dict.fromkeys(_mark_of(part, places, marks) for part in _taken(root) if isinstance(part, j.Occurred))
        told += [_say(part, timeline.dates) for part in _taken(root) if not isinstance(part, j.Occurred)]
        timeline.marks[mark] = replace(
            timeline.marks[mark], parts=tuple(part for part in parts if part not in (None, mark)), why=tuple(told)
        )
    return texts


def _mark_of(event: j.Occurred, places: Mapping[int, int], marks: Mapping[_Key, int]) -> int | None:
    if isinstance(event, j.Received):
        return places.get(event.number)
    return marks.get((event.name, event.args, event.start, event.end))


def _taken(root: j.Occurred) -> Iterator[j.Occurred | j.Test]:
    """Yield the events that an event was made of, and what was tested, without what is below these."""
    if not isinstance(root, j.Derived | j.Raised):
        return
    stop = j.Occurred | j.WithinWindow | j.ConditionHeld | j.Nothing | j.AloneBetween | j.TakenUnder
    for node in j.nodes(root, lambda node: node is root or not isinstance(node, stop)):
        if node is not root and isinstance(node, stop) and not is_usual(node):
            yield node


def _say(test: j.Test, dates: bool) -> str:
    box = make_box(test, dates)
    return ", ".join((box.title, *box.lines))
