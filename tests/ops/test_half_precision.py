"""Float16 and bfloat16 are computed in float32 and rounded once, as in PyTorch or better: beside
PyTorch and beside the same function in double precision.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test

UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Half the distance from 1 to the next number."""
TINIEST = {"float16": 2.0**-24, "bfloat16": 2.0**-133}
"""The smallest positive number."""
DTYPES = list(UNIT)


def values(x: Any) -> np.ndarray:
    """The elements of a tensor of either library in double precision."""
    return x.detach().double().numpy()


def agree(got: Any, want: Any, dtype: str, units: float, what: str) -> None:
    """Assert that `got` has the dtype, and differs from `want` by at most so many roundings."""
    assert str(got.dtype) == dtype, f"{what}: {got.dtype}"
    error = np.abs(values(got) - values(want))
    bound = units * (UNIT[dtype] * np.abs(values(want)) + TINIEST[dtype])
    assert np.all(error <= bound), f"{what} of {dtype}: {values(got)}, expected {values(want)}"


# ------------------------------------------------------------------------------ gradients of means

MANY = 70_000
"""Float16 has no such number, so a mean over so many elements must not divide by it in float16."""
MEANS: dict[str, tuple[tuple[int, ...], Callable[[Any, Any], Any]]] = {
    "mean": ((MANY,), lambda m, x: x.mean()),
    "mean over two axes": ((300, 300, 2), lambda m, x: x.mean((0, 1)).sum()),
    "nanmean": ((MANY,), lambda m, x: x.nanmean()),
    "var": ((MANY,), lambda m, x: x.var()),
    "std": ((MANY,), lambda m, x: x.std()),
    "own squared error": ((MANY,), lambda m, x: ((x - 0.25) ** 2).mean()),
    "mse_loss": ((MANY,), lambda m, x: m.nn.functional.mse_loss(x, m.zeros_like(x))),
    "l1_loss": ((MANY,), lambda m, x: m.nn.functional.l1_loss(x, m.zeros_like(x))),
    "huber_loss": ((MANY,), lambda m, x: m.nn.functional.huber_loss(x, m.zeros_like(x))),
    "smooth_l1_loss": ((MANY,), lambda m, x: m.nn.functional.smooth_l1_loss(x, m.zeros_like(x))),
    "soft_margin_loss": ((MANY,), lambda m, x: m.nn.functional.soft_margin_loss(x, x.detach())),
    "kl_div": (
        (MANY,),
        lambda m, x: m.nn.functional.kl_div(x, x.detach().abs(), reduction="mean"),
    ),
    "binary_cross_entropy_with_logits": (
        (MANY,),
        lambda m, x: m.nn.functional.binary_cross_entropy_with_logits(x, m.zeros_like(x)),
    ),
    "avg_pool1d": ((1, 1, MANY), lambda m, x: m.nn.functional.avg_pool1d(x, MANY).sum()),
    "adaptive_avg_pool2d": (
        (1, 1, 300, 300),
        lambda m, x: m.nn.functional.adaptive_avg_pool2d(x, 1).sum(),
    ),
    "largest of equal elements": ((MANY,), lambda m, x: (x * 0).amax()),
}


def gradient_of_mean(m: Any, name: str, dtype: Any) -> Any:
    """The gradient with respect to elements from 0.25 to 1, which float16 and bfloat16 hold."""
    shape, function = MEANS[name]
    start = (np.arange(np.prod(shape)) % 4 + 1) / 4
    x = m.tensor(start.reshape(shape), dtype=dtype).requires_grad_()
    function(m, x).backward()
    return x.grad


@pytest.mark.filterwarnings("ignore:reduction. .mean. divides the total loss")
@in_one_test
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MEANS)
def test_gradients_of_means_over_more_elements_than_float16_counts(
    torch: Any, name: str, dtype: str
) -> None:
    got = gradient_of_mean(mg, name, getattr(mg, dtype))
    agree(got, gradient_of_mean(mg, name, mg.float64), dtype, 8, name)
    theirs = gradient_of_mean(torch, name, getattr(torch, dtype))
    assert np.all((values(got) != 0) | (values(theirs) == 0)), name  # some are 0 in PyTorch alone


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_means_in_other_modes(dtype: str) -> None:
    """Recorded, compiled, and for a parameter of a layer."""
    make = lambda: mg.ones(MANY, dtype=getattr(mg, dtype)).requires_grad_()
    x = make()
    (recorded,) = mg.autograd.grad((x**2).mean(), x, create_graph=True)
    agree(recorded[0], mg.tensor(2 / MANY, dtype=mg.float64), dtype, 2, "recorded")
    (second,) = mg.autograd.grad(recorded[:3].sum(), x)
    agree(second[0], mg.tensor(2 / MANY, dtype=mg.float64), dtype, 2, "second derivative")

    def step(x: Any) -> Any:
        x.grad = None
        x.mean().backward()
        return x.grad[0]

    compiled, leaf = mg.compile(step), make()
    for _ in range(4):
        agree(compiled(leaf), mg.tensor(1 / MANY, dtype=mg.float64), dtype, 2, "compiled")
    layer = mg.nn.Linear(1, 1, dtype=getattr(mg, dtype))
    with mg.no_grad():
        layer.weight.zero_()
        layer.bias.zero_()
    ((layer(mg.ones(MANY, 1, dtype=getattr(mg, dtype))) - 1) ** 2).mean().backward()
    agree(layer.weight.grad, mg.tensor([[-2.0]], dtype=mg.float64), dtype, 4, "weight")


# ------------------------------------------------------------------ products with factors and sums

LONG = 5000
"""40 times so many ones overflow in float16, a hundred-thousandth of it does not."""
PRODUCTS: dict[str, tuple[Any, Any, Any]] = {
    "addmm": ((1, 1), (1, LONG), (LONG, 1)),
    "addmv": ((1,), (1, LONG), (LONG,)),
    "baddbmm": ((2, 1, 1), (2, 1, LONG), (2, LONG, 1)),
    "addbmm": ((1, 1), (2, 1, LONG), (2, LONG, 1)),
    "addr": ((2, 3), (2,), (3,)),
}


def added_product(m: Any, name: str, dtype: Any, in_place: bool, **factors: Any) -> list[Any]:
    """The result, and its gradients; those of the product's large operand are beyond float16."""
    shapes, size = PRODUCTS[name], 600.0 if name == "addr" else 40.0
    x, a, b = (m.full(s, v, dtype=dtype) for s, v in zip(shapes, (3.0, size, size), strict=True))
    if in_place:
        return [getattr(x, name + "_")(a, b, **factors)]
    for leaf in (x, a, b):
        leaf.requires_grad_()
    result = getattr(m, name)(x, a, b, **factors)
    result.sum().backward()
    return [result.detach(), x.grad, a.grad, b.grad]


@in_one_test
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_factors_of_products_are_applied_before_the_result_is_rounded(
    torch: Any, name: str, dtype: str, in_place: bool
) -> None:
    for factors in ({"alpha": 1e-5}, {"alpha": 1e-5, "beta": 0.3334}, {"alpha": 1e-4, "beta": 0}):
        what = f"{name} with {factors}"
        got = added_product(mg, name, getattr(mg, dtype), in_place, **factors)
        exact = added_product(mg, name, mg.float64, in_place, **factors)
        for ours, wanted in zip(got, exact, strict=True):
            agree(ours, wanted, dtype, 2, what)
        theirs = added_product(torch, name, getattr(torch, dtype), in_place, **factors)
        agree(got[0], theirs[0], dtype, 4, f"{what}, beside PyTorch")


# ---------------------------------------------------------------------------- arrays beside numbers

NUMBERS = (
    *(3.0004, 0.3334, 1e-7, 2e-8, 3e5, 70_000.0, -70_000.0, 0.1, 1e30, 1e-30, -1.5, 2, 70_001),
    *(0.0, -0.0, float("inf"), float("nan")),
)
"""Most of them are beyond float16 or between its numbers."""
ELEMENTS = (3.0, -3.0, 100.0, 1000.0, -1000.0, 60_000.0, 0.0, -0.0, 6.1e-5, float("inf"))
BESIDE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x * s": lambda m, x, s: x * s,
    "s * x": lambda m, x, s: s * x,
    "x / s": lambda m, x, s: x / s,
    "x // s": lambda m, x, s: x // s,
    "mul": lambda m, x, s: m.mul(x, s),
    "div": lambda m, x, s: m.div(x, s),
    "div to zero": lambda m, x, s: m.div(x, s, rounding_mode="trunc"),
    "mul_": lambda m, x, s: x.clone().mul_(s),
    "div_": lambda m, x, s: x.clone().div_(s),
    "x *= s": lambda m, x, s: x.clone().__imul__(s),
    "x /= s": lambda m, x, s: x.clone().__itruediv__(s),
    "part of x": lambda m, x, s: m.cat([x, x])[::2].mul_(s),
    "leaky_relu": lambda m, x, s: m.nn.functional.leaky_relu(x, s) if type(s) is float else x * s,
}


def same_or_nan(got: Any, want: Any) -> Any:
    """Where two tensors have the same bits, but for the sign of NaN."""
    a, b = values(got), values(want)
    return (a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))


@in_one_test
@pytest.mark.parametrize("number", ["number", "float32", "float64"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BESIDE)
def test_a_number_beside_half_precision_is_not_rounded(
    torch: Any, name: str, dtype: str, number: str
) -> None:
    """Bit for bit as in PyTorch; numbers, and tensors of one element and no axes (PyTorch rounds
    such a tensor where it comes first, so that s * x is not x * s there; here they are equal).
    """
    run, theirs = BESIDE[name], BESIDE["x * s" if name == "s * x" else name]
    for value in NUMBERS:
        if name == "leaky_relu" and (number != "number" or not value >= 0):
            continue

        def beside(m: Any, run: Any, value: Any = value) -> Any:
            s = value if number == "number" else m.tensor(value, dtype=getattr(m, number))
            return run(m, m.tensor(ELEMENTS, dtype=getattr(m, dtype)), s)

        got, want = beside(mg, run), beside(torch, theirs)
        assert str(got.dtype) == dtype, (name, value)
        equal = same_or_nan(got, want)
        assert equal.all(), (name, dtype, value, values(got)[~equal], values(want)[~equal])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_divided_by_half_precision_is_not_rounded(dtype: str) -> None:
    """PyTorch multiplies by a rounded reciprocal; here the quotient alone is rounded."""
    for value in NUMBERS:
        x = mg.tensor(ELEMENTS, dtype=getattr(mg, dtype))
        wanted = (np.float32(value) / x.float()).to(x.dtype)
        for s in (value, mg.tensor(value, dtype=mg.float32), mg.tensor(value, dtype=mg.float64)):
            assert same_or_nan(s / x, wanted).all(), value


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "x * s": lambda x, s: x * s,
    "x / s": lambda x, s: x / s,
    "s / x": lambda x, s: s / x,
    "x *= s": lambda x, s: x.clone().mul_(s),
    "chain": lambda x, s: (x * s + 1) * 0.3334 / 3e5 * x,
    "leaky_relu": lambda x, s: mg.nn.functional.leaky_relu(x, 1e-7) * s,
    "matrix": lambda x, s: (x.reshape(2, 5) * s).T / 70_000.0,
}


@in_one_test
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", ["number", "tensor"])
@pytest.mark.parametrize("name", CALLS)
def test_numbers_beside_half_precision_in_other_modes(name: str, number: str, dtype: str) -> None:
    """Plain, compiled, batched, without the fast paths: the same bits; gradients too."""
    run, kind = CALLS[name], getattr(mg, dtype)
    s = 1e-7 if number == "number" else mg.tensor(1e-7)

    def step(x: Any) -> Any:
        y = run(x, s)
        (slope,) = mg.autograd.grad(y.sum(), x, create_graph=True)
        (bend,) = mg.autograd.grad((slope * x).sum(), x)
        return y.detach(), slope.detach(), bend

    leaf = lambda: mg.tensor([v for v in ELEMENTS if v], dtype=kind).repeat(2)[:10].requires_grad_()
    plain = step(leaf())
    assert all(str(t.dtype) == dtype for t in plain)
    compiled = mg.compile(step)
    x = leaf()
    for _ in range(5):
        for got, want in zip(compiled(x), plain, strict=True):
            assert same_or_nan(got, want).all(), (name, number, dtype)
    with mg.fast.disabled():
        for got, want in zip(step(leaf()), plain, strict=True):
            assert same_or_nan(got, want).all(), (name, number, dtype)
    batch = mg.stack([leaf().detach(), leaf().detach().flip(0)])
    rows = mg.vmap(lambda row: run(row, s))(batch)
    assert rows.dtype == kind
    for row, result in zip(batch, rows, strict=True):
        assert same_or_nan(result, run(row, s)).all(), (name, number, dtype)


def test_gradients_of_numbers_beside_half_precision(torch: Any) -> None:
    """Of the array, of a number in float32, and forward mode."""
    for dtype in DTYPES:
        ends = []
        for m in (mg, torch):
            x = m.tensor([100.0, 1000.0], dtype=getattr(m, dtype)).requires_grad_()
            s = m.tensor(1e-7, requires_grad=True)
            (x * s).backward(m.tensor([30_000.0, 1.0], dtype=getattr(m, dtype)))
            y = m.tensor([2.0], dtype=getattr(m, dtype)).requires_grad_()
            (y / 3e5).sum().backward()
            along = m.tensor([10_000.0, 3.0], dtype=getattr(m, dtype))
            tangent = along * 1e-7
            if m is mg:
                tangent = mg.func.jvp(lambda x: x * 1e-7, (x.detach(),), (along,))[1]
            ends.append([x.grad, y.grad, tangent])
            assert s.grad is not None and str(s.grad.dtype).endswith("float32")
        for got, want in zip(*ends, strict=True):
            assert same_or_nan(got, want).all(), (dtype, got, want)


RULES: dict[str, tuple[Callable[[Any, Any], Any], tuple[float, ...]]] = {
    "tanh": (lambda m, x: x.tanh(), (0.3, -2.0, 3.0)),
    "sigmoid": (lambda m, x: x.sigmoid(), (0.3, -9.0, 4.0)),
    "rsqrt": (lambda m, x: x.rsqrt(), (0.001, 3.0, 60_000.0)),
    "reciprocal": (lambda m, x: x.reciprocal(), (0.01, -3.0, 1000.0)),
    "quotient": (lambda m, x: 3.0 / x, (0.02, 600.0, -600.0)),
    "asin": (lambda m, x: x.asin(), (0.3, -0.9, 0.99)),
    "atan": (lambda m, x: x.atan(), (0.3, 300.0, -2000.0)),
    "asinh": (lambda m, x: x.asinh(), (0.3, 300.0, -2000.0)),
    "log10": (lambda m, x: x.log10(), (0.001, 3.0, 30_000.0)),
    "erf": (lambda m, x: x.erf(), (0.3, -2.0, 2.5)),
    "softplus": (lambda m, x: m.nn.functional.softplus(x), (0.3, -9.0, 9.0)),
    "power": (lambda m, x: x**3.5, (0.3, 2.0, 20.0)),
    "cube": (lambda m, x: x**3, (0.3, 2.0, -35.0)),
    "ratio": (lambda m, x: x / (x + 300), (0.3, 200.0, 1000.0)),
    "hypot": (lambda m, x: m.hypot(x, m.full_like(x, 3)), (0.3, 300.0, 10_000.0)),
    "atan2": (lambda m, x: m.atan2(x, m.full_like(x, 300)), (0.3, 300.0, 3000.0)),
}


@in_one_test
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", RULES)
def test_derivatives_of_half_precision_are_rounded_once(torch: Any, name: str, dtype: str) -> None:
    """Reverse and forward mode, and second derivatives: not further from the exact ones (of the
    same elements in double precision) than PyTorch's are, or a few roundings.
    """
    function, elements = RULES[name]

    def derivatives(m: Any, kind: Any, start: Any) -> list[Any]:
        x = m.tensor(start, dtype=kind).requires_grad_()
        (first,) = m.autograd.grad(function(m, x).sum(), x, create_graph=True)
        (second,) = m.autograd.grad(first.sum(), x)
        found = [first.detach(), second]
        if m is mg:
            ones = mg.ones_like(x.detach())
            found.append(mg.func.jvp(lambda z: function(mg, z), (x.detach(),), (ones,))[1])
        return found

    start = mg.tensor(elements, dtype=getattr(mg, dtype)).double().tolist()
    exact = derivatives(mg, mg.float64, start)
    ours = derivatives(mg, getattr(mg, dtype), start)
    theirs = derivatives(torch, getattr(torch, dtype), start)
    for k, (got, want) in enumerate(zip(ours, exact, strict=True)):
        assert str(got.dtype) == dtype
        error = np.abs(values(got) - values(want))
        allowed = (6 if k == 1 else 2) * (UNIT[dtype] * np.abs(values(want)) + TINIEST[dtype])
        theirs_error = np.abs(values(theirs[0 if k == 2 else k]) - values(want))
        assert np.all(error <= np.fmax(allowed, 1.5 * theirs_error)), (
            f"{name} of {dtype}, derivative {k}: {values(got)}, expected {values(want)}, PyTorch"
            f" {values(theirs[0 if k == 2 else k])}"
        )


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng([*shape]).standard_normal(shape)


TARGET = np.array([1, 0, 3, 2, 2, 4])
LOSSES: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    **{
        name: (lambda F, x, t, name=name: getattr(F, name)(x, t), [random(6, 5), random(6, 5)])
        for name in "mse_loss l1_loss smooth_l1_loss huber_loss poisson_nll_loss".split()
    },
    "soft_margin_loss": (lambda F, x, t: F.soft_margin_loss(x, t), [random(6, 5), random(6, 5)]),
    "gaussian_nll_loss": (
        lambda F, x, t, v: F.gaussian_nll_loss(x, t, v),
        [random(4, 3), random(4, 3), np.abs(random(4, 3)) + 0.1],
    ),
    "binary_cross_entropy_with_logits": (
        lambda F, x, t: F.binary_cross_entropy_with_logits(input=x, target=t),
        [random(5, 4) * 3, np.abs(random(5, 4))],
    ),
    "cross_entropy": (lambda F, x: F.cross_entropy(x, torch_or(x, TARGET)), [random(6, 5)]),
    "nll_loss": (lambda F, x: F.nll_loss(x, torch_or(x, TARGET)), [random(6, 5)]),
    "multi_margin_loss": (
        lambda F, x: F.multi_margin_loss(x, torch_or(x, TARGET)),
        [random(6, 5)],
    ),
    "multilabel_soft_margin_loss": (
        lambda F, x, t: F.multilabel_soft_margin_loss(x, t),
        [random(6, 5), np.abs(random(6, 5))],
    ),
    "cosine_embedding_loss": (
        lambda F, x, y: F.cosine_embedding_loss(x, y, x.detach()[:, 0].sign()),
        [random(4, 3), random(4, 3)],
    ),
    "triplet_margin_loss": (
        lambda F, x, y, z: F.triplet_margin_loss(x, y, z),
        [random(4, 3), random(4, 3), random(4, 3)],
    ),
    "scaled_dot_product_attention": (
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v),
        [random(1, 2, 4, 8), random(1, 2, 5, 8), random(1, 2, 5, 8)],
    ),
}


def torch_or(like: Any, values: np.ndarray) -> Any:
    """The values as a tensor of the library of `like`."""
    return like.new_tensor(values.tolist()).long()


@in_one_test
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_attention_of_half_precision_are_rounded_once(name: str, dtype: str) -> None:
    """Values and gradients are those of float32, rounded."""
    function, arrays = LOSSES[name]
    ends = []
    for kind in (getattr(mg, dtype), mg.float32):
        leaves = [mg.tensor(a, dtype=getattr(mg, dtype)).to(kind).requires_grad_() for a in arrays]
        result = function(mg.nn.functional, *leaves)
        result.sum().backward()
        ends.append([result.detach(), *[leaf.grad for leaf in leaves]])
    for got, want in zip(*ends, strict=True):
        assert str(got.dtype) == dtype, name
        agree(got, want, dtype, 1.1, name)


def test_a_recorded_gradient_of_half_precision_requires_grad() -> None:
    """Also where it is a constant, with the derivative 0, as in float32."""
    for kind in (mg.float16, mg.bfloat16, mg.float32):
        for function in (mg.abs, mg.relu, mg.amax, lambda x: mg.maximum(x, x * 2), mg.sgn):
            x = mg.tensor([1.0, -2.0, 3.0], dtype=kind).requires_grad_()
            (first,) = mg.autograd.grad(function(x).sum(), x, create_graph=True)
            assert first.requires_grad and first.dtype == kind, (kind, function)
            (second,) = mg.autograd.grad(first.sum(), x)
            assert second.tolist() == [0, 0, 0] and second.dtype == kind


def test_powers_of_two_keep_the_dtype(torch: Any) -> None:
    for dtype in DTYPES:
        ends = [
            m.ldexp(m.tensor([1.5, -3.0], dtype=getattr(m, dtype)), m.tensor([3, -5]))
            for m in (mg, torch)
        ]
        assert same_or_nan(*ends).all() and str(ends[0].dtype) == dtype
