"""Rounds of one event, followed in line: what an event causes, where its rules make one match each at most.

An event is offered to all its leaves before what they make is looked at, as in the run loop, but what a rule makes is
kept in a variable of its own instead of the queue. If one of them alone is set, it is a round that needs no sorting:
it is offered in turn, in the same text. So are all of them, where they begin in the order of their kinds, which is that
of the round. What a rule makes besides goes to the queue; of that, of some of several, and of a chain that is too long
for one text the run loop makes rounds; `follow` goes on with that there, so many rounds at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from etalis.data.measure import CELLS
from etalis.data.values import format_atom
from etalis.plan.keys import Kind
from etalis.runtime.codegen.fast_path.inputs import FollowOutput, MatchOutput, places
from etalis.runtime.codegen.fast_path.offering import Offering
from etalis.runtime.codegen.fast_path.ways import ways
from etalis.runtime.codegen.network import PlannedRule
from etalis.runtime.codegen.source import Code
from etalis.runtime.state import MOST_ROUNDS, HeadKind, Raw, sort_round
from etalis.temporal.event import event_of

if TYPE_CHECKING:
    from etalis.runtime.run_loop import RunLoop

MOST_LEAVES = 24  # that are written into one text
MOST_KEPT = 4  # rules whose matches are kept in variables


class Reached(NamedTuple):
    """Where a text has come to: what is reported so far, how many events were made, and of which kinds."""

    reported: tuple[str, ...]
    made: int
    kinds: frozenset[Kind]
    perhaps: frozenset[str] = frozenset()  # of what is reported: None where it is not


NOTHING = Reached((), 0, frozenset())


class Arrival(NamedTuple):
    """An event that is offered: its kind, its attributes, where it starts, and what it is made of."""

    kind: Kind
    args: Sequence[str]
    start: str
    rope: str
    is_made: bool = False  # by a rule, in the same text


class Rounds:
    """Writes what follows from events, for one rule set."""

    def __init__(self, offer: Offering, run_loop: RunLoop) -> None:
        self.events = offer
        self.rules = rules = offer.rules
        self.compiler = offer.compiler
        self.most = min(run_loop.most, MOST_ROUNDS)
        self.settle = run_loop.settle_numbered if rules.numbered else run_loop.settle_now
        self.settle_kinds = run_loop.settle_kinds
        self.report_all = run_loop.report
        self.is_plain = not rules.reacts and rules.log is None
        self.room = 0
        may_follow = self.is_plain and not rules.numbered
        for kind in rules.heads.kinds.values():
            kind.follow = partial(self._follow_first, kind) if may_follow and kind.feeds is not None else None

    def are_followed(self, kind: Kind) -> bool:
        """Tell whether what events of a kind cause is followed in line, which rules do not make themselves."""
        return self._is_written(kind) and self._follows_any(kind)

    def keep_all(self, kind: Kind, heads: Sequence[PlannedRule]) -> bool:
        """Tell whether an event of a kind makes one match at most by each of the rules that it may end."""
        once = self._kept_rules([kind]) if self._is_written(kind) else {}
        return bool(once) and all(once.get(rule) for rule in heads)

    def _is_written(self, kind: Kind) -> bool:
        few = self.is_plain and self.events.are_few and self.events.is_written(kind)
        return few and kind not in self.rules.heads.makers

    def write(self, output: MatchOutput, kind: Kind) -> None:
        """Write that an instant is offered, and what follows from it, handed out as a whole."""
        self.room = MOST_LEAVES - len(self.events.leaves[kind])
        arrival = Arrival(kind, places(kind[1]), "t", output.code.rope)
        self._arrive(output, [arrival], Reached((), 0, frozenset((kind,))))

    def _follow_first(self, kind: HeadKind, raw: Raw, out: list[Raw]) -> int:
        """Write what follows from events of a kind, and follow the first one."""
        kind.follow = self._follow(kind)
        if kind.follow is not None:
            return kind.follow(raw, out)
        if kind.feeds is not None:
            kind.feeds(raw)
        return 0

    def _follow(self, head: HeadKind) -> Callable[[Raw, list[Raw]], int] | None:
        """Return the function that offers an event which a rule made, and returns how many it followed; None if none.

        What is reported of them is added to `out`; what it leaves to the run loop is in the queue.
        """
        kind = (head.name, head.arity)
        if not self._is_in_line(kind) or not self._follows_any(kind):
            return None
        self.room = MOST_LEAVES - len(self.events.leaves[kind])
        output = FollowOutput()
        arrival = Arrival(kind, self._read(output, "raw", kind), "t1", "raw")
        self._arrive(output, [arrival], Reached((), 0, frozenset((kind,))))
        return self.compiler.base.finish(output.code, f"follow {format_atom(head.name)}/{head.arity}")

    def _read(self, output: MatchOutput, raw: str, kind: Kind) -> list[str]:
        """Write that an event that is made is read, and return the names of its attributes."""
        code = output.code
        names = [code.fresh("v") for _ in range(kind[1])]
        rope = ["*_"] if self.compiler.base.heads.parts else []
        end, start = ("t", "t1") if isinstance(output, FollowOutput) and raw == "raw" else ("_", f"{raw}s")
        code(f"({', '.join([end, start, '_', *names, *rope])}) = {raw}")
        return names

    def _arrive(self, output: MatchOutput, arrivals: Sequence[Arrival], step: Reached) -> None:
        """Write that the events of a round are offered to their leaves, then what becomes of what they make."""
        code, top, kinds = output.code, len(output.code.lines), [arrival.kind for arrival in arrivals]
        once = self._kept_rules(kinds)
        rules = list(once)
        kept = [code.fresh("m") for _ in rules]
        code.kept = {rule.number: name for rule, name in zip(rules, kept, strict=True)}
        code.repeated = {rule.number for rule in rules if not once[rule]}
        is_last = not kept and not isinstance(output, FollowOutput) and all(map(self.events.gathers, kinds))
        code.rounds, code.queues = ([] if is_last else None), False
        for arrival in arrivals:
            self._offer(code, arrival)
        gathered, code.rounds, code.kept = code.rounds or [], None, {}
        for names, nothing in ((kept, "None"), (gathered, "()")):
            if names:
                code.insert(top, f"{' = '.join(names)} = {nothing}")
        before = False
        if code.queues:
            before, queue = True, code.constant(self.events.queue)
            with code.block(f"if {queue}:"):
                self._queue(output, kept)
                code.add(f"{queue}.extend({found})" for found in gathered)
                self._settle(output, step)
        if gathered:
            with code.block(f"{'el' if before else ''}if {' or '.join(gathered)}:"):
                before = True
                self.report(output, gathered, step)
        for place, name in enumerate(kept):
            with code.block(f"{'el' if before else ''}if {name} is not None:"):
                before = True
                self._alone_or_several(output, rules[place:], kept[place:], step)
        if not before:
            self._end(output, step)
        elif self._hands_out(output, step):
            with code.block("else:"):
                self._end(output, step)

    def _offer(self, code: Code, arrival: Arrival) -> None:
        around, code.rope = code.rope, arrival.rope
        if arrival.is_made and self.rules.numbered:
            code(f"{code.constant(self.rules.state)}.current += 1")
        self.events.offer(code, arrival.kind, arrival.args, arrival.start)
        code.rope = around

    def _alone_or_several(
        self, output: MatchOutput, rules: Sequence[PlannedRule], kept: list[str], step: Reached
    ) -> None:  # fmt: skip
        """Write what becomes of the first of some matches that may be kept: a round, if it is the only one."""
        code, (name, *others) = output.code, kept
        made = {name: self.rules.heads.kind(rule) for rule, name in zip(rules, kept, strict=True)}
        if not others:
            self._one(output, made[name], name, step)
            return
        with code.block(f"if {' or '.join(f'{other} is not None' for other in others)}:"):
            self._several(output, made, step)
        with code.block("else:"):
            self._one(output, made[name], name, step)

    def _several(self, output: MatchOutput, made: dict[str, HeadKind], step: Reached) -> None:
        """Write what becomes of several matches, of which the first is made: a round, if they are all and in order."""
        code, kinds = output.code, [_key(head) for head in made.values()]
        if len(set(kinds)) < len(kinds) or any(head.grows for head in made.values()):
            self._queue(output, list(made))
            self._settle(output, step)
            return
        in_order = {name: head for head, name in sorted((head, name) for name, head in made.items())}
        starts = ["t" if name in code.instants else f"{name}[1]" for name in in_order]
        others = list(made)[1:] if len(made) > 2 else []  # the other one of two is made
        tests = [f"{name} is not None" for name in others]
        tests += [" <= ".join(starts)] if len(set(starts)) > 1 else []
        if not self._has_room(kinds, step):
            self._settle_kinds(output, list(in_order), step)
            return
        with code.block(f"if {' and '.join(tests)}:") if tests else nullcontext():
            self._take(output, in_order, step)
        if tests:
            with code.block("else:"):
                self._settle_kinds(output, list(in_order), step)

    def _settle_kinds(self, output: MatchOutput, in_order: list[str], step: Reached) -> None:
        """Write that events of several kinds are a round, in order of start and kind, and the run loop goes on."""
        if isinstance(output, FollowOutput):
            self._queue(output, in_order)
            self._settle(output, step)
            return
        several = f"({', '.join(in_order)})"
        if len(in_order) > 2:  # some may be missing
            several = f"[z for z in {several} if z is not None]"
        self._hand_on(output, step, f"{output.code.constant(self.settle_kinds)}({several}, {step.made})")

    def _has_room(self, kinds: Sequence[Kind], step: Reached) -> bool:
        """Tell whether a round of events of some kinds can be written in line, and count its leaves."""
        leaves = sum(len(self.events.leaves.get(kind, ())) for kind in kinds)
        if not step.kinds.isdisjoint(kinds) or step.made + len(kinds) > self.most or leaves > self.room:
            return False
        self.room -= leaves
        return True

    def _one(self, output: MatchOutput, head: HeadKind, name: str, step: Reached) -> None:
        """Write what becomes of the only match: a round."""
        code = output.code
        if not self._has_room([_key(head)], step):
            code(f"{code.constant(self.events.queue)}.append({name})")
            self._settle(output, step)
        elif not head.grows:
            self._take(output, {name: head}, step)
        else:
            args = self._read(output, name, _key(head))
            with code.block(f"if {_is_light(args)}:"):
                self._take(output, {name: head}, step)
            with code.block("else:"):
                code(f"{code.constant(self.events.queue)}.append({name})")
                self._settle(output, step)

    def _take(self, output: MatchOutput, made: dict[str, HeadKind], step: Reached) -> None:
        """Write that events, in order, are reported and offered: they are the whole round."""
        code, arrivals = output.code, []
        for name, head in made.items():
            kind = _key(head)
            is_read = bool(self.events.leaves.get(kind))
            args = self._read(output, name, kind) if is_read or not isinstance(head.reported, bool) else []
            step = self._report(output, head, name, args, step)
            if is_read:
                arrivals.append(Arrival(kind, args, "t" if name in code.instants else f"{name}s", name, is_made=True))
        if arrivals:
            self._arrive(output, arrivals, step)
        else:
            self._end(output, step)

    def _report(
        self, output: MatchOutput, head: HeadKind, name: str, args: Sequence[str], step: Reached
    ) -> Reached:  # fmt: skip
        """Write that an event is reported, if it is; return where that comes to."""
        code = output.code
        after = step._replace(made=step.made + 1, kinds=step.kinds | {_key(head)})
        asked = "" if isinstance(head.reported, bool) else f"{code.constant(head.reported)}({', '.join(args)})"
        if head.reported is False:
            return after
        if isinstance(output, FollowOutput):
            with code.block(f"if {asked}:") if asked else nullcontext():
                code(f"out.append({name})")
            return after
        if not asked:
            return after._replace(reported=(*step.reported, name))
        told = code.fresh("r")
        code(f"{told} = {name} if {asked} else None")
        return after._replace(reported=(*step.reported, told), perhaps=step.perhaps | {told})

    def _queue(self, output: MatchOutput, kept: Sequence[str]) -> None:
        for name in kept:
            with output.code.block(f"if {name} is not None:"):
                output.code(f"{output.code.constant(self.events.queue)}.append({name})")

    def _settle(self, output: MatchOutput, step: Reached) -> None:
        """Write that the run loop makes rounds of what is queued."""
        if isinstance(output, FollowOutput):
            output.code(f"return {step.made}")
            return
        self._hand_on(output, step, f"{output.code.constant(self.settle)}({step.made})")

    def report(self, output: MatchOutput, gathered: Sequence[str], step: Reached = NOTHING) -> None:
        """Write that the events of lists, each in order, are the last round; most often it is one event."""
        code, found = output.code, gathered[0]
        if len(gathered) > 1:
            several = ", ".join(f"*{other}" for other in gathered)
            code.add([f"{found} = [{several}]", f"{code.constant(sort_round)}({found})"])
        reported = f"{code.constant(self.report_all)}({found}, {step.made})"
        if self.events.passes_time or step.made == self.most:
            self._hand_on(output, step, reported)
            return
        with code.block(f"if len({found}) == 1:"):
            alone = step._replace(reported=(*step.reported, f"{found}[0]"))
            code.add(_own(output, alone))
        with code.block("else:"):
            self._hand_on(output, step, reported)

    def _hand_on(self, output: MatchOutput, step: Reached, settled: str) -> None:
        """Write that what was reported is handed out, and what the run loop gives after it."""
        before = [*(["due"] if self.events.passes_time else []), *([_together(output, step)] if step.reported else [])]
        output.code.add(output.all_of(" + ".join([*before, settled])))

    def _hands_out(self, output: MatchOutput, step: Reached) -> bool:
        return isinstance(output, FollowOutput) or bool(step.reported) or self.events.passes_time

    def _end(self, output: MatchOutput, step: Reached) -> None:
        """Write that nothing follows: what has been reported is handed out."""
        code = output.code
        if isinstance(output, FollowOutput):
            code(f"return {step.made}")
        elif self.events.passes_time and not step.reported:
            with code.block("if due:"):
                code.add(output.all_of("due"))
        elif self.events.passes_time:
            with code.block("if due:"):
                code.add(output.all_of(f"due + {_together(output, step)}"))
            with code.block("else:"):
                code.add(_own(output, step))
        elif step.reported:
            code.add(_own(output, step))

    # which matches are kept

    def _is_in_line(self, kind: Kind) -> bool:
        """Tell whether an event of a kind can be offered in the text that it is made in."""
        leaves = self.events.leaves.get(kind, ())
        written = kind not in self.rules.learned and kind not in self.rules.spied
        return bool(leaves) and len(leaves) <= MOST_KEPT and written and kind not in self.compiler.indexes

    def _follows_any(self, kind: Kind) -> bool:
        """Tell whether something else is done with what an event makes than to report it."""
        rules, heads = self._kept_rules([kind]), self.rules.heads
        return any(rule.head.kind in self.rules.processors or heads.kind(rule).reported is not True for rule in rules)

    def _kept_rules(self, kinds: Sequence[Kind]) -> dict[PlannedRule, bool]:
        """Return the rules whose events can be followed in line, and whether the events of a round make one at most."""
        leaves = [leaf for kind in kinds for leaf in self.events.leaves.get(kind, ())]
        found: dict[PlannedRule, bool] = {}
        for rule, is_one in (way for leaf in leaves for way in ways(self.compiler, leaf)):
            if self._is_plain_head(rule):
                found[rule] = is_one and rule not in found
        return found if len(found) <= MOST_KEPT else {}

    def _is_plain_head(self, rule: PlannedRule) -> bool:
        head = rule.head
        if head.hidden or head.alarm is not None or head.actions:
            return False
        ends = head.kind not in self.rules.processors
        return ends or self._is_in_line(head.kind)


def _is_light(args: Sequence[str]) -> str:
    """Return the test that an event has few attributes, all small, so that it counts for no more than one."""
    longest = 64 * (CELLS - len(args))
    if longest <= 0:
        return "False"
    one = "(type({0}) is str and len({0}) < {1} or type({0}) is int and -{2} < {0} < {2} or type({0}) is float)"
    return " and ".join(one.format(arg, longest // len(args), 1 << 62) for arg in args) or "True"


def _own(output: MatchOutput, step: Reached) -> list[str]:
    """Return the lines that hand out what is reported."""
    if step.perhaps:
        return output.all_of(_together(output, step))
    return output.own([_match(output, raw) for raw in step.reported])


def _together(output: MatchOutput, step: Reached) -> str:
    """Return what is reported as a tuple of matches."""
    found = {raw: _match(output, raw) for raw in step.reported}
    found.update({raw: f"*(({found[raw]},) if {raw} is not None else ())" for raw in step.perhaps})
    return f"({', '.join(found.values())},)"


def _match(output: MatchOutput, raw: str) -> str:
    """Return the match that an event is."""
    code = output.code
    return f"{code.constant(event_of)}({raw})"


def _key(head: HeadKind) -> Kind:
    return head.name, head.arity
