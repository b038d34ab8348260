"""Rules in a snapshot: which of the program's are left, and those inserted at run time, as text.

A program that was changed meanwhile keeps its own rules in its own order, less those that were deleted, and has those
that were added after them; the very same program has all of them at their old places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from etalis.language.printer import print_item
from etalis.language.read.parser import parse, parse_rule
from etalis.language.rules import label_properties
from etalis.language.syntax import LabelProperty, Property
from etalis.plan.rules import plan_rule
from etalis.runtime.codegen.network import PlannedRule
from etalis.runtime.rule_change.run_time_rules import put_in_place
from etalis.runtime.ruleset import Pair, RuleSet
from etalis.runtime.snapshot.names import name_rules
from etalis.runtime.snapshot.sections import Book

_COUNTS = ("numbers", "added", "generation")


def save_rules(rules: RuleSet, names: dict[int, str], book: Book) -> None:
    """Write down how the rules differ from those of the program."""
    places = {planned.number: place for place, (planned, _) in enumerate(rules.rules)}
    book.put_rows(("rules",), [(names[r.number], places.get(r.number, -1)) for r in rules.originals])
    added = [
        (places[r.number], r.number, r.generation, int(r.shares), r.head.label, print_item(rule))
        for r, rule in rules.rules
        if r.generation > 0
    ]
    book.put_rows(("added",), added)
    book.put_rows(("counts",), [tuple(getattr(rules, name) for name in _COUNTS)])
    book.put_rows(("spied",), sorted(rules.spied))
    if rules.apart != label_properties(rules.program.tree):
        texts = [(label, [print_item(LabelProperty(label, x)) for x in given]) for label, given in rules.apart.items()]
        book.put_rows(("apart",), [(label, tuple(several)) for label, several in texts])


def load_rules(rules: RuleSet, book: Book) -> dict[int, Pair]:
    """Take away and add the rules that the original had other than from its program.

    Return those that were added, by the numbers they had.
    """
    rules.spied.update(book.rows(("spied",)))
    for label, texts in book.rows(("apart",)):
        rules.apart[label] = tuple(map(_property, texts))
    ((*counts,),) = book.rows(("counts",))
    own = dict(book.rows(("rules",)))
    added = book.rows(("added",))
    found: dict[int, Pair] = {}
    if added or rules.spied or -1 in own.values():
        found = _rebuild(rules, own, added)
    for name, count in zip(_COUNTS, counts, strict=True):
        setattr(rules, name, max(getattr(rules, name), count))
    return found


def _property(text: str) -> Property:
    (item,) = parse(text).items
    assert isinstance(item, LabelProperty)
    return item.property


def _rebuild(rules: RuleSet, own: dict[str, int], added: list[tuple[Any, ...]]) -> dict[int, Pair]:
    names = name_rules(rules)
    is_same = list(own) == [names[rule.number] for rule in rules.originals]
    placed = [(own.get(names[pair[0].number], 0), pair) for pair in rules.rules]
    left = [(place if is_same else -1, pair) for place, pair in placed if place >= 0]
    found: dict[int, Pair] = {}
    for place, *row in added:
        pair = found[row[0]] = plan_added(rules, row)
        left.append((place, pair))
    put_in_place(rules, [pair for _, pair in sorted(left, key=lambda item: item[0])])
    return found


def plan_added(rules: RuleSet, row: Sequence[Any]) -> Pair:
    """Plan a rule that came at run time: number, generation, whether it shares, label, text."""
    number, generation, shares, label, text = row
    rules.numbers = max(rules.numbers + 1, number)
    rule = parse_rule(text)
    head = plan_rule(rule, int(label) if rule.label is None else 0, rules.settings, parts=rules.traced)
    return PlannedRule(rules.numbers, generation, head, bool(shares)), rule
