"""A justification as lines for a terminal: a tree, what is shared in it once and then by its number, `#12`.

Operators are not lines, the rule's text shows them: below an event stand the events it is made of, in the order of the
text, then what was tested. What lies deeper than a page is wide goes below, under its number. All walks are loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from etalis.data.values import format_value
from etalis.temporal.policy import DEFAULT_POLICY
from etalis.why import justification as j
from etalis.why.forms.json_form import number_nodes
from etalis.why.forms.wording import GAP, Wording, rule_text
from etalis.why.printable import form

LONGEST_RUN = 1_000
USUAL = frozenset({DEFAULT_POLICY, "unrestricted"})  # policies that are not mentioned
DEEPEST = 25  # levels below which what is made of others gets a place of its own


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A line, and what stands below it."""

    text: str
    below: tuple[Below, ...] = ()


Below: TypeAlias = j.Node | TreeLine
EventNode: TypeAlias = j.Received | j.Raised | j.Derived
Part: TypeAlias = EventNode | TreeLine


@form("Justification", "brief")
def write_brief(found: j.Justification) -> str:
    """Write a justification in a few words."""
    event = Wording().event(found.root)
    return f"{event} {Wording().origin(found.root)}" + ("" if found.complete else ", not complete")


@form("Justification", "tree")
def write_tree(found: j.Justification, dates: bool = False, whole: bool = False) -> str:
    """Write a justification as a tree."""
    del whole
    lines = [*tree_lines(found.root, Wording(dates)), *(f"note: {note}" for note in found.notes)]
    return "\n".join(lines if found.complete or found.notes else [*lines, "note: some of its inputs are not told"])


def tree_lines(root: j.Occurred, wording: Wording) -> list[str]:
    """Return the lines of the tree below an event."""
    return _Tree(root, wording).write()


@dataclass(slots=True)
class _Tree:
    root: j.Occurred
    wording: Wording
    numbers: dict[int, int] = field(init=False)
    lines: list[str] = field(default_factory=list)
    told: dict[int, int] = field(default_factory=dict)  # where an event has its line, with its parts below
    marked: set[int] = field(default_factory=set)  # the lines that have the number of their event
    waiting: list[EventNode] = field(default_factory=list)  # those that lie too deep
    rules: set[tuple[str, str]] = field(default_factory=set)  # those whose text was told

    def __post_init__(self) -> None:
        self.numbers = number_nodes(self.root)

    def write(self) -> list[str]:
        """Return all lines."""
        self.write_below(self.root, "")
        for event in self.waiting:  # which grows
            self.lines.append("")
            self.marked.add(len(self.lines))
            self.write_below(event, f"#{self.numbers[id(event)]} ")
        return self.lines

    def write_below(self, first: j.Occurred, mark: str) -> None:
        """Write the tree of one event; what lies too deep in it waits."""
        self.told.pop(id(first), None)
        stack: list[tuple[Part, str, str, int]] = [(first, "", mark, 0)]  # type: ignore[list-item]
        while stack:
            part, prefix, branch, depth = stack.pop()
            text, parts = self.line(part, depth)
            self.lines.append(f"{prefix}{branch}{text}")
            below = prefix + {"├─ ": "│  ", "└─ ": "   "}.get(branch, "")
            last = len(parts) - 1
            for place in range(last, -1, -1):
                stack.append((parts[place], below, "└─ " if place == last else "├─ ", depth + 1))

    def line(self, part: Part, depth: int) -> tuple[str, Sequence[Part]]:
        """Return a line and the parts below it."""
        if isinstance(part, TreeLine):
            return part.text, self.flat(part.below)
        text = self.wording.event(part) if part.name is not None else ""
        if not isinstance(part, j.Derived | j.Raised):
            return f"{text}{GAP if text else ''}{self.wording.origin(part)}", ()
        if id(part) in self.told:
            return f"{text}{GAP}see {self.mark(part)}", ()
        self.told[id(part)] = len(self.lines)
        if depth < DEEPEST:
            return f"{text}{GAP}{self.origin(part)}", self.parts(part)
        self.waiting.append(part)
        self.marked.add(len(self.lines))
        return f"{text}{GAP}see #{self.numbers[id(part)]} below", ()

    def mark(self, event: j.Derived | j.Raised) -> str:
        """Return the number of an event that was told; its line gets it too."""
        number, place = f"#{self.numbers[id(event)]}", self.told[id(event)]
        if place not in self.marked:
            self.marked.add(place)
            self.lines[place] += f"{GAP}{number}"
        return number

    def origin(self, event: j.Derived | j.Raised) -> str:
        """Say how an event was made, with the text of its rule where that is not told yet."""
        if isinstance(event, j.Raised):
            return "raised by a goal" if event.by is None else "raised by an action of"
        if (event.rule, event.text) in self.rules:
            return self.wording.origin(event)
        self.rules.add((event.rule, event.text))
        return f"{self.wording.origin(event)}: {rule_text(event.rule, event.text)}"

    def parts(self, event: j.Derived | j.Raised) -> list[Part]:
        """Return what an event is made of."""
        if isinstance(event, j.Raised):
            return [] if event.by is None else [event.by]
        note = () if event.note is None else (TreeLine(f"note: {event.note}"),)
        return self.flat((event.body, *event.tests, *note))

    def flat(self, several: Sequence[Below]) -> list[Part]:
        """Return the lines of bodies, tests and proofs: their events, and what was found of them, left to right."""
        found: list[Part] = []
        stack = list(reversed(several))
        while stack:
            node = stack.pop()
            match node:
                case j.Received() | j.Raised() | j.Derived() | TreeLine():
                    found.append(node)
                case j.Tested() | j.PairOf() | j.Awaited():
                    stack.extend(reversed(j.below(node)))
                case j.ChosenBranch():
                    found.append(_branch(node))
                case j.RepeatedRun(left=left, elements=elements):
                    stack.append(TreeLine("once" if len(elements) == 1 else f"{len(elements):,} times", _run(elements)))
                    stack.extend(() if left is None else (left,))
                case j.PutTogether(bodies=bodies):
                    found.append(TreeLine(f"{_count(len(bodies), 'match', 'matches')} put together", bodies))
                case j.FoldedValue(kind=kind, opener=opener, elements=elements, value=value):
                    count = _count(len(elements), "element", "elements")
                    stack.append(TreeLine(f"{kind} {format_value(value)} of {count}", _run(elements)))
                    stack.extend(() if opener is None else (opener,))
                case j.PointReached(time=time):
                    found.append(TreeLine(f"time {self.wording.moment(time)}"))
                case j.Rung(body=inner, due=due):
                    stack.extend((TreeLine(f"rings at {self.wording.moment(due)}"), inner))
                case j.TakenUnder(policy=policy) if policy in USUAL:
                    pass
                case j.WithinWindow() | j.Nothing() | j.AloneBetween() | j.TakenUnder():
                    found.append(TreeLine(self.wording.test(node)))
                case j.ConditionHeld():
                    found.append(self.condition(node))
                case j.KnownFact(by=j.Received()):
                    found.append(TreeLine(self.wording.proof(node)))
                case j.KnownFact() | j.ByClause() | j.BuiltIn() | j.HostCall() | j.DeeperProof():
                    found.append(TreeLine(self.wording.proof(node), j.below(node)))
                case _:
                    assert_never(node)
        return found

    def condition(self, held: j.ConditionHeld) -> TreeLine:
        """Return a condition with its proof; one that is a built-in predicate, or a fact, in one line."""
        text, note = self.wording.test(held), "" if held.note is None else f"{GAP}{held.note}"
        if len(held.proof) == 1:
            proof = held.proof[0]
            same = f"{held.kind} {self.wording.proof(proof)}"
            if same.startswith(f"{text}{GAP}"):
                below = () if isinstance(proof, j.KnownFact) and isinstance(proof.by, j.Received) else j.below(proof)
                return TreeLine(f"{same}{note}", below)
        return TreeLine(f"{text}{note}", held.proof)


def _branch(body: j.ChosenBranch) -> TreeLine:
    """Return a chosen alternative; one of an alternative has both numbers."""
    which, inner = [body.which], body.body
    while isinstance(inner, j.ChosenBranch):
        which.append(inner.which)
        inner = inner.body
    return TreeLine(f"alternative {'.'.join(map(str, which))}", (inner,))


def _run(elements: tuple[j.Body, ...]) -> tuple[Below, ...]:
    """Return the elements of a run, of a long one the first, how many more, and the last."""
    if len(elements) <= LONGEST_RUN:
        return elements
    return elements[0], TreeLine(f"… {len(elements) - 2:,} more …"), elements[-1]


def _count(number: int, one: str, several: str) -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {several}"
