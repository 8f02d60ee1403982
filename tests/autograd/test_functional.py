"""mg.autograd.functional: layouts, strictness, both modes, create_graph, against
torch.autograd.functional and without it.
"""

import itertools

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import Function
from minigrad.autograd import functional as F
from minigrad.errors import BatchingError, DTypeError, NonScalarError, ShapeError, UnusedInputError
from tests.helpers.tables import in_one_test

RNG = np.random.default_rng(5)


def normal(*shape, dtype="float64"):
    draw = RNG.normal(size=shape)
    return mg.tensor(
        (draw + 1j * RNG.normal(size=shape) if dtype.startswith("complex") else draw).astype(dtype)
    )


def same(a, b, tolerance=1e-9):
    """Equal nesting of tuples, shapes, dtypes and numbers; b may hold PyTorch's tensors."""
    if isinstance(b, tuple | list):
        assert isinstance(a, tuple)
        assert len(a) == len(b)
        for p, q in zip(a, b, strict=True):
            same(p, q, tolerance)
        return
    assert isinstance(a, mg.Tensor)
    assert tuple(a.shape) == tuple(b.shape)
    assert str(b.dtype).endswith(str(a.dtype))
    right = b.detach()
    right = right.resolve_conj().numpy() if hasattr(right, "resolve_conj") else right.numpy()
    np.testing.assert_allclose(a.detach().numpy(), right, rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------------- nothing but the mathematics

W = normal(4, 6)
FUNCTIONS = {
    "vector": (lambda x: (W @ x.reshape(-1)).tanh(), 1),
    "matrix": (lambda x: x.sin() @ x.T, 1),
    "number": (lambda x: (x**3).sum(), 1),
    "two in": (lambda x, y: (x @ y[:3]).exp(), 2),
    "two in, two out": (lambda x, y: (x.sum(0) * y[:3], (x**2).sum()), 2),
    "unused": (lambda x, y: (y**2, x.sum()), 2),
    "constant": (lambda x: mg.ones(2, dtype=mg.float64), 1),
    "linear": (lambda x: 2 * x, 1),
    "empty": (lambda x: x[:0], 1),
    "itself": (lambda x: x, 1),
}


def points(count):
    made = (normal(2, 3), normal(4))[:count]
    return made[0] if count == 1 else made


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_strategies_of_a_jacobian_agree(name):
    """Reverse and forward mode, all rows in one pass or one by one, with and without
    create_graph: and the rows are vjp's.
    """
    f, count = FUNCTIONS[name]
    x = points(count)
    expected = F.jacobian(f, x, vectorize=False)
    for strategy, vectorize, create_graph in itertools.product(
        ("reverse-mode", "forward-mode", "auto"), (None, True, False), (False, True)
    ):
        same(
            F.jacobian(f, x, create_graph, vectorize=vectorize, strategy=strategy), expected, 1e-12
        )
    if count == 1 and name != "empty":
        out = f(x)
        rows = [F.vjp(f, x, mg.tensor(e))[1] for e in np.eye(out.numel()).reshape(-1, *out.shape)]
        same(expected, mg.stack(rows).reshape(*out.shape, *x.shape), 1e-13)


@pytest.mark.parametrize("outer", ["reverse-mode", "forward-mode"])
@pytest.mark.parametrize("vectorize", [None, True, False])
def test_all_strategies_of_a_hessian_agree(outer, vectorize):
    f = lambda x, y: (x.sin() * y[:3]).sum() ** 2 + y[3] ** 3
    x = points(2)
    h = F.hessian(f, x, vectorize=vectorize, outer_jacobian_strategy=outer)
    rows = lambda *z: F.vjp(f, z, create_graph=True)[1]
    same(h, F.jacobian(rows, x, vectorize=False), 1e-12)
    v = tuple(z.cos() for z in x)
    flat = lambda block, a, b: block.reshape(a.numel(), b.numel())
    expected = tuple(
        sum(flat(h[i][j], x[i], x[j]) @ v[j].reshape(-1) for j in range(2)).reshape(x[i].shape)
        for i in range(2)
    )
    same(F.hvp(f, x, v)[1], expected, 1e-12)
    same(F.vhp(f, x, v)[1], expected, 1e-12)


@in_one_test
@pytest.mark.parametrize("strategy", ["forward-mode", "double-backward"])
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "empty"])
def test_jvp_is_jacobian_times_vector(name, strategy):
    f, count = FUNCTIONS[name]
    x = points(count)
    xs = x if count > 1 else (x,)
    v = tuple(z.sin() for z in xs)
    out, product = F.jvp(f, x, v if count > 1 else v[0], strategy=strategy)
    same(out, f(*xs), 1e-13)
    j = F.jacobian(f, x)
    outs = out if isinstance(out, tuple) else (out,)
    rows = j if isinstance(out, tuple) else (j,)
    rows = rows if count > 1 else tuple((r,) for r in rows)
    for got, row, o in zip(
        product if isinstance(out, tuple) else (product,), rows, outs, strict=True
    ):
        expected = sum(
            b.reshape(o.numel(), z.numel()) @ w.reshape(-1)
            for b, z, w in zip(row, xs, v, strict=True)
        ).reshape(o.shape)
        same(got, expected, 1e-12)


@pytest.mark.parametrize("create_graph", [False, True])
def test_products_bring_the_value_and_two_inputs_a_block_each(create_graph):
    x, y = normal(2), normal(2)
    for call in (F.vjp, F.jvp):
        out, _ = call(mg.exp, x, x, create_graph)
        same(out.detach(), x.exp())
        assert out.requires_grad is create_graph
    squares = lambda x, y: (2 * x**2 + 3 * y**2).sum()
    for product in (F.vhp, F.hvp):
        out, (px, py) = product(squares, (x, y), (x * 0, x * 0 + 1), create_graph)
        same(out.detach(), squares(x, y))
        assert out.requires_grad is py.requires_grad is create_graph
        assert (px.tolist(), py.tolist()) == ([0, 0], [6, 6])
    ((xx, xy), (yx, yy)) = F.hessian(squares, (x, y), create_graph)
    assert [b.tolist() for b in (xx, xy, yx, yy)] == [
        [[4, 0], [0, 4]], [[0, 0], [0, 0]], [[0, 0], [0, 0]], [[6, 0], [0, 6]],
    ]  # fmt: skip
    jx, jy = F.jacobian(lambda x, y: 2 * x.exp() + 3 * y, (x, y), create_graph)
    same(jx.detach(), mg.tensor(np.diag(2 * np.exp(x.numpy()))))
    assert jy.tolist() == [[3, 0], [0, 3]] and jx.requires_grad is create_graph


def test_the_derivatives_are_differentiable():
    """create_graph: by the inputs, by v, and by what the function captures; and not without it."""
    x, w, v = normal(3).requires_grad_(), normal(3).requires_grad_(), normal(3).requires_grad_()
    f = lambda x: (w * x**3).sum()
    c = lambda t: t.detach()
    results = {
        "jacobian": (F.jacobian(f, x, True), lambda: (6 * c(w) * c(x), 3 * c(x) ** 2, None)),
        "hessian": (F.hessian(f, x, True).sum(0), lambda: (6 * c(w), 6 * c(x), None)),
        "hessian forward": (
            F.hessian(f, x, True, outer_jacobian_strategy="forward-mode").sum(0),
            lambda: (6 * c(w), 6 * c(x), None),
        ),
        "vjp": (
            F.vjp(lambda x: w * x**3, x, v, True)[1],
            lambda: (6 * c(w * x * v), 3 * c(x**2 * v), 3 * c(w * x**2)),
        ),
        "jvp": (
            F.jvp(lambda x: w * x**3, x, v, True)[1],
            lambda: (6 * c(w * x * v), 3 * c(x**2 * v), 3 * c(w * x**2)),
        ),
        "jvp twice back": (
            F.jvp(lambda x: w * x**3, x, v, True, strategy="double-backward")[1],
            lambda: (6 * c(w * x * v), 3 * c(x**2 * v), 3 * c(w * x**2)),
        ),
        "vhp": (F.vhp(f, x, v, True)[1], lambda: (6 * c(w * v), 6 * c(x * v), 6 * c(w * x))),
        "hvp": (F.hvp(f, x, v, True)[1], lambda: (6 * c(w * v), 6 * c(x * v), 6 * c(w * x))),
    }
    for name, (result, expected) in results.items():
        for g, e in zip(
            mg.autograd.grad(result.sum(), (x, w, v), allow_unused=True), expected(), strict=True
        ):
            assert (g is None) == (e is None), name
            if g is not None:
                same(g, e, 1e-12)
    for result in (
        F.jacobian(f, x),
        F.hessian(f, x),
        *F.vjp(f, x),
        *F.jvp(f, x, v),
        *F.vhp(f, x, v),
        *F.hvp(f, x, v),
    ):
        assert not result.requires_grad
    assert x.grad is None
    assert w.grad is None


def test_inputs_are_untouched_and_not_mistaken_for_captured_ones():
    """A tensor is passed as an argument and captured too: only the argument is differentiated."""
    x = normal(3)
    same(F.jacobian(lambda z: z * x, x), mg.tensor(np.diag(x.numpy())))
    tracked = normal(3).requires_grad_()
    same(F.jacobian(lambda z: z * tracked, tracked), mg.tensor(np.diag(tracked.detach().numpy())))
    assert tracked.grad is None
    assert x.requires_grad is False
    assert x._version == 0

    def destructive(z):
        with mg.no_grad():
            z.mul_(0)
        return z * 1

    before = x.clone()
    F.jacobian(destructive, x)
    same(x, before)


def test_results_own_their_memory():
    x, y = normal(3), normal(3)
    a, b = F.jacobian(lambda a, b: a + b, (x, y))
    a.add_(1)
    same(b, mg.eye(3, dtype=mg.float64))
    v = normal(3)
    before = v.clone()
    F.vjp(lambda x: x * 1, x, v)[1].mul_(3)
    same(v, before)
    F.vjp(lambda x: x.sum(), x)[1].mul_(3)


def test_grad_inside_the_function():
    """A derivative inside of the differentiated function, as physics-informed networks have it."""
    slope = lambda x: mg.autograd.grad((x**3).sum(), x, create_graph=True)[0]
    x = normal(3)
    expected = mg.tensor(np.diag(6 * x.numpy()))
    for strategy in ("reverse-mode", "auto"):
        same(F.jacobian(slope, x, strategy=strategy), expected)
    same(F.jvp(slope, x, mg.ones_like(x))[1], 6 * x)
    same(F.hvp(lambda x: slope(x).sum(), x, x)[1], 6 * x)


def test_under_no_grad_and_inside_vmap_and_forward_mode():
    xs = normal(4, 3)
    f = lambda x: (x**3).sum()
    with mg.no_grad():
        same(F.hessian(f, xs[0]), mg.tensor(np.diag(6 * xs[0].numpy())))
        same(F.vjp(f, xs[0])[1], 3 * xs[0] ** 2)
    same(mg.func.vmap(lambda x: F.hessian(f, x))(xs), mg.stack([F.hessian(f, x) for x in xs]))
    same(mg.func.vmap(lambda x: F.hvp(f, x, x)[1])(xs), 6 * xs**2)
    w = normal(3)
    for call in (
        lambda g: F.jacobian(g, w),
        lambda g: F.vjp(g, w)[1],
        lambda g: F.hvp(g, w, w)[1],
        lambda g: F.hessian(g, w),
    ):
        per_example = lambda x, call=call: call(lambda w: (w * x).exp().sum())
        same(mg.func.vmap(per_example)(xs), mg.stack([per_example(x) for x in xs]))
    same(mg.func.jvp(lambda x: F.jacobian(f, x), (xs[0],), (xs[1],))[1], 6 * xs[0] * xs[1])


@pytest.mark.parametrize("requires_grad", [False, True])
def test_no_grad_around_a_call_changes_no_result(requires_grad):
    """The second derivative in the two modes, too; and what is asked for with create_graph=True
    has its graph.
    """
    x, v = normal(3).requires_grad_(requires_grad), normal(3)
    f = lambda x: (x**3).sum()
    calls = {
        "hvp": lambda **k: F.hvp(f, x, v, **k)[1],
        "vhp": lambda **k: F.vhp(f, x, v, **k)[1],
        "hessian": lambda **k: F.hessian(f, x, **k),
        "forward over reverse": lambda **k: F.hessian(
            f, x, outer_jacobian_strategy="forward-mode", **k
        ),
        "jacobian": lambda **k: F.jacobian(mg.exp, x, **k),
        "vjp": lambda **k: F.vjp(mg.exp, x, v, **k)[1],
        "jvp": lambda **k: F.jvp(mg.exp, x, v, **k)[1],
        "double backward": lambda **k: F.jvp(mg.exp, x, v, strategy="double-backward", **k)[1],
    }
    for name, call in calls.items():
        expected = call()
        with mg.no_grad():
            plain, recorded = call(), call(create_graph=True)
            assert not mg.is_grad_enabled()
        same(plain, expected)
        same(recorded.detach(), expected)
        assert not plain.requires_grad, name
        if requires_grad:
            assert mg.autograd.grad(recorded.sum(), x)[0].shape == x.shape, name


class Numpyish(Function):
    """x³ with a backward that leaves the library: it cannot work on a batch of cotangents."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return mg.tensor(3 * g.numpy() * x.detach().numpy() ** 2)


def test_what_cannot_work_on_a_batch_is_done_row_by_row():
    x = normal(3)
    f = lambda x: Numpyish.apply(x)
    expected = mg.tensor(np.diag(3 * x.numpy() ** 2))
    same(F.jacobian(f, x), expected)
    same(F.jacobian(f, x, vectorize=False), expected)
    with pytest.raises(BatchingError):
        F.jacobian(f, x, vectorize=True)


class NoPush(Function):
    """x³ without a jvp: forward mode cannot pass, two reverse passes can."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        return 3 * g * ctx.saved_tensors[0] ** 2


def test_operations_without_a_push_rule():
    x, v = normal(3), normal(3)
    f = lambda x: NoPush.apply(x)
    with pytest.raises(RuntimeError, match="jvp"):
        F.jvp(f, x, v)
    same(F.jvp(f, x, v, strategy="double-backward")[1], 3 * x**2 * v)
    same(F.hvp(lambda x: f(x).sum(), x, v)[1], 6 * x * v)
    same(F.hvp(lambda x: f(x).sum(), x, v, strict=True)[1], 6 * x * v)


# ------------------------------------------------------------------------------------------- errors

CALLS = {
    "jacobian": lambda f, x, **k: F.jacobian(f, x, **k),
    "jacobian forward": lambda f, x, **k: F.jacobian(f, x, strategy="forward-mode", **k),
    "hessian": lambda f, x, **k: F.hessian(lambda *z: _sum(f(*z)), x, **k),
    "vjp": lambda f, x, **k: F.vjp(f, x, _like(f, x), **k),
    "jvp": lambda f, x, **k: F.jvp(f, x, x, **k),
    "jvp twice back": lambda f, x, **k: F.jvp(f, x, x, strategy="double-backward", **k),
    "vhp": lambda f, x, **k: F.vhp(lambda *z: _sum(f(*z)), x, x, **k),
    "hvp": lambda f, x, **k: F.hvp(lambda *z: _sum(f(*z)), x, x, **k),
}


def _sum(out):
    return sum(o.sum() for o in out) if isinstance(out, tuple) else out.sum()


def _like(f, x):
    out = f(*x) if isinstance(x, tuple) else f(x)
    return tuple(mg.ones_like(o) for o in out) if isinstance(out, tuple) else mg.ones_like(out)


@pytest.mark.parametrize("call", CALLS)
def test_strict_finds_what_does_not_depend(call):
    x, y = normal(3), normal(3)
    run = CALLS[call]
    constant = mg.ones(3, dtype=mg.float64)
    with pytest.raises(UnusedInputError, match=r"output 0 .*does not require grad"):
        run(lambda x: constant, x, strict=True)
    with pytest.raises(UnusedInputError, match=rf"^{call.split()[0]}: .*input 1"):
        run(lambda x, y: x**3, (x, y), strict=True)
    for f, at in ((lambda x: constant, x), (lambda x, y: x**3, (x, y))):
        run(f, at)
    run(lambda x: x**3, x, strict=True)
    run(lambda x, y: x**3 * y**2, (x, y), strict=True, create_graph=True)


@pytest.mark.parametrize("call", ["jacobian", "jacobian forward", "vjp", "jvp", "jvp twice back"])
def test_strict_with_create_graph_finds_constant_derivatives(call):
    x = normal(3)
    with pytest.raises(UnusedInputError, match="linear function"):
        CALLS[call](lambda x: 2 * x, x, strict=True, create_graph=True)
    CALLS[call](lambda x: 2 * x, x, strict=True)
    CALLS[call](lambda x: x**2, x, strict=True, create_graph=True)


@pytest.mark.parametrize("call", ["hessian", "vhp", "hvp"])
def test_strict_finds_constant_gradients(call):
    x, y = normal(3), normal(3)
    with pytest.raises(UnusedInputError, match="gradient"):
        CALLS[call](lambda x: 2 * x, x, strict=True)
    with pytest.raises(UnusedInputError):
        CALLS[call](lambda x, y: x**3 + y, (x, y), strict=True)
    CALLS[call](lambda x: 2 * x, x)
    CALLS[call](lambda x: x**2, x, strict=True)


def test_strict_jacobian_looks_at_each_pair():
    x, y = normal(3), normal(3)
    with pytest.raises(
        UnusedInputError, match="output 1 of the function does not depend on input 0"
    ):
        F.jacobian(lambda x, y: (x * y, y**2), (x, y), strict=True)
    with pytest.raises(ValueError, match="strict=True"):
        F.jacobian(lambda x: x**2, x, strict=True, vectorize=True)


@pytest.mark.parametrize("name", ["jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"])
def test_wrong_types_name_the_argument(name):
    call, x = getattr(F, name), normal(3)
    f = lambda *z: _sum(z)
    rest = (x,) if name in ("jvp", "vhp", "hvp") else ()
    with pytest.raises(TypeError, match=rf"{name}: inputs must be .*list"):
        call(f, [x])
    with pytest.raises(
        TypeError, match=rf"{name}: inputs must be .*element 1 of the tuple is float"
    ):
        call(f, (x, 1.0))
    with pytest.raises(TypeError, match=rf"{name}: the function's result must be .*got float"):
        call(lambda x: 1.0, x, *rest)
    with pytest.raises(
        TypeError,
        match=rf"{name}: the function's result must be .*element 1 of the tuple is NoneType",
    ):
        call(lambda x: (x.sum(), None), x, *rest)
    with pytest.raises(DTypeError, match=rf"{name}: input 0 has dtype int64"):
        call(f, mg.tensor([1, 2]))
    if name in ("vjp", "jvp", "vhp", "hvp"):
        with pytest.raises(TypeError, match=rf"{name}: v must be"):
            call(f, x, [1.0, 2.0, 3.0])
        with pytest.raises(ShapeError, match=rf"{name}: v has shape \(2,\)"):
            call(f, x, normal(2))
        with pytest.raises(ShapeError, match=rf"{name}: v must be a single Tensor, got 2"):
            call(f, x, (normal(3), normal(3)))
    if name in ("jvp", "vhp", "hvp"):
        with pytest.raises(ShapeError, match="a tuple of 2 Tensors, got 1"):
            call(f, (x, x), x)
        with pytest.raises(ShapeError, match=r"v\[1\]"):
            call(f, (x, x), (x, normal(2)))


def test_v_may_be_left_out_for_one_number():
    one = mg.tensor([2.0], dtype=mg.float64)
    assert F.jvp(lambda x: x**3, one)[1].tolist() == [12]
    assert F.vhp(lambda x: (x**3).sum(), one)[1].tolist() == [12]
    assert F.hvp(lambda x: (x**3).sum(), one)[1].tolist() == [12]
    same(F.vjp(lambda x: (x**3).sum(), normal(3) * 0 + 1)[1], mg.full((3,), 3.0, dtype=mg.float64))
    for call in (F.jvp, F.vhp, F.hvp):
        with pytest.raises(NonScalarError, match="v may be left out"):
            call(lambda x: x.sum(), normal(2))
    with pytest.raises(NonScalarError, match="v may be left out"):
        F.vjp(lambda x: x, normal(2))
    with pytest.raises(NonScalarError, match="v may be left out"):
        F.vjp(lambda x: (x.sum(), x.sum()), normal(2))


def test_functions_of_one_number_only():
    x = normal(3)
    for name in ("hessian", "vhp", "hvp"):
        call = getattr(F, name)
        rest = () if name == "hessian" else (x,)
        with pytest.raises(NonScalarError, match=r"one number, got shape \(3,\)"):
            call(lambda x: x, x, *rest)
        with pytest.raises(NonScalarError, match="single Tensor, got a tuple of 2"):
            call(lambda x: (x.sum(), x.sum()), x, *rest)
        with pytest.raises(NonScalarError, match="real number"):
            call(lambda x: mg.complex(x, x).sum(), x, *rest)
    same(F.hessian(lambda x: (x**2).sum(0, keepdim=True), x), 2 * mg.eye(3, dtype=mg.float64))


def test_unknown_strategies_are_refused():
    x = normal(3)
    with pytest.raises(ValueError, match="'reverse-mode', 'forward-mode', 'auto', got 'both'"):
        F.jacobian(lambda x: x, x, strategy="both")
    with pytest.raises(ValueError, match="outer_jacobian_strategy"):
        F.hessian(lambda x: x.sum(), x, outer_jacobian_strategy="auto")
    with pytest.raises(ValueError, match="double-backward"):
        F.jvp(lambda x: x, x, x, strategy="reverse-mode")


# ------------------------------------------------------------------------------------------ PyTorch

torch_warnings = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
LAYOUTS = {
    "one in, one out": (lambda x: x.sin() @ x.T, 1),
    "one in, tuple out": (lambda x: (x.exp(), x.sum(0)), 1),
    "one in, tuple of one out": (lambda x: (x.exp(),), 1),
    "two in, one out": (lambda x, y: x @ y[:3] + (y**2).sum(), 2),
    "two in, two out": (lambda x, y: (x.sum() * y, y[:3] * x), 2),
    "number out": (lambda x, y: x.sum() * y.sum() ** 2, 2),
    "unused": (lambda x, y: (x**2, y[:2] * 2), 2),
}


@in_one_test
@pytest.mark.oracle
@torch_warnings
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_and_layouts_are_those_of_torch(torch, layout, dtype):
    f, count = LAYOUTS[layout]
    T, tolerance = torch.autograd.functional, 2e-5 if dtype == "float32" else 1e-11
    xs = tuple(z.to(dtype) for z in (normal(2, 3), normal(4))[:count])
    ts = tuple(torch.tensor(z.numpy()) for z in xs)
    for as_tuple in (True, False) if count == 1 else (True,):
        x, t = (xs, ts) if as_tuple else (xs[0], ts[0])
        for options in (
            {},
            {"create_graph": True},
            {"vectorize": True},
            {"vectorize": True, "strategy": "forward-mode"},
        ):
            same(F.jacobian(f, x, **options), T.jacobian(f, t, **options), tolerance)
        v = tuple(z.cos() for z in xs) if as_tuple else xs[0].cos()
        tv = tuple(z.cos() for z in ts) if as_tuple else ts[0].cos()
        same(F.jvp(f, x, v), T.jvp(f, t, tv), tolerance)
        same(F.jvp(f, x, v, strategy="double-backward"), T.jvp(f, t, tv), tolerance)
        out, tout = f(*xs), f(*ts)
        u = tuple(o.sin() for o in out) if isinstance(out, tuple) else out.sin()
        tu = tuple(o.sin() for o in tout) if isinstance(tout, tuple) else tout.sin()
        same(F.vjp(f, x, u), T.vjp(f, t, tu), tolerance)
        loss = lambda *z: _sum(f(*z)) ** 2
        same(F.hessian(loss, x), T.hessian(loss, t), 50 * tolerance)
        same(F.vhp(loss, x, v), T.vhp(loss, t, tv), 50 * tolerance)
        same(F.hvp(loss, x, v), T.hvp(loss, t, tv), 50 * tolerance)


@pytest.mark.oracle
@torch_warnings
def test_complex_as_torch(torch):
    """Rows, products and second derivatives of functions of complex tensors; complex outputs are
    refused where PyTorch refuses them.
    """
    T = torch.autograd.functional
    z, v = normal(3, dtype="complex128"), normal(3, dtype="complex128")
    tz, tv = torch.tensor(z.numpy()), torch.tensor(v.numpy())
    x, tx = z.real.clone(), tz.real.clone()
    to_real = lambda z: z.abs() ** 2 + z.real
    to_complex = lambda z: z * z.conj() * z
    square = lambda z: z**2
    same(F.jacobian(to_real, z), T.jacobian(to_real, tz))
    for f in (to_real, to_complex, square):
        same(F.jacobian(f, z, vectorize=True), T.jacobian(f, tz, vectorize=True))
        same(
            F.vjp(f, z, v if f is not to_real else x), T.vjp(f, tz, tv if f is not to_real else tx)
        )
        same(F.jvp(f, z, v), T.jvp(f, tz, tv))
        same(F.jvp(f, z, v, strategy="double-backward"), T.jvp(f, tz, tv))
    for f in (to_real, square):
        same(
            F.jacobian(f, z, strategy="forward-mode"),
            T.jacobian(f, tz, vectorize=True, strategy="forward-mode"),
        )
    for f, at, there in ((to_complex, z, tz), (square, z, tz)):
        with pytest.raises(RuntimeError, match="complex"):
            T.jacobian(f, there)
        with pytest.raises(NonScalarError, match="complex"):
            F.jacobian(f, at)
    loss = lambda z: (z.abs() ** 4).sum()
    same(F.vhp(loss, z, v), T.vhp(loss, tz, tv))
    same(F.hvp(loss, z, v), T.hvp(loss, tz, tv))
    same(F.hessian(loss, z, vectorize=True), T.hessian(loss, tz, vectorize=True))


STRICT = {
    "constant": (lambda m, c, x, y: c, "both"),
    "unused y": (lambda m, c, x, y: x**2, "y"),
    "one output without x": (lambda m, c, x, y: (x * y, y**2), None),
    "linear": (lambda m, c, x, y: 2 * x + y, None),
    "bilinear": (lambda m, c, x, y: x * y, None),
    "cubic": (lambda m, c, x, y: x**3 * y**3, None),
    "half linear": (lambda m, c, x, y: x**3 + y, None),
}


@in_one_test
@pytest.mark.oracle
@torch_warnings
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", ["jacobian", "vjp", "jvp", "hessian", "vhp", "hvp"])
@pytest.mark.parametrize("case", STRICT)
def test_strict_refuses_what_torch_refuses(torch, case, name, create_graph):
    f = STRICT[case][0]
    answers = []
    for module, functional, make in (
        (mg, F, mg.tensor),
        (torch, torch.autograd.functional, torch.tensor),
    ):
        x, y, constant = make([0.5, 2.0]), make([1.5, -1.0]), make([1.0, 1.0])
        function = lambda x, y, module=module, constant=constant: f(module, constant, x, y)
        if name in ("hessian", "vhp", "hvp"):
            function = lambda x, y, function=function: _sum(function(x, y))
        out = function(x, y)
        ones = (
            tuple(module.ones_like(o) for o in out)
            if isinstance(out, tuple)
            else module.ones_like(out)
        )
        rest = {"jacobian": (), "hessian": (), "vjp": (ones,)}.get(name, ((x, y),))
        call = getattr(functional, name)
        try:
            call(function, (x, y), *rest, strict=True, create_graph=create_graph)
            answers.append("accepted")
        except RuntimeError:
            answers.append("refused")
        call(function, (x, y), *rest, strict=False, create_graph=create_graph)
    assert answers[0] == answers[1], f"minigrad {answers[0]}, PyTorch {answers[1]}"
