"""Why a workload or program is more than five times slower than the loop by hand, and what is planned."""

from __future__ import annotations

KEPT = "matches that are kept (see below)"
NONE = "none"
CAUSES: dict[str, tuple[str, str]] = {
    "three_rises": ("two joins of derived events per trade: each makes an event and looks up its partner", NONE),
    "session_idle": ("every event sets a deadline and makes the one before it void", NONE),
    "funnel_star": ("an element is kept with what it counts after; by hand it is a flag", NONE),
    "iot_hot": ("two rules that make events, and a deadline on them", NONE),
    "rfid_containment": (
        "facts that events change, with recursion: each change makes all answers void",
        "forget by container",
    ),
    "duration_check": (
        "start and end are made seconds for each pair; by hand it is one look-up and a subtraction",
        NONE,
    ),
    "rules_1000_by_symbol": ("a thousand rules have objects of their own, in no cache", NONE),
    "W1": (KEPT, NONE),
    "W2": (KEPT, NONE),
    "W5": (KEPT, NONE),
    "W7": (f"sixteen for each of W1: {KEPT}", NONE),
    "W8": ("reachability is asked of the logic machine; by hand, a comparison of two numbers stands for it", NONE),
    "W9": (f"every rule makes an event; {KEPT}", NONE),
    "W10": ("what waits are objects that the collector walks; by hand it is a number", NONE),
    "W11": ("corrections: the history and what each match was made of are kept", NONE),
}
