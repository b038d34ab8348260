"""A justification as a diagram: of every event its premises, as the rule's text has them, then what was tested.

As a derivation every box is drawn where it is used, and an event used twice refers to its first place; from left to
right it is one box. What would not fit on a page is counted, not drawn. All walks are loops.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from etalis.pictures.paint.axis import are_dates
from etalis.pictures.scene import Box, Diagram, SceneLink
from etalis.pictures.scenes.why_boxes import is_usual, make_box, refer_to
from etalis.why import justification as j
from etalis.why.forms.wording import rule_text

MOST_BOXES = 150
_MOST_ELEMENTS = 8
_ANY = "any"  # around a body that stands alone: whatever its operator, it is shown by its operands

Shown = j.Node | Box
Premise = tuple[str, Shown]  # with the word before it


def draw_why(found: j.Justification, *, direction: str = "down") -> Diagram:
    """Draw a justification: `down`, premises over a line over the conclusion, or to the `right`."""
    if direction not in ("down", "right"):
        raise ValueError(f"a justification is drawn down or right, not {direction}")
    return _WhyDrawing(found, as_tree=direction == "down").diagram


class _WhyDrawing:
    """A diagram while it is made, from the conclusion to its premises, the nearest first."""

    def __init__(self, found: j.Justification, *, as_tree: bool) -> None:
        self.dates = are_dates(found.root.start, found.root.end, None)
        self.as_tree = as_tree
        self.diagram = Diagram(f"why {found.root.atom}", is_derivation=as_tree)
        self.places: dict[int, int] = {}
        self.kept: list[Shown] = []  # so that no identity is given away twice
        self.rules: dict[str, str] = {}
        self.is_cut = False
        waiting: deque[tuple[Shown, int | None, str]] = deque([(found.root, None, "")])
        while waiting:
            waiting.extend(self._add(*waiting.popleft()))
        self.diagram.notes = [*(f"rule {label}: {text}" for label, text in self.rules.items()), *found.notes]
        if not found.complete:
            self.diagram.notes.append("not complete: some of its parts were not kept")
        if self.is_cut:
            self.diagram.notes.append(f"the {MOST_BOXES} nearest boxes are drawn; as text and JSON it is whole")

    def _add(self, node: Shown, target: int | None, word: str) -> Iterator[tuple[Shown, int, str]]:
        known = self.places.get(id(node))
        if known is not None and not self.as_tree:
            self._link(known, target, word, node)
            return
        if len(self.diagram.boxes) >= MOST_BOXES:
            self.is_cut = True
            return
        is_again = known is not None and isinstance(node, j.Derived | j.Raised)
        number = self.diagram.add(refer_to(node, self.dates) if is_again else make_box(node, self.dates))
        self._link(number, target, word, node)
        if isinstance(node, j.Derived):
            self.rules.setdefault(node.rule, rule_text(node.rule, node.text))
        if known is None:
            self.places[id(node)] = number
            self.kept.append(node)
        if not is_again and not isinstance(node, Box):
            yield from ((premise, number, before) for before, premise in _premises(node) if not is_usual(premise))

    def _link(self, number: int, target: int | None, word: str, node: Shown) -> None:
        if target is not None:
            form = "absent" if isinstance(node, j.Nothing | j.AloneBetween) else "match"
            self.diagram.links.append(SceneLink(number, target, word, form))


def _premises(node: j.Node) -> list[Premise]:
    """Return what a node rests on."""
    match node:
        case j.Derived(body=body, tests=tests):
            return [*_operands(body), *(("", test) for test in tests)]
        case j.ConditionHeld(proof=(j.BuiltIn(),)):
            return []  # which it says itself
        case j.ChosenBranch(body=body) | j.Rung(body=body):
            return _operands(body)
        case j.RepeatedRun(left=None, elements=elements) | j.FoldedValue(opener=None, elements=elements):
            return _ends(elements)
        case j.PutTogether(bodies=bodies):
            return _ends(bodies)
        case j.Tested() | j.PairOf() | j.RepeatedRun() | j.FoldedValue() | j.Awaited():
            return _operands(node)
        case _:
            return [("", inner) for inner in j.below(node)]


def _operands(body: j.Node) -> list[Premise]:
    """Return a body as the premises that the rule's text has: of `a seq b seq c` three, with the words between them."""
    found: list[Premise] = []
    stack: list[tuple[str, Shown, str]] = [("", body, _ANY)]
    while stack:
        word, node, around = stack.pop()
        match node:
            case j.Tested(body=inner, tests=tests) if around == _ANY or isinstance(inner, j.Occurred):
                stack.extend(("", test, "") for test in reversed(tests))
                stack.append((word, inner, around))
            case j.PairOf(relation=relation, left=left, right=right) if around in (_ANY, relation):
                stack.extend(_side(relation, right, ""))
                stack.extend(_side(word, left, relation))
            case j.RepeatedRun(left=first, elements=elements) if first is not None and around in (_ANY, "seq"):
                stack += [("seq", j.RepeatedRun(None, elements), ""), (word, first, "seq")]
            case j.FoldedValue(kind=kind, opener=first, elements=elements, value=value) if (
                first is not None and around in (_ANY, "seq")
            ):
                stack += [("seq", j.FoldedValue(kind, None, elements, value), ""), (word, first, "seq")]
            case j.Awaited(left=left, nothing=nothing) if around in (_ANY, "seq"):
                stack += [("seq", nothing, ""), (word, left, "seq")]
            case _:
                found.append((word, node))
    return found


def _side(word: str, side: j.PairSide, around: str) -> list[tuple[str, Shown, str]]:
    """Return a side of a pair for the stack, the last part first; one of `cumulative` has several."""
    if not isinstance(side, tuple):
        return [(word, side, around)]
    several: list[tuple[str, Shown, str]] = [(",", part, "") for part in side[:0:-1]]
    return [*several, (word, side[0], "")]


def _ends(elements: Sequence[j.Body]) -> list[Premise]:
    """Return elements as premises; of very many the first and the last."""
    if len(elements) <= _MOST_ELEMENTS:
        return [("", element) for element in elements]
    between = len(elements) - _MOST_ELEMENTS + 1
    first = elements[: _MOST_ELEMENTS // 2]
    last = elements[len(first) + between :]
    return [*(("", e) for e in first), ("", Box("reference", f"… {between} more …")), *(("", e) for e in last)]
