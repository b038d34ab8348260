"""Feeds changed texts to the reader of EP-SPARQL: each must end in a tree or in findings, and soon.

A tree must also read back from its printed form. Usage: python tests/fuzz_queries.py --count 100000 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from helpers.random_queries import attempt, changed_query

LIMIT = 1.0  # seconds of this process's time for one text


def main() -> int:
    """Run the texts; print the figures; return 1 if one of them misbehaved."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=2000)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    rng = random.Random(chosen.seed)
    counts = {"tree": 0, "error": 0, "failed": 0}
    slowest = 0.0
    for number in range(chosen.count):
        text = changed_query(rng)
        start = time.process_time()
        try:
            end = attempt(rng, text)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
            end = "failed"
            print(f"text {number}: {type(error).__name__}: {error}\n{text!r}")
        spent = time.process_time() - start
        slowest = max(slowest, spent)
        if spent > LIMIT:
            end = "failed"
            print(f"text {number} took {spent:.1f} s\n{text!r}")
        counts[end] += 1
    print(f"{chosen.count} texts, seed {chosen.seed}: {counts}, slowest {slowest * 1000:.0f} ms")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
