"""Branches of rules that are the same but for their objects: one function for all of them, with the objects as slots.

`alert7(P) <- tick('S7', P)` and `alert8(P) <- tick('S8', P)` are written alike, with other constants and other kinds of
events. What all branches of a shape have in common stays a constant of the function, the rest comes with each call; so
fifty thousand rules are one function. Law: a branch does what its text says, with its own objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from etalis.data.values import Real
from etalis.runtime.codegen.rule_code import RuleCode
from etalis.runtime.codegen.source import Code
from etalis.runtime.state import Raw

Hit = tuple[Any, ...]  # the place of a branch among all, its function, its slots
Take = Callable[[Raw, Hit], None]

NOTHING: Mapping[str, str] = MappingProxyType({})
FIRST_SLOT = 2  # of a hit
FIRST_NAME = 1_000  # of the names in the text of a branch, which is written into functions that have names, too
_NAMED = re.compile(r"\bk(\d+)\b")
_CONSTANTS = frozenset((int, float, Real, str))


class BranchShape:
    """The branches of one text; `varying` are the numbers of the objects that are not the same for all of them."""

    def __init__(
        self, base: RuleCode, what: str, lines: Sequence[str], objects: list[Any], begin: Sequence[str]
    ) -> None:
        self.base = base
        self.what = what
        self.lines = lines
        self.begin = begin
        self.first = objects
        self.varying: tuple[int, ...] = ()
        self.of_first: Mapping[str, str] = NOTHING  # what lines come to where it has made nothing at the stamp yet
        self.told: dict[str, str] = {}  # what lines come to where an index has compared the only constant of a pattern
        self._take: Take | None = None

    def fit(self, objects: list[Any]) -> bool:
        """Make room for the objects of one more branch; tell whether that took more slots."""
        if len(self.varying) == len(objects):
            return False
        known = set(self.varying)
        more = [n for n, thing in enumerate(objects) if n not in known and not _are_same(thing, self.first[n])]
        self.varying = tuple(sorted((*known, *more)))
        if more:
            self._take = None
        return bool(more)

    def fit_all(self) -> None:
        """Make room for whatever branches may come."""
        self.varying, self._take = tuple(range(len(self.first))), None

    def slots(self, objects: Sequence[Any]) -> tuple[Any, ...]:
        """Return those objects of a branch that are not the same for all."""
        return tuple([objects[n] for n in self.varying])

    def write(self, code: Code, instead: Mapping[int, str], told: Mapping[str, str] = NOTHING) -> None:
        """Write what a branch does that is `hit`; some objects, by their ids, and some lines are written otherwise."""
        names = {n: instead.get(id(thing)) for n, thing in enumerate(self.first)}
        names.update({n: f"hit[{place}]" for place, n in enumerate(self.varying, FIRST_SLOT)})

        def name(found: re.Match[str]) -> str:
            number = int(found.group(1))
            return names[number] or code.constant(self.first[number])

        for line in self.lines:
            said = line.lstrip()
            code(_NAMED.sub(name, line if said not in told else line.replace(said, told[said])))

    @property
    def take(self) -> Take:
        """The function (event, hit), written when it is first asked for."""
        if self._take is None:
            code = Code(["raw", "hit"])
            code.add(self.begin)
            self.write(code, {})
            self._take = self.base.finish(code, self.what)
        return self._take


class BranchShapes:
    """The shapes of the branches of one kind of event."""

    def __init__(self, base: RuleCode, what: str, begin: Sequence[str]) -> None:
        self._base = base
        self._what = what
        self._begin = begin
        self._of_text: dict[tuple[str, ...], BranchShape] = {}

    def find(self, code: Code) -> tuple[BranchShape, bool]:
        """Return the shape of a branch that is written, and whether it has more slots now."""
        text = tuple(line[4 * CODE_DEPTH :] for line in code.lines)
        shape = self._of_text.get(text)
        if shape is None:
            shape = self._of_text[text] = BranchShape(self._base, self._what, text, code.objects, self._begin)
            if code.derived == 1 and self._base.evidence.by_stores:  # else the text of a lone rule is that of others
                shape.of_first = code.of_first
            return shape, False
        return shape, shape.fit(code.objects)


CODE_DEPTH = Code([]).depth


def _are_same(a: object, b: object) -> bool:
    """Tell whether nothing can tell two objects apart."""
    return a is b or (type(a) is type(b) and type(a) in _CONSTANTS and a == b)
