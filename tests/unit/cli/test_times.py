"""Dates come out where dates came in, numbers where numbers did, and what is written is read back as the same times."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from etalis.cli import app
from etalis.formats import Row, read, write
from etalis.formats.seen import Seen
from etalis.formats.written import FORMS, TimeForm, text_of
from etalis.pictures.paint.terminal import paint_lines
from etalis.pictures.scenes.stream import draw_stream
from etalis.temporal.event import Event
from etalis.temporal.interval import EARLIEST, LATEST

RULES = ":- event(a(x: int)). d(X) <- a(X) seq b(X) within 10 min."
DATES = "event,at,x\na,2026-03-02T09:00:00Z,1\nb,2026-03-02T10:10:00.25+01:00,1\n"
NUMBERS = "event,at,x\na,0,1\nb,600,1\n"
MIXED = "event,at,x\na,1772442000,1\nb,2026-03-02T09:10:00Z,1\n"
SHOWN = "d(1) [2026-03-02T09:00:00Z, 2026-03-02T09:10:00.250000Z]"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.etalis"
    path.write_text(RULES.replace("10 min", "20 min"))
    return path


def call(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def events(tmp_path: Path, text: str, name: str = "e.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "options", "shown"),
    [
        (DATES, [], SHOWN),
        (NUMBERS, [], "d(1) [0, 600]"),
        (MIXED, [], "d(1) [2026-03-02T09:00:00Z, 2026-03-02T09:10:00Z]"),
        (DATES, ["--times", "seconds"], "d(1) [1772442000, 1772442600.25]"),
        (NUMBERS, ["--times", "iso"], "d(1) [1970-01-01T00:00:00Z, 1970-01-01T00:10:00Z]"),
    ],
)
def test_text(text: str, options: list[str], shown: str, program: Path, tmp_path: Path) -> None:
    found = call("run", program, events(tmp_path, text), *options)
    assert found.stdout.splitlines() == [shown]
    as_json = json.loads(call("run", program, events(tmp_path, text), "--output", "json", *options).stdout)
    start, end = shown.removeprefix("d(1) [").removesuffix("]").split(", ")
    assert [str(as_json["start"]), str(as_json["end"])] == [start, end]
    table = call("run", program, events(tmp_path, text), "--output", "table", *options).stdout.splitlines()
    assert table[1].split()[2:4] == [start, end]


@pytest.mark.parametrize(
    "stdin",
    [
        '["a", 1, "2026-03-02T09:00:00Z"]\n["b", 1, "2026-03-02T09:10:00.25Z"]\n',
        '{"event": "a", "x": 1, "at": "2026-03-02"}\n{"event": "b", "x": 1, "at": "2026-03-02T00:00:01"}\n',
    ],
)
def test_json_lines(stdin: str, program: Path) -> None:
    assert call("run", program, "-", stdin=stdin).stdout.startswith("d(1) [2026-03-02T0")


def test_time_stamps_of_parquet(program: Path, tmp_path: Path) -> None:
    moments = pd.to_datetime(["2026-03-02T09:00:00.00", "2026-03-02T09:10:00.25"])
    pd.DataFrame({"event": ["a", "b"], "at": moments, "x": [1, 1]}).to_parquet(tmp_path / "e.parquet")
    assert call("run", program, tmp_path / "e.parquet").stdout.splitlines() == [SHOWN]


def test_calendars_of_event_files(program: Path, tmp_path: Path) -> None:
    text = "event(a(1), [datetime(2026,3,2,9,0,0), datetime(2026,3,2,9,0,0)])."
    text += " event(b(1), [datime(2026,3,2,9,10,0,250000), datetime(2026,3,2,9,10,0.25)])."
    assert call("run", program, events(tmp_path, text, "e.events")).stdout.splitlines() == [SHOWN]
    text = "event(a(1), [0, 0]). event(b(1), [600, 600])."
    assert call("run", program, events(tmp_path, text, "e.events")).stdout.splitlines() == ["d(1) [0, 600]"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "events", "parquet", "feather"])
@pytest.mark.parametrize("text", [DATES, NUMBERS], ids=["dates", "numbers"])
def test_what_is_stored_is_the_input_of_the_next_run(ending: str, text: str, program: Path, tmp_path: Path) -> None:
    shown = call("run", program, events(tmp_path, text)).stdout
    assert call("run", program, events(tmp_path, text), "--to", tmp_path / f"d.{ending}").exit_code == 0
    again = tmp_path / "again.etalis"
    again.write_text("e(X) <- d(X).")
    assert call("run", again, tmp_path / f"d.{ending}").stdout == shown.replace("d(", "e(")


def test_numbers_are_stored_as_numbers(program: Path, tmp_path: Path) -> None:
    for text, kind in (
        (DATES, "timestamp[us, tz=UTC]"),
        (NUMBERS, "int64"),
        (NUMBERS.replace("600", "600.5"), "double"),
    ):
        call("run", program, events(tmp_path, text), "--to", tmp_path / "d.parquet")
        assert str(pq.read_schema(tmp_path / "d.parquet").field("end").type) == kind


MOMENTS = (EARLIEST, -1, 0, 1, 1_772_442_600_250_000, 1_772_442_600_123_457, LATEST)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "feather", "events"])
@pytest.mark.parametrize("asked", FORMS)
def test_every_moment_is_read_back_exactly(ending: str, asked: str, tmp_path: Path) -> None:
    kept = MOMENTS[:-1] if (ending, asked) == ("jsonl", "seconds") else MOMENTS  # no float is so exact
    made = [Event.make("d", (1,), moment, moment) for moment in kept]
    write(made, tmp_path / f"d.{ending}", times=TimeForm(Seen(), asked))
    assert [item.event for item in read(tmp_path / f"d.{ending}") if isinstance(item, Row)] == made


def test_a_moment_after_the_last_year_is_a_number() -> None:
    late = Event.make("d", (), LATEST, LATEST + 1)
    assert text_of(late, TimeForm(Seen(), "iso")) == str(late)


def test_dates_are_known_to_the_next_run(tmp_path: Path) -> None:
    program = tmp_path / "p.etalis"
    program.write_text("late(X) <- a(X) seq (not b(X) within 1 h).")
    state = tmp_path / "state"
    assert call("run", program, events(tmp_path, DATES.replace("\nb", "\nc")), "--state", state).stdout == ""
    nothing = events(tmp_path, "event,at,x\n", "none.csv")
    found = call("run", program, nothing, "--state", state, "--close")
    assert found.stdout.splitlines() == ["late(1) [2026-03-02T09:00:00Z, 2026-03-02T10:00:00Z]"]


def test_the_times_of_a_clock_are_dates(tmp_path: Path) -> None:
    program = tmp_path / "p.etalis"
    program.write_text("d(X) <- a(X).")
    found = call("run", program, "-", "--clock", "wall", stdin='{"event": "a", "args": [1]}\n')
    assert found.stdout.startswith("d(1) [20")
    assert found.stdout.count("Z") == 2


def test_dead_letters_have_dates(program: Path, tmp_path: Path) -> None:
    path = events(tmp_path, DATES + "a,2026-03-02T08:00:00Z,1\n")
    call("run", program, path, "--dead-letters", tmp_path / "letters.jsonl")
    (letter,) = map(json.loads, (tmp_path / "letters.jsonl").read_text().splitlines())
    assert (letter["start"], letter["end"]) == ("2026-03-02T08:00:00Z", "2026-03-02T08:00:00Z")


def test_compare(program: Path, tmp_path: Path) -> None:
    none = tmp_path / "none.etalis"
    none.write_text(":- event(a(x: int)). e(X) <- a(X) seq a(X) within 10 min.")
    path = events(tmp_path, DATES)
    assert call("compare", none, program, path).stdout.splitlines() == [f"gained {SHOWN}"]
    record = json.loads(call("compare", none, program, path, "--json").stdout)
    assert (record["change"], record["end"]) == ("gained", "2026-03-02T09:10:00.250000Z")
    assert "1772442600.25" in call("compare", none, program, path, "--times", "seconds").stdout


def test_a_time_line_of_dates() -> None:
    one = [Event.make("a", (), 0, 3_600_000_000)]
    assert paint_lines(draw_stream(one, [], dates=True))[0].text.startswith("1970-01-01 UTC │ 00:00")
    assert paint_lines(draw_stream(one, []))[0].text.startswith("seconds")
    late = [Event.make("a", (), 1_772_442_600_000_000, 1_772_442_600_250_000)]
    assert paint_lines(draw_stream(late, []))[0].text.startswith("2026-03-02 UTC")
    assert paint_lines(draw_stream(late, [], dates=False))[0].text.startswith("seconds")


def test_no_other_form(program: Path, tmp_path: Path) -> None:
    found = call("run", program, events(tmp_path, DATES), "--times", "local")
    assert found.exit_code == 2
    assert "'local' is not one of iso, seconds" in found.stderr


def test_messages_about_times_have_dates(program: Path, tmp_path: Path) -> None:
    found = call("run", program, events(tmp_path, DATES + "a,2026-03-02T08:00:00Z,1\n"))
    said = (
        "it ends at 1772438400 (2026-03-02T08:00:00Z), but time has reached 1772442600.25 (2026-03-02T09:10:00.250000Z)"
    )
    assert said in found.stderr


def test_detect_writes_dates_as_run_does(program: Path, tmp_path: Path) -> None:
    path = events(tmp_path, DATES.replace("10:10:00.25+01:00", "09:10:00.25Z"))
    by_columns, by_events = (call(*way, program, path).stdout for way in (("detect",), ("run", "--output", "json")))
    times = [{key: json.loads(text)[key] for key in ("start", "end")} for text in (by_columns, by_events)]
    assert times[0] == times[1] == {"start": "2026-03-02T09:00:00Z", "end": "2026-03-02T09:10:00.250000Z"}
