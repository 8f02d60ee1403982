"""The array vocabulary: sorting, scans, einsum, splitting, scattering and the like, under PyTorch's names, as functions and as Tensor
methods.

Almost everything here is a combination of operations that have derivatives already, so it has them too, in both modes and of every
order. What is new (scans, diagonals, sorting) is declared in `ops/`.
"""

from typing import Any

from ..functions import axis_of as _axis_of
from ..functions import conj as _conj
from ..functions import movedim as _movedim
from ..functions import nonzero as _nonzero
from ..keywords import respelt as _respelt
from ..methods import _in_place, attach
from ..ops.factorisations import svd as _svd
from ..tensor import Tensor
from ..tensor import as_tensor as _as_tensor
from .arranging import (
    block_diag,
    cartesian_prod,
    combinations,
    constant_pad_nd,
    diagonal_scatter,
    fill,
    index_put,
    msort,
    select_scatter,
    slice_scatter,
    unfold,
    unravel_index,
)
from .copies import *  # noqa: F403  # listed in copies.__all__
from .copies import __all__ as _copies
from .order import (
    aminmax,
    argsort,
    bucketize,
    cummax,
    cummin,
    kthvalue,
    max,
    median,
    min,
    nanmedian,
    searchsorted,
    sort,
    topk,
    unique,
    unique_consecutive,
)
from .picking import (
    argwhere,
    gather,
    index_add,
    index_copy,
    index_fill,
    index_reduce,
    index_select,
    masked_fill,
    masked_scatter,
    masked_select,
    nonzero_static,
    put,
    scatter,
    scatter_add,
    scatter_reduce,
    take,
    take_along_dim,
)
from .pieces import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_shapes,
    broadcast_tensors,
    chunk,
    column_stack,
    dsplit,
    dstack,
    fliplr,
    flipud,
    hsplit,
    hstack,
    meshgrid,
    narrow,
    repeat_interleave,
    roll,
    rot90,
    row_stack,
    select,
    split,
    tensor_split,
    tile,
    unbind,
    unflatten,
    vsplit,
    vstack,
)
from .pieces import repeat as _repeat
from .pointwise import (
    addcdiv,
    addcmul,
    bitwise_left_shift,
    bitwise_right_shift,
    copysign,
    deg2rad,
    digamma,
    erfc,
    erfinv,
    float_power,
    fmax,
    fmin,
    frac,
    frexp,
    gcd,
    heaviside,
    hypot,
    i0,
    igamma,
    igammac,
    isclose,
    isneginf,
    isposinf,
    isreal,
    lcm,
    ldexp,
    lerp,
    lgamma,
    logaddexp2,
    logit,
    mvlgamma,
    nan_to_num,
    nextafter,
    polygamma,
    rad2deg,
    signbit,
    sinc,
    xlogy,
)
from .products import (
    addbmm,
    addmm,
    addmv,
    addr,
    baddbmm,
    bmm,
    cdist,
    cross,
    dot,
    einsum,
    ger,
    inner,
    kron,
    mm,
    multi_dot,
    mv,
    outer,
    tensordot,
    vdot,
)
from .running import (
    bincount,
    count_nonzero,
    cumprod,
    cumsum,
    diff,
    dist,
    logcumsumexp,
    logsumexp,
    nanmean,
    nansum,
    prod,
    std,
    std_mean,
    var,
    var_mean,
)
from .running import vector_norm as _vector_norm
from .statistics import (
    corrcoef,
    cov,
    cumulative_trapezoid,
    gradient,
    histc,
    histogram,
    histogramdd,
    isin,
    mode,
    multinomial,
    nanquantile,
    quantile,
    renorm,
    trapezoid,
)
from .triangles import diag, diag_embed, diagflat, diagonal, trace, tril, tril_indices, triu, triu_indices

trapz, unsafe_chunk, unsafe_split = trapezoid, chunk, split


def norm(x: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """(Σ|x|^p)^(1/p) over `dim` (all axes by default); "fro" means p = 2, "nuc" the sum of a matrix's singular values. See
    `linalg.vector_norm`.
    """
    x = _as_tensor(x) if dtype is None else _as_tensor(x).to(dtype)
    if p == "nuc":
        rows, columns = range(x.ndim) if dim is None else dim
        values = _svd(_movedim(x, (rows, columns), (-2, -1)))[1].sum(-1)
        first, second = sorted((_axis_of(x.ndim, rows, "norm"), _axis_of(x.ndim, columns, "norm")))
        return values.unsqueeze(first).unsqueeze(second) if keepdim else values  # type: ignore[no-any-return]
    return _vector_norm(x, 2 if p in ("fro", None) else p, dim, keepdim)


__all__ = [
    *_copies,
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addr",
    "aminmax",
    "argsort",
    "argwhere",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "baddbmm",
    "bincount",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "block_diag",
    "bmm",
    "broadcast_shapes",
    "broadcast_tensors",
    "bucketize",
    "cartesian_prod",
    "cdist",
    "chunk",
    "column_stack",
    "combinations",
    "constant_pad_nd",
    "copysign",
    "corrcoef",
    "count_nonzero",
    "cov",
    "cross",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_trapezoid",
    "deg2rad",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_scatter",
    "diff",
    "digamma",
    "dist",
    "dot",
    "dsplit",
    "dstack",
    "einsum",
    "erfc",
    "erfinv",
    "fill",
    "fliplr",
    "flipud",
    "float_power",
    "fmax",
    "fmin",
    "frac",
    "frexp",
    "gather",
    "gcd",
    "ger",
    "gradient",
    "heaviside",
    "histc",
    "histogram",
    "histogramdd",
    "hsplit",
    "hstack",
    "hypot",
    "i0",
    "igamma",
    "igammac",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_reduce",
    "index_select",
    "inner",
    "isclose",
    "isin",
    "isneginf",
    "isposinf",
    "isreal",
    "kron",
    "kthvalue",
    "lcm",
    "ldexp",
    "lerp",
    "lgamma",
    "logaddexp2",
    "logcumsumexp",
    "logit",
    "logsumexp",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "max",
    "median",
    "meshgrid",
    "min",
    "mm",
    "mode",
    "msort",
    "multi_dot",
    "multinomial",
    "mv",
    "mvlgamma",
    "nan_to_num",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "narrow",
    "nextafter",
    "nonzero_static",
    "norm",
    "outer",
    "polygamma",
    "prod",
    "put",
    "quantile",
    "rad2deg",
    "renorm",
    "repeat_interleave",
    "roll",
    "rot90",
    "row_stack",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "searchsorted",
    "select",
    "select_scatter",
    "signbit",
    "sinc",
    "slice_scatter",
    "sort",
    "split",
    "std",
    "std_mean",
    "take",
    "take_along_dim",
    "tensor_split",
    "tensordot",
    "tile",
    "topk",
    "trapezoid",
    "trapz",
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
    "unbind",
    "unflatten",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "unsafe_chunk",
    "unsafe_split",
    "var",
    "var_mean",
    "vdot",
    "vsplit",
    "vstack",
    "xlogy",
]

# ------------------------------------------------------------------------------------------------------------- as methods

_NO_METHODS = """
    einsum multi_dot atleast_1d atleast_2d atleast_3d hstack vstack row_stack dstack column_stack broadcast_shapes broadcast_tensors
    meshgrid tril_indices triu_indices cdist var_mean std_mean searchsorted polygamma
    block_diag cartesian_prod combinations unravel_index bucketize gradient isin trapezoid trapz cumulative_trapezoid
    constant_pad_nd histogramdd
""".split()
_METHODS = [name for name in __all__ if name not in (*_NO_METHODS, *_copies)]
_IN_PLACE = """
    cumsum cumprod addmm addmv baddbmm addbmm addr masked_fill masked_scatter index_add index_copy index_fill index_reduce scatter
    scatter_add put scatter_reduce tril triu xlogy hypot erfc i0 igamma igammac lgamma digamma nan_to_num lerp addcmul addcdiv deg2rad
    rad2deg frac logit sinc copysign erfinv float_power fmax fmin gcd heaviside lcm ldexp logaddexp2 mvlgamma nextafter renorm
    bitwise_left_shift bitwise_right_shift
""".split()


def _method(function: Any, name: str) -> Any:
    """The function as a method, taking PyTorch's other keyword names too."""
    method = _respelt(function, name)
    method.__name__ = name
    return method


attach(Tensor, "trace", _method(trace, "trace"))  # `minigrad.trace`, the package of Traces, calls it
for _name in _METHODS:
    attach(Tensor, _name, _method(globals()[_name], _name))
for _name in _IN_PLACE:
    attach(Tensor, _name + "_", _in_place(globals()[_name], _name + "_", _name + "_"))
attach(Tensor, "polygamma", lambda self, n: polygamma(n, self))
attach(Tensor, "polygamma_", _in_place(lambda self, n: polygamma(n, self), "polygamma_", "polygamma_"))
attach(Tensor, "unfold", _method(unfold, "unfold"))
attach(Tensor, "repeat", _method(_repeat, "repeat"))
attach(Tensor, "nonzero", _method(_nonzero, "nonzero"))
attach(Tensor, "adjoint", lambda self: _conj(self.mT))
for _sign, _shifted in (("lshift", bitwise_left_shift), ("rshift", bitwise_right_shift)):
    attach(Tensor, f"__{_sign}__", _method(_shifted, f"__{_sign}__"))
    attach(Tensor, f"__r{_sign}__", lambda self, other, shifted=_shifted: shifted(other, self))
    attach(Tensor, f"__i{_sign}__", _in_place(_shifted, f"__i{_sign}__", f"bitwise_{'left' if _sign == 'lshift' else 'right'}_shift_"))


def _fill_diagonal(self: Tensor, value: Any) -> Tensor:
    """Overwrite the main diagonal of a matrix with one number."""
    diagonal(self).fill_(value)
    return self


attach(Tensor, "fill_diagonal_", _fill_diagonal)
