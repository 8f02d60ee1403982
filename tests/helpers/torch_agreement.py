"""Lines that run on minigrad and on PyTorch, and whose numbers must all agree: values, gradients,
their gradients; and tangents with the gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.autograd import forward_ad as fwad


def listed(result: Any) -> list[Any]:
    """One result or several, as a list."""
    return list(result) if isinstance(result, tuple | list) else [result]


def numbers(tensor: Any) -> Any:
    return np.asarray(tensor.detach().numpy(force=True))


def kind(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def same(ours: Any, theirs: Any, what: str, tolerance: float, better: bool = False) -> None:
    """Shape, dtype and numbers; NaN equals NaN. `better`: a number where PyTorch has NaN or
    infinity is welcome.
    """
    assert tuple(ours.shape) == tuple(theirs.shape), (
        f"{what}: shape {ours.shape}, PyTorch has {tuple(theirs.shape)}"
    )
    assert kind(ours) == kind(theirs), f"{what}: dtype {ours.dtype}, PyTorch has {theirs.dtype}"
    a, b = numbers(ours), numbers(theirs)
    if better:
        a = np.where(np.isfinite(b), a, b)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True, err_msg=what)


def leaves(torch: Any, arrays: Any) -> tuple[list[Any], list[Any]]:
    ours = [mg.from_numpy(np.asarray(a)) for a in arrays]
    theirs = [torch.from_numpy(np.ascontiguousarray(a).reshape(np.shape(a))) for a in arrays]
    for a, b in zip(ours, theirs, strict=True):
        if a.dtype.kind in "fc":
            a.requires_grad_()
            b.requires_grad_()
    return ours, theirs


def seeds(tensors: list[Any]) -> list[Any]:
    """Cotangents 1, 2, 3, … (with imaginary parts for complex results)."""
    made = []
    for t in tensors:
        u = np.arange(1, t.numel() + 1, dtype="float64").reshape(tuple(t.shape))
        u = u - 0.5j * u[..., ::-1] if "complex" in kind(t) and u.ndim else u
        made.append(u.astype(kind(t)))
    return made


def total(gradients: Any) -> Any:
    """One real number made of several gradients."""
    parts = [
        ((g.real * g.real + g.imag) if g.is_complex() else g * g + g).sum() * (k + 1)
        for k, g in enumerate(gradients)
    ]
    return sum(parts[1:], start=parts[0])


def agree(
    torch: Any,
    function: Callable[..., Any],
    *arrays: Any,
    order: int = 2,
    tolerance: float = 1e-10,
    forward: bool = True,
) -> None:
    """Compare `function(library, *tensors)`."""
    with np.errstate(all="ignore"):
        _agree(torch, function, arrays, order, tolerance, forward)


def _agree(
    torch: Any, function: Any, arrays: Any, order: int, tolerance: float, forward: bool
) -> None:
    ours, theirs = leaves(torch, arrays)
    ys, zs = listed(function(mg, *ours)), listed(function(torch, *theirs))
    assert len(ys) == len(zs)
    for i, (y, z) in enumerate(zip(ys, zs, strict=True)):
        same(y, z, f"value {i}", tolerance)
        assert y.requires_grad == z.requires_grad, (
            f"value {i}: requires_grad {y.requires_grad}, PyTorch has {z.requires_grad}"
        )
    live = [(y, z) for y, z in zip(ys, zs, strict=True) if z.requires_grad]
    if not live or not order:
        return
    xs, ws = [a for a in ours if a.requires_grad], [b for b in theirs if b.requires_grad]
    us = seeds([z for _, z in live])
    gs = mg.autograd.grad(
        [y for y, _ in live],
        xs,
        [mg.tensor(u) for u in us],
        create_graph=order > 1,
        materialize_grads=True,
    )
    hs = torch.autograd.grad(
        [z for _, z in live],
        ws,
        [torch.tensor(u) for u in us],
        create_graph=order > 1,
        materialize_grads=True,
    )
    for i, (g, h) in enumerate(zip(gs, hs, strict=True)):
        same(g, h, f"gradient {i}", tolerance)
    if forward:
        tangents_fit(function, arrays, us, gs)
    if order > 1:
        t, s = total(gs), total(hs)
        if not s.requires_grad:
            assert not t.requires_grad or not any(
                g.numpy().any() for g in mg.autograd.grad(t, xs, materialize_grads=True)
            )
            return
        if not t.requires_grad:
            rest = torch.autograd.grad(s, ws, materialize_grads=True)
            assert not any(numbers(h).any() for h in rest), "only PyTorch has a second derivative"
            return
        gs = mg.autograd.grad(t, xs, materialize_grads=True)
        hs = torch.autograd.grad(s, ws, materialize_grads=True)
        scale = max(
            [
                1.0,
                *(float(np.nan_to_num(np.abs(numbers(h)), posinf=1.0).max(initial=0)) for h in hs),
            ]
        )
        for i, (g, h) in enumerate(zip(gs, hs, strict=True)):
            same(g, h, f"second derivative {i}", tolerance * scale, better=True)


def tangents_fit(function: Any, arrays: Any, us: list[Any], gradients: Any) -> None:
    """⟨u, J v⟩ = ⟨Jᵀ u, v⟩ for the tangents that forward mode computes."""
    rng = np.random.default_rng(5)
    inner = lambda a, b: float(np.real(np.sum(np.conj(a.astype("complex128")) * b)))
    vs = []
    for a in arrays:
        a = np.asarray(a)
        v = rng.standard_normal(a.shape) + (
            1j * rng.standard_normal(a.shape) if a.dtype.kind == "c" else 0
        )
        vs.append(np.asarray(v).astype(a.dtype))
    with fwad.dual_level():
        given = [mg.tensor(np.asarray(a)) for a in arrays]
        duals = [
            fwad.make_dual(x, mg.tensor(v)) if x.dtype.kind in "fc" else x
            for x, v in zip(given, vs, strict=True)
        ]
        outs = [fwad.unpack_dual(y) for y in listed(function(mg, *duals))]
        pushed = [
            numbers(o.tangent) if o.tangent is not None else np.zeros(o.primal.shape)
            for o in outs
            if o.primal.dtype.kind in "fc"
        ]
    pairs = [(u, t) for u, t in zip(us, pushed, strict=False)] if len(us) == len(pushed) else []
    assert pairs, "forward mode and reverse mode differ in which results have derivatives"
    left = sum(inner(u, t) for u, t in pairs)
    right = sum(
        inner(numbers(g), v)
        for g, v in zip(gradients, [v for v in vs if v.dtype.kind in "fc"], strict=True)
    )
    if np.isfinite(right):
        assert abs(left - right) <= 1e-9 * (1 + abs(right)), (
            f"forward mode gives {left}, reverse mode {right}"
        )
