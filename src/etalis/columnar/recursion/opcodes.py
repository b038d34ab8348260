"""The numbers of the machine: what stands where in its tables, and what the numbers there mean.

`lowering` writes the tables, `machine` and its parts (`stores`, `rounds`, `calculator`) read them. An instance is a row
of words, its end points first; so is an event, with its kind, rule and turn. Lists of any length stand in one tape,
their length first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# What the machine knows between two calls, by place in `reg`.
(
    MODE, ROW, ROUND, HIGH, AT, LEAF, DEPTH, NODE, TEST, ANSWER, NOW, MADE, EVENTS, FREE_ROW, ROWS, FREE_BUCKET,
    BUCKETS, KEYS, SEEN, EPOCH, LIVE, TURN, EVENT, LAST_ROW, SINCE, REGISTERS,
) = range(26)  # fmt: skip
NEXT, OFFER, UP, TESTING, PROBE, BACK = range(6)  # modes
DONE, MORE_ROWS, MORE_BUCKETS, MORE_EVENTS, MORE_SEEN, WANTS_RANKS, ASKS, TOO_MANY = range(8)  # why it stops

# Nodes: what they are, who reads them, their tests; then what joins have, or where sources have their checks and moves.
SOURCE, JOIN, FILTER, UNION = range(4)
INPUT, HEAD, BLOCKER = range(3)
(
    KIND, READER, READ_BY, PLACE, LIFT, TESTS, WIDTH, SELECT, CONSUME, KEEP, OCCURS, WITHIN, RETAIN, RETAIN_RIGHT,
    RELATION, KEY_OF, KEY_OF_RIGHT, MERGE, MERGE_RIGHT, CHECKS, MOVES, NODE_FIELDS,
) = range(22)  # fmt: skip
OF_ARRIVED, OF_WAITING, END_OF_LEFT, START_OF_RIGHT, NOTHING = range(5)  # where a merge takes a word from
VALUE, PLACE_OF, NO_VALUE = range(3)  # what an attribute must equal
WINDOW, CODE, ASK, ABSENT = range(4)  # tests
T_KIND, T_AT, T_STORE, T_KEY, T_WHERE, T_FIRST, T_LAST, T_WINDOW, T_KEEP, T_OWN, TEST_FIELDS = range(11)
GAP, INSIDE, BEFORE = range(3)
F_JOIN, F_SIDE, F_Y, F_NEXT, F_BUCKET, F_MATCHED, F_WIDTH, FRAME_FIELDS = range(8)
B_STORE, B_HASH, B_LISTS, B_KEY = 0, 1, 2, 6
E_KIND, E_START, E_END, E_RULE, E_TURN, E_WORDS = range(6)
C_START, C_END, C_WORDS = range(3)
WHOLE, REAL, TEXT = range(3)  # types of words

NULL = -0x7EDCBA9876543211  # the word of a null among integers
MINUS_ZERO = -(1 << 63)  # the word of -0.0, which equals 0.0
SEED = 0x1E3779B97F4A7C15

(
    LOAD, CONST, TO_REAL, ADD, SUB, MUL, LESSER, GREATER, NEGATE, ABSOLUTE, ADD_R, SUB_R, MUL_R, NEGATE_R, ABSOLUTE_R,
    SAME, EQUAL, LESS, AT_MOST, SAME_R, EQUAL_R, LESS_R, AT_MOST_R, NOT, UNLESS, IF_NOT, UNLESS_NOT, JUMP, BIND, END,
) = range(30)  # fmt: skip
CALC = 64  # how many words a calculation may hold
EXACT = 1 << 53
LARGE = float(1 << 62)
TRUE, FALSE, INEXACT = 1, 0, 2


class MachineCode(NamedTuple):
    """The program: nodes, tests, heads and kinds of events, a row each, and lists of any length in one tape."""

    nodes: Any
    tests: Any
    heads: Any
    kinds: Any
    tape: Any


class Registers(NamedTuple):
    """What is under way: registers, a stack of instances and of frames, and room for a calculation and a key."""

    reg: Any
    flow: Any
    frames: Any
    calc: Any
    calc_r: Any
    key: Any


class Memory(NamedTuple):
    """What waits: rows of words, their neighbours in lists, buckets of lists, and an open table of those."""

    cells: Any
    links: Any
    buckets: Any
    table: Any


class Events(NamedTuple):
    """Events as rows of words, their order, those `seen` at this stamp, and the ranks of texts."""

    rows: Any
    order: Any
    seen: Any
    ranks: Any
