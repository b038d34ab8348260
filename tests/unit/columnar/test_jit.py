"""The machine code of kernels on disk: never out of date, and kept where it can be, by several processes at once."""

from __future__ import annotations

import importlib
import inspect
import json
import operator
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest

from etalis.columnar.kernels import jit

ROOT = Path(__file__).resolve().parents[3]
HELPER = """
from etalis.columnar.kernels.jit import {kind}
STEP = {step}
@{kind}
def helper(x):
    return x + STEP * {factor}
"""
LOOP = """
from etalis.columnar.kernels.jit import kernel
from called import helper
@kernel
def loop(n):
    x = 0
    for _ in range(n):
        x = helper(x)
    return x
def run():
    return [loop(3), sum(loop.stats.cache_hits.values())]
"""


RECORD = """
from typing import NamedTuple
from etalis.columnar.kernels.jit import kernel
class Pair(NamedTuple):
    {fields[0]}: int
    {fields[1]}: int
@kernel
def loop(pair):
    return pair.a
def run():
    return [loop(Pair(a=3, b=4)), sum(loop.stats.cache_hits.values())]
"""
MODULE = """
import called
from etalis.columnar.kernels.jit import kernel
@kernel
def loop(n):
    return n + called.STEP
def run():
    return [loop(3), sum(loop.stats.cache_hits.values())]
"""
PRIVATE = {  # what `jit` uses of Numba that is not public, and the parameters it gives
    "numba.core.caching:CompileResultCacheImpl": ["py_func"],
    "numba.core.caching:CompileResultCacheImpl.locator": None,
    "numba.core.caching:IndexDataCacheFile": ["cache_path", "filename_base", "source_stamp"],
    "numba.core.caching:IndexDataCacheFile.load": ["self", "key"],
    "numba.core.caching:IndexDataCacheFile.save": ["self", "key", "data"],
    "numba.core.compiler:CompileResult._reduce": ["self"],
    "numba.core.compiler:CompileResult._rebuild": None,
    "numba.core.dispatcher:Dispatcher._compile_for_args": ["self", "args", "kws"],
    "numba.core.codegen:JITCPUCodegen.magic_tuple": ["self"],
}


def write(folder: Path, kind: str = "part", step: int = 1, factor: int = 1) -> None:
    """Write a kernel and, in another module, a function that is compiled into it."""
    (folder / "called.py").write_text(HELPER.format(kind=kind, step=step, factor=factor))
    (folder / "calling.py").write_text(LOOP)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let machine code be kept in a folder of its own, and modules be found beside it."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    jit.folder.cache_clear()
    yield tmp_path / "kept"
    jit.folder.cache_clear()


def run(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return what the kernel gives in modules imported anew, and how often its machine code was found."""
    for name in ("called", "calling"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.invalidate_caches()
    return list(importlib.import_module("calling").run())


@pytest.mark.parametrize(
    ("change", "expected"), [({"factor": 2}, 6), ({"step": 5}, 15), ({"kind": "inner"}, 3)], ids=str
)
def test_what_is_compiled_into_a_kernel_decides_whether_its_code_is_used(
    kept: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object], expected: int
) -> None:
    write(kept.parent)
    assert [run(monkeypatch) for _ in range(2)] == [[3, 0], [3, 1]]
    write(kept.parent, **change)  # type: ignore[arg-type]
    assert [run(monkeypatch) for _ in range(2)] == [[expected, 0], [expected, 1]]
    assert len(list(kept.rglob("*.nbi"))) == 1  # what is out of date is gone


def test_the_order_of_fields_decides_whether_the_code_of_a_kernel_is_used(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for fields in ("ab", "ba"):  # Numba writes both types alike
        (kept.parent / "called.py").touch()
        (kept.parent / "calling.py").write_text(RECORD.format(fields=fields))
        assert [run(monkeypatch) for _ in range(2)] == [[3, 0], [3, 1]]


def test_the_constants_of_a_module_decide_whether_the_code_of_a_kernel_is_used(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kept.parent / "calling.py").write_text(MODULE)
    for step in (1, 2):
        (kept.parent / "called.py").write_text(f"STEP = {step}")
        assert [run(monkeypatch) for _ in range(2)] == [[3 + step, 0], [3 + step, 1]]


@pytest.mark.parametrize("part", PRIVATE)
def test_the_private_parts_of_numba_are_as_they_were(part: str) -> None:
    module, _, path = part.partition(":")
    found = operator.attrgetter(path)(importlib.import_module(module))
    if PRIVATE[part] is not None:
        assert list(inspect.signature(found).parameters) == PRIVATE[part]


def test_the_versions_of_numba_are_those_that_are_tested() -> None:
    low, high = (".".join(map(str, version)) for version in jit.TESTED)
    bounds = f"numba>={low},<{high}"
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["columnar"]
    assert extra == [bounds]
    files = {name: (ROOT / "requirements" / name).read_text() for name in ("test.in", "test.lock", "lowest.lock")}
    assert bounds in files["test.in"].splitlines()
    assert f"numba=={low}." in files["lowest.lock"]
    newest = f"{jit.TESTED[1][0]}.{jit.TESTED[1][1] - 1}"
    assert f"numba=={newest}." in files["test.lock"]


def test_another_numba_compiles_without_its_private_parts_and_that_is_said(tmp_path: Path) -> None:
    write(tmp_path)
    code = (
        "import numba; numba.__version__ = '0.99.0'; import calling; print(calling.run(), calling.loop.targetoptions)"
    )
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'src'}", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("[3, 0] {'nogil': True")
    assert "_nrt" not in done.stdout
    assert done.stderr.count("numba 0.99.0 is not one of those that were tested (0.61 to below 0.69)") == 1
    assert not list(tmp_path.rglob("*.nbi"))


def test_a_kernel_runs_where_its_code_cannot_be_written(
    kept: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write(kept.parent)
    jit.folder()
    shutil.rmtree(kept)
    assert run(monkeypatch) == [3, 0]
    assert "the machine code of calling.loop" in caplog.text


def start(package: Path, home: Path) -> subprocess.Popen[str]:
    folder = package.parent
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home), "PYTHONPATH": str(folder)}
    command = [sys.executable, "-B", "-c", "import calling; print(calling.run())"]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[str]) -> tuple[list[int], str]:
    given, told = process.communicate(timeout=100)
    assert process.returncode == 0, told
    return json.loads(given), told.strip()


def test_a_package_that_cannot_be_written_keeps_its_code_for_the_user(tmp_path: Path) -> None:
    package = tmp_path / "etalis"
    kernels = package / "columnar" / "kernels"
    kernels.mkdir(parents=True)
    for folder in (package, kernels.parent, kernels):
        (folder / "__init__.py").touch()
    (kernels / "__pycache__").touch()  # a file: no directory can be made, not even by root
    shutil.copy(jit.__file__, kernels)
    write(tmp_path)
    at_once = [start(package, tmp_path / "home") for _ in range(2)]
    assert [finish(process)[0][0] for process in at_once] == [3, 3]
    assert finish(start(package, tmp_path / "home")) == ([3, 1], "")
    assert list((tmp_path / "home").rglob("*.nbi"))
    given, told = finish(start(package, tmp_path / "calling.py"))
    assert given == [3, 0]
    assert told == "every process compiles its kernels: no directory can be written, set NUMBA_CACHE_DIR"
