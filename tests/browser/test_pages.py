"""Pages in a real browser: they draw themselves without errors or network, answer to the mouse, and stay quick.

Of several times the least is looked at: a machine with other work to do makes all of them longer, none shorter. Strict
times, and their medians, are in `bench/pictures.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import etalis
from helpers import explanations as ex
from helpers.browser import Browser, browse, find_chromium
from helpers.pages import first_paint, run_of, step_time

EVENTS = 10_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    assert program is not None, "these tests need a Chromium on the PATH"
    with browse(program) as opened:
        yield opened


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "many.html"
    path.write_text(run_of(EVENTS).timeline().to_html(), encoding="utf-8")
    return path


def few() -> etalis.Engine:
    engine = etalis.compile("c(X) <- a(X) seq b(X). d <- c(_) seq a(_).").engine(justification="full")
    for name, value, at in (("a", 1, 1), ("b", 1, 2), ("a", 2, 4)):
        engine.push(name, value, at=at)
    return engine


def long_rules() -> etalis.Engine:
    """An engine whose rules have more text than a line."""
    parts = " seq ".join(f"delivered(Order{n}, Driver)" for n in range(9))
    engine = etalis.compile(f"bonus(Driver) <- {parts}.").engine(justification="full")
    for at in range(9):
        engine.push("delivered", at, "finn", at=at)
    return engine


PAGES = {
    "why": lambda: ex.knowledge().to_html(),
    "why to the right": lambda: ex.shared().to_html(direction="right"),
    "a deep why": lambda: ex.chain(300).to_html(),
    "why not": lambda: ex.several_causes().to_html(),
    "blocked": lambda: ex.blocked().to_html(),
    "stream": lambda: few().timeline().to_html(),
    "plan": lambda: etalis.compile("c(X) <- a(X) seq b(X). d <- c(_) seq a(_).").picture().to_html(),
    "plan of an engine": lambda: few().picture().to_html(),
    "long rules": lambda: long_rules().timeline().to_html(),
    "nothing": lambda: etalis.compile("c <- a.").engine(justification="full").timeline().to_html(),
}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_draws_itself_without_errors_or_network(browser: Browser, tmp_path: Path, name: str, dark: bool) -> None:
    path = tmp_path / "page.html"
    path.write_text(PAGES[name](), encoding="utf-8")
    browser.open(path, dark=dark)
    assert browser.value("document.querySelectorAll('main svg, main canvas').length") > 0
    background = browser.value("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(18, 22, 28)" if dark else "rgb(255, 255, 255)")
    assert browser.value("document.documentElement.scrollWidth <= innerWidth"), "only the picture is moved sideways"
    browser.open(path, width=400, dark=dark)
    assert browser.value("document.documentElement.scrollWidth <= innerWidth"), "also in a narrow window"
    assert browser.errors == []


@pytest.mark.parametrize("name", ["why", "stream", "why not"])
def test_markup_in_data_stays_text(browser: Browser, tmp_path: Path, name: str) -> None:
    bad = "'</script><img src=x onerror=\"hit=1\"><script>hit=1</script>&amp;'"
    engine = etalis.compile(f"{bad}(X) <- a(X) seq b(X).").engine(justification="full")
    engine.push("a", '<b onclick="hit=1">\U0001f600\x00]]>', at=1)
    found = engine.push("b", '<b onclick="hit=1">\U0001f600\x00]]>', at=2)
    lost = ex.answer(bad, *ex.missing().rules)
    pages = {"why": engine.justify(found[0]), "stream": engine.timeline(), "why not": lost}
    path = tmp_path / "page.html"
    path.write_text(pages[name].to_html(), encoding="utf-8")
    browser.open(path)
    for y in range(90, 300, 12):
        browser.mouse("mouseMoved", 600, y)
        browser.click(600, y)
    assert browser.value("typeof hit") == "undefined"
    assert browser.value("document.querySelectorAll('img, b[onclick]').length") == 0
    assert browser.errors == []


def test_pointing_at_a_mark_shows_its_data_and_parts(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(few().timeline().to_html(), encoding="utf-8")
    browser.open(path)
    browser.mouse("mouseMoved", *place_of(browser, "c(1)"))
    shown = browser.value("document.getElementById('hint').innerText")
    assert shown.splitlines() == [
        "c(1)", "[1, 2]", "X: 1", "made of 2: a(1), b(1)", "rule 1: c(X) <- a(X) seq b(X).",
    ]  # fmt: skip
    browser.mouse("mouseMoved", 20, 20)
    assert browser.value("document.getElementById('hint').hidden")


def test_a_click_on_an_event_shows_its_why(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(few().timeline().to_html(), encoding="utf-8")
    browser.open(path)
    browser.click(*place_of(browser, "d"))
    told = [line.strip() for line in browser.value("document.getElementById('why').innerText").splitlines()]
    assert told == [
        "d  [1, 4]",
        "rule 2: d <- c(_) seq a(_).",
        "c(1)  [1, 2]  X: 1",
        "rule 1: c(X) <- a(X) seq b(X).",
        "a(1)  [1, 1]",
        "b(1)  [2, 2]",
        "a(2)  [4, 4]",
    ]
    browser.value("document.querySelector('#why button').click()")
    assert browser.value("document.querySelector('#why b').innerText") == "c(1)"
    assert browser.errors == []


def test_a_box_of_a_diagram_shows_all_it_says_and_what_it_rests_on(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(ex.shared().to_html(), encoding="utf-8")
    browser.open(path)
    at = browser.value(
        "(() => { const box = document.querySelector('[data-box=\"1\"]').getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    browser.mouse("mouseMoved", *at)
    assert browser.value("document.getElementById('hint').innerText").splitlines() == ["c", "[1, 2]", "rule 1"]
    browser.click(*at)
    browser.mouse("mouseMoved", 5, 5)
    marked = browser.value(
        "[...document.querySelectorAll('[data-box].on text:first-of-type')].map((t) => t.textContent)"
    )
    assert sorted(marked) == ["a", "b", "c"]
    assert browser.value("document.querySelector('#why b').innerText") == "c"
    assert browser.errors == []


def test_wheel_drag_and_keys_move_the_time_line(browser: Browser, many: Path) -> None:
    browser.open(many)
    whole = shown_times(browser)
    browser.mouse("mouseWheel", 600, 200, deltaX=0, deltaY=-400)
    nearer = shown_times(browser)
    assert whole[0] < nearer[0] < nearer[1] < whole[1]
    browser.mouse("mousePressed", 600, 200, button="left", clickCount=1)
    browser.mouse("mouseMoved", 500, 200, button="left")
    browser.mouse("mouseReleased", 500, 200, button="left", clickCount=1)
    later = shown_times(browser)
    assert later[0] > nearer[0]
    assert later[1] - later[0] == pytest.approx(nearer[1] - nearer[0])
    browser.value("document.getElementById('all').click()")
    assert shown_times(browser) == whole
    assert browser.errors == []


def test_ten_thousand_events_stay_usable(browser: Browser, many: Path) -> None:
    assert many.stat().st_size < 3_000_000
    assert any(first_paint(browser, many) < 1_000 for _ in range(5))
    assert browser.value("etalis.sheet.tagName") == "CANVAS"
    for zoom in (1, 0.1, 0.1):
        assert any(step_time(browser, zoom) < 50 for _ in range(3))
    assert browser.errors == []


def shown_times(browser: Browser) -> list[float]:
    found: list[float] = browser.value("[etalis.now.first, etalis.now.last]")
    return found


def place_of(browser: Browser, label: str) -> Any:
    """Return where the label of a mark stands in the picture, among those derived."""
    return browser.value(
        "(() => { const texts = [...document.querySelectorAll('#view text')];"
        f" const found = texts.filter((t) => t.textContent === '{label}').at(-1).getBoundingClientRect();"
        " return [found.x - 4, found.y + found.height / 2]; })()"
    )
