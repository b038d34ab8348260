"""Mistakes of a first hour, each at another door, and the sentence that names the remedy."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import etalis

BRUTE = "brute(User) <- (failed(User) seq failed(User) seq login(User)) within 1 min."
EVENTS = ["failed", "failed", "login"]


def program(text: str = BRUTE) -> etalis.Program:
    return etalis.compile(text)


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"at": [0, 5, 9], "event": EVENTS, "user": ["bob"] * 3} | columns)


def late() -> None:
    engine = program().engine()
    engine.push("failed", "bob", at=10)
    engine.push("login", "bob", at=3)


def not_closed() -> str:
    engine = program("late(O) <- order(O) seq (not paid(O) within 10 min).").engine()
    engine.push("order", "o1", at=0)
    return str(engine.report())


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "the name of a file for its text": (lambda: etalis.compile("fraud.etalis"), "call etalis.compile_file"),
    "a program for an engine": (lambda: program().push("failed", at=1), "program.engine().push"),  # type: ignore[attr-defined]
    "a row for a name": (lambda: program().engine().push(("failed", "bob", 1)), "rows are accepted by run([row])"),  # type: ignore[arg-type]
    "a frame for rows": (lambda: list(program().engine().run(frame())), "tables: detect(table)"),
    "no time": (lambda: program().engine().push("failed", "bob"), "give `at=` with the event"),
    "milliseconds for seconds": (
        lambda: program().detect(frame(at=[1767225600000, 1767225605000, 1767225609000])),
        "is it in milliseconds?",
    ),
    "a column of another name": (lambda: program().detect(frame().rename(columns={"at": "when"})), 'time="..."'),
    "another case": (lambda: program().detect(frame(event=["Failed", "Failed", "login"])), "rules read failed/1"),
    "a late push": (late, "let events come late: flags out_of_order"),
    "an absence that is never due": (not_closed, "advance(to=...) or close()"),
    "facts for nobody": (lambda: program().load_facts("vip", [("bob",)]), "facts vip/1 are called by no goal"),
    "no rules": (lambda: program("% " + BRUTE), "there are no rules"),
}


@pytest.mark.parametrize(("make", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_answered(make: Callable[[], object], sentence: str, caplog: pytest.LogCaptureFixture) -> None:
    said: list[str] = []
    with caplog.at_level(logging.WARNING), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            said.append(str(make()))
        except (etalis.EtalisError, AttributeError) as error:
            said.append(str(error))
    assert sentence in "\n".join([*said, *(str(each.message) for each in heard), caplog.text])
