"""Keys of effects: literal digests, which no version may change, and what they depend on (definition 24.44)."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from etalis.data.values import Struct, to_value
from etalis.reactive.effects.keys import canonical, digest
from etalis.reactive.effects.transaction import Cause, make_transaction

CAUSE = Cause("shop", "sell", 1, ("rose", 2), (5_000_000, 7_500_000), 1, "do", 1)
BOOK = Struct("book", ("ann", to_value(8.0)))

DIGESTS = {
    "text": ("é\ud800'\n", "x"),
    "empty": ((), "x"),
    "small": (0.1, "x"),
    "large": (to_value(1e22), "x"),
    "infinite": (math.inf, "x"),
    "vast": (-(10**5000), "x"),
    "nested": (to_value({"a": [1, 2.0, None, True, {"b": Struct("f", ["x", ()])}]}), "x"),
}


def keys(cause: Cause, *calls: Any) -> list[str]:
    return [row.key for row in make_transaction(cause, calls).rows]


def test_keys_are_these_digests() -> None:
    assert CAUSE.id == "016389d139554a324d970e25478f8d45"
    assert keys(CAUSE, BOOK, BOOK, "ship") == [
        "395ab086ae3b295a91ef7cde3652c3a0",
        "9b3411bc3e6c8eae57d4b077222c656b",
        "3edab55545fa885d802ed6943024271f",
    ]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("text", "16ec84efd0ff6f06ebb1ea168ce1b4ea"),
        ("empty", "781fed60f51917f99026a222f1b26f69"),
        ("small", "e1888e7d51d96052f8c9094cbf67dfb8"),
        ("large", "2032db309c451e342ad1be1e33ac3c00"),
        ("infinite", "e2bbf95642ff9d4155e07a5d4c72098b"),
        ("vast", "10a876f8cebae7e992908762b02b3030"),
        ("nested", "d2122c54836c2aaca31a801a5b3be2dd"),
    ],
)
def test_every_kind_of_value_has_this_digest(name: str, wanted: str) -> None:
    assert digest(*DIGESTS[name]) == wanted


def test_a_key_depends_on_every_part() -> None:
    others = [
        replace(CAUSE, program="shop2"),
        replace(CAUSE, label="sell2"),
        replace(CAUSE, number=2),
        replace(CAUSE, bindings=("rose", to_value(2.0))),
        replace(CAUSE, bindings=("rose", "2")),
        replace(CAUSE, interval=(5_000_001, 7_500_000)),
        replace(CAUSE, interval=(5_000_000, 7_500_001)),
        replace(CAUSE, match=2),
        replace(CAUSE, branch="else"),
        replace(CAUSE, branch="undo"),
        replace(CAUSE, attempt=2),
    ]
    found = [*keys(CAUSE, BOOK, BOOK, Struct("book", ("ann", 8)), "book"), *(keys(c, BOOK)[0] for c in others)]
    assert len({*found, CAUSE.id, *(c.id for c in others)}) == 2 * len(others) + 5


def test_a_key_does_not_depend_on_the_place_in_the_path() -> None:
    ship, book = "ship", BOOK
    assert keys(CAUSE, ship, book) == [*reversed(keys(CAUSE, book, ship))]
    assert keys(CAUSE, book, ship, book)[2] == keys(CAUSE, book, book)[1]


def test_parts_do_not_run_into_each_other() -> None:
    several = [("ab", "c"), ("a", "bc"), ("abc",), (("a", "b"), "c"), ("a", ("b", "c")), ((), "abc"), ("abc", ())]
    assert len({canonical(parts) for parts in several}) == len(several)
    assert canonical(Struct("f", ["x"])) != canonical(("f", "x"))
    assert canonical(12) != canonical((1, 2))


def test_another_process_with_other_hashes_has_the_same_keys() -> None:
    code = (
        "from etalis.data.values import Struct, to_value\n"
        "from etalis.reactive.effects.keys import digest\n"
        "print(digest('shop', to_value({'a': 1.5, 'b': [Struct('f', [2])]})))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "77", "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == digest("shop", to_value({"a": 1.5, "b": [Struct("f", [2])]}))


def test_a_transaction_comes_back_from_plain_data() -> None:
    made = make_transaction(CAUSE, [BOOK, "ship"], scope=(("C", "ann"),), path=("ins(p)",), changed=True, raised=(1, 2))
    assert type(made).from_cells(made.to_cells()) == made
    assert made.rows[0].call == BOOK
    assert make_transaction(CAUSE, []).state == "done"
