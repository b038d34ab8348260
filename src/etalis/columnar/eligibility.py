"""Which rules run over columns, and why others do not.

A rule runs over columns if each of its nodes has a kernel and all its values are flat (`columns.FLAT`). Rules that are
connected by events go together: all over columns, or all event at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from etalis.columnar.build import OPERATORS
from etalis.columnar.data.columns import FLAT
from etalis.columnar.learning import UNTAUGHT, Learning, recursive_obstacles
from etalis.columnar.learning import find_obstacles as learning_obstacles
from etalis.columnar.operators.aggregate import needed_columns
from etalis.columnar.operators.base import find_doubles
from etalis.columnar.operators.totals import KERNELS
from etalis.columnar.repetition.counted import find_obstacles, is_followed
from etalis.columnar.schedule import LONGEST, MOST_DELAYS, alarm_delay, find_makers, find_sums, is_told
from etalis.language.check.goals import calls
from etalis.language.ground_terms import variables
from etalis.language.outer.strata import Levels
from etalis.language.printer import print_term
from etalis.language.syntax import Const, Term, Var
from etalis.language.traversal import term_variables
from etalis.logic.tabling.components import number_components
from etalis.plan import algebra as p
from etalis.plan.keys import show
from etalis.plan.lattice import TERM
from etalis.plan.retention import join_key, shared_names
from etalis.plan.sharing import meet
from etalis.plan.strata import find_stages
from etalis.plan.types import Typing
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.policy import Policy

Kind: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """Rules connected by events, by their places among the program's, and why they run event at a time, if they do."""

    rules: tuple[int, ...]
    reasons: tuple[str, ...]


def find_components(heads: Sequence[p.Head], types: Typing, is_short: bool, learning: Learning) -> list[RuleGroup]:
    """Part rules into those that share no event, and say of each part whether it runs over columns.

    `is_short`: what one input causes is so little that the rounds of recursion can be counted. A rule that asks for
    facts goes with those whose events change them.
    """
    leader: dict[Kind, Kind] = {}

    def find(kind: Kind) -> Kind:
        while leader.setdefault(kind, kind) != kind:
            leader[kind] = leader[leader[kind]]
            kind = leader[kind]
        return kind

    made = [head.kind for head in heads]
    makers = set(made)
    for head, kind in zip(heads, made, strict=True):
        for read in learning.read_kinds(head):
            if read in makers:
                leader[find(read)] = find(kind)
    parts: dict[Kind, list[int]] = {}
    for number, kind in enumerate(made):
        parts.setdefault(find(kind), []).append(number)
    return [_component(numbers, heads, makers, types, is_short, learning) for numbers in parts.values()]


def _component(
    numbers: Sequence[int], heads: Sequence[p.Head], made: AbstractSet[Kind], types: Typing, is_short: bool,
    learning: Learning,
) -> RuleGroup:  # fmt: skip
    reasons = [f"rule {heads[i].label}: {reason}" for i in numbers for reason in _obstacles(heads[i], types)]
    mine = [heads[i] for i in numbers]
    reasons += [f"rule {head.label}: {reason}" for head in mine for reason in _alarm(head, mine, types)]
    for head in mine:
        reasons += [f"rule {head.label}: {reason}" for reason in learning_obstacles(head, heads, made, learning)]
    if in_order(mine, UNTAUGHT) is None:
        reasons += [f"rule {head.label}: {reason}" for head, reason in recursive_obstacles(mine, learning)]
        more = [f"rule {heads[i].label}: {reason}" for i in numbers for reason in _recursive_obstacles(heads[i], types)]
        if not is_short:
            more.append(f"rule {heads[numbers[0]].label}: it is recursive, and max_derivations is too large")
        reasons += more
    elif in_order(mine, learning) is None:
        reasons.append(f"rule {mine[0].label}: facts that it asks for, or others with it, depend on what it makes")
    else:
        is_long, stages = len(find_sums(mine)) > MOST_DELAYS, find_stages(mine, {})
        reasons += [f"rule {head.label}: {reason}" for head in mine for reason in _timing(head, mine, is_long)]
        reasons += [f"rule {head.label}: {reason}" for head in mine for reason in _staged(head, stages)]
    return RuleGroup(tuple(numbers), tuple(dict.fromkeys(reasons)))


def _timing(head: p.Head, heads: Sequence[p.Head], is_long: bool) -> Iterator[str]:
    """Yield what keeps a rule from columns of all that happens by itself; `is_long` if too many delays follow.

    What blocks an absence has come before its deadline is judged, but for an alarm that another sets to ring at once.
    """
    if is_long:
        yield "too many delays follow on each other"
    waiting = [node for node in p.walk(head.body) if isinstance(node, p.Deadline)]
    times = [abs(node.time) for node in p.walk(head.body) if isinstance(node, p.Tick)]
    if head.alarm is not None:
        times.append(abs(alarm_delay(head.alarm) or 0))
    if any(time >= LONGEST for time in (*times, *(node.duration for node in waiting))):
        yield "a time or a delay is too far away for columns"
    if len({node.duration for node in waiting}) < len(waiting):
        yield "several absences have equal deadlines"
    absent = {kind for node in waiting for kind in p.read_kinds(node.absent)}
    if any(maker.alarm is not None and maker.alarm.kind == "at" for maker in find_makers(absent, heads)):
        yield "what must be absent until a deadline may be an alarm that rings at once"
    yield from _missing(head, heads)


def _missing(head: p.Head, heads: Sequence[p.Head]) -> Iterator[str]:
    """Yield what keeps a rule with parts that are missed later from columns.

    Of one step the order is that of each such part. Between several it is left open, and so must not matter.
    """
    nodes = list(p.walk(head.body))
    judged = [node for node in nodes if p.falls_due(node)]
    if not any(isinstance(node, p.Join) for node in judged):
        return
    if any(maker.alarm is not None and maker.alarm.kind == "at" for maker in heads):
        yield "an alarm may ring at once where it is found that a part is missing"
    restricted = any(isinstance(node, p.Join) and node.policy.restricts for node in nodes)
    if len(judged) > 1 and (restricted or any(isinstance(node, p.Fold | p.Repetition) for node in nodes)):
        yield "several parts may be found to be missing at once, and their order matters"


def _staged(head: p.Head, stages: Levels) -> Iterator[str]:
    """Yield that what a rule waits for may depend, at one stamp, on what a constraint requires around it."""
    if any(stages.get(id(node), 0) > 1 for node in p.walk(head.body)):
        yield "whether something is missing may depend on the violation of a constraint at the same stamp"


def in_order(heads: Sequence[p.Head], learning: Learning) -> list[list[int]] | None:
    """Return rules by the kinds they make, makers before readers; None if some of them are recursive.

    Who asks for facts reads what changes them.
    """
    makers: dict[Kind, list[int]] = {}
    for number, head in enumerate(heads):
        makers.setdefault(head.kind, []).append(number)
    needs = {
        kind: {read for i in numbers for read in learning.read_kinds(heads[i]) if read in makers}
        for kind, numbers in makers.items()
    }
    numbers = number_components(needs)
    if len(set(numbers.values())) < len(needs) or any(kind in read for kind, read in needs.items()):
        return None
    return [makers[kind] for kind in sorted(makers, key=numbers.__getitem__)]


def _alarm(head: p.Head, heads: Sequence[p.Head], types: Typing) -> Iterator[str]:
    """Yield what keeps a rule's alarm from columns."""
    if head.alarm is None or alarm_delay(head.alarm) is not None:
        return
    for name in sorted(set(variables(head.alarm.when)) - types.sure(head.body)):
        yield f"{name} may be unbound"
    if not is_told(head, heads):
        yield "its alarm is set for a time that depends on a timer"


def _obstacles(head: p.Head, types: Typing) -> Iterator[str]:
    """Yield what keeps a rule from columns."""
    if head.actions:
        yield "it has an action"
    followers = {id(n.left): n for n in p.walk(head.body) if isinstance(n, p.Join) and is_followed(n)}
    loose = _loose(head, types)
    for node in p.walk(head.body):
        yield from _node(node, types, followers.get(id(node)), loose)


def _recursive_obstacles(head: p.Head, types: Typing) -> Iterator[str]:
    """Yield what keeps a rule of a recursive component from the machine, which knows a value's type by its place."""
    if head.alarm is not None:
        yield "it is recursive, and recursion has no kernel for alarms"
    yield from _terms(head.event.args, "it is recursive, and its head")
    if not FLAT.issuperset(types[head.kind]):
        yield "it is recursive, and an attribute of its head has no flat type"
    known = types.variables(head.body)
    for arg, place in zip(head.event.args, types[head.kind], strict=True):
        if isinstance(arg, Var) and known.get(arg.name) != place:
            yield f"it is recursive, and {arg.name} has another type than its head declares"
    for node in p.walk(head.body):
        match node:
            case p.Source(name=name, args=args):
                yield from _terms(args, f"it is recursive, and the pattern {name}/{len(args)}")
                several = _source_types(node, types)
                places = zip(args, types[name, len(args)], strict=True)
                if not FLAT.issuperset(t for arg, t in places if args.count(arg) > 1 or isinstance(arg, Const)):
                    yield f"it is recursive, and an attribute of {name}/{len(args)} that is compared has no flat type"
            case p.Join(alone="left" | "right"):
                yield "it is recursive, and recursion has no kernel for parts that may be missing"
                continue
            case p.Join() | p.Union() | p.Filter():
                several = _part_types(node, types)
            case p.Tick() | p.SomeOf() | p.Repetition() | p.Fold() | p.Deadline():
                yield f"it is recursive, and recursion has no kernel for the plan node {type(node).__name__}"
                continue
            case _:
                assert_never(node)
        for name in sorted(name for name, kinds in several.items() if len(kinds) > 1):
            yield f"it is recursive, and {name} has values of several types"
        if any(isinstance(test, p.GoalTest) and test.kind == "event_multiply" for test in p.tests(node)):
            yield "it is recursive, and recursion has no kernel for event_multiply"
        if isinstance(node, p.Union) and any(find_doubles(node)):
            yield "it is recursive, and one event may match two alternatives"
        if _vague(node, types, set()) or _loosely_absent(node, types):
            yield "it is recursive, and a variable may be unbound"
        if isinstance(node, p.Join):
            yield from _loose_key(node)
        if isinstance(node, p.Join) and node.policy.select == "together":
            yield "it is recursive, and recursion has no kernel for the policy cumulative"
        if isinstance(node, p.Join) and node.policy.keep == "newest" and meet(node.left, node.right):
            yield "it is recursive, and one event comes to both sides of an operator that keeps the newest only"
        known = types.variables(node)
        asked = [v for test in p.tests(node) if isinstance(test, p.GoalTest | p.Prefilter) for v in test.inputs]
        asked += [v for test in p.tests(node) if isinstance(test, p.Absent) for v in test.joined]
        named = [v for v in node.exports if v[0] != "$"]
        coarse = [v for v in dict.fromkeys((*named, *asked)) if known.get(v) not in FLAT]
        if coarse:
            yield f"it is recursive, and {_coarse(coarse[0], node, types)}"


def _loosely_absent(node: p.Node, types: Typing) -> bool:
    """Tell whether an absence shares a variable that may be unbound."""
    return any(
        isinstance(test, p.Absent) and not set(test.joined) <= firm & types.sure(test.node)
        for test, firm in zip(p.tests(node), types.sure_by_test(node), strict=False)
    )


def _source_types(node: p.Source, types: Typing) -> dict[str, set[str]]:
    """Return the types that each variable of a leaf has."""
    found: dict[str, set[str]] = {}
    for arg, place in zip(node.args, types[node.name, len(node.args)], strict=True):
        if isinstance(arg, Var):
            found.setdefault(arg.name, set()).add(place)
    return found


def _part_types(node: p.Node, types: Typing) -> dict[str, set[str]]:
    """Return the types that each variable has in the parts of a node that export it."""
    found: dict[str, set[str]] = {}
    for child in (*p.children(node), *p.negated(node)):
        known = types.variables(child)
        for name in child.exports:
            if name in known:
                found.setdefault(name, set()).add(known[name])
    return found


def _terms(args: Sequence[Term], where: str) -> Iterator[str]:
    for arg in args:
        match arg:
            case Var() | Const(value=str() | float()):
                pass
            case Const(value=int() as value) if -(1 << 63) <= value < 1 << 63:
                pass
            case _:
                yield f"{where} has a compound term, or an integer beyond 64 bits"


def _loose(head: p.Head, types: Typing) -> set[str]:
    """Return the variables that nothing but the head reads: where these have no value, it is null.

    What is asked of pairs alone, where a part may be missing, reads what these bind.
    """
    read: set[str] = set()
    for node in p.walk(head.body):
        of_pairs = isinstance(node, p.Join) and node.alone is not None
        for test, firm in zip(p.tests(node), types.sure_by_test(node), strict=False):
            bound = test.outputs if isinstance(test, p.GoalTest) else ()
            read |= set(p.reads(test)) - firm if of_pairs else {*p.reads(test), *bound}
        match node:
            case p.Join(left=left, right=right):
                read.update(set(left.exports) & set(right.exports))
            case p.Union(exports=exports) if any(find_doubles(node)):
                read.update(exports)
            case p.SomeOf() | p.Fold() | p.Repetition() | p.Deadline():
                read.update(name for child in p.children(node) for name in child.exports)
            case p.Source() | p.Tick() | p.Union() | p.Filter():
                pass
            case _:
                assert_never(node)
    return {v.name for v in head.event.args if isinstance(v, Var)} - read


def has_vague(head: p.Head, types: Typing) -> bool:
    """Tell whether a rule has a variable that may be unbound where more than its head asks for it."""
    loose = _loose(head, types)
    return any(_vague(node, types, loose) for node in p.walk(head.body))


def _vague(node: p.Node, types: Typing, loose: set[str]) -> list[str]:
    """Return the variables that a match of a node may leave unbound, or that its conditions may find so."""
    stages = types.sure_by_test(node)
    vague = [v for v in node.exports if v[0] != "$" and v not in types.sure(node) | loose]
    for test, firm in zip(p.tests(node), stages, strict=False):
        if isinstance(test, p.GoalTest):
            vague += [v for v in test.inputs if v not in firm | loose]
    return vague


def _node(node: p.Node, types: Typing, follower: p.Join | None, loose: set[str]) -> Iterator[str]:
    if any(v in ("$parts", "$ids") for v in node.exports):
        yield "its contributors are reported"
    if isinstance(node, p.Join) and node.is_apart:
        yield "one event may be two of those that `any` chooses"
    if "$token" in node.exports and follower is None:
        yield "what a repetition counts after may be consumed elsewhere"
    if not isinstance(node, p.Source | p.Tick | p.Join | p.Union | p.Filter) or is_followed(node):
        vague = [v for part in (node, *p.children(node), *p.negated(node)) for v in _vague(part, types, loose)]
        if isinstance(node, p.Fold):  # what groups nothing may be unbound: what is aggregated is null then
            decisive = {*node.groups, *term_variables(node.result)}
            vague = [v for v in vague if v in decisive]
        if vague:
            yield f"{vague[0]} may be unbound"
    if type(node) not in OPERATORS:
        yield f"the plan node {type(node).__name__} has no operator over columns"
        return
    if isinstance(node, p.Join | p.Repetition) and _matching(node.policy) not in _MATCHINGS:
        yield f"the policy {node.policy.name} has no kernel"
    match node:
        case p.Join():
            yield from _join(node, types)
        case p.Fold():
            yield from _fold(node)
        case p.Repetition():
            yield from find_obstacles(node, follower)
        case p.Deadline(absent=absent, joined=joined):
            if node.conditions:
                yield CONDITIONAL_ABSENCE
            if not set(joined) <= types.sure(absent) & types.sure(node.left):
                yield "an absence shares a variable that may be unbound"
        case p.Source() | p.Tick() | p.SomeOf() | p.Union() | p.Filter():
            pass
        case _:
            assert_never(node)
    for test in p.tests(node):
        yield from _test(test)


CONDITIONAL_ABSENCE = "a negated pattern has a condition over the match, too"


def _matching(policy: Policy) -> tuple[str, bool, str]:
    return policy.select, policy.consume, policy.keep


_MATCHINGS = {
    ("all", False, "always"), ("all", True, "unmatched"), ("earliest", True, "unmatched"),
    ("latest", True, "unmatched"), ("latest", False, "newest"), ("together", True, "unmatched"),
}  # fmt: skip  # what kernels know of policies


def _coarse(name: str, node: p.Node, types: Typing) -> str:
    """Say that a variable has no flat type, and why, if facts are to blame."""
    goals = [test.goal for test in p.tests(node) if isinstance(test, p.GoalTest) and name in test.outputs]
    which = f", which {print_term(goals[0])} binds," if goals else ""
    mixed = [call.indicator for goal in goals for call in calls(goal) if types.answers.is_mixed(call.indicator)]
    why = f": facts of {show(mixed[0])} have values of several types, or beyond 64 bits" if mixed else ""
    return f"{name}{which} has no flat type{why}"


def _join(node: p.Join, types: Typing) -> Iterator[str]:
    """Yield what keeps a join from columns; where one candidate is enough, an engine does not look at all of them."""
    if node.alone is not None and is_followed(node):
        yield "a repetition stands left of a part that may be missing"
    if node.policy.consume and node.policy.select in ("earliest", "latest"):
        for name in sorted(set(shared_names(node)) - (types.sure(node.left) & types.sure(node.right))):
            yield f"{name}, which both sides of an operator share, may be unbound"
    if is_followed(node):
        yield from _loose_key(node)
        if node.policy.keep == "newest" and meet(node.left, node.right):
            yield "one event comes to both sides of an operator that keeps the newest only"


def _loose_key(node: p.Join) -> Iterator[str]:
    for name in shared_names(node):
        if node.policy.keep == "newest" and name not in join_key(node):
            yield f"the newest is kept, whatever a condition has bound {name} to"


def _fold(node: p.Fold) -> Iterator[str]:
    row = FOLDS[node.kind]
    if row.kernel not in KERNELS:
        yield f"the aggregate {row.name} has no kernel"
    if node.within is not None and node.within >= LONGEST:
        yield "a window is too long for columns"
    if node.opener is None:
        return
    bound = set(node.opener.exports)
    if row.at_opener and node.at_opener <= bound and not set(needed_columns(node)) <= bound:
        yield "a variable of an aggregate's elements has no value at the opener"


def _test(test: p.Test) -> Iterator[str]:
    match test:
        case p.Action():
            yield "it has an action"
        case p.Window(duration=duration) if duration >= LONGEST:
            yield "a window is too long for columns"
        case p.Absent(conditions=conditions) if conditions:
            yield CONDITIONAL_ABSENCE
        case p.Absent(window=window) if window is not None and window >= LONGEST:
            yield "a window is too long for columns"
        case p.Window() | p.GoalTest() | p.Prefilter() | p.Absent() | p.Alone():
            pass
        case _:
            assert_never(test)


def flat_types(types: Typing) -> Typing:
    """Return types as columns have them: truth values are texts, and what is not flat is any term."""
    known = {**{t: t for t in FLAT}, "bool": "string"}
    flat = {kind: tuple(known.get(t, TERM) for t in several) for kind, several in types.items()}
    return Typing(flat, types.answers, types.nothing)
