"""In which order it is known that something is missing, where several are due at one stamp (definition 9.29, 9.30).

The level of an outer operator is above that of all that its partner may be made of at the same stamp. Law: an event of
a level is made of events of that level or lower ones, so that what is judged level by level never changes afterwards. A
program whose levels have no bound has a cycle through a partner that may be missing.

Stages come before levels. They are above 0 for absences that look back (`NotWithin.before`), which a match may block
that began before their left side ended, and for what these may block: when it began tells no order for them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeAlias

from etalis.language import syntax as s
from etalis.language.check.recursion import can_come_last
from etalis.language.traversal import fold, postorder
from etalis.temporal.relation import Relation

Levels: TypeAlias = dict[Hashable, int]  # of outer operators
MadeAtom: TypeAlias = tuple[str, tuple[Hashable | None, ...]]  # of a head: its name, and its constants in their places
MOST_STAGES = 14
Judge: TypeAlias = Callable[[Mapping[MadeAtom, int], Levels], int]  # the level of a rule by those of what it reads


def outline_atom(name: str, args: Iterable[s.Term]) -> MadeAtom:
    """Return what is known of the atoms that a head makes.

    >>> outline_atom("rdf", (s.Var("S"), s.Const("price")))
    ('rdf', (None, 'price'))
    """
    return name, tuple(arg.value if isinstance(arg, s.Const) else None for arg in args)


def level_of(made: Mapping[MadeAtom, int], name: str, args: Iterable[s.Term]) -> int:
    """Return the highest level of what a pattern may read."""
    _, wanted = outline_atom(name, args)
    return max(
        (level for (other, given), level in made.items() if other == name and _may_match(given, wanted)), default=0
    )


def _may_match(given: tuple[Hashable | None, ...], wanted: tuple[Hashable | None, ...]) -> bool:
    pairs = zip(given, wanted, strict=False)
    return len(given) == len(wanted) and all(a is None or b is None or a == b for a, b in pairs)


def solve(
    rules: Iterable[tuple[MadeAtom, Judge]], most: int, known: Mapping[MadeAtom, int] | None = None
) -> tuple[Levels, dict[MadeAtom, int]]:
    """Return the levels of all operators and heads; one above `most`, which is how many there are, is on a cycle."""
    several = list(rules)
    made: dict[MadeAtom, int] = dict(known or {})
    levels: Levels = {}
    changed = True
    while changed:
        changed = False
        for head, judge in several:
            found = min(judge(made, levels), most + 1)
            if found > made.get(head, 0):
                made[head] = found
                changed = True
    return levels, made


def join_level(row: Relation, alone: s.Side | None, parts: tuple[int, int]) -> int:
    """Return the level of a join by those of its sides, as far as these can end when it does."""
    now = tuple(part if can_come_last(row, side) else 0 for side, part in enumerate(parts))
    if alone is None or row.alone is None:
        return max(now)
    side = 0 if alone == "left" else 1
    if row.alone[side] == "at once":
        return max(now)
    return max(parts[side], parts[1 - side] + 1)


def find_levels(rules: Iterable[s.Rule], table: Mapping[str, Relation]) -> tuple[Levels, dict[MadeAtom, int]]:
    """Return the levels of the outer operators of some rules, by the ids of their nodes, and of what the rules make.

    Those above `most_levels` are on a cycle.
    """
    several = list(rules)
    most = most_levels(several)
    judges = [(outline_atom(rule.head.name, rule.head.args), _judge(rule, table)) for rule in several] if most else []
    return solve(judges, most)


def most_levels(rules: Iterable[s.Rule]) -> int:
    """Return how many outer operators some rules have."""
    return sum(isinstance(node, s.Binary) and node.alone is not None for r in rules for node in postorder(r.pattern))


def stage_after(made: int, *, looks_back: bool) -> int:
    """Return the stage of what may be blocked by what is made at a stage: odd ones are of absences that look back.

    What does not may be judged with others of its stage, whose blockers began later.

    >>> [(stage_after(made, looks_back=True), stage_after(made, looks_back=False)) for made in range(4)]
    [(1, 0), (3, 2), (3, 2), (5, 4)]
    """
    odd = made % 2
    return made + 1 + odd if looks_back else made + odd


def find_stages(rules: Iterable[s.Rule], table: Mapping[str, Relation]) -> tuple[Levels, dict[MadeAtom, int]]:
    """Return the stages of absences and outer operators by the ids of their nodes, and of what the rules make.

    Those above `most_stages` are on a cycle.
    """
    several = list(rules)
    most = most_stages(several)
    judges = [(outline_atom(r.head.name, r.head.args), _judge_stage(r, table)) for r in several] if most else []
    return solve(judges, most)


def most_stages(rules: Iterable[s.Rule]) -> int:
    """Return how many stages the absences of some rules that look back can have."""
    return 2 * sum(map(looks_back, (node for rule in rules for node in postorder(rule.pattern))))


def looks_back(node: s.Pattern) -> bool:
    """Tell whether a pattern is an absence that looks back."""
    return isinstance(node, s.NotWithin) and node.before is not None


def _judge_stage(rule: s.Rule, table: Mapping[str, Relation]) -> Judge:
    def judge(made: Mapping[MadeAtom, int], stages: Levels) -> int:
        def combine(node: s.Pattern, parts: tuple[int, ...]) -> int:
            match node:
                case (
                    s.EventPattern(name=name, args=args)
                    | s.SubRule(rule=s.Rule(head=s.EventPattern(name=name, args=args)))
                ):
                    return level_of(made, name, args)
                case s.NotWithin():
                    stage = stages[id(node)] = stage_after(parts[1], looks_back=looks_back(node))
                    return stage
                case s.Binary(right=s.Aggregate()):
                    return max(parts)
                case s.Binary(operator=operator, alone=alone):
                    own, stage = join_stage(table[operator], alone, (parts[0], parts[1]))
                    stages[id(node)] = own
                    return stage
                case s.Negation() | s.Aggregate() | s.Repeat():
                    return parts[0]
                case _:
                    return max(parts, default=0)

        found = fold(rule.pattern, combine)[id(rule.pattern)]
        return 0 if rule.alarm is not None and rule.alarm.kind == "after" else found

    return judge


def join_stage(row: Relation, alone: s.Side | None, parts: tuple[int, int]) -> tuple[int, int]:
    """Return when a join without a partner is judged, and the stage of its matches."""
    now = max(part if can_come_last(row, side) else 0 for side, part in enumerate(parts))
    if alone is None or row.alone is None:
        return 0, now
    side = 0 if alone == "left" else 1
    if row.alone[side] == "at once":
        return 0, now
    own = stage_after(parts[1 - side], looks_back=False)
    return own, max(parts[side], own)


def _judge(rule: s.Rule, table: Mapping[str, Relation]) -> Judge:
    def judge(made: Mapping[MadeAtom, int], levels: Levels) -> int:
        def combine(node: s.Pattern, parts: tuple[int, ...]) -> int:
            match node:
                case (
                    s.EventPattern(name=name, args=args)
                    | s.SubRule(rule=s.Rule(head=s.EventPattern(name=name, args=args)))
                ):
                    return level_of(made, name, args)
                case s.Binary(right=s.Aggregate()):
                    return max(parts)
                case s.Binary(operator=operator, alone=alone):
                    level = join_level(table[operator], alone, (parts[0], parts[1]))
                    if alone is not None:
                        levels[id(node)] = level
                    return level
                case s.Negation() | s.Aggregate() | s.Repeat():
                    return parts[0]
                case s.NotWithin():
                    return 0
                case _:
                    return max(parts, default=0)

        found = fold(rule.pattern, combine)[id(rule.pattern)]
        return 0 if rule.alarm is not None and rule.alarm.kind == "after" else found

    return judge
