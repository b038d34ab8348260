"""Complex event processing with logic: rules that say which constellations of events make a complex event."""

from typing import TYPE_CHECKING

from etalis.lazy import announce, import_lazily

if TYPE_CHECKING:
    from etalis.data.values import Struct
    from etalis.engine import Engine
    from etalis.errors import (
        ConditionError,
        EtalisError,
        EventError,
        InputError,
        LimitError,
        OptionError,
        Problem,
        ProgramError,
        ProgramWarning,
        ReportWarning,
        SnapshotError,
    )
    from etalis.program import Program, compile, compile_file, compile_tree  # noqa: A004
    from etalis.reactive.effects.attempts import Refused, Unknown
    from etalis.reactive.effects.transaction import Transaction
    from etalis.reactive.outbox.outbox import Outbox
    from etalis.runtime.comparison import Difference
    from etalis.runtime.lateness.watermark import DeadLetter, Stamp
    from etalis.runtime.reporting.report import Report, ReportError
    from etalis.sparql import compile_sparql
    from etalis.temporal.event import Event, Retraction
else:  # for a type checker every name would be one that `__getattr__` knows
    __getattr__, __dir__ = import_lazily(
        __name__,
        {
            "etalis.engine": ("Engine",),
            "etalis.errors": (
                "ConditionError",
                "EtalisError",
                "EventError",
                "InputError",
                "LimitError",
                "OptionError",
                "Problem",
                "ProgramError",
                "ProgramWarning",
                "ReportWarning",
                "SnapshotError",
            ),
            "etalis.data.values": ("Struct",),
            "etalis.program": ("Program", "compile", "compile_file", "compile_tree"),
            "etalis.reactive.effects.attempts": ("Refused", "Unknown"),
            "etalis.reactive.effects.transaction": ("Transaction",),
            "etalis.reactive.outbox.outbox": ("Outbox",),
            "etalis.runtime.comparison": ("Difference",),
            "etalis.runtime.lateness.watermark": ("DeadLetter", "Stamp"),
            "etalis.runtime.reporting.report": ("Report", "ReportError"),
            "etalis.sparql": ("compile_sparql",),
            "etalis.temporal.event": ("Event", "Retraction"),
        },
        modules=("cases", "client", "effects", "errors", "testing"),
    )

announce("etalis.pictures.explanations")  # prints explanations as pictures

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
    "OptionError",
    "Outbox",
    "Problem",
    "Program",
    "ProgramError",
    "ProgramWarning",
    "Refused",
    "Report",
    "ReportError",
    "ReportWarning",
    "Retraction",
    "SnapshotError",
    "Stamp",
    "Struct",
    "Transaction",
    "Unknown",
    "compile",
    "compile_file",
    "compile_sparql",
    "compile_tree",
]
