"""What profiles call an event of the engine, and the node that it belongs to."""

from __future__ import annotations

from ...core.graph import Node, Pick
from ...core.observe import Event


def event_name(event: Event) -> str:
    """The operation, or the node of the graph that is pulled."""
    if event.phase == "backward":
        return str(event.node.name())
    if event.phase == "leaf":
        return "AccumulateGrad"
    if event.phase == "assign":
        return f"{event.params['operation'].strip('_')} (write in place)"
    if event.phase == "region":
        return str(event.params["name"])
    return str(event.primitive.name) + (" (tangent)" if event.phase == "tangent" else "")


def place_of(event: Event) -> Node | None:
    """The node that a forward operation made or a backward pass pulls: one for all results."""
    node = event.node
    if event.phase not in ("forward", "backward") or not isinstance(node, Node):
        return None
    return node.parents[0] if isinstance(node, Pick) else node
