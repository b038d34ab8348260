"""The report of a run of which only counts are known, as on Spark: events by kind, matches by rule.

Numbers do not tell which part of a pattern never matched, only which event never came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, assert_never

from etalis.language.reactive.constraints import tells_violation
from etalis.language.syntax import Const
from etalis.plan import algebra as p
from etalis.runtime.reporting.evidence import Kind
from etalis.runtime.reporting.never_fired import near_name, show, sources
from etalis.runtime.reporting.report import FailedGoals, Report, Silent, Unread

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram

_APART = "try some of its rows with program.detect, or etalis detect: these name the part that never matched"


def report_counts(
    program: CompiledProgram, matches: Mapping[str, int], came: Mapping[str, int] | None, unread: Mapping[str, int],
    failed: tuple[FailedGoals, ...] = (),
) -> Report:  # fmt: skip
    """Return what numbers tell: matches by rule, events by name or name/arity (None if nobody counted), unread ones."""
    heads = program.plans()
    made: dict[Kind, list[p.Head]] = {}
    for head in heads:
        made.setdefault(head.kind, []).append(head)
    read = list(dict.fromkeys((s.name, len(s.args)) for head in heads for s in sources(head.body)))
    known = tuple(show(kind) for kind in read if kind not in made)
    found = tuple(_unread(name, count, known) for name, count in unread.items() if count)
    nothing = came is not None and not found and not any(came.values())
    silent = () if nothing else tuple(_silent(program, heads, made, matches, came))
    return Report(found, silent, (), failed, nothing)


def _unread(name: str, count: int, known: tuple[str, ...]) -> Unread:
    near = near_name(name, [kind.rpartition("/")[0] for kind in known])
    meant = next((kind for kind in known if kind.rpartition("/")[0] in (name, near)), None)
    return Unread(name, None, count, meant, known)


def _silent(
    program: CompiledProgram, heads: tuple[p.Head, ...], made: Mapping[Kind, list[p.Head]], matches: Mapping[str, int],
    came: Mapping[str, int] | None,
) -> Iterator[Silent]:  # fmt: skip
    """Yield the rules that made nothing that was reported."""
    spans = {head.label: rule.span for head, rule in zip(heads, program.rules, strict=True)}
    for head, rule in zip(heads, program.rules, strict=True):
        kind = head.kind
        if tells_violation(rule):
            continue
        if matches.get(head.label) or program.is_reported(*kind) is not True:
            continue
        missing = [] if came is None else [k for k in _needed(head.body) if k not in made and not _has(k, came)]
        if missing:
            yield Silent((head.label,), show(missing[0]), f"no {show(missing[0])} came", None, spans[head.label])
        else:
            reason = "no match of it was found" if came is None else "all its events came, but never as it asks"
            yield Silent((head.label,), show(kind), reason, _APART, spans[head.label])


def _needed(node: p.Node) -> Iterator[Kind]:
    """Yield the kinds of event without which a pattern cannot match."""
    match node:
        case p.Source(name=name, args=args):
            yield name, len(args)
        case p.Union() | p.SomeOf() | p.Repetition(left=None, least=Const(value=0)):
            return
        case p.Join(alone="left", left=needed) | p.Join(alone="right", right=needed):
            yield from _needed(needed)
        case p.Tick() | p.Join() | p.Filter() | p.Repetition() | p.Fold() | p.Deadline():
            for child in p.children(node):
                yield from _needed(child)
        case _:
            assert_never(node)


def _has(kind: Kind, came: Mapping[str, int]) -> bool:
    return bool(came.get(kind[0]) or came.get(show(kind)))
