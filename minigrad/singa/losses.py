"""Losses: means over the samples, which are rows."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from typing import Any

from .. import backend, functions
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..nn import functional as F


def _samples(y: Tensor) -> int:
    return y.shape[0] if y.ndim > 1 else 1


def _targets(y: Tensor, t: Any) -> Tensor:
    """Targets in the form of y: class indices (also as floats, or in a column) become rows of
    one 1 and zeros.
    """
    t = as_tensor(t)
    if t.shape == y.shape and (y.ndim > 1 or backend.is_floating(t.dtype)):
        return t if t.dtype == y.dtype else t.to(y.dtype)
    if t.ndim == y.ndim and t.shape == (*y.shape[:-1], 1):
        t = t.reshape(y.shape[:-1])
    if t.shape != y.shape[:-1]:
        raise ShapeError(
            f"targets of shape {t.shape} fit predictions of shape {y.shape} neither as class"
            f" indices {y.shape[:-1]} nor as one row of probabilities each."
        )
    if t.dtype.kind not in "iu":
        whole = t.to(backend.int64)
        if not bool((whole == t).all()):
            raise ValueError("targets of class indices must be whole numbers.")
        t = whole
    return F.one_hot(t, y.shape[-1]).to(y.dtype)


def cross_entropy(y: Any, t: Any) -> Tensor:
    """−Σ t ln y, the mean over the samples (rows): y probabilities (N, C) or (C,), t
    probabilities of the same shape or class indices.
    """
    y = as_tensor(y)
    target = _targets(y, t)
    impossible = (target == 0) & (y == 0)  # 0 · ln 0 counts as 0
    return -(target * functions.log(functions.where(impossible, 1.0, y))).sum() / _samples(y)


def softmax_cross_entropy(y: Any, t: Any) -> Tensor:
    """cross_entropy(softmax(y), t) without overflow: y logits (N, C) or (C,), t class indices
    (N,) or probabilities (N, C).
    """
    y = as_tensor(y)
    return -(_targets(y, t) * functions.log_softmax(y, -1)).sum() / _samples(y)


def binary_cross_entropy(x: Any, t: Any) -> Tensor:
    """−Σ (t ln x + (1 − t) ln(1 − x)), the mean over the samples (rows): x probabilities, t
    targets of the same shape.
    """
    x, t = as_tensor(x), as_tensor(t)
    if x.shape != t.shape:
        raise ShapeError(
            f"binary_cross_entropy: x and t must have the same shape, got {x.shape} and {t.shape}."
        )
    return F.binary_cross_entropy(x, t.to(x.dtype), reduction="sum") / (x.shape[0] if x.ndim else 1)


def cossim(a: Any, b: Any) -> Tensor:
    """The cosine of the angle between each two rows: a and b (N, M), the result (N,)."""
    return F.cosine_similarity(a, b, -1)


def mse_loss(y: Any, t: Any) -> Tensor:
    """The mean of (y − t)² over all elements."""
    return F.mse_loss(y, t)


def qa_lstm_loss(pos: Any, neg: Any, M: float = 0.2) -> Tensor:
    """The mean of max(0, M − pos + neg): the right answer's similarity shall exceed the wrong
    one's by M.
    """
    return functions.mean(functions.clamp(M - as_tensor(pos) + neg, min=0.0))


def ranking_loss(pos: Any, neg: Any, M: float = 0.2) -> Tensor:
    """As `qa_lstm_loss`, of tensors of one shape."""
    pos, neg = as_tensor(pos), as_tensor(neg)
    if pos.shape != neg.shape:
        raise ShapeError(
            f"ranking_loss: pos and neg must have the same shape, got {pos.shape} and {neg.shape}."
        )
    return qa_lstm_loss(pos, neg, M)


MeanSquareError = mse_loss
"""The name as the document's heading writes it."""
