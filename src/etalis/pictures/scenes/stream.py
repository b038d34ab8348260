"""A stream as a time line: a lane for each kind of event, those received above, those derived below, by rule.

A match knows the numbers of the inputs that it is made of if its engine kept them; then it is made of their marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from etalis.data.values import format_atom, format_value
from etalis.pictures.paint.axis import are_dates, write_interval
from etalis.pictures.palette import rule_form
from etalis.pictures.scene import LaneMark, Timeline
from etalis.temporal.event import Event


def draw_stream(
    received: Iterable[Event],
    matches: Iterable[Event],
    *,
    dates: bool | None = None,
    rules: Mapping[str, str] | None = None,
    title: str = "stream",
) -> Timeline:
    """Draw events and matches; if nothing is said of times, those after 1973 are `dates`. `rules` are their texts."""
    inputs, found = list(received), list(matches)
    times = [time for event in (*inputs, *found) for time in (event.start_time, event.end_time)]
    written = are_dates(min(times), max(times), dates) if times else False
    timeline = Timeline(title, dates=written)
    _add(timeline, inputs, "received", {})
    forms = {label: rule_form(number) for number, label in enumerate(_labels(found, rules or {}))}
    _add(timeline, found, "derived", forms)
    texts = rules or {}
    timeline.legend = [("received", "received")] if inputs else []
    timeline.legend += [
        (form, f"rule {label}" + (f": {texts[label]}" if label in texts else "")) for label, form in forms.items()
    ]
    if any(event.sign < 0 for event in found):
        timeline.legend.append(("taken back", "taken back"))
    return timeline


def _labels(found: Iterable[Event], rules: Mapping[str, str]) -> list[str]:
    """Return the rules that made something, in the order of the program."""
    made = {event.rule: None for event in found if event.rule is not None}
    return [*(label for label in rules if label in made), *(label for label in made if label not in rules)]


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
                tuple(part - 1 for part in event.parts) if section == "derived" else (),
            )
        )


def _details(event: Event, dates: bool) -> Iterator[str]:
    yield write_interval(event.start_time, event.end_time, dates)
    names = event.kind.attributes
    yield from (f"{name}: {format_value(value)}" for name, value in zip(names, event.args, strict=False))
