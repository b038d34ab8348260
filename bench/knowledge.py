"""W8, a supply chain as background knowledge: throughput by its length and while it changes; and a million facts.

Static, links inserted, and links inserted and deleted take turns with the short chain; a change comes once per 1,000
events, at random places, so that inserted links close cycles and deleted ones cut them. Every answer is compared with
searches by hand. Seconds are processor time. `python bench/knowledge.py links N EVENTS` and `... facts N` measure a
process of its own.
"""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left, insort
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

from memory import read_status  # noqa: E402 - the package may not be installed
from ratio import WrongAnswerError  # noqa: E402
from streams import Workload, prepare  # noqa: E402

import etalis  # noqa: E402

BLOCK = 1_000
Row = tuple[str, int, int]
Change = tuple[str, int, int]  # "assert" or "retract", from, to
Answer = tuple[int, int, int]


@dataclass(frozen=True)
class Chain:
    """One stream over a chain of so many links: blocks of events, each after its changes."""

    title: str
    links: int
    blocks: list[list[Row]]
    changes: list[list[Change]]

    @property
    def events(self) -> int:
        return sum(map(len, self.blocks))


@dataclass(frozen=True)
class Found:
    """Seconds of loading and the first block, and of all later blocks; each the best of several."""

    chain: Chain
    warm_up: float
    seconds: float
    matches: int

    @property
    def rate(self) -> float:
        return sum(map(len, self.chain.blocks[1:])) / self.seconds


def measure(lengths: tuple[int, ...], events: int, repetitions: int) -> list[Found]:
    """Check and time the static chains, and the changes of the longest one."""
    workloads = [prepare("W8", events, links=links) for links in lengths]
    chains = [Chain("static", w.links, blocks(w), []) for w in workloads]
    chains += [Chain(title, lengths[-1], chains[-1].blocks, draw(title, lengths[-1], chains[-1])) for title in KINDS]
    wanted = [by_hand(chain) for chain in chains]
    for chain, answers, workload in zip(chains, wanted, workloads, strict=False):
        if len(answers) != workload.expected:
            raise WrongAnswerError(f"{chain.links} links: {len(answers)} by hand, not {workload.expected}")
    seconds: list[list[tuple[float, float]]] = [[] for _ in chains]
    for _ in range(repetitions):
        for chain, answers, times in zip(chains, wanted, seconds, strict=True):
            times.append(run(chain, workloads[0].text, workloads[0].policy, answers))
    return [
        Found(chain, min(warm for warm, _ in times), min(rest for _, rest in times), len(answers))
        for chain, answers, times in zip(chains, wanted, seconds, strict=True)
    ]


def blocks(workload: Workload) -> list[list[Row]]:
    return [[(kind, key, at) for kind, key, _, at in block] for block in workload.blocks(BLOCK)]


def draw(title: str, links: int, chain: Chain) -> list[list[Change]]:
    """Draw the changes before each block: random links inserted, or links deleted and put back as well."""
    rng = random.Random(f"{title}-{links}")
    inserted: list[tuple[int, int]] = []
    cut: list[tuple[int, int]] = []
    found: list[list[Change]] = []
    for _ in chain.blocks:
        changes: list[Change] = []
        if title == "deleted":
            if len(cut) > 1:
                changes.append(("assert", *cut.pop(rng.randrange(len(cut)))))
            if len(inserted) > 1 and rng.random() < 0.5:
                changes.append(("retract", *inserted.pop(rng.randrange(len(inserted)))))
            else:
                start = rng.choice([i for i in (rng.randrange(links) for _ in range(3)) if (i, i + 1) not in cut])
                cut.append((start, start + 1))
                changes.append(("retract", *cut[-1]))
        a, b = rng.randrange(links), rng.randrange(links)
        if b != a + 1 and (a, b) not in inserted:
            inserted.append((a, b))
            changes.append(("assert", a, b))
        found.append(changes)
    return found


KINDS = ("inserted", "deleted")


def run(chain: Chain, text: str, policy: str, answers: list[Answer]) -> tuple[float, float]:
    """Return the seconds from a compiled program to the end of its first block, and those of all other blocks."""
    program = etalis.compile(text)
    facts = [(i, i + 1) for i in range(chain.links)]
    gc.collect()
    started = time.process_time()
    program.load_facts("linked", facts)
    engine = program.engine(policy=policy)
    found = []
    warm = started
    for number, block in enumerate(chain.blocks):
        for what, a, b in chain.changes[number] if chain.changes else ():
            (engine.assert_fact if what == "assert" else engine.retract_fact)("linked", a, b)
        found.extend(engine.run(block))
        if number == 0:
            warm = time.process_time()
    ended = time.process_time()
    told = [(*event.args, event.end) for event in found]
    if told != answers or engine.errors:
        raise WrongAnswerError(f"W8, {chain.title}, {chain.links} links: {len(told)} matches, not {len(answers)}")
    return warm - started, ended - warm


# by hand


def by_hand(chain: Chain) -> list[Answer]:
    """Return all matches: pairs of neighbouring events whose first company reaches the second."""
    graph = Graph(chain.links)
    found = []
    for number, block in enumerate(chain.blocks):
        for what, a, b in chain.changes[number] if chain.changes else ():
            graph.change(what, a, b)
        companies = sorted({company for _, company, _ in block})
        reached = graph.search(companies)
        if number in (len(chain.blocks) // 2, len(chain.blocks) - 1):
            graph.check(companies, reached)
        pairs = zip(block[::2], block[1::2], strict=True)
        found.extend((a, b, at) for (_, a, _), (_, b, at) in pairs if b in reached[a])
    return found


class Graph:
    """A chain with cuts and further links; searched between the places where something happens."""

    def __init__(self, links: int) -> None:
        self.links = links
        self.cuts: list[int] = []
        self.further: set[tuple[int, int]] = set()

    def change(self, what: str, a: int, b: int) -> None:
        if b != a + 1:
            (self.further.add if what == "assert" else self.further.remove)((a, b))
        elif what == "assert":
            self.cuts.remove(a)
        else:
            insort(self.cuts, a)

    def search(self, companies: list[int]) -> dict[int, set[int]]:
        """Return which companies each company reaches, passing whole stretches of the chain at once."""
        places = sorted({*companies, *(end for link in self.further for end in link)})
        following: dict[int, list[int]] = {place: [] for place in places}
        for a, b in pairwise(places):
            if bisect_left(self.cuts, a) == bisect_left(self.cuts, b):
                following[a].append(b)
        for a, b in self.further:
            following[a].append(b)
        return {company: _reached(following, company) for company in companies}

    def check(self, companies: list[int], reached: dict[int, set[int]]) -> None:
        """Search link by link, and compare."""
        cuts = set(self.cuts)
        following = [[] if i in cuts else [i + 1] for i in range(self.links)] + [[]]
        for a, b in self.further:
            following[a].append(b)
        for company in companies:
            if not _reached(following, company).intersection(companies) == reached[company].intersection(companies):
                raise WrongAnswerError(f"two searches from {company} do not agree")


def _reached(following: dict[int, list[int]] | list[list[int]], start: int) -> set[int]:
    seen: set[int] = set()
    waiting = [start]
    while waiting:
        for node in following[waiting.pop()]:
            if node not in seen:
                seen.add(node)
                waiting.append(node)
    return seen


# in a process of its own


@dataclass(frozen=True)
class Used:
    """Seconds, and megabytes of a process: before, and at most."""

    seconds: float
    before: float
    peak: float


def measure_apart(what: str, number: int, events: int = 0) -> Used:
    """Measure in a child process."""
    command = [sys.executable, str(Path(__file__).resolve()), what, str(number), str(events)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Used(**json.loads(done.stdout))


def watch_links(links: int, events: int) -> Used:
    """Run the chain under insertion and deletion, without keeping its matches."""
    workload = prepare("W8", events, links=links)
    static = Chain("static", links, blocks(workload), [])
    changes = draw("deleted", links, static)
    before = read_status("VmRSS")
    started = time.process_time()
    program = etalis.compile(workload.text)
    program.load_facts("linked", ((i, i + 1) for i in range(links)))
    engine = program.engine(policy=workload.policy)
    for block, changed in zip(static.blocks, changes, strict=True):
        for what, a, b in changed:
            (engine.assert_fact if what == "assert" else engine.retract_fact)("linked", a, b)
        for _ in engine.run(block):
            pass
    return Used(time.process_time() - started, before, read_status("VmHWM"))


def watch_facts(count: int) -> Used:
    """Load facts of two strings and a float from Parquet, and look one up by the first."""
    before = read_status("VmRSS")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "price.parquet"
        subprocess.run([sys.executable, "-c", WRITE, str(path), str(count)], check=True)
        started = time.process_time()
        program = etalis.compile("bought(I, S, P) <- order(I) where price(I, S, P).")
        program.load_facts("price", path)
        engine = program.engine()
        last = count - 1
        found = engine.push("order", f"item{last}", at=0)
        seconds = time.process_time() - started
        if [match.args for match in found] != [(f"item{last}", f"shop{last}", last / 4)]:
            raise WrongAnswerError(f"{count} facts: {found}")
    return Used(seconds, before, read_status("VmHWM"))


WRITE = """
import sys, pyarrow, pyarrow.parquet
path, count = sys.argv[1], int(sys.argv[2])
columns = {"item": [f"item{i}" for i in range(count)], "shop": [f"shop{i}" for i in range(count)]}
pyarrow.parquet.write_table(pyarrow.table({**columns, "price": [i / 4 for i in range(count)]}), path)
"""


if __name__ == "__main__":
    kind, number, length = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
    print(json.dumps((watch_facts(number) if kind == "facts" else watch_links(number, length)).__dict__))
