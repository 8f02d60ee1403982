"""The array vocabulary: sorting, scans, einsum, splitting, scattering and the like, under PyTorch's names, as functions and as Tensor
methods.

Almost everything here is a combination of operations that have derivatives already, so it has them too, in both modes and of every
order. What is new (scans, diagonals, sorting) is declared in `ops/`.
"""

from typing import Any

from ..functions import conj as _conj
from ..functions import nonzero as _nonzero
from ..methods import _in_place, attach
from ..tensor import Tensor
from .order import aminmax, argsort, kthvalue, max, median, min, nanmedian, searchsorted, sort, topk, unique
from .picking import (
    argwhere,
    gather,
    index_add,
    index_copy,
    index_fill,
    index_select,
    masked_fill,
    masked_scatter,
    masked_select,
    put,
    scatter,
    scatter_add,
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
    deg2rad,
    erfc,
    frac,
    heaviside,
    hypot,
    isclose,
    isneginf,
    isposinf,
    lerp,
    logit,
    nan_to_num,
    rad2deg,
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
from .triangles import diag, diag_embed, diagflat, diagonal, trace, tril, tril_indices, triu, triu_indices


def norm(x: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> Tensor:
    """(Σ|x|^p)^(1/p) over `dim` (all axes by default); "fro" means p = 2. See `linalg.vector_norm`."""
    return _vector_norm(x, 2 if p in ("fro", None) else p, dim, keepdim)


__all__ = [
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
    "bmm",
    "broadcast_shapes",
    "broadcast_tensors",
    "cdist",
    "chunk",
    "column_stack",
    "count_nonzero",
    "cross",
    "cumprod",
    "cumsum",
    "deg2rad",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diff",
    "dist",
    "dot",
    "dstack",
    "einsum",
    "erfc",
    "fliplr",
    "flipud",
    "frac",
    "gather",
    "ger",
    "heaviside",
    "hsplit",
    "hstack",
    "hypot",
    "index_add",
    "index_copy",
    "index_fill",
    "index_select",
    "inner",
    "isclose",
    "isneginf",
    "isposinf",
    "kron",
    "kthvalue",
    "lerp",
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
    "multi_dot",
    "mv",
    "nan_to_num",
    "nanmean",
    "nanmedian",
    "nansum",
    "narrow",
    "norm",
    "outer",
    "prod",
    "put",
    "rad2deg",
    "repeat_interleave",
    "roll",
    "rot90",
    "row_stack",
    "scatter",
    "scatter_add",
    "searchsorted",
    "select",
    "sinc",
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
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
    "unbind",
    "unflatten",
    "unique",
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
    meshgrid tril_indices triu_indices cdist var_mean std_mean searchsorted
""".split()
_METHODS = [name for name in __all__ if name not in _NO_METHODS]
_IN_PLACE = """
    cumsum cumprod addmm addmv baddbmm addbmm addr masked_fill masked_scatter index_add index_copy index_fill scatter scatter_add put
    tril triu xlogy hypot erfc nan_to_num lerp addcmul addcdiv deg2rad rad2deg frac logit sinc
""".split()


def _method(function: Any, name: str) -> Any:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, function.__doc__
    return method


attach(Tensor, "trace", _method(trace, "trace"))  # a method only: `minigrad.trace` is the package of Traces
for _name in _METHODS:
    attach(Tensor, _name, _method(globals()[_name], _name))
for _name in _IN_PLACE:
    attach(Tensor, _name + "_", _in_place(globals()[_name], _name + "_", _name + "_"))
attach(Tensor, "repeat", _method(_repeat, "repeat"))
attach(Tensor, "nonzero", _method(_nonzero, "nonzero"))
attach(Tensor, "adjoint", lambda self: _conj(self.mT))


def _fill_diagonal(self: Tensor, value: Any) -> Tensor:
    """Overwrite the main diagonal of a matrix with one number."""
    diagonal(self).fill_(value)
    return self


attach(Tensor, "fill_diagonal_", _fill_diagonal)
