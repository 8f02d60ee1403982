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
