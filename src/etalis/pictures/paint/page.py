"""A scene as a page of HTML that needs nothing else: the picture, its data as JSON, and a script that moves it.

Without script the page shows the picture as it is. Law: texts are data, whatever is in them; the page loads nothing,
from nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pkgutil import get_data
from typing import Any

from etalis.pictures.paint.diagram import paint_diagram
from etalis.pictures.paint.lanes import plan_lanes
from etalis.pictures.paint.lettering import FONT, cells, escape, shorten, show
from etalis.pictures.paint.timeline import CROWDED, GUTTER_CELLS, WIDTH, draw_swatch, heading_lines, paint_timeline
from etalis.pictures.palette import LINKS, Look, class_of, look_of, write_style, write_variables
from etalis.pictures.scene import Diagram, Scene, Timeline

_LONGEST = 200  # letters of one text
MANY = 2_000  # marks that a canvas draws, not elements of SVG
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_ZOOM = (
    '<p><button id="in" title="zoom in">+</button> <button id="out" title="zoom out">−</button>'
    ' <button id="all" title="show all">all</button> &#160;'
)
_BUTTONS = f"{_ZOOM}drag or arrow keys: move · wheel or + −: zoom · click: why</p>"
_SIZES = f"{_ZOOM}drag or arrow keys: move · + −: zoom · click: what it rests on</p>"
_NO_PARTS = "What it is made of is not known here: received, or made by an engine that keeps no parts."


def paint_page(scene: Scene) -> str:
    """Write a scene as a page."""
    if isinstance(scene, Diagram):
        data = _diagram_data(scene)
        drawn = paint_diagram(replace(scene, notes=[]))  # which would move with the picture
        body = f'{_SIZES}<div id="figure" tabindex="0">{drawn}</div>{_write_notes(scene)}'
    else:
        data = _timeline_data(scene)
        body = f'{_BUTTONS}<div id="view" tabindex="0">{paint_timeline(scene)}</div>{_below(scene)}'
    title = escape(scene.title)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>",
            f"<style>{write_variables()}{write_style('.etalis')}\n{_resource('page.css')}</style></head>",
            f'<body><main><h1>{title}</h1>{body}<div id="why" aria-live="polite"></div></main>',
            '<div id="hint" role="tooltip" hidden></div>',
            f'<script type="application/json" id="data">{write_json(data)}</script>',
            f"<script>{_resource('page.js')}</script></body></html>",
            "",
        ]
    )


def write_json(data: Mapping[str, Any]) -> str:
    r"""Write data so that a page can hold it: no character of it is markup.

    >>> write_json({"x": "</script>"})
    '{"x":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _resource(name: str) -> str:
    text = get_data(__package__, name)
    assert text is not None
    return text.decode("utf-8")


def _below(timeline: Timeline) -> str:
    signs = [
        f'<span><svg class="etalis" width="18" height="14">{draw_swatch(form, 1, 7)}</svg>'
        f"{escape(shorten(text, _LONGEST))}</span>"
        for form, text in timeline.legend
    ]
    return f'<p id="legend">{" ".join(signs)}</p>{_write_notes(timeline)}'


def _write_notes(scene: Scene) -> str:
    return "".join(f"<p>{escape(note)}</p>" for note in scene.notes)


def _timeline_data(timeline: Timeline) -> dict[str, Any]:
    plan = plan_lanes(timeline, WIDTH * 0.8)
    marks = timeline.marks
    order = sorted(range(len(marks)), key=lambda n: (marks[n].lane, plan.rows[n], _since(marks[n].start, plan.first)))
    places = {number: place for place, number in enumerate(order)}
    labels = [shorten(lane.label, GUTTER_CELLS) for lane in timeline.lanes]
    headings = [heading_lines(lane.heading, WIDTH * 0.9) if lane.heading else [] for lane in timeline.lanes]
    return {
        "title": show(timeline.title),
        "dates": timeline.dates,
        "first": str(plan.first),  # beyond what a number of JavaScript holds exactly
        "span": plan.last - plan.first,
        "many": MANY,
        "crowded": CROWDED,
        "font": FONT,
        "gutter": max([len("0000-00-00 UTC"), *map(cells, labels)]),
        "noParts": _NO_PARTS,
        "lanes": [
            {"label": label, "heading": heading, "rows": rows}
            for label, heading, rows in zip(labels, headings, plan.heights, strict=True)
        ],
        "forms": {form: _look(look_of(form)) for form in dict.fromkeys(mark.form for mark in marks)},
        "linkForms": {form: _look(look) for form, look in LINKS.items()},
        "links": [[places[link.source], places[link.target], link.form] for link in timeline.links],
        "marks": {
            "lane": [marks[n].lane for n in order],
            "row": [plan.rows[n] for n in order],
            "start": [_since(marks[n].start, plan.first) if marks[n].start is not None else None for n in order],
            "end": [_since(marks[n].end, plan.first) if marks[n].end is not None else None for n in order],
            "form": [marks[n].form for n in order],
            "label": [shorten(marks[n].label, _LONGEST) for n in order],
            "details": [_shortened(marks[n].details) for n in order],
            "parts": [[places[part] for part in marks[n].parts] for n in order],
            "why": {places[n]: _shortened(marks[n].why) for n in order if marks[n].why},
        },
    }


def _since(time: int | None, first: int) -> int:
    return -1 if time is None else time - first


def _diagram_data(diagram: Diagram) -> dict[str, Any]:
    return {
        "title": show(diagram.title),
        "boxes": [_shortened((box.title, *filter(None, box.lines), *box.details)) for box in diagram.boxes],
        "links": [[link.source, link.target] for link in diagram.links],
    }


def _shortened(texts: Sequence[str]) -> list[str]:
    return [shorten(text, _LONGEST) for text in texts]


def _look(look: Look) -> dict[str, Any]:
    return {"colour": class_of(look.colour), "shape": look.shape, "dash": look.dash or "", "width": look.width}
