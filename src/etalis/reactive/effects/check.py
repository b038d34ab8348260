"""Which effects of a program nobody makes: found when an engine is made, since effects are registered until then."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from etalis.errors import Problem, ProgramError, ReportWarning, Span
from etalis.language import syntax as s
from etalis.language.check.goals import indicator
from etalis.language.check.spelling import suggest
from etalis.language.traversal import actions_of, walk_action
from etalis.reactive.effects.registry import EffectRegistry


def effect_calls(tree: s.Tree) -> Iterator[tuple[str, int, Span | None]]:
    """Yield name, number of arguments and place of every effect that actions name."""
    for item in tree.items:
        for action in actions_of(item):
            for node in walk_action(action):
                if isinstance(node, s.Effect) and (key := indicator(node.call)) is not None:
                    yield *key, node.span


def refuse_unknown(tree: s.Tree, registry: EffectRegistry) -> None:
    """Refuse a program that names effects which are not registered."""
    if problems := unknown_effects(tree, registry):
        raise ProgramError(*problems)


def tell_repeated_effects(tree: s.Tree) -> None:
    """Warn that an engine which goes on from a snapshot makes effects that were made before."""
    if any(effect_calls(tree)):
        hint = "receivers that know the key make it once; with an outbox nothing is made before it is committed"
        message = "the effects of inputs since the snapshot are made again, with the same keys"
        warnings.warn(str(Problem("W801", message, hint=hint)), ReportWarning, stacklevel=5)


def unknown_effects(tree: s.Tree, registry: EffectRegistry) -> list[Problem]:
    """Return what is wrong with the effects that a program names."""
    found: dict[tuple[str, int], Problem] = {}
    names = sorted({effect.name for effect in registry})
    for name, arity, span in effect_calls(tree):
        if registry.find(name, arity) is not None or (name, arity) in found:
            continue
        if takes := registry.arities(name):
            counts = " or ".join(map(str, takes))
            message, hint = f"the effect {name} has {arity} arguments here, and is registered with {counts}", None
        else:
            message = f"the effect {name}/{arity} is not registered"
            hint = suggest(name, names, f"program.effect('{name}', function), or --effects dry")
        found[name, arity] = Problem("E802", message, span, hint)
    return list(found.values())
