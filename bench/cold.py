"""How long the first run takes: `python bench/cold.py`: kernels compiled into a new cache, then a second start.

W1 to W8 and W10 on 3,000 events each, in processes of their own. The first has an empty cache of kernels, asked are 20
seconds at most; the second finds it, asked is one. Counted is what the first `detect` of each takes above the second
one in the same process, which has everything compiled and loaded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

ASKED = {"first start": 20.0, "second start": 1.0}
NAMES = ("W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W10")


def watch() -> dict[str, float]:
    """Detect twice in this process; return the seconds of the wall and of the processor that the first took longer."""
    began = time.perf_counter()
    from contenders import program_of
    from turns import Setting

    imported = time.perf_counter() - began
    workloads = [Setting(name, 3_000, "memory", 1).workload() for name in NAMES]
    programs = [program_of(w, over_columns=True) for w in workloads]
    tables = [w.columns() for w in workloads]
    spent = []
    for _ in range(2):
        wall, cpu = time.perf_counter(), time.process_time()
        for program, table, workload in zip(programs, tables, workloads, strict=True):
            if program.detect(table, time="ts", event="type").num_rows != workload.expected:
                raise SystemExit(f"wrong answer: {workload.name}")
        spent.append((time.perf_counter() - wall, time.process_time() - cpu))
    return {"import": imported, "wall": spent[0][0] - spent[1][0], "cpu": spent[0][1] - spent[1][1]}


def main() -> None:
    if sys.argv[1:] == ["--here"]:
        print(json.dumps(watch()))
        return
    with tempfile.TemporaryDirectory() as cache:
        for title, asked in ASKED.items():
            environment = os.environ | {"NUMBA_CACHE_DIR": cache}
            done = subprocess.run(
                [sys.executable, __file__, "--here"], env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise SystemExit(done.stderr)
            found = json.loads(done.stdout)
            mark = "" if found["cpu"] <= asked else " !"
            print(
                f"{title:13} {found['cpu']:6.2f} s cpu{mark} {found['wall']:6.2f} s wall, asked {asked:g} s", end="; "
            )
            print(f"imports {found['import']:.2f} s")


if __name__ == "__main__":
    main()
