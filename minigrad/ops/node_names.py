"""What PyTorch calls the node of an operation where that depends on the call: functions of the
node, which declarations name (`graph_name=product_name`).
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.graph import OpNode


def reduction_name(name: str) -> Callable[[OpNode], str]:
    """PyTorch has two functions for a sum, a mean and a product: over everything (0), and over some
    of the axes (1).
    """

    def named(node: OpNode) -> str:
        axes = node.params.get("axes", (node.params.get("axis"),))
        parent = node.parents[0]
        some = parent is not None and axes != (None,) and len(axes) < len(parent.shape)
        return f"{name}Backward{int(some)}"

    return named


def slice_name(node: OpNode) -> str:
    """x[0] selects, x[1:] slices, x[None] adds an axis: an index does so from left to right, and
    its last part is the last function.
    """
    index = node.params["index"]
    given = index if isinstance(index, tuple) else (index,)
    parts = [part for part in given if part is not Ellipsis and part != slice(None)]
    last = parts[-1] if parts else slice(None)
    name = "Slice" if isinstance(last, slice) else "Unsqueeze" if last is None else "Select"
    return f"{name}Backward0"


def product_name(node: OpNode) -> str:
    """By the number of axes of the product: of vectors, of a matrix and a vector, of matrices, of
    stacks of matrices.
    """
    return f"{('Dot', 'Mv', 'Mm', 'Bmm')[min(len(node.shape), 3)]}Backward0"
