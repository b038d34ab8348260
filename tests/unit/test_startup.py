"""What starting up brings along: modules are counted, not seconds (`bench/startup.py` has those)."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import etalis
import etalis.testing
from etalis.cli import COMMANDS, load_command

SOURCE = Path(etalis.__file__).parents[1]
LISTED = "import atexit, json, sys; atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
HEAVY = {"http.client", "urllib.request", "email", "ssl", "xml.sax", "asyncio", "pyarrow", "numpy", "pandas", "numba"}


def modules_after(code: str, *arguments: str) -> set[str]:
    """Return the modules that a fresh interpreter has at the end of some code."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", LISTED + code, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_importing_the_package_loads_next_to_nothing() -> None:
    loaded = modules_after("import etalis")
    assert {name for name in loaded if name.startswith("etalis")} == {"etalis", "etalis.lazy"}
    assert not loaded & (HEAVY | {"dataclasses", "rich", "typer"})


def test_help_loads_no_command() -> None:
    loaded = modules_after("from etalis.cli import main; main()", "--help")
    ours = {name for name in loaded if name.startswith("etalis")}
    assert ours == {"etalis", "etalis.lazy", "etalis.cli", "etalis.cli.exit_codes", "etalis.errors"}
    assert not loaded & (HEAVY | {"rich"})


def test_compiling_and_running_loads_no_network() -> None:
    code = "import etalis; engine = etalis.compile('b(X) <- a(X).').engine(); engine.push('a', 1, at=0)"
    loaded = modules_after(code)
    assert "etalis.runtime.engine" in loaded
    assert not loaded & (HEAVY | {"rich", "typer", "etalis.pictures", "etalis.testing"})


def test_detecting_over_tables_loads_nothing_of_spark() -> None:
    pytest.importorskip("numba")
    rows = "[{'event': 'a', 'at': 1}, {'event': 'b', 'at': 2}]"
    loaded = modules_after(f"import etalis; etalis.compile('c <- a seq b within 5.').detect({rows})")
    assert "etalis.tables.plan" in loaded
    assert not {name for name in loaded if name.startswith(("etalis.spark", "etalis.pipeline", "pyspark"))}


def test_a_plugin_that_is_not_used_costs_pytest_nothing() -> None:
    ours = {name for name in modules_after("import etalis.testing.plugin") if name.startswith("etalis")}
    assert ours == {"etalis", "etalis.lazy", "etalis.testing", "etalis.testing.plugin"}


@pytest.mark.parametrize("package", [etalis, etalis.testing], ids=lambda package: package.__name__)
def test_what_type_checkers_see_is_what_there_is(package: object) -> None:
    """The names that only a type checker imports, with their modules, are those that are imported lazily."""
    name, file = package.__name__, package.__file__  # type: ignore[attr-defined]
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    (guarded,) = [node for node in tree.body if isinstance(node, ast.If)]
    imported = {(node.module, alias.name) for node in guarded.body for alias in node.names}  # type: ignore[attr-defined]
    assert {exported for _, exported in imported} == set(package.__all__)  # type: ignore[attr-defined]
    for module, exported in imported:
        assert getattr(package, exported) is getattr(import_module(module), exported)
        assert exported in dir(package)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'"):
        _ = package.nothing  # type: ignore[attr-defined]


def test_names_can_be_imported_all_at_once() -> None:
    assert "all of them" in modules_after(
        "from etalis import *\ncompile('a <- b.')\nsys.modules['all of them'] = Event"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_that_of_the_command(name: str) -> None:
    command = load_command(name)
    assert command.help is not None
    assert command.help.startswith(COMMANDS[name][1].removesuffix("."))
