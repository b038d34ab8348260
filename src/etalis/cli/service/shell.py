"""`etalis shell`: a console over an engine in the process, or over one of a service.

Where input is a terminal it is read with history, completion and colours, else line by line.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from etalis.cli.common import Policy, reporting
from etalis.cli.event_source import wall_clock
from etalis.cli.exit_codes import ExitCode
from etalis.cli.service.extras import needing
from etalis.errors import Problem
from etalis.shell.console import Console

Goals = Annotated[
    list[str] | None, typer.Option("--goal", "-g", metavar="GOAL", help="Do this first; may be given several times.")
]
Remote = Annotated[
    str | None, typer.Option(metavar="URL", help="Work with a service: tcp://host:port, http://host:port[/engine].")
]
Token = Annotated[str | None, typer.Option(envvar="ETALIS_TOKEN", help="With --remote: the token of the service.")]
CODES = {"1": ExitCode.PROGRAM, "2": ExitCode.PROGRAM, "4": ExitCode.INPUT, "3": ExitCode.INPUT}  # by kind of problem


def shell(
    program: Annotated[Path | None, typer.Argument(help="File of event rules to begin with.")] = None,
    *,
    policy: Policy = None,
    goal: Goals = None,
    remote: Remote = None,
    token: Token = None,
) -> None:
    """Type in events, goals and rules, and see what they make."""
    if remote is not None and (program is not None or policy is not None):
        raise typer.BadParameter("the service has programs and policies of its own", param_hint="--remote")
    with reporting():
        if remote is None:
            problems = asyncio.run(_run(_open_local(program, policy), goal or ()))
        else:
            problems = asyncio.run(_run_remote(remote, token, goal or ()))
    if problems and not sys.stdin.isatty():
        raise typer.Exit(code_of(problems))


def _open_local(program: Path | None, policy: str | None) -> Console:
    from etalis.shell.local import LocalConsole
    from etalis.shell.workspace import Workspace

    workspace = Workspace(tell, wall_clock(), policy)
    if program is not None:
        workspace.load(program)
    return LocalConsole(workspace, tell)


async def _run(console: Console, goals: Iterable[str]) -> list[Problem]:
    """Do the goals, then what is typed; return the problems met."""
    for goal in goals:
        await console.answer(goal if goal.rstrip().endswith(".") else f"{goal}.")
        if console.is_over:
            return console.errors
    if sys.stdin.isatty():
        with needing("shell"):
            from etalis.shell.terminal import read_typing

        await read_typing(console)
    else:
        from etalis.shell.plain import read_plainly

        await read_plainly(console, sys.stdin)
    return console.errors


async def _run_remote(url: str, token: str | None, goals: Iterable[str]) -> list[Problem]:
    with needing("service"):
        from etalis.shell.remote import connect

    async with connect(url, token, tell) as console:
        return await _run(console, goals)


def tell(text: str) -> None:
    """Write an answer, at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def code_of(problems: Iterable[Problem]) -> ExitCode:
    """Return the exit code of the first problem: by the kind that its code tells."""
    first = next(iter(problems))
    return CODES.get(first.code[1], ExitCode.CONDITIONS)
