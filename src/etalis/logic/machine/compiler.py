"""Clauses and goals compiled to closures over a frame of registers.

A frame is a list: the arguments of the call, the cut barrier, then constants, parts of the head and variables, each in
its register. Compound terms of the body are built by `itemgetter`, all in C. A body is a chain of chunks: tests that
cannot leave alternatives run in place, then one call. The control constructs are compiled here and nowhere else:
`call/1` of one of them compiles it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from etalis.logic.arithmetic.arithmetic import LONG, charge_result
from etalis.logic.builtins.table import CODES, PROTECTED, TESTS
from etalis.logic.errors import LogicLimitError
from etalis.logic.machine.control import FORMS
from etalis.logic.machine.control_forms import (
    CompiledBody,
    conditional,
    disjunction,
    findall,
    negation,
    soft_conditional,
)
from etalis.logic.machine.database import Database, GoalCompiler, check_body, is_callable
from etalis.logic.machine.expressions import Expression, Registers, compile_comparison, compile_expression
from etalis.logic.machine.head import compile_head, make_match
from etalis.logic.machine.machine import Code, Frame, Machine, fail
from etalis.logic.machine.registers import BuildPlan, FrameLayout, tuple_getter
from etalis.logic.machine.resolution import Match
from etalis.logic.terms.iso_errors import type_error
from etalis.logic.terms.unify import Term, Variable, deref, unify, variables

MAX_NESTING = 100
_COMPARISONS = frozenset(("<", ">", "=<", ">=", "=:=", "=\\="))
StepTest = Callable[[Registers, Machine], bool]


def compile_clause(database: Database, args: tuple[Term, ...], body: Term) -> tuple[Match, Code]:
    """Compile a clause to the match of its head and the code of its body."""
    layout = FrameLayout(len(args))
    steps = compile_head(args, layout)
    compiler = _BodyCompiler(database, layout, Counter(variables((":-", body, *args))))
    part = compiler.part(body, layout.barrier, 0)
    return make_match(steps, layout.arity, layout.template[layout.arity :]), part.code


def compile_goal(database: Database, goal: Term) -> tuple[Code, list[Term]]:
    """Compile a goal that is called: its variables are its own; the barrier is register 0 of the frame returned."""
    check_body(goal)
    layout = FrameLayout(0)
    occurrences = variables(goal)
    for variable in occurrences:
        layout.adopt(variable)
    part = _BodyCompiler(database, layout, Counter(occurrences)).part(goal, layout.barrier, 0)
    return part.code, layout.template


@dataclass(frozen=True, slots=True)
class Query:
    """A goal compiled to be run many times: inputs are the first registers, outputs are read at the end.

    A simple one only tests: it runs in one go, without the machine's loop.
    """

    code: Code
    rest: tuple[Term, ...]
    outputs: tuple[int, ...]
    simple: bool


def compile_query(database: Database, goal: Term, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Query:
    """Compile a goal whose inputs are given at every run."""
    check_body(goal)
    layout = FrameLayout(len(inputs))
    for i, variable in enumerate(inputs):
        layout.slots[variable] = i
        layout.known.add(variable)
    occurrences = Counter([*variables(goal), *outputs])
    part = _BodyCompiler(database, layout, occurrences).part(goal, layout.barrier, 0)
    slots = tuple(layout.slot(v) for v in outputs)
    return Query(part.code, tuple(layout.template[layout.arity :]), slots, part.simple)


@dataclass(slots=True)
class _Chunk:
    """Tests in order, each after its plan, then at most one call."""

    steps: list[tuple[BuildPlan, StepTest]] = field(default_factory=list)
    plan: BuildPlan = field(default_factory=BuildPlan)
    code: Code | None = None
    getter: Callable[[Any], Any] | None = None

    def link(self, following: Code | None) -> Code:
        """Return the code of this chunk, going on with the following one."""
        steps = tuple((tuple(p.fresh), tuple(p.builds), test) for p, test in self.steps)
        tail = self._tail(following)
        if not steps:
            return tail

        def run(machine: Machine, registers: Registers, cont: Frame) -> Frame | None:
            for fresh, builds, test in steps:
                for slot in fresh:
                    registers[slot] = Variable()
                for slot, build in builds:
                    registers[slot] = build(registers)
                if not test(registers, machine):
                    return None
            return tail(machine, registers, cont)

        return run

    def _tail(self, following: Code | None) -> Code:
        code, getter = self.code, self.getter
        fresh, builds = tuple(self.plan.fresh), tuple(self.plan.builds)
        if code is None:
            return _proceed

        def call(machine: Machine, registers: Registers, cont: Frame) -> Frame | None:
            for slot in fresh:
                registers[slot] = Variable()
            for slot, build in builds:
                registers[slot] = build(registers)
            if following is not None:
                cont = (following, registers, cont)
            if getter is None:
                return code(machine, registers, cont)
            return code, getter(registers), cont

        return call


def _proceed(_machine: Machine, _registers: Registers, cont: Frame) -> Frame:
    return cont


class _BodyCompiler:
    """Compiles one clause's body; `occurrences` tells which variables live in one branch only."""

    def __init__(self, database: Database, layout: FrameLayout, occurrences: Counter[Variable]) -> None:
        self.database = database
        self.layout = layout
        self.occurrences = occurrences

    def part(self, body: Term, barrier: int, depth: int) -> CompiledBody:
        """Compile a body; what it makes known stays known only for itself."""
        if depth > MAX_NESTING:
            raise LogicLimitError("nesting of a goal", MAX_NESTING)
        before = set(self.layout.known)
        chunks = [_Chunk()]
        for goal in _conjuncts(body):
            self._goal(goal, chunks, barrier, depth)
        self.layout.known = before
        if len(chunks) > 1 and not chunks[-1].steps:
            chunks.pop()
        simple = len(chunks) == 1 and chunks[0].code is None
        following: Code | None = None
        for chunk in reversed(chunks):
            following = chunk.link(following)
        assert following is not None
        return CompiledBody(following, simple)

    def _goal(self, goal: Term, chunks: list[_Chunk], barrier: int, depth: int) -> None:
        chunk = chunks[-1]
        if isinstance(goal, Variable):
            goal = ("call", goal)
        if not is_callable(goal):
            chunk.steps.append((BuildPlan(), _raise_not_callable(goal)))
            return
        name, args = (goal, ()) if isinstance(goal, str) else (goal[0], goal[1:])
        key = (name, len(args))
        if key in FORMS:
            self._form(key, args, chunks, barrier, depth)
        elif key == ("true", 0):
            pass
        elif key == ("=", 2):
            chunk.steps.append(self._unification(*args))
        elif not self._arithmetic(key, args, chunk):
            self._call(key, args, chunks)

    def _call(self, key: tuple[str, int], args: Sequence[Term], chunks: list[_Chunk]) -> None:
        """A call of a predicate, or a test that is run in place."""
        chunk, plan = chunks[-1], BuildPlan()
        getter = tuple_getter([self.layout.build(a, plan) for a in args])
        if key in TESTS and not self.database.overrides(*key):
            chunk.steps.append((plan, _in_place(TESTS[key], getter)))
        else:
            chunk.plan, chunk.code, chunk.getter = plan, self.database.code(*key), getter
            chunks.append(_Chunk())

    def _unification(self, left: Term, right: Term) -> tuple[BuildPlan, StepTest]:
        """`left = right`: a variable seen for the first time just takes the other side."""
        layout, plan = self.layout, BuildPlan()
        for a, b in ((deref(left), deref(right)), (deref(right), deref(left))):
            if isinstance(a, Variable) and a not in layout.known and a not in variables(b):
                source, target = layout.build(b, plan), layout.slot(a)
                layout.known.add(a)
                return plan, _assign(target, source)
        x, y = layout.build(left, plan), layout.build(right, plan)
        return plan, lambda registers, machine: unify(registers[x], registers[y], machine.trail)

    def _arithmetic(self, key: tuple[str, int], args: Sequence[Term], chunk: _Chunk) -> bool:
        """Compile `is` and comparisons in place; False if this is none of them, or nested too deep."""
        name, arity = key
        if arity != 2 or not (name == "is" or name in _COMPARISONS):
            return False
        layout = self.layout
        slots = {v: layout.slots[v] for v in layout.known}
        right = compile_expression(args[1], slots)
        if right is None:
            return False
        if name == "is":
            plan, target = BuildPlan(), deref(args[0])
            if isinstance(target, Variable) and target not in layout.known:
                layout.known.add(target)
                chunk.steps.append((plan, _compute(layout.slot(target), right)))
            else:
                slot = layout.build(target, plan)
                chunk.steps.append((plan, _unify_result(slot, right)))
            return True
        left = compile_expression(args[0], slots)
        if left is None:
            return False
        chunk.steps.append((BuildPlan(), compile_comparison(name, left, right)))
        return True

    def _form(self, key: tuple[str, int], args: Sequence[Term], chunks: list[_Chunk], barrier: int, depth: int) -> None:
        """A control construct: code that runs on this frame."""
        if key == ("!", 0):
            chunks[-1].steps.append((BuildPlan(), _cut(barrier)))
            return
        chunk = chunks[-1]
        chunks.append(_Chunk())
        match key[0]:
            case ";" | "->" | "*->":
                chunk.code = self._alternatives((*key[:1], *args), chunk.plan, barrier, depth)
            case "\\+" | "not":
                chunk.code = self._negation(args[0], chunk.plan, depth)
            case "forall":
                chunk.code = self._negation((",", args[0], ("\\+", args[1])), chunk.plan, depth)
            case "once":
                chunk.code = self._alternatives(("->", args[0], "true"), chunk.plan, barrier, depth)
            case "ignore":
                chunk.code = self._alternatives((";", ("->", args[0], "true"), "true"), chunk.plan, barrier, depth)
            case _:
                chunk.code = self._findall(args, chunk.plan, depth)

    def _alternatives(self, goal: Term, plan: BuildPlan, barrier: int, depth: int) -> Code:
        """`;` with its branches, from the last to the first, so that a long chain needs no recursion."""
        branches = []
        while _is_form(goal, ";"):
            branches.append(deref(goal[1]))
            goal = deref(goal[2])
        branches.append(goal)
        self._make_known(branches, plan)
        otherwise: Code = fail
        for i, branch in reversed(list(enumerate(branches))):
            last = i == len(branches) - 1
            otherwise = self._branch(branch, None if last else otherwise, barrier, depth)
        return otherwise

    def _branch(self, branch: Term, otherwise: Code | None, barrier: int, depth: int) -> Code:
        if not (_is_form(branch, "->") or _is_form(branch, "*->")):
            part = self.part(branch, barrier, depth + 1)
            return part.code if otherwise is None else disjunction(part, otherwise)
        mark = self.layout.reserve(2)
        make = conditional if branch[0] == "->" else soft_conditional
        plan = BuildPlan()
        self._make_known([branch[1], branch[2]], plan)
        test = self.part(branch[1], mark + 1, depth + 1)
        then = self.part(branch[2], barrier, depth + 1)
        code = make(test, then.code, otherwise or fail, mark)
        return code if not plan.fresh else _opened(tuple(plan.fresh), code)

    def _negation(self, goal: Term, plan: BuildPlan, depth: int) -> Code:
        self._make_known([goal], plan)
        mark = self.layout.reserve(2)
        return negation(self.part(goal, mark + 1, depth + 1), mark)

    def _findall(self, args: Sequence[Term], plan: BuildPlan, depth: int) -> Code:
        template, goal, result = args
        shape, out = self.layout.build(template, plan), self.layout.build(result, plan)
        self._make_known([goal], plan)
        mark = self.layout.reserve(2)
        return findall(self.part(goal, mark + 1, depth + 1), shape, out, mark)

    def _make_known(self, branches: Sequence[Term], plan: BuildPlan) -> None:
        """Make every variable known that occurs in a branch and also elsewhere."""
        for branch in branches:
            for variable, count in Counter(variables(branch)).items():
                if count < self.occurrences[variable]:
                    self.layout.touch(variable, plan)


def _conjuncts(body: Term) -> list[Term]:
    """Return the goals of a conjunction from left to right."""
    goals: list[Term] = []
    todo = [body]
    while todo:
        goal = deref(todo.pop())
        if _is_form(goal, ","):
            todo.extend((goal[2], goal[1]))
        else:
            goals.append(goal)
    return goals


def _is_form(goal: Term, name: str) -> bool:
    return goal.__class__ is tuple and len(goal) == 3 and goal[0] == name


def _opened(fresh: tuple[int, ...], code: Code) -> Code:
    def run(machine: Machine, registers: Registers, cont: Frame) -> Frame | None:
        for slot in fresh:
            registers[slot] = Variable()
        return code(machine, registers, cont)

    return run


def _raise_not_callable(goal: Term) -> StepTest:
    def test(_registers: Registers, _machine: Machine) -> bool:
        raise type_error("callable", goal)

    return test


def _cut(barrier: int) -> StepTest:
    def cut(registers: Registers, machine: Machine) -> bool:
        del machine.choices[registers[barrier] :]
        return True

    return cut


def _assign(target: int, source: int) -> StepTest:
    def assign(registers: Registers, _machine: Machine) -> bool:
        registers[target] = registers[source]
        return True

    return assign


def _compute(target: int, expression: Expression) -> StepTest:
    def compute(registers: Registers, machine: Machine) -> bool:
        value = registers[target] = expression(registers, machine)
        if value.__class__ is int and not -LONG < value < LONG:
            charge_result(value, machine.trail)
        return True

    return compute


def _unify_result(slot: int, expression: Expression) -> StepTest:
    def run(registers: Registers, machine: Machine) -> bool:
        value = expression(registers, machine)
        charge_result(value, machine.trail)
        return unify(registers[slot], value, machine.trail)

    return run


def _in_place(test: Callable[[Machine, Any], bool], getter: Callable[[Any], Any]) -> StepTest:
    return lambda registers, machine: test(machine, getter(registers))


COMPILER = GoalCompiler(compile_clause, compile_goal, CODES, PROTECTED)
