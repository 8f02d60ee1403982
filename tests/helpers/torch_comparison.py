"""Comparing with PyTorch: the same lines run on both libraries, and every number must agree, NaN
and infinity included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg


def both(torch: Any, arrays: Any, needed: bool = True) -> tuple[list[Any], list[Any]]:
    """Equal leaves in both libraries (floating and complex ones require gradients)."""
    ours = [mg.tensor(a) for a in arrays]
    theirs = [torch.tensor(np.asarray(a)) for a in arrays]
    for a, b in zip(ours, theirs, strict=True):
        if needed and np.dtype(a.dtype).kind in "fc":
            a.requires_grad_()
            b.requires_grad_()
    return ours, theirs


def dtype_name(tensor: Any) -> str:
    """float32, int64, …, of either library."""
    return str(tensor.dtype).removeprefix("torch.")


def equal(
    ours: Any, theirs: Any, what: str, tolerance: float = 1e-12, better: bool = False
) -> None:
    """Same shape, same dtype, same numbers, NaN and infinities included. `better`: a number
    where PyTorch has NaN is welcome.
    """
    assert tuple(ours.shape) == tuple(theirs.shape), (
        f"{what}: shape {ours.shape}, PyTorch has {tuple(theirs.shape)}"
    )
    assert dtype_name(ours) == dtype_name(theirs), (
        f"{what}: dtype {dtype_name(ours)}, PyTorch has {dtype_name(theirs)}"
    )
    a, b = ours.detach().numpy(), theirs.detach().numpy(force=True)
    if better:
        a = np.where(np.isnan(b), b, a)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True, err_msg=what)


def compare(
    torch: Any, function: Callable[..., Any], *arrays: Any, order: int = 2, tolerance: float = 1e-12
) -> None:
    """Value, gradient, and gradient of the gradient of `function(library, *tensors)` in both
    libraries. Cotangents are 1, 2, 3, … in order.

    A second derivative at infinity or at a pole is often 0 · ∞ = NaN only because of the formula
    chosen; there a number is accepted where PyTorch has NaN.
    """
    with np.errstate(all="ignore"):  # infinity minus infinity, which + and - do not hide
        _compare(torch, function, arrays, order, tolerance)


def _compare(
    torch: Any, function: Callable[..., Any], arrays: Any, order: int, tolerance: float
) -> None:
    ours, theirs = both(torch, arrays)
    y, z = function(mg, *ours), function(torch, *theirs)
    equal(y, z, "value", tolerance)
    leaves = [(a, b) for a, b in zip(ours, theirs, strict=True) if b.requires_grad]
    for depth in range(1, order + 1):
        if not z.requires_grad:
            return
        if not y.requires_grad:  # a constant here; there it must have the derivative 0
            rest = torch.autograd.grad(z.sum(), [b for _, b in leaves], materialize_grads=True)
            assert not any(b.any() for b in rest), f"order {depth}: only PyTorch has a gradient"
            return
        seed = np.arange(1, y.numel() + 1).reshape(y.shape).astype(y.dtype)
        g = mg.autograd.grad(
            y, [a for a, _ in leaves], mg.tensor(seed), create_graph=True, materialize_grads=True
        )
        h = torch.autograd.grad(
            z, [b for _, b in leaves], torch.tensor(seed), create_graph=True, materialize_grads=True
        )
        for i, (a, b) in enumerate(zip(g, h, strict=True)):
            equal(a, b, f"order {depth}, input {i}", tolerance, better=depth > 1)
        y = sum((a * (k + 1)).sum() for k, a in enumerate(g)) if len(g) > 1 else g[0].sum()
        z = sum((b * (k + 1)).sum() for k, b in enumerate(h)) if len(h) > 1 else h[0].sum()
