"""Date and time: `datetime(Year, Month, Day, Hour, Minute, Second)`, with a counter behind if one is wanted.

The original's programs write `datime`; all predicates have both spellings, and give what they are named after.

Calendar and arithmetic are those of UTC: every day has 86,400 seconds. A second may have a fraction. Where a moment is
taken, a number will do: seconds since 1970, as `t1` and `t2` give them.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from types import MappingProxyType

from etalis.data.values import real
from etalis.logic.arithmetic.arithmetic import evaluate
from etalis.logic.arithmetic.functions import Number, add, subtract
from etalis.logic.errors import LogicError
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Machine, Test
from etalis.logic.terms.arguments import bound
from etalis.logic.terms.iso_errors import evaluation_error, instantiation_error, permission_error, type_error
from etalis.logic.terms.unify import Term, Variable, deref, unify, variables
from etalis.temporal.calendar import SPELLINGS, is_calendar

Args = tuple[Term, ...]
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class _Moment:
    """Days since year 1 and seconds into the day, exact for whole seconds; `counter` holds what stands behind."""

    day: int
    second: Number
    counter: tuple[Term, ...] = ()

    def plus(self, seconds: Number) -> _Moment:
        total = add(self.second, seconds)
        if total - total != 0:
            raise evaluation_error("undefined")
        days, rest = divmod(total, _DAY)
        return _Moment(self.day + int(days), rest if isinstance(rest, int) else real(float(rest)), self.counter)

    def term(self, spelling: str) -> Term:
        if not 1 <= self.day <= date.max.toordinal():
            raise evaluation_error("undefined")
        day = date.fromordinal(self.day)
        minutes, second = divmod(self.second, 60)
        hour, minute = divmod(int(minutes), 60)
        second = second if isinstance(second, int) else real(float(second))
        return (spelling, day.year, day.month, day.day, hour, minute, second, *self.counter)


_EPOCH = _Moment(date(1970, 1, 1).toordinal(), 0)


def _read(term: Term) -> _Moment | None:
    """Return the moment that a term stands for, None if it is none."""
    term = deref(term)
    if not (isinstance(term, tuple) and term and is_calendar(term[0], len(term) - 1)):
        return None
    year, month, day, hour, minute, second = parts = [deref(part) for part in term[1:7]]
    if not all(isinstance(part, int) for part in parts[:5]) or not isinstance(second, int | float):
        return None
    if not (1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]):
        return None
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60):
        return None
    counter = tuple(deref(part) for part in term[7:])
    if counter and not isinstance(counter[0], int | Variable):
        return None
    return _Moment(date(year, month, day).toordinal(), add(hour * 3600 + minute * 60, second), counter)


def _moment(term: Term) -> _Moment:
    given = bound(term)
    moment = _EPOCH.plus(given) if isinstance(given, int | float) else _read(given)
    if moment is None:
        if variables(deref(term)[1:7] if isinstance(deref(term), tuple) else term):
            raise instantiation_error()
        raise type_error("datetime", deref(term))
    return moment


def seconds_since_1970(term: Term) -> Number:
    """Return the time that a term `datetime(Y, M, D, H, Mi, S)` stands for, in seconds."""
    moment = _moment(term)
    return add((moment.day - _EPOCH.day) * _DAY, moment.second)


def counted(term: Term) -> int:
    """Return the counter behind a moment, which counts microseconds; 0 if there is none."""
    moment = _read(term)
    counter = moment.counter[0] if moment is not None and moment.counter else 0
    return counter if isinstance(counter, int) else 0


def _is_datetime(_machine: Machine, args: Args) -> bool:
    return _read(args[0]) is not None


def _less(_machine: Machine, args: Args) -> bool:
    """Compare two moments; the counters decide between equal ones if both have one."""
    first, second = _moment(args[0]), _moment(args[1])
    if (first.day, first.second) != (second.day, second.second):
        return (first.day, first.second) < (second.day, second.second)
    counters = [moment.counter[0] for moment in (first, second) if moment.counter]
    if len(counters) < 2 or not all(isinstance(counter, int) for counter in counters):
        return False
    return bool(counters[0] < counters[1])


def _shift(sign: Callable[[Number, Number], Number], spelling: str) -> Test:
    """`datetime_plus_sec/3` and `datetime_minus_sec/3`; the counter stays."""

    def run(machine: Machine, args: Args) -> bool:
        moment = _moment(args[0])
        return unify(args[2], moment.plus(sign(0, evaluate(args[1]))).term(spelling), machine.trail)

    return run


def _difference(machine: Machine, args: Args) -> bool:
    """`datetime_minus_datetime(Later, Earlier, Seconds)`."""
    later, earlier = _moment(args[0]), _moment(args[1])
    seconds = add((later.day - earlier.day) * _DAY, subtract(later.second, earlier.second))
    return unify(args[2], seconds, machine.trail)


def no_clock() -> LogicError:
    """Return the error for asking for a time that nobody knows."""
    return permission_error("read", "clock", "current_datetime")


def _now(spelling: str) -> Test:
    """`current_datetime/1`: the host's clock, in whole seconds."""

    def run(machine: Machine, args: Args) -> bool:
        clock = machine.host.clock
        if clock is None:
            raise no_clock()
        if machine.tabling is not None:
            machine.tabling.note_passing()
        now = clock()
        if isinstance(now, datetime):
            now = (now if now.tzinfo else now.replace(tzinfo=UTC)).timestamp()
        return unify(args[0], _EPOCH.plus(int(now // 1)).term(spelling), machine.trail)

    return run


CURRENT = frozenset(f"current_{spelling}" for spelling in SPELLINGS)


def _tests(spelling: str) -> dict[Key, Test]:
    """Return the predicates of one spelling."""
    return {
        (f"current_{spelling}", 1): _now(spelling),
        (f"is_{spelling}", 1): _is_datetime,
        (f"less_{spelling}", 2): _less,
        (f"{spelling}_plus_sec", 3): _shift(add, spelling),
        (f"{spelling}_minus_sec", 3): _shift(subtract, spelling),
        (f"{spelling}_minus_{spelling}", 3): _difference,
    }


def _add_seconds(machine: Machine, args: Args) -> bool:
    """`addSec_Datime(Seconds, Moment, Later)`: the original's older name of `datime_plus_sec/3`."""
    return _shift(add, "datime")(machine, (args[1], args[0], args[2]))


TIME_TESTS: Mapping[Key, Test] = MappingProxyType(
    {key: test for s in SPELLINGS for key, test in _tests(s).items()} | {("addSec_Datime", 3): _add_seconds}
)
