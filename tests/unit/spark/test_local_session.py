"""What is missing for Spark is said in one sentence, before a JVM is started: every Java here is a script."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from etalis.cli import ExitCode, app
from etalis.errors import InputError
from etalis.spark import SparkProgram, session
from etalis.spark.local_session import check_java, check_pyspark, local_options
from etalis.spark.spark_versions import check_sources, hash_integer, keys_of_partitions

SCRIPT = "#!/bin/sh\necho \"$@\" >> '{log}'\necho '{shown}' >&2\n"


def fake_java(folder: Path, shown: str) -> Path:
    """A `java` that shows a version, and notes how it was called."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "java"
    program.write_text(SCRIPT.format(log=folder / "log", shown=shown))
    program.chmod(0o755)
    return program


def fake_pyspark(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """A PySpark of some version, whose session must never be asked for."""
    module = ModuleType("pyspark")
    module.__version__ = version  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyspark", module)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    monkeypatch.delenv("SPARK_HOME", raising=False)


def refusal(call: object) -> tuple[str, str, str]:
    with pytest.raises(InputError) as caught:
        call()  # type: ignore[operator]
    (problem,) = caught.value.problems
    assert "\n" not in problem.message
    return problem.code, problem.message, problem.hint or ""


@pytest.mark.parametrize("home", [True, False], ids=["in JAVA_HOME", "on the PATH"])
@pytest.mark.parametrize(
    ("shown", "code", "sentence"),
    [
        ('java version "1.8.0_202"', "E633", "Java 1.8.0_202 ({java}) is too old, Spark needs 17 or later"),
        ('openjdk version "11.0.2" 2019-01-15', "E633", "Java 11.0.2 ({java}) is too old, Spark needs 17 or later"),
        ("what?", "E633", "{java} does not print the version of a Java"),
    ],
)
def test_a_wrong_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str, code: str, sentence: str, home: bool
) -> None:
    java = fake_java(tmp_path, shown)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("JAVA_HOME" if home else "PATH", str(tmp_path if home else tmp_path / "bin"))
    assert refusal(check_java)[:2] == (code, sentence.format(java=java))
    assert (tmp_path / "log").read_text() == "-version\n"


@pytest.mark.parametrize("shown", ['openjdk version "17.0.15" 2025-04-15', 'openjdk version "21" 2023-09-19'])
def test_a_fitting_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str) -> None:
    fake_java(tmp_path, shown)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check_java()


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    code, message, hint = refusal(check_java)
    assert (code, message) == ("E632", "Spark needs Java, and there is none on the PATH or in JAVA_HOME")
    assert hint.startswith("install Java 17 or later")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert refusal(check_java)[:2] == (
        "E632",
        f"Spark needs Java, but JAVA_HOME is {tmp_path / 'jdk'}, where there is no bin/java",
    )


@pytest.mark.parametrize("version", ["3.5.1", "4.4.0", "4.30.0", "5.0.0"])
def test_a_foreign_pyspark(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    fake_pyspark(monkeypatch, version)
    code, message, hint = refusal(session)
    assert code == "E631"
    assert message == f"PySpark {version} is not of the series 4.0 to 4.3, which etalis is made for"
    assert hint == "install it with etalis: pip install 'etalis[spark]'"
    assert refusal(lambda: SparkProgram(None, None))[0] == "E631"  # type: ignore[arg-type]


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert refusal(session)[:2] == ("E630", "PySpark is not installed")


def test_no_java_for_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_pyspark(monkeypatch, "4.3.0")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal(session)[0] == "E632"


def test_a_pipeline_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command checks, says one sentence, and starts nothing."""
    fake_pyspark(monkeypatch, "4.3.0")
    fake_java(tmp_path, 'openjdk version "11.0.2" 2019-01-15')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (tmp_path / "p.etalis").write_text("d(X) <- a(X).")
    sections = '[[source]]\nformat = "csv"\npath = "in.csv"\ntime = "ts"\n[[sink]]\nformat = "console"\n'
    (tmp_path / "p.toml").write_text(f'[program]\nfiles = "p.etalis"\n{sections}')
    (tmp_path / "in.csv").write_text("x,ts\n1,1\n")
    result = CliRunner().invoke(app, ["pipeline", "run", str(tmp_path / "p.toml")])
    assert (result.exit_code, result.stdout) == (ExitCode.INPUT, "")
    assert result.stderr.splitlines()[0] == (
        f"error E633: Java 11.0.2 ({tmp_path}/bin/java) is too old, Spark needs 17 or later"
    )
    assert (tmp_path / "log").read_text() == "-version\n"


def test_another_spark_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_pyspark(monkeypatch, "4.3.0")
    check_pyspark()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert refusal(check_pyspark)[:2] == ("E631", f"SPARK_HOME is {tmp_path}, where there is no Spark")
    (tmp_path / "jars").mkdir()
    jar = tmp_path / "jars" / "spark-core_2.12-3.5.1.jar"
    jar.touch()
    assert refusal(check_pyspark)[1].startswith(f"SPARK_HOME is {tmp_path}, and Spark 3.5.1 is not of the series 4.0")
    jar.rename(tmp_path / "jars" / "spark-core_2.13-4.3.1.jar")
    check_pyspark()


def test_options_of_a_local_session() -> None:
    options = local_options(3, "2g")
    assert options["spark.sql.shuffle.partitions"] == "3"
    assert options["spark.driver.memory"] == "2g"
    assert options["spark.sql.session.timeZone"] == "UTC"


@pytest.mark.parametrize("version", ["4.0.0", "4.1.4", "4.2.0", "4.3.0"])
def test_every_series_from_4_0_on(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    fake_pyspark(monkeypatch, version)
    check_pyspark()


def test_sources_of_python_need_4_2(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_pyspark(monkeypatch, "4.1.0")
    monkeypatch.setattr("etalis.spark.spark_versions.find_spec", lambda _: None)
    assert refusal(lambda: check_sources("refreshed knowledge"))[:2] == (
        "E631",
        "refreshed knowledge needs Spark 4.2 or later, this is 4.1.0",
    )


@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 64])
def test_each_partition_has_a_key(partitions: int) -> None:
    assert [hash_integer(key) % partitions for key in keys_of_partitions(partitions)] == list(range(partitions))
