"""Learning-rate schedules: after each epoch, `scheduler.step()` sets the optimiser's learning rates. Closed forms, so a restart needs only
the epoch number."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from .optimizer import Optimizer


class LRScheduler:
    """Base class: a subclass says by what factor the initial rate is multiplied at each epoch."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(self).__name__}: expected an Optimizer, got {type(optimizer).__name__}.")
        self.optimizer = optimizer
        self.groups = optimizer.param_groups or [optimizer.defaults]
        for group in self.groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in self.groups]
        self.last_epoch = last_epoch
        self.step()

    def factor(self, epoch: int, index: int) -> float:
        """What the initial rate of group `index` is multiplied by at `epoch`."""
        raise NotImplementedError(f"{type(self).__name__} does not define factor().")

    def step(self) -> None:
        """Go to the next epoch."""
        self.last_epoch += 1
        for i, group in enumerate(self.groups):
            group["lr"] = self.base_lrs[i] * self.factor(self.last_epoch, i)

    def get_last_lr(self) -> list[float]:
        """The present learning rates, one a group."""
        return [group["lr"] for group in self.groups]

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on later."""
        return {"last_epoch": self.last_epoch, "base_lrs": self.base_lrs}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.last_epoch, self.base_lrs = state["last_epoch"] - 1, list(state["base_lrs"])
        self.step()


class LambdaLR(LRScheduler):
    """The factor is a function of the epoch (or one function for each group)."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]], last_epoch: int = -1
    ) -> None:
        self._functions = lr_lambda
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, index: int) -> float:
        return self._functions(epoch) if callable(self._functions) else self._functions[index](epoch)


class StepLR(LRScheduler):
    """Multiply by gamma every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, index: int) -> float:
        return float(self.gamma ** (epoch // self.step_size))


class MultiStepLR(LRScheduler):
    """Multiply by gamma at each of the milestones."""

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, index: int) -> float:
        return float(self.gamma ** bisect_right(self.milestones, epoch))


class ExponentialLR(LRScheduler):
    """Multiply by gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, index: int) -> float:
        return float(self.gamma**epoch)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate down to eta_min over T_max epochs."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, index: int) -> float:
        floor = self.eta_min / self.base_lrs[index] if self.base_lrs[index] else 0.0
        return floor + (1 - floor) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class LinearLR(LRScheduler):
    """From start_factor to end_factor in equal steps over total_iters epochs (a warm-up)."""

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, index: int) -> float:
        return self.start_factor + (self.end_factor - self.start_factor) * min(epoch, self.total_iters) / self.total_iters
