"""The manual's figure of a justification, from its own two rules for `assignmentCounter` (003, figure 3.3)."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import etalis
from etalis.why.justification import Justification
from helpers.drawn import SVG, check_svg

RULES = """
assignmentCounter(0, Driver, Store, date(Y, M, D)) <- activeDriver(Driver, Store, date(Y, M, D)).
assignmentCounter(Count, Driver, Store, date(Y, M, D)) <- (
    assignmentCounter(Before, Driver, Store, date(Y, M, D)) seq
    assignment(_Request, Store, _To, _Delivery, Driver, _Pickup))
    where (Count is Before + 1).
"""


def figure() -> Justification:
    engine = etalis.compile(RULES).engine(justification="full")
    engine.push_term("activeDriver(driver1, store1, date(2011, 5, 2))", at=1)
    engine.push_term("assignment(request1, store1, station4, 12, driver1, 11)", at=2)
    engine.push_term("assignment(request2, store1, station7, 14, driver1, 13)", at=3)
    return engine.justify("assignmentCounter(2, driver1, _, _)")


def test_premises_stand_over_a_line_over_their_conclusion() -> None:
    picture = figure().to_svg()
    check_svg(picture)
    root = ET.fromstring(picture)
    boxes = {}
    for group in root.iter(f"{SVG}g"):
        box = group.find(f"{SVG}rect")
        assert box is not None
        texts = [(text.text or "").strip() for text in group.iter(f"{SVG}text")]
        is_test = texts[0].startswith("where")
        title = " ".join(texts[: 2 if is_test or "]" not in texts[1] else 1])
        x, y, width, height = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        boxes[title] = (x, x + width, y, y + height)
    lines = []
    for path in root.iter(f"{SVG}path"):
        found = re.fullmatch(r"M(-?[\d.]+) (-?[\d.]+) H(-?[\d.]+)", path.attrib["d"])
        if found is not None:
            lines.append((float(found[1]), float(found[3]), float(found[2])))

    def over(title: str) -> set[str]:
        """Return the boxes that stand on the line over a box."""
        left, right, top, _ = boxes[title]
        (line,) = [each for each in lines if each[0] <= left and right <= each[1] and 0 < top - each[2] < 12]
        return {
            name for name, (x0, x1, _, y1) in boxes.items() if line[0] <= x0 and x1 <= line[1] and 0 < line[2] - y1 < 12
        }

    def counter(number: int) -> str:
        return f"assignmentCounter({number}, driver1, store1, date(2011,5,2))"

    def assignment(number: int, station: int, delivery: int) -> str:
        return f"assignment(request{number}, store1, station{station}, {delivery}, driver1, {delivery - 1})"

    test = "where Count is Before + 1"
    tests = (f"{test} 1 is 0 + 1", f"{test} 2 is 1 + 1")
    assert len(lines) == 3
    assert over(counter(2)) == {counter(1), assignment(2, 7, 14), tests[1]}
    assert over(counter(1)) == {counter(0), assignment(1, 4, 12), tests[0]}
    assert over(counter(0)) == {"activeDriver(driver1, store1, date(2011,5,2))"}
    words = [text.text for text in root.findall(f"{SVG}text")]
    assert words.count("seq") == 2
    assert boxes[counter(2)][2] == max(top for _, _, top, _ in boxes.values()), "the conclusion is the lowest"


def test_the_premises_are_in_the_order_of_the_rule() -> None:
    root = ET.fromstring(figure().to_svg())
    places = {}
    for group in root.iter(f"{SVG}g"):
        title = group.find(f"{SVG}title")
        box = group.find(f"{SVG}rect")
        assert title is not None
        assert box is not None
        places[(title.text or "").split(" | ")[0][:20]] = float(box.attrib["x"])
    assert places["assignmentCounter(1,"] < places["assignment(request2,"] < places["where Count is Befor"]
