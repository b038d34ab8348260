"""The flower shop (003, 6.1): the outcomes that its scenarios state, its rules one by one, its versions compared."""

from __future__ import annotations

import os
import random
import runpy
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import etalis
from etalis.data.values import Struct, format_value
from etalis.errors import EtalisError
from etalis.formats import Row
from etalis.logic.knowledge.loaders import load_rows
from etalis.logic.terms.unify import to_value
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from helpers.treatments import reverse_rules

FOLDER = Path(__file__).parents[1] / "examples" / "flower_shop"
SHOP = runpy.run_path(str(FOLDER / "shop.py"))
VERSIONS = list(product(SHOP["VERSIONS"], repeat=2))
SETTINGS = {
    "start_assignment_time": 120,
    "check_manual_assignment_time": 60,
    "check_pick_up_time": 300,
    "check_delivery_time": 600,
    "ranking_threshold": 3,
    "delivery_alarm_threshold": 2,
}
REGIONS = [("center", "N", 0, 100, "W", 0, 100), ("north", "N", 100, 200, "W", 0, 100)]
STORES = [("quick", 5, "automatic"), ("choosy", 5, "manual")]
CENTER, NORTH, NOWHERE = (Struct("coordinates", ("N", x, "W", 10)) for x in (50, 150, 999))


def clock(minute: int) -> Struct:
    return Struct("datetime", (1970, 1, 1, minute // 60, minute % 60, 0))


def told(matches: Iterable[Event], without: Sequence[str] = ("delivery_request_enriched",)) -> list[str]:
    """Write matches as minute and short atom."""
    return [f"{m.end_datetime:%H:%M} {SHOP['name_of'](m)}" for m in matches if m.name not in without]


def play(scenario: str, ranking: str, activity: str) -> list[Event]:
    engine = SHOP["load_program"](scenario, ranking, activity).engine()
    matches = list(SHOP["feed"](engine, SHOP["read_stream"](scenario)))
    assert not engine.errors
    return matches


class Shop:
    """A shop with drivers of the given rankings, driven by hand; times are minutes."""

    def __init__(self, drivers: dict[str, int], ranking: str = "counters", activity: str = "counters") -> None:
        program = etalis.compile(SHOP["program_text"](ranking, activity))
        program.load_facts("driver_record", list(drivers.items()))
        program.load_facts("store_record", STORES)
        program.load_facts("region", REGIONS)
        program.load_facts("setting", list(SETTINGS.items()))
        self.engine = program.engine()
        self.found: list[Event] = []

    def at(self, minute: float, *rows: tuple[Any, ...]) -> Shop:
        for name, *args in rows:
            self.found += self.engine.push(name, *args, at=minute * 60)
        return self

    def request(self, minute: int, store: str = "quick", to: Struct = CENTER, due: int = 60) -> Shop:
        return self.at(minute, ("delivery_request", store, to, clock(due)))

    def close(self, *names: str) -> list[str]:
        """End the stream and return what happened, of the names given."""
        self.found += self.engine.close()
        assert not self.engine.errors
        return told(match for match in self.found if match.name in names)


@pytest.mark.parametrize(("ranking", "activity"), VERSIONS)
def test_normal_flow(ranking: str, activity: str) -> None:
    assert told(play("normal", ranking, activity)) == [
        "00:00 bid_request(1, driverA, store1, 50N 50W, 00:15)",
        "00:00 bid_request(1, driverB, store1, 50N 50W, 00:15)",
        "00:05 assignment(1, store1, 50N 50W, 00:15, driverA, 00:10)",
        "00:15 ranking_increase(driverA, 8)",
    ]


@pytest.mark.parametrize(("ranking", "activity"), VERSIONS)
def test_late_flow(ranking: str, activity: str) -> None:
    five = ", ".join(f"driver{name} (3)" for name in "FGHIJ")
    assert told(play("late", ranking, activity)) == [
        *(f"00:00 bid_request(1, driver{name}, store3, 250N 50W, 00:15)" for name in "FGHIJK"),
        f"00:04 store_transmit_highest_five_delivery_bids(1, store3, 250N 50W, 00:15, [{five}])",
        "00:05 no_choice_alert(1)",
        "00:06 assignment(1, store3, 250N 50W, 00:15, driverF, 00:04)",
        "00:09 pick_up_alert(1, store3, driverF, 00:04)",
        "00:25 delivery_alert(1, store3, driverF, 00:15)",
        "00:25 ranking_decrease(driverF, 2)",
    ]


@pytest.mark.parametrize(("ranking", "activity"), VERSIONS)
def test_handover_flow(ranking: str, activity: str) -> None:
    place = "10N 10W, 08:30"
    assert told(play("handover", ranking, activity), ("delivery_request_enriched", "bid_request")) == [
        f"08:02 assignment(1, store1, {place}, driverA, 08:10)",
        f"08:02 assignment(2, store1, {place}, driverA, 08:10)",
        f"08:02 store_transmit_highest_five_delivery_bids(3, store2, {place}, [driverB (7)])",
        "08:02 no_bid_alert(4)",
        f"08:02 assignment(3, store2, {place}, driverB, 08:10)",
        f"08:05 handed_over(1, driverA, driverB, store1, {place}, 08:10)",
        f"08:05 assignment(1, store1, {place}, driverB, 08:10)",
        "08:15 pick_up_alert(2, store1, driverA, 08:10)",
        "08:15 pick_up_alert(3, store2, driverB, 08:10)",
        "08:40 delivery_alert(3, store2, driverB, 08:30)",
    ]


@pytest.mark.parametrize(("ranking", "activity"), VERSIONS)
def test_month(ranking: str, activity: str) -> None:
    found = [m for m in play("month", ranking, activity) if m.name != "bid_request"]
    ranks = [f"{m.end_datetime:%d} {m.atom}" for m in found if m.name.startswith(("ranking", "neutral"))]
    assert ranks == [
        "02 neutral_note(driver1)",
        "03 ranking_increase(driver1, 6)",
        "24 ranking_increase(driver2, 7)",
        "25 ranking_increase(driver1, 7)",
    ]
    assert [m.args[4] for m in found if m.name == "assignment"] == ["driver1"]
    assert not [m for m in found if m.name.endswith("alert")]
    assert report(found, activity) == {
        "permanentWeakDriver": ["driver1", "driver3", "driver4", "driver5", "driver6", "driver7"],
        "idleDriver": ["driver3", "driver7"],
        "consistentWeakDriver": ["driver7"],
        "consistentStrongDriver": ["driver2"],
        "improvingDriver": ["driver1", "driver2", "driver4", "driver5", "driver6", "driver7"],
    }


CRITERIA = ("permanentWeakDriver", "idleDriver", "consistentWeakDriver", "consistentStrongDriver", "improvingDriver")


def report(found: list[Event], activity: str) -> dict[str, list[str]]:
    """Return the report of the month, from whichever version has made it."""
    if activity == "events":
        return {name: sorted(m.args[0] for m in found if m.name == name) for name in CRITERIA}
    [match] = [m for m in found if m.name == "report_event"]
    return dict(zip(CRITERIA, map(list, match.args[0].args[1:]), strict=True))


def test_the_report_can_be_asked_for_at_any_time() -> None:
    engine = SHOP["load_program"]("month", "counters", "counters").engine()
    asked = "monthly_report(month(2009, 12), Weak, Idle, FarBelow, FarAbove, Improving)"
    for item in SHOP["read_stream"]("month"):
        if isinstance(item, Row) and item.event.end_datetime < datetime(2009, 12, 24, tzinfo=UTC):
            engine.push(item.event.name, *item.event.args, at=item.event.end)
    [found] = engine.query(asked)
    assert (list(found["Idle"]), list(found["FarBelow"]), list(found["FarAbove"])) == (["driver7"], ["driver7"], [])


@pytest.mark.parametrize(("ranking", "activity"), VERSIONS)
def test_there_is_nothing_to_warn_of(ranking: str, activity: str) -> None:
    assert not SHOP["load_program"]("normal", ranking, activity).problems


@pytest.mark.parametrize("scenario", SHOP["SCENARIOS"])
def test_it_runs_from_the_command_line(scenario: str) -> None:
    command = [sys.executable, str(FOLDER / "shop.py"), scenario, "--ranking", "events", "--activity", "events"]
    own = {"PYTHONPATH": str(FOLDER.parents[1] / "src"), "PYTHONUTF8": "1"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=os.environ | own, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "=>" in done.stdout
    assert "◆" in done.stdout


def test_every_rule_and_scenario_is_used() -> None:
    assert {path.stem for path in FOLDER.rglob("*.etalis")} == {
        "1_bids", "2_assignment", "3_delivery", *(f"4_ranking_{v}" for v in SHOP["VERSIONS"]),
        *(f"5_activity_{v}" for v in SHOP["VERSIONS"]),
    }  # fmt: skip
    assert {path.parent.name for path in FOLDER.rglob("stream.events")} == set(SHOP["SCENARIOS"])


def facts(scenario: str) -> str:
    """Return the tables of a scenario as clauses, for the meaning, which takes a text alone."""
    clauses = []
    for name, (file, columns) in SHOP["TABLES"].items():
        for row in load_rows(FOLDER / scenario / file, columns).rows:
            clauses.append(f"{format_value(Struct(name, map(to_value, row)))}.")
    return "\n".join(clauses)


@pytest.mark.parametrize(("ranking", "activity"), VERSIONS)
@pytest.mark.parametrize("scenario", SHOP["SCENARIOS"])
def test_engine_and_meaning_agree(scenario: str, ranking: str, activity: str) -> None:
    tree = etalis.compile(SHOP["program_text"](ranking, activity) + facts(scenario)).compiled.tree
    stream = [item.event for item in SHOP["read_stream"](scenario) if isinstance(item, Row)]
    errors: list[EtalisError] = []
    assert semantics.reported(tree, semantics.run(tree, stream, errors=errors)) == play(scenario, ranking, activity)
    assert not errors


@pytest.mark.parametrize(("ranking", "activity"), VERSIONS)
@pytest.mark.parametrize("scenario", SHOP["SCENARIOS"])
def test_the_order_of_the_rules_makes_no_difference(scenario: str, ranking: str, activity: str) -> None:
    text = reverse_rules(SHOP["program_text"](ranking, activity) + facts(scenario))
    found = list(SHOP["feed"](etalis.compile(text).engine(), SHOP["read_stream"](scenario)))
    assert found == play(scenario, ranking, activity)


def test_it_runs_on_the_clock_of_a_host() -> None:
    program, rows = SHOP["load_program"]("late", "events", "events"), SHOP["read_stream"]("late")
    now = [0.0]
    engine = program.engine(clock=lambda: now[0])
    found = []
    for event in (row.event for row in rows if isinstance(row, Row)):
        now[0] = event.end
        found += engine.push(event.name, *event.args)
    assert [*found, *engine.close()] == play("late", "events", "events")


# bids


def test_only_the_newest_position_counts_and_only_for_an_hour() -> None:
    shop = Shop({"moved": 7, "left": 7, "silent": 7, "here": 7})
    shop.at(0, ("gps_location", "silent", CENTER))
    shop.at(10, *(("gps_location", driver, CENTER) for driver in ("moved", "left", "here")))
    shop.at(50, ("gps_location", "moved", NORTH), ("gps_location", "left", NOWHERE))
    assert shop.request(61, due=90).close("bid_request") == ["01:01 bid_request(1, here, quick, 50N 10W, 01:30)"]


def test_a_position_serves_many_requests() -> None:
    shop = Shop({"a": 7}).at(0, ("gps_location", "a", CENTER)).request(1).request(2)
    assert len(shop.close("bid_request")) == 2


def test_a_changed_ranking_counts_at_once() -> None:
    shop = Shop({"a": 4}).at(0, ("gps_location", "a", CENTER)).request(1)
    shop.at(2, *(("delivery_confirmation", n, "a", clock(2)) for n in (7, 8, 9))).request(3)
    assert shop.close("bid_request") == ["00:03 bid_request(2, a, quick, 50N 10W, 01:00)"]


# assignment


def ready(drivers: dict[str, int], store: str = "quick", **options: str) -> Shop:
    """Return a shop whose drivers have been asked for a bid at minute 1."""
    shop = Shop(drivers, **options)
    return shop.at(0, *(("gps_location", driver, CENTER) for driver in drivers)).request(1, store)


def bid(driver: str, pick_up: int = 10) -> tuple[Any, ...]:
    return ("delivery_bid", 1, driver, CENTER, clock(pick_up))


def test_the_first_bidder_wins_at_the_end_of_the_time() -> None:
    shop = ready({"a": 6, "b": 9}).at(2, bid("a"), bid("b"))
    assert shop.close("assignment", "no_bid_alert") == ["00:03 assignment(1, quick, 50N 10W, 01:00, a, 00:10)"]


def test_a_driver_who_was_not_asked_cannot_bid() -> None:
    shop = ready({"low": 1, "a": 6}).at(2, bid("low"))
    assert shop.close("assignment", "no_bid_alert") == ["00:03 no_bid_alert(1)"]


def test_a_late_bid_is_better_than_none() -> None:
    shop = ready({"a": 6, "b": 6}).at(5, bid("a", 12)).at(6, bid("b"))
    expected = ["00:03 no_bid_alert(1)", "00:05 assignment(1, quick, 50N 10W, 01:00, a, 00:12)"]
    assert shop.close("assignment", "no_bid_alert") == expected


def test_the_store_gets_the_five_best_and_may_choose_no_other() -> None:
    ranks = {"a": 5, "b": 9, "c": 6, "d": 7, "e": 6, "f": 8}
    shop = ready(ranks, "choosy").at(2, *map(bid, ranks))
    for minute, driver in ((3.5, "a"), (3.75, "c")):
        shop.at(minute, ("store_select_delivery_bid", 1, driver, clock(10)))
    five = "[b (9), f (8), d (7), c (6), e (6)]"
    assert shop.close("assignment", "store_transmit_highest_five_delivery_bids", "no_choice_alert") == [
        f"00:03 store_transmit_highest_five_delivery_bids(1, choosy, 50N 10W, 01:00, {five})",
        "00:03 assignment(1, choosy, 50N 10W, 01:00, c, 00:10)",
    ]


def test_a_choice_for_another_request_is_none_for_this() -> None:
    shop = ready({"a": 6}, "choosy").at(2, bid("a")).at(3.5, ("store_select_delivery_bid", 2, "a", clock(10)))
    assert shop.close("assignment", "no_choice_alert") == ["00:04 no_choice_alert(1)"]


# delivery


def test_a_delivery_on_the_very_limit_is_late() -> None:
    shop = ready({"a": 6}).at(2, bid("a")).at(15, ("pick_up_confirmation", 1, "a", clock(15)))
    shop.at(70, ("delivery_confirmation", 1, "a", clock(70)))
    assert shop.close("pick_up_alert", "delivery_alert") == [
        "00:15 pick_up_alert(1, quick, a, 00:10)",
        "01:10 delivery_alert(1, quick, a, 01:00)",
    ]


def test_flowers_that_change_hands_need_not_be_fetched_twice() -> None:
    shop = ready({"a": 6, "b": 6}).at(2, bid("a")).at(9, ("pick_up_confirmation", 1, "a", clock(9)))
    shop.at(12, ("handover", 1, "a", "b"))
    assert shop.close("pick_up_alert", "delivery_alert") == ["01:10 delivery_alert(1, quick, b, 01:00)"]


def test_who_has_handed_a_delivery_over_is_not_to_blame() -> None:
    shop = ready({"a": 6, "b": 6}).at(2, bid("a")).at(4, ("handover", 1, "a", "b"))
    assert shop.close("pick_up_alert", "delivery_alert") == [
        "00:15 pick_up_alert(1, quick, b, 00:10)",
        "01:10 delivery_alert(1, quick, b, 01:00)",
    ]


def test_a_delivery_can_be_handed_on_again_but_only_by_who_has_it() -> None:
    shop = ready({"a": 6, "b": 7, "c": 8, "d": 9}).at(2, bid("a")).at(4, ("handover", 1, "a", "b"))
    shop.at(5, ("handover", 1, "a", "d")).at(6, ("handover", 1, "b", "c"))
    assert [line.split(", ")[4] for line in shop.close("assignment")] == ["a", "b", "c"]


# ranking


def rank(deliveries: str, ranking: str) -> list[str]:
    """Return what becomes of a driver's ranking: + is a delivery, - an alert, one a minute."""
    shop = Shop({"a": 5}, ranking=ranking).at(0, ("start_ranking_evaluation_for_all_drivers",))
    for minute, mark in enumerate(deliveries, 1):
        done = ("delivery_confirmation", minute, "a", clock(1))
        shop.at(minute, done if mark == "+" else ("delivery_alert", minute, "quick", "a", clock(1)))
    return [line.split(" ", 1)[1] for line in shop.close(*RANKED)]


RANKED = ("ranking_increase", "ranking_decrease", "neutral_note", "improvement_note")
UP, DOWN, SAME, NOTE = "ranking_increase(a, {})", "ranking_decrease(a, {})", "neutral_note(a)", "improvement_note(a)"


@pytest.mark.parametrize("ranking", SHOP["VERSIONS"])
@pytest.mark.parametrize(
    ("deliveries", "expected"),
    [
        ("++", []),
        ("+++", [UP.format(6)]),
        ("+++++++", [UP.format(6), UP.format(7)]),
        ("+-++", [SAME]),
        ("+--++", [SAME]),
        ("+---++", [DOWN.format(4)]),
        ("---++++++", [DOWN.format(4), UP.format(5), NOTE]),
        ("---+++-++++++", [DOWN.format(4), SAME, UP.format(5)]),
        ("---++++++---+++", [DOWN.format(4), UP.format(5), NOTE, DOWN.format(4)]),
        ("---+++---++++++", [DOWN.format(4), DOWN.format(3), UP.format(4), NOTE]),
    ],
)
def test_ranking(deliveries: str, expected: list[str], ranking: str) -> None:
    assert rank(deliveries, ranking) == expected


def test_the_two_versions_of_ranking_agree() -> None:
    chance = random.Random(61)
    for _ in range(25):
        deliveries = "".join(chance.choices("+-", (3, chance.choice((1, 2, 3))), k=40))
        assert rank(deliveries, "counters") == rank(deliveries, "events")


# activity


def month(days: dict[int, dict[str, int]], activity: str) -> dict[str, list[str]]:
    """Return the report of a month from the number of assignments per active driver and day."""
    shop = Shop(dict.fromkeys("abcdefgh", 6), activity=activity).at(0, ("month", Struct("date", (1970, 1))))
    number = 0
    for day, counts in days.items():
        start, due = (day - 1) * 1440 + 480, Struct("datetime", (1970, 1, day, 9, 0, 0))
        for driver in counts:
            shop.at(start, ("activeDriver", driver, "quick", Struct("date", (1970, 1, day))))
            shop.at(start, ("bid_request", -day, driver, "quick", CENTER, due))
        for driver, count in counts.items():
            for _ in range(count):
                number += 1
                shop.at(start + 10, ("assignment", number, "quick", CENTER, due, driver, due))
        shop.at(start + 800, ("day", Struct("date", (1970, 1, day))))
    shop.at(31 * 1440 - 1, ("end_month", Struct("month", (1970, 1))))
    shop.at(31 * 1440, ("month", Struct("date", (1970, 2))))
    return report([*shop.found, *shop.engine.close()], activity)


@pytest.mark.parametrize("activity", SHOP["VERSIONS"])
def test_report(activity: str) -> None:
    days = {
        3: {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 0},
        4: {"a": 4, "b": 0, "c": 5, "d": 1},
        9: {"a": 4, "b": 2, "d": 0},
    }
    assert month(days, activity) == {
        "permanentWeakDriver": ["a", "b", "d", "e", "f"],
        "idleDriver": ["b", "d", "f"],
        "consistentWeakDriver": ["f"],
        "consistentStrongDriver": [],
        "improvingDriver": ["a", "c", "e", "f"],
    }


@pytest.mark.parametrize("activity", SHOP["VERSIONS"])
@pytest.mark.parametrize("other", [2, 0])
def test_who_is_near_the_average_is_neither_strong_nor_weak(other: int, activity: str) -> None:
    """Equal drivers are at the average, two different ones are one standard deviation away."""
    found = month({3: {"a": 2, "b": other}}, activity)
    assert (found["consistentWeakDriver"], found["consistentStrongDriver"]) == ([], [])


def test_the_two_versions_of_activity_agree() -> None:
    chance = random.Random(62)
    for _ in range(15):
        days = {}
        for day in sorted(chance.sample(range(1, 31), 3)):
            drivers = sorted(chance.sample("abcdefgh", chance.randint(1, 8)))
            usual, odd = chance.choice([(1, 0), (1, 6), (2, 2), (5, 5)]), chance.choice(drivers)
            days[day] = {driver: usual[driver == odd] for driver in drivers}
        assert month(days, "counters") == month(days, "events")
