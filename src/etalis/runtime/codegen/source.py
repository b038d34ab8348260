"""Generated Python source: written line by line, compiled once per shape.

No text of a program ever enters it: constants, stores and functions are passed in under numbered names, variables get
numbered names too. Two rules of one shape give the same text, so that fifty thousand of them compile once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any

_WORDS = re.compile(r"\w+")
_CONSTANT = re.compile(r"k?\d+$")
_TYPES = frozenset(("float", "int", "len", "str", "tuple", "type"))  # what tests ask of every value
GENERATED = "<etalis plan>"  # the file that generated code says it comes from


class CandidateLoop:
    """A search through what waits: lines that stand before its loop, and heads whose events it gathers in lists.

    `firm` are the names that stay the same, `end` is where a candidate ends, `floor` what ends before which is none.
    """

    def __init__(self, firm: Iterable[str], end: str) -> None:
        self.firm = frozenset(firm)
        self.end = end
        self.floor: str | None = None
        self.asks = False  # whether a condition has been written, which may report an error
        self.before: list[str] = []
        self.gathers = False
        self.found: dict[str, list[Any]] = {}  # the list of each kind of event, with all kinds made alike

    def is_firm(self, *expressions: str) -> bool:
        """Tell whether expressions are the same for all candidates."""
        return all(word in self.firm or _CONSTANT.match(word) for word in words_of(*expressions))


class CodeBlock:
    """Lines below a header, one step further in."""

    __slots__ = ("_code", "_header", "_mark")

    def __init__(self, code: Code, header: str) -> None:
        self._code = code
        self._header = header
        self._mark = 0

    def __enter__(self) -> None:
        self._code(self._header)
        self._code.depth += 1
        self._mark = len(self._code.lines)

    def __exit__(self, *raised: object) -> None:
        if len(self._code.lines) == self._mark:
            self._code("pass")
        self._code.depth -= 1


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
        self.on_made: Callable[[Code, tuple[str, int], Sequence[str], str, str], None] | None = None
        self.loop: CandidateLoop | None = None
        self.rounds: list[str] | None = None
        self.queues = False
        self.turn: str | None = None  # the name of the only match that comes to a reaction, where it need not wait
        self.has_turn = False
        self.kept: dict[int, str] = {}  # by rules the names of their first matches, which are in no queue
        self.repeated: set[int] = set()  # the rules of which there may be others
        self.instants: set[str] = set()  # of them, those of an instant
        self.collects: str | None = None  # the list of what is made, instead of the queue
        self.pair: Any = None  # the operator whose match with all its parts is being handed on
        self.base = self.depth  # of what is done with every event
        self.groups: dict[tuple[int, str], str] = {}
        self.drops: dict[tuple[int, str], tuple[str, str]] = {}  # how the only one of such a group leaves
        self.held: dict[tuple[int, str], str] = {}  # likewise, of what an event has just been put into
        self.long_running = False
        self.is_entry = False  # what users call for every event: its objects are globals, which a call does not copy
        self.shared: dict[str, CellType] = {}
        self.derived = 0  # how many times it is written that a rule makes an event
        self.of_first: dict[str, str] = {}  # what lines come to where a rule has made nothing at the stamp yet
        self.rope = "None"  # what the event that is offered is made of; a point in time of nothing

    def __call__(self, line: str) -> None:
        """Add a line at the current depth."""
        self.lines.append("    " * self.depth + line)

    def add(self, lines: Iterable[str]) -> None:
        """Add lines at the current depth."""
        for line in lines:
            self(line)

    def block(self, header: str) -> CodeBlock:
        """Return what adds a header and indents what follows."""
        return CodeBlock(self, header)

    def constant(self, thing: Any) -> str:
        """Return the name under which an object is passed in."""
        name = self.names.get(id(thing))
        if name is None:
            name = f"k{len(self.objects)}"
            self.names[id(thing)] = name
            self.objects.append(thing)
        return name

    def insert(self, place: int, line: str) -> None:
        """Put a line of the current depth before one that is written."""
        self.lines.insert(place, "    " * self.depth + line)

    def begin_event(self) -> None:
        """Begin what is done with an event."""
        self.base = self.depth
        self.groups.clear()
        self.drops.clear()
        self.held.clear()

    def know_group(self, store: Any, key: str, group: str, drop: tuple[str, str] | None = None) -> None:
        """Say that a name holds the group of a key, whoever else asks for it.

        `drop`: the line by which the only one has left it, and another one for where its place is taken anyway.
        """
        if self.depth == self.base:
            self.groups[id(store), key] = group
            if drop is not None:
                self.drops[id(store), key] = drop

    def take_place(self, store: Any, key: str) -> str:
        """Return the name of the group that an instance joins, if one holds it; who was alone there need not leave."""
        group, drop = self.groups.pop((id(store), key), ""), self.drops.pop((id(store), key), None)
        if group and drop is not None and self.depth == self.base:
            leaves, is_left = drop
            at = next(i for i in reversed(range(len(self.lines))) if self.lines[i].endswith(leaves))
            self.lines[at] = self.lines[at].removesuffix(leaves) + is_left
        return group

    def know_held(self, store: Any, key: str, held: str) -> None:
        """Say that a name holds what waits under a key, for who looks there next."""
        if self.depth == self.base:
            self.held[id(store), key] = held

    def fresh(self, stem: str) -> str:
        """Return a new local name, which is never that of an attribute, a time or an object."""
        assert stem not in ("x", "t", "k")
        self.fresh_names += 1
        return f"{stem}{self.fresh_names}"

    def source(self) -> str:
        """Return the text of the factory that makes the function; one that runs long has its objects as locals.

        What functions share is a variable of the factory, so that it is read and written without an attribute.
        """
        outer = "" if self.is_entry else ", ".join(f"k{i}" for i in range(len(self.objects)))
        body = "".join(f"        nonlocal {name}\n" for name in self.shared) + ("\n".join(self.lines) or "        pass")
        before = "".join(f"    {name} = None\n" for name in self.shared)
        own = [f"k{i}=k{i}" for i in range(len(self.objects))] if self.long_running else []
        own += [f"{name}={name}" for name in sorted(_TYPES & words_of(body))] if self.long_running else []
        parameters = ", ".join([*self.parameters, *own])
        return f"def make({outer}):\n{before}    def f({parameters}):\n{body}\n    return f\n"

    def function(self, text: str | None = None) -> Callable[..., Any]:
        """Compile the function, whose text may be known already, and bind its objects."""
        source = self.source() if text is None else text
        made = _make_entry(source, self.objects) if self.is_entry else make_function(source, self.objects)
        return _sharing(made, self.shared)


def _sharing(function: Callable[..., Any], shared: Mapping[str, CellType]) -> Callable[..., Any]:
    """Return a function with variables that are those of others, too."""
    if not shared or not isinstance(function, FunctionType):
        return function
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closure = tuple(shared.get(name, cell) for name, cell in cells)
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, closure
    )  # fmt: skip
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def make_function(source: str, objects: list[Any]) -> Callable[..., Any]:
    """Run a factory's text with its objects and return what it makes."""
    space: dict[str, Any] = {}
    exec(_compiled(source), space)  # noqa: S102  the text is ours alone: names are numbered, nothing of a program is in it
    made: Callable[..., Any] = space["make"](*objects)
    return made


def _make_entry(source: str, objects: list[Any]) -> Callable[..., Any]:
    """Do as `make_function`, with the objects as globals.

    Where a global is found is remembered with the code, which is therefore no other function's.
    """
    space = {f"k{i}": thing for i, thing in enumerate(objects)}
    exec(_compiled(source), space)  # noqa: S102  as above
    made: FunctionType = space["make"]()
    made.__code__ = made.__code__.replace()
    return made


@lru_cache(maxsize=2048)
def _compiled(source: str) -> CodeType:
    return compile(source, GENERATED, "exec")


def words_of(*expressions: str) -> set[str]:
    """Return the names in expressions."""
    return set(_WORDS.findall(" ".join(expressions)))


def tuple_of(items: Sequence[str]) -> str:
    """Write a tuple of expressions."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
