"""Without the extra `columnar` a sentence says what to install, at every door that needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = "d(X) <- (a(X) seq b(X)) within 10 min."
ROWS = [("a", 1, 1), ("b", 1, 2)]
DOORS = {
    "program": f"etalis.compile({PROGRAM!r}).detect({ROWS!r})",
    "engine": f"etalis.compile({PROGRAM!r}).engine().detect({ROWS!r})",
    "explain": f"etalis.compile({PROGRAM!r}).explain({ROWS!r})",
}


@pytest.mark.parametrize("door", DOORS)
def test_what_is_missing_is_said(door: str) -> None:
    code = f"import sys; sys.modules['numba'] = None; import etalis; {DOORS[door]}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "E412: columns need numba, which is not installed" in done.stderr
    assert "hint: pip install 'etalis[columnar]'" in done.stderr
