"""A row added to a table of the language is in every back end, or refused there by name; nothing else is touched.

The rows are added to a copy of the sources, as a developer would, and everything runs there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import etalis
from etalis.columnar.build import OPERATORS
from etalis.columnar.operators.totals import KERNELS
from etalis.columnar.state.aggregate import EXCHANGES
from etalis.plan import algebra as p
from etalis.spark.batch import job
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.policy import POLICIES, Policy
from etalis.temporal.relation import Relation
from helpers.every_back_end import BACK_ENDS, Row, outcomes

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("ignore::etalis.ProgramWarning")]

# a window of the first is folded anew, one of the second has two stacks, one of the third takes values out
AGGREGATE = """AggregateFunction("product", 1, lambda x, y: x * y, _same, _type_of_sum, None, True, True),
    AggregateFunction("digits", "", lambda s, x: s + str(x), _same, _always("string"), None, merge=operator.add),
    AggregateFunction("parity", 0, lambda s, x: s ^ x & 1, _same, _type_of_sum, None, undo=lambda s, x: s ^ x & 1),"""
RELATIONS = """Relation("overlaps", (("a1", "<", "b1"), ("b1", "<", "a2"), ("a2", "<", "b2"))),
            Relation("covers", (("a1", "<", "b1"), ("b2", "<", "a2")), "a", weakens=True),
            Relation("then", (("a2", "<=", "b1"),), sequential=True),"""
KNOWN = {(row.select, row.consume, row.keep) for row in POLICIES.values()}
POLICY = {"oldest": ("earliest", False, "always")} | {
    f"{select}_{keep}_{'consuming' if consume else 'keeping'}": (select, consume, keep)
    for select, consume, keep in product(
        ("all", "earliest", "latest", "together"), (False, True), ("always", "unmatched")
    )
    if (select, consume, keep) not in KNOWN
}

# a starts, b starts, a ends, b ends; b lies inside a; b begins where a ends
OVERLAPPING: list[Row] = [("a", 2, 1, 4), ("b", 3, 2, 6), ("b", 5, 9, 10), ("a", 7, 8, 12), ("b", 4, 12, 14)]
POINTS: list[Row] = [("b", 9, 1, 1), ("a", 2, 2, 2), ("a", 3, 3, 3), ("b", 1, 4, 4), ("a", 4, 5, 5)]
MANY: list[Row] = [
    ("a", 1, 1, 1), ("a", 2, 2, 2), ("b", 2, 3, 3), ("b", 1, 4, 4), ("a", 2, 4, 5), ("c", 1, 6, 6), ("b", 2, 7, 7),
    ("a", 1, 8, 8), ("c", 2, 9, 9), ("b", 1, 10, 10), ("b", 3, 11, 11), ("c", 1, 12, 12),
]  # fmt: skip
PATTERNS = (
    "r(X, Y) <- (a(X) seq b(Y)) cnot c(X).",
    "r(X, Y) <- (a(X) and b(Y)) seq c(_) where X < Y.",
    "r(X, Y) <- a(X) seq (b(Y) ntimes 2) seq c(_).",
    "r(X, Y) <- (a(X) ntimes 2 and b(Y)) seq c(_).",
)
# text, policy, events, what is found, and what keeps the rule from columns
HAND_WRITTEN: list[tuple[str, str | None, list[Row], list[str], str | None]] = [
    ("r(R) <- aggregate(product(X), a(X), R).", None, [row for row in POINTS if row[0] == "a"],
     ["r(2) [2, 2]", "r(24) [2, 5]", "r(6) [2, 3]"], "the aggregate product has no kernel"),
    ("r(R) <- aggregate(product(X), a(X), R) last 2.", None, [row for row in POINTS if row[0] == "a"],
     ["r(12) [3, 5]", "r(2) [2, 2]", "r(6) [2, 3]"], "the aggregate product has no kernel"),
    ("r(R) <- b(_) seq aggregate(product(X), a(X), R).", None, POINTS,
     ["r(1) [1, 1]", "r(1) [4, 4]", "r(2) [1, 2]", "r(24) [1, 5]", "r(4) [4, 5]", "r(6) [1, 3]"],
     "the aggregate product has no kernel"),
    ("r(R) <- aggregate(digits(X), a(X), R) last 2.", None, [*(row for row in POINTS if row[0] == "a"), ("a", 7, 6, 6)],
     ["r(2) [2, 2]", "r(23) [2, 3]", "r(34) [3, 5]", "r(47) [5, 6]"], "the aggregate digits has no kernel"),
    ("r(R) <- aggregate(digits(X), a(X), R) within 3.", None,
     [("a", 1, 1, 1), ("a", 2, 1, 2), ("a", 3, 0, 3), ("a", 4, 4, 4)],
     ["r(1) [1, 1]", "r(12) [1, 2]", "r(123) [0, 3]", "r(124) [1, 4]"], "the aggregate digits has no kernel"),
    ("r(R) <- aggregate(parity(X), a(X), R) last 2.", None, [row for row in POINTS if row[0] == "a"],
     ["r(0) [2, 2]", "r(1) [2, 3]", "r(1) [3, 5]"], "the aggregate parity has no kernel"),
    ("r(X, Y) <- a(X) overlaps b(Y).", "unrestricted", OVERLAPPING, ["r(2, 3) [1, 6]"], None),
    ("r(X, Y) <- a(X) covers b(Y).", "unrestricted", OVERLAPPING, ["r(7, 5) [8, 12]"], None),
    ("r(X, Y) <- a(X) then b(Y).", "unrestricted", OVERLAPPING,
     ["r(2, 4) [1, 14]", "r(2, 5) [1, 10]", "r(7, 4) [8, 14]"], None),
    ("r(X, Y) <- a(X) seq b(Y).", "oldest", MANY[:4], ["r(1, 1) [1, 4]", "r(1, 2) [1, 3]"],
     "the policy oldest has no kernel"),
]  # fmt: skip
COMPARED = tuple(product(PATTERNS, POLICY))


def add_row(folder: Path, table: str, rows: str, before: str) -> None:
    """Write rows into a table of the sources, before one that is there."""
    file = folder / "etalis" / "temporal" / f"{table}.py"
    text = file.read_text()
    assert text.count(before) == 1
    file.write_text(text.replace(before, f"{rows}\n            {before}"))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Run everything with a copy of the sources that has rows added to three tables, and to no other file."""
    folder, tests = tmp_path_factory.mktemp("extended"), Path(__file__).parents[1]
    shutil.copytree(Path(etalis.__file__).parent, folder / "etalis", ignore=shutil.ignore_patterns("__pycache__"))
    add_row(folder, "aggregate", AGGREGATE, 'AggregateFunction("list", ')
    add_row(folder, "relation", RELATIONS, 'Relation("and", ')
    rows = "".join(f"Policy({name!r}, {', '.join(map(repr, row))})," for name, row in POLICY.items())
    add_row(folder, "policy", rows, 'Policy("recent", ')
    several = [*(row[:3] for row in HAND_WRITTEN), *((text, policy, MANY) for text, policy in COMPARED)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "helpers.every_back_end"], input=json.dumps(several), text=True,
        capture_output=True, check=False, cwd=tests,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (folder, tests))), "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def test_new_rows_are_in_every_back_end(found: list[dict[str, Any]]) -> None:
    for (text, _, _, expected, reason), each in zip(HAND_WRITTEN, found, strict=False):
        assert {name: each[name] for name in BACK_ENDS} == dict.fromkeys(BACK_ENDS, expected), text
        how = "over columns: rule 1" if reason is None else f"event at a time: rule 1\n  rule 1: {reason}"
        assert how in each["explain"]


def test_new_policies_are_those_of_the_meaning(found: list[dict[str, Any]]) -> None:
    """All that a row can say, whatever the pattern."""
    matched = 0
    for (text, policy), each in zip(COMPARED, found[len(HAND_WRITTEN) :], strict=True):
        assert all(each[name] == each["meaning"] for name in BACK_ENDS), f"{text} under {policy}"
        assert f"the policy {policy} has no kernel" in each["explain"]
        matched += bool(each["meaning"])
    assert matched > len(COMPARED) / 2


def test_kernels_are_known_to_all_that_ask_for_them() -> None:
    assert {row.kernel for row in FOLDS.values()} - {None} <= KERNELS.keys()
    assert EXCHANGES.keys() == KERNELS.keys()


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (p.Fold, "r(R) <- aggregate(sum(X), a(X), R)."),
        (p.Join, "r(X, Y) <- a(X) seq b(Y)."),
        (p.Repetition, "r(1) <- a(_) ntimes 2."),
    ],
)
def test_a_node_without_an_operator_is_refused_by_name(
    node: type[p.Node], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row for row in POINTS if f"{row[0]}(" in text]
    over = outcomes(text, None, rows)
    assert "over columns: rule 1" in over.pop("explain")
    monkeypatch.delitem(OPERATORS, node)
    job._load.cache_clear()  # a program that workers have read knows how it runs
    found = outcomes(text, None, rows)
    assert f"rule 1: the plan node {node.__name__} has no operator over columns" in found.pop("explain")
    assert found == over
    assert found["push"]


def test_rows_that_say_what_no_back_end_can_do_are_refused() -> None:
    with pytest.raises(ValueError, match="the policy odd keeps the newest: it selects the latest"):
        Policy("odd", "all", False, "newest")
    with pytest.raises(ValueError, match="the relation odd occurs on a, which may end before"):
        Relation("odd", (("a2", "<", "b1"),), "a")
