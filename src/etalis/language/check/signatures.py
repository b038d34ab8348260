"""Events by name, arity and type: use against declaration, arities against each other, names that look alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from etalis.data.values import format_float
from etalis.errors import Problem
from etalis.language import syntax as s
from etalis.language.attributes import TYPES
from etalis.language.check.goals import Indicator
from etalis.language.check.outline import Outline
from etalis.language.check.spelling import Lookalikes, is_lookalike, same_words, suggest
from etalis.language.check.wording import counted, kind, listing, written
from etalis.language.reactive.constraints import VIOLATED, tells_violation
from etalis.language.traversal import Walk, names, variables

# What a variable can be at one place: each possible type with the event that says so.
Types = Mapping[str, Mapping[str, s.EventPattern]]


def check_signatures(outline: Outline) -> Iterator[Problem]:
    """Yield clashes of arity and type, wrong declarations, and names that look misspelt."""
    yield from _declaration_problems(outline)
    yield from _arity_problems(outline)
    yield from _misspelt_events(outline)
    yield from _misspelt_attributes(outline)
    if outline.declared:
        for rule in outline.rules:
            yield from _type_problems(rule, outline)


def _declaration_problems(outline: Outline) -> Iterator[Problem]:
    first: dict[str, s.EventDeclaration] = {}
    for declared in (item for item in outline.program.items if isinstance(item, s.EventDeclaration)):
        if first.setdefault(declared.name, declared) != declared:
            message = f"{declared.name} is declared twice, with different attributes"
            yield Problem("E225", message, declared.span, "keep one declaration; one name has one list of attributes")
        times = Counter(name for name, _ in declared.attributes)
        for name in (name for name, n in times.items() if n > 1):
            yield Problem(
                "E225", f"{declared.name} has two attributes named {name}", declared.span, "rename one of them"
            )
        for name, type_name in declared.attributes:
            if type_name not in TYPES:
                hint = suggest(type_name, TYPES, f"types: {listing(TYPES)}")
                yield Problem("E224", f"unknown type {type_name} of the attribute {name}", declared.span, hint)


def _occurrences(outline: Outline) -> list[s.EventPattern]:
    facts = [
        s.EventPattern(word, (s.Var("_"),) * arity, item.span)
        for item in outline.program.items
        if isinstance(item, s.KnowledgeDeclaration)
        for name, arity, remover in item.facts
        for word in (name, remover)
        if word is not None
    ]
    raised = [s.EventPattern(name, (s.Var("_"),) * arity, place) for (name, arity), place in outline.raised.items()]
    return [*facts, *(rule.head for rule in outline.derivations), *outline.used, *raised]


def _arity_problems(outline: Outline) -> Iterator[Problem]:
    declared = {name: len(d.attributes) for (name, _), d in outline.declared.items()}
    first: dict[str, int] = {}
    seen: set[Indicator] = set()
    several = {VIOLATED} if any(map(tells_violation, outline.rules)) else set()
    for pattern in sorted(_occurrences(outline), key=_position):
        name, arity = pattern.name, len(pattern.args)
        if name in several:
            continue
        usual = first.setdefault(name, arity)
        if (name, arity) in seen or (name, arity) in outline.declared:
            continue
        seen.add((name, arity))
        if name in declared:
            named = [n for n, _ in outline.declared[name, declared[name]].attributes]
            attributes = ", ".join(n[:1].upper() + n[1:] for n in named)
            message = f"{name} is declared with {counted(declared[name], 'attribute')}, here it has {arity}"
            yield Problem("E201", message, pattern.span, _write_all(name, attributes, named))
        elif arity != usual:
            message = f"{kind(name, arity)} is not the same event as {kind(name, usual)}, which is used elsewhere"
            yield Problem(
                "W201", message, pattern.span, "give both the same attributes (`_` for one that does not matter)"
            )


def _write_all(name: str, attributes: str, named: Sequence[str]) -> str:
    if not named:
        return f"write {name}"
    return f"write {name}({attributes}), `_` for what does not matter, or by name: {name}({named[0]}: X)"


def _position(pattern: s.EventPattern) -> int:
    return pattern.span.start if pattern.span is not None else 0


def _misspelt_events(outline: Outline) -> Iterator[Problem]:
    """Yield events in bodies that nothing derives or declares, where a very similar name is known."""
    made = {name for name, _ in outline.made}
    times = Counter([pattern.name for pattern in outline.used])
    first: dict[str, s.EventPattern] = {}
    for pattern in outline.used:
        first.setdefault(pattern.name, pattern)
    if first.keys() <= made:
        return
    order = {name: i for i, name in enumerate(first)}
    lookalikes = Lookalikes(made | first.keys())
    variants = {same_words(name): name for name in sorted(made, reverse=True)}
    for name, pattern in first.items():
        if name in made:
            continue
        rank = (times[name], -order[name])
        likely = [n for n in lookalikes.of(name) if n in made or (times[n], -order[n]) > rank]
        if not likely and same_words(name) in variants:
            likely = [variants[same_words(name)]]
        if likely:
            best = min(likely, key=lambda n: (n not in made, n))
            which = "is" if best in made else "also occurs and is"
            message = f"no rule derives {name} and no declaration names it, but {best} {which} almost the same name"
            yield Problem("W204", message, pattern.span, f"did you mean {best}?")


def _misspelt_attributes(outline: Outline) -> Iterator[Problem]:
    """Yield attributes that only patterns name, where one looks like another of the same event."""
    for declared in (item for item in outline.declared.values() if item.implied):
        before: list[str] = []
        for name, _ in declared.attributes:
            near = next((other for other in before if is_lookalike(name, other)), None)
            if near is not None:
                message = f"{declared.name} has the attributes {near} and {name}, which are almost the same name"
                hint = f"did you mean {near}? If both exist, declare the event"
                yield Problem("W204", message, declared.span, hint)
            before.append(name)


def _type_problems(rule: s.Rule, outline: Outline) -> Iterator[Problem]:
    found: list[Problem] = []
    body = variable_types(outline.walk(rule), outline, found)[id(rule.pattern)]
    _join(body, _typed(rule.head, outline, found), found)
    return iter(found)


def variable_types(walk: Walk, outline: Outline, found: list[Problem]) -> dict[int, Types]:
    """Return the declared types of the variables at every node, by the node's id; clashes are added to `found`."""

    def combine(node: s.Pattern, parts: tuple[Types, ...]) -> Types:
        match node:
            case s.EventPattern():
                return _typed(node, outline, found)
            case s.Or() | s.AnyOf():
                return _either(parts)
            case s.Negation() | s.NotWithin():
                _join(parts[0], parts[1], found)
                return parts[0]
            case s.Aggregate(value=value):
                hidden = frozenset() if value is None else names(variables(value))
                return {name: types for name, types in parts[0].items() if name not in hidden}
            case _:
                joined: Types = {}
                for part in parts:
                    joined = _join(joined, part, found)
                return joined

    return walk.fold(combine)


def typed_event(event: s.EventPattern, outline: Outline) -> list[Problem]:
    """Return what is wrong with the types of an event that is raised."""
    found: list[Problem] = []
    _typed(event, outline, found)
    return found


def _typed(pattern: s.EventPattern, outline: Outline, found: list[Problem]) -> Types:
    """Return the declared types of the variables of one event; report constants of another type."""
    declared = outline.declared.get((pattern.name, len(pattern.args)))
    if declared is None:
        return {}
    types: Types = {}
    for (attribute, expected), term in zip(declared.attributes, pattern.args, strict=True):
        if isinstance(term, s.Var):
            types = _join(types, {term.name: {expected: pattern}}, found)
        elif not fits(expected, term):
            message = (
                f"{attribute} of {kind(pattern.name, len(pattern.args))} is declared {expected}, {written(term)} is not"
            )
            found.append(Problem("E202", message, term.span or pattern.span, _other_spelling(expected, term)))
    return types


def fits(expected: str, term: s.Term) -> bool:
    """Tell whether a constant or a term can be a value of a declared type."""
    match expected, term:
        case _, s.Const(value="null"):
            return True
        case "int", s.Const(value=int()):
            return True
        case "float", s.Const(value=float()):
            return True
        case "string", s.Const(value=str()):
            return True
        case "bool", s.Const(value="true" | "false"):
            return True
        case "time", s.Const(value=int() | float()) | s.Compound():
            return True
        case "int" | "float" | "string" | "bool" | "time", _:
            return False
        case _:
            return True


def _other_spelling(expected: str, term: s.Term) -> str | None:
    match expected, term:
        case "float", s.Const(value=int() as n):
            return f"write {n}.0: an integer and a float are never equal"
        case "int", s.Const(value=float() as x) if x.is_integer():
            return f"write {int(x)}: an integer and a float are never equal"
        case "string", s.Const(value=int() | float()):
            return f'write "{written(term)}"'
        case "bool", _:
            return "write true or false"
        case "time", _:
            return "write seconds"
        case "int", s.Const(value=float() as x):
            return f"no integer equals {format_float(x)}; declare the attribute float"
        case _, s.Compound() | s.ListTerm():
            return "declare the attribute term"
        case _:
            return None


def _either(parts: tuple[Types, ...]) -> Types:
    total: dict[str, dict[str, s.EventPattern]] = {}
    for part in parts:
        for name, types in part.items():
            total.setdefault(name, {}).update(types)
    return total


def _join(a: Types, b: Types, found: list[Problem]) -> Types:
    """Return the types that variables can have on both sides; report those that have none."""
    total = dict(a)
    for name, types in b.items():
        if name not in total:
            total[name] = types
            continue
        common = {t: e for t, e in types.items() if any(compatible(t, other) for other in total[name])}
        if common:
            total[name] = common
        else:
            found.append(_clash(name, total[name], types))
    return total


def compatible(a: str, b: str) -> bool:
    """Tell whether values of two declared types can be equal."""
    if a == b or {"term", "any"} & {a, b}:
        return True
    return "time" in (a, b) and not {a, b} & {"string", "bool"}


def _clash(name: str, a: Mapping[str, s.EventPattern], b: Mapping[str, s.EventPattern]) -> Problem:
    (type_a, event_a), (type_b, event_b) = next(iter(a.items())), next(iter(b.items()))
    place = next((v.span for v in variables(*event_b.args) if v.name == name), event_b.span)
    sides = f"{type_a} in {kind(event_a.name, len(event_a.args))}, {type_b} in {kind(event_b.name, len(event_b.args))}"
    hint = "use two variables, or correct a declaration"
    if {type_a, type_b} == {"int", "float"}:
        hint = "use two variables and compare them: where A =:= B"
    return Problem("E203", f"{name} can never be equal on both sides: {sides}", place, hint)
