"""The colours of pictures: contrast in both modes, apart for colour-blind readers, and never colour alone."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from etalis.pictures.palette import COLOURS, FORMS, LINKS, Look, channels, contrast, look_of, rule_form

MODES = {"light": 0, "dark": 1}
TEXTS = ("ink", "faint")
PAPERS = ("paper", "band", *(name for name in COLOURS if name.endswith(" paper")))
RULES = [name for name in COLOURS if name.startswith("rule ")]
# what readers without one sort of cones see, of linear red, green and blue (Viénot, Brettel and Mollon 1999)
BLINDNESS = {
    "no red": ((0.11238, 0.88762, 0), (0.11238, 0.88762, 0), (0.00401, -0.00401, 1)),
    "no green": ((0.29275, 0.70725, 0), (0.29275, 0.70725, 0), (-0.02234, 0.02234, 1)),
}


@pytest.mark.parametrize("mode", MODES)
def test_texts_can_be_read_on_every_paper(mode: str) -> None:
    place = MODES[mode]
    worst = {(t, p): contrast(COLOURS[t][place], COLOURS[p][place]) for t in TEXTS for p in PAPERS}
    assert {pair: ratio for pair, ratio in worst.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("mode", MODES)
def test_shapes_and_lines_stand_out_from_what_is_behind_them(mode: str) -> None:
    place = MODES[mode]
    drawn = {(look.colour, look.paper) for look in (*FORMS.values(), *LINKS.values())}
    drawn |= {(look.colour, paper) for look in FORMS.values() for paper in ("paper", "band")}
    drawn |= {(rule, paper) for rule in RULES for paper in ("paper", "band")}
    ratios = {pair: contrast(*(COLOURS[name][place] for name in pair)) for pair in drawn}
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < 3} == {}


@pytest.mark.parametrize("mode", MODES)
def test_a_label_can_be_read_on_a_bar(mode: str) -> None:
    """A bar is filled with 0.18 of its colour."""
    place = MODES[mode]
    for look in (*FORMS.values(), *(look_of(rule) for rule in RULES)):
        pairs = zip(_bytes(COLOURS[look.colour][place]), _bytes(COLOURS["band"][place]), strict=True)
        behind = "#" + "".join(f"{round(0.18 * over + 0.82 * under):02x}" for over, under in pairs)
        assert contrast(COLOURS["ink"][place], behind) >= 4.5


def _bytes(colour: str) -> list[int]:
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("blindness", BLINDNESS)
def test_rules_next_to_each_other_can_be_told_apart_by_colour_blind_readers(mode: str, blindness: str) -> None:
    """Two rules of one shape differ in what such readers see; all others differ in shape."""
    seen = {rule: _seen(COLOURS[rule][MODES[mode]], blindness) for rule in RULES}
    for first, second in combinations(RULES, 2):
        if look_of(first).shape == look_of(second).shape:
            assert sum(abs(a - b) for a, b in zip(seen[first], seen[second], strict=True)) > 0.08, (first, second)


def _seen(colour: str, blindness: str) -> list[float]:
    parts = list(channels(colour))
    return [sum(weight * part for weight, part in zip(row, parts, strict=True)) for row in BLINDNESS[blindness]]


def without_colour(look: Look) -> tuple[object, ...]:
    return look.shape, look.round, look.dash, look.width, look.is_bar


BOXES = ("event", "time", "operator", "head", "kind", "reference", "test", "nothing", "knowledge")


def test_no_two_boxes_differ_by_colour_alone() -> None:
    looks = [without_colour(FORMS[name])[1:] for name in BOXES]
    assert len(set(looks)) == len(BOXES)


def test_no_two_marks_of_a_picture_differ_by_colour_alone() -> None:
    answers = ("present", "missing", "nearest", "blocker", "rival", "allowed", "excess")
    assert len({without_colour(FORMS[name]) for name in answers}) == len(answers)
    streams = ("received", "match", "taken back")
    assert len({without_colour(FORMS[name]) for name in streams}) == len(streams)


def test_no_two_links_differ_by_colour_alone() -> None:
    together = ("match", "absent", "event")  # a part is drawn on time lines alone
    assert len({LINKS[name].dash for name in together}) == len(together)


def test_rules_have_looks_of_their_own() -> None:
    looks = [look_of(rule_form(number)) for number in range(84)]
    assert len({(look.colour, look.shape, look.dash) for look in looks}) == 84
    assert all(first.shape != second.shape for first, second in pairwise(looks))


def test_a_mark_of_a_rule_has_a_shape_that_no_received_event_has() -> None:
    assert FORMS["received"].shape not in {look_of(rule_form(number)).shape for number in range(84)}
