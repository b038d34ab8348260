"""Association lists: balanced trees from keys to values, `t` or `t(Key, Value, Height, Left, Right)`.

Law: an AVL tree; a path in one is never longer than `_MAX_HEIGHT`, so what is deeper was not made here and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from etalis.logic.machine.clauses import Key
from etalis.logic.machine.machine import Code, Frame, Machine, Test
from etalis.logic.terms.arguments import bound, proper_list
from etalis.logic.terms.iso_errors import domain_error, type_error
from etalis.logic.terms.order import compare
from etalis.logic.terms.unify import Term, deref, make_list, unify

Args = tuple[Term, ...]
_EMPTY = "t"
_MAX_HEIGHT = 64


def _node(tree: Term) -> tuple[Term, Term, int, Term, Term] | None:
    """Return the parts of a tree, None of the empty one."""
    tree = bound(tree)
    if tree == _EMPTY:
        return None
    if not (isinstance(tree, tuple) and len(tree) == 6 and tree[0] == _EMPTY and isinstance(deref(tree[3]), int)):
        raise type_error("assoc", tree)
    return tree[1], tree[2], deref(tree[3]), tree[4], tree[5]


def _height(tree: Term) -> int:
    node = _node(tree)
    return 0 if node is None else node[2]


def _join(key: Term, value: Term, left: Term, right: Term) -> Term:
    """Return a tree of two parts whose heights differ by two at most, balanced."""
    difference = _height(left) - _height(right)
    if difference > 1:
        left = _lean(left, left_side=True)
        node = _node(left)
        assert node is not None
        return _make(node[0], node[1], node[3], _make(key, value, node[4], right))
    if difference < -1:
        right = _lean(right, left_side=False)
        node = _node(right)
        assert node is not None
        return _make(node[0], node[1], _make(key, value, left, node[3]), node[4])
    return _make(key, value, left, right)


def _lean(tree: Term, *, left_side: bool) -> Term:
    """Rotate a tree whose inner part is the higher one, so that its outer part is."""
    node = _node(tree)
    assert node is not None
    key, value, _, left, right = node
    inner = _node(right if left_side else left)
    if inner is None or _height(left) == _height(right) or (_height(left) > _height(right)) == left_side:
        return tree
    if left_side:
        return _make(inner[0], inner[1], _make(key, value, left, inner[3]), inner[4])
    return _make(inner[0], inner[1], inner[3], _make(key, value, inner[4], right))


def _make(key: Term, value: Term, left: Term, right: Term) -> Term:
    return (_EMPTY, key, value, max(_height(left), _height(right)) + 1, left, right)


def _insert(tree: Term, key: Term, value: Term, machine: Machine) -> Term:
    """Return a tree with a value put under a key: down along a path, and back up."""
    path: list[tuple[tuple[Term, Term, int, Term, Term], int]] = []
    node = _node(tree)
    while node is not None:
        sign = compare(key, node[0], machine.trail)
        if not sign:
            break
        path.append((node, sign))
        if len(path) > _MAX_HEIGHT:
            raise type_error("assoc", tree)
        node = _node(node[3] if sign < 0 else node[4])
    result = _make(key, value, _EMPTY, _EMPTY) if node is None else (_EMPTY, key, value, *node[2:])
    for (k, v, _, left, right), sign in reversed(path):
        result = _join(k, v, result, right) if sign < 0 else _join(k, v, left, result)
    machine.trail.charge(len(path))
    return result


def _items(tree: Term, machine: Machine) -> Iterator[tuple[Term, Term]]:
    """Yield keys and values in order."""
    waiting: list[tuple[Term, Term, Term]] = []
    node = _node(tree)
    while node is not None or waiting:
        while node is not None:
            waiting.append((node[0], node[1], node[4]))
            if len(waiting) > _MAX_HEIGHT:
                raise type_error("assoc", tree)
            node = _node(node[3])
        key, value, right = waiting.pop()
        machine.trail.charge(1)
        yield key, value
        node = _node(right)


def _from_list(machine: Machine, args: Args) -> bool:
    """`list_to_assoc(Pairs, Assoc)`; a key may stand once only."""
    tree: Term = _EMPTY
    seen = 0
    for item in proper_list(args[0], machine):
        pair = bound(item)
        if not (isinstance(pair, tuple) and len(pair) == 3 and pair[0] == "-"):
            raise type_error("pair", pair)
        tree = _insert(tree, pair[1], pair[2], machine)
        seen += 1
    if sum(1 for _ in _items(tree, machine)) < seen:
        raise domain_error("unique_key_pairs", args[0])
    return unify(args[1], tree, machine.trail)


def _put(machine: Machine, args: Args) -> bool:
    """`put_assoc(Key, Assoc, Value, NewAssoc)`."""
    return unify(args[3], _insert(args[1], args[0], args[2], machine), machine.trail)


def _get(machine: Machine, args: Args) -> bool:
    """`get_assoc(Key, Assoc, Value)`."""
    node, steps = _node(args[1]), 0
    while node is not None:
        sign = compare(args[0], node[0], machine.trail)
        if not sign:
            return unify(args[2], node[1], machine.trail)
        steps += 1
        if steps > _MAX_HEIGHT:
            raise type_error("assoc", deref(args[1]))
        node = _node(node[3] if sign < 0 else node[4])
    return False


def _listed(machine: Machine, args: Args) -> bool:
    pairs = make_list(("-", key, value) for key, value in _items(args[0], machine))
    return unify(args[1], pairs, machine.trail)


def _keys(machine: Machine, args: Args) -> bool:
    return unify(args[1], make_list(key for key, _ in _items(args[0], machine)), machine.trail)


def _values(machine: Machine, args: Args) -> bool:
    return unify(args[1], make_list(value for _, value in _items(args[0], machine)), machine.trail)


def _generate(machine: Machine, args: Args, cont: Frame) -> Frame | None:
    """`gen_assoc(Key, Assoc, Value)`."""
    pairs = [("-", key, value) for key, value in _items(args[1], machine)]
    return machine.choose(("-", args[0], args[2]), pairs, cont)


ASSOC_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        ("empty_assoc", 1): lambda machine, args: unify(args[0], _EMPTY, machine.trail),
        ("list_to_assoc", 2): _from_list,
        ("put_assoc", 4): _put,
        ("get_assoc", 3): _get,
        ("assoc_to_list", 2): _listed,
        ("assoc_to_keys", 2): _keys,
        ("assoc_to_values", 2): _values,
    }
)
ASSOC_CODES: Mapping[Key, Code] = MappingProxyType({("gen_assoc", 3): _generate})
