"""Each computation in minigrad and in PyTorch: values, gradients and gradients of gradients
must agree.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import minigrad as mg


def normal(*shape: int, seed: int = 0, dtype: str = "float64") -> Any:
    """Normal numbers that are equal at each call."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def ranks(*shape: int, seed: int = 0) -> Any:
    """Small whole numbers as floats: full of ties."""
    return np.random.default_rng([seed, *shape]).integers(0, 4, shape).astype("float64")


def classes(count: int, *shape: int, seed: int = 0) -> Any:
    """Class indices."""
    return np.random.default_rng([seed, count, *shape]).integers(0, count, shape)


def close(ours: Any, theirs: Any, tolerance: float, what: str) -> None:
    """Same shape, dtype and numbers; NaN equals NaN."""
    assert tuple(ours.shape) == tuple(theirs.shape), (
        f"{what}: shape {ours.shape}, PyTorch has {tuple(theirs.shape)}"
    )
    assert f"torch.{ours.dtype}" == str(theirs.dtype), (
        f"{what}: dtype {ours.dtype}, PyTorch has {theirs.dtype}"
    )
    np.testing.assert_allclose(
        ours.detach().numpy(),
        theirs.detach().numpy(force=True),
        rtol=tolerance,
        atol=tolerance,
        err_msg=what,
    )


def flat(result: Any) -> list[Any]:
    """The tensors of nested tuples."""
    if isinstance(result, tuple | list):
        return [tensor for part in result for tensor in flat(part)]
    return [] if result is None else [result]


def agree(
    torch: Any, function: Any, *arrays: Any, order: int = 2, tolerance: float = 1e-10
) -> None:
    """`function(library's functional, *tensors)` in both libraries; random cotangents."""
    ours = [mg.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    theirs = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch's, about its own speed
        y, z = flat(function(mg.nn.functional, *ours)), flat(function(torch.nn.functional, *theirs))
    assert len(y) == len(z)
    for i, (a, b) in enumerate(zip(y, z, strict=True)):
        close(a, b, tolerance, f"result {i}")
    y, z = [a for a in y if a.dtype.kind == "f"], [b for b in z if b.is_floating_point()]
    for depth in range(1, order + 1):
        assert [a.requires_grad for a in y] == [b.requires_grad for b in z] or depth > 1
        if not z or not all(b.requires_grad for b in z) or not all(a.requires_grad for a in y):
            return
        seeds = [normal(*a.shape, seed=depth).astype(a.dtype) for a in y]
        ins, outs = [a for a in ours if a.requires_grad], [b for b in theirs if b.requires_grad]
        y = mg.autograd.grad(
            y, ins, [mg.tensor(s) for s in seeds], create_graph=True, materialize_grads=True
        )
        z = torch.autograd.grad(
            z, outs, [torch.tensor(s) for s in seeds], create_graph=True, materialize_grads=True
        )
        for i, (a, b) in enumerate(zip(y, z, strict=True)):
            close(a, b, tolerance, f"derivative {depth} by input {i}")
        pairs = [(a, b) for a, b in zip(y, z, strict=True) if a.requires_grad and b.requires_grad]
        if not pairs:
            return
        y, z = map(list, zip(*pairs, strict=True))
