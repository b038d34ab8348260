"""`etalis act`: what an action would do from the facts of a program, and the state that it would leave."""

from __future__ import annotations

from typing import Annotated

import typer

from etalis.cli.common import Encoding, ProgramFile, end_with, load, reporting
from etalis.cli.exit_codes import ExitCode
from etalis.cli.knowledge import NOTHING, KnowledgeOptions, with_knowledge
from etalis.reactive.effects.rehearsal import nowhere
from etalis.runtime.reactions.simulation import Simulation
from etalis.temporal.json_values import to_plain, to_text


@with_knowledge
def act(
    program: ProgramFile,
    action: Annotated[str, typer.Argument(help="The action, such as 'pay(ann, bob, 30)' or 'ins(p(1)) seq q(X)'.")],
    *,
    json: Annotated[bool, typer.Option("--json", help="Write one object of JSON.")] = False,
    encoding: Encoding = None,
    knowledge: KnowledgeOptions = NOTHING,
) -> None:
    """Show what an action would do from the facts of a program."""
    with reporting():
        engine = load(program, knowledge, encoding=encoding).engine(effects=nowhere())
        found = engine.simulate(action)
        print(to_text(as_json(found)) if json else describe(found))
        end_with({ExitCode.CONDITIONS: not found})


def describe(found: Simulation) -> str:
    """Return the path and the state behind it, or how far the longest attempt gets."""
    return "\n".join([str(found), "state", *(f"  {fact}" for fact in found.state)])


def as_json(found: Simulation) -> dict[str, object]:
    """Return the same as plain data."""
    return {
        "action": found.action,
        "path": list(found.path),
        "bindings": {name: to_plain(value) for name, value in found.bindings.items()},
        "state": list(found.state),
        **({} if found else {"why": found.why, "failed": found.failed}),
    }
