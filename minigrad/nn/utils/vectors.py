"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.tensor import Tensor
from ...errors import ShapeError
from ...functions import cat


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters in one vector, in order; a result of them like any other,
    which can be differentiated.
    """
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Take the values of parameters from a vector, in order; the parameters then share its memory.

    Raises TypeError for what is no tensor, ShapeError for a vector that is too short.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters: expected a Tensor, got {type(vec).__name__}.")
    parameters, start = list(parameters), 0
    needed = sum(p.numel() for p in parameters)
    if vec.ndim != 1 or vec.numel() < needed:
        raise ShapeError(
            f"vector_to_parameters: needs a vector of {needed} elements, got shape {vec.shape}."
        )
    for p in parameters:
        # attached by minigrad/methods
        setattr(p, "data", vec[start : start + p.numel()].reshape(p.shape).data)  # noqa: B010
        start += p.numel()
