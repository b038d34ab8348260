"""Repetitions in generated code under the policy `unrestricted`: chains that end at an element (13.7, 13.13).

The elements of a group are one line (`lines`), whatever they come after: an element costs the matches that it
makes. A chain of n ends at it if it has n - 1 before it, so that left sides match which ended before the latest start
of such a chain: those up to a place.
"""

from __future__ import annotations

from contextlib import nullcontext
from itertools import islice

from etalis.runtime.codegen.aggregates.results import OtherOperators
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.repetitions.anchored import AnchoredCode
from etalis.runtime.codegen.repetitions.shape import WrittenRepetition
from etalis.runtime.codegen.repetitions.tokens import write_token
from etalis.runtime.codegen.rule_code import Names
from etalis.runtime.codegen.source import Code
from etalis.runtime.operators.repetition.counted import Run
from etalis.runtime.operators.repetition.lines import ElementLine
from etalis.runtime.operators.repetition.runner import Runner
from etalis.runtime.operators.repetition.waiting import count_ended, drop_ended


class AnchoredChains:
    """Writes what an element does to the left sides before it."""

    def __init__(self, anchored: AnchoredCode) -> None:
        self.anchored = anchored
        self.shape = anchored.shape
        self.code = anchored.code

    def write_element(self, names: Names, t1: str, t2: str) -> None:
        """Write that an element is offered to the left sides before it."""
        code, keep = self.code, self.shape.keep
        groups, group, key = self.anchored.groups, code.fresh("g"), code.fresh("q")
        code(f"{key} = {self.shape.left_key(names)}")
        code(f"{group} = {groups}.get({key})")
        if keep is not None:
            limit = self.anchored.limit = code.fresh("l")
            with code.block(f"if {group} is not None:"):
                code(f"{limit} = {t2} - {code.constant(keep)}")
                with code.block(f"if {group}[0].end < {limit}:"):
                    code(f"{group} = {code.constant(drop_ended)}({groups}, {key}, {limit})")
        with code.block(f"if {group} is not None:"):
            bound = self._bound(group, names, t1, t2)
            with code.block(f"if {group}[0].end < {bound}:"):
                count = code.fresh("n")
                code(f"{count} = len({group})")
                with code.block(f"if {group}[-1].end >= {bound}:"):
                    code(f"{count} = {code.constant(count_ended)}({group}, {bound})")
                if self.shape.waits_once and not self.shape.asks:
                    self._begin_waiting(group, count, names, t1, t2)
                else:
                    one = code.fresh("w")
                    with code.block(f"for {one} in {code.constant(islice)}({group}, {count}):"):
                        self._match(one, names, t2)

    def _bound(self, group: str, names: Names, t1: str, t2: str) -> str:
        """Write that an element joins its line; return the name of the moment that its left sides ended before."""
        if self.shape.least == 1:
            return t1
        code, repeater = self.code, self.anchored.repeater
        key, line, bound = code.fresh("q"), code.fresh("u"), code.fresh("b")
        code(f"{key} = {self.shape.key(names)}")
        code(f"{line} = {code.constant(repeater.lines)}.get({key})")
        with code.block(f"if type({line}) is not {code.constant(ElementLine)}:"):
            code(f"{line} = {code.constant(repeater.line)}({key}, {group})")
        code(f"{bound} = {line}.take({t1}, {t2}, {self.shape.least})")
        with code.block(f"if len({line}.ends) > {line}.cut_at:"):
            code(f"{line}.cut({group}[0].end)")
        return bound

    def _begin_waiting(self, group: str, count: str, names: Names, t1: str, t2: str) -> None:
        """Write that the matches wait that do not yet: those of the last left sides up to a place."""
        code, one, found = self.code, self.code.fresh("w"), self.code.fresh("h")
        code(f"{found} = []")
        with code.block(f"while {count} and not ({one} := {group}[{count} - 1]).counted:"):
            code(f"{count} -= 1")
            if self.anchored.limit:
                with code.block(f"if {one}.start < {self.anchored.limit}:"):
                    code("continue")
            self.anchored.count_first(one, names, t1, t2)
            code(f"{found}.append({one})")
        with code.block(f"for {one} in reversed({found}):"):
            self._match(one, names, t2)

    def _match(self, one: str, names: Names, t2: str) -> None:
        """Write that a match of a left side is tested, and handed on."""
        code, start = self.code, self.code.fresh("s")
        code(f"{start} = {one}.start")
        known = self.anchored.known(one, "", names)
        passing = self.anchored.tests(known, start, t2)
        fits = [f"{start} >= {self.anchored.limit}"] if self.anchored.limit else []
        with code.block(f"if {' and '.join([*fits, *passing.expressions]) or 'True'}:"):
            self.anchored.hand_on(one, passing, known, start, t2)


class AloneChains:
    """Writes what an element of a repetition does that stands alone."""

    def __init__(self, operators: OtherOperators, entry: Wired, shape: WrittenRepetition, code: Code) -> None:
        self.operators = operators
        self.entry = entry
        self.shape = shape
        self.code = code
        self.runner: Runner = operators.operator(entry)
        self.runner.by_lines = True
        self.runner.has_tokens = "$token" in shape.columns

    def write_element(self, names: Names, t1: str, t2: str) -> None:
        """Write that an element joins its line, and that all chains that end there are handed on."""
        code, runner, shape = self.code, self.runner, self.shape
        key, line, runs, run, limit = (code.fresh(stem) for stem in "qugwl")
        code(f"{key} = {shape.key(names)}")
        if shape.keep is not None:
            fifo = code.constant(runner.fifo)
            code(f"{limit} = {t2} - {code.constant(shape.keep)}")
            with code.block(f"if {fifo} and {fifo}[0][0] < {limit}:"):
                code(f"{code.constant(runner.expire)}({t2})")
        code(f"{line} = {code.constant(runner.elements)}.get({key})")
        with code.block(f"if type({line}) is not {code.constant(ElementLine)}:"):
            code(f"{line} = {code.constant(runner.line)}({key}, {t2})")
        code(f"{line}.add({t1}, {t2})")
        if runner.has_tokens:
            code(f"{runs} = {code.constant(runner.firsts)}[{key}]")
            code(f"{run} = {code.constant(Run)}({t1}, {t2})")
            code(f"{runs}.append(({run}, ()))")
        if shape.waits_once and shape.most is None:  # those of others wait already
            self._match(t1, run, names, t2)
        else:
            place = code.fresh("i")
            places = f"{line}.firsts({shape.least}, {shape.most})"
            if shape.least == shape.most:
                first = code.fresh("n")
                code(f"{first} = len({line}.ends) - {shape.least}")
                places = f"() if {first} < 0 else ({first},) if {line}.kink <= {first} else {places}"
            start = code.fresh("s")
            with code.block(f"for {place} in {places}:"):
                code(f"{start} = {line}.starts[{place}]")
                with nullcontext() if shape.keep is None else code.block(f"if {start} >= {limit}:"):
                    code.add([f"{run} = {runs}[{place}][0]"] if runner.has_tokens else [])
                    self._match(start, run, names, t2)
        if shape.keep is not None:
            with code.block(f"if len({line}.ends) > {line}.cut_at:"):
                cut = f"{line}.cut({limit} - 1)"
                code(f"del {runs}[: {cut}]" if runner.has_tokens else cut)

    def _match(self, start: str, run: str, names: Names, t2: str) -> None:
        """Write that a match is handed on if it passes the tests."""
        code = self.code
        known = {v: names.get(v, "None") for v in self.shape.columns}
        if "$token" in known:
            known["$token"] = write_token(code, run)
        low, high = known.get("$first", start), known.get("$last", t2)
        passing = self.operators.tests.write(code, self.entry, known, self.entry.sure, start, t2, low, high, None)
        self.operators.emission.guarded(code, self.entry, passing, known, start, t2)
