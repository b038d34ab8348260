"""Snapshots: what they hold, what they cost, what another program takes of them, and what refuses them."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

import etalis
from etalis import SnapshotError, Stamp, Struct
from etalis.data.values import Rational, Real
from etalis.runtime.operators.store import Token
from etalis.runtime.snapshot.cells import read_column, write_column

JOIN = "d(Id, X, Y, Z) <- a(Id, X) seq b(Id, Y) seq c(Id, Z)."
MANY = 10_000
MUTATIONS = int(os.environ.get("SNAPSHOT_MUTATIONS", "2000"))

VALUES = [
    *(None, True, b"x", 0, -1, 1 << 200, -(1 << 63), 2.5, Real(3.0), float("inf"), -0.0, Rational(1, 3)),
    *("", "ü\U0001f600", "\ud800", (), (1, ("x", 2.0)), [1, [2]], {1: (2,), "a": [3]}, frozenset({1, "a"})),
    Struct("f", (1, Struct("g", ("x",)))),
]


def number(token: Token) -> int:
    return token.number


@pytest.mark.parametrize(
    "column", [VALUES, *([x, x] for x in VALUES), [1, 2], [1, 1.5], [1.5, Real(2.0)], [2.0, Real(2.0)], ["a", None]]
)
def test_a_column_is_read_as_it_was_written(column: list[object]) -> None:
    form, written = write_column(column, number)
    found = read_column(form, written, {}.__getitem__)
    assert list(map(repr, found)) == list(map(repr, column))
    assert list(map(type, found)) == list(map(type, column))


def test_a_value_that_can_change_is_not_shared_between_rows() -> None:
    form, written = write_column([[], []], number)
    first, second = read_column(form, written, {}.__getitem__)
    first.append(1)
    assert second == []


def test_a_deep_term_is_read_as_it_was_written() -> None:
    deep: object = ()
    for _ in range(100_000):
        deep = (deep,)
    form, written = write_column([deep], number)
    (found,) = read_column(form, written, {}.__getitem__)
    while found:
        (found,) = found
        (deep,) = deep
    assert found == deep


def test_what_cannot_be_written_is_refused() -> None:
    engine = etalis.compile(JOIN, out_of_order="on").engine(sources=[object])
    with pytest.raises(SnapshotError, match="E421"):
        engine.snapshot()


# the state of an engine


def filled(count: int, program: etalis.Program | None = None) -> etalis.Engine:
    engine = (program or etalis.compile(JOIN)).engine(policy="chronological")
    for place in range(count):
        engine.push("a", place, "x", at=place)
    return engine


def test_a_snapshot_of_joins_takes_few_bytes() -> None:
    engine = filled(MANY)
    assert len(engine.snapshot()) < 64 * MANY
    again = engine.program.restore(engine.snapshot())
    assert again.restored.same_program
    assert again.waiting() == MANY
    later = [("b", 7, 1, MANY), ("c", 7, 2, MANY + 1)]
    assert list(again.run(later)) == list(engine.run(later)) != []


def test_equal_states_are_equal_bytes() -> None:
    engine = filled(10)
    data = engine.snapshot()
    assert engine.snapshot() == engine.program.restore(data).snapshot() == data


def test_a_delta_is_as_large_as_the_change() -> None:
    engine = filled(MANY)
    base = engine.snapshot()
    nothing = engine.snapshot(since=base)
    sizes = []
    for step in range(4):
        for place in range(10 * step, 10 * step + 10):
            engine.push("b", place * 31, place, at=MANY + place)
        sizes.append(len(engine.snapshot(since=base)))
    assert len(nothing) < 5_000
    assert sizes[-1] < len(nothing) + 10_000 < len(base) / 10
    assert engine.program.restore(base, engine.snapshot(since=base)).waiting() == engine.waiting()


def test_deltas_follow_one_another() -> None:
    engine = filled(100)
    chain = [engine.snapshot()]
    for place in range(5):
        engine.push("b", place, place, at=100 + place)
        chain.append(engine.snapshot(since=chain))
    again = engine.program.restore(*chain)
    assert again.snapshot() == engine.snapshot()
    with pytest.raises(SnapshotError, match="E422"):
        engine.program.restore(chain[0], chain[2])
    with pytest.raises(SnapshotError, match="E422"):
        engine.program.restore(chain[1])
    with pytest.raises(SnapshotError, match="E422"):
        engine.program.restore(chain[0], chain[0])
    with pytest.raises(SnapshotError, match="E420"):
        engine.program.restore()


def test_a_snapshot_while_an_event_is_processed_is_refused() -> None:
    engine = etalis.compile("d <- a.").engine()
    refusals = []

    def take(_: etalis.Event) -> None:
        with pytest.raises(SnapshotError) as refusal:
            engine.snapshot()
        refusals.append(refusal.value.code)

    engine.on("d", take)
    engine.push("a", at=1)
    assert refusals == ["E424"]


def test_policy_and_parts_are_as_they_were() -> None:
    program = etalis.compile("d(X) <- a(X) seq b.")
    engine = program.engine(policy="cumulative", parts=True)
    engine.push("a", 1, at=1)
    engine.push("a", 2, at=2)
    again = program.restore(engine.snapshot())
    ours, theirs = engine.push("b", at=3), again.push("b", at=3)
    assert ours == theirs
    assert [event.parts for event in theirs] == [event.parts for event in ours] != [()]


def test_the_end_of_the_stream_is_kept() -> None:
    engine = filled(1)
    engine.close()
    with pytest.raises(etalis.EventError, match="E310"):
        engine.program.restore(engine.snapshot()).push("a", 1, 1, at=9)


def test_dead_letters_and_reported_events_are_kept() -> None:
    program = etalis.compile("d(X) <- a(X).", store_fired_events="on")
    engine = program.engine()
    engine.push("a", 1, at=5)
    engine.push("a", 2, at=4)
    again = program.restore(engine.snapshot())
    assert again.dead_letters == engine.dead_letters
    assert again.dead_letter_count == 1
    assert again.history == engine.history
    assert again.query("stored_event(E)") == engine.query("stored_event(E)")


def test_sources_and_held_events_are_kept() -> None:
    program = etalis.compile("d(X) <- a(X) seq b(X).", out_of_order="on", ooo_window=2)
    engine = program.engine(sources=["east", "west"])
    engine.push("b", 1, at=Stamp(3, source="east", id=("e", 1)))
    engine.push("a", 1, at=Stamp(2, source="west"))
    again = program.restore(engine.snapshot())
    assert again.idle("west") == engine.idle("west")
    later = [("a", 2, Stamp(6, source="east")), ("b", 2, Stamp(7, source="east")), ("a", 3, Stamp(12, source="east"))]
    assert list(again.run(later)) == list(engine.run(later)) != []
    assert again.watermark == engine.watermark


def test_corrections_reach_behind_a_snapshot() -> None:
    program = etalis.compile("d(X) <- a(X) seq b(X).", revision_flag="on")
    engine = program.engine()
    engine.push("a", 1, at=Stamp(1, id="first"))
    engine.push("b", 1, at=2)
    again = program.restore(engine.snapshot())
    assert again.retract("first") == engine.retract("first") != ()


def test_knowledge_that_has_changed_is_kept() -> None:
    program = etalis.compile("k(1). k(2). r(X) :- k(X), X > 1. d(X) <- a(X) where r(X).")
    engine = program.engine()
    engine.retract_fact("k", 2)
    engine.assert_fact("k", 3)
    engine.assert_fact("k", 4, at=10)
    again = program.restore(engine.snapshot())
    later = [("a", 2, 1), ("a", 3, 2), ("a", 4, 3), ("a", 4, 10)]
    assert list(again.run(later)) == list(engine.run(later))
    assert again.query("k(X)") == engine.query("k(X)") == [{"X": 1}, {"X": 3}, {"X": 4}]


def test_clauses_that_goals_have_added_are_kept() -> None:
    program = etalis.compile("p(0). d <- a do assert((p(X) :- q(X, Y), Y > 1)). e(X) <- b(X) where p(X). q(7, 2).")
    engine = program.engine()
    engine.push("a", at=1)
    again = program.restore(engine.snapshot())
    assert again.push("b", 7, at=2) == engine.push("b", 7, at=2) != ()
    assert again.push("b", 8, at=3) == engine.push("b", 8, at=3) == ()


def test_old_versions_of_knowledge_are_kept() -> None:
    text = "k(1). r(X) :- k(X), X > 1. s(0). d(X) <- a(X) where (r(X), s(_)). e <- b do (assert((r(9) :- s(_))))."
    program = etalis.compile(text, knowledge_horizon=10)
    engine = program.engine()
    for moment in range(1, 8):
        engine.push("a", moment, at=moment)
        engine.assert_fact("k", moment)
        if moment > 2:
            engine.retract_fact("k", moment - 2)
    engine.reload("s", [(7,), (8,)])
    engine.push("b", at=8)
    for other in (program, etalis.compile(f"z(1). z(2). z(X) :- k(X). {text}", knowledge_horizon=10)):
        again = other.restore(engine.snapshot())
        for goal in ("k(X)", "r(X)", "s(X)"):
            found = [again.query(goal, at=moment) for moment in range(9)]
            assert found == [engine.query(goal, at=moment) for moment in range(9)]
            assert len(set(map(str, found))) > 1
        assert again.query("k(X)") == engine.query("k(X)")
        assert again.snapshot() == other.restore(again.snapshot()).snapshot()


def test_corrections_see_the_knowledge_of_their_time() -> None:
    """Shows definition 20.7."""
    program = etalis.compile("k(1). d(X) <- a(X) seq b(X) where k(X).", revision_flag="on")
    engine = program.engine()
    engine.push("a", 1, at=1)
    engine.push("a", 2, at=Stamp(2, id="early"))
    engine.push("b", 1, at=3)
    engine.push("b", 2, at=3)
    engine.advance(to=3.5)
    engine.retract_fact("k", 1)
    engine.assert_fact("k", 2)
    engine.push("b", 2, at=4)
    again = program.restore(engine.snapshot())
    assert again.retract("early") == engine.retract("early") != ()
    assert again.retract("a", 1, at=1) == engine.retract("a", 1, at=1) != ()


# another program

FIRST = "one: d(Id) <- a(Id, X) seq b(Id, Y)."
SECOND = "two: f(Id) <- a(Id, X) and c(Id) within 5."
THIRD = "three: g(Id) <- x(Id) seq y(Id)."


@pytest.mark.parametrize(
    ("text", "taken", "dropped", "events"),
    [
        (FIRST, ["seq(a/2, b/2) of rule one"], ["and(a/2, c/1) of rule two"], "d"),
        (SECOND, ["and(a/2, c/1) of rule two"], ["seq(a/2, b/2) of rule one"], "f"),
        (f"{THIRD} {SECOND} {FIRST}", ["seq(a/2, b/2) of rule one", "and(a/2, c/1) of rule two"], [], "df"),
        ("d(I) <- a(I, P) seq b(I, Q).", ["seq(a/2, b/2) of rule one"], ["and(a/2, c/1) of rule two"], "d"),
    ],
)
def test_another_program_takes_what_it_has_too(text: str, taken: list[str], dropped: list[str], events: str) -> None:
    """Shows definition 22.3."""
    engine = etalis.compile(f"{FIRST} {SECOND}").engine()
    engine.push("a", 1, 1, at=1)
    again = etalis.compile(text).restore(engine.snapshot())
    assert (list(again.restored.taken), list(again.restored.dropped)) == (taken, dropped)
    found = [event.name for event in again.run([("b", 1, 2, 2), ("c", 1, 3)])]
    assert "".join(found) == events


def test_another_order_of_values_is_not_taken() -> None:
    """Keys of several values stand in the order of the variables' names: with other names it may be another one."""
    engine = etalis.compile("d <- a(A, B) seq b(A, B). e <- a(A, B).").engine()
    engine.push("a", 1, 2, at=1)
    same = etalis.compile("d <- a(C, D) seq b(C, D). e <- a(A, B).").restore(engine.snapshot())
    assert [event.name for event in same.push("b", 1, 2, at=2)] == ["d"]
    other = etalis.compile("d <- a(B, A) seq b(B, A). e <- a(A, B).").restore(engine.snapshot())
    assert list(other.restored.dropped) == ["seq(a/2, b/2) of rule 1"]


def test_deadlines_and_alarms_go_on_in_another_program() -> None:
    missing = "missing: late(X) <- a(X) seq (not b(X) within 5)."
    alarm = "exceptionAlarm(ring(X), 3) <- a(X)."
    engine = etalis.compile(f"{missing} {alarm}").engine()
    engine.push("a", 1, at=1)
    data = engine.snapshot()
    both = etalis.compile(f"{THIRD} {alarm} {missing}").restore(data)
    assert [event.name for event in both.close()] == [event.name for event in engine.close()] == ["ring", "late"]
    one = etalis.compile(f"{THIRD} {missing}").restore(data)
    assert one.restored.dropped == ("deadlines and alarms of a rule",)
    assert [event.name for event in one.close()] == ["late"]


def test_what_a_history_begins_with_is_kept() -> None:
    program = etalis.compile("d(X, Y) <- a(X) seq b(X, Y).", revision_flag="on", revision_window=3)
    engine = program.engine(policy="unrestricted")
    for place in range(20):
        engine.push("a", place % 5, at=place)
    engine.core.disorder.revision.forget()
    history = engine.core.disorder.history
    based = {key for part in history.all_parts() for key in part.bases}
    assert based | {row[3] for row, _, _ in history.kept.values()} == set(range(5))
    assert based
    again = program.restore(engine.snapshot())
    for one in (engine, again):
        one.push("b", 2, 7, at=Stamp(20, id="wrong"))
    assert again.retract("wrong") == engine.retract("wrong")
    assert again.push("b", 2, 8, at=21) == engine.push("b", 2, 8, at=21) != ()


def test_rules_added_and_deleted_are_kept() -> None:
    program = etalis.compile(f"{FIRST} {SECOND}")
    engine = program.engine()
    engine.insert_rule("g(Id) <- a(Id, _) seq b(Id, _).")
    engine.delete_rule("one")
    engine.push("a", 1, 1, at=1)
    again = program.restore(engine.snapshot())
    later = [("b", 1, 1, 2), ("c", 1, 3)]
    found = list(again.run(later))
    assert found == list(engine.run(later))
    assert [(event.name, event.rule) for event in found] == [("g", "3"), ("f", "two")]
    assert again.insert_rule("h <- a(_, _).") == engine.insert_rule("h <- a(_, _).")


def test_properties_set_at_run_time_are_kept() -> None:
    program = etalis.compile("one: d(X) <- a(X) seq b. two: e(X) <- a(X) seq b.")
    engine = program.engine(policy="unrestricted")
    engine.set_property("one", "policy", "cumulative")
    engine.delete_rule("two")
    engine.insert_rule("three: f(X) <- a(X) seq b.")
    engine.set_property("three", "policy", "recent")
    assert not list(engine.run([("a", 1, 1), ("a", 2, 2)]))
    again = program.restore(engine.snapshot())
    found = again.push("b", at=3)
    assert found == engine.push("b", at=3)
    assert [(event.rule, event.args) for event in found] == [("one", (2,)), ("three", (2,))]


def test_a_program_with_nothing_in_common_is_refused() -> None:
    with pytest.raises(SnapshotError, match="E425"):
        etalis.compile(THIRD).restore(filled(3).snapshot())


def test_another_way_with_late_events_is_refused() -> None:
    with pytest.raises(SnapshotError, match="E426"):
        etalis.compile(JOIN, revision_flag="on").restore(filled(3).snapshot())


# damage


def mutations(data: bytes, other: bytes, count: int) -> Iterator[bytes]:
    """Yield damaged copies of a snapshot: bits flipped, cut, longer, parts swapped, doubled, or of another one."""
    chance = random.Random(11)
    for _ in range(count):
        a, b = sorted(chance.sample(range(len(data) + 1), 2))
        size = min(b - a, len(data) - b)
        yield chance.choice(
            [
                data[:a] + bytes([data[a] ^ 1 << chance.randrange(8)]) + data[a + 1 :],
                data[:a],
                data[b:],
                data[:a] + data[b:],
                data + data[a:b],
                data[:b] + data[a:b] + data[b:],
                data[:a] + data[b : b + size] + data[a + size : b] + data[a : a + size] + data[b + size :],
                data[:a] + other[a:],
                data[:a] + bytes(b - a) + data[b:],
            ]
        )


def test_damage_is_always_noticed() -> None:
    program = etalis.compile(JOIN)
    data, other = filled(40, program).snapshot(), filled(41, program).snapshot()
    tried = 0
    for damaged in mutations(data, other, MUTATIONS):
        if damaged in (data, other):
            continue
        tried += 1
        with pytest.raises(SnapshotError, match=r"E420|E423"):
            program.restore(damaged)
    assert tried > MUTATIONS * 0.9


def test_damaged_deltas_are_noticed() -> None:
    engine = filled(40)
    base = engine.snapshot()
    engine.push("b", 3, 3, at=99)
    delta, other = engine.snapshot(since=base), filled(41).snapshot()
    for damaged in mutations(delta, other, MUTATIONS // 10):
        if damaged not in (delta, other):
            with pytest.raises(SnapshotError, match=r"E420|E423"):
                engine.program.restore(base, damaged)


def test_an_older_format_is_refused() -> None:
    data = filled(1).snapshot()
    with pytest.raises(SnapshotError, match=r"E423.*format 0"):
        etalis.compile(JOIN).restore(data[:8] + bytes(4) + data[12:])


@pytest.mark.parametrize("data", [b"", b"ETALISSN", b"ARROW1" * 30, "text", None])
def test_what_is_no_snapshot_is_refused(data: object) -> None:
    with pytest.raises(SnapshotError, match="E420"):
        etalis.compile(JOIN).restore(data)  # type: ignore[arg-type]


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("policy", ["unrestricted", "chronological", "recent"])
def test_what_waits_for_its_own_moment_finds_its_partner_after_a_snapshot(first: str, policy: str) -> None:
    program = etalis.compile("found(K, X, Y) <- a(K, X) equals b(K, Y).")
    engine = program.engine(policy=policy)
    engine.push(first, "k", 1, at=1)
    engine.push(first, "k", 2, at=2)
    again = program.restore(engine.snapshot(), policy=policy)
    second = "b" if first == "a" else "a"
    expected = engine.push(second, "other", 3, at=2) + engine.push(second, "k", 3, at=2)
    assert again.push(second, "other", 3, at=2) + again.push(second, "k", 3, at=2) == expected
    assert [event.args for event in expected] == [("k", 2, 3) if first == "a" else ("k", 3, 2)]
    assert not again.push(second, "k", 4, at=3)
