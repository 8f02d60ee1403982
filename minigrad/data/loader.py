"""Batches of a dataset, in an order that depends on nothing but the seed and the number of the
epoch.

That is what makes an interrupted training resumable: setting `loader.epoch` to the number of epochs
already done is all it takes to go on with the orders that would have come, and `state_dict`
remembers the place within an epoch too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .. import backend, functions
from .datasets import batch_of


class DataLoader:
    """Iterates over a dataset in batches; each iteration is one epoch.

    dataset: a Dataset or any sequence of examples. batch_size: examples in a batch; the last batch
    may be smaller, unless drop_last.
    shuffle: a new random order in each epoch. seed: of these orders; None draws one from minigrad's
    generator (`mg.manual_seed`).
    sampler: an iterable of numbers of examples, in order; batch_sampler: of lists of them.
    collate_fn: makes a batch of a list of examples. num_workers, pin_memory, persistent_workers,
    prefetch_factor: PyTorch's, which change nothing: batches are made in this process.
    epoch: how many iterations were begun; may be set. Raises ValueError for a batch_size below 1.
    after_batch: called as after_batch(epoch, done) when the loop's body is through with the epoch's
    batch number `done` (from 1).
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        *,
        seed: int | None = None,
        persistent_workers: bool = False,
        prefetch_factor: int | None = None,
    ) -> None:
        if shuffle and (sampler is not None or batch_sampler is not None):
            raise ValueError(
                "DataLoader: a sampler decides the order; leave shuffle out, or the sampler."
            )
        if batch_sampler is not None and (sampler is not None or batch_size != 1 or drop_last):
            raise ValueError(
                "DataLoader: a batch_sampler decides the batches; leave batch_size, sampler and"
                " drop_last out."
            )
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(
                f"DataLoader: batch_size must be a whole number from 1 on, got {batch_size!r}."
            )
        if seed is not None:
            functions.not_below("DataLoader", "seed", seed, 0)
        if seed is None and shuffle:
            seed = int(functions.randint(0, 2**31, ()).item())
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.sampler, self.batch_sampler, self.collate_fn = sampler, batch_sampler, collate_fn
        self.num_workers, self.pin_memory = num_workers, pin_memory
        self.epoch = 0
        self.after_batch: Callable[[int, int], None] | None = None
        # batches that the next iteration leaves out, because they were done before an interruption
        self._skip = 0
        self._done: int | None = (
            # batches that are done of the iteration begun last; None when that one is at its end
            None
        )

    def __len__(self) -> int:
        """Batches in an epoch."""
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        whole, rest = divmod(
            len(self.dataset if self.sampler is None else self.sampler), self.batch_size
        )
        return whole + (1 if rest and not self.drop_last else 0)

    def order(self, epoch: int) -> Sequence[int]:
        """The numbers of the examples in the order in which that epoch (from 0) brings them,
        before any are dropped.
        """
        if self.sampler is not None:
            return list(self.sampler)
        n = len(self.dataset)
        if self.seed is None or not self.shuffle:
            return range(n)
        numbers: list[int] = (
            backend.numpy.random.default_rng((self.seed, epoch)).permutation(n).tolist()
        )
        return numbers

    def __iter__(self) -> Iterator[Any]:
        # The epoch counts from the moment of `iter(loader)`, not from the first batch, so that two
        # iterators never share an order.
        epoch, first = self.epoch, self._skip
        self.epoch, self._skip, self._done = epoch + 1, 0, first
        return self._batches(epoch, first)

    def _batches(self, epoch: int, first: int) -> Iterator[Any]:
        if self.batch_sampler is None:
            order, size = self.order(epoch), self.batch_size
            batches: Iterable[Any] = (
                order[start : start + size] for start in range(0, len(self) * size, size)
            )
        else:
            batches = self.batch_sampler
        for number, indices in enumerate(batches):
            if number < first:
                continue
            yield self._batch(indices)
            if self.epoch == epoch + 1:  # no other iteration was begun meanwhile
                self._done = number + 1
            if self.after_batch is not None:
                self.after_batch(epoch, number + 1)
        if self.epoch == epoch + 1:
            self._done = None

    def _batch(self, indices: Sequence[int]) -> Any:
        if self.collate_fn is None:
            return batch_of(self.dataset, indices)
        return self.collate_fn([self.dataset[int(i)] for i in indices])

    def rewind(self) -> None:
        """Forget the place within an iteration that was left early: the next one begins a new
        epoch at its first batch.
        """
        self._skip, self._done = 0, None

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is: the epoch to begin or to go on with, how many of its batches are
        done, and what decides their order.
        """
        inside = self._done is not None
        return {
            "epoch": self.epoch - 1 if inside else self.epoch,
            "batch": self._done if inside else self._skip,
            "seed": self.seed,
            **self._settings(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where another loader was: the next iteration brings the batches that it would have
        brought.

        Raises ValueError, and changes nothing, if that one had another number of examples or
        another batch_size, shuffle or drop_last.
        """
        other = {
            name: (state[name], ours)
            for name, ours in self._settings().items()
            if state[name] != ours
        }
        if other:
            differences = ", ".join(
                f"{name} {theirs} there and {ours} here" for name, (theirs, ours) in other.items()
            )
            raise ValueError(
                f"DataLoader.load_state_dict: the batches would be others: {differences}."
            )
        self.epoch = state["epoch"]
        self._skip = state["batch"]
        self._done = None
        self.seed = state["seed"]

    def _settings(self) -> dict[str, Any]:
        return {
            "examples": len(self.dataset),
            "batch_size": self.batch_size,
            "shuffle": self.shuffle,
            "drop_last": self.drop_last,
        }
