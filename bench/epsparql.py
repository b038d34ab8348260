"""What queries cost: `python bench/epsparql.py [--events N]`, by processor time, one core, answers checked.

A price a second over 200 subjects, and a query for rises within 1,000 seconds: against the same rule over rdf/3 in the
rule language, against pyoxigraph asked anew at every event over the triples of the last 1,000 seconds (the whole query,
and one that a person has narrowed to the new event), and with one outer form in it. A query for members of a class,
with 10,000 classes eight levels deep in the background and without. All take turns, the best of each counts; every turn
must find the same number, query and rule the same rises.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

import pyoxigraph as ox  # noqa: E402 - the package may not be installed
from ratio import WrongAnswerError, timed  # noqa: E402
from rich.console import Console  # noqa: E402
from run import judged, machine, new_table  # noqa: E402
from turns import keep_to_one_core  # noqa: E402

import etalis  # noqa: E402
from etalis.epsparql.reads import SUBCLASS, TYPE  # noqa: E402

SPACE = "http://example.org/"
PRICE, VALUE = f"<{SPACE}price>", f"<{SPACE}value>"
SUBJECTS, WINDOW = 200, 1_000
CLASSES, LEVELS, BRANCHES = 10_000, 8, 4
PREFIX = f"PREFIX : <{SPACE}>\n"
RISE = "{?c :price ?x} SEQ {?c :price ?y} WITHIN 1000 FILTER(?y > ?x * 1.9)"
RISES = f"{PREFIX}SELECT ?c ?x ?y {{ {RISE} }}"
OUTER = {
    "OPTIONALSEQ": "{?c :price ?x FILTER(?y > ?x * 1.9)} OPTIONALSEQ {?c :price ?y} WITHIN 1000",
    "SEQOPTIONAL": "{?c :price ?x} SEQOPTIONAL {?c :price ?y FILTER(?y > ?x * 1.9)} WITHIN 1000",
    "EQUALSOPTIONAL": f"{{{RISE}}} EQUALSOPTIONAL {{?c :volume ?v}}",
    "OPTIONALEQUALS": f"{{?c :volume ?v}} OPTIONALEQUALS {{{RISE}}}",
}
RULE = f"""
:- set_flag(event_consumption_policy, unrestricted).
select_1(C, X, Y) <- (rdf(C, '{PRICE}', X) seq rdf(C, '{PRICE}', Y)) within 1000 where Y > X * 1.9.
"""
MEMBERS = PREFIX + "SELECT ?s ?v { {?s a :C0} SEQ {?s :value ?v} WITHIN 1000 }"
ANEW = """SELECT ?c ?x ?y ?u WHERE { ?old <urn:of> ?c ; <urn:value> ?x ; <urn:at> ?t .
?new <urn:of> ?c ; <urn:value> ?y ; <urn:at> ?u FILTER(?t < ?u && ?y > ?x * 1.9) }"""
NARROWED = """SELECT ?c ?x ?y ?u WHERE { BIND(%d AS ?u) ?new <urn:at> ?u ; <urn:of> ?c ; <urn:value> ?y .
?old <urn:of> ?c ; <urn:value> ?x ; <urn:at> ?t FILTER(?t < ?u && ?y > ?x * 1.9) }"""
RULE_ASKED, OUTER_ASKED, ENTAILED_ASKED, ANEW_ASKED, COMPILED_ASKED = 0.5, 0.3, 0.4, 100, 2.0

Rows = list[tuple[object, ...]]


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description="Queries against rules, against SPARQL asked anew, and with RDFS.")
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--anew", type=int, default=300, help="events at which pyoxigraph is asked")
    options = parser.parse_args()
    keep_to_one_core()
    warnings.simplefilter("ignore", etalis.ProgramWarning)
    try:
        show(*measure(options.events, options.turns, options.anew))
    except WrongAnswerError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def prices(events: int) -> Rows:
    rng = Random(1)
    return [
        ("rdf", f"<{SPACE}s{rng.randrange(SUBJECTS)}>", PRICE, round(rng.uniform(1, 100), 2), i) for i in range(events)
    ]


def typed(events: int, classes: int) -> Rows:
    rng = Random(2)
    found: Rows = []
    for i in range(events // 2):
        found.append(("rdf", f"<{SPACE}s{rng.randrange(SUBJECTS)}>", TYPE, _class(rng.randrange(classes)), 2 * i))
        found.append(("rdf", f"<{SPACE}s{rng.randrange(SUBJECTS)}>", VALUE, i, 2 * i + 1))
    return found


def _class(number: int) -> str:
    return f"<{SPACE}C{number}>"


def hierarchy() -> list[tuple[str, str, str]]:
    """Return classes below one, each level at most as wide as it must be."""
    rng, level, found = Random(3), [0], []
    for depth in range(LEVELS):
        wide = CLASSES - 1 - len(found) if depth == LEVELS - 1 else min(len(level) * BRANCHES, CLASSES // LEVELS)
        first = len(found) + 1
        found += [(_class(i), SUBCLASS, _class(rng.choice(level))) for i in range(first, first + wide)]
        level = list(range(first, first + wide))
    return found


def run_all(program: etalis.Program, rows: Rows) -> list[etalis.Event]:
    engine = program.engine()
    return [*engine.run(rows), *engine.close()]


def measure(events: int, turns: int, anew: int) -> tuple[int, dict[str, float], dict[str, float], float]:
    """Return the events per second of every way, of asking anew, and the seconds to compile the classes."""
    rows, members = prices(events), typed(events, CLASSES)
    named = [(*row[:3], _class(0), row[4]) if row[2] == TYPE else row for row in members]
    started = time.process_time()
    entailed = etalis.compile_sparql(MEMBERS, background=hierarchy())
    entailed.engine()
    compiled = time.process_time() - started
    works: dict[str, tuple[etalis.Program, Rows]] = {
        "rule over rdf/3": (etalis.compile(RULE), rows),
        "query": (etalis.compile_sparql(RISES), rows),
        **{f"with {word}": (etalis.compile_sparql(f"{PREFIX}SELECT * {{ {body} }}"), rows)
           for word, body in OUTER.items()},
        "class": (etalis.compile_sparql(MEMBERS), named),
        "class, 10,000 below it": (entailed, members),
    }  # fmt: skip
    found = {name: run_all(*work) for name, work in works.items()}
    if {(e.args, e.start, e.end) for e in found["query"]} != {
        (e.args, e.start, e.end) for e in found["rule over rdf/3"]
    }:
        raise WrongAnswerError("the query and the rule find different rises")
    if len(found["class"]) != len(found["class, 10,000 below it"]):
        raise WrongAnswerError("members by name and by entailment are not the same")
    best = dict.fromkeys(works, float("inf"))
    for _ in range(turns):
        for name, work in works.items():
            best[name] = min(best[name], timed(lambda work=work: run_all(*work), len(found[name]), time.process_time))
    per_second = {name: len(works[name][1]) / seconds for name, seconds in best.items()}
    asked = {
        "pyoxigraph, asked anew": ask_anew(rows, anew, found["query"], lambda _: ANEW),
        "pyoxigraph, asked of the new event": ask_anew(rows, anew, found["query"], lambda t: NARROWED % t),
    }
    return events, per_second, asked, compiled


def ask_anew(rows: Rows, count: int, rises: list[etalis.Event], query: Callable[[int], str]) -> float:
    """Return the events per second of pyoxigraph, asked at each of the last events over a window that is full."""
    store, kept = ox.Store(), deque[tuple[int, list[ox.Quad]]]()
    last = WINDOW + count
    seconds, found = 0.0, 0
    for _, c, _, x, t in rows[:last]:
        started = time.process_time()
        node = ox.BlankNode()
        parts = (("urn:of", ox.NamedNode(c[1:-1])), ("urn:value", ox.Literal(x)), ("urn:at", ox.Literal(t)))  # type: ignore[index,arg-type]
        quads = [ox.Quad(node, ox.NamedNode(name), value) for name, value in parts]
        for quad in quads:
            store.add(quad)
        kept.append((t, quads))  # type: ignore[arg-type]
        while kept[0][0] < t - WINDOW:  # type: ignore[operator]
            for quad in kept.popleft()[1]:
                store.remove(quad)
        if t >= WINDOW:  # type: ignore[operator]
            now = ox.Literal(t)  # type: ignore[arg-type]
            found += sum(row["u"] == now for row in store.query(query(t)))  # type: ignore[arg-type,union-attr]
            seconds += time.process_time() - started
    expected = sum(WINDOW <= rise.end < last for rise in rises)
    if found != expected:
        raise WrongAnswerError(f"pyoxigraph finds {found} rises at {count} events, the query {expected}")
    return count / seconds


def show(events: int, per_second: dict[str, float], anew: dict[str, float], compiled: float) -> None:
    console = Console(width=max(100, Console().width))
    console.print(f"{machine()}; {os.getloadavg()[0]:.1f} processes busy", style="dim")
    table = new_table(f"EP-SPARQL, {events:,} events, one core", "Way", "events/s", "ratio", "asked", "Of")
    asked: dict[str, tuple[str, float]] = {
        "query": ("rule over rdf/3", RULE_ASKED),
        **{f"with {word}": ("query", OUTER_ASKED) for word in OUTER},
        "class, 10,000 below it": ("class", ENTAILED_ASKED),
    }
    for name, speed in per_second.items():
        of, least = asked.get(name, ("", 0.0))
        ratio = speed / per_second[of] if of else 0.0
        cells = (judged(f"{ratio:.2f}", ratio >= least), f"{least}", of) if of else ("", "", "")
        table.add_row(name, f"{speed:,.0f}", *cells)
    for name, speed in anew.items():
        ratio, is_whole = per_second["query"] / speed, name.endswith("anew")
        told = judged(f"1/{ratio:,.0f}", ratio >= ANEW_ASKED if is_whole else None)
        table.add_row(name, f"{speed:,.0f}", told, f"1/{ANEW_ASKED}" if is_whole else "", "query")
    console.print(table)
    text = judged(f"{compiled:.2f} s", compiled <= COMPILED_ASKED)
    console.print(f"compiled with {CLASSES:,} classes, {LEVELS} levels: ", text, f" (asked {COMPILED_ASKED} s)", sep="")


if __name__ == "__main__":
    sys.exit(main())
