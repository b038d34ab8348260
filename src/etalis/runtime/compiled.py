"""A compiled program as back ends see it: checked text, settings, plans, knowledge; `etalis.Program` is for hosts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar, overload

from etalis.data.uncollected import uncollected
from etalis.data.values import Value
from etalis.errors import Problem, ProgramError
from etalis.language.attributes import Signature
from etalis.language.check.checks import check_rules, check_text, findings, in_order
from etalis.language.check.effects import CalledNames, refuse_effects
from etalis.language.check.outline import Outline
from etalis.language.flags import Settings, settings
from etalis.language.given_tree import read_tree
from etalis.language.goal_limits import host_limits
from etalis.language.outer.strata import MadeAtom, find_levels, find_stages
from etalis.language.reactive.reach import done, has_effects
from etalis.language.reactive.reactions import refuse_uncorrected
from etalis.language.reactive.sagas import begins_to_wait, written_out
from etalis.language.read.imports import Reader
from etalis.language.read.modules import resolve
from etalis.language.rules import declarations, event_rules, running_rules
from etalis.language.skipping import skip_broken as skip_broken_clauses
from etalis.language.syntax import Const, Item, Raise, Reaction, Rule, SetFlag, Tree, Trigger
from etalis.language.traversal import actions_of
from etalis.logic.host import Clock
from etalis.logic.knowledge.foreign import read_register
from etalis.logic.knowledge.loaders import LoadedRows
from etalis.logic.machine.database import Key
from etalis.logic.rdf.plain_names import PlainNames
from etalis.logic.solver import Solver
from etalis.plan import algebra as p
from etalis.plan.explain.text import Explanation, explain_rules
from etalis.plan.named_attributes import name_attributes
from etalis.plan.rules import plan_rules
from etalis.plan.types import asks_knowledge
from etalis.reactive.effects.registry import EffectRegistry
from etalis.runtime.codegen.conditions import Conditions
from etalis.runtime.knowledge import Knowledge
from etalis.runtime.rdf_graphs import Graphs
from etalis.runtime.reporting.program_warnings import OPEN, tell_warnings
from etalis.runtime.state import Reported
from etalis.runtime.triggers import find_reported
from etalis.temporal.relation import relations

NOTHING: Mapping[str, Any] = MappingProxyType({})
T = TypeVar("T")


def compile_text(
    text: str, name: str, read: Reader, folder: str | None = None, *, flags: Mapping[str, object] = NOTHING,
    register: Mapping[str, Callable[..., Any]] = NOTHING, strict: bool = False, skip_broken: bool = False,
) -> CompiledProgram:  # fmt: skip
    """Read and check a program's text; `read` finds what it imports, `folder` is where its own file would be."""
    added = read_register(register)
    skipped: list[Problem] = []
    with uncollected():
        if skip_broken:
            sound = skip_broken_clauses(text, name, read=read, folder=folder, given=frozenset(added))
            tree, problems, skipped = sound.program, sound.problems, sound.skipped
        else:
            tree, problems = check_text(text, name, read=read, folder=folder, given=frozenset(added))
        program = compile_tree(tree, problems, flags=flags, strict=strict)
    program.name = name
    program.skipped = tuple(skipped)
    program.knowledge.register(added.values())
    tell_warnings((problem for problem in problems if problem.code not in OPEN), strict=strict)
    return program


def compile_given(
    given: Tree | Iterable[Item], name: str, *, flags: Mapping[str, object] = NOTHING,
    register: Mapping[str, Callable[..., Any]] = NOTHING, strict: bool = False,
) -> CompiledProgram:  # fmt: skip
    """Check a program that is given as a syntax tree, or as the items of one."""
    added = read_register(register)
    items = given.items if isinstance(given, Tree) else tuple(given)
    policy = flags.get("event_consumption_policy")
    if isinstance(policy, str):  # by which an `any` is judged
        items = (*items, SetFlag("event_consumption_policy", Const(policy)))
    with uncollected():
        tree, missing = resolve(read_tree(items, name))
        problems = in_order([*missing, *findings(tree, frozenset(added))])
        program = compile_tree(tree, problems, flags=flags, strict=strict)
    program.name = name
    program.knowledge.register(added.values())
    tell_warnings((problem for problem in problems if problem.code not in OPEN), strict=strict)
    return program


def compile_tree(
    tree: Tree, problems: Sequence[Problem], *, flags: Mapping[str, object] = NOTHING, strict: bool = False
) -> CompiledProgram:
    """Return a program whose problems are known; raise those that are errors."""
    errors = [problem for problem in problems if problem.is_error]
    if errors:
        raise ProgramError(*errors)
    program = CompiledProgram(tree, tuple(problems), settings(tree, flags), strict=strict)
    if program.settings.corrects:
        refused = [*refuse_effects(tree, program.settings), *refuse_uncorrected(Outline(tree), program.settings)]
        refused += program.refuse_later("where matches are taken back")
        if refused:
            raise ProgramError(*refused)
    return program


_MOST_RECALLED = 32  # answers of a program, for tables of different columns


def _is_key(key: object) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _is_known_by(key: object, known: Mapping[Any, Any]) -> bool:
    return _is_key(key) and key in known


class of_tree(Generic[T]):  # noqa: N801 - it stands for a property
    """A property of a program that its tree alone decides: found once for all copies of the program."""

    def __init__(self, find: Callable[[Any], T]) -> None:
        self.find = find
        self.__doc__ = find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, program: None, owner: type) -> of_tree[T]: ...

    @overload
    def __get__(self, program: CompiledProgram, owner: type) -> T: ...

    def __get__(self, program: CompiledProgram | None, owner: type) -> of_tree[T] | T:
        """Return what was found before, or find it."""
        if program is None:
            return self
        known = program.found_of_tree
        if self.name not in known:
            known[self.name] = self.find(program)
        found: T = known[self.name]
        return found


class CompiledProgram:
    """A checked program, and the knowledge that the host adds to it."""

    def __init__(self, tree: Tree, problems: tuple[Problem, ...], settings: Settings, *, strict: bool = False) -> None:
        self.written = tree
        self.tree = tree = written_out(tree)
        self.name = "<program>"  # by which keys of effects and outboxes know it
        self.settings = settings
        self.rules: tuple[Rule, ...] = running_rules(tree)
        self.reactions: tuple[Reaction, ...] = tuple(item for item in tree.items if isinstance(item, Reaction))
        self.knowledge = Knowledge(tree)
        self.graphs = Graphs()
        self.effect_registry = EffectRegistry()
        self.skipped: tuple[Problem, ...] = ()  # the errors of clauses that were left out
        self.background: frozenset[Value] = frozenset()  # predicates of RDF that no stream may have
        self.plain_names: PlainNames | None = None  # of queries in the original's dialect: how streams name terms
        self.read_background: Callable[[Any], Mapping[Key, LoadedRows]] | None = None  # of queries: that of a source
        self._problems = problems
        self._strict = strict
        self._told: set[Problem] = set()  # one for all copies
        self._plans: dict[tuple[Settings, bool], tuple[p.Head, ...]] = {}
        self.found_of_tree: dict[str, Any] = {}  # one for all copies
        self.found_of_rules: dict[Hashable, Any] = {}  # what back ends keep; one for all copies with the same rules

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The warnings, without those that added knowledge answers."""
        return self.knowledge.unanswered(self._problems)

    def tell_unknown(self) -> None:
        """Warn, once, of predicates that nothing defines: now that the program runs, nothing more will."""
        if all(problem.code not in OPEN or problem in self._told for problem in self._problems):
            return
        found = [problem for problem in self.problems if problem.code in OPEN and problem not in self._told]
        if not self._strict:
            self._told.update(found)
        tell_warnings(found, strict=self._strict)

    def once(self, name: str, find: Callable[[CompiledProgram], T]) -> T:
        """Return what others find in the program's tree; it is found once for all copies."""
        if name not in self.found_of_tree:
            self.found_of_tree[name] = find(self)
        found: T = self.found_of_tree[name]
        return found

    def decided(self, key: Hashable, heads: Sequence[p.Head], decide: Callable[[], T]) -> T:
        """Return what is decided of planned rules for a table; it is decided anew where the knowledge decides, too."""
        if _is_known_by(key, self.found_of_rules.get("of tables", {})) or not asks_knowledge(heads):
            return self.recalled(key, decide)
        return decide()

    def _of_rules(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return what the rules and the key alone decide; it is found once for all copies with the same rules."""
        if key not in self.found_of_rules:
            self.found_of_rules[key] = find()
        found: T = self.found_of_rules[key]
        return found

    @of_tree
    def signatures(self) -> Mapping[str, Signature]:
        """Names and types of attributes, by event: declared, or implied by the names that patterns give them."""
        return {name: d.attributes for (name, _), d in declarations(self.tree).items()}

    @of_tree
    def implied(self) -> frozenset[str]:
        """The events whose attributes have names because patterns name them, and no order of their own."""
        return frozenset(name for (name, _), d in declarations(self.tree).items() if d.implied)

    @property
    def attributes(self) -> dict[tuple[str, int], tuple[str, ...]]:
        """Names of attributes, by kind of event: declared, of those that rules make also as heads name them."""
        return self._of_rules("attributes", self._find_attributes)

    def _find_attributes(self) -> dict[tuple[str, int], tuple[str, ...]]:
        declared = {kind: tuple(a for a, _ in d.attributes) for kind, d in declarations(self.tree).items()}
        return {**declared, **name_attributes((rule.head for rule in self.rules if not rule.hidden), declared)}

    def settings_under(self, policy: str | None) -> Settings:
        """Return the settings, with another consumption policy if one is given; refuse one that does not exist."""
        if policy is None or policy == self.settings.policy:
            return self.settings
        if policy not in self.found_of_tree.setdefault("policies", set()):
            settings(self.tree, {"event_consumption_policy": policy})
            self.found_of_tree["policies"].add(policy)
        return replace(self.settings, policy=policy)

    def recalled(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return what was found for some table before, or find it; what the rules and the key alone decide.

        It is found anew where an option is no key: a list, or something that is refused.
        """
        known = self.found_of_rules.setdefault("of tables", {})
        if _is_known_by(key, known):
            before: T = known[key]
            return before
        found = find()
        if _is_key(key):
            if len(known) >= _MOST_RECALLED:
                known.clear()
            known[key] = found
        return found

    def plans(self, policy: str | None = None, *, parts: bool = False) -> tuple[p.Head, ...]:
        """Return the plans of the rules, which are made once; with `parts` they keep the inputs' numbers."""
        wanted = self.settings_under(policy), parts
        if wanted not in self._plans:
            self._plans[wanted] = plan_rules(self.rules, wanted[0], parts=parts)
        return self._plans[wanted]

    def taking(self, places: Sequence[int]) -> CompiledProgram:
        """Return a program with some of the rules, which keep the names that they have by their places."""
        part = copy(self)
        part.rules = tuple(replace(self.rules[i], label=self.rules[i].label or str(i + 1)) for i in places)
        part._plans, part.found_of_rules = {}, {}
        return part

    def solver(self, output: Callable[[str], object], clock: Clock) -> Solver:
        """Return a fresh logic machine over the program's knowledge."""
        return Solver(self.knowledge.database(), host_limits(self.settings), output=output, clock=clock)

    @of_tree
    def called(self) -> CalledNames:
        """What the program's goals name."""
        return CalledNames.of(self.tree)

    @property
    def effects(self) -> tuple[str, ...]:
        """The side effects of the program's goals, in words."""
        return self.called.effects

    @of_tree
    def around_rules(self) -> Tree:
        """The program without its event rules: what rules that come at run time are read and checked with."""
        return Tree(tuple(item for item in self.tree.items if not isinstance(item, Rule)), self.tree.span)

    @of_tree
    def event_rules(self) -> tuple[Rule, ...]:
        """The rules of the program that derive events."""
        return event_rules(self.tree)

    @of_tree
    def made_kinds(self) -> frozenset[tuple[str, int]]:
        """The kinds of the events that the rules make."""
        return frozenset((rule.head.name, len(rule.head.args)) for rule in self.event_rules)

    @property
    def made_levels(self) -> Mapping[MadeAtom, int]:
        """The levels of the events that all rules of the program make (language/outer/strata.py)."""
        named = self.settings.relations
        return self._of_rules(("levels", named), lambda: find_levels(self.event_rules, relations(named))[1])

    @property
    def made_stages(self) -> Mapping[MadeAtom, int]:
        """The stages of the events that all rules of the program make."""
        named = self.settings.relations
        return self._of_rules(("stages", named), lambda: find_stages(self.event_rules, relations(named))[1])

    @property
    def acts_on_run(self) -> bool:
        """Whether goals may raise events or change rules."""
        return self.called.acts_on_run

    @property
    def reads_clock(self) -> bool:
        """Whether goals may ask what time it is."""
        return self.called.reads_clock

    @of_tree
    def triggers(self) -> tuple[Trigger, ...]:
        """What says which events are reported."""
        return tuple(item for item in self.tree.items if isinstance(item, Trigger))

    def is_reported(self, name: str, arity: int, conditions: Conditions | None = None) -> Reported:
        """Tell which events of a kind are reported: all of a head, or those that the triggers name."""
        return find_reported(self.triggers, name, arity, conditions)

    def refuse_reactions(self, where: str) -> Iterator[Problem]:
        """Yield the refusals of the program's reactions by what cannot run them."""
        hint = "use reporting(on_watermark) for late events, and an engine for reactions"
        for reaction in self.reactions:
            name = "a reaction" if reaction.label is None else f"the reaction {reaction.label}"
            yield Problem("E290", f"{name} cannot run {where}", reaction.span, hint)

    def refuse_later(self, where: str) -> Iterator[Problem]:
        """Yield the reactions that do something later, which a correction does not find."""
        outline = Outline(self.tree)
        for reaction in self.reactions:
            several = [node for action in actions_of(reaction) for node in done(action, outline)]
            if any(isinstance(node, Raise) and node.after is not None for node in several):
                name = "a reaction" if reaction.label is None else f"the reaction {reaction.label}"
                hint = "use reporting(on_watermark) for late events; or raise at once, and let an alarm follow"
                yield Problem("E290", f"{name} waits, or raises later, which cannot be {where}", reaction.span, hint)

    def refuse_taking_back(self, where: str) -> Iterator[Problem]:
        """Yield the reactions that wait, where effects are made and nothing takes them back if the wait ends."""
        outline = Outline(self.tree)
        for reaction in self.reactions:
            if begins_to_wait(reaction) and any(has_effects(action, outline) for action in actions_of(reaction)):
                name = "a reaction" if reaction.label is None else f"the reaction {reaction.label}"
                hint = "wait in an engine, or raise an event and let a second reaction make the effects"
                yield Problem("E290", f"{name} waits, and nothing {where} takes effects back", reaction.span, hint)

    def check_rules(self, rules: Iterable[Rule]) -> None:
        """Check rules that come at run time beside those the program has."""
        errors = [problem for problem in check_rules(self.around_rules, rules) if problem.is_error]
        if errors:
            raise ProgramError(*errors)

    def explanation(self, policy: str | None) -> Explanation:
        """Return the plans of the rules, as they are shown."""
        return explain_rules(self.tree, self.plans(policy), self.is_reported, sharing=self.settings.sharing)


class HasCompiled(Protocol):
    """A program as the host has it."""

    @property
    def compiled(self) -> CompiledProgram:
        """What back ends run."""
