"""The flower shop on random days: the engine equals the meaning, for all versions of its phases and all policies.

Many events share a moment, and numbers and drivers seldom fit, so that the rules meet what no scenario tells.
"""

from __future__ import annotations

import random
import runpy
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import etalis
from etalis.data.values import Struct
from etalis.errors import EtalisError
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from etalis.temporal.interval import to_time
from etalis.temporal.policy import POLICIES

SHOP = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "flower_shop" / "shop.py"))
VERSIONS = list(product(SHOP["VERSIONS"], repeat=2))
FACTS = """
setting(start_assignment_time, 120). setting(check_manual_assignment_time, 60).
setting(check_pick_up_time, 300). setting(check_delivery_time, 600).
setting(ranking_threshold, 2). setting(delivery_alarm_threshold, 1).
region(center, 'N', 0, 100, 'W', 0, 100). region(north, 'N', 100, 200, 'W', 0, 100).
store_record(quick, 5, automatic). store_record(choosy, 5, manual). store_record(any, 1, automatic).
driver_record(a, 4). driver_record(b, 5). driver_record(c, 6). driver_record(d, 7). driver_record(e, 7).
print_trigger(all_events).
"""
PLACES = [Struct("coordinates", ("N", x, "W", 10)) for x in (50, 50, 50, 150, 999)]
TODAY = Struct("date", (1970, 1, 1))
WEIGHTS = {
    "gps_location": 20, "delivery_request": 12, "delivery_bid": 23, "store_select_delivery_bid": 8,
    "pick_up_confirmation": 9, "delivery_confirmation": 12, "handover": 6, "no_one_to_receive": 3, "activeDriver": 4,
    "day": 3,
}  # fmt: skip


def clock(minute: int) -> Struct:
    return Struct("datetime", (1970, 1, 1, minute // 60, minute % 60, 0))


def occur(name: str, now: int, request: int, chance: random.Random) -> tuple[Any, ...]:
    """Return the attributes of an event, about one of the last requests."""
    driver, other, place = chance.choice("abcde"), chance.choice("abcde"), chance.choice(PLACES)
    soon = clock(min(now + chance.choice((0, 2, 8, 30)), 1439))
    rows: dict[str, tuple[Any, ...]] = {
        "gps_location": (driver, place),
        "delivery_request": (chance.choice(("quick", "choosy", "any")), place, soon),
        "delivery_bid": (request, driver, place, soon),
        "store_select_delivery_bid": (request, driver, soon),
        "pick_up_confirmation": (request, driver, soon),
        "delivery_confirmation": (request, driver, soon),
        "handover": (request, driver, other),
        "no_one_to_receive": (request,),
        "activeDriver": (driver, "quick", TODAY),
        "day": (TODAY,),
    }
    return rows[name]


def random_day(chance: random.Random) -> list[Event]:
    now, requests = 0, 0
    rows: list[tuple[str, tuple[Any, ...], int]] = [
        ("start_ranking_evaluation_for_all_drivers", (), 0),
        ("month", (Struct("date", (1970, 1)),), 0),
    ]
    for name in chance.choices(list(WEIGHTS), list(WEIGHTS.values()), k=chance.choice((20, 60, 150))):
        now += chance.choice((0, 0, 0, 1, 1, 2, 5, 10))
        rows.append((name, occur(name, now, chance.randint(max(1, requests - 3), max(1, requests)), chance), now))
        requests += name == "delivery_request"
    rows += [("day", (TODAY,), now + 1), ("end_month", (Struct("month", (1970, 1)),), now + 2)]
    rows.append(("month", (Struct("date", (1970, 2)),), now + 3))
    return [Event.make(name, args, to_time(minute * 60), to_time(minute * 60)) for name, args, minute in rows]


@pytest.mark.parametrize("seed", range(60))
def test_random_days(seed: int) -> None:
    chance = random.Random(seed)
    program = etalis.compile(SHOP["program_text"](*chance.choice(VERSIONS)) + FACTS)
    day, policy = random_day(chance), chance.choice([None, *POLICIES])
    engine = program.engine(policy=policy)
    errors: list[EtalisError] = []
    assert [*engine.run(day), *engine.close()] == semantics.run(
        program.compiled.tree, day, policy=policy, errors=errors
    )
    assert len(engine.errors) == len(errors)
