"""The rooms and layers of the package: few modules per folder, and imports that point downwards only.

Imports inside functions, for types only, and by name (`import_module`, `import_lazily`) count like all others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
ROOM = 16  # modules in one folder
TWICE = {"Change", "Client", "Source"}  # of a case and of knowledge; who asks and what asks; of a text and of a plan

GROUND = {"errors", "data", "logic", "temporal"}
LANGUAGE = GROUND | {"language"}
REACTIVE = LANGUAGE | {"reactive"}
ENGINE = REACTIVE | {"plan", "runtime"}
COLUMNS = ENGINE | {"columnar", "formats"}
TABLES = COLUMNS | {"tables"}
CASES = {"cases"}
MAY_IMPORT = {
    "errors": set(),
    "lazy": set(),
    "data": {"errors"},
    "logic": {"errors", "data", "temporal"},
    "temporal": {"errors", "data"},
    "language": GROUND,
    "reactive": LANGUAGE,
    "semantics": REACTIVE,
    "epsparql": LANGUAGE,
    "plan": REACTIVE,
    "runtime": ENGINE,
    "columnar": ENGINE,
    "formats": ENGINE,
    "tables": COLUMNS,
    "cases": LANGUAGE,
    "why": ENGINE | {"semantics", "lazy"},
    "pictures": LANGUAGE | {"plan", "why"},
    "spark": TABLES | CASES | {"why"},
    "detect": TABLES,
    "api": TABLES | {"lazy", "detect", "spark", "why", "pictures", "epsparql"},
    "pipeline": TABLES | {"spark"},
    "snoop": LANGUAGE | {"runtime", "plan", "api"},
    "service": TABLES | {"why", "pictures", "epsparql", "api", "snoop", "lazy"},
    "client": {"errors", "lazy", "data", "temporal", "api"},
    "shell": TABLES | {"why", "pictures", "api", "client", "service", "lazy"},
    "testing": COLUMNS | CASES | {"lazy", "semantics", "spark", "api"},
    "cli": TABLES
    | CASES
    | {
        "why",
        "pictures",
        "spark",
        "pipeline",
        "testing",
        "api",
        "detect",
        "epsparql",
        "snoop",
        "service",
        "client",
        "shell",
    },
}
API = {"__init__", "program", "engine", "asked_engine", "sparql", "effects"}


def layer_of(module: str) -> str:
    """Return the layer of `etalis.x.y`."""
    parts = module.split(".")
    if len(parts) == 1 or parts[1] in API:
        return "api"
    return "cli" if parts[1] == "__main__" else parts[1]


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted((SOURCE / "etalis").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, module) of every import of the package."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names if alias.name.split(".")[0] == "etalis")
            case ast.ImportFrom(module="etalis", names=names):
                yield from ((node.lineno, resolve(alias.name)) for alias in names)
            case ast.ImportFrom(module=str(module)) if module.startswith("etalis."):
                yield node.lineno, module
            case ast.Call(func=ast.Name(id="import_module" | "import_lazily")):
                yield from named(node)


def named(call: ast.Call) -> Iterator[tuple[int, str]]:
    """Yield (line, module) of every module that the arguments of a call name."""
    for node in ast.walk(call):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_module(node.value):
            yield node.lineno, node.value


def is_module(name: str) -> bool:
    """Tell whether a text names a module of the package."""
    if not name.startswith("etalis.") or not all(part.isidentifier() for part in name.split(".")):
        return False
    path = SOURCE.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def resolve(name: str) -> str:
    """Return what `from etalis import name` means: a module, or something of the public API."""
    return f"etalis.{name}" if is_module(f"etalis.{name}") else "etalis"


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=lambda x: x if isinstance(x, str) else "")
def test_imports_point_downwards(module: str, path: Path) -> None:
    layer = layer_of(module)
    allowed = MAY_IMPORT[layer] | {layer}
    wrong = [f"line {line}: {name}" for line, name in imports(path) if layer_of(name) not in allowed]
    assert not wrong, f"{module} ({layer}) may import {sorted(allowed)}, but imports {wrong}"


def test_a_room_has_few_modules() -> None:
    folders = {path.parent for _, path in modules()}
    sizes = {folder: len([p for p in folder.glob("*.py") if p.name != "__init__.py"]) for folder in folders}
    assert {str(f.relative_to(SOURCE)): n for f, n in sizes.items() if n > ROOM} == {}


def test_a_public_class_has_a_name_of_its_own() -> None:
    found: dict[str, list[str]] = {}
    for module, path in modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(module)
    assert {name: several for name, several in found.items() if len(several) > 1 and name not in TWICE} == {}


def test_every_room_says_what_it_is_for() -> None:
    inits = [path for _, path in modules() if path.name == "__init__.py"]
    assert [str(p) for p in inits if ast.get_docstring(ast.parse(p.read_text(encoding="utf-8"))) is None] == []


def test_imports_are_written_in_full() -> None:
    for _, path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}: write imports in full"
