"""What a repetition counts: after a left side, or in a run that stands alone."""

from __future__ import annotations

from etalis.runtime.operators.base import Values
from etalis.runtime.operators.repetition.chains import (
    ChainEnd,
    RunLog,
)
from etalis.runtime.operators.store import Token

NO_IDS: frozenset[int] = frozenset()


class Left(Token):
    """What a repetition counts after, with its counts per values of the shared variables; it is its own token.

    What few need is made when it is asked for: `counted` are the counts, `noted` is the rest. Of a left side whose
    first match alone waits `counted` is short: (the values of the shared variables.., since when, until when).
    """

    __slots__ = ("counted", "end", "noted", "replaced_by", "start", "values")

    def __init__(self, values: Values, start: int, end: int, parents: tuple[Token, ...] = ()) -> None:
        self.alive = True
        self.number = 0
        self.of = None
        self.parents = parents
        self.values = values
        self.start = start
        self.end = end
        self.counted: dict[Values, list[int]] | Values | None = None
        self.noted: Noted | None = None
        self.replaced_by: int | None = None

    @property
    def token(self) -> Token:
        """What is consumed with its matches."""
        return self

    @property
    def counts(self) -> dict[Values, list[int]]:
        """How many were counted, since when, and until when.

        >>> left = Left(("k",), 1, 1)
        >>> left.counted = "k", 2, 2
        >>> left.counts
        {('k',): [1, 2, 2]}
        """
        counted = self.counted
        if counted is None or type(counted) is tuple:
            counted = self.counted = {} if counted is None else {counted[:-2]: [1, *counted[-2:]]}
        assert isinstance(counted, dict)
        return counted

    @property
    def notes(self) -> Noted:
        """What was noted of the elements."""
        if self.noted is None:
            self.noted = Noted()
        return self.noted

    def stretch(self, key: Values, first: int, values: Values, marked: bool) -> list[Values]:
        """Return the elements counted from a start on, where their marks are asked for; else the last alone."""
        return [x for start, x in self.notes.elements[key] if start >= first] if marked else [values]


class Noted:
    """What is noted of the elements after a left side, per values of the shared variables."""

    __slots__ = ("chains", "elements", "logs")

    def __init__(self) -> None:
        self.chains: dict[Values, list[ChainEnd]] = {}
        self.elements: dict[Values, list[tuple[int, Values]]] = {}
        self.logs: dict[Values, RunLog] = {}  # where contributing inputs are kept

    def log(self, key: Values) -> RunLog:
        """Return what was noted of the elements of a group."""
        if key not in self.logs:
            self.logs[key] = RunLog()
        return self.logs[key]


class Run:
    """A repetition in the making that stands alone; `tied` is its token, if anyone has asked for it."""

    __slots__ = ("end", "ids", "log", "number", "start", "tied")

    def __init__(self, start: int, end: int) -> None:
        self.number = 1
        self.start = start
        self.end = end
        self.tied: Token | None = None
        self.ids: frozenset[int] = NO_IDS
        self.log: RunLog | None = None  # where contributing inputs are kept

    @property
    def token(self) -> Token:
        """What is consumed with its matches."""
        if self.tied is None:
            self.tied = Token(None)
        return self.tied

    @property
    def alive(self) -> bool:
        """Whether nothing of it has been consumed."""
        return self.tied is None or self.tied.alive


def is_usable(x: Left | Run) -> bool:
    """Tell whether nothing that was counted has been consumed."""
    return x.alive
