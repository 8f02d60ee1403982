"""Integers as vectors: rows of a table, and rows of one 1 and zeros. Indices out of range are refused."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from typing import Any

from ... import backend
from ...errors import DTypeError
from ...functions import arange, where
from ...tensor import Tensor, as_tensor, overwrite_payload
from .common import check_range
from .distances import length


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """Rows of `weight` (count, width) chosen by integers: (*input.shape, width). The row padding_idx gets no gradient. Raises
    IndexError out of range.

    max_norm: chosen rows whose norm_type-norm is larger are first shortened to it, in `weight` itself. scale_grad_by_freq: a row's
    gradient is divided by how often it was chosen.
    """
    index, w = as_tensor(input), as_tensor(weight)
    if index.dtype.kind not in "iu":
        raise DTypeError(f"embedding: indices must be integers, got {index.dtype}.")
    check_range(index, w.shape[0], "embedding", "index")
    if max_norm is not None:
        rows = w.detach()
        norm = length(rows, norm_type, -1)
        chosen = (one_hot(index.reshape(-1), w.shape[0]).sum(0) > 0).unsqueeze(-1)
        overwrite_payload(w, where(chosen & (norm > max_norm), rows * (max_norm / (norm + 1e-7)), rows).array)
    if scale_grad_by_freq:
        often = one_hot(index.reshape(-1), w.shape[0]).sum(0)[index].unsqueeze(-1).to(w.dtype)
        row = embedding(index, w, padding_idx)
        return row.detach() + (row - row.detach()) / often
    if padding_idx is None:
        return w[index]
    if not -w.shape[0] <= padding_idx < w.shape[0]:
        raise IndexError(f"embedding: padding_idx {padding_idx} is not a row of weight {w.shape}.")
    blank = (index == padding_idx % w.shape[0]).unsqueeze(-1)
    return where(blank, w.detach()[index], w[index])


def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
    """(…,) integers as (…, num_classes) rows of one 1 and zeros (int64); num_classes −1 means the largest plus one. No derivative."""
    index = as_tensor(tensor)
    if index.dtype.kind not in "iu":
        raise DTypeError(f"one_hot: needs integers, got {index.dtype}.")
    if num_classes < 0:
        if index.numel() == 0:
            raise ValueError("one_hot: give num_classes, there is no largest index among none.")
        num_classes = int(index.array.max()) + 1
    check_range(index, num_classes, "one_hot", "class")
    return (index.unsqueeze(-1) == arange(num_classes, device=index.device)).to(backend.int64)
