"""The token of a match of a repetition in generated code: that of what it counts after, made when one is needed."""

from __future__ import annotations

from etalis.runtime.codegen.source import Code


def write_token(code: Code, one: str) -> str:
    """Write that a left side, or a run, has a token; return its name."""
    token = code.fresh("m")
    code(f"{token} = {one}.tied or {one}.token")
    return token
