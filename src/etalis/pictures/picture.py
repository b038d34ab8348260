"""A picture of a scene, as SVG, as a page of HTML, as Graphviz, in a notebook; and which scene shows what."""

from __future__ import annotations

from etalis.pictures.paint.diagram import paint_diagram
from etalis.pictures.paint.dot import paint_dot
from etalis.pictures.paint.page import paint_page
from etalis.pictures.paint.timeline import paint_timeline
from etalis.pictures.scene import Diagram, Scene


class Picture:
    """A scene that can be looked at."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def to_svg(self) -> str:
        """Return it as an SVG picture, for light and dark pages."""
        return paint_diagram(self.scene) if isinstance(self.scene, Diagram) else paint_timeline(self.scene)

    def to_html(self) -> str:
        """Return it as a page that can be moved, zoomed and asked, and needs nothing else."""
        return paint_page(self.scene)

    def to_dot(self) -> str:
        """Return a diagram as Graphviz text; a time line is none."""
        if not isinstance(self.scene, Diagram):
            raise ValueError("a time line is no graph: to_svg and to_html draw it")
        return paint_dot(self.scene)

    def __repr__(self) -> str:
        parts = len(self.scene.boxes) if isinstance(self.scene, Diagram) else len(self.scene.marks)
        return f"<Picture: {self.scene.title}, {parts} parts>"

    def _repr_html_(self) -> str:
        return self.to_svg()
