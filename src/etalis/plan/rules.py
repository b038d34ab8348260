"""The plans of a program's rules, as every back end but the engine of changing rules takes them: all at once."""

from __future__ import annotations

from collections.abc import Iterable

from etalis.language.flags import Settings, rule_settings
from etalis.language.syntax import Rule
from etalis.plan import algebra as p
from etalis.plan.binarize import binarize
from etalis.temporal.policy import POLICIES
from etalis.temporal.relation import relations


def plan_rules(rules: Iterable[Rule], settings: Settings) -> tuple[p.Head, ...]:
    """Return the plan of every rule; one without a label is named by its number."""
    return tuple(_plan(rule, str(number), settings) for number, rule in enumerate(rules, 1))


def _plan(rule: Rule, number: str, settings: Settings) -> p.Head:
    policy, window = rule_settings(settings, rule)
    bounds = [w for w in (window, settings.garbage_window) if w is not None]
    table = relations(settings.relations)
    return binarize(
        rule, policy=POLICIES[policy], window=min(bounds, default=None), relations=table, label=rule.label or number
    )
