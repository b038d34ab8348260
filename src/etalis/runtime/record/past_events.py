"""The events of a run as its engine keeps them at level `full`: received, made and raised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etalis.errors import EventError, Problem
from etalis.runtime.record.kept_past import identify
from etalis.temporal.event import Event, EventKind, Retraction, new_event

if TYPE_CHECKING:
    from etalis.runtime.core import Core


class PastEvents:
    """The events within the horizon: those `received` with their `numbers`, and those that rules or actions `made`.

    What a correction took away is a retraction. `raws` are those made as they were made, by identity.
    """

    def __init__(self, core: Core) -> None:
        if core.record is None:
            hint = 'make the engine with justification="full"'
            raise EventError(Problem("E340", "the events of the run are not kept", hint=hint))
        self.received: list[Event] = []
        self.numbers: list[int] = []
        kinds: dict[tuple[str, int], EventKind] = {}
        signatures = core.program.signatures
        for number, name, args, start, end in core.record.source.items():
            kind = kinds.get((name, len(args)))
            if kind is None:
                names = tuple(attribute for attribute, _ in signatures.get(name, ()))
                attributes = names if len(names) == len(args) else ()
                kind = kinds[name, len(args)] = EventKind(name, len(args), None, attributes)
            self.received.append(new_event(Event, (end, start, kind, *args)))
            self.numbers.append(number)
        heads = {planned.head.kind: place for place, (planned, _) in reversed([*enumerate(core.rules.rules)])}
        raws = sorted(core.record.all_made(), key=lambda raw: heads.get((raw[2].name, raw[2].arity), len(heads)))
        if core.program.settings.corrects:  # what a correction took away and another brought back is kept twice
            raws = list({identify(raw): raw for raw in raws}.values())
        raws += [raw for _, raw in core.record.raised]
        taken_back = core.record.taken_back
        self.made = [new_event(Event if taken_back(raw) is None else Retraction, raw) for raw in raws]
        self.raws = dict(zip(map(id, self.made), raws, strict=True))
