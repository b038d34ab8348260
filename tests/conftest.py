"""Tiers and profiles: a test that names no tier has that of its folder, else `fast`; a profile sets the examples."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
TIERS = ("property", "jit", "docs", "spark", "browser", "postgres", "service", "nightly")
FOLDERS = {
    "properties": "property",
    "spark": "spark",
    "browser": "browser",
    "postgres": "postgres",
    "service": "service",
}

_COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
settings.register_profile("dev", _COMMON, max_examples=200)
settings.register_profile("test", _COMMON, max_examples=200, derandomize=True, database=None)
settings.register_profile("nightly", _COMMON, max_examples=50_000)
settings.load_profile("dev")
gc.set_threshold(10_000)  # tests make engines by the thousand, and the collector would walk each of them several times


@pytest.fixture(autouse=True, scope="session")
def over_columns() -> Iterator[None]:
    """Let small tables go over columns, kernels compiled or not: what tests give to `detect` is to test columns."""
    if find_spec("pyarrow") is None:
        yield
        return
    module = import_module("etalis.detect")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SMALL", 0)
        yield


def pytest_collection_finish() -> None:
    """Keep the collector from walking what was imported and collected, which stays: a million objects each time."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # for the last collection: behind it modules in C++ tell of what is still held


def usual_tier(path: Path) -> str:
    return FOLDERS.get(path.relative_to(HERE).parts[0], "fast")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over a file that has no test of the chosen tiers: to import all of them takes ten seconds."""
    chosen = config.option.markexpr.split(" or ")
    if collection_path.suffix != ".py" or not {*chosen} <= {"fast", *TIERS}:
        return None
    usual, text = usual_tier(collection_path), collection_path.read_text()
    return None if any(tier == usual or f"mark.{tier}" in text for tier in chosen) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        named = [tier for tier in TIERS if item.get_closest_marker(tier)]
        if len(named) > 1:
            raise pytest.UsageError(f"{item.nodeid} is in the tiers {' and '.join(named)}: it would run twice")
        if not named:
            item.add_marker(usual_tier(item.path))
