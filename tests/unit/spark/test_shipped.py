"""What the host told a program, written and read again."""

from __future__ import annotations

from datetime import date

import etalis
from etalis.data.values import real
from etalis.spark.knowledge.shipped import pack
from etalis.tables.knowledge import with_facts


def test_facts_come_back_as_they_were() -> None:
    program = etalis.compile(":- dynamic p/4, q/1. d <- a.")
    rows = [(1, "x", 2.5, None), (1 << 70, "", real(2.0), [1, "y"]), (-3, "é", 7.0, {"k": date(2026, 1, 2)})]
    program.load_facts("p", rows)
    program.load_facts("q", [(1,)])
    told = pack(program.compiled)
    assert told.facts is not None
    found = {(name, relation.arity): relation.rows for name, relation in told.facts.read()}
    assert found == dict(program.compiled.knowledge.facts)
    assert [[type(cell) for cell in row] for row in found["p", 4]] == [
        [type(cell) for cell in row] for row in program.compiled.knowledge.facts["p", 4]
    ]
    assert pack(program.compiled).facts == told.facts
    program.load_facts("q", [(2,)])
    assert pack(program.compiled).facts != told.facts


def test_telling_more_leaves_the_program_as_it_is() -> None:
    program = etalis.compile("d(X) <- a where p(X).")
    program.load_facts("p", [(1,)])
    more = with_facts(program.compiled, {"p": [(2,)]})
    assert list(more.knowledge.facts["p", 1]) == [(1,), (2,)]
    assert list(program.compiled.knowledge.facts["p", 1]) == [(1,)]
    assert with_facts(program.compiled, {}) is program.compiled


def test_nothing_is_told() -> None:
    told = pack(etalis.compile("d <- a.").compiled)
    assert told.facts is None
    assert told.functions == ()
