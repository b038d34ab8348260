"""Rules that differ in constants and bounds: what an event comes to, against asking all of them."""

from __future__ import annotations

from math import inf, nextafter
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

import etalis
from etalis.engine import Engine
from etalis.runtime.codegen.branches import levels
from etalis.runtime.codegen.branches.segments import Interval, Segments, after

Item = tuple[Any, ...]


def engine_of(*rules: str) -> Engine:
    return etalis.compile("".join(f"{rule}.\n" for rule in rules)).engine(output=lambda _: None)


def shown(found: Any) -> list[str]:
    return [repr(event) for event in found]


def asked(engine: Engine, kind: tuple[str, int], *values: Any) -> int:
    """Return how many branches an event comes to."""
    level = engine.core.rules.compiler.indexes[kind].level
    return len(level.find((0, 0, None, *values)))


def test_a_number_is_found_in_every_interval_that_it_lies_in() -> None:
    random = Random(7)
    for _ in range(200):
        bounds = [None, *(random.choice((random.randrange(9), random.randrange(18) / 2)) for _ in range(6))]
        several: list[Interval[Item]] = [
            Interval(random.choice(bounds), random.choice(bounds), (n, None, None))
            for n in range(random.randrange(1, 20))
        ]
        segments = Segments(several[: len(several) // 2 + 1])
        first = {interval.item for interval in several[: len(several) // 2 + 1]}
        for interval in several[len(several) // 2 + 1 :]:
            segments.add(interval)
        for interval in random.sample(several, len(several) // 3):
            segments.remove(interval)
            several.remove(interval)
        for number in (n / 4 for n in range(-2, 40)):
            inside = {
                i.item for i in several if (i.start is None or i.start <= number) and (i.end is None or number < i.end)
            }
            found = segments.at(number)
            assert inside <= set(found)
            assert {item for item in found if item in first} <= inside
            assert list(found) == sorted(found)


@pytest.mark.parametrize("bound", [0, 17, 17.5, -3.0, 2**52 - 1, 2**53, 2.0**53, 10**400])
def test_what_is_greater_than_a_bound_begins_after_it(bound: float) -> None:
    start = after(bound)
    for number in (bound, bound + 1, bound - 1, *(() if bound > 1e300 else (nextafter(bound, -inf), float(bound)))):
        assert number <= bound or start is None or number >= start
        assert number > bound or start is None or number < start


def test_what_is_kept_of_intervals_is_bounded() -> None:
    segments: Segments[Item] = Segments([Interval(low, None, (low, None, None)) for low in range(1_000)])
    for number in range(1_000):
        assert len(segments.at(number)) == number + 1
    assert sum(len(found) for found in segments.found if found) <= 16 * 1_000


def test_what_has_come_is_told_of_rules_that_are_there_still() -> None:
    engine = engine_of(*(f"r{n} rule: m{n}(P) <- tick('S{n}', P) where P > 3" for n in range(20)))
    for n in range(4):
        engine.push("tick", f"S{n}", 1, at=n)
    level = engine.core.rules.compiler.indexes["tick", 2].level
    level.build()
    engine.delete_rule("r0")
    engine.report()
    marks = [engine.core.rules.evidence.part(leaf.key).seen for leaf in engine.core.rules.wiring.leaves]
    assert marks == [True] * 3 + [None] * 16


@pytest.mark.parametrize(
    ("rule", "row", "few"),
    [
        ("m{n}(P) <- tick('S{n}', P)", ("S7", 1), 1),
        ("m{n}(P) <- tick(S, P) where S = 'S{n}'", ("S7", 1), 1),
        ("m{n}(P) <- tick(S, P) where ('S{n}' == S, P > 2)", ("S7", 1), 1),
        ("m{n}(S) <- tick(S, P) where P > {n}", ("S7", 30), 30),
        ("m{n}(S) <- tick(S, P) where ({n} < P, P =< {n} + 1)", ("S7", 30), 30),
        ("m{n}(S) <- tick(S, P) where (P > {n}, P < {n}.5)", ("S7", 30.2), 1),
        ("m{n}(S) <- tick(S, P) where (P >= {n}, P < {n}.5)", ("S7", 30.5), 0),
        ("m{n}(S) <- tick(S, P) where (P > {n}, P =< {n}.5)", ("S7", 30.5), 1),
        ("m{n}(S) <- tick(S, P) where (P > {n}, {n} =< P)", ("S7", 30), 30),
        ("m{n}(P) <- tick('S', P) where P >= {n}", ("S", 30), 32),  # and what notes that the pattern has matched
        ("m{n}(P) <- tick('S', P) where P >= {n}", ("T", 30), 0),
        ("m{n}(X, Y) <- (tick('S{n}', X) seq tick('T{n}', Y))", ("T7", 1), 1),
        ("m{n}(X, Y) <- (tick(S, X) seq tick(T, Y)) where (S = 'S{n}', T = 'T{n}')", ("T7", 1), 1),
    ],
)  # fmt: skip
def test_an_event_comes_to_the_rules_that_may_match(rule: str, row: tuple[Any, ...], few: int) -> None:
    rules = [rule.format(n=n) for n in range(100)]
    engine, alone = engine_of(*rules), [engine_of(each) for each in rules]
    assert asked(engine, ("tick", 2), *row) == few
    for at, taken in enumerate([("S7", 3), row, ("T7", 3), ("S8", 50.5), ("S", 0), row]):
        each = [event for other in alone for event in shown(other.push("tick", *taken, at=at))]
        assert shown(engine.push("tick", *taken, at=at)) == sorted(each, key=lambda text: text.partition("(")[0])


def test_what_is_no_number_is_reported_by_every_rule_that_compares_it() -> None:
    rules = [f"m{n}(S) <- tick(S, P) where (P > {n}, S = 'S{n}')" for n in range(50)]
    engine = engine_of(*rules)
    assert engine.push("tick", "S3", "many", at=1) == ()
    assert len(engine.errors) == 50
    assert shown(engine.push("tick", "S3", 4, at=2)) == ["m3('S3') [2, 2]"]
    assert len(engine.errors) == 50


def test_a_report_says_what_came_of_rules_that_were_passed_over() -> None:
    rules = [f"r{n} rule: m{n}(P) <- tick('S', P) where P > {n + 10}" for n in range(50)]
    engine = engine_of("q rule: other(P) <- tick('T', P) where P > 9", *rules)
    engine.push("tick", "S", 5, at=1)
    found = str(engine.report())
    assert "r2 never fired: tick/2 came, but the condition P > 12 never held" in found
    assert "q never fired: tick/2 came, but never as tick('T', P)" in found


def test_a_rule_that_has_made_one_event_is_not_said_to_be_silent() -> None:
    engine = engine_of(*(f"r{n} rule: m{n}(P) <- tick(S, P) where (S = 's', P > {n})" for n in range(20)))
    assert len(engine.push("tick", "s", 7.5, at=1)) == 8
    assert {rule for each in engine.report().silent for rule in each.rules} == {f"r{n}" for n in range(8, 20)}


@pytest.mark.parametrize("many", [0, 20])
@pytest.mark.parametrize("change", ["delete", "insert"])
def test_rules_of_one_body_make_each_event_once_when_the_first_of_them_goes(change: str, many: int) -> None:
    body = "tick(S, P) where (S = 's', P > 3)"
    others = (f"m{n}(P) <- tick(S, P) where (S = 's{n}', P > 3)" for n in range(many))
    engine = engine_of(*(f"{name} rule: {name}(P) <- {body}" for name in "cab"), *others)
    assert shown(engine.push("tick", "s", 7.5, at=1)) == ["a(7.5) [1, 1]", "b(7.5) [1, 1]", "c(7.5) [1, 1]"]
    assert not {rule for each in engine.report().silent for rule in each.rules} & {"a", "b", "c"}
    if change == "delete":
        engine.delete_rule("a")
    else:
        engine.insert_rule("a(P) <- tock(P)")  # of which the events are no longer those of one rule
    assert engine.push("tick", "s", 7.5, at=1) == ()
    assert shown(engine.push("tick", "s", 7.5, at=2))[-2:] == ["b(7.5) [2, 2]", "c(7.5) [2, 2]"]


def test_rules_of_one_shape_that_make_the_same_event_make_it_once() -> None:
    engine = engine_of(*(f"m(P) <- tick('S', P) where P > {n}" for n in range(20)))
    assert shown(engine.run([("tick", "S", 7.5, 1), ("tick", "S", 7.5, 2)])) == ["m(7.5) [1, 1]", "m(7.5) [2, 2]"]


@pytest.mark.parametrize("form", ["tick('S{n}', P) where P > {n}", "tick(S, P) where (S = 'S{n}', P > {n})"])
@pytest.mark.parametrize("declared", ["", ":- event(tick(s: string, p: float)).\n"])
def test_an_event_beyond_the_limit_of_all_rules_is_only_noted(declared: str, form: str) -> None:
    rules = [f"r{n} rule: m{n}(P) <- {form.format(n=n)}.\n" for n in range(30, 70)]
    engine = etalis.compile(declared + "".join(rules)).engine(output=lambda _: None)
    assert engine.push("tick", "S30", 29.0, at=1) == ()
    found = str(engine.report())
    assert "r30 never fired: tick/2 came, but the condition" in found
    if form.startswith("tick('S"):
        assert "r31 never fired: tick/2 came, but never as tick('S31', P)" in found
    assert shown(engine.push("tick", "S30", 31, at=2))[0].startswith("m30(31")
    engine.insert_rule(f"r7 rule: m7(P) <- {form.format(n=7)}")
    assert engine.push("tick", "S30", 29.0, at=3) == ()
    assert shown(engine.push("tick", "S7", 19.5, at=4)) == ["m7(19.5) [4, 4]"]
    if not declared:
        assert engine.push("tick", "S30", "many", at=5) == ()
        assert len(engine.errors) == 1


def test_rules_with_and_without_a_limit_are_all_asked() -> None:
    rules = [f"m{n}(P) <- tick('S{n}', P, Q) where ({'P =:= Q' if n % 2 else 'P > 5'}, Q > {n})" for n in range(40)]
    engine = engine_of(*rules)
    assert engine.push("tick", "S20", 3, 30, at=1) == ()
    assert shown(engine.push("tick", "S21", 30, 30, at=2)) == ["m21(30) [2, 2]"]
    assert engine.push("tick", "S21", "many", 0, at=3) == ()
    assert len(engine.errors) == 1  # of the comparison that comes first


def test_rules_of_one_shape_are_one_function() -> None:
    engine = engine_of(*(f"m{n}(P) <- tick('S{n}', P) where P > {n}.5" for n in range(100)))
    assert shown(engine.push("tick", "S7", 9.0, at=1)) == ["m7(9.0) [1, 1]"]
    assert engine.code().count("# tick/2") == 1


def test_rules_that_come_and_go_are_found_like_those_that_were_there() -> None:
    random = Random(3)
    forms = (
        "r{n} rule: m{n}(P) <- tick('S{n}', P)",
        "r{n} rule: m{n}(S) <- tick(S, P) where (P > {n}, P =< {n} + 9)",
        "r{n} rule: m{n}(P) <- tick('S', P) where P < {n}",
        "r{n} rule: m{n}(P) <- tick(S, P) where (S == 'S{n}', P > 3)",
    )
    rules = [random.choice(forms).format(n=n) for n in range(150)]
    alone = [engine_of(rule) for rule in rules]
    there = set(range(40))
    engine = engine_of(*rules[:40])
    for at in range(300):
        if there and random.random() < 0.4:
            gone = random.choice(sorted(there))
            engine.delete_rule(f"r{gone}")
            there.remove(gone)
        elif len(there) < len(rules):
            new = random.choice([n for n in range(len(rules)) if n not in there])
            engine.insert_rule(rules[new])
            there.add(new)
        row = (random.choice(("S", f"S{random.randrange(150)}")), random.choice((random.randrange(150), "x", 7.5)))
        expected = [match for n in there for match in shown(alone[n].push("tick", *row, at=at))]
        assert shown(engine.push("tick", *row, at=at)) == sorted(expected), (at, row, there)  # by name


@pytest.mark.parametrize(
    "row", [("s1", -3, 1.0), ("s1", 5, 1.5), ("s1", "many", 1.0), ("s1", 1, "much"), ("s1", "many", "much")]
)
def test_thresholds_of_one_attribute_are_found_where_some_rules_compare_others_too(row: tuple[Any, ...]) -> None:
    rules = [f"q{k}(Y) <- a(S, X, Y) where Y >= {k}.0." for k in range(8)]
    text = "\n".join(["r(Y) <- a(S, X, Y) where (Y > 1.0, X > 1).", *rules])
    found: list[list[str]] = []
    errors: list[list[str]] = []
    for each in (text, *text.split("\n")):  # together, and each alone
        reported: list[Any] = []
        engine = etalis.compile(each).engine(on_error=reported.append)
        found.append([str(match) for match in engine.push("a", *row, at=0)])
        errors.append([error.kind[2] for error in reported])
    assert sorted(found[0]) == sorted(match for alone in found[1:] for match in alone)
    assert sorted(errors[0]) == sorted(error for alone in errors[1:] for error in alone)


@pytest.mark.parametrize("test", ["X < Y, Y > {n}", "Y > {n}, X =< Y", "Y > {n}, Y < 15, X \\= Y"])
def test_bounds_of_one_attribute_where_another_must_be_a_number(test: str) -> None:
    engine = engine_of(*(f"r{n}(X, Y) <- a(X, Y) where ({test.format(n=n)})" for n in range(20)))
    found = engine.push("a", 0, 12, at=1)
    assert {event.name for event in found} == {f"r{n}" for n in range(12)}
    assert {event.name for event in engine.run([("a", 1, 12, 2)])} == {f"r{n}" for n in range(12)}


BOUNDS = (
    "X > {low}, X =< {high}",
    "{low} =< X, X < {high}",
    "{high} >= X, X > {low}, X >= {low}",
    "X >= {low}, X =< {high}",
)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("scale", [1, 0.1, 2**52, 10**20])
@pytest.mark.parametrize("declared", ["", ":- event(a(x: float)). ", ":- event(a(x: int)). "])
def test_what_lies_in_an_interval_is_all_that_bounds_ask(declared: str, scale: float, bounds: str) -> None:
    """By `push` and `run`, which leave the comparison to the bisection, and where each rule is asked."""
    random = Random(f"{bounds}{scale}")
    tests = [bounds.format(low=n % 12 * scale, high=(n % 12 + n // 12 + 1) * scale) for n in range(30)]
    text = declared + "".join(f"r{n} rule: m{n}(X) <- a(X) where ({test}).\n" for n, test in enumerate(tests))
    indexed = etalis.compile(text).engine(output=lambda _: None)
    with patch.object(levels, "FEW", 10**9):
        alone = etalis.compile(text).engine(output=lambda _: None)
    numbers = [n * scale + more for n in range(-1, 16) for more in (0, 1, -1)]
    if "int" in declared:
        numbers = list(map(int, numbers))
    else:
        numbers += [nextafter(float(n), way) for n in numbers for way in (inf, -inf)]
    random.shuffle(numbers)
    values = [*numbers, *(() if declared else ("text",)), *numbers[:40]]
    for at, value in enumerate(values):
        if at == len(numbers):
            for engine in (indexed, alone):
                for label in ("r3", "r29"):
                    engine.delete_rule(label)
                engine.insert_rule(f"new(X) <- a(X) where ({bounds.format(low=scale, high=2 * scale)})")
        found = indexed.push("a", value, at=at) if at % 2 else indexed.run([("a", value, at)])
        assert shown(found) == shown(alone.push("a", value, at=at))
    assert [str(error) for error in indexed.errors] == [str(error) for error in alone.errors]
    assert len(indexed.errors) == (0 if declared else 29)


@pytest.mark.parametrize("seed", range(30))
def test_an_event_is_made_once_whatever_comes_at_its_stamp(seed: int) -> None:
    random = Random(seed)
    declared = random.choice(("", ":- event(tick(s: string, p: float)). "))
    bounds = {n: n // 3 for n in range(9)}

    def rule(n: int) -> str:
        return f"r{n} rule: m{n}(P) <- tick(S, P) where (S = 's{n % 3}', P > {bounds[n]})"

    here, t = set(range(random.choice((4, 9)))), 0  # few are in one text, and offered events as others come
    program = etalis.compile(declared + "tick(S, P) <- other(S, P).\n" + "".join(f"{rule(n)}.\n" for n in here))
    engine = program.engine(output=lambda _: None)
    fired: set[int] = set()
    known: set[tuple[int, int, int, float]] = set()
    again: set[int] = set()
    is_whole, came = True, False
    for _ in range(60):
        match random.randrange(12):
            case 0:
                engine = program.restore(engine.snapshot(), output=lambda _: None)
                is_whole = False  # what rules did is not in a snapshot, nor what was made by those that are gone
                known = {each for each in known if each[0] in here}
            case 1:
                n = random.choice([n for n in bounds if n not in here or len(here) > 3])
                if n in here:
                    engine.delete_rule(f"r{n}")
                else:
                    engine.insert_rule(rule(n))  # which knows nothing of the one that went
                    known, again = {each for each in known if each[0] != n}, again | {n}
                here ^= {n}
            case 2:
                silent = {rule for each in engine.report().silent for rule in each.rules} - {"tick"}
                assert silent >= {f"r{n}" for n in here - fired - again} or not came
                assert not silent & {f"r{n}" for n in fired - again} or not is_whole
            case 3:
                for n in random.sample(sorted(here), 2):  # two rules make events of one kind, and one again
                    engine.insert_rule(f"other rule: m{n}(P) <- tick('t{n}', P)")
                    t += random.randrange(2)
                    assert len(engine.push("tick", f"t{n}", 7.5, at=t)) == ((n, t, t, 7.5) not in known)
                    known.add((n, t, t, 7.5))
                    fired.add(n)
                    came = True
                    engine.delete_rule("other")
            case _:
                rows = []
                for _ in range(random.randrange(1, 4)):
                    t += random.randrange(2)
                    start = t - (random.random() < 0.2)
                    at = t if start == t else (start, t)
                    rows.append(
                        (
                            random.choice(("tick", "tick", "other")),
                            f"s{random.randrange(3)}",
                            random.randrange(4) + 0.5,
                            at,
                        )
                    )
                wanted = []
                for _, s, p, at in rows:
                    start, end = at if isinstance(at, tuple) else (at, at)
                    new = [(n, start, end, p) for n in sorted(here) if f"s{n % 3}" == s and p > bounds[n]]
                    fired |= {n for n, *_ in new}
                    wanted += [each for each in new if each not in known]
                    known.update(new)
                came = True
                found = list(engine.run(rows)) if seed % 2 else [m for r in rows for m in engine.push(*r[:3], at=r[3])]
                assert [(int(m.name[1:]), m.start, m.end, m.args[0]) for m in found if m.name != "tick"] == wanted


def test_leaves_that_ask_for_nothing_are_offered_events_one_by_one() -> None:
    """An index would find them all each time; where many rules come and ask for something, there is one."""
    engine = engine_of(
        "fall(S, A, B) <- (tick(S, A) seq tick(S, B)) cnot tick(S, _) within 90 where B < A",
        "rise(S, A, B) <- (tick(S, A) seq tick(S, B)) cnot tick(S, _) within 90 where B > A",
    )
    compiler = engine.core.rules.compiler
    assert len(compiler.leaves["tick", 2]) == 6
    assert ("tick", 2) not in compiler.indexes
    random = Random(5)
    rows = [("tick", random.choice("xy"), random.randrange(9), at) for at in range(200)]
    found = shown(engine.run(rows[:100]))
    for n in range(5):
        assert ("tick", 2) not in compiler.indexes
        engine.insert_rule(f"level(S, {n}) <- tick(S, {n}).")
    assert ("tick", 2) in compiler.indexes
    found += shown(engine.run(rows[100:]))
    last: dict[str, tuple[int, int]] = {}
    wanted = []
    for _, series, value, at in rows:
        if series in last and last[series][0] != value:
            before, start = last[series]
            name = "rise" if value > before else "fall"
            wanted.append(f"{name}({series}, {before}, {value}) [{start}, {at}]")
        last[series] = value, at
        if at >= 100 and value < 5:
            wanted.append(f"level({series}, {value}) [{at}, {at}]")
    assert sorted(found) == sorted(wanted)
