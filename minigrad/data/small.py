"""Small sets to learn with. Each is the same for the same seed (NumPy keeps its generators' streams
within a release).

disc        points in a square, inside a disc of half its area or not: the task of the
            2-25-25-25-2 network (Autogradlib)
two_moons   two interleaved half circles, the usual example that no straight line separates
digits      1,797 handwritten digits of 8 x 8 pixels, bundled with scikit-learn (Alpaydin and
            Kaynak 1998, UCI)
"""

from __future__ import annotations

import math

from .. import backend
from ..core.tensor import wrap
from .datasets import TensorDataset


def disc(n: int = 1000, seed: int = 0) -> TensorDataset:
    """n points (n, 2) float32, uniform in [0, 1]², and labels (n,) int64: 1 inside the disc around
    (½, ½) of radius 1/√(2π), else 0: ``x, y = mg.data.disc().tensors``.

    The disc's area is one half, so both labels are equally likely.
    """
    _check_count("disc", n)
    x = backend.numpy.random.default_rng(seed).random((n, 2), backend.float32)
    inside = ((x - 0.5) ** 2).sum(1) < 1 / (2 * math.pi)
    return TensorDataset(wrap(x), wrap(inside.astype(backend.int64)))


def two_moons(n: int = 200, seed: int = 0, noise: float = 0.1) -> TensorDataset:
    """n points (n, 2) float32 on two half circles of radius 1, and labels (n,) int64: 0 on the
    upper, 1 on the lower one. A data set of n pairs; all at once are its ``tensors``::

        x, y = mg.data.two_moons().tensors

    The upper moon is centred at (0, 0), the lower at (1, ½); it has the odd point. noise: standard
    deviation added to each coordinate.
    """
    _check_count("two_moons", n)
    if not noise >= 0:
        raise ValueError(
            f"two_moons: noise is a standard deviation and must be at least 0, got {noise}."
        )
    host, random = backend.numpy, backend.numpy.random.default_rng(seed)
    label = (host.arange(n) >= n // 2).astype(backend.int64)
    angle = math.pi * random.random(n)
    x = host.stack([host.cos(angle), host.sin(angle)], 1)
    x = host.where(
        label[:, None] == 1, host.asarray([1.0, 0.5]) - x, x
    ) + noise * random.standard_normal((n, 2))
    order = random.permutation(n)
    return TensorDataset(wrap(x[order].astype(backend.float32)), wrap(label[order]))


def digits() -> TensorDataset:
    """Images (1797, 1, 8, 8) float32 in [0, 1] and labels (1797,) int64:
    ``x, y = mg.data.digits().tensors``. Raises ModuleNotFoundError without scikit-learn.
    """
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as problem:
        raise ModuleNotFoundError(
            "digits() reads the data that scikit-learn brings along, and scikit-learn is not"
            ' installed: pip install "minigrad[lab]" (or pip install scikit-learn). Without it, use'
            " mg.data.mnist(folder), or mg.data.disc() and two_moons()."
        ) from problem
    images, labels = load_digits(return_X_y=True)
    # 16 is the largest grey value; sixteenths are exact
    scaled = (images / 16).astype(backend.float32).reshape(-1, 1, 8, 8)
    return TensorDataset(wrap(scaled), wrap(labels.astype(backend.int64)))


def _check_count(name: str, n: int) -> None:
    if n < 0:
        raise ValueError(f"{name}: the number of points must be at least 0, got {n}.")
