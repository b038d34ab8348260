"""When reactions take their turns: after the rounds of an occurrence, in one order; what they raise comes behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from etalis.errors import LimitError
from etalis.language import syntax as s
from etalis.language.read.parser import parse, parse_rule
from etalis.language.steps import Occur
from etalis.runtime.compiled import compile_tree
from etalis.runtime.engine import RuntimeEngine, start_engine
from etalis.runtime.reactions.reactor import Reactor
from etalis.runtime.state import Raw


@dataclass
class Recorder:
    """A reaction that writes down its turns, and raises events."""

    place: tuple[int, ...]
    label: str
    log: list[str]
    state: object
    raises: tuple[str, ...] = ()
    seen: list[Raw] = field(default_factory=list)

    def take(self, raw: Raw) -> None:
        values = raw[3 : 3 + raw[2].arity]
        self.log.append(f"{self.label}{values}@{raw[1] // 10**6}..{raw[0] // 10**6}")
        for name in self.raises:
            self.state.steps.append(Occur(name, (), raw[0], raw[0]))  # type: ignore[attr-defined]


def reaction(label: str, pattern: str) -> s.Reaction:
    return s.Reaction(parse_rule(f"x <- {pattern}").pattern, s.Effect(s.Const("told")), label=label)


def engine_of(
    rules: str, reactions: dict[str, str], raises: dict[str, tuple[str, ...]] | None = None, most: int = 1000
) -> tuple[RuntimeEngine, list[str]]:
    items = (*parse(rules).items, *(reaction(label, pattern) for label, pattern in reactions.items()))
    program = compile_tree(s.Tree(items), [])
    program.effect_registry.register("told", lambda key: None)
    engine = start_engine(program)
    core, log = engine.core, list[str]()
    found = {
        planned.number: Recorder(
            (place,), planned.head.label, log, core.state, (raises or {}).get(planned.head.label, ())
        )
        for place, (planned, _) in enumerate(pair for pair in core.rules.rules if pair[0].head.hidden)
    }
    core.run_loop.reactor = Reactor(core.state, found, most)
    for planned, _ in core.rules.rules:
        if planned.head.hidden:
            core.rules.heads.kind(planned).react = found[planned.number].take
    return engine, log


def push_each(engine: RuntimeEngine, events: list[tuple[object, ...]]) -> list[str]:
    return [str(e) for name, *args, at in events for e in engine.push(str(name), *args, at=at)]


def run_all(engine: RuntimeEngine, events: list[tuple[object, ...]]) -> list[str]:
    return [str(e) for e in engine.run(events)]


Way = Callable[[RuntimeEngine, list[tuple[object, ...]]], list[str]]


@pytest.fixture(params=[push_each, run_all], ids=["push", "run"])
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


def test_each_match_is_a_turn(way: Way) -> None:
    engine, log = engine_of("", {"r": "a(X) seq b(Y)"})
    assert way(engine, [("a", 1, 1), ("b", 2, 2), ("b", 3, 3)]) == []
    assert log == ["r(1, 2, 1)@1..2"]


def test_equal_matches_are_numbered_within_a_stamp(way: Way) -> None:
    engine, log = engine_of("", {"r": "sold(I)"})
    way(engine, [("sold", "rose", 5), ("sold", "rose", 5), ("sold", "lily", 5), ("sold", "rose", 6)])
    assert log == ["r('rose', 1)@5..5", "r('rose', 2)@5..5", "r('lily', 1)@5..5", "r('rose', 1)@6..6"]


def test_turns_come_when_all_rounds_are_over(way: Way) -> None:
    engine, log = engine_of("d(X) <- a(X).\ne(X) <- d(X).", {"late": "e(X)", "early": "a(X)"})
    assert way(engine, [("a", 1, 1)]) == ["d(1) [1, 1]", "e(1) [1, 1]"]
    assert log == ["late(1, 1)@1..1", "early(1, 1)@1..1"]


def test_turns_come_by_start_then_place_then_bindings(way: Way) -> None:
    rules = ":- set_flag(event_consumption_policy, unrestricted)."
    engine, log = engine_of(rules, {"two": "a(X) seq b", "one": "b or c(X)"})
    way(engine, [("a", "k", 0), ("a", 2, 1), ("a", 1, 1), ("b", 2)])
    assert log == [
        "two('k', 1)@0..2", "two(1, 1)@1..2", "two(2, 1)@1..2", "one('null', 1)@2..2",
    ]  # fmt: skip


def test_bindings_are_compared_in_standard_order_where_their_types_differ(way: Way) -> None:
    rules = ":- set_flag(event_consumption_policy, unrestricted)."
    engine, log = engine_of(rules, {"r": "a(X) seq b"})
    way(engine, [("a", "k", 1), ("a", 2, 1), ("a", 1, 1), ("a", 1.0, 1), ("b", 2)])
    assert log == ["r(1.0, 1)@1..2", "r(1, 1)@1..2", "r(2, 1)@1..2", "r('k', 1)@1..2"]


def test_raised_events_come_in_the_order_asked_for_each_with_its_reactions(way: Way) -> None:
    engine, log = engine_of(
        "seen <- z.", {"on e": "e", "on x": "x", "on y": "y", "on z": "z"}, {"on e": ("x", "y"), "on x": ("z",)}
    )
    assert way(engine, [("e", 1)]) == ["seen [1, 1]"]
    assert log == ["on e(1,)@1..1", "on x(1,)@1..1", "on y(1,)@1..1", "on z(1,)@1..1"]


def test_a_cycle_ends_with_an_error_that_names_it(way: Way) -> None:
    engine, log = engine_of("", {"ping": "a", "pong": "b"}, {"ping": ("b",), "pong": ("a",)}, most=20)
    with pytest.raises(LimitError, match=r"E322: .*ping, pong"):
        way(engine, [("a", 1)])
    assert len(log) == 20
    assert not engine.core.state.is_unsettled()
    with pytest.raises(LimitError, match="20 reactions"):
        way(engine, [("a", 2)])


def test_two_patterns_of_a_reaction_need_no_rule_of_that_name() -> None:
    engine, log = engine_of("seen(X) <- 'on r'(X, _).", {"r": "a(X)"})
    assert run_all(engine, [("a", 1, 1), ("on r", 7, 7, 2)]) == ["seen(7) [2, 2]"]
    assert log == ["r(1, 1)@1..1"]
