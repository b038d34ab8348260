"""One Spark session for all tests; without Java or pyspark they are reported as skipped, with the reason."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from os import environ
from typing import Any

import pytest

OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # sessions of tests are short
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.session.timeZone": "Europe/Zurich",
    "spark.log.level": "ERROR",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local session in a zone that is not UTC; it starts once, which takes a while."""
    if shutil.which("java") is None and "JAVA_HOME" not in environ:
        pytest.skip("no Java on the PATH or in JAVA_HOME")
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: etalis[spark]")
    environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.master("local[2]").appName("etalis tests")
    for option, value in OPTIONS.items():
        builder = builder.config(option, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
