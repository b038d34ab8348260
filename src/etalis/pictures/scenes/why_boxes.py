"""The nodes of justifications as boxes: what each of them says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from etalis.data.values import Value, format_value
from etalis.language.printer import print_pattern, print_term
from etalis.pictures.paint.axis import write_interval, write_moment
from etalis.pictures.scene import Box
from etalis.temporal.interval import to_seconds
from etalis.why import justification as j
from etalis.why.forms.text_form import USUAL


def make_box(node: j.Node | Box, dates: bool) -> Box:
    """Return the box of a node."""
    match node:
        case Box():
            return node
        case j.Received(number=number, source=source, offset=offset):
            where = () if source is None else (source if offset is None else f"{source}, {offset}",)
            return Box("event", node.atom, (_interval(node, dates), f"input {number}", *where))
        case j.Raised(by=by):
            return Box(
                "event", node.atom, (_interval(node, dates), "raised by " + ("the host" if by is None else "do"))
            )
        case j.Derived(rule=rule, note=note, bindings=bindings):
            return Box("head", node.atom, (_interval(node, dates), f"rule {rule}", *_given(note)), _values(bindings))
        case j.PointReached(time=time):
            return Box("time", write_moment(time, dates), ("reached",))
        case j.Rung(due=due):
            return Box("time", "alarm", (f"due {write_moment(due, dates)}",))
        case j.Tested() | j.PairOf() | j.ChosenBranch() | j.RepeatedRun() | j.PutTogether() | j.FoldedValue():
            return _operator(node)
        case j.Awaited():
            return Box("operator", "seq")
        case j.WithinWindow() | j.ConditionHeld() | j.Nothing() | j.AloneBetween() | j.TakenUnder():
            return _test(node, dates)
        case j.KnownFact() | j.ByClause() | j.BuiltIn() | j.HostCall() | j.DeeperProof():
            return _proof(node, dates)
        case _:
            assert_never(node)


def is_usual(node: j.Node | Box) -> bool:
    """Tell whether a node says only that a policy was the usual one."""
    return isinstance(node, j.TakenUnder) and node.policy in USUAL


def refer_to(node: j.Node | Box, dates: bool) -> Box:
    """Return the box of an event that is shown elsewhere."""
    assert isinstance(node, j.Occurred)
    return Box("reference", node.atom, (_interval(node, dates), "as elsewhere here"))


def _operator(
    node: j.Tested | j.PairOf | j.ChosenBranch | j.RepeatedRun | j.PutTogether | j.FoldedValue,
) -> Box:
    while isinstance(node, j.Tested):
        if not isinstance(node.body, j.Tested | j.PairOf | j.ChosenBranch | j.RepeatedRun | j.FoldedValue):
            return Box("operator", "tested")
        node = node.body
    match node:
        case j.PairOf(relation=relation):
            return Box("operator", relation)
        case j.ChosenBranch(which=which):
            return Box("operator", "or", (f"alternative {which}",))
        case j.RepeatedRun(elements=elements):
            return Box("operator", "repetition", (f"{len(elements)} times",))
        case j.PutTogether(bodies=bodies):
            return Box("operator", "put together", (f"{len(bodies)} matches",))
        case j.FoldedValue(kind=kind, elements=elements, value=value):
            return Box("operator", f"{kind} = {format_value(value)}", (f"of {len(elements)}",))


def _test(node: j.Test, dates: bool) -> Box:
    match node:
        case j.WithinWindow(allowed=allowed, actual=actual):
            return Box("test", f"within {to_seconds(allowed)}", (f"took {to_seconds(actual)}",))
        case j.ConditionHeld(kind=kind, goal=goal, solution=solution, proof=proof, note=note):
            title, held = print_term(goal), _values(solution)
            if len(proof) == 1 and isinstance(proof[0], j.BuiltIn):
                called = print_term(proof[0].goal)
                held = (*(() if called == title else (called,)), "built in")
            return Box("test", f"{kind} {title}", (*held, *_given(note)), _values(solution))
        case j.Nothing(pattern=pattern, low=low, high=high, open_low=open_low, open_high=open_high):
            after = "" if low is None else f"{'after' if open_low else 'from'} {write_moment(low, dates)}, "
            where = f"{after}{'before' if open_high else 'up to'} {write_moment(high, dates)}"
            return Box("nothing", f"no {print_pattern(pattern)}", (where,), _values(node.bindings))
        case j.AloneBetween(low=low, high=high):
            return Box("nothing", "no other event", (write_interval(low, high, dates),))
        case j.TakenUnder(policy=policy):
            return Box("test", f"policy {policy}")


def _proof(node: j.Proof, dates: bool) -> Box:
    match node:
        case j.KnownFact(atom=atom, since=since):
            told = "of the program" if since is None else f"known since {write_moment(since, dates)}"
            return Box("knowledge", print_term(atom), (told,))
        case j.ByClause(head=head):
            return Box("knowledge", print_term(head), ("by a clause",))
        case j.BuiltIn(goal=goal):
            return Box("test", print_term(goal), ("built in",))
        case j.HostCall(goal=goal, now=now):
            return Box("test", print_term(goal), ("called", *_given(None if now is None else f"now: {now}")))
        case j.DeeperProof(goal=goal):
            return Box("reference", print_term(goal), ("… more",))


def _interval(event: j.Occurred, dates: bool) -> str:
    return write_interval(event.start, event.end, dates)


def _values(bindings: Mapping[str, Value]) -> tuple[str, ...]:
    return tuple(f"{name} = {format_value(value)}" for name, value in bindings.items())


def _given(text: str | None) -> tuple[str, ...]:
    return () if text is None else (text,)
