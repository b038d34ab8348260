"""Terms in generated code: matching an event's attributes against patterns, and building the attributes of a head.

Events are ground, so matching is one-way: tests and assignments, no unification.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from etalis.data.values import Struct, Value
from etalis.language import syntax as s
from etalis.language.ground_terms import listed, unlisted, variables
from etalis.runtime.codegen.source import Code

_MOST_BRACKETS = 30  # levels of a term that are written in one expression


def match_arguments(
    code: Code, patterns: Sequence[s.Term], places: Sequence[str], wanted: set[str]
) -> tuple[str, dict[str, str]]:
    """Return a test (empty if nothing is to be tested) and the expressions of the wanted variables."""
    tests: list[str] = []
    names: dict[str, str] = {}
    stack: list[tuple[s.Term, str]] = list(reversed(list(zip(patterns, places, strict=True))))
    while stack:
        pattern, place = stack.pop()
        match pattern:
            case s.Var(name=name):
                if name in names:
                    tests.append(f"{place} == {names[name]}")
                elif place.isidentifier():
                    names[name] = place
                elif name in wanted or not name.startswith("_#"):
                    local = code.fresh("u")
                    tests.append(f"({local} := {place}) is not None")
                    names[name] = local
            case s.Const(value=value):
                tests.append(f"{place} == {code.constant(value)}")
            case s.Compound(name=functor, args=args):
                struct = code.fresh("u")
                tests.append(
                    f"type({struct} := {place}) is {code.constant(Struct)}"
                    f" and {struct}.name == {code.constant(functor)} and len({struct}.args) == {len(args)}"
                )
                stack.extend(reversed([(a, f"{struct}.args[{i}]") for i, a in enumerate(args)]))
            case s.ListTerm(items=items, tail=tail):
                local = code.fresh("u")
                if tail is None:
                    tests.append(f"type({local} := {place}) is tuple and len({local}) == {len(items)}")
                    parts = items
                else:
                    tests.append(f"({local} := {code.constant(unlisted)}({place}, {len(items)})) is not None")
                    parts = (*items, tail)
                stack.extend(reversed([(a, f"{local}[{i}]") for i, a in enumerate(parts)]))
            case _:
                assert_never(pattern)
    return " and ".join(tests), {v: e for v, e in names.items() if v in wanted}


def fits(term: s.Term, value: Value, bound: dict[str, Value]) -> bool:
    """Tell whether a value matches a term, and add what that binds.

    >>> bound = {}
    >>> fits(s.ListTerm((s.Var("X"),), s.Var("Rest")), (1, 2), bound), bound
    (True, {'X': 1, 'Rest': (2,)})
    """
    match term:
        case s.Var(name=name):
            return name.startswith("_#") or bound.setdefault(name, value) == value
        case s.Const(value=constant):
            return bool(constant == value)
        case s.Compound(name=functor, args=args):
            alike = isinstance(value, Struct) and value.name == functor and len(value.args) == len(args)
            return alike and all(fits(a, v, bound) for a, v in zip(args, value.args, strict=True))
        case s.ListTerm(items=items, tail=tail):
            if tail is None:
                parts = value if isinstance(value, tuple) and len(value) == len(items) else None
                return parts is not None and all(fits(a, v, bound) for a, v in zip(items, parts, strict=True))
            parts = unlisted(value, len(items))
            return parts is not None and all(fits(a, v, bound) for a, v in zip((*items, tail), parts, strict=True))
        case _:
            assert_never(term)


def build(code: Code, term: s.Term, names: dict[str, str], firm: frozenset[str], depth: int = 0) -> str:
    """Return the expression of a term; a variable that may be unbound becomes `null`.

    >>> build(Code([]), s.ListTerm((s.Var("X"), s.Var("Y"))), {"X": "v0"}, frozenset({"X"}))
    "(v0, 'null')"
    """
    if depth > _MOST_BRACKETS and not isinstance(term, s.Var | s.Const):
        return _build_apart(code, term, names, firm)
    match term:
        case s.Var(name=name):
            if name not in names:
                return "'null'"
            local = names[name]
            return local if name in firm else f"('null' if {local} is None else {local})"
        case s.Const(value=value):
            return code.constant(value)
        case s.Compound(name=functor, args=args):
            inner = ", ".join(build(code, a, names, firm, depth + 1) for a in args)
            return f"{code.constant(Struct)}({code.constant(functor)}, ({inner},))"
        case s.ListTerm(items=items, tail=tail):
            inner = "".join(build(code, a, names, firm, depth + 1) + ", " for a in items)
            front = f"({inner.rstrip(' ') if len(items) == 1 else inner.rstrip(', ')})"
            if tail is None:
                return front
            return f"{code.constant(listed)}({front}, {build(code, tail, names, firm, depth + 1)})"
        case _:
            assert_never(term)


def _build_apart(code: Code, term: s.Term, names: dict[str, str], firm: frozenset[str]) -> str:
    """Return the call of a function that builds a part: Python reads no more than 200 brackets inside each other."""
    inside = variables(term)
    apart = Code([f"v{i}" for i in range(len(inside))])
    known = dict(zip(inside, apart.parameters, strict=True))
    apart(f"return {build(apart, term, known, frozenset(inside))}")
    return f"{code.constant(apart.function())}({', '.join(build(code, s.Var(v), names, firm) for v in inside)})"
