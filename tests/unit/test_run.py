"""run.py: which Java will do, and what a tier of tests must show to pass."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("run", ROOT / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "run", module)
    spec.loader.exec_module(module)
    return module


def fake_java(folder: Path, shown: str) -> None:
    (folder / "bin").mkdir()
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho '{shown}' >&2\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        ('openjdk version "17.0.15" 2025-04-15', ""),
        ('openjdk version "21" 2023-09-19', ""),
        ('java version "1.8.0_202"', "Java 1.8.0_202 is too old, Spark needs 17 or later"),
        ("what?", "does not tell its version"),
    ],
)
def test_java_of_java_home(
    run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str, reason: str
) -> None:
    fake_java(tmp_path, shown)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found, why = run.find_java()
    assert (found is not None) == (reason == "")
    assert reason in why


def test_no_java(run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run.find_java() == (None, "no Java on the PATH or in JAVA_HOME")


def test_a_browser_takes_part_where_there_is_one(
    run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps: list[str] = []
    monkeypatch.setattr(run, "prepare", lambda *locks: None)
    monkeypatch.setattr(run, "find_java", lambda: (None, "no Java"))
    monkeypatch.setattr(run, "run_steps", lambda found, beside: steps.extend(step.name for step in found) or True)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(run, "DEBIAN", Path("/nowhere"))
    assert run.test()
    assert "browser" not in steps
    assert "The browser tests did not run: no Chromium on the PATH.\n" in capsys.readouterr().out
    (tmp_path / "chromium").write_text("#!/bin/sh\n")
    (tmp_path / "chromium").chmod(0o755)
    assert run.test()
    assert "browser" in steps
    assert "browser" not in capsys.readouterr().out


def test_a_server_takes_part_where_there_is_one(
    run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps: list[str] = []
    locks: list[str] = []
    monkeypatch.setattr(run, "prepare", lambda *names, folder=None: locks.extend(names))
    monkeypatch.setattr(run, "find_java", lambda: (None, "no Java"))
    monkeypatch.setattr(run, "run_steps", lambda found, beside=(): steps.extend(step.name for step in found) or True)
    monkeypatch.setattr(run, "DEBIAN", tmp_path / "postgresql")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run.test()
    assert run.nightly()
    assert "postgres" not in {*steps, *locks}
    missing = f"The PostgreSQL tests did not run: no server on the PATH or in {tmp_path / 'postgresql'}.\n"
    assert missing in capsys.readouterr().out
    for version in ("9.6", "15"):
        folder = tmp_path / "postgresql" / version / "bin"
        folder.mkdir(parents=True)
        (folder / "postgres").write_text("#!/bin/sh\n")
    assert run.find_postgres() == str(folder)
    assert run.test()
    assert steps.count("postgres") == 1
    assert "postgres" in locks
    assert run.nightly()
    assert steps[-1] == "postgres"
    assert "PostgreSQL" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "tests", "skipped", "verdict"),
    [
        (0, 3, 0, (True, "ok, 3 tests")),
        (1, 3, 0, (False, "failed, 3 tests")),
        (0, 3, 1, (False, "failed: tests were skipped, 3 tests, 1 skipped")),
        (5, 0, 0, (False, "failed, 0 tests")),
    ],
)
def test_a_tier_runs_something_and_skips_nothing(
    run: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    tests: int,
    skipped: int,
    verdict: tuple[bool, str],
) -> None:
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    monkeypatch.setattr(run, "run", lambda command, folder, output: code)
    report = f'<testsuites><testsuite tests="{tests}" skipped="{skipped}"/></testsuites>'
    (tmp_path / "spark.xml").write_text(report)
    assert run.run_step(run.Step("spark", (), tier=True))[:2] == verdict


def test_steps_beside_others_are_shown_and_counted(
    run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    monkeypatch.setattr(run, "python_of", lambda folder: sys.executable)
    good, bad = run.Step("good", ("-c", "print('one')")), run.Step("bad", ("-c", "print('two'); raise SystemExit(1)"))
    assert run.run_steps([good], beside=[good])
    assert not run.run_steps([bad], beside=[good])
    capfd.readouterr()
    assert not run.run_steps([good], beside=[bad])
    shown = capfd.readouterr().out
    assert shown.index("one") < shown.index("== bad, beside the others\ntwo") < shown.index("failed")


def test_steps_of_two_processes_come_last(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark runs beside the first ones: when it is done nothing is left that takes one core alone."""
    several: list[bool] = []
    monkeypatch.setattr(run, "prepare", lambda *locks: None)
    monkeypatch.setattr(run, "find_browser", lambda: "chromium")
    monkeypatch.setattr(run, "find_postgres", lambda: "/usr/bin")
    monkeypatch.setattr(
        run, "run_steps", lambda found, beside: several.extend("-n" in step.command for step in found) or True
    )
    assert run.test()
    assert several == sorted(several)
    assert {*several} == {False, True}


def test_steps_keep_bytecode(run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(run, "python_of", lambda folder: sys.executable)
    assert run.run(["-c", "import sys; print(sys.dont_write_bytecode)"], output=tmp_path / "shown") == 0
    assert (tmp_path / "shown").read_text() == "False\n"


def test_the_locks_pin_exact_versions_and_name_no_index() -> None:
    for lock in (ROOT / "requirements").glob("*.lock"):
        for line in lock.read_text().splitlines():
            assert line.startswith("#") or line.count("==") == 1, f"{lock.name}: {line}"
            assert "://" not in line
            assert not line.startswith("-")


def test_the_locks_are_made_from_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = {
        name: set((ROOT / "requirements" / f"{name}.in").read_text().splitlines())
        for name in ("core", "test", "spark", "kafka", "postgres", "service")
    }
    assert set(project["dependencies"]) <= asked["core"]
    assert set(extras["dev"]) <= asked["core"] | asked["test"]
    assert set(extras["rdf"]) <= asked["test"]
    assert set(extras["spark"]) <= asked["spark"]
    assert set(extras["kafka"]) <= asked["kafka"]
    assert set(extras["postgres"]) <= asked["postgres"]
    assert {*extras["service"], *extras["shell"]} <= asked["service"]


def test_the_lowest_lock_holds_the_floors_of_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lock = (ROOT / "requirements" / "lowest.lock").read_text().splitlines()
    pinned = {name.lower(): version for name, _, version in (line.partition("==") for line in lock)}
    asked = [*project["dependencies"], *extras["columnar"], *extras["rdf"], *extras["dev"]]
    floors = dict(re.match(r"([\w-]+)>=([\d.]+)", item).groups() for item in asked)  # type: ignore[union-attr]
    for name in floors.keys() - {"mypy", "ruff"}:  # which no test needs
        assert pinned[name] in (floors[name], f"{floors[name]}.0", f"{floors[name]}.0.0")
