"""Terms -> clauses of knowledge and directives: what in a program is not an event rule (definition 1.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from etalis.errors import Span
from etalis.language.attributes import TYPES as ATTRIBUTE_TYPES
from etalis.language.check.spelling import suggest
from etalis.language.operators import ARROWS, PATTERN_WORDS, TYPES, GoalOperators
from etalis.language.read.reader import TermReader
from etalis.language.read.tokens import refusal
from etalis.language.syntax import (
    Clause,
    Compound,
    Const,
    Declare,
    EventDeclaration,
    Initially,
    Item,
    KnowledgeDeclaration,
    LabelProperty,
    ListTerm,
    Property,
    SetFlag,
    Term,
    Trigger,
    Var,
)

_KNOWLEDGE = frozenset({"db", "static", "prolog"})
_TRIGGERS = frozenset({"print_trigger", "external_trigger"})
_CONTROL = frozenset({",", ";", "->", "*->", "\\+", "|"})
_TYPES_ELSEWHERE = {
    "text": "string", "varchar": "string", "char": "string", "str": "string", "number": "float", "double": "float",
    "real": "float", "decimal": "float", "integer": "int", "long": "int", "bigint": "int", "boolean": "bool",
    "timestamp": "time", "datetime": "time", "date": "time", "object": "any",
}  # fmt: skip
_EVENT_HINT = "write :- event(name(attribute: type, ...))."


def to_clause(term: Term, span: Span, reader: TermReader) -> Item:
    """Turn the term of a clause without arrow into the item it means."""
    match term:
        case Compound(name=name, args=(inner,)) if name in _KNOWLEDGE:
            return _knowledge(inner, span, reader)
        case Compound(name=name, args=(pattern,)) if name in _TRIGGERS:
            return _trigger(name, pattern, span, reader)
        case Compound(name=":-", args=(Compound(name=name, args=(pattern,)), body)) if name in _TRIGGERS:
            return replace(_trigger(name, pattern, span, reader), body=body)
        case Compound(name="event_rule_property", args=(label, name, value)):
            return LabelProperty(_atom(label), Property(_atom(name), value, span), span)
        case _:
            return _knowledge(term, span, reader)


def _trigger(kind: str, pattern: Term, span: Span, reader: TermReader) -> Trigger:
    if not isinstance(pattern, Compound):
        return Trigger(kind, pattern, span)
    names, args = reader.named(pattern.args)
    return Trigger(kind, replace(pattern, args=args), span, names)


def is_reserved(head: Term) -> bool:
    """Tell whether a fact would be read as something else, so that it must be written `db(Fact)`."""
    match head:
        case Compound(name=name, args=(_,)):
            return name in _KNOWLEDGE or name in _TRIGGERS
        case Compound(name="event_rule_property", args=(_, _, _)):
            return True
        case _:
            return False


def _knowledge(term: Term, span: Span, reader: TermReader) -> Clause:
    match term:
        case Compound(name=":-", args=(head, body)):
            if isinstance(body, Compound) and reader.is_joined(body):
                raise refusal(
                    "E116",
                    f"`{body.name}` joins events, not goals",
                    _place(body),
                    "event rules are written Head <- Pattern",
                )
            return Clause(_head(head, reader), body, span)
        case _:
            return Clause(_head(term, reader), None, span)


def _head(term: Term, reader: TermReader) -> Term:
    """Refuse what cannot be the head of a clause of knowledge."""
    match term:
        case Const(value=str()):
            return term
        case Compound(name=name, args=args):
            if name == "-->":
                raise refusal(
                    "E116", "grammar rules are not part of the language", _place(term), "write clauses with :-"
                )
            if reader.is_joined(term):
                raise refusal(
                    "E116", "a pattern without a head", _place(term), "event rules are written Head <- Pattern"
                )
            if name == "<-":
                hint = "names of events are words, or quoted: '+' <- a"
                raise refusal("E113", "the head of a rule must be a single event", _place(term), hint)
            if name == "rule:" and len(args) == 2:
                hint = "write label rule: Head <- Pattern."
                raise refusal("E118", "a labelled clause must be an event rule", _place(term), hint)
            if name in _CONTROL or name in (":-", ":=", ":"):
                raise refusal(
                    "E116",
                    f"`{name}` cannot be the head of a clause",
                    _place(term),
                    "event rules are written Head <- Pattern, clauses Head :- Body",
                )
            return term
        case _:
            raise refusal("E116", "a clause begins with a name", _place(term), "facts are written name(arguments).")


def to_directive(term: Term, span: Span, operators: GoalOperators) -> Item:
    """Turn the goal of `:- Goal` into the item it means; `op/3` is obeyed here."""
    if isinstance(term, Compound):
        read = _DIRECTIVES.get((term.name, len(term.args)))
        if read is not None:
            return read(term, span)
        if term.name == "op" and len(term.args) == 3:
            obey_op(term, operators)
    if isinstance(term, Var) or (isinstance(term, Const) and not isinstance(term.value, str)):
        raise refusal("E116", "this is no goal", _place(term), "a directive is written :- Goal.")
    return Initially(term, span)


def _declare(term: Compound, span: Span) -> Item:
    return Declare(term.name, indicators(term.args[0]), span)


def _knowledge_declaration(term: Compound, span: Span) -> Item:
    return KnowledgeDeclaration(tuple(map(_fact_kind, _conjuncts(term.args[0]))), span)


def _fact_kind(term: Term) -> tuple[str, int, str | None]:
    """Read `f/n`, or `f/n - g/n` where events g take facts f away."""
    if not (isinstance(term, Compound) and term.name == "-" and len(term.args) == 2):
        return (*_indicator(term), None)
    (name, arity), (remover, count) = map(_indicator, term.args)
    if count != arity or remover == name:
        message = "an event that retracts a fact has another name and the same arguments"
        raise refusal("E116", message, _place(term), f"write {name}/{arity} - other/{arity}")
    return name, arity, remover


def _indicator(term: Term) -> tuple[str, int]:
    found = indicators(term)
    if len(found) != 1:
        raise refusal("E116", "this names no event", _place(term), "write name/arity, as in linked/2")
    return found[0]


def _conjuncts(term: Term) -> Iterator[Term]:
    match term:
        case Compound(name=",", args=(first, rest)):
            yield from _conjuncts(first)
            yield from _conjuncts(rest)
        case ListTerm(items=items, tail=None):
            yield from items
        case _:
            yield term


def _set_flag(term: Compound, span: Span) -> Item:
    return SetFlag(_atom(term.args[0]), term.args[1], span)


def _event_declaration(term: Compound, span: Span) -> Item:
    match term.args[0]:
        case Const(value=str() as name):
            return EventDeclaration(name, (), span)
        case Compound(name=name, args=args):
            return EventDeclaration(name, tuple(map(_attribute, args)), span)
        case other:
            raise refusal("E116", "this declares no event", _place(other), _EVENT_HINT)


def _attribute(term: Term) -> tuple[str, str]:
    match term:
        case Compound(name=":", args=(Const(value=str() as name), Const(value=str() as kind, span=span))):
            if kind not in ATTRIBUTE_TYPES:
                here = _TYPES_ELSEWHERE.get(kind.lower())
                listed = f"the types are {', '.join(ATTRIBUTE_TYPES)}"
                hint = f"did you mean {here}?" if here else suggest(kind, ATTRIBUTE_TYPES, listed)
                assert span is not None
                raise refusal("E116", f"there is no type `{kind}`", span, hint)
            return name, kind
        case _:
            raise refusal("E116", "an attribute is declared by name and type", _place(term), _EVENT_HINT)


_DIRECTIVES: Mapping[tuple[str, int], Callable[[Compound, Span], Item]] = MappingProxyType(
    {
        ("event", 1): _event_declaration,
        ("table", 1): _declare,
        ("dynamic", 1): _declare,
        ("knowledge", 1): _knowledge_declaration,
        ("set_flag", 2): _set_flag,
        ("set_etalis_flag", 2): _set_flag,
    }
)


def indicators(term: Term) -> tuple[tuple[str, int], ...]:
    """Read `f/n, g/m`, `[f/n, g/m]` or `f(_, _)`."""
    match term:
        case Compound(name=",", args=(first, rest)):
            return indicators(first) + indicators(rest)
        case ListTerm(items=items, tail=None):
            return tuple(pair for item in items for pair in indicators(item))
        case Compound(name="/", args=(Const(value=str() as name), Const(value=int() as arity))) if arity >= 0:
            return ((name, arity),)
        case Compound(name=name, args=args) if all(isinstance(arg, Var) for arg in args):
            return ((name, len(args)),)
        case _:
            raise refusal("E116", "this names no predicate or event", _place(term), "write name/arity, as in a/2")


def obey_op(term: Compound, operators: GoalOperators) -> None:
    """Do what `op(Priority, Type, Names)` says."""
    match term.args:
        case (Const(value=int() as priority), Const(value=str() as kind), names) if 0 <= priority <= 1200:
            if kind not in TYPES:
                raise refusal(
                    "E116", f"there is no operator type `{kind}`", _place(term), f"the types are {', '.join(TYPES)}"
                )
            for name in names.items if isinstance(names, ListTerm) else (names,):
                _define(priority, kind, name, operators)
        case _:
            raise refusal("E116", "this defines no operator", _place(term), "write :- op(700, xfx, name).")


def _define(priority: int, kind: str, name: Term, operators: GoalOperators) -> None:
    word = _atom(name)
    if word in PATTERN_WORDS or word in ARROWS or word in (",", "|", "rule:", "[]", "{}"):
        raise refusal("E116", f"`{word}` cannot be redefined", _place(name), "choose another name for your operator")
    operators.define(priority, kind, word)


def _atom(term: Term) -> str:
    if isinstance(term, Const) and isinstance(term.value, str):
        return term.value
    raise refusal("E116", "a name belongs here", _place(term), "names begin with a small letter, or are quoted")


def _place(term: Term) -> Span:
    assert term.span is not None
    return term.span
