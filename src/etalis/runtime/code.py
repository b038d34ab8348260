"""Generated Python source: written line by line, compiled once per shape.

No text of a program ever enters it: constants, stores and functions are passed in under numbered names, variables get
numbered names too. Two rules of one shape give the same text, so that fifty thousand of them compile once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType
from typing import Any


class Code:
    """One generated function: `def f(parameters)` over objects passed in as k0, k1, ..."""

    def __init__(self, parameters: list[str]) -> None:
        self.parameters = parameters
        self.lines: list[str] = []
        self.depth = 2
        self.objects: list[Any] = []
        self.names: dict[int, str] = {}
        self.fresh_names = 0
        self.probes = 0
        self.direct: Callable[[list[str]], list[str]] | None = None
        self.long_running = False

    def __call__(self, line: str) -> None:
        """Add a line at the current depth."""
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Add a header and indent what follows."""
        self(header)
        self.depth += 1
        mark = len(self.lines)
        yield
        if len(self.lines) == mark:
            self("pass")
        self.depth -= 1

    def constant(self, thing: Any) -> str:
        """Return the name under which an object is passed in."""
        name = self.names.get(id(thing))
        if name is None:
            name = f"k{len(self.objects)}"
            self.names[id(thing)] = name
            self.objects.append(thing)
        return name

    def fresh(self, stem: str) -> str:
        """Return a new local name."""
        self.fresh_names += 1
        return f"{stem}{self.fresh_names}"

    def source(self) -> str:
        """Return the text of the factory that makes the function; one that runs long has its objects as locals."""
        outer = ", ".join(f"k{i}" for i in range(len(self.objects)))
        body = "\n".join(self.lines) or "        pass"
        parameters = ", ".join(self.parameters)
        if not self.long_running:
            return f"def make({outer}):\n    def f({parameters}):\n{body}\n    return f\n"
        inner = f"    def g({parameters}, {outer}):\n{body}\n    def f({parameters}):\n"
        return f"def make({outer}):\n{inner}        return g({parameters}, {outer})\n    return f\n"

    def function(self) -> Callable[..., Any]:
        """Compile the function and bind its objects."""
        return make_function(self.source(), self.objects)


def make_function(source: str, objects: list[Any]) -> Callable[..., Any]:
    """Run a factory's text with its objects and return what it makes."""
    space: dict[str, Any] = {}
    exec(_compiled(source), space)  # noqa: S102  the text is ours alone: names are numbered, nothing of a program is in it
    made: Callable[..., Any] = space["make"](*objects)
    return made


@lru_cache(maxsize=2048)
def _compiled(source: str) -> CodeType:
    return compile(source, "<etalis plan>", "exec")


def tuple_of(items: Sequence[str]) -> str:
    """Write a tuple of expressions."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
