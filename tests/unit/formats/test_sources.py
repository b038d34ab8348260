"""Sources: the events of each format, and what is said of a row that cannot be read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import etalis
from etalis.data.values import Struct
from etalis.errors import InputError
from etalis.formats import Bad, Pause, Reading, Row, feed, in_order, raise_bad, read
from etalis.formats.comma_separated import MOST_LINES
from etalis.formats.row import reading_of
from etalis.temporal.event import Event

SCHEMA = {
    "withdrawal": (("card", "string"), ("amount", "float")),
    "door": (("id", "int"), ("open", "bool"), ("since", "time"), ("note", "term")),
}


def events(path: Path, text: str | None = None, **reading: object) -> list[str]:
    """Return the events of a file as text, after writing the file."""
    if text is not None:
        path.write_text(text, encoding="utf-8")
    found = []
    for item in read(path, Reading(schema=SCHEMA, **reading)):  # type: ignore[arg-type]
        match item:
            case Row(event):
                found.append(str(event))
            case Pause(to):
                found.append(f"pause {to}")
            case Bad(place, problem):
                found.append(f"bad {place.line} {problem.code}")
    return found


def refusal(path: Path, text: str, **reading: object) -> str:
    """Return the one thing that is wrong with a file: with a row of it, or with all of it."""
    path.write_text(text, encoding="utf-8")
    return wrong(path, **reading).replace(str(path), path.name)


def wrong(path: Path, **reading: object) -> str:
    try:
        (bad,) = [x for x in read(path, Reading(schema=SCHEMA, **reading)) if isinstance(x, Bad)]  # type: ignore[arg-type]
    except InputError as error:
        return str(error)
    return str(bad.problem)


def test_json_lines_take_named_positional_and_bare_rows(tmp_path: Path) -> None:
    text = """
        {"event": "withdrawal", "at": 1, "amount": 2.5, "card": "c1"}
        {"event": "a", "start": 1, "end": 2.5, "args": [1, "x y", [true, null], {"name": "f", "args": [1.0]}]}
        ["b", 7, "1970-01-01T00:00:03+00:00"]
        {"type": "c", "ts": 4}
    """
    assert events(tmp_path / "e.jsonl", text) == [
        "withdrawal(c1, 2.5) [1, 1]",
        "a(1, 'x y', [true,null], f(1.0)) [1, 2.5]",
        "b(7) [3, 3]",
        "c [4, 4]",
    ]


def test_what_to_json_writes_reads_back(tmp_path: Path) -> None:
    event = Event.make("a", (1, 2.5, "x", ("y", 2), Struct("f", ["z"])), 1, 2)
    assert events(tmp_path / "e.jsonl", event.to_json()) == [str(event)]


@pytest.mark.parametrize(
    ("line", "code", "fragment"),
    [
        ("{", "E402", "not JSON"),
        ("[" * 100_000, "E402", "nested too deep"),
        ('{"event": "a", "at": 1, "args": [NaN]}', "E402", "NaN is not a value"),
        ('{"event": "a", "event": "b", "at": 1}', "E402", "'event' occurs twice"),
        ("7", "E402", "expected an object"),
        ('{"at": 1}', "E403", "names no event"),
        ('{"event": 3, "at": 1}', "E403", "expected the event's name, found 3"),
        ('["a"]', "E403", "expected [name, attribute, ..., time]"),
        ('{"event": "a"}', "E404", "no time"),
        ('{"event": "a", "at": "soon"}', "E404", "at: expected a time, found 'soon'"),
        ('{"event": "a", "at": true}', "E404", "expected a time"),
        ('{"event": "a", "start": 2, "end": 1}', "E404", "ends before it starts"),
        ('{"event": "a", "at": 1, "x": 1}', "E406", "a is not declared"),
        ('{"event": "withdrawal", "at": 1, "card": "c", "amount": "2"}', "E305", "amount should be of type float"),
        (
            '{"event": "door", "at": 1, "id": 1, "open": true, "since": "x", "note": 1}',
            "E405",
            "expected a time, found 'x'",
        ),
        ('{"event": "withdrawal", "at": 1, "card": "c"}', "E406", "attribute amount of withdrawal is missing"),
        ('{"event": "withdrawal", "at": 1, "card": "c", "amont": 1}', "E406", "did you mean amount?"),
    ],
)
def test_json_lines_refuse(tmp_path: Path, line: str, code: str, fragment: str) -> None:
    text = refusal(tmp_path / "e.jsonl", '\n["ok", 0]\n' + line + "\n")
    assert text.startswith("e.jsonl:3:")
    assert code in text
    assert fragment in text


def test_csv_by_name_by_position_and_undeclared(tmp_path: Path) -> None:
    by_name = "event,at,amount,card\nwithdrawal,1.5,20,c1\nother,2,x,\nother,3,,7\n\nother,4,,\n"
    assert events(tmp_path / "e.csv", by_name) == [
        "withdrawal(c1, 20.0) [1.5, 1.5]",
        "other(x) [2, 2]",
        "other(null, 7) [3, 3]",
        "other [4, 4]",
    ]
    assert events(tmp_path / "p.tsv", "type\tts\tx\ty\nwithdrawal\t1\tc1\t20\n") == ["withdrawal(c1, 20.0) [1, 1]"]


def test_csv_types_and_empty_cells(tmp_path: Path) -> None:
    text = 'event,start,end,id,open,since,note\ndoor,1,2,7,yes,1970-01-01T00:01:00Z,"f(x, [1])"\ndoor,1,2,,,,\n'
    assert events(tmp_path / "e.csv", text) == [
        "door(7, true, 60, f(x,[1])) [1, 2]",
        "door(null, null, null, null) [1, 2]",
    ]


def test_csv_refuses_with_the_cell_underlined(tmp_path: Path) -> None:
    text = refusal(tmp_path / "e.csv", 'event,at,card,amount\nwithdrawal,1,"a, b",20\nwithdrawal,2,c2,2O\n')
    assert text.splitlines() == [
        "e.csv:3:17: error E405: amount: expected a number, found '2O'",
        "    3 | withdrawal,2,c2,2O",
        "                        ^^",
        "  hint: amount is declared float",
    ]


@pytest.mark.parametrize(
    ("text", "place", "fragment"),
    [
        ("", "e.csv", "the file is empty"),
        ("at,x\n1,2\n", "e.csv", "no column names the event"),
        ("event,x\na,2\n", "e.csv", "no column of time"),
        ("event,at,x,x\na,1,2,3\n", "e.csv", "two columns are named 'x'"),
        ("event,at\na,1\na\n", "e.csv:3", "expected 2 cells, found 1"),
        ("event,at\n,1\n", "e.csv:2", "names no event"),
        ("event,at\na,\n", "e.csv:2", "at: expected a time, found nothing"),
        ('event,at\na,"1\n', "e.csv:2", "not CSV"),
        ("event,at,card\nwithdrawal,1,c\n", "e.csv:2", "no column for amount of withdrawal"),
        ("event,at,x\nwithdrawal,1,c\n", "e.csv:2", "no column for card, amount of withdrawal"),
    ],
)
def test_csv_refuses(tmp_path: Path, text: str, place: str, fragment: str) -> None:
    shown = refusal(tmp_path / "e.csv", text)
    assert place in shown
    assert fragment in shown


def test_event_and_time_can_be_given(tmp_path: Path) -> None:
    text = "moment,card,amount\n1500,c1,2\n"
    expected = ["withdrawal(c1, 2.0) [1.5, 1.5]"]
    assert events(tmp_path / "e.csv", text, event="withdrawal", time="moment", unit="ms") == expected
    assert refusal(tmp_path / "e.csv", text, unit="h").startswith("error E407: unknown unit of time 'h'")


def test_columns(tmp_path: Path) -> None:
    moments = [datetime(1970, 1, 1, 0, 0, second, tzinfo=UTC) for second in (1, 2)]
    table = pa.table({"event": ["withdrawal", "a"], "ts": moments, "card": ["c1", "x"], "amount": [2.5, None]})
    pyarrow.parquet.write_table(table, tmp_path / "e.parquet")
    pyarrow.feather.write_feather(table, str(tmp_path / "e.arrow"))
    expected = ["withdrawal(c1, 2.5) [1, 1]", "a(x) [2, 2]"]
    assert events(tmp_path / "e.parquet") == events(tmp_path / "e.arrow") == expected


def test_columns_refuse_with_the_row(tmp_path: Path) -> None:
    table = pa.table({"event": ["a", "a"], "at": [1, 2], "x": [1.0, float("nan")]})
    pyarrow.parquet.write_table(table, tmp_path / "e.parquet")
    assert "e.parquet, row 2: x: NaN is not a value" in wrong(tmp_path / "e.parquet")
    table = pa.table({"event": ["withdrawal"], "at": [1], "card": ["c"], "amount": ["2"]})
    pyarrow.parquet.write_table(table, tmp_path / "g.parquet")
    assert "g.parquet, row 1: withdrawal: amount should be of type float" in wrong(tmp_path / "g.parquet")
    assert "not a Parquet file" in refusal(tmp_path / "f.parquet", "no")
    assert "not an Arrow file" in refusal(tmp_path / "f.arrow", "no")


def test_nanoseconds_are_rounded(tmp_path: Path) -> None:
    table = pa.table({"event": ["a"], "at": pa.array([1_500], pa.timestamp("ns"))})
    pyarrow.parquet.write_table(table, tmp_path / "e.parquet")
    assert events(tmp_path / "e.parquet") == ["a [2e-06, 2e-06]"]


def test_event_files_stamp_what_has_no_stamp(tmp_path: Path) -> None:
    text = """
        event(a(1)).
        event('My event'(f(x), "s", -1.5)).  /* as it comes */
        sleep(2).
        event(b).
        event(c, [10, 11.5]).
        event(d, [datime(1970,1,1,0,1,0,1), datetime(1970,1,1,0,2,0)]).
        event(e).
    """
    assert events(tmp_path / "e.events", text) == [
        "a(1) [0, 0]",
        "'My event'(f(x), s, -1.5) [0.001, 0.001]",
        "pause 2000999",
        "b [2.001, 2.001]",
        "c [10, 11.5]",
        "d [60.000001, 120]",
        "e [120.001, 120.001]",
    ]


@pytest.mark.parametrize(
    ("clause", "fragment"),
    [
        ("event(X).", "expected an event"),
        ("event(a, [X, 2]).", "variable"),
        ("event(7).", "expected an event"),
        ("event(a, [2]).", "expected [start, end]"),
        ("event(a, [2, 1]).", "ends before it starts"),
        ("event(a, [x, y]).", "expected a time, found x"),
        ("sleep(-1).", "expected a number of seconds"),
        ("sleep(x).", "expected a number of seconds"),
        ("stop.", "expected event(...)"),
        ("event(a) :- true.", "expected event(...)"),
        ("event(a", ""),
    ],
)
def test_event_files_refuse(tmp_path: Path, clause: str, fragment: str) -> None:
    text = refusal(tmp_path / "e.events", "event(ok).\n" + clause + "\n")
    assert text.startswith("e.events:2:")
    assert fragment in text


def test_event_files_count_time_by_sleep_alone(tmp_path: Path) -> None:
    text = "event(a). sleep(2). event(b). event(c). sleep(0). event(d). sleep(0.5). event(e, [1, 2]). event(f)."
    assert events(tmp_path / "e.stream", text) == [
        "a [0, 0]",
        "pause 1999999",
        "b [2, 2]",
        "c [2.001, 2.001]",
        "pause 2001000",
        "d [2.002, 2.002]",
        "pause 2501999",
        "e [1, 2]",
        "f [2.502, 2.502]",
    ]


def test_event_files_end_with_halt(tmp_path: Path) -> None:
    assert events(tmp_path / "e.stream", "event(a).\nhalt.\nevent(b).\nno clause") == ["a [0, 0]"]


def test_variables_in_event_files_are_null_and_noted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = "event(a(1, X, f(_))).\nevent(a(2, X, f(_)))."
    assert events(tmp_path / "e.stream", text) == ["a(1, null, f(null)) [0, 0]", "a(2, null, f(null)) [0.001, 0.001]"]
    assert caplog.messages == ["a has no value for X, _: null; quote a name that begins with a capital"]


def test_text_in_other_encodings(tmp_path: Path) -> None:
    for name, text in (("e.stream", "event('caf\u00e9')."), ("e.csv", "event,at\ncaf\u00e9,0\n")):
        path = tmp_path / name
        for encoding in ("utf-8-sig", "utf-16", "utf-32"):
            path.write_text(text, encoding=encoding)
            assert events(path) == ["caf\u00e9 [0, 0]"], (name, encoding)
        path.write_text(text, encoding="latin-1")
        assert events(path, encoding="latin-1") == ["caf\u00e9 [0, 0]"]
        shown = wrong(path)
        assert "not UTF-8 text: byte 0xe9" in shown
        assert "--encoding latin-1" in shown
    assert wrong(tmp_path / "e.stream").startswith(f"{tmp_path / 'e.stream'}:1:11: error E402")
    with pytest.raises(InputError, match="unknown encoding 'klingon'"):
        events(path, encoding="klingon")


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="E401: cannot read"):
        events(tmp_path / "none.csv")
    with pytest.raises(InputError, match="E401: cannot read"):
        events(tmp_path / "none.parquet")
    with pytest.raises(InputError, match=r"E407: .*no known format ends in '\.xls'"):
        events(tmp_path / "e.xls", "x")
    for name in ("e.events", "h.csv"):
        (tmp_path / name).write_bytes(b"event(a).\n'\xff',1\n" if name == "e.events" else b"event,at,\xff\na,1,2\n")
        with pytest.raises(InputError, match="not UTF-8 text: byte 0xff"):
            events(tmp_path / name)
    with pytest.raises(InputError, match="did you mean csv"):
        read("e.x", format="csvv")


def test_rows_that_end_together_come_by_start(tmp_path: Path) -> None:
    """Shows definition 6.3."""
    text = '["i", 1]\n{"event": "b", "start": 1, "end": 2}\n{"event": "a", "start": 0, "end": 2}\n["c", 2]\n'
    (tmp_path / "e.jsonl").write_text(text)
    ordered = [item.event.name for item in in_order(read(tmp_path / "e.jsonl")) if not isinstance(item, Pause)]
    assert ordered == ["i", "a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("e.jsonl", '["a", 1]\n{\n\n["b"]\n["c", 3]\n', ["a [1, 1]", "bad 2 E402", "bad 4 E403", "c [3, 3]"]),
        (
            "e.csv",
            "event,at,card,amount\nwithdrawal,1,c,2O\na,2\nwithdrawal,3,c,20\n",
            ["bad 2 E405", "bad 3 E406", "withdrawal(c, 20.0) [3, 3]"],
        ),
        (
            "e.events",
            "event(a).\nstop.\nevent(7).\nevent(c,, ).\nevent(d).\n",
            ["a [0, 0]", "bad 2 E408", "bad 3 E408", "bad 4 E108", "d [0.001, 0.001]"],
        ),
    ],
)
def test_reading_goes_on_behind_what_cannot_be_read(tmp_path: Path, name: str, text: str, expected: list[str]) -> None:
    assert events(tmp_path / name, text) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ('a,1,"x\ny"\nb,2,z\n', ["a('x\\ny') [1, 1]", "b(z) [2, 2]"]),  # quotes that fit
        ('a,1,"x\nb,2,y\nc,3,z\n', ["bad 2 E402", "b(y) [2, 2]", "c(z) [3, 3]"]),  # never closed
        ('a,1,"x\nb,2,"y"\nc,3,z\n', ["bad 2 E402", "b(y) [2, 2]", "c(z) [3, 3]"]),  # closed by another one
        ('a,"1\nb,2,y\nc,3",z,z\nd,4,z\n', ["bad 2 E402", "b(y) [2, 2]", "bad 4 E406", "d(z) [4, 4]"]),  # cells
    ],
)
def test_a_broken_quote_costs_one_line(tmp_path: Path, rows: str, expected: list[str]) -> None:
    assert events(tmp_path / "e.csv", "event,at,x\n" + rows) == expected


def test_a_broken_quote_swallows_no_more_than_a_record_may_have(tmp_path: Path) -> None:
    rows = "".join(f"b,{i},y\n" for i in range(2, MOST_LINES + 1))
    found = events(tmp_path / "e.csv", f'event,at,x\na,1,"x\n{rows}c,{MOST_LINES + 1},"\n')
    assert found[:2] == ["bad 2 E402", "b(y) [2, 2]"]
    assert len(found) == MOST_LINES + 1


def test_a_line_that_is_not_utf8_is_bad_by_itself(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes(b"event,at\n\xff\xc3\xa9,1\na,2\n")
    assert events(tmp_path / "e.csv") == ["bad 2 E402", "a [2, 2]"]
    assert "not UTF-8 text: byte 0xff" in wrong(tmp_path / "e.csv")
    assert "    2 | \\xffé,1" in wrong(tmp_path / "e.csv")


SURPLUS = {
    "e.jsonl": """
        {"event": "withdrawal", "at": 1, "card": "c1", "amount": 2, "region": "eu"}
        {"event": "withdrawal", "at": 2, "region": "us", "card": "c2", "amount": 3}
    """,
    "e.csv": "event,at,region,card,amount\nwithdrawal,1,eu,c1,2\nwithdrawal,2,us,c2,3\n",
}


@pytest.mark.parametrize("name", SURPLUS)
def test_fields_that_an_event_does_not_declare_are_ignored_and_noted_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    found = events(tmp_path / name, SURPLUS[name])
    assert found == ["withdrawal(c1, 2.0) [1, 1]", "withdrawal(c2, 3.0) [2, 2]"]
    assert [record.getMessage() for record in caplog.records] == ["withdrawal has no attribute region: ignored"]


IMPLIED = etalis.compile("two(C, A) <- w(card: C) seq w(card: C, amount: A).")


def implied(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    rows = raise_bad(read(path, reading_of(IMPLIED.compiled)))
    return [str(row.event) for row in rows if isinstance(row, Row)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.jsonl", '{"event": "w", "at": 1, "amount": 5, "region": "eu", "card": "007"}\n'),
        ("e.csv", "event,at,region,amount,card\nw,1,eu,5,007 James\n"),
        ("e.events", "event(w(amount: 5, card: '007'), [1, 1]).\n"),
    ],
)
def test_attributes_that_patterns_name_are_found_by_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, text: str
) -> None:
    (found,) = implied(tmp_path / name, text)
    assert found.startswith("w('007")
    assert found.endswith(", 5) [1, 1]")
    assert not caplog.records


def test_attributes_that_patterns_name_reach_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("event,at,region,amount,card\nw,1,eu,5,c1\nw,2.5,eu,7,c1\n", encoding="utf-8")
    rows = read(path, reading_of(IMPLIED.compiled))
    assert [str(event) for event in feed(IMPLIED.engine(), rows)] == ["two(c1, 7) [1, 2.5]"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.jsonl", '{"event": "w", "at": 1, "args": ["c1", 5]}\n'),
        ("e.jsonl", '["w", "c1", 5, 1]\n'),
        ("e.csv", "event,at,x,y\nw,1,c1,5\n"),
        ("e.events", "event(w(c1, 5), [1, 1]).\n"),
    ],
)
def test_attributes_that_patterns_name_have_no_order(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(InputError, match=r"have names and no order|no column for card, amount of w"):
        implied(tmp_path / name, text)
