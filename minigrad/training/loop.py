"""The loop over the epochs of a run that survives interruption.

    history = {"loss": []} for epoch in mg.training.epochs(20, save="run.npz", model=model,
    optimizer=optimizer, loader=loader, history=history):
        for x, t in loader:
            optimizer.zero_grad()
            loss = loss_of(model(x), t)
            loss.backward()
            optimizer.step()
            history["loss"].append(loss.item())

Whatever ends this program, Ctrl-C, a power cut or `kill -9`, starting it again goes on at the epoch
that was not finished, and in the end parameters, optimiser and history are, bit for bit, those of
an undisturbed run.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..data.loader import DataLoader
from ..serialization import RUN, CheckpointError, read, write
from . import state as states
from .progress import Bar, stream, watched

at_end: list[Callable[[], None]] = []
"""Called whenever a loop over epochs has ended, so that what shows a training shows its last
state.
"""


class epochs:
    """Iterates over the numbers 0, 1, … of the epochs still to do, out of `count`, with a progress
    bar.

    save: the file that holds the run. If it exists, all parts are set to what it holds, and the
    epochs in it are not repeated; then it is rewritten before the first epoch, after each, and,
    with batches=n, after each n batches of the DataLoader among the parts. Without `save` there is
    a bar and nothing else.
    parts: all that the loop changes, by keyword: model=…, optimizer=…, scheduler=…, loader=…,
    history=… (see training/state.py for what a part can be). Random numbers of minigrad, NumPy and
    Python are always saved.
    every: save after each so many epochs only (and after the last). show: the bar, as in
    `progress`.

    With `batches`, an epoch that was begun is begun again, and its loop over the loader goes on
    after the last batch that is saved. So keep what is summed up over an epoch in a part, not in a
    variable; what stands before that loop is done a second time. Of several loops over the loader
    in one epoch the first is the one that is saved.

    Raises CheckpointError (and changes nothing) if the file is damaged or holds other parts than
    these, and ValueError for counts below 1.
    """

    def __init__(
        self,
        count: int,
        *,
        save: str | os.PathLike[str] | None = None,
        every: int = 1,
        batches: int | None = None,
        show: bool | None = None,
        **parts: Any,
    ) -> None:
        for name, number in (
            ("count", count),
            ("every", every),
            ("batches", 1 if batches is None else batches),
        ):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ValueError(
                    f"epochs: {name} must be a whole number from 1 on, got {number!r}."
                )
        if save is None and (parts or batches):
            raise ValueError(
                'epochs: parts and batches are for saving. Say where to: save="run.npz".'
            )
        self.count = count
        self.every = every
        self.batches = batches
        self.show = show
        self.parts = parts
        self.path = _path(save)
        self.done = 0
        """How many epochs are finished."""
        self.stopped = False
        self._loaders = [part for part in parts.values() if isinstance(part, DataLoader)]
        if batches is not None and len(self._loaders) != 1:
            raise ValueError(
                f"epochs: batches={batches} counts the batches of the DataLoader among the parts;"
                f" there must be one, not {len(self._loaders)}."
            )
        self._inside = False
        self._bar: Bar | None = None
        for loader in self._loaders:
            loader.after_batch = None
        if self.path is not None:
            if self.path.exists():
                self._restore()
            else:
                self.save()  # what cannot be saved shall be known now, not after hours

    # ------------------------------------------------------------------------------------- the loop

    def __iter__(self) -> epochs:
        return self

    def __next__(self) -> int:
        if self._inside:
            self._finish()
        if self.stopped or self.done >= self.count:
            self._close()
            raise StopIteration
        if self._bar is None:
            self._bar = Bar(self.count, self.done, "epoch", "", self.show)
        self._inside = True
        if self.batches is not None:
            self._loaders[0].after_batch = self._watch(self._loaders[0].epoch)
        return self.done

    def _finish(self) -> None:
        """The loop's body came to its end."""
        self._inside = False
        self.done += 1
        for loader in self._loaders:
            loader.rewind()
        if self.path is not None and (
            self.done % self.every == 0 or self.done >= self.count or self.stopped
        ):
            self.save()
        if self._bar is not None:
            self._bar.note(_latest(self.parts))
            self._bar.advance()

    def _watch(self, first: int) -> Any:
        """What the loader calls after each batch: saves now and then, in the pass with the
        number `first`.
        """

        def after_batch(epoch: int, done: int) -> None:
            if self.batches is not None and epoch == first and done % self.batches == 0:
                self.save()

        return after_batch

    def _close(self) -> None:
        for loader in self._loaders:
            loader.after_batch = None
        if self._bar is not None:
            self._bar.close()
        for call in at_end:
            call()

    def __len__(self) -> int:
        """How many epochs are still to do, the present one included."""
        return 0 if self.stopped else max(0, self.count - self.done)

    # --------------------------------------------------------------------------------- for its body

    def stop(self) -> None:
        """Let this epoch be the last (early stopping). It is finished and saved, and the run does
        not go on when it is started again.

        A `break` instead leaves the file as it was when the epoch began.
        """
        self.stopped = True

    def tell(self, text: str) -> None:
        """Print a line without tearing the bar."""
        if self._bar is None:
            print(text)
        else:
            self._bar.tell(text)

    # ------------------------------------------------------------------------------------- the file

    def save(self) -> None:
        """Write the file now. In the middle of an epoch only what `batches` says is exact: the
        present epoch is begun again.
        """
        if self.path is None:
            raise ValueError(
                'epochs: there is no file to save to. Give one: epochs(…, save="run.npz").'
            )
        run = {"done": self.done, "stopped": self.stopped}
        write(self.path, {"run": run, **states.take(self.parts)}, RUN)

    def _restore(self) -> None:
        assert self.path is not None
        state = read(self.path, RUN)
        before = copy.deepcopy(states.take(self.parts))
        try:
            done, stopped = state["run"]["done"], state["run"]["stopped"]
            states.put(self.parts, state)
        except Exception as error:
            # An object with a load_state_dict of its own may have refused after other parts were
            # set: take everything back.
            states.put(self.parts, before)
            raise CheckpointError(
                f"{self.path} does not fit this run: {error}\nUse the same parts as then, or"
                " another file for another run."
            ) from error
        self.done, self.stopped = done, stopped
        if watched() if self.show is None else self.show:
            end = " The run was stopped there." if stopped else ""
            print(
                f"{self.path}: {done} of {self.count} epochs are done already.{end}", file=stream()
            )


def _path(save: str | os.PathLike[str] | None) -> Path | None:
    if save is None:
        return None
    path = Path(save)
    path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"epochs: the folder of {path} does not exist. Make it first.")
    return path


def _latest(parts: dict[str, Any]) -> dict[str, float]:
    """The last numbers of the lists in dicts among the parts: the figures to show beside the
    bar.
    """
    lists = {
        name: column
        for part in parts.values()
        if isinstance(part, dict)
        for name, column in part.items()
        if isinstance(column, list)
    }
    return {
        str(name): float(column[-1])
        for name, column in lists.items()
        if column and isinstance(column[-1], int | float)
    }
