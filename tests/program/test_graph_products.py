"""Matrix products of a CUDA graph are those of `matmul`, for every layout of their operands."""

import itertools
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.program.graph_products import GraphLibrary
from tests.helpers.fake_cuda import FakeCupy, Stream, cuda
from tests.helpers.fake_device import FakeArray

__all__ = ["cuda"]
SHAPES = [
    ((3, 4), (4, 5)),
    ((1, 4), (4, 1)),
    ((3, 1), (1, 5)),
    ((1, 1), (1, 1)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (6, 4, 5)),
    ((2, 6, 3, 4), (2, 1, 4, 5)),
    ((0, 3, 4), (4, 5)),
    ((3, 0), (0, 5)),
    ((3, 4), (4, 0)),
]


def layouts(array: Any) -> Any:
    """The array in several layouts: as it is, turned, every second element, reversed, expanded."""
    yield array
    if array.ndim > 1:
        yield np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)
        yield np.repeat(array, 2, axis=-1)[..., ::2]
        yield np.repeat(array, 2, axis=-2)[..., ::2, :]
        yield array[..., ::-1].copy()[..., ::-1]
    if array.ndim > 2:
        yield np.broadcast_to(array[:1], array.shape)
        yield np.ascontiguousarray(np.moveaxis(array, 0, -1)).transpose(-1, *range(array.ndim - 1))


def moved(array: Any, library: Any) -> Any:
    """The array on the device, in the layout that it has here."""
    if isinstance(library, FakeCupy):
        return FakeArray(array)
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    memory = library.asarray(base.reshape(-1)).data + (array.ctypes.data - base.ctypes.data)
    return library.ndarray(array.shape, array.dtype, memory, array.strides)


def check(library: Any, stream: Any, dtype: str) -> None:
    random = np.random.default_rng(0)
    graph_library = GraphLibrary(stream)
    for left, right in SHAPES:
        a, b = (
            random.standard_normal(left).astype(dtype),
            random.standard_normal(right).astype(dtype),
        )
        for x, y in itertools.product(layouts(a), layouts(b)):
            expected = np.matmul(x, y)
            found = graph_library.matmul(moved(x, library), moved(y, library))
            stream.synchronize()
            assert (found.shape, found.dtype) == (np.shape(expected), dtype)
            tolerance = 1e-5 if dtype == "float32" else 1e-12
            np.testing.assert_allclose(found.get(), expected, rtol=tolerance, atol=tolerance)
    out = library.asarray(np.full((5, 3), np.nan, dtype)).transpose()
    a, b = (
        random.standard_normal((3, 4)).astype(dtype),
        random.standard_normal((4, 5)).astype(dtype),
    )
    assert graph_library.matmul(library.asarray(a), library.asarray(b), out=out) is out
    stream.synchronize()
    np.testing.assert_allclose(out.get(), a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_every_layout(cuda: Any, dtype: str) -> None:
    check(cuda, Stream(non_blocking=True), dtype)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_every_layout_on_a_gpu(dtype: str) -> None:
    import cupy

    with cupy.cuda.Stream(non_blocking=True) as stream:
        check(cupy, stream, dtype)


@pytest.mark.gpu
def test_a_captured_step_with_products_on_a_gpu() -> None:
    """The graph is really used, and every launch computes with the values of its call."""
    w = mg.randn(6, 5, device="cuda", requires_grad=True)

    @mg.compile(capture=True, fuse=True)
    def step(x: Any) -> Any:
        loss = ((x @ w).tanh() ** 2).mean()
        w.grad = None
        loss.backward()
        return loss

    for i in range(8):
        x = mg.randn(7, 6, device="cuda") * (i + 1)
        loss, found = step(x), w.grad.clone()
        plain = ((x @ w).tanh() ** 2).mean()
        (expected,) = mg.autograd.grad(plain, w)
        np.testing.assert_allclose(loss.detach().cpu().numpy(), plain.detach().cpu().numpy(), 1e-5)
        np.testing.assert_allclose(
            found.cpu().numpy(), expected.cpu().numpy(), rtol=1e-4, atol=1e-6
        )
    assert step.statistics["replayed"] == 5 and "without a graph" not in str(step.reason)
