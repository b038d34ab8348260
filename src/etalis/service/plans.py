"""The plan of an engine with what waits in it now: as text, as a picture, as boxes and links for pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from etalis.engine import Engine
from etalis.pictures.scenes.plan import draw_plan
from etalis.plan.explain.text import write_text
from etalis.runtime.reporting.inspection import count_stores, explain_running


def _text(engine: Engine) -> str:
    return write_text(explain_running(engine.core.rules))


def _svg(engine: Engine) -> str:
    return engine.picture().to_svg()


def _boxes(engine: Engine) -> dict[str, Any]:
    rules = engine.core.rules
    diagram = draw_plan(explain_running(rules), count_stores(rules))
    nodes = []
    for number, box in enumerate(diagram.boxes):
        node: dict[str, Any] = {"id": number, "label": box.title, "kind": box.form, "details": list(box.lines)}
        node |= {} if box.rule is None else {"rule": box.rule}
        node |= {} if box.waiting is None else {"waiting": box.waiting}
        nodes.append(node)
    links = [{"from": link.source, "to": link.target, "label": link.label} for link in diagram.links]
    return {"nodes": nodes, "links": links}


EXPLAINED: Mapping[str, Callable[[Engine], str | dict[str, Any]]] = MappingProxyType(
    {"text": _text, "svg": _svg, "json": _boxes}
)
