"""Justifications as the manual's layout has them, read back as trees: those of the original, and ours.

A tree is an event, or (what it concludes, its rule's label, what it is concluded from). Events inside a rule, which the
original's compiler makes, are folded: what they are made of stands in their place.
"""

from __future__ import annotations

import re
from typing import Any

_OPERATORS = {"seqf": "seq", "andf": "and", "where": "seq"}  # a condition follows what it is asked of
_INNER = re.compile(r"(temp_e_\d+|seqf)\b")
_DATE = re.compile(r"datime\(2020,1,1,0,0,(\d+),(\d+)\)")
_LINE = "--------------------"


def read_tree(text: str) -> Any:
    """Read the text of a justification."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    tree = _fold(_read(lines))
    assert not lines, lines
    return tree


def _read(lines: list[str]) -> Any:
    """Read what stands above and below a line, or a leaf."""
    label = None
    while (found := re.fullmatch(r"(\w+) rule:", lines[0])) is not None:
        label = found[1]
        lines.pop(0)
    item = _read_body(lines)
    while lines and lines[0] == _LINE:
        lines.pop(0)
        item = ("concluded", _event(lines.pop(0)), label, item)
    return item


def _read_body(lines: list[str]) -> Any:
    line = lines.pop(0)
    if line == "failed(":
        head = _event(lines.pop(0))
        assert lines.pop(0) == _LINE
        body = _read(lines)
        assert lines.pop(0) == ")"
        return ("failed", head, body)
    if not line.endswith("("):
        return _event(line)
    parts = [_read(lines)]
    while (mark := lines.pop(0)) == ",":
        parts.append(_read(lines))
    assert mark == ")", mark
    name = line.removesuffix("(")
    return (_OPERATORS.get(name, name), *parts)


def _event(line: str) -> Any:
    """Read a leaf, times as texts of seconds, without the names of variables and without spaces."""
    line = _DATE.sub(lambda date: f"{int(date[1]) + int(date[2]) / 1_000_000}", line)
    return re.sub(r"\b_\d+", "_", line).replace(" ", "")


def _fold(tree: Any) -> Any:
    match tree:
        case ("concluded", head, label, body):
            return _fold(body) if _is_inner(head) else ("concluded", head, label, _fold(body))
        case ("failed forall rules", ("failed", head, body)) if _is_inner(head):
            return _fold(body)
        case (str() as name, *parts):
            return (name, *(part if isinstance(part, str) else _fold(part) for part in parts))
        case _:
            return tree


def _is_inner(head: str) -> bool:
    return _INNER.match(head.removeprefix("event(")) is not None
