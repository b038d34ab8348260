"""How many steps a pattern of Python's `re` may take on a text, before it is run: the matcher itself has no limit.

A pattern is an automaton of the characters it may read. The matcher tries, in the worst case, every way through it that
the text allows; so ways are counted, character by character, each with the number of choices behind it. Law: the count
is, but for a small factor, never below the steps of the matcher, and counting takes time linear in the text. Where a
pattern looks ahead, never goes back, or repeats what a group has read, more ways are counted than there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from re import _compiler, _parser  # type: ignore[attr-defined] # the only readers of patterns that there are
from typing import Any, TypeAlias

MOST_STEPS = 5_000_000
MOST_PLACES = 5_000  # of characters in a pattern whose repetitions are written out
_WRITTEN_OUT = 32  # more repetitions than this count as any number
_REMEMBERED = 1_024  # characters of a place

Ways: TypeAlias = dict[int, int]  # by place, how many ways there are to it
Reads: TypeAlias = Callable[[str], object]
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_CHARACTERS = ("LITERAL", "NOT_LITERAL", "ANY", "IN")


class PatternSizeError(Exception):
    """A pattern that cannot be counted."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern: where it begins, where it may end, and the ways in which it reads nothing."""

    first: Ways
    last: Ways
    empty: int


_NOTHING = _Part({}, {}, 1)


@dataclass(slots=True)
class PatternEffort:
    """The automaton of a pattern; `short` is how long a text may be so that any of that length is read soon enough."""

    first: Ways = field(init=False)
    reads: list[Reads | None] = field(default_factory=list)  # by place, the test of a character; None takes any
    follow: list[Ways] = field(default_factory=list)
    is_anchored: bool = False
    short: int = 0
    _known: list[dict[str, bool]] = field(default_factory=list)
    _any: Ways = field(default_factory=dict)  # the ways after `short` characters that fit everywhere
    _any_steps: int = 0
    _is_short_over: bool = False

    @classmethod
    def of(cls, pattern: str, flags: int) -> PatternEffort:
        """Return the automaton of a pattern that can be compiled."""
        found = cls()
        tree = _parser.parse(pattern, flags)
        flags = tree.state.flags
        whole = found._sequence(tree.data, flags, tree.state, reads_ahead=True)
        found.first = whole.first
        found.is_anchored = bool(tree.data) and _is_anchor(tree.data[0], flags)
        return found

    def is_bounded(self, text: str) -> bool:
        """Tell whether a search in a text takes `MOST_STEPS` at most.

        >>> twice = PatternEffort.of("(a+)+b", 0)
        >>> twice.is_bounded("a" * 15), twice.is_bounded("a" * 30), twice.is_bounded("xy" * 300)
        (True, False, True)
        """
        while len(text) > self.short and not self._is_short_over:
            self._lengthen()
        return len(text) <= self.short or self.steps(text) <= MOST_STEPS

    def steps(self, text: str) -> int:
        """Return how many steps a search in a text takes at most; past `MOST_STEPS` nobody counts on."""
        ways: Ways = {}
        steps = 0
        for number, character in enumerate((*text, "")):  # at the end there is nothing to take
            begins = not (self.is_anchored and number)
            ways, taken = self._read(ways, begins, character)
            steps += taken
            if steps > MOST_STEPS or (self.is_anchored and not ways):
                break
        return steps

    def _lengthen(self) -> None:
        """Find out whether texts may be one character longer, whatever they are."""
        ways, taken = self._read(self._any, not (self.is_anchored and self.short), None)
        if self._any_steps + taken > MOST_STEPS:
            self._is_short_over = True
        elif ways == self._any:  # every further character takes as long
            self.short += (MOST_STEPS - self._any_steps) // max(1, taken)
            self._is_short_over = True
        else:
            self._any, self._any_steps = ways, self._any_steps + taken
            self.short += 1

    def _read(self, ways: Ways, begins: bool, character: str | None) -> tuple[Ways, int]:
        """Return the ways behind the next character, None if it fits everywhere, and the steps to try all."""
        found: Ways = {}
        steps = 1
        sources: Iterable[tuple[Ways, int]] = ((self.follow[place], count) for place, count in ways.items())
        for choices, count in [*sources, *([(self.first, 1)] if begins else ())]:
            for place, several in choices.items():
                steps += count * several
                if character is None or self._takes(place, character):
                    found[place] = found.get(place, 0) + count * several
        return found, steps

    def _takes(self, place: int, character: str) -> bool:
        reads, known = self.reads[place], self._known[place]
        if reads is None:
            return bool(character)
        if character not in known:
            if len(known) >= _REMEMBERED:
                known.clear()
            known[character] = bool(reads(character))
        return known[character]

    # from the pattern to the automaton

    def _place(self, reads: Reads | None) -> _Part:
        if len(self.reads) >= MOST_PLACES:
            raise PatternSizeError
        place = len(self.reads)
        self.reads.append(reads)
        self.follow.append({})
        self._known.append({})
        return _Part({place: 1}, {place: 1}, 0)

    def _sequence(self, items: Sequence[Any], flags: int, state: Any, *, reads_ahead: bool) -> _Part:
        found = _NOTHING
        for item in items:
            found = self._then(found, self._item(item, flags, state, reads_ahead))
        return found

    def _then(self, a: _Part, b: _Part) -> _Part:
        self._link(a.last, b.first)
        return _Part(_sum(a.first, b.first, a.empty), _sum(b.last, a.last, b.empty), a.empty * b.empty)

    def _link(self, last: Ways, first: Ways) -> None:
        for place, count in last.items():
            for other, several in first.items():
                self.follow[place][other] = self.follow[place].get(other, 0) + count * several

    def _item(self, item: tuple[Any, Any], flags: int, state: Any, reads_ahead: bool) -> _Part:
        name, value = str(item[0]), item[1]
        if name in _CHARACTERS:
            single = _parser.SubPattern(state, [item])
            return self._place(_compiler.compile(single, flags).match if reads_ahead else None)
        if name in _REPEATS:
            least, most, part = value
            return self._repeat(least, most, part, flags, state, reads_ahead)
        match name:
            case "BRANCH":
                return _either(self._sequence(part.data, flags, state, reads_ahead=reads_ahead) for part in value[1])
            case "SUBPATTERN":
                _, added, removed, part = value
                return self._sequence(part.data, (flags | added) & ~removed, state, reads_ahead=reads_ahead)
            case "ATOMIC_GROUP":
                return self._sequence(value.data, flags, state, reads_ahead=reads_ahead)
            case "GROUPREF_EXISTS":
                parts = (() if part is None else part.data for part in value[1:])
                return _either(self._sequence(part, flags, state, reads_ahead=reads_ahead) for part in parts)
            case "ASSERT" | "ASSERT_NOT":
                direction, part = value
                seen = self._sequence(part.data, flags, state, reads_ahead=reads_ahead and direction > 0)
                return _Part(seen.first, {}, 1 + seen.empty)
            case "GROUPREF":
                return self._again(*state.groupwidths[value])
            case _:  # the beginning, the end, the edge of a word; what never matches
                return _NOTHING

    def _repeat(self, least: int, most: int, part: Any, flags: int, state: Any, reads_ahead: bool) -> _Part:
        def copy() -> _Part:
            return self._sequence(part.data, flags, state, reads_ahead=reads_ahead)

        is_endless = most is _parser.MAXREPEAT
        if least > _WRITTEN_OUT or (not is_endless and most > _WRITTEN_OUT):
            once = self._star(copy())
            if once.empty > 1:
                raise PatternSizeError
            return self._then(copy(), once) if least else once
        found = self._star(copy()) if is_endless else _NOTHING
        for _ in range(0 if is_endless else most - least):
            found = self._then(copy(), found)
            found = _Part(found.first, found.last, found.empty + 1)
        for _ in range(least):
            found = self._then(copy(), found)
        return found

    def _again(self, least: int, most: int) -> _Part:
        """Return the part that reads what a group has read, of which only the length is known."""
        if least != most or most > _WRITTEN_OUT:
            return self._star(self._place(None))
        found = _NOTHING
        for _ in range(most):
            found = self._then(found, self._place(None))
        return found

    def _star(self, part: _Part) -> _Part:
        self._link(part.last, part.first)
        return _Part(part.first, part.last, part.empty + 1)


def _sum(a: Ways, b: Ways, times: int) -> Ways:
    """Return the ways of one and, some times over, those of another."""
    if not times:
        return a
    return {place: a.get(place, 0) + times * b.get(place, 0) for place in a.keys() | b.keys()}


def _either(parts: Iterable[_Part]) -> _Part:
    found = _Part({}, {}, 0)
    for part in parts:
        found = _Part(_sum(found.first, part.first, 1), _sum(found.last, part.last, 1), found.empty + part.empty)
    return found


def _is_anchor(item: tuple[Any, Any], flags: int) -> bool:
    """Tell whether a pattern is found at the beginning of a text alone."""
    name = str(item[1]) if str(item[0]) == "AT" else ""
    return name == "AT_BEGINNING_STRING" or (name == "AT_BEGINNING" and not flags & re.MULTILINE)
