"""minigrad: automatic differentiation to read, to watch and to teach with.

    import minigrad as mg
    x = mg.tensor(2.0, requires_grad=True)
    y = x.log() * x
    y.backward()
    x.grad                     # tensor(1.6931)

Names and semantics are PyTorch's wherever PyTorch has the thing. Start reading at primitive.py (how an operation is declared), then
engine/ (how it is run, forward and back).
"""

from . import autograd, backend, errors, func, functions, methods
from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .backend import (
    bool_,
    complex64,
    complex128,
    e,
    float16,
    float32,
    float64,
    inf,
    int8,
    int16,
    int32,
    int64,
    nan,
    pi,
    set_default_dtype,
    uint8,
)
from .backend import default_dtype as get_default_dtype
from .errors import AutogradError
from .functions import *  # noqa: F403  # the public functions, listed in functions.__all__
from .functions import as_tensor_ as as_tensor
from .tensor import Tensor

__version__ = "0.1.0"
half, float, double, long, int, bool = float16, float32, float64, int64, int32, bool_
cfloat, cdouble = complex64, complex128
del methods  # imported for what it attaches to Tensor
__all__ = [
    "AutogradError", "Tensor", "as_tensor", "autograd", "backend", "enable_grad", "errors", "func", "functions", "get_default_dtype", "inference_mode",
    "is_grad_enabled", "no_grad", "set_default_dtype", "set_grad_enabled",
    "bool_", "complex64", "complex128", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "e", "inf", "nan", "pi",
    *functions.__all__,
]  # fmt: skip
