"""What a run keeps for explanations, in a snapshot: inputs, made and raised events, changes of facts.

Which knowledge there was at which moment is not written: conditions of matches that are older than the snapshot are
asked over the knowledge that it holds.
"""

from __future__ import annotations

from etalis.runtime.record.corrected_inputs import CorrectedInputs
from etalis.runtime.record.kept_past import KeptPast, TakenBack, Told, identify
from etalis.runtime.snapshot.pieces import MadeKind, describe_kind
from etalis.runtime.snapshot.sections import Book


def save_past(record: KeptPast, book: Book) -> None:
    """Write down what is kept."""
    book.put_rows(("past inputs",), record.inputs.rows())
    book.put_rows(("past begins",), [(record.inputs.begins,)])
    made = [
        (describe_kind(kind), end, start, tuple(rest))
        for events in record.made
        for end, start, kind, *rest in reversed(list(record.made_of(events)))
    ]
    book.put_rows(("past made",), made)
    book.put_rows(("past raised",), record.raised)
    told = [(*fact, x.time, x.known, x.by) for fact, several in record.facts.items() for x in several]
    book.put_rows(("past facts",), told)
    book.put_rows(("past corrections",), [(x.raw, x.correction) for x in record.corrected.values()])
    book.put_rows(("past late",), list(record.late.items()))
    if isinstance(record.source, CorrectedInputs):
        book.put_rows(("past taken back",), [tuple(kept) for kept in record.source.gone])


def load_past(record: KeptPast, book: Book) -> None:
    """Put back what was kept."""
    for (begins,) in book.rows(("past begins",)):
        record.inputs.load(book.rows(("past inputs",)), begins)
    kinds: dict[tuple[object, ...], MadeKind] = {}
    for key, end, start, rest in book.rows(("past made",)):
        if key not in kinds:
            kinds[key] = MadeKind(*key)
        record.add_made((end, start, kinds[key], *rest))
    record.raised += book.rows(("past raised",))
    for name, row, time, known, by in book.rows(("past facts",)):
        record.facts.setdefault((name, row), []).append(Told(time, known, by))
    for raw, correction in book.rows(("past corrections",)):
        record.corrected[identify(raw)] = TakenBack(raw, correction)
    record.late.update(book.rows(("past late",)))
    if isinstance(record.source, CorrectedInputs):
        record.source.load_gone(book.rows(("past taken back",)))
