"""A derivation as a proof is written: the premises of a box in a row, a line under them, the box below (003, 3.5).

Blocks are made from the premises downwards: a block is a box with all that stands above it. The word of a link stands
before its premise, so that the premises of `a seq b` read as the rule does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from etalis.pictures.paint.boxes import draw_boxes, set_text
from etalis.pictures.paint.layout import Point, Size
from etalis.pictures.paint.lettering import LETTER, cells, letter
from etalis.pictures.paint.sheet import MARGIN, set_notes, stroke, write_sheet
from etalis.pictures.scene import Diagram, SceneLink

_GAP = 18.0  # between premises
_OVER = 9.0  # between a box and the line over it
_WORD = 12  # size of letters
_SPREAD = 8.0  # how far a line goes beyond what it parts


@dataclass(slots=True)
class _Block:
    """A box and all above it; places count from its lower left corner, `box` is where the box begins."""

    width: float
    height: float
    box: float
    premises: list[tuple[int, float]] = field(default_factory=list)  # link and where its block begins
    words: list[tuple[str, float]] = field(default_factory=list)
    line: tuple[float, float] | None = None


def paint_derivation(diagram: Diagram) -> str:
    """Paint a diagram in which every box is a premise of at most one other."""
    texts = [set_text(box) for box in diagram.boxes]
    sizes = [text.size() for text in texts]
    above: list[list[int]] = [[] for _ in diagram.boxes]
    for number, link in enumerate(diagram.links):
        above[link.target].append(number)
    blocks: dict[int, _Block] = {}
    for box in _premises_first(diagram, above):
        blocks[box] = _make_block(box, above[box], diagram.links, sizes, blocks)
    roots = sorted({*range(len(diagram.boxes))} - {link.source for link in diagram.links})
    corners: list[Point] = [(0.0, 0.0)] * len(diagram.boxes)
    body: list[str] = []
    width = height = 0.0
    for root in roots:
        bottom = height + blocks[root].height + (2 * MARGIN if height else 0)
        body += _place(root, bottom, diagram, blocks, sizes, corners)
        width, height = max(width, blocks[root].width), bottom
    notes = set_notes(diagram.notes, width, height)
    body += [*draw_boxes(diagram.boxes, corners, sizes, texts), *notes.elements]
    size = (max(width, notes.width) + 2 * MARGIN, notes.bottom + 2 * MARGIN)
    return write_sheet(diagram.title, (-MARGIN, -MARGIN), *size, body)


def _premises_first(diagram: Diagram, above: Sequence[Sequence[int]]) -> list[int]:
    order = sorted({*range(len(diagram.boxes))} - {link.source for link in diagram.links})
    for box in order:  # which grows
        order.extend(diagram.links[number].source for number in above[box])
    return order[::-1]


def _make_block(
    box: int, premises: Sequence[int], links: Sequence[SceneLink], sizes: Sequence[Size], blocks: dict[int, _Block]
) -> _Block:
    own = sizes[box]
    if not premises:
        return _Block(own.width, own.height, 0.0)
    block = _Block(0.0, 0.0, 0.0)
    x = left = right = 0.0
    for place, number in enumerate(premises):
        link = links[number]
        inner = blocks[link.source]
        x += _GAP if place else 0.0
        if link.label:
            block.words.append((link.label, x))
            x += cells(link.label) * _WORD * LETTER + _GAP * 0.6
        block.premises.append((number, x))
        left = x + inner.box if place == 0 else left
        right = x + inner.box + sizes[link.source].width
        x += inner.width
    left = min([left, *(at for _, at in block.words)])
    block.box = (left + right - own.width) / 2  # under its premises, not under all above these
    shift = max(0.0, -block.box)
    block.box += shift
    block.premises = [(number, at + shift) for number, at in block.premises]
    block.words = [(word, at + shift) for word, at in block.words]
    block.width = max(x + shift, block.box + own.width)
    block.line = (min(left + shift, block.box), max(right + shift, block.box + own.width))
    block.height = own.height + 2 * _OVER + max(blocks[links[n].source].height for n in premises)
    return block


def _place(
    root: int, bottom: float, diagram: Diagram, blocks: dict[int, _Block], sizes: Sequence[Size], corners: list[Point]
) -> Iterator[str]:
    """Give all boxes of a block their corners; yield lines and words."""
    waiting = [(root, 0.0, bottom)]
    while waiting:
        box, x, y = waiting.pop()
        block = blocks[box]
        corners[box] = (x + block.box, y - sizes[box].height)
        if block.line is None:
            continue
        at = y - sizes[box].height - _OVER
        low, high = block.line
        yield f'<path d="M{x + low - _SPREAD:.1f} {at:.1f} H{x + high + _SPREAD:.1f}" {stroke("match")}/>'
        deepest = min(sizes[diagram.links[n].source].height for n, _ in block.premises)
        for word, place in block.words:
            yield letter(x + place, at - _OVER - deepest / 2 + 4, word, size=_WORD, colour="faint")
        waiting.extend((diagram.links[n].source, x + place, at - _OVER) for n, place in block.premises)
