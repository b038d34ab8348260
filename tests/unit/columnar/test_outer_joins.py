"""Parts that may be missing, over columns: the same as in the engine, wherever batches are cut and whoever goes on."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

import etalis
from etalis.columnar import schedule
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.errors import EventError
from etalis.plan.types import infer_types
from etalis.temporal.event import Event
from helpers.agreement import check

pytestmark = pytest.mark.fast

SECOND = 1_000_000
ROWS = {"time": "at", "event": "event"}
FORMS = ("seq?", "?seq", "equals?", "?equals", "and?", "?and")
NESTED = (
    "r(I, J) <- ((a(I) seq? b(I)) seq? c(J)) within 3.",
    "r(I, J) <- (a(I) seq? (b(I) equals? c(J))) within 4.",
    "r(I) <- a(I) equals? g(I). g(I) <- b(I) equals? c(I). s(I) <- r(I) and g(I) within 3.",
    "r(I, J) <- (a(I) and? b(J)) within 2. s(I) <- r(I, J) where var(J). t(I) <- (s(I) ?seq r(I, _)) within 5.",
    "r(I) <- (a(I) seq b(_)) ?equals (a(_) seq c(I)).",
    "r(I, J) <- (a(I) seq? (b(J) where J > I)) within 3. s(N) <- aggregate(count, r(_, _), N) within 4.",
    "r(I, J) <- a(I) equals? b(J). s(I) <- r(I, _) seq (not a(I) within 2). exceptionAlarm(g(I), 2) <- r(I, _).",
    "r(I) <- 5 seq a(I). s(I) <- (r(I) equals? q(I)) ?seq a(I). q(I) <- (b(I) seq? c(I)) within 2.",
    "r(I) <- any(2, [a(I) ?seq b(I), 3, c(I)]) equals? a(I).",
    "r(I) <- (a(I) seq b(I)) cnot (c(J) equals? a(J)). s(I) <- a(I) seq (not (b(I) equals? c(_)) within 2).",
)
LATE = ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 3).\n"
EVENTS = ":- event(a(i: int)). :- event(b(i: int)). :- event(c(i: int)).\n"


def stream(seed: int, count: int = 24) -> list[Event]:
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        end = rng.randrange(count // 2)
        start = end - rng.choice((0, 0, 0, 1, 3))
        found.append(Event.make(rng.choice("aabbc"), (rng.randrange(2),), start * SECOND, end * SECOND))
    return sorted(found, key=lambda event: (event.end_time, event.start_time))


@pytest.mark.parametrize("policy", ["unrestricted", "chronological", "recent", "continuous", "cumulative"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_runs_over_columns(form: str, policy: str) -> None:
    whole = f"r(I, J) <- (a(I) {form} b(J)) within 4. s(I) <- (a(I) {form} (b(I) seq c(_))) within 6."
    assert check(whole, stream(1), policy)


@pytest.mark.parametrize("text", NESTED)
def test_what_is_missed_comes_in_the_order_of_the_engine(text: str) -> None:
    assert all(check(text, stream(seed), "unrestricted") for seed in (3, 4))


def test_the_newest_alone() -> None:
    assert check("r(I, J) <- a(I) ?seq b(J). s(I) <- (a(I) ?seq a(I)) seq c(I).", stream(6), "snoop_recent")


def test_one_row_at_a_time_is_all_rows_at_once() -> None:
    events = stream(7)
    types = find_types(events)
    for text in NESTED:
        program = etalis.compile(text).compiled
        found = []
        for size in (1, 7, len(events)):
            run = ColumnRun(program, types, policy="unrestricted")
            parts = (events[low : low + size] for low in range(0, len(events), size))
            found.append([*(e for part in parts for e in run.process(gather(part, types))), *run.close()])
        assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("text", "policy", "reason"),
    [
        (
            "r(I) <- a(I) equals? g(I). exceptionAlarmAbsoluteDatetime(g(I), 7) <- b(I).", "unrestricted",
            "an alarm may ring at once where it is found that a part is missing",
        ),
        (
            "r(I) <- (a(I) equals? b(I)) and (a(I) equals? c(I)).", "recent",
            "several parts may be found to be missing at once, and their order matters",
        ),
        (
            "r(I) <- (a(I) ntimes 2 seq? b(I)) within 5.", "unrestricted",
            "a repetition stands left of a part that may be missing",
        ),
        (
            "r(I) <- a(I). r(I) <- r(I) ?seq b(I).", "unrestricted",
            "it is recursive, and recursion has no kernel for parts that may be missing",
        ),
    ],
)  # fmt: skip
def test_what_has_no_kernel_is_named(text: str, policy: str, reason: str) -> None:
    program = etalis.compile(EVENTS + text)
    assert reason in program.explain(pa.table({"event": ["a"], "at": [1], "i": [1]}), policy=policy, **ROWS)
    assert not check(text, stream(8), policy)


def test_more_is_missed_than_a_piece_has_slots_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "MOST_ROWS", 128)
    events = [Event.make("a", (n,), n * SECOND, n * SECOND) for n in range(100)]
    events += [Event.make("b", (0,), 1000 * SECOND, 1000 * SECOND)] * 3
    assert check("r(I, J) <- (a(I) seq? b(J)) within 500. s(I) <- b(I) equals? r(_, I).", events, "unrestricted")


def test_too_many_steps_of_one_moment_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "MOST_ROWS", 64)
    events = [Event.make("a", (n,), n * SECOND, 200 * SECOND) for n in range(150)]
    program = etalis.compile("r(I) <- a(I) equals? b(I).")
    types = find_types(events)
    run = ColumnRun(program.compiled, types, policy="unrestricted")
    assert list(run.process(gather(events, types))) == []
    with pytest.raises(EventError, match="too much falls due at different moments of one batch"):
        list(run.close())


def test_a_table_has_null_where_a_part_is_missing() -> None:
    program = etalis.compile(
        """:- event(ask(c: string, q: int)). :- event(answer(c: string, r: int)).
        d(C, Q, R) <- (ask(C, Q) seq? answer(C, R)) within 5."""
    )
    cells = {"c": ["x", "x", "y"], "q": [1, None, 2], "r": [None, 7, None]}
    rows = pa.table({"event": ["ask", "answer", "ask"], "at": [1, 3, 4], **cells})
    found = program.detect(rows, policy="unrestricted", **ROWS)
    assert found.schema.field("R").type == pa.int64()
    assert found.select(["C", "Q", "R"]).to_pylist() == [{"C": "x", "Q": 1, "R": 7}, {"C": "y", "Q": 2, "R": None}]
    told = program.detect(rows, contributors=True, policy="unrestricted", **ROWS)
    assert told["contributors"].to_pylist() == [
        ["ask(x, 1)@1000000..1000000", "answer(x, 7)@3000000..3000000"],
        ["ask(y, 2)@4000000..4000000"],
    ]


def test_late_rows_are_missed_when_the_watermark_has_passed() -> None:
    program = etalis.compile(LATE + "r(I, J) <- (a(I) seq? b(J)) within 2. s(I, J) <- a(I) equals? b(J).")
    rng = random.Random(9)
    events = stream(9)
    for low in range(0, len(events), 4):
        part = events[low : low + 4]
        rng.shuffle(part)
        events[low : low + 4] = part
    engine, types = program.engine(policy="unrestricted"), find_types(events)
    pushed = [e for x in events for e in engine.push(x.name, *x.args, at=(x.start, x.end))]
    run = ColumnRun(program.compiled, types, policy="unrestricted")
    found = [e for low in range(0, len(events), 3) for e in run.process(gather(events[low : low + 3], types))]
    assert not run.at_a_time
    assert Counter([*found, *run.close()]) == Counter([*pushed, *engine.close()])


def test_what_matches_alone_keeps_its_type() -> None:
    """Of a variable that either side may leave unbound, any value may be seen in a match without a partner."""
    program = etalis.compile(
        """:- event(a(x: int)). :- event(t(x: string)). :- event(b(x: int)).
        r(X) <- (a(X) or n) equals? b(X). s(X) <- (t(X) or a(X)) equals? (b(X) or n)."""
    )
    heads = program.compiled.plans("unrestricted")
    types = infer_types(heads, {("a", 1): ("int",), ("t", 1): ("string",), ("b", 1): ("int",), ("n", 0): ()}, {})
    assert types["r", 1] == ("int",)
    assert types["s", 1] == ("term",)
    assert "X" not in types.sure(heads[0].body)
    assert "X" in types.sure_by_test(heads[0].body)[0]
