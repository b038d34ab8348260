"""The code of conditions: numbers of 64 bits and equality of values, exact or not at all."""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.jit import part
from etalis.columnar.recursion.opcodes import (
    ABSOLUTE,
    ABSOLUTE_R,
    ADD,
    ADD_R,
    AT_MOST,
    AT_MOST_R,
    BIND,
    C_WORDS,
    CONST,
    END,
    EQUAL,
    EQUAL_R,
    EXACT,
    FALSE,
    GREATER,
    IF_NOT,
    INEXACT,
    JUMP,
    LARGE,
    LESS,
    LESS_R,
    LESSER,
    LOAD,
    MINUS_ZERO,
    NEGATE,
    NEGATE_R,
    NOT,
    NULL,
    SAME,
    SAME_R,
    SUB,
    SUB_R,
    TO_REAL,
    TRUE,
    UNLESS,
    UNLESS_NOT,
)


@part
def calculate(tape: Any, at: int, flow: Any, depth: int, calc: Any, calc_r: Any) -> Any:
    """Run the code of a condition on an instance; INEXACT where 64 bits do not hold a result, or a number is null."""
    top = -1
    while True:
        op = tape[at]
        at += 1
        if op == LOAD:
            top += 1
            calc[top] = flow[depth, C_WORDS + tape[at]]
            at += 1
        elif op == CONST:
            top += 1
            calc[top] = tape[at]
            at += 1
        elif op == BIND:
            flow[depth, C_WORDS + tape[at]] = calc[top]
            calc[top] = TRUE
            at += 1
        elif op == NOT:
            calc[top] = 1 - calc[top]
        elif op == UNLESS:  # false decides
            if calc[top] == FALSE:
                at += tape[at]
            else:
                top -= 1
                at += 1
        elif op == UNLESS_NOT:  # true decides
            if calc[top] == TRUE:
                at += tape[at]
            else:
                top -= 1
                at += 1
        elif op == IF_NOT:
            top -= 1
            at += tape[at] if calc[top + 1] == FALSE else 1
        elif op == JUMP:
            at += tape[at]
        elif op == END:
            return calc[top]
        elif op == SAME:
            top -= 1
            calc[top] = TRUE if calc[top] == calc[top + 1] else FALSE
        elif op == TO_REAL:
            if calc[top] == NULL or calc[top] > EXACT or calc[top] < -EXACT:
                return INEXACT
            calc_r[top] = float(calc[top])
        elif NEGATE <= op <= ABSOLUTE:
            if calc[top] == NULL or calc[top] == MINUS_ZERO:
                return INEXACT
            if op == NEGATE or calc[top] < 0:
                calc[top] = -calc[top]
        elif NEGATE_R <= op <= ABSOLUTE_R:
            if calc_r[top] - calc_r[top] != 0.0:
                return INEXACT
            if op == NEGATE_R or calc_r[top] < 0:
                calc_r[top] = 0.0 - calc_r[top]  # there is one zero
        elif op < ADD_R or EQUAL <= op <= AT_MOST:
            top -= 1
            p = calc[top]
            q = calc[top + 1]
            if p == NULL or q == NULL:
                return INEXACT
            if op == EQUAL:
                calc[top] = TRUE if p == q else FALSE
            elif op == LESS:
                calc[top] = TRUE if p < q else FALSE
            elif op == AT_MOST:
                calc[top] = TRUE if p <= q else FALSE
            elif op == LESSER:
                calc[top] = min(p, q)
            elif op == GREATER:
                calc[top] = max(p, q)
            else:
                about = float(p) + q if op == ADD else float(p) - q if op == SUB else float(p) * q
                if about > LARGE or about < -LARGE:
                    return INEXACT
                calc[top] = p + q if op == ADD else p - q if op == SUB else p * q
                if calc[top] == NULL:
                    return INEXACT
        else:
            top -= 1
            r = calc_r[top]
            s = calc_r[top + 1]
            if op == SAME_R:
                calc[top] = TRUE if r == s or calc[top] == calc[top + 1] else FALSE
            elif r != r or s != s:
                return INEXACT
            elif op == EQUAL_R:
                calc[top] = TRUE if r == s else FALSE
            elif op == LESS_R:
                calc[top] = TRUE if r < s else FALSE
            elif op == AT_MOST_R:
                calc[top] = TRUE if r <= s else FALSE
            else:
                calc_r[top] = r + s if op == ADD_R else r - s if op == SUB_R else r * s + 0.0
                if calc_r[top] - calc_r[top] != 0.0:
                    return INEXACT
    return INEXACT
