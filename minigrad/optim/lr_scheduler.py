"""Learning-rate schedules: after each epoch, `scheduler.step()` sets the optimiser's learning
rates.

Here are those with one short formula. Those that rise and fall are in cyclic_schedules.py, those
that are made of others or depend on the loss in chained_schedules.py.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence

from ..errors import with_hints
from .chained_schedules import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from .cyclic_schedules import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .optimizer import Optimizer
from .schedule import LRScheduler, for_each

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler",
    "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip

Functions = Callable[[int], float] | Sequence[Callable[[int], float]]


class _ByFunctions(LRScheduler):
    """What takes a function of the epoch, or one for each group."""

    by_group = True

    def __init__(self, optimizer: Optimizer, lr_lambda: Functions, last_epoch: int = -1) -> None:
        """Raises ValueError for another number of functions, TypeError for what cannot be
        called.
        """
        name, groups = type(self).__name__, getattr(optimizer, "param_groups", None) or [{}]
        self._functions: list[Callable[[int], float]]
        self._functions = for_each(name, "lr_lambda", lr_lambda, groups)
        for f in self._functions:
            if not callable(f):
                raise TypeError(
                    f"{name}: lr_lambda must be a function of the epoch, or one for each group,"
                    f" got {type(f).__name__}."
                )
        super().__init__(optimizer, last_epoch)


class LambdaLR(_ByFunctions):
    """The factor is a function of the epoch (or one function for each group)."""

    absolute = True

    def factor(self, epoch: int, index: int) -> float:
        return self._functions[index](epoch)


class MultiplicativeLR(_ByFunctions):
    """The present rate times a function of the epoch (or one function for each group), from
    epoch 1 on.
    """

    def factor(self, epoch: int, index: int) -> float:
        return math.prod(self._functions[index](k) for k in range(1, epoch + 1))

    def get_lr(self) -> list[float]:
        """As the others give it, without the whole product."""
        if self.last_epoch == 0:
            return [group["lr"] for group in self.groups]
        return [
            group["lr"] * function(self.last_epoch)
            for group, function in zip(self.groups, self._functions, strict=True)
        ]


class StepLR(LRScheduler):
    """Multiply by gamma every `step_size` epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, index: int) -> float:
        return float(self.gamma ** (epoch // self.step_size))


class MultiStepLR(LRScheduler):
    """Multiply by gamma at each of the milestones."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, index: int) -> float:
        return float(self.gamma ** bisect_right(self.milestones, epoch))


class ConstantLR(LRScheduler):
    """`factor` times the rate for the first `total_iters` epochs, then the whole rate. Raises
    ValueError unless 0 <= factor <= 1.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        _between(self, "factor", factor, 0)
        self.first_factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, index: int) -> float:
        return self.first_factor if epoch < self.total_iters else 1.0


class LinearLR(LRScheduler):
    """From start_factor to end_factor in equal steps over total_iters epochs (a warm-up).

    Raises ValueError unless both are between 0 and 1, and start_factor is not 0.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        _between(self, "start_factor", start_factor, 0)
        _between(self, "end_factor", end_factor, 0)
        if start_factor == 0:
            raise ValueError(
                "LinearLR: start_factor must not be 0: the first epochs would be lost. Take a small"
                " number."
            )
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, index: int) -> float:
        return (
            self.start_factor
            + (self.end_factor - self.start_factor)
            * min(epoch, self.total_iters)
            / self.total_iters
        )


class ExponentialLR(LRScheduler):
    """Multiply by gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, index: int) -> float:
        return float(self.gamma**epoch)


class PolynomialLR(LRScheduler):
    """Down to zero over total_iters epochs: (1 - e/total_iters)^power."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, index: int) -> float:
        return float((1 - min(epoch, self.total_iters) / self.total_iters) ** self.power)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate down to eta_min over T_max epochs, and up again."""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: int, index: int) -> float:
        floor = self.eta_min / self.base_lrs[index] if self.base_lrs[index] else 0.0
        return floor + (1 - floor) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2

    def floor(self, index: int) -> float:
        return self.eta_min


def _between(schedule: LRScheduler, name: str, value: float, lowest: float) -> None:
    if not lowest <= value <= 1:
        raise ValueError(
            f"{type(schedule).__name__}: {name} must be between {lowest} and 1, got {value}."
        )


with_hints(sys.modules[__name__])
