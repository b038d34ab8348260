"""An engine that is asked: why an event occurred or did not, what would make it occur, and what is awaited.

What answers is in `why`, and is loaded where someone asks. The public class is `etalis.Engine`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, overload

from etalis.runtime.engine import RuntimeEngine
from etalis.runtime.thread_guard import alone
from etalis.temporal.event import Event
from etalis.temporal.time_input import to_instant, to_interval

if TYPE_CHECKING:
    from etalis.pictures.picture import Picture
    from etalis.why.justification import Justification
    from etalis.why.partial import PartialMatches
    from etalis.why.repairing.data import Repair
    from etalis.why.why_not import WhyNot


class AskedEngine(RuntimeEngine):
    """One run of a program over a stream of events, and the questions that it answers."""

    @alone
    def partial(
        self, rule: str | None = None, key: Mapping[str, Any] | None = None, limit: int = 100
    ) -> PartialMatches:  # fmt: skip
        """Return the patterns that have begun, the fullest first: what is there, what is awaited, until when.

        `rule` is a label or number, `key` gives values of variables: `engine.partial("fraud", {"Card": "c1"})`.
        """
        from etalis.why.partial import partial_matches  # of use where someone asks alone

        return partial_matches(self.core.rules, rule, key, limit)

    @overload
    def justify(
        self, event: Event | str, *, at: Any = None, interval: Any = None, all: Literal[False] = False,
        limit: int = 100,
    ) -> Justification: ...  # fmt: skip

    @overload
    def justify(
        self, event: Event | str, *, at: Any = None, interval: Any = None, all: Literal[True], limit: int = 100
    ) -> Iterator[Justification]: ...

    @alone
    def justify(
        self, event: Event | str, *, at: Any = None, interval: Any = None, all: bool = False,  # noqa: A002
        limit: int = 100,
    ) -> Justification | Iterator[Justification]:  # fmt: skip
        """Say why an event occurred: its rule, what it is made of, and what was tested, down to the inputs.

        The event is one that was returned, or a pattern such as `fraud(c1, _)`: then the latest that occurred, `at` the
        time it ended, on an `interval` (start, end). Needs an engine with `justification="full"`; at level `ids` the
        inputs of a returned event are told by their numbers alone. With `all`, yield every derivation of that event,
        the first by arrival first, up to a limit; the past is run once more for it, without its actions.
        """
        from etalis.why.justify import justify, justify_all

        end, hull = None if at is None else to_instant(at), None if interval is None else to_interval(interval)
        if all:
            return justify_all(self.core, event, end, hull, limit)
        return justify(self.core, event, end, hull)

    @alone
    def timeline(self, *, title: str = "stream", dates: bool | None = None) -> Picture:
        """Return a picture of the events of the run over time; a click on one in `to_html` shows why it occurred.

        Needs an engine with `justification="full"`; what lies before its horizon is not drawn. Times are seconds or
        `dates`; if nothing is said, those after 1973 are dates.
        """
        from etalis.pictures.picture import Picture
        from etalis.pictures.scenes.stream import draw_stream
        from etalis.runtime.record.past_events import PastEvents
        from etalis.why.build import JustificationBuilder

        past, builder = PastEvents(self.core), JustificationBuilder(self.core)
        return Picture(
            draw_stream(
                past.received,
                past.made,
                numbers=past.numbers,
                explain=lambda event: builder.event(past.raws[id(event)]),
                title=title,
                dates=dates,
            )
        )

    @alone
    def why_not(
        self,
        question: str,
        *,
        at: Any = None,
        between: Any = None,
        interval: Any = None,
        limit: int = 3,
        depth: int = 5,
        budget: int = 100_000,
        repair: bool = False,
        seconds: float | None = None,
    ) -> WhyNot:
        """Say why an event did not occur: of every rule that could have made it the attempts that came nearest.

        The question is a pattern such as `fraud(c1, _)`; `at` and `between` (closed) speak of the event's end,
        `interval` of start and end. `limit` attempts of each rule are told, missing parts that rules derive are asked
        after to a `depth`, and the search takes at most `budget` steps. With `repair` the answer has that of
        `Engine.repair`. In `seconds`, if they are given, it ends with what was found. Needs an engine with
        `justification="full"`.
        """
        from etalis.why.search.ask import why_not

        times = _asked_times(at, between, interval)
        until = inf if seconds is None else monotonic() + seconds
        found = why_not(self.core, question, **times, limit=limit, depth=depth, budget=budget, until=until)
        found = replace(found, dates=self.core.evidence.shown.dates)
        if not repair:
            return found
        from etalis.why.repairing.ask import ask_repair

        return replace(found, repair=ask_repair(self.core, question, **times, until=until))

    @alone
    def repair(
        self, question: str, *, at: Any = None, between: Any = None, interval: Any = None, runs: int = 200,
        facts: bool = False,
    ) -> Repair | None:  # fmt: skip
        """Return the smallest change of the input by which an event would have occurred; None if none is found.

        The question is that of `why_not`. Events are added, removed or moved in time, with `facts` facts are added too;
        what is told was verified by a run of the changed history, at most so many `runs`, in which nothing is written.
        """
        from etalis.why.repairing.ask import ask_repair

        found = ask_repair(self.core, question, runs=runs, facts=facts, **_asked_times(at, between, interval))
        return None if found is None else replace(found, dates=self.core.evidence.shown.dates)


def _asked_times(at: Any, between: Any, interval: Any) -> dict[str, Any]:
    """Return the times of a question in microseconds, None where not given."""
    pairs = {"between": between, "interval": interval}
    read = {name: None if pair is None else to_interval(pair) for name, pair in pairs.items()}
    return {"at": None if at is None else to_instant(at), **read}
