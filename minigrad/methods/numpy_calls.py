"""What happens when a NumPy function meets a tensor: nothing that would lose a gradient without a
word.

`array * tensor` means `tensor.__rmul__(array)`, and gives a tensor. Other functions of NumPy
compute with values alone: those of a constant tensor they get; for one with history the answer is
an error that names minigrad's function. (NumPy asks the two methods below: its enhancement
proposals 13 and 18.)
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor, current_node
from ..errors import AutogradError
from ..names import attach

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "true_divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "matmul": operator.matmul,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}
"""The functions that NumPy's arrays call for their operators."""

OTHER_NAMES = {
    "power": "pow",
    "dot": "matmul",
    "array": "tensor",
    "asarray": "as_tensor",
    "round_": "round",
    "around": "round",
    "invert": "logical_not",
}
ASK_ONLY = frozenset(
    (
        "shape",
        "ndim",
        "size",
        "iscomplexobj",
        "isrealobj",
        "result_type",
        "may_share_memory",
        "shares_memory",
    )
)
"""They look at an array and compute nothing."""


def _array_ufunc(self: Tensor, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """NumPy's element-wise functions."""
    name = function.__name__
    if "out" in options:
        raise TypeError(
            f"np.{name} was to write into a NumPy array (out=, or as in a += x): an array cannot"
            " hold the history of a tensor's result. Make a new one, as in a = a + x."
        )
    if (
        method == "__call__"
        and len(inputs) == 2
        and not options
        and name in OPERATORS
        and not isinstance(inputs[0], Tensor)
    ):
        return getattr(inputs[1], _reflected(name))(inputs[0])
    name = name if method == "__call__" else f"{name}.{method}"
    raise TypeError(_message(name, f"np.{name}"))


def _reflected(name: str) -> str:
    swapped = {
        "less": "gt",
        "less_equal": "ge",
        "greater": "lt",
        "greater_equal": "le",
        "equal": "eq",
        "not_equal": "ne",
    }
    if name in swapped:
        return f"__{swapped[name]}__"
    return "__r" + OPERATORS[name].__name__.strip("_") + "__"


def _array_function(self: Tensor, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's other functions."""
    named = f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"
    tracked: list[Tensor] = []
    plain = _with_values((args, kwargs), tracked)
    if tracked and function.__name__ not in ASK_ONLY:
        raise AutogradError(_message(named.partition(".")[2], named))
    return function(*plain[0], **plain[1])


def _with_values(value: Any, tracked: list[Tensor]) -> Any:
    """`value` with arrays in place of tensors; those with history are listed."""
    if isinstance(value, Tensor):
        if current_node(value) is not None:
            tracked.append(value)
        return value.numpy(force=True)
    if isinstance(value, tuple | list):
        if type(value) in (tuple, list):
            return type(value)(_with_values(v, tracked) for v in value)
        return value
    if isinstance(value, dict):
        return {k: _with_values(v, tracked) for k, v in value.items()}
    return value


def _message(name: str, shown: str) -> str:
    found = _ours(name)
    instead = f"Use {found} instead, or give" if found else "Give"
    return (
        f"{shown} was called with a tensor, but NumPy's functions cannot record what a derivative"
        f" needs. {instead} it the values alone: x.detach().numpy()."
    )


def _ours(name: str) -> str | None:
    """minigrad's function for one of NumPy's, such as "mg.linalg.norm", if there is one."""
    place: Any = sys.modules.get("minigrad")
    parts = name.split(".")
    parts[-1] = OTHER_NAMES.get(parts[-1], parts[-1])
    for part in parts:
        place = getattr(place, part, None)
    return f"mg.{'.'.join(parts)}" if callable(place) else None


attach("__array_ufunc__", _array_ufunc)
attach("__array_function__", _array_function)
