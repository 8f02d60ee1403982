"""What a dataset is: something with a length and numbered examples. A whole batch can be asked for
at once.

A batch from a TensorDataset is one indexing operation per tensor; from any other dataset it is made
by stacking single examples.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from .. import backend, functions
from ..core.tensor import Tensor, as_tensor, wrap
from ..errors import ShapeError


class Dataset:
    """The base class for datasets of your own: define `__len__` and `__getitem__(index)`, which
    returns one example (a tensor, a number, an array, or a tuple of those).
    """

    def __len__(self) -> int:
        raise NotImplementedError(
            f"{type(self).__name__} does not define __len__(), the number of examples."
        )

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} does not define __getitem__(index), one example."
        )

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])

    def batch(self, indices: Any) -> Any:
        """The examples with the given numbers, stacked along a new first axis. Override it if
        there is a faster way.
        """
        return stacked([self[int(i)] for i in indices])


class TensorDataset(Dataset):
    """Tensors (or arrays, or lists) of equal length; example i is the tuple of their i-th entries.

    tensors: what was given, as tensors. Raises ShapeError if the lengths differ or one has no axis
    to count examples on.
    """

    def __init__(self, *tensors: Any) -> None:
        if not tensors:
            raise ValueError("TensorDataset: give at least one tensor, as in TensorDataset(x, t).")
        self.tensors = tuple(as_tensor(t) for t in tensors)
        shapes = [t.shape for t in self.tensors]
        if any(not shape for shape in shapes):
            raise ShapeError(
                f"TensorDataset: a 0-d tensor has no examples; the shapes are {shapes}. Give it a"
                " first axis."
            )
        if len({shape[0] for shape in shapes}) > 1:
            raise ShapeError(
                "TensorDataset: all tensors need the same length along their first axis; the"
                f" shapes are {shapes}."
            )

    def __len__(self) -> int:
        return self.tensors[0].shape[0]

    def __getitem__(self, index: int) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def batch(self, indices: Any) -> tuple[Tensor, ...]:
        """One tensor (len(indices), ...) for each of `tensors`."""
        chosen = backend.numpy.asarray(indices, dtype=backend.int64)
        return tuple(t[wrap(backend.to_device_of(chosen, t.array))] for t in self.tensors)


class Subset(Dataset):
    """The examples of `dataset` with the numbers `indices`, in that order."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, [int(i) for i in indices]
        wrong = [i for i in self.indices if not 0 <= i < len(dataset)]
        if wrong:
            raise IndexError(
                f"Subset: there is no example {wrong[0]}; the dataset has {len(dataset)}, numbered"
                " from 0."
            )

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]

    def batch(self, indices: Any) -> Any:
        """A batch of the dataset behind."""
        return batch_of(self.dataset, [self.indices[int(i)] for i in indices])


class ConcatDataset(Dataset):
    """The examples of several datasets, one dataset after the other. `a + b` of two datasets
    makes one.
    """

    def __init__(self, datasets: Any) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: give at least one dataset, in a list.")
        self.cumulative_sizes = list(accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"ConcatDataset: there is no example {index}; there are {len(self)}.")
        which = bisect_right(self.cumulative_sizes, number)
        return self.datasets[which][number - (self.cumulative_sizes[which - 1] if which else 0)]


def random_split(dataset: Any, lengths: Sequence[float], seed: int = 0) -> list[Subset]:
    """Subsets of the given lengths, without overlap, drawn at random by `seed`. ValueError unless
    the lengths add up to len(dataset).

    lengths: numbers of examples, or fractions that add up to 1; what rounding down leaves over goes
    to the first subsets, one each.
    """
    if (
        any(isinstance(n, float) for n in lengths)
        and math.isclose(sum(lengths), 1)
        and all(0 <= n <= 1 for n in lengths)
    ):
        sizes = [math.floor(len(dataset) * n) for n in lengths]
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
    if any(n < 0 for n in lengths) or sum(lengths) != len(dataset):
        raise ValueError(
            f"random_split: lengths {list(lengths)} must be at least 0 and add up to the dataset's"
            f" {len(dataset)}."
        )
    order = backend.numpy.random.default_rng(seed).permutation(len(dataset)).tolist()
    ends = list(accumulate(int(n) for n in lengths))
    return [
        Subset(dataset, order[end - int(n) : end]) for n, end in zip(lengths, ends, strict=True)
    ]


def batch_of(dataset: Any, indices: Sequence[int]) -> Any:
    """A batch from a Dataset, or from any sequence of examples, such as a list of pairs."""
    if isinstance(dataset, Dataset):
        return dataset.batch(indices)
    return stacked([dataset[int(i)] for i in indices])


def stacked(examples: list[Any]) -> Any:
    """Examples as one batch: tuples, dicts and lists of tensors, arrays or text part by part;
    tensors, arrays, numbers and lists of numbers along a new first axis; text in a list.

    Unlike PyTorch's, Python's floats take the default dtype, and a list of numbers is one row of
    the batch. Raises ShapeError if the examples differ in shape or in their parts.
    """
    first = examples[0]
    if isinstance(first, tuple) or (
        isinstance(first, list)
        and any(
            getattr(p, "ndim", 0) or isinstance(p, Tensor | str | bytes | Mapping) for p in first
        )
    ):
        kind = type(first).__name__
        if len({len(example) for example in examples}) > 1:
            raise ShapeError(
                f"a batch cannot be made of {kind}s of different lengths: every example needs the"
                " same parts."
            )
        parts = [stacked(list(part)) for part in zip(*examples, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if isinstance(first, Mapping):
        if any(example.keys() != first.keys() for example in examples):
            raise ShapeError(
                "a batch cannot be made of dicts with different keys: every example needs the same"
                " parts."
            )
        return {key: stacked([example[key] for example in examples]) for key in first}
    if isinstance(first, str | bytes):
        return examples
    tensors = [as_tensor(example) for example in examples]
    shapes = {t.shape for t in tensors}
    if len(shapes) > 1:
        raise ShapeError(
            f"a batch cannot be made of examples of different shapes {sorted(shapes)}: pad or crop"
            " them to one shape."
        )
    return functions.stack(tensors)


default_collate = stacked
"""PyTorch's name."""
