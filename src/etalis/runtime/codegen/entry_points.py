"""The generated `push` and `run` of an engine: which stages of the fast path they have, and what takes all else."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

from etalis.runtime.codegen.fast_path.corrections import correcting_push, correcting_row
from etalis.runtime.codegen.fast_path.hold import HoldStage
from etalis.runtime.codegen.fast_path.inputs import EventInput, PushInput, RunInput
from etalis.runtime.codegen.fast_path.intervals import Intervals, KindTakers
from etalis.runtime.codegen.fast_path.stages import FastPath
from etalis.runtime.core import Core
from etalis.runtime.state import NEVER

TEXTS = frozenset(
    ("push", "run", "take", "unread", "release", "lapse", "follow")
)  # what is written here, and anew with the rules


class GeneralPath(NamedTuple):
    """What takes an event or a row that is not plain and, once there are `changed` rules, all events and rows."""

    push: Callable[..., Any]
    row: Callable[[Any], Any]
    anew: Callable[..., Any]
    rest: Callable[[Any], Any]
    changed: list[bool]


class EntryPoints:
    """The generated `push` and `run` of an engine, each written when it is first asked for: most engines use one.

    They are written by the stages that the engine needs, and not at all where they would not be exact.
    """

    def __init__(self, core: Core, general: GeneralPath) -> None:
        sources = core.rules.sources
        sources[:] = [source for source in sources if source[0].split()[0] not in TEXTS]
        self.core, self.general = core, general
        for kind in core.rules.heads.kinds.values():  # what follows has the rules of before
            kind.follow = None

    @cached_property
    def path(self) -> FastPath | None:
        """The stages of the fast path, where it is exact."""
        core, horizon = self.core, self.core.horizon
        path = FastPath(core)
        if not path.is_plain() or not core.delivery.is_plain() or core.state.floor >= NEVER:
            return None
        if horizon is not None and horizon.wall is not None:  # every event is held against a clock
            return None
        if not (self._is_in_order or (core.disorder is not None and core.disorder.holds_plainly())):
            return None
        path.ahead = None if horizon is None else horizon.bound
        return path

    @property
    def _is_in_order(self) -> bool:
        return self.core.disorder is None or self.core.disorder.is_quiet()

    def push(self) -> Callable[..., Any] | None:
        """Write the `push` of the engine."""
        core, path = self.core, self.path
        if path is None:
            return None
        calls_out = path.rules.watched or bool(path.rules.program.effects)
        general = self._otherwise
        source = PushInput(
            max(path.arities), core.state, general.push, path.records, general.changed, general.anew,
            calls_out=calls_out,
        )  # fmt: skip
        return path.write(source, "push", self._stage(path))

    def run(self) -> Callable[..., Any] | None:
        """Write the `run` of the engine."""
        core, path, general = self.core, self.path, self._otherwise
        if path is None:
            return None
        if not self._is_in_order:
            held = RunInput(core.state, general.row, path.records, general.changed, general.rest, in_order=False)
            return path.write(held, "run", self._stage(path))
        watched = path.rules.watched or not path.in_one
        counted = path.rules.traced and path.in_turn
        source = RunInput(
            core.state, general.row, path.records, general.changed, general.rest, watched=watched, counted=counted
        )  # fmt: skip
        return path.write(source, "run", self._stage(path))

    def _stage(self, path: FastPath) -> Callable[[EventInput], None]:
        core, disorder = self.core, self.core.disorder
        if disorder is not None and not disorder.is_quiet():
            return HoldStage(path, disorder).take
        log = None if core.record is None else core.record.inputs.write
        if disorder is not None and disorder.revision is not None:
            log = disorder.revision.log
        return partial(path.take_in_order, log=log)

    @cached_property
    def read_events(self) -> KindTakers | None:
        """What takes events in order that have been read, where that is exact."""
        alone = self.core.disorder is None and self.core.record is None and not self.core.delivery.busy
        return KindTakers(self.path, reads=False) if alone and self.path is not None else None

    @cached_property
    def _otherwise(self) -> GeneralPath:
        """What takes an event that is no instant or not plain; a correction, too, may come from the future."""
        core, general = self.core, self.general
        if core.disorder is None and core.record is None and self.path is not None:
            intervals = Intervals(self.path, general.push, general.row)
            self.path.interval_takers = intervals.takers
            return general._replace(push=intervals.push, row=intervals.row)
        if core.disorder is None or not self._is_in_order or core.horizon is not None:
            return general
        push = correcting_push(core.disorder, general.push)
        return general._replace(push=push, row=correcting_row(push, general.row))
