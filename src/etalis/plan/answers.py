"""Types of the variables that goals bind: abstract interpretation over the clauses and facts of a database.

A predicate is asked with what is known of its arguments, and answers what is known of them when it succeeds: over
facts, the types of their columns; over rules, what their bodies leave, up to a fixpoint where they are recursive. Law:
an answer covers every solution, whatever cuts and order do; a goal that nothing is known of may bind what it mentions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import TypeAlias

from etalis.language.check.goals import TIMES
from etalis.logic.machine.database import Database, Key
from etalis.logic.machine.predicate import Predicate
from etalis.logic.sparql.functions import FUNCTIONS
from etalis.logic.terms.unify import Term, Variable, deref, split_list
from etalis.plan.lattice import (
    ANY_VALUE,
    ANYTHING,
    TERM,
    Type,
    TypeBound,
    narrow,
    one_of,
    type_of_column,
    type_of_value,
)
from etalis.plan.numbers import number_type

Known: TypeAlias = Mapping[Variable, TypeBound]  # a variable that is not there has no value yet
Places: TypeAlias = tuple[TypeBound, ...]

_MOST = 2_000  # questions; what is asked beyond is not followed
_DEEPEST = 200  # goals within goals
_INT, _TEXT = TypeBound("int", True), TypeBound("string", True)
_APART = frozenset({"int", "float", "string"})  # no value but null is of two of these
_PASSING = frozenset({"once", "call", "prolog", "query", "db"})
_WHOLE = frozenset({"+", "-", "*", "neg", "pos", "abs"})  # of integers, in expressions of SPARQL
_ALL_OF_FIRST = ((0,), (ANY_VALUE, ANY_VALUE))
_BUILT_IN: Mapping[Key, tuple[tuple[int, ...], Places]] = {
    ("between", 3): ((), (_INT, ANYTHING, _INT)),
    ("succ", 2): ((), (_INT, _INT)),
    ("length", 2): ((), (ANYTHING, _INT)),
    ("atom_length", 2): ((), (ANYTHING, _INT)),
    ("string_length", 2): ((), (ANYTHING, _INT)),
    ("char_code", 2): ((), (_TEXT, _INT)),
    ("atom_concat", 3): ((0, 1), (ANYTHING, ANYTHING, _TEXT)),
    ("upcase_atom", 2): ((), (ANYTHING, _TEXT)),
    ("downcase_atom", 2): ((), (ANYTHING, _TEXT)),
    ("sub_atom", 5): ((), (ANYTHING, _INT, _INT, _INT, ANY_VALUE)),
    ("atomic_list_concat", 2): ((), (ANYTHING, _TEXT)),
    ("atomic_list_concat", 3): ((0,), (ANYTHING, ANYTHING, _TEXT)),
    **dict.fromkeys([(name, 2) for name in ("sort", "msort", "reverse", "list_to_set", "last")], _ALL_OF_FIRST),
    **dict.fromkeys([(name, 2) for name in ("sum_list", "sumlist", "max_list", "min_list")], _ALL_OF_FIRST),
    **dict.fromkeys([(name, 2) for name in ("atom_chars", "atom_codes", "atom_number", "=..")], _ALL_OF_FIRST),
    **dict.fromkeys([(name, 3) for name in ("nth0", "nth1")], ((1,), (ANY_VALUE,) * 3)),
}  # what is known of the arguments afterwards, if those at some places had no variable before
_BINDS_ALL = frozenset({("atom_concat", 3), ("string_concat", 3), ("text_concat", 3)})  # whatever they are asked with


class Answers:
    """What goals bind, over the knowledge of a database as it is now; without one, nothing is known of predicates.

    Facts of `changing` predicates may be others later, so nothing is known of what they bind, but that they are values
    of the types in `learned` if these are told. `columns` are the types that the tables of facts had, which hold where
    all facts fit them. Times of matches are of the type `moments`.
    """

    def __init__(
        self, database: Database | Callable[[], Database | None] | None = None, *, changing: Collection[Key] = (),
        columns: Mapping[Key, Sequence[str | None]] | None = None, moments: str = TERM,
        learned: Mapping[Key, Sequence[Type]] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self._database = database
        self.changing = {*changing, *learned}
        self.learned = {key: tuple(TypeBound(each, True) for each in types) for key, types in learned.items()}
        self.tables = columns or {}
        self.moment = TypeBound(moments, True)
        self._found: dict[tuple[Key, Places], Places | None] = {}  # None: no solution so far
        self._fresh: list[tuple[Key, Places]] = []
        self._columns: dict[Key, Places] = {}

    @property
    def database(self) -> Database | None:
        """The knowledge, which is put together when it is first asked for."""
        if callable(self._database):
            self._database = self._database()
        return self._database

    def solve(self, goal: Term, known: Known) -> Known | None:
        """Return what is known of a goal's variables when it succeeds; None if it never does."""
        while True:
            found = self._run(goal, known, 0)
            if not self._fresh:
                return found
            self._settle()

    def _settle(self) -> None:
        """Answer the new questions, and what they ask in turn, until no answer grows."""
        grows = True
        while grows:
            grows = False
            for asked in self._fresh:  # which may become more meanwhile
                old = self._found[asked]
                new = _either(old, self._defined(*asked))
                if new != old:
                    self._found[asked] = new
                    grows = True
        self._fresh = []

    def _run(self, goal: Term, known: Known, depth: int) -> Known | None:
        """Run a goal; one that is not followed binds nothing that is sure."""
        if depth > _DEEPEST:
            return known
        found: Known | None = known
        while found is not None:
            match deref(goal):
                case (",", one, goal):
                    found = self._run(one, found, depth + 1)
                case other:
                    return self._step(other, found, depth + 1)
        return None

    def _step(self, goal: Term, known: Known, depth: int) -> Known | None:
        match goal:
            case "fail" | "false":
                return None
            case (";", one, other):
                return _way_of(self._run(one, known, depth), self._run(other, known, depth))
            case ("->" | "*->", one, other):
                return self._run((",", one, other), known, depth)
            case ("ignore", inner):
                return _way_of(known, self._run(inner, known, depth))
            case (str() as name, inner) if name in _PASSING:
                return self._run(inner, known, depth)
            case ("catch", inner, _, otherwise):
                return _way_of(self._run(inner, known, depth), self._run(otherwise, known, depth))
            case ("is", result, expression):
                return match_bound(result, TypeBound(number_type(expression, known), True), known)
            case ("=", one, other):
                return unify(one, other, known)
            case ("sparql", expression, result) if isinstance(deref(result), Variable) and deref(result) not in known:
                return {**known, deref(result): TypeBound(_expression_type(expression, known), False)}
            case (str() as name, *args) if args:
                return self._call(name, args, known, depth)
            case _:
                return known

    def _call(self, name: str, args: Sequence[Term], known: Known, depth: int) -> Known | None:
        """Call a predicate: the program's own, else what is built in or of the library."""
        key = (name, len(args))
        if not self._is_own(key):
            match name, args:
                case ("member" | "memberchk", (item, several)) if split_list(several)[1] == ():
                    nothing: Known | None = None
                    ways = (unify(item, each, known) for each in split_list(several)[0])
                    return reduce(_way_of, ways, nothing)
                case "findall", (each, inner, result):
                    inside = self._run(inner, known, depth)
                    is_closed = inside is None or bound_of(each, inside).sure
                    return match_bound(result, ANY_VALUE if is_closed else ANYTHING, known)
                case "aggregate_all", (what, inner, result):
                    return self._total(what, result, self._run(inner, known, depth), known)
        answer = self._answer(key, tuple(bound_of(arg, known) for arg in args))
        return None if answer is None else _match_all(args, answer, known)

    def _total(self, what: Term, result: Term, inside: Known | None, known: Known) -> Known | None:
        """Return what is known after an aggregate over all solutions; without any, a sum is the integer 0."""
        match deref(what):
            case "count":
                return match_bound(result, _INT, known)
            case ("sum", each):
                total = "int" if inside is None else number_type(each, inside) or "int"
                return match_bound(result, TypeBound("int" if total == "int" else TERM, True), known)
            case ("max" | "min", each):
                found = None if inside is None else number_type(each, inside)
                return None if inside is None else match_bound(result, TypeBound(found, True), known)
            case _:
                return known

    def _answer(self, key: Key, asked: Places) -> Places | None:
        """Return what is known so far of a predicate's arguments when it succeeds."""
        nothing = (ANYTHING,) * key[1]
        if key in self.learned:
            return self.learned[key]
        if self._predicate(key) is None:
            if key in TIMES and not self._is_own(key):
                return (self.moment,)
            if self._is_own(key):
                return nothing
            otherwise = (ANY_VALUE,) * key[1] if key in _BINDS_ALL else nothing
            needed, answer = _BUILT_IN.get(key, ((), otherwise))
            return answer if all(asked[place].sure for place in needed) else otherwise
        if (key, asked) not in self._found:
            if len(self._found) >= _MOST:
                return nothing
            self._found[key, asked] = None
            self._fresh.append((key, asked))
        return self._found[key, asked]

    def _is_own(self, key: Key) -> bool:
        """Tell whether the program or the host defines a predicate."""
        return key in self.changing or (self.database is not None and self.database.overrides(*key))

    def _predicate(self, key: Key) -> Predicate | None:
        """Return a predicate that is made of clauses."""
        if (
            self.database is None
            or key in self.changing
            or not (self.database.overrides(*key) or self.database.provides(*key))
        ):
            return None
        if not self.database.overrides(*key) and key in self.database.compiler.codes:
            return None
        found = self.database.predicate(*key)
        return None if found.fixed else found

    def _defined(self, key: Key, asked: Places) -> Places | None:
        """Return what is known of a predicate's arguments after its clauses, given the answers so far."""
        predicate = self._predicate(key)
        assert predicate is not None
        if predicate.relation is not None:
            is_empty = not len(predicate.relation) and key not in self.tables
            return None if is_empty else tuple(map(narrow, asked, self._facts(key, predicate)))
        found: Places | None = None
        for args, body in predicate.live():
            found = _either(found, self._clause(args, body, asked))
        return found

    def _facts(self, key: Key, predicate: Predicate) -> Places:
        """Return the types of the columns of a predicate's facts."""
        if key not in self._columns:
            known, relation = self.tables.get(key, (None,) * key[1]), predicate.relation
            assert relation is not None
            self._columns[key] = relation.remembered(("types", known), lambda: _column_types(predicate, known))
        return self._columns[key]

    def is_mixed(self, key: Key) -> bool:
        """Tell whether the facts of a predicate, which was asked for, have a place without a type of its own."""
        return any(place.type == TERM for place in self._columns.get(key, ()))

    def _clause(self, args: Sequence[Term], body: Term, asked: Places) -> Places | None:
        called = _match_all(args, asked, {})
        known = None if called is None else self._run(body, called, 0)
        return None if known is None else tuple(bound_of(arg, known) for arg in args)


def _expression_type(expression: Term, known: Known) -> Type:
    """Return the type of an expression of SPARQL, which may also have no value; floats may become infinite, a text."""
    todo = [deref(expression)]
    match todo[0]:
        case (str() as name, *_) if name in FUNCTIONS and name not in _WHOLE:
            return FUNCTIONS[name].gives
    while todo:
        match deref(todo.pop()):
            case (str() as name, *args) if name in _WHOLE:
                todo += args
            case other:
                if bound_of(other, known).type != "int":
                    return TERM
    return "int"


def _column_types(predicate: Predicate, known: Sequence[Type]) -> Places:
    columns = list(zip(*(row for row, _ in predicate.live()), strict=True)) or [()] * len(known)
    types = (type_of_column(column, table) for column, table in zip(columns, known, strict=True))
    return tuple(TypeBound(found, True) for found in types)


def _either(a: Places | None, b: Places | None) -> Places | None:
    return b if a is None else a if b is None else tuple(map(one_of, a, b))


def _way_of(a: Known | None, b: Known | None) -> Known | None:
    """Return what is known when one of two ways was gone."""
    if a is None or b is None:
        return b if a is None else a
    return {variable: one_of(a[variable], b[variable]) for variable in a if variable in b}


def bound_of(term: Term, known: Known) -> TypeBound:
    """Return what is known of a term's value."""
    match deref(term):
        case Variable() as variable:
            return known.get(variable, ANYTHING)
        case (_, *args) as compound if args:
            return ANY_VALUE if all(known.get(v, ANYTHING).sure for v in _variables(compound)) else ANYTHING
        case value:
            return TypeBound(type_of_value(value), True)


def match_bound(term: Term, bound: TypeBound, known: Known) -> Known | None:
    """Return what is known once a term equals a value of which something is known; None if it cannot."""
    match deref(term):
        case Variable() as variable:
            return {**known, variable: narrow(known.get(variable, ANYTHING), bound)}
        case (_, *args) as compound if args:
            inside = {v: narrow(known.get(v, ANYTHING), ANY_VALUE) for v in _variables(compound)} if bound.sure else {}
            return None if bound.sure and bound.type in _APART else {**known, **inside}
        case value:
            types = {bound.type, type_of_value(value)}
            return None if bound.sure and len(types) > 1 and types <= _APART else known


def _match_all(terms: Sequence[Term], bounds: Places, known: Known) -> Known | None:
    found: Known | None = known
    for term, bound in zip(terms, bounds, strict=True):
        found = None if found is None else match_bound(term, bound, found)
    return found


def unify(a: Term, b: Term, known: Known) -> Known | None:
    """Return what is known once two terms are equal; None if they cannot be."""
    waiting = [(a, b)]
    found: Known | None = known
    while waiting and found is not None:
        one, other = map(deref, waiting.pop())
        if isinstance(one, tuple) and isinstance(other, tuple):
            if len(one) != len(other) or one[:1] != other[:1]:
                return None
            waiting.extend(zip(one[1:], other[1:], strict=True))
        else:
            found = match_bound(one, bound_of(other, found), found)
            found = None if found is None else match_bound(other, bound_of(one, found), found)
    return found


def _variables(term: Term) -> Iterator[Variable]:
    """Yield the variables of a term."""
    waiting = [term]
    while waiting:
        match deref(waiting.pop()):
            case Variable() as variable:
                yield variable
            case tuple() as compound:
                waiting.extend(compound[1:])
