"""Programs as clients send them: compiled without files and hosts, checked, and described by the kinds they read.

Law: a text reaches nothing outside: it imports no file, its flags are flags and no options of ours, and what its
reactions would do outside is not done.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from etalis.errors import EtalisError, InputError, Problem, ProgramError, ProgramWarning
from etalis.formats.roles import signatures_of
from etalis.language.check.spelling import suggest
from etalis.language.flags import FLAGS, REFUSED
from etalis.language.read.imports import Reader, read_nothing
from etalis.language.read.parser import parse
from etalis.language.rules import event_rules, labelled_rules
from etalis.language.syntax import Rule
from etalis.program import Program
from etalis.runtime.compiled import compile_text
from etalis.service.problems import UnprocessableError
from etalis.sparql import compile_sparql

LANGUAGES = ("rules", "ep-sparql")


@dataclass(frozen=True, slots=True)
class KindDescription:
    """A kind of event: its attributes with their types, and whether it comes in or is derived."""

    name: str
    arity: int
    attributes: list[str | None]
    types: list[str]
    role: str


def compile_program(
    text: str, language: str = "rules", flags: Mapping[str, object] | None = None, background: str | None = None, *,
    name: str = "<program>", read: Reader = read_nothing,
) -> Program:  # fmt: skip
    """Compile a program of a client; warnings are its `problems`."""
    given: dict[str, Any] = dict(_checked(flags or {}))
    with warnings.catch_warnings():  # Python's own are for who calls from Python
        warnings.simplefilter("ignore", ProgramWarning)
        if language == "rules":
            if background is not None:
                raise UnprocessableError(
                    "E823", "only queries have a background", "leave it out, or write facts into the program"
                )
            return Program(compile_text(text, name, read, flags=given))
        return compile_sparql(text, name=name, background=_triples(background), **given)


def _checked(flags: Mapping[str, object]) -> Mapping[str, object]:
    """Refuse what is no flag: options of the compiler are not the client's to give."""
    for name in flags:
        if name not in FLAGS and name not in REFUSED:
            raise ProgramError(Problem("E205", f"unknown flag {name}", hint=suggest(name, FLAGS, "see /language.json")))
    return flags


def _triples(background: str | None) -> Any:
    if background is None:
        return None
    try:
        import pyoxigraph
    except ImportError:
        hint = "install etalis[rdf]"
        raise InputError(Problem("E412", "RDF is read by pyoxigraph, which is not installed", hint=hint)) from None
    try:
        return list(pyoxigraph.parse(background.encode(), format=pyoxigraph.RdfFormat.TURTLE))
    except (SyntaxError, ValueError) as error:
        hint = "the background is a text in Turtle"
        raise InputError(Problem("E402", f"the background cannot be read: {error}", hint=hint)) from None


def kinds_of(program: Program) -> Iterator[KindDescription]:
    """Yield the kinds of events that a program reads and makes, with names and types as far as they are known."""
    compiled = program.compiled
    types = compiled.explanation(None).types
    made = dict.fromkeys((rule.head.name, len(rule.head.args)) for rule in event_rules(compiled.tree))
    read = {signature.kind: signature for signature in signatures_of(compiled)}
    for kind in dict.fromkeys([*read, *made]):
        name, arity = kind
        declared = read[kind].attributes if kind in read else None
        names: list[str | None] = [*(compiled.attributes.get(kind) or ())]
        if declared is not None:
            names = [attribute for attribute, _ in declared]
        names += [None] * (arity - len(names))
        role = "derived" if kind in made else "input"
        yield KindDescription(name, arity, names, list(types.get(kind, ("any",) * arity)), role)


def read_rules(text: str) -> list[Rule]:
    """Return the event rules of a text, and refuse what else it has."""
    tree = parse(text, "<rules>")
    others = [item for item in tree.items if not isinstance(item, Rule)]
    if others or not tree.items:
        span = others[0].span if others else tree.span
        hint = "send event rules; a program with other clauses is an engine of its own"
        raise ProgramError(Problem("E111", "only event rules join an engine that runs", span, hint))
    return [item for item in tree.items if isinstance(item, Rule)]


@dataclass(frozen=True, slots=True)
class RuleDescription:
    """A rule of a program: its label or number, the line where it stands, and what it makes."""

    id: str
    line: int | None
    head: str


@dataclass(frozen=True, slots=True)
class CheckedProgram:
    """What is found in a program: its problems, the kinds of events, the rules."""

    is_sound: bool
    problems: tuple[Problem, ...]
    kinds: tuple[KindDescription, ...] = ()
    rules: tuple[RuleDescription, ...] = ()


def check_program(text: str, language: str = "rules") -> CheckedProgram:
    """Return all problems of a program, and what it reads and makes if it has no errors."""
    try:
        program = compile_program(text, language)
    except EtalisError as error:
        return CheckedProgram(False, error.problems)
    return CheckedProgram(True, tuple(program.problems), tuple(kinds_of(program)), tuple(_rules(program)))


def _rules(program: Program) -> Iterator[RuleDescription]:
    for number, rule in enumerate(labelled_rules(program.compiled.tree), 1):
        line = None if rule.span is None else rule.span.source.place(rule.span.start)[0]
        yield RuleDescription(rule.label or str(number), line, f"{rule.head.name}/{len(rule.head.args)}")
