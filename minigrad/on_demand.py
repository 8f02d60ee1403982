"""The public names whose files are loaded on first use: functions of `mg` and methods of tensors.

`mg.det` and `x.det()` work at once, but `import minigrad` reads no line of linear algebra.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from .core.tensor import Tensor
from .names import attach, respell


class File(NamedTuple):
    """A module and the names that it offers.

    functions: of `mg` only; methods: functions that tensors have as methods too; in_place: those
    that tensors also have with an underscore, which overwrites them; operators: of Python, by the
    names of their methods.
    """

    module: str
    functions: str = ""
    methods: str = ""
    in_place: str = ""
    operators: str = ""


FILES = (
    File(".linalg", methods="cholesky det logdet matrix_exp matrix_power qr slogdet"),
    File(
        ".linalg.top_level",
        functions="lu_unpack pca_lowrank svd_lowrank",
        methods="""
            cholesky_inverse cholesky_solve geqrf inverse lu lu_solve ormqr pinverse svd
            triangular_solve
        """,
    ),
    File(
        ".special.functions",
        in_place="""
            digamma erfc erfinv i0 igamma igammac lgamma logit mvlgamma polygamma sinc xlogy
        """,
    ),
    File(
        ".extras.pointwise",
        methods="frexp isclose isneginf isposinf isreal signbit",
        in_place="""
            addcdiv addcmul bitwise_left_shift bitwise_right_shift copysign deg2rad float_power fmax
            fmin frac gcd heaviside hypot lcm ldexp lerp logaddexp2 nan_to_num nextafter rad2deg
        """,
        operators="lshift rshift",
    ),
    File(
        ".extras.statistics",
        functions="cumulative_trapezoid gradient histogramdd isin trapezoid trapz",
        methods="corrcoef cov histc histogram mode multinomial nanquantile quantile",
        in_place="renorm",
    ),
    File(
        ".extras.view_copies",
        functions="""
            alias_copy as_strided_copy as_strided_scatter diagonal_copy expand_copy narrow_copy
            permute_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy
            unfold_copy unsqueeze_copy view_copy
        """,
    ),
    File(".signal", functions="istft stft"),
    File(".networks", functions="GradOperation Jvp Vjp"),
    File(".autograd.checkpoint", functions="checkpoint checkpoint_sequential"),
    File(".watch.cost", functions="count_operations"),
    File(".program", functions="compile"),
    File(".serialization", functions="load save"),
    File(  # those that take their arguments in the same order in both places
        ".nn.functional",
        functions="""
            adaptive_avg_pool1d adaptive_max_pool1d alpha_dropout avg_pool1d bilinear celu celu_
            channel_shuffle conv1d conv2d conv3d conv_transpose1d conv_transpose2d
            conv_transpose3d cosine_embedding_loss cosine_similarity ctc_loss dropout
            feature_alpha_dropout group_norm hardshrink hinge_embedding_loss kl_div layer_norm
            margin_ranking_loss max_pool1d max_pool2d max_pool3d pairwise_distance pdist
            pixel_shuffle pixel_unshuffle poisson_nll_loss prelu rms_norm rrelu rrelu_ selu
            selu_ threshold threshold_ triplet_margin_loss
        """,
    ),
)
MODULES = frozenset(
    """
    data fft graph lessons linalg masked networks nn optim signal special trace training utils viz
    """.split()
)
"""Modules that are themselves names of `mg`."""
FUNCTIONS = {
    name: file.module
    for file in FILES
    for name in f"{file.functions} {file.methods} {file.in_place}".split()
}
"""The functions of `mg`, and the module of each."""
LISTED = [
    name
    for name, module in FUNCTIONS.items()
    if module.startswith((".linalg", ".special", ".extras"))
]
"""Those that `mg.__all__` names, as it does all functions of tensors."""


def method_names(file: File) -> list[str]:
    """The methods of tensors that a module attaches."""
    return [
        *file.methods.split(),
        *(f"{name}{end}" for name in file.in_place.split() for end in ("", "_")),
        *(f"__{kind}{name}__" for name in file.operators.split() for kind in ("", "r", "i")),
    ]


class Later:
    """A method of tensors whose module is loaded on first use, and then puts the method itself in
    this place.
    """

    def __init__(self, name: str, module: str) -> None:
        self.name, self.module = name, module

    def __get__(self, tensor: Tensor | None, kind: type[Tensor]) -> Any:
        import_module(self.module, __package__)
        return getattr(kind if tensor is None else tensor, self.name)


def function(name: str) -> Any:
    """A function of `mg`, which has it from now on."""
    found = getattr(import_module(FUNCTIONS[name], __package__), name)
    vars(sys.modules[__package__])[name] = found
    if name in LISTED:
        respell(__package__, [name])
    return vars(sys.modules[__package__])[name]


def load() -> list[ModuleType]:
    """Load all files of functions of tensors, and return their modules."""
    modules = dict.fromkeys(FUNCTIONS[name] for name in LISTED)
    return [import_module(module, __package__) for module in modules]


for _file in FILES:
    for _name in method_names(_file):
        attach(_name, Later(_name, _file.module), listed=False)
