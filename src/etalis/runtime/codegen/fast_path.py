"""The fast path, generated: `push` and `run` with the leaves of the most used kinds of event written into them.

A list of stages, each of which writes its lines: read an event (`fast_path_input`), check that it is in order, or hold
it until it is settled (`fast_path_late`), convert its attributes, offer it to the leaves, hand out the matches. It does
for plain input (whole seconds, plain attributes) what the run loop does in general, and leaves all else to that. What
an engine does not use (parts, isolation, history, callbacks, timers) is not in the text at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etalis.data.values import to_value
from etalis.errors import EtalisError
from etalis.language.attributes import convert_one
from etalis.plan import algebra as p
from etalis.plan.retention import NEVER_STORED
from etalis.runtime.codegen.fast_path_input import EventInput, MatchOutput, places
from etalis.runtime.codegen.network import PlannedRule, Wired
from etalis.runtime.codegen.source import Code
from etalis.runtime.ruleset import RuleSet
from etalis.runtime.state import Raw, sort_round
from etalis.temporal.interval import LATEST, MICROSECONDS

Kind = tuple[str, int]
Log = Callable[[Code, Kind, list[str], str], None]

_NOT_PLAIN = {  # of a declared type: what is converted; integral floats are, since they are held as `Real`
    "int": "type({x}) is not int",
    "string": "type({x}) is not str",
    "float": "type({x}) is not float or {x}.is_integer() or {x} != {x}",
}
BEYOND = LATEST // MICROSECONDS + 1  # the first second that is no time; none in order comes before the first one
MOST_KINDS = 8
MOST_LEAVES = 24


class FastPath:
    """The stages of the fast path of one rule set, where its program is plain enough for it."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.compiler = compiler = rules.compiler
        self.state = rules.state
        self.ahead: int | None = None  # most seconds that an event may end after the one before
        self.goes_on = False  # behind a row that cannot be read
        self.settle: Callable[[], Any] = tuple  # takes what events caused
        self.report: Callable[[list[Raw]], Any] = tuple  # takes what they caused where nothing follows from it
        self.leaves: dict[Kind, list[Wired]] = {}
        heads = {r.head.kind for r, _ in rules.rules}
        for leaf in compiler.wiring.leaves:
            if isinstance(leaf.node, p.Source):
                self.leaves.setdefault((leaf.node.name, len(leaf.node.args)), []).append(leaf)
        slow = {*heads, *rules.learned, *rules.spied}
        self.hot = [kind for kind in self.leaves if kind not in slow and kind[0] not in rules.program.implied]
        self.arities = sorted({arity for _, arity in self.hot})

    def is_plain(self) -> bool:
        """Tell whether the fast path is exact for this rule set."""
        names = [name for name, _ in self.hot]
        few = len(self.hot) <= MOST_KINDS and sum(map(len, self.leaves.values())) <= MOST_LEAVES
        return bool(few and names) and len(set(names)) == len(names) and not (self.rules.numbered or self.rules.acts)

    def write(self, source: EventInput, what: str, stage: Callable[[EventInput], None]) -> Callable[..., Any]:
        """Write a function that reads events and takes them by a stage."""
        with source.events():
            stage(source)
        return self.compiler.finish(source.code, what)

    def take_in_order(self, source: EventInput, log: Log | None) -> None:
        """Write that events in order are taken at once; `log` writes how history is kept."""
        code = source.code
        for number, arity in enumerate(self.arities):
            with source.of_arity(number, arity):
                code(f"t = at * {MICROSECONDS}")
                with code.block(f"if {self._in_order(code, source.clock)}:"):
                    self.by_kind(source, arity, lambda kind: self._take(source, kind, log))

    def _in_order(self, code: Code, clock: str) -> str:
        """Return the test that an event needs no passing of time but the clock's own."""
        state = code.constant(self.state)
        quiet = f" and t <= {state}.due" if self.rules.has_timers else ""
        near = "" if self.ahead is None else f" and at - {clock} <= {self.ahead}"
        later = f"{BEYOND} > at > {clock}{near}{quiet}" if not self.rules.ticks else "False"
        return f"{later} or (at == {clock} and t == {state}.now and t > {state}.floor)"

    def by_kind(self, output: MatchOutput, arity: int, write: Callable[[Kind], None]) -> None:
        """Write what is done with events of each kind of so many attributes."""
        for number, kind in enumerate(kind for kind in self.hot if kind[1] == arity):
            with output.code.block(f"{'el' if number else ''}if name == {output.code.constant(kind[0])}:"):
                write(kind)

    def _take(self, source: EventInput, kind: Kind, log: Log | None) -> None:
        """Write what is done with an event in order."""
        code, seconds = source.code, f"{source.code.constant(self.state)}.seconds"
        self.convert(source, kind)
        for clock in dict.fromkeys([source.clock, *([] if log is None else [seconds])]):
            code(f"{clock} = at")
        if log is not None:
            log(code, kind, places(kind[1]), "t")
        self.offer(source, kind)

    def convert(self, source: EventInput, kind: Kind) -> None:
        """Write the conversion of attributes, and what is done with an event that cannot be read."""
        if not self.goes_on:
            self._convert(source.code, kind)
            return
        with source.code.block("try:"):
            self._convert(source.code, kind)
        with source.code.block(f"except {source.code.constant(EtalisError)}:"):
            source.otherwise()

    def _convert(self, code: Code, kind: Kind) -> None:
        """Write the conversion of attributes that are not plain values of their type already."""
        signature = self.rules.program.signatures.get(kind[0], ())
        for place, x in enumerate(places(kind[1])):
            attribute, wanted = signature[place] if signature else ("", "any")
            if wanted == "any":
                with code.block(f"if type({x}) is not int and type({x}) is not str:"):
                    code(f"{x} = {code.constant(to_value)}({x})")
                continue
            known = ", ".join(code.constant(a) for a in (kind[0], attribute, wanted))
            with code.block(f"if {_NOT_PLAIN.get(wanted, 'True').format(x=x)}:"):
                code(f"{x} = {code.constant(convert_one)}({known}, {x})")

    def offer(self, output: MatchOutput, kind: Kind) -> None:
        """Write the leaves of a kind, and that what they cause is handed out: at once, where nothing else follows."""
        code, leaves, top = output.code, self.leaves[kind], len(output.code.lines)
        is_last = not any(map(self._follows, self.heads_of(leaves)))
        code.direct = output.own if is_last and len(leaves) == 1 and self._ends_there(leaves[0]) else None
        code.rounds, code.queues = ([] if is_last else None), False
        for leaf in leaves:
            self.compiler.offer(code, leaf, places(kind[1]), "t", "t")
        for found in code.rounds or ():
            code.insert(top, f"{found} = ()")
        self._hand_out(output, code.rounds or [])
        code.direct = code.rounds = None
        code(output.done)

    def _hand_out(self, output: MatchOutput, rounds: list[str]) -> None:
        """Write that what the leaves have queued, or gathered in lists each in order, is handed out."""
        code, queue = output.code, output.code.constant(self.state.queue)
        if code.queues:
            for found in rounds:
                with code.block(f"if {found}:"):
                    code(f"{queue}.extend({found})")
            with code.block(f"if {queue}:"):
                code.add(output.all_of(f"{code.constant(self.settle)}()"))
        elif rounds:
            with code.block(f"if {' or '.join(rounds)}:"):
                if len(rounds) > 1:
                    several = ", ".join(f"*{found}" for found in rounds)
                    code.add([f"{rounds[0]} = [{several}]", f"{code.constant(sort_round)}({rounds[0]})"])
                code.add(output.all_of(f"{code.constant(self.report)}({rounds[0]})"))

    def heads_of(self, leaves: list[Wired]) -> list[PlannedRule]:
        """Return the rules that an event at some leaves may end a match of."""
        found: list[PlannedRule] = []
        waiting, seen = [*leaves], set()
        while waiting:
            for reader in waiting.pop().readers:
                if reader.kind == "head":
                    found.append(reader.target)
                elif id(reader.target) not in seen:
                    seen.add(id(reader.target))
                    waiting.append(reader.target)
        return found

    def _follows(self, rule: PlannedRule) -> bool:
        """Tell whether anything is done with the events of a rule but to report them."""
        kind, rules = rule.head.kind, self.rules
        is_read = kind in self.leaves or kind in rules.learned or kind in rules.spied
        return is_read or rules.heads.kind(rule).reported is not True

    def _ends_there(self, leaf: Wired) -> bool:
        """Tell whether an event at this leaf makes one match at most, in line, as the last thing it does."""
        entry, probed = leaf, False
        while True:
            if all(r.kind == "head" for r in entry.readers):
                return _plain_heads(entry)
            if len(entry.readers) != 1:
                return False
            reader = entry.readers[0]
            if reader.kind == "negated":
                return True
            target: Wired = reader.target
            match target.node:
                case p.Join(policy=policy, tests=tests):
                    probes = self.compiler.probes(target, reader.place)
                    is_stored = self.compiler.retention(target, reader.place) != NEVER_STORED
                    leaves_last = policy.keep == "unmatched" or not is_stored
                    single = policy.select in ("earliest", "latest") and leaves_last
                    if not single or _multiplies(tests) or (probes and probed):
                        return False
                    probed = probed or probes
                case p.Filter(tests=tests):
                    if _multiplies(tests):
                        return False
                case p.Fold(opener=None, tests=tests):
                    if _multiplies(tests) or probed:
                        return False
                case p.Union():
                    pass
                case _:
                    return False
            entry = target


def _multiplies(tests: tuple[p.Test, ...]) -> bool:
    return any(isinstance(t, p.GoalTest) and t.kind == "event_multiply" for t in tests)


def _plain_heads(entry: Wired) -> bool:
    """Tell whether all heads of an entry are made at once, with equal attributes."""
    heads = [(r.target.head, r.renames) for r in entry.readers]
    plain = all(head.alarm is None and not head.actions for head, _ in heads)
    kinds = {head.kind for head, _ in heads}
    return plain and (len(heads) == 1 or (len(kinds) == len(heads) and _same_attributes(heads)))


def _same_attributes(heads: list[tuple[p.Head, dict[str, str]]]) -> bool:
    from etalis.plan.bindings import NodeShape

    def shape(head: p.Head) -> Any:
        signature = NodeShape()
        signature.node(head.body)
        return tuple(signature.term(a) for a in head.event.args)

    return len({shape(head) for head, _ in heads}) == 1
