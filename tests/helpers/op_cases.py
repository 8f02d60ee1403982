"""The table of all operations as the tests see them: for each one sample inputs, where they may
lie, and what NumPy says the result is.

Every entry of `core.primitive.registry` has at least one `Case` here (a test compares the two
sets), and all generic tests, the strict fake device and the mutation check run over this one table.
A reference never calls minigrad: it is the definition of the operation, written with NumPy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from minigrad import ops
from minigrad.batching.value import batch_axis
from minigrad.core.primitive import registry
from tests.helpers import network_cases as net

ops.load()

Domain = tuple[tuple[float, float], ...] | str
"""Where samples of one input lie: "bool", "int", "fixed" (numbers by which there is no derivative),
or intervals clear of kinks and poles (so that central differences are right).
"""

REALS: Domain = ((-2.0, -0.2), (0.2, 2.0))
POSITIVE: Domain = ((0.3, 2.5),)
SMALL: Domain = ((-0.8, -0.1), (0.1, 0.8))
ABOVE_ONE: Domain = ((1.2, 3.0),)
BETWEEN_INTEGERS: Domain = ((-1.8, -1.2), (-0.8, -0.2), (0.2, 0.8), (1.2, 1.8))
LOW_HALVES: Domain = ((-1.9, -1.6), (-0.9, -0.6), (0.1, 0.4), (1.1, 1.4))
HIGH_HALVES: Domain = ((-1.4, -1.1), (-0.4, -0.1), (0.6, 0.9), (1.6, 1.9))
"""A number of LOW_HALVES is never within 0.2 of one of HIGH_HALVES: operands of maximum and
minimum without ties.
"""
DIVISORS: Domain = ((-2.2, -2.0), (2.0, 2.2))
DIVIDENDS: Domain = ((-3.5, -2.7), (-1.5, -0.5), (0.5, 1.5), (2.7, 3.5))
"""DIVIDENDS over DIVISORS is never within 0.2 of an integer."""
COMPLEX_PARTS: Domain = ((-1.4, -0.25), (0.25, 1.4))
"""Real and imaginary parts of complex samples: clear of both axes, where the branch cuts are."""


@dataclass(frozen=True)
class Case:
    """One way of calling one operation.

    primitive: its name in the registry; variant: tells several cases of one operation apart;
    reference(*arrays, **params): the definition in NumPy; domains, shapes: of the inputs; params:
    keyword parameters of the operation; any_shape: the inputs may have any shapes that broadcast
    (else the parameters belong to `shapes`); complex, real: whether complex and real inputs are
    offered; half: the half-precision dtypes that NumPy (with ml_dtypes) has kernels for;
    fixed_dtype: the result's dtype is a parameter, whatever the inputs'; step: of the central
    differences; precision: of the comparisons that are exact but for rounding (an operation that
    rounds to float32 needs both larger); route: how to reach the operation with ordinary arrays,
    where calling it does not. It may also pick one of several results (the checks compare one at a
    time: a case for each).
    """

    primitive: str
    reference: Callable[..., Any]
    domains: tuple[Domain, ...] = (REALS,)
    shapes: tuple[tuple[int, ...], ...] = ((3, 4),)
    params: dict[str, Any] = field(default_factory=dict)
    variant: str = ""
    any_shape: bool = False
    complex: bool = False
    real: bool = True
    half: tuple[str, ...] = ("float16", "bfloat16")
    fixed_dtype: bool = False
    step: float = 1e-5
    precision: float = 1e-12
    route: Callable[..., Any] | None = None

    @property
    def id(self) -> str:
        """The name that a failing test prints."""
        return f"{self.primitive}-{self.variant}" if self.variant else self.primitive

    def run(self, inputs: Any, params: Any = None) -> Any:
        """Call the operation on tensors or arrays (with other parameters, if given)."""
        operation = self.route or registry[self.primitive]
        return operation(*inputs, **(self.params if params is None else params))

    def inputs(self, dtype: Any = "float64", shapes: Any = None, seed: int = 0) -> list[Any]:
        """Sample arrays of `dtype` (inputs of the domains "bool" and "int" keep their own
        dtype). The same call gives the same numbers.
        """
        rng = np.random.default_rng([seed, *self.id.encode()])
        shapes = self.shapes if shapes is None else shapes
        return [
            sample(rng, domain, shape, dtype)
            for domain, shape in zip(self.domains, shapes, strict=True)
        ]

    def differentiable(self) -> list[int]:
        """Positions of the inputs that have a derivative: all but booleans, integers and fixed
        numbers.
        """
        return [i for i, domain in enumerate(self.domains) if not isinstance(domain, str)]

    def expected(self, *arrays: Any) -> Any:
        """What NumPy says, without its warnings."""
        with np.errstate(all="ignore"):
            return np.asarray(self.reference(*arrays, **self.params))


def sample(rng: np.random.Generator, domain: Domain, shape: tuple[int, ...], dtype: Any) -> Any:
    """Random numbers of one domain."""
    if domain == "bool":
        return rng.random(shape) < 0.5
    if domain == "int":
        return rng.integers(0, 7, shape)
    if domain == "fixed":
        return np.asarray(_reals(rng, ABOVE_ONE, shape)).astype(dtype)
    if np.dtype(dtype).kind == "c":
        part = lambda: _reals(rng, COMPLEX_PARTS, shape)
        return np.asarray(part() + 1j * part(), dtype)
    return np.asarray(_reals(rng, domain, shape)).astype(dtype)


def _reals(rng: np.random.Generator, domain: Any, shape: tuple[int, ...]) -> Any:
    """Each number uniform in an interval chosen at random."""
    bounds = np.array(domain)[rng.integers(0, len(domain), shape)]
    return bounds[..., 0] + (bounds[..., 1] - bounds[..., 0]) * rng.random(shape)


# -------------------------------------------------------------------------------------- short forms


def unary(name: str, reference: Callable[..., Any], domain: Domain = REALS, **options: Any) -> Case:
    """An operation of one input of any shape."""
    return Case(name, reference, (domain,), ((3, 4),), any_shape=True, **options)


def binary(
    name: str, reference: Callable[..., Any], a: Domain = REALS, b: Domain = REALS, **options: Any
) -> Case:
    """An operation of two inputs that broadcast."""
    return Case(name, reference, (a, b), ((3, 4), (3, 4)), any_shape=True, **options)


def shaped(
    name: str, variant: str, reference: Callable[..., Any], *shapes: tuple[int, ...], **options: Any
) -> Case:
    """An operation whose parameters belong to the shapes of its inputs."""
    options = {"domains": (REALS,) * len(shapes), "complex": True, **options}
    return Case(name, reference, shapes=shapes, variant=variant, **options)


REDUCED = {
    "all": ((3, 4), (0, 1), False),
    "rows": ((3, 4), (0,), False),
    "kept": ((3, 4), (1,), True),
    "outer": ((2, 3, 4), (0, 2), False),
    "number": ((), (), False),
    "empty": ((0, 3), (0,), False),
    "of none": ((0, 3), (1,), False),
}
"""A shape, the axes that are reduced, and whether they are kept."""


def reductions(
    name: str, reference: Callable[..., Any], *variants: str, **options: Any
) -> list[Case]:
    """A reduction of some of REDUCED, defined by `reference(x, axes, keepdims=…)`."""
    made = []
    for variant in variants:
        shape, axes, keepdims = REDUCED[variant]
        along = lambda x, axes, keepdims: reference(x, axes, keepdims=keepdims)
        params = {"axes": axes, "keepdims": keepdims}
        made.append(shaped(name, variant, along, shape, params=params, **options))
    return made


def in_dtype_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reference computed in double precision and returned in the dtype of its first argument."""
    return lambda x, *rest, **params: np.asarray(function(x, *rest, **params)).astype(x.dtype)


# --------------------------------------------------------------------- definitions in NumPy's terms


def normal_quantile(share: Any) -> float:
    """The place within which that share of the distribution e^(-x²) / √π lies."""
    return NormalDist(0, math.sqrt(0.5)).inv_cdf((1 + float(share)) / 2)


def windows_along(x: Any, axis: int, size: int, step: int) -> Any:
    starts = range(0, x.shape[axis] - size + 1, step)
    parts = [np.moveaxis(x.take(range(start, start + size), axis), axis, -1) for start in starts]
    return np.stack(parts, axis)


def windows_added(g: Any, axis: int, size: int, step: int, shape: tuple[int, ...]) -> Any:
    out = np.zeros(shape, g.dtype)
    for at in np.ndindex(g.shape):
        place = list(at[:-1])
        place[axis] = at[axis] * step + at[-1]
        out[tuple(place)] += g[at]
    return out


def softplus_reference(x: Any) -> Any:
    return np.log(1 + np.exp(x))


def sgn_reference(x: Any) -> Any:
    return x / np.abs(x) if x.dtype.kind == "c" else np.sign(x)


def placed(g: Any, index: Any, shape: tuple[int, ...]) -> Any:
    """Zeros with the elements of g added one by one: no matter how often an index is repeated."""
    out = np.zeros(shape, g.dtype)
    where = np.arange(math.prod(shape)).reshape(shape)[index]
    for position, value in zip(np.ravel(where), np.ravel(g), strict=True):
        out.flat[position] += value
    return out


def put(x: Any, values: Any, index: Any, accumulate: bool) -> Any:
    """x with `values` at the index, element by element, the last of equals winning (or all of
    them added).
    """
    out = x.copy()
    where = np.arange(x.size).reshape(x.shape)[index]
    for position, value in zip(
        np.ravel(where),
        np.ravel(
            np.broadcast_to(
                values.reshape(values.shape[-where.ndim :] if where.ndim else ()), where.shape
            )
        ),
        strict=True,
    ):
        out.flat[position] = out.flat[position] + value if accumulate else value
    return out


def folded(x: Any, shape: tuple[int, ...]) -> Any:
    """x summed down to a shape that broadcasts to its own."""
    padded = (1,) * (x.ndim - len(shape)) + tuple(shape)
    for axis, n in enumerate(padded):
        if n == 1:
            x = np.sum(x, axis=axis, keepdims=True, dtype=x.dtype)
    return x.reshape(shape)


def replaced_diagonal_block(x: Any, values: Any, steps: Any) -> Any:
    out = x.copy()
    out.T[1:3] = values
    return out


def overwritten(old: Any, new: Any) -> Any:
    out = np.array(old)
    out[...] = new
    return out


def numbered_steps() -> tuple[Any, ...]:
    """The way to the middle rows of a transposed matrix, as an in-place change of that view
    remembers it.
    """
    return (registry["permute"], {"axes": (1, 0)}), (registry["slice"], {"index": (slice(1, 3),)})


def in_and_out_of_a_batch(x: Any, *, source: int, target: int) -> Any:
    """An axis becomes the batch and comes back as another axis."""
    with batch_axis(x.shape[source]) as place:
        return registry["batch_leave"](
            registry["batch_enter"](x, place=place, axis=source), place=place, axis=target
        )


def shared_and_totalled(x: Any, *, size: int) -> Any:
    """One value for all examples of a batch, summed over the examples."""
    with batch_axis(size) as place:
        return registry["batch_total"](registry["batch_share"](x, place=place), place=place)


def joined(*xs: Any, axis: int, sizes: Any) -> Any:
    return np.concatenate(xs, axis=axis)


ROWS = np.array([0, 2, 2, -1])
COLUMNS = np.array([1, 1, 0, 3])
MASK = np.array(
    [[True, False, True, False], [False, False, True, True], [True, False, False, False]]
)

# ---------------------------------------------------------------------------------------- the table

MAX_PULL = net.follow_maxima("max_pool_backward")


def recurrent(
    name: str, which: int, length: int, shapes: Any, reference: Callable[..., Any], **params: Any
) -> Case:
    """One of the two results of a recurrent layer over so many steps."""
    return Case(
        name,
        partial(reference, which=which),
        (SMALL,) * len(shapes),
        shapes,
        params,
        variant=f"{which} {length} {params.get('rectified', '')}".strip(),
        half=("float16",),
        route=lambda *inputs, **options: registry[name](*inputs, **options)[which],
    )


CASES: list[Case] = [
    # arithmetic
    binary("add", lambda a, b: a + b, complex=True),
    binary("sub", lambda a, b: a - b, complex=True),
    binary("mul", lambda a, b: a * b, complex=True),
    binary("div", lambda a, b: a / b, complex=True),
    unary("neg", lambda x: -x, complex=True),
    unary("reciprocal", lambda x: 1 / x, complex=True),
    binary("floor_divide", lambda a, b: np.floor(a / b), DIVIDENDS, DIVISORS),
    binary("remainder", lambda a, b: a - b * np.floor(a / b), DIVIDENDS, DIVISORS),
    binary("fmod", lambda a, b: a - b * np.trunc(a / b), DIVIDENDS, DIVISORS),
    binary("trunc_divide", lambda a, b: np.sign(a / b) * np.floor(abs(a / b)), DIVIDENDS, DIVISORS),
    # powers
    *(
        unary(
            "pow",
            lambda x, n: np.power(x, n),
            REALS if float(n).is_integer() else POSITIVE,
            params={"n": n},
            variant=f"{n}",
            complex=True,
        )
        for n in (2, 3, 4, 1, 0, -1, -2, 2.5, 0.5, -0.5, 3.0)
    ),
    binary("pow_tensor", lambda a, b: np.power(a, b), POSITIVE, REALS, complex=True),
    unary("sqrt", np.sqrt, POSITIVE, complex=True),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE, complex=True),
    unary("square", lambda x: x * x, complex=True),
    # exponentials and logarithms
    unary("exp", np.exp, complex=True),
    unary("exp2", lambda x: np.power(x.dtype.type(2), x), complex=True),
    unary("expm1", lambda x: np.exp(x) - 1, complex=True),
    unary("log", np.log, POSITIVE, complex=True),
    unary("log2", lambda x: np.log(x) / math.log(2), POSITIVE, complex=True),
    unary("log10", lambda x: np.log(x) / math.log(10), POSITIVE, complex=True),
    unary("log1p", lambda x: np.log(1 + x), SMALL, complex=True),
    binary("logaddexp", lambda a, b: np.log(np.exp(a) + np.exp(b))),
    # circular and hyperbolic functions
    unary("sin", np.sin, complex=True),
    unary("cos", np.cos, complex=True),
    unary("tan", lambda x: np.sin(x) / np.cos(x), SMALL, complex=True),
    unary("asin", np.arcsin, SMALL, complex=True),
    unary("acos", np.arccos, SMALL, complex=True),
    unary("atan", np.arctan, complex=True),
    binary("atan2", lambda a, b: np.angle(b + 1j * a).astype(a.dtype)),
    unary("sinh", lambda x: (np.exp(x) - np.exp(-x)) / 2, complex=True),
    unary("cosh", lambda x: (np.exp(x) + np.exp(-x)) / 2, complex=True),
    unary("tanh", lambda x: np.sinh(x) / np.cosh(x), complex=True),
    unary("asinh", np.arcsinh, complex=True),
    unary("acosh", np.arccosh, ABOVE_ONE, complex=True),
    unary("atanh", np.arctanh, SMALL, complex=True),
    unary("erf", in_dtype_of(np.vectorize(math.erf, otypes=[float]))),
    # kinks, steps, selection
    unary("sigmoid", lambda x: 1 / (1 + np.exp(-x)), complex=True),
    unary("softplus", softplus_reference),
    unary("relu", lambda x: np.where(x > 0, x, np.zeros_like(x))),
    binary("maximum", lambda a, b: np.where(a > b, a, b), LOW_HALVES, HIGH_HALVES),
    binary("minimum", lambda a, b: np.where(a < b, a, b), LOW_HALVES, HIGH_HALVES),
    *(
        unary(
            "clamp",
            reference,
            BETWEEN_INTEGERS,
            params={"low": low, "high": high},
            variant=variant,
        )
        for variant, low, high, reference in (
            ("both", -1.0, 1.0, lambda x, low, high: np.minimum(np.maximum(x, low), high)),
            ("low", 0.0, None, lambda x, low, high: np.maximum(x, low)),
            ("high", None, 1, lambda x, low, high: np.minimum(x, high)),
        )
    ),
    Case(
        "where",
        lambda c, a, b: c * a + (1 - c).astype(a.dtype) * b,
        ("bool", REALS, REALS),
        ((3, 4),) * 3,
        any_shape=True,
        complex=True,
    ),
    Case(
        "select",
        lambda x, a, b, test, level: np.where(x > level if test == "gt" else x <= level, a, b),
        ("fixed", REALS, REALS),
        ((3, 4),) * 3,
        params={"test": "gt", "level": 1.6},
        any_shape=True,
    ),
    unary("sign", lambda x: x / abs(x)),
    unary("floor", lambda x: np.asarray(x - x % 1, x.dtype), BETWEEN_INTEGERS),
    unary("ceil", lambda x: np.asarray(x + -x % 1, x.dtype), BETWEEN_INTEGERS),
    unary(
        "trunc", lambda x: np.asarray(np.sign(x) * (abs(x) - abs(x) % 1), x.dtype), BETWEEN_INTEGERS
    ),
    unary(
        "round",
        lambda x, decimals: np.round(x, decimals),
        LOW_HALVES,
        params={"decimals": 0},
        variant="0",
    ),
    unary(
        "round",
        lambda x, decimals: np.rint(x * 10) / 10,
        ((-0.53, -0.51), (0.31, 0.34), (1.76, 1.79)),
        params={"decimals": 1},
        variant="1",
        half=(),
    ),
    # complex numbers
    unary("sgn", sgn_reference, complex=True),
    unary("abs", lambda x: np.sqrt((x * np.conj(x)).real), complex=True, half=()),
    unary("abs", lambda x: np.where(x < 0, -x, x), variant="real"),
    unary("conj", lambda x: x.real - 1j * x.imag, real=False),
    unary("conj", lambda x: x, variant="real"),
    unary("real", lambda x: (x + np.conj(x)).real / 2, complex=True, half=("float16",)),
    unary("imag", lambda x: np.asarray(-1j * x).real.astype(x.real.dtype), complex=True, half=()),
    unary("angle", lambda x: np.arctan2(x.imag, x.real), complex=True, half=("float16",)),
    binary("complex", lambda a, b: a + b * np.complex64(1j), half=()),
    shaped("view_as_real", "", lambda x: np.stack([x.real, x.imag], -1), (2, 3), real=False),
    shaped(
        "view_as_complex",
        "",
        lambda x: x[..., 0] + x[..., 1] * np.complex64(1j),
        (3, 2),
        complex=False,
        half=(),
    ),
    # copies, casts, constants
    unary("clone", lambda x: +x, complex=True),
    unary("identity", lambda x: x, complex=True),
    unary(
        "cast",
        lambda x, dtype: x.astype(dtype),
        params={"dtype": np.dtype("float32")},
        variant="float32",
        fixed_dtype=True,
        step=1.0,
        precision=1e-6,
    ),
    *(
        unary(
            "cast",
            lambda x, dtype: x.astype(dtype),
            params={"dtype": np.dtype(name)},
            variant=name,
            fixed_dtype=True,
        )
        for name in ("float64", "complex128")
    ),
    unary(
        "cast",
        lambda x, dtype: x.real.astype(dtype),
        params={"dtype": np.dtype("float64")},
        variant="real part",
        real=False,
        complex=True,
        fixed_dtype=True,
    ),
    unary("move", lambda x, device, back: x, params={"device": "cpu", "back": "cpu"}, complex=True),
    binary("overwrite", lambda old, new: overwritten(old, new), complex=True),
    unary("zeros_like", lambda x: 0 * x, complex=True),
    unary("ones_like", lambda x: x**0, complex=True),
    # questions and logic
    binary("eq", lambda a, b: ~((a < b) | (a > b)), LOW_HALVES, LOW_HALVES),
    binary("ne", lambda a, b: (a < b) | (a > b), LOW_HALVES, LOW_HALVES),
    binary("lt", lambda a, b: np.sign(b - a) == 1),
    binary("le", lambda a, b: np.sign(b - a) >= 0),
    binary("gt", lambda a, b: np.sign(a - b) == 1),
    binary("ge", lambda a, b: np.sign(a - b) >= 0),
    binary("eq", lambda a, b: (a - b) == 0, "int", "int", variant="int"),
    unary("isnan", lambda x: x != x, complex=True),
    unary("isinf", lambda x: abs(x) == math.inf, complex=True),
    unary("isfinite", lambda x: abs(x) < math.inf, complex=True),
    binary("logical_and", lambda a, b: a & b, "bool", "bool"),
    binary("logical_or", lambda a, b: a | b, "bool", "bool"),
    binary("logical_xor", lambda a, b: a ^ b, "bool", "bool"),
    unary("logical_not", lambda x: x == 0, "bool"),
    binary("bitwise_and", lambda a, b: np.bitwise_and(a, b), "int", "int"),
    binary("bitwise_or", lambda a, b: np.bitwise_or(a, b), "int", "int"),
    binary("bitwise_xor", lambda a, b: np.bitwise_xor(a, b), "int", "int"),
    unary("bitwise_not", lambda x: -x - 1, "int"),
    # reading and replacing parts
    *(
        shaped("slice", variant, lambda x, index: x[index], (3, 4), params={"index": index})
        for variant, index in {
            "row": 1,
            "negative": -1,
            "element": (2, -4),
            "slices": (slice(0, 2), slice(None, None, 2)),
            "reversed": (slice(None, None, -1), slice(3, 0, -2)),
            "none": (None, Ellipsis, None, 0),
            "nothing": (slice(2, 2),),
            "all": (),
        }.items()
    ),
    *(
        shaped("slice_backward", variant, placed, shape, params={"index": index, "shape": (3, 4)})
        for variant, shape, index in (
            ("slices", (2, 2), (slice(0, 2), slice(None, None, 2))),
            ("element", (), (1, 2)),
        )
    ),
    *(
        shaped("getitem", variant, lambda x, index: x[index], (3, 4), params={"index": index})
        for variant, index in {
            "repeated rows": (ROWS,),
            "pairs": (ROWS, COLUMNS),
            "mask": (MASK,),
            "row mask": (np.array([True, False, True]), slice(1, 3)),
            "slice and array": (slice(None), COLUMNS),
            "array, none, slice": (ROWS[:2], None, slice(1, None)),
            "matrix of indices": (np.array([[0, 1], [2, 2]]),),
            "no rows": (np.array([], dtype=np.int64),),
            "apart": (ROWS, Ellipsis, None, COLUMNS),
        }.items()
    ),
    *(
        shaped("index_add", variant, placed, shape, params={"index": index, "shape": (3, 4)})
        for variant, shape, index in (
            ("repeated rows", (4, 4), (ROWS,)),
            ("pairs", (4,), (ROWS, COLUMNS)),
            ("mask", (5,), (MASK,)),
        )
    ),
    *(
        shaped(
            "index_put",
            variant,
            put,
            (3, 4),
            shape,
            params={"index": index, "accumulate": variant.startswith("add")},
        )
        for variant, shape, index in (
            ("rows", (2, 4), (np.array([2, 0]),)),
            ("broadcast", (1,), (np.array([2, 0]),)),
            ("extra axis", (1, 1, 4), (np.array([2, 0]),)),
            ("mask", (), (MASK,)),
            ("add rows", (4, 4), (ROWS,)),
            ("add one", (), (ROWS, COLUMNS)),
            ("add mask", (5,), (MASK,)),
        )
    ),
    shaped(
        "scatter_view",
        "block",
        replaced_diagonal_block,
        (3, 4),
        (2, 3),
        params={"steps": numbered_steps()},
    ),
    # shapes
    shaped("reshape", "flat", lambda x, shape: np.ravel(x), (3, 4), params={"shape": (12,)}),
    shaped(
        "reshape",
        "more axes",
        lambda x, shape: np.ravel(x).reshape(shape),
        (3, 4),
        params={"shape": (2, 1, 6)},
    ),
    shaped(
        "reshape",
        "number",
        lambda x, shape: x.item() + np.zeros((1, 1), x.dtype),
        (),
        params={"shape": (1, 1)},
    ),
    shaped(
        "reshape",
        "empty",
        lambda x, shape: np.zeros(shape, x.dtype),
        (0, 3),
        params={"shape": (3, 0, 2)},
    ),
    shaped(
        "permute",
        "turned",
        lambda x, axes: np.moveaxis(x, (1, 2, 0), (0, 1, 2)),
        (2, 3, 4),
        params={"axes": (1, 2, 0)},
    ),
    shaped("permute", "number", lambda x, axes: x, (), params={"axes": ()}),
    shaped(
        "permute", "matrix", lambda x, axes: np.swapaxes(x, 0, 1), (3, 4), params={"axes": (1, 0)}
    ),
    *(
        shaped(
            "broadcast_to",
            variant,
            lambda x, shape: x + np.zeros(shape, x.dtype),
            given,
            params={"shape": shape},
        )
        for variant, given, shape in (
            ("rows", (4,), (2, 3, 4)),
            ("ones", (3, 1), (2, 3, 4)),
            ("number", (), (2, 3)),
            ("none", (1, 3), (0, 3)),
        )
    ),
    shaped("sum_to", "rows", folded, (2, 3, 4), params={"shape": (4,)}),
    shaped("sum_to", "ones", folded, (2, 3, 4), params={"shape": (3, 1)}),
    shaped("sum_to", "number", folded, (3, 4), params={"shape": ()}),
    shaped("sum_to", "same", lambda x, shape: x, (3, 4), params={"shape": (3, 4)}),
    shaped(
        "sum_to",
        "empty",
        lambda x, shape: np.zeros(shape, x.dtype),
        (0, 3),
        params={"shape": (1, 3)},
    ),
    shaped("flip", "both", lambda x, axes: x[::-1, ::-1], (3, 4), params={"axes": (0, 1)}),
    shaped("flip", "one", lambda x, axes: x[:, ::-1], (3, 4), params={"axes": (1,)}),
    shaped("flip", "no axis", lambda x, axes: x, (3, 4), params={"axes": ()}),
    shaped(
        "roll",
        "one",
        lambda x, shifts, axes: x[:, [3, 0, 1, 2]],
        (3, 4),
        params={"shifts": (1,), "axes": (1,)},
    ),
    shaped(
        "roll",
        "two",
        lambda x, shifts, axes: x[[1, 2, 0]][:, [3, 0, 1, 2]],
        (3, 4),
        params={"shifts": (-1, 1), "axes": (0, 1)},
    ),
    *(
        shaped(
            "pad_axis",
            variant,
            lambda x, axis, before, after: np.pad(
                x, [(before, after) if k == axis else (0, 0) for k in range(2)]
            ),
            (3, 4),
            params={"axis": axis, "before": before, "after": after},
        )
        for variant, axis, before, after in (("columns", 1, 2, 1), ("rows", 0, 0, 2))
    ),
    shaped("cat", "rows", joined, (1, 3), (2, 3), (0, 3), params={"axis": 0, "sizes": (1, 2, 0)}),
    shaped("cat", "columns", joined, (2, 1), (2, 3), params={"axis": 1, "sizes": (1, 3)}),
    shaped("cat", "one", joined, (2, 3), params={"axis": 1, "sizes": (3,)}),
    *(
        shaped(
            "stack",
            variant,
            lambda *xs, axis, count: np.stack(xs, axis),
            *[shape] * count,
            params={"axis": axis, "count": count},
        )
        for variant, shape, axis, count in (
            ("rows", (3,), 0, 2),
            ("last", (2, 3), 2, 3),
            ("middle", (2, 3), 1, 1),
            ("numbers", (), 0, 2),
            ("empty", (0, 2), 1, 2),
        )
    ),
    # into a batch and out of it
    *(
        shaped(
            name,
            "moved",
            lambda x, source, target: np.moveaxis(x, source, target),
            (2, 3, 4),
            params=params,
            route=in_and_out_of_a_batch,
        )
        for name in ("batch_enter", "batch_leave")
        for params in [{"source": 1, "target": 2}]
    ),
    *(
        shaped(
            name,
            "sum of equals",
            lambda x, size: size * x,
            (3, 4),
            params={"size": 5},
            route=shared_and_totalled,
        )
        for name in ("batch_share", "batch_total")
    ),
    # products of matrices
    *(
        shaped("matmul", f"{a} {b}", lambda a, b: np.matmul(a, b), a, b, half=("float16",))
        for a, b in [
            ((3,), (3,)),
            ((3,), (3, 4)),
            ((2, 3), (3,)),
            ((2, 3), (3, 4)),
            ((3,), (5, 3, 4)),
            ((5, 2, 3), (3,)),
            ((5, 2, 3), (3, 4)),
            ((2, 3), (5, 3, 4)),
            ((5, 2, 3), (5, 3, 4)),
            ((5, 1, 2, 3), (6, 3, 4)),
            ((1, 2, 3), (5, 3, 4)),
            ((6, 5, 2, 3), (3, 4)),
            ((2, 0), (0, 4)),
            ((0, 3), (3, 4)),
            ((0, 2, 3), (3, 4)),
        ]
    ),
    # reductions
    *reductions("sum", np.add.reduce, "all", "rows", "kept", "outer", "number", "empty"),
    *reductions("mean", np.mean, "all", "kept", "outer", "number"),
    *(
        case
        for name, position in (("amax", -1), ("amin", 0))
        for case in reductions(
            name,
            lambda x, axes, keepdims, k=position: _extreme(k, x, axes, keepdims),
            *("all", "kept", "outer", "number", "of none"),
            complex=False,
        )
    ),
    shaped(
        "argmax",
        "columns",
        lambda x, axis, keepdims: np.argsort(x, axis=1)[:, -1],
        (3, 4),
        params={"axis": 1, "keepdims": False},
        complex=False,
    ),
    shaped(
        "argmin",
        "columns",
        lambda x, axis, keepdims: np.argsort(x, axis=1)[:, :1],
        (3, 4),
        params={"axis": 1, "keepdims": True},
        complex=False,
    ),
    shaped(
        "argmax",
        "all",
        lambda x, axis, keepdims: np.argsort(x, axis=None)[-1],
        (3, 4),
        params={"axis": None, "keepdims": False},
        complex=False,
    ),
    shaped(
        "all",
        "columns",
        lambda x, axes, keepdims: np.sum(x, axis=axes) == 4,
        (3, 4),
        params={"axes": (1,), "keepdims": False},
        domains=("bool",),
        complex=False,
    ),
    shaped(
        "any",
        "columns",
        lambda x, axes, keepdims: np.sum(x, axis=axes, keepdims=True) > 0,
        (3, 4),
        params={"axes": (1,), "keepdims": True},
        domains=("bool",),
        complex=False,
    ),
    # networks: windows
    *(
        shaped("convolve", v, net.convolved, x, w, params=p, half=("float16",))
        for v, (x, w, p) in net.CONVOLUTIONS.items()
    ),
    *(
        shaped(
            "convolve_input",
            v,
            net.convolved_input,
            net.result_shape(v),
            w,
            params={**p, "size": x[2:]},
            half=("float16",),
        )
        for v, (x, w, p) in net.CONVOLUTIONS.items()
    ),
    *(
        shaped(
            "convolve_weight",
            v,
            net.convolved_weight,
            x,
            net.result_shape(v),
            params={**p, "size": w[2:]},
            half=("float16",),
        )
        for v, (x, w, p) in net.CONVOLUTIONS.items()
    ),
    *(
        shaped(
            "max_pool",
            v,
            lambda x, **a: net.pooled(x, np.max, **a),
            (3, 5),
            params=a,
            complex=False,
        )
        for v, a in net.WINDOWS.items()
    ),
    *(
        shaped("sum_pool", v, lambda x, **a: net.pooled(x, np.sum, **a), (3, 5), params=a)
        for v, a in net.WINDOWS.items()
    ),
    *(
        shaped(
            "sum_pool_backward",
            v,
            net.spread_over_windows,
            net.at_maxima(net.RANKED, **a).shape,
            params={**a, "length": (3, 5)[a["axis"]]},
        )
        for v, a in net.WINDOWS.items()
    ),
    *(
        shaped(
            "max_pool_jvp",
            v,
            net.at_maxima,
            (3, 5),
            params=a,
            complex=False,
            route=net.follow_maxima("max_pool_jvp"),
        )
        for v, a in net.WINDOWS.items()
    ),
    *(
        shaped(
            "max_pool_backward",
            v,
            net.to_maxima,
            net.at_maxima(net.RANKED, **a).shape,
            params=a,
            complex=False,
            route=MAX_PULL,
        )
        for v, a in net.WINDOWS.items()
    ),
    # networks: stable and fused
    *(
        shaped(name, variant, reference, shape, params={"axis": 1}, complex=False)
        for name, reference in (
            ("softmax", net.softmax_reference),
            ("log_softmax", lambda x, axis: np.log(net.softmax_reference(x, axis))),
        )
        for variant, shape in {"rows": (3, 4), "columns": (2, 7, 3), "empty": (0, 3)}.items()
    ),
    shaped(
        "standardize",
        "rows",
        net.standardized,
        (3, 4),
        params={"axes": (1,), "eps": 1e-5},
        complex=False,
        precision=1e-11,
    ),
    shaped(
        "standardize",
        "channels",
        net.standardized,
        (3, 2, 4),
        params={"axes": (0, 2), "eps": 1e-3},
        complex=False,
        precision=1e-11,
    ),
    *(
        shaped(
            "standardize_jvp",
            variant,
            net.standardized_along,
            shape,
            shape,
            params=params,
            complex=False,
            precision=1e-11,
        )
        for variant, shape, params in [
            ("rows", (3, 4), {"axes": (1,), "eps": 1e-2}),
            ("channels", (3, 2, 4), {"axes": (0, 2), "eps": 1e-3}),
        ]
    ),
    shaped("scale_shift", "channels", lambda x, w, b: x * w + b, (3, 2, 4), (2, 1), (2, 1)),
    shaped("scale_shift", "features", lambda x, w, b: x * w + b, (3, 4), (4,), (4,)),
    shaped("scale_shift", "many", lambda x, w, b: x * w + b, (2, 3, 70, 70), (3, 1, 1), (3, 1, 1)),
    shaped("affine", "rows", lambda x, w, b: x @ w.T + b, (3, 4), (2, 4), (2,), half=("float16",)),
    shaped(
        "affine", "batch", lambda x, w, b: x @ w.T + b, (2, 3, 4), (5, 4), (5,), half=("float16",)
    ),
    *(
        recurrent(
            "rnn",
            which,
            length,
            ((length, 2, 3), (2, 3), (3, 3)),
            net.rnn_states,
            rectified=rectified,
        )
        for which, length, rectified in [(0, 1, False), (0, 4, False), (1, 3, False), (0, 3, True)]
    ),
    *(
        recurrent(
            "lstm", which, length, ((length, 2, 12), (2, 3), (2, 3), (12, 3)), net.lstm_states
        )
        for which, length in [(0, 1), (0, 4), (1, 4)]
    ),
    *(
        recurrent("gru", which, length, ((length, 2, 9), (2, 3), (9, 3), (9,)), net.gru_states)
        for which, length in [(0, 1), (0, 4), (1, 3)]
    ),
    *(
        Case(
            name, reference, (REALS, "int"), (x if name == "nll" else t, t), params, variant=variant
        )
        for name, reference in (("nll", net.class_losses), ("nll_backward", net.placed_losses))
        for variant, x, t, axis, ignored in [
            ("rows", (5, 7), (5,), 1, -100),
            ("one", (7,), (), 0, 3),
            ("image", (2, 7, 3), (2, 3), 1, 2),
        ]
        for params in [
            {"axis": axis, "ignored": ignored, **({} if name == "nll" else {"classes": 7})}
        ]
    ),
    binary(
        "binary_cross_entropy",
        lambda p, t: -t * np.log(p) - (1 - t) * np.log(1 - p),
        ((0.1, 0.9),),
        ((0.1, 0.9),),
    ),
    unary("dropout_mask", lambda x, p: x**0, params={"p": 0.0}, variant="keep all"),
    unary("dropout_mask", lambda x, p: 0 * x, params={"p": 1.0}, variant="drop all"),
]


def _extreme(position: int, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The first or last of the sorted elements."""
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    rows = x.transpose(rest + axes).reshape(
        *(x.shape[i] for i in rest), math.prod(x.shape[i] for i in axes)
    )
    out = np.sort(rows, axis=-1)[..., position]
    return (
        out.reshape(tuple(1 if i in axes else n for i, n in enumerate(x.shape)))
        if keepdims
        else out
    )


# ---------------------------------------------------------- scans, order, diagonals, factorisations


def recurred(a: Any, b: Any, axis: int) -> Any:
    """y[k] = a[k] y[k-1] + b[k], one number after another."""
    rows_a, rows_b = np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)
    out = np.zeros(rows_b.shape, np.result_type(a, b))
    for place in np.ndindex(*out.shape[:-1]):
        value = 0
        for k in range(out.shape[-1]):
            value = out[(*place, k)] = rows_a[(*place, k)] * value + rows_b[(*place, k)]
    return np.moveaxis(out, -1, axis)


def determinant(x: Any) -> Any:
    """Leibniz's formula: over all permutations the signed products of elements."""
    n = x.shape[-1]
    total = np.zeros(x.shape[:-2], x.dtype)
    for order in itertools.permutations(range(n)):
        inversions = sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
        total = total + (-1) ** inversions * math.prod(x[..., i, order[i]] for i in range(n))
    return np.asarray(total)


def minors(x: Any) -> Any:
    """The cofactors: signed determinants of what is left without one row and one column."""
    n, out = x.shape[-1], np.empty(x.shape, x.dtype)
    for i, j in itertools.product(range(n), repeat=2):
        out[..., i, j] = (-1) ** (i + j) * determinant(np.delete(np.delete(x, i, -2), j, -1))
    return out


def placed_diagonal(g: Any, offset: int, axis1: int, axis2: int, shape: tuple[int, ...]) -> Any:
    out = np.zeros(shape, g.dtype)
    for k in range(g.shape[-1]):
        at = [slice(None)] * len(shape)
        at[axis1], at[axis2] = k + max(0, -offset), k + max(0, offset)
        out[tuple(at)] = g[..., k]
    return out


def read_diagonal(x: Any, offset: int, axis1: int, axis2: int) -> Any:
    rows = np.moveaxis(x, (axis1, axis2), (0, 1))
    pairs = [(i, i + offset) for i in range(rows.shape[0]) if 0 <= i + offset < rows.shape[1]]
    return np.stack([rows[pair] for pair in pairs], -1)


def positive(x: Any) -> Any:
    """A Hermitian positive definite matrix (for elements up to 2) with eigenvalues apart, made
    linearly so that nothing is saved for it.
    """
    adjoint = registry["conj"](
        registry["permute"](x, axes=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
    )
    ones = registry["ones_like"](
        registry["diagonal"](x, offset=0, axis1=x.ndim - 2, axis2=x.ndim - 1)
    )
    steps = registry["cumsum"](ones, axis=x.ndim - 2) * 4.0 + 6.0
    diagonal = registry["diagonal_backward"](
        steps, offset=0, axis1=x.ndim - 2, axis2=x.ndim - 1, shape=tuple(x.shape)
    )
    return (x + adjoint) * 0.5 + diagonal


def positive_reference(x: Any) -> Any:
    n = x.shape[-1]
    return (
        (x + np.conj(np.swapaxes(x, -1, -2))) / 2 + np.diag(6.0 + 4.0 * np.arange(1, n + 1))
    ).astype(x.dtype)


def factor(name: str, index: int, prepared: Callable[..., Any] = lambda x: x) -> Callable[..., Any]:
    """A route to one of the results of a factorisation."""
    return lambda x: registry[name](prepared(x))[index]


def ordered(x: Any, axis: int, descending: bool) -> Any:
    return np.argsort(-x if descending else x, axis=axis, kind="stable")


def latest_best(x: Any, axis: int) -> Any:
    """Which of the elements so far is the largest, the last one of equals."""
    return np.apply_along_axis(
        lambda row: [max(range(k + 1), key=lambda i: (row[i], i)) for k in range(len(row))], axis, x
    )


def largest_written(x: Any, values: Any, index: Any) -> Any:
    """One value after the other, each to its place."""
    out, places = x.copy(), np.broadcast_arrays(*index)
    for i in np.ndindex(values.shape):
        at = tuple(place[i] for place in places)
        out[at] = max(out[at], values[i])
    return out


def fourier(x: Any, axes: tuple[int, ...], inverse: bool, scale: float) -> Any:
    """A product with the matrix of the transform for each axis."""
    for axis in axes:
        n = x.shape[axis]
        turns = np.outer(np.arange(n), np.arange(n)) * (1 if inverse else -1) / n
        x = np.moveaxis(np.tensordot(np.exp(2j * np.pi * turns), x, (1, axis)), 0, axis).astype(
            x.dtype
        )
    return x * scale


def gamma_slope(x: Any, n: int = 0) -> Any:
    """Derivatives of ln Γ: the first thousand terms of their series, and what Euler and
    Maclaurin say of the rest.
    """
    z, s = np.asarray(x, float), n + 1
    terms, rest = np.sum((z[..., None] + np.arange(1000.0)) ** -s, -1), z + 1000
    if n == 0:
        return np.log(rest) - 0.5 / rest - 1 / (12 * rest**2) - terms
    return (
        (-1) ** s
        * math.factorial(n)
        * (terms + rest ** (1 - s) / n + 0.5 * rest**-s + s / 12 * rest ** (-s - 1))
    )


def digamma_whole(n: int) -> float:
    """ψ(n) of a whole number."""
    return sum(1 / k for k in range(1, n)) - float(np.euler_gamma)


def bessel_series(x: Any, n: int, sign: int) -> Any:
    """Jₙ (sign -1) and Iₙ (sign 1) by their power series."""
    return sum(
        sign**k * (x / 2) ** (2 * k + n) / (math.factorial(k) * math.factorial(k + n))
        for k in range(30)
    )


def bessel_second(x: Any, n: int, sign: int) -> Any:
    """Yₙ (sign -1) and Kₙ (sign 1) by theirs, which hold logarithms, poles and ψ: Abramowitz &
    Stegun 9.1.11 and 9.6.11.
    """
    u = x * x / 4
    poles = (
        sum(math.factorial(n - k - 1) / math.factorial(k) * (-sign * u) ** k for k in range(n))
        * (x / 2) ** -n
    )
    logarithm = np.log(x / 2) * bessel_series(x, n, sign)
    rest = (x / 2) ** n * sum(
        (digamma_whole(k + 1) + digamma_whole(n + k + 1))
        * (sign * u) ** k
        / (math.factorial(k) * math.factorial(n + k))
        for k in range(30)
    )
    if sign < 0:
        return (2 * logarithm - poles - rest) / math.pi
    return poles / 2 + (-1) ** (n + 1) * logarithm + (-1) ** n * rest / 2


def hurwitz(q: Any, s: Any) -> Any:
    """The first thousand terms of Σ 1 / (q + k)ˢ, and what Euler and Maclaurin say of the rest."""
    z, s, rest = np.asarray(q, float), np.asarray(s, float), np.asarray(q, float) + 1000
    terms = np.sum((z[..., None] + np.arange(1000.0)) ** -s[..., None], -1)
    return terms + rest ** (1 - s) / (s - 1) + 0.5 * rest**-s + s / 12 * rest ** (-s - 1)


def airy_series(x: Any, slope: bool) -> Any:
    """Ai or Ai' by the power series around 0: the constants Ai(0) and Ai'(0) are known by Γ."""
    value, derivative = 3 ** (-2 / 3) / math.gamma(2 / 3), -(3 ** (-1 / 3)) / math.gamma(1 / 3)
    a = [value, derivative, 0.0]
    for n in range(1, 60):
        a.append(a[n - 1] / ((n + 1) * (n + 2)))
    return sum(
        n * c * x ** (n - 1) if slope else c * x**n for n, c in enumerate(a) if n or not slope
    )


def gamma_share(a: Any, x: Any) -> Any:
    """The lower share of Γ(a) by its power series."""
    a, x = np.asarray(a, float), np.asarray(x, float)
    term = total = 1 / a * np.ones(np.shape(x))
    for k in range(1, 80):
        term = term * x / (a + k)
        total = total + term
    return total * x**a * np.exp(-x) / np.vectorize(math.gamma, otypes=[float])(a)


def eliminated(x: Any) -> Any:
    """Gaussian elimination of one matrix after the other, element by element."""
    out = x.copy()
    for a in out.reshape(-1, *x.shape[-2:]):
        for k in range(min(a.shape)):
            for i in range(k + 1, a.shape[0]):
                a[i, k] = a[i, k] / a[k, k]
                for j in range(k + 1, a.shape[1]):
                    a[i, j] = a[i, j] - a[i, k] * a[k, j]
    return out


def exchanges(x: Any) -> tuple[Any, Any]:
    """Which row (from 1) elimination brings to each place, and the order of the rows after that."""
    pivots = np.zeros((*x.shape[:-2], min(x.shape[-2:])), "int32")
    orders = np.zeros(x.shape[:-1], "int64")
    for place in np.ndindex(x.shape[:-2]):
        a, order = x[place].copy(), list(range(x.shape[-2]))
        for k in range(min(a.shape)):
            size = abs(a[:, k].real) + abs(a[:, k].imag)
            best = max(range(k, a.shape[0]), key=lambda i: size[i])
            pivots[(*place, k)] = best + 1
            order[k], order[best] = order[best], order[k]
            a[[k, best]] = a[[best, k]]
            for i in range(k + 1, a.shape[0]):
                a[i] = a[i] - a[i, k] / a[k, k] * a[k]
        orders[place] = order
    return pivots, orders


def householder(x: Any) -> tuple[Any, Any]:
    """Reflections that make x triangular: the turned matrix as LAPACK keeps it, and the factors."""
    out, taus = x.astype("float64"), np.zeros((*x.shape[:-2], min(x.shape[-2:])))
    for place in np.ndindex(x.shape[:-2]):
        a = out[place]
        for k in range(min(a.shape)):
            alpha, length = a[k, k], np.linalg.norm(a[k:, k])
            beta = -math.copysign(length, alpha) if k + 1 < a.shape[0] else alpha
            v = a[k:, k] / (alpha - beta) if alpha != beta else np.zeros(a.shape[0] - k)
            v[0] = 1
            tau = taus[(*place, k)] = (beta - alpha) / beta
            a[k:, k:] = a[k:, k:] - tau * np.outer(v, v @ a[k:, k:])
            a[k + 1 :, k] = v[1:]
    return np.swapaxes(out, -1, -2).astype(x.dtype), taus.astype(x.dtype)


def apart(x: Any) -> Any:
    """A matrix whose eigenvalues are real and apart (for elements up to 2), though it is not
    symmetric.
    """
    ones = registry["ones_like"](
        registry["diagonal"](x, offset=0, axis1=x.ndim - 2, axis2=x.ndim - 1)
    )
    steps = registry["cumsum"](ones, axis=x.ndim - 2) * 4.0
    return x * 0.5 + registry["diagonal_backward"](
        steps, offset=0, axis1=x.ndim - 2, axis2=x.ndim - 1, shape=tuple(x.shape)
    )


def eig_reference(x: Any) -> Any:
    n = x.shape[-1]
    found = np.linalg.eig((x * 0.5 + np.diag(4.0 * np.arange(1, n + 1))).astype(x.dtype))
    return [v.astype("complex64" if x.dtype == "float32" else "complex128") for v in found]


def running_sums(x: Any, axis: int) -> Any:
    return np.cumsum(x, axis, x.dtype)


def running_products(x: Any, axis: int) -> Any:
    return np.cumprod(x, axis, x.dtype)


def log_running_sums(x: Any, axis: int) -> Any:
    return np.log(np.cumsum(np.exp(x), axis, x.dtype))


def log_total(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    return np.log(np.sum(np.exp(x), axis=axes, keepdims=keepdims))


def not_larger(s: Any, v: Any, side: str) -> Any:
    """How many of each row's elements are not larger than each value."""
    return np.sum(s[:, None, :] <= v[..., None], -1)


def turned(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def inverted(x: Any) -> Any:
    """Cramer's rule."""
    return np.swapaxes(minors(x), -1, -2) / determinant(x)[..., None, None]


def left_inverse(x: Any) -> Any:
    """The pseudo-inverse of matrices with independent columns, by the normal equations."""
    return np.linalg.solve(turned(x) @ x, turned(x))


def cholesky_reference(x: Any) -> Any:
    return np.linalg.cholesky(positive_reference(x))


BEYOND = np.arange(4) - np.arange(3)[:, None]
"""On which diagonal each element of a 3 by 4 matrix lies."""


def eigh_reference(x: Any) -> Any:
    return np.linalg.eigh(positive_reference(x))


FACTORS: dict[str, Any] = {"half": (), "complex": False}
"""Complex factors are determined up to phases only, which NumPy chooses otherwise: they are
compared in tests/arrays.
"""

CASES += [
    # scans
    *(
        shaped(name, variant, reference, shape, params={"axis": axis}, complex=True)
        for name, reference in (("cumsum", running_sums), ("cumprod", running_products))
        for variant, shape, axis in [("rows", (3, 4), 0), ("last", (2, 3, 4), 2), ("one", (1, 3),
            0), ("none", (0, 3), 0)]
    ),
    shaped("recurrence", "columns", recurred, (3, 4), (3, 4), params={"axis": 1}),
    shaped("recurrence", "rows", recurred, (3, 4), (3, 4), params={"axis": 0}),
    shaped("logcumsumexp", "columns", log_running_sums, (3, 4), params={"axis": 1}, complex=False,
        half=("float16",)),
    *reductions("prod", np.multiply.reduce, "all", "kept", "outer", "number", "empty"),
    *reductions("logsumexp", log_total, "all", "kept", "outer", "number", complex=False, half=()),
    # order and counting
    shaped("argsort", "up", ordered, (3, 4), params={"axis": 0, "descending": False},
        complex=False),
    shaped("argsort", "down", ordered, (3, 4), params={"axis": 1, "descending": True},
        complex=False),
    shaped("cumulative_argmax", "largest", lambda x, axis, largest: latest_best(x, axis), (3, 4),
        params={"axis": 1, "largest": True}, complex=False),
    shaped("cumulative_argmax", "smallest", lambda x, axis, largest: latest_best(-x, axis), (4,),
        params={"axis": 0, "largest": False}, complex=False),
    # Fourier transforms
    *(
        shaped("fft", variant, fourier, shape, real=False, half=(),
            params={"axes": axes, "inverse": inverse, "scale": scale})
        for variant, shape, axes, inverse, scale in [
            ("one", (3, 5), (1,), False, 1.0),
            ("inverse", (4, 3), (0,), True, 0.25),
            ("two", (2, 3, 4), (0, 2), False, 0.5),
        ]
    ),
    # the largest of what is written
    *(
        Case(
            "scatter_extreme",
            lambda x, v, index, largest: largest_written(x if largest else -x, v if largest else -v,
                index) * (1 if largest else -1),
            (LOW_HALVES, HIGH_HALVES),
            ((3, 2), (4, 2)),
            {"index": (np.array([[0, 2], [2, 2], [0, 0], [0, 2]]), np.array([[0, 1]])),
                "largest": largest},
            variant="largest" if largest else "smallest",
            half=("float16",),
        )
        for largest in (True, False)
    ),
    Case("argwhere", lambda x: np.stack(np.nonzero(x), -1), ("bool",), ((3, 4),)),
    Case("bincount", lambda x, minlength: np.array([np.sum(x == k) for k in range(9)]), ("int",),
        ((12,),), {"minlength": 9}),
    shaped("searchsorted", "left", lambda s, v, side: np.sum(s < v[..., None], -1), (1,), (3, 4),
        params={"side": "left"}, complex=False),
    shaped("searchsorted", "rows", not_larger, (3, 1), (3, 4), params={"side": "right"},
        complex=False),
    # further element-wise functions
    binary("xlogy", lambda a, b: a * np.log(b), REALS, POSITIVE),
    binary("hypot", lambda a, b: np.sqrt(a * a + b * b), half=("float16",)),
    unary("erfc", in_dtype_of(np.vectorize(math.erfc, otypes=[float]))),
    unary("lgamma", in_dtype_of(np.vectorize(math.lgamma, otypes=[float])), BETWEEN_INTEGERS),
    unary("digamma", in_dtype_of(gamma_slope), BETWEEN_INTEGERS, precision=1e-11),
    *(unary("polygamma", in_dtype_of(gamma_slope), BETWEEN_INTEGERS, params={"n": n},
        variant=f"{n}", precision=1e-11) for n in (1, 2)),
    binary("heaviside", lambda x, v: np.where(x > 0, np.ones_like(v), np.zeros_like(v))),
    unary("erfinv", in_dtype_of(np.vectorize(normal_quantile, otypes=[float])), SMALL),
    unary("erfcx", in_dtype_of(np.vectorize(lambda x: math.exp(x * x) * math.erfc(x),
        otypes=[float]))),
    *(
        binary(name, lambda a, x, f=f: f(gamma_share(a, x)).astype(x.dtype), "fixed", POSITIVE,
            precision=1e-11)
        for name, f in (("igamma", lambda p: p), ("igammac", lambda p: 1 - p))
    ),
    *(
        unary("airy_ai", in_dtype_of(lambda x, slope: airy_series(x.astype(float), slope)),
            params={"slope": s}, variant=v, precision=1e-11)
        for s, v in ((False, "value"), (True, "slope"))
    ),
    binary("zeta", lambda x, q: hurwitz(q, x).astype(q.dtype), "fixed", POSITIVE, precision=1e-11),
    *(
        unary(name, in_dtype_of(lambda x, n, f=f, s=s: f(x.astype(float), n, s)), domain,
            params={"n": n}, variant=f"{n}", precision=1e-11)
        for name, f, s, domain in (("bessel_j", bessel_series, -1, REALS), ("bessel_y",
            bessel_second, -1, POSITIVE))
        for n in (0, 1, 2)
    ),
    *(
        unary(
            name,
            in_dtype_of(lambda x, n, scaled, f=f,
                p=power: f(x.astype(float), n,
                    1) * (np.exp(p * abs(x.astype(float))) if scaled else 1)),
            domain,
            params={"n": n, "scaled": scaled},
            variant=f"{n}{' scaled' * scaled}",
            precision=1e-11,
        )
        for name, f, power, domain in (("bessel_i", bessel_series, -1, REALS), ("bessel_k",
            bessel_second, 1, POSITIVE))
        for n in (0, 1, 2)
        for scaled in (False, True)
    ),
    unary("signbit", lambda x: x < 0),
    unary("exponent", lambda x: (np.floor(np.log2(abs(x.astype(float)))) + 1).astype("int32")),
    binary("copysign", np.copysign),
    binary("nextafter", in_dtype_of(np.vectorize(math.nextafter, otypes=[float])),
        half=("float16",)),
    binary("gcd", np.vectorize(math.gcd, otypes=[np.int64]), "int", "int"),
    binary("lcm", np.vectorize(math.lcm, otypes=[np.int64]), "int", "int"),
    binary("left_shift", lambda a, b: a * 2**b, "int", "int"),
    binary("right_shift", lambda a, b: a // 2**b, "int", "int"),
    # diagonals and triangles
    shaped("diagonal", "main", read_diagonal, (3, 4), params={"offset": 0, "axis1": 0, "axis2": 1}),
    shaped("diagonal", "upper", read_diagonal, (2, 4, 3),
        params={"offset": 1, "axis1": 2, "axis2": 0}),
    shaped("diagonal_backward", "lower", placed_diagonal, (2, 2),
        params={"offset": -1, "axis1": 1, "axis2": 2, "shape": (2, 3, 4)}),
    shaped("unfold", "apart", windows_along, (2, 5, 3), params={"axis": 1, "size": 2, "step": 2}),
    shaped("unfold", "overlapping", windows_along, (4, 2),
        params={"axis": 0, "size": 3, "step": 1}),
    shaped(
        "unfold_backward", "overlapping", windows_added, (2, 3, 3, 2),
        params={"axis": 1, "size": 2, "step": 1, "shape": (2, 4, 3)}
    ),
    shaped("tril", "below", lambda x, offset: x * (offset >= BEYOND).astype(x.real.dtype),
        (2, 3, 4), params={"offset": -1}),
    shaped("triu", "above", lambda x, offset: x * (offset <= BEYOND).astype(x.real.dtype), (3, 4),
        params={"offset": 1}),
    # inverses, determinants, factorisations
    shaped("inv", "batch", inverted, (2, 3, 3), half=(), precision=1e-10),
    shaped("solve", "batch", lambda a, b: inverted(a) @ b, (2, 3, 3), (2, 3, 2), half=(),
        precision=1e-10),
    shaped("pinv", "tall", lambda x, rtol: left_inverse(x), (4, 2), params={"rtol": 1e-12}, half=(),
        precision=1e-10),
    shaped("pinv", "wide", lambda x, rtol: turned(left_inverse(turned(x))), (2, 2, 4),
        params={"rtol": 1e-12}, half=(), precision=1e-10),
    shaped("det", "batch", determinant, (2, 3, 3), half=()),
    shaped("cofactors", "batch", minors, (2, 3, 3), half=(), precision=1e-10),
    shaped("logabsdet", "batch", lambda x: np.log(np.abs(determinant(x))), (2, 3, 3), half=(),
        precision=1e-10),
    shaped("detsign", "batch", lambda x: determinant(x) / np.abs(determinant(x)), (2, 3, 3),
        half=(), precision=1e-10),
    shaped("cholesky", "batch", cholesky_reference, (2, 3, 3), half=(),
        route=lambda x: registry["cholesky"](positive(x))),
    *(
        shaped("qr", "QR"[i], lambda x, i=i: np.linalg.qr(x)[i], (2, 4, 3), **FACTORS,
            route=factor("qr", i), precision=1e-10)
        for i in range(2)
    ),
    *(
        shaped("eigh", "wV"[i], lambda x, i=i: eigh_reference(x)[i], (2, 3, 3), **FACTORS,
            route=factor("eigh", i, positive))
        for i in range(2)
    ),
    *(
        shaped("eig", "wV"[i], lambda x, i=i: eig_reference(x)[i], (2, 3, 3), **FACTORS,
            route=factor("eig", i, apart), precision=1e-10)
        for i in range(2)
    ),
    shaped("lu", "square", eliminated, (2, 3, 3), half=(), precision=1e-9),
    shaped("lu", "tall", eliminated, (2, 4, 2), half=(), precision=1e-9),
    *(shaped("lu_pivots", v, lambda x: exchanges(x)[0], s, half=()) for v,
        s in (("tall", (2, 4, 3)), ("wide", (2, 3, 4)))),
    shaped(
        "pivots_to_permutation", "tall", lambda x: exchanges(x)[1], (2, 4, 3), half=(),
        route=lambda x: registry["pivots_to_permutation"](registry["lu_pivots"](x), size=4),
    ),
    *(
        shaped("reflections", f"{v} {i}", lambda x, part: householder(x)[part], s, **FACTORS,
            params={"part": i})
        for v, s in (("tall", (2, 4, 3)), ("wide", (2, 3)))
        for i in range(2)
    ),
    *(
        shaped("svd", variant, lambda x, i=i: np.linalg.svd(x, False)[i], shape, **FACTORS,
            route=factor("svd", i), precision=1e-9)
        for i, variant, shape in [(0, "U", (4, 3)), (1, "s", (2, 3, 4)), (2, "Vh", (3, 4))]
    ),
]  # fmt: skip
