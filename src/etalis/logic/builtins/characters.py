"""Built-in predicates on kinds of characters: `char_type/2` and `code_type/2` of a character that is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Code, Frame, Machine
from etalis.logic.terms.arguments import character
from etalis.logic.terms.iso_errors import domain_error
from etalis.logic.terms.unify import Term, Variable, deref

Args = tuple[Term, ...]

_KINDS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "alnum": str.isalnum,
        "alpha": lambda c: c.isalnum() or c == "_",
        "csym": lambda c: c.isalnum() or c == "_",
        "csymf": lambda c: c.isalpha() or c == "_",
        "ascii": str.isascii,
        "white": lambda c: c in " \t",
        "space": str.isspace,
        "end_of_line": lambda c: c in "\n\r\v\f",
        "newline": lambda c: c == "\n",
        "lower": str.islower,
        "upper": str.isupper,
        "digit": str.isdecimal,
        "graph": lambda c: c.isprintable() and not c.isspace(),
        "print": str.isprintable,
        "punct": lambda c: c.isprintable() and not c.isspace() and not c.isalnum(),
        "cntrl": lambda c: not c.isprintable() and not c.isspace(),
        "quote": lambda c: c in "'\"`",
        "paren": lambda c: c in "()[]{}",
    }
)


def _related(char: str) -> Iterator[tuple[str, Term]]:
    """Yield the kinds of a character that have an argument, with that argument."""
    if char.isdecimal() and char.isascii():
        yield "digit", int(char)
    if char.lower() in "abcdef" and char.isascii():
        yield "xdigit", int(char, 16)
    elif char.isdecimal() and char.isascii():
        yield "xdigit", int(char)
    if char.isupper():
        yield "upper", char.lower()
    if char.islower():
        yield "lower", char.upper()
    yield "to_lower", char.lower()
    yield "to_upper", char.upper()


def _typed(*, codes: bool) -> Code:
    """`char_type(Char, Type)` and `code_type(Code, Type)`."""

    def run(machine: Machine, args: Args, cont: Frame) -> Frame | None:
        char, kind = character(args[0]), deref(args[1])
        name = kind[0] if isinstance(kind, tuple) and len(kind) == 2 else kind
        if not isinstance(name, Variable) and name not in _NAMES:
            raise domain_error("char_type", kind)
        found: list[Term] = [kind for kind, holds in _KINDS.items() if holds(char)]
        for related, value in _related(char):
            found.append((related, ord(value) if codes and isinstance(value, str) and len(value) == 1 else value))
        return machine.choose(args[1], found, cont)

    return run


_NAMES = frozenset((*_KINDS, "xdigit", "to_lower", "to_upper"))
CHARACTER_CODES: Mapping[Key, Code] = MappingProxyType(
    {("char_type", 2): _typed(codes=False), ("code_type", 2): _typed(codes=True)}
)
