"""The rows that `detect` returns: what rules made over columns or event at a time, in the order it was made in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.columnar.clock import PLACE
from etalis.columnar.data.columns import are_words
from etalis.columnar.derived_events import DerivedEvents, MadeBlock
from etalis.columnar.kernels.rows import replicate
from etalis.plan import algebra as p
from etalis.plan.keys import Kind
from etalis.tables.results.encode_columns import made_cells
from etalis.tables.results.output import (
    ARGS,
    ATOM,
    CONTRIBUTORS,
    EVENT,
    ID,
    RULE,
    Output,
    encode,
    rule_order,
    without_ids,
)
from etalis.tables.results.row_ids import RowIds
from etalis.temporal.event import Event

PORTION = 1 << 18  # rows of several kinds that are written at a time


class NameCodes:
    """The codes of the names of events and rules, and the fields of events; all calls of a program have the same."""

    def __init__(self, output: Output, heads: Sequence[p.Head]) -> None:
        self.kinds = output.kinds  # kept: by their identity this is found again
        self.labels = [head.label for head in heads]
        self.numbers = {EVENT: _numbered(name for (name, _), _ in output.kinds), RULE: _numbered(self.labels)}
        self.names = {column: pa.array(list(numbers), pa.string()) for column, numbers in self.numbers.items()}
        self.rules = np.array([self.numbers[RULE][label] for label in self.labels], np.int32)
        self.makers = Counter(head.kind for head in heads)
        self.fields = dict(output.kinds)
        self._alike: dict[tuple[Kind, ...], bool] = {}
        self._events: dict[tuple[Kind, ...], Any] = {}

    def have_same_fields(self, kinds: tuple[Kind, ...]) -> bool:
        """Tell whether all of some kinds are reported, and have the same fields."""
        if kinds not in self._alike:
            forms = {self.fields.get(kind) for kind in kinds}
            self._alike[kinds] = len(forms) == 1 and None not in forms
        return self._alike[kinds]

    def events(self, kinds: tuple[Kind, ...]) -> Any:
        """Return the codes of the names of some kinds."""
        if kinds not in self._events:
            self._events[kinds] = np.array([self.numbers[EVENT][name] for name, _ in kinds], np.int32)
        return self._events[kinds]


class Results:
    """How rows are written: events and rules by their names, which are coded by a dictionary; with ids, if asked."""

    def __init__(
        self, output: Output, named: NameCodes, *, ids: bool = False, contributors: RowIds | None = None
    ) -> None:
        self.output = output if ids else without_ids(output)
        self.contributors = contributors
        self.named = named
        self.labels, self.numbers, self.names, self.rules = named.labels, named.numbers, named.names, named.rules
        self.codes: dict[tuple[int, ...], Any] = {}
        self.fields = named.fields
        coded = pa.dictionary(pa.int32(), pa.string())
        plain = encode((), self.output).schema
        self.schema = pa.schema([(f.name, coded if f.name in self.names else f.type) for f in plain])

    def of_events(self, events: Sequence[Event]) -> Iterator[pa.RecordBatch]:
        """Yield events, if there are any, as rows in their order."""
        if not events:
            return
        plain = encode(events, self.output, self.contributors)
        order = rule_order(events, self.output)
        plain = plain if order is None else plain.take(pa.array(order))
        columns = []
        for field in self.schema:
            column = plain.column(field.name)
            if field.name in self.names:
                codes = pc.index_in(column, self.names[field.name])
                column = pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), self.names[field.name])
            columns.append(column)
        yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def of_made(self, found: Iterable[MadeBlock]) -> Iterator[pa.RecordBatch]:
        """Yield what a batch has made over columns as rows; a kind has one place among those that are given."""
        times: dict[int, Any] = {}
        asked = (block for several in found for block in self._asked(several))
        ordered = sorted(asked, key=lambda block: _rank_key(block.kinds[0]))
        parts = [self._encoded(block, times) for block in ordered]
        if len(parts) == 1:
            yield parts[0]
        elif parts:
            yield from self._interleaved(ordered, parts)

    def _asked(self, block: MadeBlock) -> Iterator[MadeBlock]:
        """Yield what is asked for of a block: as a whole where all its kinds are written alike, else kind by kind."""
        if not block.is_several:
            if block.kinds[0] in self.fields:
                yield block
        elif self._is_alike(block.kinds):
            yield block
        else:
            yield from (MadeBlock((kind,), made) for kind, made in block.by_kind() if kind in self.fields)

    def _is_alike(self, kinds: tuple[Kind, ...]) -> bool:
        return not {ATOM, ID, ARGS}.intersection(self.schema.names) and self.named.have_same_fields(kinds)

    def _encoded(self, block: MadeBlock, times: dict[int, Any]) -> pa.RecordBatch:
        """Return derived events as rows; `times` are those of other kinds of the same batch."""
        made, kind = block.made, block.kinds[0]
        if block.is_several:
            which, made = made.columns[0].data, replace(made, columns=made.columns[1:])
            events = pa.array(self.named.events(block.kinds)[which])
        else:
            events = self._cycle((self.numbers[EVENT][kind[0]],), len(made))
        cells = made_cells(kind, made, self.output, self.fields[kind], self.labels, self.schema.names, times)
        if self.contributors is not None:
            cells[CONTRIBUTORS] = self.contributors.of_made(made.numbers, len(made))
        cells[EVENT] = self._named(EVENT, events)
        same = not block.is_several and self._has_one_rule(kind)
        rules = self._cycle((self._rule(made),), len(made)) if same else pa.array(self.rules[made.rule])
        cells[RULE] = self._named(RULE, rules)
        arrays = [cells[f.name] if f.name in cells else pa.nulls(len(made), f.type) for f in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _has_one_rule(self, kind: Kind) -> bool:
        return self.named.makers[kind] == 1

    def _rule(self, made: DerivedEvents) -> int:
        """Return the code of the rule of the first event."""
        return int(self.rules[made.rule[0]]) if len(made) else 0

    def _interleaved(self, found: Sequence[MadeBlock], parts: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield events of several kinds in the order in which they were made."""
        several = [block.made for block in found]
        known = {id(made.turn): made.turn >> PLACE for made in several}
        moments = [known[id(made.turn)] for made in several]
        if any(block.is_several for block in found) or not _in_step(several, moments):
            ranks = _ranks(found)
            turn, start = (np.concatenate([getattr(made, name) for made in several]) for name in ("turn", "start"))
            order = pa.array(np.lexsort((turn, ranks, start, turn >> PLACE)))
            yield pa.Table.from_batches(parts).take(order).combine_chunks().to_batches()[0]
            return
        cycles = {EVENT: tuple(self.numbers[EVENT][block.kinds[0][0]] for block in found)}
        if all(self._has_one_rule(block.kinds[0]) for block in found):
            cycles[RULE] = tuple(map(self._rule, several))
        count, portion = len(parts[0]), max(1, PORTION // len(parts))
        columns = [_alike(arrays) for arrays in zip(*parts, strict=True)]
        for low in range(0, count, portion):
            rows = min(portion, count - low)
            yield pa.RecordBatch.from_arrays(
                [
                    self._named(f.name, self._cycle(cycles[f.name], rows))
                    if f.name in cycles
                    else _braided(arrays, low, rows)
                    for f, arrays in zip(self.schema, columns, strict=True)
                ],
                schema=self.schema,
            )

    def _named(self, column: str, codes: Any) -> pa.Array:
        return pa.DictionaryArray.from_arrays(codes, self.names[column], safe=False)  # they are codes of these names

    def _cycle(self, codes: tuple[int, ...], times: int) -> pa.Array:
        """Return some codes again and again, in memory that serves one batch after the other."""
        known = self.codes.get(codes)
        if known is None or len(known) < times * len(codes):
            known = self.codes[codes] = pa.array(np.tile(np.array(codes, np.int32), times))
        return known.slice(0, times * len(codes))


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """Return a number for each name."""
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _rank_key(kind: Kind) -> tuple[int, str]:
    """Return what orders kinds of events, as atoms are ordered."""
    return kind[1], kind[0]


def _ranks(found: Sequence[MadeBlock]) -> Any:
    """Return the place of the kind of each event among all kinds."""
    kinds = sorted({kind for block in found for kind in block.kinds}, key=_rank_key)
    places = {kind: place for place, kind in enumerate(kinds)}
    ranks = []
    for block in found:
        mine = np.array([places[kind] for kind in block.kinds])
        which = block.made.columns[0].data if block.is_several else np.zeros(len(block.made), np.int64)
        ranks.append(mine[which])
    return np.concatenate(ranks)


def _in_step(several: Sequence[DerivedEvents], moments: Sequence[Any]) -> bool:
    """Tell whether all kinds have one event each at the same moments, of the same starts."""
    first, start = moments[0], several[0].start
    alike = all(
        (first is moment or np.array_equal(first, moment))
        and (start is made.start or np.array_equal(start, made.start))
        for made, moment in zip(several[1:], moments[1:], strict=True)
    )
    return alike and bool((first[1:] > first[:-1]).all())


def _alike(arrays: Sequence[Any]) -> Sequence[Any]:
    """Return columns, the first one again and again if all stand at one place in memory."""
    first = arrays[0]
    places = {
        (array.offset, *(None if buffer is None else buffer.address for buffer in array.buffers())) for array in arrays
    }
    is_one = len(places) == 1 and not pa.types.is_dictionary(first.type)
    return [first] * len(arrays) if is_one else arrays


def _braided(arrays: Sequence[Any], low: int, count: int) -> Any:
    """Return a stretch of several columns: the first of each, then the second of each, and so on."""
    is_one = all(array is arrays[0] for array in arrays)
    some = [array.slice(low, count) for array in (arrays[:1] if is_one else arrays)]
    kind = some[0].type
    codes = [array.indices for array in some] if pa.types.is_dictionary(kind) else some
    if any(array.null_count for array in some) or not pa.types.is_primitive(codes[0].type) or pa.types.is_boolean(kind):
        places = np.arange(count * len(some)).reshape(len(some), count)
        order = np.repeat(places, len(arrays) // len(some), axis=0).T.reshape(-1)
        return pa.concat_arrays(some).take(pa.array(order))
    plain = codes[0].type if pa.types.is_integer(codes[0].type) or pa.types.is_floating(codes[0].type) else pa.int64()
    columns = [code.view(plain).to_numpy() for code in codes]
    braided = _in_turn(columns * (len(arrays) // len(some)), codes[0].type)
    return pa.DictionaryArray.from_arrays(braided, some[0].dictionary) if pa.types.is_dictionary(kind) else braided


def _in_turn(columns: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return numbers of several arrays in turn, in memory of Arrow, which keeps what was in use before."""
    first, count = columns[0], len(columns[0])
    memory = pa.allocate_buffer(count * len(columns) * first.itemsize)
    numbers = np.frombuffer(memory, first.dtype)
    if are_words(first) and all(column is first for column in columns):
        replicate(first.view(np.int64), len(columns), numbers.view(np.int64))
    else:
        np.stack(columns, axis=1, out=numbers.reshape(count, len(columns)))
    return pa.Array.from_buffers(kind, len(numbers), [None, memory])
