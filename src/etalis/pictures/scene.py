"""What painters paint: a time line of marks on lanes, or a diagram of boxes; links join marks or boxes by number.

A scene says what is shown, never how: `form` names a row of the palette. Times are microseconds. Texts are any Unicode;
painters see to it that they stay texts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of a time line; `heading` lines stand above it, where a group of lanes begins."""

    label: str
    heading: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LaneMark:
    """What is on a lane from `start` to `end`, closed; None is no bound on that side.

    `details` are what a reader gets to see of it when pointing at it, `parts` the marks that it is made of, `why` how.
    """

    lane: int
    start: int | None
    end: int | None
    form: str
    label: str
    details: tuple[str, ...] = ()
    parts: tuple[int, ...] = ()
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Box:
    """One box of a diagram, with a title and lines below it; `details` are seen when pointing at it.

    Of a plan it knows the label of its rule, and how many instances wait at it.
    """

    form: str
    title: str
    lines: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    rule: str | None = None
    waiting: int | None = None


@dataclass(frozen=True, slots=True)
class SceneLink:
    """From box to box, or from mark to mark, by number."""

    source: int
    target: int
    label: str
    form: str


@dataclass(slots=True)
class Timeline:
    """Marks on lanes over one axis of time; `dates` says how times are written."""

    title: str
    dates: bool = False
    lanes: list[Lane] = field(default_factory=list)
    marks: list[LaneMark] = field(default_factory=list)
    links: list[SceneLink] = field(default_factory=list)
    legend: list[tuple[str, str]] = field(default_factory=list)  # (form, what it stands for)
    notes: list[str] = field(default_factory=list)

    def add_lane(self, label: str, *heading: str) -> int:
        """Add a lane and return its number."""
        self.lanes.append(Lane(label, heading))
        return len(self.lanes) - 1

    def add(self, mark: LaneMark) -> int:
        """Add a mark and return its number."""
        self.marks.append(mark)
        return len(self.marks) - 1


@dataclass(slots=True)
class Diagram:
    """Boxes, numbered by their place, and links between them.

    What flows runs to the right; a derivation stands as a proof does, the premises of a box above a line over it.
    """

    title: str
    boxes: list[Box] = field(default_factory=list)
    links: list[SceneLink] = field(default_factory=list)
    is_derivation: bool = False
    notes: list[str] = field(default_factory=list)

    def add(self, box: Box) -> int:
        """Add a box and return its number."""
        self.boxes.append(box)
        return len(self.boxes) - 1


Scene: TypeAlias = Timeline | Diagram
