"""Integers as vectors: rows of a table, what bags of rows have together, and rows of one 1 and
zeros. Indices out of range are refused.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from typing import Any

from ... import backend, functions
from ...batching import is_batched_index
from ...core.tensor import Tensor, as_tensor, write_payload
from ...errors import BatchingError, DTypeError, ShapeError, one_of
from ...functions import arange, clamp, where
from ...ops import sorting
from ...ops.elementwise import in_float32
from ...ops.index import index_put, scatter_extreme
from .arguments import check_integers, check_range
from .distances import length

__all__ = ["embedding", "embedding_bag", "one_hot"]


@functions.in_own_memory
def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """Rows of `weight` (count, width) chosen by integers: (*input.shape, width). The row
    padding_idx gets no gradient. Raises IndexError out of range.

    max_norm: chosen rows whose norm_type-norm is larger are first shortened to it, in `weight`
    itself. scale_grad_by_freq: a row's gradient is divided by how often it was chosen.
    """
    index, w = as_tensor(input), as_tensor(weight)
    if index.dtype.kind not in "iu":
        raise DTypeError(f"embedding: indices must be integers, got {index.dtype}.")
    if w.ndim != 2:
        raise ShapeError(f"embedding: weight must have two dimensions, got shape {w.shape}.")
    check_range(index, w.shape[0], "embedding", "index")
    if max_norm is not None:
        rows = w.detach()
        norm = length(rows, norm_type, -1)
        chosen = (one_hot(index.reshape(-1), w.shape[0]).sum(0) > 0).unsqueeze(-1)
        write_payload(
            w, where(chosen & (norm > max_norm), rows * (max_norm / (norm + 1e-7)), rows).array
        )
    if scale_grad_by_freq:
        often = one_hot(index.reshape(-1), w.shape[0]).sum(0)[index].unsqueeze(-1).to(w.dtype)
        row = embedding(index, w, padding_idx)
        return row.detach() + (row - row.detach()) / often
    if padding_idx is None:
        return w[index]  # of a 0-d index: a row, which indexing gives as a view
    if not -w.shape[0] <= padding_idx < w.shape[0]:
        raise IndexError(f"embedding: padding_idx {padding_idx} is not a row of weight {w.shape}.")
    blank = (index == padding_idx % w.shape[0]).unsqueeze(-1)
    return where(blank, w.detach()[index], w[index])


# Long: half of them are PyTorch's parameters and what they mean.
def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The "sum", the "mean" or the "max" of the rows of `weight` (count, width) that each bag of
    integers chooses: (bags, width).

    input: integers (bags, L), or (n,) with `offsets`, integers (bags,): where each bag begins, from
    0 on and in order. include_last_offset: the last offset only says where the last bag ends. An
    empty bag gives zeros. per_sample_weights: factors of the rows in the shape of the
    input, for the sum only. padding_idx: this row counts as not being there, and gets no gradient.
    max_norm, norm_type and scale_grad_by_freq are those of `embedding`. Of equal largest elements
    the first in its bag gets the derivative.

    Raises ShapeError and DTypeError for arguments that do not fit, IndexError for rows out of
    range, ValueError for an unknown mode and for offsets out of order, BatchingError for offsets
    that differ inside vmap; NotImplementedError for factors with another mode than the sum and for
    sparse gradients, which there are not.
    """
    index, w = as_tensor(input), as_tensor(weight)
    check_integers(index, "embedding_bag", "indices")
    one_of("embedding_bag", "mode", mode, "sum", "mean", "max")
    if sparse:
        raise NotImplementedError(
            "embedding_bag: gradients are dense here. Leave sparse=True out: the numbers are the"
            " same."
        )
    if mode == "max" and scale_grad_by_freq:
        raise ValueError('embedding_bag: scale_grad_by_freq does not go with mode="max".')
    if w.ndim != 2 or index.ndim not in (1, 2):
        raise ShapeError(
            "embedding_bag: needs indices (bags, L) or (n,) and weight (count, width), got"
            f" {index.shape} and {w.shape}."
        )
    if (index.ndim == 1) != (offsets is not None):
        raise ValueError(
            "embedding_bag: indices (n,) need offsets, and indices (bags, L) are bags already and"
            " take none."
        )
    check_range(index, w.shape[0], "embedding_bag", "index")
    rows = embedding(index, w, None, max_norm, norm_type, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * _checked_factors(as_tensor(per_sample_weights), index, w, mode)
    counted = functions.ones_like(index, dtype=backend.bool_)
    if padding_idx is not None:
        if not -w.shape[0] <= padding_idx < w.shape[0]:
            raise IndexError(
                f"embedding_bag: padding_idx {padding_idx} is not a row of weight {w.shape}."
            )
        counted = index != padding_idx % w.shape[0]
    if offsets is None:
        return _of_equal_bags(rows, counted.unsqueeze(-1), mode)
    begins = _checked_offsets(as_tensor(offsets), index.shape[0], include_last_offset)
    if is_batched_index(begins.array):
        raise BatchingError(
            "embedding_bag: inside vmap all examples must have the same offsets. Bags of one length"
            " need none: give indices (bags, L), with padding_idx where there are fewer."
        )
    bag = (
        sorting.searchsorted(begins, arange(index.shape[0], device=index.device), side="right") - 1
    )
    return _of_bags(rows, counted.unsqueeze(-1), bag, begins.shape[0], mode)


def _checked_factors(factors: Tensor, index: Tensor, w: Tensor, mode: str) -> Tensor:
    """The factors of the rows, (…, 1). Raises where they do not fit."""
    if mode != "sum":
        raise NotImplementedError(
            f'embedding_bag: per_sample_weights go with mode="sum" only, got {mode!r}.'
        )
    if factors.shape != index.shape:
        raise ShapeError(
            "embedding_bag: per_sample_weights must have the shape of the indices,"
            f" {index.shape}, got {factors.shape}."
        )
    if factors.dtype != w.dtype:
        raise DTypeError(
            f"embedding_bag: per_sample_weights must have the dtype of weight, {w.dtype}, got"
            f" {factors.dtype}."
        )
    return factors.unsqueeze(-1)


def _checked_offsets(offsets: Tensor, n: int, include_last_offset: bool) -> Tensor:
    """Where the bags begin. Raises where that is no division of n indices into bags."""
    check_integers(offsets, "embedding_bag", "offsets")
    if offsets.ndim != 1 or (include_last_offset and offsets.shape[0] == 0):
        raise ShapeError(
            "embedding_bag: offsets must have the shape (bags,), or (bags + 1,) with the last one,"
            f" got {offsets.shape}."
        )
    # a batched value has no one answer; a device must not wait
    if isinstance(offsets.array, backend.NumpyArray):
        numbers = offsets.array.tolist()
        if (
            numbers != sorted(numbers)
            or (numbers and (numbers[0] != 0 or numbers[-1] > n))
            or (n and not numbers)
        ):
            raise ValueError(
                f"embedding_bag: offsets must begin with 0 and ascend to at most {n}, the number of"
                f" indices, got {numbers}."
            )
    return offsets[:-1] if include_last_offset else offsets


@in_float32
def _of_equal_bags(rows: Tensor, counted: Tensor, mode: str) -> Tensor:
    """What the rows (bags, L, width) of each bag have together, of those that are counted (bags,
    L, 1).
    """
    if mode != "max":
        total = where(counted, rows, 0.0).sum(1)
        return total / clamp(counted.sum(1), 1).to(rows.dtype) if mode == "mean" else total
    if rows.shape[1] == 0:
        return rows.sum(1)
    best = where(counted, rows.detach(), -backend.inf).argmax(1)  # (bags, width)
    bag, column = (arange(count, device=rows.device) for count in best.shape)
    return where(counted.any(1), rows[bag.unsqueeze(-1), best, column], 0.0)


@in_float32
def _of_bags(rows: Tensor, counted: Tensor, bag: Tensor, bags: int, mode: str) -> Tensor:
    """What the rows (n, width) of each of the bags have together, of those that are counted (n,
    1); `bag` (n,): where each belongs.
    """
    n, width = rows.shape
    device = rows.device
    place = functions.plain_index((bag,), rows.array)
    if mode != "max" or n == 0:
        empty = functions.zeros(bags, width, dtype=rows.dtype, device=device)
        total = index_put(empty, where(counted, rows, 0.0), index=place, accumulate=True)
        if mode != "mean":
            return total
        count = index_put(empty[:, :1], counted.to(rows.dtype), index=place, accumulate=True)
        return total / clamp(count, 1)
    # The largest of each column of each bag, the first of the rows that have it, and then that
    # element.
    place = functions.plain_index((bag.unsqueeze(-1), arange(width, device=device)), rows.array)
    seen = where(counted, rows.detach(), -backend.inf)
    lowest = functions.full((bags, width), -backend.inf, dtype=rows.dtype, device=device)
    largest = scatter_extreme(lowest, seen, index=place, largest=True)[bag]
    has_it = counted & ((seen == largest) | (functions.isnan(seen) & functions.isnan(largest)))
    numbers = where(has_it, arange(n, device=device).unsqueeze(-1), n)
    no_row = functions.full((bags, width), n, dtype=backend.int64, device=device)
    first = scatter_extreme(no_row, numbers, index=place, largest=False)
    return where(first < n, rows[clamp(first, 0, n - 1), arange(width, device=device)], 0.0)


def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
    """(…,) integers as (…, num_classes) rows of one 1 and zeros (int64); num_classes −1 means
    the largest plus one. No derivative.
    """
    index = as_tensor(tensor)
    if index.dtype.kind not in "iu":
        raise DTypeError(f"one_hot: needs integers, got {index.dtype}.")
    if num_classes < -1:
        raise ValueError(f"one_hot: num_classes must be -1 or at least 0, got {num_classes}.")
    if num_classes < 0:
        if index.numel() == 0:
            raise ValueError("one_hot: give num_classes, there is no largest index among none.")
        num_classes = int(index.array.max()) + 1
    check_range(index, num_classes, "one_hot", "class")
    return (index.unsqueeze(-1) == arange(num_classes, device=index.device)).to(backend.int64)
