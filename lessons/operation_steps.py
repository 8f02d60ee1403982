"""One step of each operation as a picture: for a sample, what its rule sends back to the first
operand; for an operation without a derivative, what it gives.

SAMPLES holds the operands and parameters of operations for which a number for each operand, and no
parameter, does not do.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from minigrad.viz.svg import to_svg

import minigrad as mg
from minigrad.core.primitive import Primitive
from minigrad.functions.random import random_state, set_random_state
from minigrad.grad_mode import no_grad
from minigrad.ops.index import slice_
from minigrad.trace.schema import Trace
from minigrad.watch import trace_function

Sample = tuple[tuple[Any, ...], dict[str, Any]]
"""Operands and parameters."""

ROW, OTHER = [1.0, 2.0, 3.0], [4.0, 0.5, -1.0]
PAIR = [1.0, 2.0]
MATRIX, SECOND = [[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.0], [2.0, 1.0]]
WIDE = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
YES, NO = np.array(True), np.array(False)
SIX, FOUR, TWO = np.array(6), np.array(4), np.array(2)
ALONG = {"axis": 0}
OVER = {"axes": (0,), "keepdims": False}
OF_MATRIX = {"offset": 0, "axis1": 0, "axis2": 1}
WINDOWS = {"axis": 0, "size": 2, "stride": 1, "dilation": 1, "padding": (0, 0)}
FILTERS = {"stride": (1,), "padding": ((0, 0),), "dilation": (1,), "groups": 1}
SIGNAL, FILTER, FILTERED = [[[1.0, 2.0, 3.0]]], [[[1.0, -1.0]]], [[[1.0, 2.0]]]
PICKED = (np.array([2, 0, 2]),)
SCORES = [-0.5, -1.5, -1.0]


def _of_numbers(names: str, *operands: Any, **parameters: Any) -> dict[str, Sample]:
    """One sample for several operations."""
    return dict.fromkeys(names.split(), (operands, parameters))


SAMPLES: dict[str, Sample] = {
    # numbers
    **_of_numbers("acosh", 1.5),
    **_of_numbers("where", YES, 2.0, 3.0),
    **_of_numbers("select", 1.0, 2.0, 3.0, test="gt", level=0.0),
    **_of_numbers("clamp", 0.5, low=-1.0, high=1.0),
    **_of_numbers("maximum minimum", 3.0, 2.0),
    **_of_numbers("floor_divide remainder fmod trunc_divide", 7.0, 2.0),
    **_of_numbers("round", 0.7, decimals=0),
    **_of_numbers("pow", 2.0, n=3),
    **_of_numbers("bessel_j bessel_y polygamma", 1.5, n=1),
    **_of_numbers("bessel_i bessel_k", 1.5, n=1, scaled=False),
    **_of_numbers("airy_ai", 0.5, slope=0),
    **_of_numbers("binary_cross_entropy", 0.75, 1.0),
    **_of_numbers("logical_and logical_or logical_xor", YES, NO),
    **_of_numbers("logical_not", YES),
    **_of_numbers("bitwise_and bitwise_or bitwise_xor gcd lcm", SIX, FOUR),
    **_of_numbers("bitwise_not", SIX),
    **_of_numbers("left_shift right_shift", SIX, TWO),
    **_of_numbers("cast", 0.1, dtype=np.dtype("float32")),
    **_of_numbers("overwrite", 2.0, 3.0),
    **_of_numbers("move", 0.5, device="cpu", back="cpu"),
    **_of_numbers("dropout_mask", ROW, p=0.5),
    # complex numbers
    **_of_numbers("complex", 1.0, 2.0),
    **_of_numbers("imag view_as_real", np.array(1 + 2j)),
    **_of_numbers("view_as_complex", PAIR),
    **_of_numbers("fft", np.array([1 + 0j, 2]), axes=(0,), inverse=False, scale=1.0),
    # along axes
    **_of_numbers("sum mean amax amin prod logsumexp", ROW, **OVER),
    **_of_numbers("cumsum cumprod logcumsumexp softmax log_softmax", ROW, **ALONG),
    **_of_numbers("argmax argmin", ROW, axis=0, keepdims=False),
    **_of_numbers("all any", np.array([True, False]), **OVER),
    **_of_numbers("recurrence", [0.5, 0.5, 0.5], ROW, **ALONG),
    **_of_numbers("standardize", ROW, axes=(0,), eps=1e-5),
    **_of_numbers("standardize_jvp", OTHER, ROW, axes=(0,), eps=1e-5),
    **_of_numbers("argsort", OTHER, axis=0, descending=False),
    **_of_numbers("cumulative_argmax", OTHER, axis=0, largest=True),
    **_of_numbers("searchsorted", ROW, PAIR, side="left"),
    **_of_numbers("argwhere", np.array([0.0, 7.0])),
    **_of_numbers("bincount", np.array([0, 2, 2]), minlength=0),
    **_of_numbers("unfold", ROW, axis=0, size=2, step=1),
    **_of_numbers("unfold_backward", SECOND, axis=0, size=2, step=1, shape=(3,)),
    # shapes and places
    **_of_numbers("reshape", [1.0, 2.0, 3.0, 4.0], shape=(2, 2)),
    **_of_numbers("permute", WIDE, axes=(1, 0)),
    **_of_numbers("broadcast_to", PAIR, shape=(2, 2)),
    **_of_numbers("sum_to", MATRIX, shape=(2,)),
    **_of_numbers("flip", ROW, axes=(0,)),
    **_of_numbers("roll", ROW, shifts=(1,), axes=(0,)),
    **_of_numbers("pad_axis", PAIR, axis=0, before=0, after=1),
    **_of_numbers("cat", PAIR, [3.0], axis=0, sizes=(2, 1)),
    **_of_numbers("stack", PAIR, PAIR, axis=0, count=2),
    **_of_numbers("diagonal", MATRIX, **OF_MATRIX),
    **_of_numbers("diagonal_backward", PAIR, **OF_MATRIX, shape=(2, 2)),
    **_of_numbers("tril triu", MATRIX, offset=0),
    **_of_numbers("slice", ROW, index=(slice(0, 2),)),
    **_of_numbers("slice_backward", PAIR, index=(slice(0, 2),), shape=(3,)),
    **_of_numbers("getitem", ROW, index=PICKED),
    **_of_numbers("index_add", OTHER, index=PICKED, shape=(3,)),
    **_of_numbers("index_put", ROW, PAIR, index=(np.array([2, 0]),), accumulate=False),
    **_of_numbers("scatter_view", ROW, PAIR, steps=((slice_, {"index": (slice(0, 2),)}),)),
    **_of_numbers("scatter_extreme", ROW, PAIR, index=(np.array([2, 0]),), largest=True),
    # matrices
    **_of_numbers("matmul", MATRIX, SECOND),
    **_of_numbers("solve", MATRIX, [[1.0], [2.0]]),
    **_of_numbers("inv det cofactors logabsdet detsign cholesky qr eigh svd lu lu_pivots", MATRIX),
    **_of_numbers("eig", MATRIX),
    **_of_numbers("pivots_to_permutation", np.array([3, 2, 3]), size=3),
    **_of_numbers("reflections", MATRIX, part=0),
    **_of_numbers("pinv", MATRIX, rtol=1e-15, atol=0.0),
    # networks
    **_of_numbers("convolve", SIGNAL, FILTER, **FILTERS),
    **_of_numbers("convolve_input", FILTERED, FILTER, **FILTERS, size=(3,)),
    **_of_numbers("convolve_weight", SIGNAL, FILTERED, **FILTERS, size=(2,)),
    **_of_numbers("max_pool sum_pool", ROW, **WINDOWS),
    **_of_numbers("sum_pool_backward", PAIR, **WINDOWS, length=3),
    **_of_numbers("max_pool_backward", PAIR, ROW, [2.0, 3.0], **WINDOWS),
    **_of_numbers("max_pool_jvp", OTHER, ROW, [2.0, 3.0], **WINDOWS),
    **_of_numbers("scale_shift", 2.0, 3.0, 1.0),
    **_of_numbers("affine", [PAIR], MATRIX, [0.5, -0.5]),
    **_of_numbers("nll", SCORES, np.array(1), axis=0, ignored=-100),
    **_of_numbers("nll_backward", 1.0, np.array(1), axis=0, ignored=-100, classes=3),
    **_of_numbers("rnn", [[[0.5]]], [[1.0]], [[2.0]], rectified=False),
    **_of_numbers("lstm", [[[0.5, 1.0, -0.5, 0.0]]], [[1.0]], [[2.0]], [[0.5]] * 4),
    **_of_numbers("gru", [[[0.5, 1.0, -0.5]]], [[1.0]], [[0.5]] * 3, [0.0] * 3),
}
"""By operation. The others of one element at a time take 0.5, or 2 and 3."""

UNSHOWN = {
    **dict.fromkeys(
        "random_uniform random_normal random_integers".split(),
        "it has no operand, and a Trace shows what it draws as a constant",
    ),
    **dict.fromkeys(
        "batch_enter batch_leave batch_share batch_total".split(),
        "it belongs to `vmap`, whose batches a Trace does not show",
    ),
}
"""Operations without a picture, and why."""


def sample(primitive: Primitive) -> Sample | None:
    """Operands and parameters of the picture; None where there is none."""
    if primitive.name in SAMPLES:
        return SAMPLES[primitive.name]
    if primitive.name in UNSHOWN or primitive.keywords or not primitive.pointwise:
        return None
    return ((0.5,), (2.0, 3.0))[len(primitive.inputs) - 1], {}


def step(primitive: Primitive) -> tuple[Trace, int] | None:
    """The Trace of the sample, and the number of the step; None where there is none."""
    found = sample(primitive)
    if found is None:
        return None
    if not primitive.random:
        return _step(primitive, *found)
    before = random_state()
    set_random_state(np.random.default_rng(0).bit_generator.state)  # each build draws alike
    try:
        return _step(primitive, *found)
    finally:
        set_random_state(before)


def _step(
    primitive: Primitive, operands: tuple[Any, ...], parameters: dict[str, Any]
) -> tuple[Trace, int]:
    def run(*given: Any) -> Any:
        return _first(primitive(*given, **parameters))

    with no_grad(), np.errstate(all="ignore"):
        result = run(*map(mg.tensor, operands))
    names = _names(primitive, len(operands))
    if primitive.kind == "constant" or not result.is_floating_point():
        trace = trace_function(run, *operands, mode="primal", names=names, title=primitive.name)
        return trace, len(trace["steps"])
    seed = np.arange(1.0, 1 + math.prod(result.shape)).reshape(tuple(result.shape))
    trace = trace_function(
        run, *operands, mode="reverse", names=names, title=primitive.name, cotangent=seed
    )
    phases = [one["phase"] for one in trace["steps"]]
    return trace, 1 + phases.index("adjoint") if "adjoint" in phases else len(phases)


def _first(result: Any) -> Any:
    """Of several results the first; a variable for them would get its name into the picture."""
    return result[0] if isinstance(result, tuple) else result


def _names(primitive: Primitive, count: int) -> list[str]:
    """Those of the operands in the declaration; of many operands under one name, with numbers."""
    own = list(primitive.inputs)
    return own if len(own) == count else [f"{own[0][0]}{k + 1}" for k in range(count)]


class StepPicture(NamedTuple):
    """An SVG document, its size in pixels, and the sentence of the step that it shows."""

    svg: str
    width: int
    height: int
    said: str


@cache
def picture(primitive: Primitive) -> StepPicture | None:
    """The step as a picture; None where there is none."""
    found = step(primitive)
    if found is None:
        return None
    trace, at = found
    svg = to_svg(trace, at)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert size is not None  # each picture has one
    return StepPicture(
        svg, round(float(size[1])), round(float(size[2])), trace["steps"][at - 1]["say"]
    )
