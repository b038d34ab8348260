"""The code of conditions: numbers of 64 bits and equality of values, exact or not at all."""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.jit import part
from etalis.columnar.recursion import opcodes as t


@part
def calculate(tape: Any, at: int, flow: Any, depth: int, calc: Any, calc_r: Any) -> Any:
    """Run the code of a condition on an instance; INEXACT where 64 bits do not hold a result, or a number is null."""
    top = -1
    while True:
        op = tape[at]
        at += 1
        if op == t.LOAD:
            top += 1
            calc[top] = flow[depth, t.C_WORDS + tape[at]]
            at += 1
        elif op == t.CONST:
            top += 1
            calc[top] = tape[at]
            at += 1
        elif op == t.BIND:
            flow[depth, t.C_WORDS + tape[at]] = calc[top]
            calc[top] = t.TRUE
            at += 1
        elif op == t.NOT:
            calc[top] = 1 - calc[top]
        elif op == t.UNLESS:  # false decides
            if calc[top] == t.FALSE:
                at += tape[at]
            else:
                top -= 1
                at += 1
        elif op == t.UNLESS_NOT:  # true decides
            if calc[top] == t.TRUE:
                at += tape[at]
            else:
                top -= 1
                at += 1
        elif op == t.IF_NOT:
            top -= 1
            at += tape[at] if calc[top + 1] == t.FALSE else 1
        elif op == t.JUMP:
            at += tape[at]
        elif op == t.END:
            return calc[top]
        elif op == t.SAME:
            top -= 1
            calc[top] = t.TRUE if calc[top] == calc[top + 1] else t.FALSE
        elif op == t.TO_REAL:
            if calc[top] == t.NULL or calc[top] > t.EXACT or calc[top] < -t.EXACT:
                return t.INEXACT
            calc_r[top] = float(calc[top])
        elif t.NEGATE <= op <= t.ABSOLUTE:
            if calc[top] == t.NULL or calc[top] == t.MINUS_ZERO:
                return t.INEXACT
            if op == t.NEGATE or calc[top] < 0:
                calc[top] = -calc[top]
        elif t.NEGATE_R <= op <= t.ABSOLUTE_R:
            if calc_r[top] - calc_r[top] != 0.0:
                return t.INEXACT
            if op == t.NEGATE_R or calc_r[top] < 0:
                calc_r[top] = 0.0 - calc_r[top]  # there is one zero
        elif op < t.ADD_R or t.EQUAL <= op <= t.AT_MOST:
            top -= 1
            p = calc[top]
            q = calc[top + 1]
            if p == t.NULL or q == t.NULL:
                return t.INEXACT
            if op == t.EQUAL:
                calc[top] = t.TRUE if p == q else t.FALSE
            elif op == t.LESS:
                calc[top] = t.TRUE if p < q else t.FALSE
            elif op == t.AT_MOST:
                calc[top] = t.TRUE if p <= q else t.FALSE
            elif op == t.LESSER:
                calc[top] = min(p, q)
            elif op == t.GREATER:
                calc[top] = max(p, q)
            else:
                about = float(p) + q if op == t.ADD else float(p) - q if op == t.SUB else float(p) * q
                if about > t.LARGE or about < -t.LARGE:
                    return t.INEXACT
                calc[top] = p + q if op == t.ADD else p - q if op == t.SUB else p * q
                if calc[top] == t.NULL:
                    return t.INEXACT
        else:
            top -= 1
            r = calc_r[top]
            s = calc_r[top + 1]
            if op == t.SAME_R:
                calc[top] = t.TRUE if r == s or calc[top] == calc[top + 1] else t.FALSE
            elif r != r or s != s:
                return t.INEXACT
            elif op == t.EQUAL_R:
                calc[top] = t.TRUE if r == s else t.FALSE
            elif op == t.LESS_R:
                calc[top] = t.TRUE if r < s else t.FALSE
            elif op == t.AT_MOST_R:
                calc[top] = t.TRUE if r <= s else t.FALSE
            else:
                calc_r[top] = r + s if op == t.ADD_R else r - s if op == t.SUB_R else r * s + 0.0
                if calc_r[top] - calc_r[top] != 0.0:
                    return t.INEXACT
    return t.INEXACT
