"""Tabling: the answers of a tabled predicate are computed to the end, each once, so left recursion and cycles end.

A call is looked up by its variant. The first call of a variant generates: its clauses run to exhaustion, every new
answer is filed, then its caller goes on over the filed answers. A call of a variant that is still being generated
consumes what is filed, new answers included, and makes both one component. The component's leader, its oldest call,
runs again while some consumer has missed an answer; then all its tables are complete (linear tabling).
Law: `low` and `index` are those of Tarjan's algorithm; a generator leaves no choice behind but its own.
Law: only complete tables reach the database; what is under way belongs to one machine and dies with it.
A table notes the calls that its clauses made and the tables they asked; see `tables` for what a change does to it.
"""

from __future__ import annotations

from typing import Any

from etalis.logic.errors import LogicError, LogicLimitError
from etalis.logic.machine.machine import GUARDS, Code, Frame, Machine
from etalis.logic.tabling.tables import Answers, Key, Needs, TableStore
from etalis.logic.terms.iso_errors import show
from etalis.logic.terms.unify import Term, Variable, copy, deref

_NEVER = 1 << 60
_KEPT = 2_000_000
_IDLE, _RUNNING, _WAITING = range(3)


class AnswerTable:
    """The answers of one variant while they are being found."""

    __slots__ = (
        "answers", "args", "caller_guard", "filed", "floor", "generation", "height", "index", "key", "low", "name",
        "needs", "opened", "place", "run", "state", "variables",
    )  # fmt: skip

    def __init__(self, key: Key, name: str) -> None:
        self.key = key
        self.name = name
        self.answers: Answers = []
        self.filed: set[Key] = set()
        self.needs = Needs()
        self.state = _IDLE
        self.floor = _NEVER  # the least number of answers at which a consumer gave up
        self.index = self.low = self.place = self.height = self.opened = self.generation = self.caller_guard = 0
        self.args: tuple[Term, ...] = ()
        self.variables: list[Variable] = []
        self.run: Code | None = None

    @property
    def settled(self) -> bool:
        """Tell whether nothing can be added: a call without variables has one answer at most."""
        return bool(self.answers) and not self.variables


class Tabling:
    """What one machine has under way: the generators, the component stack, and its own store if it needs one."""

    __slots__ = ("component", "counter", "filed", "guard", "opened", "running", "store", "tables")

    def __init__(self) -> None:
        self.tables: dict[Key, AnswerTable] = {}
        self.running: list[AnswerTable] = []
        self.component: list[AnswerTable] = []
        self.store = TableStore()
        self.counter = 0
        self.guard = 0  # index of the innermost generator that was called under a negation or the like
        self.opened = 0  # consumers that have not given up yet
        self.filed = 0

    def start(self, store: TableStore) -> None:
        """Begin with a call that no other generator waits for: what was left unfinished is of no use any more."""
        if self.tables:
            self.tables.clear()
        self.filed = 0
        if store.size > _KEPT:
            store.clear()

    def note_call(self, predicate: Any, key: Any) -> None:
        """Note that the table being filled depends on the clauses of a predicate under an index key, None for all."""
        if self.running:
            self.running[-1].needs.calls.add((predicate, key))

    def note_passing(self) -> None:
        """Note that the table being filled depends on what may be otherwise in the next condition."""
        if self.running:
            self.running[-1].needs.passing = True

    def abandon(self, frame: Frame) -> None:
        """Forget a generator that an error ends; called for every choice that the error takes away."""
        if frame[0] is not _end_round:
            return
        table: AnswerTable = frame[1]
        while self.running:
            last = self.running.pop()
            self.opened, self.guard = last.opened, last.caller_guard
            if last is table:
                break
        self.release(table.place)

    def release(self, place: int) -> None:
        """Take tables off the component stack; when called again they are generated again."""
        for table in self.component[place:]:
            table.state = _IDLE
        del self.component[place:]


def call_tabled(machine: Machine, name: str, run: Code, args: tuple[Term, ...], cont: Frame) -> Frame | None:
    """Call a tabled predicate; `run` calls its clauses."""
    tabling = machine.tabling
    if tabling is None:
        tabling = machine.tabling = Tabling()
    key, variables = _variant((name, len(args)), args, machine)
    own, shared = tabling.store.at(machine.database.generation), machine.database.tables
    if tabling.running:
        tabling.running[-1].needs.tables.add(key)
    else:
        tabling.start(shared)
    answers = own.answers.get(key)
    if answers is None and not _is_passing(machine):
        answers = shared.answers.get(key)
    if answers is not None:
        return _replay(machine, (answers, 0, variables), cont)
    table = tabling.tables.get(key)
    if table is None:
        table = tabling.tables[key] = AnswerTable(key, name)
        _count(machine, tabling)
    elif not variables and table.answers:
        return cont
    if table.state != _IDLE:
        return _consume(machine, tabling, table, variables, cont)
    table.args, table.variables, table.run = args, variables, run
    return _generate(machine, tabling, table, cont)


def _variant(head: Key, terms: tuple[Term, ...], machine: Machine) -> tuple[Key, list[Variable]]:
    """Return a flat key, equal for terms that differ in the names of variables only, and the variables in order."""
    key: list[Any] = [head]
    numbers: dict[Variable, tuple[int]] = {}
    todo = list(terms[::-1])
    while todo:
        term = deref(todo.pop())
        if term.__class__ is Variable:
            key.append(numbers.setdefault(term, (len(numbers),)))
        elif term.__class__ is tuple and term:
            key.append((term[0], len(term)))
            todo.extend(term[:0:-1])
            machine.trail.charge(1)
            if len(key) > machine.limits.size:
                raise LogicLimitError("size", machine.limits.size)
        else:
            key.append(term)
    return tuple(key), list(numbers)


def _count(machine: Machine, tabling: Tabling) -> None:
    tabling.filed += 1
    if tabling.filed > machine.limits.size:
        raise LogicLimitError("size", machine.limits.size)


def _generate(machine: Machine, tabling: Tabling, table: AnswerTable, cont: Frame) -> Frame | None:
    """Begin to generate a table; its index is new, older than that of all it calls."""
    tabling.counter += 1
    table.index = tabling.counter
    table.caller_guard = tabling.guard
    if tabling.running and _is_guarded(machine, cont):
        tabling.guard = table.index
    table.opened = tabling.opened
    table.generation = machine.database.generation
    table.place = len(tabling.component)
    tabling.component.append(table)
    tabling.running.append(table)
    return _begin_round(machine, table, cont)


def _begin_round(machine: Machine, table: AnswerTable, cont: Frame) -> Frame | None:
    table.state, table.floor, table.low = _RUNNING, _NEVER, table.index
    table.height = len(machine.choices)
    machine.choices.append((len(machine.trail), (_end_round, table, cont)))
    assert table.run is not None
    return table.run, table.args, (_file, table, cont)


def _file(machine: Machine, table: AnswerTable, _cont: Frame) -> Frame | None:
    """File an answer if it is new, and ask for the next; a call without variables needs no more than one."""
    tabling = machine.tabling
    assert tabling is not None
    if not table.variables:
        table.answers = table.answers or [()]
        del machine.choices[table.height + 1 :]
        tabling.opened = table.opened
        return None
    values = tuple(map(deref, table.variables))
    key, _ = _variant((), values, machine)
    if key not in table.filed:
        _count(machine, tabling)
        table.filed.add(key)
        table.answers.append(copy(("", *values), machine.limits.size, machine.trail)[1:])
    return None


def _end_round(machine: Machine, table: AnswerTable, cont: Frame) -> Frame | None:
    """All clauses have run: go round again, or let the caller go on."""
    tabling = machine.tabling
    assert tabling is not None
    if tabling.opened != table.opened:
        tabling.abandon((_end_round, table, cont))
        raise _unstratified(table, "a cut takes answers away")
    members = tabling.component[table.place :]
    leads = table.low == table.index
    if leads and not table.settled and any(m.floor < len(m.answers) for m in members):
        tabling.release(table.place + 1)
        return _begin_round(machine, table, cont)
    tabling.running.pop()
    tabling.guard = table.caller_guard
    if leads:
        return _finish_component(machine, tabling, table, members, cont)
    table.state = _WAITING
    if table.settled:
        _depend(tabling, table.low)
        return cont
    return _consume(machine, tabling, table, table.variables, cont)


def _finish_component(
    machine: Machine, tabling: Tabling, leader: AnswerTable, members: list[AnswerTable], cont: Frame
) -> Frame | None:
    """Keep what is complete; a leader that is settled may have stopped before its members were."""
    tabling.release(leader.place)
    complete = members[:1] if leader.settled else members
    generation = machine.database.generation
    if all(table.generation == generation for table in complete):
        _keep(machine, tabling, complete)
    for table in complete:
        if tabling.tables.get(table.key) is table:
            del tabling.tables[table.key]
    return _replay(machine, (leader.answers, 0, leader.variables), cont)


def _is_passing(machine: Machine) -> bool:
    """Tell whether tables may depend on values or the time of one call."""
    return bool(machine.extra) or machine.view is not None


def _keep(machine: Machine, tabling: Tabling, complete: list[AnswerTable]) -> None:
    """Keep tables for later conditions; those that may depend on the values of this one stay with its machine."""
    shared, kept = machine.database.tables, {table.key for table in complete}
    found = [_all_needs(tabling, shared, table, kept) for table in complete]
    passing = _is_passing(machine) or any(needs.passing for needs in found)
    store = tabling.store.at(machine.database.generation) if passing else shared
    for table, needs in zip(complete, found, strict=True):
        store.keep(table.key, table.answers, needs)


def _all_needs(tabling: Tabling, shared: TableStore, table: AnswerTable, kept: set[Key]) -> Needs:
    """Return what a table depends on, with all that those tables do which are not kept themselves."""
    found = Needs(set(table.needs.calls), set(), table.needs.passing)
    todo, seen = list(table.needs.tables), {table.key}
    while todo:
        key = todo.pop()
        if key in seen:
            continue
        seen.add(key)
        other = tabling.tables.get(key)
        if key in kept or key in shared.answers:
            found.tables.add(key)
        elif other is None:
            found.passing = True  # one of this machine's own
        else:
            found.calls |= other.needs.calls
            found.passing |= other.needs.passing
            todo.extend(other.needs.tables)
    return found


def _depend(tabling: Tabling, low: int) -> None:
    """The innermost generator depends on one that is not complete."""
    caller = tabling.running[-1]
    caller.low = min(caller.low, low)


def _consume(
    machine: Machine, tabling: Tabling, table: AnswerTable, variables: list[Variable], cont: Frame
) -> Frame | None:
    """Go on over the answers of a table that is not complete, those included that are filed meanwhile."""
    low = table.index if table.state == _RUNNING else table.low
    _depend(tabling, low)
    if tabling.guard > low or _is_guarded(machine, cont):
        raise _unstratified(table, "a negation, a condition or a collection of all solutions needs its answers")
    if not variables:
        table.floor = 0
        return None
    tabling.opened += 1
    return _consume_next(machine, (table, 0, variables), cont)


def _consume_next(machine: Machine, args: tuple[AnswerTable, int, list[Variable]], cont: Frame) -> Frame | None:
    table, i, variables = args
    if i == len(table.answers):
        table.floor = min(table.floor, i)
        assert machine.tabling is not None
        machine.tabling.opened -= 1
        return None
    machine.choices.append((len(machine.trail), (_consume_next, (table, i + 1, variables), cont)))
    _bind(machine, variables, table.answers[i])
    return cont


def _replay(machine: Machine, args: tuple[Answers, int, list[Variable]], cont: Frame) -> Frame | None:
    """Give the answers of a complete table one by one; the last leaves no choice behind."""
    answers, i, variables = args
    if i == len(answers):
        return None
    if i + 1 < len(answers):
        machine.choices.append((len(machine.trail), (_replay, (answers, i + 1, variables), cont)))
    _bind(machine, variables, answers[i])
    return cont


def _bind(machine: Machine, variables: list[Variable], answer: tuple[Term, ...]) -> None:
    """Bind the variables of a call to an answer, whose own variables are made anew."""
    trail = machine.trail
    if any(value.__class__ is tuple or value.__class__ is Variable for value in answer):
        answer = copy(("", *answer), machine.limits.size, trail)[1:]
    for variable, value in zip(variables, answer, strict=True):
        variable.ref = value
        trail.append(variable)


def _is_guarded(machine: Machine, cont: Frame) -> bool:
    """Tell whether a negation, a condition or a findall stands between a call and the generator it belongs to."""
    frame: Frame | None = cont
    walked = 0
    while frame is not None and frame[0] is not _file:
        if frame[0] in GUARDS:
            return True
        walked += 1
        frame = frame[2]
    machine.trail.charge(walked)
    return False


def _unstratified(table: AnswerTable, reason: str) -> LogicError:
    indicator = ("/", table.name, len(table.args))
    return LogicError(
        ("error", ("stratification_error", indicator), "goal"),
        "E510",
        f"{show(indicator)} is tabled and depends on itself where {reason} before all are known",
        "let the negated or collected goal not depend on the predicate that asks",
    )
