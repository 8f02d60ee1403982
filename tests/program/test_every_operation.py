"""Every operation, recorded and replayed, gives what it gave: forward and backward, in every
layout, on plain and planned runs. Bits are equal
but for products of matrices, which agree within a bound, and whose replays agree with each other
bit by bit."""

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.backend import bfloat16_dtype
from minigrad.core.primitive import registry
from minigrad.program import trace
from minigrad.program.run import interpret
from tests.helpers.exact_values import bits
from tests.helpers.op_cases import CASES, Case
from tests.helpers.tables import in_one_test

ELSEWHERE = {
    "batch_enter",
    "batch_leave",
    "batch_share",
    "batch_total",
    "max_pool_jvp",
    "max_pool_backward",
}
"""Batches are refused (test_program_record.py); the two parts of max pooling are recorded by its
own backward and double backward.
"""
RECORDABLE = [c for c in CASES if c.primitive not in ELSEWHERE]
SHAPED_BY_VALUES = {"argwhere", "bincount"}


def direction(like: Any) -> Any:
    """Random numbers in the shape and dtype of an array."""
    rng = np.random.default_rng(like.size)
    draw = rng.standard_normal(like.shape)
    return np.asarray(
        draw + 1j * rng.standard_normal(like.shape) if like.dtype.kind == "c" else draw
    ).astype(like.dtype)


def laid_out(array: Any, order: str) -> Any:
    """These values, row-major or column-major in memory."""
    return np.asarray(array, order="C") if order == "C" else np.array(array, order="F", copy=True)


def leaves(case: Case, arrays: Any, order: str) -> list[mg.Tensor]:
    """Leaves with a given memory layout."""
    out = []
    for i, a in enumerate(arrays):
        t = mg.from_numpy(laid_out(np.array(a), order))
        out.append(t.requires_grad_() if i in case.differentiable() else t)
    return out


def derivative(case: Case, u: Any) -> Any:
    """The operation, and its pull on a fixed cotangent where it has one."""
    # Not case.run, whose globals lead to the whole registry, all of which the recording would
    # watch.
    operation, params = case.route or registry[case.primitive], case.params

    def f(*inputs: Any) -> Any:
        y = operation(*inputs, **params)
        if y.node is None:
            return (y,)
        needed = [x for x in inputs if x.requires_grad]
        return (
            y.detach(),
            *mg.autograd.grad(y, needed, mg.tensor(u), allow_unused=True, materialize_grads=True),
        )

    return f


def offered(case: Case, dtype: str) -> bool:
    """Whether the operation takes this dtype."""
    return (
        case.complex
        if dtype == "complex128"
        else case.real and (dtype != "float16" or dtype in case.half)
    )


def replays(*wanted: tuple[str, str]) -> list[Any]:
    """Each recordable case in the first of these dtypes that it takes; the others belong to the
    whole run.
    """
    found = []
    for case in RECORDABLE:
        kinds = [kind for kind in wanted if offered(case, kind[0])]
        found += [
            pytest.param(
                case,
                *kind,
                id=f"{case.id}-{'-'.join(kind)}",
                marks=[pytest.mark.whole] if k else [],
            )
            for k, kind in enumerate(kinds)
        ]
    return found


@in_one_test
@pytest.mark.parametrize(
    ("case", "dtype", "order"),
    replays(("float32", "C"), ("complex128", "F"), ("float64", "F"), ("float16", "C")),
)
def test_bits_of_replays(case: Case, dtype: str, order: str) -> None:
    """The first runs are plain, later ones are lowered: with the inputs of the recording, and
    with others.
    """
    arrays = case.inputs(dtype)
    with np.errstate(all="ignore"):
        y = case.run(leaves(case, arrays, order))
        f = derivative(
            case, direction(np.asarray(y.detach().numpy())) if y.dtype.kind in "fc" else None
        )
        program = trace(f, *leaves(case, arrays, order)).check()
        exact = {"affine", "matmul"}.isdisjoint(
            i.primitive.name for i in program.instructions
        )  # BLAS computes these
        for seed, repeats in ((0, 3), (1, 1), (2, 1)):
            if seed and case.primitive in SHAPED_BY_VALUES:
                break
            new = case.inputs(dtype, seed=seed)
            want = f(*leaves(case, new, order))
            for _ in range(repeats):
                got = program(*leaves(case, new, order))
                if exact:
                    equal = [bits(t) for t in got] == [bits(t) for t in want]
                else:
                    equal = all(within_the_bound(a, b) for a, b in zip(got, want, strict=True))
                assert equal, f"seed {seed}\n{program}\n{program.source()}"
        again = program(*leaves(case, new, order)), program(*leaves(case, new, order))
        assert [bits(t) for t in again[0]] == [bits(t) for t in again[1]], program.source()


def within_the_bound(got: Any, want: Any) -> bool:
    """What a replay promises of results that depend on a product of matrices: 16 units of roundoff
    of the largest element."""
    a, b = (np.asarray(t.detach().numpy()) for t in (got, want))
    if a.shape != b.shape or a.dtype != b.dtype or not a.size or a.dtype.kind not in "fc":
        return bits(got) == bits(want)
    finite = np.isfinite(b)
    largest = np.abs(b[finite]).max(initial=0)
    return bool(
        np.array_equal(finite, np.isfinite(a))
        and (np.abs(a - b)[finite] <= 16 * np.finfo(a.dtype).eps * largest).all()
    )


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-42, -1e-42, 3.4e38, 2.5, -0.5]


@in_one_test
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "name", sorted(name for name, prim in registry.items() if prim.kernel is not None)
)
def test_kernels_on_special_values_and_long_arrays(name: str, dtype: str) -> None:
    """Zeros of both signs, NaN, infinities and denormals, in arrays long enough for every
    blocked loop.
    """
    case = next(c for c in CASES if c.primitive == name)
    if not case.any_shape:
        pytest.skip("its samples have fixed shapes; the test above has them")
    values = np.resize(np.array(SPECIAL, dtype), (101, 60)).copy()
    values[::2] = values[::2, ::-1]
    arrays = []
    if any(domain == "int" for domain in case.domains):
        pytest.skip("takes integers")
    for i, domain in enumerate(case.domains):
        rolled = np.roll(values, 7 * i, axis=1)
        arrays.append(rolled > 0 if domain == "bool" else rolled)
    operation, params = case.route or registry[name], case.params

    def f(*x: Any) -> Any:
        y = operation(*x, **params)
        return y + 0 if y.dtype.kind == "f" else mg.logical_not(y)

    with np.errstate(all="ignore"):
        inputs = [mg.tensor(a) for a in arrays]
        program = trace(f, *inputs)
        want = bits(f(*inputs))
        for _ in range(3):
            assert bits(program(*inputs)) == want, program.source()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("n", [-2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 1.0, 2.0, 3.0])
def test_powers_are_replayed_bit_by_bit(n: float, dtype: str) -> None:
    """Every exponent for which NumPy has a fast path, and some for which it has none."""
    x = mg.tensor(np.resize(np.array([*SPECIAL[:7], 2.5, -0.5], dtype), (50, 11)))
    f = lambda x: x**n + 0
    with np.errstate(all="ignore"):
        program, want = trace(f, x), bits(f(x))
    for _ in range(3):
        assert bits(program(x)) == want, program.source()


def test_bfloat16_is_replayed_bit_by_bit() -> None:
    """A dtype that NumPy does not know itself is replayed too."""
    pytest.importorskip("ml_dtypes")
    x = mg.tensor(np.linspace(-2, 2, 12), dtype=bfloat16_dtype())
    f = lambda x: (x * 2 + x.exp()).relu().sum(0)
    program = trace(f, x).check()
    for _ in range(3):
        assert bits(program(x)) == bits(f(x))


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (1, 1), (7,), (2, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_edge_shapes_and_dtypes(shape: tuple[int, ...], dtype: str) -> None:
    """Numbers, nothing, ones and integers: in programs of several steps, so that buffers are
    reused.
    """
    a = np.resize(np.array([3, 1, 0, 2]), shape).astype(dtype)

    def f(x: Any) -> Any:
        y = x + x
        z = (y * y).sqrt() - 1
        return mg.where(z > 0, z, 0.0).sum(), (z + 1) / 2, (-z).relu()

    x = mg.tensor(a)
    if dtype == "bool":
        f = lambda x: ((x & ~x) | x, x ^ x, x.sum())
    program = trace(f, x).check()
    for _ in range(3):
        assert [bits(t) for t in program(x)] == [bits(t) for t in f(x)], program.source()
    plain = interpret(program, [x.array])
    assert [np.asarray(plain[n]).tobytes() for n in program.outputs] == [bits(t)[2] for t in f(x)]
