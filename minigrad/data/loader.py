"""Batches of a dataset, in an order that depends on nothing but the seed and the number of the epoch.

That is what makes an interrupted training resumable: setting `loader.epoch` to the number of epochs already done is all it takes to go on
with the orders that would have come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import backend, functions
from .datasets import batch_of


class DataLoader:
    """Iterates over a dataset in batches; each iteration is one epoch.

    dataset: a Dataset or any sequence of examples. batch_size: examples in a batch; the last batch may be smaller, unless drop_last.
    shuffle: a new random order in each epoch. seed: of these orders; None draws one from minigrad's generator (`mg.manual_seed`).
    epoch: how many iterations were begun; may be set. Raises ValueError for a batch_size below 1.
    """

    def __init__(
        self, dataset: Any, batch_size: int = 1, shuffle: bool = False, *, seed: int | None = None, drop_last: bool = False
    ) -> None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"DataLoader: batch_size must be a whole number from 1 on, got {batch_size!r}.")
        if seed is not None and seed < 0:
            raise ValueError(f"DataLoader: seed must be at least 0, got {seed}.")
        if seed is None and shuffle:
            seed = int(functions.randint(0, 2**31, ()).item())
        self.dataset, self.batch_size, self.shuffle, self.seed, self.drop_last = dataset, batch_size, shuffle, seed, drop_last
        self.epoch = 0

    def __len__(self) -> int:
        """Batches in an epoch."""
        whole, rest = divmod(len(self.dataset), self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)

    def order(self, epoch: int) -> Sequence[int]:
        """The numbers of the examples in the order in which that epoch (from 0) brings them, before any are dropped."""
        n = len(self.dataset)
        if self.seed is None or not self.shuffle:
            return range(n)
        numbers: list[int] = backend.host.random.default_rng((self.seed, epoch)).permutation(n).tolist()
        return numbers

    def __iter__(self) -> Iterator[Any]:
        # The epoch counts from the moment of `iter(loader)`, not from the first batch, so that two iterators never share an order.
        order = self.order(self.epoch)
        self.epoch += 1
        return self._batches(order)

    def _batches(self, order: Sequence[int]) -> Iterator[Any]:
        for start in range(0, len(self) * self.batch_size, self.batch_size):
            yield batch_of(self.dataset, order[start : start + self.batch_size])
