"""The plugin of pytest: case files where they are asked for, a fixture, nothing else."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

import etalis
from etalis.cases.case_file import read_cases
from etalis.testing.assertions import check_case

pytest_plugins = ["pytester"]

KERNELS = {"kernel", "part", "inner"}
PLUGIN = ("-p", "etalis.testing.plugin", "-p", "no:cacheprovider", "-q")
CASE = """% right: it is
program:
d(X) <- a(X).
events:
1 a(1)
expect:
1 d({0})
---
% open
close: no
program:
d(X) <- a(X).
expect:
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Import all that a case needs: pytester would import it for every run, and let go of it behind."""
    path = tmp_path_factory.mktemp("loaded") / "some.case"
    path.write_text(CASE.format(1))
    check_case(read_cases(path)[0], ["engine", "semantics", "columns"])


@pytest.fixture
def folder(pytester: pytest.Pytester, loaded: None) -> pytest.Pytester:
    pytester.makefile(".case", **{"rules/good": CASE.format(1), "rules/bad": CASE.format(2)})
    return pytester


def test_nothing_is_collected_unasked(folder: pytest.Pytester) -> None:
    folder.makepyfile("def test_it(assert_matches): assert assert_matches('d <- a.', '1 a', '1 d')")
    folder.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=1)


def test_cases_are_collected_where_the_configuration_says(folder: pytest.Pytester) -> None:
    folder.makeini("[pytest]\netalis_cases = rules")
    result = folder.runpytest_inprocess(*PLUGIN)
    result.assert_outcomes(passed=4, failed=2)  # `open` has no meaning without an end
    result.stdout.fnmatch_lines(
        [
            "*bad.case:1: bad/right on engine",
            "  missing     1 d(2)",
            "    nearest   1 d(1): attribute 1 is 1",
            "  unexpected  1 d(1)",
            "FAILED rules/bad.case::right[[]engine[]]*",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_cases_and_backends_can_be_chosen(folder: pytest.Pytester) -> None:
    folder.makeini("[pytest]\netalis_backends = engine columns")
    result = folder.runpytest_inprocess(*PLUGIN, "--etalis-cases", "rules/good.case", "-vv")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["rules/good.case::right[[]columns[]] PASSED*"])


def test_cases_outside_of_what_is_collected(folder: pytest.Pytester) -> None:
    folder.mkdir("tests")
    (folder.path / "tests" / "test_it.py").write_text("def test_it(): pass")
    folder.makeini("[pytest]\ntestpaths = tests\netalis_cases = rules\netalis_backends = engine")
    folder.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=4, failed=1)
    folder.runpytest_inprocess(*PLUGIN, "tests").assert_outcomes(passed=1)
    folder.runpytest_inprocess(*PLUGIN, "tests", "--etalis-cases", "rules/good.case").assert_outcomes(passed=3)
    missing = folder.runpytest_inprocess(*PLUGIN, "--etalis-cases", "none")
    assert missing.ret == pytest.ExitCode.USAGE_ERROR
    missing.stderr.fnmatch_lines(["ERROR: case files of etalis: no such file or folder: *none"])


def test_the_configuration_may_be_toml(folder: pytest.Pytester) -> None:
    folder.makepyprojecttoml('[tool.pytest.ini_options]\netalis_cases = ["rules"]\netalis_backends = ["engine"]\n')
    folder.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=3, failed=1)


def test_a_file_that_cannot_be_read_is_an_error_of_collection(folder: pytest.Pytester) -> None:
    folder.makefile(".case", **{"rules/good": "% bad\nprogam:\n"})
    result = folder.runpytest_inprocess(*PLUGIN, "--etalis-cases", "rules")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*good.case:2:1: error E413: no section progam", "  hint: did you mean program?"])


def test_an_unknown_backend_is_an_error_of_collection(folder: pytest.Pytester) -> None:
    folder.makeini("[pytest]\netalis_cases = rules\netalis_backends = flink")
    folder.runpytest_inprocess(*PLUGIN).stdout.fnmatch_lines(["*E413: no backend 'flink'"])


def test_a_failing_assertion_shows_the_test_alone(folder: pytest.Pytester) -> None:
    folder.makepyfile("def test_it(assert_matches):\n    assert_matches('d <- a.', '1 a', '2 d')\n")
    result = folder.runpytest_inprocess(*PLUGIN)
    result.stdout.fnmatch_lines([">   *assert_matches('d <- a.', '1 a', '2 d')", "E *1 expected, 1 found:"])
    assert "testing/assertions.py" not in result.stdout.str()


def test_kernels_assert_nothing() -> None:
    """Pytest rewrites the assertions of a package that brings a plugin; Numba could not compile what it writes."""
    for path in (Path(etalis.__file__).parent / "columnar").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and {ast.unparse(d) for d in node.decorator_list} & KERNELS:
                assert not any(isinstance(inner, ast.Assert) for inner in ast.walk(node)), f"{path.name}: {node.name}"


def test_the_plugin_is_declared() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"etalis.testing.plugin": "etalis.testing.plugin"}
    assert project["version"] == etalis.__version__
