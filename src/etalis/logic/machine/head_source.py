"""Head unification as one Python function per shape of head: its locals are the registers, so failing makes no frame.

The source depends on the shape alone: constants, names and compound terms of the program are arguments of the factory,
never text. Factories are kept by their source, so that clauses of one shape are compiled once.
Law: the function does what the tests of `head` do one after the other; larger heads are left to those.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from etalis.logic.terms.unify import Term, Variable, unify

MAX_REGISTERS = 60


def write_match(steps: Sequence[tuple[Any, ...]], arity: int, template: Sequence[Term]) -> Callable[..., Any] | None:
    """Return the match function of a head, None if it is too large; `template` is what follows the arguments."""
    if arity + len(template) > MAX_REGISTERS:
        return None
    constants: list[Term] = []

    def constant(value: Term) -> str:
        constants.append(value)
        return f"c{len(constants) - 1}"

    lines: list[str] = []
    written = {slot for step in steps if step[0] == "compound" for slot in range(step[3], step[3] + len(step[4]))}
    for step in steps:
        lines.extend(_write_step(step, arity, template, constant))
    rest = [
        f"r{arity + i}" if arity + i in written else "None" if value is None else constant(value)
        for i, value in enumerate(template)
    ]
    args = [f"r{i}" for i in range(arity)]
    unpack = f"    {', '.join(args)}{',' if arity == 1 else ''} = args\n" if arity else ""
    names = ", ".join(f"c{i}" for i in range(len(constants)))
    source = (
        f"def make(Variable, unify, {names}):\n  def match(args, trail):\n{unpack}"
        + "".join(f"    {line}\n" for line in lines)
        + f"    return [{', '.join([*args, *rest])}]\n  return match\n"
    )
    made: Callable[..., Any] = _factory(source)(Variable, unify, *constants)
    return made


@functools.lru_cache(maxsize=4096)
def _factory(source: str) -> Callable[..., Any]:
    """Compile the source of a shape; it is written by `write_match` alone and holds no text of a program."""
    scope: dict[str, Any] = {}
    exec(compile(source, "<head>", "exec"), scope)  # noqa: S102 - our own text, see above
    made: Callable[..., Any] = scope["make"]
    return made


def _write_step(
    step: tuple[Any, ...], arity: int, template: Sequence[Term], constant: Callable[[Term], str]
) -> list[str]:
    match step:
        case "same", slot, other:
            test = f"if r{slot} is not r{other} and not unify(r{slot}, r{other}, trail): return None"
            return [test]
        case "ground", slot, term:
            return [f"if not unify(r{slot}, {constant(term)}, trail): return None"]
        case "constant", slot, value:
            name = constant(value)
            return _walk(slot, [f"x.ref = {name}"], [f"if x != {name}: return None"])
        case "compound", slot, functor, base, sources:
            name = constant(functor)
            parts = [f"r{base + i}" for i in range(len(sources))]
            fresh = [
                f"{part} = {_source(source, arity, template, constant)}"
                for part, source in zip(parts, sources, strict=True)
            ]
            bind = [*fresh, f"x.ref = ({name}, {', '.join(parts)})"]
            size = len(parts) + 1
            check = f"if x.__class__ is not tuple or len(x) != {size} or x[0] != {name}: return None"
            return _walk(slot, bind, [check, f"_, {', '.join(parts)} = x"])
        case _:
            raise AssertionError(step)


def _source(source: int | None, arity: int, template: Sequence[Term], constant: Callable[[Term], str]) -> str:
    """Return what a part of a compound is made of: a new variable, a constant, or another register."""
    if source is None:
        return "Variable()"
    value = template[source - arity] if source > arity else None
    return f"r{source}" if value is None else constant(value)


def _walk(slot: int, bind: list[str], test: list[str]) -> list[str]:
    """Follow a register to its value: bind it if it is unbound, else test it."""
    return [
        f"x = r{slot}",
        "while x.__class__ is Variable:",
        "  ref = x.ref",
        "  if ref is None:",
        *(f"    {line}" for line in bind),
        "    trail.append(x)",
        "    break",
        "  x = ref",
        "else:",
        *(f"  {line}" for line in test),
    ]
