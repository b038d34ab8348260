"""Contenders take turns, each in a process of its own, so that its memory is its own.

A process waits for words. At `check` it tells all matches of a short stream; at `go` it works once over its input,
which it has read before, keeps all it finds, and tells the seconds of the wall and of the processor, and its memory:
before, and at most. What runs is a workload (W1 to W11) or one of `programs`, whose answers are compared before any
process starts, on the whole stream.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

import programs  # noqa: E402 - the package may not be installed
from memory import read_status  # noqa: E402
from ratio import WrongAnswerError  # noqa: E402
from streams import Workload, folded, prepare  # noqa: E402

SHORT = {"W6": 600, "W9": 3_000}
LINKS = 100


@dataclass(frozen=True)
class Setting:
    """How a workload or a program is run."""

    name: str
    events: int
    source: str
    threads: int

    @property
    def is_program(self) -> bool:
        return self.name in programs.CASES

    def rows(self) -> list[Any]:
        """Return the stream of a program."""
        return programs.CASES[self.name].rows(self.events)

    def workload(self) -> Workload:
        return prepare(self.name, self.events, links=LINKS if self.name == "W8" else 0)


@dataclass(frozen=True)
class Turn:
    """What one run took, in seconds and megabytes."""

    wall: float
    cpu: float
    before: float
    peak: float
    matches: int


class Player:
    """A contender in its process."""

    def __init__(self, way: str, setting: Setting) -> None:
        threads = str(setting.threads)
        environment = os.environ | {"POLARS_MAX_THREADS": threads, "NUMBA_NUM_THREADS": threads}
        command = [sys.executable, str(HERE / "turns.py"), way, json.dumps(asdict(setting))]
        self.way = way
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, word: str) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        while line := self.process.stdout.readline():
            if line.startswith("{"):  # Spark may say other things
                return json.loads(line)["told"]
        raise WrongAnswerError(f"{self.way} has ended with code {self.process.wait()}")

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def short_streams(setting: Setting) -> tuple[Workload, Workload]:
    """Return a short stream, and one in which ids come again; the same, where that says nothing."""
    from contenders import by_hand

    short = Setting(setting.name, SHORT.get(setting.name, 3_000), setting.source, setting.threads).workload()
    if setting.name in ("W6", "W8", "W9", "W11"):  # W6: by hand, two ways to one path of equal times count twice
        return short, short
    return short, folded(short, by_hand(short))


def check(setting: Setting, players: list[Player]) -> None:
    """Compare all matches of every contender with those found by hand."""
    from contenders import UNIQUE, answers

    short, again = short_streams(setting)
    wanted = {which: plain(answers("hand, Python", which, "", 1)) for which in (short, again)}
    for player in players:
        stream = short if player.way in UNIQUE else again
        found = [tuple(row) for row in player.ask("check")]
        if found != wanted[stream]:
            different = next((pair for pair in zip(found, wanted[stream], strict=False) if pair[0] != pair[1]), "")
            numbers = f"{len(found)} of {len(wanted[stream])} matches"
            raise WrongAnswerError(f"{setting.name}, {player.way}: {numbers}, first difference: {different}")


def plain(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in json.loads(json.dumps(rows))]


def measure(setting: Setting, chosen: list[str], turns: int) -> dict[str, Turn]:
    """Check answers, then let contenders take turns; return the median seconds of each, and its largest memory."""
    expected = expect(setting, chosen)
    players = [Player(way, setting) for way in chosen]
    try:
        if not setting.is_program:
            check(setting, players)
        rounds: dict[str, list[Turn]] = {way: [] for way in chosen}
        for _ in range(turns):
            for player in players:
                turn = Turn(**player.ask("go"))
                if turn.matches != expected:
                    raise WrongAnswerError(f"{setting.name}, {player.way}: {turn.matches} matches, not {expected}")
                rounds[player.way].append(turn)
    finally:
        for player in players:
            player.end()
    return {way: median(each) for way, each in rounds.items()}


def expect(setting: Setting, chosen: list[str]) -> int:
    """Return how many matches there are; those of a program are compared here."""
    if not setting.is_program:
        workload = setting.workload()
        workload.parquet()  # made before anyone looks for it
        return workload.expected
    from programs.contenders import check as check_program

    matches, wrong = check_program(setting.name, setting.rows(), chosen)
    if wrong:
        raise WrongAnswerError(wrong)
    return matches


def median(turns: list[Turn]) -> Turn:
    wall, cpu = (statistics.median(getattr(turn, clock) for turn in turns) for clock in ("wall", "cpu"))
    return Turn(wall, cpu, turns[0].before, max(turn.peak for turn in turns), turns[0].matches)


# in a process of its own


def serve(way: str, setting: Setting) -> None:
    """Wait for words."""
    from contenders import UNIQUE, answers, count

    if setting.threads == 1:
        keep_to_one_core()
    begin = None
    for word in sys.stdin:
        if word.strip() == "check":
            short, again = short_streams(setting)
            stream = short if way in UNIQUE else again
            tell([list(row) for row in answers(way, stream, setting.source, setting.threads)])
            continue
        if begin is None:
            begin = contender_of(way, setting)
            if way not in ("push", "run", "hand, Python"):
                begin()()  # kernels compiled, files in the system's memory
        work = begin()
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # sets the peak back to what is in use
        before, wall, cpu = read_status("VmRSS"), time.perf_counter(), used(way)
        found = work()
        wall, cpu = time.perf_counter() - wall, used(way) - cpu
        tell(asdict(Turn(wall, cpu, before, read_status("VmHWM"), count(found))))
        del found, work


def contender_of(way: str, setting: Setting) -> Any:
    if setting.is_program:
        from programs.contenders import contender as contend

        return contend(way, programs.CASES[setting.name], setting.rows(), setting.threads)
    from contenders import contender

    return contender(way, setting.workload(), setting.source, setting.threads)


def keep_to_one_core() -> None:
    """Let this process, whatever threads its libraries start, run on one core only, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def used(way: str) -> float:
    """Return the processor time so far, on Spark that of its processes too."""
    if way != "Spark SQL":
        return time.process_time()
    from spark import cpu_seconds

    return cpu_seconds()


def tell(what: Any) -> None:
    print(json.dumps({"told": what}), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], Setting(**json.loads(sys.argv[2])))
