"""Names that look like a slip of the pen for another name.

Two names are lookalikes if one edit (a character more, less, other, or two swapped) turns one into the other, or if
they differ in case and underscores only. Names that differ in digits, in a capital at the end, or in a plural `s` are
told apart on purpose and never count. `Lookalikes` finds them by an index of names with one character left out, so a
large program costs no more per name than a small one.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import overload

MIN_LENGTH = 4


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most like a name, if one is like it at all; a beginning of at least three letters counts.

    >>> nearest("event_consumtion_policy", ["logging", "event_consumption_policy"])
    'event_consumption_policy'
    """
    others = sorted(set(candidates) - {name})
    found = difflib.get_close_matches(name, others, n=1, cutoff=0.7)
    found += [c for c in others if min(len(c), len(name)) >= 3 and (name.startswith(c) or c.startswith(name))]
    return found[0] if found else None


@overload
def suggest(name: str, candidates: Iterable[str], otherwise: str) -> str: ...


@overload
def suggest(name: str, candidates: Iterable[str], otherwise: None = None) -> str | None: ...


def suggest(name: str, candidates: Iterable[str], otherwise: str | None = None) -> str | None:
    """Return the hint `did you mean ...?`, or what to say when nothing is near."""
    near = nearest(name, candidates)
    return otherwise if near is None else f"did you mean {near}?"


def is_lookalike(a: str, b: str) -> bool:
    """Tell whether two different names look like the same one misspelt.

    >>> is_lookalike("withdrawl", "withdrawal"), is_lookalike("CityA", "CityB"), is_lookalike("pickUp", "pick_up")
    (True, False, True)
    """
    if a == b or _told_apart(a, b):
        return False
    if _folded(a) == _folded(b):
        return True
    return min(len(a), len(b)) >= MIN_LENGTH and _one_edit(a, b)


def same_words(name: str) -> tuple[str, ...]:
    """Return the words of a name, in an order and number that does not matter.

    >>> same_words("failedLogins") == same_words("login_failed")
    True
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return tuple(sorted(word[:-1] if len(word) > 3 and word[-1] == "s" else word for word in parted.split("_")))


def find_similar(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that a name may be a slip of the pen for, or one that says nearly the same.

    >>> find_similar("Usr", ["Total", "User"]), find_similar("Total", ["Total2"])
    ('User', None)
    """
    others = [other for other in candidates if other != name and not _told_apart(name, other)]
    likely = [other for other in others if is_lookalike(name, other)]
    likely += difflib.get_close_matches(name, [other for other in others if len(other) > 2], n=1, cutoff=0.8)
    return likely[0] if likely else None


def _told_apart(a: str, b: str) -> bool:
    """Tell whether two names differ the way names made in series do."""
    if a.translate(_NO_DIGITS) == b.translate(_NO_DIGITS):
        return True
    short, long = sorted((a, b), key=len)
    if long[:-1] == short:
        return long[-1] == "s" or long[-1].isupper() or not long[-1].isalpha()
    if len(a) == len(b) and a[:-1] == b[:-1]:
        return a[-1].isupper() or len(a) <= MIN_LENGTH or a[-2] == "_"
    return len(a) == len(b) and a[1:] == b[1:]


_NO_DIGITS = str.maketrans("", "", "0123456789")


def _folded(name: str) -> str:
    return name.replace("_", "").casefold()


def _one_edit(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    if len(long) - len(short) > 1:
        return False
    start = 0
    while start < len(short) and short[start] == long[start]:
        start += 1
    if len(short) < len(long):
        return short[start:] == long[start + 1 :]
    swapped = short[start + 1 : start + 2] + short[start : start + 1] + short[start + 2 :]
    return short[start + 1 :] == long[start + 1 :] or swapped == long[start:]


class Lookalikes:
    """The lookalikes of any name among known ones; names that differ in digits alone are looked up as one."""

    def __init__(self, known: Iterable[str]) -> None:
        self._series: defaultdict[str, list[str]] = defaultdict(list)
        self._near: defaultdict[str, list[str]] = defaultdict(list)
        for name in sorted(known):
            self._series[name.translate(_NO_DIGITS)].append(name)
        for series in self._series:
            for key in _keys(series):
                self._near[key].append(series)

    def of(self, name: str) -> list[str]:
        """Return the known names that look like this one, sorted; of a series the first."""
        plain = name.translate(_NO_DIGITS)
        near = {series for key in _keys(plain) for series in self._near.get(key, ()) if is_lookalike(plain, series)}
        return sorted(self._series[series][0] for series in near)


def _keys(name: str) -> set[str]:
    """Return what two lookalikes share: the name, its folded form, a long one without one character."""
    if len(name) > 100:
        return {name}
    if len(name) < MIN_LENGTH:
        return {_folded(name), name}
    return {_folded(name), name} | {name[:i] + name[i + 1 :] for i in range(len(name))}
