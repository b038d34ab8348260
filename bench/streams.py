"""The streams of the workloads: made once by workloads.py into bench/data, read as rows (name, id, v, time) or columns.

`folded` makes a short stream in which ids come again, for checking answers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from workloads import PROGRAMS

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
SHARE = {"W3": "_c10", "W11": "_r10"}  # what workloads.py adds to the file's name
LARGEST_CONDITION = "100"  # the {K} of W2: all b pass, the hardest of its streams
ANSWERS = {"W2": f"K{LARGEST_CONDITION}", "W6": "unrestricted", "W8": "trend", "W11": "e"}
CHAIN = 1_000  # rules of W9
LEFT = 40  # ids of a folded stream
USUAL: Mapping[str, Any] = {}  # how PyArrow writes Parquet unless told otherwise
DIFFERENCES: Mapping[str, Any] = {  # as docs/columns.md says; everyone reads it faster, and it is smaller
    "use_dictionary": ["type", "v"], "column_encoding": dict.fromkeys(("ts", "id"), "DELTA_BINARY_PACKED"),
}  # fmt: skip
Row = tuple[str, int, int, int]


@dataclass(frozen=True)
class Workload:
    """A program, its policy, and its stream with the number of complex events it has by construction."""

    name: str
    text: str
    policy: str
    path: Path
    events: int
    expected: int
    links: int = 0

    def rows(self) -> Iterator[Row]:
        """Read the stream, one row at a time."""
        with self.path.open() as lines:
            for line in lines:
                time, kind, key, value = line.split(",")
                yield kind, int(key), int(value), int(time)

    def columns(self) -> pa.Table:
        """Read the stream as columns, the names of events coded by a dictionary."""
        return pq.read_table(self.parquet(), read_dictionary=["type"])

    def parquet(self, encoding: Mapping[str, Any] = USUAL) -> Path:
        """Return the stream as Parquet, made if it is not there yet."""
        path = self.path.with_name(f"{self.path.stem}{'_differences' if encoding else ''}.parquet")
        if not path.exists():
            names = pc.ReadOptions(column_names=["ts", "type", "id", "v"])
            pq.write_table(pc.read_csv(self.path, read_options=names), path, row_group_size=1_000_000, **encoding)
        return path

    def blocks(self, size: int) -> Iterator[list[Row]]:
        """Read the stream in lists, so that a long one need not fit into memory."""
        rows = self.rows()
        while block := list(islice(rows, size)):
            yield block


def prepare(name: str, events: int, *, links: int = 0) -> Workload:
    """Return a workload, its stream made if it is not there yet; W8 has so many links, W9 derives so many events."""
    if name == "W9":
        return prepare_chain(max(1, events // CHAIN))
    path = DATA / f"{name}_{events}{f'_l{links}' if links else SHARE.get(name, '')}.csv"
    described = path.with_suffix(".meta.json")
    if not described.exists():
        command = [sys.executable, str(HERE / "workloads.py"), name, str(events), "--out", str(DATA)]
        command += ["--links", str(links)] if links else []
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        path.with_suffix(".pl").unlink()  # the same stream for another engine
    answer = json.loads(described.read_text())
    text, policy = PROGRAMS[name]
    expected = answer["expected"][ANSWERS.get(name, "d")] * (16 if name == "W7" else 1)
    expected += answer["expected"].get("rev_e", 0)
    return Workload(name, text.replace("{K}", LARGEST_CONDITION), policy, path, answer["events"], expected, links)


def prepare_chain(starts: int) -> Workload:
    """Return W9: so many events start a chain of rules; its events are those that are derived."""
    path = DATA / f"W9_n{CHAIN + 1}_s{starts}.csv"
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        path.write_text("".join(f"{i + 1},e1,{i},0\n" for i in range(starts)))
    return Workload("W9", chain_of(CHAIN), "unrestricted", path, starts * CHAIN, starts * CHAIN)


def chain_of(rules: int) -> str:
    """Return the program of W9."""
    return "\n".join(f"e{k + 1}(Id) <- e{k}(Id)." for k in range(1, rules + 1))


def folded(workload: Workload, expected: Any) -> Workload:
    """Return a short stream with few ids left, so that they come again; `expected` counts the matches of its rows."""
    path = workload.path.with_name(f"{workload.path.stem}_folded.csv")
    rows = [(kind, key % LEFT, value, at) for kind, key, value, at in workload.rows()]
    if not path.exists():
        path.write_text("".join(f"{at},{kind},{key},{value}\n" for kind, key, value, at in rows))
    return replace(workload, path=path, expected=len(expected(rows)))
