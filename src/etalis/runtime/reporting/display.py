"""Programs and engines as `repr`, and in a notebook as tables with the picture that the host draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from etalis.language.check.wording import kind as kind_text
from etalis.language.rules import attribute_variables, declarations
from etalis.runtime.reporting.inspection import inspect
from etalis.runtime.state import BEGINNING, NEVER
from etalis.temporal.html import escape, write_table
from etalis.temporal.interval import show_moment

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram
    from etalis.runtime.engine import RuntimeEngine

_SHOWN_KINDS, _SHOWN_RULES = 6, 30


def describe_program(program: CompiledProgram) -> str:
    """Say in a line how many rules a program has, what it reads and makes, and how many warnings it got."""
    rules = [rule for rule in program.rules if not rule.hidden]
    made = dict.fromkeys((rule.head.name, len(rule.head.args)) for rule in rules)
    read = [kind for kind in {**attribute_variables(program.tree), **declarations(program.tree)} if kind not in made]
    parts = [_count(len(rules), "rule"), *([_count(n, "reaction")] if (n := len(program.reactions)) else [])]
    parts += [f"{verb} {_listed(kinds)}" for verb, kinds in (("reads", read), ("derives", list(made))) if kinds]
    warnings = len(program.problems)
    return "<Program: " + ", ".join([*parts, *([_count(warnings, "warning")] if warnings else [])]) + ">"


def describe_engine(engine: RuntimeEngine) -> str:
    """Say in a line how far an engine is: the time reached, what waits, what was not taken or failed."""
    counts = ((engine.core.dead_letters.count, "dead letter"), (len(engine.errors), "error"))
    told = [f"{engine.waiting()} waiting", *(_count(number, noun) for number, noun in counts if number)]
    return f"<Engine: {_reached(engine)}, {', '.join(told)}>"


def show_program(program: CompiledProgram, draw: Callable[[], str]) -> str:
    """Write a program as HTML: its warnings, and its plan as a picture; as a line alone if it has very many rules."""
    problems = [{"code": p.code, "warning": p.message, "hint": p.hint or ""} for p in program.problems]
    table = write_table(problems) if problems else ""
    picture = draw() if 0 < len(program.rules) <= _SHOWN_RULES else ""
    return f"<div><p><code>{escape(describe_program(program))}</code></p>{table}{picture}</div>"


def show_engine(engine: RuntimeEngine, draw: Callable[[], str]) -> str:
    """Write as HTML how far an engine is, and what it holds on to: as a table, and drawn if its rules are not many."""
    held = [
        {"rules": ", ".join(w.rules), "operator": w.operator, "part": w.part, "instances": w.instances}
        for w in inspect(engine.core.rules, engine.core.disorder)
        if w.instances
    ]
    table = write_table(held) if held else ""
    picture = draw() if 0 < len(engine.core.rules.rules) <= _SHOWN_RULES else ""
    return f"<div><p><code>{escape(describe_engine(engine))}</code></p>{table}{picture}</div>"


def _reached(engine: RuntimeEngine) -> str:
    state = engine.core.state
    if state.floor >= NEVER:
        return "closed"
    return "no event yet" if state.now == BEGINNING else f"at {show_moment(state.now)}"


def _listed(kinds: list[tuple[str, int]]) -> str:
    more = f" and {len(kinds) - _SHOWN_KINDS} more" if len(kinds) > _SHOWN_KINDS else ""
    return ", ".join(kind_text(*kind) for kind in kinds[:_SHOWN_KINDS]) + more


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
