"""Statistics of samples: quantiles, the most frequent element, covariances, histograms, areas under
sampled curves.

All are short combinations of sorting, reading and sums; quantiles and the most frequent element
pass their derivative on to the elements that they were read from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import backend
from .. import functions as fn
from ..arrays.norms import vector_norm
from ..arrays.operands import ValuesIndices, along, floating, read_along
from ..arrays.order import argsort, searchsorted
from ..arrays.splitting import narrow
from ..arrays.sums import cumsum
from ..batching import all_examples
from ..core.tensor import Tensor, as_tensor, wrap
from ..errors import DTypeError, ShapeError, one_of
from ..names import TensorLike, public, publish
from ..ops import index as ix
from ..ops.elementwise import in_float32
from .pointwise import lerp

# ---------------------------------------------------------------------------------------- quantiles


@fn.in_own_memory
def quantile(
    x: TensorLike,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The q-quantiles of the elements along a dimension (of all by default): what stands at place q
    (n − 1) of the sorted ones. q is a number or a vector of numbers in [0, 1]; a vector makes a new
    first axis. NaN where there is one. Between two places the "linear" quantile has a derivative by
    q too, if q is a tensor that requires grad.

    interpolation, between two places: "linear", "lower", "higher", "nearest" (halves to the even
    place) or "midpoint".
    """
    return _quantile(x, q, dim, keepdim, interpolation, "quantile")


@fn.in_own_memory
def nanquantile(
    x: TensorLike,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The quantiles of the elements that are not NaN (NaN if there are none); arguments as of
    `quantile`.
    """
    return _quantile(x, q, dim, keepdim, interpolation, "nanquantile")


def _quantile(
    x: TensorLike, q: Any, dim: int | None, keepdim: bool, interpolation: str, function: str
) -> Tensor:
    x = floating(x, function)
    shares = q.to(x.dtype) if isinstance(q, Tensor) else as_tensor(backend.as_payload(q, x.dtype))
    wanted = wrap(all_examples(shares.array))
    if shares.ndim > 1 or not bool(((wanted >= 0) & (wanted <= 1)).all()):
        raise ValueError(
            f"{function}: q must be a number or a vector of numbers in [0, 1], got {q!r}."
        )
    if not isinstance(q, Tensor):
        shares = shares.to(device=x.device)
    one_of(
        function, "interpolation", interpolation, "linear", "lower", "higher", "nearest", "midpoint"
    )
    if dim is None or x.ndim == 0:
        shape = (1,) * x.ndim
        rows, axis = x.reshape(-1), 0
    else:
        axis = fn.axis_of(x.ndim, dim, function)
        shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
        rows = fn.movedim(x, axis, -1)
    if rows.shape[-1] == 0:
        raise ShapeError(
            f"{function}: there is no element along dimension {dim} of shape {x.shape}."
        )
    numbers = fn.sum(fn.logical_not(fn.isnan(rows)), -1, True)
    ordered = read_along(rows, argsort(rows, -1), rows.ndim - 1)  # NaN comes last
    place = shares.reshape(-1) * fn.clamp(numbers - 1, min=0).to(x.dtype)
    if function == "quantile":  # a NaN is at every place
        place = fn.where(numbers < rows.shape[-1], float(rows.shape[-1] - 1), place)
    low, high = fn.floor(place), fn.ceil(place)
    if interpolation in ("lower", "higher", "nearest"):
        low = high = {"lower": low, "higher": high, "nearest": fn.round(place)}[interpolation]
    share = 0.5 * (high - low) if interpolation == "midpoint" else place - low
    below, above = (read_along(ordered, v.to(backend.int64), rows.ndim - 1) for v in (low, high))
    values = fn.movedim(below if low is high else _interpolated(below, above, share), -1, 0)
    out = values.reshape((shares.numel(), *shape)) if keepdim else values
    return out if shares.ndim else out[0]


def _interpolated(below: Tensor, above: Tensor, share: Tensor) -> Tensor:
    """`lerp`, and `below` itself where the share is 0 or both are the same infinity."""
    same = fn.logical_and(fn.isinf(below), below == above)
    return fn.where(fn.logical_or(share == 0, same), below, lerp(below, above, share))


@fn.in_own_memory
def mode(x: TensorLike, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
    """(value, index) of the most frequent element along a dimension, the smallest of equally
    frequent ones; the index is that of its last occurrence.
    """
    x = as_tensor(x)
    axis = fn.axis_of(x.ndim, dim, "mode")
    if x.ndim == 0:
        return ValuesIndices(fn.clone(x), fn.zeros_like(x, dtype=backend.int64))
    order = argsort(x, axis)
    ordered = fn.movedim(read_along(x.detach(), order, axis), axis, -1)
    n = ordered.shape[-1]
    if n == 0:
        raise IndexError(f"mode: dimension {dim} is empty, so there is no element to choose.")
    if not ordered.is_contiguous():
        ordered = fn.clone(ordered)
    behind = searchsorted(ordered, ordered, right=True)
    frequent = behind - searchsorted(ordered, ordered)
    last = read_along(behind, fn.argmax(frequent, -1, True), frequent.ndim - 1) - 1
    index = read_along(order, fn.movedim(last, -1, axis), axis)
    values = read_along(x, index, axis)
    if keepdim:
        return ValuesIndices(values, index)
    return ValuesIndices(fn.squeeze(values, axis), fn.squeeze(index, axis))


# --------------------------------------------------------------------------------------- covariance


@fn.in_own_memory
@in_float32
def cov(
    x: TensorLike, *, correction: float = 1, fweights: Any = None, aweights: Any = None
) -> Tensor:
    """The covariances of variables, one a row, of which each column is an observation: Σ w (a − ā)
    conj(b − b̄) / (Σ w − correction).

    fweights: how often each observation counts (integers); aweights: how much; with them the
    divisor is Σ w − correction Σ w a / Σ w.
    """
    x = as_tensor(x)
    x = x if backend.is_differentiable(x.dtype) else x.to(backend.default_dtype())
    if x.ndim > 2:
        raise ShapeError(
            f"cov: needs a vector or a matrix (one variable a row), got shape {x.shape}."
        )
    rows = x.reshape(1, -1) if x.ndim < 2 else x
    n = rows.shape[1]
    weights = None if fweights is None else as_tensor(fweights)
    if weights is not None and weights.dtype.kind not in "iu":
        raise DTypeError(f"cov: fweights must be integers, got {weights.dtype}.")
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is not None and bool((as_tensor(given) < 0).any()):
            raise ValueError(f"cov: no element of {name} may be negative.")
    if aweights is not None:
        weights = as_tensor(aweights) if weights is None else weights * aweights
    if weights is not None and weights.shape != (n,):
        raise ShapeError(f"cov: weights of shape {weights.shape} do not fit {n} observations.")
    if weights is None:
        centred = rows - fn.mean(rows, 1, True)
        divisor: Any = float(n - correction)
        heavy = centred
    else:
        total = fn.sum(weights)
        centred = rows - fn.sum(rows * weights, 1, True) / total
        heavy = centred * weights
        divisor = total - correction * (
            fn.sum(weights * aweights) / total if aweights is not None else 1
        )
    out = fn.matmul(heavy, fn.conj(fn.transpose(centred))) / (
        fn.clamp(divisor, min=0) if isinstance(divisor, Tensor) else max(divisor, 0.0)
    )
    return out.reshape(()) if rows.shape[0] == 1 else out


@in_float32
def corrcoef(x: TensorLike) -> Tensor:
    """The correlations of variables, one a row: their covariances divided by their standard
    deviations.
    """
    x = as_tensor(x)
    c = cov(x)
    if c.ndim == 0:
        return c / c
    deviation = fn.sqrt(fn.real(c.diagonal()) if backend.is_complex(c.dtype) else c.diagonal())
    c = c / deviation.unsqueeze(1) / deviation
    if backend.is_complex(c.dtype):
        return fn.complex(fn.clamp(fn.real(c), -1, 1), fn.clamp(fn.imag(c), -1, 1))
    return fn.clamp(c, -1, 1)


# --------------------------------------------------------------------------------------- histograms


def histc(x: TensorLike, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements fall into each of equally wide intervals from min to max (by default those
    of x); others do not count, nor does NaN. The last interval has both its ends. In the dtype of
    x; no derivative.
    """
    x = as_tensor(x).detach().reshape(-1)
    low, high = float(min), float(max)
    if bins < 1 or high < low:
        raise ValueError(
            f"histc: needs bins > 0 and min <= max, got bins={bins}, min={min}, max={max}."
        )
    if low == high and x.numel():
        low, high = float(fn.amin(x).item()), float(fn.amax(x).item())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"histc: the range must be finite, got {low} to {high}. Give min and max.")
    if low == high:
        low, high = low - 1, high + 1
    inside = fn.getitem(x, fn.logical_and(x >= low, x <= high))
    place = fn.clamp(fn.floor((inside - low) * bins / (high - low)), 0, bins - 1).to(backend.int64)
    empty = fn.zeros(bins, dtype=x.dtype, device=backend.device_of(x.array))
    return ix.index_put(
        empty, fn.ones_like(inside), index=fn.plain_index((place,), x.array), accumulate=True
    )


class Histogram(NamedTuple):
    """How many elements (or what weight, or what density) each interval holds, and where the
    intervals begin and end.
    """

    hist: Tensor
    bin_edges: Tensor


class HistogramDD(NamedTuple):
    """A histogram in several dimensions, and where its intervals begin and end on each axis."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


@fn.in_own_memory
def histogram(
    x: TensorLike,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Any = None,
    density: bool = False,
) -> Histogram:
    """How many elements fall into each interval. bins: how many equally wide ones, from range[0] to
    range[1] (by default those of x), or a vector of their ends. Elements outside do not count, nor
    does NaN; the last interval has both its ends.

    weight: of each element, x's shape; density: divide by the total and by the width, so that the
    integral is 1. No derivative.
    """
    x = floating(x, "histogram").detach()
    weight = None if weight is None else as_tensor(weight)
    if weight is not None and weight.shape != x.shape:
        raise ShapeError(
            f"histogram: the weights must have the shape {x.shape}, got {weight.shape}."
        )
    of_one = None if range is None else tuple(range)
    counted = histogramdd(
        x.reshape(-1, 1),
        [bins],
        range=of_one,
        weight=None if weight is None else weight.reshape(-1),
        density=density,
    )
    return Histogram(counted.hist, counted.bin_edges[0])


@public(method=False)
@fn.in_own_memory
def histogramdd(
    x: TensorLike,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Any = None,
    density: bool = False,
) -> HistogramDD:
    """`histogram` of points (…, D) in D dimensions, counted in boxes. bins: how many intervals, one
    number for all dimensions or one for each, or a vector of ends for each; range: the ends of all
    dimensions, one pair after the other.
    """
    x = floating(x, "histogramdd").detach()
    if x.ndim < 2:
        raise ShapeError(f"histogramdd: needs points of shape (…, dimensions), got {x.shape}.")
    points = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    kinds = [bins] * points.shape[1] if isinstance(bins, int) else list(bins)
    if len(kinds) != points.shape[1] or (range is not None and len(range) != 2 * len(kinds)):
        raise ValueError(
            f"histogramdd: needs bins and a pair of ends for each of {points.shape[1]} dimensions,"
            f" got {bins!r} and {range!r}."
        )
    weight = (
        fn.ones(points.shape[0], dtype=x.dtype, device=x.device)
        if weight is None
        else as_tensor(weight).detach().to(x.dtype).reshape(-1)
    )
    if weight.shape != points.shape[:1]:
        raise ShapeError(
            f"histogramdd: needs a weight for each of {points.shape[0]} points, got shape"
            f" {weight.shape}."
        )
    edges = [
        _edges(points[:, d], kind, None if range is None else range[2 * d : 2 * d + 2])
        for d, kind in enumerate(kinds)
    ]
    sizes = tuple(e.shape[0] - 1 for e in edges)
    place = fn.zeros(points.shape[0], dtype=backend.int64, device=x.device)
    inside = fn.ones_like(weight, dtype=backend.bool_)
    for d, (ends, size) in enumerate(zip(edges, sizes, strict=True)):
        v = points[:, d].contiguous()
        inside = fn.logical_and(inside, fn.logical_and(v >= ends[0], v <= ends[-1]))
        place = place * size + fn.clamp(searchsorted(ends, v, right=True) - 1, 0, size - 1)
    empty = fn.zeros(math.prod(sizes), dtype=x.dtype, device=x.device)
    kept = fn.where(inside, weight, 0)
    hist = ix.index_put(
        empty, kept, index=fn.plain_index((place,), x.array), accumulate=True
    ).reshape(sizes)
    if density:
        hist = hist / fn.sum(hist)
        for d, ends in enumerate(edges):
            hist = hist / (ends[1:] - ends[:-1]).reshape((-1, *(1,) * (len(sizes) - 1 - d)))
    return HistogramDD(hist, tuple(edges))


def _edges(v: Tensor, bins: Any, ends: Sequence[float] | None) -> Tensor:
    """Where the intervals of one dimension begin and end."""
    if not isinstance(bins, int):
        edges = as_tensor(bins).detach().to(v.dtype)
        if edges.ndim != 1 or edges.shape[0] < 2:
            raise ShapeError(
                "histogram: the ends of the intervals must be a vector of at least 2, got shape"
                f" {edges.shape}."
            )
        return edges
    if bins < 1:
        raise ValueError(f"histogram: needs at least one interval, got bins={bins}.")
    low, high = (
        (float(e) for e in ends)
        if ends is not None
        else (float(fn.amin(v).item()), float(fn.amax(v).item()))
        if v.numel()
        else (0.0, 1.0)
    )
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(
            f"histogram: the range {(low, high)} is not finite, or runs backwards. Give range=."
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return fn.linspace(low, high, bins + 1, dtype=v.dtype, device=v.device)


# ----------------------------------------------------------------------------------- sampled curves


@public(method=False)
@in_float32
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """∫ y dx by the trapezoidal rule along a dimension, at places x (a vector, or a tensor that
    broadcasts) or at distances dx.
    """
    return fn.sum(_strips(y, x, dx, dim, "trapezoid"), dim)


@public(method=False)
@in_float32
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """The integrals of `trapezoid` up to each place but the first."""
    return cumsum(_strips(y, x, dx, dim, "cumulative_trapezoid"), dim)


def _strips(y: Any, x: TensorLike, dx: Any, dim: int, function: str) -> Tensor:
    """The areas between neighbouring places."""
    y = as_tensor(y)
    axis = fn.axis_of(y.ndim, dim, function)
    if y.ndim == 0:
        raise ShapeError(f"{function}: needs at least one dimension.")
    ends = y[along(axis, slice(1, None))] + y[along(axis, slice(None, -1))]
    if x is None:
        out: Tensor = ends * dx / 2
        return out
    x = as_tensor(x)
    if x.ndim == 1:
        x = x.reshape([-1 if i == axis else 1 for i in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.reshape((1,) * (y.ndim - x.ndim) + x.shape)
    width = x[along(axis, slice(1, None))] - x[along(axis, slice(None, -1))]
    out = ends * width / 2
    return out


@public(method=False)
def gradient(
    x: TensorLike, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """Estimates of the partial derivatives of sampled values along each dimension (or those of
    `dim`): central differences inside, one- sided ones of the first or second order at the edges.

    spacing: the distance of neighbours, one for each dimension, or for each a vector of places.
    Source: B. Fornberg, Generation of finite difference formulas on arbitrarily spaced grids
    (1988).
    """
    x = as_tensor(x)
    axes = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    axes = [fn.axis_of(x.ndim, a, "gradient") for a in axes]
    if len(set(axes)) < len(axes):
        raise ValueError(f"gradient: each dimension may be named once, got dim={dim}.")
    spacing = 1 if spacing is None else spacing
    spacings = list(spacing) if isinstance(spacing, list | tuple) else [spacing] * len(axes)
    if len(spacings) != len(axes) or edge_order not in (1, 2):
        raise ValueError(
            f"gradient: needs one spacing for each of {len(axes)} dimensions and edge_order 1 or 2,"
            f" got {spacing}, {edge_order}."
        )
    return tuple(
        _sloped(x, axis, distance, edge_order)
        for axis, distance in zip(axes, spacings, strict=True)
    )


def _sloped(x: Tensor, axis: int, spacing: Any, edge_order: int) -> Tensor:
    n = x.shape[axis]
    if n <= edge_order:
        raise ShapeError(
            f"gradient: dimension {axis} of shape {x.shape} is too short for"
            f" edge_order={edge_order}."
        )
    part: Any = lambda start, length: narrow(x, axis, start, length)
    if isinstance(spacing, Tensor) and spacing.ndim == 1:
        width = (spacing[1:] - spacing[:-1]).reshape(
            [-1 if i == axis else 1 for i in range(x.ndim)]
        )
        h: Any = lambda start, length: narrow(width, axis, start, length)
    else:
        h = lambda start, length: spacing
    if n > 2 and not isinstance(spacing, Tensor):  # 0 · ∞ must not come in
        inside = (part(2, n - 2) - part(0, n - 2)) / (2 * spacing)
    elif n > 2:
        a, b = h(0, n - 2), h(1, n - 2)
        inside = (
            part(0, n - 2) * (-b / (a * (a + b)))
            + part(1, n - 2) * ((b - a) / (a * b))
            + part(2, n - 2) * (a / (b * (a + b)))
        )
    if edge_order == 1:
        first = (part(1, 1) - part(0, 1)) / h(0, 1)
        last = (part(n - 1, 1) - part(n - 2, 1)) / h(n - 2, 1)
    else:
        a, b = h(0, 1), h(1, 1)
        first = (
            part(0, 1) * (-(2 * a + b) / (a * (a + b)))
            + part(1, 1) * ((a + b) / (a * b))
            - part(2, 1) * (a / (b * (a + b)))
        )
        a, b = h(n - 3, 1), h(n - 2, 1)
        last = (
            part(n - 3, 1) * (b / (a * (a + b)))
            - part(n - 2, 1) * ((a + b) / (a * b))
            + part(n - 1, 1) * ((a + 2 * b) / (b * (a + b)))
        )
    return fn.cat([first, inside, last] if n > 2 else [first, last], axis)


@public(method=False)
@fn.in_own_memory
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Which elements occur among the test elements (or, if `invert`, do not). assume_unique
    changes nothing here. No derivative.
    """
    place = next((v.device for v in (elements, test_elements) if isinstance(v, Tensor)), "cpu")
    elements, wanted = (
        v.detach() if isinstance(v, Tensor) else as_tensor(v).to(device=place)
        for v in (elements, test_elements)
    )
    wanted = wanted.reshape(-1)
    if wanted.numel() == 0:
        found = fn.zeros_like(elements, dtype=backend.bool_)
    else:
        dtype = fn.result_type(elements, wanted)
        ordered = wanted.to(dtype)[argsort(wanted.to(dtype))]
        place = fn.clamp(
            searchsorted(ordered, elements.to(dtype).reshape(-1)), max=wanted.numel() - 1
        )
        found = (ordered[place] == elements.to(dtype).reshape(-1)).reshape(elements.shape)
    return fn.logical_not(found) if invert else found


@public(in_place=True)
@in_float32
def renorm(x: TensorLike, p: float, dim: int, maxnorm: float) -> Tensor:
    """x with each slice along a dimension whose p-norm is larger than maxnorm shortened to it."""
    x = as_tensor(x)
    if x.ndim < 2:
        raise ShapeError(f"renorm: needs at least 2 dimensions, got shape {x.shape}.")
    axis = fn.axis_of(x.ndim, dim, "renorm")
    length = vector_norm(x, p, [i for i in range(x.ndim) if i != axis], True)
    return x * fn.where(length > maxnorm, maxnorm / (length + 1e-7), 1.0)


@fn.in_own_memory
def multinomial(x: TensorLike, num_samples: int, replacement: bool = False) -> Tensor:
    """Indices drawn with probabilities proportional to the weights x of a vector, or of each row of
    a matrix (int64). No derivative.

    Without replacement by the largest of u^(1/w), which draws each with its share of what is left.
    Source: Efraimidis & Spirakis, Weighted random sampling with a reservoir (2006).
    """
    x = floating(x, "multinomial").detach().to(backend.float64)
    if x.ndim not in (1, 2) or x.shape[-1] == 0:
        raise ShapeError(
            f"multinomial: needs a vector or a matrix of weights, got shape {x.shape}."
        )
    total = fn.sum(x, -1, True)
    if not bool((x >= 0).all()) or not bool(((total > 0) & (total < math.inf)).all()):
        raise RuntimeError(
            "multinomial: weights must be finite, not negative, and not all of them 0."
        )
    if replacement:
        edges = cumsum(x / total, -1)
        draws = (
            fn.rand(*x.shape[:-1], num_samples, dtype=x.dtype, device=x.device) * edges[..., -1:]
        )
        return searchsorted(edges, draws, right=True)
    if x.numel() and num_samples > int(fn.amin(fn.sum(x > 0, -1)).item()):
        raise RuntimeError(
            f"multinomial: cannot draw {num_samples} different indices from the weights that are"
            " not 0."
        )
    keys = fn.log(-fn.log(fn.rand_like(x))) - fn.log(x)
    return argsort(keys, -1)[..., :num_samples]


trapz = trapezoid


publish(__name__)
