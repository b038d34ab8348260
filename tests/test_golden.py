"""The golden traces of the original engine: each matches, or stands in docs/compatibility.md with what decides it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

import etalis
import golden_report
from etalis.language.read.modules import load
from etalis.semantics import steps as semantics
from etalis.temporal.policy import POLICIES
from helpers.golden_justifications import read_tree
from helpers.golden_listing import Verdict, differences, judge, read_listing
from helpers.golden_traces import Outcome, Trace, all_traces, read_atom, run

ALL = {trace.id: trace for trace in all_traces()}
LISTING = read_listing()
LATER_FLAGS = frozenset({"out_of_order", "revision_flag", "etalis_justification"})


@pytest.mark.parametrize("trace", ALL.values(), ids=list(ALL))
def test_trace_matches_or_is_listed(trace: Trace) -> None:
    outcome = run(trace)
    verdict = judge(trace, outcome, LISTING)
    assert verdict not in golden_report.WRONG, "\n".join([verdict.value, *differences(trace, outcome)])


@pytest.mark.parametrize("trace", [t for t in ALL.values() if t.declarative is not None], ids=lambda t: t.id)
def test_unrestricted_is_the_recorded_meaning(trace: Trace) -> None:
    """Whatever its policy, under `unrestricted` a trace gives what an evaluator of its own recorded as the meaning."""
    flags = {name: value for name, value in trace.flags.items() if name not in LATER_FLAGS}
    outcome = run(replace(trace, flags=flags), "unrestricted")
    assert outcome.refused is None
    events = [event for _, event in outcome.fired]
    assert len(events) == len(set(events))
    assert (frozenset(events) == trace.declarative) == (trace.id not in LISTING.model)


def _has_meaning(trace: Trace) -> bool:
    """Tell whether `semantics` can say it: nothing but events, and no action that changes the knowledge."""
    return trace.is_plain and " do assertz" not in trace.program and trace.id != "negation/not_op__recent"


@pytest.mark.parametrize("trace", [t for t in ALL.values() if _has_meaning(t)], ids=lambda t: t.id)
def test_engine_is_the_meaning(trace: Trace) -> None:
    tree, program = load(trace.program), etalis.compile(trace.program)
    events = sorted(trace.events, key=lambda event: (event.end_time, event.start_time))
    for policy in POLICIES:
        engine = program.engine(policy=policy)
        model = semantics.run(tree, events, policy=policy, until=events[-1].end_time)
        answer = [*engine.run(events), *engine.advance(to=events[-1].end)]
        assert Counter(answer) == Counter(semantics.reported(tree, model)), policy


@pytest.mark.parametrize("trace", [t for t in ALL.values() if "justify_event" in str(t.inputs)], ids=lambda t: t.id)
def test_justifications_agree_as_trees(trace: Trace) -> None:
    """What the original prints, its inner events folded, is what `write_justification` prints here."""
    assert read_tree(run(trace).printed) == read_tree(trace.printed)


def test_tables_name_traces_and_reasons() -> None:
    assert set(LISTING.differing) | set(LISTING.later) | set(LISTING.model) <= set(ALL)
    used = {code for table in (LISTING.differing, LISTING.model) for codes in table.values() for code in codes}
    assert used == set(LISTING.reasons)


def test_all_traces_are_there() -> None:
    assert len(ALL) == 202


def test_report_counts_every_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert golden_report.main([]) == 0
    counts = re.findall(r"^ {2,4}(\d+) ", capsys.readouterr().out, re.MULTILINE)
    assert sum(map(int, counts[:5])) == len(ALL)
    assert golden_report.main(["--show", "allen/finishes"]) == 0
    assert "allen/finishes__unrestricted: listed\n    only the original: step 1: hit(1, 1)" in capsys.readouterr().out


def test_verdicts() -> None:
    trace = ALL["seq_policy/plain__recent"]
    same, other = Outcome(trace.derived), Outcome()
    empty = replace(LISTING, differing={}, later={})
    listed = replace(empty, differing={trace.id: ("x",)})
    later = replace(empty, later={trace.id: "3"})
    assert [judge(trace, o, empty) for o in (same, other)] == [Verdict.MATCHES, Verdict.UNEXPLAINED]
    assert [judge(trace, o, listed) for o in (same, other)] == [Verdict.STALE, Verdict.LISTED]
    assert [judge(trace, o, later) for o in (other, replace(other, errors=("p/1 is not defined",)))] == [
        Verdict.STALE,
        Verdict.LATER,
    ]


def test_variable_equals_nothing_derived() -> None:
    assert read_atom("hit(1,A)", 0, 0) != read_atom("hit(1,null)", 0, 0)
    assert read_atom("f([x,'B c'],-1)", 0, 0).args == (("x", "B c"), -1)
