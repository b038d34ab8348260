"""Which left sides leave with their first partner, though nothing is consumed: all later matches would be the same.

`a(K) seq b(K) seq c(K)` under `unrestricted`: of the pairs of one `a` only the first can make a match that no other
makes. Law: what follows sees of such a pair no more than values and bounds of its left side, and when it ended, which
is the earlier the better; it tells a match from none, and not one from two.
"""

from __future__ import annotations

from etalis.plan import algebra as p
from etalis.plan.rewrite.conjuncts import are_harmless
from etalis.runtime.codegen.joins.stores import JoinStores
from etalis.runtime.codegen.network import PlannedRule, Wired


def leaves_with_first(stores: JoinStores, entry: Wired) -> bool:
    """Tell whether a left side of a join has no use for a second partner."""
    node, reader = entry.node, entry.readers[0]
    if not _is_free_sequence(node) or not all(isinstance(t, p.Window | p.Prefilter | p.Absent) for t in p.tests(node)):
        return False
    if len(entry.readers) != 1 or (reader.kind, reader.place) != ("input", 0):
        return False
    return (
        _shows_left_alone(stores, entry)
        and _is_free_sequence(reader.target.node)
        and not stores.join_keys(reader.target).gathers
        and _counts_nothing(reader.target)
    )


def _is_free_sequence(node: p.Node) -> bool:
    """Tell whether a node is a sequence that takes all there is, and consumes nothing."""
    if not isinstance(node, p.Join) or node.policy.restricts:
        return False
    return node.relation.sequential and node.alone is None and not node.is_apart


def _shows_left_alone(stores: JoinStores, entry: Wired) -> bool:
    """Tell whether a pair shows no more than its left side, and what both sides have in common."""
    keys = stores.join_keys(entry)
    if keys.gathers:
        return False
    left, right = (stores.carried(entry, place) for place in (0, 1))
    own = {v for v in left if v not in right or v in keys.shared} | {"$first"}
    return own.issuperset(entry.node.exports) and not any(v[0] == "$" and v != "$first" for v in entry.node.exports)


def _counts_nothing(entry: Wired) -> bool:
    """Tell whether all that becomes of the matches of an entry is events, which occur once."""
    if not are_harmless(p.tests(entry.node)):
        return False
    for reader in entry.readers:
        if reader.kind == "head":
            rule: PlannedRule = reader.target
            if rule.head.actions or rule.head.alarm is not None:
                return False
        elif reader.kind == "input":
            node = reader.target.node
            is_free = isinstance(node, p.Union | p.Filter) or _is_free_sequence(node)
            if not is_free or not _counts_nothing(reader.target):
                return False
    return True
