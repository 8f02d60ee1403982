"""Kernels of windows and of normalisation, against their definitions: every layout of windows,
NaN and infinity, tiles, given memory.
"""

import re
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.core.primitive import registry
from minigrad.ops import convolution, network, pooling
from minigrad.program import trace
from tests.helpers.op_cases import CASES, Case
from tests.helpers.tables import in_one_test

FILLING = [c for c in CASES if registry[c.primitive].takes_out]


def pooled(
    x: Any, axis: int, size: int, stride: int, dilation: int, padding: tuple[int, int]
) -> Any:
    """For each window along an axis: (its index, the elements of it that lie in the image)."""
    n = x.shape[axis]
    for w in range(convolution.window_count(n, size, stride, padding, dilation)):
        inside = [i for k in range(size) if 0 <= (i := w * stride + k * dilation - padding[0]) < n]
        yield w, inside


def settings(rng: Any) -> tuple[tuple[int, ...], dict[str, Any]]:
    """A shape of one to four axes and windows along one of them, padded and strided in all ways."""
    while True:
        shape = tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 5)))
        axis, size = int(rng.integers(len(shape))), int(rng.integers(1, 5))
        padding = int(rng.integers(0, 4)), int(rng.integers(-1, 4))
        how = {
            "size": size,
            "stride": int(rng.integers(1, 5)),
            "padding": padding,
            "dilation": int(rng.integers(1, 3)),
        }
        if convolution.window_count(shape[axis], *how.values()) > 0:
            return shape, {"axis": axis, **how}


@in_one_test
@pytest.mark.parametrize("tile", [1, 1 << 16])
@pytest.mark.parametrize("special", [(), (-np.inf,), (np.nan, np.inf, -np.inf)])
@pytest.mark.parametrize(
    "seed", [*range(20), 46, 54, 63]
)  # the last three: windows that end far beyond the image, of several images
def test_pooling_is_its_definition(
    seed: int, special: tuple[float, ...], tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maxima, where they come from, and sums; with ties, NaN, infinities (a window of -∞ is not
    won by its padding), tile by tile.
    """
    monkeypatch.setattr(pooling, "TILE", tile)
    rng = np.random.default_rng(seed)
    shape, how = settings(rng)
    x = rng.integers(-2, 3, shape).astype("float32")
    for value in special:
        x[rng.random(shape) < 0.3] = value
    x = np.asfortranarray(x) if seed % 2 else x
    axis = how["axis"]
    lines = np.moveaxis(x, axis, 0)
    want, first, sums = [], [], []
    for _, inside in pooled(x, **how):
        held = lines[inside]
        if inside:
            nan = np.isnan(held)
            want.append(np.where(nan.any(0), np.nan, np.max(held, 0)))
            first.append(np.asarray(inside)[np.where(nan.any(0), nan.argmax(0), held.argmax(0))])
        else:
            want.append(np.full(lines.shape[1:], -np.inf))
            first.append(np.full(lines.shape[1:], -1))
        with np.errstate(invalid="ignore"):
            sums.append(held.sum(0) if inside else np.zeros(lines.shape[1:]))
    m = registry["max_pool"](x, **how)
    np.testing.assert_array_equal(m, np.moveaxis(np.array(want, "float32"), 0, axis))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(
            registry["sum_pool"](x, **how), np.moveaxis(np.array(sums, "float32"), 0, axis)
        )
    g = rng.standard_normal(m.shape).astype("float32")
    g[rng.random(g.shape) < 0.2] = np.inf
    t = rng.standard_normal(shape).astype("float32")
    pulled = np.zeros_like(lines)
    spread = np.zeros_like(lines)
    pushed = np.zeros_like(np.moveaxis(m, axis, 0))
    for (w, inside), winner in zip(pooled(x, **how), first, strict=True):
        cotangent = np.moveaxis(g, axis, 0)[w]
        for i in inside:
            pulled[i] += np.where(winner == i, cotangent, 0)
            spread[i] += cotangent
            pushed[w] += np.where(winner == i, np.moveaxis(t, axis, 0)[i], 0)
    close = {"rtol": 1e-6, "atol": 1e-6}
    np.testing.assert_allclose(
        registry["max_pool_backward"](g, x, m, **how), np.moveaxis(pulled, 0, axis), **close
    )
    np.testing.assert_allclose(
        registry["sum_pool_backward"](g, **how, length=shape[axis]),
        np.moveaxis(spread, 0, axis),
        **close,
    )
    np.testing.assert_allclose(
        registry["max_pool_jvp"](t, x, m, **how), np.moveaxis(pushed, 0, axis), **close
    )


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "float16"])
def test_maxima_of_other_dtypes(dtype: str) -> None:
    """The lowest number of an integer dtype, which also stands for the padding, is an element
    like any other.
    """
    low = (
        np.iinfo(dtype).min
        if dtype.startswith(("int", "uint"))
        else False
        if dtype == "bool"
        else -np.inf
    )
    x = np.array([[low, low, 1, low]], dtype)
    how = {"axis": 1, "size": 3, "stride": 1, "dilation": 1, "padding": (1, 1)}
    m = pooling._max_pool(np, x, **how)
    assert m.dtype == x.dtype
    np.testing.assert_array_equal(m, np.array([[low, 1, 1, 1]], dtype))
    places = pooling._max_pool_jvp(np, np.arange(4)[None], x, m, **how)
    np.testing.assert_array_equal(places, [[0, 2, 2, 2]])


@in_one_test
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", FILLING, ids=lambda c: c.id)
def test_kernels_write_into_given_memory(
    case: Case, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that takes memory for its result leaves there, whatever was there before, the
    bits that it would return.
    """
    forward = registry[case.primitive].forward
    seen = []

    def both(xp: Any, *arrays: Any, **params: Any) -> Any:
        fresh = forward(xp, *arrays, **params)
        given = np.full(fresh.shape, 3, fresh.dtype)
        given.view("uint8")[...] = 0xFF  # NaN
        assert forward(xp, *arrays, **params, out=given) is given
        assert given.tobytes() == np.ascontiguousarray(fresh).tobytes()
        seen.append(case.primitive)
        return fresh

    monkeypatch.setattr(registry[case.primitive], "forward", both)
    case.run([mg.tensor(a) for a in case.inputs(dtype)])
    assert seen


def test_programs_give_them_memory() -> None:
    """A replay writes their results into its planned buffers; a result that escapes is fresh."""
    x, w = mg.tensor(np.ones((2, 3, 6, 6))), mg.tensor(np.ones((4, 3, 3, 3)))
    program = trace(lambda x, w: mg.nn.functional.conv2d(x, w) * 2, x, w)
    results = [program(x, w).numpy() for _ in range(3)]
    assert re.search(r"convolve_\d+\(.*, out=v\d+\)", program.source())
    assert all((r == 54).all() for r in results)
    alone = trace(lambda x, w: mg.nn.functional.conv2d(x, w), x, w)
    first, second = alone(x, w), alone(x, w)
    assert "out=" not in alone.source()
    assert (first.numpy() == 27).all()
    assert first.array is not second.array


def test_which_kernels_take_memory() -> None:
    """Those that make large arrays with much scratch; `out` is no parameter of the operations."""
    assert {c.primitive for c in FILLING} == {
        "convolve", "convolve_input", "max_pool", "max_pool_backward", "max_pool_jvp",
        "sum_pool", "sum_pool_backward", "standardize",
        "standardize_jvp", "scale_shift",
    }  # fmt: skip
    assert all("out" not in registry[c.primitive].keywords for c in FILLING)
    with pytest.raises(TypeError, match="out is unknown"):
        registry["standardize"](mg.ones(2, 3), axes=(1,), eps=1e-5, out=mg.ones(2, 3), wrong=1)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((32, 4, 16, 16), (0, 2, 3)),
        ((32, 4, 16, 16), (0, 1, 2, 3)),
        ((40, 500), (1,)),
        ((500, 40), (0,)),
        ((4, 3), (1,)),
    ],
)
def test_means_of_products(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Large arrays take another way to the same numbers, and to the same derivatives; they are
    never taken where it would not pay.
    """
    rng = np.random.default_rng(0)
    a, b = (mg.tensor(rng.standard_normal(shape), requires_grad=True) for _ in range(2))
    assert (network._as_rows(a.array, axes) is not None) == (shape != (4, 3) and axes != (0,))
    got, plain = network.mean_of_product(a, b, axes), (a * b).mean(axes, keepdim=True)
    assert got.shape == plain.shape
    np.testing.assert_allclose(got.detach().numpy(), plain.detach().numpy(), atol=1e-14)
    for fast, slow in zip(
        mg.autograd.grad((got**3).sum(), (a, b)),
        mg.autograd.grad((plain**3).sum(), (a, b)),
        strict=True,
    ):
        np.testing.assert_allclose(fast.numpy(), slow.numpy(), atol=1e-16)


@pytest.mark.parametrize(
    ("shape", "axes"), [((32, 4, 16, 16), (0, 2, 3)), ((40, 500), (1,)), ((4, 3), (1,))]
)
def test_standardize_of_large_and_small_arrays(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    """Against its formula in plain operations, twice differentiated."""
    rng = np.random.default_rng(1)
    x = mg.tensor(rng.standard_normal(shape) * 2 + 5, requires_grad=True)
    weights = mg.tensor(rng.standard_normal(shape))

    def derivatives(y: Any) -> list[Any]:
        (g,) = mg.autograd.grad((y * y * weights).sum(), x, create_graph=True)
        (h,) = mg.autograd.grad((g * g).sum(), x)
        return [y.detach().numpy(), g.detach().numpy(), h.numpy()]

    centred = x - x.mean(axes, keepdim=True)
    formula = centred / ((centred * centred).mean(axes, keepdim=True) + 1e-3).sqrt()
    for fast, slow in zip(
        derivatives(network.standardize(x, axes=axes, eps=1e-3)), derivatives(formula), strict=True
    ):
        np.testing.assert_allclose(fast, slow, atol=1e-11)
