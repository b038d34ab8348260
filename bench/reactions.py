"""What one reaction with one `ins` per match costs on W1: CPU time of `run` and `push`, against the same run without.

python bench/reactions.py [events]
"""

from __future__ import annotations

import sys
import warnings
from random import Random
from time import process_time

import etalis

RULE = ":- set_flag(event_consumption_policy, chronological).\nd(Id, X, Y, Z) <- a(Id, X) seq b(Id, Y) seq c(Id, Z).\n"
STATE = ":- state done/1.\n"
PROGRAMS = {
    "without": RULE,
    "on its pattern": f"{RULE}{STATE}on a(Id, X) seq b(Id, Y) seq c(Id, Z) do ins(done(Id)).",
    "on its event": f"{RULE}{STATE}on d(Id, X, Y, Z) do ins(done(Id)).",
}
ROUNDS = 5


def stream(events: int) -> list[tuple[str, int, int, int]]:
    """W1: a, b and c of each id, a hundred ids open at a time."""
    random, rows, open_ids, last = Random(42), [], list[list[object]](), 0
    while len(rows) < events // 3 * 3:
        while len(open_ids) < 100 and last < events // 3:
            open_ids.append([last, 0])
            last += 1
        each = random.choice(open_ids)
        rows.append(("abc"[each[1]], each[0], random.randrange(100), len(rows) + 1))
        each[1] += 1
        if each[1] == 3:
            open_ids.remove(each)
    return rows


def measure(program: etalis.Program, rows: list[tuple[str, int, int, int]], *, reacts: bool) -> tuple[float, float]:
    """Return the seconds of `run` and of `push`, the matches and facts counted."""
    engine, begun = program.engine(), process_time()
    matches = sum(1 for _ in engine.run(rows))
    run = process_time() - begun
    assert matches == len(rows) // 3
    assert not reacts or len(engine.query("done(_)")) == matches
    push, begun = program.engine().push, process_time()
    matches = sum(len(push(name, i, v, at=at)) for name, i, v, at in rows)
    assert matches == len(rows) // 3
    return run, process_time() - begun


def main() -> None:
    rows = stream(int(sys.argv[1]) if len(sys.argv) > 1 else 60_000)
    warnings.simplefilter("ignore")
    programs = {name: etalis.compile(text) for name, text in PROGRAMS.items()}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    for _ in range(ROUNDS):
        for name, program in programs.items():
            times[name].append(measure(program, rows, reacts=name != "without"))
    best = {name: tuple(map(min, zip(*found, strict=True))) for name, found in times.items()}
    for name, (run, push) in best.items():
        ratios = best["without"][0] / run, best["without"][1] / push
        each = (1e6 * run / len(rows), 1e6 * push / len(rows))
        print(f"{name:16} run {each[0]:.2f} us an event ({ratios[0]:.2f}), push {each[1]:.2f} ({ratios[1]:.2f})")


if __name__ == "__main__":
    main()
