"""Terms as text: operators in their places, atoms quoted where the reader would need it, variables as `_1`, `_2`, ...

`format_term` is bounded on purpose: past `depth` levels or `width` elements it writes `...`, so that any term, cyclic
ones too, can be shown. `print_term` writes the whole term or raises a limit error.
Law: nothing recurses; what is still to be written waits on a stack, and two pieces that would read as one token are
kept apart by a space.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from etalis.data.values import Rational, decimal_text, format_atom, format_float
from etalis.logic.errors import LogicLimitError
from etalis.logic.terms.unify import LIST, Term, Variable, deref

INFIX: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        **dict.fromkeys((":-", "-->"), (1200, 1199, 1199)),
        ";": (1100, 1099, 1100),
        "->": (1050, 1049, 1050),
        "*->": (1050, 1049, 1050),
        ",": (1000, 999, 1000),
        ":=": (990, 989, 989),
        **dict.fromkeys(("=", "\\=", "==", "\\==", "@<", "@>", "@=<", "@>=", "=@=", "\\=@="), (700, 699, 699)),
        **dict.fromkeys(("is", "=:=", "=\\=", "<", ">", "=<", ">=", "=..", "as", ">:<", ":<"), (700, 699, 699)),
        ":": (600, 599, 600),
        **dict.fromkeys(("+", "-", "/\\", "\\/", "xor"), (500, 500, 499)),
        **dict.fromkeys(("*", "/", "//", "mod", "rem", "div", "rdiv", "<<", ">>"), (400, 400, 399)),
        "**": (200, 199, 199),
        "^": (200, 199, 200),
    }
)
PREFIX: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        ":-": (1200, 1199),
        "?-": (1200, 1199),
        **dict.fromkeys(("dynamic", "discontiguous", "table"), (1150, 1149)),
        "\\+": (900, 900),
        "-": (200, 200),
        "+": (200, 200),
        "\\": (200, 200),
    }
)
MAX_WRITTEN = 100_000
_UNBOUNDED = 1 << 60
_SYMBOLS = frozenset("+-*/\\^<>=~:.?@#&$")
_NO_INFIX: Mapping[str, tuple[int, int, int]] = MappingProxyType({})
_NO_PREFIX: Mapping[str, tuple[int, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Style:
    """How a term is written: the options of `write_term/2`."""

    quoted: bool = True
    operators: bool = True
    numbered: bool = False  # '$VAR'(1) as B
    names: Mapping[Variable, str] = field(default_factory=dict)
    depth: int = _UNBOUNDED


def format_term(term: Term, *, priority: int = 1200, depth: int = 100, width: int = 1000) -> str:
    """Write a term, in brackets if its operator has more than the priority.

    >>> format_term(("+", 1, ("*", 2, Variable())))
    '1+2*_1'
    """
    return _Writer(Style(depth=depth), width, 10_000, whole=False).write(term, priority)


def print_term(term: Term, style: Style | None = None, *, priority: int = 1200) -> str:
    """Write a term whole; one larger than can be written is a limit error.

    >>> print_term(("+", "A b", 1)), print_term(("+", "A b", 1), Style(quoted=False, operators=False))
    ("'A b'+1", '+(A b,1)')
    """
    style = style or Style()
    return _Writer(style, MAX_WRITTEN, MAX_WRITTEN, whole=style.depth == _UNBOUNDED).write(term, priority)


def number_text(number: Any) -> str:
    """Write a number: an integer, a float or a rational (`1r3`)."""
    if isinstance(number, float):
        return format_float(float(number))
    if isinstance(number, Rational):
        return f"{decimal_text(number.numerator)}r{decimal_text(number.denominator)}"
    return decimal_text(number)


def letter_name(number: int) -> str:
    """Return the name of a numbered variable.

    >>> letter_name(0), letter_name(27)
    ('A', 'B1')
    """
    round_, letter = divmod(number, 26)
    return chr(ord("A") + letter) + (str(round_) if round_ else "")


class _Writer:
    """Writes one term: what is to come waits in `todo` as texts and as (term, priority, depth)."""

    def __init__(self, style: Style, width: int, most: int, *, whole: bool) -> None:
        self.style = style
        self.width = width
        self.left = most
        self.whole = whole
        self.atom = format_atom if style.quoted else str
        self.infix, self.prefix = (INFIX, PREFIX) if style.operators else (_NO_INFIX, _NO_PREFIX)
        self.names: dict[Variable, str] = {}
        self.out: list[str] = []
        self.todo: list[Any] = []
        self.last = ""
        self.after_prefix = False

    def write(self, term: Term, priority: int) -> str:
        todo = self.todo
        todo.append((term, priority, self.style.depth))
        while todo:
            item = todo.pop()
            if item.__class__ is str:
                self._emit(item)
            else:
                self._term(*item)
        return "".join(self.out)

    def _emit(self, piece: str) -> None:
        """Add a piece, apart from the last one if they would read as one token."""
        first, last = piece[:1], self.last
        joins = (first in _SYMBOLS and last in _SYMBOLS) or (_is_word(first) and _is_word(last))
        if first and ((joins and last) or (self.after_prefix and first == "(")):
            self.out.append(" ")
        if piece:
            self.out.append(piece)
            self.last = piece[-1]
            self.after_prefix = False

    def _term(self, term: Term, priority: int, depth: int) -> None:
        term = deref(term)
        self.left -= 1
        if isinstance(term, str):
            self._atom(term, priority)
        elif isinstance(term, Variable):
            name = self.style.names.get(term)
            self._emit(name or self.names.setdefault(term, f"_{len(self.names) + 1}"))
        elif not isinstance(term, tuple):
            self._emit(number_text(term))
        elif not term:
            self._emit("[]")
        elif depth <= 0 or self.left < 0:
            self._shorten()
        elif term[0] == LIST and len(term) == 3:
            self._list(term, depth - 1)
        else:
            self._compound(term, priority, depth - 1)

    def _atom(self, name: str, priority: int) -> None:
        """Write an atom; an operator that stands as an operand needs brackets."""
        text = self.atom(name)
        bare = priority < 999 and (name in self.infix or name in self.prefix) and bool(self.todo or self.out)
        self._emit(f"({text})" if bare and self.style.quoted else text)

    def _shorten(self) -> None:
        if self.whole:
            raise LogicLimitError("size of a written term", MAX_WRITTEN)
        self._emit("...")

    def _list(self, term: Term, depth: int) -> None:
        pieces: list[Any] = ["["]
        count = 0
        while term.__class__ is tuple and len(term) == 3 and term[0] == LIST:
            if count == self.width or count > self.left:
                if self.whole:
                    self._shorten()
                pieces.extend((",", "..."))
                term = ()
                break
            if count:
                pieces.append(",")
            pieces.append((term[1], 999, depth))
            term = deref(term[2])
            count += 1
        if term != ():
            pieces.extend(("|", (term, 999, depth)))
        self.left -= count
        self.todo.append("]")
        self.todo.extend(reversed(pieces))

    def _compound(self, term: Term, priority: int, depth: int) -> None:
        name, args = term[0], term[1:]
        if len(args) == 2 and name in self.infix:
            own, left, right = self.infix[name]
            mark = name if name == "," or (own < 700 and not name.isalpha()) else f" {name} "
            self._open([(args[0], left, depth), mark, (args[1], right, depth)], own > priority)
        elif len(args) == 1 and name in self.prefix and not _is_number(args[0]):
            own, right = self.prefix[name]
            self._prefixed(name, (args[0], right, depth), own > priority)
        elif name == "{}" and len(args) == 1 and self.style.operators:
            self.todo.extend(("}", (args[0], 1200, depth), "{"))
        elif self.style.numbered and name == "$VAR" and len(args) == 1 and _is_natural(args[0]):
            self._emit(letter_name(deref(args[0])))
        else:
            self._plain(name, args, depth)

    def _open(self, pieces: list[Any], bracketed: bool) -> None:
        if bracketed:
            pieces = ["(", *pieces, ")"]
        self.todo.extend(reversed(pieces))

    def _prefixed(self, name: str, operand: Any, bracketed: bool) -> None:
        if bracketed:
            self._emit("(")
            self.todo.append(")")
        self._emit(name)
        self.after_prefix = True
        self.todo.append(operand)

    def _plain(self, name: str, args: tuple[Term, ...], depth: int) -> None:
        self._emit(self.atom(name))
        pieces: list[Any] = ["("]
        for i, arg in enumerate(args[: self.width]):
            if i:
                pieces.append(",")
            pieces.append((arg, 999, depth))
        if len(args) > self.width:
            if self.whole:
                self._shorten()
            pieces.extend((",", "..."))
        self.todo.append(")")
        self.todo.extend(reversed(pieces))


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _is_number(term: Term) -> bool:
    return isinstance(deref(term), int | float | Rational)


def _is_natural(term: Term) -> bool:
    term = deref(term)
    return isinstance(term, int) and term >= 0
