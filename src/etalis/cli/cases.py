"""`etalis test`: case files, run on the backends that there are; what fails is shown as a difference."""

from __future__ import annotations

import os
import sys
import time as clock
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from etalis.cases.case_file import Case, find_case_files, read_cases
from etalis.cli.common import Policy, count, one_of, reporting
from etalis.cli.exit_codes import ExitCode
from etalis.errors import EtalisError, InputError, Problem
from etalis.testing.assertions import case_differences, head_line
from etalis.testing.backends import BACKENDS, Backend, find_backend

IN_PROCESS = ("engine", "semantics", "columns")
Backends = Annotated[list[str] | None, one_of(BACKENDS, "What runs the cases; may be repeated.", "--backend")]
Paths = Annotated[list[Path] | None, typer.Argument(help="Case files, and folders of them.", show_default=".")]
Only = Annotated[str | None, typer.Option(help="Run the cases whose names contain this text.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show every case, and why it was left out of what.")]


def run_cases(
    paths: Paths = None,
    *,
    backend: Backends = None,
    policy: Policy = None,
    only: Only = None,
    verbose: Verbose = False,
) -> None:
    """Run case files: programs, events, and what they must detect."""
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # cases are small: compiling kernels would take far longer
    with reporting():
        started = clock.monotonic()
        run = CaseRun([find_backend(name) for name in backend] if backend else installed(), verbose=verbose)
        for case in find(paths or [Path()], run):
            if only is None or only in case.id:
                named = case if policy is None or case.policies != (None,) else replace(case, policies=(policy,))
                run.take(named)
        print(run.describe(clock.monotonic() - started))
        run.finish()


def installed() -> list[Backend]:
    """Return the backends that run in this process, without those that something is missing for."""
    return [BACKENDS[name] for name in IN_PROCESS if BACKENDS[name].is_installed]


def find(paths: Sequence[Path], run: CaseRun) -> Iterator[Case]:
    """Yield the cases of files and folders; a file that cannot be read is told."""
    for file, root in find_case_files(*paths):
        try:
            yield from read_cases(file, root)
        except EtalisError as error:
            run.unread += 1
            print(error, file=sys.stderr)


@dataclass(slots=True)
class CaseRun:
    """What a run of cases has come to so far."""

    backends: Sequence[Backend]
    verbose: bool
    passed: int = 0
    failed: int = 0
    left_out: int = 0
    unread: int = 0
    taken: Counter[str] = field(default_factory=Counter)

    def take(self, case: Case) -> None:
        """Run a case on all backends that can, and show what differs: one and the same difference once."""
        reasons = {backend.name: backend.reason_against(case) for backend in self.backends}
        names = [name for name, reason in reasons.items() if reason is None]
        different: dict[tuple[str | None, tuple[str, ...]], list[str]] = {}
        for policy in case.policies:
            for name in names:
                if lines := case_differences(case, name, policy):
                    different.setdefault((policy, lines), []).append(name)
        self.taken.update(names)
        self.failed += bool(different)
        self.left_out += not names
        self.passed += bool(names) and not different
        for (policy, lines), failing in different.items():
            print("\n".join([head_line(case, failing, policy), *lines]), flush=True)
        if self.verbose and not different:
            how = f"passed on {', '.join(names)}" if names else "was left out"
            print(f"{case.place}: {case.id} {how}")
        if self.verbose:
            for name, reason in reasons.items():
                if reason is not None:
                    print(f"  not on {name}: {reason}")

    def describe(self, seconds: float) -> str:
        """Return what the run came to as a line."""
        parts = [f"{self.passed:,} passed", f"{self.failed:,} failed"]
        parts += [f"{self.left_out:,} left out"] if self.left_out else []
        on = ", ".join(f"{backend.name} {self.taken[backend.name]:,}" for backend in self.backends)
        total = self.passed + self.failed + self.left_out
        return f"{count(total, 'case')}: {', '.join(parts)} ({on}; {seconds:.2f} s)"

    def finish(self) -> None:
        """End with the code for what the run came to."""
        if self.unread:
            print(f"{count(self.unread, 'file')} cannot be read", file=sys.stderr)
            raise typer.Exit(ExitCode.INPUT)
        if self.failed:
            raise typer.Exit(ExitCode.PROGRAM)
        if not self.passed:
            raise InputError(Problem("E413", "no case was run", hint="see --only and --backend; -v says why"))
