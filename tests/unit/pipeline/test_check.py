"""`etalis pipeline check`: all that is wrong, at once, with places; no Java and no pyspark take part."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import etalis
from etalis.cli import ExitCode, app
from etalis.errors import InputError
from etalis.pipeline import check_pipeline, read_pipeline

PROGRAM = """:- event(withdrawal(card: string, city: string, amount: float)).
two rule: fraud(Card) <- (withdrawal(Card, A, _) seq withdrawal(Card, B, _)) within 600 where (A \\= B, \\+ near(A, B)).
block(Card) <- (fraud(Card) seq fraud(Card)) within 3600 where \\+ trusted(Card).
trusted(none).
"""
GOOD = """[program]
files = "fraud.etalis"
[[source]]
event = "withdrawal"
format = "csv"
path = "in"
time = "ts"
schema = "card string, city string, amount double, ts timestamp"
[[knowledge]]
name = "near"
path = "near.csv"
[[sink]]
format = "parquet"
path = "out"
event = "fraud"
"""
UNSAFE = (
    "more.etalis 1 E204: unsafe: X in the head has no value, nothing in the pattern binds it "
    "(use X in an event of the pattern, or give it a value with `where`)"
)
STREAM = GOOD + '[run]\ntrigger = "10 seconds"\ncheckpoint = "state"\nlateness = "5 minutes"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fraud.etalis").write_text(PROGRAM)
    (tmp_path / "near.csv").write_text("a,b\nbasel,weil\nweil,basel\n")
    (tmp_path / "new").mkdir()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("card,city,amount,ts\n")
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "p.toml"
    path.write_text(text)
    return path


def found(folder: Path, text: str) -> list[str]:
    """Return the problems of a pipeline as `line code: message`, with their hints."""
    path = write(folder, text)
    with pytest.raises(InputError) as caught:
        check_pipeline(path)
    shown = []
    for problem in caught.value.problems:
        span = problem.span
        line = "-" if span is None else str(span.source.place(span.start)[0])
        where = line if span is None or span.source.name == str(path) else f"{Path(span.source.name).name} {line}"
        hint = f" ({problem.hint})" if problem.hint else ""
        shown.append(f"{where} {problem.code}: {problem.message}{hint}".replace(f"{folder}/", ""))
    return shown


@pytest.mark.parametrize("text", [GOOD, STREAM], ids=["once", "stream"])
def test_nothing_is_wrong(folder: Path, text: str) -> None:
    checked = check_pipeline(write(folder, text))
    assert etalis.Program(checked.program).engine().query("near(basel, X)") == [{"X": "weil"}]
    assert (checked.warnings, checked.open_questions) == ((), ())
    assert read_pipeline(folder / "p.toml").sinks[0].keys["path"] == str(folder / "out")


@pytest.mark.parametrize("when", ["batch", "30 seconds"])
def test_refreshed_knowledge_comes_with_batches(folder: Path, when: str) -> None:
    """It is read and checked, and no warning says that nothing defines it; but a program that runs is told it later."""
    text = STREAM.replace('"near.csv"\n', f'"near.csv"\nrefreshed = "{when}"\n')
    checked = check_pipeline(write(folder, text))
    assert checked.warnings == ()
    assert not checked.program.knowledge.facts
    (folder / "near.csv").unlink()
    assert found(folder, text)[0].startswith("9 E401: cannot read")


def test_all_that_is_wrong_in_the_file_itself(folder: Path) -> None:
    text = (
        GOOD.replace('event = "fraud"', 'evnt = "fraud"\nmode = "overwite"')
        .replace('time = "ts"', "time = 5")
        .replace('files = "fraud.etalis"', 'files = ["fraud.etalis", "more.etalis"]\nflags = { logging = [1] }')
    )
    text = text.replace('format = "csv"\n', "") + "[runn]\nx = 1\n[metrics]\nport = true\n"
    (folder / "more.etalis").write_text("d(X) <- b.\n")
    assert found(folder, text) == [
        "3 E704: flags is a table of flags, not a table",
        "4 E703: [source] needs format (format is one of parquet, orc, json, csv, text, rate, socket, table, kafka)",
        "7 E704: time is a column, or two in a list: start and end, not 5",
        "15 E702: [sink] has no key evnt (did you mean event?)",
        "16 E704: mode is one of error, append, overwrite, not 'overwite' (did you mean overwrite?)",
        "17 E702: unknown section or key runn (did you mean run?)",
        "20 E704: port is the number of a port, not True",
        UNSAFE,
    ]


def test_what_is_missing(folder: Path) -> None:
    sections = ("[program]", "[[source]]", "[[sink]]")
    assert found(folder, "") == [f"- E703: p.toml: there is no {name}" for name in sections]
    assert found(folder, "[program]\n[[source]]\n[[sink]]\n")[0] == (
        "1 E703: [program] needs files (files is a path or a list of paths)"
    )


def test_files(folder: Path) -> None:
    (folder / "out").mkdir()
    text = GOOD.replace('"in"', '"inn"').replace("near.csv", "far.csv").replace("fraud.etalis", "fruad.etalis")
    assert found(folder, text) == [
        "2 E706: cannot read fruad.etalis: No such file or directory",
        "6 E706: there are no files at inn",
        "9 E401: cannot read far.csv: no such file (check the file's name)",
        '14 E706: out is there already (say mode = "append" or mode = "overwrite", or give another path)',
    ]
    (problem,) = found(folder, STREAM.replace('"in"', '"inn"'))
    assert problem.startswith("6 E706: there is no folder inn (a stream of files reads those that come into a folder")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('time = "ts"', 'time = "tss"', "7 E704: there is no column tss (did you mean ts?)"),
        (
            "ts timestamp",
            "ts boolean",
            "7 E704: the column ts of type boolean cannot be the time (convert it with select: to_timestamp(...)",
        ),
        (
            'event = "withdrawal"',
            'event_column = "x"',
            "4 E704: there is no column x (the columns are card, city, amount, ts)",
        ),
        (
            "city string",
            "town string",
            "3 E602: the DataFrame of withdrawal: no column for city of withdrawal (the columns for attributes are",
        ),
        ("amount double", "amount date", "3 E603: the column amount of type date cannot be float, as withdrawal"),
        ('event = "withdrawal"', 'event = "withdrawl"', "3 E604: no rule of the program reads the event withdrawl"),
        ("amount double", "amount dubble", "8 E704: schema: 'dubble' is no type of Spark; did you mean double?"),
        ('event = "fraud"', 'event = "fruad"', "12 E605: the program reports no event fruad (did you mean fraud?)"),
        ('format = "csv"', 'format = "table"', "5 E703: format table needs table"),
        ('format = "csv"', 'format = "table"\ntable = "t"', "7 E705: format table has no path (it takes table)"),
        ('format = "csv"', 'format = "csv"\nevent_column = "card"', "6 E705: event says that all rows are one event"),
    ],
)
def test_what_does_not_fit(folder: Path, old: str, new: str, problem: str) -> None:
    assert any(shown.startswith(problem) for shown in found(folder, GOOD.replace(old, new)))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (GOOD + '[run]\nlateness = "1 minute"\n', "17 E705: lateness is for streams, and this runs once"),
        (GOOD + "[run]\nallow_dropped = true\n", "17 E705: allow_dropped is for streams, and this runs once"),
        (GOOD + "[run]\nmax_rejected = 0\n", "17 E705: max_rejected needs [dead_letters] in a run once (say where"),
        (
            GOOD + '[dead_letters]\npath = "late"\n[run]\nmax_rejected = 0.1\n',
            "19 E705: a share of all rows is known of streams only (give a number of rows)",
        ),
        (
            STREAM + "max_rejected = 1.5\n",
            "20 E704: max_rejected is a number of rows, or a share of all such as 0.01, not",
        ),
        (STREAM + 'ahead = "soon"\n', '20 E704: ahead is seconds, a text such as "10 min", or "none", not'),
        (
            STREAM.replace("10 seconds", "available_now") + "clock = true\n",
            "20 E705: a clock has no end, and available_now",
        ),
        (GOOD + "[run]\nclock = true\n", "17 E705: clock is for streams, and this runs once"),
        (GOOD + '[run]\ntrigger = "often"\n', '17 E704: trigger is "once", "available_now", or a text such as'),
        (GOOD + '[run]\nlateness = "5 parsecs"\n', '17 E704: lateness is seconds, or a text such as "10 min"'),
        (STREAM.replace('checkpoint = "state"\n', ""), "16 E703: a stream needs a checkpoint (say where state is kept"),
        (STREAM.replace('event = "fraud"', 'mode = "overwrite"'), "15 E705: a stream appends, it overwrites nothing"),
        (
            STREAM.replace("schema", "# schema"),
            "3 E703: a stream of csv needs a schema (its columns must stay the same",
        ),
        (
            STREAM.replace("schema", "# schema").replace('"csv"\npath = "in"', '"parquet"\npath = "new"'),
            "3 E703: a stream from an empty folder needs a schema",
        ),
        (GOOD + '[spark]\nmaster = "local[2]"\ncores = 2\n', "18 E705: master says how many cores there are"),
        (GOOD + '[spark]\njars = "x.jar"\n', "17 E706: there is no file x.jar"),
        (GOOD + '[[sink]]\nformat = "csv"\npath = "out"\n', "16 E705: two sinks write to out (give each its own)"),
        (GOOD + '[[sink]]\nformat = "console"\nenvelope = true\n', "12 E705: some sinks have envelope = true"),
        (
            GOOD.replace('"near.csv"\n', '"near.csv"\nrefreshed = "batch"\n'),
            "12 E705: knowledge is refreshed in streams, and this runs once",
        ),
        (
            STREAM.replace('"near.csv"\n', '"near.csv"\nrefreshed = "often"\n'),
            '12 E704: refreshed is "start", "batch", or a text such as "30 seconds", not \'often\'',
        ),
        (
            STREAM.replace('"near.csv"\n', '"near.csv"\nrefreshed = "batch"\n') + 'reporting = "on_arrival"\n',
            "12 E705: matches reported on arrival cannot be revised",
        ),
        (GOOD + "x = = 1\n", "- E701: p.toml: not TOML: "),
    ],
)
def test_what_does_not_go_together(folder: Path, text: str, problem: str) -> None:
    assert found(folder, text)[0].startswith(problem)


def test_kafka_needs_a_client(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etalis.pipeline.connectors.kafka.find_spec", lambda name: None)
    text = GOOD.replace('format = "csv"\npath = "in"', 'format = "kafka"\nservers = "h:1"\ntopic = "t"')
    (problem,) = found(folder, text)
    assert problem.startswith("5 E707: Kafka needs a client, and none is installed (pip install 'etalis[kafka]', or")
    (folder / "spark-sql-kafka.jar").touch()
    check_pipeline(write(folder, text + '[spark]\njars = "spark-sql-kafka.jar"\n'))


def test_events_without_a_name(folder: Path) -> None:
    """The only event there is; else a column named event; else it must be said."""
    check_pipeline(write(folder, GOOD.replace('event = "withdrawal"\n', "")))
    (folder / "fraud.etalis").write_text(PROGRAM + ":- event(other(card: string)). d(X) <- other(X).")
    (problem,) = found(folder, GOOD.replace('event = "withdrawal"\n', ""))
    assert problem.startswith("3 E703: nothing says which event the rows are (say event = ")
    assert problem.endswith("the program is given withdrawal, other)")
    tagged = GOOD.replace('event = "withdrawal"\n', "").replace('"card string', '"type string, card string')
    check_pipeline(write(folder, tagged))


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["pipeline", *map(str, arguments)])


def test_command(folder: Path) -> None:
    path = write(folder, GOOD)
    result = call("check", path)
    assert (result.exit_code, result.stdout) == (ExitCode.OK, f"{path}: 1 source, 2 rules, 1 sink, 0 warnings\n")
    result = call("check", write(folder, GOOD.replace("schema", "# schema").replace('"csv"', '"json"')))
    assert result.stdout.startswith("note: the columns of source 1 are known when it runs\n")
    result = call("check", write(folder, GOOD.replace('time = "ts"', 'tim = "ts"')))
    assert result.exit_code == ExitCode.INPUT
    assert 'p.toml:7:1: error E702: [source] has no key tim\n    7 | tim = "ts"\n        ^' in result.stderr


def test_check_needs_no_spark(folder: Path) -> None:
    """Neither Java nor PySpark: a process that cannot import it checks as well."""
    program = (
        "import sys; sys.modules['pyspark'] = None; from etalis.pipeline import check_pipeline; "
        f"check_pipeline({str(write(folder, GOOD))!r}); print('checked')"
    )
    source = Path(__file__).parents[3] / "src"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env={"PYTHONPATH": str(source)}
    )
    assert done.stdout == "checked\n", done.stderr
