"""A plugin of pytest: the fixture `assert_matches`, and `.case` files as tests where they are asked for.

`etalis_cases` in the configuration, or `--etalis-cases`, names files and folders; `etalis_backends` says what runs
them. Nothing of etalis but this file is imported before a case is collected or the fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from etalis.cases.case_file import Case

BACKENDS = ("engine", "semantics")  # of every case that they can run, where the configuration names none


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what names the case files."""
    group = parser.getgroup("etalis", "case files of event rules")
    group.addoption(
        "--etalis-cases",
        action="append",
        metavar="PATH",
        default=[],
        help="collect the .case files of a file or folder",
    )
    parser.addini("etalis_cases", "files and folders of .case files to collect", "paths", default=[])
    parser.addini("etalis_backends", "what runs cases: engine, semantics, columns, spark", "args", default=BACKENDS)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a path that is not there, and collect those that no other path that is collected holds.

    What the configuration names is collected unless the command line names something.
    """
    given, configured = _paths(config)
    for path in (*given, *configured):
        if not path.exists():
            raise pytest.UsageError(f"case files of etalis: no such file or folder: {path}")
    wanted = given if config.args_source is pytest.Config.ArgsSource.ARGS else (*given, *configured)
    for path in wanted:
        collected = [config.invocation_params.dir / arg.partition("::")[0] for arg in config.args]
        if not any(path.is_relative_to(other) for other in collected):
            config.args.append(str(path))


@pytest.fixture(scope="session")
def assert_matches() -> Callable[..., Any]:
    """Run a program on events and compare its matches: `assert_matches(program, events, expected, policy=...)`."""
    from etalis.testing.assertions import assert_matches

    return assert_matches


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take a `.case` file that stands below one of the paths that are named."""
    if file_path.suffix != ".case" or not any(map(file_path.is_relative_to, chain(*_paths(parent.config)))):
        return None
    return CaseFile.from_parent(parent, path=file_path)


def _paths(config: pytest.Config) -> tuple[list[Path], list[Path]]:
    """Return the paths that the command line names, and those of the configuration."""
    given = [config.invocation_params.dir / path for path in config.getoption("etalis_cases")]
    return given, config.getini("etalis_cases")


class CaseFile(pytest.File):
    """A file of cases; each is a test on each backend that can run it."""

    def collect(self) -> Iterable[CaseItem]:
        from etalis.cases.case_file import read_cases
        from etalis.errors import EtalisError
        from etalis.testing.backends import find_backend

        try:
            backends = [find_backend(name) for name in self.config.getini("etalis_backends")]
            cases = read_cases(self.path)
        except EtalisError as error:
            raise self.CollectError(str(error)) from None
        for case in cases:
            for backend in (backend for backend in backends if backend.reason_against(case) is None):
                name = f"{case.id.rpartition('/')[2]}[{backend.name}]"
                yield CaseItem.from_parent(self, name=name, case=case, backend=backend.name)


class CaseItem(pytest.Item):
    """One case on one backend."""

    def __init__(self, *, case: Case, backend: str, **options: Any) -> None:
        super().__init__(**options)
        self.case = case
        self.backend = backend

    def runtest(self) -> None:
        from etalis.testing.assertions import check_case

        check_case(self.case, self.backend)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from etalis.errors import EtalisError

        if isinstance(excinfo.value, AssertionError | EtalisError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, int(self.case.place.rpartition(":")[2]) - 1, self.case.id
