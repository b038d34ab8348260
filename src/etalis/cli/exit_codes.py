"""How a command ends: exit codes, and the message of a failure that nothing else reported (docs/cli.md).

Law: no mistake of a user ends in a traceback, and a fault of this package says that it is one.
"""

from __future__ import annotations

import os
import sys
import traceback
from enum import IntEnum

from etalis.errors import EtalisError, Problem

TRACEBACK = "ETALIS_TRACEBACK"


class ExitCode(IntEnum):
    """What a script sees."""

    OK = 0
    PROGRAM = 1
    USAGE = 2
    INPUT = 3
    LIMIT = 4
    CONDITIONS = 5
    FINDINGS = 6
    FAULT = 7
    INTERRUPTED = 130


def tell_error(error: Exception) -> ExitCode:
    """Say on standard error what ended a command, with the traceback where it is asked for; return its exit code."""
    if isinstance(error, BrokenPipeError):
        discard_output()
        return ExitCode.OK
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    for problem in problems_of(error):
        print(problem, file=sys.stderr)
    return ExitCode.INPUT if isinstance(error, EtalisError | OSError) else ExitCode.FAULT


def problems_of(error: Exception) -> tuple[Problem, ...]:
    if isinstance(error, EtalisError):
        return error.problems
    if isinstance(error, OSError):
        what = "standard output" if error.filename is None else error.filename
        return (Problem("E401", f"{what}: {error.strerror or error}", hint="check its name, rights and space"),)
    hint = f"no input should do that: please report it, with what {TRACEBACK}=1 adds"
    return (Problem("E901", f"etalis itself failed: {type(error).__name__}: {error}", hint=hint),)


def flush_output(code: int) -> int:
    """Write what is left of standard output; return the exit code, another one if that fails."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        told = tell_error(error)
        discard_output()
        return code or told
    return code


def discard_output() -> None:
    """Keep the interpreter from flushing into a pipe that is closed, or a disk that is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
