"""Schedules made of schedules, one after another or all at once, and the one that depends on the
loss.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..errors import one_of
from .optimizer import Optimizer
from .schedule import LRScheduler, for_each, groups_of


class _Several(LRScheduler):
    """What holds several schedules of one optimiser."""

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler]) -> None:
        self.optimizer, self.groups = optimizer, groups_of(self, optimizer)
        self._schedulers = list(schedulers)
        for i, s in enumerate(self._schedulers):
            if isinstance(s, ReduceLROnPlateau):
                raise ValueError(
                    f"{type(self).__name__}: schedule {i} is a ReduceLROnPlateau, which needs the"
                    " loss in each step. Step it apart."
                )
            if not isinstance(s, LRScheduler):
                raise TypeError(
                    f"{type(self).__name__}: schedule {i} is {type(s).__name__}, not an"
                    " LRScheduler."
                )
            if s.optimizer is not optimizer:
                raise ValueError(
                    f"{type(self).__name__}: schedule {i} ({type(s).__name__}) belongs to another"
                    " optimiser than the first."
                )
        self.base_lrs = [group["initial_lr"] for group in self.groups]
        self._last_lr = [group["lr"] for group in self.groups]

    def _note(self) -> None:
        self._last_lr = [group["lr"] for group in self.groups]

    def state_dict(self) -> dict[str, Any]:
        """Own settings, and the states of the parts under "_schedulers"."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state. The optimiser's rates are restored too, unless something set
        them since this schedule was made.
        """
        parts = state["_schedulers"]
        if len(parts) != len(self._schedulers):
            raise ValueError(
                f"{type(self).__name__}: the saved state has {len(parts)} schedules, this one"
                f" {len(self._schedulers)}."
            )
        before = [group["lr"] for group in self.groups]
        untouched = before == self._last_lr
        vars(self).update({name: value for name, value in state.items() if name != "_schedulers"})
        for s, part in zip(self._schedulers, parts, strict=True):
            s.load_state_dict(part)
        for group, rate in zip(self.groups, self._last_lr if untouched else before, strict=True):
            group["lr"] = rate


class ChainedScheduler(_Several):
    """Several schedules stepped together. optimizer: theirs; may be left out. Raises ValueError
    for none, or of several optimisers.
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler: got no schedules to chain.")
        own: Any = getattr(schedulers[0], "optimizer", None) if optimizer is None else optimizer
        super().__init__(own, schedulers)

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch with each of them. Raises TypeError for an epoch: what they make
        together is known step by step only.
        """
        if epoch is not None:
            raise TypeError("ChainedScheduler: step() takes no epoch; call it once for each.")
        for s in self._schedulers:
            s.step()
        self._note()

    def restart(self) -> None:
        """Restart at epoch 0 with the initial rates."""
        for group, rate in zip(self.groups, self.base_lrs, strict=True):
            group["lr"] = rate
        for s in self._schedulers:
            s.last_epoch = -1
            s.step()
        self._note()


class SequentialLR(_Several):
    """One schedule after another: at the k-th milestone the (k+1)-th begins, at its epoch 0.

    Raises ValueError unless there is one milestone less than schedules, and for schedules of
    several optimisers.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers:
            raise ValueError("SequentialLR: got no schedules.")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: {len(schedulers)} schedules need {len(schedulers) - 1} milestones"
                f" between them, got {len(milestones)}."
            )
        super().__init__(optimizer, schedulers)
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        self.restart(self.last_epoch)

    def restart(self, epoch: int = 0) -> None:
        """Restart with the initial rates."""
        for s in self._schedulers:
            s.last_epoch = -1
        self.last_epoch = epoch
        self._schedulers[bisect_right(self._milestones, 0)].restart()
        self._note()

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch. Raises TypeError for an epoch."""
        if epoch is not None:
            raise TypeError("SequentialLR: step() takes no epoch; call it once for each.")
        self.last_epoch += 1
        k = bisect_right(self._milestones, self.last_epoch)
        if k and self._milestones[k - 1] == self.last_epoch:
            self._schedulers[k].restart()
        else:
            self._schedulers[k].step()
        self._note()


class ReduceLROnPlateau(LRScheduler):
    """Multiply the rates by `factor` when a number, such as the loss on data held back, has not
    become better for `patience` epochs.

    mode: whether "min" or "max" is better; threshold: better by how much counts, as a part of the
    best ("rel") or as a number ("abs");
    cooldown: epochs after a reduction in which nothing is counted; min_lr: where it ends, one
    number or one for each group; eps: smaller reductions are left out. Raises ValueError for
    settings out of range.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        self.optimizer, self.groups = optimizer, groups_of(self, optimizer)
        if factor >= 1:
            raise ValueError(f"ReduceLROnPlateau: factor must be below 1, got {factor}.")
        one_of("ReduceLROnPlateau", "mode", mode, "min", "max")
        one_of("ReduceLROnPlateau", "threshold_mode", threshold_mode, "rel", "abs")
        self.mode, self.reduction, self.patience, self.cooldown = mode, factor, patience, cooldown
        self.threshold, self.threshold_mode, self.eps = threshold, threshold_mode, eps
        self.min_lrs = for_each("ReduceLROnPlateau", "min_lr", min_lr, self.groups)
        self.by_group = isinstance(min_lr, list | tuple)
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self.base_lrs = [group["lr"] for group in self.groups]
        self._last_lr = list(self.base_lrs)

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at the number of one epoch."""
        value = float(metrics)
        self._adopt_groups()
        self.min_lrs += self.min_lrs[:1] * (len(self.groups) - len(self.min_lrs))
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, lowest in zip(self.groups, self.min_lrs, strict=True):
                reduced = max(group["lr"] * self.reduction, lowest)
                if group["lr"] - reduced > self.eps:
                    group["lr"] = reduced
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.groups]

    def is_better(self, value: float) -> bool:
        """Whether a number is better than the best so far by more than the threshold. NaN never
        is.
        """
        sign = 1 if self.mode == "min" else -1
        bar = (
            self.best * (1 - sign * self.threshold)
            if self.threshold_mode == "rel"
            else self.best - sign * self.threshold
        )
        return sign * value < sign * bar
