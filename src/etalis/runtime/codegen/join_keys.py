"""The key of a join in generated code: shared variables, and what its conditions make equal (`KeyPair`).

A computed key is None for an instance of which the conditions may raise an error: such an instance waits in a group of
its own, which every probe looks at, and looks at all groups itself. What is put together of several groups is in order
of (end, start, arrival), as one group would be; so instances of these stores carry the number of their arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from etalis.data.values import Real
from etalis.errors import EtalisError
from etalis.language import syntax as s
from etalis.logic.arithmetic.functions import BINARY, UNARY
from etalis.logic.machine.predicate import Predicate
from etalis.plan import algebra as p
from etalis.plan.binarize import term_variables
from etalis.plan.rewrite.join_keys import LARGEST
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.runtime.operators.gathering import ARRIVAL, ArrivalStore, Gathered, gather, gather_all, next_arrival

if TYPE_CHECKING:
    from etalis.logic.solver import Solver

Names = dict[str, str]
Search = Callable[..., tuple[Any, Any]]  # of a store and values: the key of the group that they find, and the group

NUMBERS = frozenset((int, float, Real))
_INFIX = frozenset("+-*")


class JoinKeys:
    """The key of one join: `shared` variables that both sides always bind, then what the plan says must be equal."""

    def __init__(self, node: p.Join, shared: Sequence[str]) -> None:
        self.shared = list(shared)
        self.pairs = node.keys_on
        self.fact = next((pair for pair in self.pairs if pair.kind == "fact"), None)
        self.is_loose = any(pair.numbers or pair.kind in ("number", "integer") for pair in self.pairs)
        self.names = [*self.shared, *(f"$key{i}" for i in range(len(self.pairs)))]
        self.make_store: Callable[[], dict[Any, Any]] = ArrivalStore if self.gathers else dict

    @property
    def gathers(self) -> bool:
        """Whether a probe may look at several groups."""
        return self.is_loose or self.fact is not None

    @property
    def marks(self) -> dict[str, Any]:
        """What an instance carries beside its values, with what makes it."""
        return {ARRIVAL: next_arrival} if self.gathers else {}

    def write(self, code: Code, place: int, names: Names) -> str:
        """Write the key of an instance of one side, and return its expression."""
        parts = [names[v] for v in self.shared]
        computed = []
        for pair in self.pairs:
            text, can_be_plain = write_key(code, pair, place, names)
            if not can_be_plain:
                local = code.fresh("q")
                code(f"{local} = {text}")
                computed.append(local)
                text = local
            parts.append(text)
        if not parts:
            return "0"
        if len(parts) == 1:
            return parts[0]
        key = code.fresh("q")
        code(f"{key} = {tuple_of(parts)}")
        if computed:
            with code.block(f"if {' or '.join(f'{local} is None' for local in computed)}:"):
                code(f"{key} = {self._loose(parts)}")
        return key

    def _loose(self, parts: Sequence[str]) -> str:
        """Return the key of instances that meet everything."""
        if len(parts) == 1:
            return "None"
        return tuple_of([*parts[: len(self.shared)], *["None"] * len(self.pairs)])

    def find(self, code: Code, place: int, names: Names, key: str, other: str, group: str, solver: Solver) -> str:
        """Write that a group of the other side's store is found, and return the expression of its key there."""
        if self.fact is not None:
            at = code.fresh("q")
            search, inputs = fact_search(self.fact, place, solver)
            call = f"{code.constant(search)}({', '.join([other, *(names[v] for v in inputs)])})"
            if self.is_loose:
                call = f"{call} if {key} is not None and None not in {other} else {code.constant(gather_all)}({other})"
            code(f"{at}, {group} = {call}")
            return at
        code(f"{group} = {other}.get({key})")
        if self.is_loose:
            loose = self._loose([names[v] for v in self.shared] + ["None"] * len(self.pairs))
            last = f"{key}[-1]" if len(self.names) > 1 else key
            with code.block(f"if {last} is None or {loose} in {other}:"):
                code(f"{group} = {code.constant(gather)}({other}, {key}, {loose}, {len(self.shared)})")
        return key


def write_key(code: Code, pair: p.KeyPair, place: int, names: Names) -> tuple[str, bool]:
    """Return the expression of one side of a pair, and whether it is a variable that always has a value."""
    term = (pair.left, pair.right)[place]
    guards = [f"{names[v]}.__class__ in {code.constant(NUMBERS)}" for v in pair.numbers if v in names]
    guards += [f"-{code.constant(LARGEST)} < {names[v]} < {code.constant(LARGEST)}" for v in pair.numbers if v in names]
    if pair.kind in ("value", "fact"):
        assert isinstance(term, s.Var)
        text = names[term.name]
        return (f"({text} if {' and '.join(guards)} else None)", False) if guards else (text, True)
    variables = [v for v in term_variables(term) if v not in pair.numbers]
    if pair.kind == "integer" and _is_plain(term):
        guards += [f"{names[v]}.__class__ is int" for v in term_variables(term)]
        text = _infix(code, term, names)
    elif _is_plain(term):
        guards += [f"{names[v]}.__class__ in {code.constant(NUMBERS)}" for v in variables]
        guards += [f"-{code.constant(LARGEST)} < {names[v]} < {code.constant(LARGEST)}" for v in variables]
        text = f"{_infix(code, term, names)} + 0.0"
    else:
        inputs = term_variables(term)
        make = code.constant(number_key(term, inputs, integers=pair.kind == "integer"))
        text = f"{make}({', '.join(names[v] for v in inputs)})"
    return (f"({text} if {' and '.join(guards)} else None)" if guards else text), False


def _is_plain(term: s.Term) -> bool:
    """Tell whether Python computes a term as the logic machine does, of plain numbers."""
    match term:
        case s.Compound(name=name, args=(a, b)):
            return name in _INFIX and _is_plain(a) and _is_plain(b)
        case _:
            return isinstance(term, s.Var | s.Const)


def _infix(code: Code, term: s.Term, names: Names) -> str:
    match term:
        case s.Compound(name=name, args=(a, b)):
            return f"({_infix(code, a, names)} {name} {_infix(code, b, names)})"
        case s.Var(name=name):
            return names[name]
        case s.Const(value=value):
            return code.constant(value)
    raise AssertionError("a plain term")


def number_key(term: s.Term, inputs: Sequence[str], *, integers: bool) -> Callable[..., Any]:
    """Return the function of the inputs that gives the number of an expression as a key, None where there is none."""
    compute = _computation(term, {name: place for place, name in enumerate(inputs)})

    def key(*values: Any) -> Any:
        if any(value.__class__ not in NUMBERS or not -LARGEST < value < LARGEST for value in values):
            return None
        try:
            number = compute(values)
        except EtalisError:
            return None
        if integers:
            return number if number.__class__ is int else None
        return number + 0.0 if -LARGEST < number < LARGEST else None

    return key


def _computation(term: s.Term, places: dict[str, int]) -> Callable[[tuple[Any, ...]], Any]:
    match term:
        case s.Var(name=name):
            place = places[name]
            return lambda values: values[place]
        case s.Compound(name=name, args=(a, b)):
            binary, x, y = BINARY[name], _computation(a, places), _computation(b, places)
            return lambda values: binary(x(values), y(values))
        case s.Compound(name=name, args=(a,)):
            unary, z = UNARY[name], _computation(a, places)
            return lambda values: unary(z(values))
        case s.Const(value=value):
            return lambda _: value
    raise AssertionError("an expression")


def fact_search(pair: p.KeyPair, place: int, solver: Solver) -> tuple[Search, tuple[str, ...]]:
    """Return the search for partners by a fact, and the variables of an instance of one side that it asks with."""
    goal, database = pair.fact, solver.database
    assert goal is not None
    assert isinstance(pair.left, s.Var)
    assert isinstance(pair.right, s.Var)
    own, theirs = (pair.left, pair.right) if place == 0 else (pair.right, pair.left)
    predicate: Predicate = database.predicate(goal.name, len(goal.args))
    wanted = goal.args.index(theirs)
    known = [(i, arg) for i, arg in enumerate(goal.args) if arg == own or isinstance(arg, s.Const)]
    positions = tuple(i for i, _ in known)
    constants = [arg.value if isinstance(arg, s.Const) else None for _, arg in known]
    mine = [i for i, (_, arg) in enumerate(known) if arg == own]
    is_bare = len(known) == 1

    def search(store: dict[Any, Any], value: Any) -> tuple[Any, Any]:
        relation, versions = predicate.relation, database.versions
        if relation is None or not predicate.defined or (versions is not None and versions.changed):
            return gather_all(store)
        asked = value if is_bare else tuple([value if i in mine else x for i, x in enumerate(constants)])
        found, rows, died = relation.find(positions, asked), relation.rows, relation.died
        if len(found) == 1:
            at = rows[found[0]][wanted]
            return at, None if found[0] in died else store.get(at)
        if len(found) > len(store):
            return gather_all(store)
        keys = dict.fromkeys(rows[number][wanted] for number in found if number not in died)
        groups = [(key, store[key]) for key in keys if key in store]
        if len(groups) < 2:
            return groups[0] if groups else (None, None)
        return None, Gathered(groups)

    return search, (own.name,)
