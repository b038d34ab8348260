"""The variables of a query as variables of a rule: `?company` is `Company`, one name for each, whatever its letters."""

from __future__ import annotations

from etalis.language.syntax import Compound, ListTerm, Term, Var

_BLANK = "_:"


class VariableNames:
    """Names of variables, each given once; those that begin with `_` belong to nobody's query."""

    __slots__ = ("_given", "_taken")

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        """Return the name that a variable of the query has in the rule.

        >>> names = VariableNames()
        >>> [names.of(name) for name in ("price", "Price", "price", "_:b0", "2nd")]
        ['Price', 'Price_2', 'Price', '_B0', 'V2nd']
        """
        if name not in self._given:
            self._given[name] = self._take(_capital(name))
        return self._given[name]

    def fresh(self, name: str) -> str:
        """Return a name that no other variable has, after the one that it stands in for."""
        return self._take(f"_{name.lstrip('_')}")

    def term(self, term: Term) -> Term:
        """Return a term of the query with the names of the rule."""
        match term:
            case Var(name=name):
                return Var(self.of(name), term.span)
            case Compound() | ListTerm():
                raise AssertionError("terms of triples are flat")
            case _:
                return term

    def _take(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name


def _capital(name: str) -> str:
    is_blank = name.startswith(_BLANK)
    text = "".join(c if c.isalnum() or c == "_" else "_" for c in name.removeprefix(_BLANK))
    first = text[:1].upper()
    text = first + text[1:] if len(first) == 1 and (first.isupper() or first.istitle()) else f"V{text}"
    return f"_{text}" if is_blank else text
