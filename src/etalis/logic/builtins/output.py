"""Built-in predicates that write: to the output that the host chose, or with `format/3` into a term.

A stream, where one is named, is `user_output`, `user_error` or `current_output`; all three are the host's output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from etalis.logic.arithmetic.arithmetic import evaluate
from etalis.logic.builtins.format import PRINTED, WRITTEN, fill
from etalis.logic.errors import LogicLimitError
from etalis.logic.host import Host
from etalis.logic.machine.control import call_goal
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Code, Frame, Machine, Test, restore_host
from etalis.logic.terms.arguments import bound, natural, proper_list, sized
from etalis.logic.terms.iso_errors import domain_error, existence_error, instantiation_error, type_error
from etalis.logic.terms.portray import portray
from etalis.logic.terms.unify import Term, Variable, deref, make_list, split_list, unify
from etalis.logic.terms.write import Style, print_term

Args = tuple[Term, ...]
Render = Callable[[Machine, Args], str]
_STREAMS = ("user_output", "user_error", "current_output")
_CANONICAL = Style(operators=False)


def put(machine: Machine, written: str) -> None:
    """Hand a piece of text to the output."""
    machine.trail.charge(len(sized(written, machine)))
    machine.host.output(written)


def _writes(render: Render) -> Test:
    """Make a predicate of what it writes."""

    def run(machine: Machine, args: Args) -> bool:
        put(machine, render(machine, args))
        return True

    return run


def _writes_to(render: Render) -> Test:
    """Make a predicate whose first argument names the stream."""
    write = _writes(render)

    def run(machine: Machine, args: Args) -> bool:
        stream = bound(args[0])
        if stream not in _STREAMS:
            raise existence_error("stream", stream) if isinstance(stream, str) else domain_error("stream", stream)
        return write(machine, args[1:])

    return run


def _spaces(machine: Machine, args: Args) -> str:
    count = natural(evaluate(args[0]))
    if count > machine.limits.size:
        raise LogicLimitError("size", machine.limits.size)
    return " " * count


def _character(_machine: Machine, args: Args) -> str:
    char = bound(args[0])
    if not (isinstance(char, str) and len(char) == 1):
        raise type_error("character", char)
    return char


def _filled(machine: Machine, args: Args) -> str:
    """Return what `format(Text)` or `format(Text, Arguments)` writes."""
    given: list[Term] = []
    if len(args) == 2:
        items, tail = split_list(args[1])
        given = items if tail == () else [args[1]]
    return fill(args[0], given, machine)


def _format_into(machine: Machine, args: Args) -> bool:
    """`format(atom(A), Text, Arguments)`: the same into a term, so no side effect."""
    make, target = _sink(bound(args[0]))
    text = sized(_filled(machine, args[1:]), machine)
    machine.trail.charge(len(text))
    return unify(target, make(text), machine.trail)


def _sink(sink: Term) -> tuple[Callable[[str], Term], Term]:
    """Return how a text becomes the term in a sink such as `atom(A)`, and that term."""
    make = _SINKS.get(sink[0]) if isinstance(sink, tuple) and len(sink) == 2 else None
    if make is None:
        raise domain_error("output_sink", sink)
    return make, sink[1]


def _with_output(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    """`with_output_to(Sink, Goal)`: the first solution of a goal, what it writes as a term."""
    make, target = _sink(bound(args[0]))
    pieces: list[str] = []
    size = 0

    def keep(piece: str) -> None:
        nonlocal size
        size += len(piece)
        if size > machine.limits.size:
            raise LogicLimitError("size", machine.limits.size)
        pieces.append(piece)

    outer, height = machine.host, len(machine.choices)
    machine.choices.append((len(machine.trail), (restore_host, outer, cont)))
    machine.host = Host(keep, outer.clock)
    return call_goal(machine, (args[1],), (_written, (height, outer, pieces, make, target), cont))


def _written(
    machine: Machine, state: tuple[int, Host, list[str], Callable[[str], Term], Term], cont: Frame
) -> Frame | None:
    height, outer, pieces, make, target = state
    del machine.choices[height:]
    machine.host = outer
    return cont if unify(target, make("".join(pieces)), machine.trail) else None


def _styled(_machine: Machine, args: Args) -> str:
    """Return what `write_term(Term, Options)` writes."""
    items, tail = split_list(args[1])
    if isinstance(tail, Variable):
        raise instantiation_error()
    if tail != ():
        raise type_error("list", args[1])
    chosen: dict[str, Term] = {}
    for item in items:
        option = bound(item)
        if not (isinstance(option, tuple) and len(option) == 2):
            raise domain_error("write_option", option)
        chosen[option[0]] = bound(option[1])
    return print_term(args[0], _style(chosen, _machine), priority=_priority(chosen))


def _priority(chosen: dict[str, Term]) -> int:
    return min(natural(chosen.get("priority", 1200)), 1200)


def _style(chosen: dict[str, Term], machine: Machine) -> Style:
    switches = {"quoted": False, "ignore_ops": False, "numbervars": False}
    for name in switches:
        value = chosen.get(name, "false")
        if value not in ("true", "false"):
            raise domain_error("write_option", (name, value))
        switches[name] = value == "true"
    names = _variable_names(chosen.get("variable_names", ()), machine)
    depth = natural(chosen.get("max_depth", 0))
    style = Style(switches["quoted"], not switches["ignore_ops"], switches["numbervars"], names)
    return Style(style.quoted, style.operators, style.numbered, names, depth) if depth else style


def _variable_names(term: Term, machine: Machine) -> dict[Variable, str]:
    found: dict[Variable, str] = {}
    for item in proper_list(term, machine):
        pair = bound(item)
        if not (isinstance(pair, tuple) and len(pair) == 3 and pair[0] == "=" and isinstance(bound(pair[1]), str)):
            raise domain_error("write_option", ("variable_names", term))
        variable = deref(pair[2])
        if isinstance(variable, Variable):
            found.setdefault(variable, deref(pair[1]))
    return found


_SINKS: Mapping[str, Callable[[str], Term]] = MappingProxyType(
    {"atom": str, "string": str, "chars": make_list, "codes": lambda text: make_list(map(ord, text))}
)
_RENDER: Mapping[Key, Render] = MappingProxyType(
    {
        ("write", 1): lambda _, args: print_term(args[0], WRITTEN),
        ("print", 1): lambda _, args: print_term(args[0], PRINTED),
        ("writeln", 1): lambda _, args: print_term(args[0], WRITTEN) + "\n",
        ("writeq", 1): lambda _, args: print_term(args[0], PRINTED),
        ("write_canonical", 1): lambda _, args: print_term(args[0], _CANONICAL),
        ("write_term", 2): _styled,
        ("portray_clause", 1): lambda _, args: portray(args[0]),
        ("put_char", 1): _character,
        ("nl", 0): lambda _machine, _args: "\n",
        ("tab", 1): _spaces,
    }
)

OUTPUT_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        **{key: _writes(render) for key, render in _RENDER.items()},
        **{(name, arity + 1): _writes_to(render) for (name, arity), render in _RENDER.items()},
        ("format", 1): _writes(_filled),
        ("format", 2): _writes(_filled),
        ("format", 3): _format_into,
    }
)
OUTPUT_CODES: Mapping[Key, Code] = MappingProxyType({("with_output_to", 2): _with_output})
