"""A stream with poison of every kind and kills on its way; at its full size it is bench/spark_poison.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import etalis

BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"  # what lives for seconds is not worth optimizing
SCRIPT = Path(__file__).parents[2] / "bench" / "spark_poison.py"


def run(*options: str) -> str:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java on the PATH or in JAVA_HOME")
    pytest.importorskip("pyspark", reason="pyspark is not installed: etalis[spark]")
    environment = {**os.environ, "PYTHONPATH": str(Path(etalis.__file__).parents[1]), "JAVA_TOOL_OPTIONS": BRIEF}
    command = [sys.executable, str(SCRIPT), *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.spark
def test_a_poisoned_stream_with_a_restart() -> None:
    assert "as expected" in run("--rows", "3000", "--batches", "4", "--kills", "1", "--no-kill-at-close")


@pytest.mark.nightly
def test_a_poisoned_stream_with_two_restarts() -> None:
    """One kill in the middle, one while the stream is closed."""
    assert "as expected" in run("--rows", "3000", "--batches", "4", "--kills", "1")
