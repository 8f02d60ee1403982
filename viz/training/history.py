"""`History`: what happened during a training, as plain data.

    history = History("disc, 2-25-25-25-2")
    history.log(epoch, loss=0.31, accuracy=0.9)                          one number each
    history.snapshot(epoch, model, points=x, labels=y, example=x[:1])    weights, gradients,
                                                                         decision surface,
                                                                         activations
    history.landscape(loss, w=(-2, 2), b=(-1, 3))                        a loss of two parameters
    history.place(epoch, w, b)                                           where the run is on it
    history.save("run.json")                                             or .npz
    history = History.load("run.json")
    History.together({"SGD": one, "Adam": other})                        several runs, compared

Parameters themselves are *not* kept, except those of a network small enough to be drawn neuron by
neuron. Weights and gradients are counted into histograms, and the decision surface is a grid of the
predicted class with its probability in 64 levels, so that 50 snapshots take less than a photograph.
"""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from minigrad.viz.export.files import whole

from minigrad.core.tensor import Tensor, as_tensor
from minigrad.grad_mode import no_grad
from minigrad.nn import Module

SCHEMA = "minigrad.history/1"
BINS = 24
GRID = 48
SIZE = 64
"""Cells of a landscape on a side."""
MOST_POINTS = 400
"""Points of the data that are drawn on the decision surface."""
MOST_NEURONS = 420
MOST_WEIGHTS = 25_000
"""The layers of a network with more are not kept: each weight takes a byte in every snapshot."""
MOST_CLASSES = 4
LEVELS = 64


class History:
    """Measures by epoch, and snapshots of a model.

    title: shown above the pictures; measures: {name: ([epoch, ...], [value, ...])}; snapshots: one
    dict for each, by rising epoch;
    points: the data under the decision surface; ground: a loss over two parameters; paths: of each
    run by name, its epochs and its places there.
    """

    def __init__(self, title: str = "") -> None:
        self.title = title
        self.measures: dict[str, tuple[list[float], list[float]]] = {}
        self.snapshots: list[dict[str, Any]] = []
        self.points: dict[str, Any] | None = None
        self._bounds: tuple[float, float, float, float] | None = None
        self.ground: dict[str, Any] | None = None
        self.paths: dict[str, dict[str, list[Any]]] = {}

    @classmethod
    def together(cls, runs: Mapping[str, History], title: str = "") -> History:
        """The measures and the paths of several runs by name, to compare them; the landscape is
        that of the first run that has one. Snapshots stay with their run.
        """
        whole = cls(title)
        for run, history in runs.items():
            for name, (epochs, values) in history.measures.items():
                whole.measures[f"{run}: {name}"] = list(epochs), list(values)
            for name, path in history.paths.items():
                whole.paths[f"{run} {name}".strip()] = path
            whole.ground = whole.ground or history.ground
        return whole

    # ------------------------------------------------------------------------------------ recording

    def log(self, epoch: float, **measures: Any) -> None:
        """Note one number for each measure (a Python number, or a tensor or array with one
        element).

        Raises:
            ValueError: a value is no single number, or the epoch lies before the last one of that
            measure.
        """
        for name, value in measures.items():
            number = _number(name, value)
            epochs, values = self.measures.setdefault(name, ([], []))
            if epochs and epoch < epochs[-1]:
                raise ValueError(
                    f"History.log: epoch {epoch:g} of {name!r} comes after epoch {epochs[-1]:g};"
                    " epochs must not go back"
                )
            epochs.append(float(epoch))
            values.append(number)

    def snapshot(
        self,
        epoch: float,
        model: Module,
        *,
        points: Any = None,
        labels: Any = None,
        example: Any = None,
        network: bool = True,
    ) -> dict[str, Any]:
        """Note the model's weights and gradients as histograms, and what the arguments allow
        beside.

        Args:
            epoch: when.
            model: a module; it is called under no_grad() in eval mode, and left in the mode in
            which it was.
            points: (n, 2) inputs; with them the decision surface is computed, over their range.
            Drawn are the first 400.
            labels: (n,) classes of the points, or (n, classes) one-hot.
            example: (k, inputs) inputs whose activations are kept; default: the first point.
            network: keep the weights of the layers too, if the model is a chain of Linear layers
            with up to 420 neurons and 25,000 weights.

        Returns:
            The snapshot, which is also appended.

        Raises:
            ValueError: the points are not two-dimensional, the model has more than 4 classes, or
            the epoch goes back.
        """
        if self.snapshots and epoch < self.snapshots[-1]["epoch"]:
            raise ValueError(
                f"History.snapshot: epoch {epoch:g} comes after epoch"
                f" {self.snapshots[-1]['epoch']:g}; epochs must not go back"
            )
        found: dict[str, Any] = {"epoch": float(epoch), "weights": {}, "gradients": {}}
        for name, parameter in model.named_parameters():
            found["weights"][name] = histogram(parameter.detach().numpy())
            if parameter.grad is not None:
                found["gradients"][name] = histogram(parameter.grad.numpy())
        training = {id(module): module.training for module in model.modules()}
        try:
            model.eval()
            with no_grad():
                if points is not None:
                    found["surface"] = self._surface(model, points, labels)
                    example = _array(points)[:1] if example is None else example
                seen = example if network else None
                seen = seen if points is None else _array(points)[:MOST_POINTS]
                found["sizes"] = _sizes(model, seen)
                if network and example is not None:
                    chain = _chain(model, _array(example))
                    if chain is not None:
                        found["network"] = chain
        finally:
            for module in model.modules():
                module.training = training[id(module)]
        self.snapshots.append(found)
        return found

    def landscape(self, loss: Callable[[Any, Any], Any], **ranges: tuple[float, float]) -> None:
        """Note a loss over two of its parameters, as the ground of the paths.

        Args:
            loss: a function of two numbers. It is called once with two tensors of shape (4096,),
            and, if that gives no tensor of that shape, 4,096 times with single numbers.
            ranges: the two parameters by name, in the order of the arguments, each (low, high).

        Raises:
            ValueError: not two ranges, a range that is none, or a loss without a finite value.
        """
        spans = [tuple(map(float, span)) for span in ranges.values()]
        if len(spans) != 2 or not all(len(s) == 2 and -1e300 < s[0] < s[1] < 1e300 for s in spans):
            raise ValueError(
                "History.landscape: give the ranges of two parameters, such as w=(-2, 2), b=(0, 1);"
                f" got {ranges}"
            )
        (x0, x1), (y0, y1) = spans
        half_x, half_y = (x1 - x0) / SIZE / 2, (y1 - y0) / SIZE / 2
        across = np.linspace(x0 + half_x, x1 - half_x, SIZE)  # centres of cells, the highest first
        up = np.linspace(y1 - half_y, y0 + half_y, SIZE)
        heights = _heights(loss, np.tile(across, SIZE), np.repeat(up, SIZE))
        finite = heights[np.isfinite(heights)]
        if not finite.size:
            raise ValueError("History.landscape: the loss is finite nowhere in these ranges")
        low, high = float(finite.min()), float(finite.max())
        # a valley is flat beside its slopes: equal steps of the logarithm show it
        grown = np.log1p(
            (np.nan_to_num(heights, nan=high, posinf=high) - low) / (high - low or 1) * 1e3
        )
        cells = np.rint(grown / np.log1p(1e3) * 255).clip(0, 255).astype(np.uint8)
        self.ground = {
            "names": list(ranges),
            "bounds": [x0, x1, y0, y1],
            "size": SIZE,
            "low": _round(low, 5),
            "high": _round(high, 5),
            "cells": base64.b64encode(cells.tobytes()).decode(),
        }

    def place(self, epoch: float, x: Any, y: Any, run: str = "") -> None:
        """Note where a run is in the landscape. Raises ValueError for what is no single number, or
        if the epoch goes back.
        """
        path = self.paths.setdefault(run, {"epochs": [], "points": []})
        if path["epochs"] and epoch < path["epochs"][-1]:
            raise ValueError(
                f"History.place: epoch {epoch:g} comes after epoch {path['epochs'][-1]:g}; epochs"
                " must not go back"
            )
        point = [_round(_number(name, v), 6) for name, v in (("x", x), ("y", y))]
        path["epochs"].append(float(epoch))
        path["points"].append(point)

    def _surface(self, model: Module, points: Any, labels: Any) -> dict[str, Any]:
        """Class and probability over a grid, one byte a cell: class · 64 + level; the highest
        row first, as in a picture.
        """
        if self.points is None:
            self._keep_points(points, labels)
        assert self._bounds is not None
        x0, x1, y0, y1 = self._bounds
        across, up = np.linspace(x0, x1, GRID), np.linspace(y1, y0, GRID)
        grid = np.stack([np.tile(across, GRID), np.repeat(up, GRID)], 1).astype(_dtype(model))
        out = model(as_tensor(grid)).numpy()
        if out.ndim != 2 or not 1 <= out.shape[1] <= MOST_CLASSES:
            raise ValueError(
                "History.snapshot: the decision surface needs outputs of shape (n, classes) with"
                f" up to {MOST_CLASSES} classes, but the model gives {out.shape}; leave points= out"
            )
        share = _probabilities(out)
        best = share.argmax(1)
        classes = share.shape[1]
        certain = (share.max(1) - 1 / classes) / (1 - 1 / classes)
        level = np.clip(np.nan_to_num(certain) * (LEVELS - 1), 0, LEVELS - 1).astype(np.uint8)
        cells = (best.astype(np.uint8) * LEVELS + level).astype(np.uint8)
        return {
            "size": GRID,
            "classes": classes,
            "cells": base64.b64encode(cells.tobytes()).decode(),
        }

    def _keep_points(self, points: Any, labels: Any) -> None:
        x = _array(points)
        if x.ndim != 2 or x.shape[1] != 2 or not len(x):
            raise ValueError(
                f"History.snapshot: a decision surface needs points of shape (n, 2), got {x.shape};"
                " leave points= out"
            )
        low, high = x.min(0).astype(float), x.max(0).astype(float)
        space = np.maximum((high - low) * 0.08, 1e-6)
        self._bounds = (
            low[0] - space[0],
            high[0] + space[0],
            low[1] - space[1],
            high[1] + space[1],
        )
        y = np.zeros(len(x), int) if labels is None else _array(labels)
        y = y.argmax(1) if y.ndim == 2 else y.reshape(-1)
        if len(y) != len(x):
            raise ValueError(f"History.snapshot: {len(x)} points but {len(y)} labels")
        keep = slice(0, MOST_POINTS)
        shown = [[float(f"{v:.4g}") for v in row] for row in x[keep]]
        self.points = {
            "x": shown,
            "label": [int(v) for v in y[keep]],
            "bounds": [float(f"{v:.6g}") for v in self._bounds],
        }

    # --------------------------------------------------------------------------------- the document

    def to_dict(self, *, most: int | None = None, last: int | None = None) -> dict[str, Any]:
        """The whole as JSON-ready data.

        most: at most so many points of each curve, evenly chosen, the newest included; last: only
        so many of the newest snapshots.
        """
        measures = {
            name: {"epochs": _thin(e, most), "values": [_plain(v) for v in _thin(v, most)]}
            for name, (e, v) in self.measures.items()
        }
        snapshots = (
            self.snapshots
            if last is None
            else self.snapshots[len(self.snapshots) - min(last, len(self.snapshots)) :]
        )
        return {
            "schema": SCHEMA,
            "title": self.title,
            "measures": measures,
            "snapshots": snapshots,
            "points": self.points,
            **({"landscape": self.ground} if self.ground else {}),
            **({"paths": self.paths} if self.paths else {}),
        }

    @classmethod
    def from_dict(cls, document: Any) -> History:
        """The history that `to_dict` wrote. Raises ValueError for anything else."""
        if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
            raise ValueError(f"History: this is no document of the schema {SCHEMA}")
        history = cls(str(document.get("title", "")))
        for name, curve in document["measures"].items():
            history.measures[name] = (
                list(map(float, curve["epochs"])),
                [float(v) for v in curve["values"]],
            )
        history.snapshots, history.points = list(document["snapshots"]), document["points"]
        history.ground, history.paths = document.get("landscape"), document.get("paths", {})
        if history.points:
            history._bounds = tuple(history.points["bounds"])
        return history

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the history as .json, or as .npz (the curves as arrays, the rest as JSON
        inside). Raises ValueError for another ending.
        """
        form = Path(path).suffix.lower()
        if form not in (".json", ".npz"):
            raise ValueError(
                f"History.save: the endings are .json and .npz, not {form or 'none'!r};"
                " viz.save writes a history as .html, .png, .pdf and .svg, too"
            )
        with whole(path) as place:
            if form == ".json":
                place.write_text(
                    json.dumps(self.to_dict(), allow_nan=False) + "\n", encoding="utf-8"
                )
            else:
                arrays = {
                    f"{name}/{part}": np.array(v)
                    for name, curve in self.measures.items()
                    for part, v in zip(("epochs", "values"), curve, strict=True)
                }
                rest = json.dumps({**self.to_dict(), "measures": {}}, allow_nan=False)
                with place.open("wb") as file:
                    np.savez_compressed(file, document=np.array(rest), **arrays)
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> History:
        """Read what `save` wrote. Raises ValueError for a file that is none, OSError if it
        cannot be read.
        """
        if Path(path).suffix.lower() != ".npz":
            try:
                return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
            except json.JSONDecodeError as problem:
                raise ValueError(
                    f"History.load: {os.fspath(path)} is not JSON: {problem}"
                ) from None
        with np.load(path, allow_pickle=False) as file:
            history = cls.from_dict(json.loads(str(file["document"])))
            for key in file.files:
                name, slash, part = key.rpartition("/")
                if slash and part == "epochs":
                    history.measures[name] = (file[key].tolist(), file[f"{name}/values"].tolist())
        return history

    def __repr__(self) -> str:
        """Last values of all measures."""
        last = ", ".join(
            f"{name} {values[-1]:.4g}" for name, (_, values) in self.measures.items() if values
        )
        count = max((len(values) for _, values in self.measures.values()), default=0)
        return (
            f"<History {self.title!r}: {count} records, {len(self.snapshots)}"
            f" snapshots{'; ' + last if last else ''}>"
        )


# ------------------------------------------------------------------------------------- small things


def histogram(array: Any, bins: int = BINS) -> dict[str, Any]:
    """Counts between the smallest and the largest finite value: {"low", "high", "counts"}, and
    "other" for NaN and infinities.
    """
    flat = np.asarray(array, dtype=np.float64).reshape(-1)
    finite = flat[np.isfinite(flat)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    first, last = (low, high) if high > low else (low - 0.5, low + 0.5)
    # the width of the largest range there is would overflow
    unit = 1.0 if last - first < math.inf else 0.5
    share = (finite * unit - first * unit) / (last * unit - first * unit)
    # np.histogram takes several times as long
    counts = np.bincount(np.minimum(share * bins, bins - 1).astype(np.intp), minlength=bins)
    found = {"low": float(f"{low:.5g}"), "high": float(f"{high:.5g}"), "counts": counts.tolist()}
    return found | ({"other": int(flat.size - finite.size)} if finite.size < flat.size else {})


def packed(matrix: Any) -> dict[str, Any]:
    """A matrix in a byte an element, as 127ths of its largest magnitude: enough to draw lines of
    that width. NaN becomes 0.
    """
    wide = np.nan_to_num(np.asarray(matrix, dtype=np.float64), posinf=0.0, neginf=0.0)
    scale = float(np.abs(wide).max(initial=0.0))
    cells = np.rint(wide / (scale or 1.0) * 127).astype(np.int8)
    return {
        "shape": list(wide.shape),
        "scale": float(f"{scale:.5g}"),
        "cells": base64.b64encode(cells.tobytes()).decode(),
    }


def _heights(loss: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """The loss at each pair: at all of them at once where it computes element by element."""
    with no_grad():
        try:
            found = _array(loss(as_tensor(x), as_tensor(y)))
        except Exception:  # it takes single numbers only: whatever it raised, it raises again below
            found = None
        if found is None or found.shape != x.shape:
            pairs = zip(x.tolist(), y.tolist(), strict=True)
            found = [_number("loss", loss(as_tensor(a), as_tensor(b))) for a, b in pairs]
    return np.asarray(found, dtype=np.float64)


def _sizes(model: Module, inputs: Any) -> list[dict[str, Any]]:
    """The root mean square of each layer's parameters, of their gradients and of its outputs, the
    last for the inputs given. Layers are the modules without modules inside, in their order.
    """
    seen: dict[str, Any] = {}
    layers = {name: m for name, m in model.named_modules() if not list(m.children())}

    def watch(name: str) -> Any:
        def note(module: Module, args: Any, out: Any) -> None:
            if isinstance(out, Tensor) and out.array.dtype.kind == "f":
                seen[name] = _rms([out.numpy()])

        return note

    handles = [m.register_forward_hook(watch(name)) for name, m in layers.items()]
    try:
        if inputs is not None:
            model(as_tensor(_array(inputs).astype(_dtype(model))))
    finally:
        for handle in handles:
            handle.remove()
    rows = []
    for name, module in layers.items():
        own = list(module.parameters())
        gradients = [p.grad.numpy() for p in own if p.grad is not None]
        row: dict[str, Any] = {"layer": f"{name} {type(module).__name__}".strip()}
        if own:
            row["weights"] = _rms([p.detach().numpy() for p in own])
        if gradients:
            row["gradient"] = _rms(gradients)
        if name in seen:
            row["activation"] = seen[name]
        if len(row) > 1:
            rows.append(row)
    return rows


def _rms(arrays: Sequence[Any]) -> Any:
    """The root mean square of all elements, without overflow in float32 and float16."""
    count = sum(array.size for array in arrays)
    total = sum(float(np.square(array.astype(np.float64)).sum()) for array in arrays)
    return _round(math.sqrt(total / count), 4) if count else 0.0


def _chain(model: Module, example: Any) -> dict[str, Any] | None:
    """The layers of a chain of Linear modules with their weights, and the example's values at
    every neuron; None if it is no such chain.
    """
    calls: list[tuple[Module, Any]] = []
    handles = [
        m.register_forward_hook(lambda m, args, out: calls.append((m, out)))
        for m in model.modules()
        if not list(m.children())
    ]
    try:
        model(as_tensor(example.astype(_dtype(model))))
    finally:
        for handle in handles:
            handle.remove()
    values, weights, names = [example], [], ["input"]
    paths = {id(module): name for name, module in model.named_modules()}
    for module, out in calls:
        if not isinstance(out, Tensor) or out.ndim != 2:
            return None
        # an attribute that is not there takes long to be missed
        weight = module.weight if type(module).__name__ == "Linear" else None
        if isinstance(weight, Tensor) and weight.ndim == 2:
            found = weight.detach().numpy()
            found = found if found.shape == (out.shape[1], values[-1].shape[1]) else found.T
            if found.shape != (out.shape[1], values[-1].shape[1]):
                return None
            weights.append(found)
            values.append(out.numpy())
            names.append(paths[id(module)])
        elif out.shape[1] != values[-1].shape[1]:
            return None
        else:
            values[-1] = out.numpy()  # the value that leaves the layer is that after its activation
    if not weights or sum(v.shape[1] for v in values) > MOST_NEURONS:
        return None
    if sum(matrix.size for matrix in weights) > MOST_WEIGHTS:
        return None
    shown = 3
    return {
        "layers": names,
        "weights": [packed(matrix) for matrix in weights],
        "values": [[[_round(v, 4) for v in row] for row in layer[:shown]] for layer in values],
    }


def _round(v: Any, digits: int) -> Any:
    return _plain(float(f"{float(v):.{digits}g}"))


def _plain(v: float) -> Any:
    return v if math.isfinite(v) else "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"


def _number(name: str, value: Any) -> float:
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(value.item())
    except (AttributeError, ValueError, TypeError, RuntimeError):
        raise ValueError(
            f"History.log: {name} must be a single number, got {type(value).__name__}; give"
            " loss.item() or a mean"
        ) from None


def _array(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _dtype(model: Module) -> Any:
    return next((p.detach().numpy().dtype for p in model.parameters()), np.dtype(np.float32))


def _probabilities(out: Any) -> Any:
    """Outputs as shares of classes: one column is a probability or a logit, rows that sum to one
    are taken as they are, others by softmax.
    """
    out = out.astype(np.float64)
    if out.shape[1] == 1:
        inside = ((out >= 0) & (out <= 1)).all()
        share = out[:, 0] if inside else 1 / (1 + np.exp(-np.clip(out[:, 0], -60, 60)))
        return np.stack([1 - share, share], 1)
    if (out >= 0).all() and np.allclose(out.sum(1), 1, atol=1e-3):
        return out
    grown = np.exp(out - out.max(1, keepdims=True))
    return grown / grown.sum(1, keepdims=True)


def _thin(values: Sequence[float], most: int | None) -> list[float]:
    if most is None or len(values) <= most:
        return list(values)
    stride = (len(values) - 1) / (most - 1)
    return [values[round(i * stride)] for i in range(most)]
