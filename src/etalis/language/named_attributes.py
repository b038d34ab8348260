"""Attributes given by name find their places: `w(amount: A)` becomes `w(_, A)`, before any check and any plan.

A declared event has its attributes in the declared order. An event that is not declared has those that patterns name,
in order of first appearance, of type `any`: a declaration that is implied, and joins the program. Law: the result has
no names left and the same meaning, so nothing behind it knows of them. A clause whose names have no places is reported
and left out, like one that cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, zip_longest

from etalis.errors import Problem, ProgramError, Span
from etalis.language import syntax as s
from etalis.language.attributes import declaration_text
from etalis.language.check.spelling import suggest
from etalis.language.reactive.constraints import violation
from etalis.language.rules import events_in, lift
from etalis.language.traversal import (
    actions_of,
    patterns_of,
    rewrite,
    rewrite_action,
    walk_action,
    with_actions,
    with_patterns,
)

Declared = Mapping[str, s.EventDeclaration]


def place_attributes(program: s.Tree) -> tuple[s.Tree, list[Problem]]:
    """Return a program whose attributes are all in their places, and what is wrong with their names.

    >>> from etalis.language.read.parser import parse
    >>> from etalis.language.printer import print_program
    >>> program, _ = place_attributes(parse("two(C) <- w(card: C) seq w(amount: 5, card: C)."))
    >>> print(print_program(program), end="")
    :- event(w(card:any, amount:any)).
    two(C) <- w(C, _) seq w(C, 5).
    """
    uses = _find_uses(program)
    if not any(use.named for use in uses.values()):
        return program, []
    declared = _declared(program)
    unknown = [use for use in uses.values() if use.named and use.name not in declared]
    refused = {use.name: use.refusal() for use in unknown if use.is_ordered or not use.read}
    implied = [_imply(use) for use in unknown if use.name not in refused]
    placing = _Placing(declared | {item.name: item for item in implied}, list(refused.values()))
    placed = [found for item in program.items if (found := placing.item(item)) is not None]
    return replace(program, items=(*implied, *placed)), placing.problems


def place_in_rule(program: s.Tree, rule: s.Rule) -> s.Rule:
    """Return a rule that joins a program at run time with its attributes in their places, or raise what is wrong."""
    placing = _Placing(_declared(program), [])
    uses = _find_uses(s.Tree((rule,))).values()
    placing.problems += [use.refusal() for use in uses if use.named and use.name not in placing.declared]
    found = placing.item(rule)
    if found is None:
        raise ProgramError(*placing.problems)
    assert isinstance(found, s.Rule)
    return found


def _declared(program: s.Tree) -> dict[str, s.EventDeclaration]:
    return {item.name: item for item in program.items if isinstance(item, s.EventDeclaration)}


@dataclass(slots=True)
class _Use:
    """How a program uses one event: where its attributes are named, where it is read, where they have an order."""

    name: str
    named: list[s.EventPattern] = field(default_factory=list)
    read: list[s.EventPattern] = field(default_factory=list)
    ordered: list[s.EventPattern] = field(default_factory=list)
    made: str = ""  # how the program makes it, if it does

    @property
    def is_ordered(self) -> bool:
        return bool(self.made or self.ordered)

    def refusal(self) -> Problem:
        """Say why the names of an event that is not declared have no places."""
        if self.made:
            message = f"{self.name} is {self.made}, so its attributes have names only if it is declared"
        elif self.ordered:
            message = f"the attributes of {self.name} are given by name here and by position elsewhere"
        else:
            message = f"no rule of the program and no declaration names the attributes of {self.name}"
        return Problem("E233", message, self.named[0].span, self._remedy())

    def _remedy(self) -> str:
        if self.ordered and not any(pattern.args for pattern in self.ordered):
            return f"write {self.name}({self.named[0].names[0].value}: _) where the attributes do not matter"
        attributes = [(attribute, "any") for attribute in self._attributes()]
        return f"declare them: {declaration_text(self.name, attributes)}"

    def _attributes(self) -> Iterator[str]:
        """Yield names for the places of the event: where a variable has such a name, else in order of appearance."""
        names = list(dict.fromkeys(str(name.value) for pattern in self.named for name in pattern.names))
        several = zip_longest(*(pattern.args for pattern in self.ordered))
        places = [[_attribute_name(t) for t in terms if isinstance(t, s.Var) and t.name[0] != "_"] for terms in several]
        free = iter([name for name in names if not any(name in place for place in places)])
        for number, place in enumerate(places, 1):
            known = next((name for name in names if name in place), None) or next(free, None)
            yield known or next((name for name in place if name not in names), f"attribute{number}")
        yield from free


def _attribute_name(variable: s.Var) -> str:
    """Return how an attribute is called that a variable stands for.

    >>> _attribute_name(s.Var("CardNumber"))
    'card_number'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", variable.name).lower()


def _find_uses(program: s.Tree) -> dict[str, _Use]:
    uses: dict[str, _Use] = {}

    def use(pattern: s.EventPattern) -> _Use:
        found = uses.setdefault(pattern.name, _Use(pattern.name))
        (found.named if pattern.names else found.ordered).append(pattern)
        return found

    for item in program.items:
        match item:
            case s.Rule() | s.Reaction() | s.Constraint() | s.ActionClause():
                heads, read = _heads_and_read(item)
                for head in heads:
                    use(head).made = "derived by a rule"
                for event in map(_raised, _raising(item)):
                    use(event).made = "raised by an action"
                for pattern in read:
                    use(pattern).read.append(pattern)
            case s.Trigger(pattern=s.Compound(name=name, args=args), names=names) if name != "/":
                use(s.EventPattern(name, args, item.span, names))
            case s.KnowledgeDeclaration(facts=facts):
                for name, arity, remover in facts:
                    for word in (name, remover) if remover is not None else (name,):
                        use(s.EventPattern(word, (s.Var("_"),) * arity, item.span))
    return uses


def _lifted(item: s.Item) -> Iterator[s.Rule]:
    """Yield the rules that a clause is made of, those of its patterns with an empty head."""
    if isinstance(item, s.Rule):
        yield from lift(item)
    for pattern in patterns_of(item):
        yield from lift(s.Rule(_NOTHING, pattern))


_NOTHING = s.EventPattern("", ())


def _heads_and_read(item: s.Item) -> tuple[list[s.EventPattern], list[s.EventPattern]]:
    """Return the heads of the rules in a clause or that it stands for, and the events that its patterns read."""
    rules = list(_lifted(item))
    own = [violation(item)] if isinstance(item, s.Constraint) else []
    heads = [rule.head for rule in rules if rule.head is not _NOTHING]
    return own + heads, [event for rule in rules for event in events_in(rule.pattern)]


def _raising(item: s.Item) -> tuple[s.Raise, ...]:
    """Return the steps of a clause that raise an event."""
    return tuple(node for action in actions_of(item) for node in walk_action(action) if isinstance(node, s.Raise))


def _raised(step: s.Raise) -> s.EventPattern:
    """Return the event that a step raises, with the names of its attributes if they all have one."""
    if not isinstance(step.event, s.Compound):
        name = step.event.value if isinstance(step.event, s.Const) else ""
        return s.EventPattern(str(name), (), step.event.span)
    names: list[s.Const] = []
    values: list[s.Term] = []
    for arg in step.event.args:
        match arg:
            case s.Compound(name=":", args=(s.Const(value=str()) as name, value)):
                names.append(name)
                values.append(value)
            case _:
                return s.EventPattern(step.event.name, step.event.args, step.event.span)
    return s.EventPattern(step.event.name, tuple(values), step.event.span, tuple(names))


def _imply(use: _Use) -> s.EventDeclaration:
    """Return the declaration that the patterns of an event imply by the names they give."""
    names = dict.fromkeys(str(name.value) for pattern in use.read for name in pattern.names)
    return s.EventDeclaration(use.name, tuple((name, "any") for name in names), use.read[0].span, implied=True)


@dataclass(slots=True)
class _Placing:
    """Puts the attributes of clauses into the places that declarations give them."""

    declared: Declared
    problems: list[Problem]

    def item(self, item: s.Item) -> s.Item | None:
        """Return a clause with its attributes in their places, None if some have none."""
        fresh = (s.Var(f"_#free{number}", item.span) for number in count(1))
        match item:
            case s.Rule() | s.Reaction() | s.Constraint() | s.ActionClause():
                heads, read = _heads_and_read(item)
                made = [*heads, *map(_raised, _raising(item))]
            case s.Trigger(pattern=s.Compound(name=name, args=args), names=names):
                made, read = [], [s.EventPattern(name, args, item.span, names)]
            case _:
                return item
        events = [*made, *read]
        if not any(event.names for event in events):
            return item
        found = [problem for event in events if event.names for problem in self._problems(event)]
        found += [problem for head in made if head.names for problem in self._missing(head)]
        self.problems += found
        if found or any(event.names and event.name not in self.declared for event in events):
            return None
        if isinstance(item, s.Rule):
            return self._rule(item, fresh)
        if not isinstance(item, s.Trigger):
            return self._reactive(item, fresh)
        placed = self._placed(events[0], fresh)
        return replace(item, pattern=s.Compound(placed.name, placed.args, item.pattern.span), names=())

    def _problems(self, event: s.EventPattern) -> Iterator[Problem]:
        """Yield attributes that are unknown or named twice; an event without places is reported elsewhere."""
        declared = self.declared.get(event.name)
        if declared is None:
            return
        places = [attribute for attribute, _ in declared.attributes]
        seen: set[str] = set()
        for name, value in zip(event.names, event.args, strict=True):
            attribute = str(name.value)
            if attribute in seen:
                message = f"the attribute {attribute} of {event.name} is given twice"
                yield Problem("E233", message, _extent(name, value), "name it once; joined values go into one `where`")
            elif attribute not in places:
                message = f"{event.name} has no attribute {attribute}"
                yield Problem("E233", message, _extent(name, value), _others(attribute, places, declared))
            seen.add(attribute)

    def _missing(self, head: s.EventPattern) -> Iterator[Problem]:
        given = {name.value for name in head.names}
        declared = self.declared.get(head.name)
        missing = [] if declared is None else [name for name, _ in declared.attributes if name not in given]
        if missing:
            hint = "a program says all of the events it makes: give every attribute a value, null if there is none"
            yield Problem("E233", f"the head {head.name} lacks {', '.join(missing)}", head.span, hint)

    def _rule(self, rule: s.Rule, fresh: Iterator[s.Var]) -> s.Rule:
        return replace(rule, head=self._placed(rule.head, fresh), pattern=self._pattern(rule.pattern, fresh))

    def _pattern(self, pattern: s.Pattern, fresh: Iterator[s.Var]) -> s.Pattern:
        def change(node: s.Pattern) -> s.Pattern:
            match node:
                case s.EventPattern():
                    return self._placed(node, fresh)
                case s.SubRule(rule=inner):
                    return replace(node, rule=self._rule(inner, fresh))
                case _:
                    return node

        return rewrite(pattern, change)

    def _reactive(self, item: s.Item, fresh: Iterator[s.Var]) -> s.Item:
        def change(node: s.Action) -> s.Action:
            if not isinstance(node, s.Raise):
                return node
            placed = self._placed(_raised(node), fresh)
            event = s.Compound(placed.name, placed.args, node.event.span) if placed.args else s.Const(placed.name)
            return replace(node, event=event) if _raised(node).names else node

        placed = with_patterns(item, lambda pattern: self._pattern(pattern, fresh))
        return with_actions(placed, lambda action: rewrite_action(action, change))

    def _placed(self, event: s.EventPattern, fresh: Iterator[s.Var]) -> s.EventPattern:
        """Return an event with its attributes in their places, those that are not named free."""
        if not event.names:
            return event
        given = {name.value: value for name, value in zip(event.names, event.args, strict=True)}
        args = tuple(given.get(name) or next(fresh) for name, _ in self.declared[event.name].attributes)
        return replace(event, args=args, names=())


def _others(attribute: str, places: Sequence[str], declared: s.EventDeclaration) -> str | None:
    listed = ", ".join(places)
    if declared.implied:
        return suggest(attribute, places, f"the program's rules name {listed}; declare the event to name others")
    return suggest(attribute, places, f"{declared.name} has {listed}" if listed else f"{declared.name} has none")


def _extent(name: s.Const, value: s.Term) -> Span | None:
    if name.span is None or value.span is None:
        return name.span
    return replace(name.span, end=value.span.end)
