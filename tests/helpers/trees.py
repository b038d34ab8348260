"""Strategies for random syntax trees: terms, goals, patterns and programs as the parser could have made them."""

from __future__ import annotations

from hypothesis import strategies as st

from etalis.data.values import real
from etalis.language.attributes import TYPES
from etalis.language.operators import ACTION_OPERATORS, PATTERN_WORDS
from etalis.language.read.actions import FORMS
from etalis.language.syntax import (
    Abort,
    Action,
    ActionClause,
    Aggregate,
    Alarm,
    Always,
    AnyOf,
    Await,
    Binary,
    Clause,
    Composed,
    Compound,
    Condition,
    Const,
    Constraint,
    Declare,
    Do,
    Effect,
    EventDeclaration,
    EventPattern,
    Export,
    FactChange,
    IfThenElse,
    Import,
    Initially,
    IsoAction,
    Isolated,
    KnowledgeDeclaration,
    LabelProperty,
    Last,
    ListTerm,
    Negation,
    NotWithin,
    Or,
    Pattern,
    Perform,
    Possibility,
    Property,
    Raise,
    Reaction,
    Repeat,
    Rule,
    SetFlag,
    Skip,
    StateDeclaration,
    SubjectTo,
    SubRule,
    Term,
    TimePoint,
    Tree,
    Trigger,
    Var,
    Within,
)
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.relation import RELATIONS

OUTER = sorted(name for name, relation in RELATIONS.items() if relation.alone is not None)
SIGNS = [
    "+",
    "-",
    "*",
    "/",
    "\\",
    "=",
    "<",
    "=..",
    "->",
    ":-",
    ";",
    "!",
    "|",
    ",",
    "<-",
    "@<",
    "^",
    "**",
    "&&",
    "/*",
    ".",
]
WORDS = ["is", "mod", "dynamic", "table", "rule", "rule:", "iff", "not", "from", "e", "r", "x0", *sorted(PATTERN_WORDS)]
ODD = [
    "",
    "[]",
    "{}",
    "A",
    "_",
    "it's",
    'a"b',
    "a b",
    "\\",
    "\n",
    "\t\0",
    "é",
    "日本",
    "Ö",
    "0",
    "a`b",
    "\u2028",
    "ⅰ",
    "a%",
]

atoms = st.one_of(st.sampled_from("abcd"), st.sampled_from(SIGNS + WORDS + ODD), st.text(max_size=3))
numbers = st.one_of(
    st.integers(-5, 5),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False).map(real),
)
plain_names = st.sampled_from(
    ["a", "b", "c", "withdrawal", "été", "a b", "A", "exceptionAlarm", "+", "'", "last", "seq", "never", "if", "rule"]
)
variables = st.sampled_from(["X", "Y", "_Z", "Ä", "SEQ", "_1"]).map(Var)
constants = st.one_of(atoms, numbers).map(Const)


def _compound(name: str, args: list[Term]) -> Term:
    return Compound(name, tuple(args))


def _list(items: list[Term], tail: Term | None) -> Term:
    """Build a list as the reader does: a tail that is a list is no tail."""
    if isinstance(tail, ListTerm):
        return ListTerm((*items, *tail.items), tail.tail)
    return ListTerm(tuple(items), tail if items else None)


def _extend(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    names = st.one_of(atoms, st.sampled_from(SIGNS + WORDS))
    return st.one_of(
        st.builds(_compound, names, st.lists(inner, min_size=1, max_size=3)),
        st.builds(_compound, st.sampled_from(SIGNS + WORDS), st.lists(inner, min_size=2, max_size=2)),
        st.builds(_list, st.lists(inner, max_size=3), st.none() | inner),
    )


terms = st.recursive(variables | constants, _extend, max_leaves=12)
small = st.recursive(variables | constants, _extend, max_leaves=4)
times = st.one_of(st.integers(0, 5).map(lambda s: s * 1_000_000), st.integers(0, 10**13))
counts = st.integers(1, 9)


def _is_event(name: str, args: tuple[Term, ...]) -> bool:
    """Tell whether a name and arguments can be an event: the forms of patterns cannot."""
    word = name.lower()
    if word in ("iso", "any", "aggregate", "prolog", "query", "db", "not"):
        return not args and word == name
    return not (len(args) == 2 and word in PATTERN_WORDS) and not (name.startswith("exceptionAlarm") and len(args) == 2)


def _by_name(name: str, attributes: list[tuple[str, Term]]) -> EventPattern:
    """Build an event whose attributes are given by name."""
    return EventPattern(name, tuple(t for _, t in attributes), names=tuple(Const(word) for word, _ in attributes))


attributes = st.lists(st.tuples(atoms, small), min_size=1, max_size=2)
events = st.one_of(
    st.builds(EventPattern, plain_names, st.lists(small, max_size=2).map(tuple)),
    st.builds(_by_name, plain_names, attributes),
).filter(lambda e: _is_event(e.name, e.args))
bounds = st.one_of(counts.map(Const), st.sampled_from("NM").map(Var))


def _repeat(pattern: Pattern, least: Term, more: int | None) -> Pattern:
    if more is None:
        return Repeat(pattern, least, least)
    if isinstance(least, Const):
        return Repeat(pattern, least, Const(least.value + more))
    return Repeat(pattern, least, Const(more + 1))


def _any(patterns: list[Pattern], count: int) -> Pattern:
    return AnyOf(min(count, len(patterns)), tuple(patterns))


def _aggregate(kind: str, value: Term, pattern: Pattern, result: Term) -> Pattern:
    return Aggregate(kind, value if FOLDS[kind].has_value else None, pattern, result)


def _sub_rule(head: EventPattern, pattern: Pattern, label: str | None) -> Pattern:
    return SubRule(Rule(head, pattern, label))


def _extend_pattern(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    return st.one_of(
        st.builds(Binary, st.sampled_from(sorted(RELATIONS)), inner, inner),
        st.builds(Binary, st.sampled_from(OUTER), inner, inner, st.none(), st.sampled_from(("left", "right"))),
        st.builds(Or, inner, inner),
        st.builds(Negation, st.sampled_from(["cnot", "fnot"]), inner, inner),
        st.builds(NotWithin, inner, inner, times),
        st.builds(Condition, st.sampled_from(["where", "check", "event_multiply"]), inner, small),
        st.builds(Within, inner, times),
        st.builds(Last, inner, counts),
        st.builds(Do, inner, small),
        st.builds(_repeat, inner, bounds, st.none() | st.integers(0, 3)),
        st.builds(lambda p: Repeat(p, Const(1), None), inner),
        st.builds(Isolated, inner),
        st.builds(_any, st.lists(inner, min_size=1, max_size=3), counts),
        st.builds(_aggregate, st.sampled_from(sorted(FOLDS)), small, inner, small),
        st.builds(_sub_rule, events, inner, st.none() | st.sampled_from(["r1", "R 2", "seq"])),
    )


time_points = st.builds(TimePoint, st.one_of(times, times.map(lambda t: -t)))
patterns = st.recursive(events | time_points, _extend_pattern, max_leaves=8)

labels = st.sampled_from(["r1", "Rule 1", "seq", "rule", "été"])
properties = st.builds(Property, st.sampled_from(["window", "policy", "Odd One"]), small)
alarms = st.builds(Alarm, st.sampled_from(["after", "at"]), small)
rules = st.builds(
    lambda head, pattern, label, props, alarm, action: Rule(
        head, pattern, label, tuple(props) if label else (), alarm, action
    ),
    events,
    patterns,
    st.none() | labels,
    st.lists(properties, max_size=2),
    st.none() | alarms,
    st.none() | small,
)
indicators = st.lists(st.tuples(atoms, st.integers(0, 4)), max_size=3).map(tuple)


def _is_head(term: Term) -> bool:
    """Tell whether a term can be the head of a clause of knowledge."""
    match term:
        case Const(value=str() as name):
            return name not in ("<-", "iff", ":-", "-->")
        case Compound(name=name):
            return name not in (",", ";", "->", "*->", "\\+", "|", ":-", "-->", "<-", "rule:", "iff")
        case _:
            return False


heads = small.filter(_is_head)
goals = st.builds(_compound, st.sampled_from(["p", "assertz", "a b"]), st.lists(small, min_size=1, max_size=2))
fact_kinds = st.tuples(atoms, st.integers(0, 3), st.none() | atoms).filter(lambda fact: fact[0] != fact[2])


def _is_step(goal: Term) -> bool:
    """Tell whether a goal is a step of an action: forms and operators of actions are none."""
    match goal:
        case Const(value=str() as name):
            return name not in ("skip", "abort")
        case Compound(name="star_times", args=(_,)):
            return False
        case Compound(name=name, args=args):
            joined = len(args) == 2 and name in {*ACTION_OPERATORS, "|", "*->", ":-", "<-", "-->", "rule:", "do"}
            return not joined and name not in FORMS
        case _:
            return False


def _is_callable(term: Term) -> bool:
    return isinstance(term, Compound) or (isinstance(term, Const) and isinstance(term.value, str))


def _all_of(goals: list[Perform]) -> Perform:
    """Return one test of several, as the reader joins what commas join."""
    *several, whole = [found.goal for found in goals]
    for goal in reversed(several):
        whole = Compound(",", (goal, whole))
    return Perform(whole)


def _extend_action(inner: st.SearchStrategy[Action]) -> st.SearchStrategy[Action]:
    possibilities = st.builds(Possibility, inner, st.booleans())
    tests = st.lists(performs, min_size=1, max_size=3).map(_all_of)
    return st.one_of(
        st.builds(Composed, st.sampled_from(["seq", "par", "or"]), inner, inner),
        st.builds(Composed, st.sampled_from(["seq", "par", "or"]), inner, inner),
        st.builds(IfThenElse, tests | possibilities, inner, inner),
        st.builds(IsoAction, inner),
        possibilities,
        st.builds(SubjectTo, inner, small),
    )


callables = small.filter(_is_callable)
performs = st.builds(Perform, small.filter(_is_step))
steps = st.one_of(
    st.builds(FactChange, st.sampled_from(["ins", "del", "set"]), callables),
    st.builds(Raise, callables, st.none() | st.integers(1, 9).map(Const)),
    st.builds(Effect, callables),
    performs,
    performs,
    st.sampled_from([Skip(), Abort()]),
    st.builds(Await, patterns, times),
)
actions = st.recursive(steps, _extend_action, max_leaves=8)
reactions = st.builds(
    lambda pattern, action, condition, otherwise, undo, label, props: Reaction(
        pattern, action, condition, otherwise, undo, label, tuple(props) if label else ()
    ),
    patterns.filter(lambda p: not isinstance(p, Do)),
    actions,
    st.none() | small,
    st.none() | actions,
    st.none() | actions,
    st.none() | labels,
    st.lists(properties, max_size=2),
)


def _constraint(label: str, pattern: Pattern, required: Pattern | None, mode: str, duration: int | None) -> Constraint:
    """Build a constraint as the reader does: the last window of what is required around a pattern is its own."""
    if required is None:
        return Constraint(label, pattern)
    if mode == "around" and duration is None and isinstance(required, Within):
        required, duration = required.pattern, required.duration
    return Constraint(label, pattern, required, mode, None if mode == "next" else duration)  # type: ignore[arg-type]


constraints = st.builds(
    _constraint,
    labels.filter(lambda label: label != "rule"),
    patterns,
    st.none() | patterns,
    st.sampled_from(["around", "after", "before", "next"]),
    st.none() | times,
)
state_predicates = st.tuples(atoms, st.integers(0, 4), st.none() | st.integers(1, 4))
reactive_items = st.one_of(
    reactions,
    reactions,
    st.builds(ActionClause, callables.filter(_is_head), actions),
    st.builds(Always, small),
    constraints,
    st.builds(StateDeclaration, st.lists(state_predicates, min_size=1, max_size=2).map(tuple)),
)
items = st.one_of(
    reactive_items,
    rules,
    st.builds(Clause, heads, st.none() | small),
    st.builds(LabelProperty, labels, properties),
    st.builds(
        Trigger,
        st.sampled_from(["print_trigger", "external_trigger"]),
        small,
        st.none(),
        st.just(()),
        st.none() | small,
    ),
    st.builds(
        EventDeclaration,
        atoms,
        st.lists(st.tuples(atoms, st.sampled_from(TYPES)), max_size=2).map(tuple),
    ),
    st.builds(Import, indicators, atoms),
    st.builds(Export, indicators),
    st.builds(SetFlag, atoms, small),
    st.builds(Declare, st.sampled_from(["table", "dynamic"]), indicators),
    st.builds(KnowledgeDeclaration, st.lists(fact_kinds, max_size=2).map(tuple)),
    st.builds(Initially, goals),
)
programs = st.lists(items, max_size=4).map(lambda several: Tree(tuple(several)))
