"""minigrad: automatic differentiation to read, to watch and to teach with.

    import minigrad as mg
    x = mg.tensor(2.0, requires_grad=True)
    y = x.log() * x
    y.backward()
    x.grad                     # tensor(1.6931)

Names and semantics are PyTorch's wherever PyTorch has the thing. Dtypes are NumPy's: ask
`mg.is_floating_point(x.dtype)`, `mg.is_complex(x.dtype)` and `x.dtype.itemsize`. Start reading at
core/, whose `__init__` says in which order.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from . import (
    arrays,
    autograd,
    backend,
    cuda,
    errors,
    func,
    functions,
    methods,
    names,
    on_demand,
    testing,
)
from .arrays import *  # noqa: F403
from .autograd import (
    enable_grad,
    inference_mode,
    is_anomaly_enabled,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from .backend import Device as device
from .backend import (
    bool_,
    complex64,
    complex128,
    e,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
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
from .core.tensor import Tensor
from .errors import AutogradError
from .func import vmap
from .functions import *  # the public functions, listed in functions.__all__  # noqa: F403
from .functions import as_tensor_ as as_tensor
from .functions.questions import promote_types
from .methods.in_place import *  # noqa: F403

__version__ = "0.1.0"
_folder = Path(__file__).parent
if not (_folder / "viz").is_dir():
    # An installed wheel holds `minigrad.viz` and `minigrad.lessons`. In a checkout they lie beside
    # this folder.
    __path__.append(str(_folder.parent))  # noqa: F405
half, float, double, short, long, int, bool = float16, float32, float64, int16, int64, int32, bool_
cfloat, cdouble = complex64, complex128
# SINGA's `from minigrad.tensor import Tensor`
sys.modules[f"{__name__}.tensor"] = sys.modules[f"{__name__}.core.tensor"]
__all__ = [
    "AutogradError", "Tensor", "arrays", "as_tensor", "autograd", "backend", "bool_", "complex64",
    "complex128", "cuda", "device", "e", "enable_grad", "errors", "fft", "finfo", "float16",
    "float32", "float64", "func", "functions", "get_default_dtype", "iinfo", "inf",
    "inference_mode", "int8", "int16", "int32", "int64", "is_anomaly_enabled", "is_grad_enabled",
    "linalg", "nan", "no_grad", "pi", "promote_types", "set_default_dtype", "set_grad_enabled",
    "special", "testing", "uint8", "vmap", *functions.__all__, *arrays.__all__,
    *methods.in_place.__all__,
]  # fmt: skip
names.respell(__name__, __all__)
del methods, names

if TYPE_CHECKING:
    from . import fft, linalg, special
    from .extras.pointwise import *  # noqa: F403
    from .extras.statistics import *  # noqa: F403
    from .extras.view_copies import *  # noqa: F403
    from .linalg import (  # noqa: F401
        cholesky,
        det,
        logdet,
        matrix_exp,
        matrix_power,
        qr,
        slogdet,
    )
    from .linalg.top_level import *  # noqa: F403
    from .special.functions import *  # noqa: F403
else:
    __all__ += on_demand.LISTED

    def __getattr__(name: str) -> object:
        """What is loaded on first use (`opt` is SINGA's `optim`), and bfloat16, which exists
        only where the package ml_dtypes does.
        """
        if name in on_demand.MODULES or name == "opt":
            return import_module(".optim" if name == "opt" else f".{name}", __name__)
        if name in on_demand.FUNCTIONS:
            return on_demand.function(name)
        if name == "bfloat16":
            return backend.bfloat16_dtype()
        raise errors.no_such_name(__name__, name, __dir__())

    def __dir__() -> list[str]:
        """All names, for completion and for hints."""
        return sorted({*globals(), *__all__, *on_demand.FUNCTIONS, *on_demand.MODULES})

    for _module in "core cuda func autograd.forward_ad autograd.functional autograd.graph".split():
        errors.with_hints(sys.modules[f"{__name__}.{_module}"])
    errors.with_hints(sys.modules[f"{__name__}.autograd.profiler"])
    sys.meta_path.append(errors.MissingModules())
