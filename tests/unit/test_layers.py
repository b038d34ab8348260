"""Imports point downwards only: what stands lower knows nothing of what stands above it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"

GROUND = {"errors", "logic", "temporal"}
MEANING = GROUND | {"language"}
MAY_IMPORT = {
    "errors": set(),
    "logic": GROUND,
    "temporal": GROUND,
    "language": GROUND,
    "semantics": MEANING,
    "plan": MEANING,
    "runtime": MEANING | {"plan"},
    "columnar": MEANING | {"plan", "runtime"},
    "timeline": GROUND,
    "lazy": set(),
    "atoms": GROUND,
    "cases": MEANING | {"atoms"},
    "outcomes": MEANING | {"atoms", "cases"},
    "formats": MEANING | {"plan", "runtime"},
    "tables": MEANING | {"plan", "runtime", "columnar", "formats"},
    "spark": MEANING | {"plan", "runtime", "columnar", "formats", "tables", "cases", "outcomes"},
    "detect": MEANING | {"plan", "runtime", "columnar", "formats", "tables", "spark"},
    "pipeline": MEANING | {"plan", "runtime", "formats", "tables", "spark"},
    "testing": MEANING | {"lazy", "semantics", "plan", "runtime", "columnar", "atoms", "cases", "outcomes", "spark"},
    "api": MEANING | {"lazy", "semantics", "plan", "runtime", "columnar", "timeline", "formats", "spark"},
    "cli": MEANING
    | {"plan", "runtime", "timeline", "formats", "tables", "spark", "pipeline", "cases", "testing", "api"},
}
API = {"__init__", "api", "program"}


def layer_of(module: str) -> str:
    """Return the layer of `etalis.x.y`; the modules of the meaning and of the command line begin with its name."""
    parts = module.split(".")
    if len(parts) == 1 or parts[1] in API:
        return "api"
    if parts[1] == "__main__":
        return "cli"
    return next((layer for layer in ("semantics", "cli") if parts[1].startswith(layer)), parts[1])


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted((SOURCE / "etalis").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, module) of every import of the package, also those inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names if alias.name.split(".")[0] == "etalis")
            case ast.ImportFrom(module="etalis", names=names):
                yield from ((node.lineno, resolve(alias.name)) for alias in names)
            case ast.ImportFrom(module=str(module)) if module.startswith("etalis."):
                yield node.lineno, module


def resolve(name: str) -> str:
    """Return what `from etalis import name` means: a module, or something of the public API."""
    folder = SOURCE / "etalis"
    is_module = (folder / f"{name}.py").exists() or (folder / name).is_dir()
    return f"etalis.{name}" if is_module else "etalis"


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=lambda x: x if isinstance(x, str) else "")
def test_imports_point_downwards(module: str, path: Path) -> None:
    layer = layer_of(module)
    allowed = MAY_IMPORT[layer] | {layer}
    wrong = [f"line {line}: {name}" for line, name in imports(path) if layer_of(name) not in allowed]
    assert not wrong, f"{module} ({layer}) may import {sorted(allowed)}, but imports {wrong}"


def test_only_relative_to_the_package_root() -> None:
    for _, path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}: write imports in full"
