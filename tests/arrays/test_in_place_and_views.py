"""Methods with an underscore, and views: as in PyTorch, value and history both."""

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test

pytestmark = pytest.mark.oracle
M = np.random.default_rng(1).standard_normal((3, 4))
SOURCE = np.random.default_rng(2).standard_normal((3, 4))
PICK = np.array([[0, 2, 1, 1]])

CHANGES = {
    "masked_fill_": lambda m, x, s: x.masked_fill_(x > 0, 7.0),
    "masked_scatter_": lambda m, x, s: x.masked_scatter_(x > 0, s),
    "index_add_": lambda m, x, s: x.index_add_(0, m.tensor([2, 2, 0]), s),
    "index_copy_": lambda m, x, s: x.index_copy_(0, m.tensor([2, 0, 1]), s),
    "index_fill_": lambda m, x, s: x.index_fill_(1, m.tensor([0, 3]), 2.0),
    "scatter_": lambda m, x, s: x.scatter_(0, m.tensor(PICK), s[:1]),
    "scatter_ value": lambda m, x, s: x.scatter_(0, m.tensor(PICK), 2.0),
    "scatter_add_": lambda m, x, s: x.scatter_add_(0, m.tensor(PICK), s[:1]),
    "put_": lambda m, x, s: x.put_(m.tensor([[1, 2]]), s[0, :2].reshape(1, 2)),
    "tril_": lambda m, x, s: x.tril_(),
    "triu_": lambda m, x, s: x.triu_(1),
    "cumsum_": lambda m, x, s: x.cumsum_(1),
    "cumprod_": lambda m, x, s: x.cumprod_(0),
    "lerp_": lambda m, x, s: x.lerp_(s, 0.25),
    "addcmul_": lambda m, x, s: x.addcmul_(s, s, value=2),
    "addcdiv_": lambda m, x, s: x.addcdiv_(s, s * s + 1),
    "addmm_": lambda m, x, s: x.addmm_(s, s.T @ s),
    "nan_to_num_": lambda m, x, s: x.nan_to_num_(),
    "hypot_": lambda m, x, s: x.hypot_(s),
    "frac_": lambda m, x, s: x.frac_(),
    "sinc_": lambda m, x, s: x.sinc_(),
    "fill_diagonal_": lambda m, x, s: x.fill_diagonal_(3.0),
    "diagonal view": lambda m, x, s: x.diagonal().mul_(s.diagonal()),
    "diagonal of narrow": lambda m, x, s: x.narrow(1, 1, 3).diagonal(-1).copy_(s[0, :2]),
    "select view": lambda m, x, s: x.select(0, 1).mul_(s[0]),
}


@in_one_test
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("of_view", [False, True])
def test_an_in_place_method_agrees_with_pytorch(torch, name: str, of_view: bool) -> None:
    """The changed tensor, its base, and the gradients to what it held and to what was written."""
    results = []
    for m in (mg, torch):
        leaf, source = m.tensor(M, requires_grad=True), m.tensor(SOURCE, requires_grad=True)
        base = leaf * 2
        target = base
        if of_view:
            base = leaf.reshape(1, 3, 4) * 2
            target = base[0]
        CHANGES[name](m, target, source)
        weights = m.tensor(np.arange(12.0).reshape(base.shape))
        grads = m.autograd.grad(
            (base * weights).sum() + (target * target).sum(), [leaf, source], allow_unused=True
        )
        results.append([target, base, *grads])
    for ours, theirs in zip(*results, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(
                ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-12, atol=1e-12
            )


def test_trace_of_batches() -> None:
    """`mg.trace` is the package of Traces, so the function lives in `linalg`, and as a method
    (of matrices, as in PyTorch).
    """
    x = mg.tensor(np.stack([M, SOURCE]), requires_grad=True)
    np.testing.assert_allclose(mg.linalg.trace(x).detach().numpy(), [np.trace(M), np.trace(SOURCE)])
    assert mg.autograd.grad(mg.linalg.trace(x).sum(), x)[0].tolist() == [np.eye(3, 4).tolist()] * 2


def test_diagonal_is_a_view() -> None:
    x = mg.tensor(M)
    d = x.diagonal(1)
    x[0, 1] = 9.0
    assert d[0].item() == 9.0 and d._is_view()
    frozen = mg.from_numpy(np.broadcast_to(np.ones(1), (2, 2)))
    with pytest.raises(mg.errors.InPlaceError):
        frozen.diagonal().fill_(0)


@pytest.mark.parametrize(
    "name",
    [
        "split",
        "chunk",
        "unbind",
        "narrow",
        "select",
        "tensor_split",
        "meshgrid",
        "broadcast_tensors",
    ],
)
def test_parts_are_views(torch, name: str) -> None:
    calls = {
        "split": lambda m, x: m.split(x, 2, 1), "chunk": lambda m, x: m.chunk(x, 2),
        "unbind": lambda m, x: m.unbind(x),
        "narrow": lambda m, x: [x.narrow(0, 1, 2)], "select": lambda m, x: [x.select(1, 2)],
        "tensor_split": lambda m, x: m.tensor_split(x, 2),
        "meshgrid": lambda m, x: m.meshgrid(x[0], x[1], indexing="ij"),
        "broadcast_tensors": lambda m, x: m.broadcast_tensors(x[:1], x)[:1],
    }  # fmt: skip
    for ours, theirs in zip(
        calls[name](mg, mg.tensor(M)), calls[name](torch, torch.tensor(M)), strict=True
    ):
        assert ours._is_view() == theirs._is_view()
