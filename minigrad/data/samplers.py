"""Orders of examples: what `DataLoader(dataset, sampler=…)` and `batch_sampler=…` take. Any
iterable of numbers serves as well.

Interface: PyTorch's torch.utils.data. Each iteration of a random one draws another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import backend, functions
from ..core.tensor import as_tensor


class Sampler:
    """The base class of orders of your own: define `__iter__`, which gives numbers of examples,
    and `__len__`.
    """

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(
            f"{type(self).__name__} does not define __iter__(), the numbers of the examples in"
            " order."
        )


class SequentialSampler(Sampler):
    """All examples in their own order."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """All examples in random order, or num_samples of them; replacement: each drawn from all.
    Drawn from `mg.manual_seed`'s generator.
    """

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None
    ) -> None:
        super().__init__(data_source)
        self.replacement = replacement
        self.num_samples = len(data_source) if num_samples is None else num_samples
        functions.not_below("RandomSampler", "num_samples", self.num_samples, 1)

    def __iter__(self) -> Iterator[int]:
        n, left = len(self.data_source), self.num_samples
        if self.replacement:
            yield from functions.randint(0, n, (left,)).tolist()
            return
        while left > 0:
            yield from functions.randperm(n).tolist()[:left]
            left -= n

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The examples with the numbers `indices`, in random order."""

    def __init__(self, indices: Sequence[int]) -> None:
        super().__init__()
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        return (self.indices[i] for i in functions.randperm(len(self.indices)).tolist())

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """num_samples examples, each drawn with a probability in proportion to its weight; without
    replacement none twice.

    Raises ValueError unless the weights are finite, at least 0, and enough of them above 0.
    Source of the draws without replacement: Efraimidis & Spirakis 2006.
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True) -> None:
        super().__init__()
        self.weights = as_tensor(weights).detach().double()
        self.num_samples, self.replacement = num_samples, replacement
        functions.not_below("WeightedRandomSampler", "num_samples", num_samples, 1)
        found = self.weights.numpy()
        if found.ndim != 1 or not (found >= 0).all() or not found.sum() < float("inf"):
            raise ValueError(
                "WeightedRandomSampler: weights must be one finite number from 0 on for each"
                " example."
            )
        least = 1 if replacement else num_samples
        if (found > 0).sum() < least:
            raise ValueError(
                f"WeightedRandomSampler: {least} weights above 0 are needed to draw {num_samples}"
                f" examples, got {int((found > 0).sum())}."
            )

    def __iter__(self) -> Iterator[int]:
        if self.replacement:
            ends = self.weights.cumsum(0)
            drawn = functions.rand(self.num_samples, dtype=backend.float64) * ends[-1]
            places = backend.numpy.searchsorted(ends.numpy(), drawn.numpy(), side="right")
        else:
            chances = functions.rand(len(self.weights), dtype=backend.float64).numpy()
            with backend.ignore_float_errors():
                waits = -backend.numpy.log(chances) / self.weights.numpy()
            places = waits.argsort(kind="stable")[: self.num_samples]
        return iter(places.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of batch_size numbers of another sampler; the last may be shorter, unless drop_last."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool = False) -> None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(
                f"BatchSampler: batch_size must be a whole number from 1 on, got {batch_size!r}."
            )
        super().__init__()
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for number in self.sampler:
            batch.append(number)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)
