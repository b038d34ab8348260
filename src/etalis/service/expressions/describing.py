"""What is told of expressions: a line in a list, all of one, the graph of a client's."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from etalis.service.access import Client
from etalis.service.expressions.hosted_expression import HostedExpression
from etalis.snoop import write_text
from etalis.snoop.detection.graph import draw_graph
from etalis.snoop.expression import name_path
from etalis.snoop.markup.json_form import to_json

if TYPE_CHECKING:
    from etalis.service.expressions.snoop_service import SnoopService


def brief(service: SnoopService, hosted: HostedExpression) -> dict[str, Any]:
    """Return what a list tells."""
    registered = datetime.fromtimestamp(hosted.registered / 1_000_000, UTC)
    return {
        "number": hosted.number,
        "evaluation": service.uris.expression(hosted.number),
        "state": hosted.registration.state,
        "results": service.results[hosted.number].last,
        "registered": registered.isoformat().replace("+00:00", "Z"),
        "text": write_text(hosted.registration.expression),
    }


def whole(service: SnoopService, hosted: HostedExpression) -> dict[str, Any]:
    """Return all that there is to tell; in the turn of the queue, since it looks at what waits."""
    number = hosted.number
    status = hosted.registration.status()
    callback = service.callbacks.get(number)
    leaves = [
        {
            "path": name_path(leaf.path), "evaluation": service.uris.leaf(number, name_path(leaf.path)),
            "operator": leaf.operator, "language": leaf.language, "state": leaf.state,
            "fed": "by its id" if leaf.by_id else "by type", "taken": leaf.taken, "waiting": leaf.waiting,
        }
        for leaf in status.leaves
    ]  # fmt: skip
    found = {
        **brief(service, hosted), "expression": to_json(hosted.registration.expression), "leaves": leaves,
        "waiting": {name_path(path): count for path, count in status.waiting.items() if count},
        "shed": status.shed, "discarded": dict(hosted.discarded),
    }  # fmt: skip
    if callback is not None:
        found["callback"] = {"url": callback.url, **callback.state.describe()}
    return found


def graph(service: SnoopService, client: Client) -> dict[str, Any]:
    """Return the event graph of a client's active expressions."""
    own = [hosted.registration for hosted in service.list(client) if hosted.is_active]
    return draw_graph(own).to_plain()
