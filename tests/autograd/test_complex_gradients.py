"""Complex numbers: the convention of the gradient, where real and complex meet, singular points,
branch cuts, views as real and complex. PyTorch is the oracle.

The gradient of a real loss L by z = a + ib is ∂L/∂a + i ∂L/∂b: the direction of steepest ascent, so
that z -= rate · gradient descends. (The conjugate Wirtinger derivative ∂L/∂z̄ is half of it.) The
checks of every function are in test_every_function.py.
"""

from functools import partial

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import grad
from minigrad.errors import AutogradError, DTypeError, InPlaceError, NonScalarError, ShapeError
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import agree

POINTS = [
    0j,
    1 + 0j,
    -1 + 0j,
    complex(-1, -0.0),
    1j,
    -1j,
    2 + 0j,
    -2 + 0j,
    complex(-2, -0.0),
    1e-30 + 0j,
    0.5 + 0.5j,
    -3 + 4j,
]
"""Zeros, branch points, both sides of the cuts along the real axis, and ordinary points."""


compare = partial(agree, order=1, tolerance=1e-9, forward=False, constants=True)


def leaf(*values: complex, dtype=mg.complex128) -> mg.Tensor:
    return mg.tensor(np.array(values), dtype=dtype, requires_grad=True)


# ----------------------------------------------------------------------------------- the convention


def test_the_gradient_is_the_direction_of_steepest_ascent() -> None:
    z = leaf(3 + 4j)
    (z.abs() ** 2).sum().backward()  # |z|² = a² + b²
    np.testing.assert_allclose(z.grad.numpy(), [6 + 8j], rtol=1e-15)
    z = leaf(3 + 4j)
    (z * z).real.sum().backward()  # a² - b²: ∂/∂a + i ∂/∂b = 2a - 2bi
    assert z.grad.tolist() == [6 - 8j]
    z = leaf(3 + 4j)
    (z * z).imag.sum().backward()  # 2ab
    assert z.grad.tolist() == [8 + 6j]


def test_gradient_descent_finds_a_complex_root() -> None:
    z = mg.tensor(1 + 1j, dtype=mg.complex128)
    for _ in range(200):
        g = mg.func.grad(lambda z: (z * z + 4).abs() ** 2)(z)
        z = z - 0.01 * g
    assert abs(z.item() - 2j) < 1e-9


@pytest.mark.parametrize("dtype", [mg.complex64, mg.complex128])
def test_gradients_have_the_dtypes_of_their_leaves(dtype) -> None:
    real = mg.float32 if dtype == mg.complex64 else mg.float64
    z, x = leaf(1 + 2j, dtype=dtype), mg.tensor([0.5], dtype=real, requires_grad=True)
    y = (z * x).exp().abs()
    assert y.dtype == real
    gz, gx = grad(y.sum(), [z, x])
    assert (gz.dtype, gx.dtype) == (dtype, real)


def test_a_real_leaf_gets_a_real_gradient() -> None:
    x, z = mg.tensor([2.0, 3.0], dtype=mg.float64, requires_grad=True), leaf(1 + 1j, 2 - 1j)
    for f in (
        lambda: x * z,
        lambda: x + z,
        lambda: z / x,
        lambda: z**x,
        lambda: x**z,
        lambda: mg.complex(x, x * 2) * z,
        lambda: mg.where(x > 2.5, x, z),
    ):
        (g,) = grad(f().abs().sum(), x)
        assert g.dtype == mg.float64
    (x * z).real.sum().backward()
    assert x.grad.tolist() == [1.0, 2.0]


def test_a_complex_loss_needs_a_cotangent() -> None:
    z = leaf(1 + 2j)
    with pytest.raises(
        NonScalarError,
        match=r"complex; a gradient is defined for real losses only.*\.real or \.abs\(\)",
    ):
        (z * z).sum().backward()
    with pytest.raises(NonScalarError, match="complex"):
        grad((z * z).sum(), z)
    # the gradient of Re(conj(i) z²) = Im z²
    (z * z).sum().backward(mg.tensor(1j, dtype=mg.complex128))
    assert z.grad.tolist() == [4 + 2j]
    with pytest.raises(AutogradError, match="cotangent 0 is complex"):
        z.abs().backward(mg.tensor([1j], dtype=mg.complex128))


def test_integer_and_bool_operands() -> None:
    z = leaf(1 + 2j)
    y = z * mg.tensor([3]) + mg.tensor([True])
    assert y.dtype == mg.complex128
    assert grad(y.real.sum(), z)[0].tolist() == [3 + 0j]


# --------------------------------------------------------------------- second and mixed derivatives


def test_the_third_derivative_of_a_holomorphic_function_is_right() -> None:
    z = mg.tensor(0.3 + 0.7j, dtype=mg.complex128)
    step = lambda f: lambda z: mg.func.jvp(f, (z,), (mg.ones_like(z),))[1]
    third = step(step(step(lambda z: z**3 * z.exp())))(z)
    expected = np.exp(0.3 + 0.7j) * sum(c * (0.3 + 0.7j) ** k for k, c in enumerate((6, 18, 9, 1)))
    assert abs(third.item() - expected) < 1e-13


# ------------------------------------------------------------------ singular points and branch cuts


def test_absolute_value_angle_and_sign_at_zero() -> None:
    z = leaf(0, 3 - 4j)
    np.testing.assert_allclose(grad(z.abs().sum(), z)[0].numpy(), [0, 0.6 - 0.8j], rtol=1e-15)
    (g,) = grad(z.angle().sum(), z)
    assert g.tolist()[0] == 0
    np.testing.assert_allclose(g.tolist()[1], (4 + 3j) / 25)
    assert grad(z.sgn().real.sum(), z)[0].tolist()[0] == 0


NAMES = """exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh
atanh sqrt rsqrt square reciprocal neg abs sgn sigmoid conj real imag angle"""


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES.split())
def test_singular_points_of_functions_like_pytorch(torch, name) -> None:
    compare(torch, lambda lib, z: getattr(lib, name)(z), np.array(POINTS))


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "atan2 of parts"])
def test_singular_points_of_operations_like_pytorch(torch, name) -> None:
    a, b = np.array([(a, b) for a in POINTS for b in POINTS]).T
    f = (
        (lambda lib, z, w: lib.atan2(z.real, w.imag))
        if name.startswith("atan2")
        else lambda lib, z, w: getattr(lib, name)(z, w)
    )
    compare(torch, f, a, b)


@pytest.mark.oracle
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, -0.5, 1.5, 2j, 1 + 1j])
def test_constant_powers_like_pytorch(torch, exponent) -> None:
    compare(torch, lambda lib, z: z**exponent, np.array(POINTS))


@pytest.mark.oracle
@pytest.mark.parametrize("base", [2.0, -2.0, 1j, -3 + 1j])
def test_powers_of_a_constant_like_pytorch(torch, base) -> None:
    compare(torch, lambda lib, z: base**z, np.array(POINTS))


@pytest.mark.oracle
def test_powers_like_pytorch(torch) -> None:
    """PyTorch answers NaN for 0⁰, for the slope of a¹ at 0 and for the slope of 0ᵇ; minigrad
    gives 1, 1 and 0, as for real numbers.
    """
    a, b = np.array([(a, b) for a in POINTS for b in POINTS]).T
    power = lambda lib, z, w: lib.pow(z, w)
    finer = (a == 0) & np.isin(b, [0, 1, 0.5 + 0.5j])
    compare(torch, power, a[~finer], b[~finer])
    z, w = mg.tensor(a[finer], requires_grad=True), mg.tensor(b[finer], requires_grad=True)
    y = z**w
    gz, gw = grad(y.real.sum(), [z, w])
    for exponent, value, by_base, by_exponent in zip(
        b[finer], y.tolist(), gz.tolist(), gw.tolist(), strict=True
    ):
        assert value == (1 if exponent == 0 else 0)
        assert by_exponent == 0
        assert exponent == 0.5 + 0.5j or by_base == exponent  # 0 · a⁻¹ counts as 0


@pytest.mark.oracle
def test_real_bases_and_exponents_like_pytorch(torch) -> None:
    x, z = np.array([1.0, -1.0, 2.0, 0.5]), np.array([1j, 0j, 2 + 0j, -1 + 1j])
    compare(torch, lambda lib, x, z: lib.pow(x, z), x, z)
    compare(torch, lambda lib, x, z: lib.pow(z, x), x, z)


@pytest.mark.oracle
def test_no_nan_from_the_branch_not_taken(torch) -> None:
    z = np.array([0j, 1 + 1j])
    compare(torch, lambda lib, z: lib.where(lib.abs(z) > 0, 1 / z, z), z)
    x = leaf(0, 1 + 1j)
    assert np.isfinite(
        grad(mg.where(x.abs() > 0, 1 / x.detach(), x).real.sum(), x)[0].numpy()
    ).all()


ORDERED_UNARY = "relu sign floor ceil trunc round amax amin argmax argmin erf softplus"
ORDERED_BINARY = "maximum minimum lt le gt ge fmod remainder floor_divide atan2 logaddexp"


@in_one_test
@pytest.mark.parametrize(
    "f",
    [
        *[lambda z, n=n: getattr(mg, n)(z) for n in ORDERED_UNARY.split()],
        *[lambda z, n=n: getattr(mg, n)(z, 2.0) for n in ORDERED_BINARY.split()],
        lambda z: z.clamp(0, 1),
        lambda z: mg.tensor([1.0]) < 1j,
    ],
)
def test_what_needs_an_order_refuses_complex_numbers(f) -> None:
    with pytest.raises(DTypeError, match="takes real numbers only, got complex"):
        f(leaf(1 + 1j))


# ------------------------------------------------------------------------ views as real and complex


def test_views_as_real_and_complex_share_memory() -> None:
    z = mg.tensor(np.array([1 + 2j, 3 + 4j]))
    pairs = mg.view_as_real(z)
    assert pairs.tolist() == [[1, 2], [3, 4]]
    pairs[0, 1] = 20.0
    z.imag[1] = 40.0
    z.real.mul_(2)
    assert z.tolist() == [2 + 20j, 6 + 40j]
    back = mg.view_as_complex(pairs)
    assert back.tolist() == z.tolist()
    assert back.data_ptr() == pairs.data_ptr() == z.data_ptr()
    assert pairs._base is z


@pytest.mark.parametrize("dtype", [mg.complex64, mg.complex128])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_shapes_and_dtypes_of_views(dtype, shape) -> None:
    z = mg.randn(*shape, dtype=dtype).requires_grad_()
    pairs = mg.view_as_real(z)
    assert (pairs.shape, pairs.dtype.itemsize * 2) == ((*shape, 2), z.dtype.itemsize)
    back = mg.view_as_complex(pairs)
    assert (back.shape, back.dtype) == (shape, dtype)
    (g,) = grad((back * (1 - 1j)).real.sum(), z)
    assert (g.dtype, g.shape) == (dtype, shape)
    np.testing.assert_array_equal(g.numpy(), np.full(shape, 1 + 1j))


def test_complex_views_of_unfit_tensors_are_refused() -> None:
    with pytest.raises(DTypeError, match="view_as_real: needs a complex tensor"):
        mg.view_as_real(mg.ones(2))
    with pytest.raises(DTypeError, match="view_as_complex: needs float32 or float64"):
        mg.view_as_complex(mg.tensor([1, 2]))
    with pytest.raises(ShapeError, match=r"last axis of size 2 .*got shape \(3,\)"):
        mg.view_as_complex(mg.ones(3))
    with pytest.raises(ShapeError, match="last axis of size 2"):
        mg.view_as_complex(mg.tensor(1.0))
    with pytest.raises(ShapeError, match=r"do not lie side by side.*contiguous"):
        mg.view_as_complex(mg.ones(2, 3).t())


@pytest.mark.oracle
@pytest.mark.parametrize(
    "change",
    [
        lambda lib, z, w: z.real.mul_(w.abs()),
        lambda lib, z, w: z.imag.add_(w.real * z.real),
        lambda lib, z, w: z.imag.add_(w.real * z.real.clone()),
        lambda lib, z, w: lib.view_as_real(z).mul_(w.abs()[:, None]),
        lambda lib, z, w: lib.view_as_real(z)[..., 0].copy_(w.imag),
        lambda lib, z, w: z[1:].imag.zero_(),
        lambda lib, z, w: lib.view_as_complex(lib.view_as_real(z)).mul_(w),
    ],
)
def test_in_place_changes_through_views_like_pytorch(torch, change) -> None:
    def program(lib, z, w):
        b = z * (1 + 0.5j)
        view = b.real
        change(lib, b, w)
        return (b * b.conj()).real + view + w.real

    values = np.array([1 + 2j, -0.5 + 1j, 0.3 - 2j])

    def gradients(lib):
        leaves = [lib.tensor(a, requires_grad=True) for a in (values, values[::-1].copy())]
        return lib.autograd.grad(program(lib, *leaves).sum(), leaves)

    try:
        gradients(torch)
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
        with pytest.raises(InPlaceError, match="the backward rule of mul needs"):
            gradients(mg)
        return
    compare(torch, program, values, values[::-1].copy())


def test_view_of_a_leaf_cannot_be_overwritten() -> None:
    z = leaf(1 + 2j)
    with pytest.raises(InPlaceError, match="view of a leaf"):
        z.real.zero_()
    with pytest.raises(InPlaceError, match="view of a leaf"):
        mg.view_as_real(z).zero_()


# -------------------------------------------------------------------------- products and reductions


@pytest.mark.oracle
def test_assigning_a_part_writes_it_in_place_with_history(torch):
    results = []
    for lib in (mg, torch):
        z = lib.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        v = lib.tensor([5.0, 6.0], requires_grad=True)
        y = z * 2
        y.real = v * 3
        y.imag[0] = 0.5
        (y.real * y.imag).sum().backward()
        x = lib.zeros(2)
        x.real = 1.0
        results.append([t.tolist() for t in (y, z.grad, v.grad, x)])
    assert results[0] == results[1]
    with pytest.raises(mg.errors.DTypeError, match="imag: needs a complex tensor"):
        mg.zeros(2).imag = 1.0
