"""Built-in predicates on the characters of atoms and numbers, over values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from etalis.data.values import Rational, Value
from etalis.logic.arithmetic.arithmetic import LONG
from etalis.logic.builtins.text import parse_number
from etalis.logic.inline.ground.modes import Mode, test
from etalis.logic.inline.steps import DeclineError
from etalis.logic.machine.database import Key
from etalis.logic.terms.write import number_text

_LONGEST = 10_000  # characters


def _text(value: Value) -> str:
    if value.__class__ is str:
        if len(value) > _LONGEST:
            raise DeclineError
        return value
    if isinstance(value, float) or (value.__class__ is int and -LONG < value < LONG):
        return number_text(value)
    if value == ():
        return "[]"
    raise DeclineError


def _natural(number: Value) -> int:
    if number.__class__ is not int or number < 0:
        raise DeclineError
    return number


def _has_length(value: Value, size: Value) -> bool:
    return len(_text(value)) == _natural(size)


def _behind(prefix: Value, whole: Value) -> str | None:
    begin, all_of_it = _text(prefix), _text(whole)
    return all_of_it[len(begin) :] if all_of_it.startswith(begin) else None


def _before(suffix: Value, whole: Value) -> str | None:
    end, all_of_it = _text(suffix), _text(whole)
    return all_of_it[: len(all_of_it) - len(end)] if all_of_it.endswith(end) else None


def _piece(value: Value, before: Value, length: Value) -> str | None:
    whole, start, size = _text(value), _natural(before), _natural(length)
    return whole[start : start + size] if start + size <= len(whole) else None


def _piece_at_end(value: Value, length: Value, after: Value) -> str | None:
    whole, size, rest = _text(value), _natural(length), _natural(after)
    start = len(whole) - size - rest
    return whole[start : start + size] if start >= 0 else None


def _piece_between(value: Value, before: Value, after: Value) -> str | None:
    whole, start, rest = _text(value), _natural(before), _natural(after)
    end = len(whole) - rest
    return whole[start:end] if start <= end else None


def _has_at(value: Value, before: Value, part: Value) -> bool:
    return _text(value).startswith(_text(part), _natural(before))


def _has_ahead_of(value: Value, after: Value, part: Value) -> bool:
    whole, piece = _text(value), _text(part)
    start = len(whole) - _natural(after) - len(piece)
    return start >= 0 and whole.startswith(piece, start)


def _number(value: Value) -> Value | None:
    found = parse_number(_text(value))
    if found.__class__ is Rational:
        raise DeclineError
    return found


def _joined(parts: Value, separator: Value = "") -> str:
    if parts.__class__ is not tuple or len(parts) > _LONGEST:
        raise DeclineError
    return _bounded(_text(separator).join(map(_text, parts)))


def _bounded(result: str) -> str:
    if len(result) > _LONGEST:
        raise DeclineError
    return result


def _split(separator: Value, whole: Value) -> tuple[str, ...]:
    if not _text(separator):
        raise DeclineError
    return tuple(_text(whole).split(_text(separator)))


def _split_string(value: Value, separators: Value, padding: Value) -> tuple[str, ...]:
    whole, apart, pad = _text(value), _text(separators), _text(padding)
    parts = re.split("[" + re.escape(apart) + "]", whole) if apart else [whole]
    return tuple([part.strip(pad) if pad else part for part in parts])


def _code(place: Value, value: Value) -> int | None:
    whole = _text(value)
    if place.__class__ is not int:
        raise DeclineError
    return ord(whole[place - 1]) if 1 <= place <= len(whole) else None


def _char_code(char: Value) -> int:
    if char.__class__ is not str or len(char) != 1:
        raise DeclineError
    return ord(char)


def _mapped(function: Callable[[str], str]) -> tuple[Mode, ...]:
    return (Mode(lambda value: _bounded(function(_text(value))), (0,), 1, "string"),)


def _for(names: tuple[str, ...], arity: int, *modes: Mode) -> dict[Key, tuple[Mode, ...]]:
    return {(name, arity): modes for name in names}


def _spelled(function: Callable[[str], Any]) -> Mode:
    return Mode(lambda value: function(_text(value)), (0,), 1, "list", takes="open")


TEXT_MODES: Mapping[Key, tuple[Mode, ...]] = MappingProxyType(
    {
        **_for(
            ("atom_length", "string_length"),
            2,
            Mode(lambda value: len(_text(value)), (0,), 1, "int", takes="variable"),
            test(2, _has_length),
        ),
        **_for(
            ("atom_concat", "string_concat", "text_concat"),
            3,
            Mode(lambda a, b: _bounded(_text(a) + _text(b)), (0, 1), 2, "string"),
            Mode(_behind, (0, 2), 1, "string", may_fail=True, takes="variable"),
            Mode(_before, (1, 2), 0, "string", may_fail=True, takes="variable"),
        ),
        **_for(
            ("sub_atom", "sub_string"),
            5,
            Mode(lambda whole, part: _text(part) in _text(whole), (0, 4), void=(1, 2, 3)),
            Mode(_has_at, (0, 1, 4), void=(2, 3)),
            Mode(_has_ahead_of, (0, 3, 4), void=(1, 2)),
            Mode(_piece, (0, 1, 2), 4, "string", may_fail=True, takes="variable", void=(3,)),
            Mode(_piece_at_end, (0, 2, 3), 4, "string", may_fail=True, takes="variable", void=(1,)),
            Mode(_piece_between, (0, 1, 3), 4, "string", may_fail=True, takes="variable", void=(2,)),
        ),
        **{(name, 2): _mapped(str.upper) for name in ("upcase_atom", "string_upper")},
        **{(name, 2): _mapped(str.lower) for name in ("downcase_atom", "string_lower")},
        **_for(("atom_chars", "string_chars"), 2, _spelled(tuple)),
        **_for(("atom_codes", "string_codes"), 2, _spelled(lambda characters: tuple(map(ord, characters)))),
        ("char_code", 2): (Mode(_char_code, (0,), 1, "int", takes="variable"),),
        ("atom_number", 2): (Mode(_number, (0,), 1, "number", may_fail=True),),
        **_for(
            ("atomic_list_concat", "concat_atom"),
            2,
            Mode(_joined, (0,), 1, "string"),
        ),
        **_for(
            ("atomic_list_concat", "concat_atom"),
            3,
            Mode(_joined, (0, 1), 2, "string"),
            Mode(_split, (1, 2), 0, "list", takes="open"),
        ),
        ("split_string", 4): (Mode(_split_string, (0, 1, 2), 3, "list"),),
        ("string_code", 3): (Mode(_code, (0, 1), 2, "int", may_fail=True),),
        **_for(
            ("atom_string", "string_to_atom"),
            2,
            Mode(_text, (0,), 1, "string", takes="variable"),
            test(2, lambda a, b: _text(a) == _text(b)),
        ),
    }
)
