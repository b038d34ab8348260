"""Built-in predicates between a term and its text, in both directions.

Writing is the machine's own; reading is lent by the language that loaded the program (`Database.reader`), so that goals
read terms as programs are read. Nothing is read from files or from the keyboard.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from etalis.logic.errors import LogicLimitError
from etalis.logic.host import Reader
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Machine, Test
from etalis.logic.terms.arguments import bound, proper_list, sized, text
from etalis.logic.terms.iso_errors import instantiation_error, permission_error
from etalis.logic.terms.unify import Term, Variable, deref, make_list, unify
from etalis.logic.terms.write import Style, print_term

Args = tuple[Term, ...]
_MAX_READ = 50_000
_COST = 64  # cells of work that a character read counts for


def _read(machine: Machine, source: str) -> tuple[Term, Mapping[str, Variable]]:
    """Read a term and its variables by name."""
    reader: Reader | None = machine.database.reader
    if reader is None:
        raise permission_error("read", "term", source[:40])
    if len(source) > _MAX_READ:
        raise LogicLimitError("characters of a term to read", _MAX_READ)
    machine.trail.charge(_COST * len(source))
    return reader(source)


def _print(machine: Machine, term: Term) -> str:
    written = sized(print_term(term, Style(numbered=False)), machine)
    machine.trail.charge(len(written))
    return written


def _term_to_atom(machine: Machine, args: Args) -> bool:
    """`term_to_atom(Term, Text)`: the text is read if there is one, else the term is written."""
    if not isinstance(deref(args[1]), Variable):
        return unify(args[0], _read(machine, text(args[1], machine))[0], machine.trail)
    if isinstance(deref(args[0]), Variable):
        raise instantiation_error()
    return unify(args[1], _print(machine, args[0]), machine.trail)


def _term_string(machine: Machine, args: Args) -> bool:
    """`term_string(Text, Term)`."""
    return _term_to_atom(machine, (args[1], args[0]))


def _atom_to_term(machine: Machine, args: Args) -> bool:
    """`atom_to_term(Text, Term, Bindings)`: the variables as `Name = Variable`."""
    term, names = _read(machine, text(bound(args[0]), machine))
    pairs = make_list(("=", name, variable) for name, variable in names.items() if not name.startswith("_"))
    return unify(args[1], term, machine.trail) and unify(args[2], pairs, machine.trail)


def _read_from_atom(machine: Machine, args: Args) -> bool:
    """`read_term_from_atom(Text, Term, Options)`; no option changes what is read."""
    proper_list(args[2], machine)
    return unify(args[1], _read(machine, text(bound(args[0]), machine))[0], machine.trail)


READING_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        ("term_to_atom", 2): _term_to_atom,
        ("term_string", 2): _term_string,
        ("atom_to_term", 3): _atom_to_term,
        ("read_term_from_atom", 3): _read_from_atom,
    }
)
