"""Side effects of a program's goals, for which the order of matches counts (definition 15.11)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from etalis.errors import Problem
from etalis.language.check import goals as g
from etalis.language.check.names import triggered
from etalis.language.check.outline import Outline
from etalis.language.check.wording import kind, written
from etalis.language.flags import Settings
from etalis.language.syntax import Compound, Const, Raise, Term, Tree, Trigger, Var
from etalis.language.traversal import subterms
from etalis.logic.builtins.time import CURRENT

_NAMES = frozenset(name for name, _ in g.SIDE_EFFECTS)
_CHANGING = frozenset(name for name, _ in g.CHANGES_CLAUSES) | {"abolish", "reset_db"}
_ACTING = frozenset(name for name, _ in g.ENGINE_GOALS)


def find_effects(program: Tree) -> tuple[str, ...]:
    """Say of every goal of conditions, actions and clauses that changes or tells something what it is.

    A goal that is only known at run time counts, since it may be anything.
    """
    return _find_effects(Outline(program))


def _find_effects(outline: Outline) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for goal, role in outline.goals:
        if role != "directive":
            where = {"clause": "a clause", "action": "an action"}.get(role, "a condition")
            found.update(dict.fromkeys(f"{what} in {where} has a side effect" for what in _effects(goal)))
    return tuple(found)


def find_lessons(program: Tree) -> tuple[str, ...]:
    """Say of every kind of event that changes facts that it does: whoever asks for a fact must have received all."""
    return tuple(f"{kind(*event)} changes facts that conditions see" for event in Outline(program).learned)


def check_effects(outline: Outline) -> Iterator[Problem]:
    """Yield what cannot be where events may be run again, and conditions of triggers whose answer may change."""
    for trigger in outline.program.items:
        if isinstance(trigger, Trigger) and trigger.body is not None:
            yield from _changing(trigger.body, outline)
    if outline.settings.corrects:
        yield from refuse_effects(outline.program, outline.settings)


def _changing(body: Term, outline: Outline) -> Iterator[Problem]:
    """Yield what the condition of a trigger asks that may change while the program runs."""
    hint = "call facts and clauses that do not change; what changes belongs in a rule: seen(X) <- made(X) where ..."
    changed = {g.changed(call) for call, role in outline.called if role != "directive"}
    changed |= {(name, arity) for (_, arity), changes in outline.learned.items() for name, _ in changes}
    changed |= set(outline.state)
    called, effects = reach(body, outline)
    effects += [kind(*key) for key in called if key in changed or key[0] in CURRENT]
    for what in dict.fromkeys(effects):
        message = f"the condition of a trigger depends on {what}, which acts or changes while the program runs"
        yield Problem("E241", message, body.span, hint)


def reach(goal: Term, outline: Outline) -> tuple[list[g.Indicator], list[str]]:
    """Return what a goal calls, by way of clauses, too, and which of that has a side effect, in words."""
    reached: dict[g.Indicator, None] = {}
    waiting, effects = list(g.calls(goal)), list(_effects(goal))
    while waiting:
        key = waiting.pop().indicator
        if key in outline.calls and key not in reached:
            mine = [c for c in outline.clauses if g.indicator(g.strip_wrappers(c.head)) == key]
            clauses = [clause.body for clause in mine if clause.body is not None]
            waiting += [call for clause in clauses for call in g.calls(clause)]
            effects += [what for clause in clauses for what in _effects(clause)]
        reached[key] = None
    return list(reached), effects


def correcting_flag(settings: Settings) -> str:
    """Return the flag by which events may be run again."""
    return "revision_flag(on)" if settings.revision else "reporting(on_arrival)"


def refuse_effects(program: Tree, settings: Settings) -> Iterator[Problem]:
    """Yield the refusals of a program's effects where events may be run again."""
    flag = correcting_flag(settings)
    hint = "use reporting(on_watermark), or leave the effect to whoever reads the results"
    called = CalledNames.of(program)
    clock = ["a goal reads the time reached"] if called.reads_clock else []
    for effect in (*called.effects, *find_lessons(program), *clock):
        yield Problem("E232", f"{effect}, which {flag} cannot undo", hint=hint)


def _effects(goal: Term) -> Iterator[str]:
    for call in g.calls(goal):
        if call.indicator in g.SIDE_EFFECTS:
            yield kind(*call.indicator)
        if is_unwritten(call):
            yield f"{kind(*call.indicator)} of a goal that is not written down"
    for term in subterms(goal):
        if isinstance(term, Compound) and g.indicator(term) in g.SIDE_EFFECTS:
            yield kind(term.name, len(term.args))


@dataclass(frozen=True, slots=True)
class CalledNames:
    """The names of all that the goals of a program so much as name, and whether some are known at run time only."""

    names: frozenset[str | None]
    is_open: bool
    effects: tuple[str, ...]

    @classmethod
    def of(cls, program: Tree) -> CalledNames:
        """Look at the goals of a program."""
        outline = Outline(program)
        goals = [goal for goal, _ in outline.goals]
        written = (*goals, *(clause.head for clause in outline.clauses))
        names = frozenset([_name(term) for each in written for term in subterms(each)])
        is_open = any(is_unwritten(call) or _adds_unknown(call) for call, _ in outline.called)
        return cls(names, is_open, _find_effects(outline))

    @property
    def acts_on_run(self) -> bool:
        """Whether a goal may raise events or change rules."""
        return self.may_call(_ACTING)

    @property
    def changes_facts(self) -> bool:
        """Whether a goal may add or remove facts."""
        return self.may_call(_CHANGING)

    @property
    def reads_clock(self) -> bool:
        """Whether a goal may ask what time it is."""
        return self.may_call(CURRENT)

    def may_call(self, names: Collection[str]) -> bool:
        """Tell whether a predicate of some names is so much as named, or any goal known at run time only."""
        return self.is_open or not self.names.isdisjoint(names)


def acts_on_run(program: Tree) -> bool:
    """Tell whether a goal may raise events or change rules."""
    return CalledNames.of(program).acts_on_run


def changes_facts(program: Tree) -> bool:
    """Tell whether a goal may add or remove facts."""
    return CalledNames.of(program).changes_facts


def reads_clock(program: Tree) -> bool:
    """Tell whether a goal may ask what time it is."""
    return CalledNames.of(program).reads_clock


def find_unplanned(program: Tree) -> str | None:
    """Say what may be reported that is no event of a rule in the text: nothing is known of its attributes."""
    outline = Outline(program)
    named = {_name(term) for goal, _ in outline.goals for term in subterms(goal)}
    if "ins_event_rule" in named:
        return "goals insert rules"
    triggers = [item.pattern for item in program.items if isinstance(item, Trigger)]
    others = [t for t in triggers if t != Const("all_defined_events") and triggered(t) not in outline.derived]
    raises = "event" in named or any(isinstance(step, Raise) for step in outline.steps)
    if raises and others:
        return f"goals raise events, and {written(others[0])} is to be reported, which no rule derives"
    return None


def raised_events(outline: Outline) -> frozenset[g.Indicator] | None:
    """Return the kinds of events that goals raise; None if they may be any, or if goals insert rules."""
    raised = {key for step in outline.steps if isinstance(step, Raise) and (key := g.indicator(step.event))}
    for goal, _ in outline.goals:
        if any(is_unwritten(call) or _adds_unknown(call) for call in outline.calls_in(goal)):
            return None
        for term in subterms(goal):
            key = g.indicator(term)
            if key is None or key not in g.ENGINE_GOALS:
                continue
            event = g.indicator(term.args[0]) if key in g.RAISES and isinstance(term, Compound) else None
            if event is not None:
                raised.add(event)
            elif key[0] not in ("spy_event", "nospy_event", "reset_db"):
                return None
    return frozenset(raised)


def _name(term: Term) -> str | None:
    found = g.indicator(term)
    return None if found is None else found[0]


def is_unwritten(call: g.Call) -> bool:
    """Tell whether a call calls a goal that only the run knows and that may have an effect."""
    return _has_variable(call) or _is_open(call.name, call.args)


def _has_variable(call: g.Call) -> bool:
    """Tell whether a call has a variable where it needs a goal."""
    return any(isinstance(call.args[i], Var) for i in g.GOAL_ARGUMENTS.get(call.indicator, ()))


def _adds_unknown(call: g.Call) -> bool:
    """Tell whether a call adds a clause that is not written down."""
    if call.indicator not in g.ASSERTS:
        return False
    match call.args[0]:
        case Var():
            return True
        case Compound(name=":-", args=(_, body)):
            return isinstance(body, Var) or any(map(_has_variable, g.calls(body)))
        case _:
            return False


def _is_open(name: str, args: tuple[Term, ...]) -> bool:
    """Tell whether a call adds arguments to a goal that may have an effect: `call(G, X)`, `maplist(G, L)`."""
    if name not in ("call", "maplist", "foldl", "include", "exclude", "partition", "predsort") or len(args) < 2:
        return False
    match args[0]:
        case Var():
            return True
        case Const(value=str() as called) | Compound(name=called):
            return called in _NAMES
        case _:
            return False
