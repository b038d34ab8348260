"""The ways in, generated: `push` and `run` with the leaves of the most used kinds of event written into them.

They do for plain input (whole seconds, plain attributes, events in order) what `Course.take` does in general, and
hand everything else to it. What an engine does not use (parts, isolation, history, callbacks, timers) is not in the
text at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from etalis.data.values import to_value
from etalis.errors import EtalisError
from etalis.language.attributes import convert_one
from etalis.plan import algebra as p
from etalis.runtime.codegen.network import Entry
from etalis.runtime.codegen.source import Code
from etalis.runtime.state import NEVER
from etalis.runtime.thread_guard import Turns, entered
from etalis.temporal.interval import LATEST, MICROSECONDS

if TYPE_CHECKING:
    from etalis.runtime.codegen.compile import Compiler
    from etalis.runtime.ruleset import RuleSet

Kind = tuple[str, int]
Log = Callable[[Code, Kind, list[str], str], None]
GoOn = tuple[list[bool], Callable[[Any], Any]]  # whether there are other ways in by now, and the one to take

_NOT_PLAIN = {  # of a declared type: what is converted; integral floats are, since they are held as `Real`
    "int": "type({x}) is not int",
    "string": "type({x}) is not str",
    "float": "type({x}) is not float or {x}.is_integer() or {x} != {x}",
}
MISSING = object()
BEYOND = LATEST // MICROSECONDS + 1  # the first second that is no time; none in order comes before the first one
MOST_KINDS = 8
MOST_LEAVES = 24


class EntryWriter:
    """Writes the entries of one rule set, where its program is plain enough for them."""

    def __init__(self, rules: RuleSet, compiler: Compiler) -> None:
        self.rules = rules
        self.compiler = compiler
        self.state = rules.state
        self.ahead: int | None = None  # most seconds that an event may end after the one before
        self.goes_on = False  # behind a row that cannot be read
        self.leaves: dict[Kind, list[Entry]] = {}
        heads = {(r.head.event.name, len(r.head.event.args)) for r, _ in rules.rules}
        for leaf in compiler.wiring.leaves:
            if isinstance(leaf.node, p.Source):
                self.leaves.setdefault((leaf.node.name, len(leaf.node.args)), []).append(leaf)
        self.feeding = any(kind in heads for kind in (*self.leaves, *rules.learned, *rules.spied))
        slow = {*heads, *rules.learned, *rules.spied}
        self.hot = [kind for kind in self.leaves if kind not in slow and kind[0] not in rules.program.implied]
        kinds = [rules.heads.kind(planned) for planned, _ in rules.rules]
        self.all_reported = all(kind.reported is True for kind in kinds)

    def is_plain(self) -> bool:
        """Tell whether the short ways in are exact for this rule set."""
        names = [name for name, _ in self.hot]
        few = len(self.hot) <= MOST_KINDS and sum(map(len, self.leaves.values())) <= MOST_LEAVES
        return bool(few and names) and len(set(names)) == len(names) and not (self.rules.numbered or self.rules.acts)

    def push(
        self, general: Callable[..., Any], settle: Callable[[], Any], log: Log | None = None
    ) -> Callable[..., Any]:
        """Write `push(name, *attributes, at, **named)`; `general` takes what is not plain, `settle` what was caused.

        Attributes are parameters of their own, up to the most that a kind has; what is not given is `missing`.
        """
        places = [f"x{i}" for i in range(max(arity for _, arity in self.hot))]
        code = self.push_code(places)
        state = code.constant(self.state)
        with code.block("if type(at) is int and not named:"):
            code(f"t = at * {MICROSECONDS}")
            with entered(code, self.state, calls_out=self.calls_out):
                self._in_order(code, f"{state}.seconds")
                for number, kind in enumerate(self.hot):
                    given = self.count(code, kind[1], places)
                    with code.block(f"{'el' if number else ''}if name == {code.constant(kind[0])}{given}:"):
                        self._push_kind(code, kind, places[: kind[1]], settle, log)
                code.depth -= 1
        self.pass_on(code, places, general)
        return self.compiler.finish(code, "push")

    def _push_kind(self, code: Code, kind: Kind, places: list[str], settle: Callable[[], Any], log: Log | None) -> None:
        self.convert(code, kind, places)
        code(f"{code.constant(self.state)}.seconds = at")
        if log is not None:
            log(code, kind, places, "t")
        if not self.offer(code, kind, places, lambda events: [f"return {_tuple(events)}"]):
            with code.block(f"if {code.constant(self.state.queue)}:"):
                code(f"return {code.constant(settle)}()")
        code("return ()")

    @property
    def calls_out(self) -> bool:
        """Whether code of the host may run while an event is processed."""
        return self.rules.watched or bool(self.rules.program.effects)

    def push_code(self, places: list[str]) -> Code:
        """Return the beginning of a `push` with parameters for attributes."""
        code = Code(["name", *(f"{x}=k0" for x in places), "/", "*rest", "at=None", "**named"])
        assert code.constant(MISSING) == "k0"
        return code

    def pass_on(self, code: Code, places: list[str], general: Callable[..., Any]) -> None:
        """Write that everything else goes the general way."""
        given = f"*[x for x in {_tuple(places)} if x is not {code.constant(MISSING)}], *rest"
        code(f"return {code.constant(general)}(name, {given}, at=at, **named)")

    def count(self, code: Code, arity: int, places: list[str]) -> str:
        """Return the test that exactly so many attributes are given."""
        missing = code.constant(MISSING)
        given = f" and {places[arity - 1]} is not {missing}" if arity else ""
        more = f" and {places[arity]} is {missing}" if arity < len(places) else " and not rest"
        return given + more

    def run(
        self, general: Callable[[Any], Any], settle: Callable[[], Any], go_on: GoOn, log: Log | None = None
    ) -> Callable[..., Any]:
        """Write `run(rows)`; `general` takes a row that is not plain. The clock is local between hand-overs.

        Whoever takes an event may change the rules: then what is left of the rows goes on elsewhere.
        """
        code = Code(["rows"])
        code.long_running = True
        code("rows = iter(rows)")
        state, clock = code.constant(self.state), self._clock(code)
        turns = Turns(code, self.state)
        with turns.taken():
            code(f"{clock} = {state}.seconds")
            self._run_rows(code, turns, general, settle, go_on, log)
        return self.compiler.finish(code, "run")

    def _run_rows(
        self, code: Code, turns: Turns, general: Callable[[Any], Any], settle: Callable[[], Any], go_on: GoOn,
        log: Log | None,
    ) -> None:  # fmt: skip
        state, clock = code.constant(self.state), self._clock(code)
        arities = {arity for _, arity in self.hot}
        with code.block("try:"), code.block("for row in rows:"):
            for number, arity in enumerate(sorted(arities)):
                with code.block(f"{'el' if number else ''}if type(row) is tuple and len(row) == {arity + 2}:"):
                    code(f"({', '.join(['name', *(f'x{i}' for i in range(arity)), 'at'])}) = row")
                    with code.block("if type(at) is int:"):
                        code(f"t = at * {MICROSECONDS}")
                        self._in_order(code, clock)
                        kinds = [kind for kind in self.hot if kind[1] == arity]
                        for place, kind in enumerate(kinds):
                            with code.block(f"{'el' if place else ''}if name == {code.constant(kind[0])}:"):
                                self._run_kind(code, turns, kind, general, settle, go_on, log)
                        code.depth -= 1
            self._take_slowly(code, turns, general, go_on)
        with code.block("finally:"), code.block(f"if {state}.seconds < {clock} < {code.constant(NEVER)}:"):
            code(f"{state}.seconds = {clock}")

    def _take_slowly(self, code: Code, turns: Turns, general: Callable[[Any], Any], go_on: GoOn) -> None:
        """Write that a row goes the general way."""
        state, clock = code.constant(self.state), self._clock(code)
        code(f"{state}.seconds = {clock}")
        for line in turns.hand_out_all(f"{code.constant(general)}(row)"):
            code(line)
        code(f"{clock} = {state}.seconds")
        for line in self._go_on(code, turns, go_on):
            code(line)

    def _clock(self, code: Code) -> str:
        """Return where `run` keeps its clock: in the state, if someone may look while an event is being processed."""
        return f"{code.constant(self.state)}.seconds" if self.rules.watched else "seconds"

    def _go_on(self, code: Code, turns: Turns, go_on: GoOn) -> list[str]:
        """Return the lines that leave what is left of the rows to others, if they must."""
        is_over, rest = map(code.constant, go_on)
        return [f"if {is_over}:", *(f"    {line}" for line in turns.pass_on(f"{rest}(rows)"))]

    def _run_kind(
        self, code: Code, turns: Turns, kind: Kind, slow: Callable[[Any], Any], settle: Callable[[], Any], go_on: GoOn,
        log: Log | None,
    ) -> None:  # fmt: skip
        state, clock = code.constant(self.state), self._clock(code)

        def general() -> None:
            self._take_slowly(code, turns, slow, go_on)
            code("continue")

        parameters = [f"x{i}" for i in range(kind[1])]
        self.convert_or(code, kind, parameters, general)
        code(f"{clock} = at")
        if log is not None:
            code(f"{state}.seconds = at")
            log(code, kind, parameters, "t")

        def hand_out(events: list[str]) -> list[str]:
            lines = [f"{state}.seconds = {clock}", *turns.hand_out(events), f"{clock} = {state}.seconds"]
            return [*lines, *self._go_on(code, turns, go_on)] if events else lines

        if not self.offer(code, kind, parameters, hand_out):
            with code.block(f"if {code.constant(self.state.queue)}:"):
                for line in hand_out([]):
                    code(line)
                for line in turns.hand_out_all(f"{code.constant(settle)}()"):
                    code(line)
                code(f"{clock} = {state}.seconds")
                for line in self._go_on(code, turns, go_on):
                    code(line)
        code("continue")

    def _in_order(self, code: Code, seconds: str) -> None:
        """Open the block of what needs no passing of time but the clock's own."""
        state = code.constant(self.state)
        quiet = f" and t <= {state}.due" if self.rules.has_timers else ""
        near = "" if self.ahead is None else f" and at - {seconds} <= {self.ahead}"
        later = f"{BEYOND} > at > {seconds}{near}{quiet}" if not self.rules.ticks else "False"
        code(f"if {later} or (at == {seconds} and t == {state}.now and t > {state}.floor):")
        code.depth += 1

    def convert_or(self, code: Code, kind: Kind, parameters: list[str], otherwise: Callable[[], None]) -> None:
        """Write the conversion of attributes, and what is done with a row that cannot be read."""
        if not self.goes_on:
            self.convert(code, kind, parameters)
            return
        with code.block("try:"):
            self.convert(code, kind, parameters)
        with code.block(f"except {code.constant(EtalisError)}:"):
            otherwise()

    def convert(self, code: Code, kind: Kind, parameters: list[str]) -> None:
        """Write the conversion of attributes that are not plain values of their type already."""
        signature = self.rules.program.signatures.get(kind[0], ())
        for place, x in enumerate(parameters):
            attribute, wanted = signature[place] if signature else ("", "any")
            if wanted == "any":
                with code.block(f"if type({x}) is not int and type({x}) is not str:"):
                    code(f"{x} = {code.constant(to_value)}({x})")
                continue
            known = ", ".join(code.constant(a) for a in (kind[0], attribute, wanted))
            with code.block(f"if {_NOT_PLAIN.get(wanted, 'True').format(x=x)}:"):
                code(f"{x} = {code.constant(convert_one)}({known}, {x})")

    def offer(self, code: Code, kind: Kind, parameters: list[str], direct: Callable[[list[str]], list[str]]) -> bool:
        """Write the leaves of a kind; tell whether they hand out directly, so that nothing is ever queued."""
        leaves = self.leaves[kind]
        is_direct = len(leaves) == 1 and not self.feeding and self.all_reported and self._ends_there(leaves[0])
        code.direct = direct if is_direct else None
        for leaf in leaves:
            self.compiler.offer(code, leaf, parameters, "t", "t")
        code.direct = None
        return is_direct

    def _ends_there(self, leaf: Entry) -> bool:
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
            target: Entry = reader.target
            match target.node:
                case p.Join(policy=policy, tests=tests):
                    probes = self.compiler.probes(target, reader.place)
                    single = policy.select in ("earliest", "latest") and policy.keep == "unmatched"
                    if not single or _multiplies(tests) or (probes and probed):
                        return False
                    probed = probed or probes
                case p.Filter(tests=tests):
                    if _multiplies(tests):
                        return False
                case p.Union():
                    pass
                case _:
                    return False
            entry = target


def _tuple(items: list[str]) -> str:
    return f"({''.join(item + ', ' for item in items)})"


def _multiplies(tests: tuple[p.Test, ...]) -> bool:
    return any(isinstance(t, p.GoalTest) and t.kind == "event_multiply" for t in tests)


def _plain_heads(entry: Entry) -> bool:
    """Tell whether all heads of an entry are made at once, with equal attributes."""
    heads = [(r.target.head, r.renames) for r in entry.readers]
    plain = all(head.alarm is None and not head.actions for head, _ in heads)
    kinds = {(head.event.name, len(head.event.args)) for head, _ in heads}
    return plain and (len(heads) == 1 or (len(kinds) == len(heads) and _same_attributes(heads)))


def _same_attributes(heads: list[tuple[p.Head, dict[str, str]]]) -> bool:
    from etalis.plan.bindings import NodeShape

    def shape(head: p.Head) -> Any:
        signature = NodeShape()
        signature.node(head.body)
        return tuple(signature.term(a) for a in head.event.args)

    return len({shape(head) for head, _ in heads}) == 1
