"""Orders with effects: made at once and compensated where one fails, or committed to an outbox and delivered from it.

python examples/orders/run.py direct
python examples/orders/run.py outbox [FILE.db]
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import etalis

HERE = Path(__file__).parent
PROGRAM, DAY = HERE / "orders.etalis", HERE / "day.jsonl"


class Bank:
    """Cards with what is left on them, and every booking with its key: a key that is known is booked once."""

    def __init__(self, path: str = ":memory:") -> None:
        self.book = sqlite3.connect(path, check_same_thread=False)
        self.book.execute("create table if not exists booking (key text primary key, card text, amount real)")

    def charge(self, card: str, amount: float, *, key: str) -> None:
        """Take an amount; a card has 20 to spend."""
        spent = self.book.execute("select total(amount) from booking where card = ?", (card,)).fetchone()[0]
        if spent + amount > 20:
            raise etalis.Refused(f"card {card} has {20 - spent:g} left")
        self._enter(key, card, amount)

    def give_back(self, card: str, amount: float, *, key: str) -> None:
        """Give an amount back: what compensates `charge` has its key."""
        self._enter(f"{key} back", card, -amount)

    def _enter(self, key: str, card: str, amount: float) -> None:
        self.book.execute("insert or ignore into booking values (?, ?, ?)", (key, card, amount))
        self.book.commit()

    def show(self) -> None:
        """Print what was booked."""
        for card, amount in self.book.execute("select card, amount from booking order by rowid"):
            print(f"  booked {amount:+g} on card {card}")


def shop(bank: Bank) -> etalis.Program:
    """Return the program with what its effects do."""
    program = etalis.compile_file(PROGRAM)
    program.effect("charge", bank.charge, compensate=bank.give_back)
    program.effect("refund", bank.give_back)
    program.effect("apologise", lambda client, order, *, key: print(f"  sorry, {client}: {order} is late"), arity=2)  # noqa: ARG005  functions of effects take a key
    return program


def show(engine: etalis.Engine) -> None:
    """Print the facts that actions have changed."""
    for goal in ("stock(Item, N)", "account(Client, Sum)", "order_of(Id, Client, Item, N, How)"):
        for found in engine.query(goal):
            print(f"  {goal.partition('(')[0]}: " + ", ".join(str(value) for value in found.values()))


def tell(matches: Iterable[etalis.Event]) -> None:
    """Print events as they come."""
    for match in matches:
        print(match)


def direct() -> None:
    """Make effects while the reaction waits."""
    bank = Bank()
    engine = shop(bank).engine()
    tell(engine.run(DAY))
    tell(engine.close())
    bank.show()
    show(engine)
    print(engine.simulate("pay(o9, bob, vase, 1)"))


def outbox(file: str) -> None:
    """Commit facts and effects together, then deliver: at least once, exactly once where the receiver has keys."""
    bank = Bank()
    program = shop(bank)
    box = etalis.Outbox(f"sqlite:///{file}")
    engine, position = box.restore(program)
    print(f"from row {position or 0}")
    tell(engine.run(DAY))
    tell(engine.commit())
    print(f"delivered: {box.deliver(program, once=True)}")
    tell(engine.commit())  # here the engine hears of what was refused, and undoes its orders
    tell(engine.close())
    print(f"delivered: {box.deliver(program, once=True)}")
    bank.show()
    show(engine)


def main(arguments: list[str]) -> int:
    """Run one of the two."""
    match arguments:
        case ["direct"]:
            direct()
        case ["outbox"]:
            with tempfile.TemporaryDirectory() as folder:
                outbox(str(Path(folder, "orders.db")))
        case ["outbox", file]:
            outbox(file)
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
