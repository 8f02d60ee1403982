"""A value's place in the graph, as PyTorch names it."""

from __future__ import annotations

from typing import NamedTuple

from ..core.graph import Node


class GradientEdge(NamedTuple):
    """Result number `output_nr` of `node`. `autograd.grad` and `backward` take one in a tensor's
    place.

    ownership_token: keeps alive what the place needs besides its node.
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None
