"""Repetitions that stand alone in generated code, under policies that choose one run (definition 13.14).

As a rule one run waits under a key, which the next element extends. Law: state is that of `Runner`, which does the same
for what is not written here.
"""

from __future__ import annotations

from etalis.runtime.codegen.aggregates.results import OtherOperators
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.repetitions.shape import WrittenRepetition
from etalis.runtime.codegen.repetitions.tokens import write_sweep, write_token
from etalis.runtime.codegen.rule_code import Names
from etalis.runtime.codegen.source import Code
from etalis.runtime.operators.repetition.counted import Run
from etalis.runtime.operators.repetition.runner import Runner
from etalis.runtime.operators.repetition.waiting import drop_complete, expire_runs, next_run, next_runs, unite


class AloneCode:
    """Writes what an element of a repetition does that stands alone."""

    def __init__(self, operators: OtherOperators, entry: Wired, shape: WrittenRepetition, code: Code) -> None:
        self.operators = operators
        self.entry = entry
        self.shape = shape
        self.code = code
        self.runner: Runner = operators.operator(entry)
        self.runs = code.constant(self.runner.runs)

    def write_element(self, names: Names, t1: str, t2: str) -> None:
        """Write that an element extends a run, or opens one, and that what is long enough is handed on."""
        if self.shape.node.policy.select in ("all", "together"):
            self._write_all(names, t1, t2)
            return
        code, least, most = self.code, self.shape.least, self.shape.most
        key, run, number = code.fresh("q"), code.fresh("w"), code.fresh("n")
        code(f"{key} = {self.shape.key(names)}")
        limit = self._expire(t2)
        group = self._find(key, run, limit, t1)
        with code.block(f"if {run} is None:"):
            code(f"{run} = {code.constant(Run)}({t1}, {t2})")
            code(f"{number} = 1")
            self._keep_opened(key, group, run, t2, is_windowed=bool(limit))
        with code.block("else:"):
            code(f"{run}.number = {number} = {run}.number + 1")
            code(f"{run}.end = {t2}")
            if most is not None:
                with code.block(f"if {number} == {most}:"):
                    code(f"{group} = {self.runs}[{key}]")
                    with code.block(f"if len({group}) == 1:"):
                        code(f"del {self.runs}[{key}]")
                    with code.block("else:"):
                        code(f"{group}.pop()")
        ends = f"{number} == 1" if self.shape.waits_once and most is None else f"{number} >= {least}"
        with code.block(f"if {ends}:"):
            self._hand_on(f"{run}.start", "", names, t2, run)

    def _keep_opened(self, key: str, group: str, run: str, t2: str, *, is_windowed: bool) -> None:
        """Write that a run that an element has opened waits for more, if one is not enough."""
        code = self.code
        if self.shape.most == 1:
            return
        with code.block(f"if ({group} := {self.runs}.get({key})) is None:"):
            code(f"{self.runs}[{key}] = [{run}]")
            if self.shape.goes:
                write_sweep(code, self.runner, self.runs)
        with code.block("else:"):
            code(f"{group}.append({run})")
        if is_windowed:
            code(f"{code.constant(self.runner.fifo)}.append(({t2}, {key}))")

    def _write_all(self, names: Names, t1: str, t2: str) -> None:
        """Write that an element extends all runs that ended before it, each for itself."""
        code, most = self.code, self.shape.most
        key, run, group, found = code.fresh("q"), code.fresh("w"), code.fresh("g"), code.fresh("h")
        code(f"{key} = {self.shape.key(names)}")
        limit = self._expire(t2)
        code(f"{found} = ()")
        code(f"{group} = {self.runs}.get({key})")
        with code.block(f"if {group} is not None:"):
            code(f"{found} = {code.constant(next_runs)}({self.runs}, {key}, {t1}, {limit or 'None'})")
        with code.block(f"for {run} in {found}:"):
            code(f"{run}.number += 1")
            code(f"{run}.end = {t2}")
        with code.block(f"if not {found}:"):
            code(f"{run} = {code.constant(Run)}({t1}, {t2})")
            code(f"{found} = [{run}]")
            self._keep_opened(key, group, run, t2, is_windowed=bool(limit))
        if most is not None and most > 1:
            with code.block(f"elif max([z.number for z in {found}]) == {most}:"):
                code(f"{code.constant(drop_complete)}({self.runs}, {key}, {most})")
        is_once = self.shape.waits_once and most is None
        code(f"{found} = [z for z in {found} if z.number {'== 1' if is_once else f'>= {self.shape.least}'}]")
        if self.shape.node.policy.select == "together":
            with code.block(f"if {found}:"):
                start, token = f"min([z.start for z in {found}])", f"{code.constant(unite)}({found})"
                self._hand_on(start, token, names, t2)
            return
        with code.block(f"for {run} in {found}:"):
            self._hand_on(f"{run}.start", "", names, t2, run)

    def _expire(self, t2: str) -> str:
        """Write that runs go which began too long ago; return the name of the moment before which they began."""
        if self.shape.keep is None:
            return ""
        code, limit, fifo = self.code, self.code.fresh("l"), self.code.constant(self.runner.fifo)
        code(f"{limit} = {t2} - {code.constant(self.shape.keep)}")
        with code.block(f"if {fifo} and {fifo}[0][0] < {limit}:"):
            code(f"{code.constant(expire_runs)}({self.runs}, {fifo}, {limit})")
        return limit

    def _find(self, key: str, run: str, limit: str, t1: str) -> str:
        """Write that a run is found that goes on, which is then the last of its key; return the name of the group."""
        code, group = self.code, self.code.fresh("g")
        latest = self.shape.node.policy.select == "latest"
        code(f"{group} = {self.runs}.get({key})")
        with code.block(f"if {group} is None:"):
            code(f"{run} = None")
        with code.block("else:"):
            code(f"{run} = {group}[0]")
            tests = [f"len({group}) > 1"] + ([f"{run}.start < {limit}"] if limit else [])
            if self.shape.goes:
                token = code.fresh("o")
                tests.append(f"(({token} := {run}.tied) is not None and not {token}.alive)")
            with code.block(f"if {' or '.join(tests)}:"):
                given = ", ".join([self.runs, key, str(latest), t1, limit or "None"])
                code(f"{run} = {code.constant(next_run)}({given})")
            with code.block(f"elif {run}.end >= {t1}:"):
                code(f"{run} = None")
        return group

    def _hand_on(self, since: str, token: str, names: Names, t2: str, run: str = "") -> None:
        """Write that a match is handed on if it passes the tests: that of a run, if it has no token of its own."""
        code, start = self.code, self.code.fresh("s")
        code(f"{start} = {since}")
        known = {v: names.get(v, "None") for v in self.shape.columns}
        if "$token" in known:
            known["$token"] = code.fresh("m") if token else write_token(code, run)
            code.add([f"{known['$token']} = {token}"] if token else [])
        low, high = known.get("$first", start), known.get("$last", t2)
        passing = self.operators.tests.write(code, self.entry, known, self.entry.sure, start, t2, low, high, None)
        self.operators.emission.guarded(code, self.entry, passing, known, start, t2)
