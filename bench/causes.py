"""Why a workload or program is more than five times slower than the loop by hand, and what is planned."""

from __future__ import annotations

KEPT = "matches that are kept (see below)"
LIGHTER = "lighter matches"
OPERATORS = "operators as generated code"
DEADLINES = "every event sets a deadline; deadlines are objects, asked for and judged one by one"
REPETITIONS = "a repetition is an object that generated code calls for every event"
MANY = "an index of rules by their constants"
CAUSES: dict[str, tuple[str, str]] = {
    "three_rises": ("two derived events per trade, each settled in a round of its own", OPERATORS),
    "session_idle": (DEADLINES, OPERATORS),
    "funnel_star": (REPETITIONS, OPERATORS),
    "iot_hot": (f"{DEADLINES}; columns run it event at a time: its deadline meets two derived events", OPERATORS),
    "rfid_containment": (
        "facts that events change, with recursion, are asked of the logic machine; columns run it event at a time",
        "tables that grow with the facts",
    ),
    "duration_check": (
        "start and end are made seconds for each pair, and guarded; by hand the whole is one look-up and a subtraction",
        "times kept as numbers of seconds",
    ),
    "rules_1000_filter": ("over columns every rule starts and ends a table of its own, here for 5,000 rows", MANY),
    "rules_1000_by_symbol": ("every rule looks at every event", MANY),
    "W1": (KEPT, LIGHTER),
    "W2": (KEPT, LIGHTER),
    "W5": (KEPT, LIGHTER),
    "W7": (f"sixteen for each of W1: {KEPT}", LIGHTER),
    "W8": ("reachability is asked of the logic machine; by hand, a comparison of two numbers stands for it", "none"),
    "W9": (f"every rule makes an event in a round of its own; {KEPT}", OPERATORS),
    "W10": (REPETITIONS, OPERATORS),
    "W11": ("corrections: the history and what each match was made of are kept", "none"),
}
