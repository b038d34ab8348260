"""Messages as XML documents; a `signals` document is several messages in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from etalis.errors import DocumentError, Problem
from etalis.snoop.detection.results import Contribution
from etalis.snoop.markup.json_form import MOST_PROBLEMS
from etalis.snoop.markup.xml_document import XmlDocument, child, children, make, name_of, write
from etalis.snoop.markup.xml_form import expression_in, to_element
from etalis.snoop.messages import (
    EndMessage,
    FailureMessage,
    Message,
    Part,
    RegisteredMessage,
    RegisterMessage,
    ResultMessage,
    SignalMessage,
    UnregisterMessage,
    check_signal,
    read_moment,
    write_moment,
)
from etalis.snoop.values import Bound, read_bound, write_bound


def read_message(data: bytes | str) -> tuple[Message, ...]:
    """Read a document; `signals` and `results` are several messages, an `expression` alone is to be registered."""
    document = XmlDocument(data)
    root = document.root
    elements = list(root) if name_of(root) in ("signals", "results") else [root]
    found = tuple(_message(document, element) for element in elements)
    problems = []
    for number, message in enumerate(found, 1):
        if isinstance(message, SignalMessage):
            where = "the signal" if len(found) == 1 else f"signal {number}"
            place = document.place(elements[number - 1])
            problems += [Problem(p.code, p.message, place, p.hint) for p in check_signal(message, where)]
    if problems:
        raise DocumentError(*problems[:MOST_PROBLEMS])
    return found


def _message(document: XmlDocument, element: Any) -> Message:
    get = element.get
    match name_of(element):
        case "expression":
            return RegisterMessage(expression_in(document, element))
        case "register":
            return RegisterMessage(expression_in(document, element[0]), get("callback"))
        case "registered":
            return RegisteredMessage(
                get("evaluation"), tuple((each.get("path"), each.get("evaluation")) for each in element)
            )
        case "signal":
            parameters = _parameters(document, element)
            tuples = tuple(_texts(each) for each in _tuples(element))
            return SignalMessage(
                get("operator"), get("language"), parameters, get("evaluation"), tuples, get("at"), get("id")
            )
        case "end":
            return EndMessage(get("evaluation"))
        case "failure":
            return FailureMessage(get("code"), element.text or "", get("evaluation"))
        case "unregister":
            return UnregisterMessage(get("evaluation"))
        case "signalled":
            message = "signalled is an answer, and asks for nothing"
            raise DocumentError(Problem("E873", message, document.place(element)))
        case _:
            return _result(element)


def _parameters(document: XmlDocument, element: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in children(element, "parameter"):
        if each.get("name") in found:
            message = f"the parameter {each.get('name')} is given twice"
            raise DocumentError(Problem("E874", message, document.place(each)))
        found[each.get("name")] = each.get("value")
    return found


def _result(element: Any) -> ResultMessage:
    events = child(element, "events")
    tuples = [_bindings(each) for each in _tuples(element)]
    start, end = (None if element.get(name) is None else read_moment(element.get(name)) for name in ("start", "end"))
    return ResultMessage(
        element.get("evaluation"), element.get("next") or None, int(element.get("number")),
        tuples[0] if tuples else None, start, end, None if events is None else _occurrence(events[0]),
    )  # fmt: skip


def _tuples(element: Any) -> list[Any]:
    bindings = child(element, "bindings")
    return [] if bindings is None else children(bindings, "tuple")


def _texts(element: Any) -> dict[str, str]:
    """Return the bindings of a provider, which are text: what type they are of, the leaf says."""
    return {each.get("name"): each[0].text or "" for each in element}


def _bindings(element: Any) -> dict[str, Bound]:
    return {each.get("name"): read_bound(each[0].text or "", each[0].get("type")) for each in element}


def _occurrence(element: Any) -> Contribution:
    below = tuple((each.get("name") or "", _occurrence(each[0])) for each in children(element, "argument"))
    start, end = read_moment(element.get("start")), read_moment(element.get("end"))
    operator, language, number, at = map(element.get, ("operator", "language", "signal", "at"))
    return Contribution(operator, start, end, language, number, at, below)


def write_message(message: Message, *, indent: bool = True) -> str:
    """Write a message as a document."""
    return write(to_message_element(message), indent=indent)


def write_signals(parts: Iterable[Part], *, indent: bool = True) -> str:
    """Write several messages as one document."""
    return write(make("signals", {}, *map(to_message_element, parts)), indent=indent)


def write_results(results: Iterable[ResultMessage | FailureMessage], next_one: int, *, indent: bool = True) -> str:
    """Write results as one document, with the number to ask after next."""
    return write(make("results", {"next": str(next_one)}, *map(to_message_element, results)), indent=indent)


def write_reception(counts: Mapping[str, int], discarded: Iterable[tuple[int, str]], *, indent: bool = True) -> str:
    """Write what became of signals: how many of them, and the index and reason of what was discarded."""
    below = (make("discarded", {"index": str(index)}, text=reason) for index, reason in discarded)
    return write(make("signalled", {name: str(count) for name, count in counts.items()}, *below), indent=indent)


def to_message_element(message: Message) -> Any:
    """Return a message as an element."""
    match message:
        case RegisterMessage(expression, callback):
            return make("register", {"callback": callback}, to_element(expression))
        case RegisteredMessage(evaluation, leaves):
            below = (make("leaf", {"path": path, "evaluation": uri}) for path, uri in leaves)
            return make("registered", {"evaluation": evaluation}, *below)
        case SignalMessage():
            return _signal_element(message)
        case EndMessage(evaluation):
            return make("end", {"evaluation": evaluation})
        case FailureMessage(code, text, evaluation):
            return make("failure", {"evaluation": evaluation, "code": code}, text=text)
        case UnregisterMessage(evaluation):
            return make("unregister", {"evaluation": evaluation})
        case ResultMessage():
            return _result_element(message)
        case _:
            assert_never(message)


def _signal_element(signal: SignalMessage) -> Any:
    row = {
        "operator": signal.operator, "language": signal.language, "evaluation": signal.evaluation, "at": signal.at,
        "id": signal.id,
    }  # fmt: skip
    if signal.evaluation is None:
        below = [make("parameter", {"name": name, "value": value}) for name, value in signal.parameters.items()]
    else:
        below = [make("bindings", {}, *map(_tuple_element, signal.tuples))]
    return make("signal", row, *below)


def _result_element(result: ResultMessage) -> Any:
    row = {
        "evaluation": result.evaluation, "next": result.next or "", "number": str(result.number),
        "start": None if result.start is None else write_moment(result.start),
        "end": None if result.end is None else write_moment(result.end),
    }  # fmt: skip
    below = [] if result.bindings is None else [make("bindings", {}, _tuple_element(result.bindings))]
    if result.events is not None:
        below.append(make("events", {}, _occurrence_element(result.events)))
    return make("result", row, *below)


def _tuple_element(bindings: Mapping[str, Bound]) -> Any:
    found = make("tuple", {})
    for name, value in bindings.items():
        text, type = write_bound(value)  # noqa: A001
        found.append(make("Variable", {"name": name}, make("literal", {"type": type}, text=text)))
    return found


def _occurrence_element(occurrence: Contribution) -> Any:
    row = {
        "operator": occurrence.operator, "language": occurrence.language, "start": write_moment(occurrence.start),
        "end": write_moment(occurrence.end), "at": occurrence.at, "signal": occurrence.number,
    }  # fmt: skip
    below = (make("argument", {"name": name}, _occurrence_element(found)) for name, found in occurrence.arguments)
    return make("expression", row, *below)
