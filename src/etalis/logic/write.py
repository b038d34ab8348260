"""Terms as text: operators in their places, atoms quoted where the reader would need it, variables as `_1`, `_2`, ...

Bounded on purpose: past `depth` levels or `width` elements it writes `...`, so that any term, cyclic ones too, can be
shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from etalis.logic.errors import LogicLimitError
from etalis.logic.term import format_atom, format_float
from etalis.logic.unify import LIST, Term, Variable, deref

_INFIX: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        **dict.fromkeys((":-", "-->"), (1200, 1199, 1199)),
        ";": (1100, 1099, 1100),
        "->": (1050, 1049, 1050),
        "*->": (1050, 1049, 1050),
        ",": (1000, 999, 1000),
        **dict.fromkeys(
            ("=", "\\=", "==", "\\==", "@<", "@>", "@=<", "@>=", "is", "=:=", "=\\=", "<", ">", "=<", ">=", "=.."),
            (700, 699, 699),
        ),
        ":": (200, 199, 200),
        **dict.fromkeys(("+", "-", "/\\", "\\/", "xor"), (500, 500, 499)),
        **dict.fromkeys(("*", "/", "//", "mod", "rem", "div", "<<", ">>"), (400, 400, 399)),
        "**": (200, 199, 199),
        "^": (200, 199, 200),
    }
)
_MAX_WRITTEN = 1_000_000
_MAX_WRITTEN_DEPTH = 150
_PREFIX: Mapping[str, tuple[int, int]] = MappingProxyType({"\\+": (900, 900), "-": (200, 200), "\\": (200, 200)})


def format_term(term: Term, *, priority: int = 1200, depth: int = 100, width: int = 1000) -> str:
    """Write a term, in brackets if its operator has more than the priority.

    >>> format_term(("+", 1, ("*", 2, Variable())))
    '1+2*_1'
    """
    return _Writer(width).write(term, priority, depth)


def print_term(term: Term, *, quoted: bool = True, operators: bool = True) -> str:
    """Write a term whole; one nested deeper or larger than can be written is a limit error.

    >>> print_term(("+", "A b", 1)), print_term(("+", "A b", 1), quoted=False, operators=False)
    ("'A b'+1", '+(A b,1)')
    """
    writer = _Writer(_MAX_WRITTEN, whole=True, quoted=quoted, operators=operators)
    writer.left = _MAX_WRITTEN
    return writer.write(term, 1200, _MAX_WRITTEN_DEPTH)


def decimal_text(number: int) -> str:
    """Write an integer of any size (Python refuses str() of very long ones)."""
    if number.bit_length() < 10_000:
        return str(number)
    sign, number, digits = "-" if number < 0 else "", abs(number), 1 << (number.bit_length().bit_length() - 3)
    high, low = divmod(number, 10**digits)
    return sign + decimal_text(high) + decimal_text(low).zfill(digits)


class _Writer:
    """Holds the names given to variables while one term is written."""

    infix: Mapping[str, tuple[int, int, int]]
    prefix: Mapping[str, tuple[int, int]]

    def __init__(self, width: int, *, whole: bool = False, quoted: bool = True, operators: bool = True) -> None:
        self.width = width
        self.whole = whole
        self.atom = format_atom if quoted else str
        self.infix, self.prefix = (_INFIX, _PREFIX) if operators else ({}, {})
        self.left = 10_000
        self.names: dict[Variable, str] = {}

    def write(self, term: Term, priority: int, depth: int) -> str:
        term = deref(term)
        if isinstance(term, Variable):
            return self.names.setdefault(term, f"_{len(self.names) + 1}")
        if isinstance(term, str):
            return self.atom(term)
        if isinstance(term, float):
            return format_float(float(term))
        if isinstance(term, int):
            return decimal_text(term)
        if not term:
            return "[]"
        self.left -= 1
        if depth <= 0 or self.left < 0:
            return self._shortened()
        if term[0] == LIST and len(term) == 3:
            return self._list(term, depth)
        return self._compound(term, priority, depth - 1)

    def _shortened(self) -> str:
        if self.whole:
            raise LogicLimitError("size of a written term", _MAX_WRITTEN)
        return "..."

    def _list(self, term: Term, depth: int) -> str:
        items: list[str] = []
        while term.__class__ is tuple and len(term) == 3 and term[0] == LIST:
            if len(items) == self.width:
                return "[" + ",".join(items) + "," + self._shortened() + "]"
            items.append(self.write(term[1], 999, depth - 1))
            term = deref(term[2])
        tail = "" if term == () else "|" + self.write(term, 999, depth - 1)
        return "[" + ",".join(items) + tail + "]"

    def _compound(self, term: Term, priority: int, depth: int) -> str:
        name, args = term[0], term[1:]
        if len(args) == 2 and name in self.infix:
            own, left, right = self.infix[name]
            mark = name if name == "," or (own < 700 and not name.isalpha()) else f" {name} "
            text = self.write(args[0], left, depth) + mark + _apart(mark, self.write(args[1], right, depth))
            return f"({text})" if own > priority else text
        if len(args) == 1 and name in self.prefix and not isinstance(deref(args[0]), int | float):
            own, right = self.prefix[name]
            operand = self.write(args[0], right, depth)
            text = name + (" " + operand if operand.startswith("(") else _apart(name, operand))
            return f"({text})" if own > priority else text
        shown = [self.write(a, 999, depth) for a in args[: self.width]]
        if len(args) > self.width:
            shown.append(self._shortened())
        return f"{self.atom(name)}({','.join(shown)})"


def _apart(mark: str, text: str) -> str:
    """Keep a sign apart from the operator before it, so that `a- -1` reads back."""
    return " " + text if text[:1] in "+-\\" and mark[-1:] in "+-*/\\^<>=:" else text
