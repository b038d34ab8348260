"""Rules that come and go one by one leave the others alone, and events find theirs by their constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

import etalis
from etalis.engine import Engine
from etalis.runtime.rule_change import network_change
from etalis.runtime.ruleset import RuleSet

TICKS = ":- event(tick(sym: string, price: float)).\n"


def alerts(*numbers: int) -> list[str]:
    return [f"r{n} rule: alert{n}(P) <- tick('S{n}', P) where P > 900.0" for n in numbers]


def program(*rules: str) -> Engine:
    return etalis.compile(TICKS + "".join(f"{rule}.\n" for rule in rules)).engine()


def shown(found: Any) -> list[str]:
    return [str(event) for event in found]


def whole(_: RuleSet) -> None:
    raise AssertionError("all rules were compiled")


def test_a_rule_that_nobody_reads_comes_and_goes_by_itself() -> None:
    engine = program(*alerts(*range(10)), "pair(X, Y) <- (a(X) seq b(Y)) within 10")
    engine.push("a", 1, at=1)
    kept = dict(engine.core.rules.memory)
    with patch.object(RuleSet, "compile", whole):
        for rule in (*alerts(10, 11, 12), "other(X, Y) <- (a(X) seq b(Y)) within 10"):
            engine.insert_rule(rule)
        assert shown(engine.push("tick", "S11", 950.0, at=2)) == ["alert11(950.0) [2, 2]"]
        engine.delete_rule("r11")
        engine.delete_rule("r3")
        assert shown(engine.push("tick", "S11", 950.0, at=3)) == shown(engine.push("tick", "S3", 950.0, at=3)) == []
        assert shown(engine.push("tick", "S12", 950.0, at=3)) == ["alert12(950.0) [3, 3]"]
        assert shown(engine.push("b", 2, at=4)) == ["pair(1, 2) [1, 4]"]  # the new rule saw no a(1)
    assert all(engine.core.rules.memory[key] is part for key, part in kept.items())


def test_state_of_a_rule_that_goes_is_dropped() -> None:
    engine = program("two(X, Y) <- (a(X) seq c(Y)) within 10")
    label = engine.insert_rule("pair(X, Y) <- (a(X) seq b(Y)) within 10")
    engine.push("a", 1, at=1)
    assert engine.waiting() == 2
    with patch.object(RuleSet, "compile", whole):
        engine.delete_rule(label)
    assert engine.waiting() == 1
    assert engine.push("b", 2, at=2) == ()
    assert shown(engine.push("c", 3, at=3)) == ["two(1, 3) [1, 3]"]


def test_a_rule_whose_events_are_read_changes_its_readers() -> None:
    engine = program("hot(P) <- loud(P)", "x(P) <- tick('S1', P)")
    engine.insert_rule("loud(P) <- tick('S2', P)")
    assert shown(engine.push("tick", "S2", 950.0, at=1)) == ["loud(950.0) [1, 1]", "hot(950.0) [1, 1]"]
    engine.delete_rule("loud(P) <- tick('S2', P)")
    assert engine.push("tick", "S2", 950.0, at=2) == ()


@pytest.mark.parametrize("kinds", ["one", "many"])
def test_code_shows_the_rules_that_are_there(kinds: str) -> None:
    name = "tick" if kinds == "one" else "tick{n}"
    rules = [f"r{n} rule: m{n}(P) <- {name.format(n=n)}('S{n}', P)" for n in range(30)]
    changed, fresh = program(*rules[:20], *rules[20:25]), program(*rules[:10], *rules[20:])
    for rule in rules[25:]:
        changed.insert_rule(rule)
    for n in range(10, 20):
        changed.delete_rule(f"r{n}")
    row = (name.format(n=27), "S27", 1.5)
    assert shown(changed.push(*row, at=1)) == shown(fresh.push(*row, at=1)) == ["m27(1.5) [1, 1]"]
    assert changed.code() == fresh.code()
    assert shown(changed.push(*row, at=2)) == ["m27(1.5) [2, 2]"]


def test_memory_of_rules_that_go_is_freed() -> None:
    engine = program(*alerts(*range(10)))
    with patch.object(network_change, "MOST_GONE", 20):
        for n in range(10, 60):
            engine.insert_rule(alerts(n)[0])
            engine.delete_rule(f"r{n}")
    rules = engine.core.rules
    assert len(rules.wiring.gone) <= 20
    assert len(rules.sources) < 60
    assert shown(engine.push("tick", "S5", 950.0, at=1)) == ["alert5(950.0) [1, 1]"]


def test_an_event_comes_to_the_leaves_of_its_constants_in_their_order() -> None:
    rules = [f"r{n} rule: same(1) <- a({value}, Y)" for n, value in enumerate(("x", "1", "1.0", "f(1)", "[1]", "Z"))]
    rules += [f"q{n} rule: m{n}(X) <- a(X, {n})" for n in range(10)]
    rules += [f"p{n} rule: n{n}(Y) <- a({n}, Y)" for n in range(10)]
    engine = program(*rules)
    index = engine.core.rules.compiler.indexes["a", 2]
    assert list(index.level.parts) == [("pattern", 0), ("pattern", 1)]
    assert shown(engine.push("a", 1, 3, at=1)) == ["m3(1) [1, 1]", "n1(3) [1, 1]", "same(1) [1, 1]"]
    assert shown(engine.push("a", 1.0, 30, at=2)) == ["same(1) [2, 2]"]
    found = [engine.push("a", x, "no", at=3) for x in ("x", 1, 1.0, (1,), "y")]
    assert [[event.rule for event in events if event.name == "same"] for events in found] == [["r0"], [], [], [], []]
    engine.delete_rule("r0")
    assert [event.rule for event in engine.push("a", "x", "no", at=4)] == ["r5"]


def test_a_report_tells_nothing_of_alternatives_that_came_before_their_rule() -> None:
    engine = program(*(f"r{n} rule: m{n}(Y) <- a({n}, Y)" for n in range(10)))
    engine.push("a", 1, 2, at=1)
    engine.insert_rule("late rule: z(X, Y) <- (a(X, Y) or a(X, Y))")
    assert "late" not in str(engine.report())


@pytest.mark.parametrize(
    "rule",
    [
        "r{n} rule: m{n}(P) <- tick('S{n}', P) seq (not tick('T', _) within 3)",
        "r{n} rule: m{n}(P) <- tick('S', P) where P > 3",  # a part that all of them share
        "r{n} rule: m{n}(P, Q) <- (tick('S', P) seq quote(Q)) within 5",
        "r{n} rule: read({n}, P) <- tick('S{n}', P)",  # which another rule reads
        "r{n} rule: m{n}(N) <- aggregate(count, tick('S{n}', _), N) within 5",
        "r{n} rule: m{n}(P) <- (tick('S{n}', P) or quote(P))",
        "r{n} rule: m{n}(P) <- read(P, {n})",
    ],
)
def test_ordinary_rules_come_and_go_without_the_others(rule: str) -> None:
    rules = [rule.format(n=n) for n in range(12)]
    fixed = ("out(K, V) <- read(K, V) where V > 0", "read(V, V) <- quote(V)", "read(V, 0) <- quote(V)")
    engine, anew = program(*rules[:10], *fixed), program(*rules[:10], *fixed)
    rows = [
        ("tick", "S1", 5.0),
        ("tick", "S", 7.0),
        ("quote", 1),
        ("tick", "S11", 2.0),
        ("quote", 11),
        ("tick", "T", 1.0),
    ]

    def feed(at: int) -> None:
        for place, row in enumerate(rows):
            assert shown(engine.push(*row, at=at + place)) == shown(anew.push(*row, at=at + place))

    def change(do: Callable[[Engine], object]) -> None:
        with patch.object(engine.core.rules, "compile", side_effect=AssertionError("all rules are compiled")):
            do(engine)
        do(anew)
        anew.core.rules.compile()

    feed(1)
    for number, new in enumerate(rules[10:]):
        change(lambda each, new=new: each.insert_rule(new))
        feed(10 + 10 * number)
    for number, gone in enumerate((0, 11, 1, 5)):
        change(lambda each, gone=gone: each.delete_rule(f"r{gone}"))
        feed(40 + 10 * number)
    assert shown(engine.close()) == shown(anew.close())
    assert str(engine.report()) == str(anew.report())


def test_what_waits_in_a_shared_part_outlives_the_first_of_its_rules() -> None:
    pattern = "((a(X) seq b(X)) seq a(Y)) within 100"
    engine = program(f"first rule: m(X, Y) <- {pattern}", f"second rule: n(X, Y) <- {pattern}", "s(X) <- tick(X, _)")
    engine.push("a", 1, at=1)
    engine.push("b", 1, at=2)
    engine.delete_rule("first")
    assert shown(engine.push("a", 2, at=3)) == ["n(1, 2) [1, 3]"]


@pytest.mark.parametrize("policy", ["unrestricted", "chronological", "recent"])
@pytest.mark.parametrize(
    "form",
    [
        "(a(X) seq b('S{n}', Y)) within 10",
        "(b('S{n}', X) seq a(Y)) within 10",
        "(a(X) and b('S{n}', Y)) within 3",
        "((a(X) where X > 1) seq b('S{n}', Y)) within 10",
        "(a(X) seq a(Y)) within {n}",
    ],
)
def test_of_a_part_that_many_rules_have_one_group_of_readers_is_written_anew(form: str, policy: str) -> None:
    rules = [f"r{n} rule: m{n}(X, Y) <- {form.format(n=n)}.\n" for n in range(1, 101)]
    engine = etalis.compile("".join(rules)).engine(policy=policy)
    left = etalis.compile("".join(rule for rule in rules if not rule.startswith(("r7 ", "r64 ", "r100 "))))
    fresh = left.engine(policy=policy)
    rows = [("a", n % 4, n // 3) if n % 3 else ("b", f"S{n % 8 * 8 or 7}", n % 5, n // 3) for n in range(60)]
    engine.push("a", 2, at=-100)
    fresh.push("a", 2, at=-100)
    with patch.object(RuleSet, "compile", whole):
        for label in ("r7", "r64", "r100"):
            written = engine.core.rules.compiler.base.sources
            before = len(written)
            engine.delete_rule(label)
            assert sum(what == "readers" for what, _, _ in written[before:]) <= 1
        for row in rows:
            assert shown(engine.push(*row[:-1], at=row[-1])) == shown(fresh.push(*row[:-1], at=row[-1]))
    assert engine.waiting() == fresh.waiting()


def test_a_part_of_many_rules_that_is_written_anew_is_found_by_its_bounds_still() -> None:
    form = "r{n} rule: m{n}(X, Y) <- ((a(X) where X > 3) seq b('S{n}', Y)) within 10"
    engine = program(*(form.format(n=n) for n in range(100)))
    for n in range(100, 116):
        engine.insert_rule(form.format(n=n))
    for n in (3, 40, 70):
        engine.delete_rule(f"r{n}")
    assert ("a", 1) in engine.core.rules.compiler.indexes
    engine.push("a", 4, at=1)
    found = [shown(engine.push("b", f"S{n}", n, at=2)) for n in (3, 4, 40, 70, 71, 110)]
    assert found == [[], ["m4(4, 4) [1, 2]"], [], [], ["m71(4, 71) [1, 2]"], ["m110(4, 110) [1, 2]"]]


def test_an_error_lists_a_few_of_many_rules() -> None:
    engine = etalis.compile("\n".join(f"r{n:03d} rule: d{n}(X) <- a(X)." for n in range(1_000))).engine()
    with pytest.raises(etalis.ProgramError) as refused:
        engine.delete_rule("s")
    assert "r000, r001, r002" in str(refused.value)
    assert str(refused.value).endswith("r011 and 988 more")


@pytest.mark.parametrize("pattern", ["tick(_, X)", "a(X) where X > 0", "(a(X) seq b(_)) within 10", "a(X) or b(X)"])
def test_a_second_rule_that_makes_events_changes_the_first_alone(pattern: str) -> None:
    engine = program(*alerts(*range(10)), f"one rule: found(X) <- {pattern}", "seen(X) <- found(X)")
    engine.push("a", 1, at=1)
    engine.push("b", 1, at=2)
    engine.push("tick", "S0", 1.0, at=2)
    assert "rule one" not in str(engine.report())
    with patch.object(RuleSet, "compile", whole):
        engine.insert_rule("two rule: found(X) <- a(X)")
        assert shown(engine.push("a", 7, at=3)).count("found(7) [3, 3]") == 1  # whoever makes it, it happens once
        assert "rule one" not in str(engine.report())
        engine.delete_rule("one")
        assert shown(engine.push("a", 8, at=4)) == ["found(8) [4, 4]", "seen(8) [4, 4]"]


def test_rules_of_the_declared_types_come_and_go_by_themselves() -> None:
    engine = program(*alerts(*range(10)), "tick('T', X) <- a(X) where (integer(X), X > 0)", "tick(S, P) <- raw(S, P)")
    with patch.object(RuleSet, "compile", whole):
        engine.insert_rule("more rule: tick('S3', X) <- b(X)")
        assert shown(engine.push("b", 950.0, at=1)) == ["tick('S3', 950.0) [1, 1]", "alert3(950.0) [1, 1]"]
        engine.delete_rule("more")
        assert engine.push("b", 950.0, at=2) == ()


def test_a_rule_of_other_types_than_those_declared_changes_its_readers() -> None:
    engine = program(*alerts(*range(10)))
    engine.insert_rule("tick('S3', X) <- raw(X)")
    assert shown(engine.push("raw", "much", at=1)) == ["tick('S3', much) [1, 1]"]
    assert len(engine.errors) == 1
    assert shown(engine.push("raw", 950, at=2)) == ["tick('S3', 950) [2, 2]", "alert3(950) [2, 2]"]


ABSENT = "late(X) <- a(X) seq (not b(X) within 5)"


@pytest.mark.parametrize("by", ["a rule", "a snapshot"])
def test_what_is_due_together_stays_so_where_parts_that_may_be_missing_come(by: str) -> None:
    both = "both(X) <- (a(X) seq? b(X)) within 2"
    engine = program(ABSENT)
    for value in (1, "x", (1, 2)):
        engine.push("a", value, at=0)
    if by == "a rule":
        engine.insert_rule(both)
    else:
        engine = etalis.compile(f"{TICKS}{ABSENT}.\n{both}.\n").restore(engine.snapshot())
    assert shown(engine.push("c", at=10)) == ["late(1) [0, 5]", "late(x) [0, 5]", "late([1,2]) [0, 5]"]


def test_actions_of_rules_that_come_follow_the_order_in_which_deadlines_were_set() -> None:
    done: list[str] = []
    engine = etalis.compile(f"{ABSENT}.").engine(output=done.append)
    engine.push("a", 0, at=0)
    for name in "ac":
        engine.insert_rule(f"{name}{name}(X) <- {name}(X) seq (not b(X) within 6) do write({name}(X))")
    for name, value in (("c", 1), ("a", 2), ("c", 3)):
        engine.push(name, value, at=1)
    engine.push("z", at=10)
    assert "".join(done) == "c(1)a(2)c(3)"
