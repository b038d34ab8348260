"""Files that import each other become one flat program, names apart per file (003, section 4.3; definition 21.1).

The main file's names stay as they are. In an imported file every event, predicate and label `x` becomes `module:x`,
module being the base name of the file, except what the main file imports, which keeps its plain name. Law: renaming
is one-to-one, so two files that use the same name never meet by accident; spans go on pointing into their own file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from etalis.errors import EtalisError, Problem, ProgramError, Span
from etalis.language.check.spelling import suggest
from etalis.language.check.wording import kind, listing
from etalis.language.named_attributes import place_attributes
from etalis.language.read.imports import Reader, read_below, read_file, read_nothing
from etalis.language.read.parser import parse_collect
from etalis.language.read.renaming import rename_items
from etalis.language.syntax import EventDeclaration, Export, Import, Item, SetFlag, Tree
from etalis.logic.tabling.components import number_components

Indicator = tuple[str, int]
EXTENSIONS = (".event", ".etalis")


def load(source: str | Path, *, read: Reader | None = None) -> Tree:
    """Return the program of a text, or of a file given as a `Path`, with all that it imports; raise its problems."""
    program, problems = load_collect(source, read=read)
    errors = [problem for problem in problems if problem.is_error]
    if errors:
        raise ProgramError(*errors)
    return program


def load_collect(source: str | Path, *, read: Reader | None = None) -> tuple[Tree, list[Problem]]:
    """Return the program of a text or `Path` with all that it imports, and the problems of parsing and importing."""
    if isinstance(source, Path):
        name, text = str(source), (read or read_file)(str(source))
        reader = read or read_below(source.parent)
    else:
        name, text, reader = "program", source, read or read_nothing
    if text is None:
        return Tree(()), [Problem("E220", f"there is no file {name}", hint="check the name and the folder")]
    program, problems = parse_collect(text, name)
    whole, more = resolve(program, reader)
    return whole, [*problems, *more]


def resolve(program: Tree, read: Reader = read_nothing, folder: str | None = None) -> tuple[Tree, list[Problem]]:
    """Return a program with the files that it imports put in front of it, attributes in place, and the problems met.

    Its own imports are looked up from a folder, that of its name if none is given.
    """
    problems: list[Problem] = []
    if any(isinstance(item, Import) for item in program.items):
        files = _Files(read, folder)
        files.collect(program)
        problems = files.problems + list(_cycle_problems(files)) + list(_name_problems(files))
        program = _flatten(files, problems)
    placed, wrong = place_attributes(program)
    return placed, [*problems, *wrong]


@dataclass
class _Files:
    """The files met so far: their programs, and which import leads to which file."""

    read: Reader
    folder: str | None
    programs: dict[str, Tree] = field(default_factory=dict)
    targets: dict[str, list[tuple[Import, str]]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    sources: dict[str, dict[Indicator, str]] = field(default_factory=dict)
    main: str = ""

    def collect(self, program: Tree) -> None:
        """Read the imported files, and what they import, each once."""
        self.main = _source_name(program)
        self.programs[self.main] = program
        waiting = [self.main]
        while waiting:
            importer = waiting.pop(0)
            for item in self.programs[importer].items:
                if isinstance(item, Import):
                    found = self._fetch(item, importer)
                    if found is not None:
                        path, new = found
                        self.targets.setdefault(importer, []).append((item, path))
                        waiting += [path] if new else []

    def _fetch(self, item: Import, importer: str) -> tuple[str, bool] | None:
        """Return the path that an import means and whether it is new; report a missing file."""
        given = self.folder if importer == self.main else None
        wanted = os.path.normpath(os.path.join(os.path.dirname(importer) if given is None else given, item.file))
        candidates = [wanted, *(wanted + extension for extension in EXTENSIONS)]
        for path in candidates:
            if path in self.programs:
                return path, False
        for path in candidates:
            try:
                text = self.read(path)
            except EtalisError as error:
                self.problems += [Problem(p.code, p.message, item.span, p.hint) for p in error.problems]
                return None
            if text is not None:
                self.programs[path], problems = parse_collect(text, path)
                self.problems += problems
                return path, True
        hint = (
            f"looked for {listing(candidates, 'and')}; a file is looked up from the folder of the file that imports it"
        )
        self.problems.append(Problem("E220", f"there is no file {item.file} to import", item.span, hint))
        return None

    def exports(self, path: str) -> frozenset[Indicator]:
        items = self.programs[path].items
        return frozenset(name for item in items if isinstance(item, Export) for name in item.names)

    def source(self, path: str) -> dict[Indicator, str]:
        """Return the file that each imported name of a file comes from."""
        if path not in self.sources:
            found = {name: target for _, name, target in self.imports(path) if name in self.exports(target)}
            self.sources[path] = found
        return self.sources[path]

    def find_arity(self, path: str, name: str) -> int:
        """Return how many attributes an event has that a file uses by their names: as imported, declared, exported."""
        items = self.programs[path].items
        declared = ((item.name, len(item.attributes)) for item in items if isinstance(item, EventDeclaration))
        kinds = (*self.source(path), *declared, *sorted(self.exports(path)))
        return next((arity for known, arity in kinds if known == name), 0)

    def imports(self, path: str) -> Iterator[tuple[Import, Indicator, str]]:
        """Yield what a file imports, name by name, with where from."""
        for item, target in self.targets.get(path, ()):
            for name in item.names:
                yield item, name, target


def _source_name(program: Tree) -> str:
    for node in (program, *program.items):
        if node.span is not None:
            return node.span.source.name
    return ""


def _cycle_problems(files: _Files) -> Iterator[Problem]:
    after = {path: [target for _, target in files.targets.get(path, ())] for path in files.programs}
    component = number_components(after)
    for path in files.programs:
        for item, target in files.targets.get(path, ()):
            if component[path] == component[target]:
                ring = [p for p in files.programs if component[p] == component[path]]
                message = (
                    f"files import each other in a circle: {listing(ring)}"
                    if len(ring) > 1
                    else "the file imports itself"
                )
                yield Problem("E222", message, item.span, "move what both need into a file of its own")


def _name_problems(files: _Files) -> Iterator[Problem]:
    for path in files.programs:
        origins: dict[Indicator, str] = {}
        for item, name, target in files.imports(path):
            exported = files.exports(target)
            if name not in exported:
                yield _not_exported(item, name, target, exported)
            elif _origin(files, target, name) != _origin(files, origins.setdefault(name, target), name):
                message = f"{kind(*name)} is imported from {origins[name]} and from {target}"
                yield Problem("E229", message, item.span, "import it once; rename one of the two in its own file")


def _not_exported(item: Import, name: Indicator, target: str, exported: frozenset[Indicator]) -> Problem:
    otherwise = f"add `:- export {kind(*name)}.` to {target}"
    arities = [kind(*e) for e in sorted(exported) if e[0] == name[0]]
    hint = f"it exports {arities[0]}" if arities else suggest(name[0], {n for n, _ in exported}, otherwise)
    return Problem("E221", f"{target} does not export {kind(*name)}", item.span, hint)


def _origin(files: _Files, path: str, name: Indicator) -> tuple[str, Indicator]:
    """Follow imports to the file that a name belongs to; the last import of a name in a file counts."""
    seen: set[str] = set()
    while path not in seen:
        seen.add(path)
        source = files.source(path).get(name)
        if source is None:
            break
        path = source
    return path, name


def _module_names(files: _Files) -> Mapping[str, str]:
    """Return the name of each file as a module: its base name, with the folder where two files share one."""
    bases = {path: os.path.splitext(os.path.basename(path))[0] for path in files.programs}
    counts = list(bases.values())
    return {path: base if counts.count(base) == 1 else os.path.splitext(path)[0] for path, base in bases.items()}


def _flatten(files: _Files, problems: list[Problem]) -> Tree:
    modules = _module_names(files)
    plain = {_origin(files, target, name) for _, name, target in files.imports(files.main)}
    items: list[Item] = []
    for path in [*(p for p in files.programs if p != files.main), files.main]:

        def renamed(name: str, arity: int | None, path: str = path) -> str:
            kind = (name, files.find_arity(path, name) if arity is None else arity)
            owner, _ = origin = _origin(files, path, kind)
            return name if owner == files.main or origin in plain else f"{modules[owner]}:{name}"

        label = "" if path == files.main else f"{modules[path]}:"
        kept = [item for item in files.programs[path].items if not isinstance(item, Import)]
        if path != files.main:
            problems += [_flag_ignored(item.name, item.span) for item in kept if isinstance(item, SetFlag)]
            kept = [item for item in kept if not isinstance(item, SetFlag | Export)]
        items += rename_items(kept, renamed, label)
    return Tree(tuple(items), files.programs[files.main].span)


def _flag_ignored(name: str, span: Span | None) -> Problem:
    hint = "set it in the main file, or give the rules properties"
    return Problem("W213", f"the flag {name} is set in an imported file and has no effect", span, hint)
