"""The table of built-in predicates: name and arity to function.

`TESTS` succeed at most once and run in place; `CODES` are all that can be called by name, tests included. A program may
define predicates of these names itself, except the `PROTECTED` ones. Nothing here reaches files, processes or Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from etalis.logic.builtins.characters import CHARACTER_CODES
from etalis.logic.builtins.lists import LIST_CODES, LIST_TESTS
from etalis.logic.builtins.memory import STATE_TESTS
from etalis.logic.builtins.output import OUTPUT_CODES, OUTPUT_TESTS
from etalis.logic.builtins.reading import READING_TESTS
from etalis.logic.builtins.reflection import INSPECTION_CODES, INSPECTION_TESTS
from etalis.logic.builtins.shape import SHAPE_TESTS
from etalis.logic.builtins.solutions import SOLUTION_CODES
from etalis.logic.builtins.sparql import SPARQL_CODES, SPARQL_TESTS, WINDOW_TESTS
from etalis.logic.builtins.terms import TERM_CODES, TERM_TESTS
from etalis.logic.builtins.text import TEXT_CODES, TEXT_TESTS
from etalis.logic.builtins.time import TIME_TESTS
from etalis.logic.builtins.updates import UPDATE_CODES, UPDATE_TESTS
from etalis.logic.machine.control import FORMS, call_goal, catch, throw
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Code, Frame, Machine, Test
from etalis.logic.terms.unify import Term

MAX_CALL_ARITY = 8


def _as_code(test: Test) -> Code:
    """Make a test callable like any predicate."""

    def run(machine: Machine, args: tuple[Term, ...], cont: Frame) -> Frame | None:
        return cont if test(machine, args) else None

    return run


def _hold(_machine: Machine, _args: tuple[Term, ...]) -> bool:
    return True


def _fail(_machine: Machine, _args: tuple[Term, ...]) -> bool:
    return False


# What a program may define itself, taken together.
_ADDED_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        **SHAPE_TESTS,
        **READING_TESTS,
        **INSPECTION_TESTS,
    }
)
_ADDED_CODES: Mapping[Key, Code] = MappingProxyType({**OUTPUT_CODES, **CHARACTER_CODES, **INSPECTION_CODES})
TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        ("true", 0): _hold,
        ("otherwise", 0): _hold,
        ("fail", 0): _fail,
        ("false", 0): _fail,
        ("throw", 1): throw,
        **TERM_TESTS,
        **LIST_TESTS,
        **TEXT_TESTS,
        **SPARQL_TESTS,
        **WINDOW_TESTS,
        **UPDATE_TESTS,
        **OUTPUT_TESTS,
        **STATE_TESTS,
        **TIME_TESTS,
        **_ADDED_TESTS,
    }
)
CODES: Mapping[Key, Code] = MappingProxyType(
    {
        **{key: _as_code(test) for key, test in TESTS.items()},
        **{("call", arity): call_goal for arity in range(1, MAX_CALL_ARITY + 1)},
        **{(name, 1): call_goal for name in ("prolog", "query", "db")},
        ("catch", 3): catch,
        **SOLUTION_CODES,
        **SPARQL_CODES,
        **TERM_CODES,
        **LIST_CODES,
        **TEXT_CODES,
        **UPDATE_CODES,
        **_ADDED_CODES,
    }
)
_REPLACEABLE = frozenset(
    (
        *LIST_TESTS,
        *LIST_CODES,
        *TEXT_CODES,
        *OUTPUT_TESTS,
        *STATE_TESTS,
        *TIME_TESTS,
        ("name", 2),
        *((name, 3) for name in ("min", "max", "plus", "aggregate_all")),
        ("otherwise", 0),
        ("repeat", 0),
        *_ADDED_TESTS,
        *_ADDED_CODES,
    )
)
# What changes the world or tells it something.
EFFECTS: frozenset[Key] = frozenset(
    (
        *(key for key in OUTPUT_TESTS if key != ("format", 3)),
        *(key for key in UPDATE_TESTS if key != ("dynamic", 1)),
        ("retract", 1),
        ("del_static_rule", 1),
        *(key for key in STATE_TESTS if key[0] not in ("counter", "get_flag", "nb_getval", "b_getval")),
        ("listing", 1),
        ("abolish", 1),
    )
)
PROTECTED: frozenset[Key] = (frozenset(CODES) | FORMS | {(":-", 2), (":-", 1)}) - _REPLACEABLE
