"""The tests that the parts of a match passed, and what each part binds, from the leaves up.

Of the solutions of `event_multiply` a rope does not tell which it was: those are taken by which all of a match agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, product

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.semantics.matches import ground, match_all
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.rope import FoldRope, SeveralRopes
from etalis.why import justification as j
from etalis.why.missing_parts import where_before
from etalis.why.reading.conditions import ConditionAsker, HeldCondition
from etalis.why.reading.parts import MatchPart, MatchReading

MOST_SOLUTIONS, MOST_WAYS = 8, 512  # that are tried


class PartTester:
    """Tests the parts of matches once more; `miss` is told what cannot be told."""

    def __init__(
        self,
        asker: ConditionAsker | None,
        mentioned: Callable[[s.Pattern], frozenset[str]],
        miss: Callable[[str], None],
    ) -> None:
        self._asker = asker
        self._mentioned = mentioned
        self._miss = miss

    def shared(self, absent: s.Pattern, bound: dict[str, Value]) -> dict[str, Value]:
        """Return what is bound of the variables of an absent pattern."""
        return {name: bound[name] for name in sorted(self._mentioned(absent)) if name in bound}

    def test(self, reading: MatchReading) -> None:
        """Find what every part binds and which tests it passed: with those solutions by which all of it agrees."""
        several = [
            (id(part), place)
            for part in reading.upwards()
            for place, modifier in enumerate(part.modifiers)
            if _is_multiplied(modifier)
        ]
        if not several:
            self._test_with(reading, {})
            return
        leaves = [(part, dict(part.bound)) for part in reading.parts]
        ways = islice(product(range(MOST_SOLUTIONS), repeat=len(several[:MOST_SOLUTIONS])), MOST_WAYS)
        for passed in (*ways, ()):
            for part, bound in leaves:
                part.bound, part.tests = dict(bound), []
            self._test_with(reading, dict(zip(several, passed, strict=False)))
            if _agrees(reading):
                return

    def _test_with(self, reading: MatchReading, passed: dict[tuple[int, int], int]) -> None:
        """Find what every part binds and which tests it passed, from the leaves up.

        `passed` are how many solutions of an `event_multiply` are passed over, by its part and its place there.
        """
        windows = _windows(reading.whole)
        for part in reading.upwards():
            self._bind(part)
            for place, modifier in enumerate(part.modifiers):
                if part.start is None or part.end is None:
                    continue
                match modifier:
                    case s.Condition():
                        if self._asker is not None and not part.unknown:
                            held = self._asker.ask(modifier, part, passed.get((id(part), place), 0))
                            part.bound.update(held.solution)
                            part.tests.append(held)
                    case s.Negation():
                        part.tests.append(self._absence(part, place, modifier, windows[id(part)]))
                    case s.Within(duration=duration):
                        part.tests.append(j.WithinWindow(duration, part.end - part.start))
                    case s.Isolated():
                        part.tests.append(self._isolation(part))
                    case s.Do() | s.Last():
                        pass

    def _bind(self, part: MatchPart) -> None:
        """Find what a part binds before its own conditions."""
        match part.pattern:
            case s.Repeat() | s.Binary(operator="seq", right=s.Repeat()) if not isinstance(part.rope, SeveralRopes):
                self._bind_elements(part)
            case s.Aggregate() as fold:
                self._fold(part, fold)
            case s.Binary(operator="seq", right=s.Aggregate() as fold):
                self._fold(part, fold)
            case _:
                for side in (part.left, part.right):
                    part.bound.update(side[-1].bound if side else {})

    @staticmethod
    def _bind_elements(part: MatchPart) -> None:
        for one in part.left:
            part.bound.update(one.bound)
        for one in part.right[-1:]:
            part.bound.update((v, x) for v, x in one.bound.items() if v in one.scope.shared)

    def _fold(self, part: MatchPart, fold: s.Aggregate) -> None:
        """Compute the value of an aggregate over the elements, and match it with the result."""
        self._bind_elements(part)
        row = FOLDS[fold.kind]
        total = row.zero
        for one in part.right:
            value = None if fold.value is None else ground(fold.value, one.bound)
            if not row.numeric or isinstance(value, int | float):
                total = row.step(total, value)
        rope = part.rope
        is_cut = isinstance(rope, FoldRope) and rope.cut > 0
        if is_cut:
            self._miss(f"{rope.cut} elements of an aggregate are beyond justification_limit")
        if is_cut or any(one.unknown for one in part.right):  # the value is over more than is told
            known = ground(fold.result, part.scope.found)
            part.value = known if isinstance(fold.result, s.Var) or total == row.zero else row.result(total)
            part.bound.update(match_all((fold.result,), (part.value,), {}) or {})
        elif part.right or row.at_opener:
            part.value = row.result(total)
            part.bound.update(match_all((fold.result,), (part.value,), {}) or {})

    def _absence(self, part: MatchPart, place: int, negation: s.Negation, around: int | None) -> j.Nothing:
        assert part.start is not None
        assert part.end is not None
        bound = self.shared(negation.absent, part.bound)
        if negation.operator == "fnot":
            later = [m.duration for m in part.modifiers[place:] if isinstance(m, s.Within)]
            window = min([*later, *(() if around is None else (around,))], default=None)
            return j.Nothing(negation.absent, bound, *where_before(negation, window, part.end))
        low, high = self._gap(part)
        return j.Nothing(negation.absent, bound, low, high, "gap" if part.sequential else "inside")

    @staticmethod
    def _gap(part: MatchPart) -> tuple[int, int]:
        low, high = (part.first, part.last) if part.sequential else (part.start, part.end)
        assert low is not None
        assert high is not None
        return low, high

    def _isolation(self, part: MatchPart) -> j.AloneBetween:
        return j.AloneBetween(*self._gap(part), "gap" if part.sequential else "inside")


def _is_multiplied(modifier: s.Pattern) -> bool:
    return isinstance(modifier, s.Condition) and modifier.kind == "event_multiply"


def _agrees(reading: MatchReading) -> bool:
    """Tell whether every condition was answered as in the match, and what is bound is what the event has."""
    held = [test for part in reading.parts for test in part.tests if isinstance(test, HeldCondition)]
    wanted = reading.whole.scope.found
    bound = reading.whole.bound
    return all(test.note is None for test in held) and all(bound.get(v, x) == x for v, x in wanted.items())


def _windows(whole: MatchPart) -> dict[int, int | None]:
    """Return by part the smallest window of what is around it."""
    found: dict[int, int | None] = {id(whole): None}
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        own = [m.duration for m in part.modifiers if isinstance(m, s.Within)]
        around = found[id(part)]
        smallest = min([*own, *(() if around is None else (around,))], default=None)
        for one in (*part.left, *part.right):
            found[id(one)] = smallest
            waiting.append(one)
    return found
