"""A bank whose engine and deliverer are processes that may end at any moment; run as a script, it is one of them.

    python bank.py engine ADDRESS FOLDER COUNT
    python bank.py deliver ADDRESS FOLDER

The engine takes so many transfers, a hundred between two commits, then waits until all effects are over, and writes the
facts. An audit fails always. Receivers are tables in the folder, one of which knows keys.
"""

from __future__ import annotations

import json
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import etalis
from helpers.receivers import Table

ACCOUNTS = 50
FIRST = 1_000_000
AUDITED = 97  # every so many transfers one is audited, which fails
MOVE = "withdraw(A, M) seq deposit(B, M) seq effect(book(Id, A, B, M))"
BACK = "undo withdraw(B, M) seq deposit(A, M)"
TEXT = f"""
:- state account/2 key 1, refused/1.
move rule: on transfer(Id, A, B, M) do {MOVE} {BACK}.
audited rule: on audited_transfer(Id, A, B, M) do {MOVE} seq effect(audit(Id)) {BACK}.
gone rule: on undelivered(_, E) do ins(refused(E)).
action withdraw(A, M) :- account(A, S), S >= M, R is S - M, set(account(A, R)).
action deposit(A, M) :- account(A, S), R is S + M, set(account(A, R)).
"""


def transfers(count: int) -> Iterator[tuple[Any, ...]]:
    """Yield the same transfers every time."""
    chance = random.Random(7)
    for number in range(1, count + 1):
        a, b = chance.sample(range(ACCOUNTS), 2)
        name = "transfer" if number % AUDITED else "audited_transfer"
        yield name, number, f"a{a}", f"a{b}", chance.randint(1, 100), number


def bank(folder: Path) -> etalis.Program:
    """Return the program, with receivers in a folder."""
    accounts = "\n".join(f"account(a{n}, {FIRST})." for n in range(ACCOUNTS))
    program = etalis.compile(TEXT + accounts, name="bank")
    unique, plain = Table(folder / "unique.db", unique=True), Table(folder / "plain.db", unique=False)
    taken_back = Table(folder / "taken_back.db", unique=True)

    def book(number: int, a: str, b: str, amount: int, *, key: str) -> None:
        unique.take(number, a, b, amount, key=key)
        plain.take(number, a, b, amount, key=key)

    def audit(number: int, *, key: str) -> None:
        raise OSError("no line to the office")

    program.effect("book", book, compensate=taken_back.take, retries=1, arity=4)
    program.effect("audit", audit, retries=1)
    return program


def facts(engine: etalis.Engine) -> list[list[Any]]:
    """Return all facts, sorted."""
    accounts = [["account", row["A"], row["S"]] for row in engine.query("account(A, S)")]
    return sorted(accounts + [["refused", str(row["E"])] for row in engine.query("refused(E)")])


def run_engine(address: str, folder: Path, count: int) -> None:
    """Take the transfers from the position on, and what becomes of their effects."""
    engine, position = etalis.Outbox(address).restore(bank(folder), every=100)
    rest = (row for row in transfers(count) if row[1] > (position or 0))
    for _ in engine.run(rest):
        pass
    pause = threading.Event()
    engine.commit(count)
    while engine.transactions():
        pause.wait(0.1)
        engine.commit(count)
    waiting = folder / "facts.part"
    waiting.write_text(json.dumps(facts(engine)))
    waiting.rename(folder / "facts.json")


if __name__ == "__main__":
    what, address, folder, *more = sys.argv[1:]
    if what == "engine":
        run_engine(address, Path(folder), int(more[0]))
    else:
        etalis.Outbox(address).deliver(bank(Path(folder)), lease=0.5, poll=0.02)
