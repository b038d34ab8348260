"""Built-in predicates on the characters of atoms and numbers.

A string is an atom, so the predicates on strings are the same ones under another name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from etalis.data.values import Rational, real
from etalis.logic.arithmetic.functions import BINARY, MAX_BITS, Number
from etalis.logic.errors import LogicLimitError
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Code, Frame, Machine, Test
from etalis.logic.terms.arguments import (
    bound,
    character,
    integer,
    is_atomic,
    optional_integer,
    optional_text,
    proper_list,
    sized,
    text,
)
from etalis.logic.terms.iso_errors import (
    domain_error,
    instantiation_error,
    syntax_error,
    type_error,
)
from etalis.logic.terms.unify import Term, Variable, deref, make_list, unify, variables

Args = tuple[Term, ...]
_NUMBER = re.compile(
    r"\s*(?P<sign>[-+]?)"
    r"(?:(?P<float>[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?)|(?P<radix>0[xob][0-9a-fA-F]+)|(?P<over>[0-9]+)r(?P<under>[0-9]+)"
    r"|(?P<int>[0-9]+))"
)
_CHARACTER = re.compile(r"\s*(?P<sign>[-+]?)0'(?:\\\\|''|[^\\'])", re.DOTALL)
_MAX_DIGITS = 4_000


def parse_number(source: str) -> Number | None:
    """Read a number as Prolog writes it; None if the text is none.

    >>> parse_number("0x1F"), parse_number(" -2.5e3"), parse_number("1.")
    (31, -2500.0, None)
    """
    found = _NUMBER.fullmatch(source)
    if found is None:
        if _CHARACTER.fullmatch(source):
            return ord(source[-1]) * (-1 if source.lstrip().startswith("-") else 1)
        return None
    sign = -1 if found["sign"] == "-" else 1
    if found["float"]:
        value = float(found["float"])
        return None if value == float("inf") else real(sign * value)
    if found["radix"]:
        if len(found["radix"]) > MAX_BITS // 4:
            raise LogicLimitError("bits of an integer", MAX_BITS)
        try:
            return sign * int(found["radix"], 0)
        except ValueError:
            return None
    if found["over"]:
        over, under = _read_decimal(found["over"]), _read_decimal(found["under"])
        return BINARY["rdiv"](sign * over, under) if under else None
    return sign * _read_decimal(found["int"])


def _read_decimal(digits: str) -> int:
    """Read an integer of any length (Python refuses very long ones)."""
    if 3 * len(digits) > MAX_BITS:
        raise LogicLimitError("bits of an integer", MAX_BITS)
    number = 0
    for i in range(0, len(digits), _MAX_DIGITS):
        part = digits[i : i + _MAX_DIGITS]
        number = number * 10 ** len(part) + int(part)
    return number


def _length(machine: Machine, args: Args) -> bool:
    size = optional_integer(args[1])
    if size is not None and size < 0:
        raise domain_error("not_less_than_zero", size)
    return unify(args[1], len(text(args[0], machine)), machine.trail)


def _concat(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    left, right = optional_text(args[0], machine), optional_text(args[1], machine)
    if left is not None and right is not None:
        return cont if unify(args[2], sized(left + right, machine), machine.trail) else None
    whole = text(args[2], machine)
    if left is not None:
        return cont if whole.startswith(left) and unify(args[1], whole[len(left) :], machine.trail) else None
    if right is not None:
        begin = whole[: len(whole) - len(right)]
        return cont if whole.endswith(right) and unify(args[0], begin, machine.trail) else None
    splits = (("-", whole[:i], whole[i:]) for i in range(len(whole) + 1))
    return machine.choose(("-", args[0], args[1]), splits, cont)


def _sub_atom(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    whole, part = text(args[0], machine), optional_text(args[4], machine)
    before, length, after = map(optional_integer, args[1:4])
    for number in (before, length, after):
        if number is not None and number < 0:
            return None
    places = _find(whole, part) if part is not None else _pieces(len(whole), before, length, after)
    solutions = (("sub", b, n, len(whole) - b - n, whole[b : b + n]) for b, n in places)
    sub = args[4] if part is None else part
    return machine.choose(("sub", args[1], args[2], args[3], sub), solutions, cont)


def _find(whole: str, part: str) -> Iterator[tuple[int, int]]:
    start = whole.find(part)
    while start >= 0:
        yield start, len(part)
        start = whole.find(part, start + 1)


def _pieces(size: int, before: int | None, length: int | None, after: int | None) -> Iterator[tuple[int, int]]:
    """Yield (start, length) of the parts of a text that have the sizes given."""
    if before is None and length is not None and after is not None:
        before = size - length - after
    for start in range(size + 1) if before is None else (before,):
        if length is None and after is not None:
            lengths: range | tuple[int, ...] = (size - start - after,)
        else:
            lengths = range(size - start + 1) if length is None else (length,)
        for n in lengths:
            if start >= 0 and n >= 0 and start + n <= size:
                yield start, n


def _spelled(write: Callable[[str], Term], read: Callable[[str], Term], kind: str = "atomic") -> Test:
    """Make a predicate between an atomic term and the list of its characters or codes."""

    def run(machine: Machine, args: Args) -> bool:
        subject = deref(args[0])
        if isinstance(subject, Variable):
            return unify(subject, read("".join(map(character, proper_list(args[1], machine)))), machine.trail)
        if not is_atomic(subject) or (kind == "number" and not isinstance(subject, int | float | Rational)):
            raise type_error(kind, subject)
        if not variables(args[1], machine.trail):
            given = "".join(map(character, proper_list(args[1], machine)))
            return bool(read(given) == read(text(subject, machine)))
        written = text(subject, machine)
        machine.trail.charge(len(written))
        return unify(args[1], write(written), machine.trail)

    return run


def _read_number(characters: str) -> Number:
    number = parse_number(characters)
    if number is None:
        raise syntax_error("illegal_number")
    return number


def _read_atomic(characters: str) -> Term:
    number = parse_number(characters)
    return characters if number is None else number


def _chars(characters: str) -> Term:
    return make_list(characters)


def _codes(characters: str) -> Term:
    return make_list(map(ord, characters))


def _char_code(machine: Machine, args: Args) -> bool:
    char = deref(args[0])
    if isinstance(char, Variable):
        if isinstance(deref(args[1]), Variable):
            raise instantiation_error()
        return unify(char, character(integer(args[1])), machine.trail)
    if not (isinstance(char, str) and len(char) == 1):
        raise type_error("character", char)
    optional_integer(args[1])
    return unify(args[1], ord(char), machine.trail)


def _atom_number(machine: Machine, args: Args) -> bool:
    characters = optional_text(args[0], machine)
    if characters is None:
        number = bound(args[1])
        if not isinstance(number, int | float | Rational):
            raise type_error("number", number)
        return unify(args[0], text(number, machine), machine.trail)
    value = parse_number(characters)
    return value is not None and unify(args[1], value, machine.trail)


def _mapped(function: Callable[[str], str]) -> Test:
    return lambda machine, args: unify(args[1], sized(function(text(args[0], machine)), machine), machine.trail)


def _join(machine: Machine, args: Args) -> bool:
    """`atomic_list_concat(List, Separator, Atom)`, backwards too where the separator is not empty."""
    separator = text(args[1], machine) if len(args) == 3 else ""
    if variables(args[0], machine.trail):
        if not separator or isinstance(deref(args[-1]), Variable):
            raise instantiation_error() if separator or len(args) == 2 else domain_error("non_empty_atom", "")
        return unify(args[0], _pieces_list(text(args[2], machine).split(separator), machine), machine.trail)
    parts = [text(item, machine) for item in proper_list(args[0], machine)]
    if sum(map(len, parts)) + len(separator) * len(parts) > 2 * machine.limits.size:
        raise LogicLimitError("size", machine.limits.size)
    return unify(args[-1], sized(separator.join(parts), machine), machine.trail)


def _same_text(machine: Machine, args: Args) -> bool:
    """`atom_string/2` and `string_to_atom/2`: both sides are the text of the other."""
    given = optional_text(args[0], machine)
    if given is None:
        return unify(args[0], text(args[1], machine), machine.trail)
    other = optional_text(args[1], machine)
    return unify(args[1], given, machine.trail) if other is None else given == other


def _text_to_string(machine: Machine, args: Args) -> bool:
    """`text_to_string(Text, String)`; the text may be a list of characters or codes, too."""
    given = bound(args[0])
    if isinstance(given, tuple) and given:
        return unify(args[1], "".join(map(character, proper_list(given, machine))), machine.trail)
    return unify(args[1], "" if given == () else text(given, machine), machine.trail)


def _number_string(machine: Machine, args: Args) -> bool:
    """`number_string(Number, Text)`; spaces around the number do not count."""
    given = optional_text(args[1], machine)
    if given is None:
        return unify(args[1], text(args[0], machine), machine.trail)
    value = parse_number(given.strip())
    return value is not None and unify(args[0], value, machine.trail)


def _string_code(machine: Machine, args: Args) -> bool:
    """`string_code(Place, Text, Code)`, the first place being 1."""
    place, whole = integer(args[0]), text(args[1], machine)
    return 1 <= place <= len(whole) and unify(args[2], ord(whole[place - 1]), machine.trail)


def _split(machine: Machine, args: Args) -> bool:
    """`split_string(Text, Separators, Padding, Parts)`."""
    whole, separators, padding = (text(arg, machine) for arg in args[:3])
    parts = re.split("[" + re.escape(separators) + "]", whole) if separators else [whole]
    stripped = [part.strip(padding) if padding else part for part in parts]
    return unify(args[3], _pieces_list(stripped, machine), machine.trail)


def _pieces_list(parts: list[str], machine: Machine) -> Term:
    machine.trail.charge(len(parts))
    return make_list(parts)


_LENGTHS = ("atom_length", "string_length")
_CONCATS = ("atom_concat", "string_concat", "text_concat")
_SUBS = ("sub_atom", "sub_string")
_UPPER = ("upcase_atom", "string_upper")
_LOWER = ("downcase_atom", "string_lower")

TEXT_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        **{(name, 2): _length for name in _LENGTHS},
        **{(name, 2): _mapped(str.upper) for name in _UPPER},
        **{(name, 2): _mapped(str.lower) for name in _LOWER},
        **{(name, 2): _spelled(_chars, str) for name in ("atom_chars", "string_chars")},
        **{(name, 2): _spelled(_codes, str) for name in ("atom_codes", "string_codes")},
        ("number_chars", 2): _spelled(_chars, _read_number, "number"),
        ("number_codes", 2): _spelled(_codes, _read_number, "number"),
        ("name", 2): _spelled(_codes, _read_atomic),
        ("char_code", 2): _char_code,
        ("atom_number", 2): _atom_number,
        ("atomic_list_concat", 2): _join,
        ("atomic_list_concat", 3): _join,
        ("concat_atom", 2): _join,
        ("concat_atom", 3): _join,
        ("split_string", 4): _split,
        ("text_to_string", 2): _text_to_string,
        ("atom_string", 2): _same_text,
        ("string_to_atom", 2): _same_text,
        ("number_string", 2): _number_string,
        ("string_code", 3): _string_code,
    }
)
TEXT_CODES: Mapping[Key, Code] = MappingProxyType(
    {**{(name, 3): _concat for name in _CONCATS}, **{(name, 5): _sub_atom for name in _SUBS}}
)
