"""Complex derivatives against PyTorch: the gradient of a real loss is ∂L/∂Re + i ∂L/∂Im, the
conjugate Wirtinger derivative.
"""

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.torch_comparison import compare

RNG = np.random.default_rng(17)
UNARY = [
    "exp",
    "log",
    "log2",
    "log10",
    "log1p",
    "expm1",
    "exp2",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
]
UNARY += [
    "asinh",
    "acosh",
    "atanh",
    "sqrt",
    "rsqrt",
    "square",
    "reciprocal",
    "neg",
    "sgn",
    "abs",
    "angle",
    "sigmoid",
    "conj",
    "real",
    "imag",
]


def draw(*shape):
    """Numbers in all four quadrants, clear of the axes, where the branch cuts are."""
    part = lambda: RNG.uniform(0.25, 1.4, shape) * RNG.choice([-1, 1], shape)
    return np.asarray(part() + 1j * part())


@pytest.mark.oracle
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_complex_number(torch, name: str) -> None:
    compare(torch, lambda lib, z: getattr(lib, name)(z), draw(3, 4), tolerance=1e-11)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "matmul", "where"])
def test_functions_of_two_complex_numbers(torch, name: str) -> None:
    """Of two complex operands, and of a complex and a real one, whose gradient is real."""
    if name == "where":
        function = lambda lib, a, b: lib.where(lib.abs(a.detach()) > 0.8, a, b)
    else:
        function = lambda lib, a, b: getattr(lib, name)(a, b)
    a, b = draw(3, 3), draw(3, 3)
    compare(torch, function, a, b, tolerance=1e-11)
    # PyTorch refuses to multiply matrices of different dtypes, and its mixed `where` has no
    # derivative
    if name not in ("matmul", "where"):
        compare(torch, function, a, abs(b), tolerance=1e-11)
        compare(torch, function, abs(a), b, tolerance=1e-11)


@pytest.mark.oracle
def test_real_losses_of_complex_programs(torch) -> None:
    """Products, powers, sums, parts and indices together, as a program has them."""

    def program(lib, z, w, x):
        y = lib.matmul(z * x, w) / (2 + lib.abs(w).sum())
        y = lib.exp(y * 0.3) + lib.conj(y) ** 2 + y[[0, 2, 0]] * 1j
        return (lib.real(y) ** 2 + lib.imag(y) * lib.angle(y)).sum() + lib.abs(y.mean(0)).sum()

    compare(torch, program, draw(3, 3), draw(3, 3), RNG.standard_normal((3, 3)), tolerance=1e-10)


@pytest.mark.oracle
@pytest.mark.parametrize("n", [2, 3, -1, 0.5, 2.5, 0])
def test_constant_powers_of_complex_numbers_agree_with_pytorch(torch, n) -> None:
    compare(torch, lambda lib, z: z**n, draw(3, 4), tolerance=1e-11)


def test_a_real_leaf_gets_a_real_gradient() -> None:
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    ((x * (1 + 2j)).abs() ** 2).sum().backward()
    assert x.grad.dtype == x.dtype
    np.testing.assert_allclose(x.grad.numpy(), [10.0, 20.0], rtol=1e-6)


def test_a_complex_loss_needs_a_cotangent() -> None:
    z = mg.tensor(1 + 2j, requires_grad=True)
    with pytest.raises(mg.errors.NonScalarError, match="complex"):
        (z * z).backward()
