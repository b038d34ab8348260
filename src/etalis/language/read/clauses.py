"""Terms -> clauses of knowledge and directives: what in a program is not an event rule (definition 1.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from etalis.errors import Span
from etalis.language import syntax as s
from etalis.language.attributes import TYPES as ATTRIBUTE_TYPES
from etalis.language.check.spelling import suggest
from etalis.language.operators import ARROWS, PATTERN_WORDS, TYPES, GoalOperators
from etalis.language.read.reader import TermReader
from etalis.language.read.tokens import refusal

_KNOWLEDGE = frozenset({"db", "static", "prolog"})
_TRIGGERS = frozenset({"print_trigger", "external_trigger"})
_CONTROL = frozenset({",", ";", "->", "*->", "\\+", "|"})
_TYPES_ELSEWHERE = {
    "text": "string", "varchar": "string", "char": "string", "str": "string", "number": "float", "double": "float",
    "real": "float", "decimal": "float", "integer": "int", "long": "int", "bigint": "int", "boolean": "bool",
    "timestamp": "time", "datetime": "time", "date": "time", "object": "any",
}  # fmt: skip
_EVENT_HINT = "write :- event(name(attribute: type, ...))."


def to_clause(term: s.Term, span: Span, reader: TermReader) -> s.Item:
    """Turn the term of a clause without arrow into the item it means."""
    match term:
        case s.Compound(name=name, args=(inner,)) if name in _KNOWLEDGE:
            return _knowledge(inner, span, reader)
        case s.Compound(name=name, args=(pattern,)) if name in _TRIGGERS:
            return _trigger(name, pattern, span, reader)
        case s.Compound(name=":-", args=(s.Compound(name=name, args=(pattern,)), body)) if name in _TRIGGERS:
            return replace(_trigger(name, pattern, span, reader), body=body)
        case s.Compound(name="event_rule_property", args=(label, name, value)):
            return s.LabelProperty(_atom(label), s.Property(_atom(name), value, span), span)
        case _:
            return _knowledge(term, span, reader)


def _trigger(kind: str, pattern: s.Term, span: Span, reader: TermReader) -> s.Trigger:
    if not isinstance(pattern, s.Compound):
        return s.Trigger(kind, pattern, span)
    names, args = reader.named(pattern.args)
    return s.Trigger(kind, replace(pattern, args=args), span, names)


def is_reserved(head: s.Term) -> bool:
    """Tell whether a fact would be read as something else, so that it must be written `db(Fact)`."""
    match head:
        case s.Compound(name=name, args=(_,)):
            return name in _KNOWLEDGE or name in _TRIGGERS
        case s.Compound(name="event_rule_property", args=(_, _, _)):
            return True
        case _:
            return False


def _knowledge(term: s.Term, span: Span, reader: TermReader) -> s.Clause:
    match term:
        case s.Compound(name=":-", args=(head, body)):
            if isinstance(body, s.Compound) and reader.is_joined(body):
                raise refusal(
                    "E116",
                    f"`{body.name}` joins events, not goals",
                    _place(body),
                    "event rules are written Head <- Pattern",
                )
            return s.Clause(_head(head, reader), body, span)
        case _:
            return s.Clause(_head(term, reader), None, span)


def _head(term: s.Term, reader: TermReader) -> s.Term:
    """Refuse what cannot be the head of a clause of knowledge."""
    match term:
        case s.Const(value=str()):
            return term
        case s.Compound(name=name, args=args):
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


def to_directive(term: s.Term, span: Span, operators: GoalOperators) -> s.Item:
    """Turn the goal of `:- Goal` into the item it means; `op/3` is obeyed here."""
    if isinstance(term, s.Compound):
        read = _DIRECTIVES.get((term.name, len(term.args)))
        if read is not None:
            return read(term, span)
        if term.name == "op" and len(term.args) == 3:
            obey_op(term, operators)
    if isinstance(term, s.Var) or (isinstance(term, s.Const) and not isinstance(term.value, str)):
        raise refusal("E116", "this is no goal", _place(term), "a directive is written :- Goal.")
    return s.Initially(term, span)


def _declare(term: s.Compound, span: Span) -> s.Item:
    return s.Declare(term.name, indicators(term.args[0]), span)


def _knowledge_declaration(term: s.Compound, span: Span) -> s.Item:
    return s.KnowledgeDeclaration(tuple(map(_fact_kind, _conjuncts(term.args[0]))), span)


def _fact_kind(term: s.Term) -> tuple[str, int, str | None]:
    """Read `f/n`, or `f/n - g/n` where events g take facts f away."""
    if not (isinstance(term, s.Compound) and term.name == "-" and len(term.args) == 2):
        return (*_indicator(term), None)
    (name, arity), (remover, count) = map(_indicator, term.args)
    if count != arity or remover == name:
        message = "an event that retracts a fact has another name and the same arguments"
        raise refusal("E116", message, _place(term), f"write {name}/{arity} - other/{arity}")
    return name, arity, remover


def _indicator(term: s.Term) -> tuple[str, int]:
    found = indicators(term)
    if len(found) != 1:
        raise refusal("E116", "this names no event", _place(term), "write name/arity, as in linked/2")
    return found[0]


def _conjuncts(term: s.Term) -> Iterator[s.Term]:
    match term:
        case s.Compound(name=",", args=(first, rest)):
            yield from _conjuncts(first)
            yield from _conjuncts(rest)
        case s.ListTerm(items=items, tail=None):
            yield from items
        case _:
            yield term


def _set_flag(term: s.Compound, span: Span) -> s.Item:
    return s.SetFlag(_atom(term.args[0]), term.args[1], span)


def _event_declaration(term: s.Compound, span: Span) -> s.Item:
    match term.args[0]:
        case s.Const(value=str() as name):
            return s.EventDeclaration(name, (), span)
        case s.Compound(name=name, args=args):
            return s.EventDeclaration(name, tuple(map(_attribute, args)), span)
        case other:
            raise refusal("E116", "this declares no event", _place(other), _EVENT_HINT)


def _attribute(term: s.Term) -> tuple[str, str]:
    match term:
        case s.Compound(name=":", args=(s.Const(value=str() as name), s.Const(value=str() as kind, span=span))):
            if kind not in ATTRIBUTE_TYPES:
                here = _TYPES_ELSEWHERE.get(kind.lower())
                listed = f"the types are {', '.join(ATTRIBUTE_TYPES)}"
                hint = f"did you mean {here}?" if here else suggest(kind, ATTRIBUTE_TYPES, listed)
                assert span is not None
                raise refusal("E116", f"there is no type `{kind}`", span, hint)
            return name, kind
        case _:
            raise refusal("E116", "an attribute is declared by name and type", _place(term), _EVENT_HINT)


_DIRECTIVES: Mapping[tuple[str, int], Callable[[s.Compound, Span], s.Item]] = MappingProxyType(
    {
        ("event", 1): _event_declaration,
        ("table", 1): _declare,
        ("dynamic", 1): _declare,
        ("knowledge", 1): _knowledge_declaration,
        ("set_flag", 2): _set_flag,
        ("set_etalis_flag", 2): _set_flag,
    }
)


def indicators(term: s.Term) -> tuple[tuple[str, int], ...]:
    """Read `f/n, g/m`, `[f/n, g/m]` or `f(_, _)`."""
    match term:
        case s.Compound(name=",", args=(first, rest)):
            return indicators(first) + indicators(rest)
        case s.ListTerm(items=items, tail=None):
            return tuple(pair for item in items for pair in indicators(item))
        case s.Compound(name="/", args=(s.Const(value=str() as name), s.Const(value=int() as arity))) if arity >= 0:
            return ((name, arity),)
        case s.Compound(name=name, args=args) if all(isinstance(arg, s.Var) for arg in args):
            return ((name, len(args)),)
        case _:
            raise refusal("E116", "this names no predicate or event", _place(term), "write name/arity, as in a/2")


def obey_op(term: s.Compound, operators: GoalOperators) -> None:
    """Do what `op(Priority, Type, Names)` says."""
    match term.args:
        case (s.Const(value=int() as priority), s.Const(value=str() as kind), names) if 0 <= priority <= 1200:
            if kind not in TYPES:
                raise refusal(
                    "E116", f"there is no operator type `{kind}`", _place(term), f"the types are {', '.join(TYPES)}"
                )
            for name in names.items if isinstance(names, s.ListTerm) else (names,):
                _define(priority, kind, name, operators)
        case _:
            raise refusal("E116", "this defines no operator", _place(term), "write :- op(700, xfx, name).")


def _define(priority: int, kind: str, name: s.Term, operators: GoalOperators) -> None:
    word = _atom(name)
    if word in PATTERN_WORDS or word in ARROWS or word in (",", "|", "rule:", "[]", "{}"):
        raise refusal("E116", f"`{word}` cannot be redefined", _place(name), "choose another name for your operator")
    operators.define(priority, kind, word)


def _atom(term: s.Term) -> str:
    if isinstance(term, s.Const) and isinstance(term.value, str):
        return term.value
    raise refusal("E116", "a name belongs here", _place(term), "names begin with a small letter, or are quoted")


def _place(term: s.Term) -> Span:
    assert term.span is not None
    return term.span
