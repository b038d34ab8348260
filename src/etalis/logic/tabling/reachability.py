"""Who reaches whom over links that come and go: searches that are kept, and repaired at every change.

A node with one link in and one out that nobody asks for lies inside a run; a search takes a run as one step, so a chain
of 100,000 links is as small as what is asked about it. All other nodes are open. A question searches from its start, or
back from its end if that is asked for from many starts, and keeps the tree it found.
Law: a tree holds every open node that its root reaches by one link or more, with the open node it is reached from.
A new link only extends trees; a lost one takes a branch off the trees that used it, and what is reached otherwise
is put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

Node: TypeAlias = Any  # a ground term; never a dict
Tree: TypeAlias = dict[Node, Node]

_LIMIT = 2_000_000
_ROOT = 100  # what a tree counts for beside its nodes: every change looks at every tree
_INSISTENCE = 4  # an end that was asked for with so many new starts is searched back from
_SPARE = 100


class _Side:
    """One direction: the links of each node (an only one stands bare), where runs end, and the trees by root."""

    __slots__ = ("back", "links", "runs", "trees", "wanted")
    back: _Side

    def __init__(self) -> None:
        self.links: dict[Node, Any] = {}
        self.runs: dict[Node, Node] = {}  # from the node of a run that is next to an open one
        self.trees: dict[Node, Tree] = {}
        self.wanted: dict[Node, int] = {}

    def has(self, a: Node, b: Node) -> bool:
        held = self.links.get(a)
        return b in held if held.__class__ is dict else held == b

    def link(self, a: Node, b: Node) -> None:
        held = self.links.get(a)
        if held is None:
            self.links[a] = b
        elif held.__class__ is dict:
            held[b] = None
        else:
            self.links[a] = {held: None, b: None}

    def unlink(self, a: Node, b: Node) -> None:
        held = self.links[a]
        if held.__class__ is not dict:
            del self.links[a]
            return
        del held[b]
        if len(held) == 1:
            (self.links[a],) = held

    def clear(self) -> None:
        for held in (self.links, self.runs, self.trees, self.wanted):
            held.clear()


class Reachability:
    """Links as a bag, and the answers to who reaches whom."""

    __slots__ = ("_ahead", "_asked", "_behind", "_limit", "_open", "_repeated", "_size", "_spare", "_spared")

    def __init__(self, *, limit: int = _LIMIT, spare: int = _SPARE) -> None:
        self._ahead, self._behind = _Side(), _Side()
        self._ahead.back, self._behind.back = self._behind, self._ahead
        self._open: set[Node] = set()
        self._asked: set[Node] = set()
        self._spare: dict[Node, None] = {}  # open nodes that may lie inside a run again
        self._repeated: dict[tuple[Node, Node], int] = {}
        self._limit = limit
        self._spared = spare
        self._size = 0

    @property
    def size(self) -> int:
        """How much the trees count for, the limit's measure."""
        return self._size + _ROOT * (len(self._ahead.trees) + len(self._behind.trees))

    def has_compounds(self) -> bool:
        """Tell whether a node is a compound term."""
        return any(node.__class__ is tuple and node for side in (self._ahead, self._behind) for node in side.links)

    # questions

    def asker(self) -> Callable[[Node, Node], bool]:
        """Return the question "does a reach b by one link or more?" as a function; it stays right for good."""
        ahead, behind, known, learn = self._ahead.trees, self._behind.trees, self._open, self._learn

        def reaches(a: Node, b: Node) -> bool:
            tree = ahead.get(a)
            if tree is not None:
                if b in tree:
                    return True
                if b in known:
                    return False
            else:
                tree = behind.get(b)
                if tree is not None:
                    if a in tree:
                        return True
                    if a in known:
                        return False
            return learn(a, b)

        return reaches

    def _learn(self, a: Node, b: Node) -> bool:
        """Open both nodes, and search unless a tree of one of them is there."""
        ahead, behind = self._ahead, self._behind
        if a not in ahead.links or b not in behind.links:
            return False
        for node in (a, b):
            self._open_up(node)
            self._asked.add(node)
            self._spare.pop(node, None)
        if a not in ahead.trees and b not in behind.trees:
            forward = behind.wanted.get(b, 0) < _INSISTENCE * (1 + ahead.wanted.get(a, 0))
            ahead.wanted[a] = ahead.wanted.get(a, 0) + 1
            behind.wanted[b] = behind.wanted.get(b, 0) + 1
            return b in self._search(ahead, a) if forward else a in self._search(behind, b)
        tree = ahead.trees.get(a)
        return b in tree if tree is not None else a in behind.trees[b]

    def _search(self, side: _Side, root: Node) -> Tree:
        tree: Tree = {}
        for node in self._next(side, root):
            tree[node] = root
        self._spread(side, tree, list(tree))
        self._size += len(tree)
        side.trees[root] = tree
        self._shrink()
        return tree

    def _shrink(self) -> None:
        """Let the oldest trees go where all together are too large; one may be."""
        sides = (self._behind, self._ahead)
        while self.size > self._limit and sum(len(side.trees) for side in sides) > 1:
            larger = max(sides, key=lambda side: len(side.trees))
            self._size -= len(larger.trees.pop(next(iter(larger.trees))))

    def _spread(self, side: _Side, tree: Tree, front: list[Node]) -> None:
        """Add all that is reached from nodes of a tree, nearest first: shallow trees have small branches."""
        links, known, end = side.links, self._open, self._end
        for node in front:
            held = links.get(node)
            if held is None:
                continue
            for following in held if held.__class__ is dict else (held,):
                if following in tree:
                    continue
                if following not in known:
                    following = end(side, following)
                    if following in tree:
                        continue
                tree[following] = node
                front.append(following)

    # runs

    def _next(self, side: _Side, node: Node) -> Sequence[Node]:
        """Return the open nodes that are one step from an open node."""
        held = side.links.get(node)
        if held is None:
            return ()
        if held.__class__ is dict:
            return [x if x in self._open else self._end(side, x) for x in held]
        return (held if held in self._open else self._end(side, held),)

    def _end(self, side: _Side, node: Node) -> Node:
        """Return the open node at the end of a run whose first node this is."""
        end = side.runs.get(node)
        if end is None:
            _, end = self._walk(side, node)
            side.runs[node] = end
        return end

    def _walk(self, side: _Side, node: Node) -> tuple[Node, Node]:
        """Return the last node of a run and the open one behind it; the start itself if the run is a ring."""
        links, known, start = side.links, self._open, node
        following = links[node]
        while following not in known and following != start:
            node, following = following, links[following]
        return node, following

    def _open_up(self, node: Node) -> None:
        """Make a node of a run open: two runs take the place of one, also in the trees."""
        if node in self._open:
            return
        ahead, behind = self._ahead, self._behind
        last, end = self._walk(ahead, node)
        first, start = self._walk(behind, node)
        self._open.add(node)
        if end == node:
            return  # a ring that nothing open leads to
        for side, outer, near, far in ((ahead, first, start, end), (behind, last, end, start)):
            side.runs.pop(node, None)
            if outer != node:
                side.runs[outer] = node
            following = side.links[node]
            if following not in self._open:
                side.runs[following] = far
            for root, tree in side.trees.items():
                if near in tree or near == root:
                    tree[node] = near
                    self._size += 1
                    if tree.get(far) == near:
                        tree[far] = node

    def _close(self, node: Node) -> None:
        """Let an open node lie inside a run again, if nobody asks for it and it has one link in and one out."""
        ahead, behind = self._ahead, self._behind
        if node in self._asked or not all(_is_single(side, node) for side in (ahead, behind)):
            return
        last, end = self._walk(ahead, node)
        first, start = self._walk(behind, node)
        if end == node:
            return
        self._open.discard(node)
        for side, outer, near, far in ((ahead, first, start, end), (behind, last, end, start)):
            side.runs.pop(side.links[node], None)
            side.runs[outer] = far
            for tree in side.trees.values():
                if tree.pop(node, None) is not None:
                    self._size -= 1
                    if tree.get(far) == node:
                        tree[far] = near

    def _tidy(self, nodes: Iterable[Node]) -> None:
        """Note nodes that may be closed, and close all such once they are many."""
        for node in nodes:
            if node in self._open and node not in self._asked:
                self._spare[node] = None
        if len(self._spare) > self._spared + len(self._open) // 4:
            spare, self._spare = self._spare, {}
            for node in spare:
                if node in self._open:
                    self._close(node)

    # changes

    def clear(self) -> None:
        """Forget all links and all answers."""
        for side in (self._ahead, self._behind):
            side.clear()
        for held in (self._open, self._asked, self._spare, self._repeated):
            held.clear()
        self._size = 0

    def fill(self, links: Iterable[tuple[Node, Node]]) -> None:
        """Begin with many links at once."""
        self.clear()
        ahead, behind = self._ahead, self._behind
        for a, b in links:
            if ahead.has(a, b):
                self._repeated[a, b] = self._repeated.get((a, b), 0) + 1
            else:
                ahead.link(a, b)
                behind.link(b, a)
        for side in (ahead, behind):
            back = side.back.links
            for node, held in side.links.items():
                if held.__class__ is dict or node not in back:
                    self._open.add(node)

    def add(self, a: Node, b: Node) -> None:
        """Add a link and extend the trees that come by."""
        ahead, behind = self._ahead, self._behind
        if ahead.has(a, b):
            self._repeated[a, b] = self._repeated.get((a, b), 0) + 1
            return
        for node in (a, b):
            if node in ahead.links or node in behind.links:
                self._open_up(node)
            else:
                self._open.add(node)
        ahead.link(a, b)
        behind.link(b, a)
        for side, near, far in ((ahead, a, b), (behind, b, a)):
            for root, tree in side.trees.items():
                if far not in tree and (near in tree or near == root):
                    before = len(tree)
                    tree[far] = near
                    self._spread(side, tree, [far])
                    self._size += len(tree) - before
        self._shrink()
        self._tidy((a, b))

    def remove(self, a: Node, b: Node) -> None:
        """Take a link away and repair the trees that used it."""
        count = self._repeated.pop((a, b), 0)
        if count:
            if count > 1:
                self._repeated[a, b] = count - 1
            return
        ahead, behind = self._ahead, self._behind
        if not ahead.has(a, b):
            return
        for node in (a, b):
            self._open_up(node)
        ahead.unlink(a, b)
        behind.unlink(b, a)
        for side, near, far in ((ahead, a, b), (behind, b, a)):
            if near in self._next(side.back, far):
                continue  # a run leads there as well
            for root, tree in side.trees.items():
                if tree.get(far) == near:
                    before = len(tree)
                    self._mend(side, root, tree, far)
                    self._size += len(tree) - before
        for node in (a, b):
            if node not in ahead.links and node not in behind.links:
                self._forget(node)
        self._tidy((a, b))

    def _mend(self, side: _Side, root: Node, tree: Tree, lost: Node) -> None:
        """Take a branch off a tree and put back what is reached otherwise."""
        branch = [lost]
        doomed = {lost}
        for node in branch:
            if node != root:  # what hangs on the root is reached from there anyway
                for following in self._next(side, node):
                    if following not in doomed and tree.get(following) == node:
                        doomed.add(following)
                        branch.append(following)
        for node in branch:
            if node in doomed:
                for before in self._next(side.back, node):
                    if before == root or (before in tree and before not in doomed):
                        tree[node] = before
                        doomed.discard(node)
                        self._rescue(side, tree, doomed, node)
                        break
        for node in doomed:
            del tree[node]

    def _rescue(self, side: _Side, tree: Tree, doomed: set[Node], node: Node) -> None:
        """Put back what is reached from a node that is reached."""
        front = [node]
        for node in front:
            for following in self._next(side, node):
                if following in doomed:
                    doomed.discard(following)
                    tree[following] = node
                    front.append(following)

    def _forget(self, node: Node) -> None:
        """Forget a node that has lost its last link."""
        self._open.discard(node)
        self._asked.discard(node)
        self._spare.pop(node, None)
        for side in (self._ahead, self._behind):
            side.wanted.pop(node, None)
            self._size -= len(side.trees.pop(node, ()))


def _is_single(side: _Side, node: Node) -> bool:
    held = side.links.get(node)
    return held is not None and held.__class__ is not dict
