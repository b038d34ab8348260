"""Rules that can never fire, and absences and windows that change nothing: the warnings.

The findings follow from what can occur (`occurrence`). Of rules that never fire only the cause is reported, where it
stands, not every rule that waits for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from etalis.errors import Problem, Span
from etalis.language import syntax as s
from etalis.language.check.goals import Indicator
from etalis.language.check.outline import Outline
from etalis.language.check.wording import kind, listing, pattern_text, plain, seconds
from etalis.language.flags import PROPERTIES
from etalis.language.lint.blocking import core_of
from etalis.language.lint.extent import ANYWHERE, Extent, at_least
from etalis.language.lint.ineffective_parts import find_stretched, find_vain
from etalis.language.lint.satisfiability import Extents, Occurrence, kind_of
from etalis.language.reactive.constraints import tells_violation
from etalis.language.traversal import children, postorder
from etalis.logic.tabling.components import number_components
from etalis.temporal.interval import to_seconds


def check_idle(outline: Outline) -> Iterator[Problem]:
    """Yield the causes for which rules never fire, and the parts of rules that change nothing."""
    occurrence = Occurrence(outline)
    yield from (problem for _, problem in occurrence.conditions)
    stretched = find_stretched(occurrence)
    silent: list[s.Rule] = []
    for rule in outline.rules:
        extents = occurrence.extents(rule)
        causes = [*_causes(rule, extents, occurrence)]
        yield from causes
        yield from find_vain(rule, extents, occurrence, stretched)
        if not causes and occurrence.made[id(rule)] is None:
            silent.append(rule)
    yield from _rootless(silent, occurrence)


def _causes(rule: s.Rule, extents: Extents, occurrence: Occurrence) -> Iterator[Problem]:
    """Yield the nodes that have no match though all that they need has."""
    for node in occurrence.outline.walk(rule).nodes if occurrence.blocked or None in extents.values() else ():
        if id(node) in occurrence.blocked:
            assert isinstance(node, s.Negation)
            found = _always_blocked(node, occurrence.blocked[id(node)])
            requires = tells_violation(rule) and node is rule.pattern
            yield _always_fulfilled(node, occurrence.blocked[id(node)]) if requires else found
        elif extents[id(node)] is None and id(node) not in occurrence.dead:
            yield from _cause(node, extents, occurrence)
    whole = extents[id(rule.pattern)]
    _, window = occurrence.outline.rule_settings(rule)
    if whole is not None and window is not None and whole.limited(window) is None:
        given = [p for p in rule.properties if PROPERTIES.get(p.name) == "window"]
        yield from _too_short(window, whole, rule.pattern, given[0].span if given else rule.span)


def _cause(node: s.Pattern, extents: Extents, occurrence: Occurrence) -> Iterator[Problem]:
    match node:
        case s.EventPattern():
            makers = occurrence.makers[kind_of(node)]
            if not occurrence.matching(node, makers):
                heads = dict.fromkeys(_head_text(rule) for rule in makers)
                message = f"no rule derives {pattern_text(node)}, so it never occurs"
                shown = listing([*list(heads)[:3], *(["others"] if len(heads) > 3 else [])])
                hint = f"the rules derive {shown}; if {kind(*kind_of(node))} is received too, declare it"
                yield Problem("W228", message, node.span, hint)
        case s.Within(pattern=pattern, duration=window):
            whole = extents[id(pattern)]
            if whole is not None:
                yield from _too_short(window, whole, pattern, node.span)
        case s.Binary(left=left, right=right, operator=operator):
            a, b = extents[id(left)], extents[id(right)]
            if a is not None and b is not None:
                yield _impossible(node, operator, a, b)
        case s.Repeat(pattern=pattern):
            if extents[id(pattern)] is not None:
                message = f"{pattern_text(pattern)} cannot occur several times: it occurs at one moment only"
                yield Problem("W226", message, node.span, "repeat an event, not a point in time")


def _head_text(rule: s.Rule) -> str:
    """Return the head of a rule as it stands there; that of a constraint stands nowhere."""
    if tells_violation(rule):
        return f"`{plain(s.Compound(rule.head.name, rule.head.args))}`"
    return pattern_text(rule.head)


def _too_short(window: int, whole: Extent, pattern: s.Pattern, span: Span | None) -> Iterator[Problem]:
    if window <= 0:
        return  # an error of its own, E212
    least = to_seconds(int(whole.length[0]))
    absence = max((n.duration for n in postorder(pattern) if isinstance(n, s.NotWithin)), default=0)
    if absence >= window:
        message = f"the window of {seconds(window)} is over before the absence of {seconds(absence)} is known: no match"
        hint = f"write `within {least}` or more, or put the window on the part before the absence"
    else:
        message = f"no match fits into the window of {seconds(window)}: {pattern_text(pattern)} lasts {at_least(whole)}"
        hint = f"write `within {least}` or more, or put the window on the part that it is meant for"
    yield Problem("W225", message, span, hint)


def _impossible(node: s.Binary, operator: str, a: Extent, b: Extent) -> Problem:
    sides = [f"{pattern_text(side)} {_described(extent)}" for side, extent in ((node.left, a), (node.right, b))]
    known = [side for side, extent in zip(sides, (a, b), strict=True) if extent != ANYWHERE]
    message = f"`{operator}` can never hold here: {listing(known)}"
    if operator in ("seq", "forall_seq"):
        hint = "write the points in time in their order"
    else:
        hint = "`and` joins two events whatever their order, `seq` one after the other"
    return Problem("W226", message, node.span, hint)


def _described(extent: Extent) -> str:
    (short, long), (s1, _), (_, e2) = extent.length, extent.start, extent.end
    said = []
    if long == 0:
        said.append("is an instant")
    elif long != inf:
        said.append(f"lasts at most {seconds(long)}")
    elif short:
        said.append(f"lasts {at_least(extent)}")
    if s1 == e2:
        said.append(f"at {to_seconds(int(s1))}")
    elif s1 > -inf:
        said.append(f"not before {to_seconds(int(s1))}")
    elif e2 < inf:
        said.append(f"not after {to_seconds(int(e2))}")
    return ", ".join(said) or "occurs at any time"


def _always_blocked(node: s.Negation, part: s.EventPattern) -> Problem:
    where = "between the first and the last part" if node.operator == "cnot" else "before the end"
    absent = pattern_text(node.absent)
    message = (
        f"this never occurs: its own part {pattern_text(part)} lies {where}, where `{node.operator}` forbids {absent}"
    )
    if node.operator == "cnot" and isinstance(core_of(node.pattern), s.Repeat):
        hint = "leave `cnot` out: a repetition allows no other of its events between them already"
    elif node.operator == "cnot":
        hint = (
            "put `cnot` on each pair, ((a seq b) cnot c) seq d, or use `ntimes` for events with no other between them"
        )
    else:
        hint = "put `fnot` on the first part alone, or use `cnot` for what must not come between"
    return Problem("W230", message, node.span, hint)


def _always_fulfilled(node: s.Negation, part: s.EventPattern) -> Problem:
    """Say of a constraint that it holds by itself."""
    what = f"its own part {pattern_text(part)} comes before the end, and that is what it requires"
    return Problem("W230", f"this constraint is never violated: {what}", node.span, "require another event")


def _rootless(silent: list[s.Rule], occurrence: Occurrence) -> Iterator[Problem]:
    """Yield the groups of events that are derived from each other alone."""
    dead = {key for key, rules in occurrence.makers.items() if all(occurrence.made[id(r)] is None for r in rules)}
    after = {key: [read for rule in occurrence.makers[key] for read in _read_by(rule) if read in dead] for key in dead}
    component = number_components(after)
    quiet = {id(rule) for rule in silent}
    seen: set[int] = set()
    for rule in silent:
        number = component.get(kind_of(rule.head))
        if number is None or number in seen:
            continue
        seen.add(number)
        group = [key for key in dead if component[key] == number]
        makers = [maker for key in group for maker in occurrence.makers[key]]
        if all(id(m) in quiet and any(component.get(read) == number for read in _read_by(m)) for m in makers):
            yield _made_of_itself(rule, sorted(group))


def _read_by(rule: s.Rule) -> list[Indicator]:
    """Return the events that a pattern needs, those that must not occur left out."""
    found: list[Indicator] = []
    waiting: list[s.Pattern] = [rule.pattern]
    while waiting:
        node = waiting.pop()
        if isinstance(node, s.EventPattern):
            found.append(kind_of(node))
        waiting.extend(children(node)[:1] if isinstance(node, s.Negation | s.NotWithin) else children(node))
    return found


def _made_of_itself(rule: s.Rule, group: list[Indicator]) -> Problem:
    one = kind(*group[0])
    each = (
        f"{one} is derived from itself"
        if len(group) == 1
        else f"{listing(kind(*k) for k in group)} are derived from each other"
    )
    message = f"{each} alone: unless one is received, there is never a first"
    hint = f"add a rule that derives the first from other events; if {one} is received, declare it: `:- event(...).`"
    return Problem("W227", message, rule.head.span or rule.span, hint)
