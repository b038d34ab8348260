"""What holds of every picture: it is well formed, its texts fit, no two boxes meet, and nothing in it is a program."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise

from etalis.pictures.paint.lettering import cells

SVG = "{http://www.w3.org/2000/svg}"
KNOWN = {"svg", "title", "style", "rect", "marker", "path", "g", "text"}
QUOTED = r'"(?:[^"\\]|\\.)*"'
DOT_LINE = re.compile(
    rf"digraph {QUOTED} {{|}}|  rankdir=(?:LR|BT);|"
    rf"  (?:node|edge|n\d+|n\d+ -> n\d+) \[(?:\w+=(?:\w+|{QUOTED})(?:, )?)+\];"
)


def check_sheet(text: str) -> ET.Element:
    """A picture is well formed and made of shapes and texts alone; return its root."""
    root = ET.fromstring(text)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= KNOWN
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not {name for name in attributes if name.startswith("on") or "href" in name}
    return root


def check_svg(text: str) -> None:
    """A picture is well formed, every text is inside its box, and no two boxes meet."""
    root = check_sheet(text)
    low_x, low_y, width, height = map(float, root.attrib["viewBox"].split())
    boxes = []
    for group in root.iter(f"{SVG}g"):
        box = group.find(f"{SVG}rect")
        assert box is not None
        x, y, w, h = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        assert low_x <= x
        assert x + w <= low_x + width
        assert low_y <= y
        assert y + h <= low_y + height
        boxes.append((x, y, w, h))
        for line in group.iter(f"{SVG}text"):
            assert float(line.attrib["x"]) + cells(line.text or "") * 0.6 * float(line.attrib["font-size"]) <= x + w
            assert y < float(line.attrib["y"]) < y + h
    for (x, y, w, h), (x2, y2, w2, h2) in combinations(boxes, 2):
        assert x + w < x2 or x2 + w2 < x or y + h < y2 or y2 + h2 < y


def check_timeline(text: str) -> None:
    """A time line is well formed, nothing in it is outside the picture, and no two texts of a line meet."""
    root = check_sheet(text)
    low_x, low_y, width, height = map(float, root.attrib["viewBox"].split())
    lines: dict[float, list[tuple[float, float, str]]] = {}
    for written in root.iter(f"{SVG}text"):
        shown, x, y = written.text or "", float(written.attrib["x"]), float(written.attrib["y"])
        wide = cells(shown) * 0.6 * float(written.attrib["font-size"])
        x -= {"start": 0.0, "middle": wide / 2, "end": wide}[written.attrib.get("text-anchor", "start")]
        assert low_x <= x, shown
        assert x + wide <= low_x + width, shown
        assert low_y < y < low_y + height
        lines.setdefault(y, []).append((x, x + wide, shown))
    for several in lines.values():
        for (_, end, left), (start, _, right) in pairwise(sorted(several)):
            assert end <= start, (left, right)


def check_dot(text: str) -> None:
    """Every line is a statement: what a program says stays inside quotes."""
    for line in text.splitlines():
        assert DOT_LINE.fullmatch(line), line
