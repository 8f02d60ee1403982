"""Reading and writing with every form of index, against PyTorch: numbers, slices, None, Ellipsis,
lists, ranges, masks, bytes; of 0-d and empty tensors too.
"""

import random

import numpy as np
import pytest

import minigrad as mg

SHAPES = [(), (3,), (2, 3), (3, 1, 2), (2, 3, 4), (0,), (2, 0), (1, 1)]


class Of(tuple):
    """Stands for a tensor of these numbers: (array,)."""


def part(r, n):
    """A random index of an axis of n elements."""
    numbers = lambda *shape: np.array(
        [r.randrange(-n, n) if n else 0 for _ in range(int(np.prod(shape)))], "int64"
    ).reshape(shape)
    bound = lambda: r.choice([None, r.randint(-n - 1, n + 1)])
    mask = lambda: np.array([r.random() < 0.5 for _ in range(n)], bool)
    forms = [
        lambda: r.randrange(-n - 1, n + 1),
        lambda: slice(bound(), bound(), r.choice([None, 2])),
        lambda: None,
        lambda: Ellipsis,
        lambda: numbers(2).tolist(),
        lambda: Of([numbers(*r.choice([(), (2,), (2, 2), (0,)]))]),
        lambda: Of([mask()]),
        lambda: Of([mask().astype("uint8")]),
        lambda: mask().tolist(),
        lambda: r.random() < 0.5,
        lambda: range(min(n, 2)),
        lambda: [numbers(1).tolist(), 0],
        lambda: Of([np.array(r.random() < 0.5)]),
        lambda: numbers(2),
    ]
    return r.choice(forms)()


def given(lib, index):
    if isinstance(index, Of):
        return lib.from_numpy(index[0].copy())
    if isinstance(index, tuple):
        return tuple(given(lib, p) for p in index)
    return index


def gradient_of(x):
    return np.zeros(tuple(x.shape)) if x.grad is None else x.grad.numpy()


def outcome(lib, base, index, writes, value):
    x = lib.from_numpy(base.copy())
    x.requires_grad_()
    y, found = x * 1, given(lib, index)
    try:
        if not writes:
            out = y[found]
            (out * out).sum().backward()
            return [out.detach().numpy(), gradient_of(x)]
        shape = tuple(y[found].shape)
        v = lib.from_numpy(
            np.full({"number": (), "region": shape, "leading": (1, *shape)}[value], 7.0, base.dtype)
        ).requires_grad_()
        y[found] = v
        (y * y).sum().backward()
        return [y.detach().numpy(), gradient_of(v), gradient_of(x)]
    except (IndexError, TypeError, ValueError, RuntimeError) as error:
        return error


def compare(torch, seeds):
    for seed in seeds:
        r = random.Random(seed)
        shape = r.choice(SHAPES)
        parts = []
        for axis in range(r.choice([0, 1, 1, 2, 3])):
            p = part(r, shape[axis] if axis < len(shape) else 2)
            if p is not Ellipsis or not any(q is Ellipsis for q in parts):
                parts.append(p)
        index = (
            parts[0]
            if len(parts) == 1 and r.random() < 0.5
            else list(parts)
            if r.random() < 0.05 and not any(isinstance(p, Of) for p in parts)
            else tuple(parts)
        )
        base = (np.arange(1.0, 1 + int(np.prod(shape))) % 7).reshape(shape)
        case = (base, index, r.random() < 0.5, r.choice(["number", "region", "leading"]))
        ours, theirs = outcome(mg, *case), outcome(torch, *case)
        what = f"seed {seed}: shape {shape}, index {index!r}, {case[2:]}"
        if isinstance(theirs, Exception):
            if "boolean masks" in str(
                theirs
            ):  # PyTorch reads with bytes as a mask, and does not write with them
                continue
            assert isinstance(ours, IndexError | mg.errors.ShapeError), (
                f"{what}: {ours!r}, PyTorch: {theirs!r}"
            )
            assert "NumPy" not in str(ours) and "inhomogeneous" not in str(ours), ours
            continue
        assert not isinstance(ours, Exception), f"{what}: {ours!r}"
        for a, b in zip(ours, theirs, strict=True):
            assert a.shape == b.shape and np.array_equal(a, b), (
                f"{what}: {a.tolist()}, PyTorch: {b.tolist()}"
            )


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_random_index_forms_agree_with_pytorch(torch):
    compare(torch, range(400))


@pytest.mark.oracle
@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
def test_many_random_indices(torch):
    compare(torch, range(400, 8000))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_lists_with_slices_and_ranges_are_indices_as_in_pytorch(torch):
    for index in (
        [slice(None), [0, 3]],
        range(3),
        [[0, 1], [1, 2]],
        [range(2), None],
        [[True] * 4],
    ):
        found = [lib.arange(24.0).reshape(4, 6)[index].numpy() for lib in (mg, torch)]
        assert found[0].shape == found[1].shape and np.array_equal(*found), index


def test_masks_of_one_number():
    for dtype in (mg.float32, mg.float64, mg.float16, mg.int64):
        x = mg.tensor(3.0, dtype=dtype)
        x[x > 0] = 7.0
        assert x.item() == 7 and x.dtype == dtype
        x[x < 0] = 1.0
        assert x.item() == 7
        x[()] = 5.0
        x[...] = x + 1
        x[None] = x + 1
        assert x.item() == 7


def test_index_copy_into_one_number_takes_a_vector_as_in_pytorch():
    x, source = mg.tensor(1.0, requires_grad=True), mg.tensor([2.0, 3.0], requires_grad=True)
    copied = x.index_copy(0, mg.tensor([0, 0]), source)
    assert copied.shape == () and copied.item() == 3
    copied.backward()
    assert x.grad.item() == 0
    nothing = x.index_copy(0, mg.tensor([], dtype=mg.int64), source[:0])
    assert nothing.shape == () and nothing.item() == 1
