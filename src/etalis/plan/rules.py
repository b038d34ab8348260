"""The plans of a program's rules, by its settings and their properties."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from etalis.errors import ProgramError
from etalis.language.flags import Settings, rule_settings
from etalis.language.outer.check_outer import unkept
from etalis.language.rules import expand_any, with_checks
from etalis.language.syntax import Rule
from etalis.language.traversal import rewrite as rewrite_pattern
from etalis.plan import algebra as p
from etalis.plan.build.binarize import binarize
from etalis.plan.rewrite import rewrite
from etalis.temporal.policy import POLICIES
from etalis.temporal.relation import relations


def plan_rules(rules: Iterable[Rule], settings: Settings, *, parts: bool = False) -> tuple[p.Head, ...]:
    """Return the plan of every rule; one without a label is named by its number."""
    return tuple(plan_rule(rule, number, settings, parts=parts) for number, rule in enumerate(rules, 1))


def as_run(rule: Rule, settings: Settings) -> Rule:
    """Return a rule with each `any` as the `or` of its conjunctions, unless its policy keeps the newest."""
    if POLICIES[rule_settings(settings, rule)[0]].keep == "newest":
        return rule
    pattern = rewrite_pattern(rule.pattern, expand_any)
    return rule if pattern is rule.pattern else replace(rule, pattern=pattern)


def plan_rule(rule: Rule, number: int, settings: Settings, *, parts: bool = False) -> p.Head:
    """Return the plan of one rule, of its policy and within its windows; `parts` has it keep the inputs' numbers."""
    rule = with_checks(rule)
    policy, window = rule_settings(settings, rule)
    refused = list(unkept(rule, POLICIES[policy]))
    if refused:
        raise ProgramError(*refused)
    bounds = [w for w in (window, settings.garbage_window) if w is not None]
    table = relations(settings.relations)
    label = rule.label or str(number)
    smallest = min(bounds, default=None)
    head = binarize(
        rule, policy=POLICIES[policy], window=smallest, relations=table, label=label, parts=parts,
        joint=settings.joint_arrivals,
    )  # fmt: skip
    return rewrite(head)
