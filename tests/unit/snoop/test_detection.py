"""Registrations, their leaves, index and graph: what the examples do not ask."""

from __future__ import annotations

from decimal import Decimal

import pytest

from etalis.errors import SnapshotError
from etalis.snoop import Detector, LeafIndex, LeafInstance, Registration, Result, read_text
from etalis.snoop.detection.completion import can_complete
from etalis.snoop.detection.graph import draw_graph
from etalis.snoop.detection.rules import translate
from etalis.snoop.values import convert
from helpers.snoop_examples import SHOP, with_prefixes

pytestmark = pytest.mark.service  # it needs the extra


def registered(text: str, detector: Detector | None = None, number: int = 1) -> Registration:
    expression = read_text(with_prefixes(text))
    return Registration(expression, number) if detector is None else detector.register(expression)


def test_expressions_that_differ_in_names_and_constants_share_a_program() -> None:
    one = registered('SEQ(shop:cd(title: T, artist: "U2"), shop:dvd(title: T))').expression
    other = registered('SEQ(push:book(name: B, year: "2006"), shop:film(of: B)) context recent').expression
    assert translate(one).program() is translate(other).program()


def test_a_text_of_a_user_is_nowhere_in_the_program() -> None:
    words = ("in1", "\"), x('", "é\n", "null")
    names = [f"'{word}'".replace("\n", "\\n") for word in ("in1", "(),x", "é", "null")]
    detector = Detector(time="events")
    text = f"SEQ(shop:{names[1]}({names[0]}: {names[3]}), shop:{names[2]}({names[0]}: {names[3]}))"
    found = registered(text, detector)
    for operator, value in (("(),x", word) for word in words):
        assert detector.signal(operator, SHOP, {"in1": value}, at=0).matched == 1
    told = [detector.signal("é", SHOP, {"in1": word}, at=1).told[0][1] for word in words]
    assert [notice.bindings for notice in told if isinstance(notice, Result)] == [{"null": word} for word in words]
    assert found.results == 4


def test_an_unbound_variable_is_absent_and_a_text_null_is_not() -> None:
    detector = Detector(time="events")
    registered("OR(shop:a(v: X), shop:b(v: Y))", detector)
    ((_, told),) = detector.signal("a", SHOP, {"v": "null"}, at=0).told
    assert isinstance(told, Result)
    assert told.bindings == {"X": "null"}


def test_the_oldest_goes_where_too_many_wait() -> None:
    registration = Registration(read_text(with_prefixes("SEQ(shop:a(v: X), shop:b(v: X))")), 1, most_waiting=3)
    for number in range(5):
        assert registration.signal([LeafInstance(str(number), {(1,): (str(number),)})], number * 1_000_000) == []
    status = registration.status()
    assert (status.shed, status.waiting[1,], status.leaves[0].taken) == (2, 3, 5)
    assert registration.signal([LeafInstance("5", {(2,): ("0",)})], 9_000_000) == []
    assert len(registration.signal([LeafInstance("6", {(2,): ("4",)})], 9_000_000)) == 1


def test_what_waits_is_told_for_each_part() -> None:
    detector = Detector(time="events")
    found = registered("SEQ(shop:a(), ANY(2, shop:b(), shop:c()), shop:d())", detector)
    for second, operator in enumerate("abacb"):
        detector.signal(operator, SHOP, {}, at=second * 1_000_000)
    assert found.waiting()[1,] == 1
    assert found.waiting()[2,] == 1
    assert found.waiting()[2, 1] == 1


def test_the_index_touches_what_a_signal_can_fill() -> None:
    index = LeafIndex()
    registrations = [
        registered(
            f'SEQ(shop:cd(title: T, artist: "a{n % 10}"), shop:cd(title: T, year: "2006"^^xsd:integer))', number=n
        )
        for n in range(100)
    ]
    for registration in registrations:
        index.add(registration)
    assert len(index) == 200
    found = index.find("cd", SHOP, {"title": "Boy", "artist": "a3"})
    assert [registration.number for registration, _ in found] == list(range(3, 100, 10))
    assert found[0][1] == {(1,): ("Boy",)}
    assert len(index.find("cd", SHOP, {"title": "Boy", "year": "02006"})) == 100
    assert index.find("cd", SHOP, {"title": "Boy"}) == index.find("dvd", SHOP, {"title": "Boy"}) == []
    for registration in registrations:
        index.remove(registration)
        index.remove(registration)
    assert len(index) == 0
    assert not index._leaves


def test_a_variable_that_a_leaf_binds_twice_is_one_value() -> None:
    (leaf,) = registered("shop:a(v: X, w: X)").leaves
    assert leaf.fill({"v": "1", "w": "1"}) == ("1",)
    assert leaf.fill({"v": "1", "w": "2"}) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("1", None), ("1", "xsd:integer")),
        (("1", "xsd:decimal"), ("1", "xsd:integer")),
        (("true", None), ("true", "xsd:boolean")),
        (("2026-03-02T09:00:00Z", None), ("2026-03-02T09:00:00Z", "xsd:dateTime")),
    ],
)
def test_values_of_different_types_are_never_equal(one, other) -> None:
    assert convert(*one) != convert(*other)


@pytest.mark.parametrize(
    ("type", "texts"),
    [
        ("xsd:integer", ["7", "+7", "007", " 7\n"]),
        ("xsd:decimal", ["-0.50", "-.5", "-00.5"]),
        ("xsd:decimal", ["0", "-0", "0.0", "+.0"]),
        ("xsd:boolean", ["true", "1"]),
        ("xsd:dateTime", ["2026-03-02T09:00:00Z", "2026-03-02T10:00:00+01:00", "2026-03-02T09:00:00.000"]),
    ],
)
def test_values_are_equal_by_what_they_mean(type: str, texts: list[str]) -> None:  # noqa: A002
    assert len({convert(text, type) for text in texts}) == 1
    assert None not in {convert(text, type) for text in texts}


@pytest.mark.parametrize(
    ("type", "text"),
    [
        ("xsd:integer", "7.0"), ("xsd:integer", ""), ("xsd:integer", "٧"), ("xsd:integer", "1" * 1001),
        ("xsd:decimal", "1e3"), ("xsd:decimal", "."), ("xsd:boolean", "True"), ("xsd:dateTime", "2026-02-30T00:00:00Z"),
        ("xsd:dateTime", "2026-03-02"), ("xsd:dateTime", "2026-03-02T09:00:00+15:00"),
        ("xsd:dateTime", "0001-01-01T00:00:00+01:00"),
    ],
)  # fmt: skip
def test_what_does_not_convert_is_no_value(type: str, text: str) -> None:  # noqa: A002
    assert convert(text, type) is None


@pytest.mark.parametrize(
    ("text", "alive", "waits", "can"),
    [
        ("OR(shop:a(), shop:b())", "2", "", True),
        ("OR(shop:a(), shop:b())", "", "1 2", False),
        ("SEQ(shop:a(), shop:b())", "2", "", False),
        ("SEQ(shop:a(), shop:b())", "2", "1", True),
        ("SEQ(shop:a(), shop:b())", "1", "1", False),
        ("SEQ(shop:a(), shop:b(), shop:c())", "3", "1", False),
        ("SEQ(shop:a(), shop:b(), shop:c())", "3", "2", True),
        ("SEQ(shop:a(), shop:b(), shop:c())", "2 3", "1", True),
        ("ANY(2, shop:a(), shop:b(), shop:c())", "1", "", False),
        ("ANY(2, shop:a(), shop:b(), shop:c())", "1", "3", True),
        ("ANY(2, shop:a(), shop:b(), shop:c())", "", "1 3", False),
        ("NOT(shop:a(), shop:b(), shop:c())", "1 3", "", True),
        ("NOT(shop:a(), shop:b(), shop:c())", "2 3", "", False),
        ("A(shop:a(), shop:b(), shop:c())", "1 2", "", True),
    ],
)
def test_what_can_still_be_completed(text: str, alive: str, waits: str, can: bool) -> None:
    expression = registered(text).expression
    living, waiting = ({(int(part),) for part in parts.split()} for parts in (alive, waits))
    assert can_complete(expression, (), living, waiting) == can


def test_a_graph_shares_types_and_operators() -> None:
    detector = Detector(time="events", provided=["http://languages.org/prolog"])
    registered('OR(shop:a(v: X), shop:b(v: "1"))', detector)
    registered('SEQ(OR(shop:a(v: "2"), shop:b()), opaque(prolog, "p(1)."))', detector)
    registered('SEQ(OR(shop:a(v: "2"), shop:b()), opaque(prolog, "p(1)."))', detector)
    detector.signal("b", SHOP, {"v": "1"}, at=0)
    plain = draw_graph(detector.registrations.values()).to_plain()
    shown = [(node["label"], len(node["definitions"]), node["waiting"]) for node in plain["nodes"]]
    assert shown == [
        ("a", 3, 0),
        ("b", 3, 0),
        ("OR", 3, 2),
        ("opaque", 1, 0),
        ("SEQ", 1, 0),
        ("opaque", 1, 0),
        ("SEQ", 1, 0),
    ]
    assert {"from": "3", "to": "5"} in plain["links"]
    assert plain["nodes"][0]["definitions"][1] == {
        "expression": 2, "path": "1.1", "text": 'a(v: "2")', "waiting": 0, "state": "alive",
    }  # fmt: skip


def test_signals_wait_for_earlier_ones() -> None:
    detector = Detector(time="events", lateness=5_000_000)
    registered("SEQ(shop:a(v: X), shop:b(v: Y))", detector)
    rows = [("b", "1", 10), ("a", "2", 8), ("b", "3", 9), ("a", "4", 4), ("c", "5", 15)]
    receptions = [detector.signal(name, SHOP, {"v": value}, at=at * 1_000_000) for name, value, at in rows]
    assert [reception.late for reception in receptions] == [False, False, False, True, False]
    told = [notice.bindings for reception in receptions for _, notice in reception.told if isinstance(notice, Result)]
    assert told == [{"X": "2", "Y": "3"}, {"X": "2", "Y": "1"}]
    assert detector.advance(20_000_000) == []


def test_what_is_held_can_be_held_again() -> None:
    detector = Detector(time="events", lateness=5_000_000)
    found = registered("SEQ(shop:a(v: X^^xsd:integer), shop:b(v: Y^^xsd:decimal))", detector)
    before = found.changes
    detector.signal("b", SHOP, {"v": "1.50"}, at=9_000_000)
    detector.signal("a", SHOP, {"v": "1"}, at=8_000_000)
    assert found.changes > before
    held = [(stamp, order, [each.to_plain() for each in instances]) for stamp, order, instances in detector.held(1)]
    again = Detector(time="events", lateness=5_000_000)
    again.add(Registration.restore(found.snapshot()))
    again.hold(again.registrations[1], [(s, o, [LeafInstance.from_plain(p) for p in ps]) for s, o, ps in held])
    assert again.held(1) == detector.held(1)
    ((_, told),) = again.advance(9_000_000)
    assert isinstance(told, Result)
    assert told.bindings == {"X": 1, "Y": Decimal("1.5")}


@pytest.mark.parametrize(
    "stamp", [0, 1_790_000_000_123_457, (1 << 51) - 1, 1 << 51, 16_000_000_000_123_457, -5_000_000_000_000_001]
)
def test_microseconds_are_told_apart_at_any_time(stamp: int) -> None:
    detector = Detector(time="events")
    registered("SEQ(shop:a(v: X), shop:b(v: Y))", detector)
    detector.signal("a", SHOP, {"v": "1"}, at=stamp)
    assert not detector.signal("b", SHOP, {"v": "2"}, at=stamp).told
    ((_, told),) = detector.signal("b", SHOP, {"v": "3"}, at=stamp + 1).told
    assert isinstance(told, Result)
    assert (told.start, told.end) == (stamp, stamp + 1)


def test_stamps_of_the_clock_never_repeat() -> None:
    detector = Detector()
    for clock in (5, 5, 3, 9):
        detector.signal("a", SHOP, {}, clock=clock)
        assert detector.last is not None
    assert detector.last == 9
    detector.signal("a", SHOP, {}, clock=1)
    assert detector.last == 10


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]\n", b'{"format": 1}\n', b"\xff\n"])
def test_bytes_that_are_no_snapshot(data: bytes) -> None:
    with pytest.raises(SnapshotError) as found:
        Registration.restore(data)
    assert found.value.code == "E898"
