"""The totals of aggregates as generated code: each element is folded, and the old let go, in line.

A table has the lines of every kernel: how the total takes an item in and lets one go, and what it comes to. They hold
while items come in the order of their starts, and values are of the one type that the total has; what they do not fit,
a new group too, takes the long way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from etalis.data.values import Real
from etalis.runtime.codegen.source import Code
from etalis.runtime.operators.aggregate import Folder, Slider
from etalis.temporal.aggregate import divide


class SlideCode:
    """The lines that one element runs through, and the names of what they share."""

    def __init__(
        self, code: Code, fold: Slider | Folder, type_: str | None, value: str, t1: str, t2: str, rope: str | None
    ) -> None:  # fmt: skip
        self.code = code
        self.rope = rope  # what contributes to the element, where that is kept
        self.fold = fold
        self.is_running = fold.is_running
        self.within = fold.within if isinstance(fold, Slider) else None
        self.last = fold.last if isinstance(fold, Slider) else None
        self.type = type_
        self.kernel = fold.fold.kernel
        self.value, self.t1, self.t2 = value, t1, t2
        self.group, self.items, self.item, self.old, self.total, self.result, self.start, self.limit = (
            code.fresh(stem) for stem in ("g", "w", "i", "y", "s", "r", "b", "l")
        )
        self.is_mean = self.kernel == "mean"

    def expire(self, slider: Slider) -> None:
        """Write that groups go whose elements have all left the window."""
        code = self.code
        if self.within is not None:
            code(f"{self.limit} = {self.t2} - {code.constant(self.within)}")
            fifo = code.constant(slider.fifo)
            with code.block(f"if {fifo} and {fifo}[0][0] < {self.limit}:"):
                code(f"{code.constant(slider.expire)}({self.t2})")

    def write(self, groups: str, key: str, item: str, take: str) -> None:
        """Write that an element is taken in; `result` is then the value of its group, None if it has none.

        `take` is the call that takes the element the long way, where the lines of the kernel do not fit.
        """
        code = self.code

        def otherwise() -> None:
            code(f"{self.result}, {self.start} = {take}")
            if self.rope is not None:
                code(f"{self.group} = {groups}.get({key})")

        lines = (RUNNING if self.is_running else SLIDING).get(self.kernel or "")
        if lines is None:
            otherwise()
            return
        code(f"{self.group} = {groups}.get({key})")
        with code.block(f"if {' and '.join([f'{self.group} is not None', *self._tests(lines)])}:"):
            if self.is_running:
                self._grow(lines)
            else:
                self._slide(lines, item)
        with code.block("else:"):
            otherwise()

    def _log(self, size: str) -> None:
        """Write that it is noted what contributes to the element."""
        if self.rope is None:
            return
        code, log, elements = self.code, self.code.fresh("u"), self.code.fresh("p")
        code(f"{log} = {self.group}.log")
        code(f"{elements} = {log}.elements")
        code(f"{elements}.append({self.rope})")
        with code.block(f"if len({elements}) > {log}.room:"):
            code(f"{log}.trim({size})")

    def _tests(self, lines: KernelLines) -> list[str]:
        """Return the tests that the lines fit."""
        found = []
        if not self.is_running:
            found.append(f"({self.items} := {self.group}.items) is not None")
            if self.t1 != self.t2:
                found.append(f"{self.items} and {self.items}[-1][0] <= {self.t1}")
                found += [f"{self.t1} >= {self.limit}"] if self.within is not None else []
        if lines.reads == "kind":
            found.append(self._is_of_kind())
        elif lines.reads == "total":
            found.append(f"({self.total} := {self.group}.total) is not None")
        return found

    def _is_of_kind(self) -> str:
        """Return the test that a value is of the type that all before are of."""
        x, total, real_type = self.value, f"({self.total} := {self.group}.total)", self.code.constant(Real)
        if self.type == "int":
            return f"{total}.kind is int and type({x}) is int"
        if self.type == "float":
            return f"{total}.kind is float and (type({x}) is float or type({x}) is {real_type})"
        return f"(type({x}) is {total}.kind or (type({x}) is {real_type} and {self.total}.kind is float))"

    def _grow(self, lines: KernelLines) -> None:
        code, group = self.code, self.group
        code(f"{group}.count += 1")
        if self.t1 != self.t2:
            with code.block(f"if {self.t1} < {group}.start:"):
                code(f"{group}.start = {self.t1}")
        code(f"{self.start} = {group}.start")
        lines.write(self)
        self._log(f"{group}.count")

    def _slide(self, lines: KernelLines, item: str) -> None:
        code = self.code
        code(f"{self.item} = {item}")
        code(f"{self.items}.append({self.item})")
        lines.write(self)
        code(f"{self.start} = {self.items}[0][0]")
        self._log(f"len({self.items})")

    def let_go(self, pop: Callable[[], None]) -> None:
        """Write that old items leave; `pop` writes what the total does with one."""
        code = self.code
        if self.within is not None:
            with code.block(f"while {self.items}[0][0] < {self.limit}:"):
                code(f"{self.old} = {self.items}.popleft()")
                pop()
        if self.last is not None:
            with code.block(f"while len({self.items}) > {code.constant(self.last)}:"):
                code(f"{self.old} = {self.items}.popleft()")
                pop()

    def nothing(self) -> None:
        """Write nothing."""

    def held(self) -> None:
        """Write a value that the items alone tell."""
        self.let_go(self.nothing)
        code, items = self.code, self.items
        values = {
            "count": f"len({items})", "first": f"{items}[0][1]", "last": self.value,
            "list": f"tuple([{self.old}[1] for {self.old} in {items}])",
        }  # fmt: skip
        code(f"{self.result} = {values[self.kernel or '']}")

    def tallied(self) -> None:
        """Write the number of different values."""
        code, x = self.code, self.value
        counts, left = code.fresh("c"), code.fresh("n")
        code(f"{counts} = {self.total}.counts")
        code(f"{counts}[{x}] = {counts}.get({x}, 0) + 1")

        def pop() -> None:
            code(f"{left} = {counts}[{self.old}[1]] - 1")
            with code.block(f"if {left}:"):
                code(f"{counts}[{self.old}[1]] = {left}")
            with code.block("else:"):
                code(f"del {counts}[{self.old}[1]]")

        self.let_go(pop)
        code(f"{self.result} = len({counts})")

    def extreme(self) -> None:
        """Write the head of a monotonic deque."""
        code, best = self.code, self.code.fresh("b")
        worse = ">=" if self.kernel == "least" else "<="
        code(f"{best} = {self.total}.best")
        with code.block(f"while {best} and {best}[-1][1] {worse} {self.value}:"):
            code(f"{best}.pop()")
        code(f"{best}.append({self.item})")

        def pop() -> None:
            with code.block(f"if {best}[0] is {self.old}:"):
                code(f"{best}.popleft()")

        self.let_go(pop)
        code(f"{self.result} = {best}[0][1]")

    def summed(self) -> None:
        """Write a sum or mean, of integers or of floats."""
        if self.type == "int":
            self._integers()
        elif self.type == "float":
            self._floats()
        else:
            with self.code.block(f"if {self.total}.kind is int:"):
                self._integers()
            with self.code.block("else:"):
                self._floats()

    @property
    def _count(self) -> str:
        return f"{self.group}.count" if self.is_running else f"len({self.items})"

    def _integers(self) -> None:
        code, high = self.code, self.code.fresh("h")
        code(f"{high} = {self.total}.high + {self.value}")
        if not self.is_running:
            self.let_go(lambda: code(f"{high} -= {self.old}[1]"))
        code(f"{self.total}.high = {high}")
        if not self.is_mean:
            code(f"{self.result} = {high}")
            return
        judged = code.constant(self.fold.judge)
        code(f"{self.result} = {judged}({code.constant(divide)}({high}, {self._count}))")

    def _floats(self) -> None:
        """Write a sum in two floats: `high`, rounded, and `low`, what rounding lost; exact if no `low` is rounded."""
        code = self.code
        high, low, before, other, part, lost = (code.fresh(stem) for stem in ("h", "d", "a", "e", "z", "o"))
        exact = code.fresh("q")

        def shift(sign: str, x: str) -> str:
            flipped = "+" if sign == "-" else "-"
            code(f"{before} = {high}")
            code(f"{high} = {before} {sign} {x}")
            code(f"{part} = {high} - {before}")
            code(f"{lost} = ({before} - ({high} - {part})) {sign} ({x} {flipped} {part})")
            code(f"{other} = {low}")
            code(f"{low} = {other} + {lost}")
            return f"{low} - {other} == {lost} and {low} - {lost} == {other}"

        code(f"{high} = {self.total}.high")
        code(f"{low} = {self.total}.low")
        code(f"{exact} = {shift('+', self.value)}")
        if self.is_running:
            with code.block(f"if {exact}:"):
                self._hold(high, low)
            with code.block("else:"):
                code(f"{self.total}.add({self.value})")
                value = f"{self.total}.value({self._count})"
                code(f"{self.result} = {code.constant(self.fold.judge)}({value})")
            return

        def pop() -> None:
            code(f"{self.old} = {self.old}[1]")
            with code.block(f"if not ({shift('-', self.old)}):"):
                code(f"{exact} = False")

        self.let_go(pop)
        with code.block(f"if {exact}:"):
            self._hold(high, low)
        with code.block("else:"):
            code(f"{self.result} = {code.constant(self.fold.judge)}({self.total}.resum({self.items}))")

    def _hold(self, high: str, low: str) -> None:
        code, result = self.code, self.result
        code(f"{self.total}.high = {high}")
        code(f"{self.total}.low = {low}")
        mean = f" / {self._count}" if self.is_mean else ""
        code(f"{result} = ({high} + {low}){mean}")
        with code.block(f"if {result}.is_integer():"):
            code(f"{result} = {code.constant(Real)}({result} + 0.0)")

    # totals that only grow

    def grown_extreme(self) -> None:
        """Write the best of all values."""
        better = "<" if self.kernel == "least" else ">"
        with self.code.block(f"if {self.value} {better} {self.total}.best:"):
            self.code(f"{self.total}.best = {self.value}")
        self.code(f"{self.result} = {self.total}.best")

    def grown(self) -> None:
        """Write a total that takes any value."""
        code, total, x = self.code, self.total, self.value
        steps = {"distinct": f"{total}.values.add({x})", "list": f"{total}.values.append({x})"}
        if self.kernel in steps:
            code(steps[self.kernel])
        values = {
            "count": f"{self.group}.count", "distinct": f"len({total}.values)", "list": f"tuple({total}.values)",
        }  # fmt: skip
        code(f"{self.result} = {values[self.kernel or '']}")


class KernelLines(NamedTuple):
    """What writes the lines of a kernel, and what they need: the `total`, and values of its `kind`, or nothing."""

    write: Callable[[SlideCode], None]
    reads: str = ""


SLIDING: Mapping[str, KernelLines] = MappingProxyType(
    {
        "count": KernelLines(SlideCode.held),
        "sum": KernelLines(SlideCode.summed, "kind"),
        "mean": KernelLines(SlideCode.summed, "kind"),
        "least": KernelLines(SlideCode.extreme, "kind"),
        "greatest": KernelLines(SlideCode.extreme, "kind"),
        "distinct": KernelLines(SlideCode.tallied, "total"),
        "first": KernelLines(SlideCode.held),
        "last": KernelLines(SlideCode.held),
        "list": KernelLines(SlideCode.held),
    }
)
RUNNING: Mapping[str, KernelLines] = MappingProxyType(
    {
        "count": KernelLines(SlideCode.grown),
        "sum": KernelLines(SlideCode.summed, "kind"),
        "mean": KernelLines(SlideCode.summed, "kind"),
        "least": KernelLines(SlideCode.grown_extreme, "kind"),
        "greatest": KernelLines(SlideCode.grown_extreme, "kind"),
        "distinct": KernelLines(SlideCode.grown, "total"),
        "list": KernelLines(SlideCode.grown, "total"),
    }
)
