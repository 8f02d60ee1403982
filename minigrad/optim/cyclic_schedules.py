"""Schedules that rise and fall, some with the momentum in the opposite sense. Each sets its rate at
every step, whatever others did.

Sources: L. N. Smith, "Cyclical learning rates for training neural networks" (2017), and with N.
Topin "Super-convergence" (2019); I. Loshchilov and F. Hutter, "SGDR: stochastic gradient descent
with warm restarts" (2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..errors import one_of
from .optimizer import Optimizer
from .schedule import LRScheduler, for_each, groups_of


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the initial rate to eta_min, again and again: the first takes T_0 epochs,
    each further one T_mult times the one before. `step` also takes a fraction of an epoch.

    Raises ValueError unless T_0 and T_mult are integers of at least 1.
    """

    absolute = True

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(
                    f"CosineAnnealingWarmRestarts: {name} must be an integer of at least 1, got"
                    f" {value!r}."
                )
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        self.T_i, self.T_cur = T_0, 0.0  # the length of the present cosine, and the place in it
        self._place = float(last_epoch)
        super().__init__(optimizer, last_epoch)

    def factor(self, epoch: float, index: int) -> float:
        base = self.base_lrs[index]
        floor = self.eta_min / base if base else 0.0
        return floor + (1 - floor) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to the given one, which may lie between two. Raises
        ValueError for a negative one.
        """
        if epoch is None:
            self._check_order()
        self._place = self._place + 1 if epoch is None else float(epoch)
        if self._place < 0:
            raise ValueError(
                f"CosineAnnealingWarmRestarts: the epoch must not be negative, got {epoch}."
            )
        self.T_i, self.T_cur = self.T_0, self._place
        if self.T_mult == 1:
            self.T_cur %= self.T_0
        while self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult
        super().step(math.floor(self._place))

    def restart(self) -> None:
        """Restart at epoch 0."""
        self.step(0)


class CyclicLR(LRScheduler):
    """Straight up from base_lr to max_lr in step_size_up steps, and down again in step_size_down;
    to be stepped after each batch.

    mode: "triangular", "triangular2" (each cycle half as high as the one before) or "exp_range"
    (gamma^step of the height); scale_fn: a factor of your own instead, a function of the cycle's
    number from 1 on or, with scale_mode="iterations", of the step.
    cycle_momentum: the momentum (or the first beta) goes from max_momentum down to base_momentum
    while the rate goes up. All rates and momenta may be lists with one for each group. Raises
    ValueError for an unknown mode, and if there is no momentum to cycle.
    """

    absolute = by_group = True

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        groups = groups_of(self, optimizer)
        if scale_fn is None:
            one_of("CyclicLR", "mode", mode, "triangular", "triangular2", "exp_range")
        one_of("CyclicLR", "scale_mode", scale_mode, "cycle", "iterations")
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / (step_size_up + down)
        self.mode, self.gamma, self.scale_mode, self._scale_fn = mode, gamma, scale_mode, scale_fn
        self.max_lrs = for_each("CyclicLR", "max_lr", max_lr, groups)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            _need_momentum("CyclicLR", optimizer)
            self.base_momentums = for_each("CyclicLR", "base_momentum", base_momentum, groups)
            self.max_momentums = for_each("CyclicLR", "max_momentum", max_momentum, groups)
        self.low_lrs = for_each("CyclicLR", "base_lr", base_lr, groups)
        if last_epoch < 0:
            for group, rate in zip(groups, self.low_lrs, strict=True):
                group["lr"] = rate
        super().__init__(optimizer, last_epoch)
        self.base_lrs = self.low_lrs

    def height(self, step: int) -> float:
        """How far up the rate is at a step, from 0 (base_lr) to 1 (max_lr)."""
        cycle = math.floor(1 + step / self.total_size)
        place = 1.0 + step / self.total_size - cycle
        height = (
            place / self.step_ratio
            if place <= self.step_ratio
            else (1 - place) / (1 - self.step_ratio)
        )
        if self._scale_fn is not None:
            return height * self._scale_fn(cycle if self.scale_mode == "cycle" else step)
        if self.mode == "exp_range":
            return float(height * self.gamma**step)
        return height * 0.5 ** (cycle - 1) if self.mode == "triangular2" else height

    def closed_form(self) -> list[float]:
        """The rates; the momenta are set on the way."""
        height = self.height(self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.groups, self.base_momentums, self.max_momentums, strict=True
            ):
                _set_momentum(group, high - (high - low) * height)
        return [
            low + (high - low) * height
            for low, high in zip(self.low_lrs, self.max_lrs, strict=True)
        ]


class OneCycleLR(LRScheduler):
    """One rise from max_lr/div_factor to max_lr and one long fall to that over final_div_factor,
    over a whole training; to be stepped after each batch.

    total_steps: how many steps there are, or epochs · steps_per_epoch; pct_start: the part of them
    that rises; anneal_strategy: "cos" or "linear"; three_phase: fall back in as many steps as were
    risen, and only then to the last rate. cycle_momentum: the momentum (or the first beta) goes
    from max_momentum down to base_momentum while the rate goes up. The one step after the last
    keeps the last rate, where PyTorch's goes on beyond it (below 0 if "linear"). Raises ValueError
    for settings that do not fit, and for a step after the last one.
    """

    absolute = by_group = True

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        groups = groups_of(self, optimizer)
        self.total_steps = _number_of_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, int | float) or not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start must be between 0 and 1, got {pct_start!r}.")
        one_of("OneCycleLR", "anneal_strategy", anneal_strategy, "cos", "linear")
        self.anneal_strategy, self.cycle_momentum = anneal_strategy, cycle_momentum
        self.max_lrs = for_each("OneCycleLR", "max_lr", max_lr, groups)
        self.first_lrs = [rate / div_factor for rate in self.max_lrs]
        self.final_lrs = [rate / final_div_factor for rate in self.first_lrs]
        top, last = pct_start * self.total_steps - 1, self.total_steps - 1
        rates = (
            ["first_lrs", "max_lrs", "first_lrs", "final_lrs"]
            if three_phase
            else ["first_lrs", "max_lrs", "final_lrs"]
        )
        momenta = ["max", "base", "max", "max"] if three_phase else ["max", "base", "max"]
        self.turns = (
            [0.0, top, 2 * pct_start * self.total_steps - 2, last]
            if three_phase
            else [0.0, top, last]
        )
        self.rates_at_turns, self.momenta_at_turns = rates, momenta
        if cycle_momentum:
            _need_momentum("OneCycleLR", optimizer)
            self.base_momentums = for_each("OneCycleLR", "base_momentum", base_momentum, groups)
            self.max_momentums = for_each("OneCycleLR", "max_momentum", max_momentum, groups)
        if last_epoch < 0:
            for group, rate in zip(groups, self.first_lrs, strict=True):
                group["lr"] = group["initial_lr"] = rate
        super().__init__(optimizer, last_epoch)

    def closed_form(self) -> list[float]:
        """The rates; the momenta are set on the way."""
        step = self.last_epoch
        if step > self.total_steps:  # one more than there are, as each batch is followed by a step
            raise ValueError(
                f"OneCycleLR: this is step {step} of a cycle of {self.total_steps} steps. Give it"
                " the number of all batches."
            )
        phase = next(
            k
            for k in range(1, len(self.turns))
            if step <= self.turns[k] or k == len(self.turns) - 1
        )
        begin, end = self.turns[phase - 1], self.turns[phase]
        part = min((step - begin) / (end - begin), 1.0) if end != begin else 1.0
        if self.anneal_strategy == "cos":
            part = (1 - math.cos(math.pi * part)) / 2
        if self.cycle_momentum:
            momenta = {"base": self.base_momentums, "max": self.max_momentums}
            a, b = (momenta[name] for name in self.momenta_at_turns[phase - 1 : phase + 1])
            for i, group in enumerate(self.groups):
                _set_momentum(group, a[i] + (b[i] - a[i]) * part)
        a, b = (getattr(self, name) for name in self.rates_at_turns[phase - 1 : phase + 1])
        return [x + (y - x) * part for x, y in zip(a, b, strict=True)]


def _number_of_steps(total: int | None, epochs: int | None, per_epoch: int | None) -> int:
    if total is None and (epochs is None or per_epoch is None):
        raise ValueError("OneCycleLR: give total_steps, or both epochs and steps_per_epoch.")
    named = (
        [("epochs", epochs), ("steps_per_epoch", per_epoch)]
        if total is None
        else [("total_steps", total)]
    )
    for name, value in named:
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"OneCycleLR: {name} must be an integer of at least 1, got {value!r}.")
    return math.prod(value for _, value in named if value is not None)


def _need_momentum(owner: str, optimizer: Optimizer) -> None:
    if not {"momentum", "betas"} & set(optimizer.defaults):
        raise ValueError(
            f"{owner}: {type(optimizer).__name__} has neither momentum nor betas. Say"
            " cycle_momentum=False."
        )


def _set_momentum(group: dict[str, Any], value: float) -> None:
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value
