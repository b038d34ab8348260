"""The words of the language, from its own tables: what an editor completes and colours (`/language.json`)."""

from __future__ import annotations

from typing import Any

from etalis.epsparql.read.words import KEYWORDS
from etalis.language.check.goals import BUILTINS
from etalis.language.flags import FLAGS, Flag
from etalis.language.operators import ACTION_OPERATORS, ARROWS, PATTERN_OPERATORS
from etalis.language.reactive.printing import ACTION_WORDS
from etalis.language.read.pattern import FORM_WORDS
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.policy import POLICIES


def vocabulary() -> dict[str, Any]:
    """Return operators, keywords, predicates, aggregates, policies and flags of rules, and the keywords of queries."""
    return {
        "operators": sorted({*PATTERN_OPERATORS, *ACTION_OPERATORS, *ARROWS}),
        "keywords": sorted({*FORM_WORDS, *ACTION_WORDS}),
        "predicates": sorted(f"{name}/{arity}" for name, arity in BUILTINS if not name.startswith("$")),
        "aggregates": sorted(FOLDS),
        "policies": list(POLICIES),
        "flags": [_flag(row) for row in FLAGS.values()],
        "sparql": sorted(KEYWORDS),
    }


def _flag(row: Flag) -> dict[str, Any]:
    values = list(row.words) if row.words else [row.number]
    return {"name": row.name, "values": values, "default": row.default, "meaning": row.meaning}
