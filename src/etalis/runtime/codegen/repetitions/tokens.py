"""The token of a match of a repetition in generated code: that of what it counts after, made when one is needed."""

from __future__ import annotations

from etalis.runtime.codegen.source import Code
from etalis.runtime.operators.repetition.repeater import Repeater
from etalis.runtime.operators.repetition.runner import Runner
from etalis.runtime.operators.repetition.waiting import sweep


def write_token(code: Code, one: str) -> str:
    """Write that a left side, or a run, has a token; return its name."""
    token = code.fresh("m")
    code(f"{token} = {one}.tied or {one}.token")
    return token


def write_sweep(code: Code, operator: Repeater | Runner, groups: str) -> None:
    """Write that groups of which all has been consumed are dropped, when there may be many."""
    name = code.constant(operator)
    with code.block(f"if len({groups}) > {name}.most:"):
        code(f"{name}.most = {code.constant(sweep)}({groups})")
