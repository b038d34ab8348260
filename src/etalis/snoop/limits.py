"""How large an expression may be, and of which characters: what registering one costs is bounded (E892, E893)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import comb

from etalis.errors import Problem, Span
from etalis.snoop.expression import NUMBER, Expression, Path, name_path, walk

MOST_OPERATORS = 60  # of two arguments each: one of four counts as three
MOST_LEVELS = 60  # of expressions in expressions, foreign ones too: three elements of XML each
MOST_PARAMETERS = 100  # of one event
MOST_VARIABLES = 200  # that are declared
MOST_EVENTS = 200  # that the rule of an expression may have, where ANY stands for all choices
NOT_IN_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_PARTS = "register several expressions, or have a provider detect a part"


def at(path: Path, code: str, message: str, span: Span | None, hint: str | None = None) -> Problem:
    """Return a problem that says where in the tree it is."""
    return Problem(code, f"argument {name_path(path)}: {message}" if path else message, span, hint)


def check_size(root: Expression) -> Iterator[Problem]:
    """Yield that an expression has too many operators, levels, parameters or choices."""
    count = sum(max(1, len(node.arguments) - 1) for _, node in walk(root) if node.kind == "composite")
    if count > MOST_OPERATORS:
        message = f"{count} operators of two arguments, at most {MOST_OPERATORS} are taken"
        yield Problem("E892", message, root.span, _PARTS)
    if depth_of(root) > MOST_LEVELS:
        yield Problem("E892", f"expressions nested more than {MOST_LEVELS} levels deep", root.span)
    declared = len({variable.name for _, node in walk(root) for variable in node.variables})
    if declared > MOST_VARIABLES:
        yield Problem("E892", f"{declared} variables, at most {MOST_VARIABLES} are taken", root.span)
    for path, node in walk(root):
        if len(node.parameters) > MOST_PARAMETERS:
            yield at(path, "E892", f"{len(node.parameters)} parameters, at most {MOST_PARAMETERS} are taken", node.span)
    if root.context not in (None, "recent") and _events(root) > MOST_EVENTS:
        message = f"ANY stands for its choices in the context {root.context}: more than {MOST_EVENTS} events in all"
        yield Problem("E892", message, root.span, f"use the context recent, or {_PARTS}")


def depth_of(node: Expression) -> int:
    """Return how deep expressions are nested."""
    return 1 + max((depth_of(argument.expression) for argument in node.arguments), default=0)


def _events(node: Expression) -> int:
    """Return how many events a rule has in which ANY is the `or` of all choices."""
    if node.is_leaf:
        return 1
    total = sum(_events(argument.expression) for argument in node.arguments)
    if node.operator != "ANY":
        return total
    given = next((p.value for p in node.parameters if p.name == NUMBER), None) or ""
    count = int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 1
    return total * comb(len(node.arguments) - 1, min(max(count, 1), len(node.arguments)) - 1)


def check_characters(root: Expression) -> Iterator[Problem]:
    """Yield that a text of an expression cannot be written as XML."""
    for path, node in walk(root):
        for text in _texts(node):
            found = foreign_character(text)
            if found is not None:
                message = f"a character that XML cannot hold: {found}"
                yield at(path, "E893", message, node.span, "leave it out: expressions can be written as XML")
                break


def foreign_character(text: str) -> str | None:
    """Return the name of the first character that XML cannot hold, None if there is none.

    >>> foreign_character("a\\x00b"), foreign_character("a\\tb")
    ('U+0000', None)
    """
    found = NOT_IN_XML.search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def _texts(node: Expression) -> Iterator[str]:
    """Yield every text of a node, and of all nodes in one that is external."""
    named = [node.operator, node.language, node.context, node.time]
    named += [text for v in node.variables for text in (v.name, v.value)]
    named += [text for p in node.parameters for text in (p.name, p.variable, p.value, p.type)]
    named += [argument.name for argument in node.arguments]
    if node.literal is not None:
        named += [node.literal.text, node.literal.type]
    yield from filter(None, named)
    if node.kind == "external":
        for argument in node.arguments:
            for _, each in walk(argument.expression):
                yield from _texts(each)
