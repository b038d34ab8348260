"""Repetitions after left sides in generated code, under policies that restrict (definition 13.8 to 13.12).

An element looks for the left sides that the policy selects, which are in order of their ends; each counts it for
itself. Law: state is that of `Repeater`, which does the same for what is not written here.
"""

from __future__ import annotations

from collections.abc import Callable

from etalis.runtime.codegen.aggregates.results import OtherOperators
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.passing import Passing
from etalis.runtime.codegen.repetitions.shape import WrittenRepetition
from etalis.runtime.codegen.repetitions.tokens import write_sweep
from etalis.runtime.codegen.rule_code import Names
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.runtime.operators.repetition import waiting
from etalis.runtime.operators.repetition.counted import Left
from etalis.runtime.operators.repetition.repeater import Repeater
from etalis.runtime.operators.store import LONG, Once


class AnchoredCode:
    """Writes what the instances of a repetition do that counts after left sides."""

    def __init__(self, operators: OtherOperators, entry: Wired, shape: WrittenRepetition, code: Code) -> None:
        assert shape.node.left is not None
        self.operators = operators
        self.entry = entry
        self.shape = shape
        self.code = code
        self.repeater: Repeater = operators.operator(entry)
        self.left = shape.node.left.exports
        self.groups = code.constant(self.repeater.lefts.groups)
        self.limit = ""
        self.own_key = ""  # of the group of an element

    # left sides

    def write_left(self, names: Names, t1: str, t2: str) -> None:
        """Write that a left side waits."""
        code, shelf, keep = self.code, self.repeater.lefts, self.shape.keep
        group, key, one = code.fresh("g"), code.fresh("q"), code.fresh("w")
        code(f"{key} = {self.shape.left_key(names)}")
        values = tuple_of([names[v] for v in self.left]) if self.left else "()"
        code(f"{group} = {self.groups}.get({key})")
        once, parents, depth = Once.among(self.left), "", code.depth
        if once is not None:  # of those with one origin and equal values only the first waits
            token = names["$token"]
            parents = f", () if {token} is None else ({token},)"
            repeated = f"{code.constant(waiting.is_repeated)}({group}, {values}, {code.constant(once)})"
            code(f"if {group} is None or not {repeated}:")
            code.depth += 1
        code(f"{one} = {code.constant(Left)}({values}, {t1}, {t2}{parents})")
        newest = self.shape.node.policy.keep == "newest"
        with code.block(f"if {group} is None:"):
            code(f"{self.groups}[{key}] = [{one}]")
            if self.shape.goes:
                write_sweep(code, self.repeater, self.groups)
        if newest and t1 == t2:  # nothing that waits ends after an instant, or starts after it
            with code.block("else:"):
                code(f"{self.groups}[{key}] = [{one}]")
        else:
            tests = [f"len({group}) == {LONG - 1}"] + ([] if t1 == t2 else [f"{group}[-1].end == {t2}"])
            with code.block("else:" if newest else f"elif {' or '.join(tests)}:"):
                code(f"{code.constant(waiting.shelve)}({self.groups}, {key}, {group}, {one}, {newest})")
            if not newest:
                with code.block("else:"):
                    code(f"{group}.append({one})")
        if keep is not None:
            fifo = code.constant(shelf.fifo)
            code(f"{fifo}.append(({t2}, {key}))")
            with code.block(f"if {fifo}[0][0] < {t2} - {code.constant(keep)}:"):
                code(f"{code.constant(shelf.expire)}({t2})")
        code.depth = depth

    def write_leaving(self, names: Names, token: str) -> None:
        """Write that a left side, which is its own token, leaves its group if it is at the end that is asked.

        Without one, write that all that have been consumed do.
        """
        code, group, key = self.code, self.code.fresh("g"), self.code.fresh("q")
        end = -1 if self.shape.node.policy.select == "latest" else 0
        code(f"{key} = {self.shape.left_key(names)}")
        if not token:
            code(f"if {key} in {self.groups}: {code.constant(waiting.let_go)}({self.groups}, {key}, None)")
            return
        code(f"{group} = {self.groups}.get({key})")
        with code.block(f"if {group} is not None and {group}[{end}] is {token}:"):
            with code.block(f"if len({group}) == 1:"):
                code(f"del {self.groups}[{key}]")
            with code.block("else:"):
                code(f"del {group}[{end}]")

    # elements

    def write_element(self, names: Names, t1: str, t2: str) -> None:
        """Write that an element is offered to the left sides before it."""
        code = self.code
        group, key = code.fresh("g"), code.fresh("q")
        code(f"{key} = {self.shape.left_key(names)}")
        code(f"{group} = {self.groups}.get({key})")
        self.own_key = key
        with code.block(f"if {group} is not None:"):
            if self.shape.key(names) != self.shape.left_key(names):
                self.own_key = code.fresh("q")
                code(f"{self.own_key} = {self.shape.key(names)}")
            if self.shape.keep is not None:
                self.limit = code.fresh("l")
                code(f"{self.limit} = {t2} - {code.constant(self.shape.keep)}")
            match self.shape.node.policy.select:
                case "earliest" | "latest" if self.shape.asks:
                    self._search(group, key, names, t1, t2)
                case "earliest" | "latest":
                    self._take_end(group, key, names, t1, t2)
                case _:
                    self._offer_all(group, key, names, t1, t2)

    def _take_end(self, group: str, key: str, names: Names, t1: str, t2: str) -> None:
        """Write that the first left side of a group is taken, or the last, where no condition is asked."""
        code, one = self.code, self.code.fresh("w")
        latest, depth = self.shape.node.policy.select == "latest", code.depth
        code(f"{one} = {group}[{-1 if latest else 0}]")
        gone = self._is_gone(one)
        if self.shape.marks_first:  # as a rule its match waits already
            tests = [f"{one}.counted is None or not {one}.alive"]
            tests += [f"{one}.start < {self.limit}"] if self.limit else []
            tests += [f"{one}.end >= {t1}"] if latest and t1 != t2 else []
            code(f"if {' or '.join(tests)}:")
            code.depth += 1
        if latest or gone:
            tests = [f"{one}.end >= {t1}"] * latest + ([gone] if gone else [])
            with code.block(f"if {' or '.join(tests)}:"):
                find = code.constant(waiting.find_latest if latest else waiting.find_earliest)
                given = [self.groups, key, t1] if latest else [self.groups, key]
                code(f"{one} = {find}({', '.join([*given, self.limit or 'None'])})")
        tests = [f"{one} is not None"] if latest or gone else []
        tests += [] if latest else [f"{one}.end < {t1}"]
        with code.block(f"if {' and '.join(tests)}:"):
            self._count_one(one, names, t1, t2)
        code.depth = depth

    def _is_gone(self, one: str) -> str:
        """Return the test that a left side can no longer be used; nothing where that cannot be."""
        found = []
        if self.shape.goes:
            found.append(f"not {one}.alive")
        if self.limit:
            found.append(f"{one}.start < {self.limit}")
        return " or ".join(found)

    def _search(self, group: str, key: str, names: Names, t1: str, t2: str) -> None:
        """Write that left sides are asked from the end that the policy prefers, until one passes the tests."""
        code, one = self.code, self.code.fresh("w")
        latest = self.shape.node.policy.select == "latest"
        start, stale, gone = code.fresh("s"), code.fresh("u"), self._is_gone(one)
        if gone:
            code(f"{stale} = False")
        with code.block(f"for {one} in {f'reversed({group})' if latest else group}:"):
            with code.block(f"if {one}.end >= {t1}:"):
                code.add(["continue"] if latest else [f"{one} = None", "break"])
            if gone:
                with code.block(f"if {gone}:"):
                    code.add([f"{stale} = True", "continue"])
            known = self.known(one, self._first(one, t1), names)
            code(f"{start} = {one}.start")
            passing = self.tests(known, start, t2)
            with code.block(f"if {' and '.join(passing.expressions) or 'True'}:"):
                code("break")
        with code.block("else:"):
            code(f"{one} = None")
        if gone:
            with code.block(f"if {stale}:"):
                code(f"{code.constant(waiting.let_go)}({self.groups}, {key}, {self.limit or 'None'})")
        with code.block(f"if {one} is not None:"):
            self._count(one, names, t1, t2, lambda: self.hand_on(one, passing, known, start, t2))

    def _count_one(self, one: str, names: Names, t1: str, t2: str) -> None:
        """Write that a left side counts an element, and that a match is handed on."""
        first = self._first(one, t1)

        def hand_on() -> None:
            start = self.code.fresh("s")
            known = self.known(one, first, names)
            self.code(f"{start} = {one}.start")
            self.hand_on(one, self.tests(known, start, t2), known, start, t2)

        self._count(one, names, t1, t2, hand_on)

    def _offer_all(self, group: str, key: str, names: Names, t1: str, t2: str) -> None:
        """Write that all left sides before an element count it: a match of each, or one of all together."""
        code, one = self.code, self.code.fresh("w")
        found, stale, gone = code.fresh("h"), code.fresh("u"), self._is_gone(one)
        with_first = "$last" in self.shape.columns
        code(f"{found} = []")
        if gone:
            code(f"{stale} = False")
        with code.block(f"for {one} in {group}:"):
            with code.block(f"if {one}.end >= {t1}:"):
                code("break")
            if gone:
                with code.block(f"if {gone}:"):
                    code.add([f"{stale} = True", "continue"])
            first = self._first(one, t1)
            item = f"({one}, {first})" if with_first else one
            if self.shape.asks:
                start = code.fresh("s")
                code(f"{start} = {one}.start")
                passing = self.tests(self.known(one, first, names), start, t2)
                with code.block(f"if not ({' and '.join(passing.expressions) or 'True'}):"):
                    code("continue")
            self._count(one, names, t1, t2, lambda: code(f"{found}.append({item})"))
        if gone:
            with code.block(f"if {stale}:"):
                code(f"{code.constant(waiting.let_go)}({self.groups}, {key}, {self.limit or 'None'})")
        start, item = code.fresh("s"), f"({one}, {first})" if with_first else one
        if self.shape.node.policy.select == "together":
            with code.block(f"if {found}:"):
                code(f"{item} = {found}[-1]")
                lefts = f"[z[0] for z in {found}]" if with_first else found
                code(f"{start} = min([z.start for z in {lefts}])")
                token = f"{code.constant(waiting.unite)}({lefts})"
                known = self.known(one, first, names, token)
                passing = self.tests(known, start, t2)
                with code.block(f"if {' and '.join(passing.expressions) or 'True'}:"):  # once more, of the whole
                    self.hand_on(one, passing, known, start, t2)
            return
        with code.block(f"for {item} in {found}:"):
            known = self.known(one, first, names)
            code(f"{start} = {one}.start")
            self.hand_on(one, self.tests(known, start, t2), known, start, t2)

    # counting

    def _first(self, one: str, t1: str) -> str:
        """Write where the count begins that an element goes on with, if anyone asks; return its name."""
        if "$last" not in self.shape.columns:
            return ""
        code = self.code
        first, count = code.fresh("b"), code.fresh("c")
        if self.shape.marks_first:
            code(f"{first} = next(iter({one}.counts.values()))[1] if {one}.counted else {t1}")
            return first
        goes_on = f"{count} is not None" + ("" if self.shape.most is None else f" and {count}[2] < {t1}")
        code(f"{count} = None if {one}.counted is None else {one}.counted.get({self.own_key})")
        code(f"{first} = {count}[1] if {goes_on} else {t1}")
        return first

    def count_first(self, one: str, names: Names, t1: str, t2: str) -> None:
        """Write that a left side, of which only the first match waits, has counted its first element."""
        self.code(f"{one}.counted = {tuple_of([*(names[v] for v in self.shape.node.shared), t1, t2])}")

    def _count(self, one: str, names: Names, t1: str, t2: str, complete: Callable[[], None]) -> None:
        """Write that a left side counts an element, and what is done if that makes a match."""
        code, key, least, most = self.code, self.own_key, self.shape.least, self.shape.most
        if self.shape.marks_first:
            with code.block(f"if not {one}.counted:"):
                self.count_first(one, names, t1, t2)
                complete()
            return
        count, number = code.fresh("c"), code.fresh("n")
        code(f"{count} = None if {one}.counted is None else {one}.counted.get({key})")
        with code.block(f"if {count} is None:"):
            code(f"{number} = 1")
            if most != 1:
                with code.block(f"if {one}.counted is None:"):
                    code(f"{one}.counted = {{{key}: [1, {t1}, {t2}]}}")
                with code.block("else:"):
                    code(f"{one}.counted[{key}] = [1, {t1}, {t2}]")
        with code.block("else:" if most is None else f"elif {count}[2] < {t1}:"):
            code(f"{number} = {count}[0] = {count}[0] + 1")
            code(f"{count}[2] = {t2}")
            if most is not None:
                with code.block(f"if {number} == {most}:"):
                    code(f"del {one}.counted[{key}]")
        if most is not None:
            with code.block("else:"):
                code(f"{number} = 0")
        with code.block(f"if {number} >= {least}:"):
            complete()

    # matches

    def known(self, one: str, first: str, names: Names, token: str = "") -> Names:
        """Write that the values of a left side are read; return those of a match by name."""
        code, shared = self.code, self.shape.node.shared
        own = {v: code.fresh("a") for v in self.shape.columns if v in self.left and v not in shared and v != "$token"}
        if own:
            code(f"{tuple_of([own.get(v, '_') for v in self.left])} = {one}.values")
        known = {v: own.get(v) or names.get(v, "None") for v in self.shape.columns}
        if "$token" in known:
            known["$token"] = token
        if "$first" in known and "$first" not in own:
            known["$first"] = f"{one}.end"
        if "$last" in known:
            known["$last"] = first
        return known

    def tests(self, known: Names, start: str, t2: str) -> Passing:
        """Write the tests of a match, but for windows: left sides that are too old are gone."""
        low, high = known.get("$first", start), known.get("$last", t2)
        return self.operators.tests.write(
            self.code, self.entry, known, self.entry.sure, start, t2, low, high, "True" if self.limit else None
        )

    def hand_on(self, one: str, passing: Passing, known: Names, start: str, t2: str) -> None:
        """Write that a match is handed on; of what was tested before, what that has bound is known."""
        if known.get("$token") == "":
            known["$token"] = one
        for name in [v for v in known if known[v] and not known[v].isidentifier()]:
            local = self.code.fresh("m")
            self.code(f"{local} = {known[name]}")
            known[name] = local
        self.operators.emission.multiplied(self.code, self.entry, passing, known, start, t2)
