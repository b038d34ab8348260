"""REGEX and REPLACE: patterns of Python's `re`, replacements as SPARQL writes them (`$1`).

A pattern that may take more than `pattern_effort.MOST_STEPS` steps on a text is an error there, before it is run.
"""

from __future__ import annotations

import functools
import re
import warnings
from typing import NamedTuple

from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.pattern_effort import PatternEffort, PatternSizeError
from etalis.logic.sparql.term_functions import simple
from etalis.logic.sparql.text_functions import LONGEST, like, text_of
from etalis.logic.sparql.values import Known

LONGEST_PATTERN = 1_000
_FLAGS = {"s": re.DOTALL, "m": re.MULTILINE, "i": re.IGNORECASE, "x": re.VERBOSE, "q": re.NOFLAG}
_REMEMBERED = 512
_TOO_LONG = "a pattern that may take too long"
_REPLACEMENT = re.compile(r"\\([\\$])|\$(\d+)|([^\\$]+)", re.ASCII)


class TextPattern(NamedTuple):
    """A pattern, and what it may take to look for it; None where its characters stand for themselves."""

    compiled: re.Pattern[str]
    effort: PatternEffort | None


def matches(a: Known, pattern: Known, flags: Known = "") -> bool:
    """Tell whether a pattern is found in a text.

    >>> matches("Basel", "^ba", "i")
    True
    """
    text = text_of(a)
    return _read_pattern(pattern, flags, text).search(text) is not None


def replace(a: Known, pattern: Known, replacement: Known, flags: Known = "") -> Known:
    """Replace what a pattern finds in a text; one that finds nothing between characters is an error.

    >>> replace("abcd", "(b)(c)", "[$2$1]")
    'a[cb]d'
    """
    text = text_of(a)
    found = _read_pattern(pattern, flags, text)
    if found.search("") is not None:
        raise ExpressionError("a pattern that finds the empty text")
    written = simple(replacement)
    parts = [written] if "q" in simple(flags) else _read_replacement(written, found.groups)
    size = len(text)

    def fill(match: re.Match[str]) -> str:
        nonlocal size
        pieces = [part if isinstance(part, str) else match[part] or "" for part in parts]
        size += sum(map(len, pieces))
        if size > LONGEST:
            raise ExpressionError("a text that is too long")
        return "".join(pieces)

    return like(a, found.sub(fill, text))


def _read_pattern(pattern: Known, flags: Known, text: str) -> re.Pattern[str]:
    """Return a pattern that is looked for in a text."""
    compiled, effort = _compile(simple(pattern), simple(flags))
    if effort is not None and len(text) > effort.short and not effort.is_bounded(text):
        raise ExpressionError(_TOO_LONG)
    return compiled


@functools.lru_cache(_REMEMBERED)
def _compile(pattern: str, flags: str) -> TextPattern:
    chosen = re.NOFLAG
    for flag in flags:
        if flag not in _FLAGS:
            raise ExpressionError("no flag of patterns")
        chosen |= _FLAGS[flag]
    if len(pattern) > LONGEST_PATTERN:
        raise ExpressionError("a pattern that is too long")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if "q" in flags:
                return TextPattern(re.compile(re.escape(pattern), chosen), None)
            return TextPattern(re.compile(pattern, chosen), PatternEffort.of(pattern, chosen))
    except (re.error, OverflowError, RecursionError):
        raise ExpressionError("no pattern") from None
    except PatternSizeError:
        raise ExpressionError(_TOO_LONG) from None


def _read_replacement(text: str, groups: int) -> list[str | int]:
    """Return the parts of a replacement: texts, and the numbers of groups."""
    parts: list[str | int] = []
    place = 0
    while place < len(text):
        found = _REPLACEMENT.match(text, place)
        if found is None:
            raise ExpressionError("no replacement")
        place = found.end()
        if found[2] is None:
            parts.append(found[1] or found[3])
            continue
        digits = found[2]
        while len(digits) > 1 and int(digits) > groups:
            digits, place = digits[:-1], place - 1
        parts.append(int(digits) if int(digits) <= groups else "")
    return parts
