"""Terms of justifications as the graph terms that the manual's viewer, uDraw(Graph), reads (003, sections 6.19, 6.20).

A node is `l("id", n("kind", [a("OBJECT", "text")], [edges]))`, an edge `e("", [], node)`, and a node that stands
elsewhere `r("id")`. All walks are loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from etalis.logic.terms.unify import LIST, Term, deref, split_list
from etalis.why import justification as j
from etalis.why import why_not as w
from etalis.why.forms.attempt_term import why_not_term
from etalis.why.forms.manual_form import open_term
from etalis.why.forms.term_form import justification_term, term_text
from etalis.why.printable import form


@form("Justification", "udraw")
def write_justification_udraw(found: j.Justification) -> str:
    """Write a justification as a graph."""
    return udraw_text(justification_term(found.root))


@form("WhyNot", "udraw")
def write_why_not_udraw(found: w.WhyNot) -> str:
    """Write why an event did not occur as a graph."""
    return udraw_text(why_not_term(found))


def udraw_text(term: Term) -> str:
    """Write the term of a justification as a graph."""
    pieces: list[str] = []
    places: dict[str, int] = {}  # the number of an event that has its parts below it
    todo: list[Any] = ["]", (term,), "["]
    count = 0
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        text, children = _node(item[0])
        if children is None and text in places:
            pieces.append(f'r("{places[text]}")')
            continue
        count += 1
        if children:
            places.setdefault(text.partition(" = ")[0], count)
        pieces.append(f'l("{count}",n("",[a("OBJECT","{_quoted(text)}")],[')
        edges: list[Any] = []
        for child in children or ():
            edges += [*([","] if edges else ()), 'e("",[],', (child,), ")"]
        todo.extend(reversed([*edges, "]))"]))
    return "".join(pieces)


def _node(term: Term) -> tuple[str, Sequence[Term] | None]:
    """Return the text of a node and the terms below it; None if they stand elsewhere."""
    match open_term(term):
        case ("justification", _, ("head", event, times), "default"):
            return _event(event, times), ()
        case ("justification", _, ("head", event, times), "shared"):
            return _event(event, times), None
        case ("justification", _, ("head", event, times), "failed"):
            return f"failed {_event(event, times)}", ()
        case ("justification", _, ("head", event, times), ("failed", *parts)):
            return f"failed {_event(event, times)}", parts
        case ("justification", _, ("head", event, times), ("justification", *_) as body):
            return _event(event, times), (body,)
        case ("justification", _, ("head", event, times), (name, *parts)):
            return f"{_event(event, times)} = {name}", parts
        case (_, *_) as found if found[0] == LIST:
            return "failed forall rules", split_list(found)[0]
        case (str() as name, *parts) if name != "prolog" and any(isinstance(deref(part), tuple) for part in parts):
            return name, parts
        case other:
            return term_text(other), ()


def _event(event: Term, times: Term) -> str:
    return f"{term_text(event)} {term_text(times)}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
