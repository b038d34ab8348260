"""The functions of SPARQL 1.1 by name, in small letters, with their numbers of arguments.

`FUNCTIONS` has all that an expression may call; those without a function here are forms, whose arguments are not all
computed first (`expressions`). Casts are named by the IRI of the type in brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from etalis.logic.rdf.exact_terms import DOUBLE, INTEGER
from etalis.logic.sparql import casts, comparison, numbers, patterns, term_functions, text_functions, time_functions
from etalis.logic.sparql.effective_boolean import truth_of
from etalis.logic.sparql.times import XSD
from etalis.logic.sparql.values import Known

FORMS: Mapping[str, tuple[int, int | None, str]] = MappingProxyType(
    {
        "&&": (2, 2, "string"),
        "||": (2, 2, "string"),
        "if": (3, 3, "term"),
        "coalesce": (0, None, "term"),
        "bound": (1, 1, "string"),
        "in": (1, None, "string"),
        "not in": (1, None, "string"),
    }
)


@dataclass(frozen=True, slots=True)
class ExpressionFunction:
    """A function: the least and the most of its arguments (None: any number), and what computes it from them.

    `gives` is the type of all its values: int, float, string (of literals, IRIs and truth values alike), or term.
    """

    name: str
    least: int
    most: int | None
    compute: Callable[..., Known] | None = None
    gives: str = "term"

    def takes(self, count: int) -> bool:
        """Tell whether it can have so many arguments."""
        return self.least <= count and (self.most is None or count <= self.most)


def _rows(
    table: Mapping[str, Callable[..., Any]], least: int, most: int | None, gives: str = "string"
) -> dict[str, ExpressionFunction]:
    return {
        name: ExpressionFunction(name, least, most, compute, _OTHERS.get(name, gives))
        for name, compute in table.items()
    }


_OTHERS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("strlen", "year", "month", "day", "hours", "minutes"), "int"),
        **dict.fromkeys(("seconds", f"<{XSD}decimal>"), "float"),
        **dict.fromkeys(("strdt", f"<{INTEGER}>", f"<{XSD}float>", f"<{DOUBLE}>"), "term"),
    }
)  # which may be too large for a column, or infinite
FUNCTIONS: Mapping[str, ExpressionFunction] = MappingProxyType(
    {
        **{name: ExpressionFunction(name, least, most, None, gives) for name, (least, most, gives) in FORMS.items()},
        **_rows({"!": lambda a: not truth_of(a)}, 1, 1),
        **_rows(comparison.ORDERS, 2, 2),
        **_rows({"sameterm": comparison.same}, 2, 2),
        **_rows(numbers.BINARY, 2, 2, "term"),
        **_rows(numbers.UNARY, 1, 1, "term"),
        **_rows(term_functions.INSPECT, 1, 1),
        **_rows(term_functions.MAKE, 2, 2),
        **_rows(text_functions.ONE, 1, 1),
        **_rows(text_functions.TWO, 2, 2),
        **_rows({"substr": text_functions.substring}, 2, 3),
        **_rows({"concat": text_functions.concat}, 0, None),
        **_rows({"regex": patterns.matches}, 2, 3),
        **_rows({"replace": patterns.replace}, 3, 4),
        **_rows(casts.CASTS, 1, 1),
        **_rows(time_functions.PARTS, 1, 1),
        **_rows(time_functions.ENDS, 2, 2),
    }
)
