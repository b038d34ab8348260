"""What it costs over columns to tell the rows of matches: W1 to W5 without, with a column of ids, with ids made."""

from __future__ import annotations

import argparse
import gc
import random
import time
import warnings

import pyarrow as pa
from workloads import PROGRAMS, interleave

import etalis

SHAPES = {
    "W1": lambda _: "abc", "W2": lambda _: "ab", "W3": lambda rng: rng.choice(["ab", "ab", "acb"]),
    "W4": lambda rng: "".join(rng.sample("abc", 3)), "W5": lambda rng: rng.choice(["ab", "ac"]),
}  # fmt: skip


def table_of(workload: str, count: int) -> pa.Table:
    """So many events of a workload, in memory, with a column of ids."""
    rng = random.Random(42)
    shape = SHAPES[workload]
    instances = (count + 1) // 3 if workload in ("W1", "W4") else (count + 1) // 2
    rows = list(interleave(rng, instances, 100, lambda i: [(name, i, rng.randrange(100)) for name in shape(rng)]))
    names, ids, values = zip(*rows, strict=True)
    texts = pa.array(range(len(rows))).cast(pa.string())
    columns = {"event": pa.array(names).dictionary_encode(), "at": range(len(rows)), "id": ids, "v": values}
    return pa.table({**columns, "row": texts})


def best(program: etalis.Program, rows: pa.Table, times: int, **options: object) -> tuple[float, int]:
    """The least processor time of several runs, and the matches."""
    found = []
    for _ in range(times):
        gc.collect()
        began = time.process_time()
        matches = program.detect(rows, time="at", threads=1, **options)
        found.append(time.process_time() - began)
    return min(found), matches.num_rows


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--events", type=int, default=1_000_000)
    given.add_argument("--times", type=int, default=5)
    options = given.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':4}{'events':>9}{'matches':>9}{'without':>9}{'ids':>9}{'ratio':>7}{'no ids':>9}{'ratio':>7}")
    for workload in SHAPES:
        text, policy = PROGRAMS[workload]
        program = etalis.compile(text.replace("{K}", "50"))
        rows = table_of(workload, options.events)
        best(program, rows.slice(0, 3000), 1, policy=policy, contributors=True, id="row")
        plain, count = best(program, rows.drop(["row"]), options.times, policy=policy)
        told, same = best(program, rows, options.times, policy=policy, contributors=True, id="row")
        bare, also = best(program, rows.drop(["row"]), options.times, policy=policy, contributors=True)
        if not count == same == also:
            raise SystemExit(f"{workload}: {count}, {same} and {also} matches")
        ratios = f"{told:8.3f}s{told / plain:7.2f}{bare:8.3f}s{bare / plain:7.2f}"
        print(f"{workload:4}{len(rows):9}{count:9}{plain:8.3f}s{ratios}")


if __name__ == "__main__":
    main()
