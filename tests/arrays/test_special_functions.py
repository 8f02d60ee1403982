"""Special functions beyond the series of the table of cases: for large arguments, between their
methods, at their poles, and the equations that they solve.
"""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import special
from minigrad.autograd import forward_ad, gradcheck, gradgradcheck
from minigrad.errors import NotDifferentiableError
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import agree

INF, NAN = math.inf, math.nan
PLACES = [0.3, 24.9, 25.0, 25.1, 100.0]
VALUES = {
    "bessel_j0": [0.97762624653829609, 0.08324596835301549, 0.096266783275958116,
        0.10827567149994945, 0.019985850304223122],
    "bessel_j1": [0.148318816273104, -0.13485569953140887, -0.1253502495802899,
        -0.11463478413442257, -0.077145352014112158],
    "bessel_y0": [-0.80727357780451949, -0.13649918399676524, -0.12724943226800614,
        -0.11676770763803695, -0.077244313365083152],
    "bessel_y1": [-2.2931051383885291, -0.086002557595554252, -0.09882996478323741,
        -0.11062223322783099, -0.020372312002759793],
    "i0e": [0.75758062518254786, 0.080359332611532214, 0.080196773547436708, 0.080035197254296236,
        0.039944379299096683],
    "i1e": [0.1123775606398388, 0.078728794882103129, 0.078576113319292772, 0.078424315178368414,
        0.039744153025130253],
    "scaled_modified_bessel_k0": [1.8526273007720143, 0.24993215015402474, 0.24943660457559669,
        0.24894399546328753, 0.12517562165912658],
    "scaled_modified_bessel_k1": [4.1251577622444698, 0.25490238558081709, 0.25437732954208525,
        0.25385550089505651, 0.12579995047957853],
}  # fmt: skip
"""Computed with 30 digits by another program."""


@pytest.mark.parametrize("name", VALUES)
def test_values_are_accurate_near_and_far_from_zero(name: str) -> None:
    got = getattr(special, name)(mg.tensor(np.array(PLACES))).numpy()
    np.testing.assert_allclose(got, VALUES[name], rtol=3e-15, atol=3e-16)


def test_the_functions_know_each_other() -> None:
    """Wronskians and scaled forms, from tiny to huge."""
    x = mg.tensor(np.logspace(-6, 4, 400))
    j0, j1, y0, y1 = (
        f(x) for f in (special.bessel_j0, special.bessel_j1, special.bessel_y0, special.bessel_y1)
    )
    np.testing.assert_allclose((j1 * y0 - j0 * y1).numpy(), (2 / (math.pi * x)).numpy(), rtol=1e-11)
    i0, i1, k0, k1 = (
        f(x)
        for f in (
            special.i0e,
            special.i1e,
            special.scaled_modified_bessel_k0,
            special.scaled_modified_bessel_k1,
        )
    )
    np.testing.assert_allclose((i0 * k1 + i1 * k0).numpy(), (1 / x).numpy(), rtol=5e-15)
    x = x[x < 700]
    for plain, scaled, sign in (
        (special.i0, special.i0e, 1),
        (special.modified_bessel_k1, special.scaled_modified_bessel_k1, -1),
    ):
        np.testing.assert_allclose(
            plain(x).numpy(), (scaled(x) * mg.exp(sign * x)).numpy(), rtol=1e-12
        )


def test_symmetry_poles_and_ends() -> None:
    x = mg.tensor([-2.0, 0.0, 2.0, INF, -INF, NAN])
    for even in (special.bessel_j0, special.i0, special.i0e):
        y = even(x).tolist()
        assert y[0] == y[2] and y[1] == 1 and y[3] == y[4] and math.isnan(y[5])
    for odd in (special.bessel_j1, special.i1, special.i1e):
        y = odd(x).tolist()
        assert y[0] == -y[2] and y[1] == 0 and y[3] == -y[4] and math.isnan(y[5])
    assert special.i0(x).tolist()[3] == special.i1(x).tolist()[3] == INF
    assert special.bessel_j0(x).tolist()[3] == 0
    for second, pole in (
        (special.bessel_y0, -INF),
        (special.bessel_y1, -INF),
        (special.modified_bessel_k0, INF),
        (special.modified_bessel_k1, INF),
    ):
        y = second(x).tolist()
        assert math.isnan(y[0])
        assert y[1] == pole
        assert y[3] == 0
        assert math.isnan(y[4])
        assert math.isnan(y[5])
    assert special.i0(mg.tensor([713.0], dtype=mg.float64)).isfinite().all()
    assert special.i0(mg.tensor([89.0])).isfinite().all()


def test_bessel_functions_solve_their_equation() -> None:
    """x² f'' + x f' + (x² - n²) f = 0, with + for -, at 0 too: derivatives in both modes of
    second order.
    """
    x = mg.tensor(np.array([0.0, 0.5, 3.0, 24.9, 60.0]))
    for n, f, sign in (
        (0, special.bessel_j0, 1),
        (1, special.bessel_j1, 1),
        (0, special.i0e, -1),
        (1, special.i1e, -1),
    ):
        # the scaled function is no solution, e^x times it is
        g = f if sign > 0 else lambda v, f=f: f(v) * mg.exp(v - 30)
        first, second = mg.func.vmap(mg.func.grad(g)), mg.func.vmap(mg.func.grad(mg.func.grad(g)))
        left = x * x * second(x) + x * first(x) + (sign * x * x - n * n) * g(x)
        scale = (x * x + 1) * (1 + g(x).abs())
        assert (left / scale).abs().max() < 1e-12
    third = mg.func.grad(mg.func.grad(mg.func.grad(special.bessel_j1)))(
        mg.tensor(0.0, dtype=mg.float64)
    )
    assert math.isclose(third.item(), -3 / 8, rel_tol=1e-13)


@pytest.mark.parametrize(
    "name",
    [
        "erfcx",
        "bessel_j0",
        "bessel_y1",
        "i0",
        "i1e",
        "modified_bessel_k0",
        "scaled_modified_bessel_k1",
        "spherical_bessel_j0",
        "airy_ai",
    ],
)
def test_derivatives_pass_gradcheck(name: str) -> None:
    x = mg.tensor(np.array([0.4, 1.0, 1.1, 6.2, 6.4, 24.0, 26.0]), requires_grad=True)
    function = getattr(special, name)
    size = function(x.detach()).abs()
    scaled = lambda x: function(x) / size
    assert gradcheck(scaled, [x], check_forward_ad=True, fast_mode=True)
    assert gradgradcheck(scaled, [x], fast_mode=True)


def test_erfcx_is_accurate_and_finite() -> None:
    x = mg.tensor(np.array([0.0, -2.0, 1e-9, 3.0, 6.25, 6.3, 50.0, 1e6, 1e200, INF, -30.0, NAN]))
    y = special.erfcx(x).tolist()
    assert y[0] == 1
    assert math.isclose(y[1], math.exp(4) * math.erfc(-2), rel_tol=1e-15)
    assert math.isclose(y[2], 1 - 2e-09 / math.sqrt(math.pi), rel_tol=1e-15)
    for k in (3, 4, 5):
        assert math.isclose(
            y[k], math.exp(x[k].item() ** 2) * math.erfc(x[k].item()), rel_tol=3e-14
        )  # e^(x²) is no better
    assert math.isclose(y[6], 0.011281536265323773, rel_tol=1e-15)
    assert math.isclose(y[7], 1e-06 / math.sqrt(math.pi), rel_tol=1e-11)
    assert math.isclose(y[8], 1e-200 / math.sqrt(math.pi), rel_tol=1e-15)
    assert y[9] == 0
    assert y[10] == INF
    assert math.isnan(y[11])


def test_airy_is_accurate_and_continuous_at_its_seams() -> None:
    """Values of each method (computed with 30 digits by another program), the seams between
    them, and the equation y'' = x y.
    """
    x = mg.tensor(np.array([-100.0, -9.6, -9.5, -3.3, 0.4, 0.999, 1.0, 5.0, 50.0]))
    want = [
        0.17675339323955288,
        0.31465158331169326,
        0.3191032477191282,
        -0.41718093737455013,
        0.25474235429567635,
        0.13545163140435457,
        0.13529241631288142,
        0.00010834442813607442,
        4.5849417240748285e-104,
    ]
    np.testing.assert_allclose(special.airy_ai(x).numpy(), want, rtol=2e-13)
    for seam in (-9.5, 1.0, -4.5):
        sides = mg.tensor(np.array([seam - 1e-12, seam + 1e-12]))
        for f in (special.airy_ai, mg.func.vmap(mg.func.grad(special.airy_ai))):
            a, b = f(sides).tolist()
            assert math.isclose(a, b, rel_tol=1e-10)
    second = mg.func.vmap(mg.func.grad(mg.func.grad(special.airy_ai)))
    np.testing.assert_allclose(second(x).numpy(), (x * special.airy_ai(x)).numpy(), rtol=1e-14)
    ends = special.airy_ai(mg.tensor([INF, -INF, NAN])).tolist()
    assert ends[:2] == [0, 0] and math.isnan(ends[2])


def test_zeta_has_its_known_values_and_poles() -> None:
    z = lambda x, q: special.zeta(
        mg.tensor(x, dtype=mg.float64), mg.tensor(q, dtype=mg.float64)
    ).item()
    assert math.isclose(z(2.0, 1.0), math.pi**2 / 6, rel_tol=1e-15)
    assert math.isclose(z(4.0, 1.0), math.pi**4 / 90, rel_tol=1e-15)
    assert math.isclose(z(2.0, 0.5), math.pi**2 / 2, rel_tol=1e-15)  # (2² - 1) ζ(2)
    assert math.isclose(z(40.0, 100.0), 3.0973406595072184e-80, rel_tol=1e-13) and math.isclose(
        z(3.0, -2.5), z(3.0, 0.5) - 8 + -(1.5**-3) - 2.5**-3 + 0, rel_tol=1e-12
    )
    assert z(1.0, 2.0) == z(3.0, 0.0) == z(2.0, -4.0) == INF
    assert all(
        math.isnan(v) for v in (z(0.5, 1.0), z(2.5, -0.5), z(2.0, -60.5), z(NAN, 1.0), z(2.0, NAN))
    )
    x, q = mg.tensor(2.0, requires_grad=True), mg.tensor([1.0, 3.0], requires_grad=True)
    special.zeta(2.0, q).sum().backward()
    np.testing.assert_allclose(
        q.grad.numpy(), -2 * special.zeta(3.0, q.detach()).numpy(), rtol=1e-6
    )
    with pytest.raises(NotDifferentiableError, match=r"by q, none by x. Give x.detach"):
        special.zeta(x, q)
    with forward_ad.dual_level(), pytest.raises(NotDifferentiableError, match="none by x"):
        special.zeta(forward_ad.make_dual(mg.tensor(2.0), mg.tensor(1.0)), 1.0)


@pytest.mark.parametrize("a", [1, 5, 12, 50, 61, 200, 2000])
def test_incomplete_gamma_of_whole_numbers(a: int) -> None:
    """The upper share is then a finite sum, of the first a chances of the Poisson distribution;
    below, inside and beyond each method.
    """
    x = [a * r for r in (0.3, 0.55, 0.9, 0.999, 1.0, 1.04, 1.4, 1.6, 3.0)] + [a + 1.0]
    upper = [
        math.fsum(math.exp(k * math.log(v) - v - math.lgamma(k + 1)) for k in range(a)) for v in x
    ]
    shape, place = mg.tensor(float(a), dtype=mg.float64), mg.tensor(np.array(x))
    got = mg.igammac(shape, place).numpy()
    np.testing.assert_allclose(got, upper, rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(mg.igamma(shape, place).numpy() + got, 1, rtol=1e-15)
    assert special.gammainc is mg.igamma and special.gammaincc is mg.igammac


def test_ends_of_the_incomplete_gamma_function() -> None:
    a = mg.tensor([2.0, 2.0, 0.0, INF, -1.0, 2.0, 0.0, NAN])
    x = mg.tensor([0.0, INF, 3.0, 3.0, 1.0, -1.0, 0.0, 1.0])
    assert mg.igamma(a, x).tolist()[:4] == [0, 1, 1, 0]
    assert mg.igammac(a, x).tolist()[:4] == [1, 0, 0, 1]
    assert mg.isnan(mg.igamma(a, x)[4:]).all() and mg.isnan(mg.igammac(a, x)[4:]).all()
    shape = mg.tensor([0.5, 3.0], dtype=mg.float64)
    place = mg.tensor([0.7, 80.0], dtype=mg.float64, requires_grad=True)
    assert gradcheck(
        lambda v: (mg.igamma(shape, v), shape.igammac(v)), [place], check_forward_ad=True
    )
    with pytest.raises(
        NotDifferentiableError, match=r"igamma: has a derivative by x, none by a. Give a.detach"
    ):
        mg.igamma(place, 1.0)


def test_frexp_gives_mantissa_and_exponent_of_extreme_numbers() -> None:
    x = mg.tensor([3.0, -0.15, 0.0, 5e-324, -1.7e308, INF, NAN], dtype=mg.float64)
    mantissa, exponent = mg.frexp(x)
    assert mantissa.tolist()[:6] == [0.75, -0.6, 0, 0.5, -1.7e308 / 2**1023 / 2, INF]
    assert mg.isnan(mantissa[6])
    assert exponent.tolist()[:5] == [2, -2, 0, -1073, 1024]
    assert exponent.dtype == mg.int32
    assert mantissa.dtype == mg.float64
    v = mg.tensor([3.0, -0.15], requires_grad=True)
    v.frexp().mantissa.sum().backward()
    assert v.grad.tolist() == [0.25, 4]


# -------------------------------------------------------------------------------------- polynomials

X = np.array([-1.3, -1.0, -0.4, 0.0, 0.7, 1.0, 2.0])
POLYNOMIALS = [
    *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p",
]  # fmt: skip


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_agree_with_pytorch(torch, name: str) -> None:
    function = lambda m, x, n: getattr(m.special, name)(x.detach(), n)
    agree(torch, function, X, np.arange(-1, 6)[:, None])
    agree(
        torch,
        function,
        X.astype("float32")[:, None],
        np.array([0.0, 1.7, 3.0, 5.0]),
        tolerance=1e-5,
    )
    agree(
        torch,
        lambda m, x: [
            getattr(m.special, name)(x.detach(), 4),
            getattr(m.special, name)(0.3, m.arange(4)),
        ],
        X,
        tolerance=1e-6,
    )


@in_one_test
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_derivatives_of_polynomials(name: str) -> None:
    x = mg.tensor(X, requires_grad=True)
    function = lambda x: getattr(special, name)(x, mg.arange(6).unsqueeze(-1))
    assert gradcheck(function, [x], check_forward_ad=True, fast_mode=True)
    assert gradgradcheck(function, [x], fast_mode=True)
    np.testing.assert_allclose(
        mg.func.vmap(function)(x).detach().numpy(),
        function(x).T.unsqueeze(-1).detach().numpy(),
        rtol=1e-13,
    )


def test_a_high_degree_beside_a_low_one() -> None:
    """What overflows for one element says nothing about the gradient of another."""
    x = mg.tensor([1e18, 2.0], requires_grad=True)
    y = special.chebyshev_polynomial_t(x, mg.tensor([1, 20]))
    y.sum().backward()
    assert x.grad[0] == 1 and y[0] == x[0] and x.grad.isfinite().all()


def test_definitions_of_polynomials() -> None:
    t = mg.linspace(0, 3, 7, dtype="float64")
    x = mg.cos(t)
    np.testing.assert_allclose(
        special.chebyshev_polynomial_t(x, 6).numpy(), mg.cos(6 * t).numpy(), atol=1e-14
    )
    np.testing.assert_allclose(
        special.shifted_chebyshev_polynomial_t((x + 1) / 2, 6).numpy(),
        mg.cos(6 * t).numpy(),
        atol=1e-13,
    )
    assert special.legendre_polynomial_p(mg.tensor([3]), 2).tolist() == [13]
    assert special.hermite_polynomial_he(mg.tensor([2.0]), 3).tolist() == [2]
    assert special.laguerre_polynomial_l(mg.zeros(0), 3).shape == (0,)
    assert special.hermite_polynomial_h(mg.ones(2), mg.zeros(0, 1, dtype="int64")).shape == (0, 2)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_log1p_of_small_complex_numbers_keeps_their_digits(torch, dtype):
    """NumPy adds the 1 first: 1e-30 + 2e-30j gave 2e-30j."""
    numbers = [1e-30 + 2e-30j, -1e-5 + 1e-6j, 0.3 - 0.2j, 1e30 + 1e30j, -1 + 1e30j, -1 + 0j]
    got = mg.log1p(mg.tensor(numbers, dtype=getattr(mg, dtype)))
    want = torch.log1p(torch.tensor(numbers, dtype=getattr(torch, dtype)))
    for part in (np.real, np.imag):
        unit = 3e-7 if dtype == "complex64" else 1e-15
        np.testing.assert_allclose(part(got.numpy()), part(want.numpy()), rtol=unit, atol=0)
    assert str(got.dtype) == dtype
