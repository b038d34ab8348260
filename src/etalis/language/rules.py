"""The event rules of a program in normal form.

Sub-rules are lifted out (each leaves its head where it stood), and properties given apart join the rules of their
label; `expand_any` turns `any(n, [...])` into the `or` of its conjunctions. Law: the result has the same meaning as the
program, with fewer kinds of node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations
from math import comb

from etalis.errors import Problem, ProgramError
from etalis.language import syntax as s
from etalis.language.check.goals import indicator
from etalis.language.flags import PROPERTIES
from etalis.language.reaction_variables import given_variables, named_variables
from etalis.language.reactive.constraints import VIOLATED, expand, stands_for
from etalis.language.reactive.wait_names import is_of_wait
from etalis.language.traversal import actions_of, patterns_of, postorder, rewrite, walk_action, with_patterns

Indicator = tuple[str, int]
CHECK_PROPERTY = ("check_property", 5)
MOST_CHOICES = 200


def event_rules(program: s.Tree) -> tuple[s.Rule, ...]:
    """Return all event rules in plain form, a sub-rule after the rule it stands in."""
    return labelled_rules(program)


def running_rules(program: s.Tree) -> tuple[s.Rule, ...]:
    """Return what an engine runs, in plain form: the event rules, behind them the hidden rules of reactions."""
    return (*labelled_rules(program), *reaction_rules(program))


def labelled_rules(program: s.Tree) -> tuple[s.Rule, ...]:
    """Return all event rules with sub-rules lifted out and the properties of their labels, patterns as written."""
    return tuple(rule for _, rule in written_rules(program))


def written_rules(program: s.Tree) -> tuple[tuple[s.Item, s.Rule], ...]:
    """Return all event rules, each behind the clause that it stands in or for."""
    apart = label_properties(program)
    kinds = frozenset(coming_events(program)) if any(map(_looks_next, program.items)) else frozenset()
    found = [(item, lifted) for item in program.items for lifted in _lifted(item, kinds)]
    return tuple((item, rule if stands_for(item, rule) else _with_properties(rule, apart)) for item, rule in found)


def _lifted(item: s.Item, kinds: frozenset[Indicator]) -> list[s.Rule]:
    """Return the event rules of a clause; of a reaction, those that stand inside its pattern."""
    match item:
        case s.Rule():
            return lift(item)
        case s.Reaction():
            return lift(_hidden(item, 0))[1:]
        case s.Constraint():
            bare, inner = _without_sub_rules(item)
            return [*expand(bare, kinds), *inner]
        case _:
            return []


def _looks_next(item: object) -> bool:
    return isinstance(item, s.Constraint) and item.mode == "next"


def _without_sub_rules(constraint: s.Constraint) -> tuple[s.Constraint, list[s.Rule]]:
    """Return a constraint with the heads of its sub-rules in their places, and these."""
    several = [lift(s.Rule(_NOTHING, pattern)) for pattern in patterns_of(constraint)]
    patterns = iter([rules[0].pattern for rules in several])
    bare = with_patterns(constraint, lambda _: next(patterns))
    assert isinstance(bare, s.Constraint)
    return bare, [rule for rules in several for rule in rules[1:]]


_NOTHING = s.EventPattern("", ())


def coming_events(program: s.Tree) -> tuple[Indicator, ...]:
    """Return the kinds of event that the program names and that come by themselves: inputs and alarms."""
    others = s.Tree(tuple(item for item in program.items if not isinstance(item, s.Constraint)))
    found, made = dict.fromkeys(known_events(others)), set[Indicator]()
    several = [rule for item in program.items if isinstance(item, s.Constraint) for rule in _without_sub_rules(item)[1]]
    patterns = [p for item in program.items if isinstance(item, s.Constraint) for p in patterns_of(item)]
    for pattern in (*patterns, *(rule.pattern for rule in several)):
        found.update(((event.name, len(event.args)), None) for event in events_in(pattern))
    rules = (*labelled_rules(others), *several)
    made.update((rule.head.name, len(rule.head.args)) for rule in rules)
    made -= {(rule.head.name, len(rule.head.args)) for rule in rules if rule.alarm is not None}
    return tuple(kind for kind in found if kind not in made and kind[0] != VIOLATED)


def reaction_rules(program: s.Tree) -> tuple[s.Rule, ...]:
    """Return the hidden rule of every reaction, in the order of the text: its matches are what the reaction reacts to.

    The attributes of the head are the named variables of the pattern, null where it gives them no value, and last the
    number of the match among equal ones. The name of the head stands for nothing: no rule reads it.
    """
    apart = label_properties(program)
    several = [item for item in program.items if isinstance(item, s.Reaction)]
    rules = [lift(_hidden(reaction, number))[0] for number, reaction in enumerate(several, 1)]
    return tuple(
        rule if reaction.part is not None else _with_properties(rule, apart)
        for reaction, rule in zip(several, rules, strict=True)
    )


def reactions(program: s.Tree) -> tuple[s.Reaction, ...]:
    """Return all reactions with the properties of their labels, in program order."""
    several = [item for item in program.items if isinstance(item, s.Reaction)]
    rules = reaction_rules(program)
    return tuple(
        replace(reaction, pattern=rule.pattern, properties=rule.properties)
        for reaction, rule in zip(several, rules, strict=True)
    )


def action_clauses(program: s.Tree) -> Mapping[Indicator, tuple[s.ActionClause, ...]]:
    """Return the clauses of each action, in their written order."""
    found: dict[Indicator, tuple[s.ActionClause, ...]] = {}
    for item in program.items:
        if isinstance(item, s.ActionClause) and (key := indicator(item.head)) is not None:
            found[key] = (*found.get(key, ()), item)
    return found


def always(program: s.Tree) -> tuple[s.Always, ...]:
    """Return what every legal state fulfils."""
    return tuple(item for item in program.items if isinstance(item, s.Always))


def awaited_rules(program: s.Tree) -> tuple[s.Rule, ...]:
    """Return a hidden rule for each pattern that an action awaits: its matches are what the action goes on with."""
    found: list[s.Rule] = []
    for item in program.items:
        for node in (node for action in actions_of(item) for node in walk_action(action)):
            if isinstance(node, s.Await):
                pattern = s.Within(node.pattern, node.duration, node.span)
                label = f"await {len(found) + 1}"
                found.append(s.Rule(s.EventPattern(label, ()), pattern, label, span=node.span, hidden=True))
    return tuple(found)


def _hidden(reaction: s.Reaction, number: int) -> s.Rule:
    given = given_variables(reaction)
    args = [s.Var(name) if name in given else s.Const("null") for name in named_variables(reaction.pattern)]
    label = reaction.label or f"reaction {number}"
    head = s.EventPattern(f"on {reaction.label or ''}", (*args, s.Const(0)), reaction.span)
    return s.Rule(head, reaction.pattern, label, reaction.properties, span=reaction.span, hidden=True)


def with_checks(rule: s.Rule) -> s.Rule:
    """Return a rule with each property of the user's own as a condition on its whole pattern (definition 18.14).

    `property(P, V)` asks `check_property(P, V, Head, Start, End)`.
    """
    own = [given for given in rule.properties if given.name not in PROPERTIES]
    return replace(rule, pattern=_checked(rule.pattern, own, rule.head)) if own else rule


def _checked(pattern: s.Pattern, own: list[s.Property], head: s.EventPattern) -> s.Pattern:
    if isinstance(pattern, s.Do):
        return replace(pattern, pattern=_checked(pattern.pattern, own, head))
    atom = s.Compound(head.name, head.args) if head.args else s.Const(head.name)
    for number, given in enumerate(own):
        start, end = s.Var(f"_#start{number}"), s.Var(f"_#end{number}")
        check = s.Compound(CHECK_PROPERTY[0], (s.Const(given.name), given.value, atom, start, end))
        times = s.Compound(",", (s.Compound("t1", (start,)), s.Compound("t2", (end,))))
        pattern = s.Condition("check", pattern, s.Compound(",", (times, check)), given.span)
    return pattern


def label_properties(program: s.Tree) -> Mapping[str, tuple[s.Property, ...]]:
    """Return the properties given apart from the rules, by label."""
    found: defaultdict[str, list[s.Property]] = defaultdict(list)
    for item in program.items:
        if isinstance(item, s.LabelProperty):
            found[item.label].append(item.property)
    return {label: tuple(properties) for label, properties in found.items()}


def _with_properties(rule: s.Rule, apart: Mapping[str, tuple[s.Property, ...]]) -> s.Rule:
    more = apart.get(rule.label, ()) if rule.label is not None else ()
    return replace(rule, properties=rule.properties + more) if more else rule


def lift(rule: s.Rule) -> list[s.Rule]:
    """Return a rule without sub-rules, followed by the rules that stood in it."""
    done: list[s.Rule] = []
    waiting = [rule]
    while waiting:
        current = waiting.pop()
        inner = [node.rule for node in postorder(current.pattern) if isinstance(node, s.SubRule)]
        done.append(replace(current, pattern=rewrite(current.pattern, _head_for)) if inner else current)
        waiting.extend(reversed(inner))
    return done


def _head_for(node: s.Pattern) -> s.Pattern:
    return node.rule.head if isinstance(node, s.SubRule) else node


def expand_any(node: s.Pattern) -> s.Pattern:
    """Turn `any(n, [p1, ..., pm])` into the `or` of the conjunctions of n of them, in list order."""
    if not isinstance(node, s.AnyOf):
        return node
    refused = refuse_choices(node)
    if refused is not None:
        raise ProgramError(refused)
    choices = [_conjunction(node, choice) for choice in combinations(node.patterns, node.count)]
    return reduce(lambda a, b: s.Or(a, b, node.span, chosen=node.count > 1), choices)


def _conjunction(node: s.AnyOf, parts: Sequence[s.Pattern]) -> s.Pattern:
    pattern = parts[0]
    for number, part in enumerate(parts[1:], 2):
        pattern = s.Binary("and", pattern, part, node.span, chosen=number)
    return pattern


def refuse_choices(node: s.AnyOf) -> Problem | None:
    """Return the refusal of an `any` with too many choices to look at all of them."""
    ways = comb(len(node.patterns), node.count)
    if ways <= MOST_CHOICES:
        return None
    message = f"{node.count} of {len(node.patterns)} can be chosen in {ways} ways, more than {MOST_CHOICES} are refused"
    hint = "count one event instead: derive it from each pattern, then use `ntimes`; or set the policy snoop_recent"
    return Problem("E219", message, node.span, hint)


def declarations(program: s.Tree) -> Mapping[Indicator, s.EventDeclaration]:
    """Return the declared events by name and arity."""
    return {(d.name, len(d.attributes)): d for d in program.items if isinstance(d, s.EventDeclaration)}


def state_predicates(program: s.Tree) -> Mapping[Indicator, int | None]:
    """Return the predicates whose facts actions change, each with the length of its key if it has one."""
    declared = [item for item in program.items if isinstance(item, s.StateDeclaration)]
    return {(name, arity): key for item in declared for name, arity, key in item.predicates}


def knowledge_changes(program: s.Tree) -> Mapping[Indicator, tuple[tuple[str, bool], ...]]:
    """Return by kind of event which facts one of its attributes goes (False) or comes (True); the former first.

    >>> knowledge_changes(s.Tree((s.KnowledgeDeclaration((("on", 1, "off"), ("off", 1, "on"))),)))[("on", 1)]
    (('off', False), ('on', True))
    """
    facts = [fact for item in program.items if isinstance(item, s.KnowledgeDeclaration) for fact in item.facts]
    found: dict[Indicator, dict[tuple[str, bool], None]] = {}
    for name, arity, remover in facts:
        if remover is not None:
            found.setdefault((remover, arity), {})[name, False] = None
    for name, arity, _ in facts:
        found.setdefault((name, arity), {})[name, True] = None
    return {kind: tuple(changes) for kind, changes in found.items()}


def known_events(program: s.Tree) -> tuple[Indicator, ...]:
    """Return every kind of event that the program names (declared, derived or used), in order of appearance."""
    found = dict.fromkeys((*declarations(program), *knowledge_changes(program)))
    for rule in (*labelled_rules(program), *reaction_rules(program)):
        for pattern in (*(() if rule.hidden else (rule.head,)), *events_in(rule.pattern)):
            if not is_of_wait(pattern.name):
                found[pattern.name, len(pattern.args)] = None
    return tuple(found)


def events_in(pattern: s.Pattern) -> tuple[s.EventPattern, ...]:
    """Return the event patterns in a pattern, from left to right."""
    return tuple(node for node in postorder(pattern) if isinstance(node, s.EventPattern))


def attribute_variables(program: s.Tree) -> Mapping[Indicator, tuple[frozenset[str], ...]]:
    """Return by kind of event that patterns read, and by place, the names of the variables that occur there.

    >>> from etalis.language.read.parser import parse
    >>> found = attribute_variables(parse("two(Card) <- w(Card, _Amount) seq w(Card, _)."))
    >>> [sorted(names) for names in found["w", 2]]
    [['Card'], ['Amount']]
    """
    found: dict[Indicator, list[set[str]]] = {}
    for rule in (*labelled_rules(program), *reaction_rules(program), *awaited_rules(program)):
        for pattern in events_in(rule.pattern):
            places = found.setdefault((pattern.name, len(pattern.args)), [set() for _ in pattern.args])
            for place, term in zip(places, pattern.args, strict=True):
                if isinstance(term, s.Var) and not term.name.startswith("_#"):
                    place.add(term.name.lstrip("_") or term.name)
    return {kind: tuple(map(frozenset, places)) for kind, places in found.items()}
