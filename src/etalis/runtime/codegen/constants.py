"""What the constants k0, k1, ... of generated code are, in words, for whoever reads it; nothing of this is compiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from etalis.plan import algebra as p
from etalis.plan.explain.wording import event_text, window_text
from etalis.runtime.codegen.fast_path.records import MISSING
from etalis.runtime.codegen.source import GENERATED
from etalis.runtime.operators.repetition.repeater import Repeater
from etalis.runtime.operators.repetition.runner import Runner
from etalis.runtime.state import NEVER
from etalis.temporal.event import EventKind

if TYPE_CHECKING:
    from etalis.runtime.codegen.compile import Compiler


class Constants:
    """The constants of the code of one rule set."""

    def __init__(self, compiler: Compiler) -> None:
        base, state = compiler.base, compiler.base.state
        self.known = {id(MISSING): "no attribute", id(NEVER): "the end of time", id(state): "state of the engine"}
        self.known[id(state.queue)] = "events of the next round"
        for kind in base.heads.kinds.values():
            self.known[id(kind.made)] = f"events {kind.name}/{kind.arity} of this moment"
        nodes = {entry.key: entry.node for entry in base.wiring.entries}
        for key, node in nodes.items():
            self.known[id(base.evidence.part(key))] = f"whether {_pattern(node)} has matched"
        for key, thing in base.memory.items():
            if key == "log" or key[0] in nodes:
                self.known[id(thing)] = "log of all events" if key == "log" else _state(nodes[key[0]], key[1])
                if isinstance(thing, Repeater | Runner):
                    of = thing.lefts.groups if isinstance(thing, Repeater) else thing.runs
                    self.known[id(of)] = f"what waits in {_pattern(nodes[key[0]])}"

    def lines(self, objects: Sequence[Any]) -> Iterator[str]:
        """Yield a comment on each constant of a function."""
        for number, thing in enumerate(objects):
            text = self.known.get(id(thing)) or _text(thing)
            yield f"# k{number}: {' '.join(text.splitlines())}\n"


def _text(thing: Any) -> str:
    """Say what an object is that is no state of a pattern."""
    if isinstance(thing, EventKind):
        return f"kind {thing.name}/{thing.arity} of rule {thing.rule}"
    if isinstance(thing, str | int | float | tuple):
        return repr(thing)
    if getattr(getattr(thing, "__code__", None), "co_filename", None) == GENERATED:
        return "generated function"
    return str(getattr(thing, "__qualname__", type(thing).__name__)).replace("<locals>.", "")


def _state(node: p.Node, name: str) -> str:
    """Say what part of the state of a node is: a store of a join's side, or what an operator keeps."""
    if isinstance(node, p.Join) and name in ("side0", "side1"):
        place = int(name[-1])
        return f"store of {_pattern(p.children(node)[place])}, side {'ab'[place]} of {node.relation.name}"
    return f"{name.rstrip('01')} of {_pattern(node)}"


def _pattern(node: p.Node) -> str:
    """Write a pattern without its conditions."""
    match node:
        case p.Source():
            return event_text(node)
        case p.Tick(time=time):
            return f"time point {window_text(time)}"
        case p.Join(left=left, right=right):
            return f"({_pattern(left)} {node.relation.name} {_pattern(right)})"
        case p.Filter(child=child):
            return _pattern(child)
        case p.Union(branches=branches):
            return f"({' or '.join(map(_pattern, branches))})"
        case _:
            return f"{type(node).__name__.lower()} of {', '.join(map(_pattern, p.children(node)))}"
