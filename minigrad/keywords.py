"""PyTorch's and NumPy's keyword names, for functions whose parameters have other names here.

The functions of this package call their tensors x, a and b, as formulas do. PyTorch's documentation has other names for them, and PyTorch
takes NumPy's as well: `sum(input=x, axis=0)`, `mm(x, mat2=y)`, `std_mean(x, dim=0, keepdims=True)`. `respelt` makes a function take them
all beside its own. Only what users call is respelt; the functions of the package call one another by place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, wraps
from inspect import Parameter, signature
from types import FunctionType
from typing import Any

from .engine.inplace import _fits
from .engine.modes import is_grad_enabled, no_grad
from .errors import AutogradError, DTypeError, ShapeError
from .tensor import Tensor

_BY_PLACE = """
    addbmm baddbmm: input batch1 batch2
    addcdiv addcmul: input tensor1 tensor2
    addmm: input mat1 mat2
    addmv: input mat vec
    addr: input vec1 vec2
    bernoulli bucketize float_power lerp ndtri pow: input
    bmm mm: input mat2
    can_cast: from_ to
    cdist: x1 x2
    dot: input tensor
    ger outer: input vec2
    igamma igammac gammainc gammaincc ldexp zeta: input other
    is_tensor: obj
    lu_solve: b LU_data LU_pivots
    lu_unpack: LU_data LU_pivots
    mv: input vec
    pinverse: input rcond
    polygamma: n input
    promote_types: type1 type2
    result_type: tensor1 tensor2
    split unsafe_split: tensor
    triangular_solve: b A
    vecdot: x y
    vmap: func
    where: condition input other
"""
NAMES = {f: line.split(":")[1].split() for line in _BY_PLACE.strip().splitlines() for f in line.split(":")[0].split()}
"""PyTorch's names of the first parameters, where they are not x, a or A for its `input` and b for its `other`."""
WITH_OUT = frozenset(
    """
    bitwise_and bitwise_not bitwise_or bitwise_xor cat cholesky_inverse cholesky_solve column_stack complex concat
    concatenate dstack hstack polar row_stack stack vstack
    """.split()
)
"""Functions whose keywords are PyTorch's already, and which take `out=` too."""
USUAL = {"x": "input", "a": "input", "A": "input", "b": "other"}
NUMPY = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}
"""The names that PyTorch takes for its own, so that programs written for NumPy run."""


@cache
def _parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """The names of the parameters in order, and of what kind each is."""
    return {name: parameter.kind for name, parameter in signature(function).parameters.items()}


def other_names(function: Callable[..., Any], name: str) -> dict[str, str]:
    """What PyTorch and NumPy call the parameters of a function: {their name: its own}. Its own names stay what they are."""
    own = list(_parameters(function))
    found: dict[str, str] = {}
    theirs = NAMES.get(name) or [USUAL.get(p, p) for p in own[:2]]
    for mine, pytorch in zip(own, [*theirs, *own[len(theirs) :]], strict=False):
        for spelling in (pytorch, *NUMPY.get(pytorch, ())):
            if spelling not in own:
                found.setdefault(spelling, mine)
    return found


def respelt(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """The function, taking also the keyword names of `other_names`, and `out=`. TypeError where two names of one parameter are given."""
    name = name or function.__name__
    names, kinds = other_names(function, name), _parameters(function)
    unnamed = {Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL} & set(kinds.values())
    by_place = [p for p in kinds if kinds[p] is not Parameter.KEYWORD_ONLY] if unnamed else []

    @wraps(function)
    def respelt(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            if "out" in kwargs and "out" not in kinds:
                out = kwargs.pop("out")
                return into(out, respelt(*args, **kwargs), name, (*args, *kwargs.values()))
            given = {names.get(key, key): value for key, value in kwargs.items()}
            if len(given) < len(kwargs):
                raise TypeError(f"{name}: two of {', '.join(kwargs)} are names of one parameter.")
            args = (*args, *(given.pop(p) for p in by_place if p in given))
            return function(*args, **given)
        return function(*args)

    return respelt


def into(out: Any, result: Any, name: str, inputs: Any) -> Any:
    """Write a result into `out`, a tensor or a tuple of them, and return it: PyTorch's `out=`.

    An empty tensor takes the result's shape. Raises AutogradError where the operation would be recorded, ShapeError for another shape,
    DTypeError for a dtype that cannot take the values.
    """
    if out is None:
        return result
    if isinstance(result, tuple):
        if not isinstance(out, tuple | list) or len(out) != len(result):
            raise TypeError(f"{name}: out must be a tuple of {len(result)} tensors, got {type(out).__name__}.")
        made = [into(o, r, name, inputs) for o, r in zip(out, result, strict=True)]
        return type(result)(*made) if hasattr(result, "_fields") else tuple(made)
    if not isinstance(out, Tensor) or not isinstance(result, Tensor):
        raise TypeError(f"{name}: out must be a Tensor, got {type(out).__name__}.")
    given = [x for a in inputs for x in (a if isinstance(a, list | tuple) else (a,))]
    if is_grad_enabled() and (out.requires_grad or any(isinstance(x, Tensor) and x.requires_grad for x in given)):
        raise AutogradError(
            f"{name}: out= cannot be differentiated, and an argument requires grad. Leave out= away, or compute it under mg.no_grad()."
        )
    if not _fits(result.dtype, out.dtype):
        raise DTypeError(f"{name}: a result of dtype {result.dtype} cannot be written to out of dtype {out.dtype}.")
    with no_grad():
        if out.shape == result.shape:
            out.copy_(result)
        elif out.numel():
            raise ShapeError(
                f"{name}: out has shape {out.shape}, but the result has {result.shape}. Give out that shape, or none: mg.empty(0)."
            )
        else:
            setattr(out, "data", result.detach().to(out.dtype, copy=True))  # noqa: B010  # attached by methods.py
    return out


_MADE: dict[tuple[Any, ...], Callable[..., Any]] = {}
"""Of each function and its other names one, so that two names of one function stay that."""


def public(space: dict[str, Any], names: Iterable[str], module: str) -> dict[str, Any]:
    """Those of a module's functions whose parameters PyTorch's documentation or NumPy's axis and keepdims name otherwise, respelt."""
    found = {}
    for name in names:
        function = space.get(name)
        if not isinstance(function, FunctionType):
            continue
        others = other_names(function, name)
        if name not in NAMES and name not in WITH_OUT and not others.keys() - {"x", "a", "x1", "x2"}:
            continue
        key = (function, *sorted(others.items()))
        if key not in _MADE:
            _MADE[key] = respelt(function, name)
            _MADE[key].__module__, _MADE[key].__qualname__ = module, name  # where pickle finds it
        found[name] = _MADE[key]
    return found
