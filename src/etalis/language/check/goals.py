"""What a goal calls, what it binds, and what it needs bound, without running it.

A goal is a term over the control constructs of Prolog and calls of predicates. The tables say which arguments of
which predicates are goals themselves, which predicates bind nothing, and which change the world; all else is assumed
to bind every variable it mentions. So an answer "never bound" is sure, an answer "bound" is a guess in the program's
favour.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from etalis.errors import Span
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.language.traversal import names, variables
from etalis.logic.builtins.table import CODES, EFFECTS
from etalis.logic.machine.control import FORMS
from etalis.logic.machine.library import sections

Indicator = tuple[str, int]
Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class BoundVariables:
    """Variables that a goal or pattern binds: in every case (`always`), and in at least one (`perhaps`)."""

    always: Names = frozenset()
    perhaps: Names = frozenset()

    def also(self, other: BoundVariables) -> BoundVariables:
        """Both happen."""
        return BoundVariables(self.always | other.always, self.perhaps | other.perhaps)

    def either(self, other: BoundVariables) -> BoundVariables:
        """One of the two happens."""
        return BoundVariables(self.always & other.always, self.perhaps | other.perhaps)

    def maybe(self) -> BoundVariables:
        """It happens or not."""
        return BoundVariables(frozenset(), self.perhaps)


NOTHING = BoundVariables()

# Positions of the arguments that are goals; a negative position -n is a goal to which n arguments are added.
GOAL_ARGUMENTS: Mapping[Indicator, tuple[int, ...]] = MappingProxyType(
    {
        (",", 2): (0, 1),
        (";", 2): (0, 1),
        ("->", 2): (0, 1),
        ("*->", 2): (0, 1),
        ("\\+", 1): (0,),
        ("not", 1): (0,),
        ("once", 1): (0,),
        ("ignore", 1): (0,),
        ("call", 1): (0,),
        ("prolog", 1): (0,),
        ("query", 1): (0,),
        ("db", 1): (0,),
        ("forall", 2): (0, 1),
        ("findall", 3): (1,),
        ("findall", 4): (1,),
        ("bagof", 3): (1,),
        ("setof", 3): (1,),
        ("aggregate_all", 3): (1,),
        ("^", 2): (1,),
        ("catch", 3): (0, 2),
        ("with_output_to", 2): (1,),
        ("call_cleanup", 2): (0, 1),
        ("setup_call_cleanup", 3): (0, 1, 2),
        ("assertion", 1): (0,),
        (":-", 2): (0, 1),
    }
)

COMPARISONS = frozenset({("<", 2), (">", 2), ("=<", 2), (">=", 2), ("=:=", 2), ("=\\=", 2)})

BINDS_NOTHING = COMPARISONS | frozenset(
    {("\\=", 2), ("==", 2), ("\\==", 2), ("@<", 2), ("@>", 2), ("@=<", 2), ("@>=", 2), ("var", 1), ("nonvar", 1)}
    | {
        (test, 1)
        for test in (
            "atom",
            "atomic",
            "number",
            "integer",
            "float",
            "rational",
            "string",
            "compound",
            "callable",
            "ground",
            "is_list",
            "is_set",
            "is_datetime",
            "is_datime",
            "acyclic_term",
            "cyclic_term",
            "sparql",
        )
    }
)

_COLLECTS: Mapping[Indicator, int] = MappingProxyType({("findall", 3): 2, ("findall", 4): 2, ("aggregate_all", 3): 2})

CONTROL = frozenset({("true", 0), ("fail", 0), ("false", 0), ("!", 0), ("otherwise", 0)}) | frozenset(GOAL_ARGUMENTS)

ASSERTS = frozenset({("assert", 1), ("asserta", 1), ("assertz", 1), ("ins_static_rule", 1)})

CHANGES_CLAUSES = ASSERTS | frozenset({("retract", 1), ("retractall", 1), ("del_static_rule", 1)})

RAISES = frozenset({("event", 1), ("event", 2)})

# Goals that act on the run itself: what they ask for follows when the current input is complete.
ENGINE_GOALS = RAISES | frozenset(
    {("ins_event_rule", 1), ("del_event_rule", 1), ("ins", 1), ("del", 1), ("reset_db", 0)}
    | {("spy_event", 1), ("nospy_event", 1)}
)

# Goals that tell why an event occurred or did not: they see all of the run, so the order of matches counts for them.
EXPLAINS = frozenset(
    {("justify_event", 3), ("justify_event_positive", 3), ("justify_event_negative", 3)}
    | {("write_justification", 1), ("write_justification_udraw", 2), ("write_justification_udraw", 3)}
)

SIDE_EFFECTS = EFFECTS | ENGINE_GOALS | EXPLAINS | frozenset({("set_etalis_flag", 2), ("write_log", 2), ("halt", 0)})


TIMES = frozenset({("t1", 1), ("t2", 1)})

BUILTINS = frozenset(key for _, keys in sections() for key in keys) | frozenset(CODES) | FORMS | ENGINE_GOALS | EXPLAINS


@dataclass(frozen=True, slots=True)
class Call:
    """One predicate that a goal calls, with the term that calls it."""

    name: str
    args: tuple[Term, ...]
    span: Span | None

    @property
    def indicator(self) -> Indicator:
        return self.name, len(self.args)


def indicator(term: Term) -> Indicator | None:
    """Return name and arity of a callable term, None for a variable, a number or a list."""
    match term:
        case Compound(name=name, args=args):
            return name, len(args)
        case Const(value=str() as name):
            return name, 0
        case _:
            return None


def conjuncts(goal: Term) -> list[Term]:
    """Return the goals that a comma joins, in order."""
    found: list[Term] = []
    waiting = [goal]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Compound) and node.name == "," and len(node.args) == 2:
            waiting.extend(reversed(node.args))
        else:
            found.append(node)
    return found


def calls(goal: Term) -> Iterator[Call]:
    """Yield every predicate that a goal calls, control constructs included, from left to right."""
    waiting = [goal]
    while waiting:
        node = waiting.pop()
        key = indicator(node)
        if key is None:
            continue
        args = node.args if isinstance(node, Compound) else ()
        yield Call(key[0], args, node.span)
        waiting.extend(args[i] for i in reversed(GOAL_ARGUMENTS.get(key, ())))


def uncallable(goal: Term) -> Iterator[Term]:
    """Yield the parts of a goal that stand where a goal must and can be none: numbers and lists."""
    waiting = [goal]
    while waiting:
        node = waiting.pop()
        key = indicator(node)
        if key is not None and isinstance(node, Compound):
            waiting.extend(node.args[i] for i in reversed(GOAL_ARGUMENTS.get(key, ())))
        elif key is None and not isinstance(node, Var):
            yield node


def bound_by(goal: Term) -> BoundVariables:
    """Return the variables that a goal binds when it succeeds."""
    total = NOTHING
    for part in conjuncts(goal):
        total = total.also(_bound_by_one(part))
    return total


def _bound_by_one(goal: Term) -> BoundVariables:
    key = indicator(goal)
    if key is None or not isinstance(goal, Compound):
        return NOTHING
    args = goal.args
    match key:
        case (";", 2):
            return bound_by(args[0]).either(bound_by(args[1]))
        case ("->" | "*->", 2):
            return bound_by(args[0]).also(bound_by(args[1]))
        case ("once" | "call" | "prolog" | "query" | "db", 1):
            return bound_by(args[0])
        case ("ignore", 1):
            return bound_by(args[0]).maybe()
        case ("is", 2):
            return _all(args[0])
        case ("sparql", 2):
            return _all(args[1]).maybe()  # not where the expression is an error
        case ("\\+" | "not", 1) | ("forall", 2):
            return NOTHING
    if key in _COLLECTS:
        return _all(args[_COLLECTS[key]])
    return NOTHING if key in BINDS_NOTHING else _all(goal)


def takes_unbound(goal: Term, inputs: Collection[str]) -> bool:
    """Tell whether a goal computes with inputs whether they are bound or not, and binds none of them."""
    return all(_is_expression(part, inputs) for part in conjuncts(goal))


def _is_expression(goal: Term, inputs: Collection[str]) -> bool:
    match goal:
        case Compound(name="sparql", args=(_,)):
            return True
        case Compound(name="sparql", args=(_, Var(name=name))):
            return name not in inputs
        case _:
            return False


def _all(term: Term) -> BoundVariables:
    found = names(variables(term))
    return BoundVariables(found, found)


def never_bound(goal: Term, bound: Names) -> Iterator[Var]:
    """Yield the variables that a goal computes with while nothing can have bound them.

    `bound` holds the variables that may have a value before the goal runs.
    """
    for part in conjuncts(goal):
        yield from _needed(part, bound)
        bound |= _bound_by_one(part).perhaps


def _needed(goal: Term, bound: Names) -> Iterator[Var]:
    if isinstance(goal, Var) and goal.name not in bound:
        yield goal
    key = indicator(goal)
    if key is None or not isinstance(goal, Compound):
        return
    if key in COMPARISONS:
        yield from (v for v in variables(goal) if v.name not in bound)
    elif key == ("is", 2):
        yield from (v for v in variables(goal.args[1]) if v.name not in bound)
    elif key in (("->", 2), ("*->", 2), ("forall", 2)):
        yield from never_bound(goal.args[0], bound)
        yield from never_bound(goal.args[1], bound | bound_by(goal.args[0]).perhaps)
    else:
        for i in GOAL_ARGUMENTS.get(key, ()):
            yield from never_bound(goal.args[i], bound)


def strip_wrappers(head: Term) -> Term:
    """Return the clause head inside `db(H)`, `static(H)` or `prolog(H)`."""
    while isinstance(head, Compound) and head.name in ("db", "static", "prolog") and len(head.args) == 1:
        head = head.args[0]
    return head


def changed(call: Call) -> Indicator | None:
    """Return the predicate whose clauses a call adds or removes, None if it does not, or is not known."""
    if call.indicator not in CHANGES_CLAUSES:
        return None
    clause = call.args[0]
    return indicator(clause.args[0] if isinstance(clause, Compound) and clause.name == ":-" and clause.args else clause)


def asserted(call: Call) -> Indicator | None:
    """Return the predicate to which a call adds clauses, None if it adds none, or is not known."""
    return changed(call) if call.indicator in ASSERTS else None
