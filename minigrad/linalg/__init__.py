"""Linear algebra under the names of `torch.linalg`: inverses, determinants, factorisations, norms;
all over batches of matrices (…, n, m).

decompositions.py, equations.py and norms.py have the functions by subject, results.py the results
of several tensors; factorisations.py declares the operations. top_level.py has what PyTorch keeps
outside of `torch.linalg`.

Matrices must be float32, float64 or complex: LAPACK knows no others. LinAlgError where there is no
answer (a singular matrix has no inverse).
"""

from __future__ import annotations

import sys

from .. import arrays, backend
from .. import functions as fn
from ..arrays import cross as _cross
from ..arrays import multi_dot  # noqa: F401
from ..arrays.norms import vector_norm  # noqa: F401
from ..core.tensor import Tensor, as_tensor
from ..errors import LinAlgError, with_hints  # noqa: F401
from ..functions import matmul  # noqa: F401
from ..names import TensorLike, public, publish, respell
from ..ops.elementwise import in_float32
from . import decompositions, equations, norms
from .decompositions import *  # noqa: F403
from .equations import *  # noqa: F403
from .norms import *  # noqa: F403
from .results import *  # noqa: F403


def vander(x: TensorLike, N: int | None = None) -> Tensor:
    """The powers 0 … N − 1 (default: as many as x has elements) of the elements of the last
    axis, one row an element.
    """
    x = as_tensor(x)
    x = fn.reshape(x, x.shape or (1,)).to(backend.int64 if x.dtype.kind in "iu" else x.dtype)
    powers = [fn.ones_like(x)]
    for _ in range((x.shape[-1] if N is None else N) - 1):
        powers.append(powers[-1] * x)
    return fn.stack(powers, -1)


def cross(a: TensorLike, b: TensorLike, *, dim: int = -1) -> Tensor:
    """The vector product along an axis of length 3."""
    return _cross(a, b, dim)


def diagonal(A: TensorLike, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices (a view)."""
    return arrays.diagonal(A, offset, dim1, dim2)


def trace(A: TensorLike) -> Tensor:
    """The sums of the main diagonals of matrices."""
    return fn.sum(diagonal(A), -1)


@public(method=False, theirs="x y")
@in_float32
def vecdot(a: TensorLike, b: TensorLike, *, dim: int = -1) -> Tensor:
    """Σ conj(a) b along a dimension."""
    return fn.sum(fn.conj(a) * as_tensor(b), dim)


_OTHERS = "LinAlgError matmul multi_dot vector_norm".split()
for _file in (decompositions, equations, norms):
    _OTHERS += _file.__all__
respell(__name__, publish(__name__, *_OTHERS, method=False))
with_hints(sys.modules[__name__])
