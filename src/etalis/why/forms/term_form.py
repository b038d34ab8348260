"""A justification as the manual's term `justification(Label, head(Event, [Start, End]), Body)` (003, section 3.5).

Leaves are `default` (it came) and `failed`; a body is an operator over such terms, `seq(J1, J2)`, a condition
`where(J, prolog(Goal))`. An event whose body stands elsewhere in the term has the body `shared`. Times are seconds.
All walks are loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from etalis.data.values import Value, format_atom, format_value, real
from etalis.language import syntax as s
from etalis.language.lower import to_logic
from etalis.language.traversal import PARTS, fold
from etalis.logic.terms.unify import LIST, Term, Variable, deref, from_value, make_list, split_list, variables
from etalis.logic.terms.write import Style, print_term
from etalis.temporal.interval import to_seconds
from etalis.why import justification as j
from etalis.why.bound_terms import bind_pattern, bind_term
from etalis.why.forms.wording import UNLABELED, label_of
from etalis.why.printable import form


def number(time: int) -> Term:
    """Return microseconds as a number of seconds."""
    found = to_seconds(time)
    return real(found) if isinstance(found, float) else found


def atom(name: str, args: Sequence[Value]) -> Term:
    """Return the atom of an event."""
    return (name, *map(from_value, args)) if args else name


def leaf(event: Term, start: Term, end: Term, what: Term, label: str = UNLABELED) -> Term:
    """Return the term of an event on an interval."""
    return ("justification", label, ("head", event, make_list([start, end])), what)


def event_leaf(event: j.Occurred, what: Term, label: str = UNLABELED) -> Term:
    """Return the term of an event that occurred."""
    shown = Variable() if event.name is None else atom(event.name, event.args)
    return leaf(shown, number(event.start), number(event.end), what, label)


def pattern_term(pattern: s.Pattern) -> Term:
    """Return a pattern as a term: events are atoms, operators stand over what they are written between."""
    names: dict[str, Variable] = {}

    def combine(node: s.Pattern, parts: tuple[Term, ...]) -> Term:
        match node:
            case s.EventPattern(name=name, args=args):
                return (name, *(to_logic(arg, names).term for arg in args)) if args else name
            case s.TimePoint(time=time):
                return number(time)
            case s.SubRule(rule=rule):
                return combine(rule.head, ())
            case s.Binary(operator=name) | s.Negation(operator=name) | s.Condition(kind=name):
                pass
            case _:
                name = type(node).__name__.lower()
        goals = [getattr(node, field) for field in PARTS[type(node)].terms]
        return (name, *parts, *(to_logic(goal, names).term for goal in goals if goal is not None))

    return fold(pattern, combine)[id(pattern)]


def justification_term(root: j.Body) -> Term:
    """Return the term of an event or of a body."""
    todo: list[tuple[Any, int]] = [(root, -1)]  # a node to open, or with the number of its operands one to close
    done: list[Term] = []
    seen: set[int] = set()
    while todo:
        node, count = todo.pop()
        if count >= 0:
            parts = done[len(done) - count :]
            del done[len(done) - count :]
            done.append(_combine(node, parts))
        elif isinstance(node, j.Derived) and id(node) in seen:
            done.append(event_leaf(node, "shared", label_of(node.rule, node.text)))
        else:
            seen.add(id(node))
            operands = _operands(node)
            todo.append((node, len(operands)))
            todo.extend((part, -1) for part in reversed(operands))
    return done[0]


def _operands(node: j.Body | j.Nothing) -> tuple[Any, ...]:
    match node:
        case j.Derived(body=body) | j.Tested(body=body) | j.Awaited(left=body):
            return (body,)
        case _:
            return j.below(node)


def _combine(node: j.Body | j.Nothing, parts: list[Term]) -> Term:
    """Return the term of a node from those of its operands."""
    match node:
        case j.Received():
            return event_leaf(node, "default")
        case j.Raised():
            return event_leaf(node, ("raised", *parts) if parts else "raised")
        case j.Derived(tests=tests):
            return event_leaf(node, _tested(parts[0], tests), label_of(node.rule, node.text))
        case j.Tested(tests=tests):
            return _tested(parts[0], tests)
        case j.PairOf(relation=relation, left=left, right=right):
            several = len(left) if isinstance(left, tuple) else 1
            sides = ((left, parts[:several]), (right, parts[several:]))
            return (relation, *(make_list(found) if isinstance(x, tuple) else found[0] for x, found in sides))
        case j.Nothing():
            return ("not", _absent(node))
        case j.ChosenBranch(which=which):
            return ("or", which, parts[0])
        case j.RepeatedRun(left=left):
            return _after(parts, left is not None, lambda found: ("times", make_list(found)))
        case j.PutTogether():
            return ("together", make_list(parts))
        case j.FoldedValue(kind=kind, opener=opener, value=value):
            return _after(
                parts, opener is not None, lambda found: ("aggregate", kind, make_list(found), from_value(value))
            )
        case j.PointReached(time=time):
            return leaf(number(time), number(time), number(time), "default")
        case j.Awaited(nothing=nothing):
            return ("seq", parts[0], ("not", _absent(nothing)))
        case j.Rung(due=due):
            return ("alarm", parts[0], number(due))
        case _:
            assert_never(node)


def _after(parts: list[Term], has_left: bool, build: Any) -> Term:
    return ("seq", parts[0], build(parts[1:])) if has_left else build(parts)


def _tested(term: Term, tests: Sequence[j.Test]) -> Term:
    """Return a term under its tests; which of several was taken is no operator."""
    for test in tests:
        match test:
            case j.WithinWindow(allowed=allowed):
                term = ("within", term, number(allowed))
            case j.ConditionHeld(kind=kind, goal=goal, solution=solution):
                term = (kind, term, ("prolog", to_logic(bind_term(goal, solution)).term))
            case j.Nothing(where=where):
                term = ("fnot" if where == "before" else "cnot", term, _absent(test))
            case j.AloneBetween():
                term = ("iso", term)
            case j.TakenUnder():
                pass
            case _:
                assert_never(test)
    return term


def _absent(test: j.Nothing) -> Term:
    low = Variable() if test.low is None else number(test.low)
    return leaf(pattern_term(bind_pattern(test.pattern, test.bindings)), low, number(test.high), "failed")


@form("Justification", "term")
def write_justification_term(found: j.Justification) -> str:
    """Write a justification as the text of its term."""
    return term_text(justification_term(found.root))


def term_text(term: Term) -> str:
    """Write a term however deep it is: goals with their operators, all else without.

    >>> term_text(("f", 1, ("prolog", (">", 1, 0)), make_list(["a", "B"])))
    "f(1,prolog(1 > 0),[a,'B'])"
    """
    pieces: list[str] = []
    names: dict[Variable, str] = {}
    todo: list[Any] = [(term,)]  # a term in a tuple of its own, or a text
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        found = deref(item[0])
        if isinstance(found, Variable):
            pieces.append(names.setdefault(found, f"_{len(names) + 1}"))
        elif not isinstance(found, tuple):
            pieces.append(format_value(found))
        elif found == () or found[0] == LIST:
            items, tail = split_list(found)
            rest = [] if tail == () else ["|", (tail,)]
            todo.extend(reversed(["[", *_commas(items), *rest, "]"]))
        elif found[0] == "prolog" and len(found) == 2:
            for free in variables(found[1]):
                names.setdefault(free, f"_{len(names) + 1}")
            pieces.append(f"prolog({print_term(found[1], Style(names=names), priority=999)})")
        else:
            todo.extend(reversed([f"{format_atom(found[0])}(", *_commas(found[1:]), ")"]))
    return "".join(pieces)


def _commas(terms: Sequence[Term]) -> list[Any]:
    found: list[Any] = []
    for term in terms:
        found += [",", (term,)] if found else [(term,)]
    return found
