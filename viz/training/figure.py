"""Learning curves and the last decision surface as a figure for paper or slides, by matplotlib."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import numpy as np
from minigrad.viz.export.files import whole
from minigrad.viz.picture.marks import colours
from minigrad.viz.texts import Words, words
from minigrad.viz.training.history import LEVELS, History

SERIES = ("v", "d", "g", "soft", "ink")
DASHES = ("-", (0, (5, 2)), (0, (1, 1.6)), (0, (6, 2, 1, 2)), (0, (2, 2)))
MARKS = ("o", "s", "^", "D")


def draw_curves(
    history: History, path: str | os.PathLike[str], *, snapshot: int = -1, log: bool | None = None,
    dpi: float = 144.0,
    lang: str = "en", dark: bool = False,
) -> Path:  # fmt: skip
    """Draw the curves, and beside them the decision surface of a snapshot if there is one, as .png,
    .pdf or .svg.

    Args:
        history: what to draw.
        path: the file.
        snapshot: which snapshot's surface; -1 the last.
        log: a logarithmic axis for losses; by default where all their values are above 0 and span
        more than a factor of 20.
        dpi: pixels an inch of a PNG.
        lang: language of the words, "en" or "zh"; the measures keep their names.
        dark: the colours of a dark page.

    Raises:
        ValueError: another ending or language, nothing was recorded, or no font has the language's
        letters.
        ModuleNotFoundError: matplotlib is not installed.
    """
    form = Path(path).suffix.lower().removeprefix(".")
    if form not in ("png", "pdf", "svg"):
        raise ValueError(
            f"draw_curves: the endings are .png, .pdf and .svg, not {Path(path).suffix or 'none'!r}"
        )
    if not history.measures:
        raise ValueError("draw_curves: the history has no measures; record some by log()")
    t = words(lang)
    import matplotlib
    from minigrad.viz.picture.fonts import fonts, need_letters

    need_letters(t, form)
    plain = {
        "png": {"Software": None},
        "pdf": {"Creator": "minigrad", "Producer": None, "CreationDate": None},
        "svg": {"Date": None},
    }[form]
    ink = _inks(colours(dark)) if dark else {}
    with matplotlib.rc_context({"svg.hashsalt": "minigrad", "font.family": fonts(), **ink}):
        figure = _drawn(history, snapshot, log, t, dark)
        with whole(path) as place:
            figure.savefig(place, format=form, dpi=dpi, metadata=plain)
    return Path(path)


def _inks(found: dict[str, str]) -> dict[str, str]:
    """Settings of matplotlib that draw in these colours."""
    inks = dict.fromkeys(("text.color", "xtick.labelcolor", "ytick.labelcolor"), found["ink"])
    inks |= dict.fromkeys(("axes.titlecolor", "axes.labelcolor"), found["ink"])
    inks |= dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), found["wire"])
    grounds = ("figure.facecolor", "savefig.facecolor", "axes.facecolor", "legend.facecolor")
    return inks | dict.fromkeys(grounds, found["surface"])


def _drawn(history: History, snapshot: int, log: bool | None, t: Words, dark: bool = False) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    groups = grouped(history)
    surface = history.snapshots[snapshot].get("surface") if history.snapshots else None
    columns = len(groups) + (surface is not None)
    figure = Figure(figsize=(4.4 * columns, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, columns, squeeze=False)[0]
    shades = colours(dark)
    for (word, names), area in zip(groups.items(), axes, strict=False):
        for i, name in enumerate(names):
            epochs, values = history.measures[name]
            area.plot(
                epochs, values, color=shades[SERIES[i % 5]], ls=DASHES[i % 5], label=name, lw=1.6
            )
        every = np.array([v for name in names for v in history.measures[name][1] if np.isfinite(v)])
        if log or (
            log is None
            and word == "loss"
            and every.size
            and every.min() > 0
            and every.max() > 20 * every.min()
        ):
            area.set_yscale("log")
        title = t(f"curves_{word}")
        area.set(title=title, xlabel=t("epochWord"))
        area.grid(alpha=0.25)
        if names != [title]:  # which the title says already
            area.legend(frameon=False)
    if surface is not None:
        _draw_surface(axes[-1], history, surface, history.snapshots[snapshot]["epoch"], shades, t)
    if history.title:
        figure.suptitle(history.title)
    return figure


def grouped(history: History) -> dict[str, list[str]]:
    """The measures' names by kind: those that are called a loss or error together, accuracies
    together, others together.
    """
    out: dict[str, list[str]] = {}
    for name in history.measures:
        low = name.lower()
        kind = (
            "loss" if "loss" in low or "error" in low else "accuracy" if "acc" in low else "other"
        )
        out.setdefault(kind, []).append(name)
    return out


def _draw_surface(
    area: Any,
    history: History,
    surface: dict[str, Any],
    epoch: float,
    shades: dict[str, str],
    t: Words,
) -> None:
    from matplotlib.colors import to_rgb

    assert history.points is not None
    cells = np.frombuffer(base64.b64decode(surface["cells"]), np.uint8).reshape(
        surface["size"], surface["size"]
    )
    tones, ground = np.array([to_rgb(shades[SERIES[k]]) for k in range(4)]), shades["surface"]
    share = 0.12 + 0.5 * (cells % LEVELS)[..., None] / (LEVELS - 1)
    area.imshow(
        to_rgb(ground) + share * (tones[cells // LEVELS] - to_rgb(ground)),
        extent=history.points["bounds"],
        aspect="equal",
        interpolation="bilinear",
    )
    x, label = np.array(history.points["x"]), np.array(history.points["label"])
    for k in sorted(set(label.tolist())):
        look = {
            "color": shades[SERIES[k % 4]],
            "marker": MARKS[k % 4],
            "edgecolors": ground,
            "linewidths": 0.4,
        }
        area.scatter(*x[label == k].T, s=13, label=t("classOf", k=k), **look)
    title = f"{t('surface')}, {t('epochAt', epoch=f'{epoch:g}')}"
    area.set(title=title, xlabel="x1", ylabel="x2")
    area.legend(loc="upper right", fontsize=8, framealpha=0.85)
