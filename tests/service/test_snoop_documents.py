"""Broken documents of SNOOP-R are refused with a code, or mean something; nothing else happens."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from helpers.snoop_mutations import corpus, meet, mutate


def met(seed: int, count: int) -> Counter[str]:
    random, documents = Random(seed), corpus()
    texts = [text for _, text in documents]
    found: Counter[str] = Counter()
    for _ in range(count):
        read, text = random.choice(documents)
        found[meet(read, mutate(random, text, texts))] += 1
    return found


def test_sound_documents_are_registered() -> None:
    assert {meet(read, text) for read, text in corpus()} <= {"registered", "messages"}


def test_broken_documents_are_refused() -> None:
    found = met(seed=1, count=400)
    assert found["registered"] > 20
    assert {code[:3] for code in found} <= {"E87", "E88", "E89", "reg", "mes"}
    assert len(found) > 8


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_broken_documents_are_refused(seed: int) -> None:
    assert {code[:3] for code in met(seed, 2_000)} <= {"E87", "E88", "E89", "reg", "mes"}
