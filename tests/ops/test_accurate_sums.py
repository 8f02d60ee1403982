"""Sums are accurate in every dtype, along any axes, in any layout: against exact sums, against
PyTorch, and in replays.
"""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import minigrad as mg
from minigrad import facets, half_precision
from minigrad.ops import reduce, sums
from minigrad.program import trace
from tests.helpers.tables import in_one_test

F = mg.nn.functional
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype("float16"), BFLOAT16, np.dtype("float32"), np.dtype("float64")]
UNIT = {np.dtype("float16"): 2.0**-11, BFLOAT16: 2.0**-8, np.dtype("float32"): 2.0**-24}
Exact = Any
Check = Callable[[np.ndarray, tuple[int, ...]], None]


def exact(x: np.ndarray) -> Exact:
    return x.astype(np.longdouble)


def within(got: Any, want: Exact, scale: Exact, dtype: np.dtype, units: float, what: str) -> None:
    """Assert |got - want| <= units · u · scale + u · |want|, where u is that of the accumulator
    for half precision.
    """
    assert got.dtype == dtype, f"{what}: {got.dtype}"
    result = got.numpy() if isinstance(got, mg.Tensor) else got
    u = UNIT.get(dtype, 2.0**-53)
    inner = 2.0**-24 if dtype.itemsize == 2 else u
    error = np.abs(exact(np.asarray(result)) - want)
    bound = (
        units * inner * scale + 1.001 * u * np.abs(want) + (2.0**-25 if dtype == "float16" else 0)
    )
    worst = float(np.max(error / np.maximum(bound, 1e-300), initial=0.0))
    assert worst <= 1, f"{what} of {dtype}: {worst:.3g} times the bound"


def sizes(x: np.ndarray, axes: tuple[int, ...]) -> int:
    return math.prod(x.shape[a] for a in axes)


def reference_norm(p: int) -> Callable[[Exact, tuple[int, ...]], Exact]:
    return lambda x, axes: math.prod([np.abs(x)] * p).sum(axes) ** (1 / np.longdouble(p))


def reference_var(x: Exact, axes: tuple[int, ...]) -> Exact:
    return ((x - x.mean(axes, keepdims=True)) ** 2).sum(axes) / (sizes(x, axes) - 1)


def magnitude(x: Exact, axes: tuple[int, ...]) -> Exact:
    return np.abs(x).sum(axes)


def itself(
    function: Callable[[Exact, tuple[int, ...]], Exact],
) -> Callable[[Exact, tuple[int, ...]], Exact]:
    return lambda x, axes: np.abs(function(x, axes))


Row = tuple[
    Callable[[Any, tuple[int, ...]], Any],
    Callable[[Exact, tuple[int, ...]], Exact],
    Callable[[Exact, tuple[int, ...]], Exact],
]
REDUCTIONS: dict[str, Row] = {
    "sum": (lambda t, axes: t.sum(axes), lambda x, axes: x.sum(axes), magnitude),
    "nansum": (lambda t, axes: mg.nansum(t, axes), lambda x, axes: x.sum(axes), magnitude),
    "mean": (
        lambda t, axes: t.mean(axes),
        lambda x, axes: x.mean(axes),
        lambda x, axes: magnitude(x, axes) / sizes(x, axes),
    ),
    "nanmean": (
        lambda t, axes: mg.nanmean(t, axes),
        lambda x, axes: x.mean(axes),
        lambda x, axes: magnitude(x, axes) / sizes(x, axes),
    ),
    "var": (lambda t, axes: t.var(axes), reference_var, itself(reference_var)),
    "std": (
        lambda t, axes: t.std(axes),
        lambda x, axes: np.sqrt(reference_var(x, axes)),
        lambda x, a: np.sqrt(reference_var(x, a)),
    ),
    "logsumexp": (
        lambda t, axes: t.logsumexp(axes),
        lambda x, axes: np.log(np.exp(x).sum(axes)),
        lambda x, axes: 1 + np.abs(np.log(np.exp(x).sum(axes))),
    ),
    "norm 1": (
        lambda t, axes: mg.linalg.vector_norm(t, 1, axes),
        reference_norm(1),
        itself(reference_norm(1)),
    ),
    "norm 2": (
        lambda t, axes: mg.linalg.vector_norm(t, 2, axes),
        reference_norm(2),
        itself(reference_norm(2)),
    ),
    "norm 3": (
        lambda t, axes: mg.linalg.vector_norm(t, 3, axes),
        reference_norm(3),
        itself(reference_norm(3)),
    ),
}
"""The function, the exact result, and the scale of its error."""
UNITS = 32
"""The stated worst case is 2 · PLAIN = 128; what is measured stays below a quarter of it."""
SHAPES = {
    (6007,): [(0,)],
    (3001, 3): [(0,), (1,), (0, 1)],
    (70, 5, 90): [(0,), (2,), (0, 2), (1, 2), (0, 1, 2)],
}


def layouts(x: np.ndarray) -> dict[str, np.ndarray]:
    out = {
        "rows": x,
        "steps": np.repeat(x, 2, axis=-1)[..., ::2],
        "turned": np.flip(np.flip(x).copy()),
    }
    if x.ndim > 1:
        out["columns"] = np.asfortranarray(x)
        out["first last"] = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0)
    return out


def samples(shape: tuple[int, ...], dtype: np.dtype) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {
        "equal": np.full(shape, 0.1).astype(dtype),
        "uniform": rng.random(shape).astype(dtype),
        "signed": rng.normal(size=shape).astype(dtype),
    }


def check(
    name: str, dtype: np.dtype, kinds: tuple[str, ...] = ("equal", "uniform", "signed")
) -> None:
    function, reference, scale = REDUCTIONS[name]
    for shape, chosen in SHAPES.items():
        for kind, x in samples(shape, dtype).items():
            if kind not in kinds or (kind == "equal" and name in ("var", "std")):
                continue
            for axes in chosen:
                want, size = reference(exact(x), axes), scale(exact(x), axes)
                for layout, array in layouts(x).items():
                    got = function(mg.from_numpy(array), axes)
                    within(
                        got,
                        want,
                        size,
                        dtype,
                        UNITS,
                        f"{name} over {axes} of {shape}, {kind}, {layout}",
                    )


@in_one_test
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_along_any_axes_of_any_layout(name: str, dtype: np.dtype) -> None:
    check(name, dtype)


def without_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums as NumPy adds: in the dtype of the operands, row after row."""
    for module in (mg.backend, facets, half_precision, reduce, sums):
        monkeypatch.setattr(module, "is_narrow", lambda dtype: False)
    for name in ("PLAIN", "AT_ONCE"):
        monkeypatch.setattr(sums, name, 10**9)


@in_one_test
@pytest.mark.parametrize("dtype", DTYPES[:3], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_without_the_policy_the_bound_is_exceeded(
    name: str, dtype: np.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dtype == "float32" and name in ("logsumexp", "norm 3", "norm 2", "std", "var"):
        pytest.skip("a logarithm or a root makes the error of so few float32 numbers small")
    without_the_policy(monkeypatch)
    with pytest.raises(AssertionError, match="times the bound"):
        check(name, dtype)


# -------------------------------------------------------------------- results as large as the input


def softmax(x: Exact, axis: int) -> Exact:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def standard(x: Exact, axes: tuple[int, ...]) -> Exact:
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axes, keepdims=True) + np.longdouble(1e-5))


WHOLE: dict[str, tuple[tuple[int, ...], Callable[[Any], Any], Callable[[Exact], Exact]]] = {
    "softmax 0": ((5000, 2), lambda t: mg.softmax(t, 0), lambda x: softmax(x, 0)),
    "softmax -1": ((2, 5000), lambda t: mg.softmax(t, -1), lambda x: softmax(x, -1)),
    "log_softmax 0": ((5000, 2), lambda t: mg.log_softmax(t, 0), lambda x: np.log(softmax(x, 0))),
    "layer_norm": ((2, 5000), lambda t: F.layer_norm(t, (5000,)), lambda x: standard(x, (1,))),
    "batch_norm": (
        (2500, 3),
        lambda t: F.batch_norm(t, None, None, training=True),
        lambda x: standard(x, (0,)),
    ),
    "batch_norm 2d": (
        (300, 3, 4, 5),
        lambda t: F.batch_norm(t, None, None, training=True),
        lambda x: standard(x, (0, 2, 3)),
    ),
    "instance_norm": ((2, 3, 5000), lambda t: F.instance_norm(t), lambda x: standard(x, (2,))),
    "group_norm": ((1, 2, 4999), lambda t: F.group_norm(t, 1), lambda x: standard(x, (1, 2))),
    "rms_norm": (
        (2, 5000),
        lambda t: F.rms_norm(t, (5000,), eps=1e-5),
        lambda x: x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5),
    ),
    "normalize": (
        (5000, 2),
        lambda t: F.normalize(t, dim=0),
        lambda x: x / np.sqrt((x * x).sum(0, keepdims=True)),
    ),
    "cumsum 0": ((5000, 2), lambda t: t.cumsum(0), lambda x: x.cumsum(0)),
    "cumsum -1": ((2, 5000), lambda t: t.cumsum(-1), lambda x: x.cumsum(-1)),
    "logcumsumexp": ((5000, 2), lambda t: t.logcumsumexp(0), lambda x: np.log(np.exp(x).cumsum(0))),
    "avg_pool1d": (
        (1, 2, 5000),
        lambda t: F.avg_pool1d(t, 2500),
        lambda x: x.reshape(1, 2, 2, 2500).mean(-1),
    ),
    "avg_pool2d": (
        (1, 2, 70, 90),
        lambda t: F.avg_pool2d(t, (70, 90)),
        lambda x: x.mean((2, 3), keepdims=True),
    ),
    "adaptive_avg_pool": (
        (1, 2, 5000),
        lambda t: F.adaptive_avg_pool1d(t, 1),
        lambda x: x.mean(-1, keepdims=True),
    ),
    "matmul": ((2, 5000), lambda t: t @ t.T, lambda x: x @ x.T),
    "bmm": ((2, 3, 5000), lambda t: mg.bmm(t, t.mT), lambda x: x @ x.swapaxes(1, 2)),
    "einsum sum": ((5000, 2), lambda t: mg.einsum("ij->j", t), lambda x: x.sum(0)),
    "einsum dot": ((5000,), lambda t: mg.einsum("i,i->", t, t), lambda x: (x * x).sum()),
    "trace": ((1500,), lambda t: mg.diag(t).trace(), lambda x: x.sum()),
    "index_add": (
        (5000, 2),
        lambda t: mg.zeros(3, 2, dtype=t.dtype).index_add(0, mg.ones(5000, dtype=mg.int64), t),
        lambda x: placed(x),
    ),
    "scatter_add": (
        (5000, 2),
        lambda t: mg.zeros(3, 2, dtype=t.dtype).scatter_add(0, mg.ones(5000, 2, dtype=mg.int64), t),
        lambda x: placed(x),
    ),
    "index_put": (
        (5000, 2),
        lambda t: mg.zeros(3, 2, dtype=t.dtype).index_put(
            (mg.ones(5000, dtype=mg.int64),), t, accumulate=True
        ),
        lambda x: placed(x),
    ),
    "mse_loss": (
        (5000,),
        lambda t: F.mse_loss(t, mg.zeros_like(t), reduction="mean"),
        lambda x: (x * x).mean(),
    ),
    "cosine_similarity": (
        (5000,),
        lambda t: F.cosine_similarity(t, t.flip(0), dim=0),
        lambda x: (x * x[::-1]).sum() / (x * x).sum(),
    ),
    "cdist": (
        (2, 5000),
        lambda t: mg.cdist(t, -t),
        lambda x: np.sqrt(((x[:, None] + x[None]) ** 2).sum(-1)),
    ),
}


def placed(x: Exact) -> Exact:
    out = np.zeros((3, *x.shape[1:]), np.longdouble)
    out[1] = x.sum(0)
    return out


def check_whole(name: str, dtype: np.dtype) -> None:
    shape, function, reference = WHOLE[name]
    x = (np.random.default_rng(1).random(shape) * 2).astype(dtype)
    got, want = function(mg.from_numpy(x)), reference(exact(x))
    scale = np.abs(want) + (
        1 if name in ("logcumsumexp", "log_softmax 0") or "_norm" in name else 0
    )
    # each square is rounded
    squares = UNIT[dtype] * 2**24 if name == "mse_loss" and dtype.itemsize == 2 else 0
    within(got, want, scale, dtype, squares + (64 if dtype.itemsize < 8 else 4096), name)


@in_one_test
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", WHOLE)
def test_other_operations_that_add(name: str, dtype: np.dtype) -> None:
    check_whole(name, dtype)


@in_one_test
@pytest.mark.parametrize("name", WHOLE)
def test_without_the_policy_half_precision_exceeds_the_bound(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in ("matmul", "bmm", "einsum dot", "mse_loss"):
        pytest.skip("NumPy's own products and means of half precision accumulate in float32")
    if name == "logcumsumexp":
        pytest.skip("it accumulates in float64 whatever the policy says")
    without_the_policy(monkeypatch)
    with pytest.raises(AssertionError, match="times the bound"):
        check_whole(name, BFLOAT16)


ROUNDED_ONCE: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "avg_pool1d": ((2, 3, 200), lambda x: F.avg_pool1d(x, 50)),
    "avg_pool2d": ((2, 3, 40, 40), lambda x: F.avg_pool2d(x, 7)),
    "avg_pool2d over the edge": (
        (2, 3, 20, 20),
        lambda x: F.avg_pool2d(x, 7, 3, 3, count_include_pad=False),
    ),
    "avg_pool3d": ((1, 2, 12, 12, 12), lambda x: F.avg_pool3d(x, 5)),
    "adaptive_avg_pool2d": ((2, 3, 40, 40), lambda x: F.adaptive_avg_pool2d(x, 3)),
    "interpolate area": ((1, 2, 40, 40), lambda x: F.interpolate(x, size=(7, 7), mode="area")),
    "interpolate bilinear": (
        (1, 2, 20, 20),
        lambda x: F.interpolate(x, size=(33, 35), mode="bilinear"),
    ),
    "interpolate bicubic": (
        (1, 2, 20, 20),
        lambda x: F.interpolate(x, size=(33, 35), mode="bicubic") / 2,
    ),
    "grid_sample": (
        (2, 3, 9, 9),
        lambda x: F.grid_sample(
            x, (mg.arange(64.0).to(x.dtype) / 32 - 1).reshape(2, 4, 8, 1).expand(2, 4, 8, 2)
        ),
    ),
    "scatter_reduce mean": (
        (300, 2),
        lambda x: mg.zeros(3, 2, dtype=x.dtype).scatter_reduce(
            0, (mg.arange(600) % 3).reshape(300, 2), x, "mean", include_self=False
        ),
    ),
    "index_reduce mean": (
        (300, 2),
        lambda x: mg.zeros(3, 2, dtype=x.dtype).index_reduce(
            0, mg.arange(300) % 3, x, "mean", include_self=False
        ),
    ),
    "embedding_bag mean": (
        (300, 2),
        lambda x: F.embedding_bag(mg.arange(300)[None], x, mode="mean"),
    ),
    "mean": ((300, 2), lambda x: x.mean(0)),
    "l1_loss": ((100, 20), lambda x: F.l1_loss(x, x.flip(0))),
}


@in_one_test
@pytest.mark.parametrize("size", [1.0, 30_000.0])
@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
@pytest.mark.parametrize("name", ROUNDED_ONCE)
def test_means_of_half_precision_are_rounded_once_and_do_not_overflow(
    name: str, dtype: np.dtype, size: float
) -> None:
    """Float64 gives the exact result. Sums of these would be beyond 65504."""
    shape, function = ROUNDED_ONCE[name]
    x = ((np.random.default_rng(1).random(shape) + 0.1) * size).astype(dtype)
    got, want = function(mg.from_numpy(x)), function(mg.from_numpy(x.astype("float64")))
    within(got, exact(want.numpy()), np.abs(exact(want.numpy())).max(), dtype, 64, name)


# ---------------------------------------------------------------------------------------- gradients


def gradient(function: Callable[[Any], Any], shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    w = mg.zeros(*shape, dtype=dtype, requires_grad=True)
    function(w).backward()
    assert w.grad is not None and w.grad.dtype == dtype
    return exact(w.grad.numpy())


GRADIENTS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "row": ((2,), lambda w: (mg.ones(5000, 2, dtype=w.dtype) + w).sum()),
    "row of a batch": ((2,), lambda w: (mg.ones(50, 100, 2, dtype=w.dtype) + w).sum()),
    "column": ((2, 1), lambda w: (mg.ones(2, 5000, dtype=w.dtype) + w).sum()),
    "number": ((), lambda w: (mg.ones(50, 100, dtype=w.dtype) * w).sum()),
    "channel": ((2, 1, 1), lambda w: (mg.ones(50, 2, 10, 10, dtype=w.dtype) + w).sum()),
    "expand": ((1, 2), lambda w: w.expand(5000, 2).sum()),
    "linear bias": (
        (2,),
        lambda w: F.linear(mg.ones(5000, 3, dtype=w.dtype), mg.ones(2, 3, dtype=w.dtype), w).sum(),
    ),
    "linear weight": ((2, 3), lambda w: F.linear(mg.ones(5000, 3, dtype=w.dtype), w).sum()),
    "conv bias": (
        (2,),
        lambda w: F.conv1d(
            mg.ones(50, 1, 100, dtype=w.dtype), mg.ones(2, 1, 1, dtype=w.dtype), w
        ).sum(),
    ),
    "conv weight": ((2, 1, 1), lambda w: F.conv1d(mg.ones(50, 1, 100, dtype=w.dtype), w).sum()),
    "embedding": ((1, 2), lambda w: F.embedding(mg.zeros(5000, dtype=mg.int64), w).sum()),
    "index": ((1, 2), lambda w: w[mg.zeros(5000, dtype=mg.int64)].sum()),
    "gather": ((1, 2), lambda w: w.gather(0, mg.zeros(5000, 2, dtype=mg.int64)).sum()),
    "interpolate": ((1, 1, 1), lambda w: F.interpolate(w, size=5000, mode="linear").sum()),
    "max_pool": (
        (1, 1, 1),
        lambda w: (
            F.max_pool1d(F.pad(w, (0, 998), value=-9.0), 1000, stride=1, padding=500)[
                ..., :501
            ].sum()
            * 10
        ),
    ),
    "avg_pool": ((1, 1, 9999), lambda w: (F.avg_pool1d(w, 5000, stride=1) * 5000).sum()),
    "layer_norm bias": (
        (2,),
        lambda w: F.layer_norm(
            mg.ones(5000, 2, dtype=w.dtype), (2,), mg.ones(2, dtype=w.dtype), w
        ).sum(),
    ),
    "batch_norm bias": (
        (2,),
        lambda w: F.batch_norm(
            mg.ones(5000, 2, dtype=w.dtype), None, None, mg.ones(2, dtype=w.dtype), w, True
        ).sum(),
    ),
}
COUNTS = {"number": 5000, "max_pool": 5010}


@in_one_test
@pytest.mark.parametrize("dtype", [mg.float16, mg.bfloat16, mg.float32], ids=str)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_what_is_used_many_times(name: str, dtype: Any) -> None:
    """Each element is used 5,000 times with derivative 1."""
    shape, function = GRADIENTS[name]
    count = exact(np.array(COUNTS.get(name, 5000)).astype(dtype))
    assert gradient(function, shape, dtype).max() == count


@in_one_test
@pytest.mark.parametrize("size", [1.0, 20.0])
@pytest.mark.parametrize("dtype", DTYPES[:3], ids=str)
def test_logcumsumexp_and_its_derivatives_are_rounded_once(dtype: np.dtype, size: float) -> None:
    """Float64 gives what is nearly exact: value, gradient and tangent, each element by itself."""
    rng = np.random.default_rng(4)
    x, g = ((rng.normal(size=(40, 3)) * size).astype(dtype) for _ in range(2))
    found = []
    for kind in (dtype, np.dtype("float64")):
        leaf = mg.from_numpy(x.astype(kind)).requires_grad_()
        along = mg.from_numpy(g.astype(kind))
        y, t = mg.func.jvp(lambda v: v.logcumsumexp(0), (leaf.detach(),), (along,))
        leaf.logcumsumexp(0).backward(along)
        found.append([np.asarray(v.numpy()) for v in (y, t, leaf.grad)])
    for what, got, want in zip(("value", "tangent", "gradient"), *found, strict=True):
        scale = np.zeros_like(want) + 1e-12 * np.abs(want).max()
        within(got, exact(want), scale, dtype, 1, what)


@in_one_test
@pytest.mark.parametrize(
    "name",
    [
        n for n in GRADIENTS if "weight" not in n
    ],  # NumPy's own products of half precision accumulate in float32
)
def test_without_the_policy_gradients_are_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without_the_policy(monkeypatch)
    shape, function = GRADIENTS[name]
    with pytest.raises(AssertionError):
        assert gradient(function, shape, mg.bfloat16).max() == exact(
            np.array(COUNTS.get(name, 5000)).astype(BFLOAT16)
        )


def test_gradients_of_vmap_and_of_derivatives_in_half_precision() -> None:
    x = mg.ones(5000, 2, dtype=mg.float16)
    w = mg.ones(2, dtype=mg.float16, requires_grad=True)
    mg.func.vmap(lambda row: row * w)(x).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [5000, 5000]
    total = mg.func.vmap(lambda row: row.sum(), in_dims=1)(x)
    assert total.dtype == mg.float16 and total.tolist() == [5000, 5000]
    y = mg.ones(300, dtype=mg.float16, requires_grad=True)
    (g,) = mg.autograd.grad((y * 100).norm(), y, create_graph=True)  # the sum of squares is 3e6
    assert g.dtype == mg.float16
    assert np.allclose(g.detach().numpy(), 100 / math.sqrt(300), rtol=0.001)
    (h,) = mg.autograd.grad(g.sum(), y)
    assert h.dtype == mg.float16 and float(abs(h).max()) < 1e-2


# -------------------------------------------------------------------------------- a million numbers


@pytest.mark.parametrize(
    "shape, axis",
    [
        ((1_000_000,), 0),
        ((1_000_000, 2), 0),
        ((2, 1_000_000), 1),
        ((999_983, 1), 0),
        ((100, 10_000), 0),
    ],
)
def test_a_million_numbers_are_summed_to_the_last_bits(shape: tuple[int, ...], axis: int) -> None:
    for x in (
        np.full(shape, 0.1, "float32"),
        np.random.default_rng(0).random(shape, "float32") + 1000,
    ):
        for array in (x, np.asfortranarray(x), np.repeat(x, 2, axis=-1)[..., ::2]):
            got = mg.from_numpy(array).sum(axis)
            want = (
                math.fsum(np.take(x, 0, 1 - axis).tolist())
                if x.ndim == 2
                else math.fsum(x.tolist())
            )
            assert abs(float(got.reshape(-1)[0]) - want) <= 4 * 2.0**-23 * want


def test_scans_and_repeated_indices_of_a_million_numbers() -> None:
    x = mg.full((1_000_000,), 0.1)
    want = math.fsum(x.tolist())
    index = mg.zeros(1_000_000, dtype=mg.int64)
    pooled = F.avg_pool1d(x[None, None], 10**6) * 1e6
    found = {
        "cumsum": x.cumsum(0)[-1], "index_add": mg.zeros(2).index_add(0, index, x)[0],
        "avg_pool1d": pooled,
        "bincount": mg.bincount(index, x)[0], "norm": x.norm(1), "einsum": mg.einsum("i->", x),
        "layer": x.reshape(1000, 1000).sum((0, 1)),
    }  # fmt: skip
    for name, got in found.items():
        assert abs(float(got) - want) <= 4 * 2.0**-23 * want, name
    assert (
        abs(
            float(mg.full((1_000_000,), 1.000001).cumprod(0)[-1])
            - float(np.float32(1.000001)) ** 1_000_000
        )
        < 1e-6
    )


@pytest.mark.oracle
def test_errors_are_not_larger_than_those_of_pytorch(torch: Any) -> None:
    """The largest error over all data, axes and layouts, in units of u · Σ|x|; and that of the
    mean, the variance and running sums.
    """
    ours = theirs = 0.0
    rng = np.random.default_rng(2)
    for shape in ((1_000_000,), (500_000, 2), (2, 500_000), (97, 103, 101), (3, 300, 7, 150)):
        for x in (
            rng.random(shape, dtype="float32"),
            np.full(shape, 0.1, "float32"),
            rng.normal(1000, 1, shape).astype("float32"),
        ):
            for axes in (*((a,) for a in range(len(shape))), (0, len(shape) - 1)[: len(shape)]):
                want, scale = exact(x).sum(axes), 2.0**-24 * exact(np.abs(x)).sum(axes)
                for array in (x, np.asfortranarray(x)):
                    ours = max(
                        ours,
                        float(
                            np.max(
                                np.abs(exact(mg.from_numpy(array).sum(axes).numpy()) - want) / scale
                            )
                        ),
                    )
                    theirs = max(
                        theirs,
                        float(
                            np.max(
                                np.abs(exact(torch.from_numpy(array).sum(axes).numpy()) - want)
                                / scale
                            )
                        ),
                    )
    assert ours <= min(theirs, 16.0), (ours, theirs)
    for name, run in {
        "mean": lambda t: t.mean(0),
        "var": lambda t: t.var(0),
        "cumsum": lambda t: t.cumsum(0)[-1],
        "norm": lambda t: t.norm(),
    }.items():
        for data in (
            rng.random((200_000, 2), dtype="float32"),
            rng.normal(1000, 1, (200_000, 2)).astype("float32"),
        ):
            want = run(torch.from_numpy(data).double()).numpy()
            mine, its = (
                np.abs(run(m.from_numpy(data)).double().numpy() / want - 1).max()
                for m in (mg, torch)
            )
            assert mine <= max(its, 4 * 2.0**-23), (name, mine, its)


# ----------------------------------------------------------------------------------------- the rest


def test_what_is_not_rounded_and_what_is_not_finite() -> None:
    assert mg.ones(5000, 2, dtype=mg.float16).sum(0).tolist() == [5000, 5000]
    assert (mg.ones(5000, 2, dtype=mg.float16) * 10).norm().item() == 1000
    assert mg.full((5000,), 100.0, dtype=mg.float16).sum().item() == math.inf  # beyond 65504
    assert mg.full((5000,), 100.0, dtype=mg.float16).mean().item() == 100
    y = F.layer_norm((mg.arange(5000.0) % 7 * 14).half(), (5000,))
    assert np.allclose(y[:3].numpy(), [-1.5, -1, -0.5], atol=2e-3)
    for kind in (mg.int8, mg.int64, mg.bool):
        total = mg.ones(5000, 2, dtype=kind).sum(0)
        assert total.dtype == mg.int64 and total.tolist() == [5000, 5000]
    z = mg.full((100_000, 2), 0.1 + 0.1j, dtype=mg.complex64)
    want = 100_000 * complex(z[0, 0].item())
    assert np.abs(z.sum(0).numpy() - want).max() <= 4 * 2.0**-23 * abs(want)
    x = mg.tensor([[0.1], [0.7]]).expand(3, 2, 100_000)
    assert np.allclose(x.sum((0, 2)).numpy(), [30_000, 210_000], rtol=2e-7) and np.allclose(
        x.sum().numpy(), 240_000, rtol=2e-7
    )
    for dtype in (mg.float16, mg.float32, mg.float64):
        x = mg.ones(5000, 3, dtype=dtype)
        x[7, 0], x[9, 1], x[11, 1], x[3, 2] = math.nan, math.inf, -math.inf, math.inf
        assert str(x.sum(0).tolist()) == "[nan, nan, inf]" == str(x.T.sum(-1).tolist())
        assert mg.zeros(0, 3, dtype=dtype).sum(0).tolist() == [0, 0, 0]
        assert mg.zeros(3, 0, dtype=dtype).sum(0).shape == (0,)
        assert mg.tensor(2.0, dtype=dtype).sum().item() == 2
        assert mg.ones(70, 3, dtype=dtype).sum(-2, keepdim=True).shape == (1, 3)
        assert mg.ones(99, 2, 64, dtype=dtype).sum((0, -1), keepdim=True).tolist() == [
            [[6336], [6336]]
        ]
        assert x.sum(0).dtype == dtype


@in_one_test
@pytest.mark.parametrize(
    "dtype", [np.dtype("float16"), np.dtype("float32"), np.dtype("float64")], ids=str
)
@pytest.mark.parametrize(
    "shape",
    [
        (70, 3),
        (1000, 25),
        (997, 4),
        (4097, 2),
        (128, 128),
        (1024, 130),
        (5, 1030),
        (3, 70, 90),
        (70, 3, 5, 6),
    ],
)
def test_replays_give_the_bits_of_the_plain_call(shape: tuple[int, ...], dtype: np.dtype) -> None:
    def step(x: Any) -> Any:
        x = x * 1
        reduced = [x.sum(a, keepdim=k) for a in range(x.ndim) for k in (True, False)] + [
            x.mean(a) for a in range(x.ndim)
        ]
        pairs = [
            x.sum((0, 1)),
            x.sum(),
            x.mean(),
            x.sum_to(*x.shape[-1:]),
            x.sum_to(1, *x.shape[1:]),
        ]
        others = [
            mg.softmax(x, 0),
            x.var(0),
            x.norm(dim=0),
            x.cumsum(0),
            x[:99] @ x[:99].mT,
            F.layer_norm(x, x.shape[-1:]),
        ]
        return [r * 1 for r in (*reduced, *pairs, *others)]

    x = np.random.default_rng(5).random(shape).astype(dtype)
    for array in (x, np.asfortranarray(x)):
        t = mg.from_numpy(array)
        program = trace(step, t)
        for again in range(2):
            for i, (got, want) in enumerate(zip(program(t), step(t), strict=True)):
                assert (
                    got.dtype == want.dtype and got.numpy().tobytes() == want.numpy().tobytes()
                ), (i, again)
