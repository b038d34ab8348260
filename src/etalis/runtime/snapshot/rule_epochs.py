"""Rule epochs in a snapshot: the rules of every epoch of the history, and how it partitions events."""

from __future__ import annotations

from typing import Any

from etalis.language.printer import print_item
from etalis.runtime.revision.history import History, RulePartitions
from etalis.runtime.revision.revision import Revision
from etalis.runtime.revision.rule_epochs import Turn
from etalis.runtime.ruleset import Pair
from etalis.runtime.snapshot.names import name_rules
from etalis.runtime.snapshot.rules import plan_added
from etalis.runtime.snapshot.sections import Book


def save_epochs(revision: Revision, book: Book) -> None:
    """Write down turns, the rules before them, and the parts of the history."""
    epochs = revision.replayer.epochs
    turns = [(e.number, t.place, t.time, int(t.passed), int(t.empties)) for e in epochs[1:] if (t := e.turn)]
    book.put_rows(("epochs",), [(epochs[0].number, (), 0, 0, 0), *turns])
    for epoch in epochs[:-1]:
        names = name_rules(epoch.rules)
        own = {rule.number for rule in epoch.rules.originals}
        rows = [
            (
                names[r.number] if r.number in own else "",
                *(r.number, r.generation, int(r.shares), r.head.label, print_item(rule)),
            )
            for r, rule in epoch.rules.rules
        ]
        book.put_rows(("epoch rules", str(epoch.number)), rows)
    book.put_rows(("parts",), _part_rows(revision.history))


def _part_rows(history: History) -> list[tuple[Any, ...]]:
    numbers = {id(part): number for number, part in enumerate(history.all_parts())}
    return [
        (numbers[id(part)], *kind, None if part.positions is None else part.positions[kind])
        for kind, part in history.parts.items()
    ]


def load_epochs(revision: Revision, added: dict[int, Pair], book: Book) -> None:
    """Put back turns, the rules before them, and the parts of the history.

    `added` are the rules that came at run time and still hold, by the numbers they had.
    """
    _load_parts(revision.history, book)
    rows = book.rows(("epochs",))
    names = {name: number for number, name in name_rules(revision.rules).items()}
    originals = {planned.number: (planned, rule) for planned, rule in revision.rules.first}
    epochs = []
    for number, place, time, passed, empties in rows:
        turn = Turn(place, time, bool(passed), bool(empties)) if place else None
        rules: list[Pair] = []
        for name, *row in book.rows(("epoch rules", str(number))):
            if name in names:
                rules.append(originals[names[name]])
            elif not name:
                if row[0] not in added:
                    added[row[0]] = plan_added(revision.rules, row)
                rules.append(added[row[0]])
        epochs.append((number, turn, rules))
    revision.restore_epochs(epochs)


def _load_parts(history: History, book: Book) -> None:
    parts: dict[int, RulePartitions] = {}
    found: dict[tuple[str, int], RulePartitions] = {}
    for number, name, arity, position in book.rows(("parts",)):
        part = history.together if position is None else parts.setdefault(number, RulePartitions({}))
        found[name, arity] = part
        if position is not None:
            part.positions = {**(part.positions or {}), (name, arity): position}
    history.set_parts(found)
