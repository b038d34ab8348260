"""Why-not answers as time lines: parts that came, the missing dashed, what stands in the way."""

from __future__ import annotations

import pytest

import etalis
from etalis.language.read.parser import parse_term
from etalis.pictures.palette import FORMS
from etalis.pictures.scene import LaneMark, Timeline
from etalis.pictures.scenes.why_not import MOST_LANES, draw_why_not
from etalis.why import why_not as w
from etalis.why.repairing.data import AddEvent, Repair
from helpers import explanations as ex
from helpers.drawn import check_timeline

SECOND = 1_000_000


def marks(timeline: Timeline, form: str) -> list[LaneMark]:
    return [mark for mark in timeline.marks if mark.form == form]


@pytest.mark.parametrize("found", [ex.missing(), ex.blocked(), ex.several_causes()])
def test_every_answer_is_drawn(found: w.WhyNot) -> None:
    check_timeline(found.to_svg())
    assert found._repr_html_() == found.to_svg()
    assert len(found.to_html()) < 100_000


def test_a_missing_part_is_a_dashed_bar_over_the_time_in_which_it_would_have_counted() -> None:
    timeline = draw_why_not(ex.missing())
    (lost,) = marks(timeline, "missing")
    assert (lost.start, lost.end, timeline.lanes[lost.lane].label) == (SECOND, None, "b")
    assert lost.details == ("after 1",)
    assert FORMS["missing"].dash is not None
    assert [mark.label for mark in marks(timeline, "present")] == ["a"]
    assert timeline.lanes[0].heading == ("rule 1: c <- a seq b.", "b is missing after 1")


def test_blockers_are_red_and_have_a_shape_of_their_own() -> None:
    timeline = draw_why_not(ex.blocked())
    assert [(mark.start, mark.label) for mark in marks(timeline, "blocker")] == [(2 * SECOND, "x"), (2_500_000, "x")]
    assert FORMS["blocker"].colour == "red"
    assert [look.shape for look in FORMS.values()].count("cross") == 1


def test_windows_orders_and_nearest_misses() -> None:
    timeline = draw_why_not(ex.several_causes())
    (allowed,), (excess,) = marks(timeline, "allowed"), marks(timeline, "excess")
    assert (allowed.start, allowed.end, excess.start, excess.end) == (0, 10 * SECOND, 10 * SECOND, 12 * SECOND)
    assert excess.label == "12 s, 2 s too long"
    (order,) = timeline.links
    assert [timeline.marks[number].label for number in (order.source, order.target)] == ["p(2)", "q(2)"]
    assert [mark.label for mark in marks(timeline, "nearest")] == ["q(4): X is 4, not 3"]
    assert [mark.label for mark in marks(timeline, "rival")] == ["r"]
    assert timeline.notes == ["rule 1: 4 further attempts"]
    headings = [line for lane in timeline.lanes for line in lane.heading]
    assert "far(basel, bern) has no proof" in headings
    assert "the rule is there since 5" in headings


def test_only_what_is_used_is_in_the_legend() -> None:
    assert [form for form, _ in draw_why_not(ex.missing()).legend] == ["present", "missing"]


def test_a_missing_part_that_rules_derive_follows_with_its_own_attempts() -> None:
    lost = ex.part("c", after=1, because=ex.missing())
    attempt = w.Attempt((ex.part("z", ex.received(1, "z", 1)), lost), (w.MissingPart(lost),), (1, 0, 0))
    timeline = draw_why_not(ex.answer("d", w.RuleAnswer("2", "d <- z seq c.", (attempt,))))
    assert [lane.label for lane in timeline.lanes] == ["z", "c", "a", "b"]
    assert timeline.lanes[2].heading[0] == "c did not occur; rule 1: c <- a seq b."


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        (w.KnownLater(parse_term("linked(a, b)"), ((parse_term("linked(a, b)"), 5 * SECOND),)), "known only later"),
        (w.WrongValue("4", ((5, 3 * SECOND), (2, 2 * SECOND))), "had the value"),
        (w.StillPending(6 * SECOND), "pending"),
        (w.Affair("too_late", "a was too late", ex.received(3, "a", 8)), "too late"),
        (w.Withheld("merged", ex.received(1, "a", 1), (ex.received(2, "a", 2),)), "was merged in"),
    ],
)
def test_each_cause_has_a_lane(cause: w.Cause, told: str) -> None:
    attempt = w.Attempt(
        (ex.part("a", ex.received(1, "a", 1)), ex.part("b", ex.received(2, "b", 2))), (cause,), (0, 1, 0)
    )
    found = ex.answer("c", w.RuleAnswer("1", "c <- a seq b.", (attempt,)))
    assert [lane.label for lane in draw_why_not(found).lanes] == ["a", "b", told]
    check_timeline(found.to_svg())


def test_a_repair_is_told() -> None:
    rules = ex.missing().rules
    repair = Repair((AddEvent("b", (), 1_000_001, 1_000_001),), "proved")
    assert draw_why_not(w.WhyNot("c", rules, repair=repair)).notes == ["repair: add b at 1.000001 (proved smallest)"]
    assert repair._repr_html_() == f"<pre>{repair.to_text()}</pre>"


def test_an_event_that_no_rule_makes_has_a_note() -> None:
    found = w.WhyNot("fraudd(c1)", unknown="no rule makes fraudd/1; did you mean fraud/2?", complete=False, steps=7)
    timeline = draw_why_not(found)
    assert timeline.lanes == []
    assert timeline.notes == [
        "no rule makes fraudd/1; did you mean fraud/2?",
        "not complete: the budget of 7 steps was reached",
    ]
    check_timeline(found.to_svg())


def test_an_event_that_did_occur_is_drawn_as_its_justification() -> None:
    found = w.WhyNot("c", occurred=ex.sequence())
    assert found.to_svg() == ex.sequence().to_svg()
    assert found.to_html() == ex.sequence().to_html()


def test_very_many_attempts_are_counted() -> None:
    rule = ex.missing().rules[0]
    found = ex.answer("c", w.RuleAnswer("1", rule.text, rule.attempts * 100))
    timeline = draw_why_not(found)
    assert len(timeline.lanes) == MOST_LANES
    assert timeline.notes == [f"not drawn: {100 - MOST_LANES // 2} further attempts"]


ASKED = """
c <- (a seq b) cnot x.
d(X) <- (p(X) seq q(X)) within 10.
far(bern, rome).
fraud(C) <- w(C, A) seq w(C, B) where far(A, B).
top <- c seq d(1).
e <- a seq b seq z.
total(R) <- a seq aggregate(sum(X), q(X), R).
late <- b seq (not z within 100).
"""
CAME = [
    ("a", 1), ("x", 2), ("b", 3), ("p", 1, 4), ("w", "c1", "basel", 5), ("w", "c1", "bern", 6),
    ("q", 2, 7), ("q", 1, 16),
]  # fmt: skip


@pytest.mark.parametrize("policy", ["unrestricted", "recent", "chronological"])
@pytest.mark.parametrize("question", ["c", "d(1)", "d(2)", "fraud(c1)", "top", "e", "total(9)", "late", "fraudd(c1)"])
def test_what_engines_answer_is_drawn(question: str, policy: str) -> None:
    engine = etalis.compile(ASKED).engine(justification="full", policy=policy)
    for name, *values, at in CAME:
        engine.push(str(name), *values, at=at)
    found = engine.why_not(question)
    timeline = draw_why_not(found)
    assert timeline.lanes or timeline.notes
    check_timeline(found.to_svg())


def test_conditions_are_told_with_their_values_and_attempts_with_something_in_them() -> None:
    found = etalis.compile("c <- p(X) seq q where X > 3.").why_not([("p", 1, 1), ("q", 2)], "c", policy="unrestricted")
    headings = [line for lane in draw_why_not(found).lanes for line in lane.heading]
    assert headings[1] == "1 > 3 has no proof"
    assert "p(X) is missing" not in headings


def test_long_texts_are_cut_above_a_time_line() -> None:
    text = "word " * 800
    found = etalis.compile("c(X) <- a(X) seq b(X).").why_not([("a", text, 1)], f"c('{text}')")
    timeline = draw_why_not(found)
    assert len(timeline.title) <= 120
    assert all(len(line) <= 240 for lane in timeline.lanes for line in lane.heading)
    assert "b('word" in found.to_svg()
