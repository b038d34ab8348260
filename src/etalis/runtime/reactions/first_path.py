"""The first path of an action as generated code: every step takes its first choice; where there is none, a way out.

A test takes its first solution, `or` its left side unless a test at its beginning says that it has no path, `par` its
left side and then the right one, a call the only clause of its action. Law: where all of this leads on, it is the first
execution in depth-first order; so what is left to the search is all that has to look for another way, and what is not
known how to write (`write` says so beforehand).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from etalis.data.values import Real
from etalis.language import syntax as s
from etalis.language.check.goals import indicator
from etalis.language.traversal import ACTION_PARTS, names, rewrite_action, rewrite_term, variables, walk_action
from etalis.logic.inline.scope import normal
from etalis.logic.machine.database import Key
from etalis.logic.state.state_predicate import Row, StatePredicate
from etalis.logic.state.state_store import StateStore
from etalis.logic.terms.unify import Variable, from_value
from etalis.plan import algebra as p
from etalis.runtime.codegen.conditions import Conditions
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.runtime.codegen.terms import build

_MOST = 300  # parts of an action that is written out
_AS_THEY_ARE = frozenset((str, int, Real))  # values that are terms; a float may be integral, and is `Real` then
_FROM_EVENTS = _AS_THEY_ARE | {float}

Names = dict[str, str]  # variable -> Python expression
Actions = Mapping[Key, Sequence[s.ActionClause]]


class UnwrittenError(Exception):
    """A step whose first choice is not known how to write."""


@dataclass(slots=True)
class PathWriter:
    """Writes the first paths of one program's actions; `ask` writes what is done about an event that is raised."""

    conditions: Conditions
    state: StateStore | None
    actions: Actions
    ask: Callable[[Code, Sequence[str], str | None], None]  # the event or its name and attributes; the delay
    most: int  # steps that a path may have
    copies: int = 0
    at_once: bool = False  # whether a fact that is inserted is all that a transaction does
    deletes: bool = False
    raises: bool = False
    steps: int = 0
    side_by_side: int = 0  # actions around that are interleaved
    perhaps: frozenset[str] = frozenset()  # variables that one of two ways, of which one is taken, has bound
    from_events: frozenset[str] = frozenset()  # expressions of values as the engine holds them

    def write(self, code: Code, action: s.Action, known: Names, way_out: str) -> Names:
        """Write all steps of an action; `way_out` is the line where one has no first choice. Return what is bound."""
        if sum(1 for _ in walk_action(action)) > _MOST:
            raise UnwrittenError
        self.perhaps = frozenset()
        return self._write(code, action, known, way_out, ())

    def _write(self, code: Code, action: s.Action, known: Names, way_out: str, inside: tuple[Key, ...]) -> Names:
        if not isinstance(action, s.Composed | s.IsoAction):
            self._count()
        match action:
            case s.Skip():
                return known
            case s.Composed(operator="or", left=left, right=right):
                if self.side_by_side or not self._is_plain(right):
                    return self._write(code, left, known, way_out, inside)
                return self._either(code, left, right, known, way_out, inside)
            case s.Composed(operator=operator, left=left, right=right):
                self.side_by_side += operator == "par"
                found = self._write(code, left, known, way_out, inside)
                found = self._write(code, right, found, way_out, inside)
                self.side_by_side -= operator == "par"
                return found
            case s.IsoAction(action=inner):
                return self._write(code, inner, known, way_out, inside)
            case s.IfThenElse(test=s.Perform(goal=goal)) if indicator(goal) not in self.actions:
                return self._decide(code, action, goal, known, way_out, inside)
            case s.Perform(goal=goal):
                clauses = self.actions.get(indicator(goal) or ("", -1))
                if clauses is None:
                    return self._test(code, goal, known, way_out)
                return self._call(code, goal, clauses, known, way_out, inside)
            case s.FactChange():
                self._change(code, action, known, way_out)
                return known
            case s.Raise(event=event, after=after):
                delay = None if after is None else self._value(code, after, known)
                self.raises = True
                self.ask(code, self._event(code, event, known), delay)
                return known
            case _:
                raise UnwrittenError

    def _count(self) -> None:
        """Count a step."""
        self.steps += 1
        if self.steps > self.most:
            raise UnwrittenError

    # tests

    def solution(self, code: Code, goal: s.Term, known: Names) -> tuple[str, Names]:
        """Write that a test is asked for its first solution; return its name, and what it binds."""
        mentioned = dict.fromkeys(v.name for v in variables(goal))
        if not self.perhaps.isdisjoint(mentioned):
            raise UnwrittenError
        inputs = tuple(name for name in mentioned if name in known)
        outputs = tuple(name for name in mentioned if name not in known and not name.startswith("_#"))
        solve = self.conditions.solving(p.GoalTest("where", goal, inputs, outputs), outputs, is_firm=True)
        row = code.fresh("r")
        code(f"{row} = {code.constant(solve)}({', '.join(known[name] for name in inputs)})")
        return row, {name: f"{row}[{place}]" for place, name in enumerate(outputs)}

    def _test(self, code: Code, goal: s.Term, known: Names, way_out: str) -> Names:
        row, found = self.solution(code, goal, known)
        is_open = f" or None in {row}" if found else ""
        code(f"if {row} is None{is_open}: {way_out}")
        return {**known, **found}

    def _decide(
        self, code: Code, action: s.IfThenElse, goal: s.Term, known: Names, way_out: str, inside: tuple[Key, ...]
    ) -> Names:
        row, found = self.solution(code, goal, known)
        if found:
            code(f"if {row} is not None and None in {row}: {way_out}")
        before = self.perhaps
        with code.block(f"if {row} is not None:"):
            bound = self._write(code, action.action, {**known, **found}, way_out, inside)
        with code.block("else:"):
            self._write_other(code, action.otherwise, known, before, bound, way_out, inside)
        return known

    def _write_other(
        self, code: Code, action: s.Action, known: Names, before: frozenset[str], bound: Names, way_out: str,
        inside: tuple[Key, ...],
    ) -> None:  # fmt: skip
        """Write the other one of two ways, of which the first has `bound` variables: nothing may ask for them later."""
        perhaps, self.perhaps = self.perhaps, before
        found = self._write(code, action, known, way_out, inside)
        self.perhaps |= perhaps | ((bound.keys() | found.keys()) - known.keys())

    def _either(
        self, code: Code, left: s.Action, right: s.Action, known: Names, way_out: str, inside: tuple[Key, ...]
    ) -> Names:  # fmt: skip
        """Write `or`: the right side where a test at the beginning of the left one fails, and no other has a choice."""
        steps, taken, before = list(_sequence(left)), code.fresh("c"), self.perhaps
        code(f"{taken} = False")
        with ExitStack() as blocks:
            bound, has_choice = known, False
            while steps and not has_choice and isinstance(steps[0], s.Perform) and self._is_test(steps[0]):
                self._count()
                row, found = self.solution(code, steps[0].goal, bound)
                if found:
                    code(f"if {row} is not None and None in {row}: {way_out}")
                blocks.enter_context(code.block(f"if {row} is not None:"))
                has_choice = bool(found) and not self._has_one_solution(steps[0].goal, bound)
                bound = {**bound, **found}
                del steps[0]
            code(f"{taken} = True")
            for step in steps:
                bound = self._write(code, step, bound, way_out, inside)
        with code.block(f"if not {taken}:"):
            self._write_other(code, right, known, before, bound, way_out, inside)
        return known

    def _is_test(self, node: s.Perform) -> bool:
        return indicator(node.goal) not in self.actions

    def _is_plain(self, action: s.Action) -> bool:
        """Tell whether an action is made of tests, changes and events that are raised, in an order."""
        for part in walk_action(action):
            match part:
                case s.Composed(operator="seq") | s.Skip() | s.FactChange() | s.Raise():
                    pass
                case s.Perform() if self._is_test(part):
                    pass
                case _:
                    return False
        return True

    def _has_one_solution(self, goal: s.Term, known: Names) -> bool:
        """Tell whether a test has one solution at most: a calculation, or a fact of state by its key."""
        match goal:
            case s.Compound(name="is", args=(_, _)):
                return True
            case s.Compound(name=name, args=args) if self.state is not None:
                predicate = self.state.predicates.get((name, len(args)))
                width = 0 if predicate is None else predicate.key
                return width > 0 and all(names(variables(arg)) <= known.keys() for arg in args[:width])
            case _:
                return False

    def _call(
        self, code: Code, goal: s.Term, clauses: Sequence[s.ActionClause], known: Names, way_out: str,
        inside: tuple[Key, ...],
    ) -> Names:  # fmt: skip
        key = indicator(goal)
        if key is None or key in inside or len(clauses) != 1:
            raise UnwrittenError
        body = self._body(clauses[0], goal.args if isinstance(goal, s.Compound) else ())
        return self._write(code, body, known, way_out, (*inside, key))

    def _body(self, clause: s.ActionClause, args: Sequence[s.Term]) -> s.Action:
        """Return the body of a clause for some arguments, its own variables renamed."""
        heads = clause.head.args if isinstance(clause.head, s.Compound) else ()
        given = {head.name: arg for head, arg in zip(heads, args, strict=True) if isinstance(head, s.Var)}
        if len(given) < len(heads):
            raise UnwrittenError
        self.copies += 1

        def renamed(old: s.Term, new: s.Term) -> s.Term:
            if not isinstance(old, s.Var) or old.name.startswith("_#"):
                return new
            return given.get(old.name, s.Var(f"{old.name}~{self.copies}"))

        def change(node: s.Action) -> s.Action:
            fields = [field for field in ACTION_PARTS[type(node)].terms if getattr(node, field) is not None]
            if ACTION_PARTS[type(node)].patterns:
                raise UnwrittenError
            changes: dict[str, Any] = {field: rewrite_term(getattr(node, field), renamed) for field in fields}
            return replace(node, **changes) if changes else node

        return rewrite_action(clause.body, change)

    # changes

    def _change(self, code: Code, node: s.FactChange, known: Names, way_out: str) -> None:
        key = indicator(node.fact)
        predicate: StatePredicate | None = None
        if key is not None and self.state is not None:
            predicate = self.state.predicates.get(key)
        if predicate is None or (node.kind == "set" and not predicate.key):
            raise UnwrittenError
        args = node.fact.args if isinstance(node.fact, s.Compound) else ()
        self.deletes = self.deletes or node.kind != "ins"
        cells, strange, has_holes = self._cells(code, args, known, holes=node.kind == "del")
        row = code.fresh("w")
        code(f"{row} = {tuple_of(cells) if cells else '()'}")
        if node.kind == "ins" and self.at_once:
            if strange:
                code(f"if {strange}: {way_out}")
            self._insert_at_once(code, predicate, row, cells, way_out)
            return
        if strange:
            code(f"if {strange}: {row} = {code.constant(_as_terms)}({row})")
        match node.kind:
            case "ins":
                code(f"if not {code.constant(predicate.insert)}({row}): {way_out}")
            case "del":
                code(f"{code.constant(predicate.delete_matching if has_holes else predicate.delete)}({row})")
            case "set":
                code(f"{code.constant(predicate.put)}({row})")

    def _insert_at_once(self, code: Code, predicate: StatePredicate, row: str, cells: list[str], way_out: str) -> None:
        """Write what `predicate.insert_at_once` does with a new fact of which nobody is to be told."""
        known, width = code.constant(predicate), predicate.key or len(cells)
        key = cells[0] if width == 1 else row if width == len(cells) else f"{row}[:{width}]"
        code(f"facts = {known}.facts")
        tables = f"{code.constant(predicate.database)}.tables.answers"
        told = f"facts.others or {known}.watchers or {tables}"
        with code.block(f"if {key} in facts.identity or {told}:"):
            code(f"if not {known}.insert_at_once({row}): {way_out}")
        with code.block("else:"):
            code(f"facts.identity[{key}] = len(facts.rows)")
            code(f"facts.rows.append({row})")
            code(f"{known}.alterations += 1")

    def _cells(
        self, code: Code, args: Sequence[s.Term], known: Names, *, holes: bool
    ) -> tuple[list[str], str, bool]:  # fmt: skip
        """Return the cells of a row of a fact, a test that they are not terms yet, and whether it has holes."""
        cells: list[str] = []
        tests: dict[str, None] = {}
        has_holes = False
        for arg in args:
            if isinstance(arg, s.Var) and arg.name.startswith("_#") and holes:
                cells.append(code.constant(Variable()))
                has_holes = True
                continue
            cells.append(self._value(code, arg, known))
            if not (isinstance(arg, s.Const) and arg.value.__class__ in _AS_THEY_ARE):
                plain = _FROM_EVENTS if cells[-1] in self.from_events else _AS_THEY_ARE
                tests[f"{cells[-1]}.__class__ not in {code.constant(plain)}"] = None
        return cells, " or ".join(tests), has_holes

    def _event(self, code: Code, event: s.Term, known: Names) -> list[str]:
        """Return the expressions of an event that is raised: of its name and attributes, where these are written."""
        if not isinstance(event, s.Compound):
            return [self._value(code, event, known)]
        args = [self._value(code, arg, known) for arg in event.args]
        return [code.constant(event.name), tuple_of(args)]

    def _value(self, code: Code, term: s.Term, known: Names) -> str:
        """Return the expression of a term, all of whose variables are bound."""
        mentioned = names(variables(term))
        if not mentioned <= known.keys():
            raise UnwrittenError
        text = build(code, term, known, frozenset(mentioned))
        if isinstance(term, s.Var | s.Const):
            return text
        local = code.fresh("v")
        code(f"{local} = {text}")
        return local


def _sequence(action: s.Action) -> Iterator[s.Action]:
    """Yield actions that stand one after the other."""
    if isinstance(action, s.Composed) and action.operator == "seq":
        yield from _sequence(action.left)
        yield from _sequence(action.right)
    else:
        yield action


def _as_terms(row: Row) -> Row:
    """Return the values of a row as terms."""
    return tuple([from_value(normal(x)) if x.__class__ is not Variable else x for x in row])
