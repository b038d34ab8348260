"""Complex event processing with logic: rules that say which constellations of events make a complex event."""

from etalis.errors import (
    ConditionError,
    EtalisError,
    EventError,
    InputError,
    LimitError,
    Problem,
    ProgramError,
    ProgramWarning,
    SnapshotError,
)
from etalis.logic.term import Struct
from etalis.runtime.comparison import Difference
from etalis.runtime.engine import Engine
from etalis.runtime.order import DeadLetter, Stamp
from etalis.runtime.program import Program, compile, compile_file  # noqa: A004
from etalis.temporal.event import Event, Retraction

__version__ = "0.1.0"

__all__ = [
    "ConditionError",
    "DeadLetter",
    "Difference",
    "Engine",
    "EtalisError",
    "Event",
    "EventError",
    "InputError",
    "LimitError",
    "Problem",
    "Program",
    "ProgramError",
    "ProgramWarning",
    "Retraction",
    "SnapshotError",
    "Stamp",
    "Struct",
    "compile",
    "compile_file",
]
