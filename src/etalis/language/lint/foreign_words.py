"""Notations of other languages that are read as events, goals or facts, and never match.

Law: a name that the program itself makes, declares or defines is its own, whatever it is called; only what nothing
gives a meaning to is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from etalis.errors import Problem
from etalis.language.check.goals import Indicator, indicator, strip_wrappers
from etalis.language.check.outline import Outline
from etalis.language.check.spelling import find_similar
from etalis.language.check.wording import kind, source_text, written
from etalis.language.syntax import Binary, Clause, Compound, Const, EventPattern, ListTerm, Term, TimePoint
from etalis.language.traversal import Walk
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.policy import POLICIES

_WINDOW = "a window is written behind the pattern: (a seq b) within 10"
_PAUSE = "a time without an event is written a seq (not b within 10); a window is written (a seq b) within 10"
_EVERY = "leave it out: every event is tried; how often one may be used is said by the policy"
_AGGREGATE = "events are aggregated by aggregate(count, Pattern, Result)"
_GROUP = "leave it out: events belong together if they share a variable, a(Card) seq b(Card)"
_CONDITION = "a condition is written behind `where`: a(X) where X > 1"
_SEQUENCE = "a sequence is written a seq b"
_ABSENCE = "an absence is written (a seq b) cnot c, or a seq (not c within 10)"
_REPEATED = "a repetition is written a ntimes 3, or a star_times"

# Words of time, which are events of that name if a number is all they have.
_TIME_WORDS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        ("within", "window", "during", "timewindow", "time_window", "duration", "range", "in", "for"), _WINDOW
    )
    | dict.fromkeys(
        ("sleep", "wait", "delay", "timer", "pause", "timeout", "interval", "after", "every", "time"), _PAUSE
    )
    | {
        "times": _REPEATED,
        "repeat": _REPEATED,
        "ntimes": _REPEATED,
        "last": "the last of an aggregate: aggregate(...) last 3",
    }
)
# Words around patterns, which are events of that name with a pattern for an attribute.
_PATTERN_WORDS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("every", "each", "all", "foreach", "once", "pattern", "match", "event", "on", "when"), _EVERY)
    | dict.fromkeys((*FOLDS, "average", "total"), _AGGREGATE)
    | dict.fromkeys(("group_by", "groupby", "partition", "partition_by", "key_by", "keyby", "by"), _GROUP)
    | dict.fromkeys(("filter", "where", "if", "having", "select"), _CONDITION)
    | dict.fromkeys(("seq", "sequence", "followed_by", "followedby", "before", "after", "then", "next"), _SEQUENCE)
    | dict.fromkeys(("no", "absent", "without", "unless", "missing", "never"), _ABSENCE)
    | dict.fromkeys(("repeat", "times", "optional", "kleene", "one_or_more", "plus"), _REPEATED)
    | dict.fromkeys(("at_least", "at_most", "exactly"), _REPEATED)
    | dict.fromkeys(("within", "window", "during"), _WINDOW)
)  # fmt: skip
# Those of them that take the bare name of an event as well.
_STRONG_WORDS = frozenset(
    {"every", "each", "foreach", "seq", "sequence", "followed_by", "followedby", "absent", "without", "unless", "never"}
    | {"group_by", "groupby", "partition_by", "key_by", "keyby", "one_or_more", "at_least", "at_most", "exactly"}
)
# Goals that are operators or forms elsewhere, by what is written here; no host gives them a meaning.
FOREIGN_GOALS: Mapping[Indicator, str] = MappingProxyType(
    {
        ("and", 2): "goals are joined by a comma: X > 5, X < 10",
        ("or", 2): "alternatives of goals are joined by a semicolon: X < 5 ; X > 10",
        ("!", 1): "a goal is negated by \\+: \\+ p(X)",
        (":=", 2): "a variable is given a value by `is`: Y is X + 1",
        ("let", 1): "a variable is given a value by `is`: Y is X + 1",
        ("{}", 1): "several goals are written in round brackets: (p(X), q(X))",
        ("if", 2): "write (Condition -> Goal ; true)",
        ("if", 3): "write (Condition -> Goal ; Otherwise)",
        ("aggregate", 3): "events are aggregated in the pattern: a seq aggregate(count, b, N)",
        ("use_module", 1): "leave it out: the predicates of docs/logic.md are always there",
        ("ensure_loaded", 1): "leave it out: the predicates of docs/logic.md are always there",
    }
)
# Facts that look like directives.
_DIRECTIVES = frozenset(
    {("set_flag", 2), ("set_etalis_flag", 2), ("event", 1), ("dynamic", 1), ("table", 1), ("knowledge", 1), ("op", 3)}
    | {("import", 1), ("export", 1), ("initialization", 1), ("discontiguous", 1), ("use_module", 1)}
)
# Facts that mean something of their own, by how many arguments they have.
_SPECIAL = MappingProxyType({"print_trigger": 1, "external_trigger": 1, "event_rule_property": 3})
# Goals that nobody means as an event.
_PREDICATES = frozenset(
    {
        ("member", 2),
        ("memberchk", 2),
        ("print", 1),
        ("write", 1),
        ("writeln", 1),
        ("format", 2),
        ("format", 1),
        ("nl", 0),
    }
    | {
        ("assert", 1),
        ("asserta", 1),
        ("assertz", 1),
        ("retract", 1),
        ("findall", 3),
        ("atom_length", 2),
        ("between", 3),
    }
)


def check_words(outline: Outline) -> Iterator[Problem]:
    """Yield events, goals and facts that are probably meant as something else."""
    names = {name for name, _ in outline.known}
    heads = {indicator(strip_wrappers(clause.head)) for clause in outline.clauses}
    facts = frozenset(key for key in heads if key is not None and key not in outline.asked)
    for event in outline.used:
        if (event.name, len(event.args)) not in outline.made:
            yield from _as_event(event, names, facts)
    for rule in outline.rules:
        yield from _moments(outline.walk(rule))
    for call, role in outline.called:
        if call.indicator in FOREIGN_GOALS and call.indicator not in outline.predicates:
            message = f"{kind(*call.indicator)} is no predicate of this language, and nothing defines it"
            yield Problem("W223", message, call.span, FOREIGN_GOALS[call.indicator])
        elif call.name in ("member", "memberchk") and len(call.args) == 2:
            yield from _no_list(call.args, role)
    seen: set[str] = set()
    for problem in (found for clause in outline.clauses for found in _as_fact(clause, outline)):
        if problem.hint not in seen:  # a stream in the place of a program is told of once
            seen.add(problem.hint or "")
            yield problem


def _as_event(event: EventPattern, names: set[str], facts: frozenset[Indicator]) -> Iterator[Problem]:
    key, shown = (event.name, len(event.args)), kind(event.name, len(event.args))
    word = event.name.lower()
    if key in facts or key in _PREDICATES:
        message = f"{shown} is a predicate, but used here as an event, which no rule derives"
        hint = (
            f"write a condition behind `where`: ... where {_text(event)}; events come from the stream, not from facts"
        )
        yield Problem("W221", message, event.span, hint)
    elif word in _TIME_WORDS and len(event.args) == 1 and _is_number(event.args[0]):
        yield Problem("W221", f"{_text(event)} is read as an event that never occurs", event.span, _TIME_WORDS[word])
    elif word in _PATTERN_WORDS and any(_is_pattern(arg, names, word, len(event.args)) for arg in event.args):
        message = f"{_text(event)} is read as an event, with a term for an attribute"
        yield Problem("W221", message, event.span, _PATTERN_WORDS[word])


def _is_pattern(arg: Term, names: set[str], word: str, arity: int) -> bool:
    """Tell whether an argument of an event that is called like a word around patterns looks like a pattern."""
    match arg:
        case Compound(name=name):
            return name[:1].isalpha()
        case Const(value=str() as name):
            return name in names or word in _STRONG_WORDS or (word in FOLDS and arity > 1)
        case _:
            return False


def _is_number(arg: Term) -> bool:
    return isinstance(arg, Const) and not isinstance(arg.value, str)


def _text(event: EventPattern) -> str:
    return kind(event.name, len(event.args)) if event.span is None else source_text(event.span)


def _moments(walk: Walk) -> Iterator[Problem]:
    """Yield numbers that are moments, where a duration seems meant."""
    for node in walk.of(Binary):
        if node.operator == "seq" and _is_product(node):
            message = "`*` is `seq` between patterns, and a number is a moment, not a count"
            yield Problem("W221", message, node.span, _REPEATED)
        if node.operator == "par" and _is_comment(node):
            message = "`#` is `par`, and what follows it is read as an event"
            yield Problem("W221", message, node.span, "a comment begins with %")
        if node.operator == "during" and isinstance(node.right, TimePoint):
            message = "a number is a moment here, and nothing lasts during a moment"
            yield Problem("W221", message, node.span, f"a window is written within: {_within(node)}")


def _is_comment(node: Binary) -> bool:
    """Tell whether `a # word` ends its line, and the rule goes on in the next."""
    word = node.right
    while isinstance(word, Binary):
        word = word.left
    a, b = node.left.span, word.span
    if a is None or b is None or not isinstance(word, EventPattern) or word.args:
        return False
    text = a.source.text
    line, _, more = text[b.end :].partition("\n")
    return "#" in text[a.end : b.start] and not line.strip() and bool(more.strip())


def _is_product(node: Binary) -> bool:
    """Tell whether `a * 3` is written."""
    a, b = node.left.span, node.right.span
    if a is None or b is None or not isinstance(node.left, TimePoint | EventPattern):
        return False
    return (
        isinstance(node.left, TimePoint) != isinstance(node.right, TimePoint) and "*" in a.source.text[a.end : b.start]
    )


def _within(node: Binary) -> str:
    if node.left.span is None or node.right.span is None:
        return "(a seq b) within 5"
    left = source_text(node.left.span)
    bracketed = left if isinstance(node.left, EventPattern) else f"({left})"
    return f"{bracketed} within {source_text(node.right.span)}"


def _no_list(args: tuple[Term, ...], role: str) -> Iterator[Problem]:
    """Yield what stands in the place of a list and is none."""
    element, several = args
    match several:
        case Compound(name="," | "{}"):
            yield Problem("W223", f"{written(several)} is no list", several.span, "a list is written [1, 2, 3]")
        case Const():
            if several.value != "[]":
                yield Problem("W223", f"{written(several)} is no list", several.span, "a list is written [1, 2, 3]")
        case _ if isinstance(element, ListTerm) and not isinstance(several, ListTerm) and role != "clause":
            hint = f"the list comes last: member({written(several)}, {written(element)})"
            yield Problem("W223", "member looks for its first argument in its second", element.span, hint)


def _is_declaration(fact: Term) -> bool:
    """Tell whether `event(E)` names attributes, with or without their types."""
    match fact:
        case Compound(args=(Compound(args=args),)):
            return all(isinstance(arg, Compound) and arg.name == ":" for arg in args)
        case _:
            return False


def _as_fact(clause: Clause, outline: Outline) -> Iterator[Problem]:
    key = indicator(strip_wrappers(clause.head))
    if clause.body is not None or key is None:
        return
    if key in outline.asked:
        return
    if key == ("event", 1) and not _is_declaration(clause.head):
        message = f"{written(clause.head)} is a fact, not an event"
        hint = "events come from a stream: `etalis run PROGRAM EVENTS` reads them from a file, engine.push takes one"
        yield Problem("W224", message, clause.span, hint)
    elif key in _DIRECTIVES:
        message = f"{written(clause.head)} is a fact, which sets nothing"
        yield Problem("W224", message, clause.span, f"a directive begins with :- , as in :- {written(clause.head)}.")
    elif (near := find_similar(key[0], _SPECIAL)) is not None and key[1] == _SPECIAL[near]:
        message = f"{written(clause.head)} is a fact that no goal calls"
        yield Problem("W224", message, clause.span, f"did you mean {near}?")
    elif key == ("policy", 1) and isinstance(clause.head, Compound):
        argument = clause.head.args[0]
        if isinstance(argument, Const) and argument.value in POLICIES:
            hint = f"write :- set_flag(event_consumption_policy, {argument.value})."
            yield Problem("W224", f"{written(clause.head)} is a fact, which sets nothing", clause.span, hint)
