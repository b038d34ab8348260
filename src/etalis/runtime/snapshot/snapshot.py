"""Snapshots: the whole state of an engine at a moment, from which another engine goes on.

What waits is written by the names of plan nodes (snapshot_names), so that a changed program takes over the state of the
nodes it still has. What is no data (functions, callbacks, the clock) is given anew. Law: an engine restored from a
snapshot reports from then on what the original would have reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from etalis.errors import Problem, SnapshotError
from etalis.language.steps import Occur
from etalis.runtime.deadlines.timers import Timer
from etalis.runtime.deadlines.unmatched import Unmatched, shared_with
from etalis.runtime.lateness.watermark import DeadLetter
from etalis.runtime.operators.aggregate import Slider
from etalis.runtime.operators.partition_state import fifos_of, logs_of, tables_of
from etalis.runtime.snapshot.cells import CellWriter, read_cell
from etalis.runtime.snapshot.file import Image, Name, read_images, write_delta, write_image
from etalis.runtime.snapshot.knowledge import load_knowledge, save_knowledge
from etalis.runtime.snapshot.lateness import Partitions, load_disorder, refuse_other_way, save_disorder, way_of
from etalis.runtime.snapshot.names import Names, describe_entries, digest
from etalis.runtime.snapshot.past import load_past, save_past
from etalis.runtime.snapshot.reactions import load_reactions, save_reactions
from etalis.runtime.snapshot.rule_epochs import load_epochs
from etalis.runtime.snapshot.rules import load_rules, save_rules
from etalis.runtime.snapshot.sections import Book
from etalis.runtime.snapshot.stores import form_of, pair_columns, pair_content, table_columns, table_content
from etalis.temporal.event import Event, EventKind, new_event

if TYPE_CHECKING:
    from etalis.runtime.core import Core, EngineOptions

_SCALARS = ("floor", "number", "current", "sequence")


@dataclass(frozen=True, slots=True)
class Restored:
    """Whether a snapshot is of this very program, what was taken from it, what has no place, and what it lacks."""

    same_program: bool
    taken: tuple[str, ...]
    dropped: tuple[str, ...]
    new: tuple[str, ...] = ()


class SnapshotNames:
    """The names of an engine's rules, nodes and partitions."""

    def __init__(self, core: Core) -> None:
        names = Names(core.rules)
        self.rules, self.entries, self.parts = names.rules, names.entries, names.parts
        self.owners, self.owner = names.owners, names.owner
        self.described = describe_entries(core.rules.wiring)
        self.partitions = Partitions(core.disorder)

    def fingerprint(self, core: Core) -> str:
        """Return what the program as a whole is called."""
        return digest(tuple(self.rules[rule.number] for rule in core.rules.originals))


def take_snapshot(core: Core, since: bytes | Sequence[bytes] | None) -> bytes:
    """Return an engine's state as bytes; after another snapshot, what has changed since."""
    image = take_image(core)
    if since is None:
        return write_image(image)
    return write_delta(image, read_images([since] if isinstance(since, bytes) else since))


def take_image(core: Core) -> Image:
    """Return an engine's state."""
    if core.delivery.busy or core.run_loop.taking or core.state.is_unsettled():
        hint = "take it between two calls of push, run or advance"
        raise SnapshotError(Problem("E424", "a snapshot cannot be taken while an event is processed", hint=hint))
    book = Book(core.state.tokens, numbers=set() if core.input_names else None)
    plan = SnapshotNames(core)
    save_rules(core.rules, plan.rules, book)
    _save_stores(plan, book)
    _save_timers(core, plan, book)
    _save_events(core, book)
    save_reactions(core, plan.rules, book)
    save_knowledge(core, book)
    if core.record is not None:
        save_past(core.record, book)
    if core.disorder is not None:
        save_disorder(core.disorder, plan.partitions, book)
    core.state.tokens = book.tokens.count
    book.put_ropes()
    _save_names(core, book)
    book.put(("tokens",), book.tokens.rows())
    _save_scalars(core, plan, book)
    return book.image


def _save_names(core: Core, book: Book) -> None:
    """Write what inputs are called that something that waits is made of; the others are forgotten."""
    if book.numbers is not None:
        for number in core.input_names.keys() - book.numbers:
            del core.input_names[number]
        book.put_rows(("input names",), [(number, *name) for number, name in core.input_names.items()])


def read_options(image: Image, options: EngineOptions) -> EngineOptions:
    """Return the options for an engine that goes on from a snapshot: those that are data are in it, unless given."""
    scalars = dict(Book(0, image).rows(("scalars",)))
    level = options.justification or scalars.get("level") or ("ids" if scalars.get("traced") else "off")
    return replace(options, policy=options.policy or scalars["policy"], justification=level)


def load_snapshot(core: Core, image: Image) -> Restored:
    """Put the state of a snapshot into a fresh engine."""
    book = Book(0, image)
    scalars = dict(book.rows(("scalars",)))
    found = book.columns(("tokens",))
    book.tokens.load(found)
    book.load_ropes()
    book.tokens.count = core.state.tokens = scalars["tokens"]
    _refuse_other_level(scalars["level"], core.level)
    added = load_rules(core.rules, book)
    refuse_other_way(scalars["disorder"], way_of(core.disorder))
    if core.disorder is not None and core.disorder.revision is not None:
        load_epochs(core.disorder.revision, added, book)
    plan = SnapshotNames(core)
    _refuse_foreign(plan, book)
    report = _load_stores(plan, book, plan.fingerprint(core) == scalars["program"])
    if core.disorder is not None:
        load_disorder(core.disorder, plan.partitions, book)
    _load_scalars(core, plan, scalars)
    _load_timers(core, plan, book)
    book.tokens.settle(found)
    core.input_names.update({number: (place, name) for number, place, name in book.rows(("input names",))})
    _load_events(core, book)
    unfit = [*load_knowledge(core, book), *load_reactions(core, plan.rules, book)]
    if core.record is not None:
        load_past(core.record, book)
    return replace(report, dropped=(*report.dropped, *unfit))


def compare_program(core: Core, image: Image) -> Restored:
    """Say what a fresh engine would take from a snapshot, without doing it."""
    book = Book(0, image)
    plan = SnapshotNames(core)
    return _compare(plan, book, plan.fingerprint(core) == dict(book.rows(("scalars",)))["program"])


def _refuse_other_level(theirs: str, ours: str) -> None:
    """Refuse what waits without its inputs where they are kept, and the other way round."""
    if (theirs == "off") != (ours == "off"):
        message = f"the snapshot was taken with justification {theirs}, this engine has {ours}"
        hint = f'restore it with justification="{theirs}", or run the events anew'
        raise SnapshotError(Problem("E427", message, hint=hint))


def _refuse_foreign(plan: SnapshotNames, book: Book) -> None:
    """Refuse a snapshot of a program that has nothing in common with this one."""
    theirs = {name for section in ("rules", "nodes") for name, _ in book.rows((section,))}
    if theirs and theirs.isdisjoint({*plan.rules.values(), *plan.entries.values()}):
        message = "the snapshot is of another program: no rule and no part of a rule is the same"
        hint = "restore it with the program it was taken from, or one that has some of its rules"
        raise SnapshotError(Problem("E425", message, hint=hint))


# what waits


def _save_stores(plan: SnapshotNames, book: Book) -> None:
    for (node, part_name), part in plan.parts.items():
        for place, table in enumerate(tables_of(part)):
            note, columns = table_columns(table, form_of(part, place))
            book.put(("table", node, part_name, str(place)), columns, note)
        for place, fifo in enumerate(fifos_of(part)):
            note, columns = pair_columns(fifo)
            book.put(("fifo", node, part_name, str(place)), columns, note)
        for place, log in enumerate(logs_of(part)):
            book.put_rows(("log", node, part_name, str(place)), log)
    book.put_rows(("nodes",), [(plan.entries[key], text) for key, text in plan.described.items()])


def _load_stores(plan: SnapshotNames, book: Book, same: bool) -> Restored:
    """Give the parts of rules their state; return which ones have it, and what is left over."""
    for name in _store_names(book):
        kind, node, part_name, place = name
        part = plan.parts.get((node, part_name))
        if part is not None:
            _load_part(kind, part, int(place), book, name)
    return _compare(plan, book, same)


def _store_names(book: Book) -> list[Name]:
    return [*book.names("table"), *book.names("fifo"), *book.names("log")]


def _compare(plan: SnapshotNames, book: Book, same: bool) -> Restored:
    """Say which parts of rules have state in a snapshot, what is left over, and which parts it does not know."""
    described = dict(book.rows(("nodes",)))
    taken: dict[str, None] = {}
    dropped: dict[str, None] = {}
    for _, node, part_name, _ in _store_names(book):
        is_known = (node, part_name) in plan.parts
        (taken if is_known else dropped)[described.get(node, "the log of all events")] = None
    known = set(map(plan.owner, plan.owners))
    for _, owner in book.names("timers"):
        (taken if owner in known else dropped)[f"deadlines and alarms of {described.get(owner, 'a rule')}"] = None
    keeping = {*(node for node, _ in plan.parts), *known}  # the others keep nothing that could be missing
    names = {plan.entries[key]: text for key, text in plan.described.items()}
    new = dict.fromkeys(text for name, text in names.items() if name in keeping and name not in described)
    return Restored(same, tuple(taken), tuple(dropped), tuple(new))


def _load_part(kind: str, part: Any, place: int, book: Book, name: Name) -> None:
    note, columns = dict(book.image.sections[name].note), book.columns(name)
    if kind == "table":
        table = tables_of(part)[place]
        if form_of(part, place) == "latest":  # older snapshots have all of a key
            note["form"] = "latest"
        table.update(table_content(note, columns, book.tokens))
        if isinstance(part, Slider) and part.told is not None and not part.is_running:
            for window in table.values():
                window.tell(part.told)
    elif kind == "fifo":
        fifos_of(part)[place].extend(pair_content(note, columns))
    else:
        logs_of(part)[place].extend(zip(*columns, strict=True))


# what is to come


def _save_timers(core: Core, plan: SnapshotNames, book: Book) -> None:
    """Write the timers of every owner that still lives."""
    by_owner: dict[str, list[tuple[Any, ...]]] = {}
    for due, since, sequence, owner, payload, tag in core.state.timers.in_order():
        if _lives(owner, plan) and owner.awaits(payload) and (tag is None or tag.alive):
            row = (due, since, sequence, *plan.partitions.place(tag), *payload)
            by_owner.setdefault(plan.owner(owner.place), []).append(row)
    for name, rows in by_owner.items():
        book.put_rows(("timers", name), rows)


def _lives(owner: Any, plan: SnapshotNames) -> bool:
    return plan.owners.get(owner.place) is owner


def _load_timers(core: Core, plan: SnapshotNames, book: Book) -> None:
    owners = {plan.owner(place): owner for place, owner in plan.owners.items()}
    timers: list[Timer] = []
    for name in book.names("timers"):
        owner = owners.get(name[1])
        if owner is not None:
            rows = book.rows(name)
            payloads: list[tuple[Any, ...]] = [tuple(row[6:]) for row in rows]
            if isinstance(owner, Unmatched):
                payloads = shared_with(plan.parts[name[1], owner.side], payloads)
            timers += [
                (due, since, sequence, owner, payload, plan.partitions.tag(part, key, alive))
                for (due, since, sequence, part, key, alive, *_), payload in zip(rows, payloads, strict=True)
            ]
    core.state.timers.replace(timers)


def _save_events(core: Core, book: Book) -> None:
    """Write the events to come, those made at the present stamp, those reported, and those that came too late."""
    state = core.state
    coming = [
        (end, start, sequence, e.name, e.args, e.cause) for end, start, sequence, e in sorted(state.coming, key=_order)
    ]
    book.put_rows(("coming",), coming)
    made = []
    core.rules.heads.last.note()
    for (name, arity), note in core.rules.heads.made.items():
        if note.stamp >= state.now:
            made.append((name, arity, note.stamp, tuple(note.identities(arity))))
    book.put_rows(("made",), made)
    reported = [_event(event) for event in core.delivery.history or ()]
    book.put_rows(("reported",), reported)
    letters = [
        (x.name, x.args, x.start, x.end, x.reason, x.cause, x.late_by, x.allowed) for x in core.dead_letters.letters
    ]
    book.put_rows(("dead",), letters)
    if core.guard is not None:
        book.put_rows(("limits",), core.guard.save())
    book.put_rows(("notes",), list(core.notes.items()))
    book.put_rows(("ledger",), core.ledger.save(CellWriter(book.tokens.number).write))
    book.put_rows(("breaker",), core.breaker.save())


def _order(item: tuple[Any, ...]) -> tuple[Any, ...]:
    return item[:3]


def _event(event: Event) -> tuple[Any, ...]:
    end, start, kind, *rest = tuple.__iter__(event)
    return kind.name, kind.arity, kind.rule, kind.attributes, end, start, tuple(rest)


def _load_events(core: Core, book: Book) -> None:
    state = core.state
    state.coming[:] = [
        (end, start, sequence, Occur(name, args, start, end, cause))
        for end, start, sequence, name, args, cause in book.rows(("coming",))
    ]
    for name, arity, stamp, seen in book.rows(("made",)):
        note = core.rules.heads.made.get((name, arity))
        if note is not None:
            note.stamp = note.seen_at = stamp
            note.seen = set(seen)
    if core.delivery.history is not None:
        core.delivery.history.extend(
            new_event(Event, (end, start, EventKind(name, arity, rule, attributes), *rest))
            for name, arity, rule, attributes, end, start, rest in book.rows(("reported",))
        )
    if core.guard is not None:
        core.guard.load(book.rows(("limits",)))
    core.notes.update(book.rows(("notes",)))
    core.ledger.load(book.rows(("ledger",)), lambda cell: read_cell(cell, book.tokens.find))
    core.breaker.load(book.rows(("breaker",)))
    core.dead_letters.letters[:] = [DeadLetter(*row) for row in book.rows(("dead",))]


# numbers


def _save_scalars(core: Core, plan: SnapshotNames, book: Book) -> None:
    state, rules = core.state, core.rules
    scalars = {name: getattr(state, name) for name in _SCALARS}
    scalars |= {
        "now": state.now, "tokens": state.tokens, "tag": plan.partitions.place(state.tag),
        "ticks": tuple(tick[0] for tick in rules.ticks),
        "program": plan.fingerprint(core), "dead": core.dead_letters.count, "settled": core.run_loop.settled,
        "disorder": way_of(core.disorder), "level": core.level,
        "policy": None if rules.settings.policy == core.program.settings.policy else rules.settings.policy,
    }  # fmt: skip
    book.put_rows(("scalars",), list(scalars.items()))


def _load_scalars(core: Core, plan: SnapshotNames, scalars: dict[str, Any]) -> None:
    state, rules = core.state, core.rules
    for name in _SCALARS:
        setattr(state, name, scalars[name])
    state.now = scalars["now"]
    state.tag = plan.partitions.tag(*scalars["tag"])
    rules.ticks = [tick for tick in rules.ticks if tick[0] in scalars["ticks"] or tick[0] > state.now]
    core.dead_letters.count = scalars["dead"]
    core.run_loop.settled = scalars["settled"]
