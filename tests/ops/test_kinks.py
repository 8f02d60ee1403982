"""Kinks, ties, poles and corners: where a derivative has to be chosen, it is PyTorch's choice."""

import math

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import both, compare, equal

inf, nan = math.inf, math.nan
CORNERS = np.array([-inf, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, inf, nan])
GRID = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
LEFT, RIGHT = (
    a.ravel()
    for a in np.meshgrid(
        [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0], [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0]
    )
)

HALVES = (-0.5, 0.5, 1.5, 2.5)

_UNARY = """
    exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
    sqrt rsqrt square reciprocal neg abs sign sgn floor ceil trunc round sigmoid relu angle erf
"""
UNARY = _UNARY.split()


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("name", UNARY)
def test_corners_of_one_input(torch, name: str) -> None:
    """Zeros of both signs, ones, infinities, NaN: value and first two derivatives."""
    # PyTorch's acosh(-2) is NaN with a finite derivative; ours is NaN in both
    defined = CORNERS[3:] if name == "acosh" else CORNERS
    compare(torch, lambda lib, x: getattr(lib, name)(x), defined)


@pytest.mark.oracle
def test_softplus_agrees_with_pytorch_far_out(torch) -> None:
    """PyTorch's softplus becomes the identity above 20, which differs from ln(1 + e to the x) by
    less than 3e-9.
    """
    far = np.array([-inf, -1e4, -30.0, -1.0, 0.0, 1.0, 19.0, 30.0, 1e4, inf, nan])
    compare(
        torch,
        lambda lib, x: lib.softplus(x) if lib is mg else lib.nn.functional.softplus(x),
        far,
        tolerance=3e-9,
    )


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["maximum", "minimum", "atan2", "fmod", "remainder", "logaddexp"])
def test_ties_and_zeros_of_two_inputs(torch, name: str) -> None:
    compare(torch, lambda lib, a, b: getattr(lib, name)(a, b), LEFT, RIGHT)


@pytest.mark.oracle
@pytest.mark.parametrize("rounding", [None, "floor", "trunc"])
def test_rounded_division_agrees_with_pytorch(torch, rounding) -> None:
    compare(torch, lambda lib, a, b: lib.div(a, b, rounding_mode=rounding), LEFT, RIGHT)


@pytest.mark.oracle
def test_powers_of_zero_and_of_negative_numbers(torch) -> None:
    """Two tensors: every base in -2 … 3 with every exponent in -2 … 3, halves included; value,
    both gradients, second derivatives.
    """
    compare(torch, lambda lib, a, b: lib.pow(a, b), LEFT, RIGHT)


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("n", [-2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 2.0, 0.0])
def test_constant_powers_at_corners_agree_with_pytorch(torch, n) -> None:
    """PyTorch takes x**-0.5 (a derivative of x**0.5 …) for 1/sqrt(x), which differs from C's pow
    at -0 and -∞.
    """
    compare(
        torch, lambda lib, x: x**n, np.delete(CORNERS, [0, 4]) if n in HALVES else CORNERS, order=3
    )


@in_one_test
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("dtype", "n"),
    [("float32", n) for n in (1e10, 10**10, 2e7, 2**24, 2**24 + 2, 2.0**24 - 1)]
    + [("float16", 4000), ("float64", 2.0**54)],
)
def test_derivatives_of_large_even_powers(dtype: str, n, sign: int) -> None:
    """Their derivative is odd, though n - 1 is n again, or another even number, when it is rounded
    to the dtype. Signs are those of whole
    numbers, values those of float64: to the third derivative (where it is finite) and in both
    modes, for both zeros and infinities too.
    """
    n, whole = sign * n, sign * int(n)
    step = np.finfo(dtype).eps
    points = np.array(
        [
            -1,
            1,
            -1 - step,
            1 + step,
            -1 + step / 2,
            1 - step / 2,
            -0.0,
            0.0,
            -2,
            2,
            -0.5,
            0.5,
            -np.inf,
            np.inf,
        ],
        dtype,
    )
    f, factor = (lambda x: x**n), 1.0
    for exponent in (whole - 1, whole - 2, whole - 3)[: 1 if dtype == "float16" else 3]:
        factor *= exponent + 1
        slope = mg.func.grad(f)
        got = mg.func.vmap(slope)(mg.tensor(points)).numpy()
        (pushed,) = mg.func.jvp(f, (mg.tensor(points[0]),), (mg.tensor(np.ones((), dtype)),))[1:]
        with np.errstate(all="ignore"):
            want = (factor * np.abs(points.astype("float64")) ** float(exponent)).astype(dtype)
        want = np.where(np.signbit(points) & (exponent % 2 == 1), -want, want)
        np.testing.assert_allclose(got, want, rtol=2e-5 if dtype == "float32" else 4e-3)
        assert pushed.item() == pytest.approx(got[0], rel=1e-6)
        f = slope


@pytest.mark.oracle
@pytest.mark.parametrize("base", [0.0, 0.5, 2, -1.5])
def test_powers_of_constants(torch, base) -> None:
    compare(torch, lambda lib, x: base**x, GRID)


def test_a_flat_power_of_zero_stays_flat_for_its_cotangent() -> None:
    """The gradient of 0 to the b is 0 for every cotangent, so its derivative by the cotangent is
    0 too, and not 0 · ln 0.
    """
    a, b, g = (mg.tensor([value, 2.0], requires_grad=True) for value in (0.0, 0.3, 1.0))
    (by_b,) = mg.autograd.grad(a**b, b, g, create_graph=True)
    (by_g,) = mg.autograd.grad(by_b.sum(), g)
    np.testing.assert_allclose(by_g.tolist(), [0, 4 * math.log(2)], rtol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 1.0), (None, 0.0), (0.5, None), (1.0, -1.0), (-1, 2)]
)
def test_clamp_passes_the_gradient_at_its_bounds(torch, low, high) -> None:
    compare(torch, lambda lib, x: lib.clamp(x, low, high), CORNERS)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["amax", "amin"])
@pytest.mark.parametrize("dim", [None, 0, 1, (0, 1), -1])
def test_equal_extremes_share_the_gradient(torch, name: str, dim) -> None:
    x = np.array([[1.0, 3.0, 3.0], [3.0, 0.0, 0.0], [2.0, 2.0, 2.0]])
    compare(torch, lambda lib, x: getattr(lib, name)(x, () if dim is None else dim), x)
    compare(torch, lambda lib, x: getattr(lib, name)(x, 1, keepdim=True), x)


def test_extremes_over_nan_are_nan() -> None:
    """PyTorch finds no element equal to NaN and divides 0 by 0. Here the NaN elements share the
    gradient; the shares add up to 1.
    """
    x = mg.tensor([[1.0, nan, 3.0], [nan, nan, 0.0]], requires_grad=True)
    y = x.amax(1)
    assert np.isnan(y.tolist()).all()
    y.sum().backward()
    assert x.grad.tolist() == [[0, 1, 0], [0.5, 0.5, 0]]


@pytest.mark.oracle
def test_a_branch_not_taken_leaks_no_nan(torch) -> None:
    """The derivative of sqrt at 0 is infinite, of log at a negative number NaN; where that
    branch is not taken, none of it shows.
    """
    x = np.array([-1.0, 0.0, 4.0])
    compare(torch, lambda lib, x: lib.where(x > 0, x, lib.zeros_like(x)), x)
    ours, theirs = both(torch, [x])
    for lib, (t,) in ((mg, ours), (torch, theirs)):
        lib.where(t > 0, t, t * 2).sum().backward()
    equal(ours[0].grad, theirs[0].grad, "where")
    y = mg.tensor([0.0, 1.0], requires_grad=True)
    (mg.where(y > 0, y, mg.tensor([nan, nan])) * mg.tensor([0.0, 3.0])).sum().backward()
    assert y.grad.tolist() == [0.0, 3.0]


def test_relu_hides_an_infinite_cotangent() -> None:
    """1 / relu(x) has an infinite derivative by relu(x) where that is 0, and x = -1 is not to
    blame for it.
    """
    x = mg.tensor([-1.0, 2.0], requires_grad=True)
    (1 / mg.relu(x)).sum().backward()
    assert x.grad.tolist() == [0.0, -0.25]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(5001,), (90, 70), (4000,)])
def test_large_choices_against_zero_are_exact(dtype: str, shape) -> None:
    """Above 4,000 elements the choice is made on the bits: the same bits as NumPy's, NaN,
    infinities and zeros included.
    """
    rng = np.random.default_rng(2)
    x = np.resize(np.array([nan, inf, -inf, -0.0, 0.0, 1.5, -2.5], dtype), shape)
    taken = rng.random(shape) < 0.5
    for condition, values in (
        (taken, x),
        (taken.T, x.T),
        (taken[..., ::-1], x),
        (taken, x[..., ::-1]),
    ):
        for mine, numpys in (
            (
                mg.where(mg.from_numpy(condition), mg.from_numpy(values), 0.0),
                np.where(condition, values, np.zeros((), dtype)),
            ),
            (
                mg.where(mg.from_numpy(condition), 0.0, mg.from_numpy(values)),
                np.where(condition, np.zeros((), dtype), values),
            ),
        ):
            assert mine.dtype == dtype
            assert mine.numpy().tobytes() == numpys.tobytes()
    one_for_all = mg.where(mg.tensor(True), mg.tensor(x), 0.0)
    assert one_for_all.numpy().tobytes() == x.tobytes()


def test_halves_round_to_even() -> None:
    x = mg.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.25, 0.35], requires_grad=True)
    assert x.round().tolist() == [-2, -2, 0, 0, 2, 2, 0, 0]
    assert mg.round(x, decimals=1)[6].item() == pytest.approx(0.2)
    x.round().sum().backward()
    assert x.grad.tolist() == [0.0] * 8


# ----------------------------------------------------------------------- large numbers, no warnings


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_that_saturate_do_not_overflow(torch, dtype: str) -> None:
    """pytest turns every warning of NumPy into a failure: these stay silent too."""
    x = np.array([-1e4, -100.0, -40.0, -10.0, 0.0, 10.0, 40.0, 100.0, 1e4]).astype(dtype)
    tolerance = 1e-12 if dtype == "float64" else 1e-6
    compare(torch, lambda lib, x: lib.sigmoid(x), x, tolerance=tolerance)
    compare(torch, lambda lib, a, b: lib.logaddexp(a, b), x, x[::-1].copy(), tolerance=tolerance)
    compare(torch, lambda lib, x: lib.tanh(x), x, tolerance=tolerance)


def test_sigmoid_is_accurate_far_from_zero() -> None:
    """Relative accuracy also where the value is tiny (a form with tanh loses it: 1 - 0.99999 has
    few digits left).
    """
    for dtype, bound in (("float32", 3e-7), ("float64", 1e-15)):
        x = np.array([-80.0, -20.0, -10.0, -5.0, 3.0]).astype(dtype)
        want = 1 / (1 + np.exp(-x.astype("float64")))
        assert np.all(abs(mg.sigmoid(mg.tensor(x)).numpy() / want - 1) < bound)


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_singular_points_are_silent(shape, dtype: str) -> None:
    """log(0), 1/0, sqrt(-1), overflow: answers (infinity, NaN), not mistakes; for numbers and
    for arrays, and in the derivatives.
    """
    at = lambda v: mg.full(shape, v, dtype=dtype).requires_grad_()
    zero, minus, large = at(0.0), at(-1.0), at(1e30)
    results = [
        zero.log(),
        zero.log2(),
        zero.log10(),
        minus.log1p(),
        minus.log(),
        minus.sqrt(),
        minus.rsqrt(),
        zero.rsqrt(),
        zero.reciprocal(),
        1 / zero,
        zero / zero,
        zero**-1,
        zero**-0.5,
        minus**0.5,
        large**20,
        zero ** at(-1.0),
        minus ** at(0.5),
        at(1e4).exp(),
        at(1e4).exp2(),
        at(1e4).expm1(),
        at(1e4).sinh(),
        at(1e4).cosh(),
        at(2.0).asin(),
        at(2.0).acos(),
        at(0.5).acosh(),
        at(1.0).atanh(),
        at(3.0).atanh(),
        at(inf).sin(),
        at(inf).cos(),
        at(inf).tan(),
        at(1.0) // zero,
        at(1.0) % zero,
        at(1.0).fmod(zero),
        at(-1e4).sigmoid(),
        mg.softplus(at(inf)),
        at(inf).angle(),
        mg.complex(zero, at(inf)).real,
        at(1e300).to("float32"),
    ]
    for y in results:
        if y.requires_grad:
            y.sum().backward(retain_graph=True)


def test_infinite_parts_of_complex_numbers() -> None:
    z = mg.complex(mg.tensor([1.0, 0.0, -inf]), mg.tensor([inf, -inf, nan]))
    assert z.real.tolist() == [1.0, 0.0, -inf]
    assert z.imag.tolist()[:2] == [inf, -inf] and math.isnan(z.imag.tolist()[2])


# ----------------------------------------------------------------------------------------- integers


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_integer_division_and_remainders(torch, dtype: str) -> None:
    """Signs of quotients and remainders; true division gives float32."""
    a, b = np.array([7, -7, 7, -7, 0, 6]), np.array([3, 3, -3, -3, 5, -2])
    if dtype == "uint8":
        a, b = abs(a), abs(b)
    ours, theirs = both(torch, [a.astype(dtype), b.astype(dtype)])
    for function in (
        lambda lib, a, b: a // b,
        lambda lib, a, b: a % b,
        lambda lib, a, b: a / b,
        lambda lib, a, b: lib.fmod(a, b),
        lambda lib, a, b: lib.remainder(a, b),
        lambda lib, a, b: lib.div(a, b, rounding_mode="trunc"),
        lambda lib, a, b: lib.div(a, b, rounding_mode="floor"),
        lambda lib, a, b: a // 2,
        lambda lib, a, b: 7 % b,
        lambda lib, a, b: a**2,
        lambda lib, a, b: a / 2,
    ):
        equal(function(mg, *ours), function(torch, *theirs), "integers", 1e-6)


@pytest.mark.parametrize("shape", [(), (2,)])
def test_integers_divided_by_zero(shape) -> None:
    zero = mg.zeros(shape, dtype="int64")
    for divide in (
        lambda: (zero + 1) // zero,
        lambda: (zero + 1) % zero,
        lambda: mg.fmod(zero + 1, zero),
        lambda: 1 // zero,
        lambda: (zero + 1) % 0,
    ):
        with pytest.raises(ZeroDivisionError, match=r"float\(\)"):
            divide()
    assert np.all(((zero + 1) / zero).numpy() == inf)


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize(
    "name",
    [
        "exp",
        "log",
        "sin",
        "sqrt",
        "sigmoid",
        "tanh",
        "reciprocal",
        "expm1",
        "rsqrt",
        "erf",
        "atan",
        "floor",
        "ceil",
        "trunc",
        "abs",
        "neg",
        "sign",
        "square",
    ],
)
@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_integers_given_to_functions(torch, name: str, dtype: str) -> None:
    """Floating functions answer in the default dtype, the others in the integers' own; where
    PyTorch refuses, so may we.
    """
    x = np.array([1, 0, 4]).astype(dtype)
    ours, theirs = both(torch, [x])
    try:
        want = getattr(torch, name)(theirs[0])
    except RuntimeError:
        pytest.skip("PyTorch refuses")
    equal(getattr(mg, name)(ours[0]), want, name, 1e-6)
