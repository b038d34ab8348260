"""The flags of a program as a table, and the settings they give (003, section 4.5; definition 21.4).

A row says which values a flag takes, its default and what it does; flags of the original that mean nothing here stand
in `REFUSED` with what to use instead. `settings` reads a program's flags into one frozen record, `rule_settings` a
rule's properties into its policy and window.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from types import MappingProxyType
from typing import TypeVar

from etalis.data.values import Value, to_value
from etalis.errors import Problem, ProgramError, Span
from etalis.language.check.spelling import suggest
from etalis.language.check.wording import listing, written
from etalis.language.read.units import seconds_of
from etalis.language.syntax import Const, LabelProperty, Property, Reaction, Rule, SetFlag, Term, Tree
from etalis.temporal.duration import DurationError
from etalis.temporal.interval import to_microseconds, to_seconds
from etalis.temporal.policy import DEFAULT_POLICY, POLICIES

ON_OFF = ("on", "off")
LIMITS = ("soft_limit", "hard_limit", "shedding")
UNBOUNDED = 1 << 200
SERVICE_MAX_STEPS = 100_000  # `max_steps` where goals are those of strangers: about 0.2 s of the slowest ones
T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class Settings:
    """What a program's flags come to; durations are in microseconds.

    `garbage_window`: None unless garbage_control is general. `lateness`: how late an event may be, None if not at all,
    `UNBOUNDED` if only `advance` settles anything. `revision_window`: how far back events can be retracted, None for
    ever. A `knowledge_horizon` of 0 keeps nothing old. A limit that is None limits nothing, `max_ahead` neither.
    `justification_horizon`: how far back explanations reach, None for as far as corrections and late events do;
    `justification_limit`: how many elements of an aggregate a match tells.
    """

    policy: str = DEFAULT_POLICY
    relations: str = "strict"
    sharing: bool = True
    max_derivations: int = 1_000_000
    max_reactions: int = 10_000
    max_path: int = 10_000
    max_tries: int = 1_000_000
    max_steps: int | None = None
    max_goal_steps: int = 500_000
    max_goal_time: float | None = None
    max_goal_memory: int | None = 250
    max_rule_failures: int | None = 100
    garbage_window: int | None = None
    logging: bool = False
    store_fired_events: bool = False
    knowledge_horizon: int = 0
    lateness: int | None = None
    reporting: str = "on_watermark"
    joint_arrivals: bool = False
    revision: bool = False
    revision_window: int | None = None
    soft_limit: int | None = None
    hard_limit: int | None = None
    shedding: str = "off"
    max_ahead: int | None = None
    justification: bool = False
    justification_horizon: int | None = None
    justification_limit: int | None = 100_000

    @property
    def corrects(self) -> bool:
        """Tell whether reported matches may be retracted, so that events are run again."""
        return self.revision or (self.lateness is not None and self.reporting == "on_arrival")


def settings(program: Tree, given: Mapping[str, object] = MappingProxyType({})) -> Settings:
    """Return what the flags of a program come to; `given` sets flags from outside and goes before the text.

    >>> settings(Tree((SetFlag("rule_sharing", Const("off")),))).sharing
    False
    """
    flags = [f for f in program.items if isinstance(f, SetFlag)]
    flags += [SetFlag(name, Const(_outside(value))) for name, value in given.items()]
    problems = [problem for flag in flags for problem in flag_problems(flag)]
    if not problems:
        problems += [*garbage_problems(flags), *limit_problems(flags)]
    if problems:
        raise ProgramError(*problems)
    values = {name: row.default for name, row in FLAGS.items()} | {f.name: _given(f) for f in flags}
    return Settings(
        policy=values["event_consumption_policy"],
        relations=values["interval_relations"],
        sharing=values["rule_sharing"] == "on",
        max_derivations=values["max_derivations"],
        max_reactions=values["max_reactions"],
        max_path=values["max_path"],
        max_tries=values["max_tries"],
        garbage_window=to_microseconds(values["garbage_window"]) if values["garbage_control"] == "general" else None,
        max_steps=_limit(values["max_steps"]),
        max_goal_steps=values["max_goal_steps"],
        max_goal_time=_limit(values["max_goal_time"]),
        max_goal_memory=_limit(values["max_goal_memory"]),
        max_rule_failures=_limit(values["max_rule_failures"]),
        logging=values["logging"] == "on",
        store_fired_events=values["store_fired_events"] == "on",
        knowledge_horizon=max(0, to_microseconds(values["knowledge_horizon"])),
        lateness=_longest(program, values, "ooo_window", UNBOUNDED) if values["out_of_order"] == "on" else None,
        reporting=values["reporting"],
        joint_arrivals=values["joint_arrivals"] == "on",
        revision=values["revision_flag"] == "on",
        revision_window=_longest(program, values, "revision_window", None),
        soft_limit=_limit(values["soft_limit"]),
        hard_limit=_limit(values["hard_limit"]),
        shedding=values["shedding"],
        max_ahead=_duration(values["max_ahead"]),
        justification=values["etalis_justification"] == "on",
        justification_horizon=_duration(values["justification_horizon"]),
        justification_limit=_limit(values["justification_limit"]),
    )


def with_limits(default: Settings, given: Mapping[str, object]) -> Settings:
    """Return settings with other limits.

    >>> with_limits(Settings(hard_limit=10), {"shedding": "newest"}).shedding
    'newest'
    """
    flags = [SetFlag(name, Const(to_value(value))) for name, value in given.items()]
    problems = [problem for flag in flags for problem in flag_problems(flag)]
    hint = f"limits: {listing(LIMITS)}"
    problems += [Problem("E205", f"{name} is no limit", hint=hint) for name in given if name not in LIMITS]
    if problems:
        raise ProgramError(*problems)
    values = {flag.name: _constant(flag.value) for flag in flags}
    limits: dict[str, Value] = {name: None if value == -1 else value for name, value in values.items()}
    found = replace(default, **limits)
    ways = {"revision_flag": "on" if found.corrects else "off", "shedding": found.shedding}
    limit = {} if found.hard_limit is None else {"hard_limit": found.hard_limit}
    problems += limit_problems([SetFlag(name, Const(value)) for name, value in (ways | limit).items()])
    if problems:
        raise ProgramError(*problems)
    return found


def with_ahead(default: Settings, given: float | str | timedelta | None) -> Settings:
    """Return settings with another bound on how far ahead events may end, if one is given; -1 for none.

    >>> with_ahead(Settings(), timedelta(minutes=1)).max_ahead, with_ahead(Settings(), "10 min").max_ahead
    (60000000, 600000000)
    """
    if given is None:
        return default
    flag = SetFlag("max_ahead", Const(_outside(given)))
    problems = list(flag_problems(flag))
    if problems:
        raise ProgramError(*problems)
    return replace(default, max_ahead=_duration(_given(flag)))


def _duration(seconds: Value) -> int | None:
    return None if seconds == -1 else to_microseconds(seconds)


def _longest(program: Tree, values: Mapping[str, Value], name: str, without: T) -> int | T:
    """Return the longest duration that the flag and the rules' properties of a name give."""
    given = [values[name], *(seconds_of(p.value) for p in _properties(program) if p.name == name)]
    return max((to_microseconds(seconds) for seconds in given if seconds != -1), default=without)


def _properties(program: Tree) -> Iterator[Property]:
    for item in program.items:
        match item:
            case Rule(properties=properties) | Reaction(properties=properties):
                yield from properties
            case LabelProperty(property=given):
                yield given


def rule_settings(default: Settings, rule: Rule) -> tuple[str, int | None]:
    """Return policy and window (microseconds or None) of a rule that has the properties of its label.

    Of several policies the last one holds, of several windows the smallest.
    """
    policy = default.policy
    windows: list[int] = []
    for given in rule.properties:
        match PROPERTIES.get(given.name):
            case "policy":
                policy = _constant(given.value)
            case "window":
                windows.append(to_microseconds(seconds_of(given.value)))
    return policy, min(windows, default=None)


def priority_of(rule: Rule) -> int:
    """Return the priority of a reaction, by its hidden rule: of several the last one holds."""
    given = [found for p in rule.properties if p.name == "priority" and isinstance(found := _constant(p.value), int)]
    return given[-1] if given else 0


def flag_problems(flag: SetFlag) -> Iterator[Problem]:
    """Yield what is wrong with one `set_flag`."""
    row = FLAGS.get(flag.name)
    if row is not None:
        yield from _value_problems(row, flag)
    elif flag.name in REFUSED:
        yield Problem("E206", f"the flag {flag.name} means nothing here", flag.span, REFUSED[flag.name])
    else:
        longer = [name for name in FLAGS if flag.name in name.split("_")]
        hint = (
            f"did you mean {longer[0]}?"
            if len(longer) == 1
            else suggest(flag.name, FLAGS, f"flags: {listing(sorted(FLAGS))}")
        )
        yield Problem("E205", f"unknown flag {flag.name}", flag.span, hint)


def _value_problems(row: Flag, flag: SetFlag) -> Iterator[Problem]:
    place = flag.value.span or flag.span
    try:
        value, hint = _given(flag), None
    except DurationError as error:
        value, hint = None, error.hint
    if not _takes(row, value):
        if row.name == "event_consumption_policy":
            yield unknown_policy(flag.value, place)
        else:
            yield Problem("E208", f"the flag {row.name} takes {_range(row)}, not {written(flag.value)}", place, hint)


def _takes(row: Flag, value: Value) -> bool:
    if row.number is None:
        return isinstance(value, str) and value in row.words
    if row.number != "seconds":
        return isinstance(value, int) and (value > 0 or (row.number == "limit" and value == -1))
    return isinstance(value, int | float) and (0 < value < math.inf or value == -1)


def _range(row: Flag) -> str:
    match row.number:
        case None:
            return listing(row.words, "or")
        case "count":
            return "a positive integer"
        case "limit":
            return "a positive integer, or -1 for none"
        case _:
            return "a positive duration (90, 10 min), or -1 for none"


def garbage_problems(flags: list[SetFlag]) -> Iterator[Problem]:
    """Yield the finding that general garbage control has no window to work with."""
    last = {f.name: f for f in flags}
    control, window = last.get("garbage_control"), last.get("garbage_window")
    if control is None or _constant(control.value) != "general":
        return
    if window is None or _constant(window.value) == -1:
        hint = "add `:- set_flag(garbage_window, 10 min).`"
        yield Problem("E208", "garbage_control(general) needs a garbage_window", control.span, hint)


def limit_problems(flags: list[SetFlag]) -> Iterator[Problem]:
    """Yield the findings that there is nothing to shed for, or that what is shed would come back."""
    last = {f.name: f for f in flags}
    given = {name: _constant(f.value) for name, f in last.items()}
    shedding = given.get("shedding", "off")
    if shedding == "off":
        return
    if given.get("hard_limit", -1) == -1:
        hint = "add `:- set_flag(hard_limit, Instances).`"
        yield Problem("E208", f"shedding({shedding}) needs a hard_limit", last["shedding"].span, hint)
    late = given.get("out_of_order") == "on" and given.get("reporting") == "on_arrival"
    if shedding == "oldest" and (late or given.get("revision_flag") == "on"):
        message = "shedding(oldest) cannot go with corrections: events run again would bring back what was shed"
        yield Problem("E208", message, last["shedding"].span, "use shedding(newest), or none")


def property_problems(given: Property, *, checked: bool, reacting: bool = False) -> Iterator[Problem]:
    """Yield what is wrong with one property of a rule; where properties are `checked` there may be any other.

    Those that are `reacting`, of a reaction, have a priority.
    """
    value = _constant(given.value)
    place = given.value.span or given.span
    match PROPERTIES.get(given.name):
        case "priority" if not reacting:
            yield Problem("E209", "only reactions have a priority", given.span, "event rules have no order")
        case "priority":
            if not isinstance(value, int):
                yield Problem("E210", f"a priority is a whole number, not {written(given.value)}", place)
        case None if checked:
            pass
        case None:
            known = (
                "properties: policy, window (also event_rule_window), window_step; add check_property/5 for your own"
            )
            hint = suggest(given.name, PROPERTIES, known)
            yield Problem("E209", f"unknown property {given.name}", given.span, hint)
        case "policy":
            if value not in POLICIES:
                yield unknown_policy(given.value, place)
        case _:
            yield from _window_problems(given, place)


def _window_problems(given: Property, place: Span | None) -> Iterator[Problem]:
    try:
        value, hint = seconds_of(given.value), None
    except DurationError as error:
        value, hint = None, error.hint
    if not isinstance(value, int | float):
        message = f"the property {given.name} takes a duration, not {written(given.value)}"
        yield Problem("E210", message, place, hint)
    elif value < 0:
        yield Problem("E212", f"a window cannot be negative: {written(given.value)}", place)


def unknown_policy(value: Term, place: Span | None) -> Problem:
    """Return the finding that there is no such policy."""
    hint = suggest(written(value), POLICIES, f"policies: {listing(POLICIES)}")
    return Problem("E211", f"unknown policy {written(value)}", place, hint)


def _limit(value: Value) -> Value:
    """Return a limit; -1 is none."""
    return None if value == -1 else value


def _constant(term: Term) -> Value:
    return term.value if isinstance(term, Const) else None


def _given(flag: SetFlag) -> Value:
    """Return the value of a flag; that of one that takes a duration is seconds, however it is written."""
    row = FLAGS.get(flag.name)
    return seconds_of(flag.value) if row is not None and row.number == "seconds" else _constant(flag.value)


def _outside(value: object) -> Value:
    """Return a value given from outside as one of the language."""
    return to_value(to_seconds(to_microseconds(value)) if isinstance(value, timedelta) else value)
