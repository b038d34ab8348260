"""Makes the stream of a city's sensors, the same every time: `python examples/city/city.py [MINUTES] > stream.trig`."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

BEGIN = datetime(2026, 3, 2, 7, 0, tzinfo=UTC)
SENSORS = {"loop1": "ring", "loop2": "ring", "loop3": "bridge", "camera4": "harbour"}
JAMS = {"ring": (12, 30), "bridge": (21, 38)}  # from which minute to which; traffic of the ring leads to the bridge
SILENT = {"camera4": 26}  # the minute in which a sensor breaks down
PREFIXES = "@prefix : <http://city.example/> .\n@prefix prov: <http://www.w3.org/ns/prov#> .\n"


def readings(minutes: int) -> Iterator[tuple[int, str]]:
    """Yield seconds since the beginning, and what was told then, as triples."""
    chance = random.Random(7)
    for minute in range(0, minutes, 2):
        for place, (sensor, road) in enumerate(SENSORS.items()):
            if minute >= SILENT.get(sensor, minutes):
                continue
            start, end = JAMS.get(road, (minutes, minutes))
            speed = chance.randint(9, 15) if start <= minute < end else chance.randint(44, 55)
            told = "speed" if sensor.startswith("loop") else "flow"
            yield minute * 60 + place * 7, f":{sensor} :{told} {speed} ."
    yield 13 * 60 + 40, ":crash1 :blocks :ring ."
    yield 22 * 60 + 5, ":crash2 :blocks :bridge ."
    yield 27 * 60 + 30, ":crew5 :clears :crash1 ."


def main() -> None:
    minutes = int(sys.argv[1]) if len(sys.argv) > 1 else 44
    print(PREFIXES)
    for number, (second, triples) in enumerate(sorted(readings(minutes)), 1):
        at = (BEGIN + timedelta(seconds=second)).isoformat().replace("+00:00", "Z")
        print(f':e{number} prov:generatedAtTime "{at}"^^<http://www.w3.org/2001/XMLSchema#dateTime> .')
        print(f":e{number} {{ {triples} }}")


if __name__ == "__main__":
    main()
