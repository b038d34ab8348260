"""The ISO error terms and their words, one function for each kind.

Every function returns the error, ready to be raised; culprits are terms in the inside form of `unify`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from etalis.logic.errors import LogicError
from etalis.logic.terms.write import format_term


def show(term: Any) -> str:
    """Write a term for a message, shortened where it is long."""
    return format_term(term, depth=6, width=12)


def _iso(formal: Any, code: str, text: str, hint: str | None = None) -> LogicError:
    return LogicError(("error", formal, "goal"), code, text, hint)


def thrown(ball: Any) -> LogicError:
    """Return the error for a ball thrown by the program itself."""
    return LogicError(ball, "E501", f"the goal threw {show(ball)}")


def instantiation_error() -> LogicError:
    """Return the error for an unbound variable where a value is needed."""
    return _iso(
        "instantiation_error",
        "E502",
        "a variable has no value where one is needed",
        "bind it in the pattern or in an earlier goal",
    )


def type_error(kind: str, culprit: Any) -> LogicError:
    """Return the error for a term of the wrong type."""
    if kind == "evaluable":
        text = f"{show(culprit)} is not a number and cannot be computed with"
        return _iso(("type_error", kind, culprit), "E503", text)
    words = kind.replace("_", " ")
    article = "an" if words[0] in "aeiou" else "a"
    return _iso(("type_error", kind, culprit), "E503", f"{show(culprit)} is not {article} {words}")


def domain_error(domain: str, culprit: Any) -> LogicError:
    """Return the error for a term of the right type outside what is allowed."""
    return _iso(("domain_error", domain, culprit), "E504", f"{show(culprit)} is not a {domain.replace('_', ' ')}")


def evaluation_error(kind: str) -> LogicError:
    """Return the error for arithmetic that has no result."""
    words = {
        "zero_divisor": "division by zero",
        "float_overflow": "the result is too large for a float",
        "undefined": "the result is undefined",
    }
    return _iso(("evaluation_error", kind), "E505", f"arithmetic: {words[kind]}")


def unknown_predicate(name: str, arity: int, known: Iterable[tuple[str, int]]) -> LogicError:
    """Return the error for a call of a predicate that nobody defines, with near names as a hint."""
    pairs = set(known)
    near = sorted(n for n in pairs if n[0] == name)
    if not near:
        close = difflib.get_close_matches(name, {n for n, _ in pairs}, n=2)
        near = sorted(pair for pair in pairs if pair[0] in close)
    hint = "did you mean " + " or ".join(f"{n}/{a}" for n, a in near[:3]) + "?" if near else "add a fact or a clause"
    return _iso(
        ("existence_error", "procedure", ("/", name, arity)),
        "E506",
        f"{name}/{arity} is not defined",
        hint,
    )


def existence_error(kind: str, culprit: Any) -> LogicError:
    """Return the error for something asked for that is not there."""
    return _iso(("existence_error", kind, culprit), "E506", f"there is no {kind.replace('_', ' ')} {show(culprit)}")


def permission_error(action: str, kind: str, culprit: Any) -> LogicError:
    """Return the error for a change that is not allowed."""
    text = f"no permission to {action} {kind.replace('_', ' ')} {show(culprit)}"
    return _iso(("permission_error", action, kind, culprit), "E507", text)


def changed_state(name: str, arity: int) -> LogicError:
    """Return the error for a goal, or a host, that changes what actions alone change."""
    culprit = ("/", name, arity)
    return _iso(
        ("permission_error", "modify", "state", culprit),
        "E513",
        f"{show(culprit)} is state: only actions change it",
        "write ins(...), del(...) or set(...) in the action of a reaction: `on Event do ins(Fact).`",
    )


def no_state(name: str, arity: int) -> LogicError:
    """Return the error for an action that changes what is not declared as state."""
    culprit = ("/", name, arity)
    return _iso(
        ("permission_error", "modify", "no_state", culprit),
        "E513",
        f"{show(culprit)} is not declared as state, so no action can change it",
        f"declare it: `:- state {show(culprit)}.`",
    )


def clashing_facts(name: str, a: tuple[Any, ...], b: tuple[Any, ...], key: int) -> LogicError:
    """Return the error for two facts of which a state predicate can have only one."""
    terms = [(name, *row) for row in (a, b)]
    same = "argument" if key == 1 else f"{key} arguments"
    verb = "determines" if key == 1 else "determine"
    return _iso(
        ("permission_error", "create", "second_fact", ("/", name, len(a))),
        "E514",
        f"{show(terms[0])} and {show(terms[1])} cannot both hold: the first {same} of {name}/{len(a)} {verb} the rest",
        "leave one of them out, or declare the predicate with a longer key",
    )


def refused_predicate(name: str, arity: int, reason: str) -> LogicError:
    """Return the error for a predicate of other Prologs that goals cannot have here."""
    culprit = ("/", name, arity)
    text = f"{name}/{arity} is refused: {reason}"
    return _iso(("permission_error", "access", "private_procedure", culprit), "E507", text)


def representation_error(kind: str) -> LogicError:
    """Return the error for something that cannot be represented."""
    return _iso(("representation_error", kind), "E504", f"out of range: {kind.replace('_', ' ')}")


def syntax_error(text: str) -> LogicError:
    """Return the error for text that does not read as a number or term."""
    return _iso(("syntax_error", text), "E508", f"syntax: {text.replace('_', ' ')}")
