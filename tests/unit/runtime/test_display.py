"""What a person sees of programs, engines and matches: in a line, and in a notebook."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import etalis
from etalis import Event, EventError, Retraction

NASTY = ["<script>alert('x')</script>", "a & b", '"', "\0", "\ud800", "é\U0001f600", "\x1b[31m", "\ufffe"]


def texts(html: str) -> str:
    html.encode()
    return "".join(ElementTree.fromstring(html).itertext())


def test_a_program_says_what_it_is() -> None:
    with pytest.warns(etalis.ProgramWarning):
        program = etalis.compile("d(X) <- a(X) seq b(X). e(X) <- d(X).")
    assert repr(program) == "<Program: 2 rules, reads a/1, b/1, derives d/1, e/1, 1 warning>"
    shown = texts(program._repr_html_())
    assert "2 rules, reads a/1, b/1" in shown
    assert "W209" in shown
    assert "<svg" in program._repr_html_()
    assert repr(etalis.compile("p(1).")) == "<Program: 0 rules>"
    assert "<svg" not in etalis.compile("")._repr_html_()


def test_an_engine_says_how_far_it_is() -> None:
    engine = etalis.compile("d(X) <- (a(X) seq b(X)) within 10.").engine()
    assert repr(engine) == "<Engine: no event yet, 0 waiting>"
    engine.push("a", 1, at=5)
    engine.push("a", 1, at=2)
    assert repr(engine) == "<Engine: at 5, 1 waiting, 1 dead letter>"
    assert "1 waiting" in texts(engine._repr_html_())
    assert "1 of a waits" in engine._repr_html_()
    engine.close()
    assert repr(engine).startswith("<Engine: closed")
    engine = etalis.compile("d(X) <- a(X).").engine()
    engine.push("a", 1, at="2026-03-02T09:01:00Z")
    assert repr(engine) == "<Engine: at 1772442060 (2026-03-02T09:01:00Z), 0 waiting>"


@pytest.mark.parametrize("text", NASTY)
def test_whatever_text_is_shown_as_text(text: str) -> None:
    event = Event(text, **{"x": text, "y<": 1}, at=0)
    shown = texts(event._repr_html_())
    assert "alert" not in shown or text in shown
    assert "y<" in shown
    texts(Retraction.of(event)._repr_html_())
    if text == "\ud800":  # no program can hold it
        return
    quoted = etalis.data.values.format_atom(text)
    program = etalis.compile(f"d({quoted}) <- (a(X) seq b(X)) within 10 where X = {quoted}.")
    texts(program._repr_html_())


def test_the_end_of_a_block_is_the_end_of_the_stream() -> None:
    found: list[str] = []
    program = etalis.compile("late(X) <- a(X) seq (not b(X) within 60).")
    with program.engine() as engine:
        engine.on("late", lambda match: found.append(str(match)))
        engine.push("a", 1, at=0)
    assert found == ["late(1) [0, 60]"]
    with pytest.raises(EventError, match="after the end of the stream"):
        engine.push("a", 2, at=100)


def test_a_stream_that_breaks_off_has_not_ended() -> None:
    found: list[str] = []
    program = etalis.compile("late(X) <- a(X) seq (not b(X) within 60).")
    engine = program.engine()
    with pytest.raises(ZeroDivisionError), engine:  # noqa: PT012  the block is what is tested
        engine.on("late", lambda match: found.append(str(match)))
        engine.push("a", 1, at=0)
        1 / 0  # noqa: B018
    assert found == []
    assert engine.push("b", 1, at=30) == ()
    with engine:
        assert engine.close() == ()
