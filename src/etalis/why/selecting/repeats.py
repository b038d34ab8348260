"""Repetitions that note what their policy did: which elements they counted after what, and in which run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from etalis.semantics.chains import taking, told_of
from etalis.semantics.counting import Anchored, ModelRun, Runs, limits_of
from etalis.semantics.matches import Bindings, Instance, join, settled, tell, whole
from etalis.semantics.operators import rank, restrict, select, together
from etalis.why.selecting.joins import by_preference
from etalis.why.selecting.stays import (
    InstanceKey,
    NotedMatch,
    SelectionNotes,
    Stay,
    StayingList,
    earlier_match,
    keep_newest,
)  # fmt: skip
from etalis.why.why_not import Withheld


@dataclass(slots=True, eq=False)
class CountedElement:
    """An element when it came: what it was counted after, where that count began, and the matches that it made."""

    stay: Stay
    chosen: dict[Stay, int | None] = field(default_factory=dict)  # where the count began; None: it has ended
    made: dict[Stay, NotedMatch] = field(default_factory=dict)
    merged: bool = False


@dataclass(slots=True, eq=False)
class NotingAnchored:
    """Does as `L seq B ntimes ..` of the model does."""

    model: Anchored
    notes: SelectionNotes
    isolates: bool  # whether `iso` asks for the parts of a pair
    lefts: StayingList = field(init=False)
    stays: list[Stay] = field(default_factory=list)
    counted: list[CountedElement] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lefts = StayingList(self.model.key)

    def receive_left(self, x: Instance) -> None:
        """Let a left side wait."""
        stay = Stay(x, 0, self.notes.begin(), self.notes.seen())
        self.stays.append(stay)
        earlier = earlier_match(self.lefts, x)
        if earlier is not None:
            stay.leave(stay.came, "same", earlier)
        elif self.model.scope.policy.keep == "newest":
            keep_newest(self.lefts, stay, self.notes)
        else:
            self.lefts.put(stay)

    def receive_element(self, x: Instance) -> None:
        """Count an element after the left sides that the policy chooses."""
        model, notes, policy = self.model, self.notes, self.model.scope.policy
        x = restrict(x, model.shared)
        stay = Stay(x, 1, notes.begin(), notes.seen())
        model.elements.append(x)
        chosen = []
        for left in by_preference(policy, list(self.lefts.group(x))):
            a = left.instance
            bindings = join(a.bindings, x.bindings) if a.end < x.start else None
            limits = None if bindings is None else limits_of(model.repeat, bindings, model.scope)
            if bindings is None or limits is None:
                continue
            count = model.continued(a, x, bindings, limits)
            pair = self._pair(a, x, x.start if count is None else count.start, bindings)
            passed = model.tests(pair)
            if passed:
                chosen.append((left, limits, pair, passed))
                if policy.select in {"earliest", "latest"}:
                    break
        noted = CountedElement(stay)
        self.counted.append(noted)
        complete = []
        for left, limits, pair, passed in chosen:
            told = model.count(left.instance, x, pair.bindings, limits)
            count = model.counts.get((left.instance, frozenset(pair.bindings.items())))
            noted.chosen[left] = None if count is None else pair.last
            if told is not None:
                noted.made[left] = NotedMatch(pair.start, pair.end)
                parts = left.instance.parts | told(None)
                pair, passed = replace(pair, parts=parts), [replace(m, parts=parts) for m in passed]
                complete.append((told, pair, passed, noted.made[left]))
        matches = [(replace(m, told=told), match) for told, _, passed, match in complete for m in passed]
        if policy.select == "together" and complete:
            combined = together([replace(pair, told=told) for told, pair, _, _ in complete], sequential=True)
            match = NotedMatch(combined.start, combined.end)
            matches = [(m, match) for m in model.tests.again(combined)]
            noted.merged = len(complete) > 1 or not matches
            noted.made = dict.fromkeys(noted.made, match)
        for m, match in matches:
            notes.climbing = match
            model.emit(m)
            notes.climbing = None

    def _pair(self, a: Instance, x: Instance, start: int, bindings: Bindings) -> Instance:
        """Return what L and this B would match as; `start` is where the repetition begins."""
        parts = a.parts | x.parts
        if self.isolates:
            group = self.model.group(a, bindings)
            parts = a.parts.union(*(b.parts for b in group if start <= b.start <= x.start))
        held: Any = ((self.lefts, a),)
        told = settled(tell(a, x))
        return Instance(a.start, x.end, bindings, a.first, start, parts, told, origin=a, holds=held)

    # what was

    def withheld(self, left: InstanceKey, right: InstanceKey) -> Withheld | None:
        """Return why an element, or the run that ends with it, was not counted after a left side."""
        lefts = [stay for stay in self.stays if self.notes.is_meant(stay.instance, left)]
        lasts = [noted for noted in self.counted if _ends(self.notes, noted.stay.instance, right)]
        pairs = [(a, noted) for a in lefts for noted in lasts]
        if any(a in noted.made and not noted.merged for a, noted in pairs):
            return None
        return next((found for a, noted in pairs if (found := self._reason(a, noted)) is not None), None)

    def _reason(self, a: Stay, last: CountedElement) -> Withheld | None:
        while a.kind == "same" and isinstance(a.by, Stay):
            a = a.by
            if a in last.made and not last.merged:
                return None
        if a in last.made:
            return Withheld("merged", self.notes.shown(a.instance), (last.made[a].shown(),))
        if not a.instance.end < last.stay.instance.start:
            return None
        lost = self._lost(a, last)
        if lost is not None:
            return lost
        earlier = [
            n for n in reversed(self.counted[: self.counted.index(last)]) if a.instance.end < n.stay.instance.start
        ]
        for noted in earlier:  # the last one came in order: one before it was not counted, or ended a count
            if noted.stay.instance.end < last.stay.instance.start:
                if a in noted.made:
                    return Withheld("consumed", self.notes.shown(noted.stay.instance), (noted.made[a].shown(),))
                lost = self._lost(a, noted)
                if lost is not None:
                    return lost
        for noted in earlier:  # the last one does not come after the count that goes on
            if a in noted.chosen:
                match = noted.made.get(a) or NotedMatch(a.instance.start, noted.stay.instance.end)
                return Withheld("consumed", self.notes.shown(a.instance), (match.shown(),))
        return None

    def _lost(self, a: Stay, noted: CountedElement) -> Withheld | None:
        """Return why an element was not counted after a left side."""
        if not a.is_there(noted.stay.came):
            return self.notes.taken(a)
        if a in noted.chosen:
            return None
        policy, lefts = self.model.scope.policy, [y for y in self.stays if y.kind != "same"]
        there = [y for y in lefts if y.is_there(noted.stay.came) and self._key(y) == self._key(a)]
        ranked = sorted(there, key=lambda y: (*rank(y.instance), y.came))
        with self.notes.under(noted.stay.view):
            candidates = [y for y in by_preference(policy, ranked) if self._is_candidate(y, noted)]
        if a not in candidates:
            return None
        before = [self.notes.shown(y.instance) for y in candidates[: candidates.index(a)]]
        return Withheld("not_chosen", self.notes.shown(a.instance), tuple(before)) if before else None

    def _key(self, stay: Stay) -> Any:
        return self.lefts.key_of(stay.instance)

    def _is_candidate(self, a: Stay, noted: CountedElement) -> bool:
        """Tell whether an element could have been counted after a left side."""
        x = noted.stay.instance
        bindings = join(a.instance.bindings, x.bindings)
        if bindings is None or not a.instance.end < x.start:
            return False
        before = (n.chosen[a] for n in reversed(self.counted[: self.counted.index(noted)]) if a in n.chosen)
        begun = next(before, None)
        return bool(self.model.tests(self._pair(a.instance, x, x.start if begun is None else begun, bindings)))


@dataclass(slots=True, eq=False)
class NotedRun:
    """A run in the making: its elements, the matches it made, and when it waited no longer."""

    run: ModelRun
    stay: Stay
    made: list[Instance] = field(default_factory=list)  # the elements that made a match of their own
    # the elements whose run became one with others, with the run and the match
    merged: list[tuple[Instance, Instance, NotedMatch]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class NotingRuns:
    """Does as a repetition of the model that stands alone does, where its policy restricts."""

    model: Runs
    notes: SelectionNotes
    runs: list[NotedRun] = field(default_factory=list)  # those that wait
    all_runs: list[NotedRun] = field(default_factory=list)

    def take_out(self, run: Any, step: int, by: NotedMatch) -> bool:
        """Let a match consume a run; tell whether it waited."""
        found = [noted for noted in self.runs if noted.run is run]
        for noted in found:
            noted.stay.leave(step, "consumed", by)
        self.runs = [noted for noted in self.runs if noted.run is not run]
        return bool(found)

    def receive(self, x: Instance) -> None:
        """Extend the selected runs by an element, or open one."""
        model, notes, policy = self.model, self.notes, self.model.scope.policy
        x = restrict(x, model.shared)
        step = notes.begin()
        limits = limits_of(model.repeat, x.bindings, model.scope)
        if limits is None:
            return
        window = model.scope.window
        ranked = sorted(self.runs, key=lambda noted: rank(noted.run))
        alike = [n for n in ranked if n.run.bindings == x.bindings and n.run.end < x.start]
        chosen = select(policy, [n for n in alike if window is None or x.end - n.run.start <= window])
        for noted in chosen:
            run = noted.run
            run.number, run.end, run.parts = run.number + 1, x.end, run.parts | x.parts
            run.elements.append(x)
        if not chosen:
            opened = ModelRun(1, x.start, x.end, x.bindings, x.parts, [x])
            chosen = [NotedRun(opened, Stay(opened, 0, step, notes.seen()))]
            self.all_runs += chosen
        least, most = limits
        self.runs = [n for n in self.runs if not any(n is c for c in chosen)]
        self.runs += [n for n in chosen if n.run.number != most]
        found = []
        for noted in chosen:
            run = noted.run
            match = NotedMatch(run.start, run.end)
            if run.number == most:
                noted.stay.leave(step, "consumed", match)
            if run.number >= least:
                told = told_of(None, taking(run.elements, limits))
                held: Any = ((self, run),)
                made = whole(run.start, run.end, run.bindings, run.parts, told, origin=run, holds=held)
                found.append((noted, made, match))
        matches = [(made, match) for _, made, match in found]
        if policy.select == "together" and len(found) > 1:
            combined = together([made for made, _ in matches], sequential=False)
            match = NotedMatch(combined.start, combined.end)
            matches = [(combined, match)]
            for noted, made, _ in found:
                noted.merged.append((x, made, match))
        else:
            for noted, _, _ in found:
                noted.made.append(x)
        for made, match in matches:
            for passed in model.tests(made):
                notes.climbing = match
                model.emit(passed)
                notes.climbing = None

    # what was

    def withheld(self, first: InstanceKey, last: InstanceKey) -> Withheld | None:
        """Return why no run goes from one element to another."""
        notes = self.notes
        begun = [n for n in self.all_runs if any(_begins(notes, b, first) for b in n.run.elements)]
        if any(_begins(notes, n.run.elements[0], first) and any(_ends(notes, b, last) for b in n.made) for n in begun):
            return None
        for noted in begun:
            combined = [(run, match) for b, run, match in noted.merged if _ends(notes, b, last)]
            if combined and _begins(notes, noted.run.elements[0], first):
                run, match = combined[0]
                return Withheld("merged", notes.shown(run), (match.shown(),))
            element = next(b for b in noted.run.elements if _begins(notes, b, first))
            if element is not noted.run.elements[0]:  # another run had taken it
                upto = [b for b in noted.run.elements if b.end <= element.end]
                return Withheld("consumed", notes.shown(element), (NotedMatch(upto[0].start, upto[-1].end).shown(),))
            taken = notes.taken(noted.stay)
            if taken is not None:
                return taken
            others = [n for n in self.all_runs if n is not noted and any(b.end == last.end for b in n.run.elements)]
            if others:
                by = tuple(NotedMatch(n.run.start, n.run.end).shown() for n in others)
                return Withheld("not_chosen", notes.shown(noted.run), by)
        return None


def _ends(notes: SelectionNotes, element: Instance, asked: InstanceKey) -> bool:
    """Tell whether an element is the one that is asked for, or the last one of a run."""
    return element.end == asked.end if asked.name is None else notes.is_meant(element, asked)


def _begins(notes: SelectionNotes, element: Instance, asked: InstanceKey) -> bool:
    """Tell whether an element is the one that is asked for, or the first one of a run."""
    return element.start == asked.start if asked.name is None else notes.is_meant(element, asked)
