#!/usr/bin/env python3
"""The project's commands, with nothing but Python 3.11 or later: python3 run.py demo | test | nightly | bench

Each makes `.venv` if need be, installs the exact versions of `requirements/*.lock` into it with pip, and runs. The hash
of a lock is kept as a stamp, so a second run installs nothing. Spark takes part where Java 17 or later is found, pages
are looked at where there is a Chromium, a server is asked where PostgreSQL is installed; where one is not, one line
says so.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import venv
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
RESULTS = VENV / "results"
OLDEST_JAVA = 17
LOWEST = VENV / "lowest"  # an environment of its own, with the lowest versions that pyproject.toml allows
SIZES = {
    "core": "about 75 MB", "test": "about 250 MB", "spark": "about 470 MB", "kafka": "about 5 MB",
    "postgres": "about 5 MB", "service": "about 10 MB", "lowest": "about 220 MB",
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One check and its command; `tier` marks a tier of tests, which must run something and skip nothing."""

    name: str
    command: tuple[str, ...]
    tier: bool = False
    folder: Path = VENV


def pytest_step(name: str, *options: str, selection: str | None = None) -> Step:
    report = f"--junitxml={RESULTS / name}.xml"
    return Step(name, ("-m", "pytest", "-q", "-m", selection or name, report, *options), tier=True)


TWO = ("-n", "2", "--dist", "worksteal")  # processes; what is left at the end is divided
ALONE = (  # one process each, first: Spark takes the other core, and kernels that are compiled are kept for the rest
    Step("format", ("-m", "ruff", "format", "--check", "--quiet", ".")),
    Step("lint", ("-m", "ruff", "check", "--quiet", ".")),
    Step("types", ("-m", "mypy", "--no-error-summary")),
    pytest_step("docs", selection="docs or jit"),
)
SHARED = (
    pytest_step("service", *TWO),
    pytest_step("property", *TWO, "--hypothesis-profile=test"),
    pytest_step("fast", *TWO),
)
SPARK_CHECK = pytest_step("spark")  # beside the others: its processes wait for each other much of the time
BROWSER_CHECK = pytest_step("browser")
POSTGRES_CHECK = pytest_step("postgres")
POSTGRES_NIGHTLY = pytest_step("postgres", "--hypothesis-profile=nightly")  # with more kills
DEBIAN = Path("/usr/lib/postgresql")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NIGHTLY = (
    pytest_step("property", *TWO, "--hypothesis-profile=nightly"),
    pytest_step("nightly", *TWO, "--hypothesis-profile=nightly"),
    replace(pytest_step("lowest", *TWO, selection="fast"), folder=LOWEST),
)


def say(text: str) -> None:
    print(text, flush=True)


def find_java() -> tuple[str | None, str]:
    """Return the path of a Java that Spark can use and an empty reason, or None and why there is none."""
    home = os.environ.get("JAVA_HOME")
    candidates = [Path(home, "bin", "java")] if home else []
    candidates += [Path(found)] if (found := shutil.which("java")) else []
    usable = [path for path in candidates if path.exists()]
    if not usable:
        return None, "no Java on the PATH or in JAVA_HOME"
    shown = subprocess.run([usable[0], "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "((\d+)[^"]*)', shown)
    if version is None:
        return None, f"{usable[0]} does not tell its version"
    if int(version[2]) < OLDEST_JAVA:
        return None, f"Java {version[1]} is too old, Spark needs {OLDEST_JAVA} or later"
    return str(usable[0]), ""


def find_browser() -> str | None:
    """Return the path of a Chromium, if there is one on the PATH."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def find_postgres() -> str | None:
    """Return the folder of the programs of a PostgreSQL server: on the PATH, or where Debian puts them."""
    if (found := shutil.which("postgres")) and shutil.which("initdb"):
        return str(Path(found).resolve().parent)
    several = {float(path.parts[-3]): str(path.parent) for path in DEBIAN.glob("*/bin/postgres")}
    return several[max(several)] if several else None


def python_of(folder: Path) -> Path:
    return folder / PYTHON.relative_to(VENV)


def make_venv(folder: Path = VENV) -> None:
    if not python_of(folder).exists():
        say(f"Making {folder.relative_to(ROOT)} with Python {sys.version.split()[0]}")
        venv.create(folder, with_pip=True, clear=True)


def installed(name: str, stamp: str, folder: Path) -> bool:
    path = folder / f"{name}.stamp"
    return path.exists() and path.read_text() == stamp


def install(name: str, folder: Path = VENV) -> None:
    """Install one lock file unless its stamp says that it is installed already."""
    lock = ROOT / "requirements" / f"{name}.lock"
    stamp = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()
    if installed(name, stamp, folder):
        return
    pins = [line for line in lock.read_text().splitlines() if line and not line.startswith("#")]
    say(
        f"Installing {lock.relative_to(ROOT)}, {len(pins)} packages, {SIZES[name]} if none is cached: {', '.join(pins)}"
    )
    started = time.monotonic()
    pip(folder, "install", "-r", str(lock))
    say(f"  done in {time.monotonic() - started:.0f} s")
    (folder / f"{name}.stamp").write_text(stamp)


def install_package(folder: Path = VENV) -> None:
    """Make `import etalis` and the `etalis` command mean this tree."""
    stamp = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + str(ROOT).encode()).hexdigest()
    if not installed("package", stamp, folder):
        pip(folder, "install", "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
        (folder / "package.stamp").write_text(stamp)


def pip(folder: Path, *arguments: str) -> None:
    command = [str(python_of(folder)), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\npip could not install ({' '.join(arguments)}); the lines above say why.")


def prepare(*locks: str, folder: Path = VENV) -> None:
    make_venv(folder)
    for name in locks:
        install(name, folder)
    install_package(folder)
    RESULTS.mkdir(exist_ok=True)


def run(command: Sequence[str], folder: Path = VENV, output: Path | None = None) -> int:
    """Run a venv's Python in the project's folder, with Spark that stays on this machine; keep its output.

    Bytecode is kept, whatever the environment says: hundreds of processes of tests and of Spark import the package.
    """
    python = str(python_of(folder))
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = kept | {"PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONHASHSEED": "0"}
    with nullcontext() if output is None else output.open("w") as file:
        streams = {} if file is None else {"stdout": file, "stderr": subprocess.STDOUT}
        return subprocess.run([python, *command], cwd=ROOT, env=environment, check=False, **streams).returncode


def run_step(step: Step, output: Path | None = None) -> tuple[bool, str, float]:
    """Run one step; return whether it passed, what to say of it, and its seconds."""
    if output is None:
        say(f"\n== {step.name}")
    started = time.monotonic()
    code = run(step.command, step.folder, output)
    seconds = time.monotonic() - started
    if not step.tier:
        return code == 0, "ok" if code == 0 else "failed", seconds
    tests, skipped = count_tests(RESULTS / f"{step.name}.xml")
    complete = code == 0 and tests > 0 and skipped == 0
    verdict = "ok" if complete else "failed" if code or not tests else "failed: tests were skipped"
    return complete, f"{verdict}, {tests} tests" + (f", {skipped} skipped" if skipped else ""), seconds


def count_tests(report: Path) -> tuple[int, int]:
    if not report.exists():
        return 0, 0
    suites = list(ET.parse(report).getroot().iter("testsuite"))
    report.unlink()
    return sum(int(s.get("tests", 0)) for s in suites), sum(int(s.get("skipped", 0)) for s in suites)


def run_steps(steps: Sequence[Step], beside: Sequence[Step] = ()) -> bool:
    """Run all steps, whatever fails, and print one line for each; some run beside the others and print at the end."""
    started = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        waiting = [(step, pool.submit(run_step, step, RESULTS / f"{step.name}.txt")) for step in beside]
        results = [(step.name, *run_step(step)) for step in steps]
        for step, result in waiting:
            results.append((step.name, *result.result()))
            say(f"\n== {step.name}, beside the others\n{(RESULTS / f'{step.name}.txt').read_text()}")
    say("")
    for name, _, verdict, seconds in results:
        say(f"{name:<10} {seconds:7.1f} s  {verdict}")
    say(f"{'total':<10} {time.monotonic() - started:7.1f} s")
    return all(passed for _, passed, _, _ in results)


def demo() -> bool:
    prepare("core")
    if run(["examples/demo.py"]):
        return False
    java, reason = find_java()
    if java is None:
        say(f"\nThe same on Spark was not shown: {reason}.")
        return True
    prepare("core", "spark")
    return run(["examples/demo.py", "--spark"]) == 0


def test() -> bool:
    java, reason = find_java()
    browser, postgres = find_browser(), find_postgres()
    prepare("test", "service", *(["spark", "kafka"] if java else []), *(["postgres"] if postgres else []))
    found = [*([BROWSER_CHECK] if browser else []), *([POSTGRES_CHECK] if postgres else [])]
    passed = run_steps((*ALONE, *found, *SHARED), beside=(SPARK_CHECK,) if java else ())
    if java is None:
        say(f"The Spark tests did not run: {reason}.")
    if browser is None:
        say("The browser tests did not run: no Chromium on the PATH.")
    if postgres is None:
        say(f"The PostgreSQL tests did not run: no server on the PATH or in {DEBIAN}.")
    return passed


def nightly() -> bool:
    java, _ = find_java()
    postgres = find_postgres()
    prepare("test", "service", *(["spark", "kafka"] if java else []), *(["postgres"] if postgres else []))
    prepare("lowest", folder=LOWEST)
    return run_steps((*NIGHTLY, *([POSTGRES_NIGHTLY] if postgres else [])))


def bench() -> bool:
    prepare("test")
    scripts = ("run", "all", "entry_forms", "rewrites", "scaling")
    codes = [run([f"bench/{script}.py"]) for script in scripts]
    return not any(codes)


COMMANDS: dict[str, tuple[Callable[[], bool], str]] = {
    "demo": (demo, "a real example from end to end: events, matches, a time line; then the same on Spark"),
    "test": (test, "every check of the project, by tiers, with times"),
    "nightly": (nightly, "the long runs: 50,000 random programs, fuzzing, soak, the lowest versions"),
    "bench": (bench, "workloads and programs as ratios to hand-written loops and all contenders; what must not grow"),
}


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is what an older Python meets first
        sys.exit(f"etalis needs Python 3.11 or later; this is {sys.version.split()[0]}")
    parser = argparse.ArgumentParser(description="The project's commands.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (_, text) in COMMANDS.items():
        commands.add_parser(name, help=text)
    chosen = parser.parse_args().command
    return 0 if COMMANDS[chosen][0]() else 1


if __name__ == "__main__":
    sys.exit(main())
