"""The command line: `etalis COMMAND ...`, each command loaded when it is called.

Names and one line of help for each stand in a table, so that `etalis --help` and the completion of a shell load no
command; a test holds the lines against the docstrings. How a command ends: `cli_exit`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import etalis
from etalis.cli.exit_codes import ExitCode, flush_output, tell_error

COMMANDS = {
    "run": ("etalis.cli.run:run", "Run a program on a stream and show the complex events in it."),
    "detect": ("etalis.cli.detect:detect", "Find the complex events in a table, over columns."),
    "check": ("etalis.cli.check:check", "Report every problem of a program: code, place, hint."),
    "test": ("etalis.cli.cases:run_cases", "Run case files: programs, events, and what they must detect."),
    "explain": ("etalis.cli.check:explain", "Show how a program is run: its plan, a picture of it, its code."),
    "watch": (
        "etalis.cli.watch:watch",
        "Show the patterns that have begun, and what they await.",
    ),
    "why": ("etalis.cli.explanations.why:why", "Say why an event occurred: what it is made of."),
    "why-not": (
        "etalis.cli.explanations.why_not:why_not",
        "Say why an event did not occur, and how far rules got.",
    ),
    "act": ("etalis.cli.reactive.act:act", "Show what an action would do from the facts of a program."),
    "compare": ("etalis.cli.compare:compare", "Show which matches a changed program gains and loses."),
    "declare": ("etalis.cli.declare:declare", "Print declarations that fit a table."),
    "serve": ("etalis.cli.service.serve:serve", "Serve engines over HTTP: programs in, events in, matches out."),
    "shell": ("etalis.cli.service.shell:shell", "Type in events, goals and rules, and see what they make."),
    "send": ("etalis.cli.service.send:send", "Send the events of a file to a service."),
    "pipeline": ("etalis.cli.pipeline:app", "Run programs on Spark from a file."),
}
MEANT = {".etalis": "run", ".case": "test", ".toml": "pipeline run"}  # where a file stands in the place of a command
__all__ = ["COMMANDS", "ExitCode", "app", "main"]


class LazyGroup(TyperGroup):
    """Commands of which only the one that is called is imported."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command that is called; `etalis help COMMAND` means `etalis COMMAND --help`."""
        if args == ["help"]:
            print(ctx.get_help())
            raise typer.Exit
        if args[0] == "help":
            args = [args[1], "--help"]
        meant = MEANT.get(PurePath(args[0]).suffix)
        if meant is not None and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Did you mean 'etalis {meant} {' '.join(args)}'?")
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else load_command(name), rest


def load_command(name: str) -> Any:
    """Import a command: a function, or the app of its subcommands."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found = getattr(import_module(module), attribute)
    return get_command(found if isinstance(found, typer.Typer) else make_app(found))


def make_app(function: Callable[..., None]) -> typer.Typer:
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command()(function)
    return single


app = typer.Typer(
    name="etalis",
    cls=LazyGroup,
    help="Detect complex events described by logic rules.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def show_version(asked: bool) -> None:
    if asked:
        print(f"etalis {etalis.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=show_version)
    ] = False,
) -> None:
    """Take the options of all commands; `--version` has done its work by then."""


def not_loaded() -> None:
    raise AssertionError("a command is loaded before it runs")


for _name, (_, _help) in COMMANDS.items():
    app.command(_name, help=_help)(not_loaded)


def main() -> None:
    """Run the command line."""
    code: Any = ExitCode.OK
    try:
        app(prog_name="etalis")
    except SystemExit as end:  # where the reader has gone, typer says so by a 1 of its own
        code = tell_error(end.__context__) if isinstance(end.__context__, BrokenPipeError) else end.code or ExitCode.OK
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told in a line
        code = tell_error(error)
    sys.exit(flush_output(code))
