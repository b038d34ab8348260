"""No import cycles, counting imports inside functions and those for types: what is in a cycle is read as one piece.

`KNOWN` counts, by package, the modules that are still in one; the numbers may only go down.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"

KNOWN = {"columnar": 2, "engine": 1, "pipeline": 2, "program": 1, "runtime": 2, "spark": 5}


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules that a module imports anywhere; `from a import b` may mean the module `a.b`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in modules else node.module for name in inner)


def import_graph() -> dict[str, set[str]]:
    """Return which modules a module imports."""
    paths = {module_name(path): path for path in (SOURCE / "etalis").rglob("*.py")}
    return {name: set(imported(path, paths)) & paths.keys() - {name} for name, path in paths.items()}


def in_cycles(graph: Mapping[str, set[str]]) -> list[str]:
    """Return the modules that import themselves by way of others."""

    def reached(name: str) -> set[str]:
        found, waiting = set(graph[name]), list(graph[name])
        while waiting:
            new = graph[waiting.pop()] - found
            found |= new
            waiting.extend(new)
        return found

    return sorted(name for name in graph if name in reached(name))


def test_no_module_imports_itself_by_way_of_others() -> None:
    found = in_cycles(import_graph())
    counts = Counter(name.split(".")[1] for name in found)
    assert {package: count for package, count in counts.items() if count > KNOWN.get(package, 0)} == {}, found


def test_a_cycle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set[str](), "e": {"a"}}
    assert in_cycles(graph) == ["a", "b", "c"]
