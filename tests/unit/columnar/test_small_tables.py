"""A small table in memory makes nobody wait for a compiler: where a kernel has no machine code, rows go one by one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import etalis

pytest.importorskip("numba")
pa = pytest.importorskip("pyarrow")

from etalis.columnar.kernels import jit  # noqa: E402
from etalis.columnar.run import ColumnRun  # noqa: E402

SMALL = import_module("etalis.detect")
TEXT = """
:- event(a(id: int)). :- event(b(id: int)).
c(I, D) <- (a(I) seq b(I)) within 100 where D is 10 // (I - 3).
"""
SCRIPT = """
import json, sys
import etalis, pyarrow as pa
count = int(sys.argv[1])
program = etalis.compile({text!r})
events = ["ab"[i % 2] for i in range(count)]
rows = pa.table({{"ts": range(count), "event": events, "id": [i // 2 % 7 for i in range(count)]}})
errors = []
found = program.detect(rows, time="ts", on_error=errors.append).select(["I", "D", "start", "end"]).to_pylist()
pushed = program.engine(on_error=lambda error: None)
taken = zip(rows["event"].to_pylist(), rows["id"].to_pylist(), rows["ts"].to_pylist())
expected = [event for row in taken for event in pushed.push(row[0], row[1], at=row[2])]
same = [(r["I"], r["D"], r["start"], r["end"]) for r in found] == [(*e.args, e.start, e.end) for e in expected]
print(json.dumps([len(found), same, len(errors) == pushed.report().failed[0].count]))
"""


def table(count: int) -> Any:
    events = ["ab"[i % 2] for i in range(count)]
    return pa.table({"ts": range(count), "event": events, "id": [i // 2 % 7 for i in range(count)]})


@pytest.mark.jit
def test_a_small_table_compiles_nothing(tmp_path: Path) -> None:
    found = {}
    for count in (1_000, 6_000):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
        command = [sys.executable, "-c", SCRIPT.format(text=TEXT), str(count)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found[count] = json.loads(done.stdout), sorted(tmp_path.rglob("*.nb?"))
    assert found[1_000][0][0] > 400
    assert found[1_000][0][1:] == [True, True]
    assert found[1_000][1] == []
    assert found[6_000][1]  # a table that is worth it does


@pytest.mark.parametrize("progress", [False, True])
def test_where_a_kernel_is_missing_on_the_way_nothing_is_told_twice(
    monkeypatch: pytest.MonkeyPatch, progress: bool
) -> None:
    program = etalis.compile(TEXT)
    told: list[tuple[int, int]] = []
    settings: dict[str, Any] = {"time": "ts", "batch": 300, "progress": lambda *what: told.append(what)}
    expected: list[Any] = []
    over = program.detect(table(1_000), on_error=expected.append, **settings)
    before, told[:] = list(told), []
    pieces = ColumnRun.reported_blocks
    calls = []

    def process(self: ColumnRun, *args: Any) -> Any:
        calls.append(args)
        if len(calls) == 3:
            raise jit.NotCompiledError("follow")
        return pieces(self, *args)

    monkeypatch.setattr(ColumnRun, "reported_blocks", process)
    monkeypatch.setattr(SMALL, "SMALL", 5_000)
    errors: list[Any] = []
    found = program.detect(
        table(1_000), on_error=errors.append, **(settings if progress else {"time": "ts", "batch": 300})
    )
    assert len(calls) == 3
    assert found.equals(over)
    assert [str(error) for error in errors] == [str(error) for error in expected]
    assert len(errors) > 0
    assert told == (before if progress else [])


def test_what_has_machine_code_goes_over_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    program = etalis.compile(TEXT)
    over = program.detect(table(1_000), time="ts", on_error=lambda _: None)
    monkeypatch.setattr(SMALL, "SMALL", 5_000)
    errors: list[Any] = []
    monkeypatch.setattr(ColumnRun, "_one_by_one", lambda *_: pytest.fail("its kernels are loaded"))
    assert program.detect(table(1_000), time="ts", on_error=errors.append).equals(over)
    assert errors


@jit.part
def seventeen_more(n: int) -> int:
    return n + 17


@pytest.mark.jit
def test_a_kernel_without_machine_code_says_so_or_runs_as_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit.KernelCache, "_file", lambda *_: None)

    @jit.kernel
    def fresh(n: int) -> int:
        return seventeen_more(n) + 1

    with jit.uncompiled(), pytest.raises(jit.NotCompiledError, match="fresh"):
        fresh(1)
    with jit.uncompiled("plain"):
        assert [fresh(1), fresh(2)] == [19, 20]
    assert not fresh.overloads  # type: ignore[attr-defined]
    assert fresh(1) == 19
    assert fresh.overloads  # type: ignore[attr-defined]
