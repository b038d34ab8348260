"""The programs of the manual's chapter 6 and the rules of the papers read, and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from etalis.language.printer import print_program
from etalis.language.read.parser import parse

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.event"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_of_the_documents(path: Path) -> None:
    program = parse(path.read_text(encoding="utf-8"), path.name)
    assert program.items
    assert parse(print_program(program)) == program
