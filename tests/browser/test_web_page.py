"""The page of the service in Chromium, against a server on loopback: what visitors do, by mouse and by keys alone."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from pyarrow import parquet

import etalis
from etalis.formats import Row, read
from etalis.formats.row import reading_of
from helpers.browser import Browser, browse, find_chromium
from helpers.service import live

ROOT = Path(__file__).parents[2]
SAMPLES = json.loads((ROOT / "src/etalis/service/www/samples.json").read_text(encoding="utf-8"))["samples"]
PAIRS = "pair(X) <- (a(X) seq b(X)) within 10."


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    assert program is not None, "these tests need a Chromium on the PATH"
    with browse(program) as opened:
        yield opened


@pytest.fixture(scope="module")
def address(browser: Browser) -> Iterator[str]:
    with live() as url:
        browser.allowed = (*browser.allowed, url)
        yield url


@pytest.fixture
def page(browser: Browser, address: str) -> Browser:
    """The page as a new visitor sees it."""
    show(browser, address)
    return browser


def show(browser: Browser, url: str, *, forget: bool = True, **options: Any) -> None:
    """Open the page anew; unless told, as in a browser that has not seen it before."""
    browser.visit("about:blank", **options)
    if forget:
        origin = "/".join(url.split("/")[:3])
        browser.ask("Storage.clearDataForOrigin", origin=origin, storageTypes="local_storage")
    browser.visit(url, **options)
    browser.until("document.body.classList.contains('ready')")


def write(browser: Browser, program: str, rows: list[dict[str, Any]] | None = None) -> None:
    """Put a program and events into the page, and wait until the program is checked."""
    events = "".join(json.dumps(row) + "\n" for row in rows or [])
    before = browser.value("etalis.state.checked")
    browser.value(
        f"etalis.editor.value = {json.dumps(program)}; etalis.events.fill({json.dumps(events)}); etalis.changed()"
    )
    browser.until(f"etalis.state.checked > {before} && (etalis.state.kinds.length || etalis.editor.problems.length)")


def run(browser: Browser) -> None:
    before = browser.value("etalis.state.ran")
    click(browser, "#run")
    browser.until(f"etalis.state.ran > {before} && !etalis.run.running")


def click(browser: Browser, selector: str) -> None:
    """Click in the middle of an element, as a mouse does."""
    browser.until(f"document.querySelector({json.dumps(selector)})?.getClientRects().length")
    at = browser.value(
        f"(() => {{ const found = document.querySelector({json.dumps(selector)});"
        " found.scrollIntoView({ block: 'nearest' }); const box = found.getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    browser.click(*at)


def text_of(browser: Browser, selector: str) -> str:
    return str(browser.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))


def pairs(*times: tuple[str, int, float]) -> list[dict[str, Any]]:
    return [{"event": name, "at": at, "x": value} for name, value, at in times]


# A visitor


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample["id"] for sample in SAMPLES])
def test_a_sample_runs_at_a_click_to_its_known_matches(page: Browser, sample: dict[str, Any]) -> None:
    click(page, f"[data-sample={sample['id']}]")
    page.until("etalis.state.ran")
    assert page.value("etalis.matches.rows.length") == sample["matches"]
    assert page.value("etalis.marks.count") == sample["inputs"] + sample["matches"]
    shown = page.value("etalis.matches.rows.map((row) => [row.name, row.start, row.end])")
    assert sorted(shown) == sorted(sample["found"])
    page.until(f"document.getElementById('count-matches').textContent === '{sample['matches']}'")
    assert page.errors == []


def test_the_first_paint_is_soon(browser: Browser, address: str) -> None:
    assert any(first_paint(browser, address) < 300 for _ in range(5))


def first_paint(browser: Browser, address: str) -> float:
    """Return after how many ms the page has been painted."""
    show(browser, address, forget=False)
    return float(
        browser.value(
            "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(Math.max("
            "...performance.getEntriesByType('paint').map((entry) => entry.startTime))))))"
        )
    )


def test_errors_are_marked_in_place_with_hint_and_fix(page: Browser) -> None:
    click(page, "#program textarea")
    page.type(":- set_flag(event_consumtion_policy, recent).\nc(X, Y) <- a(X) seq b(X).\n")
    page.until("etalis.editor.problems.length === 2")
    assert page.value("[...document.querySelectorAll('#program .wrong')].map((part) => part.textContent).join('')") == (
        ":- set_flag(event_consumtion_policy, recent)Y"
    )
    assert page.value("document.querySelectorAll('#program .mark.error').length") == 2
    assert "did you mean event_consumption_policy?" in text_of(page, "#program .problems")
    page.value("document.querySelector('#program textarea').setSelectionRange(0, 0)")
    page.key("F8")
    assert "no value" in text_of(page, "#program .under")
    click(page, "#program .problems .fix")
    page.until("etalis.editor.problems.length === 1")
    assert page.value("etalis.editor.value").startswith(":- set_flag(event_consumption_policy, recent).")
    page.value("document.execCommand('undo')")
    assert page.value("etalis.editor.value").startswith(":- set_flag(event_consumtion_policy, recent).")
    assert page.errors == []


def test_long_lines_are_wrapped_and_numbered_where_they_begin(page: Browser) -> None:
    long = f"c(X) <- a(X). % {'word ' * 60}"
    write(page, f"{long}\nd(X) <- a(X).\nd(X, Y) <- b(X).")
    page.until("document.querySelectorAll('#program .mark').length === 1")
    area, copied, mark = page.value(
        "[etalis.editor.area.scrollHeight, etalis.editor.code.scrollHeight,"
        " document.querySelector('#program .mark').style.top]"
    )
    assert area == copied
    numbers = page.value("etalis.editor.numbers.textContent")
    assert numbers.split("\n").index("3") == (int(mark.removesuffix("px")) - 8) / 20 > 4
    assert [each for each in numbers.split("\n") if each] == ["1", "2", "3"]
    assert page.value("etalis.editor.box.scrollWidth <= etalis.editor.box.clientWidth")
    assert page.errors == []


def test_keys_alone_run_choose_explain_and_ask_why_not(browser: Browser, address: str) -> None:
    show(browser, address + "/?sample=supply")
    tab_to(browser, "document.activeElement === etalis.editor.area")
    browser.key("Enter", ctrl=True)
    browser.until("etalis.state.ran")
    tab_to(browser, "document.activeElement.id === 'canvas'")
    browser.key("ArrowRight")
    assert chosen(browser) == "order(1, rose)"
    browser.key("ArrowRight")
    assert chosen(browser) == "order(2, tulip)"
    for _ in range(3):
        browser.key("ArrowDown")
    assert chosen(browser).startswith("reminder(")
    browser.key("ArrowDown")
    assert chosen(browser) == "unpaid(2)"
    browser.key("Enter")
    browser.until("document.querySelectorAll('#panel-why .tree li').length === 4")
    told = text_of(browser, "#panel-why")
    assert "order(2, tulip)" in told
    assert "no paid(2) after 30 min, before 3 h 30 min" in told
    assert browser.value("document.activeElement.id") == "panel-why"
    browser.key("Escape")
    assert browser.value("etalis.timeline.chosen") is None
    tab_to(browser, "document.activeElement.id === 'canvas'", shift=True)
    browser.key("Enter")
    browser.until("document.querySelector('#panel-why .verdict')")
    assert "unpaid" in text_of(browser, "#panel-why .verdict")
    assert browser.errors == []


def chosen(browser: Browser) -> str:
    return str(browser.value("etalis.marks.record(etalis.timeline.chosen)?.text"))


def tab_to(browser: Browser, condition: str, *, shift: bool = False) -> None:
    """Press Tab until a condition holds, at most once around the page."""
    for _ in range(80):
        if browser.value(condition):
            return
        browser.key("Tab", shift=shift)
    raise AssertionError(f"no Tab leads to {condition}")


def test_the_table_of_matches_is_walked_by_keys(browser: Browser, address: str) -> None:
    show(browser, address + "/?sample=fraud")
    run(browser)
    browser.value("document.querySelector('.table').focus()")
    browser.key("ArrowDown")
    browser.key("ArrowDown")
    assert chosen(browser) == "fraud(c2, zurich, bern, 350)"
    browser.key("Enter")
    browser.until("document.querySelectorAll('#panel-why .tree > ul > li').length")
    assert "rule two_cities" in text_of(browser, "#panel-why")
    click(browser, "#panel-why .link")
    assert browser.value("etalis.editor.value.slice(0, etalis.editor.area.selectionStart).split('\\n').length") == 5
    assert browser.errors == []


LIT = "[...etalis.plan.nodes.values()].filter((each) => each.box.matches('.lit')).map((each) => each.node.label)"


def test_a_step_sends_one_event_and_lights_its_line_and_the_boxes_that_it_reached(page: Browser) -> None:
    write(page, PAIRS, pairs(("a", 1, 1), ("b", 1, 2)))
    click(page, "#step")
    page.until("etalis.run.sent === 1 && document.getElementById('outcome').textContent")
    assert text_of(page, "#outcome") == "a(1) → nothing yet"
    page.until(f"{LIT}.length === 2")
    assert page.value(LIT) == ["seq", "a(X)"]
    page.until("document.querySelector('#panel-why .waits')?.textContent.includes('a(1)')")
    click(page, "#step")
    page.until("document.getElementById('outcome').textContent.includes('pair')")
    assert text_of(page, "#outcome") == "b(1) → pair(1)"
    assert page.value("etalis.events.editor.lit") == 2
    page.until(f"{LIT}.length === 3")
    assert page.value(LIT) == ["pair(X)", "seq", "b(X)"]
    click(page, "#tab-events")
    strip, line = page.value(
        "['.strip', 'pre > div:nth-child(2)'].map((part) =>"
        " etalis.events.editor.page.querySelector(part).getBoundingClientRect().top)"
    )
    assert strip == line
    assert page.errors == []


# What is asked


def test_an_event_that_did_not_come_is_asked_for_and_its_repair_applied(page: Browser) -> None:
    write(page, PAIRS, pairs(("a", 1, 1), ("b", 1, 2), ("a", 2, 20), ("b", 2, 33)))
    run(page)
    at = page.value(
        "(() => { const line = etalis.timeline, place = line.layout().find((each) => each.lane?.derived),"
        " box = line.canvas.getBoundingClientRect();"
        " return [box.x + line.xOf(30), box.y + 54 + place.top + place.height / 2]; })()"
    )
    page.click(*at)
    page.until("document.querySelector('#panel-why .repair')")
    told = text_of(page, "#panel-why")
    assert "did not occur" in told
    assert "13 s long, within 10 s: 3 s too long" in told
    click(page, "#panel-why .repair button")
    page.until("etalis.state.stale")
    assert page.value("etalis.events.read.rows.map((row) => row.end)") != [1, 2, 20, 33]
    run(page)
    assert page.value("etalis.matches.rows.length") == 2
    assert "1 match gained, 0 lost" in text_of(page, "#panel-matches .summary")
    assert page.errors == []


def test_a_run_at_once_after_the_last_key_is_of_what_is_written(page: Browser) -> None:
    page.value(f"etalis.events.fill({json.dumps(json.dumps(pairs(('a', 1, 1), ('b', 1, 2))))})")
    click(page, "#program textarea")
    page.type(PAIRS)
    page.key("Enter", ctrl=True)
    page.until("etalis.state.ran === 1 && etalis.state.kinds.length")
    assert page.value("etalis.matches.rows.length") == 1
    assert not page.value("document.body.classList.contains('stale')")


def test_a_changed_program_greys_what_was_found_and_compares(page: Browser) -> None:
    rows = pairs(("a", 1, 1), ("b", 1, 2), ("a", 2, 20), ("b", 2, 27))
    write(page, PAIRS, rows)
    run(page)
    click(page, "#program textarea")
    page.value("etalis.editor.area.select()")
    page.type("pair(X) <- (a(X) seq b(X)) within 5.")
    page.until("document.body.classList.contains('stale')")
    assert page.value("etalis.matches.rows.length") == 2
    run(page)
    assert "0 matches gained, 1 lost" in text_of(page, "#panel-matches .summary")
    assert page.value("document.querySelectorAll('.row.lost').length") == 1
    assert page.errors == []


LATE = """:- set_flag(out_of_order, on). :- set_flag(ooo_window, 100). :- set_flag(reporting, on_arrival).
d(X) <- (a(X) seq b(X)) cnot c(X) within 10."""


def test_a_match_that_is_taken_back_is_struck(page: Browser) -> None:
    write(page, LATE, pairs(("a", 1, 1), ("b", 1, 3), ("c", 1, 2), ("a", 2, 20), ("b", 2, 21)))
    run(page)
    assert page.value("etalis.matches.rows.map((row) => [row.text, Boolean(row.retracted)])") == [
        ["d(1)", True],
        ["d(2)", False],
    ]
    page.until("document.querySelectorAll('.row.retracted').length === 1")
    assert "taken back" in text_of(page, ".row.retracted")
    assert page.errors == []


def test_the_plan_shows_what_waits(page: Browser) -> None:
    write(page, f"alone(X) <- z(X).\n{PAIRS}", pairs(("a", 1, 1), ("a", 2, 2)))
    click(page, "#step")
    page.until(f"{LIT}.length === 2")
    click(page, "#tab-plan")
    page.until("document.querySelectorAll('.box').length === 6")
    click(page, ".box.operator")
    page.until("document.querySelector('#panel-plan .waits')")
    told = text_of(page, "#panel-plan .detail")
    assert "a(1) waits for b(1)" in told
    assert "left: 1 waiting, the oldest from 1 s" in told
    assert page.value("[...document.querySelectorAll('.lane.lit .label')].map((each) => each.textContent)") == ["a/1"]
    assert page.value(LIT) == ["pair(X)", "seq", "a(X)", "b(X)"]
    assert page.value("[etalis.editor.lit, etalis.editor.litTo]") == [2, 2]
    page.key("Escape")
    assert page.value("[...document.querySelectorAll('.lit')].length + etalis.editor.lit") == 0
    assert page.errors == []


# Other languages


def test_queries_run_beside_rules(page: Browser) -> None:
    query = "PREFIX : <http://ex/> SELECT ?s ?y WHERE { { ?s :price ?x } SEQ { ?s :price ?y } FILTER(?y > ?x) }"
    rows = [{"at": at, "turtle": f"<http://ex/rose> <http://ex/price> {price} ."} for at, price in ((1, 2), (3, 5))]
    click(page, "[data-language=ep-sparql]")
    write(page, query, rows)
    run(page)
    assert page.value("etalis.matches.rows.map((row) => [row.start, row.end])") == [[1, 3]]
    assert "5" in text_of(page, ".rows .attributes")
    assert page.value("document.querySelectorAll('#program .t-operator').length") >= 4
    assert page.errors == []


TRIG = """PREFIX : <http://ex/> PREFIX prov: <http://www.w3.org/ns/prov#>
:g1 prov:generatedAtTime 1 . :g1 { :rose :price 2 . :lily :price 2 }
:g2 prov:generatedAtTime 3 . :g2 { :rose :price 5 . :lily :price 9 }
"""
NQUADS = """<http://ex/g1> <http://www.w3.org/ns/prov#generatedAtTime> "1" .
<http://ex/rose> <http://ex/price> "2"^^<http://www.w3.org/2001/XMLSchema#integer> <http://ex/g1> .
<http://ex/g2> <http://www.w3.org/ns/prov#generatedAtTime> "3" .
<http://ex/rose> <http://ex/price> "5"^^<http://www.w3.org/2001/XMLSchema#integer> <http://ex/g2> .
"""


@pytest.mark.parametrize(("name", "text", "taken"), [("TriG", TRIG, 4), ("N-Quads", NQUADS, 2)], ids=["trig", "nquads"])
def test_quads_are_run_beside_background(browser: Browser, address: str, name: str, text: str, taken: int) -> None:
    show(browser, address)
    click(browser, "[data-language=ep-sparql]")
    query = (
        "PREFIX : <http://ex/> SELECT ?s ?y WHERE"
        " { { ?s :price ?x } SEQ { ?s :price ?y } FILTER(?y > ?x) ?s :sold :here }"
    )
    write(browser, query)
    browser.value(f"etalis.events.fill({json.dumps(text)})")
    click(browser, ".background summary")
    click(browser, ".background textarea")
    browser.type("<http://ex/rose> <http://ex/sold> <http://ex/here> .")
    browser.until("document.querySelector('.background b').textContent === '1'")
    assert browser.value("etalis.events.table.name") == name
    run(browser)
    assert browser.value("etalis.matches.rows.map((row) => row.values)") == [[["s", "<http://ex/rose>"], ["y", 5]]]
    assert browser.value("etalis.marks.lanes.map((lane) => [lane.name, lane.total])")[0] == ["rdf/3", taken]
    click(browser, "#share")
    browser.until("document.querySelector('#dialog input')")
    show(browser, browser.value("document.querySelector('#dialog input').value"))
    browser.until("!document.getElementById('opened').hidden")
    assert browser.value("etalis.background.value").startswith("<http://ex/rose>")
    assert browser.errors == []


def test_an_expression_is_text_and_xml_side_by_side(browser: Browser, address: str) -> None:
    show(browser, address + "/?sample=shop")
    browser.until("etalis.expressions.xml?.value.includes('newBook')")
    browser.value(
        "(() => { const { xml } = etalis.expressions; xml.area.focus();"
        " xml.area.value = xml.value.replaceAll('newBook', 'newSong');"
        " xml.area.dispatchEvent(new Event('input')); })()"
    )
    browser.until("etalis.editor.value.includes('shop:newSong(')")
    browser.value("etalis.editor.area.focus(); etalis.editor.area.select()")
    browser.type('shop = "http://shop.example/events".\nSEQQ(shop:a(x: X), shop:b(x: X))')
    browser.until("etalis.editor.problems.length === 1")
    assert "did you mean SEQ?" in text_of(browser, "#program .problems")
    assert browser.value("etalis.editor.problems[0].line") == 2


def test_registered_expressions_show_leaves_and_their_graph(browser: Browser, address: str) -> None:
    show(browser, address + "/?sample=shop")
    run(browser)
    browser.value("etalis.choose(etalis.matches.rows[0].id)")
    click(browser, "#tab-why")
    assert browser.value("document.querySelectorAll('#panel-why .tree button.atom').length") == 2
    click(browser, "#tab-expressions")
    browser.until("document.querySelectorAll('.registration').length === 1")
    assert "1.1 newCD: alive, 2 taken" in text_of(browser, ".registration .leafs")
    browser.until("document.querySelectorAll('#panel-expressions .box').length === 5")
    assert browser.value("etalis.timeline.parts.length") == 2
    click(browser, ".registration button")
    browser.until("document.querySelectorAll('.registration').length === 0")


# Files and links


def drop(browser: Browser, name: str, text: str) -> None:
    """Drop a file on the page."""
    browser.value(
        "(() => { const data = new DataTransfer();"
        f" data.items.add(new File([{json.dumps(text)}], {json.dumps(name)}));"
        " for (const kind of ['dragenter', 'dragover', 'drop'])"
        " document.body.dispatchEvent("
        "new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true })); })()"
    )


def test_a_parquet_file_is_read_by_the_service(page: Browser) -> None:
    rows = pa.table({"event": ["a", "b", "a"], "at": [1, 2, 30], "x": [7, 7, 8]})
    sink = pa.BufferOutputStream()
    parquet.write_table(rows, sink)
    content = base64.b64encode(sink.getvalue().to_pybytes()).decode()
    write(page, PAIRS)
    page.value(
        f"etalis.events.fillTable(Uint8Array.from(atob('{content}'), (c) => c.charCodeAt(0)).buffer, 'events.parquet')"
    )
    assert "Parquet" in text_of(page, "#status-events") + page.value("etalis.events.told.textContent")
    run(page)
    assert page.value("etalis.marks.lanes.map((lane) => [lane.name, lane.total])") == [
        ["a/1", 2],
        ["b/1", 1],
        ["pair/1", 1],
    ]
    page.value("etalis.choose(etalis.matches.rows[0].id)")
    page.until("etalis.timeline.parts.length === 2")
    assert page.errors == []


CSV = "event,at,x\na,1,7\nb,2,7\nb,oops,7\n"
LINES = '{"event": "a", "at": 1, "x": 7}\n{"event": "b", "at": 2, "x": 7}\nnonsense\n'


@pytest.mark.parametrize(("name", "text", "line"), [("e.csv", CSV, 4), ("e.jsonl", LINES, 3)], ids=["csv", "jsonl"])
def test_a_dropped_file_is_read_and_its_bad_row_marked(page: Browser, name: str, text: str, line: int) -> None:
    write(page, PAIRS)
    drop(page, name, text)
    page.until("etalis.events.read.rows.length === 2")
    assert page.value("document.getElementById('drop').hidden")
    assert page.value("etalis.events.editor.problems.map((problem) => problem.line)") == [line]
    run(page)
    assert page.value("etalis.matches.rows.map((row) => row.text)") == ["pair(7)"]
    assert page.errors == []


def test_a_row_that_the_service_refuses_is_marked(page: Browser) -> None:
    write(
        page, ":- event(a(x: int)). c(X) <- a(X).", [{"event": "a", "at": 1, "x": 1}, {"event": "a", "at": 2, "x": "u"}]
    )
    run(page)
    assert page.value("etalis.events.editor.problems.map((problem) => problem.line)") == [2]
    assert page.value("etalis.matches.rows.length") == 1


def test_whole_numbers_of_any_size_are_kept(page: Browser) -> None:
    large = 123456789012345678901234567890
    write(page, PAIRS, pairs(("a", large, 1), ("b", large, 2), ("a", 2**53 + 1, 3)))
    run(page)
    assert page.value("etalis.matches.rows.map((row) => row.text)") == [f"pair({large})"]
    assert json.loads(page.value("etalis.matches.lines()"))["X"] == large
    assert page.value("etalis.marks.record(2).text") == f"a({2**53 + 1})"
    page.value("etalis.choose(etalis.matches.rows[0].id)")
    page.until("etalis.timeline.parts.length === 2")
    assert page.errors == []


def test_long_texts_are_shown_in_part_and_used_whole(page: Browser) -> None:
    write(page, PAIRS)
    rows = [{"event": "ab"[i % 2], "at": i, "x": f"{i // 2}{'x' * 400}"} for i in range(1000)]
    page.value(f"etalis.events.fill({json.dumps(''.join(json.dumps(row) + chr(10) for row in rows))})")
    assert page.value("[etalis.events.read.rows.length, etalis.events.editor.lines]") == [1000, 200]
    assert page.value("etalis.events.adding.hidden"), "no rows are added to what is not shown"
    run(page)
    assert page.value("etalis.matches.rows.length") == 500
    assert page.errors == []


def test_a_link_opens_the_session_unrun(browser: Browser, address: str) -> None:
    show(browser, address + "/?sample=stock")
    run(browser)
    found, program, events = browser.value(
        "[etalis.matches.rows.length, etalis.editor.value, etalis.events.text]"
    )  # fmt: skip
    browser.value("etalis.choose(etalis.matches.rows[11].id); etalis.timeline.move(5, 40)")
    click(browser, "#share")
    browser.until("document.querySelector('#dialog input')")
    link = browser.value("document.querySelector('#dialog input').value")
    assert link.startswith(address + "/#")
    show(browser, link)
    browser.until("!document.getElementById('opened').hidden")
    assert "has not been run" in text_of(browser, "#opened")
    assert browser.value("[etalis.editor.value, etalis.events.text]") == [program, events]
    assert browser.value("[etalis.state.ran, etalis.marks.count, etalis.run.engine]") == [0, 0, None]
    click(browser, "#opened .main")
    browser.until("etalis.state.ran && etalis.timeline.chosen !== null")
    assert browser.value("etalis.matches.rows.length") == found
    assert chosen(browser) == "rally(acme, 100, 105)"
    assert browser.value("[etalis.timeline.view.first, etalis.timeline.view.last]") == [5, 40]
    assert browser.errors == []


def test_a_dropped_session_opens_unrun(page: Browser) -> None:
    kept = {"etalis": 1, "name": "pairs", "language": "rules", "program": PAIRS, "events": '[["a", 1, 1], ["b", 1, 2]]'}
    drop(page, "pairs.etalis.json", json.dumps(kept))
    page.until("!document.getElementById('opened').hidden")
    assert page.value("[etalis.editor.value, etalis.events.read.rows.length, etalis.state.ran]") == [PAIRS, 2, 0]
    click(page, "#opened .main")
    page.until("etalis.state.ran === 1")
    assert page.value("etalis.matches.rows.map((row) => row.text)") == ["pair(1)"]
    assert page.errors == []


def test_a_broken_link_says_so(browser: Browser, address: str) -> None:
    show(browser, address + "/#nonsense", forget=False)
    browser.until("document.getElementById('note').innerText.includes('no session')")
    assert browser.errors == []


STREAMS = (
    "fraud/withdrawals.csv",
    "supply/orders.jsonl",
    "deliveries/day.events",
    "flower_shop/month/stream.events",
    "sensors/shift.csv",
)


@pytest.mark.parametrize("file", STREAMS)
def test_rows_are_placed_as_the_service_reads_them(page: Browser, file: str) -> None:
    path = ROOT / "examples" / file
    items = read(path, reading_of(etalis.compile("x <- y.").compiled))
    events = [item.event.to_dict() for item in items if isinstance(item, Row)]
    page.value(f"etalis.events.fill({json.dumps(path.read_text(encoding='utf-8'))})")
    placed = page.value("etalis.events.read.rows.map((row) => [row.name, row.start, row.end])")
    assert [row[0] for row in placed] == [event["event"] for event in events]
    assert [row[1] for row in placed] == pytest.approx([event["start"] for event in events], abs=1e-5)
    assert [row[2] for row in placed] == pytest.approx([event["end"] for event in events], abs=1e-5)
    assert page.value("etalis.events.read.bad") == []


# Engines that live on


def test_an_engine_is_watched_as_it_goes(browser: Browser, address: str) -> None:
    with httpx.Client(base_url=address) as client:
        client.post("/engines", json={"name": "watched", "program": PAIRS}).raise_for_status()
        show(browser, address + "/?engine=watched")
        browser.until("etalis.run.running && etalis.editor.area.readOnly")
        for row in pairs(("a", 1, 1762500001), ("b", 1, 1762500002)):
            client.post("/engines/watched/events", json=row).raise_for_status()
        browser.until("etalis.matches.rows.length === 1")
        browser.until("document.querySelector('.rows .time')")
        assert text_of(browser, ".rows .time") == "07:20:01 – 07:20:02"
        browser.value("etalis.choose(etalis.matches.rows[0].id); document.getElementById('tab-why').click()")
        browser.until("document.querySelector('#panel-why .tree .quiet code')")
        assert "etalis_justification" in text_of(browser, "#panel-why")
        browser.errors.clear()  # of what is asked and not kept
        assert browser.value("etalis.marks.lanes.map((lane) => [lane.name, lane.total])") == [
            ["a/1", 1], ["b/1", 1], ["pair/1", 1],
        ]  # fmt: skip
        assert browser.value("etalis.editor.value") == PAIRS
        click(browser, "#copy-to-try")
        browser.until("!etalis.editor.area.readOnly && etalis.state.watching === null")
        client.delete("/engines/watched").raise_for_status()
    assert browser.errors == []


def test_without_the_service_a_banner_says_so_and_work_goes_on(page: Browser) -> None:
    offline = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.ask("Network.emulateNetworkConditions", offline=True, **offline)
    try:
        click(page, "#program textarea")
        page.type(PAIRS)
        page.until("!document.getElementById('banner').hidden")
        assert "nothing is lost" in text_of(page, "#banner")
        assert page.value("etalis.editor.value") == PAIRS
    finally:
        page.ask("Network.emulateNetworkConditions", offline=False, **offline)
    click(page, "#banner button")
    page.until("document.getElementById('banner').hidden")
    page.until("etalis.state.kinds.length === 3")


# How it is made


def test_markup_in_data_stays_text(page: Browser) -> None:
    bad = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'
    write(page, f"'{bad}'(X) <- a(X) seq b(X).", [{"event": n, "at": t, "x": bad} for n, t in (("a", 1), ("b", 2))])
    run(page)
    page.value("etalis.choose(etalis.matches.rows[0].id); document.getElementById('tab-why').click()")
    page.until("document.querySelectorAll('#panel-why .tree li').length")
    click(page, "#tab-plan")
    page.until("document.querySelector('.box')")
    assert page.value("[typeof hit, document.querySelectorAll('img, main script').length]") == ["undefined", 0]
    assert page.errors == []


def test_no_script_runs_that_is_not_a_file_of_the_page(page: Browser, address: str) -> None:
    answer = httpx.get(address)
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    page.value(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.hit = 1';"
        " document.body.append(s); })()"
    )
    assert page.value("typeof hit") == "undefined"
    page.errors.clear()


def test_a_hundred_thousand_events_move_at_thirty_frames_a_second(page: Browser) -> None:
    page.value(
        "(() => { const { marks, timeline } = etalis; marks.reset();"
        " document.getElementById('welcome').hidden = true; document.getElementById('no-events').hidden = true;"
        " const lanes = ['a', 'b', 'c', 'd'].map((name) => marks.lane(name, false)), found = marks.lane('e', true);"
        " for (let i = 0; i < 100000; i++) { const lane = i % 50 ? lanes[(i * 7919) % 4] : found;"
        " const record = { text: 'e' + i, short: '' + i, values: [], start: i, end: i };"
        " marks.add(lane, lane === found ? i - 40 : i, i, record); }"
        " timeline.fit(); })()"
    )
    assert page.value("etalis.marks.count") == 100_000
    for zoom in (1, 0.2, 0.002):
        assert any(page.value(PANNED % zoom) < 1000 / 30 for _ in range(3))
    assert page.errors == []


# as many frames as steps, one after the other: how long one takes with all that the browser does
PANNED = """new Promise((done) => {
  const line = etalis.timeline; line.fit(); line.zoom(%s);
  const before = performance.now(); let left = 24;
  const step = () => {
    if (!left--) return done((performance.now() - before) / 24);
    line.pan(left %% 2 ? 9 : -8); requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


# controls that stand out of a narrow window; kinds to filter by and editors are moved sideways
CUT = """[...document.querySelectorAll('button, select, input')].filter((each) => {
  const box = each.getBoundingClientRect(), moves = each.closest('.sparks, .editor, .away');
  return box.width && each.checkVisibility() && !moves && (box.right > 391 || box.left < -1);
}).map((each) => each.outerHTML.slice(0, 80))"""


def test_the_latest_marks_are_kept(page: Browser) -> None:
    kept = page.value(
        "import('/marks.js').then(({ MOST, Marks }) => { const marks = new Marks(), lane = marks.lane('a', false);"
        " for (let i = 0; i < 450000; i++) marks.add(lane, i, i, { i });"
        " const ids = marks.sorted(lane), at = marks.from(lane, 449990);"
        " return [MOST, marks.count, lane.total, marks.low, marks.high, marks.record(ids[at]).i, lane.count]; })"
    )
    most, count, total, low, high, found, of_lane = kept
    assert most <= count == of_lane <= most * 1.1
    assert (total, high, found) == (450_000, 449_999, 449_990)
    assert low == total - count


def test_a_plan_with_a_loop_is_laid_out(page: Browser) -> None:
    places = page.value(
        "import('/plan.js').then(({ arrange }) => {"
        " const nodes = ['a', 'b', 'c', 'd'].map((id) => ({ id, label: id }));"
        " const links = [['a', 'b'], ['b', 'c'], ['c', 'b'], ['d', 'c']].map(([from, to]) => ({ from, to }));"
        " return Object.fromEntries([...arrange(nodes, links)].map(([id, place]) => [id, [place.x, place.y]])); })"
    )
    assert len({tuple(place) for place in places.values()}) == 4
    assert places["a"][1] < places["b"][1]
    assert places["d"][1] < places["c"][1]


def test_rules_apart_stand_below_each_other_in_the_plan(page: Browser) -> None:
    write(page, "\n".join(f"k{i}(X) <- e{i}(X)." for i in range(30)), [{"event": "e1", "at": 1, "x": 1}])
    run(page)
    click(page, "#tab-plan")
    page.until("document.querySelectorAll('.box').length === 60")
    wide, room, rows = page.value(
        "[document.querySelector('#panel-plan svg').clientWidth, document.getElementById('panel-plan').clientWidth,"
        " new Set([...document.querySelectorAll('#panel-plan .box')].map((box) => box.getCTM().f)).size"
        "]"
    )
    assert wide <= room
    assert rows >= 6
    assert page.errors == []


def test_wheel_drag_strip_and_double_click_move_the_time_line(browser: Browser, address: str) -> None:
    show(browser, address + "/?sample=stock")
    run(browser)
    left, top, width = browser.value(
        "(() => { const box = etalis.timeline.canvas.getBoundingClientRect(); return [box.x, box.y, box.width]; })()"
    )
    view = "[etalis.timeline.view.first, etalis.timeline.view.last]"
    whole = browser.value(view)
    x, y = left + width / 2, top + 150
    under = browser.value("etalis.timeline.timeAt(etalis.timeline.width / 2)")
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300)
    browser.until(f"{view}[0] > {whole[0]}")
    nearer = browser.value(view)
    assert whole[0] < nearer[0] < nearer[1] < whole[1]
    assert browser.value("etalis.timeline.timeAt(etalis.timeline.width / 2)") == pytest.approx(under, abs=0.05)
    drag(browser, x, y, x - 80, y)
    later = browser.value(view)
    assert later[0] > nearer[0]
    assert later[1] - later[0] == pytest.approx(nearer[1] - nearer[0])
    drag(browser, left + width * 0.25, top + 10, left + width * 0.5, top + 10)
    chosen_range = browser.value(view)
    assert chosen_range[1] - chosen_range[0] == pytest.approx((whole[1] - whole[0]) / 4, rel=0.05)
    for count in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            browser.mouse(kind, x, y, button="left", clickCount=count)
    browser.until("etalis.timeline.fitted")
    assert browser.value(view) == whole
    assert browser.errors == []


def drag(browser: Browser, x: float, y: float, to_x: float, to_y: float) -> None:
    browser.mouse("mousePressed", x, y, button="left", clickCount=1)
    for part in (0.5, 1):
        browser.mouse("mouseMoved", x + part * (to_x - x), y + part * (to_y - y), button="left", buttons=1)
    browser.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)


def test_lanes_are_folded_hidden_and_moved(browser: Browser, address: str) -> None:
    show(browser, address + "/?sample=supply")
    run(browser)
    names = "[...document.querySelectorAll('#lanes .label')].map((label) => label.textContent)"
    browser.until(f"{names}.length === 6")
    assert browser.value(names)[:3] == ["order/2", "paid/1", "shipped/1"]
    browser.value("document.querySelector('#lanes .named').focus()")
    browser.key("Enter")
    browser.until("document.querySelector('#lanes .named').getAttribute('aria-expanded') === 'false'")
    browser.key("ArrowDown", alt=True)
    browser.until(f"{names}[1] === 'order/2'")
    shown = browser.value("etalis.matches.rows.length && etalis.marks.lanes.map((lane) => [lane.name, lane.count])")
    assert shown[:3] == [["paid/1", 1], ["order/2", 3], ["shipped/1", 2]]
    assert browser.value("etalis.marks.laneFor(0).name") == "order/2"
    click(browser, "#lanes .hide")
    browser.until(f"{names}.length === 5")
    click(browser, "#lanes .more button")
    browser.until(f"{names}.length === 6")
    assert browser.errors == []


def test_nothing_is_wider_than_a_phone(browser: Browser, address: str) -> None:
    show(browser, address, width=390, height=844, mobile=True)
    browser.until("document.querySelectorAll('.card').length >= 5")
    assert browser.value("document.documentElement.scrollWidth") == 390
    click(browser, "[data-sample=fraud]")
    browser.until("etalis.state.ran")
    for pane in ("program", "events", "expressions", "time", "results"):
        click(browser, f"#phone [data-pane={pane}]")
        assert browser.value("document.documentElement.scrollWidth") == 390
        assert browser.value(CUT) == [], pane
        small = browser.value(
            "[...document.querySelectorAll('#phone button')].filter((each) => each.offsetHeight < 44).length"
        )
        assert small == 0
    assert browser.errors == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_theme_is_the_systems_until_one_is_chosen(browser: Browser, address: str, dark: bool) -> None:
    light_page, dark_page = "rgb(251, 251, 249)", "rgb(20, 22, 26)"
    background = "getComputedStyle(document.body).backgroundColor"
    show(browser, address, dark=dark)
    assert browser.value(background) == (dark_page if dark else light_page)
    click(browser, "#theme")
    assert browser.value(background) == (light_page if dark else dark_page)
    show(browser, address, dark=dark, forget=False)
    assert browser.value(background) == (light_page if dark else dark_page), "and stays"


UNNAMED = """[...document.querySelectorAll(
  'button, input, select, textarea, a, [tabindex="0"], canvas'
)].filter((each) => {
  const told = ['aria-label', 'aria-labelledby', 'title'].some((name) => each.getAttribute(name));
  return each.checkVisibility() && !told && !each.labels?.length && !each.innerText?.trim();
}).map((each) => each.outerHTML.slice(0, 100))"""
DIM = """(() => { const each = document.activeElement, style = getComputedStyle(each), box = each.closest('.editor');
  const mark = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
  const bar = box && parseFloat(getComputedStyle(box.querySelector('.gutter')).borderRightWidth) >= 2;
  return each === document.body || mark || bar ? null : each.outerHTML.slice(0, 100); })()"""


def test_controls_have_names_and_the_focus_is_seen(browser: Browser, address: str) -> None:
    show(browser, address + "/?sample=fraud")
    run(browser)
    for tab in ("program", "events", "expressions", "matches", "plan", "why"):
        click(browser, f"#tab-{tab}")
        assert browser.value(UNNAMED) == [], tab
    names = browser.value("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(names) == len(set(names)), "ids are unique"
    assert browser.value("document.querySelectorAll('[aria-live]').length") == 1
    referred = browser.value(
        "[...document.querySelectorAll('[aria-controls], [aria-labelledby]')].flatMap((each) =>"
        " ['aria-controls', 'aria-labelledby'].map((name) => each.getAttribute(name)).filter(Boolean))"
    )
    assert set(referred) - set(names) <= {"dialog-title"}, "what is referred to is there"
    assert browser.value("document.querySelectorAll('[role=tablist] > :not([role=tab])').length") == 0
    browser.value("document.activeElement.blur()")
    for _ in range(40):
        browser.key("Tab")
        assert browser.value(DIM) is None
    assert browser.errors == []


def test_keys_move_the_dividers_and_tabs(page: Browser) -> None:
    before = page.value("document.getElementById('left').offsetWidth")
    page.value("document.getElementById('divide-x').focus()")
    page.key("ArrowRight")
    assert page.value("document.getElementById('left').offsetWidth") > before
    page.value("document.getElementById('tab-program').focus()")
    page.key("ArrowRight")
    assert page.value("document.activeElement.id") == "tab-events"
    assert not page.value("document.getElementById('panel-events').hidden")
    assert page.errors == []
