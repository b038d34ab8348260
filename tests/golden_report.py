"""Run the golden traces and say how many match: python tests/golden_report.py [--show] [part of an id ...]

`--show` writes out every difference. The exit code is 1 if a trace differs unexplained, or is listed but should not be.
"""

from __future__ import annotations

import sys
from collections import Counter

from helpers.golden_listing import Verdict, differences, judge, read_listing
from helpers.golden_traces import Outcome, Trace, all_traces, run

WRONG = (Verdict.UNEXPLAINED, Verdict.STALE)


def main(arguments: list[str]) -> int:
    """Print the report; return the exit code."""
    wanted = [argument for argument in arguments if argument != "--show"]
    listing = read_listing()
    traces = [trace for trace in all_traces() if not wanted or any(part in trace.id for part in wanted)]
    outcomes = [(trace, run(trace)) for trace in traces]
    verdicts = {trace.id: judge(trace, outcome, listing) for trace, outcome in outcomes}
    for trace, outcome in outcomes:
        if verdicts[trace.id] in WRONG or "--show" in arguments:
            show(trace, outcome, verdicts[trace.id])
    counts = Counter(verdicts.values())
    print(f"{len(traces)} golden traces of the original engine:")
    for verdict in Verdict:
        print(f"{counts[verdict]:5} {verdict.value}")
        if verdict is Verdict.LISTED:
            reasons = Counter(
                reason for case, codes in listing.differing.items() if case in verdicts for reason in codes
            )
            for reason, count in reasons.most_common():
                print(f"        {count:3} {reason}")
        elif verdict is Verdict.LATER:
            issues = Counter(issue for case, issue in listing.later.items() if case in verdicts)
            for issue, count in issues.most_common():
                print(f"        {count:3} issue {issue}")
    return 1 if any(counts[verdict] for verdict in WRONG) else 0


def show(trace: Trace, outcome: Outcome, verdict: Verdict) -> None:
    """Print how a trace differs, if it does."""
    lines = differences(trace, outcome)
    if lines or verdict in WRONG:
        print(f"{trace.id}: {verdict.name.lower()}")
        print("".join(f"    {line}\n" for line in lines), end="")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
