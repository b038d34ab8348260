"""Events as a line of text, with times in the format of the input: seconds, or dates of ISO 8601 in UTC.

Law: what is written is read back as the same times, to the microsecond. A moment outside the years 1 to 9999, such as
the deadline of the last event there can be, is no date and stays a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from etalis.formats.seen import Seen
from etalis.language.printer import seconds
from etalis.temporal.event import Event
from etalis.temporal.interval import EARLIEST, LATEST, to_datetime, to_iso
from etalis.temporal.json_values import to_text

FORMS = ("iso", "seconds")


@dataclass(frozen=True, slots=True)
class TimeForm:
    """Whether times are written as dates: as `asked`, else as they came, or came before; those of a clock are dates."""

    seen: Seen
    asked: str | None = None
    by_clock: bool = False
    before: bool = False

    @property
    def dates(self) -> bool:
        """Whether times are dates, by what has been read so far."""
        if self.asked is not None:
            return self.asked == "iso"
        return self.seen.stamps or self.before or (self.by_clock and not self.seen.numbers)


SECONDS = TimeForm(Seen(), "seconds")


def text_of(event: Event, form: TimeForm) -> str:
    """Write an event with its interval.

    >>> text_of(Event.make("a", (1,), 0, 2_500_000), TimeForm(Seen(), "iso"))
    'a(1) [1970-01-01T00:00:00Z, 1970-01-01T00:00:02.500000Z]'
    """
    return f"{event:iso}" if form.dates and _are_dates(event) else str(event)


def json_of(event: Event, form: TimeForm) -> str:
    """Write an event as a JSON object."""
    return to_text(record_of(event, form))


def record_of(event: Event, form: TimeForm) -> dict[str, Any]:
    """Return an event as plain data."""
    if not (form.dates and _are_dates(event)):
        return event.to_dict()
    return {**event.to_dict(), "start": to_iso(event.start_time), "end": to_iso(event.end_time)}


def moment_of(time: int, form: TimeForm) -> str:
    """Write a moment as a cell of text, exactly.

    >>> moment_of(1_500_000, SECONDS), moment_of(1_500_000, TimeForm(Seen(), "iso"))
    ('1.5', '1970-01-01T00:00:01.500000Z')
    """
    return to_iso(time) if form.dates and EARLIEST <= time <= LATEST else seconds(time)


def clause_of(event: Event, form: TimeForm) -> str:
    """Write an event as a clause of an event file."""
    if not (form.dates and _are_dates(event)):
        return f"event({event.atom}, [{seconds(event.start_time)}, {seconds(event.end_time)}])."
    times = (_calendar(to_datetime(time)) for time in (event.start_time, event.end_time))
    return f"event({event.atom}, [{', '.join(times)}])."


def _calendar(moment: datetime) -> str:
    second = f"{moment.second}.{moment.microsecond:06}".rstrip("0").rstrip(".") if moment.microsecond else moment.second
    return f"datetime({moment.year}, {moment.month}, {moment.day}, {moment.hour}, {moment.minute}, {second})"


def _are_dates(event: Event) -> bool:
    return event.start_time >= EARLIEST and event.end_time <= LATEST
