"""Every code that the source can give is explained in docs/errors.md, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"\b[EW]\d{3}\b")


def test_every_code_is_explained() -> None:
    quoted = re.compile(r"[\"']([EW]\d{3})[\"']")
    given = {code for file in (ROOT / "src").rglob("*.py") for code in quoted.findall(file.read_text())}
    explained = set(CODE.findall((ROOT / "docs" / "errors.md").read_text()))
    assert given - explained == set()
    assert explained - given == set()
