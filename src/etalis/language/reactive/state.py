"""Declarations of state, its first facts, and who may change it (definition 24.4, 24.5 and 24.8)."""

from __future__ import annotations

from collections.abc import Iterator

from etalis.data.values import Value
from etalis.errors import Problem, Span
from etalis.language import syntax as s
from etalis.language.check import goals as g
from etalis.language.check.outline import Outline
from etalis.language.check.spelling import suggest
from etalis.language.check.wording import counted, kind, written
from etalis.language.ground_terms import ground

_REACTIVE_ROLES = frozenset({"if", "test", "always"})  # there every side effect is refused
_BY_ACTIONS = "state is changed by actions alone: on P do ins(..), del(..) or set(..)"


def check_state(outline: Outline) -> Iterator[Problem]:
    """Yield what is wrong with declarations of state, with its first facts, and with those who change it."""
    yield from _declarations(outline)
    yield from _first_facts(outline)
    yield from _changed_elsewhere(outline)
    for step in outline.steps:
        if isinstance(step, s.FactChange):
            yield from _changed(step, outline)


def _declarations(outline: Outline) -> Iterator[Problem]:
    arities: dict[str, int] = {}
    seen: dict[g.Indicator, int | None] = {}
    for item in outline.program.items:
        for name, arity, key in item.predicates if isinstance(item, s.StateDeclaration) else ():
            before = arities.setdefault(name, arity)
            if before != arity:
                message = f"{name} is declared as state with {counted(before, 'argument')}, here it has {arity}"
                yield Problem("E273", message, item.span, "one predicate of state has one number of arguments")
            elif seen.setdefault((name, arity), key) != key:
                message = f"{kind(name, arity)} is declared as state twice, with different keys"
                yield Problem("E273", message, item.span, "keep one of the two")
            if key is not None and not 1 <= key <= arity:
                message = f"a key of {kind(name, arity)} has 1 to {arity} arguments, not {key}"
                hint = f"the key is how many arguments, the first ones, determine the others: {kind(name, arity)} key 1"
                yield Problem("E273", message, item.span, hint if arity else "a fact without arguments has no key")


def _first_facts(outline: Outline) -> Iterator[Problem]:
    first: dict[tuple[g.Indicator, tuple[Value, ...]], tuple[tuple[Value, ...], Span | None]] = {}
    for clause in outline.clauses:
        head = g.strip_wrappers(clause.head)
        key = g.indicator(head)
        if key is None or key not in outline.state:
            continue
        if clause.body is not None:
            message = f"{kind(*key)} is state: it has facts, which actions change, and no clauses"
            yield Problem("E272", message, clause.span, "give the clause another name; it may ask for the facts")
            continue
        args = tuple(map(ground, head.args)) if isinstance(head, s.Compound) else ()
        if None in args:
            yield Problem("E275", f"{written(head)} has variables, and facts of state have none", clause.span)
            continue
        length = outline.state[key]
        values = tuple(value for value in args if value is not None)
        if length is not None and 1 <= length <= key[1]:
            before, _ = first.setdefault((key, _typed(values[:length])), (_typed(values), clause.span))
            if before != _typed(values):
                message = f"two facts of {kind(*key)} have the key {', '.join(map(str, values[:length]))}, and differ"
                yield Problem("E274", message, clause.span, "keep one of them, or declare a longer key")


def _typed(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return values that are equal only where they are of one type: 1 and 1.0 are different keys."""
    return tuple((type(value).__name__, value) for value in values)


def _changed_elsewhere(outline: Outline) -> Iterator[Problem]:
    for item in outline.program.items:
        match item:
            case s.KnowledgeDeclaration(facts=facts):
                wrong = [(name, arity) for name, arity, _ in facts if (name, arity) in outline.state]
                how = "`:- knowledge` lets events change it"
            case s.Declare(names=listed, kind=word):
                wrong = [key for key in listed if key in outline.state]
                how = f"`:- {word}` makes it knowledge"
            case _:
                continue
        for name, arity in wrong:
            yield Problem("E272", f"{kind(name, arity)} is state, and {how}", item.span, _BY_ACTIONS)
    for call, role in outline.called if outline.state else ():
        key = None if role in _REACTIVE_ROLES else g.changed(call)
        if key is not None and key in outline.state:
            message = f"{kind(*key)} is state, which {call.name} cannot change"
            yield Problem("E272", message, call.span, _BY_ACTIONS)


def _changed(step: s.FactChange, outline: Outline) -> Iterator[Problem]:
    key = g.indicator(step.fact)
    assert key is not None
    if key not in outline.state:
        arities = [arity for name, arity in outline.state if name == key[0]]
        declare = f"declare it: `:- state {kind(*key)}.`"
        hint = suggest(key[0], {name for name, _ in outline.state}, declare) or declare
        if arities:
            hint = f"{key[0]} has {counted(arities[0], 'argument')}"
        message = f"{step.kind}(..) changes {kind(*key)}, which is no declared state"
        yield Problem("E271", message, step.fact.span or step.span, hint)
    elif step.kind == "set" and outline.state[key] is None:
        message = f"set(..) puts a fact in the place of that with its key, and {kind(*key)} has none"
        hint = f"declare it: `:- state {kind(*key)} key 1.`, or write del(..) seq ins(..)"
        yield Problem("E273", message, step.span, hint)
