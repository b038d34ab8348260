"""What falls due before an event, in generated code: matches without a partner that are reported, and nothing else.

Where one join alone sets timers, and nothing follows from its matches, those whose time has passed are taken in one
loop; else the run loop lets time pass. Law: what is due at one moment since one moment is one step, of which the
matches are one round.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop
from typing import Any

from etalis.language import syntax as s
from etalis.plan import algebra as p
from etalis.runtime.codegen.compile import Compiler
from etalis.runtime.codegen.fast_path.matches import EventOffer
from etalis.runtime.codegen.network import PlannedRule, Wired
from etalis.runtime.codegen.source import Code
from etalis.runtime.ruleset import RuleSet
from etalis.runtime.run_loop import RunLoop
from etalis.runtime.state import NEVER, Raw, sort_round


def write_lapse(rules: RuleSet, run_loop: RunLoop, offer: EventOffer) -> Callable[[int], Any]:
    """Return the function that lets pass what is due before a moment, and returns what is reported."""
    entry = _only_owner(rules, offer)
    timers = rules.state.timers
    lane = None if entry is None else rules.compiler.outer.unmatched(entry).lane()
    if entry is None or lane is None:
        return run_loop.reach_now
    code = Code(["t"])
    heap, lanes, first = map(code.constant, (timers.heap, timers.lanes, lane))
    code("found = []")
    code("begin = 0")
    code("due = since = None")
    with code.block(f"if len({lanes}) > 1 or len({first}) + len({heap}) > {run_loop.most} or ({first} and {heap}):"):
        code(f"return {code.constant(run_loop.reach_now)}(t)")
    with code.block(f"if {heap}:"):
        _write_loop(code, rules.compiler, entry, heap, f"{code.constant(heappop)}({heap})")
    with code.block("else:"):
        _write_loop(code, rules.compiler, entry, first, f"{first}.popleft()")
    with code.block("if len(found) > begin + 1:"):
        code(f"{code.constant(_sort_step)}(found, begin)")
    code(f"return {code.constant(run_loop.report)}(found) if found else ()")
    return rules.compiler.base.finish(code, "lapse")


def _write_loop(code: Code, compiler: Compiler, entry: Wired, source: str, pop: str) -> None:
    """Write that all that is due before `t` is taken from a source, and those without a partner are handed on."""
    unmatched = compiler.outer.unmatched(entry)
    owner, met = code.constant(unmatched), code.constant(unmatched.met)
    with code.block(f"while {source} and {source}[0][0] < t:"):
        code(f"(ends, back, _, whose, place, _) = {pop}")
        with code.block(f"if whose is not {owner}:"):  # of a rule that is gone
            code("continue")
        code("(q, y) = place")
        with code.block(f"if {met}.pop(id(y), None) is not None:"):
            code("continue")
        with code.block("if back != since or ends != due:"):
            with code.block("if len(found) > begin + 1:"):
                code(f"{code.constant(_sort_step)}(found, begin)")
            code("(due, since, begin) = (ends, back, len(found))")
        code.collects = "found"
        compiler.outer.write_due(code, entry, "q", "y", "ends")
    code(f"{code.constant(compiler.base.state.timers)}.due = {source}[0][0] if {source} else {code.constant(NEVER)}")


def _sort_step(found: list[Raw], begin: int) -> None:
    """Put the events of the last step, which begin at a place, in the order of a round."""
    step = found[begin:]
    sort_round(step)
    found[begin:] = step


def _only_owner(rules: RuleSet, offer: EventOffer) -> Wired | None:
    """Return the join that alone sets timers, if its matches are reported, and nothing else is done with them."""
    owners = [entry for entry in rules.wiring.entries if p.falls_due(entry.node)]
    alarms = any(planned.head.alarm is not None for planned, _ in rules.rules)
    if len(owners) != 1 or alarms or rules.numbered or rules.record is not None or rules.heads.derivations is not None:
        return None
    (entry,) = owners
    if not isinstance(entry.node, p.Join) or not rules.heads.may_gather(entry):
        return None
    heads: list[PlannedRule] = [reader.target for reader in entry.readers]
    return None if any(map(offer.follows, heads)) or not all(map(_is_flat, heads)) else entry


def _is_flat(rule: PlannedRule) -> bool:
    """Tell whether a head makes no terms, which might be nested too deep."""
    return all(isinstance(arg, s.Var | s.Const) for arg in rule.head.event.args)
