"""What PyTorch calls the nodes of operations that have another name, or several names, there."""

from __future__ import annotations

from collections.abc import Callable

from ..core.graph import OpNode
from ..core.primitive import registry


def _reduced(name: str) -> Callable[[OpNode], str]:
    """PyTorch has two functions for a sum, and so on: over everything, and over some of the
    axes."""

    def named(node: OpNode) -> str:
        axes = node.params.get("axes", (node.params.get("axis"),))
        parent = node.parents[0]
        some = parent is not None and axes != (None,) and len(axes) < len(parent.shape)
        return f"{name}Backward{int(some)}"

    return named


def _slice_name(node: OpNode) -> str:
    """x[0] selects, x[1:] slices, x[None] adds an axis: an index does so from left to right, and
    its last part is the last function."""
    index = node.params["index"]
    given = index if isinstance(index, tuple) else (index,)
    parts = [part for part in given if part is not Ellipsis and part != slice(None)]
    last = parts[-1] if parts else slice(None)
    name = "Slice" if isinstance(last, slice) else "Unsqueeze" if last is None else "Select"
    return f"{name}Backward0"


def _product_name(node: OpNode) -> str:
    return f"{('Dot', 'Mv', 'Mm', 'Bmm')[min(len(node.shape), 3)]}Backward0"


_NAMES: dict[str, str | Callable[[OpNode], str]] = {
    "affine": "AddmmBackward0",
    "broadcast_to": "ExpandBackward0",
    "cast": "ToCopyBackward0",
    "clamp": "ClampBackward1",
    "convolve": "ConvolutionBackward0",
    "det": "LinalgDetBackward0",
    "getitem": "IndexBackward0",
    "inv": "LinalgInvExBackward0",
    "log1p": "Log1PBackward0",
    "matmul": _product_name,
    "mean": _reduced("Mean"),
    "pad_axis": "ConstantPadNdBackward0",
    "pow_tensor": "PowBackward1",
    "prod": _reduced("Prod"),
    "reshape": "ViewBackward0",
    "square": "PowBackward0",
    "sum": _reduced("Sum"),
    "window": _slice_name,
}
for _name, _graph_name in _NAMES.items():
    registry[_name].graph_name = _graph_name
