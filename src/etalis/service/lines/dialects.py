"""How a session writes: terms with their full stop, or JSON texts, one per line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from etalis.data.values import Value, format_atom, format_value, to_value
from etalis.errors import Problem
from etalis.language.printer import seconds
from etalis.service.matches import MatchEntry, encode
from etalis.service.problems import describe
from etalis.temporal.json_values import to_plain

Answer = Mapping[str, Value]  # the values of variables


@dataclass(frozen=True, slots=True)
class Dialect:
    """The forms of what a session says."""

    name: str
    ok: bytes
    pong: bytes
    answers: Callable[[Sequence[Answer], bool], bytes]
    text: Callable[[str], bytes]
    error: Callable[[Problem], bytes]
    match: Callable[[MatchEntry], bytes]
    gap: Callable[[int], bytes]
    end: Callable[[str], bytes]


def _term_answers(found: Sequence[Answer], more: bool) -> bytes:
    """Write answers to a goal, each a list of what its variables are.

    >>> _term_answers([{"X": 1, "Y": "b c"}, {}], False)
    b"answer([['X'=1,'Y'='b c'],[]]).\\n"
    """
    rows = (
        ",".join(f"{format_atom(name)}={format_value(to_value(value))}" for name, value in row.items()) for row in found
    )
    listed = ",".join(f"[{row}]" for row in rows)
    return _bytes(f"answer([{listed}]{', more' if more else ''}).\n")


def _term_error(problem: Problem) -> bytes:
    text = problem.message if problem.hint is None else f"{problem.message}; {problem.hint}"
    return _bytes(f"error('{problem.code}', {format_value(text)}).\n")


def _term_match(entry: MatchEntry) -> bytes:
    event = entry.event
    word = "match" if entry.sign > 0 else "retracted"
    return _bytes(f"{word}({event.atom}, [{seconds(event.start_time)}, {seconds(event.end_time)}]).\n")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _json_answers(found: Sequence[Answer], more: bool) -> bytes:
    rows = [{name: to_plain(value) for name, value in row.items()} for row in found]
    return _line({"answer": rows, "more": more})


def _line(plain: Any) -> bytes:
    return encode(plain) + b"\n"


TERMS = Dialect(
    "terms",
    b"ok.\n",
    b"pong.\n",
    _term_answers,
    lambda text: _bytes(f"answer({format_atom(text)}).\n"),
    _term_error,
    _term_match,
    lambda first: b"gap(%d).\n" % first,
    lambda engine: _bytes(f"end({format_atom(engine)}).\n"),
)
JSON_LINES = Dialect(
    "JSON lines",
    b'{"ok":true}\n',
    b'{"pong":true}\n',
    _json_answers,
    lambda text: _line({"answer": text}),
    lambda problem: _line({"error": describe(problem)}),
    lambda entry: _line({"number": entry.number, "sign": entry.sign, "match": entry.event.to_dict()}),
    lambda first: b'{"gap":%d}\n' % first,
    lambda engine: _line({"end": engine}),
)
