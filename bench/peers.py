"""Peers that need an installation of their own: thousands of input events per second, not measured in our runs.

Measured on 2026-11-15 on a machine of two cores, on the streams of workloads.py, answers equal to the counts by
construction. Per second of the processor: ETALIS (the original sources of 2013, SWI-Prolog 9.0.4, 100,000 events) and
Esper 9.0.0 (a warm JVM, a million events, to +-35 %). By the wall, a million events: Flink 2.3 CEP (MATCH_RECOGNIZE,
parallelism 1, without the second that a job costs), Siddhi 5 (its best variant), ClickHouse (windowFunnel, which cannot
return what was matched), OpenCEP (sorted input), RTEC (100,000 events). Half of the b pass in W2 for these.
"""

from __future__ import annotations

from collections.abc import Mapping

DATE = "2026-11-15"
PEERS: Mapping[str, Mapping[str, float]] = {
    "W1": {
        "ClickHouse": 11_062, "Esper": 2_726, "Siddhi": 465, "Flink CEP": 157, "ETALIS (2013)": 27, "OpenCEP": 17,
        "RTEC": 17,
    },
    "W2": {
        "ClickHouse": 9_208, "Esper": 2_344, "Siddhi": 326, "Flink CEP": 212, "ETALIS (2013)": 48, "OpenCEP": 31,
    },
    "W3": {
        "ClickHouse": 8_547, "Esper": 2_079, "Siddhi": 258, "Flink CEP": 195, "ETALIS (2013)": 56, "RTEC": 20,
        "OpenCEP": 12,
    },
    "W4": {"Esper": 2_269, "ETALIS (2013)": 23},
    "W5": {"Esper": 2_066, "ETALIS (2013)": 42},
    "W6": {"Esper": 205, "ETALIS (2013)": 12},
    "W7": {"Esper": 178, "ETALIS (2013)": 18},
    "W8": {"Esper, reachability in Java": 629.7, "ETALIS (2013)": 15.8},
    "W10": {"Siddhi": 662, "Flink CEP": 95},
}  # fmt: skip
