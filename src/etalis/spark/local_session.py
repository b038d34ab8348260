"""Before a JVM starts: is there a PySpark that fits, and a Java for it? Then a local session that is set up well.

Law: whatever is wrong is said in one sentence with what to do about it, before anything is started. PySpark starts Java
by JAVA_HOME if it is set, whatever it holds, else from the PATH; so that is where Java is looked for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from etalis.errors import InputError, Problem
from etalis.spark.spark_versions import SERIES

OLDEST_JAVA = 17
_INSTALL = "install it with etalis: pip install 'etalis[spark]'"
_JAVA = f"install Java {OLDEST_JAVA} or later (such as openjdk-{OLDEST_JAVA}-jre-headless)"
_RELEASE = re.compile(r"spark-core_[\d.]+-(\d[^/]*)\.jar")
_PATIENCE = 30


def session(
    *,
    master: str | None = None,
    cores: int | None = None,
    memory: str | None = None,
    options: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """Return the session that there is, or a new local one: on loopback, in UTC, with the Python of this process.

    `cores` is how many are used (default: all), `memory` the heap of the JVM ("4g"), `options` are those of Spark by
    their names, and go before what is set here. A `master` that is not local keeps its own Python and addresses.
    """
    check_pyspark()
    active = active_session()
    if active is not None:
        return active
    check_java()
    from pyspark.sql import SparkSession

    where = master or f"local[{cores or '*'}]"
    usual = {"spark.sql.session.timeZone": "UTC"}
    if where.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        usual = local_options(cores, memory)
    builder = SparkSession.builder.master(where).appName("etalis")
    for name, value in {**usual, **options}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def active_session() -> Any:
    """Return the session that there is, or None."""
    loaded = sys.modules.get("pyspark.sql")  # without it there is no session
    return None if loaded is None else loaded.SparkSession.getActiveSession()


def local_options(cores: int | None = None, memory: str | None = None) -> dict[str, str]:
    """Return the options of a local session."""
    found = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(cores or os.cpu_count() or 1),
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": "ERROR",
    }
    return found if memory is None else {**found, "spark.driver.memory": memory}


def check_pyspark() -> None:
    """Refuse a PySpark that is missing or of another series than this version is made for."""
    try:
        import pyspark
    except ImportError:
        raise _refuse("E630", "PySpark is not installed", _INSTALL) from None
    check_version("PySpark", str(pyspark.__version__))
    home = os.environ.get("SPARK_HOME")
    if home:
        check_home(Path(home))


def check_loaded() -> None:
    """Refuse to go on with a session of another series; whoever has a session has loaded PySpark."""
    loaded = sys.modules.get("pyspark")
    if loaded is not None:
        check_version("PySpark", str(loaded.__version__))


def check_version(what: str, version: str) -> None:
    """Refuse a version of another series."""
    if ".".join(version.split(".")[:2]) not in SERIES:
        message = f"{what} {version} is not of the series {SERIES[0]} to {SERIES[-1]}, which etalis is made for"
        raise _refuse("E631", message, _INSTALL)


def check_home(home: Path) -> None:
    """Refuse a SPARK_HOME that would start another Spark than PySpark expects."""
    cores = [found[1] for path in home.glob("jars/spark-core_*.jar") if (found := _RELEASE.fullmatch(path.name))]
    if not cores:
        hint = "unset SPARK_HOME: PySpark brings its own Spark"
        raise _refuse("E631", f"SPARK_HOME is {home}, where there is no Spark", hint)
    check_version(f"SPARK_HOME is {home}, and Spark", cores[0])


def check_java() -> None:
    """Refuse to start without a Java that Spark can use."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else shutil.which("java")
    if java is None:
        raise _refuse("E632", "Spark needs Java, and there is none on the PATH or in JAVA_HOME", _JAVA)
    if not os.access(java, os.X_OK):
        message = f"Spark needs Java, but JAVA_HOME is {home}, where there is no bin/java"
        raise _refuse("E632", message, f"correct or unset JAVA_HOME, or {_JAVA}")
    found = re.search(r'version "((?:1\.)?(\d+)[^"]*)', _shown_version(java))
    if found is None:
        raise _refuse("E633", f"{java} does not print the version of a Java", _JAVA)
    if int(found[2]) < OLDEST_JAVA:
        message = f"Java {found[1]} ({java}) is too old, Spark needs {OLDEST_JAVA} or later"
        raise _refuse("E633", message, f"{_JAVA}, and set JAVA_HOME to it")


def _shown_version(java: str | Path) -> str:
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr + done.stdout


def _refuse(code: str, message: str, hint: str) -> InputError:
    return InputError(Problem(code, message, hint=hint))
