"""Expressions as text for people, written: of the normal form, so that reading it back gives the same."""

from __future__ import annotations

import json
import re
from urllib.parse import urlsplit

from etalis.snoop.expression import Expression, Parameter, leaves
from etalis.snoop.markup.json_form import to_json
from etalis.snoop.markup.read_text import TAIL
from etalis.snoop.markup.text_tokens import WORD, quote, write_name
from etalis.snoop.normal_form import SIDES, normal_form, used_values

WIDTH = 100
_COMMON = {"event", "events", "ns", "vocabulary"}
_KEYWORDS = {*TAIL, "opaque", "external", "xml"}


def write_text(expression: Expression) -> str:
    """Write an expression as text."""
    root = normal_form(expression)
    writer = _Writer(root)
    lines = [f"{prefix} = {quote(uri)}." for uri, prefix in writer.prefixes.items()]
    return "\n".join([*lines, writer.node(root, 0), *_tail(root)])


def _tail(root: Expression) -> list[str]:
    uses = sorted(used_values(root).items())
    chosen = [] if root.is_leaf else [write_name(v.name) for v in root.variables if v.mode == "bind"]
    parts = [
        f"with {', '.join(f'{write_name(name)} = {quote(value)}' for name, value in uses)}" if uses else "",
        f"result {', '.join(chosen)}" if chosen else "",
        f"context {write_name(root.context)}" if root.context and root.context != "recent" else "",
        f"time {write_name(root.time)}" if root.time and root.time != "intervals" else "",
    ]
    said = " ".join(filter(None, parts))
    return [f"  {said}"] if said else []


class _Writer:
    def __init__(self, root: Expression) -> None:
        self.prefixes: dict[str, str] = {}
        for _, leaf in leaves(root):
            uri = leaf.language or ""
            if leaf.kind != "external" and uri not in self.prefixes:
                self.prefixes[uri] = self._prefix(uri)

    def _prefix(self, uri: str) -> str:
        """Return a short name for a language: the end of its URI, or its host where the end is a common word."""
        try:
            host = urlsplit(uri).hostname or ""
        except ValueError:
            host = ""
        labels = [label for label in host.split(".") if label != "www"]
        end = re.split(r"[/#:]", uri.rstrip("/#:"))[-1]
        choices = [end, labels[0] if labels else ""]
        if end in _COMMON or end == host:
            choices.reverse()
        wanted = next((name for name in choices if WORD.fullmatch(name)), "language")
        taken = {*self.prefixes.values(), *_KEYWORDS}
        number, name = 1, wanted
        while name in taken:
            number, name = number + 1, f"{wanted}{number + 1}"
        return name

    def node(self, node: Expression, inset: int) -> str:
        match node.kind:
            case "composite":
                return self._composite(node, inset)
            case "atomic":
                name = f"{self.prefixes[node.language or '']}:{write_name(node.operator or '')}"
                return f"{name}({', '.join(map(_parameter, node.parameters))})"
            case "opaque":
                return self._opaque(node)
            case "external":
                return f"external {json.dumps(to_json(node), ensure_ascii=False)}"

    def _composite(self, node: Expression, inset: int) -> str:
        parts = [p.value or "" for p in node.parameters]
        names = SIDES if len(node.arguments) == 2 else tuple(map(str, range(1, len(node.arguments) + 1)))
        for argument, usual in zip(node.arguments, names, strict=True):
            own = "" if argument.name == usual else f"{write_name(argument.name or '')} = "
            parts.append(own + self.node(argument.expression, inset + 2))
        line = f"{node.operator}({', '.join(parts)})"
        if inset + len(line) <= WIDTH and "\n" not in line:
            return line
        between = f",\n{' ' * (inset + 2)}"
        return f"{node.operator}(\n{' ' * (inset + 2)}{between.join(parts)})"

    def _opaque(self, node: Expression) -> str:
        assert node.literal is not None
        literal = ("xml " if node.literal.is_xml else "") + quote(node.literal.text)
        if node.literal.type is not None:
            literal += f"^^{quote(node.literal.type)}"
        names = ", ".join(write_name(v.name) for v in node.variables)
        return f"opaque({self.prefixes[node.language or '']}, {literal}{f', [{names}]' if names else ''})"


def write_leaf(leaf: Expression) -> str:
    """Write a leaf without its language, as pictures name it."""
    if leaf.literal is not None:
        return quote(leaf.literal.text.strip())
    inside = "..." if leaf.arguments else ", ".join(map(_parameter, leaf.parameters))
    return f"{write_name(leaf.operator or '')}({inside})"


def _parameter(given: Parameter) -> str:
    value = quote(given.value or "") if given.variable is None else write_name(given.variable)
    type = "" if given.type is None else f"^^{given.type}"  # noqa: A001
    return f"{write_name(given.name)}: {value}{type}"
