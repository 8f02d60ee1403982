"""A batched value: one array that stands for the same tensor in every example of a batch.

`vmap(f)` runs f once, on tensors whose payload is a `Batched` value. To f such a tensor has the
shape of a single example; the batch is a further axis that f cannot see. Each `vmap` that is
running has a batch axis of its own, so nested ones simply have several:

    array   (5, 3,   4, 2)        axes = (a: size 5, b: size 3)        what f sees: shape (4, 2)
             batch   example

The batch axes lie in front, in order of the `vmap` calls that opened them. A batch axis of length 1
(where the batch is larger) means that all examples have the same value there, as in ordinary
broadcasting.

Differentiation needs nothing new: nodes and tangents belong to the Tensor around the payload, so
the derivative rules see one example and run for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from ..backend import Array, DType, Shape
from ..core.graph import state
from ..errors import BatchingError
from ..ops.operators import ArrayPayload

_numbers = count(1)


class BatchAxis:
    """The axis of one running `vmap`: how many examples it has, and what random functions do
    inside ("error", "different", "same").
    """

    __slots__ = ("number", "open", "randomness", "size")

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.number, self.size, self.randomness, self.open = next(_numbers), size, randomness, True

    def __repr__(self) -> str:
        return f"<batch axis {self.number} of {self.size}>"


Axes = tuple[BatchAxis, ...]


@contextmanager
def batch_axis(size: int, randomness: str = "error") -> Iterator[BatchAxis]:
    """A new, innermost batch axis, open inside the `with` block."""
    made, outer = BatchAxis(size, randomness), state.batches
    state.batches = (*outer, made)
    try:
        yield made
    finally:
        state.batches = outer
        made.open = False


class Batched(ArrayPayload):
    """A payload with hidden batch axes. array: its first `len(axes)` axes are the batch axes;
    shape, ndim, dtype: of one example.
    """

    __slots__ = ("array", "axes")

    def __init__(self, array: Array, axes: Axes) -> None:
        self.array, self.axes = array, axes

    @property
    def shape(self) -> Shape:
        """The shape of one example."""
        out: Shape = self.array.shape[len(self.axes) :]
        return out

    @property
    def dtype(self) -> DType:
        """The elements' type."""
        out: DType = self.array.dtype
        return out

    @property
    def strides(self) -> tuple[int, ...]:
        """Byte steps along the axes of one example."""
        out: tuple[int, ...] = self.array.strides[len(self.axes) :]
        return out

    @property
    def flags(self) -> Any:
        """The array's memory flags."""
        return self.array.flags

    @property
    def nbytes(self) -> int:
        """Bytes of all examples."""
        return int(self.array.nbytes)

    @property
    def base(self) -> Array:
        """The array that owns the memory, by which the engine recognises views."""
        return self.array if self.array.base is None else self.array.base

    def copy(self) -> Batched:
        """A copy of the values in memory of their own."""
        return Batched(self.array.copy(), self.axes)

    def astype(self, dtype: Any, copy: bool = True) -> Batched:
        """The values cast to another dtype."""
        return Batched(self.array.astype(dtype, copy=copy), self.axes)

    def __minigrad_fits__(self, target: Any, operation: str) -> None:
        """Raise BatchingError unless memory laid out as `target` (a payload) has space for each
        example's value.
        """
        lengths = (
            dict(zip(target.axes, target.array.shape, strict=False))
            if isinstance(target, Batched)
            else {}
        )
        for axis, length in zip(self.axes, self.array.shape, strict=False):
            if lengths.get(axis, 1) < length:
                raise BatchingError(
                    f"{operation}: inside vmap, a value that differs between the {axis.size}"
                    " examples cannot be written into a tensor of which there is only one for all"
                    " of them. Use the out-of-place form, or make the target from a batched tensor"
                    " (for instance 0 * x + target)."
                )

    def __setitem__(self, index: Any, values: Any) -> None:
        """Overwrite the whole memory (the engine's in-place operations need nothing else)."""
        if index is not Ellipsis:
            raise BatchingError(
                "a batched payload is overwritten as a whole; index the Tensor instead."
            )
        if isinstance(values, Batched):
            values.__minigrad_fits__(self, "an in-place operation")
        self.array[...] = aligned([values], self.axes, self.ndim)[0]

    def __repr__(self) -> str:
        inside = " and ".join(
            f"{axis.size} examples{'' if axis.open else ' (of a vmap that has ended)'}"
            for axis in self.axes
        )
        return f"a batch of {inside}, example shape {self.shape}, values {self.array!r}"

    def _single(self, *_: Any, **__: Any) -> Any:
        if not all(axis.open for axis in self.axes):
            raise BatchingError(
                "this tensor was made inside a vmap that has ended, and leaked out of it. Return it"
                " from the mapped function instead."
            )
        raise BatchingError(
            "inside vmap, a tensor that differs between the examples was asked for as one Python"
            " value (by if, while, bool(), int(), float(), .item(), .numpy(), an index or a slice"
            " bound). There is one value for each example, so Python cannot take one way for all:"
            " use where(condition, a, b) instead of if, keep numbers as tensors, or loop over the"
            " examples without vmap."
        )

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __array__ = __iter__ = _single


def all_examples(payload: Any) -> Any:
    """The array with the batch axes in sight, for a decision that is made once for all examples,
    such as how large the largest is.
    """
    return payload.array if type(payload) is Batched else payload


# ------------------------------------------------------------------------------------------ helpers


def axes_of(value: Any) -> Axes:
    """The batch axes of a payload; none for plain arrays and numbers."""
    return value.axes if type(value) is Batched else ()


def union(values: Sequence[Any]) -> Axes:
    """All batch axes among the values, in order."""
    found = axes_of(values[0]) if values else ()
    for value in values[1:]:
        if type(value) is Batched and value.axes != found:
            found = tuple(sorted({*found, *value.axes}, key=lambda axis: axis.number))
    return found


def packed(array: Array, axes: Axes) -> Any:
    """The array itself without batch axes, else a Batched value."""
    return Batched(array, axes) if axes else array


def aligned(values: Sequence[Any], axes: Axes, ndim: int | None = None) -> list[Any]:
    """The values' arrays, each with all of `axes` in front (length 1 where it lacks one) and, if
    `ndim` is given, examples of that many axes.

    Python numbers stay as they are.
    """
    arrays = []
    for value in values:
        own = axes_of(value)
        array = value.array if own else value
        shape = getattr(array, "shape", None)
        if shape is None:
            arrays.append(array)
            continue
        example = shape[len(own) :]
        lengths = (
            shape[: len(own)]
            if own == axes
            else tuple(shape[own.index(axis)] if axis in own else 1 for axis in axes)
        )
        if ndim is not None and len(example) < ndim:
            example = (1,) * (ndim - len(example)) + example
        wanted = lengths + example
        arrays.append(array if wanted == shape else array.reshape(wanted))
    return arrays
