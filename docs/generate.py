"""Fill the tables of language.md and service.md from the tables that the program runs on: `python docs/generate.py`.

A table stands between `<!-- table: name -->` and `<!-- end -->`; a test fails if one differs from its source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from itertools import groupby
from pathlib import Path
from textwrap import fill as fill_lines

from etalis.data.values import format_value
from etalis.language.check.goals import BUILTINS
from etalis.language.operators import ACTION_OPERATORS, PATTERN_OPERATORS
from etalis.plan.explain.wording import policy_afterwards, policy_matches, relation_interval, relation_test
from etalis.temporal.aggregate import FOLDS, AggregateFunction
from etalis.temporal.policy import DEFAULT_POLICY, POLICIES
from etalis.temporal.relation import RELATIONS, WEAK_RELATIONS, Relation

FOLDER = Path(__file__).resolve().parent
PAGES = [FOLDER / "language.md", FOLDER / "service.md"]
PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
SAMPLE = (2, 1, 2, 4)


def fill(page: str) -> str:
    """Return a page with all its tables made anew."""
    return PLACE.sub(lambda place: f"{place[1]}{TABLES[place[2]]()}{place[3]}", page)


def rows(*cells: Iterable[str]) -> str:
    head, *body = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([head, "|---" * (head.count(" | ") + 1) + "|", *body, ""])


def priorities() -> str:
    """The operators between patterns; of two, the one with the larger number is applied last."""
    spelled = sorted(PATTERN_OPERATORS.items(), key=lambda item: -item[1].priority)
    grouped = groupby(spelled, key=lambda item: item[1].priority)
    return rows(
        ("priority", "operators"),
        *((str(priority), " ".join(f"`{name}`" for name, _ in group)) for priority, group in grouped),
    )


def action_operators() -> str:
    """The operators between actions; of two, the one with the larger number is applied last."""
    grouped = groupby(ACTION_OPERATORS.items(), key=lambda item: item[1].priority)
    return rows(
        ("priority", "operators"),
        *((str(priority), " ".join(f"`{name}`" for name, _ in group)) for priority, group in grouped),
    )


def relations() -> str:
    return rows(
        ("pattern", "holds when", "occurs on"),
        *((_pattern(row), relation_test(row), relation_interval(row)) for row in RELATIONS.values()),
    )


def weak_relations() -> str:
    changed = [row for row in WEAK_RELATIONS.values() if row != RELATIONS[row.name]]
    return rows(("pattern", "holds when"), *((_pattern(row), relation_test(row)) for row in changed))


def _pattern(row: Relation) -> str:
    return f"`a {row.name} b`"


def policies() -> str:
    return rows(
        ("policy", "an arriving instance matches", "afterwards"),
        *((_policy(name), policy_matches(row), policy_afterwards(row)) for name, row in POLICIES.items()),
    )


def _policy(name: str) -> str:
    return f"`{name}` (default)" if name == DEFAULT_POLICY else f"`{name}`"


def aggregates() -> str:
    shown = ", ".join(map(str, SAMPLE))
    return rows(("aggregate", "at its opener", f"of {shown}", "takes"), *(_aggregate(row) for row in FOLDS.values()))


def _aggregate(row: AggregateFunction) -> tuple[str, ...]:
    value = format_value(row.result(reduce(row.step, SAMPLE, row.zero)))
    start = format_value(row.result(row.zero)) if row.at_opener else "no value yet"
    takes = "numbers" if row.numeric else "anything"
    return f"`{row.name}{'(X)' if row.has_value else ''}`", start, value, takes


def predicates() -> str:
    """The predicates that goals can call, by name, those of one name together."""
    plain = sorted((name, arity) for name, arity in BUILTINS if not name.startswith("$"))
    words = [f"`{name}/{'/'.join(str(arity) for _, arity in group)}`" for name, group in groupby(plain, lambda x: x[0])]
    return fill_lines(" ".join(words), 160, break_on_hyphens=False) + "\n"


def routes() -> str:
    """The routes of the service; this alone needs its extra."""
    from etalis.service.http.routes import ENDPOINTS

    shown = [(f"`{row.method} {row.path}`", row.text, row.scope or "") for row in ENDPOINTS]
    return rows(("call", "what it does", "scope"), *shown)


TABLES: Mapping[str, Callable[[], str]] = {
    "priorities": priorities,
    "action_operators": action_operators,
    "relations": relations,
    "weak_relations": weak_relations,
    "policies": policies,
    "aggregates": aggregates,
    "predicates": predicates,
    "routes": routes,
}


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(fill(page.read_text(encoding="utf-8")), encoding="utf-8")
