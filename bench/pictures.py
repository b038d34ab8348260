"""Pages in Chromium: how long until a run of many events is painted, and how long a step of moving or zooming takes.

`python bench/pictures.py [events] [repetitions]`: medians in milliseconds, for an idle machine. The exit code is 1 if
one is over its limit (those of 10,000 events), or the page is larger than 3 MB.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from helpers.browser import browse, find_chromium
from helpers.pages import first_paint, run_of, step_time

EVENTS, REPETITIONS = 10_000, 5
PAINTED, STEP, SIZE = 1_000, 50, 3_000_000
ZOOMS = {"all": 1.0, "a tenth": 0.1, "a hundredth": 0.1}  # each of what the one before shows


def main(events: int, repetitions: int) -> int:
    program = find_chromium()
    if program is None:
        print("no Chromium on the PATH")
        return 1
    engine = run_of(events)
    started = time.perf_counter()
    page = engine.timeline().to_html()
    print(f"{'made, in the process':24}{1000 * (time.perf_counter() - started):9.1f} ms")
    print(f"{'size':24}{len(page.encode()):9,} bytes, at most {SIZE:,}")
    over = len(page.encode()) > SIZE
    with tempfile.TemporaryDirectory() as folder, browse(program) as browser:
        path = Path(folder, "page.html")
        path.write_text(page, encoding="utf-8")
        painted = median(first_paint(browser, path) for _ in range(repetitions))
        print(f"{'first paint':24}{painted:9.1f} ms, at most {PAINTED}")
        over |= painted > PAINTED
        for name, zoom in ZOOMS.items():
            step = median(step_time(browser, zoom if turn == 0 else 1.0) for turn in range(repetitions))
            print(f"{f'a step, {name} shown':24}{step:9.1f} ms, at most {STEP}")
            over |= step > STEP
        assert browser.errors == [], browser.errors
    return int(over)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    sys.exit(main(*given, *(EVENTS, REPETITIONS)[len(given) :]))
