"""The settings that flags and properties give: those of a program in one frozen record, policy and window of a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

from etalis.data.values import Value, to_value
from etalis.errors import Problem, ProgramError
from etalis.language.check.wording import listing
from etalis.language.flags.problems import constant, flag_problems, garbage_problems, given_value, limit_problems
from etalis.language.flags.table import FLAGS, LIMITS, PROPERTIES, UNBOUNDED
from etalis.language.read.units import seconds_of
from etalis.language.syntax import Const, LabelProperty, Property, Reaction, Rule, SetFlag, Tree
from etalis.temporal.interval import to_microseconds, to_seconds
from etalis.temporal.policy import DEFAULT_POLICY

T = TypeVar("T")


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
    if not flags and next(_properties(program), None) is None:
        return _unchanged()
    return _settings(program, {f.name: given_value(f) for f in flags})


@cache
def _unchanged() -> Settings:
    return _settings(Tree(()), {})


def _settings(program: Tree, given: Mapping[str, Any]) -> Settings:
    values: dict[str, Any] = {name: row.default for name, row in FLAGS.items()} | dict(given)
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
    values = {flag.name: constant(flag.value) for flag in flags}
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
    return replace(default, max_ahead=_duration(given_value(flag)))


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
                policy = constant(given.value)
            case "window":
                windows.append(to_microseconds(seconds_of(given.value)))
    return policy, min(windows, default=None)


def priority_of(rule: Rule) -> int:
    """Return the priority of a reaction, by its hidden rule: of several the last one holds."""
    given = [found for p in rule.properties if p.name == "priority" and isinstance(found := constant(p.value), int)]
    return given[-1] if given else 0


def _limit(value: Value) -> Value:
    """Return a limit; -1 is none."""
    return None if value == -1 else value


def _outside(value: object) -> Value:
    """Return a value given from outside as one of the language."""
    return to_value(to_seconds(to_microseconds(value)) if isinstance(value, timedelta) else value)
