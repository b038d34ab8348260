"""Why a workload or program is more than five times slower than the loop by hand, and what is planned."""

from __future__ import annotations

OPERATORS = "operators as generated code"
MANY = "an index of rules by their constants and thresholds"
CAUSES: dict[str, tuple[str, str]] = {
    "fraud": ("clauses in `where` are asked of the logic machine, once per pair of cities", "clauses unfolded in line"),
    "moving_avg_30": ("an aggregate is an object that generated code calls", OPERATORS),
    "moving_avg_1000": ("an aggregate is an object that generated code calls", OPERATORS),
    "sliding_max_1000": ("an aggregate is an object that generated code calls", OPERATORS),
    "three_rises": ("three derived events per trade, each settled in a round of its own", OPERATORS),
    "top3_of_20": ("a list of twenty is made and sorted for every event", "the best of a window kept sorted"),
    "session_idle": ("every event sets a deadline, which is an object; nearly all of them fall due", OPERATORS),
    "funnel_star": ("a repetition is an object that generated code calls", OPERATORS),
    "iot_hot": ("deadlines are objects; over columns, one over two derived events runs event at a time", OPERATORS),
    "rfid_containment": ("facts that events change are asked of the logic machine", "recursion over changing facts"),
    "duration_check": ("a `check` with times makes a frame for each pair", "times in line"),
    "ten_parts": ("ten joins, each with a store of its own, where the loop has one dictionary", OPERATORS),
    "rules_1000_filter": ("every rule looks at every event", MANY),
    "rules_1000_by_symbol": ("every rule looks at every event", MANY),
    "rules_100_filter": ("every rule looks at every event", MANY),
    "W10": ("a repetition is an object that generated code calls", OPERATORS),
}
