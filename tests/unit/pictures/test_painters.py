"""Painters keep the law that texts are data: any Unicode and markup, in every form."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

import etalis
from etalis.pictures.paint.page import write_json
from etalis.pictures.picture import Picture
from etalis.pictures.scene import Box, Diagram, Lane, LaneMark, SceneLink, Timeline
from helpers import explanations as ex
from helpers.drawn import check_dot, check_svg, check_timeline

NASTY = (
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "]]>", "&amp;&lt;", '"\'`', "\x00\x1b[31m",
    "\ud800", "\u202e\u2028\u2029", "語" * 60, "e\u0301" * 40, "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "a" * 5_000, "\r\n\t", "javascript:alert(1)", "--><!--", "\\l\\N\"];", "%s{}{0}${x}",
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.sampled_from(NASTY))


class _Reader(HTMLParser):
    """Reads a page as a browser does, and keeps its elements and the data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.data = ""
        self._in_data = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]
        self._in_data = ("id", "data") in attrs

    def handle_data(self, data: str) -> None:
        self.data += data if self._in_data else ""

    def handle_endtag(self, tag: str) -> None:
        self._in_data = False


def check_page(text: str) -> None:
    page = _Reader(text)
    assert page.tags.count("script") == 2
    assert not {"img", "iframe", "object", "link", "a", "form", "base", "image", "use"} & {*page.tags}
    assert page.handlers == []
    assert isinstance(json.loads(page.data), dict)
    assert re.search(r"https?://(?!www\.w3\.org/2000/svg)", text) is None, "a page loads nothing"
    text.encode("utf-8")


@given(TEXTS, TEXTS, TEXTS)
def test_any_text_stays_a_text_in_a_time_line(a: str, b: str, c: str) -> None:
    marks = [LaneMark(0, 0, 5, "received", b, (c,), why=(a,)), LaneMark(0, 1, None, "missing", a, (), (0,))]
    links = [SceneLink(0, 1, c, "absent")]
    scene = Timeline(a, False, [Lane(b, (c, a))], marks, links, [("received", b)], [c])
    check_timeline(Picture(scene).to_svg())
    check_page(Picture(scene).to_html())


@given(TEXTS, TEXTS, TEXTS, st.booleans())
def test_any_text_stays_a_text_in_a_diagram(a: str, b: str, c: str, is_derivation: bool) -> None:
    boxes = [Box("head", a, (b, c), (a,)), Box("event", b, (a,)), Box("nothing", c)]
    links = [SceneLink(1, 0, c, "match"), SceneLink(2, 0, a, "absent")]
    picture = Picture(Diagram(b, boxes, links, is_derivation, [c]))
    check_svg(picture.to_svg())
    check_dot(picture.to_dot())
    check_page(picture.to_html())


@pytest.mark.parametrize("text", NASTY[:4])
def test_names_and_values_of_a_program_stay_texts(text: str) -> None:
    quoted = "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    engine = etalis.compile(f"{quoted}(X) <- a(X) seq b(X).").engine(justification="full")
    engine.push("a", text, at=1)
    (found,) = engine.push("b", text, at=2)
    why = engine.justify(found)
    check_svg(why.to_svg())
    check_dot(why.to_dot())
    for page in (why.to_html(), engine.timeline().to_html(), engine.picture().to_html()):
        check_page(page)
    shown = "".join(ET.fromstring(engine.timeline().to_svg()).itertext())
    assert text in shown


@pytest.mark.parametrize("found", [ex.knowledge(), ex.several_causes()])
def test_a_page_is_whole_and_says_so(found: ex.j.Justification | ex.w.WhyNot) -> None:
    page = found.to_html()
    check_page(page)
    assert "default-src 'none'" in page
    assert "prefers-color-scheme:dark" in page


@given(st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=3)))
def test_data_in_a_page_hold_no_markup(value: object) -> None:
    written = write_json({"x": value})
    assert not set("<>&") & set(written)
    assert json.loads(written) == {"x": value}


def test_pictures_are_the_same_every_time() -> None:
    assert ex.several_causes().to_html() == ex.several_causes().to_html()
    assert ex.knowledge().to_svg() == ex.knowledge().to_svg()


def test_an_explanation_knows_its_forms_without_being_told() -> None:
    engine = etalis.compile("c <- a seq b.").engine(justification="full")
    engine.push("a", at=1)
    engine.push("b", at=2)
    assert engine.justify("c").to_dot().startswith('digraph "why c" {\n  rankdir=LR;')
    with pytest.raises(ValueError, match="WhyNot has no form dot"):
        ex.missing().to_dot()
