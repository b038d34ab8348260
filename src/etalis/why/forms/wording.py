"""The words that prints of explanations have in common: times, intervals, bounds, events, tests and proofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from etalis.data.values import format_value
from etalis.language.printer import print_pattern, print_term, seconds
from etalis.temporal.interval import EARLIEST, LATEST, to_iso
from etalis.why import justification as j
from etalis.why.bound_terms import bind_pattern, bind_term

GAP = "   "  # between what a line is about and what is said of it
UNLABELED = "unlabeled"


@dataclass(frozen=True, slots=True)
class Wording:
    """How times are written: as seconds, or as dates of ISO 8601 in UTC."""

    dates: bool = False

    def moment(self, time: int) -> str:
        """Write a moment.

        >>> Wording().moment(1_500_000), Wording(dates=True).moment(0)
        ('1.5', '1970-01-01T00:00:00Z')
        """
        return to_iso(time) if self.dates and EARLIEST <= time <= LATEST else seconds(time)

    def event(self, found: j.Occurred) -> str:
        """Write an event with its interval."""
        return f"{found.atom} {self.interval(found)}"

    def interval(self, found: j.Occurred) -> str:
        """Write where an event is in time."""
        return f"[{self.moment(found.start)}, {self.moment(found.end)}]"

    def origin(self, found: j.Occurred) -> str:
        """Say where an event comes from."""
        match found:
            case j.Received(number=number, source=source, offset=offset):
                where = "" if source is None else f", {source}" + ("" if offset is None else f":{offset}")
                return f"input {number}{where}" + (", no longer in the history" if found.name is None else "")
            case j.Raised(by=by):
                return "raised by a goal" if by is None else f"raised by {self.event(by)}"
            case j.Derived(rule=rule):
                return f"by rule {rule}"
            case _:
                return "a match of a part"

    def bounds(self, low: int | None, high: int | None, open_low: bool = True, open_high: bool = True) -> str:
        """Write between which moments something is looked for.

        >>> Wording().bounds(1_000_000, 6_000_000, open_high=False), Wording().bounds(None, None)
        ('after 1, up to 6', 'at any time')
        >>> Wording().bounds(5_000_000, 5_000_000, False, False)
        'at 5'
        """
        if low is not None and low == high and not open_low and not open_high:
            return f"at {self.moment(low)}"
        found = []
        if low is not None and low >= EARLIEST:
            found.append(f"{'after' if open_low else 'from'} {self.moment(low)}{'' if open_low else ' on'}")
        if high is not None and high <= LATEST:
            found.append(f"{'before' if open_high else 'up to'} {self.moment(high)}")
        return ", ".join(found) or "at any time"

    def test(self, test: j.Test) -> str:
        """Say what a test has found."""
        match test:
            case j.WithinWindow(allowed=allowed, actual=actual):
                return f"{seconds(actual)} s long, within {seconds(allowed)}"
            case j.ConditionHeld(kind=kind, goal=goal, solution=solution):
                return f"{kind} {print_term(bind_term(goal, solution))}"
            case j.Nothing(pattern=pattern, bindings=bindings):
                where = self.bounds(test.low, test.high, test.open_low, test.open_high)
                return f"no {print_pattern(bind_pattern(pattern, bindings))} {where}"
            case j.AloneBetween(low=low, high=high):
                return f"nothing else {self.bounds(low, high)}"
            case j.TakenUnder(policy=policy):
                return f"chosen under {policy}"
            case _:
                assert_never(test)

    def proof(self, proof: j.Proof) -> str:
        """Say what a goal rests on."""
        match proof:
            case j.KnownFact(atom=atom, since=since, by=by):
                known = "" if since is None else f" since {self.moment(since)}"
                told = f", {self.origin(by)}" if isinstance(by, j.Received) else ""
                return f"{print_term(atom)}{GAP}fact{known}{told}"
            case j.ByClause(head=head):
                return f"{print_term(head)}{GAP}by a clause"
            case j.BuiltIn(goal=goal):
                return f"{print_term(goal)}{GAP}built in"
            case j.HostCall(goal=goal, now=now):
                return f"{print_term(goal)}{GAP}called" + ("" if now is None else f"; now it answers {now}")
            case j.DeeperProof(goal=goal):
                return f"{print_term(goal)}{GAP}… more"
            case _:
                assert_never(proof)


def rule_text(rule: str, text: str) -> str:
    """Write a rule behind its name: without its label, with its full stop.

    >>> rule_text("r1", "r1 rule: c <- a"), rule_text("1", "c <- a.")
    ('c <- a.', 'c <- a.')
    """
    bare = text.strip().removeprefix(f"{format_value(rule)} rule: ")
    return bare if bare.endswith(".") else f"{bare}."


def label_of(rule: str, text: str) -> str:
    """Return the label of a rule; one that has none is known by its number."""
    return rule if text.strip().startswith(f"{format_value(rule)} rule:") or not rule.isdecimal() else UNLABELED
