"""Sequences of several lengths: padded to one length, or packed, which is what recurrent layers
compute with least work.

A `PackedSequence` holds the first elements of all sequences, then the second elements of those that
have one, and so on; the sequences are in order of falling length, so `batch_sizes`, how many have
an element at each step, says all. Interface: PyTorch's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from ... import backend, functions
from ...core.tensor import Tensor, as_tensor, wrap
from ...errors import ShapeError, one_of, with_hints
from .. import functional as F
from ..conversion import Converting


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed, Converting):
    """Several sequences as one tensor; made by `pack_sequence` and `pack_padded_sequence`.

    sorted_indices: the numbers of the given sequences in the order in which they are packed;
    unsorted_indices: the inverse of that order.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        """Of a pair (data, batch_sizes), or of the two, and the order of the sequences."""
        if batch_sizes is None:
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """With the data in another dtype or on another device."""
        return PackedSequence(self.data.to(*args, **kwargs), *self[1:])

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return bool(self.data.is_cuda)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes this one."""
    return None if permutation is None else permutation.argsort()


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (L, *) of several lengths as one tensor (longest, N, *), or (N, longest, *) if
    batch_first.

    padding_side: "right", after the sequence, or "left". Raises ShapeError for other shapes beyond
    the first axis.
    """
    if not isinstance(sequences, Iterable):
        raise TypeError(
            f"pad_sequence: expected sequences in a list, got {type(sequences).__name__}."
        )
    given = [as_tensor(s) for s in sequences]
    one_of("pad_sequence", "padding_side", padding_side, "left", "right")
    if not given:
        raise ValueError("pad_sequence: the list of sequences is empty.")
    if any(not s.ndim or s.shape[1:] != given[0].shape[1:] for s in given):
        raise ShapeError(
            "pad_sequence: sequences must agree in all axes but the first, got shapes"
            f" {[s.shape for s in given]}."
        )
    longest, before = max(s.shape[0] for s in given), padding_side == "left"
    padded = []
    for s in given:
        missing = longest - s.shape[0]
        pads = [0, 0] * (s.ndim - 1) + ([missing, 0] if before else [0, missing])
        padded.append(F.pad(s, pads, "constant", padding_value) if missing else s)
    return functions.stack(padded, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Any, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of `pad_sequence`, each in its length."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(rows, _lengths(lengths), strict=True)]


def _lengths(lengths: Any) -> list[int]:
    found: list[int] = as_tensor(lengths).tolist()
    return [int(n) for n in found]


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack sequences that are padded to one length: input (L, N, *), or (N, L, *) if batch_first,
    and the length of each.

    enforce_sorted=False: they come in any order, and results are given back in that order. Raises
    ValueError for lengths that are not in falling order although they should be, below 1, above L,
    or not N.
    """
    x, sizes = as_tensor(input), _lengths(lengths)
    if x.ndim < 2:
        raise ShapeError(f"pack_padded_sequence: input needs the axes (L, N), got shape {x.shape}.")
    x = x.transpose(0, 1) if batch_first else x
    steps, count = x.shape[:2]
    if len(sizes) != count:
        raise ValueError(
            f"pack_padded_sequence: there are {count} sequences, but {len(sizes)} lengths. Check"
            f" batch_first={batch_first}."
        )
    if not sizes or min(sizes) < 1 or max(sizes) > steps:
        raise ValueError(
            f"pack_padded_sequence: lengths must lie between 1 and {steps}, got {sizes}."
        )
    order = None
    if enforce_sorted:
        if any(a < b for a, b in pairwise(sizes)):
            raise ValueError(
                f"pack_padded_sequence: lengths must fall, got {sizes}. Sort the sequences, or pass"
                " enforce_sorted=False."
            )
    else:
        numbers = sorted(range(count), key=lambda i: -sizes[i])
        order, sizes = functions.tensor(numbers, device=x.device), [sizes[i] for i in numbers]
        x = x[:, order]
    batches = [sum(n > t for n in sizes) for t in range(sizes[0])]
    rows = [t * count + i for t, n in enumerate(batches) for i in range(n)]
    data = x.reshape(steps * count, *x.shape[2:])[functions.tensor(rows, device=x.device)]
    return PackedSequence(data, functions.tensor(batches), order)


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (L, *) of several lengths; enforce_sorted as of `pack_padded_sequence`."""
    given = [as_tensor(s) for s in sequences]
    return pack_padded_sequence(
        pad_sequence(given), [s.shape[0] for s in given], enforce_sorted=enforce_sorted
    )


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The packed sequences padded to one length (of the longest, or total_length), and the
    length of each.
    """
    host = backend.numpy
    batches = host.asarray(sequence.batch_sizes.tolist(), backend.int64)
    steps = len(batches) if total_length is None else total_length
    if steps < len(batches):
        raise ValueError(
            f"pad_packed_sequence: total_length={total_length} is less than the longest sequence,"
            f" {len(batches)}."
        )
    count = int(batches[0])
    there = host.arange(count)[None, :] < host.pad(batches, (0, steps - len(batches)))[:, None]
    rows = host.where(there, host.cumsum(there).reshape(there.shape) - 1, 0)
    mask = wrap(backend.to_device_of(there, sequence.data.array)).reshape(
        steps, count, *[1] * (sequence.data.ndim - 1)
    )
    filler = functions.tensor(padding_value, dtype=sequence.data.dtype, device=sequence.data.device)
    out = functions.where(
        mask, sequence.data[wrap(backend.to_device_of(rows, sequence.data.array))], filler
    )
    lengths = wrap(there.sum(0).astype(backend.int64))
    if sequence.unsorted_indices is not None:
        out, lengths = out[:, sequence.unsorted_indices], lengths[sequence.unsorted_indices.cpu()]
    return (out.transpose(0, 1) if batch_first else out), lengths


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The packed sequences, each in its length."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


with_hints(sys.modules[__name__])
