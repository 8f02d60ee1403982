"""The definitions of the networks' operations in NumPy, one product at a time, and the settings in
which they are tested. `cases.py` makes cases of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad import backend
from minigrad.core.primitive import registry


def taps(size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Every (window, position in the kernel, element of the image) that meet in a convolution,
    as indices.
    """
    counts = [
        (n + sum(p) - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
    ]
    for window in np.ndindex(*counts):
        for at in np.ndindex(*kernel):
            element = tuple(
                o * s + k * d - p[0]
                for o, k, s, p, d in zip(window, at, stride, padding, dilation, strict=True)
            )
            if all(0 <= e < n for e, n in zip(element, size, strict=True)):
                yield (..., *window), (..., *at), (..., *element)


def convolved(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """The definition of a convolution."""
    along = zip(x.shape[2:], w.shape[2:], stride, padding, dilation, strict=True)
    counts = [(n + sum(p) - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in along]
    out = np.zeros((x.shape[0], w.shape[0], *counts), x.dtype)
    for window, at, element in taps(x.shape[2:], w.shape[2:], stride, padding, dilation):
        for o, c in channel_pairs(w.shape, groups):
            out[:, o][window] += x[:, c][element] * w[o, c % w.shape[1]][at]
    return out


def channel_pairs(shape: Any, groups: int) -> Any:
    """Which output channels see which input channels."""
    return [
        (o, c + o // (shape[0] // groups) * shape[1])
        for o in range(shape[0])
        for c in range(shape[1])
    ]


def convolved_input(
    g: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int, size: Any
) -> Any:
    """Its transpose in the image."""
    out = np.zeros((g.shape[0], w.shape[1] * groups, *size), g.dtype)
    for window, at, element in taps(size, w.shape[2:], stride, padding, dilation):
        for o, c in channel_pairs(w.shape, groups):
            out[:, c][element] += g[:, o][window] * w[o, c % w.shape[1]][at]
    return out


def convolved_weight(
    x: Any, g: Any, stride: Any, padding: Any, dilation: Any, groups: int, size: Any
) -> Any:
    """Its transpose in the kernel."""
    out = np.zeros((g.shape[1], x.shape[1] // groups, *size), x.dtype)
    for window, at, element in taps(x.shape[2:], size, stride, padding, dilation):
        for o, c in channel_pairs(out.shape, groups):
            out[o, c % out.shape[1]][at] += np.sum(x[:, c][element] * g[:, o][window])
    return out


CONVOLUTIONS = {
    "plain": (
        (2, 3, 4, 5),
        (2, 3, 2, 3),
        {"stride": (1, 1), "padding": ((1, 1), (0, 2)), "dilation": (1, 1), "groups": 1},
    ),
    "one axis": (
        (2, 2, 7),
        (3, 2, 3),
        {"stride": (1,), "padding": ((2, 2),), "dilation": (2,), "groups": 1},
    ),
    "stride": (
        (2, 2, 5, 6),
        (3, 2, 2, 3),
        {"stride": (2, 3), "padding": ((1, 0), (1, 1)), "dilation": (1, 1), "groups": 1},
    ),
    "groups": (
        (1, 4, 4, 3),
        (6, 2, 2, 2),
        {"stride": (1, 1), "padding": ((0, 0), (1, 1)), "dilation": (2, 1), "groups": 2},
    ),
    "no samples": (
        (0, 2, 3, 3),
        (2, 2, 2, 2),
        {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1},
    ),
    "three axes": (
        (1, 1, 3, 2, 3),
        (2, 1, 2, 2, 2),
        {
            "stride": (1, 1, 1),
            "padding": ((0, 1), (1, 1), (0, 0)),
            "dilation": (1, 1, 1),
            "groups": 1,
        },
    ),
}
"""Shapes of the image and the kernel, and the parameters."""


def result_shape(variant: str) -> Any:
    """The shape of the convolution of one variant."""
    x, w, params = CONVOLUTIONS[variant]
    return convolved(np.zeros(x), np.zeros(w), **params).shape


WINDOWS = {
    "touching": {"axis": 1, "size": 2, "stride": 2, "dilation": 1, "padding": (0, 0)},
    "overlapping": {"axis": 1, "size": 3, "stride": 1, "dilation": 1, "padding": (1, 1)},
    "spread out": {"axis": 0, "size": 2, "stride": 1, "dilation": 2, "padding": (1, 0)},
    "gaps": {"axis": 1, "size": 1, "stride": 3, "dilation": 1, "padding": (0, 0)},
}


def windows_of(n: int, size: int, stride: int, dilation: int, padding: Any) -> Any:
    """For each window the elements inside the image."""
    count = (n + sum(padding) - dilation * (size - 1) - 1) // stride + 1
    places = [[o * stride + i * dilation - padding[0] for i in range(size)] for o in range(count)]
    return [[e for e in window if 0 <= e < n] for window in places]


def pooled(x: Any, reduction: Any, axis: int, **along: Any) -> Any:
    """`reduction` of each window's elements."""
    x = np.moveaxis(x, axis, 0)
    return np.moveaxis(
        np.array([reduction(x[e], axis=0) for e in windows_of(x.shape[0], **along)], x.dtype),
        0,
        axis,
    )


def spread_over_windows(g: Any, axis: int, length: int, **along: Any) -> Any:
    """Each window's g added to its elements."""
    g = np.moveaxis(g, axis, 0)
    out = np.zeros((length, *g.shape[1:]), g.dtype)
    for window, elements in enumerate(windows_of(length, **along)):
        for e in elements:
            out[e] += g[window]
    return np.moveaxis(out, 0, axis)


RANKED = np.array([[3.0, 1.0, 3.0, 2.0, 2.0], [0.0, 5.0, 4.0, 5.0, 1.0], [7.0, 7.0, 6.0, 8.0, 8.0]])
"""An image with ties, for the operations that follow the maxima of windows."""


def first_maxima(x: Any, axis: int, **along: Any) -> Any:
    """For each window, the places of its first largest elements."""
    x = np.moveaxis(x, axis, 0)
    return [np.array(e)[np.argmax(x[e], axis=0)] for e in windows_of(x.shape[0], **along)]


def at_maxima(t: Any, axis: int, **along: Any) -> Any:
    """What t has where RANKED has the windows' maxima."""
    rows = [
        np.take_along_axis(np.moveaxis(t, axis, 0), i[None], 0)[0]
        for i in first_maxima(RANKED, axis, **along)
    ]
    return np.moveaxis(np.array(rows), 0, axis)


def to_maxima(g: Any, axis: int, **along: Any) -> Any:
    """The windows' g added where RANKED has their maxima."""
    out, front = np.zeros(np.moveaxis(RANKED, axis, 0).shape, g.dtype), np.moveaxis(g, axis, 0)
    for window, chosen in enumerate(first_maxima(RANKED, axis, **along)):
        for column, e in enumerate(chosen):
            out[e, column] += front[window, column]
    return np.moveaxis(out, 0, axis)


def follow_maxima(name: str) -> Any:
    """The operation with the image and its maxima filled in, on the device of its argument."""

    def run(t: Any, **along: Any) -> Any:
        like = getattr(t, "array", t)
        image = RANKED.astype(like.dtype)
        image = backend.to_device_of(image, like)
        return registry[name](t, image, registry["max_pool"](image, **along), **along)

    return run


def softmax_reference(x: Any, axis: int) -> Any:
    return np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)


def standardized(x: Any, axes: Any, eps: float) -> Any:
    return (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(
        x.var(axis=axes, keepdims=True) + x.dtype.type(eps)
    )


def standardized_along(t: Any, x: Any, axes: Any, eps: float) -> Any:
    """The Jacobian of `standardized` at x, times t."""
    mean = lambda a: a.mean(axis=axes, keepdims=True)
    scale = 1 / np.sqrt(x.var(axis=axes, keepdims=True) + x.dtype.type(eps))
    y = (x - mean(x)) * scale
    return (t - mean(t) - y * mean(t * y)) * scale


def placed_losses(g: Any, t: Any, axis: int, classes: int, ignored: int) -> Any:
    """-g at each target's class, number by number."""
    out = np.zeros((*t.shape, classes), g.dtype)
    for place in np.ndindex(t.shape):
        if t[place] != ignored:
            out[(*place, t[place])] = -g[place]
    return np.moveaxis(out, -1, axis)


def class_losses(x: Any, t: Any, axis: int, ignored: int) -> Any:
    """-x at each target's class, number by number."""
    rows, out = np.moveaxis(x, axis, -1), np.zeros(t.shape, x.dtype)
    for place in np.ndindex(t.shape):
        out[place] = 0 if t[place] == ignored else -rows[(*place, t[place])]
    return out


# --------------------------------------------------------------------------------- recurrent layers


def sigmoid_reference(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def rnn_states(a: Any, h0: Any, u: Any, which: int, rectified: bool) -> Any:
    """The states of all steps (which = 0) or the last one (1) by the formula, step by step."""
    h, states = h0, []
    for at in a:
        h = np.maximum(at + h @ u.T, 0) if rectified else np.tanh(at + h @ u.T)
        states.append(h)
    return h if which else np.stack(states)


def lstm_states(a: Any, h0: Any, c0: Any, u: Any, which: int) -> Any:
    """h (which = 0) or c (1) of all steps."""
    h, c, states = h0, c0, []
    for at in a:
        i, f, n, o = np.split(at + h @ u.T, 4, axis=-1)
        c = sigmoid_reference(f) * c + sigmoid_reference(i) * np.tanh(n)
        h = sigmoid_reference(o) * np.tanh(c)
        states.append((h, c)[which])
    return np.stack(states)


def gru_states(a: Any, h0: Any, u: Any, b: Any, which: int) -> Any:
    h, states = h0, []
    for at in a:
        (r, z, n), (s, x, m) = np.split(at, 3, axis=-1), np.split(h @ u.T + b, 3, axis=-1)
        r, z = sigmoid_reference(r + s), sigmoid_reference(z + x)
        n = np.tanh(n + r * m)
        h = (1 - z) * n + z * h
        states.append(h)
    return h if which else np.stack(states)
