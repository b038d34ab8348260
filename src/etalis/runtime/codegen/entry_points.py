"""The generated `push` and `run` of an engine: which stages of the fast path they have, and what takes all else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from etalis.runtime.codegen.fast_path.corrections import correcting_push, correcting_row
from etalis.runtime.codegen.fast_path.hold import HoldStage
from etalis.runtime.codegen.fast_path.inputs import EventInput, PushInput, RunInput
from etalis.runtime.codegen.fast_path.stages import FastPath
from etalis.runtime.core import Core
from etalis.runtime.state import NEVER

TEXTS = frozenset(
    ("push", "run", "take", "unread", "release", "lapse")
)  # what is written here, and anew with the rules


class GeneralPath(NamedTuple):
    """What takes an event or a row that is not plain and, once there are `changed` rules, the rest of the rows."""

    push: Callable[..., Any]
    row: Callable[[Any], Any]
    rest: Callable[[Any], Any]
    changed: list[bool]


def write_fast_path(core: Core, general: GeneralPath) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """Write the `push` and the `run` of an engine by the stages that it needs; None where they would not be exact."""
    path, disorder, horizon, push, take_row = FastPath(core), core.disorder, core.horizon, *general[:2]
    core.rules.sources[:] = [source for source in core.rules.sources if source[0].split()[0] not in TEXTS]
    if not path.is_plain() or not core.delivery.is_plain() or core.state.floor >= NEVER:
        return None
    if horizon is not None and horizon.wall is not None:  # every event is held against a clock
        return None
    path.ahead = None if horizon is None else horizon.bound
    stage: Callable[[EventInput], None]
    if disorder is None or disorder.is_quiet():
        log = None if core.record is None else core.record.inputs.write
        if disorder is not None and disorder.revision is not None:
            log = disorder.revision.log
        if disorder is not None and horizon is None:  # a correction, too, may come from the future
            push = correcting_push(disorder, push)
            take_row = correcting_row(push, take_row)
        stage = partial(path.take_in_order, log=log)
        watched = path.rules.watched or not path.in_one
        counted = path.rules.traced and path.in_turn
        rows = RunInput(
            core.state, take_row, path.records, general.changed, general.rest, watched=watched, counted=counted
        )  # fmt: skip
    elif disorder.holds_plainly():
        stage = HoldStage(path, disorder).take
        rows = RunInput(core.state, take_row, path.records)
    else:
        return None
    calls_out = path.rules.watched or bool(path.rules.program.effects)
    one = PushInput(max(path.arities), core.state, push, path.records, calls_out=calls_out)
    return path.write(one, "push", stage), path.write(rows, "run", stage)
