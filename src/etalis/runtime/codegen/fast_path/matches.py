"""How an event is offered to the leaves of its kind in generated code, and what that causes handed out.

A leaf that makes one match at most, as the last thing it does, hands it out in line; others gather what they make in
lists, where nothing follows from it, or queue it for the rounds to come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from etalis.plan import algebra as p
from etalis.plan.bindings import NodeShape
from etalis.plan.retention import NEVER_STORED
from etalis.runtime.codegen.compile import Compiler
from etalis.runtime.codegen.emission import multiplies_leaf
from etalis.runtime.codegen.fast_path.indexed import IndexedOffer
from etalis.runtime.codegen.fast_path.inputs import MatchOutput, places
from etalis.runtime.codegen.fast_path.rounds import MOST_LEAVES, Rounds
from etalis.runtime.codegen.fast_path.ways import multiplies
from etalis.runtime.codegen.network import PlannedRule, Wired, WiredReader
from etalis.runtime.codegen.source import Code
from etalis.runtime.ruleset import RuleSet
from etalis.runtime.run_loop import RunLoop
from etalis.runtime.state import Raw

Kind = tuple[str, int]


class EventOffer:
    """Offers events of each kind; `passes_time` says that `due` holds what came about before an event."""

    def __init__(self, rules: RuleSet, run_loop: RunLoop, *, passes_time: bool) -> None:
        self.rules = rules
        self.compiler = rules.compiler
        self.passes_time = passes_time
        self.settle: Callable[..., Any] = run_loop.settle_now
        if rules.numbered or rules.reacts:
            self.settle = run_loop.settle_numbered if rules.numbered else run_loop.settle_reacting
        self.settle_rest = run_loop.settle_rest if rules.reacts and not rules.numbered else None
        self.queue = rules.state.queue
        self.reacting = rules.state.reacting if rules.reacts else None
        self.leaves: dict[Kind, list[Wired]] = self.compiler.leaves
        written = [len(several) for kind, several in self.leaves.items() if kind not in self.compiler.indexes]
        self.are_few = sum(written) <= MOST_LEAVES
        self.indexed = IndexedOffer(self)
        rules.heads.last.open(rules.state.now)  # other text may have made something at this stamp
        self.rounds = Rounds(self, run_loop)

    def write(self, output: MatchOutput, kind: Kind) -> None:
        """Write that an event is offered, and what that causes handed out: at once, where nothing else follows."""
        if self.rounds.are_followed(kind):
            self.rounds.write(output, kind)
            output.code(output.done)
            return
        index = self.indexed.index(kind)
        if index is not None:
            self.indexed.write(output, kind, index)
            return
        code, leaves, top = output.code, self.leaves.get(kind, []), len(output.code.lines)
        heads = self.heads_of(leaves) if self.are_few or self.reacting is not None else []
        following = [rule for rule in heads if self.follows(rule)] if self.is_written(kind) else heads
        makers = [leaf for leaf in leaves if not _only_waits(self.compiler, leaf)] if self.are_few else []
        is_one = len(makers) == 1 and _ends_there(self.compiler, makers[0]) and all(map(self._only_reacts, following))
        if not is_one and self.rounds.keep_all(kind, heads):
            self.rounds.write(output, kind)
            output.code(output.done)
            return
        reacts = any(rule.head.hidden for rule in heads) or (is_one and bool(following))
        is_last = self.is_written(kind) and (is_one or not following)
        is_one = is_one and is_last
        is_at_once = is_one and makers[0] is leaves[-1] and not (self.passes_time or reacts)
        kept = [code.fresh("m")] if is_one and not is_at_once else []
        code.direct = output.own if is_at_once else partial(_keep, kept[0]) if kept else None
        code.on_made = self._offer_to_reactions if is_one and following else None
        code.turn = code.fresh("u") if is_one and self._reactions_of(heads, following) == 1 else None
        code.has_turn = False
        gathers = is_last and not any(map(self._repeats, leaves))
        code.rounds, code.queues = ([] if gathers else None), False
        self.offer(code, kind)
        turn = code.turn if code.has_turn else None
        for found in (*kept, *(code.rounds or ())):
            code.insert(top, f"{found} = ()")
        if turn is not None:
            code.insert(top, f"{turn} = None")
        if kept:
            due = " or due" if self.passes_time else ""
            found = f"due + {kept[0]}" if due else kept[0]
            if reacts:
                with code.block(f"if {code.constant(self.reacting) if turn is None else f'{turn} is not None'}:"):
                    code.add(output.all_of(f"{found} + more", self._react(code, turn)))
            with code.block(f"{'elif' if reacts else 'if'} {kept[0]}{due}:"):
                code.add(output.all_of(found))
        else:
            code.queues = code.queues or reacts
            self.hand_out(output, code.rounds or [])
        code.direct = code.rounds = code.on_made = code.turn = None
        code(output.done)

    def _react(self, code: Code, turn: str | None) -> list[str]:
        """Return the lines that let reactions have their turns, one if it is known; `more` is what is reported then."""
        if turn is None:
            return [f"more = {code.constant(self.settle)}()"]
        rest, steps = code.constant(self.settle_rest), code.constant(self.rules.state.steps)
        more = f"more = {rest}() if {code.constant(self.reacting)} or {steps} else ()"
        return [f"{turn}[2].react({turn})", more]

    def _reactions_of(self, heads: Sequence[PlannedRule], following: Sequence[PlannedRule]) -> int:
        """Return how many reactions a match comes to, by itself or as an event; many, where they have numbers."""
        if self.settle_rest is None:
            return 2
        leaves = [leaf for rule in following for leaf in self.leaves.get(rule.head.kind, ())]
        return sum(rule.head.hidden for rule in (*heads, *self.heads_of(leaves)))

    def offer(self, code: Code, kind: Kind, args: Sequence[str] | None = None, t1: str = "t") -> None:
        """Write that an event is offered to the leaves of its kind, or counted as one that no rule reads."""
        parameters, process = places(kind[1]) if args is None else args, self.rules.processors.get(kind)
        if self.rules.log is not None and self.rules.is_logged(kind):
            log, items = code.constant(self.rules.log), code.constant(self.rules.log.items)
            code(f"{items}.append((t, t, {code.constant(self.rules.state)}.current))")
            with code.block(f"if {code.constant(len)}({items}) > {log}.trim_at:"):
                code(f"{log}.trim(t)")
        if process is None:
            code(f"{code.constant(self.rules.evidence.unread_names[kind[1]])}[{code.constant(kind[0])}] += 1")
        elif args is not None or self.is_written(kind):
            code.begin_event()
            for leaf in self.leaves[kind]:
                self.compiler.offer(code, leaf, parameters, t1, "t")
        else:
            rope = [code.rope] if self.rules.traced else []
            self._call(code, kind, process, f"({', '.join(['t', 't', 'None', *parameters, *rope])})")

    def _call(self, code: Code, kind: Kind, process: Callable[[Raw], None], raw: str) -> None:
        """Write that an event is offered by a function, or by those that an index finds."""
        code.queues = True
        index = self.indexed.index(kind)
        if index is not None:
            self.indexed.offer(code, kind, index)
            return
        code(f"{code.constant(process)}({raw})")

    def hand_out(self, output: MatchOutput, rounds: list[str]) -> None:
        """Write that what the leaves have queued, or gathered in lists each in order, is handed out."""
        code, queue, before = output.code, output.code.constant(self.queue), ""
        if code.queues:
            before = "el"
            with code.block(f"if {queue}{self.more(code)}:"):
                code.add(f"{queue}.extend({found})" for found in rounds)
                code.add(output.all_of(f"{'due + ' if self.passes_time else ''}{code.constant(self.settle)}()"))
        if rounds:
            with code.block(f"{before}if {' or '.join(rounds)}:"):
                before = "el"
                self.rounds.report(output, rounds)
        if self.passes_time:
            with code.block(f"{before}if due:"):
                code.add(output.all_of("due"))

    def more(self, code: Code) -> str:
        """Return what is to be tested beside the queue: whether reactions wait, if there are any."""
        return "" if self.reacting is None else f" or {code.constant(self.reacting)}"

    def heads_of(self, leaves: list[Wired]) -> list[PlannedRule]:
        """Return the rules that an event at some leaves may end a match of."""
        found: list[PlannedRule] = []
        waiting, seen = [*leaves], set()
        while waiting:
            for reader in waiting.pop().readers:
                if reader.kind == "head":
                    found.append(reader.target)
                elif id(reader.target) not in seen and not _waits_until_due(reader):
                    seen.add(id(reader.target))
                    waiting.append(reader.target)
        return found

    def _repeats(self, entry: Wired) -> bool:
        """Tell whether an event makes several matches of a single one, each of which would gather a list of its own."""
        for reader in entry.readers:
            target = reader.target
            if reader.kind == "head" or not isinstance(target.node, p.Filter | p.Union):
                continue
            is_one = multiplies_leaf(target) and self.rules.heads.may_gather(target)
            if (multiplies(p.tests(target.node)) and not is_one) or self._repeats(target):
                return True
        return False

    def gathers(self, kind: Kind) -> bool:
        """Tell whether the matches of an event, gathered in lists, are the last round that it causes."""
        leaves, kinds = self.leaves.get(kind, []), self.rules.heads.kind
        ends = not any(self.follows(rule) or kinds(rule).grows for rule in self.heads_of(leaves))
        return ends and self.is_written(kind) and not any(map(self._repeats, leaves))

    def follows(self, rule: PlannedRule) -> bool:
        """Tell whether anything is done with the events of a rule but to report them; reactions come afterwards."""
        if rule.head.hidden:
            return False
        kind, rules = rule.head.kind, self.rules
        return kind in rules.processors or rules.log is not None or rules.heads.kind(rule).reported is not True

    @cached_property
    def ends_all(self) -> bool:
        """Whether nothing is done with the events of any rule but to report them."""
        rules = self.rules
        plain = not (rules.reacts or rules.program.triggers) and rules.log is None
        return plain and rules.heads.makers.keys().isdisjoint(rules.processors.keys())

    def _only_reacts(self, rule: PlannedRule) -> bool:
        """Tell whether the events of a rule are reported, and come to reactions alone, as they are."""
        rules, kind = self.rules, rule.head.kind
        alike = [leaf for leaf in self.leaves.get(kind, ()) if all(_is_reaction(r) for r in leaf.readers)]
        written = self.is_written(kind) and len(alike) == len(self.leaves.get(kind, ()))
        return written and rules.log is None and rules.heads.kind(rule).reported is True

    def _offer_to_reactions(self, code: Code, kind: Kind, args: Sequence[str], t1: str, t2: str) -> None:
        """Write that an event that is made comes to the reactions to it."""
        for leaf in self.leaves.get(kind, ()):
            self.compiler.offer(code, leaf, args, t1, t2)

    def is_written(self, kind: Kind) -> bool:
        """Tell whether the leaves of a kind are all that its events come to, and few enough to be in the text."""
        own = kind in self.rules.learned or kind in self.rules.spied or kind in self.compiler.indexes
        return self.are_few and not own


def _is_reaction(reader: WiredReader) -> bool:
    return reader.kind == "head" and reader.target.head.hidden


def _keep(name: str, events: list[str]) -> list[str]:
    """Return the line that keeps matches until all leaves have had the event."""
    return [f"{name} = ({''.join(f'{event}, ' for event in events)})"]


def _waits_until_due(reader: WiredReader) -> bool:
    """Tell whether what comes to a reader makes a match when time passes, and none before."""
    return isinstance(reader.target.node, p.Deadline) and reader.kind == "input"


def _only_waits(compiler: Compiler, entry: Wired) -> bool:
    """Tell whether matches of an entry make none at once: they wait, or block."""
    for reader in entry.readers:
        match reader.kind, None if reader.kind == "head" else reader.target.node:
            case "negated", _:
                continue
            case _, p.Join() if not compiler.stores.probes(reader.target, reader.place):
                continue
            case _, p.Filter() | p.Union() if _only_waits(compiler, reader.target):
                continue
            case _, p.Repetition(left=left) if _counts_from(left, reader) or _only_waits(compiler, reader.target):
                continue
            case _, p.Deadline():
                continue
        return False
    return True


def _counts_from(left: p.Node | None, reader: WiredReader) -> bool:
    """Tell whether what a reader takes is what a repetition counts after."""
    return left is not None and reader.place == 0


def _ends_there(compiler: Compiler, leaf: Wired) -> bool:
    """Tell whether an event at this leaf makes one match at most, in line, as the last thing it does."""
    entry, probed = leaf, False
    while True:
        if all(r.kind == "head" for r in entry.readers):
            return _plain_heads(compiler, entry)
        if len(entry.readers) != 1:
            return False
        reader = entry.readers[0]
        if reader.kind == "negated":
            return True
        target: Wired = reader.target
        match target.node:
            case p.Join(alone="left" | "right"):
                return False
            case p.Join(policy=policy, tests=tests):
                probes = compiler.stores.probes(target, reader.place)
                is_stored = compiler.stores.retention(target, reader.place) != NEVER_STORED
                leaves_last = policy.keep == "unmatched" or not is_stored
                single = policy.select in ("earliest", "latest") and leaves_last
                if not single or multiplies(tests) or (probes and probed):
                    return False
                probed = probed or probes
            case p.Filter(tests=tests):
                if multiplies(tests):
                    return False
            case p.Repetition(left=left) if _counts_from(left, reader):
                return True
            case p.Repetition(tests=tests):
                if multiplies(tests) or probed or not compiler.operators.repetitions.makes_one(target):
                    return False
                probed = True
            case p.Fold(opener=None, tests=tests):
                if multiplies(tests) or probed:
                    return False
            case p.Union():
                pass
            case _:
                return False
        entry = target


def _plain_heads(compiler: Compiler, entry: Wired) -> bool:
    """Tell whether all heads of an entry are made at once, with equal attributes."""
    rules = [(r.target, r.renames) for r in entry.readers if not r.target.head.hidden]
    heads = [(rule.head, renames) for rule, renames in rules]
    plain = all(head.alarm is None and not head.actions for head, _ in heads)
    are_lone = all(compiler.base.heads.is_lone(rule) for rule, _ in rules)
    return plain and (len(heads) <= 1 or (are_lone and _same_attributes(heads)))


def _same_attributes(heads: list[tuple[p.Head, Mapping[str, str]]]) -> bool:
    def shape(head: p.Head) -> Any:
        signature = NodeShape()
        signature.node(head.body)
        return tuple(signature.term(a) for a in head.event.args)

    return len({shape(head) for head, _ in heads}) == 1
