"""What a type checker says of code that uses the package: right calls pass, wrong ones fail where they are wrong."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import etalis

ROOT = Path(__file__).parents[2]
PROGRAM = "d(X) <- (a(X) seq b(X)) within 9."

RIGHT = """
from datetime import timedelta
import etalis
from etalis.formats import feed, read

program: etalis.Program = etalis.compile("d(X) <- a(X).", name="p", strict=True, event_consumption_policy="recent")
program = etalis.compile_file("p.etalis", imports=".", register={"f/1": len})
plan: str = program.explain()
columns: str = program.explain("x.csv", time="at")
found = program.detect("x.csv", time=("start", "end"), event="type", policy="recent", batch=9, progress=print)
engine: etalis.Engine = program.engine(policy="recent", ahead=timedelta(minutes=1), on_error=print, sources=("a", 1))
engine = program.restore(engine.snapshot(), on_dead_letter=lambda letter: print(letter.reason))
matches: tuple[etalis.Event, ...] = engine.push("a", 1, at=5, note="x")
names: list[str] = [match.name for match in engine.run([("a", 1, 6)])]
engine.detect("x.csv", time="at", threads=1)
home: etalis.Program = engine.program
list(feed(engine, read("x.csv")))
program.on(object()).detect(object(), time="at", shards=2)
"""

WRONG = """
import etalis
program = etalis.compile("d(X) <- a(X).", strikt=1, strict="yes")  # error: arg-type
etalis.compile_file("p.etalis", imports=9)  # error: arg-type
program.detect("x", tme="ts")  # error: call-arg
program.detect("x", time=9)  # error: arg-type
program.engine(polcy="recent")  # error: call-arg
program.restore(b"", "more")  # error: arg-type
program.restore(b"", onerror=print)  # error: call-arg
program.explain("x", tme="ts")  # error: call-arg
program.on(object()).detect(object(), tme="at")  # error: call-arg
program.settings  # error: attr-defined
engine = program.engine()
engine.push(5)  # error: arg-type
engine.detect("x", policy="recent")  # error: call-arg
engine.advance(5)  # error: call-arg
count: int = engine.push("a", at=1)  # error: assignment
"""


def test_type_checkers_know_the_options(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(RIGHT, encoding="utf-8")
    wrong.write_text(WRONG, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", str(right), str(wrong)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout  # strict, and cached
    found = set(re.findall(r"^(?:.*/)?(\w+)\.py:(\d+): error:.*\[([a-z-]+)\]$", told, re.MULTILINE))
    lines = enumerate(WRONG.splitlines(), 1)
    assert found == {("wrong", str(n), line.partition("# error: ")[2]) for n, line in lines if "# error" in line}, told


@pytest.mark.parametrize("options", [{}, {"limits": {"hard_limit": 5}}], ids=["generated", "limited"])
def test_the_generated_push_says_what_it_takes(options: dict[str, dict[str, object]]) -> None:
    engine = etalis.compile(PROGRAM).engine(**options)  # type: ignore[arg-type]
    assert engine.push is vars(engine)["push"]
    assert inspect.signature(engine.push) == inspect.signature(etalis.Engine.push.__get__(engine))
    assert engine.push.__doc__ is not None
    assert "engine.code()" in engine.push.__doc__
    assert (engine.push.__name__, inspect.getdoc(engine.run) is not None) == ("push", True)


def test_a_program_shows_what_a_host_may_do() -> None:
    """What back ends use is apart, in `program.compiled` and `engine.core`."""
    program = etalis.compile(PROGRAM)
    told = {name for name in (*dir(etalis.Program), *vars(program)) if not name.startswith("_")}
    assert told == {
        "code", "compare", "compiled", "detect", "effect", "effects", "engine", "explain", "explain_dot",
        "explain_svg", "implied", "justify", "load_facts", "load_rdf", "name", "on", "picture", "problems", "register",
        "restore", "signatures", "skipped", "why_not",
    }  # fmt: skip
    assert {name for name in vars(program.engine()) if not name.startswith("_")} == {
        "core", "program", "restored"
    }  # fmt: skip
