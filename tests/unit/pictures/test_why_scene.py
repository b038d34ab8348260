"""Justifications as diagrams: premises as the rule's text has them, tests, what is shared, what is too much."""

from __future__ import annotations

import pytest

import etalis
from etalis.pictures.scene import Diagram
from etalis.pictures.scenes.why import MOST_BOXES, draw_why
from etalis.why import justification as j
from helpers import explanations as ex
from helpers.drawn import check_dot, check_svg

ALL = {
    "sequence": ex.sequence, "absence": ex.absence, "fold": ex.fold, "knowledge": ex.knowledge, "shared": ex.shared,
    "chain": lambda: ex.chain(4), "deep": lambda: ex.chain(2_000),
}  # fmt: skip


def premises(diagram: Diagram, box: int = 0) -> list[tuple[str, str]]:
    """Return the premises of a box, each with the word before it."""
    return [(link.label, diagram.boxes[link.source].title) for link in diagram.links if link.target == box]


@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize("name", ALL)
def test_every_justification_is_drawn(name: str, direction: str) -> None:
    check_svg(ALL[name]().to_svg(direction=direction))
    check_dot(ALL[name]().to_dot())


def test_the_conclusion_comes_first_and_its_premises_as_the_text_has_them() -> None:
    diagram = draw_why(ex.absence())
    assert (diagram.boxes[0].form, diagram.boxes[0].title, diagram.boxes[0].lines) == (
        "head",
        "c(7)",
        ("[1, 3]", "rule 1"),
    )
    assert premises(diagram) == [("", "a(7)"), ("seq", "b(7)"), ("", "no x(Id)")]
    assert diagram.boxes[3].lines == ("after 1, before 3",)
    assert diagram.notes == ["rule 1: c(Id) <- (a(Id) seq b(Id)) cnot x(Id)."]


def test_an_absence_is_linked_in_another_form() -> None:
    diagram = draw_why(ex.absence())
    assert [link.form for link in diagram.links] == ["match", "match", "absent"]


def test_of_many_elements_the_ends_are_drawn_and_the_others_counted() -> None:
    diagram = draw_why(ex.fold())
    fold = next(number for number, box in enumerate(diagram.boxes) if box.title == "sum = 90")
    assert [title for _, title in premises(diagram, fold)] == [
        "p(2)", "p(3)", "p(4)", "p(5)", "… 5 more …", "p(11)", "p(12)", "p(13)",
    ]  # fmt: skip


def test_knowledge_is_drawn_with_its_proof_and_who_told_it() -> None:
    diagram = draw_why(ex.knowledge())
    titles = [(box.form, box.title) for box in diagram.boxes]
    assert ("test", "where near(a, b)") in titles
    assert ("knowledge", "near(a, b)") in titles
    assert ("knowledge", "linked(a, b)") in titles
    assert ("event", "linked(a, b)") in titles
    assert ("test", "1 < 2") in titles


def test_what_is_used_twice_is_one_box_to_the_right_and_a_reference_downwards() -> None:
    right = draw_why(ex.shared(), direction="right")
    assert [box.title for box in right.boxes].count("c") == 1
    assert len([link for link in right.links if right.boxes[link.source].title == "c"]) == 2
    down = draw_why(ex.shared())
    assert sorted(box.form for box in down.boxes if box.title == "c") == ["head", "reference"]


def test_what_does_not_fit_is_counted() -> None:
    diagram = draw_why(ex.chain(2_000))
    assert len(diagram.boxes) == MOST_BOXES
    assert diagram.notes[-1] == f"the {MOST_BOXES} nearest boxes are drawn; as text and JSON it is whole"
    assert len(ex.chain(2_000).to_html()) < 300_000


def test_a_justification_that_is_not_complete_says_so() -> None:
    found = ex.sequence()
    notes = draw_why(j.Justification(found.root, "", "full", False, ("history begins at 5",))).notes
    assert notes[1:] == ["history begins at 5", "not complete: some of its parts were not kept"]


def test_only_two_directions_are_known() -> None:
    with pytest.raises(ValueError, match="down or right, not up"):
        ex.sequence().to_svg(direction="up")


EVERY = """
pair(X) <- a(X) seq b(X).
run <- a(_) seq b(_) star_times seq d.
count(N) <- start seq aggregate(count, b(_), N).
either(X) <- (a(X) or b(X)) seq d.
late <- d seq (not e within 5).
exceptionAlarm(reminder, 3) <- d.
:- knowledge known/1.
told(X) <- a(X) where known(X).
known(1).
acted <- d do event(made(1)).
after(X) <- made(X).
alone <- iso(pair(1) seq d).
at7 <- 7 seq d.
short(X) <- (a(X) seq b(X)) within 5.
"""


@pytest.mark.parametrize("policy", ["unrestricted", "recent", "chronological", "cumulative"])
def test_what_engines_derive_is_drawn(policy: str) -> None:
    engine = etalis.compile(EVERY).engine(justification="full", policy=policy)
    found = []
    rows = [
        ("start", ()),
        ("a", (1,)),
        ("b", (1,)),
        ("b", (1,)),
        ("d", ()),
        ("d", ()),
        ("a", (2,)),
        ("d", ()),
        ("d", ()),
    ]
    for at, (name, args) in enumerate(rows, 1):
        found += engine.push(name, *args, at=at)
    found += engine.close()
    assert len({event.rule for event in found}) >= 10
    for event in found:
        justification = engine.justify(event)
        check_svg(justification.to_svg())
        check_svg(justification.to_svg(direction="right"))
        check_dot(justification.to_dot())
        assert justification._repr_html_() == justification.to_svg()
