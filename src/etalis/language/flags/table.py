"""The flags of a program and the properties of a rule as tables (003, section 4.5; definition 21.4).

A row says which values a flag takes, its default and what it does; flags of the original that mean nothing here stand
in `REFUSED` with what to use instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from etalis.data.values import Value
from etalis.temporal.policy import DEFAULT_POLICY, POLICIES

ON_OFF = ("on", "off")
LIMITS = ("soft_limit", "hard_limit", "shedding")
UNBOUNDED = 1 << 200
SERVICE_MAX_STEPS = 100_000  # `max_steps` where goals are those of strangers: about 0.2 s of the slowest ones


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: its values (words, or a `number` of seconds or things), its default, and what it does."""

    name: str
    default: Value
    meaning: str
    words: tuple[str, ...] = ()
    number: str | None = None


FLAGS: Mapping[str, Flag] = MappingProxyType(
    {
        row.name: row
        for row in (
            Flag("event_consumption_policy", DEFAULT_POLICY, "which instances match, and which leave", tuple(POLICIES)),
            Flag(
                "interval_relations", "strict", "`weak`: during, starts, finishes accept equal ends", ("strict", "weak")
            ),
            Flag("rule_sharing", "on", "rules with equal parts share their matches; never changes a result", ON_OFF),
            Flag(
                "max_derivations",
                1_000_000,
                "most events that one input may cause; in recursion large terms count for several",
                number="count",
            ),
            Flag(
                "max_reactions",
                10_000,
                "most reactions to one input, or to what falls due at one moment, with all that they raise",
                number="count",
            ),
            Flag("max_path", 10_000, "most steps of one execution of an action", number="count"),
            Flag("max_tries", 1_000_000, "most steps that are tried for one execution of an action", number="count"),
            Flag(
                "max_steps",
                -1,
                "most steps that any goal may take: of a condition, an action, a directive, a query of the host",
                number="limit",
            ),
            Flag("max_goal_steps", 500_000, "most steps that a condition or action may take", number="count"),
            Flag(
                "max_goal_time",
                -1,
                "most seconds of processor time that it may take; what is found then depends on the machine",
                number="seconds",
            ),
            Flag("max_goal_memory", 250, "most megabytes that it may take; a guard, steps come first", number="limit"),
            Flag(
                "max_rule_failures",
                100,
                "how often a condition or action may reach such a limit before it is switched off",
                number="limit",
            ),
            Flag(
                "garbage_control", "off", "`general`: garbage_window bounds every rule", ("off", "general", "pattern")
            ),
            Flag("garbage_window", -1, "seconds after which a waiting instance is dropped", number="seconds"),
            Flag(
                "garbage_window_step",
                -1,
                "accepted; instances are dropped as time passes, no step needed",
                number="seconds",
            ),
            Flag("soft_limit", -1, "number of instances above which the engine warns", number="limit"),
            Flag("hard_limit", -1, "most instances that an engine may hold", number="limit"),
            Flag(
                "shedding",
                "off",
                "at the hard limit: an error, or `oldest` instances go, or the `newest` events are rejected",
                ("off", "oldest", "newest"),
            ),
            Flag("logging", "off", "every event is written to the log", ON_OFF),
            Flag("store_fired_events", "off", "the engine keeps every event it reported", ON_OFF),
            Flag("knowledge_horizon", -1, "seconds for which old knowledge can be queried", number="seconds"),
            Flag("out_of_order", "off", "events may come late", ON_OFF),
            Flag("ooo_window", -1, "how many seconds an event may be late", number="seconds"),
            Flag("max_ahead", -1, "how many seconds past the latest time an event may end", number="seconds"),
            Flag(
                "reporting",
                "on_watermark",
                "when matches of late events are reported",
                ("on_watermark", "on_arrival"),
            ),
            Flag(
                "joint_arrivals", "off", "several events may be pushed as one arrival: `engine.push_together`", ON_OFF
            ),
            Flag("revision_flag", "off", "events can be retracted", ON_OFF),
            Flag("revision_window", -1, "how far back, in seconds, events can be retracted", number="seconds"),
            Flag("etalis_justification", "off", "events can be explained: the past is kept for it", ON_OFF),
            Flag("justification_horizon", -1, "seconds for which the past is kept for explanations", number="seconds"),
            Flag("justification_limit", 100_000, "most elements of an aggregate that a match tells", number="limit"),
        )
    }
)

REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "prolog_backend": "leave the line out: conditions run on the built-in logic machine",
        "output_temporary_files": "leave the line out, and use `etalis explain --code` to see the compiled rules",
        "logging_to_file": "leave the line out, and write the output of `etalis run` to a file",
        "rule_sharing_debugging": "leave the line out, and use `etalis explain` to see what rules share",
        "store_fired_events_java": "leave the line out: `engine.push` returns what an event caused",
    }
)

PROPERTIES: Mapping[str, str] = MappingProxyType(
    {
        "policy": "policy",
        "event_rule_window": "window",
        "window": "window",
        "window_step": "step",
        "ooo_window": "horizon",
        "revision_window": "horizon",
        "priority": "priority",
    }
)
