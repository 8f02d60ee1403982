"""`minigrad.masked`: against PyTorch, and what an element that does not count may hold."""

# a table: one case a line

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import func, masked
from minigrad.autograd import gradcheck, gradgradcheck
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import agree

R = np.random.default_rng(21)
X = R.standard_normal((3, 4))
Y = R.standard_normal((3, 4))
C = X + 1j * Y
WHOLE = R.integers(-5, 6, (3, 4))
MASK = np.array([[True, False, True, True], [False, False, False, False], [True, True, True, True]])
ROW = np.array([True, False, True, True])
SOME = np.array([[True, False, True, True], [False, True, False, True], [True, True, True, True]])

CASES = {
    **{
        f"{name} {over}": (lambda m, x, k, name=name,
            options=options: getattr(m.masked, name)(x, mask=k, **options), X, MASK)
        for name in ("sum", "prod", "amax", "amin", "mean", "logsumexp", "norm", "var", "std")
        for over, options in {"all": {"dim": None}, "rows": {"dim": 1}, "kept": {"dim": (0,),
            "keepdim": True}, "none": {"dim": ()}}.items()
        if name not in ("mean", "var", "std") or over != "rows"
    },
    "mean of none": (lambda m, x,
        k: [m.masked.mean(x.detach(), 1, mask=k), m.masked.var(x.detach(), 1, mask=k)], X, MASK),
    "norms": (lambda m, x,
        k: [m.masked.norm(x, p, 1, mask=k) for p in (1, 3.0, math.inf, -math.inf)], X, SOME),
    "cumsum": (lambda m, x, k: m.masked.cumsum(x, 1, mask=k), X, MASK),
    "cumprod": (lambda m, x, k: m.masked.cumprod(x, 0, mask=k), X, MASK),
    "argmax": (lambda m, x,
        k: [m.masked.argmax(x, mask=k), m.masked.argmax(x, 1, mask=k),
            m.masked.argmin(x, 0, keepdim=True, mask=k)], X, SOME),
    "median": (lambda m, x,
        k: [m.masked.median(x, mask=k), m.masked.median(x, 0, keepdim=True, mask=k)], X, SOME),
    "median of none": (lambda m, x, k: m.masked.median(x.detach(), 1, mask=k), X, MASK),
    "logaddexp": (lambda m, x, y, k: m.masked.logaddexp(x, y, input_mask=k, other_mask=~k), X, Y,
        SOME),
    "softmax": (lambda m, x, k: [m.masked.softmax(x, 1, mask=k), m.masked.softmin(x, 0, mask=k)], X,
        SOME),
    "log_softmax": (lambda m, x, k: m.where(k, m.masked.log_softmax(x, 1, mask=k), 0.0), X, SOME),
    "normalize": (lambda m, x,
        k: [m.masked.normalize(x, 2.0, 1, mask=k), m.masked.normalize(x, 1.0, 0, eps=3.0, mask=k)],
        X, SOME),
    "var options": (lambda m, x,
        k: [m.masked.var(x, 1, unbiased=False, mask=k), m.masked.var(x, 1, correction=0.5, mask=k),
            m.masked.std(x, 0, True, mask=k)], X, SOME),
    "var complex": (lambda m, x, k: m.masked.var(x, 1, mask=k).real, C, SOME),
    "sum complex": (lambda m, x,
        k: [m.masked.sum(x, 1, mask=k), m.masked.prod(x, 1, mask=k), m.masked.mean(x, 0, mask=k)],
        C, SOME),
    "mask of a row": (lambda m, x,
        k: [m.masked.sum(x, 0, mask=k), m.masked.mean(x, 1, mask=k), m.masked.amax(x, 1, mask=k)],
        X, ROW),
    "no mask": (lambda m,
        x: [m.masked.sum(x, 1), m.masked.mean(x, 0), m.masked.var(x), m.masked.softmax(x, 1),
            m.masked.median(x)], X),
    "integers": (lambda m, x,
        k: [m.masked.sum(x, 1, mask=k), m.masked.prod(x.to(m.int32), 1, mask=k),
            m.masked.amax(x, 1, mask=k), m.masked.cumsum(x.to(m.int32), 0, mask=k),
            m.masked.mean(x, 1, dtype=m.float32, mask=k), m.masked.median(x, 0, mask=k)], WHOLE,
            SOME),
    "dtype": (lambda m, x,
        k: [m.masked.sum(x, 1, dtype=m.float32, mask=k),
            m.masked.amax(x, 1, dtype=m.float32, mask=k),
            m.masked.argmax(x, 1, dtype=m.int64, mask=k)], X, SOME),
}  # fmt: skip


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("name", CASES)
def test_values_agree_with_pytorch(torch, name: str) -> None:
    import torch.masked  # `import torch` does not load it

    function, *arrays = CASES[name]
    detached = name in ("argmax", "dtype")
    agree(
        torch,
        (lambda m, x, k: function(m, x.detach(), k)) if detached else function,
        *arrays,
        tolerance=1e-6 if name == "dtype" else 1e-10,
    )


@in_one_test
@pytest.mark.parametrize(
    "name",
    [
        "sum",
        "prod",
        "mean",
        "amax",
        "norm",
        "logsumexp",
        "var",
        "std",
        "softmax",
        "cumprod",
        "median",
        "normalize",
    ],
)
def test_what_is_left_out_does_not_matter(name: str) -> None:
    """NaN and infinities there change neither the value nor the gradient, and get the gradient
    0.
    """
    options = {"ord": 2.0, "dim": 1} if name == "normalize" else {"dim": 1}
    function = lambda x: getattr(masked, name)(x, mask=mg.tensor(SOME), **options)
    results = []
    for holds in (0.5, math.nan, math.inf, -math.inf):
        x = mg.tensor(np.where(SOME, X, holds), requires_grad=True)
        y = function(x)
        (g,) = mg.autograd.grad((y * y).sum(), x)
        assert not g.numpy()[~SOME].any()
        results.append((y.detach().numpy(), g.numpy()))
    for y, g in results[1:]:
        np.testing.assert_array_equal(y, results[0][0])
        np.testing.assert_array_equal(g, results[0][1])


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "amin", "norm", "logsumexp", "var", "std"])
def test_derivatives_pass_gradcheck(name: str) -> None:
    x = mg.tensor(X, requires_grad=True)
    function = lambda x: getattr(masked, name)(x, dim=1, mask=mg.tensor(SOME))
    assert gradcheck(function, [x], check_forward_ad=True) and gradgradcheck(function, [x])
    batched = func.vmap(lambda row, k: getattr(masked, name)(row, dim=0, mask=k))(
        x, mg.tensor(SOME)
    )
    np.testing.assert_allclose(batched.detach().numpy(), function(x).detach().numpy(), rtol=1e-13)


def test_where_nothing_counts_each_reduction_has_its_identity() -> None:
    x, none = mg.tensor([1.0, 2.0]), mg.tensor([False, False])
    assert [
        getattr(masked, name)(x, mask=none).item()
        for name in ("sum", "prod", "amax", "amin", "logsumexp", "norm")
    ] == [
        0,
        1,
        -math.inf,
        math.inf,
        -math.inf,
        0,
    ]
    assert all(
        math.isnan(getattr(masked, name)(x, mask=none).item())
        for name in ("mean", "var", "std", "median")
    )
    assert masked.amax(mg.tensor([1, 2]), mask=none).item() == -(2**63)
    assert masked.sum(mg.zeros(0)).item() == 0
    assert masked.sum(mg.tensor(3.0), mask=mg.tensor(False)).item() == 0
