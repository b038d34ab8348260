"""Durations of windows: `"PT10M"^^xsd:duration`, `"PT10M"`, `PT10M`, `600`, `10m`, `1h30m`; microseconds."""

from __future__ import annotations

import re

from etalis.epsparql.read.literals import read_string
from etalis.epsparql.read.query_text import QueryText, describe
from etalis.epsparql.read.terms import read_iri
from etalis.epsparql.read.words import KEYWORDS
from etalis.language.syntax import Const
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.rdf.exact_terms import STRING, kind_of, split_literal
from etalis.temporal.duration import UNITS, DurationError, iso_end, parse_duration, parse_iso
from etalis.temporal.interval import MICROSECONDS

_MINUTES = re.compile(r"(?<=[0-9])(\s*)m(?![a-z])")
_HINT = 'write "PT10M"^^xsd:duration, PT10M, a number of seconds, or 500ms, 10s, 10m, 2h, 30d'
_BEHIND = KEYWORDS | {"STEP", "SLIDE", "TUMBLING", "DO"}
_TYPES = tuple(f"<{XSD}{name}>" for name in ("duration", "dayTimeDuration", "yearMonthDuration"))


def read_duration(r: QueryText) -> int:
    """Read a duration; return its microseconds."""
    first, token = r.at, r.token
    if token.kind in ("string", "long"):
        text = _literal(r)
        if iso_end(text) != len(text):
            raise r.refusal("E115", f"{describe(token)} is no duration", token, _HINT)
    elif token.kind == "iso":
        text = r.take().text
    elif token.kind == "number":
        text = _with_units(r)
    else:
        negative = r.sees("-")
        message = "a duration cannot be negative" if negative else f"{describe(token)} is no duration"
        raise r.refusal("E115", message, token, "leave the minus out" if negative else _HINT)
    try:
        seconds = parse_iso(text) if text.startswith("P") else parse_duration(text)
    except DurationError as error:
        raise r.refusal(error.code, error.message, r.span_from(first), error.hint) from None
    return int(seconds * MICROSECONDS)


def check_length(r: QueryText, constant: Const, *, plain: bool = False) -> None:
    """Report a constant that is a duration of months or years: by its type or, if `plain`, a text that reads as one."""
    value = constant.value
    if not isinstance(value, str) or kind_of(value) != "literal":
        return
    text, datatype, _ = split_literal(value)
    text = text.removeprefix("-")
    if (datatype == STRING if plain else f"<{datatype}>" in _TYPES) and iso_end(text) == len(text):
        try:
            parse_iso(text)
        except DurationError as error:
            if error.code == "E126":
                assert constant.span is not None
                r.report(error.code, error.message, constant.span, error.hint)


def _literal(r: QueryText) -> str:
    token = r.token
    text = read_string(r)
    if r.accept("^^"):
        kind = read_iri(r)
        if kind.value not in _TYPES:
            raise r.refusal("E115", f"{describe(token)} is of another type than xsd:duration", token, _HINT)
    elif r.token.kind == "tag":
        raise r.refusal("E115", "a duration has no language", r.token, _HINT)
    return text


def _is_meant(r: QueryText) -> bool:
    """Tell whether a word apart from its number is a unit, or cannot be anything else."""
    word = r.token.text
    if word.lower() in UNITS or word == "m":
        return True
    return word.upper() not in _BEHIND and not r.names.takes_bare and not r.begins_query()


def _with_units(r: QueryText) -> str:
    """Take a number with the units behind it, `10m` and `1h30m`; return it as other texts have it."""
    start = r.token.start
    r.take()
    while True:
        before, token = r.tokens[r.at - 1], r.token
        touches = token.start == before.end
        is_unit = token.kind == "word" and (touches or _is_meant(r))
        if not is_unit and not (touches and token.kind == "number"):
            break
        r.take()
    text = r.source.text[start : r.tokens[r.at - 1].end].lower()
    return _MINUTES.sub(r"\1min", text)
