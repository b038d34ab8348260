"""The ways in, generated: `push` and `run` with the leaves of the most used kinds of event written into them.

They do for plain input (whole seconds, plain attributes, events in order) what `Engine._take` does in general, and hand everything else to it.
What an engine does not use (parts, isolation, history, callbacks, timers) is not in the text at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from etalis.logic.term import to_value
from etalis.plan import algebra as p
from etalis.runtime.code import Code
from etalis.runtime.network import Entry
from etalis.runtime.rim import convert_one
from etalis.temporal.interval import MICROSECONDS

if TYPE_CHECKING:
    from etalis.runtime.compile import Compiler
    from etalis.runtime.ruleset import RuleSet

Kind = tuple[str, int]

MOST_KINDS = 8
MOST_LEAVES = 24


class EntryWriter:
    """Writes the entries of one rule set, where its program is plain enough for them."""

    def __init__(self, rules: RuleSet, compiler: Compiler) -> None:
        self.rules = rules
        self.compiler = compiler
        self.state = rules.state
        self.leaves: dict[Kind, list[Entry]] = {}
        heads = {(r.head.event.name, len(r.head.event.args)) for r, _ in rules.rules}
        for leaf in compiler.wiring.leaves:
            if isinstance(leaf.node, p.Source):
                self.leaves.setdefault((leaf.node.name, len(leaf.node.args)), []).append(leaf)
        self.feeding = any(kind in heads for kind in self.leaves)
        derived_only = [kind for kind in self.leaves if kind in heads]
        self.hot = [kind for kind in self.leaves if kind not in derived_only]
        kinds = [rules.heads.kind(planned) for planned, _ in rules.rules]
        self.all_reported = all(kind.reported is True for kind in kinds)

    def is_plain(self) -> bool:
        """Tell whether the short ways in are exact for this rule set."""
        names = [name for name, _ in self.hot]
        few = len(self.hot) <= MOST_KINDS and sum(map(len, self.leaves.values())) <= MOST_LEAVES
        doubles = any(isinstance(e.node, p.Union) for e in self.compiler.wiring.entries) and self._doubles()
        return bool(few and names) and len(set(names)) == len(names) and not self.rules.traced and self.rules.log is None and not doubles

    def _doubles(self) -> bool:
        from etalis.runtime.compile import may_double

        unions = [e for e in self.compiler.wiring.entries if isinstance(e.node, p.Union)]
        return any(may_double(child, union) for union in unions for child in union.inputs)

    def push(self, general: Callable[..., Any], settle: Callable[[], Any]) -> Callable[..., Any]:
        """Write `push(name, *args, at, **named)`; `general` takes what is not plain, `settle` what was caused."""
        code = Code(["name", "/", "*args", "at=None", "**named"])
        with code.block("if type(at) is int and not named:"):
            code(f"t = at * {MICROSECONDS}")
            self._in_order(code)
            for number, kind in enumerate(self.hot):
                with code.block(f"{'el' if number else ''}if name == {code.constant(kind[0])}:"):
                    parameters = [f"x{i}" for i in range(kind[1])]
                    self._unpack(code, parameters, "args", [f"return {code.constant(general)}(name, *args, at=at)"])
                    self._offer(code, kind, parameters, direct=lambda events: [f"return [{', '.join(events)}]"])
                    self._settled(code, settle, lambda found: [f"return {found}"])
                    code("return []")
            code.depth -= 1
        code(f"return {code.constant(general)}(name, *args, at=at, **named)")
        return self.compiler.finish(code, "push")

    def run(self, general: Callable[[Any], Any], settle: Callable[[], Any]) -> Callable[..., Any]:
        """Write `run(rows)`, a generator; `general` takes a row that is not plain."""
        code = Code(["rows"])
        slow = code.constant(general)
        with code.block("for row in rows:"):
            with code.block("if type(row) is tuple and row and type(at := row[-1]) is int:"):
                code(f"t = at * {MICROSECONDS}")
                self._in_order(code)
                code("name = row[0]")
                for number, kind in enumerate(self.hot):
                    with code.block(f"{'el' if number else ''}if name == {code.constant(kind[0])}:"):
                        parameters = [f"x{i}" for i in range(kind[1])]
                        pattern = ["_", *parameters, "_"]
                        self._unpack(code, parameters, "row", [f"yield from {slow}(row)", "continue"], pattern)
                        self._offer(code, kind, parameters, direct=lambda events: [f"yield {e}" for e in events])
                        self._settled(code, settle, lambda found: [f"yield from {found}"])
                        code("continue")
                code.depth -= 1
            code(f"yield from {slow}(row)")
        return self.compiler.finish(code, "run")

    def _in_order(self, code: Code) -> None:
        """Open the block of what needs no passing of time but the clock's own."""
        state = code.constant(self.state)
        quiet = f" and t <= {state}.due" if self.rules.has_timers else ""
        early = f"{state}.now < t{quiet}" if not self.rules.ticks else "False"
        code(f"if {early} or (t == {state}.now and t > {state}.floor):")
        code.depth += 1

    def _unpack(self, code: Code, parameters: list[str], source: str, refuse: list[str], pattern: list[str] | None = None) -> None:
        """Write the unpacking of attributes; another number of them goes the general way."""
        names = pattern or parameters
        with code.block("try:"):
            code(f"({''.join(n + ', ' for n in names)}) = {source}" if names else f"() = {source}")
        with code.block("except ValueError:"):
            for line in refuse:
                code(line)

    def _offer(self, code: Code, kind: Kind, parameters: list[str], direct: Callable[[list[str]], list[str]]) -> None:
        """Write conversion of the attributes, the clock, and the leaves."""
        signature = self.rules.program.signatures.get(kind[0], ())
        for place, x in enumerate(parameters):
            if signature:
                attribute, wanted = signature[place]
                given = {"int": "int", "float": "float", "string": "str"}.get(wanted)
                call = f"{code.constant(convert_one)}({', '.join(code.constant(a) for a in (kind[0], attribute, wanted))}, {x})"
                with code.block(f"if type({x}) is not {given}:" if given and given != "float" else "if True:"):
                    code(f"{x} = {call}")
            else:
                with code.block(f"if type({x}) is not int and type({x}) is not str:"):
                    code(f"{x} = {code.constant(to_value)}({x})")
        code(f"{code.constant(self.state)}.now = t")
        leaves = self.leaves[kind]
        if len(leaves) == 1 and not self.feeding and self.all_reported and ends_there(leaves[0]):
            code.direct = direct
        for leaf in leaves:
            self.compiler.offer(code, leaf, parameters, "t", "t")
        code.direct = None

    def _settled(self, code: Code, settle: Callable[[], Any], lines: Callable[[str], list[str]]) -> None:
        with code.block(f"if {code.constant(self.state.queue)}:"):
            for line in lines(f"{code.constant(settle)}()"):
                code(line)


def ends_there(leaf: Entry) -> bool:
    """Tell whether an event at this leaf makes one match at most, as the last thing it does."""
    entry = leaf
    while True:
        if len(entry.readers) != 1:
            return all(r.kind == "head" for r in entry.readers) and _plain_heads(entry)
        reader = entry.readers[0]
        if reader.kind == "head":
            return _plain_heads(entry)
        if reader.kind == "negated":
            return True
        target: Entry = reader.target
        match target.node:
            case p.Join(policy=policy, tests=tests):
                if policy.select not in ("earliest", "latest") or policy.keep != "unmatched" or _multiplies(tests):
                    return False
            case p.Filter(tests=tests):
                if _multiplies(tests):
                    return False
            case p.Union():
                pass
            case _:
                return False
        entry = target


def _multiplies(tests: tuple[p.Test, ...]) -> bool:
    return any(isinstance(t, p.Goal) and t.kind == "event_multiply" for t in tests)


def _plain_heads(entry: Entry) -> bool:
    """Tell whether all heads of an entry are made at once, with equal attributes."""
    heads = [(r.target.head, r.renames) for r in entry.readers]
    plain = all(head.alarm is None and not head.actions for head, _ in heads)
    kinds = {(head.event.name, len(head.event.args)) for head, _ in heads}
    return plain and (len(heads) == 1 or (len(kinds) == len(heads) and _same_attributes(heads)))


def _same_attributes(heads: list[tuple[p.Head, dict[str, str]]]) -> bool:
    from etalis.plan.bindings import Signature

    def shape(head: p.Head) -> Any:
        signature = Signature()
        signature.node(head.body)
        return tuple(signature.term(a) for a in head.event.args)

    return len({shape(head) for head, _ in heads}) == 1
