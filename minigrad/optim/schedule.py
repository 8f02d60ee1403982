"""What all learning-rate schedules share: they count epochs and set the rates of an optimiser's
groups.

A schedule is given in closed form: at epoch e the initial rate r₀ has become r₀·f(e). Alone on an
optimiser it sets just that. Where something else moves the rate too, another schedule or the user,
each step carries the present rate r on by the ratio of its closed form, r · f(e) / f(e-1), so
schedules on one optimiser multiply.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .optimizer import Group, Optimizer


class LRScheduler:
    """Base class. A subclass gives `factor`, or, as PyTorch's do, `get_lr`.

    last_epoch: the last epoch that was trained, -1 for none; a schedule that begins later needs the
    groups' "initial_lr", which a first schedule leaves there and the optimiser's state holds.
    Raises TypeError for anything but an Optimizer, KeyError without "initial_lr".
    """

    absolute = False
    """Whether each step sets the rate from the initial one, whatever it is at present."""
    by_group = False
    """Whether it holds settings of its own for each group, so that no group can join later."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer, self.groups = optimizer, groups_of(self, optimizer)
        for i, group in enumerate(self.groups):
            if last_epoch >= 0 and "initial_lr" not in group:
                raise KeyError(
                    f"{type(self).__name__}: last_epoch={last_epoch}, but group {i} of the"
                    ' optimiser has no "initial_lr". Load the optimiser\'s state first.'
                )
            group.setdefault("initial_lr", float(group["lr"]))
        self.base_lrs: list[float] = [group["initial_lr"] for group in self.groups]
        self.last_epoch = last_epoch
        self._last_lr = [group["lr"] for group in self.groups]
        self.step(*([] if last_epoch < 0 else [last_epoch + 1]))

    def factor(self, epoch: int, index: int) -> float:
        """What the initial rate of group `index` is multiplied by at `epoch`."""
        raise NotImplementedError(f"{type(self).__name__} does not define factor().")

    def floor(self, index: int) -> float:
        """The rate from which the closed form is measured: where it is not zero, only what lies
        above it is multiplied.
        """
        return 0.0

    def closed_form(self) -> list[float]:
        """The rates of all groups at the present epoch, were there no other schedule."""
        return [self._at(self.last_epoch, i) for i in range(len(self.base_lrs))]

    def get_lr(self) -> list[float]:
        """The rates of all groups at the present epoch, given what they are now."""
        if self.absolute:
            return self.closed_form()
        return [self._carried(group["lr"], i) for i, group in enumerate(self.groups)]

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to the given one as if there were no other schedule.

        Warns if the optimiser has made no step yet: the initial rate would never be used.
        """
        if epoch is None:
            self._check_order()
        self._adopt_groups()
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        rates = (
            self.get_lr()
            if epoch is None or type(self).factor is LRScheduler.factor
            else self.closed_form()
        )
        for group, rate in zip(self.groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = [group["lr"] for group in self.groups]

    def restart(self) -> None:
        """Restart at epoch 0 with the initial rates."""
        for group, rate in zip(self.groups, self.base_lrs, strict=True):
            group["lr"] = rate
        self.last_epoch = -1
        self.step()

    def get_last_lr(self) -> list[float]:
        """The rates that the last step gave, one a group."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on later: all settings but functions, as plain data."""
        return {
            name: value
            for name, value in vars(self).items()
            if name not in ("optimizer", "groups") and _is_plain(value)
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state. The optimiser's rates are restored too, unless something set
        them since this schedule was made (its own state that was loaded before, or another
        schedule).
        """
        untouched = [group["lr"] for group in self.groups] == self._last_lr
        vars(self).update(state)
        if "_last_lr" not in state:
            self._last_lr = self.closed_form()
        if untouched:
            for group, rate in zip(self.groups, self._last_lr, strict=True):
                group["lr"] = rate

    def _check_order(self) -> None:
        """Warn, once for an optimiser, of a first step before the optimiser's first step."""
        optimizer = self.optimizer
        if self.last_epoch < 0 or optimizer._stepped or type(optimizer).step is not Optimizer.step:
            return
        optimizer._stepped = True
        warnings.warn(
            f"{type(self).__name__}.step() was called before the optimiser's step(), so the first "
            "rate of the schedule is skipped. Call optimizer.step() first, then scheduler.step().",
            UserWarning,
            stacklevel=3,
        )

    def _adopt_groups(self) -> None:
        """Take in groups that were added to the optimiser since. Raises ValueError where they
        have no settings.
        """
        for group in self.groups[len(self.base_lrs) :]:
            if self.by_group:
                raise ValueError(
                    f"{type(self).__name__}: the optimiser has {len(self.groups)} groups now, and"
                    f" had {len(self.base_lrs)}. Make a new schedule."
                )
            self.base_lrs.append(group.setdefault("initial_lr", float(group["lr"])))

    def _at(self, epoch: int, index: int) -> float:
        return (
            self.base_lrs[index] if epoch < 0 else self.base_lrs[index] * self.factor(epoch, index)
        )

    def _carried(self, present: float, index: int) -> float:
        """The present rate, carried on by the ratio of the closed form now to that of the epoch
        before.
        """
        before = self._at(self.last_epoch - 1, index)
        now = self._at(self.last_epoch, index)
        floor = self.floor(index)
        if present == before:
            return now
        if before == floor:  # there is no ratio
            return present + (now - before)
        return floor + (present - floor) * ((now - floor) / (before - floor))


def groups_of(schedule: object, optimizer: Any) -> list[Group]:
    """The groups whose rates are to be set; the defaults of an optimiser that was given no
    parameters.
    """
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            f"{type(schedule).__name__}: expected an Optimizer, got {type(optimizer).__name__}."
        )
    return optimizer.param_groups or [optimizer.defaults]


def for_each(owner: str, name: str, given: Any, groups: Sequence[Group]) -> list[Any]:
    """One value for each group. Raises ValueError for a list of another length."""
    values = list(given) if isinstance(given, list | tuple) else [given] * len(groups)
    if len(values) != len(groups):
        raise ValueError(
            f"{owner}: {name} has {len(values)} values, and the optimiser {len(groups)} groups;"
            " give one value, or one a group."
        )
    return values


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(v) for v in value)
    if isinstance(value, dict):
        return all(_is_plain(v) for v in (*value, *value.values()))
    return value is None or isinstance(value, int | float | str)
