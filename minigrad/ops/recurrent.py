"""Recurrent layers, a whole sequence as one operation: the same small network applied step after
step, its output fed back as state.

    rnn    h[t] = φ(a[t] + h[t-1] Uᵀ)                            φ = tanh, or relu
    lstm   i, f, n, o = the quarters of a[t] + h[t-1] Uᵀ;
           c[t] = σ(f) c[t-1] + σ(i) tanh(n);                     h[t] = σ(o) tanh(c[t])
    gru    r, z, n = the thirds of a[t]; s, y, m = those of h[t-1] Uᵀ + b;
           n = tanh(n + σ(r + s) m);                              h[t] = n + σ(z + y) (h[t-1] - n)

a (L, N, gates · H) is what the input gives to the gates, the states before the first step are (N,
H), U is (gates · H, H).

The derivative of a recurrence is a linear recurrence. Differentiated, each line above says how the
state's tangent follows from the one before it: multiplied element by element by slopes, and by U.
The pushes run through it forward, the pulls backward ("backpropagation through time"). The slopes
of all steps are known when the states are, so they are computed for all steps at once, and so is
the gradient of U, as one product. Gates are not kept: with the states known, one large product
gives all of them again.

Rules are loops in the library's own operations; where they are themselves differentiated, it is
this loop that is recorded.

Sources: Werbos 1990 (backpropagation through time); Hochreiter & Schmidhuber 1997; Cho et al. 2014,
in the form of cuDNN.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..backend import NumpyArray, ignore_float_errors
from ..core.primitive import general
from .batch import axes_from_the_right
from .costs import gated
from .elementwise import ones_like, relu, sigmoid, tanh, where, zeros_like
from .linalg import matmul, swapped
from .network import rows_of
from .shape import cat, pad_axis, stack, sum_to

# --------------------------------------------------------------------------------------- the states


def _memory(xp: Any, a: Any, *states_and_matrices: Any) -> Any:
    """Memory for the states of all steps. Under `vmap` there are axes in front, which may have
    length 1 in some operands.
    """
    leads = zip(a.shape[:-3], *(s.shape[:-2] for s in states_and_matrices), strict=True)
    lead = tuple(next((n for n in sizes if n != 1), 1) for sizes in leads)
    return xp.empty((*lead, *a.shape[-3:-1], states_and_matrices[0].shape[-1]), a.dtype)


def _turned(u: Any) -> Any:
    """Uᵀ in memory of its own: a product with it, as there is one a step, takes half the time."""
    return u.transpose((*range(u.ndim - 2), u.ndim - 1, u.ndim - 2)).copy()


def _parts(x: Any, count: int) -> list[Any]:
    """The last axis in so many parts."""
    size = x.shape[-1] // count
    return [x[..., i * size : (i + 1) * size] for i in range(count)]


def _by_step(x: Any) -> Any:
    """The steps of what holds all of them. An array on a device is indexed, not iterated over; of
    NumPy's arrays that takes longer.
    """
    steps = x if x.ndim == 3 else x.transpose((x.ndim - 3, *range(x.ndim - 3), -2, -1))
    return steps if type(x) is NumpyArray else map(steps.__getitem__, range(len(steps)))


def _gates_by(states: Any, gates: int) -> tuple[int, ...]:
    """The shape of so many gates at one step."""
    return (*states.shape[:-3], states.shape[-2], gates * states.shape[-1])


def _product(xp: Any, h: Any, matrix: Any, out: Any) -> None:
    """h times a matrix, into memory."""
    if type(out) is NumpyArray and out.ndim == 2:
        h.dot(matrix, out=out)
    else:
        out[...] = matmul.forward(xp, h, matrix)


def _sigmoid_of(xp: Any, x: Any) -> None:
    """σ in place, with the bits of the operation."""
    if x.dtype.itemsize == 2:
        x[...] = sigmoid.forward(xp, x)
        return
    xp.negative(x, out=x)
    xp.exp(x, out=x)
    xp.add(x, 1, out=x)
    xp.divide(1, x, out=x)


# The loops compute in memory that is there: a step takes half of the time that it takes with new
# arrays. What is written once into `states` is the state of the next step.


def _rnn(xp: Any, a: Any, h0: Any, u: Any, *, rectified: bool) -> tuple[Any, Any]:
    states, h, matrix = _memory(xp, a, h0, u), h0, _turned(u)
    with ignore_float_errors():
        for given, new in zip(_by_step(a), _by_step(states), strict=True):
            _product(xp, h, matrix, new)
            xp.add(given, new, out=new)
            if rectified:
                new[...] = relu.forward(xp, new)
            else:
                xp.tanh(new, out=new)
            h = new
    return states, h


def _lstm(xp: Any, a: Any, h0: Any, c0: Any, u: Any) -> tuple[Any, Any]:
    states, cells = _memory(xp, a, h0, c0, u), _memory(xp, a, h0, c0, u)
    h, c, matrix = h0, c0, _turned(u)
    z, change = (xp.empty(_gates_by(states, gates), a.dtype) for gates in (4, 1))
    i, f, n, o = _parts(z, 4)
    steps = zip(_by_step(a), _by_step(states), _by_step(cells), strict=True)
    with ignore_float_errors():
        for given, shown, cell in steps:
            _product(xp, h, matrix, z)
            xp.add(given, z, out=z)
            xp.tanh(n, out=change)
            _sigmoid_of(xp, z)
            xp.multiply(i, change, out=change)
            xp.multiply(f, c, out=cell)
            xp.add(cell, change, out=cell)
            xp.tanh(cell, out=shown)
            xp.multiply(o, shown, out=shown)
            h, c = shown, cell
    return states, cells


def _gru(xp: Any, a: Any, h0: Any, u: Any, b: Any) -> tuple[Any, Any]:
    row, wide = b[..., None, :], 2 * h0.shape[-1]
    states, h, matrix = _memory(xp, a, h0, u, row), h0, _turned(u)
    back, gates, n = (xp.empty(_gates_by(states, count), a.dtype) for count in (3, 2, 1))
    (r, z), m = _parts(gates, 2), back[..., wide:]
    with ignore_float_errors():
        for given, new in zip(_by_step(a), _by_step(states), strict=True):
            _product(xp, h, matrix, back)
            xp.add(back, row, out=back)
            xp.add(given[..., :wide], back[..., :wide], out=gates)
            _sigmoid_of(xp, gates)
            xp.multiply(r, m, out=n)
            xp.add(given[..., wide:], n, out=n)
            xp.tanh(n, out=n)
            xp.subtract(h, n, out=new)
            xp.multiply(z, new, out=new)
            xp.add(n, new, out=new)
            h = new
    return states, h


# ------------------------------------------------------------------------ what rules have in common


def _joined(*parts: Any) -> Any:
    """Along the last axis."""
    axis = parts[0].ndim - 1
    return cat(*parts, axis=axis, sizes=tuple(p.shape[axis] for p in parts))


def _steps(parts: Sequence[Any]) -> Any:
    """One array of all steps."""
    return stack(*parts, axis=0, count=len(parts))


def _before(first: Any, states: Any) -> Any:
    """The state before each step."""
    return cat(
        first.reshape((1, *first.shape)), states[:-1], axis=0, sizes=(1, states.shape[0] - 1)
    )


def _at_first_step(t: Any, u: Any, a: Any) -> Any:
    """What a tangent of the first state gives to the gates: at the first step t Uᵀ, then nothing
    more.
    """
    first = matmul(t, swapped(u))
    return pad_axis(first.reshape((1, *first.shape)), axis=0, before=0, after=a.shape[0] - 1)


def _matrix_gradient(gates: Any, before: Any) -> Any:
    """Σ over steps and sequences of gates ⊗ state: the gradient of U, as one product."""
    return matmul(swapped(rows_of(gates)), rows_of(before))


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    """What the rules of one node have in common is computed for the first one that asks, and
    forgotten with the node's results.

    The rules run one after another with the same tuple of cotangents and the same values, the last
    of which is `y`, the node's results: two nodes never share those, and one node gets a new tuple
    of cotangents in each pass.
    """
    latest = threading.local()

    def shared(g: Any, *values: Any, **params: Any) -> Any:
        y = values[-1][0]
        if getattr(latest, "g", None) is g and latest.life() is y:
            return latest.result
        result = function(g, *values, **params)
        try:
            latest.life = weakref.ref(y, lambda _: latest.__dict__.clear())
        except TypeError:
            # a payload of a batch, or of a recording, which finds for itself what it has computed
            # before
            return result
        latest.g, latest.result = g, result
        return result

    return shared


# ---------------------------------------------------------------------------------------------- rnn


def _rnn_slope(y: Any, rectified: bool) -> Any:
    return where(y <= 0, 0.0, ones_like(y)) if rectified else 1 - y * y


@_once
def _rnn_back(g: Any, u: Any, y: Any, *, rectified: bool) -> Any:
    """The cotangent of a (L, N, H)."""
    slope, (given, dh) = _rnn_slope(y[0], rectified), g
    found: list[Any] = []
    for t in reversed(range(slope.shape[0])):
        found.append((given[t] + dh) * slope[t])
        dh = matmul(found[-1], u)
    return _steps(found[::-1])


def _rnn_forth(drive: Any, u: Any, y: Any, rectified: bool) -> tuple[Any, Any]:
    """The states' tangents, if the gates have the tangent `drive` besides what the state before
    gives them.
    """
    slope, found = _rnn_slope(y[0], rectified), list[Any]()
    back: Any = 0
    for t in range(slope.shape[0]):
        found.append((drive[t] + back) * slope[t])
        back = matmul(found[-1], swapped(u))
    return _steps(found), found[-1]


rnn = general(
    "rnn",
    _rnn,
    [
        lambda g, u, y, *, rectified: _rnn_back(g, u, y, rectified=rectified),
        lambda g, u, y, *, rectified: matmul(_rnn_back(g, u, y, rectified=rectified)[0], u),
        lambda g, h0, u, y, *, rectified: _matrix_gradient(
            _rnn_back(g, u, y, rectified=rectified), _before(h0, y[0])
        ),
    ],
    [
        lambda t, u, y, *, rectified: _rnn_forth(t, u, y, rectified),
        lambda t, a, u, y, *, rectified: _rnn_forth(_at_first_step(t, u, a), u, y, rectified),
        lambda t, h0, u, y, *, rectified: _rnn_forth(
            matmul(_before(h0, y[0]), swapped(t)), u, y, rectified
        ),
    ],
    promote="float",
    outputs=2,
    real_only=True,
    batch=axes_from_the_right,
    cost=gated(1, 0, 1, 1),
)
"""a (L, N, H), h0 (N, H), U (H, H) to h of all steps (L, N, H) and of the last one (N, H); φ is
relu if `rectified`, else tanh.
"""

# --------------------------------------------------------------------------------------------- lstm


def _lstm_slopes(a: Any, h0: Any, c0: Any, u: Any, y: Any) -> tuple[Any, ...]:
    """The slopes of c by the gates i, f, n and by c before; of h by the gate o and by c; and the
    states before each step.
    """
    h, c = y
    before, cell = _before(h0, h), _before(c0, c)
    z = a + matmul(before, swapped(u))
    width = h0.shape[-1]
    i, f = _parts(sigmoid(z[..., : 2 * width]), 2)
    n, o = tanh(z[..., 2 * width : 3 * width]), sigmoid(z[..., 3 * width :])
    shown = tanh(c)
    return (
        n * i * (1 - i),
        cell * f * (1 - f),
        i * (1 - n * n),
        f,
        shown * o * (1 - o),
        o * (1 - shown * shown),
        before,
    )


@_once
def _lstm_back(g: Any, a: Any, h0: Any, c0: Any, u: Any, y: Any) -> tuple[Any, Any, Any]:
    """The cotangents of the gates (L, N, 4H) and of c0, and the states before each step."""
    by_i, by_f, by_n, by_c, by_o, shows, before = _lstm_slopes(a, h0, c0, u, y)
    found: list[Any] = []
    gh, gc = g
    dh: Any = 0
    dc: Any = 0
    for t in reversed(range(a.shape[0])):
        h = gh[t] + dh
        c = gc[t] + dc + h * shows[t]
        found.append(_joined(c * by_i[t], c * by_f[t], c * by_n[t], h * by_o[t]))
        dh, dc = matmul(found[-1], u), c * by_c[t]
    return _steps(found[::-1]), dc, before


def _lstm_forth(
    drive: Any, tangent: Any, a: Any, h0: Any, c0: Any, u: Any, y: Any
) -> tuple[Any, Any]:
    """The tangents of both states, if the gates have the tangent `drive` besides what the state
    before gives them, and c0 `tangent`.
    """
    by_i, by_f, by_n, by_c, by_o, shows, _ = _lstm_slopes(a, h0, c0, u, y)
    hs: list[Any] = []
    cs: list[Any] = []
    back: Any = 0
    for t in range(a.shape[0]):
        i, f, n, o = _parts(drive[t] + back, 4)
        tangent = i * by_i[t] + f * by_f[t] + n * by_n[t] + tangent * by_c[t]
        cs.append(tangent)
        hs.append(o * by_o[t] + tangent * shows[t])
        back = matmul(hs[-1], swapped(u))
    return _steps(hs), _steps(cs)


lstm = general(
    "lstm",
    _lstm,
    [
        lambda g, a, h0, c0, u, y: _lstm_back(g, a, h0, c0, u, y)[0],
        lambda g, a, h0, c0, u, y: matmul(_lstm_back(g, a, h0, c0, u, y)[0][0], u),
        lambda g, a, h0, c0, u, y: _lstm_back(g, a, h0, c0, u, y)[1],
        lambda g, a, h0, c0, u, y: _matrix_gradient(*_lstm_back(g, a, h0, c0, u, y)[::2]),
    ],
    [
        lambda t, a, h0, c0, u, y: _lstm_forth(t, zeros_like(c0), a, h0, c0, u, y),
        lambda t, a, h0, c0, u, y: _lstm_forth(
            _at_first_step(t, u, a), zeros_like(c0), a, h0, c0, u, y
        ),
        lambda t, a, h0, c0, u, y: _lstm_forth(zeros_like(a), t, a, h0, c0, u, y),
        lambda t, a, h0, c0, u, y: _lstm_forth(
            matmul(_before(h0, y[0]), swapped(t)), zeros_like(c0), a, h0, c0, u, y
        ),
    ],
    promote="float",
    outputs=2,
    real_only=True,
    batch=axes_from_the_right,
    cost=gated(4, 6, 8, 5),
)
"""a (L, N, 4H), h0 and c0 (N, H), U (4H, H) to h and c of all steps, both (L, N, H)."""

# ---------------------------------------------------------------------------------------------- gru


def _gru_slopes(a: Any, h0: Any, u: Any, b: Any, y: Any) -> tuple[Any, ...]:
    """The slopes of h by the gates r, z, n and m (what of n comes from the state) and by h
    before; and the states before each step.
    """
    before, width = _before(h0, y[0]), h0.shape[-1]
    back = matmul(before, swapped(u)) + b
    r, z = _parts(sigmoid(a[..., : 2 * width] + back[..., : 2 * width]), 2)
    m = back[..., 2 * width :]
    n = tanh(a[..., 2 * width :] + r * m)
    by_n = (1 - z) * (1 - n * n)
    return by_n * m * r * (1 - r), (before - n) * z * (1 - z), by_n, by_n * r, z, before


@_once
def _gru_back(g: Any, a: Any, h0: Any, u: Any, b: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """The cotangents of a and of h Uᵀ + b, both (L, N, 3H), that of h0, and the states before
    each step.
    """
    by_r, by_z, by_n, by_m, by_h, before = _gru_slopes(a, h0, u, b, y)
    found: list[Any] = []
    hs: list[Any] = []
    given, dh = g
    for t in reversed(range(a.shape[0])):
        hs.append(given[t] + dh)
        found.append(_joined(hs[-1] * by_r[t], hs[-1] * by_z[t], hs[-1] * by_m[t]))
        dh = matmul(found[-1], u) + hs[-1] * by_h[t]
    back = _steps(found[::-1])
    return _joined(back[..., : 2 * h0.shape[-1]], _steps(hs[::-1]) * by_n), back, dh, before


def _gru_forth(
    given: Any, drive: Any, tangent: Any, a: Any, h0: Any, u: Any, b: Any, y: Any
) -> tuple[Any, Any]:
    """The states' tangents, if a has the tangent `given`, h Uᵀ + b the tangent `drive` besides
    what h gives it, and h0 `tangent`.
    """
    by_r, by_z, by_n, by_m, by_h, _ = _gru_slopes(a, h0, u, b, y)
    found: list[Any] = []
    for t in range(a.shape[0]):
        r, z, n = _parts(given[t], 3)
        s, x, m = _parts(drive[t] + matmul(tangent, swapped(u)), 3)
        tangent = (
            (r + s) * by_r[t] + (z + x) * by_z[t] + n * by_n[t] + m * by_m[t] + tangent * by_h[t]
        )
        found.append(tangent)
    return _steps(found), tangent


gru = general(
    "gru",
    _gru,
    [
        lambda g, a, h0, u, b, y: _gru_back(g, a, h0, u, b, y)[0],
        lambda g, a, h0, u, b, y: _gru_back(g, a, h0, u, b, y)[2],
        lambda g, a, h0, u, b, y: _matrix_gradient(
            _gru_back(g, a, h0, u, b, y)[1], _gru_back(g, a, h0, u, b, y)[3]
        ),
        lambda g, a, h0, u, b, y, b_shape: sum_to(
            _gru_back(g, a, h0, u, b, y)[1], shape=tuple(b_shape)
        ),
    ],
    [
        lambda t, a, h0, u, b, y: _gru_forth(t, zeros_like(a), zeros_like(h0), a, h0, u, b, y),
        lambda t, a, h0, u, b, y: _gru_forth(zeros_like(a), zeros_like(a), t, a, h0, u, b, y),
        lambda t, a, h0, u, b, y: _gru_forth(
            zeros_like(a), matmul(_before(h0, y[0]), swapped(t)), zeros_like(h0), a, h0, u, b, y
        ),
        lambda t, a, h0, u, b, y: _gru_forth(
            zeros_like(a), zeros_like(a) + t, zeros_like(h0), a, h0, u, b, y
        ),
    ],
    promote="float",
    outputs=2,
    real_only=True,
    batch=axes_from_the_right,
    cost=gated(3, 4, 10, 3),
)
"""a (L, N, 3H), h0 (N, H), U (3H, H), b (3H,) to h of all steps (L, N, H) and of the last one
(N, H).
"""
