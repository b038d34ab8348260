"""The laws of a layout: boxes apart, links from left to right but for those that close a circle."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from etalis.pictures.paint.layout import PlanLayout, Size, arrange, fit

GRAPHS = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.builds(Size, st.integers(10, 300), st.integers(10, 90)), min_size=n, max_size=n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20),
    )
)


@given(GRAPHS)
def test_boxes_are_apart_and_links_run_forward(graph: tuple[list[Size], list[tuple[int, int]]]) -> None:
    sizes, links = graph
    layout = arrange(sizes, links)
    places = list(zip(layout.corners, sizes, strict=True))
    for ((x, y), size), ((x2, y2), size2) in combinations(places, 2):
        assert x + size.width <= x2 or x2 + size2.width <= x or y + size.height <= y2 or y2 + size2.height <= y
    for number, (source, target) in enumerate(links):
        if number not in layout.back:
            assert layout.corners[source][0] + sizes[source].width < layout.corners[target][0]
    assert all(x >= 0 and x + size.width <= layout.width for (x, _), size in places)
    assert all(y >= 0 and y + size.height <= layout.height for (_, y), size in places)


@given(GRAPHS)
def test_links_pass_no_box(graph: tuple[list[Size], list[tuple[int, int]]]) -> None:
    sizes, links = graph
    layout = arrange(sizes, links)
    for number in range(len(links)):
        if number not in layout.back:
            passed = layout.ways[number]
            assert not any(inside(layout, sizes, box, point) for box in range(len(sizes)) for point in passed)


def inside(layout: PlanLayout, sizes: list[Size], box: int, point: tuple[float, float]) -> bool:
    (x, y), size = layout.corners[box], sizes[box]
    return x < point[0] < x + size.width and y < point[1] < y + size.height


def test_a_tree_is_symmetric() -> None:
    layout = arrange([Size(10, 10)] * 3, [(0, 2), (1, 2)])
    (_, top), (_, bottom), (_, middle) = layout.corners
    assert middle == (top + bottom) / 2


@given(st.lists(st.tuples(st.integers(-100, 100), st.integers(1, 50)), min_size=1))
def test_fit_keeps_order_and_gaps(rows: list[tuple[int, int]]) -> None:
    wanted, heights = [float(w) for w, _ in rows], [float(h) for _, h in rows]
    tops = fit(wanted, heights, 5)
    assert all(a + h + 5 <= b + 1e-6 for a, h, b in zip(tops, heights, tops[1:], strict=False))
    assert abs(sum(tops) - sum(wanted)) < 1e-6 * len(rows) * 1000
