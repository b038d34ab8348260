"""Whatever stands in a file of events, reading ends in rows, bad ones and an InputError that say where."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.errors import InputError
from etalis.formats import Bad, Item, Reading, Row
from etalis.formats.comma_separated import read_csv
from etalis.formats.event_files import read_event_file
from etalis.formats.json_lines import read_json_lines

READING = Reading(schema={"a": (("x", "int"), ("y", "float")), "b": (("s", "string"), ("t", "time"), ("u", "term"))})
Read = Callable[[list[str], str, Reading], Iterator[Item]]

PIECES = {
    read_json_lines: [
        *('{"', '"', '"event":', '"a"', '"b"', '"at":', '"args":', "[", "]", "{", "}", ",", ":", "1", "-0.5", "1e999"),
        *("null", "true", "NaN", '"x":', '"name":', '"start":1,"end":0', "\\ud800", "\n", '["a",1,2]\n', "9" * 5000),
    ],
    read_csv: [
        *(
            "event,at,x,y\n",
            "event,start,end,s,t,u\n",
            "type,ts,c\n",
            "a,1,2,3\n",
            "b,1,2,s,5,f(x)\n",
            '"',
            ",",
            "\n",
            "\r",
        ),
        *("1970-01-01", "inf", "nan", "1_0", "é", "\0", "f(", "X", "1e400", "9" * 5000),
    ],
    read_event_file: [
        *(
            "event(",
            "a",
            "b(1)",
            ")",
            ").\n",
            ", [",
            "1, 2",
            "]",
            "sleep(",
            "2",
            "-1",
            "X",
            "f(x)",
            "datime(1970,1,1,0,0,0,1)",
        ),
        *("datetime(9999,13,1,0,0,0)", "'", '"', "%", "/*", "*/", ". ", "1.0e300", ":- ", "<-", "\n"),
    ],
}


@pytest.mark.parametrize("read", PIECES, ids=lambda read: read.__name__)
@given(data=st.data())
def test_reading_ends_in_rows_or_in_a_refusal(read: Read, data: st.DataObject) -> None:
    pieces = st.lists(st.sampled_from(PIECES[read]) | st.text(max_size=3), max_size=25)
    text = "".join(data.draw(pieces))
    items, refusal = attempt(read, text)
    assert all(item.event.start_time <= item.event.end_time for item in items if isinstance(item, Row))
    refused = [str(item.problem) for item in items if isinstance(item, Bad)] + ([] if refusal is None else [refusal])
    assert all("fuzz" in text or "value:" in text for text in refused)


def attempt(read: Read, text: str) -> tuple[list[Item], str | None]:
    """Return the rows of a text and the refusal, if any, that ended them."""
    items: list[Item] = []
    try:
        items.extend(read(text.splitlines(keepends=True), "fuzz", READING))
    except InputError as error:
        return items, str(error)
    return items, None
