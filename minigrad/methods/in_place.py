"""In-place methods that PyTorch offers as functions too: `mg.exp_(x)` for `x.exp_()`."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any

from ..core.tensor import Tensor

__all__ = """
    abs_ acos_ acosh_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_
    ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ detach_ erf_ exp2_ exp_
    expm1_ fill_ fix_ floor_ index_put_ log10_ log1p_ log2_ log_ neg_ negative_ reciprocal_ relu_
    round_ rsqrt_ sigmoid_ sin_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ zero_
""".split()


def _as_function(name: str) -> Callable[..., Tensor]:
    method = getattr(Tensor, name)

    def function(input: Tensor, *args: Any, **options: Any) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}: writes into a tensor, got {type(input).__name__}.")
        out: Tensor = method(input, *args, **options)
        return out

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    parameters = list(signature(method).parameters.values())[1:]
    first = Parameter("input", Parameter.POSITIONAL_OR_KEYWORD)
    # for help() and editors
    setattr(function, "__signature__", Signature([first, *parameters]))  # noqa: B010
    function.__doc__ = (
        f"`Tensor.{name}` as a function: writes the result into `input` and returns it."
    )
    return function


globals().update({name: _as_function(name) for name in __all__})
