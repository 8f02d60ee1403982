"""The checks that every operation must pass, as functions of a `Case`: the tests run them on all
cases, the mutation check on broken rules.

Numbers are compared as vectors of a real inner product space: ⟨a, b⟩ = Re Σ conj(aᵢ) bᵢ. So one set
of checks serves real and complex numbers, and the complex convention (the gradient is the adjoint
with respect to this product: ∂L/∂Re + i ∂L/∂Im, the conjugate Wirtinger derivative) is itself under
test.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg
from minigrad.autograd import forward_ad as fwad
from tests.helpers.op_cases import Case


def tensors(case: Case, arrays: Any, needed: Any = None) -> list[mg.Tensor]:
    """Leaves for the arrays; those at the positions `needed` (by default all that can) require
    gradients.
    """
    needed = case.differentiable() if needed is None else needed
    return [mg.tensor(a, requires_grad=i in needed) for i, a in enumerate(arrays)]


def host(tensor: Any) -> Any:
    """A tensor's values as an array."""
    return np.asarray(tensor.detach().numpy())


def direction(like: Any, seed: int) -> Any:
    """Random numbers in the shape and dtype of an array."""
    rng = np.random.default_rng([seed, like.size])
    draw = rng.standard_normal(like.shape)
    if like.dtype.kind == "c":
        draw = draw + 1j * rng.standard_normal(like.shape)
    return np.asarray(draw).astype(like.dtype)


def inner(a: Any, b: Any) -> float:
    """Re Σ conj(a) b in double precision."""
    wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
    return float(np.sum(np.conj(a.astype(wide)) * b.astype(wide)).real)


def live_inner(a: mg.Tensor, b: mg.Tensor) -> mg.Tensor:
    """The inner product of two tensors, differentiable."""
    return mg.sum(mg.real(mg.conj(a) * b)) if "c" in (a.dtype.kind, b.dtype.kind) else mg.sum(a * b)


def close(got: Any, want: Any, tolerance: float, what: str) -> None:
    """Assert equality up to `tolerance`, relative to the largest element (at least 1)."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    if want.size:
        wide = lambda a: a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
        scale = max(1.0, float(np.abs(wide(want)).max()))
        np.testing.assert_allclose(
            wide(got), wide(want), rtol=0, atol=tolerance * scale, err_msg=what
        )


# -------------------------------------------------------------------------------- first derivatives


def reverse(case: Case, arrays: Any, u: Any, needed: Any = None) -> list[Any]:
    """The gradients of ⟨u, f⟩ by reverse mode, one array for each differentiable input."""
    needed = case.differentiable() if needed is None else needed
    inputs = tensors(case, arrays, needed)
    y = case.run(inputs)
    return [host(g) for g in mg.autograd.grad(y, [inputs[i] for i in needed], mg.tensor(u))]


def forward(case: Case, arrays: Any, tangents: dict[int, Any]) -> Any:
    """J·v by forward mode, where v has the given parts and is zero in the other inputs."""
    with fwad.dual_level():
        duals = [
            fwad.make_dual(mg.tensor(a), mg.tensor(tangents[i])) if i in tangents else mg.tensor(a)
            for i, a in enumerate(arrays)
        ]
        y, tangent = fwad.unpack_dual(case.run(duals))
    return np.zeros(y.shape, y.dtype) if tangent is None else host(tangent)


def numeric(case: Case, arrays: Any, tangents: dict[int, Any]) -> Any:
    """The directional derivative by a central difference of the NumPy reference."""
    moved = lambda h: case.expected(
        *[a + h * tangents[i] if i in tangents else a for i, a in enumerate(arrays)]
    )
    return (moved(case.step) - moved(-case.step)) / (2 * case.step)


def check_first_order(case: Case, dtype: str = "float64") -> None:
    """Each input's push against a central difference, its pull against its push by ⟨u, J v⟩ =
    ⟨Jᵀ u, v⟩.
    """
    arrays = case.inputs(dtype)
    y = case.expected(*arrays)
    u = direction(y, 1)
    gradients = reverse(case, arrays, u)
    for gradient, i in zip(gradients, case.differentiable(), strict=True):
        v = direction(arrays[i], 2 + i)
        pushed = forward(case, arrays, {i: v})
        slope = numeric(case, arrays, {i: v})
        close(
            pushed,
            slope,
            max(2e-8, case.precision),
            f"{case.id}, input {i}: tangent against a central difference",
        )
        assert gradient.shape == arrays[i].shape, (
            f"{case.id}, input {i}: gradient of shape {gradient.shape} for an input of shape"
            f" {arrays[i].shape}"
        )
        assert gradient.dtype == arrays[i].dtype, (
            f"{case.id}, input {i}: gradient of dtype {gradient.dtype} for an input of dtype"
            f" {arrays[i].dtype}"
        )
        left, right = inner(u, pushed), inner(gradient, v)
        size = 1 + float(np.linalg.norm(np.ravel(u)) * np.linalg.norm(np.ravel(pushed)))
        assert abs(left - right) <= case.precision * size, (
            f"{case.id}, input {i}: <u, J v> = {left!r} but <transpose(J) u, v> = {right!r}"
        )


# ------------------------------------------------------------------------------- second derivatives


def gradient_tensors(
    y: mg.Tensor, u: mg.Tensor, inputs: list[mg.Tensor], create_graph: bool
) -> list[mg.Tensor]:
    """The gradients of ⟨u, y⟩, zeros where y does not depend on an input (any more)."""
    if not y.requires_grad:
        return [mg.zeros_like(x) for x in inputs]
    return list(mg.autograd.grad(y, inputs, u, create_graph=create_graph, materialize_grads=True))


def reverse_over_reverse(
    case: Case, arrays: Any, u: Any, ws: dict[int, Any]
) -> tuple[list[Any], Any]:
    """H·w of h(x) = ⟨u, f(x)⟩ and the derivative of ⟨∇h, w⟩ by u (which is J·w), by two reverse
    passes.
    """
    inputs, cotangent = tensors(case, arrays), mg.tensor(u, requires_grad=True)
    leaves = [inputs[i] for i in ws]
    first = gradient_tensors(case.run(inputs), cotangent, leaves, create_graph=True)
    total = live_inner(first[0], mg.tensor(ws[next(iter(ws))]))
    for g, w in list(zip(first, ws.values(), strict=True))[1:]:
        total = total + live_inner(g, mg.tensor(w))
    *second, by_u = gradient_tensors(
        total, mg.ones_like(total), [*leaves, cotangent], create_graph=False
    )
    return [host(s) for s in second], host(by_u)


def forward_over_reverse(case: Case, arrays: Any, u: Any, ws: dict[int, Any]) -> list[Any]:
    """H·w by a reverse pass that carries tangents."""
    inputs = tensors(case, arrays)
    with fwad.dual_level():
        duals = [
            fwad.make_dual(x, mg.tensor(ws[i])) if i in ws else x for i, x in enumerate(inputs)
        ]
        gradients = gradient_tensors(
            case.run(duals), mg.tensor(u), [duals[i] for i in ws], create_graph=False
        )
        pushed = [fwad.unpack_dual(g) for g in gradients]
    return [
        np.zeros(p.primal.shape, p.primal.dtype) if p.tangent is None else host(p.tangent)
        for p in pushed
    ]


def reverse_over_forward(case: Case, arrays: Any, u: Any, ws: dict[int, Any]) -> list[Any]:
    """H·w as the gradient of ⟨u, J w⟩."""
    inputs = tensors(case, arrays)
    with fwad.dual_level():
        duals = [
            fwad.make_dual(x, mg.tensor(ws[i])) if i in ws else x for i, x in enumerate(inputs)
        ]
        _, tangent = fwad.unpack_dual(case.run(duals))
        leaves = [inputs[i] for i in ws]
        if tangent is None:
            return [np.zeros(x.shape, x.dtype) for x in leaves]
        product = live_inner(mg.tensor(u), tangent)
        return [
            host(g)
            for g in gradient_tensors(product, mg.ones_like(product), leaves, create_graph=False)
        ]


def check_second_order(case: Case, dtype: str = "float64") -> None:
    """Three ways to H·w agree with one another, and with a central difference of the gradient."""
    arrays = case.inputs(dtype)
    u = direction(case.expected(*arrays), 1)
    ws = {i: direction(arrays[i], 5 + i) for i in case.differentiable()}
    both, by_u = reverse_over_reverse(case, arrays, u, ws)
    moved = lambda h: reverse(
        case, [a + h * ws[i] if i in ws else a for i, a in enumerate(arrays)], u
    )
    after, before = moved(case.step), moved(-case.step)
    through = forward_over_reverse(case, arrays, u, ws)
    over = reverse_over_forward(case, arrays, u, ws)
    exact, loose = max(1e-11, case.precision), max(2e-7, case.precision)
    for k, i in enumerate(ws):
        close(
            both[k],
            (after[k] - before[k]) / (2 * case.step),
            loose,
            f"{case.id}, input {i}: reverse over reverse against a central difference of the"
            " gradient",
        )
        close(
            through[k],
            both[k],
            exact,
            f"{case.id}, input {i}: forward over reverse against reverse over reverse",
        )
        close(
            over[k],
            both[k],
            exact,
            f"{case.id}, input {i}: reverse over forward against reverse over reverse",
        )
    close(
        by_u,
        forward(case, arrays, ws),
        exact,
        f"{case.id}: derivative of the gradient by its cotangent against J w",
    )
