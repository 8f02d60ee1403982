"""Lines that run on minigrad and on PyTorch, and whose numbers must all agree, NaN and infinity
included: values, gradients, their gradients; and tangents with the gradients.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.autograd import forward_ad as fwad


def normal(*shape: int, seed: int = 0, dtype: str = "float64") -> Any:
    """Normal numbers that are equal at each call."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def ranks(*shape: int, seed: int = 0) -> Any:
    """Small whole numbers as floats: full of ties."""
    return np.random.default_rng([seed, *shape]).integers(0, 4, shape).astype("float64")


def classes(count: int, *shape: int, seed: int = 0) -> Any:
    """Class indices."""
    return np.random.default_rng([seed, count, *shape]).integers(0, count, shape)


def flat(result: Any) -> list[Any]:
    """The tensors of a result, or of nested tuples of them."""
    if isinstance(result, tuple | list):
        return [tensor for part in result for tensor in flat(part)]
    return [] if result is None else [result]


def numbers(tensor: Any) -> Any:
    return np.asarray(tensor.detach().numpy(force=True))


def dtype_name(tensor: Any) -> str:
    """float32, int64, …, of either library."""
    return str(tensor.dtype).removeprefix("torch.")


def equal(
    ours: Any, theirs: Any, what: str, tolerance: float = 1e-12, better: bool = False
) -> None:
    """Same shape, same dtype, same numbers; NaN equals NaN. `better`: a number where PyTorch has
    NaN or infinity is welcome.
    """
    assert tuple(ours.shape) == tuple(theirs.shape), (
        f"{what}: shape {ours.shape}, PyTorch has {tuple(theirs.shape)}"
    )
    assert dtype_name(ours) == dtype_name(theirs), (
        f"{what}: dtype {ours.dtype}, PyTorch has {theirs.dtype}"
    )
    a, b = numbers(ours), numbers(theirs)
    if better:
        a = np.where(np.isfinite(b), a, b)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True, err_msg=what)


def both(torch: Any, arrays: Any, needed: bool = True) -> tuple[list[Any], list[Any]]:
    """Equal leaves in both libraries (floating and complex ones require gradients)."""
    ours = [mg.from_numpy(np.asarray(a)) for a in arrays]
    theirs = [torch.from_numpy(np.ascontiguousarray(a).reshape(np.shape(a))) for a in arrays]
    for a, b in zip(ours, theirs, strict=True):
        if needed and a.dtype.kind in "fc":
            a.requires_grad_()
            b.requires_grad_()
    return ours, theirs


def cotangents(tensors: list[Any], depth: int) -> list[Any]:
    """Random numbers in the shapes and dtypes of some tensors, other ones for each."""
    made = []
    for i, t in enumerate(tensors):
        u = normal(*t.shape, seed=100 * depth + i)
        u = u - 0.5j * u[..., ::-1] if t.is_complex() and u.ndim else u
        made.append(u.astype(dtype_name(t)))
    return made


def agree(
    torch: Any,
    function: Callable[..., Any],
    *arrays: Any,
    order: int = 2,
    tolerance: float = 1e-10,
    forward: bool = True,
    constants: bool = False,
) -> None:
    """Compare `function(library, *tensors)` and its derivatives up to an order, with random
    cotangents.

    A second derivative at infinity or at a pole is often 0 · ∞ = NaN only because of the formula
    chosen; there a number is accepted where PyTorch has NaN. forward: also whether tangents fit;
    constants: results may have no history where PyTorch has a derivative of 0.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch's, about its own speed
        us = _agree(torch, function, arrays, order, tolerance, constants)
        if forward and us:
            tangents_fit(function, arrays, *us)


def _agree(
    torch: Any, function: Any, arrays: Any, order: int, tolerance: float, constants: bool
) -> Any:
    """The first cotangents and gradients, if there are any."""
    ours, theirs = both(torch, arrays)
    ys, zs = flat(function(mg, *ours)), flat(function(torch, *theirs))
    assert len(ys) == len(zs)
    for i, (y, z) in enumerate(zip(ys, zs, strict=True)):
        equal(y, z, f"value {i}", tolerance)
        assert constants or y.requires_grad == z.requires_grad, (
            f"value {i}: requires_grad {y.requires_grad}, PyTorch has {z.requires_grad}"
        )
    xs, ws = [a for a in ours if a.requires_grad], [b for b in theirs if b.requires_grad]
    first = None
    for depth in range(1, order + 1):
        alone = [z for y, z in zip(ys, zs, strict=True) if z.requires_grad and not y.requires_grad]
        if alone:
            rest = torch.autograd.grad(
                [z.abs().sum() for z in alone], ws, materialize_grads=True, retain_graph=True
            )
            assert not any(numbers(b).any() for b in rest), f"only PyTorch has derivative {depth}"
        live = [(y, z) for y, z in zip(ys, zs, strict=True) if y.requires_grad and z.requires_grad]
        if not live:
            return first
        us = cotangents([z for _, z in live], depth)
        options = {"create_graph": depth < order, "materialize_grads": True}
        ys = mg.autograd.grad([y for y, _ in live], xs, [mg.tensor(u) for u in us], **options)
        zs = torch.autograd.grad([z for _, z in live], ws, [torch.tensor(u) for u in us], **options)
        sizes = [float(np.nan_to_num(abs(numbers(h)), posinf=1.0).max(initial=0)) for h in zs]
        for i, (g, h) in enumerate(zip(ys, zs, strict=True)):
            scaled = tolerance * max(1.0, *sizes) if depth > 1 else tolerance
            equal(g, h, f"derivative {depth} by input {i}", scaled, better=depth > 1)
        first = first or (us, ys)
    return first


def functionals_agree(
    torch: Any, function: Callable[..., Any], *arrays: Any, **options: Any
) -> None:
    """Compare `function(library's nn.functional, *tensors)`."""
    agree(torch, lambda m, *x: function(m.nn.functional, *x), *arrays, **options)


compare = partial(agree, tolerance=1e-12, forward=False, constants=True)


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
        outs = [fwad.unpack_dual(y) for y in flat(function(mg, *duals))]
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
    digits = 1e-9 if all(a.itemsize > 4 or a.dtype.kind not in "fc" for a in vs) else 1e-5
    if np.isfinite(right):
        assert abs(left - right) <= digits * (1 + abs(right)), (
            f"forward mode gives {left}, reverse mode {right}"
        )
