"""SINGA's operators and layers under SINGA's names: `autograd.matmul`, `autograd.add_bias`,
`autograd.softmax_cross_entropy`, `autograd.Conv2d`, …

They follow ONNX: operands broadcast in both directions, negative axes count from the end,
`keepdims` is 1 by default, comparisons and logic give booleans. All are thin: the mathematics is
that of `functions` and `nn.functional`. What has no derivative (comparisons, shape, nonzero, cast
to integers, onehot) gives its value, and a result that does not require grad.

`autograd.training` switches `dropout`, `batchnorm_2d` and the layers below between training and
inference.

Sources: SINGA's documentation of `singa.autograd`; the ONNX operator specification for what that
leaves open.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import autograd, backend, functions
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..functions import axis_of, where
from ..nn import functional as F
from ..nn import layers, module
from ..nn.functional.common import each
from ..ops.elementwise import identity as _same
from ..ops.sorting import argwhere

Ints = Sequence[int]

# --------------------------------------------------------------------- what `functions` has already


def _of_x(function: Callable[..., Tensor], name: str | None = None) -> Callable[[Any], Tensor]:
    """The function, its argument called x as in SINGA's documentation."""

    def operator(x: Any) -> Tensor:
        return function(x)

    operator.__name__ = operator.__qualname__ = name or function.__name__
    operator.__doc__ = function.__doc__
    return operator


def _of_x_and_y(
    function: Callable[..., Tensor], name: str | None = None
) -> Callable[[Any, Any], Tensor]:
    """The function, its arguments called x and y as in SINGA's documentation."""

    def operator(x: Any, y: Any) -> Tensor:
        return function(x, y)

    operator.__name__ = operator.__qualname__ = name or function.__name__
    operator.__doc__ = function.__doc__
    return operator


_not = _of_x(functions.logical_not, "_not")
abs = _of_x(functions.abs)
acos = _of_x(functions.acos)
acosh = _of_x(functions.acosh)
asin = _of_x(functions.asin)
asinh = _of_x(functions.asinh)
atan = _of_x(functions.atan)
atanh = _of_x(functions.atanh)
ceil = _of_x(functions.ceil)
cos = _of_x(functions.cos)
cosh = _of_x(functions.cosh)
exp = _of_x(functions.exp)
log = _of_x(functions.log)
negative = _of_x(functions.negative, "negative")
reciprocal = _of_x(functions.reciprocal)
relu = _of_x(functions.relu)
sigmoid = _of_x(functions.sigmoid)
sign = _of_x(functions.sign)
sin = _of_x(functions.sin)
sinh = _of_x(functions.sinh)
softplus = _of_x(functions.softplus)
softsign = _of_x(F.softsign)
sqrt = _of_x(functions.sqrt)
tan = _of_x(functions.tan)
tanh = _of_x(functions.tanh)
_and = _of_x_and_y(functions.logical_and, "_and")
_or = _of_x_and_y(functions.logical_or, "_or")
_xor = _of_x_and_y(functions.logical_xor, "_xor")
equal = _of_x_and_y(functions.eq, "equal")
greater = _of_x_and_y(functions.greater, "greater")
less = _of_x_and_y(functions.less, "less")
mul = _of_x_and_y(functions.mul)
sub = _of_x_and_y(functions.sub)
Layer = module.Layer


def _list(operands: tuple[Any, ...], name: str) -> list[Any]:
    """`f(a, b, c)` and `f([a, b, c])` alike."""
    items = (
        list(operands[0])
        if len(operands) == 1 and isinstance(operands[0], list | tuple)
        else list(operands)
    )
    if not items:
        raise ValueError(f"{name}: needs at least one tensor.")
    return [as_tensor(x) for x in items]


# --------------------------------------------------------------------------- over a list of tensors


def sum(*l: Any) -> Tensor:
    """The tensors of a list added element by element; they broadcast."""
    total, *rest = _list(l, "sum")
    for x in rest:
        total = total + x
    return _same(total) if not rest else total


def mean(*l: Any) -> Tensor:
    """The mean of a list of tensors, element by element; they broadcast."""
    return sum(*l) / len(_list(l, "mean"))


def max(*l: Any) -> Tensor:
    """The largest of a list of tensors, element by element; ties share the derivative."""
    first, *rest = _list(l, "max")
    for x in rest:
        first = functions.maximum(first, x)
    return _same(first) if not rest else first


def min(*l: Any) -> Tensor:
    """The smallest of a list of tensors, element by element; ties share the derivative."""
    first, *rest = _list(l, "min")
    for x in rest:
        first = functions.minimum(first, x)
    return _same(first) if not rest else first


# ------------------------------------------------------------------------------- element by element


def identity(x: Any) -> Tensor:
    """x."""
    return _same(as_tensor(x))


def add(x: Any, b: Any) -> Tensor:
    """x + b."""
    return functions.add(x, b)


def clip(x: Any, min: float | None = None, max: float | None = None) -> Tensor:
    """x limited to [min, max]; a bound that is not set does not limit."""
    return identity(x) if min is None and max is None else functions.clamp(x, min, max)


def div(x: Any, y: Any) -> Tensor:
    """x / y; of two tensors of integers the whole part of the quotient, as integers."""
    x, y = as_tensor(x), as_tensor(y)
    whole = x.dtype.kind in "iu" and y.dtype.kind in "iu"
    return functions.div(x, y, rounding_mode="trunc" if whole else None)


def pow(x: Any, y: Any) -> Tensor:
    """x to the y, in the dtype of x if that holds integers."""
    x = as_tensor(x)
    power = functions.pow(x, y)
    return power if x.dtype.kind not in "iu" or power.dtype == x.dtype else cast(power, x.dtype)


def prelu(x: Any, slope: Any) -> Tensor:
    """x where x >= 0, slope · x elsewhere; both broadcast."""
    x = as_tensor(x)
    return where(x < 0, x * slope, x)


def leakyrelu(x: Any, a: float = 0.01) -> Tensor:
    """x where positive, a · x elsewhere."""
    return F.leaky_relu(x, a)


def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """x where positive, alpha (e^x − 1) elsewhere."""
    return F.elu(x, alpha)


def selu(x: Any, alpha: float = 1.67326, gamma: float = 1.0507) -> Tensor:
    """gamma · elu(x, alpha)."""
    return gamma * F.elu(x, alpha)


def hardsigmoid(x: Any, alpha: float = 0.2, gamma: float = 0.5) -> Tensor:
    """alpha x + gamma limited to [0, 1]."""
    return F.hardtanh(as_tensor(x) * alpha + gamma, 0.0, 1.0)


def cast(x: Any, to: Any) -> Tensor:
    """x converted to the dtype `to` ("float32", "int64", …). A cast to integers or booleans has
    no derivative.
    """
    made: Tensor = as_tensor(x).to(backend.as_dtype(to))
    return made


# ---------------------------------------------------------------------------- products and the bias


def matmul(x: Any, w: Any) -> Tensor:
    """The matrix product of x and w, with NumPy's rules for vectors and stacks of matrices."""
    return functions.matmul(x, w)


def add_bias(x: Any, b: Any, axis: int = 0) -> Tensor:
    """x (N, M) + b for each row (axis 0: b has M elements) or for each column (axis 1: b has N
    elements).
    """
    x, b = as_tensor(x), as_tensor(b)
    if axis not in (0, 1):
        raise ValueError(
            f"add_bias: axis must be 0 (b is added to each row) or 1 (to each column), got {axis}."
        )
    if x.ndim != 2 or b.numel() != x.shape[1 - axis]:
        raise ShapeError(
            f"add_bias: with axis={axis}, x must be a matrix and b have one element for each of its"
            f" {'columns' if axis == 0 else 'rows'}; got {x.shape} and {b.shape}."
        )
    return x + (b.reshape(1, -1) if axis == 0 else b.reshape(-1, 1))


def gemm(
    A: Any,
    B: Any,
    C: Any = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Tensor:
    """alpha · A' B' + beta · C, where A' and B' are A and B, or their transposes; C broadcasts
    to the product's shape (M, N).
    """
    a, b = as_tensor(A), as_tensor(B)
    if a.ndim != 2 or b.ndim != 2:
        raise ShapeError(f"gemm: A and B must be matrices, got shapes {a.shape} and {b.shape}.")
    y = matmul(a.t() if transA else a, b.t() if transB else b)
    y = y * alpha if alpha != 1 else y
    if C is None:
        return y
    c = as_tensor(C)
    if c.ndim > 2 or any(
        n not in (1, m) for n, m in zip(c.shape[::-1], y.shape[::-1], strict=False)
    ):
        raise ShapeError(
            f"gemm: C of shape {c.shape} does not broadcast to the product's shape {y.shape}."
        )
    return y + (c * beta if beta != 1 else c)


# --------------------------------------------------------------------------------------- reductions


def _axes(axes: int | Ints | None) -> list[int] | None:
    return None if axes is None else [axes] if isinstance(axes, int) else [int(a) for a in axes]


def reduce_sum(x: Any, axes: int | Ints | None = None, keepdims: int = 1) -> Tensor:
    """Sum over the axes (all by default), which are kept as size 1 unless keepdims is 0.
    Integers keep their dtype.
    """
    x = as_tensor(x)
    return functions.sum(
        x, _axes(axes), bool(keepdims), dtype=x.dtype if x.dtype.kind in "iu" else None
    )


def reduce_mean(x: Any, axes: int | Ints | None = None, keepdims: int = 1) -> Tensor:
    """Mean over the axes (all by default), which are kept as size 1 unless keepdims is 0."""
    return functions.mean(x, _axes(axes), bool(keepdims))


def softmax(x: Any, axis: int = 1) -> Tensor:
    """e^x / Σ e^x along an axis."""
    return functions.softmax(x, axis)


# ------------------------------------------------------------------------------------------- losses


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
    return -(target * log(where(impossible, 1.0, y))).sum() / _samples(y)


def softmax_cross_entropy(y: Any, t: Any) -> Tensor:
    """cross_entropy(softmax(y), t) without overflow: y logits (N, C) or (C,), t class indices
    (N,) or probabilities (N, C).
    """
    y = as_tensor(y)
    return -(_targets(y, t) * functions.log_softmax(y, -1)).sum() / _samples(y)


def cossim(a: Any, b: Any) -> Tensor:
    """The cosine of the angle between each two rows: a and b (N, M), the result (N,)."""
    return F.cosine_similarity(a, b, -1)


def qa_lstm_loss(pos: Any, neg: Any, M: float = 0.2) -> Tensor:
    """The mean of max(0, M − pos + neg): the right answer's similarity shall exceed the wrong
    one's by M.
    """
    return functions.mean(functions.clamp(M - as_tensor(pos) + neg, min=0.0))


def mse_loss(y: Any, t: Any) -> Tensor:
    """The mean of (y − t)² over all elements."""
    return F.mse_loss(y, t)


# ------------------------------------------------------------------------------------------- shapes


def shape(x: Any) -> Tensor:
    """The sizes of x as a tensor of int64. No derivative."""
    return functions.tensor(list(as_tensor(x).shape), dtype=backend.int64)


def reshape(x: Any, shape: Ints) -> Tensor:
    """x in another shape: one size may be −1 (what is left), and 0 keeps the size at its place."""
    x = as_tensor(x)
    if 0 in shape and x.numel() and any(n == 0 and i >= x.ndim for i, n in enumerate(shape)):
        raise ShapeError(
            f"reshape: {tuple(shape)} keeps a size that x of shape {x.shape} does not have."
        )
    return functions.reshape(
        x, [x.shape[i] if n == 0 and x.numel() else int(n) for i, n in enumerate(shape)]
    )


def flatten(x: Any, axis: int = 1) -> Tensor:
    """A matrix: the axes before `axis` make its rows, the others its columns."""
    x = as_tensor(x)
    place = axis if axis == x.ndim else axis_of(x.ndim, axis, "flatten")
    return functions.reshape(x, math.prod(x.shape[:place]), math.prod(x.shape[place:]))


def transpose(x: Any, shape: Ints | None = None) -> Tensor:
    """The axes in the order `shape`, reversed by default."""
    return functions.transpose(x) if shape is None else functions.permute(x, list(shape))


def squeeze(x: Any, axis: int | Ints = ()) -> Tensor:
    """Without the axes named, which must have size 1; without all axes of size 1 by default."""
    x = as_tensor(x)
    axes = [axis] if isinstance(axis, int) else list(axis)
    for a in axes:
        if x.shape[axis_of(x.ndim, a, "squeeze")] != 1:
            raise ShapeError(f"squeeze: axis {a} of x with shape {x.shape} does not have size 1.")
    return functions.squeeze(x, axes or None)


def unsqueeze(x: Any, axis: int | Ints = -1) -> Tensor:
    """With new axes of size 1 at the places named, which count in the result."""
    x = as_tensor(x)
    axes = [axis] if isinstance(axis, int) else list(axis)
    places = sorted(axis_of(x.ndim + len(axes), a, "unsqueeze") for a in axes)
    if len(set(places)) < len(places):
        raise ValueError(f"unsqueeze: {axes} names an axis of the result twice.")
    for a in places:
        x = functions.unsqueeze(x, a)
    return x


def cat(x: Sequence[Any], axis: int = 0) -> Tensor:
    """The tensors of a list joined along an axis."""
    return functions.cat(list(x), axis)


def split(
    x: Any, axis: int, parts: Ints | None = None, num_output: int | None = None
) -> tuple[Tensor, ...]:
    """x cut along an axis into pieces of the lengths `parts`, or into `num_output` equal ones,
    of which the last may be shorter.
    """
    x = as_tensor(x)
    place = axis_of(x.ndim, axis, "split")
    n = x.shape[place]
    if parts is None:
        length = -(-n // num_output) if num_output else 0
        if not num_output or length * (num_output - 1) >= builtins.max(n, 1):
            raise ShapeError(
                f"split: {n} elements of axis {axis} cannot be cut into {num_output} equal parts;"
                " give `parts`."
            )
        parts = [length] * (num_output - 1) + [n - length * (num_output - 1)]
    if builtins.sum(parts) != n or any(p < 0 for p in parts):
        raise ShapeError(
            f"split: the parts {list(parts)} do not make up the {n} elements of axis {axis}."
        )
    ends = [builtins.sum(parts[: i + 1]) for i in range(len(parts))]
    return tuple(
        x[(builtins.slice(None),) * place + (builtins.slice(end - p, end),)]
        for p, end in zip(parts, ends, strict=True)
    )


def slice(
    x: Any, starts: Ints, ends: Ints, axes: Ints | None = None, steps: Ints | None = None
) -> Tensor:
    """x[start:end:step] along the axes named (the first ones by default); bounds are cut to the
    axis, negative ones count from the end, steps may be negative.
    """
    x = as_tensor(x)
    chosen = range(len(starts)) if axes is None else [axis_of(x.ndim, a, "slice") for a in axes]
    index = [builtins.slice(None)] * x.ndim
    for a, start, end, step in zip(chosen, starts, ends, steps or [1] * len(starts), strict=True):
        if step == 0:
            raise ValueError("slice: a step must not be 0.")
        stop: int | None = int(end)
        if (
            step < 0 and end < -x.shape[a]
        ):  # past the beginning, which Python cannot say with a number
            stop = None
        index[a] = builtins.slice(int(start), stop, int(step))
    return x[tuple(index)]


def gather(x: Any, axis: int, indices: Any) -> Tensor:
    """The entries of an axis at the indices (any shape, negative ones count from the end): rank
    q + r − 1.
    """
    x = as_tensor(x)
    return x[
        (builtins.slice(None),) * axis_of(x.ndim, axis, "gather")
        + (as_tensor(indices).to(backend.int64),)
    ]


def tile(x: Any, repeats: Any) -> Tensor:
    """x repeated along its axes, as NumPy's tile: fewer repeats than axes belong to the last
    ones, more make new axes in front.
    """
    x = as_tensor(x)
    counts = [
        int(n)
        for n in (
            repeats.tolist()
            if hasattr(repeats, "tolist")
            else [repeats]
            if isinstance(repeats, int)
            else repeats
        )
    ]
    if any(n < 0 for n in counts):
        raise ValueError(f"tile: repeats must be at least 0, got {counts}.")
    counts = [1] * (x.ndim - len(counts)) + counts
    full = (1,) * (len(counts) - x.ndim) + x.shape
    spread = x.reshape([n for size in full for n in (1, size)]).broadcast_to(
        [n for c, size in zip(counts, full, strict=True) for n in (c, size)]
    )
    return spread.reshape([c * size for c, size in zip(counts, full, strict=True)])


def nonzero(x: Any) -> Tensor:
    """The indices of the non-zero elements in row-major order, one row an axis: (rank, count),
    int64. No derivative.
    """
    return functions.transpose(argwhere(as_tensor(x)))


def constant_of_shape(x: Any, value: Any = 0.0) -> Tensor:
    """A tensor of the shape that x lists, filled with the one element of `value`, in its dtype
    (float32 zeros by default).
    """
    sizes = [int(n) for n in as_tensor(x).reshape(-1).tolist()]
    if any(n < 0 for n in sizes):
        raise ValueError(f"constant_of_shape: sizes must be at least 0, got {sizes}.")
    filling = as_tensor(value)
    if filling.numel() != 1:
        raise ShapeError(
            f"constant_of_shape: value must have one element, got shape {filling.shape}."
        )
    return functions.full(sizes, filling.detach().reshape(()), dtype=filling.dtype)


def onehot(axis: int, indices: Any, depth: Any, values: Any) -> Tensor:
    """values[1] where an index stands for the place along a new axis of size `depth`, values[0]
    elsewhere. Indices in [−depth, depth − 1]; others give no values[1].
    """
    index, count = as_tensor(indices), int(as_tensor(depth).reshape(()).item())
    place = axis_of(index.ndim + 1, axis, "onehot")
    low, high = as_tensor(values).reshape(2)
    index = where(index < 0, index + count, index).unsqueeze(place)
    steps = functions.arange(count).reshape(-1, *(1,) * (index.ndim - 1 - place))
    return where(index == steps, high, low)


# ----------------------------------------------------- convolution, pooling, normalisation, dropout


class ConvHandle:
    """The settings of `conv2d`, in the order in which SINGA's handles take them; x is not kept."""

    def __init__(
        self,
        x: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        in_channels: int,
        out_channels: int,
        bias: bool = True,
        group: int = 1,
    ) -> None:
        self.kernel_size, self.stride, self.padding = (
            each(v, 2, "ConvHandle", "a setting") for v in (kernel_size, stride, padding)
        )
        self.in_channels, self.out_channels, self.bias, self.group = (
            in_channels,
            out_channels,
            bias,
            group,
        )


class PoolingHandle:
    """The settings of `pooling_2d`; x is not kept."""

    def __init__(
        self, x: Any, kernel_size: Any, stride: Any, padding: Any, is_max: bool = True
    ) -> None:
        self.kernel_size, self.stride, self.padding = (
            each(v, 2, "PoolingHandle", "a setting") for v in (kernel_size, stride, padding)
        )
        self.is_max = is_max


class BatchNormHandle:
    """The settings of `batchnorm_2d`: running ← momentum · running + (1 − momentum) · batch; x is
    not kept.

    That is ONNX's momentum, as which SINGA reads and writes it; its program gives the share to the
    batch.
    """

    def __init__(self, momentum: float = 0.9, x: Any = None, eps: float = 1e-5) -> None:
        self.momentum, self.eps = momentum, eps


CudnnConvHandle, CudnnPoolingHandle, CudnnBatchNormHandle = (
    ConvHandle,
    PoolingHandle,
    BatchNormHandle,
)


def _odd_pads(x: Tensor, odd_padding: Ints, value: float = 0.0) -> Tensor:
    """Rows before and after, columns before and after."""
    above, below, left, right = odd_padding
    return F.pad(x, (left, right, above, below), value=value) if any(odd_padding) else x


def conv2d(
    handle: ConvHandle, x: Any, W: Any, b: Any = None, odd_padding: Ints = (0, 0, 0, 0)
) -> Tensor:
    """x (N, C, H, W) convolved with W (O, C/group, K, L). odd_padding: further rows above, below
    and columns left, right that the handle's padding cannot express.
    """
    return F.conv2d(
        _odd_pads(as_tensor(x), odd_padding), W, b, handle.stride, handle.padding, 1, handle.group
    )


def pooling_2d(handle: PoolingHandle, x: Any, odd_padding: Ints = (0, 0, 0, 0)) -> Tensor:
    """The largest element or the mean of each window. Padding never is a maximum and does not count
    in a mean; a window of nothing but padding gives the lowest number or 0.
    """
    x = as_tensor(x)
    rows, columns = handle.padding
    above, below, left, right = odd_padding
    around = (above + rows, below + rows, left + columns, right + columns)
    if handle.is_max:
        made: Tensor = F.max_pool2d(
            _odd_pads(x, around, backend.lowest(x.dtype)), handle.kernel_size, handle.stride
        )
        return made
    if not any(around):
        return F.avg_pool2d(x, handle.kernel_size, handle.stride)
    inside = functions.ones(1, 1, *x.shape[-2:], dtype=x.dtype, device=x.device)
    total, count = (
        F.avg_pool2d(_odd_pads(v, around), handle.kernel_size, handle.stride, divisor_override=1)
        for v in (x, inside)
    )
    return div(total, where(count == 0, functions.ones_like(count), count))


def globalaveragepool(x: Any, data_format: str = "channels_first") -> Tensor:
    """The mean of each channel's image, kept as axes of size 1: x (N, C, *S), or (N, *S, C) for
    "channels_last".
    """
    x = as_tensor(x)
    if data_format not in (
        "channels_first",
        "channels_last",
        "channel_first",
        "channel_last",
    ):  # SINGA's own tests leave out the s
        raise ValueError(
            'globalaveragepool: data_format must be "channels_first" or "channels_last", got'
            f" {data_format!r}."
        )
    if x.ndim < 3:
        raise ShapeError(
            "globalaveragepool: x must have the axes (N, C, …) and at least one of an image, got"
            f" shape {x.shape}."
        )
    first = data_format.endswith("first")
    return reduce_mean(x, tuple(range(2, x.ndim) if first else range(1, x.ndim - 1)))


def batchnorm_2d(
    handle: BatchNormHandle, x: Any, scale: Any, bias: Any, running_mean: Any, running_var: Any
) -> Tensor:
    """x (N, C, H, W) normalised by channel: by the batch's statistics while `autograd.training`,
    which move the running ones, else by the running ones.
    """
    return F.batch_norm(
        x,
        running_mean,
        running_var,
        scale,
        bias,
        autograd.training,
        1 - handle.momentum,
        handle.eps,
    )


def dropout(x: Any, ratio: float = 0.5) -> Tensor:
    """scale · x · mask with scale = 1 / (1 − ratio), and a mask that is 0 with probability
    `ratio`; x itself unless `autograd.training`.
    """
    if not 0 <= ratio < 1:
        raise ValueError(f"dropout: ratio must lie in [0, 1), got {ratio}.")
    return F.dropout(x, ratio, autograd.training)


# ------------------------------------------------------------------------------------------- layers


class Linear(layers.Linear):
    """x Wᵀ + b with Xavier-normal weights and a bias of zeros, as SINGA begins."""

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        self.weight.gaussian(0.0, math.sqrt(2 / (self.in_dim + self.out_dim)))
        if self.bias is not None:
            self.bias.set_value(0.0)


class Conv2d(layers.Conv2d):
    """Convolution with normal weights of variance 2 / (inputs · kernel + outputs) and a bias of
    zeros, as SINGA begins. W and b are its parameters.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, group, bias
        )

    W = property(lambda self: self.weight)
    b = property(lambda self: self.bias)

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        self.weight.gaussian(
            0.0, math.sqrt(2 / (math.prod(self.weight.shape[1:]) + self.out_channels))
        )
        if self.bias is not None:
            self.bias.set_value(0.0)


class BatchNorm2d(layers.BatchNorm2d):
    """Batch normalisation that `autograd.training` switches. momentum is the share of the old
    running value (PyTorch's is that of the new one).
    """

    def __init__(self, num_features: int, momentum: float = 0.9) -> None:
        super().__init__(num_features, momentum=1 - momentum)

    scale = property(lambda self: self.weight)

    def forward(self, x: Any) -> Tensor:
        return self.normalized(x, autograd.training)


class MaxPool2d(layers.MaxPool2d):
    """Largest element of each window."""


class AvgPool2d(layers.AvgPool2d):
    """Mean of each window; the padding does not count."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__(kernel_size, stride, padding, count_include_pad=False)


class Dropout(layers.Dropout):
    """Dropout that `autograd.training` switches."""

    def __init__(self, ratio: float = 0.5) -> None:
        super().__init__(ratio)

    def forward(self, x: Any) -> Tensor:
        return dropout(x, self.p)


# The names as the document's headings write them.
Equal, Mul, SoftSign, SoftPlus, MeanSquareError, Pooling2d = (
    equal,
    mul,
    softsign,
    softplus,
    mse_loss,
    pooling_2d,
)
constantOfShape, reduceSum, reduceMean = constant_of_shape, reduce_sum, reduce_mean

NAMES = """
    mean relu less clip identity matmul greater add_bias reshape prelu add equal elu selu softmax
    sum cross_entropy softmax_cross_entropy mse_loss flatten cat conv2d batchnorm_2d pooling_2d tanh
    cos cosh acos acosh sin sinh asin asinh tan atan atanh sigmoid mul unsqueeze transpose abs exp
    leakyrelu sign pow softsign sqrt softplus sub min log hardsigmoid squeeze div shape max _and _or
    _not _xor negative reciprocal gemm constant_of_shape dropout reduce_sum reduce_mean slice ceil
    split gather tile nonzero cast onehot
""".split()
"""The 75 operators of SINGA's documentation, in its order."""
LAYERS_AND_OTHER_NAMES = """
    AvgPool2d BatchNorm2d BatchNormHandle Conv2d ConvHandle CudnnBatchNormHandle CudnnConvHandle
    CudnnPoolingHandle Dropout Equal Layer Linear MaxPool2d MeanSquareError Mul Pooling2d
    PoolingHandle SoftPlus SoftSign constantOfShape cossim globalaveragepool qa_lstm_loss reduceMean
    reduceSum
""".split()
__all__ = [*NAMES, *LAYERS_AND_OTHER_NAMES]
