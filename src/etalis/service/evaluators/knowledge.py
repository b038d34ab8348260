"""The knowledge of a service, a text of clauses that clients replace, and goals over it.

It remembers the text before, so that an evaluation that broke off knows what was new. Law: a goal sees one text, and
its answers are texts in a fixed order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from etalis.data.values import Value, format_atom
from etalis.errors import EtalisError, ProgramError
from etalis.language.flags import SERVICE_MAX_STEPS
from etalis.service.evaluators.assignment import ProviderFailed
from etalis.service.evaluators.texts import text_of

if TYPE_CHECKING:
    from etalis.engine import Engine

MOST_ANSWERS = 10_000

Solution = tuple[tuple[str, str], ...]  # (variable, value), by name


class ServiceKnowledge:
    """The current text, with its version, and the text before."""

    def __init__(self) -> None:
        self.version = 0
        self.text = ""
        self.before = ""
        self._engines: dict[bool, Engine] = {}

    def replace(self, text: str, version: int) -> None:
        """Put a text in the place of the current one."""
        self.before, self.text, self.version = self.text, text, version
        self._engines.clear()

    def restore(self, text: str, before: str, version: int) -> None:
        """Take the state of another run."""
        self.text, self.before, self.version = text, before, version
        self._engines.clear()

    def ask(
        self, goal: str, inputs: Mapping[str, str], outputs: tuple[str, ...], *, before: bool = False
    ) -> set[Solution]:
        """Return the answers to a goal as texts; variables that it leaves open are left out."""
        goal = goal.strip().removeprefix("?-").removesuffix(".")
        given = "".join(f"{name} = {format_atom(value)}, " for name, value in inputs.items())
        try:
            answers = self._engine(before).query(f"{given}({goal})")
        except EtalisError as error:
            raise ProviderFailed(f"the goal {goal} cannot be asked: {error.problems[0].message}") from error
        if len(answers) > MOST_ANSWERS:
            raise ProviderFailed(f"the goal {goal} has more than {MOST_ANSWERS} answers")
        return {_solution(answer, outputs) for answer in answers}

    def _engine(self, before: bool) -> Engine:
        if before not in self._engines:
            self._engines[before] = compile_knowledge(self.before if before else self.text)
        return self._engines[before]


def compile_knowledge(text: str) -> Engine:
    """Return an engine that knows a text; refuse one that is no clauses."""
    import etalis

    return etalis.compile(text, name="knowledge", max_steps=SERVICE_MAX_STEPS).engine()


def _solution(answer: Mapping[str, Value], outputs: tuple[str, ...]) -> Solution:
    return tuple((name, text_of(answer[name])) for name in sorted(outputs) if name in answer)


def refuse_if_broken(text: str) -> None:
    """Refuse a text that cannot be read, with the places of its problems in that text."""
    import etalis

    problems = [problem for problem in etalis.compile(text, name="knowledge").problems if problem.is_error]
    if problems:
        raise ProgramError(*problems)
