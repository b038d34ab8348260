"""Documents of SNOOP-R, broken at random: what readers must read or refuse, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from etalis.errors import EtalisError
from etalis.snoop import (
    Detector,
    Expression,
    checked,
    read_json,
    read_text,
    read_xml,
    write_json,
    write_text,
    write_xml,
)
from etalis.snoop.markup import messages_json, messages_xml
from helpers.snoop_examples import snoop_examples

PIECES = [
    "<", ">", "</argument>", "<solve>", "<literal>", '"', "'", "&#0;", "&lt;", "<!DOCTYPE x>", "]]>", "<![CDATA[",
    "{", "}", "[", "]", ",", ":", "null", "1e9999", "\\u0000", "\\ud800", "true", "NaN",
    "(", ")", "^^xsd:integer", "^^", ".", "with", "context", "opaque(", "external {", "ANY(", "SEQ(", "with X = \"1\"",
    "\x00", "\ud800", "\U0001f600", "%", "\n", "-1", "99999999999999999999", 'xmlns="urn:x"', "numberToDetect", "use",
]  # fmt: skip
SIGNALS = [
    (
        '<signals><signal operator="a" language="u" at="1"><parameter name="v" value="1"/></signal>'
        '<signal evaluation="u/1"><bindings><tuple><Variable name="X"><literal>1</literal></Variable></tuple>'
        '</bindings></signal><end evaluation="u/1"/><failure evaluation="u/1" code="c">text</failure></signals>'
    ),
    (
        '[{"operator": "a", "language": "u", "at": 1, "parameters": {"v": 1, "w": null}},'
        ' {"evaluation": "u/1", "bindings": [{"X": true}]}, {"end": {"evaluation": "u"}}]'
    ),
]
Read = Callable[[str], object]


def corpus() -> list[tuple[Read, str]]:
    """Return sound documents, each with its reader."""
    found: list[tuple[Read, str]] = [(messages_xml.read_message, SIGNALS[0]), (messages_json.read_message, SIGNALS[1])]
    for example in snoop_examples():
        if example.error is None:
            for name in example.expressions:
                expression = checked(example.read(name))
                found += [
                    (read_xml, write_xml(expression)),
                    (read_json, write_json(expression)),
                    (read_text, write_text(expression)),
                ]
    return found


def mutate(random: Random, text: str, others: list[str]) -> str:
    """Return a text with a word for another, or one to four places broken: cut, doubled, filled with something else."""
    if random.random() < 0.5:
        words, others = list(re.finditer(r"\w+", text)), re.findall(r"\w+", random.choice(others))
        word = random.choice(words)
        return text[: word.start()] + random.choice(others) + text[word.end() :]
    for _ in range(random.randint(1, 4)):
        a, b = sorted(random.randrange(len(text) + 1) for _ in range(2))
        b = min(b, a + random.choice((1, 3, 12, 60)))
        other = random.choice(others)
        start = random.randrange(len(other))
        filling = random.choice(
            ["", random.choice(PIECES), text[a:b] * 2, other[start : start + 20], chr(random.randrange(0x110000))]
        )
        text = text[:a] + filling + text[b if random.random() < 0.6 else a :]
    return text


def meet(read: Read, text: str) -> str:
    """Read a document; what is an expression is registered, signalled to and written. Return what became of it."""
    try:
        found = read(text)
    except EtalisError as error:
        return error.code
    if not isinstance(found, Expression):
        return "messages"
    detector = Detector(time="events", provided=["urn:etalis:push"])
    try:
        registration = detector.register(found)
    except EtalisError as error:
        return error.code
    expression = registration.expression
    for leaf in registration.leaves:
        if not leaf.by_id:
            parameters = {p.name: p.value or "1" for p in leaf.expression.parameters}
            detector.signal(leaf.expression.operator or "", leaf.expression.language or "", parameters, at=0)
    assert checked(read_xml(write_xml(expression))) == expression
    assert checked(read_json(write_json(expression))) == expression
    assert checked(read_text(write_text(expression))) == expression
    return "registered"
