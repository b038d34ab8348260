"""Names that must refer to something (labels, triggers, exports) or be free (heads); flags and properties."""

from __future__ import annotations

from collections.abc import Iterator

from etalis.errors import Problem
from etalis.language import syntax as s
from etalis.language.check.goals import Indicator, indicator, strip_wrappers
from etalis.language.check.outline import Outline
from etalis.language.check.spelling import suggest
from etalis.language.check.wording import counted, kind, written
from etalis.language.flags import flag_problems, garbage_problems, limit_problems
from etalis.language.reactive.constraints import tells_violation
from etalis.language.read.heads import ALARMS
from etalis.logic.builtins.table import PROTECTED
from etalis.temporal.relation import RELATIONS

RESERVED = (
    frozenset(RELATIONS)
    | {"or", "cnot", "fnot", "not", "ntimes", "star_times", "where", "check", "timestamp", "event_multiply", "within"}
    | {"do", "iff", "aggregate", "iso", "prolog", "query", "db"}
    | frozenset(ALARMS)
)


def check_names(outline: Outline) -> Iterator[Problem]:
    """Yield names that refer to nothing, or that are taken."""
    yield from _options(outline)
    yield from _labels(outline)
    for item in outline.program.items:
        if isinstance(item, s.Trigger):
            yield from _trigger_problems(item, outline)
        elif isinstance(item, s.Export):
            yield from _export_problems(item, outline)
    for rule in outline.derivations:
        if rule.head.name in RESERVED:
            message = f"{rule.head.name} is a word of the language and cannot be an event"
            yield Problem("E218", message, rule.head.span, "give the event another name")
    for clause in outline.clauses:
        key = indicator(strip_wrappers(clause.head))
        if key is not None and key in PROTECTED:
            message = f"{kind(*key)} is built in and cannot be defined"
            hint = (
                "give the predicate another name"
                if key[0].isidentifier()
                else "event rules are written Head <- Pattern"
            )
            yield Problem("E226", message, clause.head.span or clause.span, hint)

    for item in outline.program.items:
        if isinstance(item, s.KnowledgeDeclaration):
            for key in [fact[:2] for fact in item.facts if fact[:2] in PROTECTED]:
                message = f"{kind(*key)} is built in and cannot be knowledge that events change"
                yield Problem("E226", message, item.span, "give the event another name")


def _options(outline: Outline) -> Iterator[Problem]:
    flags = [item for item in outline.program.items if isinstance(item, s.SetFlag)]
    last: dict[str, s.SetFlag] = {}
    for flag in flags:
        yield from flag_problems(flag)
        before = last.setdefault(flag.name, flag)
        if before.value != flag.value:
            message = f"the flag {flag.name} was {written(before.value)}; the last value given holds"
            yield Problem("W212", message, flag.span, "keep one of the two lines")
    yield from garbage_problems(flags)
    yield from limit_problems(flags)


def _labels(outline: Outline) -> Iterator[Problem]:
    labels = {rule.label for rule in outline.derivations if rule.label is not None}
    labels |= {reaction.label for reaction, _ in outline.reactions if reaction.label is not None}
    given = {id(p): (rule.label, p) for rule in outline.rules for p in rule.properties if not tells_violation(rule)}
    for item in outline.program.items:
        if isinstance(item, s.LabelProperty):
            given[id(item.property)] = (item.label, item.property)
            if item.label not in labels:
                hint = suggest(item.label, labels, f"label a rule: {item.label} rule: head <- pattern.")
                yield Problem("E217", f"no rule has the label {item.label}", item.span, hint)
    reacting = {id(p) for _, rule in outline.reactions for p in rule.properties}
    for key, (_, found) in given.items():
        yield from outline.property_problems(found, reacting=key in reacting)
    yield from _given_twice(list(given.values()))


def _given_twice(given: list[tuple[str | None, s.Property]]) -> Iterator[Problem]:
    first: dict[tuple[str | None, str], s.Property] = {}
    for label, found in given:
        before = first.setdefault((label, found.name), found)
        if label is not None and before.value != found.value:
            which = "the last one" if found.name == "policy" else "the smallest"
            message = f"{label} has two values for {found.name}; {which} holds"
            yield Problem("W212", message, found.span, "keep one of the two")


def _trigger_problems(item: s.Trigger, outline: Outline) -> Iterator[Problem]:
    key = triggered(item.pattern)
    if key in (("all_events", 0), ("all_defined_events", 0)) or _is_open(item.pattern):
        return
    if key is None:
        hint = "write name/arity, a pattern such as a(X, 1), all_events or all_defined_events"
        yield Problem("E228", f"{item.kind} cannot report {written(item.pattern)}", item.span, hint)
    elif key not in outline.known:
        message = f"{item.kind} names {kind(*key)}, which no rule or declaration mentions"
        yield Problem("W211", message, item.span, _similar(key, outline.known))


def triggered(pattern: s.Term) -> Indicator | None:
    """Return the kind of event that a trigger reports, None if it is no event.

    >>> triggered(s.Compound("/", (s.Const("a"), s.Const(2)))), triggered(s.Compound("a", (s.Const(1),)))
    (('a', 2), ('a', 1))
    """
    match pattern:
        case s.Compound(name="/", args=(s.Const(value=str() as name), s.Const(value=int() as arity))) if arity >= 0:
            return name, arity
        case s.Compound(name="/"):
            return None
        case _:
            return indicator(pattern)


def _is_open(pattern: s.Term) -> bool:
    """Tell whether a trigger leaves the name or the arity open: `X`, `_/2`, `a/_`."""
    match pattern:
        case s.Var() | s.Compound(name="/", args=(s.Var() | s.Const(value=str()), s.Var())):
            return True
        case s.Compound(name="/", args=(s.Var(), s.Const(value=int()))):
            return True
        case _:
            return False


def _similar(key: Indicator, known: frozenset[Indicator]) -> str | None:
    arities = sorted(n for name, n in known if name == key[0])
    if arities:
        return f"{key[0]} has {counted(arities[0], 'attribute')}: write {kind(key[0], arities[0])}"
    return suggest(key[0], {name for name, _ in known})


def _export_problems(item: s.Export, outline: Outline) -> Iterator[Problem]:
    known = outline.known | outline.predicates | frozenset(outline.actions)
    for key in item.names:
        if key not in known:
            yield Problem(
                "E227",
                f"{kind(*key)} is exported, but the file has no such event or predicate",
                item.span,
                _similar(key, known),
            )
