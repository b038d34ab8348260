"""What moves rows, over enough of them for the kernels to be asked: NumPy says the same, and so does the engine."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("numba")

import etalis  # noqa: E402
from etalis.columnar.data.columns import Column, at, at_either  # noqa: E402
from etalis.columnar.data.instances import ColumnBlock, Instances, stack_blocks  # noqa: E402
from etalis.columnar.kernels.buffers import merge, sort_out  # noqa: E402
from etalis.columnar.operators.base import in_turn  # noqa: E402

pytestmark = pytest.mark.fast
COUNT = 5_000


def _arrays() -> list[object]:
    rng = np.random.default_rng(7)
    integers = rng.integers(-(1 << 62), 1 << 62, COUNT)
    read_only = pa.array(integers).to_numpy()
    terms = np.array([(int(x),) for x in integers], tuple).reshape(-1)
    return [
        integers, read_only, rng.standard_normal(COUNT), integers > 0, terms, integers[::2],
        np.broadcast_to(np.int64(3), COUNT),
    ]  # fmt: skip


@pytest.mark.parametrize("place", range(7))
@pytest.mark.parametrize("many", [3, COUNT])
def test_rows_of_an_array(place: int, many: int) -> None:
    array = _arrays()[place]
    rows = np.random.default_rng(many).integers(0, len(array), many)  # type: ignore[arg-type]
    found = at(array, rows)
    assert found.dtype == array.dtype  # type: ignore[attr-defined]
    assert found.tolist() == [array.tolist()[row] for row in rows.tolist()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("place", range(7))
@pytest.mark.parametrize("through", [False, True])
@pytest.mark.parametrize("ahead", [0, 40])
def test_rows_of_two_arrays(place: int, through: bool, ahead: int) -> None:
    rng = np.random.default_rng(place)
    array = _arrays()[place]
    above, below = array[:ahead].copy(), array[ahead:]  # type: ignore[index]
    places = rng.permutation(len(below))[: len(below) // 2] if through else None
    whole = [*above.tolist(), *(below if places is None else below[places]).tolist()]
    rows = rng.integers(0, len(whole), COUNT)
    assert at_either(above, below, places, rows).tolist() == [whole[row] for row in rows.tolist()]


@pytest.mark.parametrize("codes", [3, 6, 7, 40])
def test_rows_by_kind(codes: int) -> None:
    rng = np.random.default_rng(codes)
    numbers = rng.integers(-1, 3, codes)  # some codes stand for the same kind, some for none
    row_codes = rng.integers(0, codes, COUNT).astype(np.int32)
    found = [places.tolist() for places in sort_out(row_codes, numbers, 3)]
    assert found == [[i for i, code in enumerate(row_codes.tolist()) if numbers[code] == kind] for kind in range(3)]


@pytest.mark.parametrize(("first", "second"), [(0, 5), (5, 0), (0, 0), (900, 700)])
def test_merging(first: int, second: int) -> None:
    rng = np.random.default_rng(first)
    a, b = (np.sort(rng.integers(0, 500, count)) for count in (first, second))
    order, merged = merge(a, b)
    assert order.tolist() == np.argsort(np.concatenate([a, b]), kind="stable").tolist()
    assert merged.tolist() == sorted([*a.tolist(), *b.tolist()])


@pytest.mark.parametrize("shared", [False, True])
def test_branches_below_each_other_and_in_turn(shared: bool) -> None:
    rng = np.random.default_rng(3)
    columns = {"X": Column("int", rng.integers(0, 9, COUNT)), "Y": Column("float", rng.standard_normal(COUNT))}
    rows = np.array_split(rng.permutation(COUNT)[:900], 2)
    lots = []
    for mine in map(np.sort, rows):
        own = columns if shared else {name: Column(c.type, c.data.copy()) for name, c in columns.items()}
        lots.append(Instances(mine, mine * 2, mine * 2, (ColumnBlock(own, mine),)))
    stacked = stack_blocks(*lots, ("X", "Y"))
    assert isinstance(stacked[0], ColumnBlock) is shared
    _, found = in_turn(*lots, ("X", "Y"))
    merged = np.sort(np.concatenate(rows))
    assert found.turn.tolist() == merged.tolist()
    assert found.start.tolist() == found.end.tolist() == (merged * 2).tolist()
    for name, column in columns.items():
        assert found.column(name).data.tolist() == column.data[merged].tolist()


@pytest.mark.parametrize("policy", ["chronological", "recent", "unrestricted"])
@pytest.mark.parametrize("pattern", [
    "(a(K, X) seq b(K, Y))", "(a(K, X) and b(K, Y))", "(a(K, X) seq (b(K, Y) or c(K, Y)))",
    "((a(K, X) seq (b(K, _) or c(K, _))) par (b(K, Y) seq c(K, _)))",
    "((a(K, X) seq b(K, Y)) during (c(K, _) seq c(K, _)))",
    "((a(K, X) seq b(K, Y)) cnot c(K, _))", "(a(K, X) seq b(K, _) and c(K, Y))",
])  # fmt: skip
@pytest.mark.parametrize("batch", [600, 4_000])
def test_a_long_stream_gives_what_the_engine_gives(pattern: str, policy: str, batch: int) -> None:
    rng = np.random.default_rng(len(pattern))
    program = etalis.compile(f"d(K, X, Y) <- {pattern} within 60.", event_consumption_policy=policy)
    kinds, times = rng.integers(0, 3, 4_000), np.cumsum(rng.integers(1, 4, 4_000))
    table = pa.table({
        "ts": times, "type": pa.array(["a", "b", "c"]).take(pa.array(kinds)), "k": rng.integers(0, 8, 4_000),
        "v": pa.array([f"v{x}" for x in rng.integers(0, 50, 4_000)]),
    })  # fmt: skip
    engine = program.engine()
    rows = zip(*(table[name].to_pylist() for name in ("type", "k", "v", "ts")), strict=True)
    pushed = [(*e.args, e.start, e.end) for kind, k, v, t in rows for e in engine.push(kind, k, v, at=t)]
    pushed += [(*e.args, e.start, e.end) for e in engine.close()]
    found = program.detect(table, time="ts", event="type", batch=batch)
    assert len(pushed) > 50
    assert sorted(tuple(row[n] for n in ("K", "X", "Y", "start", "end")) for row in found.to_pylist()) == sorted(pushed)
