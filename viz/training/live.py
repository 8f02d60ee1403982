"""`Live`: a history shown while it grows, without holding the training up.

    with viz.Live(title="disc") as live:
        for epoch in range(500):
            ...
            live.log(loss=loss.item())

This costs little: a call of `log` appends numbers to lists and looks at the clock; only when a
quarter of a second has passed is anything sent to the page, and then at most 600 points of each
curve and the newest snapshot. Sending and taking snapshots look at their own cost: after either,
the training goes on alone for at least 33 times as long (`share`), however short its epochs are. So
each takes 3 % of the time at most, and what it leaves out lies evenly over the training. Snapshots
that take a second together are free: a short training has them all, to be played afterwards.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from time import perf_counter
from types import TracebackType
from typing import Any
from weakref import WeakSet

from minigrad.viz.hosts import kernel_runs, runs_for_a_page
from minigrad.viz.page import options_of
from minigrad.viz.training.history import History
from minigrad.viz.training.page import iframe

from minigrad.nn import Module
from minigrad.training import loop

INTERVAL = 0.25
"""Seconds between two updates of the page."""
SHARE = 0.03
"""Of the training's time, at most so much goes into snapshots, and as much into sending."""
FREE = 1.0
"""Seconds that snapshots may take before they are left out."""
MOST = 600
"""Points of a curve that are sent while training runs; at the end come all."""


class Live:
    """Records a training and, in a notebook, shows it while it runs. A context manager; or call
    `close()` at the end.

    Args:
        history: where to record; a new one by default.
        title: of a new history.
        model, points, labels, example: given a model, a snapshot is taken every ``every`` epochs;
        see :meth:`History.snapshot`.
        every: epochs between snapshots, 1 or more. A snapshot runs the model on a grid of 48 × 48
            points and counts its parameters: a few milliseconds for a small network. Where epochs
            are as short as that and many, some are left out, see ``share``.
        share: how much longer snapshots may make the training: 0.03 is 3 %. The first and the last
        state are kept whatever they cost, and so are snapshots that take less than a second
        together.
            None: a snapshot every ``every`` epochs, however much that slows the training.
        interval: seconds between updates of the page, at least; longer where an update itself takes
        long.
        lang: language of the interface, "en" or "zh".
        show: whether to show anything; by default in a notebook's kernel only. Where nothing can
            change any more once the cell has run (the notebook runs for a page, or anywidget is not
            installed) the page stands there at the end, in a frame.
    """

    def __init__(
        self,
        history: History | None = None,
        *,
        title: str = "",
        model: Module | None = None,
        points: Any = None,
        labels: Any = None,
        example: Any = None,
        every: int = 10,
        share: float | None = SHARE,
        interval: float = INTERVAL,
        lang: str = "en",
        show: bool | None = None,
    ) -> None:
        if every < 1:
            raise ValueError(f"Live: every must be 1 or more epochs, got {every}")
        if share is not None and not 0 < share <= 1:
            raise ValueError(
                "Live: share must be a part of the time, above 0 and at most 1, or None; got"
                f" {share}"
            )
        options_of(lang=lang)
        if interval < 0:
            raise ValueError(f"Live: interval must not be negative, got {interval}")
        self.history = History(title) if history is None else history
        self.model, self.points, self.labels, self.example, self.every = (
            model,
            points,
            labels,
            example,
            every,
        )
        self.interval, self.share, self.lang = interval, share, lang
        self.epoch = 0
        self.widget: Any = None
        self._sent, self._sending = (
            float("-inf"),
            0.0,
        )  # when the page was last told, and how long that took
        self._taken = 0.0  # seconds that snapshots took
        self._again = float("-inf")  # when a snapshot may be taken again
        self._unfinished = (
            False  # whether the page lacks what was recorded since it was last complete
        )
        self._frame: Any = None  # the display of the page, where no widget can be
        self._cell = _cell()
        self._at_the_end = runs_for_a_page() and show is not False
        if not self._at_the_end and (kernel_runs() if show is None else show):
            self._show()
        if self.widget is not None or self._at_the_end:
            _follow_cells()
            _open.add(self)

    def log(self, epoch: float | None = None, **measures: Any) -> None:
        """Record the measures of an epoch; without ``epoch`` they count 1, 2, 3 … Raises
        ValueError for what is no single number.
        """
        self.epoch = self.epoch + 1 if epoch is None else epoch  # type: ignore[assignment]
        self.history.log(self.epoch, **measures)
        self._unfinished = True
        due = self.model is not None and (
            self.epoch % self.every == 0 or not self.history.snapshots
        )
        free = self.share is None or self._taken < FREE
        if due and (free or perf_counter() >= self._again):
            self.snapshot()
        if self.widget is not None and perf_counter() - self._sent >= max(
            self.interval, self._sending / SHARE
        ):
            start = perf_counter()
            self._send(self.history.to_dict(most=MOST, last=1))
            self._sending = perf_counter() - start

    def snapshot(self) -> None:
        """Take a snapshot now. Raises ValueError if there is no model."""
        if self.model is None:
            raise ValueError("Live.snapshot: give Live the model: Live(model=model)")
        start = perf_counter()
        self.history.snapshot(
            self.epoch, self.model, points=self.points, labels=self.labels, example=self.example
        )
        now = perf_counter()
        self._taken += now - start
        self._again = now + (now - start) / (self.share or 1)
        self._unfinished = True

    def show_all(self) -> None:
        """Show the complete history, as at the end of each cell and of each loop of
        `training.epochs`.

        The page's scrubber then reaches every snapshot. Recording can go on afterwards.
        """
        snapshots = self.history.snapshots
        if self.model is not None and snapshots and snapshots[-1]["epoch"] < self.epoch:
            self.snapshot()
        if self.widget is not None:
            self._send(self.history.to_dict(), running=False)
        if self._at_the_end and self._unfinished and self.history.measures:
            frame = iframe(self.history, self.lang)
            if self._frame is None:
                self._frame = _display(frame)
            else:
                self._frame.update(frame)
        self._unfinished = False

    def close(self) -> None:
        """Show the complete history for the last time."""
        self.show_all()
        _open.discard(self)

    def _send(self, document: dict[str, Any], running: bool = True) -> None:
        self.widget.send_history(document, running)
        self._sent = perf_counter()

    def _show(self) -> None:
        try:
            from minigrad.viz.training.widget import TrainingView
        except ModuleNotFoundError:
            self._at_the_end = kernel_runs()
            return
        self.widget = TrainingView(self.history, lang=self.lang)
        self.widget.running = True
        _display(self.widget)

    def __repr__(self) -> str:
        return repr(self.history)

    def _ipython_display_(self) -> None:
        """As a cell's last expression: the view, which the cell that made it shows already."""
        if self.widget is None:
            print(self)
        elif self._cell != _cell():
            _display(self.widget)

    def __enter__(self) -> Live:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        self.close()  # after an error or Ctrl-C too: what was recorded until then is worth seeing
        if isinstance(error, KeyboardInterrupt) and place is not None:
            _without_library(place)

    def __call__(self, epoch: float | None = None, **measures: Any) -> None:
        """Calls `log`, so that a Live serves as a callback."""
        self.log(epoch, **measures)


def _without_library(place: TracebackType) -> None:
    """Takes minigrad's calls out of a traceback, which begins in the user's code: where it was
    interrupted says nothing, and fills a screen of a notebook."""
    later = place.tb_next
    while later is not None:
        if str(later.tb_frame.f_globals.get("__name__")).partition(".")[0] != "minigrad":
            place.tb_next = later
            place = later
        later = later.tb_next
    place.tb_next = None


_open: WeakSet[Live] = WeakSet()
"""Those that show something and are not closed."""


def _show_open(_result: Any = None) -> None:
    """A cell or a loop has ended, perhaps by an error: what is shown is brought to the truth."""
    for live in list(_open):
        if live._unfinished:
            live.show_all()


loop.at_end.append(_show_open)


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def _cell() -> int | None:
    """The number of the cell that runs; None outside of IPython."""
    return getattr(_shell(), "execution_count", None)


def _follow_cells() -> None:
    """From now on IPython tells the end of each cell."""
    shell = _shell()
    if shell is not None:
        with suppress(ValueError):  # it is registered once
            shell.events.unregister("post_run_cell", _show_open)
        shell.events.register("post_run_cell", _show_open)


def _display(shown: Any) -> Any:
    """Show something, and return what can show something else in its place."""
    from IPython.display import display

    return display(shown, display_id=True)
