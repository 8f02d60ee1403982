"""Random programs over the array vocabulary (mixed_programs.py): PyTorch's values and derivatives,
and the library's own modes among each other. The suite runs some hundreds; a failure prints the
program.
"""

import numpy as np
import pytest

import minigrad as mg
from tests.helpers import random_array_programs as programs

WEIGHTS = np.random.default_rng(5).standard_normal(400)
FORWARD_IS_WRONG = {"scatter_reduce"}
"""Of products PyTorch's tangents are not those of its own gradients; minigrad's are compared
with minigrad's gradients.
"""


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def numbers(tensor):
    plain = tensor.detach()
    return (
        plain.numpy()
        if isinstance(plain, mg.Tensor)
        else plain.resolve_conj().resolve_neg().numpy()
    )


def inner(a, b):
    """The real inner product, of complex numbers as of pairs."""
    return float(np.real(np.vdot(a, b)))


def loss(lib, y):
    """One real number that depends on each element."""
    y = y.reshape(-1)
    weights = lib.tensor(WEIGHTS[: y.shape[0]])
    return ((y.real - 0.7 * y.imag) * weights).sum() if y.is_complex() else (y * weights).sum()


def tangents(arrays):
    return [
        WEIGHTS[: a.size].reshape(a.shape) * (1 - 0.5j if a.dtype.kind == "c" else 1)
        for a in arrays
    ]


def derivatives(lib, grad, steps, arrays):
    """The value, its gradients, and the gradients of the sum of the squares of these."""
    xs = [lib.tensor(a).requires_grad_() for a in arrays]
    y = programs.run(lib, steps, xs)
    first = grad(loss(lib, y), xs, create_graph=True, allow_unused=True, materialize_grads=True)
    squares = [(g * g.conj()).real if g.is_complex() else g * g for g in first]
    total = sum(s.sum() for s in squares)
    second = (
        grad(total, xs, allow_unused=True, materialize_grads=True) if total.requires_grad else xs
    )
    return (
        numbers(y),
        list(map(numbers, first)),
        [numbers(g) if total.requires_grad else 0 * numbers(g) for g in second],
    )


def close(got, want, what):
    assert got.shape == want.shape, what
    np.testing.assert_allclose(
        got, want, rtol=1e-8, atol=1e-8 * max(1.0, np.abs(want).max(initial=0)), err_msg=what
    )


@pytest.mark.oracle
@pytest.mark.filterwarnings(
    "ignore:.*torch.jit.script:DeprecationWarning", "ignore:.*:UserWarning:torch.*"
)
@pytest.mark.parametrize("block", range(3))
def test_the_same_as_pytorch(torch, block):
    compared = 0
    for seed in range(100 * block, 100 * block + 100):
        arrays, steps = programs.inputs(seed), programs.generate(seed, torch)
        what = f"seed {seed}: {steps}"
        try:
            want = derivatives(torch, torch.autograd.grad, steps, arrays)
        except RuntimeError:
            # overwritten what a derivative needs, or a real cotangent where PyTorch expects a
            # complex one
            continue
        got = derivatives(mg, mg.autograd.grad, steps, arrays)
        close(got[0], want[0], f"value, {what}")
        for a, b in zip(got[1], want[1], strict=True):
            close(a, b, f"gradient, {what}")
        for a, b in zip(got[2], want[2], strict=True):
            close(a, b, f"second derivative, {what}")
        if not FORWARD_IS_WRONG & {name for name, _, _ in steps}:
            along = []
            for lib in (mg, torch):
                given = (tuple(map(lib.tensor, part)) for part in (arrays, tangents(arrays)))
                along.append(
                    numbers(
                        lib.func.jvp(
                            lambda *xs, lib=lib, s=steps: programs.run(lib, s, xs), *given
                        )[1]
                    )
                )
            close(*along, f"tangent, {what}")
        compared += 1
    assert compared >= 60


@pytest.mark.oracle  # which finds programs that run
def test_the_modes_and_batches_agree(torch):
    """The gradient along a direction is the tangent's inner product; a batch of two examples is
    the two.
    """
    compared = 0
    for seed in range(1000, 1100):
        arrays, steps = programs.inputs(seed), programs.generate(seed, torch)
        what = f"seed {seed}: {steps}"
        call = lambda *xs, s=steps: programs.run(mg, s, xs)
        others = [a * 1.1 + 0.3 * t for a, t in zip(arrays, tangents(arrays), strict=True)]
        each = [numbers(call(*map(mg.tensor, example))) for example in (arrays, others)]
        batch = mg.func.vmap(call)(
            *(mg.tensor(np.stack(pair)) for pair in zip(arrays, others, strict=True))
        )
        close(numbers(batch), np.stack(each), f"batch, {what}")
        y, along = mg.func.jvp(
            call, tuple(map(mg.tensor, arrays)), tuple(map(mg.tensor, tangents(arrays)))
        )
        xs = [mg.tensor(a, requires_grad=True) for a in arrays]
        try:
            weights = (numbers(y) * 0 + 1) * WEIGHTS[: y.numel()].reshape(y.shape)
            gradients = mg.autograd.grad(
                call(*xs), xs, mg.tensor(weights), allow_unused=True, materialize_grads=True
            )
        except (
            mg.errors.InPlaceError,
            mg.errors.NoGradientError,
        ):  # overwritten what a derivative needs; constants
            continue
        total = sum(inner(numbers(g), t) for g, t in zip(gradients, tangents(arrays), strict=True))
        assert inner(weights, numbers(along)) == pytest.approx(total, rel=1e-8, abs=1e-8), what
        compared += 1
    assert compared >= 60


@pytest.mark.oracle  # which finds programs that run
def test_recorded_programs_are_the_programs(torch):
    """A function and its gradients, recorded on one example and run on another."""
    compared = 0
    for seed in range(2000, 2100):
        arrays, steps = programs.inputs(seed), programs.generate(seed, torch)
        others = [a * 1.1 + 0.3 * t for a, t in zip(arrays, tangents(arrays), strict=True)]

        def whole(*xs, s=steps):
            y = programs.run(mg, s, xs)
            return [
                y,
                *mg.autograd.grad(loss(mg, y), xs, allow_unused=True, materialize_grads=True),
            ]

        leaves = lambda example: [mg.tensor(a, requires_grad=True) for a in example]
        try:
            want = whole(*leaves(others))
        except (
            mg.errors.InPlaceError,
            mg.errors.NoGradientError,
        ):  # overwritten what a derivative needs; constants
            continue
        program = mg.graph.trace(whole, *leaves(arrays))
        if program.decisions:
            continue
        for got, expected in zip(program(*leaves(others)), want, strict=True):
            np.testing.assert_array_equal(
                numbers(got), numbers(expected), err_msg=f"seed {seed}: {steps}"
            )
        compared += 1
    assert compared >= 50
