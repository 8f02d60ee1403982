"""vmap: the same numbers as a loop over the examples, for every operation, under every nesting
with derivatives, or a clear error.
"""

import functools
import itertools
import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import batching
from minigrad.batching import boundary
from minigrad.batching.value import BatchAxis, Batched
from minigrad.core.primitive import registry
from minigrad.errors import BatchingError, InPlaceError, NonScalarError
from minigrad.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from minigrad.nn import functional as network
from tests.helpers.op_cases import CASES
from tests.helpers.tables import in_one_test

RNG = np.random.default_rng(7)


def normal(*shape):
    return mg.tensor(RNG.normal(size=shape))


def numbers(tree):
    """All values of nested tensors, as arrays."""
    if isinstance(tree, mg.Tensor):
        return [tree.detach().numpy()]
    return [
        a for item in (tree.values() if isinstance(tree, dict) else tree) for a in numbers(item)
    ]


def equal(a, b, tolerance=1e-11):
    left, right = numbers(a), numbers(b)
    assert len(left) == len(right)
    for x, y in zip(left, right, strict=True):
        assert x.shape == y.shape
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def looped(function, *args, in_dims=0):
    """The definition of vmap: call the function on each example, stack the results."""
    dims = (in_dims,) * len(args) if not isinstance(in_dims, tuple) else in_dims
    size = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
    pick = lambda a, d, i: a if d is None else a[(slice(None),) * (d % a.ndim) + (i,)]
    results = [
        function(*(pick(a, d, i) for a, d in zip(args, dims, strict=True))) for i in range(size)
    ]
    return (
        mg.stack(results)
        if isinstance(results[0], mg.Tensor)
        else tuple(mg.stack(column) for column in zip(*results, strict=True))
    )


# ---------------------------------------------------------------------------------- every operation

BATCHABLE = [
    c
    for c in CASES
    if c.primitive not in ("max_pool_jvp", "max_pool_backward", "dropout_mask", "argwhere")
]
"""All but two that get an array of their own (they run as derivatives of max_pool), the random
one, and one that finds places.
"""


def batches(cases, *axes):
    """Each case with each choice of batched operands. All, the first and the last are one choice
    where there is one operand.
    """
    return [
        pytest.param(case, choice, id=f"{case.id}-{choice}")
        for case in cases
        for choice in axes
        if len(case.shapes) > 1 or choice not in ("first", "last")
    ]


def on_batches(case, axes, dtype):
    """A case's inputs in three versions each, and for each whether it is batched."""
    count = len(case.shapes)
    batched = (
        [True] * count
        if axes in ("all", "nested")
        else [i == (0 if axes == "first" else count - 1) for i in range(count)]
    )
    versions = [[mg.tensor(a) for a in case.inputs(dtype, seed=s)] for s in range(3)]
    args = [
        mg.stack([v[i] for v in versions], 0) if b else versions[0][i]
        for i, b in enumerate(batched)
    ]
    return args, tuple(0 if b else None for b in batched)


def without_rules(patch):
    """Leaves the general rule only, for as long as the patch lasts; what enters and leaves the
    batch has no other way.
    """
    for prim in registry.values():
        if prim.batch != "itself" and prim.name != "overwrite":
            patch.setattr(prim, "batch", None)


@in_one_test
@pytest.mark.parametrize(("case", "axes"), batches(BATCHABLE, "all", "first", "last", "nested"))
def test_every_operation_on_a_batch_is_the_loop(case, axes, monkeypatch):
    """Values by the operation's own rule and by the general one; operands batched or not; two
    batches nested.
    """
    dtypes = (["float64"] if case.real else []) + (
        ["complex128"] if case.complex or not case.real else []
    )
    for dtype in dtypes:
        args, dims = on_batches(case, axes, dtype)
        run = lambda *xs: case.run(xs)
        if axes == "nested":
            args = [mg.stack([a, a.flip(0)]) for a in args]
            mapped = vmap(vmap(run, dims), dims)
            expected = looped(functools.partial(looped, run, in_dims=dims), *args, in_dims=dims)
        else:
            mapped = vmap(run, dims)
            expected = looped(run, *args, in_dims=dims)
        equal(mapped(*args), expected)
        if (
            case.primitive != "scatter_view"
        ):  # its steps must be windows, which the general rule copies
            with monkeypatch.context() as patch:
                without_rules(patch)
                equal(mapped(*args), expected)


SMOOTH = [c for c in BATCHABLE if registry[c.primitive].kind != "constant" and c.real]


@in_one_test
@pytest.mark.parametrize(("case", "axes"), batches(SMOOTH, "all", "first", "last"))
def test_every_operation_differentiates_through_a_batch(case, axes):
    """Pulls and pushes, inside of vmap and outside of it, also by operands that all examples
    share: as for the loop.
    """
    args, dims = on_batches(case, axes, "float64")
    places = case.differentiable()

    def run(*chosen):
        full = list(args)
        for i, x in zip(places, chosen, strict=True):
            full[i] = x
        return vmap(lambda *xs: case.run(xs), dims)(*full)

    def loop(*chosen):
        full = list(args)
        for i, x in zip(places, chosen, strict=True):
            full[i] = x
        return looped(lambda *xs: case.run(xs), *full, in_dims=dims)

    points = [args[i] for i in places]
    values, pull = vjp(run, *points)
    expected, pull_loop = vjp(loop, *points)
    equal(values, expected)
    seed = (
        mg.cos(mg.tensor(np.arange(float(values.numel())))).reshape(values.shape).to(values.dtype)
    )
    equal(pull(seed), pull_loop(seed))
    directions = tuple(mg.sin(3 * p + 1).to(p.dtype) for p in points)
    equal(jvp(run, tuple(points), directions)[1], jvp(loop, tuple(points), directions)[1])

    def one(*xs):
        def part(*chosen):
            full = list(xs)
            for i, x in zip(places, chosen, strict=True):
                full[i] = x
            return case.run(full)

        y, inner = vjp(part, *(xs[i] for i in places))
        return inner(mg.ones_like(y))

    equal(vmap(one, dims)(*args), looped(one, *args, in_dims=dims))


def test_operations_without_a_rule_are_known():
    """What vmap runs example by example: a declaration that names no rule shows here. Random
    numbers and `scatter_view` have ways of their own.
    """
    slow = {name for name, prim in registry.items() if prim.batch is None and not prim.random} - {
        "scatter_view"
    }
    assert slow == {
        "argwhere",
        "bincount",
        "convolve_weight",
        "reflections",
        "pivots_to_permutation",
        "scatter_extreme",
        "searchsorted",
    }


# ------------------------------------------------------------------------- nesting with derivatives

A = normal(3, 3)
FUNCTIONS = {
    "polynomial": lambda x: (x**3 * x.sin()).sum(),
    "network": lambda x: ((A @ x).tanh() * x).sum(),
    "indexing": lambda x: (x[1:] * x[:-1]).exp().sum() + (x[mg.tensor([0, 0, 2])] ** 2).mean(),
}
TRANSFORMS = ("grad", "jacrev", "jacfwd", "vjp", "jvp", "vmap")


def transformed(name, f):
    """f (of a vector, to any shape) differentiated once, or mapped over shifted copies of its
    argument: a function of a vector again.
    """
    direction = mg.tensor([0.3, -1.0, 0.5])
    return {
        "grad": lambda x: grad(lambda z: (f(z) ** 2).sum())(x),
        "jacrev": lambda x: jacrev(f)(x),
        "jacfwd": lambda x: jacfwd(f)(x),
        "vjp": lambda x: (lambda y, pull: pull(mg.cos(y))[0])(*vjp(f, x)),
        "jvp": lambda x: jvp(f, (x,), (direction.to(x.dtype),))[1],
        "vmap": lambda x: vmap(f)(mg.stack([x, 0.5 * x])),
    }[name]


def by_hand(name, f):
    """The expected result without vmap and without nested levels: rows by autograd, examples by
    a loop, directions by central differences.
    """
    direction = np.array([0.3, -1.0, 0.5])

    def jacobian(x, step=1e-3):
        columns = []
        for e in np.eye(3):
            shift = mg.tensor(step * e)
            d = lambda k, s=shift: f(x + k * s) - f(x - k * s)
            columns.append((45 * d(1) - 9 * d(2) + d(3)) / (60 * step))  # sixth order
        return mg.stack(columns, -1)

    return {
        "grad": lambda x: (
            (2 * f(x)[..., None] * jacobian(x)).reshape(-1, 3).sum(0)
            if f(x).ndim
            else 2 * f(x) * jacobian(x)
        ),
        "jacrev": jacobian,
        "jacfwd": jacobian,
        "vjp": lambda x: (mg.cos(f(x))[..., None] * jacobian(x)).reshape(-1, 3).sum(0),
        "jvp": lambda x: (jacobian(x) * mg.tensor(direction)).sum(-1),
        "vmap": lambda x: mg.stack([f(x), f(0.5 * x)]),
    }[name]


@pytest.mark.parametrize(
    ("depth", "function"),
    [
        *itertools.product((1, 2), FUNCTIONS),
        (3, "polynomial"),
        pytest.param(3, "indexing", marks=pytest.mark.whole),
    ],
)
def test_every_nesting_with_derivatives_gives_the_same_numbers(function, depth):
    """Every order of depth transforms: numerically right to depth 2, and at depth 3 the same
    with forward and reverse mode exchanged.
    """
    x = mg.tensor([0.4, -0.7, 0.9]).double()
    f = FUNCTIONS[function]
    exchanged = {"jacrev": "jacfwd", "jacfwd": "jacrev"}
    for names in itertools.product(TRANSFORMS, repeat=depth):
        g = h = f
        for name in names:
            g = transformed(name, g)
            h = by_hand(name, h) if depth < 3 else transformed(exchanged.get(name, name), h)
        ours, other = g(x), h(x)
        assert ours.shape == other.shape, names
        np.testing.assert_allclose(
            ours.numpy(),
            other.numpy(),
            rtol=2e-5,
            atol=2e-5 if depth < 3 else 1e-10,
            err_msg=str(names),
        )
        mapped = vmap(g)(mg.stack([x, -x]))
        np.testing.assert_allclose(
            mapped.numpy(),
            np.stack([ours.numpy(), g(-x).numpy()]),
            rtol=1e-10,
            atol=1e-12,
            err_msg=str(names),
        )


def test_a_captured_tensor_with_history_gets_the_sum():
    """Gradient outside of vmap by tensors that the mapped function captures: each example
    contributes.
    """
    xs, w, m = normal(5, 3), normal(3), normal(4, 3)
    w.requires_grad_()
    m.requires_grad_()
    f = lambda x: (w * x).sin().sum() + (m @ x).tanh().sum() + (x @ m.T).exp().sum()
    vmap(f)(xs).sum().backward()
    ours = w.grad, m.grad
    w.grad = m.grad = None
    looped(f, xs).sum().backward()
    equal(ours, (w.grad, m.grad))


def test_a_shared_argument_has_a_gradient_for_each_example():
    """in_dims=None and grad inside: per-example gradients, not their sum."""
    xs, w = normal(5, 3), normal(4, 3)
    each = vmap(grad(lambda w, x: (w @ x).tanh().sum()), in_dims=(None, 0))(w, xs)
    assert each.shape == (5, 4, 3)
    equal(each, looped(lambda x: grad(lambda w: (w @ x).tanh().sum())(w), xs))
    assert abs(each - each[0]).amax().item() > 0.1


def test_a_captured_constant_differentiated_inside_is_per_example():
    xs, w = normal(4, 3), normal(3)
    f = lambda x: grad(lambda v: ((v * x) ** 2).sum())(w)
    equal(vmap(f)(xs), looped(f, xs))


def test_the_sum_of_captured_history_in_higher_order():
    """reverse over (vmap of reverse) by a captured tensor: mixed second derivatives, summed over
    the batch.
    """
    xs, w = normal(4, 3), normal(3)
    f = lambda w: vmap(grad(lambda x: ((w * x) ** 3).sum()))(xs).sum()
    loop = lambda w: looped(lambda x: 3 * w**3 * x**2, xs).sum()
    equal(grad(f)(w), grad(loop)(w), 1e-9)
    equal(hessian(f)(w), hessian(loop)(w), 1e-9)
    equal(jacfwd(jacfwd(f))(w), hessian(loop)(w), 1e-9)


def test_tangents_that_all_examples_share():
    """A tangent that comes from outside and is itself differentiated: each example contributes
    to its gradient.
    """
    xs, w, t = normal(3, 2), normal(2), normal(2)
    f = lambda t: jvp(lambda w: vmap(lambda x: x + w)(xs).sum(0), (w,), (t,))[1].sum()
    equal(grad(f)(t), mg.full((2,), 3.0, dtype=mg.float64))
    g = lambda t: vmap(lambda x: jvp(lambda w: x * 1 + w, (w,), (t,))[1])(xs).sum()
    equal(grad(g)(t), mg.full((2,), 3.0, dtype=mg.float64))


def test_contributions_of_both_kinds_add_up():
    """A cotangent that is the same for all examples meets one that differs, whatever their
    order.
    """
    xs = normal(3, 2)
    terms = (
        lambda x: (x * x).sum(),
        lambda x: x.sum(),
        lambda x: (2 * x).sum(),
        lambda x: x.mean(),
    )
    for order in itertools.permutations(terms):
        f = lambda x, order=order: sum(term(x) for term in order)
        equal(vmap(grad(f))(xs), 2 * xs + 3.5)


def test_the_sum_over_a_batch_of_equals():
    """What all examples share counts as often as there are examples; a batched value is summed."""
    x, total = normal(2), registry["batch_total"]
    x.requires_grad_()
    with batching.batch_axis(5) as place:
        for y in (boundary.summed(x, place), boundary.summed(boundary.shared(x, (place,)), place)):
            equal(y, 5 * x)
            equal(mg.autograd.grad(y.sum(), x)[0], mg.full((2,), 5.0, dtype=mg.float64))
        assert total(np.ones(2), place=place).tolist() == [5, 5]
        with pytest.raises(BatchingError, match="already"):
            batching.enter(batching.enter(normal(5, 5), place=place, axis=0), place=place, axis=0)


@pytest.mark.parametrize("ranks", [(1, 2), (2, 1), (2, 2), (1, 1), (3, 2), (2, 3)])
def test_products_with_a_captured_factor(ranks):
    """Every pair of ranks, the factor from outside on either side, differentiated once and
    twice, in one batch and in two.
    """
    shape = {1: (3,), 2: (3, 3), 3: (2, 3, 3)}
    a, b = normal(4, *shape[ranks[0]]), normal(*shape[ranks[1]])
    for product in (lambda x, w: x @ w, lambda x, w: w @ x):
        _compare_products(product, a, b)


def _compare_products(product, a, b):
    f = lambda w: vmap(lambda x: product(x, w).sin())(a).sum()
    loop = lambda w: looped(lambda x: product(x, w).sin(), a).sum()
    equal(grad(f)(b), grad(loop)(b))
    equal(jacrev(jacrev(f))(b), hessian(loop)(b), 1e-9)
    two = lambda w: vmap(vmap(lambda x: product(x, w).sin()))(mg.stack([a, 2 * a])).sum()
    equal(
        grad(two)(b),
        grad(lambda w: loop(w) + looped(lambda x: product(2 * x, w).sin(), a).sum())(b),
    )


@pytest.mark.parametrize(
    "layer",
    [lambda x, w, b: w @ x, lambda x, w, b: x @ w.T + b, lambda x, w, b: network.linear(x, w, b)],
)
def test_a_weight_from_outside_stays_one_matrix(layer):
    """The gradient by a captured matrix is one product; no array of one outer product for each
    example is made.
    """
    xs, w, b = normal(64, 5), normal(7, 5).requires_grad_(), normal(7).requires_grad_()
    y = vmap(lambda x: layer(x, w, b).tanh())(xs)
    sizes = []

    class Watch:
        def begin(self, event): ...

        def end(self, event):
            result = getattr(event.result, "array", event.result)
            sizes.append(getattr(getattr(result, "array", result), "size", 0))

    with mg.observers.observing(Watch()):
        y.sum().backward()
    equal(
        w.grad,
        grad(lambda w: looped(lambda x: layer(x, w, b).tanh(), xs).sum())(w.detach()).detach(),
    )
    assert sizes
    assert max(sizes) <= 64 * 7


# ------------------------------------------------------------------------------- where the batch is


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_in_dims_and_out_dims(dim):
    x = normal(3, 4, 5)
    f = lambda row: row.sin() * 2
    equal(vmap(f, in_dims=dim, out_dims=dim)(x), x.sin() * 2)
    moved = x.movedim(dim, 0)
    equal(vmap(lambda r: r.sum(0), in_dims=dim)(x), mg.stack([m.sum(0) for m in moved]))


def test_structures_of_tensors_are_mapped_over():
    """Tuples, lists and dicts in and out, an entry of in_dims for a whole part."""
    args = {"w": normal(4, 3), "b": normal(3)}
    xs = [normal(4), normal(2, 4)]
    f = lambda p, x: {"y": p["w"] * x[0] + p["b"], "z": (x[1], [p["b"]])}
    out = vmap(f, in_dims=({"w": 0, "b": None}, [0, 1]), out_dims={"y": 1, "z": (0, None)})(
        args, xs
    )
    equal(out["y"], (args["w"] * xs[0][:, None] + args["b"]).T)
    equal(out["z"][0], xs[1].T)
    equal(out["z"][1][0], args["b"])
    assert isinstance(out["z"], tuple)
    assert isinstance(out["z"][1], list)


def test_keyword_arguments_are_the_same_for_all_examples_as_in_pytorch():
    x, s = normal(4, 3), normal(4, 3)
    scaled = vmap(lambda x, scale, power=1: (x * scale) ** power)
    equal(scaled(x, scale=s, power=2), (x[:, None] * s) ** 2)
    equal(vmap(scaled.__wrapped__, chunk_size=3)(x, scale=s), x[:, None] * s)


def test_arguments_that_are_no_tensors():
    x = normal(4, 3)
    equal(
        vmap(lambda x, p, label: x**p if label == "power" else x, in_dims=(0, None, None))(
            x, 2, "power"
        ),
        x**2,
    )
    equal(
        vmap(lambda x: x * 2)(np.arange(6.0).reshape(3, 2)),
        mg.tensor(np.arange(6.0).reshape(3, 2) * 2),
    )


@pytest.mark.parametrize("size", [0, 1])
def test_empty_batch_and_batch_of_one(size):
    x, w = mg.tensor(np.ones((size, 3))), normal(2, 3)
    assert vmap(lambda x: w @ x)(x).shape == (size, 2)
    assert vmap(grad(lambda x: (w @ x).sum()))(x).shape == (size, 3)
    assert vmap(jacrev(lambda x: w @ x))(x).shape == (size, 2, 3)
    assert vmap(jacfwd(lambda x: (w @ x).tanh()))(x).shape == (size, 2, 3)
    assert vmap(hessian(lambda x: (x**3).sum()))(x).shape == (size, 3, 3)
    assert vmap(lambda x: (x.amax(), x.argmax(), x[mg.tensor([0, 1])]))(x)[1].dtype == mg.int64
    g = grad(lambda w: vmap(lambda x: (w @ x).exp())(x).sum())(w)
    equal(
        g,
        looped(lambda x: grad(lambda w: (w @ x).exp().sum())(w), x).sum(0)
        if size
        else mg.zeros_like(w),
    )


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 100])
def test_chunks_give_the_results_of_the_whole(chunk):
    x, y = normal(5, 3), normal(3, 5)
    f = lambda a, b: (a * b, a.sum(), b)
    equal(
        vmap(f, in_dims=(0, 1), out_dims=(1, 0, -1), chunk_size=chunk)(x, y),
        vmap(f, in_dims=(0, 1), out_dims=(1, 0, -1))(x, y),
    )
    equal(
        jacrev(lambda x: (x.sin() * A).sum(0), chunk_size=chunk)(x[:3]),
        jacrev(lambda x: (x.sin() * A).sum(0))(x[:3]),
    )
    equal(
        jacfwd(lambda x: (x.sin() * A).sum(0), chunk_size=chunk)(x[:3]),
        jacrev(lambda x: (x.sin() * A).sum(0))(x[:3]),
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_a_number_of_each_example_promotes_as_a_0d_tensor(dtype):
    """One number per example counts as a 0-d tensor in type promotion, though the batch is an
    array.
    """
    x = mg.tensor(RNG.normal(size=(4,)).astype(dtype))
    other = mg.tensor(np.ones(3, "float16"))
    f = lambda s: s * 2.5 + other
    equal(vmap(f)(x), looped(f, x), 1e-2)
    assert vmap(lambda s: s * 2)(x).dtype == x.dtype
    equal(
        vmap(lambda s: s.to("float64" if x.dtype.kind == "f" else "complex128"))(x),
        x.to("float64" if x.dtype.kind == "f" else "complex128"),
    )


def test_integers_and_questions():
    x = mg.tensor(np.arange(6).reshape(3, 2))
    equal(vmap(lambda a: a // 2 + (a > 2))(x), x // 2 + (x > 2))
    equal(vmap(lambda a: mg.where(a > 2, a, -a))(x), mg.where(x > 2, x, -x))
    equal(
        vmap(lambda a: ((a > 2).any(), (a > 2).all(), a.argmax()))(x),
        looped(lambda a: ((a > 2).any(), (a > 2).all(), a.argmax()), x),
    )


def test_non_contiguous_inputs():
    x = normal(3, 8, 4)[:, ::2, :].permute(2, 0, 1)
    equal(vmap(lambda a: (a @ a.T).reshape(-1))(x), looped(lambda a: (a @ a.T).reshape(-1), x))


# ------------------------------------------------------------------------------------------ indices

INDEX = [
    ("x[i]", lambda x, i: x[i]),
    ("x[:, i]", lambda x, i: x[:, i]),
    ("x[i, :, None]", lambda x, i: x[i, :, None]),
    ("x[..., i]", lambda x, i: x[..., i]),
    ("x[i, i]", lambda x, i: x[i, i]),
    ("x[0, i]", lambda x, i: x[0, i]),
    ("x[None, :, i]", lambda x, i: x[None, :, i]),
    ("x[i, [1]]", lambda x, i: x[i, [1]]),
    ("x[i[0]]", lambda x, i: x[i[0]]),
    ("x[None, i, None, i]", lambda x, i: x[None, i, None, i]),
    ("x[None, i, ..., 0]", lambda x, i: x[None, i, ..., 0]),
    ("x[None, 0, ..., i]", lambda x, i: x[None, 0, ..., i]),
    ("x[None, i, ..., i]", lambda x, i: x[None, i, ..., i]),
    ("x[i[0], None, i]", lambda x, i: x[i[0], None, i]),
    ("x[i[0], i[1]]", lambda x, i: x[i[0], i[1]]),
    ("x[i[1], ..., [0, 1]]", lambda x, i: x[i[1], ..., [0, 1]]),
]


@in_one_test
@pytest.mark.parametrize("batched", ["both", "index", "nested", "values"])
@pytest.mark.parametrize("index", INDEX, ids=[name for name, _ in INDEX])
def test_an_index_that_differs_between_examples(index, batched):
    read = index[1]
    i = mg.tensor([[0, 1, 1], [2, 2, 0], [1, 0, 2], [0, 0, 0]])
    x = normal(4, 3, 3)
    if batched == "values":
        i = i[0]
    if batched == "index":
        x = x[0]
    dims = {"both": (0, 0), "index": (None, 0), "values": (0, None), "nested": (0, 0)}[batched]
    if batched == "nested":
        x, i = mg.stack([x, 2 * x]), i[None] * mg.ones(2, 1, 1, dtype=mg.int64)
        f, loop = vmap(vmap(read)), lambda *a: looped(lambda *b: looped(read, *b), *a)
        mixed = lambda x: vmap(vmap(read, in_dims=(None, 0)), in_dims=(0, None))(x, i[0])
        by_hand = lambda x: looped(lambda xx: looped(lambda ii: read(xx, ii), i[0]), x)
        equal(mixed(x[:, 0]), by_hand(x[:, 0]))
        equal(
            grad(lambda x: mixed(x).sin().sum())(x[:, 0]),
            grad(lambda x: by_hand(x).sin().sum())(x[:, 0]),
        )
    else:
        f, loop = vmap(read, dims), lambda *a: looped(read, *a, in_dims=dims)
    equal(f(x, i), loop(x, i))
    equal(grad(lambda x: f(x, i).sin().sum())(x), grad(lambda x: loop(x, i).sin().sum())(x))
    equal(jvp(lambda x: f(x, i), (x,), (x.cos(),))[1], loop(x.cos(), i))
    if batched != "nested":
        g = lambda x, i: grad(lambda x: (read(x, i) ** 2).sum())(x)
        equal(vmap(g, dims)(x, i), looped(g, x, i, in_dims=dims))


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x[:, [0, 1], ..., 0],
        lambda x: x[0, ..., [0, 1], [1, 1]],
        lambda x: x[:, [0, 1], ..., [1, 2]],
        lambda x: x[..., [0, 2]],
        lambda x: x[[0, 1], ..., None],
        lambda x: x[None, [0, 1], :, [2, 2]],
        lambda x: x[:, mg.tensor([True, False, True])],
        lambda x: x[
            ..., mg.tensor([[True, False, True], [False, True, False], [True, True, True]])
        ],
    ],
)
def test_constant_indices_lay_out_their_dimensions_as_for_one_example(read):
    xs = normal(4, 3, 3, 3)
    equal(vmap(read)(xs), looped(read, xs))
    equal(
        vmap(grad(lambda x: (read(x) ** 2).sum()))(xs),
        looped(grad(lambda x: (read(x) ** 2).sum()), xs),
    )


def test_batched_masks_are_refused():
    with pytest.raises(BatchingError, match="argwhere have different shapes"):
        vmap(lambda x: registry["argwhere"](x))(mg.tensor([[1.0, 0.0], [1.0, 1.0]]))
    with pytest.raises(BatchingError, match="boolean mask"):
        vmap(lambda x: x[x > 0])(normal(3, 4))


# ------------------------------------------------------------------------------- in place and views


def changed(x):
    y = x * 1
    y[0] = y[1] * 3
    y *= x
    y[1:].mul_(2)
    y[mg.tensor([0, 2])] = x[:2] ** 2
    return y


@pytest.mark.parametrize(
    "function",
    [
        lambda x: mg.softmax(x, 0),
        lambda x: mg.log_softmax(x, -1),
        lambda x: mg.cumsum(x, 0),
        lambda x: mg.sort(x, 0).indices,
        lambda x: mg.argmax(x, 0),
        lambda x: mg.argmin(x, -1, keepdim=True),
        lambda x: mg.logcumsumexp(x, 0),
        lambda x: vmap(lambda y: mg.softmax(x, 0) * y)(mg.ones(3)),
    ],
)
def test_dimension_0_of_one_number_is_that_number(function):
    """As outside vmap, where a 0-d tensor may be asked for its dimension 0."""
    x = normal(4)
    equal(vmap(function)(x), mg.stack([function(example) for example in x]))


@pytest.mark.parametrize(
    ("function", "dims", "shapes"),
    [
        (mg.linalg.matrix_exp, 0, [(3, 2, 2)]),
        (lambda a, b: mg.linalg.lstsq(a, b)[:3], 0, [(3, 4, 2), (3, 4)]),
        (lambda x, q: mg.quantile(x, q.sigmoid(), 0), (None, 0), [(5, 2), (3,)]),
        (lambda x, q: mg.nanquantile(x, q.sigmoid()), (0, -1), [(3, 5), (2, 3)]),
        (lambda x, v: x.index_fill(0, mg.tensor([1, 1]), v), 0, [(3, 4), (3,)]),
    ],
)
def test_what_is_decided_once_for_all_examples(function, dims, shapes):
    """How often to halve a matrix, whether all ranks are full, whether all q lie in [0, 1]: one
    decision does for the whole batch.
    """
    args = [normal(*shape) * 3 for shape in shapes]
    dims = dims if isinstance(dims, tuple) else (dims,) * len(args)
    picked = [
        [x if d is None else x.select(d, i) for x, d in zip(args, dims, strict=True)]
        for i in range(3)
    ]
    loop = [function(*each) for each in picked]
    loop = (
        mg.stack(loop)
        if isinstance(loop[0], mg.Tensor)
        else [mg.stack(parts) for parts in zip(*loop, strict=True)]
    )
    equal(vmap(function, in_dims=dims)(*args), loop)


def test_a_share_out_of_range_in_one_example_is_refused():
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        vmap(lambda q: mg.quantile(mg.arange(3.0), q))(mg.tensor([0.5, 1.5]))


def test_in_place_inside():
    """Views, item assignment and arithmetic in place: values, inner and outer gradients,
    tangents.
    """
    xs = normal(4, 3)
    equal(vmap(changed)(xs), looped(changed, xs))
    loss = lambda x: (changed(x) ** 2).sum()
    equal(vmap(grad(loss))(xs), looped(grad(loss), xs))
    equal(grad(lambda xs: vmap(loss)(xs).sum())(xs), looped(grad(loss), xs))
    equal(
        jvp(vmap(changed), (xs,), (xs.sin(),))[1],
        looped(lambda x, v: jvp(changed, (x,), (v,))[1], xs, xs.sin()),
    )
    equal(vmap(hessian(loss))(xs), looped(hessian(loss), xs))


WINDOWS = {
    "diagonal": lambda b: b.diagonal(),
    "another diagonal": lambda b: mg.diagonal(b, 1, 1, 0),
    "diagonal of windows": lambda b: b[:, 1:].T.diagonal()[:1],
    "transposed": lambda b: b.mT,
    "slice": lambda b: b[1:, ::2],
    "reshaped": lambda b: b.reshape(-1)[2:],
    "expanded slice": lambda b: b.unsqueeze(0)[..., 0],
    "real parts": lambda b: mg.view_as_real(mg.view_as_complex(b[:, :2]))[..., 1],
}


@pytest.mark.parametrize("name", WINDOWS)
def test_writing_through_a_window_inside_reaches_its_base(name):
    """And what is written into the base is seen through the window; values and gradients."""

    def through(x):
        base = x.clone()
        window = WINDOWS[name](base)
        window.mul_(x.sum())
        base.add_(1.0)
        return base * 2 + window.sum()

    xs = normal(4, 3, 4)
    equal(vmap(through)(xs), looped(through, xs))
    loss = lambda x: (through(x) ** 2).sum()
    equal(vmap(grad(loss))(xs), looped(grad(loss), xs))


def test_every_view_of_a_batch_is_a_view():
    """Run example by example and stacked, an operation gives a copy: what is written into it
    would be lost.
    """
    assert [
        name for name, operation in registry.items() if operation.view and operation.batch is None
    ] == []


def test_writing_to_the_argument_reaches_the_users_tensor():
    """As in PyTorch: the example is a window into the batch."""
    xs = mg.tensor(np.arange(6.0).reshape(3, 2))
    version = xs._version
    out = vmap(lambda x: x.mul_(2) + 1, in_dims=1)(xs)
    assert xs.tolist() == [[0, 2], [4, 6], [8, 10]]
    assert xs._version > version
    equal(out, xs.T + 1)
    tracked = mg.tensor(np.arange(6.0).reshape(3, 2), requires_grad=True)
    base = tracked * 1
    vmap(lambda x: x.mul_(x))(base)
    base.sum().backward()
    equal(tracked.grad, 2 * tracked)
    with pytest.raises(InPlaceError, match="leaf"):
        vmap(lambda x: x.mul_(2))(tracked)


def test_a_result_that_is_the_argument_shares_its_memory_and_version():
    xs = normal(3, 2)
    ys = vmap(lambda x: x)(xs)
    ys.mul_(2)
    equal(xs, ys)
    assert xs._version == ys._version > 0


def test_a_value_of_each_example_does_not_fit_one_tensor():
    with pytest.raises(BatchingError, match="only one for all of them"):
        vmap(lambda x: mg.ones(3).add_(x))(normal(4))
    total = mg.zeros(3)
    with pytest.raises(BatchingError, match="only one for all of them"):
        vmap(lambda x: total.__setitem__(0, x))(normal(4))
    assert total.tolist() == [0, 0, 0]


# ------------------------------------------------------------------------------------------- random


def test_randomness_follows_its_option():
    x = mg.zeros(4, 2)
    for draw in (
        lambda: mg.rand(2),
        lambda: mg.randn(2),
        lambda: mg.randint(0, 1000, (2,)).float(),
        lambda: mg.rand_like(mg.zeros(2)),
    ):
        with pytest.raises(BatchingError, match="randomness"):
            vmap(lambda x, draw=draw: x + draw())(x)
        same = vmap(lambda x, draw=draw: x + draw(), randomness="same")(x)
        assert (same == same[0]).all()
        different = vmap(lambda x, draw=draw: x + draw(), randomness="different")(x)
        assert (different[0] != different[1]).any()
    same = vmap(lambda x: x + mg.rand(2), randomness="same", chunk_size=1)(x)
    assert (same == same[0]).all()
    nested = vmap(vmap(lambda x: x + mg.rand(()), randomness="different"), randomness="same")(x)
    assert (nested == nested[0]).all()
    assert nested[0, 0] != nested[0, 1]
    assert jacfwd(lambda x: x * mg.rand(()), randomness="same")(mg.ones(2)).shape == (2, 2)


@pytest.mark.parametrize("inside", [True, False])
def test_dropout_is_random_too(inside):
    """The mask of a tensor from outside differs between the examples as well, if it is to."""
    x, ones = mg.zeros(4, 50), mg.ones(50)
    drop = lambda row: network.dropout(row + 1 if inside else ones, 0.5) + row
    with pytest.raises(BatchingError, match="randomness"):
        vmap(drop)(x)
    same, different = vmap(drop, randomness="same")(x), vmap(drop, randomness="different")(x)
    assert set(same.reshape(-1).tolist()) == set(different.reshape(-1).tolist()) == {0, 2}
    assert (same == same[0]).all()
    assert (different != different[0]).any()


def test_random_numbers_repeat_with_the_seed():
    draw = lambda: vmap(lambda x: x + mg.randn(3), randomness="different")(mg.zeros(2, 3))
    mg.manual_seed(3)
    first = draw()
    mg.manual_seed(3)
    equal(first, draw())


# ------------------------------------------------------------------------------------------- errors


def test_one_python_value_of_many_is_an_error():
    x = normal(3)
    for ask in (
        lambda v: v if v > 0 else -v,
        lambda v: float(v),
        lambda v: int(v),
        lambda v: v.item(),
        lambda v: v.numpy(),
        lambda v: v.tolist(),
        lambda v: mg.zeros(5)[: v.long()],
        lambda v: np.asarray(v),
        lambda v: mg.allclose(v, v),
        lambda v: mg.full((2,), v),
    ):
        with pytest.raises(BatchingError, match="where"):
            vmap(lambda v, ask=ask: mg.as_tensor(ask(v)))(x)


def test_wrong_dimensions_are_refused_by_input():
    x, y = normal(3, 2), normal(4, 2)
    with pytest.raises(ValueError, match=r"one size, got 3 .*, 4"):
        vmap(lambda a, b: a)(x, y)
    with pytest.raises(ValueError, match="dimension 2 of input 0"):
        vmap(lambda a: a, in_dims=2)(x)
    with pytest.raises(ValueError, match="dimension -3 of input 0"):
        vmap(lambda a: a, in_dims=-3)(x)
    with pytest.raises(ValueError, match=r"dimension 0 of input 0, which has shape \(\)"):
        vmap(lambda a: a)(mg.tensor(1.0))
    with pytest.raises(ValueError, match="None for every input"):
        vmap(lambda a: a, in_dims=(None,))(x)
    with pytest.raises(ValueError, match="does not fit"):
        vmap(lambda a, b: a, in_dims=(0,))(x, x)
    with pytest.raises(ValueError, match="does not fit"):
        vmap(lambda a: a["w"], in_dims=({"v": 0},))({"w": x})
    with pytest.raises(ValueError, match="in_dims must be"):
        vmap(lambda a: a, in_dims="0")(x)
    with pytest.raises(ValueError, match="int or None"):
        vmap(lambda a: a, in_dims=(0.5,))(x)
    with pytest.raises(ValueError, match="no tensor"):
        vmap(lambda a, b: a)(x, 3)
    with pytest.raises(ValueError, match="without positional arguments"):
        vmap(lambda a: a)(a=x)
    with pytest.raises(ValueError, match="out_dims asks for dimension 2"):
        vmap(lambda a: a, out_dims=2)(x)
    with pytest.raises(ValueError, match="out_dims"):
        vmap(lambda a: (a, a), out_dims=(0,))(x)
    with pytest.raises(ValueError, match="cannot be None"):
        vmap(lambda a: a, out_dims=None)(x)
    with pytest.raises(ValueError, match="must return tensors"):
        vmap(lambda a: None)(x)
    with pytest.raises(ValueError, match="chunk_size"):
        vmap(lambda a: a, chunk_size=0)
    with pytest.raises(ValueError, match="randomness"):
        vmap(lambda a: a, randomness="maybe")


def test_a_constant_result_is_repeated():
    x, w = normal(3, 2), normal(4)
    equal(vmap(lambda a: w)(x), mg.stack([w] * 3))
    equal(vmap(lambda a: w, out_dims=None)(x), w)
    w.requires_grad_()
    vmap(lambda a: w)(x).sum().backward()
    equal(w.grad, mg.full((4,), 3.0, dtype=mg.float64))


def test_a_gradient_by_one_tensor_for_all_examples_is_refused():
    """autograd.grad and backward inside, by a tensor from outside: the answer would be one for
    each example, so never its silent sum.
    """
    xs, w = normal(3, 2), normal(2).requires_grad_()
    with pytest.raises(BatchingError, match="different for each of the 3 examples"):
        vmap(lambda x: mg.autograd.grad((x * w).sum(), w)[0])(xs)
    with pytest.raises(BatchingError, match="different for each of the 3 examples"):
        vmap(lambda x: mg.autograd.grad((mg.stack([w, w]) @ x).sum(), w)[0])(xs)
    with pytest.raises(BatchingError, match="leaf"):
        vmap(lambda x: (x * w).sum().backward())(xs)
    assert w.grad is None
    equal(
        vmap(lambda x: mg.autograd.grad((w**2).sum(), w)[0] + 0 * x)(xs),
        mg.stack([2 * w.detach()] * 3),
    )


def test_leaves_of_its_own_work_inside():
    def f(x):
        x = x.detach().requires_grad_()
        (x**3).sum().backward()
        return x.grad

    xs = normal(3, 2)
    equal(vmap(f)(xs), 3 * xs**2)


def test_a_leaked_tensor_is_recognised():
    kept = []
    vmap(lambda x: kept.append(x) or x)(normal(3))
    with pytest.raises(BatchingError, match="leaked"):
        kept[0].numpy()
    with pytest.raises(BatchingError, match="has ended"):
        vmap(lambda y: y + kept[0])(normal(3))
    assert "has ended" in repr(kept[0])


def test_it_shows_itself():
    shown = []
    vmap(lambda x: shown.append(repr(x)) or x)(mg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert "a batch of 2 examples, example shape (2,)" in shown[0]


def test_the_batch_is_hidden():
    seen = []
    vmap(lambda x: seen.append((x.shape, x.ndim, x.numel(), len(x), x.size(0))) or x)(
        normal(5, 4, 3)
    )
    assert seen == [((4, 3), 2, 12, 4, 4)]


def test_open_axes_are_closed_after_errors():
    with pytest.raises(ZeroDivisionError):
        vmap(lambda x: 1 // 0)(normal(3))
    assert mg.rand(2).shape == (2,)
    assert batching.per_example(normal(2)).array.shape == (2,)


def test_grad_of_several_numbers_names_the_shape_of_one_example():
    with pytest.raises(NonScalarError, match=r"shape \(2,\)"):
        vmap(grad(lambda x: x * 2))(normal(3, 2))


def test_results_of_different_shapes_are_no_batch(monkeypatch):
    """The general rule cannot stack what differs in shape."""
    shrink = registry["clone"]
    monkeypatch.setattr(shrink, "batch", None)
    monkeypatch.setattr(shrink, "forward", lambda xp, x: x[x > 0])
    with pytest.raises(BatchingError, match="different shapes"):
        vmap(lambda x: x.clone())(mg.tensor([[1.0, -1.0], [1.0, 1.0]]))


def test_batched_payloads_say_what_they_are():
    axis = BatchAxis(3)
    value = Batched(np.zeros((3, 2, 4), "float32"), (axis,))
    assert (value.shape, value.ndim, value.dtype, value.size, value.nbytes) == (
        (2, 4),
        2,
        np.dtype("float32"),
        8,
        96,
    )
    with pytest.raises(BatchingError, match="as a whole"):
        value[0] = 1
    assert type(np.float32(2) * value) is Batched
    assert type(np.ones((2, 4), "float32") - value) is Batched


# ------------------------------------------------------------------------------------------ PyTorch


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_same_numbers_as_torch_func(torch):
    """All pairs of transforms on the same functions and numbers."""
    a = A.numpy()
    ta = torch.tensor(a)
    x0 = np.array([0.4, -0.7, 0.9])
    xs = np.stack([x0, -x0, x0**2])
    f, tf = (lambda x: ((A @ x).tanh() * x).sum()), (lambda x: ((ta @ x).tanh() * x).sum())
    g, tg = (lambda x: (A @ x.sin()) * x), (lambda x: (ta @ x.sin()) * x)
    F = torch.func
    pairs = {
        "grad": (lambda h: grad(lambda x: h(x).sum()), lambda h: F.grad(lambda x: h(x).sum())),
        "jacrev": (jacrev, F.jacrev),
        "jacfwd": (jacfwd, F.jacfwd),
        "hessian": (hessian, F.hessian),
        "jvp": (
            lambda h: lambda x: jvp(h, (x,), (x.cos(),))[1],
            lambda h: lambda x: F.jvp(h, (x,), (x.cos(),))[1],
        ),
    }
    for one, two in itertools.product(pairs, repeat=2):
        for ours, theirs in ((f, tf), (g, tg)):
            mine = pairs[two][0](pairs[one][0](ours))
            other = pairs[two][1](pairs[one][1](theirs))
            np.testing.assert_allclose(
                vmap(mine)(mg.tensor(xs)).numpy(),
                F.vmap(other)(torch.tensor(xs)).numpy(),
                rtol=1e-9,
                atol=1e-9,
            )
            np.testing.assert_allclose(
                mine(mg.tensor(x0)).numpy(), other(torch.tensor(x0)).numpy(), rtol=1e-9, atol=1e-9
            )
            outer = grad(lambda xs, m=mine: vmap(m)(xs).sum())(mg.tensor(xs))
            np.testing.assert_allclose(
                outer.numpy(),
                F.grad(lambda xs, o=other: F.vmap(o)(xs).sum())(torch.tensor(xs)).numpy(),
                rtol=1e-8,
                atol=1e-8,
            )


def test_linearize_is_the_push():
    f = lambda x, y: ((A @ x) * y.exp(), (x * y).sum())
    x, y, u, v = (normal(3) for _ in range(4))
    value, push = linearize(f, x, y)
    equal(value, f(x, y))
    equal(push(u, v), jvp(f, (x, y), (u, v))[1])
    equal(
        vmap(push)(mg.stack([u, v]), mg.stack([v, u])),
        tuple(mg.stack(p) for p in zip(push(u, v), push(v, u), strict=True)),
    )
    assert not any(t.requires_grad for t in push(u, v))
    assert math.isclose(
        grad(lambda x: linearize(f, x, y)[1](u, v)[1].sum())(x).sum().item(),
        v.sum().item(),
        rel_tol=1e-9,
    )
