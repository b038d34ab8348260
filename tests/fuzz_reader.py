"""Feeds random and mutated texts to the reader: each must end in a tree or in an EtalisError, and soon.

A tree must also read back from its printed form. Usage: python tests/fuzz_reader.py --count 200000 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from etalis.errors import EtalisError
from etalis.language.printer import print_program
from etalis.language.read.parser import parse_collect, parse_event, parse_rule, parse_term

PROGRAMS = Path(__file__).parent / "unit" / "language" / "programs"
LIMIT = 1.0  # seconds of this process's time for one text
TOKENS = """
a b hit(X) p(X,Y) f(g(X),[1,2|T]) X _ _Y 'q_q' "s" `b` 1 2.5 1.0e10 0x1F 0'a 0\'\'\' 16'FF 1_000 1r3 -1 - + * / \\ ^ **
= \\= == < > =< >= is =.. -> *-> ; | , . ( ) [ ] { } {} [] ! <- <- ← iff :- ?- --> : rule: 'rule:' rule label
seq SEQ 'Seq' and or par # /\\ \\/ cnot fnot not NOT( NOT(c).[a,b] NOT(c)[a,b] during starts finishes meets equals
forall_seq ntimes star_times where WHERE check timestamp event_multiply within 5 last do iso( any(2,[a,b,c])
aggregate(sum(X),p(X),S) prolog(g(X)) db(f) (not c within 3) (sub<-a) exceptionAlarm(e,1)
exceptionAlarmAbsoluteDatetime(e,T) print_trigger(a/1). event_rule_property(r,window,1). :-op(700,xfx,~>).
on action always constraint state key requires never before after next if else undo do OR PAR
ins(p(X)) del(q(_)) set(r(X,Y)) raise(e(X)) raise(e,after(1 h)) effect(f(X)) iso( possible( impossible(
await(a within 5) skip abort subject_to happens(ins(p)) never(del(p)) (p->ins(q);skip) (p->
10 min 1h30min h d MIN 1.5 us ms week month PT10M P1DT2H PT0.5S within_ :-op(700,xfx,s).
:-event(a(x:int)). :-dynamic :-table a/1 :-import export from ⊗ ∧ ≤ \\+ @< mod xor .7 % /* */ ' " \\x41\\
""".split()  # noqa: SIM905 - a list of this length says less
CHARS = "abzXYZ_019 \n\t'\"`\\.,;:|!()[]{}<>-=+*/^#@&$~?%éÄ日←\x00\u2028\ufeff"


def random_characters(rng: random.Random, corpus: list[str]) -> str:
    return "".join(rng.choices(CHARS, k=rng.randrange(1, 120)))


def random_tokens(rng: random.Random, corpus: list[str]) -> str:
    gap = rng.choice([" ", " ", "", "\n"])
    return gap.join(rng.choices(TOKENS, k=rng.randrange(1, 40))) + rng.choice([".", ".\n", " .", ""])


def random_rule(rng: random.Random, corpus: list[str]) -> str:
    """Return something that is a rule more often than not."""
    events = [
        "a",
        "b(X)",
        "c(1,_)",
        "(d or e)",
        "7",
        "NOT(c).[a,b]",
        "iso(a seq b)",
        "(not c within 2)",
        "prolog(p(X))",
    ]
    words = ["seq", "and", "or", "par", "cnot", "during", "SEQ", "forall_seq", "fnot", "#", "*"]
    tails = ["", " where X > 1", " within 5", " do (p, q)", " star_times", " ntimes 3", " check t1(T)", ".7", " last 2"]
    parts = [rng.choice(events)]
    for _ in range(rng.randrange(6)):
        right = rng.choice(events)
        parts.append(f"{rng.choice(words)} {right if rng.random() < 0.7 else f'({right}{rng.choice(tails)})'}")
    return f"hit(X) <- {' '.join(parts)}{rng.choice(tails)}.\n"


def random_reaction(rng: random.Random, corpus: list[str]) -> str:
    """Return something that is a clause of reactive rules more often than not."""

    def action(depth: int) -> str:
        steps = [
            "ins(p(X))",
            "del(q(_, X))",
            "raise(e(X), after(5))",
            "effect(f)",
            "X > 1",
            "p(X)",
            "skip",
            "(X+1)*2 < Y",
        ]
        forms = [
            "iso({})",
            "possible({})",
            "({})",
            "({} -> {} ; {})",
            "impossible({})",
            "({})",
            "{} subject_to never(ins(p))",
        ]
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(steps)
        if rng.random() < 0.5:
            form = rng.choice(forms)
            return form.format(*(action(depth - 1) for _ in range(form.count("{}"))))
        return (
            f"{action(depth - 1)} {rng.choice(['seq', 'par', 'or', ',', ';', 'SEQ', '->', 'and'])} {action(depth - 1)}"
        )

    several = [action(rng.randrange(5)) for _ in range(3)]
    clause = rng.choice(
        [
            "on a(X) seq b do {}.",
            "r rule: on a(X) if p(X), X > 1 do {} else {} undo {}.",
            "action act(X) :- {}.",
            "on (a within 5) do {} undo {}.",
            "on a do {} else.",
            "constraint c: a(X) requires b(X) after within 5.",
            "always {}.",
        ]
    )
    return clause.format(*several) + "\n"


def nested(rng: random.Random, corpus: list[str]) -> str:
    opening, closing = rng.choice(
        [
            ("(", ")"),
            ("[", "]"),
            ("f(", ")"),
            ("iso(", ")"),
            ("{", "}"),
            ("NOT(", ").[a,b]"),
            ("- ", ""),
            ("possible(", ")"),
            ("(p -> ", " ; q)"),
            ("q or (", ")"),
            ("(x,", "-> y;z)"),
        ]
    )
    depth = rng.randrange(1, 400)
    start = rng.choice(["h <- ", "h :- ", ":- ", "", "on a do ", "action b :- ", "on "])
    return f"{start}{opening * depth}a{closing * (depth - rng.randrange(2))}."


def mutated(rng: random.Random, corpus: list[str]) -> str:
    """Return a program with some characters or pieces changed."""
    text = rng.choice(corpus)
    if len(text) > 600:
        start = rng.randrange(len(text) - 500)
        text = text[start : start + 500]
    for _ in range(rng.randrange(1, 6)):
        at, length = rng.randrange(len(text) + 1), rng.randrange(1, 12)
        piece = rng.choice(
            [rng.choice(TOKENS), rng.choice(CHARS), "", text[at : at + length] * 2, rng.choice(corpus)[:40]]
        )
        text = text[:at] + piece + text[at + rng.choice([0, 1, length]) :]
    return text


MAKERS: tuple[Callable[[random.Random, list[str]], str], ...] = (
    random_characters, random_tokens, random_rule, random_reaction, nested, mutated, mutated, mutated,
)  # fmt: skip


def attempt(text: str) -> str:
    """Read a text in every way; return `tree` or `error`, or raise what should not happen."""
    for read in (parse_term, parse_event, parse_rule):
        try:
            read(text)
        except EtalisError as error:
            str(error)
    program, problems = parse_collect(text)
    for problem in problems:
        str(problem)
    printed = print_program(program)
    again, wrong = parse_collect(printed)
    if wrong or again != program:
        raise AssertionError(f"printed form reads differently: {printed!r} {wrong}")
    return "error" if problems else "tree"


def main() -> int:
    """Run the texts; print the figures; return 1 if one of them misbehaved."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=2000)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    rng = random.Random(chosen.seed)
    corpus = [path.read_text(encoding="utf-8") for path in sorted(PROGRAMS.glob("*.event"))]
    counts = {"tree": 0, "error": 0, "failed": 0}
    slowest = 0.0
    for number in range(chosen.count):
        text = rng.choice(MAKERS)(rng, corpus)
        start = time.process_time()
        try:
            counts[attempt(text)] += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
            counts["failed"] += 1
            print(f"text {number}: {type(error).__name__}: {error}\n{text!r}")
        spent = time.process_time() - start
        slowest = max(slowest, spent)
        if spent > LIMIT:
            counts["failed"] += 1
            print(f"text {number} took {spent:.1f} s\n{text!r}")
    print(f"{chosen.count} texts, seed {chosen.seed}: {counts}, slowest {slowest * 1000:.0f} ms")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
