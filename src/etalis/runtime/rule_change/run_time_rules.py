"""Rules that come, go and change while an engine runs, and what else a goal may ask of the rules.

A change is checked first, like a program. It compiles the rules that it concerns where it leaves the others alone
(`network_change`), else all of them anew over the state that they have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

from etalis.data.values import Value
from etalis.errors import Problem, ProgramError
from etalis.language.check.effects import acts_on_run, find_effects, reads_clock, refuse_effects
from etalis.language.check.outline import Outline
from etalis.language.flags import PROPERTIES
from etalis.language.ground_terms import ground
from etalis.language.named_attributes import place_in_rule
from etalis.language.outer.check_outer import find_cycles
from etalis.language.outer.strata import most_levels, most_stages
from etalis.language.reactive.check_constraints import no_properties
from etalis.language.reactive.constraints import tells_violation
from etalis.language.read.parser import parse_rule
from etalis.language.rules import event_rules, events_in
from etalis.language.same_rule import fits
from etalis.language.steps import Assign, DeleteRule, InsertRule, Reset, RuleStep, Spy, Withdraw
from etalis.language.syntax import LabelProperty, Property, Rule, Tree
from etalis.runtime.codegen.network import PlannedRule
from etalis.runtime.rule_change.network_change import delete_apart, insert_apart
from etalis.runtime.ruleset import Pair, RuleSet
from etalis.runtime.state import BEGINNING
from etalis.temporal.relation import relations

_LISTED = 12  # labels of rules in an error


def insert_rule(rules: RuleSet, rule: str | Rule) -> str:
    """Add a rule and return its label."""
    parsed = place_in_rule(rules.program.around_rules, parse_rule(rule) if isinstance(rule, str) else rule)
    properties = [LabelProperty(label, given) for label, several in rules.apart.items() for given in several]
    added = event_rules(Tree((parsed, *properties)))
    rules.program.check_rules(added)
    _refuse_together(rules, parsed, added)
    own = Tree((*rules.program.around_rules.items, parsed))  # what the rules of the program do is known
    acts, watched = rules.acts or acts_on_run(own), rules.watched or reads_clock(own)
    is_plain = (acts, watched) == (rules.acts, rules.watched)
    rules.generation += 1
    rules.acts, rules.watched = acts, watched
    shares = not (rules.program.effects or find_effects(own))
    first = len(rules.rules)
    for each in added:
        rules.add(each, rules.plan(each), shares)
    if not (is_plain and insert_apart(rules, [planned for planned, _ in rules.rules[first:]])):
        rules.compile()
    return rules.rules[first][0].head.label


def _refuse_together(rules: RuleSet, parsed: Rule, added: Sequence[Rule]) -> None:
    """Refuse rules that the program cannot have, or not together with those that are here."""
    refused: list[Problem] = []
    if rules.settings.corrects:
        refused += refuse_effects(Tree((*rules.program.tree.items, parsed)), rules.settings)
    read = rules.processors.keys() | {(e.name, len(e.args)) for rule in added for e in events_in(rule.pattern)}
    base = rules.compiler.base
    asks = base.levels or base.stages or most_levels(added) or most_stages(added)  # what is missing, if anything
    if asks and any((rule.head.name, len(rule.head.args)) in read for rule in added):  # else they are in no cycle
        refused += find_cycles([*(each for _, each in rules.rules), *added], relations(rules.settings.relations))
    if refused:
        raise ProgramError(*refused)


def delete_rules(rules: RuleSet, rule: str | Rule) -> int:
    """Remove the rules of a label, or equal to a rule."""
    wanted = rule if isinstance(rule, Rule) else parse_rule(rule) if "<-" in rule else rule
    if isinstance(wanted, Rule):
        wanted = place_in_rule(rules.program.tree, wanted)
    gone = [(planned, r) for planned, r in _changeable(rules) if fits(r, planned.head.label, wanted)]
    if not gone:
        raise _no_rule(rules, f"{rule if isinstance(rule, str) else rule.head.name} to delete")
    _remove(rules, gone)
    return len(gone)


def _changeable(rules: RuleSet) -> list[Pair]:
    """Return the rules that may leave or change while the engine runs: not those of reactions."""
    return [pair for pair in rules.rules if not pair[0].head.hidden]


def _remove(rules: RuleSet, gone: list[Pair]) -> None:
    _take_out(rules, gone)
    if not delete_apart(rules, [planned for planned, _ in gone]):
        rules.compile()
        rules.forget()


def _take_out(rules: RuleSet, gone: list[Pair]) -> None:
    leaving = {id(planned) for planned, _ in gone}
    rules.rules = [pair for pair in rules.rules if id(pair[0]) not in leaving]
    for planned, _ in gone:
        _end(rules, planned)


def _end(rules: RuleSet, planned: PlannedRule) -> None:
    rules.heads.kind(planned).alive = False
    life = rules.lives[planned.number]
    life.until, life.went = rules.state.now, rules.state.number


def put_in_place(rules: RuleSet, others: list[Pair]) -> None:
    """Put rules that were planned elsewhere in the place of all, before the first event."""
    around = Tree((*rules.program.tree.items, *(rule for planned, rule in others if planned.generation > 0)))
    rules.acts = rules.acts or acts_on_run(around)
    rules.watched = rules.watched or reads_clock(around)
    here, there = ({pair[0].number: pair for pair in several} for several in (rules.rules, others))
    rules.rules += [pair for pair in others if here.get(pair[0].number) != pair]
    _take_out(rules, [pair for pair in rules.rules if there.get(pair[0].number) != pair])
    rules.rules = others
    for planned, rule in others:
        rules.lives.setdefault(planned.number, rules.life(rule, BEGINNING, planned.head.label))
    rules.compile()
    rules.forget()


def _no_rule(rules: RuleSet, what: str) -> ProgramError:
    several = sorted({planned.head.label for planned, _ in _changeable(rules)})
    left = f" and {len(several) - _LISTED:,} more" if len(several) > _LISTED else ""
    return ProgramError(Problem("E230", f"no rule {what}", hint=f"rules here: {', '.join(several[:_LISTED])}{left}"))


def set_property(rules: RuleSet, label: str, given: Property) -> int:
    """Give the rules of a label a property, in place of the value that it had; return how many there are."""
    meaning = PROPERTIES.get(given.name, given.name)
    errors = [problem for problem in Outline(rules.program.tree).property_problems(given) if problem.is_error]
    if errors:
        raise ProgramError(*errors)
    return _begin_anew(
        rules, label, lambda old: (*(p for p in old if PROPERTIES.get(p.name, p.name) != meaning), given)
    )


def delete_property(rules: RuleSet, label: str, name: str, value: Value | None = None) -> int:
    """Take a property from the rules of a label, whatever its value or only if that is as given."""
    return _begin_anew(
        rules, label, lambda old: tuple(p for p in old if p.name != name or value not in (None, ground(p.value)))
    )


def _begin_anew(rules: RuleSet, label: str, change: Callable[[tuple[Property, ...]], tuple[Property, ...]]) -> int:
    """Plan the rules of a label with other properties, at their places; what waits in them is dropped."""
    places = [i for i, (p, _) in enumerate(rules.rules) if p.head.label == label and not p.head.hidden]
    if not places:
        raise _no_rule(rules, label)
    if any(tells_violation(rules.rules[i][1]) for i in places):
        raise ProgramError(no_properties(label))
    rules.generation += 1
    rules.apart[label] = change(rules.apart.get(label, ()))
    for i in places:
        planned, rule = rules.rules[i]
        _end(rules, planned)
        changed = replace(rule, label=label, properties=change(rule.properties))
        rules.rules[i] = rules.pair(changed, rules.plan(changed), planned.shares)
    rules.compile()
    rules.forget()
    return len(places)


def spy(rules: RuleSet, kind: tuple[str, int], on: bool) -> None:
    """Write every event of a kind to the output, or no more."""
    if on:
        rules.spied.add(kind)
    else:
        rules.spied.discard(kind)
    rules.compile()


def reset(rules: RuleSet) -> None:
    """Drop all that waits: instances, absences, alarms, events for later."""
    rules.note_waiting()
    rules.resets.append((rules.state.number, rules.state.now))
    rules.memory.clear()
    rules.state.drop()
    rules.compile()


def perform(rules: RuleSet, step: RuleStep | Spy) -> None:
    """Do what a goal asked for."""
    match step:
        case InsertRule(rule=rule):
            insert_rule(rules, rule)
        case DeleteRule(rule=wanted):
            delete_rules(rules, wanted)
        case Assign(label=label, property=given):
            set_property(rules, label, given)
        case Withdraw(label=label, name=name, value=value):
            delete_property(rules, label, name, value)
        case Reset():
            reset(rules)
        case Spy(kind=kind, on=on):
            spy(rules, kind, on)
        case _:
            assert_never(step)
