"""Where keys stand in a TOML text."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from etalis.errors import Source
from etalis.pipeline.places import Places

TEXT = '''# a comment with [a header] and key = 1
a = 1 # b = 2
[program]
files = ["a", # ]
 "b]"]
flags = { x = 1, "y z" = [1, 2], k = "a,}" }
[[source]]
path = """a
b = 3
"""
options.header = true
[[source]]
path = 'x # y'
  [source.options]
  sep = ","
[ "odd name" . inner ]
c = 'it"s'
'''


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key)
            yield from paths(item, (*path, key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for i, item in enumerate(value):
            yield (*path, i)
            yield from paths(item, (*path, i))


@pytest.mark.parametrize(
    ("path", "part"),
    [
        (("a",), "a = 1"),
        (("program",), "[program]"),
        (("program", "files"), 'files = ["a", # ]\n "b]"]'),
        (("program", "files", 1), 'files = ["a", # ]\n "b]"]'),
        (("program", "flags", "x"), "x = 1"),
        (("program", "flags", "y z"), '"y z" = [1, 2]'),
        (("program", "flags", "k"), 'k = "a,}"'),
        (("source", 0), "[[source]]"),
        (("source", 0, "path"), 'path = """a\nb = 3\n"""'),
        (("source", 0, "options", "header"), "options.header = true"),
        (("source", 1, "path"), "path = 'x # y'"),
        (("source", 1, "options"), "[source.options]"),
        (("source", 1, "options", "sep"), 'sep = ","'),
        (("odd name", "inner", "c"), "c = 'it\"s'"),
        (("source", 1, "nothing"), "[[source]]"),
    ],
)
def test_place(path: tuple[str | int, ...], part: str) -> None:
    span = Places(Source("t", TEXT)).find(path)
    assert span is not None
    assert TEXT[span.start : span.end] == part


def test_every_key_that_holds_a_value_is_found() -> None:
    places = Places(Source("t", TEXT))
    for path in paths(tomllib.loads(TEXT)):
        if path not in (("source",), ("odd name",), ("source", 0, "options")):
            span = places.find(path)
            assert span is not None
            assert span != places.find(path[:-1]), path


def test_nothing_is_nowhere() -> None:
    assert Places(Source("t", TEXT)).find(("sink",)) is None
    assert Places(Source("t", "")).find(("sink", 0)) is None
