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
    fft,
    func,
    functions,
    linalg,
    methods,
    names,
    special,
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
from .linalg import _lu as lu
from .linalg import _lu_solve as lu_solve
from .linalg import _pinverse as pinverse
from .linalg import _svd as svd
from .linalg import (
    cholesky,
    cholesky_inverse,
    cholesky_solve,
    det,
    geqrf,
    logdet,
    lu_unpack,
    matrix_exp,
    matrix_power,
    ormqr,
    pca_lowrank,
    qr,
    slogdet,
    svd_lowrank,
    triangular_solve,
)
from .linalg import inv as inverse
from .methods.in_place import *  # noqa: F403

__version__ = "0.1.0"
_folder = Path(__file__).parent
if not (_folder / "viz").is_dir():
    # An installed wheel holds `minigrad.viz` and `minigrad.lessons`. In a checkout they lie beside
    # this folder.
    __path__.append(str(_folder.parent))  # noqa: F405
half, float, double, short, long, int, bool = float16, float32, float64, int16, int64, int32, bool_
cfloat, cdouble = complex64, complex128
# SINGA's `from minigrad import tensor; tensor.Tensor(…)`: here `tensor` is PyTorch's function
setattr(functions.tensor, "Tensor", Tensor)  # noqa: B010
sys.modules[f"{__name__}.tensor"] = sys.modules[
    f"{__name__}.core.tensor"
]  # SINGA's `from minigrad.tensor import Tensor`
__all__ = [
    "AutogradError", "Tensor", "arrays", "as_tensor", "autograd", "backend", "cholesky",
    "cholesky_inverse", "cholesky_solve", "cuda",
    "det", "device", "enable_grad", "errors", "fft", "finfo", "func", "functions", "geqrf",
    "get_default_dtype", "iinfo", "inference_mode",
    "inverse", "is_anomaly_enabled", "is_grad_enabled", "linalg", "logdet", "lu", "lu_solve",
    "lu_unpack", "matrix_exp",
    "matrix_power", "no_grad", "ormqr", "pca_lowrank", "pinverse", "promote_types", "qr",
    "set_default_dtype", "set_grad_enabled",
    "slogdet", "special", "svd", "svd_lowrank", "testing", "triangular_solve", "vmap", "bool_",
    "complex64", "complex128",
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "e", "inf", "nan",
    "pi", *functions.__all__,
    *arrays.__all__, *methods.in_place.__all__,
]  # fmt: skip
names.respell(__name__, __all__)
del methods, names

if not TYPE_CHECKING:
    _ELSEWHERE = {
        **dict.fromkeys(("GradOperation", "Jvp", "Vjp"), ".networks"),
        **dict.fromkeys(("checkpoint", "checkpoint_sequential"), ".autograd.checkpoint"),
        "count_operations": ".watch.cost",
        "compile": ".program",
        **dict.fromkeys(("istft", "stft"), ".signal"),
        **dict.fromkeys(("load", "save"), ".serialization"),
        **dict.fromkeys(  # those that take their arguments in the same order in both places
            """
            adaptive_avg_pool1d adaptive_max_pool1d alpha_dropout avg_pool1d bilinear celu celu_
            channel_shuffle conv1d conv2d conv3d conv_transpose1d conv_transpose2d
            conv_transpose3d cosine_embedding_loss cosine_similarity ctc_loss dropout
            feature_alpha_dropout group_norm hardshrink hinge_embedding_loss kl_div layer_norm
            margin_ranking_loss max_pool1d max_pool2d max_pool3d pairwise_distance pdist
            pixel_shuffle pixel_unshuffle poisson_nll_loss prelu rms_norm rrelu rrelu_ selu
            selu_ threshold threshold_ triplet_margin_loss
            """.split(),
            ".nn.functional",
        ),
    }

    def __getattr__(name: str) -> object:
        """What is loaded on first use (`opt` is SINGA's `optim`), and bfloat16, which exists
        only where the package ml_dtypes does.
        """
        if name in (
            "nn",
            "optim",
            "opt",
            "data",
            "training",
            "networks",
            "graph",
            "masked",
            "signal",
            "trace",
            "utils",
            "viz",
            "lessons",
        ):
            return import_module(".optim" if name == "opt" else f".{name}", __name__)
        if name in _ELSEWHERE:
            return getattr(import_module(_ELSEWHERE[name], __name__), name)
        if name == "bfloat16":
            return backend.bfloat16_dtype()
        raise errors.no_such_name(__name__, name, globals())

    for _module in (linalg, fft, special, func, sys.modules[f"{__name__}.core"]):
        errors.with_hints(_module)
    sys.meta_path.append(errors.MissingModules())
