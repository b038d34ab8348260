"""What travels to a shard: a `Job`, the program's text and plain data, for all rules or for one stage of several.

The program is read again once per process, without pyspark.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from etalis.errors import ConditionError
from etalis.language.flags import Settings
from etalis.language.read.parser import parse
from etalis.runtime.compiled import CompiledProgram
from etalis.runtime.snapshot.names import digest
from etalis.spark.batch.feed import Rows
from etalis.spark.knowledge.shipped import NOTHING, Facts, HostKnowledge
from etalis.tables.results.output import Output
from etalis.tables.schema import Part
from etalis.tables.sorting import MEGABYTE, USUAL_MEMORY

if TYPE_CHECKING:
    from etalis.spark.batch.rejections import Rejects

_LOG = logging.getLogger("etalis.spark")


@dataclass(frozen=True, slots=True)
class Job:
    """All that a shard needs to know; without `rules` its stage is the only one: first, last, with all rules.

    `incoming` are the kinds that come from earlier stages, `outgoing` those that go on to later ones. `passing` are
    tags of rows from earlier stages that later ones read, whether this one reads them too or not.
    """

    text: str
    settings: Settings
    rows: tuple[Rows, ...]
    made: tuple[str, ...]
    unit: str
    output: Output
    told: HostKnowledge = NOTHING
    memory: int = USUAL_MEMORY * MEGABYTE
    over_columns: bool = True  # where rules qualify
    rejects: Rejects | None = None  # without it a row that cannot be taken is an error
    strict: bool = False
    name: str = "<program>"  # by which keys of effects know it
    effects: str | None = None  # the folder for what reactions of a batch do outside
    rules: tuple[int, ...] | None = None
    incoming: tuple[Rows, ...] = ()
    outgoing: tuple[Rows, ...] = ()
    passing: frozenset[str] = frozenset()
    is_last: bool = True

    @property
    def is_staged(self) -> bool:
        """Whether it is one stage of several."""
        return self.rules is not None

    @property
    def parts(self) -> tuple[Part, ...]:
        """How its rows become events over columns."""
        return tuple(rows.part for rows in self.rows)

    @property
    def on_error(self) -> Callable[[ConditionError], object]:
        """What is done with the errors of conditions: logged, or raised where the job is strict."""
        return _raise_error if self.strict else _log_error

    @property
    def fingerprint(self) -> str:
        """What the rules are called: equal for equal rules under equal settings."""
        return digest((self.text, self.settings))


def load(job: Job) -> CompiledProgram:
    """Return the program of a job: its rules, with all that its host told it."""
    program = _load(job.text, job.name, job.settings, job.told.facts)
    if job.told.functions:
        known = copy(program)
        known.knowledge = program.knowledge.copied()
        known.knowledge.register(job.told.functions)
        program = known
    return program if job.rules is None else program.taking(job.rules)


@lru_cache(maxsize=16)
def _load(text: str, name: str, settings: Settings, facts: Facts | None) -> CompiledProgram:
    """Read a program again from its text, and facts from their bytes, once per process."""
    program = CompiledProgram(parse(text), (), settings)
    program.name = name
    if facts is not None:
        for relation in facts.read():
            program.knowledge.load(relation)
    return program


def _log_error(error: Exception) -> None:
    """Write an error to the log of the worker."""
    _LOG.warning("%s", error)


def _raise_error(error: ConditionError) -> None:
    """Let an error of a condition end the run."""
    raise ConditionError(replace(error.problems[0], code="E333"))
