"""The files of the page: small, no markup from texts, no other hosts; its samples, and colours that can be read."""

from __future__ import annotations

import asyncio
import gzip
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from helpers.service import served

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "etalis" / "service" / "www"
FILES = sorted(path for path in PAGE.iterdir() if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
MOST_SENT = 120_000
MOST_LINES = 450
FORBIDDEN = (
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser|setHTML|srcdoc"
    r"|createContextualFragment"
)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_page_is_small() -> None:
    sent = {path.name: len(gzip.compress(path.read_bytes(), 6, mtime=0)) for path in FILES}
    assert sum(sent.values()) < MOST_SENT
    assert [path.name for path in SCRIPTS if text_of(path).count("\n") > MOST_LINES] == []


def test_texts_never_become_markup() -> None:
    found = [(path.name, match[0]) for path in SCRIPTS for match in re.finditer(FORBIDDEN, text_of(path))]
    assert found == []


def test_the_page_names_no_other_host() -> None:
    known = {"http://www.w3.org/2000/svg"}  # a namespace
    for path in FILES:
        if path.name == "samples.json":
            continue
        code = re.sub(r"^\s*//.*$", "", text_of(path), flags=re.M)
        addresses = set(re.findall(r"(?:https?:)?//[\w-]+\.[\w.-]+[^\s\"'<>)]*", code))
        assert addresses <= known, path.name


def test_the_policy_of_contents_needs_no_exception() -> None:
    html = text_of(PAGE / "index.html")
    assert re.findall(r"\son\w+=|\sstyle=|<style|javascript:", html) == []
    assert [tag for tag in re.findall(r"<script[^>]*>", html) if "src=" not in tag] == []
    for path in SCRIPTS:
        assert re.findall(r"""["']?style["']?:\s*["'`]|setAttribute\("style""", text_of(path)) == [], path.name


def test_what_modules_look_for_is_in_the_page() -> None:
    html = text_of(PAGE / "index.html")
    ids = re.findall(r'\sid="([\w-]+)"', html)
    assert len(ids) == len(set(ids))
    for path in SCRIPTS:
        text = text_of(path)
        missing = set(re.findall(r'\$\("([\w-]+)"\)', text)) - set(ids)
        assert not missing, path.name
        icons = {f"i-{name}" for name in re.findall(r'\bicon\("(\w+)"\)', text)} | set(re.findall(r'"#(i-\w+)"', text))
        assert icons <= set(ids), path.name
        for imported in re.findall(r'from "\./([\w.]+)"', text):
            assert (PAGE / imported).is_file(), (path.name, imported)


def test_files_are_sent_compressed_and_not_twice() -> None:
    async def run() -> None:
        async with served() as client:
            answer = await client.get("/app.js", headers={"Accept-Encoding": "gzip"})
            assert answer.headers["content-encoding"] == "gzip"
            assert answer.content == (PAGE / "app.js").read_bytes()
            assert int(answer.headers["content-length"]) < 10_000
            again = await client.get("/app.js", headers={"If-None-Match": answer.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            plain = await client.get("/app.js", headers={"Accept-Encoding": "identity"})
            assert "content-encoding" not in plain.headers
            assert plain.content == answer.content
            assert (await client.get("/app.py")).status_code == 404

    asyncio.run(run())


# Samples


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("page_samples", ROOT / "docs" / "samples.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_samples_are_what_the_engine_finds_in_the_examples(generator: ModuleType, tmp_path: Path) -> None:
    written = json.loads(text_of(PAGE / "samples.json"))
    assert written == json.loads(generator.write(tmp_path)), "run `python docs/samples.py`"
    assert [sample["id"] for sample in written["samples"]] == ["fraud", "supply", "flowers", "stock", "sensors", "shop"]
    for sample in written["samples"]:
        assert sample["matches"] == len(sample["found"]) > 0
        assert sample["inputs"] == len(sample["marks"]) > 0


@pytest.mark.parametrize("name", ["fraud", "supply", "stock", "sensors"])
def test_samples_find_what_their_examples_expect(generator: ModuleType, tmp_path: Path, name: str) -> None:
    folder = ROOT / "examples" / name
    (expected,) = folder.glob("*.expected")
    sample = next(each for each in generator.samples() if each.id == name)
    _, found = generator.run(sample, tmp_path)
    names = sorted(event.name for event in found)
    assert names == sorted(re.match(r"\w+", line)[0] for line in text_of(expected).splitlines() if line)  # type: ignore[index]


# Colours


def colours(theme: str) -> dict[str, str]:
    css = text_of(PAGE / "style.css")
    blocks = {
        "light": r":root \{(.*?)\}",
        "dark": r':root\[data-theme="dark"\] \{(.*?)\}',
        "system": r':root:not\(\[data-theme="light"\]\) \{(.*?)\}',
    }
    found = re.search(blocks[theme], css, re.S)
    assert found is not None
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", found[1]))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def pairs_of_colours(theme: str) -> Iterator[tuple[str, str, float]]:
    """Yield what is written in which colour on what, and the contrast that it must have."""
    tokens = ("operator", "variable", "text", "number", "comment", "predicate", "event")
    texts = ["ink", "muted", "accent", "error", "warning", "good", *(f"t-{name}" for name in tokens)]
    yield from ((text, ground, 4.5) for text in texts for ground in ("pane", "page"))
    yield from ((f"kind{i}", "pane", 4.5) for i in range(8))
    yield from (("ink", "tint", 4.5), ("muted", "tint", 4.5), ("muted", "soft", 4.5), ("on-accent", "accent", 4.5))
    yield from (("ink", "error-tint", 4.5), ("muted", "error-tint", 4.5), ("muted", "warning-tint", 4.5))
    yield from (("edge", "pane", 3.0), ("edge", "page", 3.0))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_can_be_read(theme: str) -> None:
    known = colours(theme)
    measured = [(a, b, contrast(known[a], known[b]), least) for a, b, least in pairs_of_colours(theme)]
    assert [(a, b, round(found, 2)) for a, b, found, least in measured if found < least] == []


def test_the_system_and_the_choice_are_dark_alike() -> None:
    assert colours("dark") == colours("system")
    assert set(colours("dark")) == set(colours("light"))


def test_kinds_can_be_told_apart() -> None:
    for theme in ("light", "dark"):
        known = [colours(theme)[f"kind{i}"] for i in range(8)]
        assert len(set(known)) == 8
        assert all(a != b for a, b in pairwise(known))


def test_fields_of_samples_are_those_that_the_page_reads() -> None:
    wanted = {"id", "title", "sentence", "language", "policy", "program", "events", "inputs", "matches", "marks"}
    wanted |= {"found"}
    samples: list[dict[str, Any]] = json.loads(text_of(PAGE / "samples.json"))["samples"]
    assert all(set(sample) == wanted for sample in samples)
