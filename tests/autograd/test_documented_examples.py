"""Each class, function and argument of torch.autograd's documentation, called once in the form in
which it is documented.

The programs are our own and each states what the documentation promises: shapes, identities,
numbers, which tensors require grad. The fixture `m` is minigrad, and PyTorch where it is installed:
what the documentation promises must hold there too.
"""

import contextlib
import json
import math
import threading

import pytest

import minigrad as mg
from minigrad import autograd, backend
from minigrad.autograd import Function, functional
from minigrad.errors import (
    AutogradError,
    DeviceError,
    DTypeError,
    GraphFreedError,
    InPlaceError,
    NonScalarError,
    UnusedInputError,
)


@pytest.fixture(params=["minigrad", pytest.param("torch", marks=pytest.mark.oracle)])
def m(request):
    """The library under examination."""
    return mg if request.param == "minigrad" else request.getfixturevalue("torch")


def close(a, b, tolerance=1e-5):
    """Equal numbers in equal shapes (float32 rounding)."""
    return tuple(a.shape) == tuple(b.shape) and bool(
        ((a - b).abs() <= tolerance * (1 + b.abs())).all()
    )


# -------------------------------------------------------------------------------- backward and grad


def test_backward_of_several_tensors_adds_up(m):
    w = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
    scalar, vector, constant = (w * w).sum(), w * 5, m.ones(2)
    m.autograd.backward((scalar, vector), (None, m.tensor([1.0, 0.0, 2.0])))
    assert w.grad.tolist() == [2 + 5, 4, 6 + 10]
    with pytest.raises(RuntimeError):
        m.autograd.backward(constant.sum())


@pytest.mark.filterwarnings(
    "ignore:Using backward"
)  # PyTorch warns of a reference cycle; minigrad has none
def test_backward_takes_its_arguments_by_position(m):
    w = m.tensor([1.0, 2.0], requires_grad=True)
    y = (w**3).sum()
    m.autograd.backward([y], [m.tensor(2.0)], True, True)  # retain_graph, create_graph
    assert w.grad.tolist() == [6.0, 24.0] and w.grad.requires_grad
    w.grad = None
    y.backward(None, True, False)
    y.backward(gradient=None, retain_graph=False, create_graph=False)
    assert w.grad.tolist() == [6.0, 24.0] and not w.grad.requires_grad
    with pytest.raises(RuntimeError):
        y.backward()


def test_retain_graph_is_by_default_what_create_graph_is(m):
    w = m.tensor(3.0, requires_grad=True)
    y = w**3
    (g,) = m.autograd.grad(y, w, create_graph=True)
    (g2,) = m.autograd.grad(g, w, retain_graph=True)
    (again,) = m.autograd.grad(y, w)
    assert (g.item(), g2.item(), again.item()) == (27, 18, 27)
    with pytest.raises(RuntimeError):
        m.autograd.grad(y, w)


def test_backward_of_several_elements_needs_a_vector(m):
    w = m.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError):
        m.autograd.backward(w * 2)
    m.autograd.backward([w * 2], grad_tensors=[m.tensor([1.0, 2.0, 3.0])])
    assert w.grad.tolist() == [2, 4, 6]


def test_backward_reports_the_gradients():
    a, b = mg.tensor(2.0, requires_grad=True), mg.tensor(5.0, requires_grad=True)
    pairs = autograd.backward(a * b)
    assert {id(p): g.item() for p, g in pairs} == {id(a): 5, id(b): 2}


def test_grad_by_position_and_with_every_option(m):
    a, b, unused = (m.tensor(v, requires_grad=True) for v in (2.0, 5.0, 7.0))
    y = a * a * b
    assert [g.item() for g in m.autograd.grad(y, (a, b), m.tensor(1.0), True, False, True)] == [
        20,
        4,
    ]
    assert isinstance(m.autograd.grad(outputs=y, inputs=a, retain_graph=True), tuple)
    with pytest.raises(RuntimeError):
        m.autograd.grad([y], [a, unused], retain_graph=True)
    g, none = m.autograd.grad([y], [a, unused], retain_graph=True, allow_unused=True)
    assert g.item() == 20 and none is None
    g, zero = m.autograd.grad([y], [a, unused], retain_graph=True, materialize_grads=True)
    assert zero.item() == 0
    g, h = m.autograd.grad([y, b * 3], [a, b], grad_outputs=[m.tensor(10.0), None])
    assert (g.item(), h.item()) == (200, 43)
    assert a.grad is None and b.grad is None and unused.grad is None


def test_only_inputs_false_also_accumulates_into_the_other_leaves():
    a, b = mg.tensor(2.0, requires_grad=True), mg.tensor(5.0, requires_grad=True)
    (g,) = autograd.grad(a * b, a, only_inputs=False)
    assert g.item() == 5 and b.grad.item() == 2


# --------------------------------------------------------------------------------------- functional


def row_sums_of_exp(x):
    return x.exp().sum(dim=1)


def exp_plus(x, y):
    return 2 * x.exp() + 3 * y


def sum_of_cubes(x):
    return x.pow(3).sum()


def quadratic(x, y):
    return (2 * x.pow(2) + 3 * y.pow(2)).sum()


def linear(x, y):
    return 2 * x + 3 * y


def test_examples_of_jacobian(m):
    jacobian = m.autograd.functional.jacobian
    x = m.rand(2, 2)
    j = jacobian(row_sums_of_exp, x)
    wanted = m.zeros(2, 2, 2)
    wanted[0, 0], wanted[1, 1] = x[0].exp(), x[1].exp()
    assert close(j, wanted) and not j.requires_grad and not x.requires_grad
    recorded = jacobian(row_sums_of_exp, x, create_graph=True)
    assert close(recorded.detach(), wanted)

    inputs = (m.rand(2), m.rand(2))
    by_x, by_y = jacobian(exp_plus, inputs)
    assert close(by_x, m.eye(2) * 2 * inputs[0].exp()) and by_y.tolist() == [[3, 0], [0, 3]]


def test_jacobian_with_a_graph_can_be_differentiated(m):
    x = m.rand(2, 2).requires_grad_()
    j = m.autograd.functional.jacobian(row_sums_of_exp, x, create_graph=True)
    assert j.grad_fn is not None
    (g,) = m.autograd.grad(j.sum(), x)
    assert close(g, x.detach().exp())


def test_jacobian_of_several_outputs_is_a_tuple_of_tuples(m):
    inputs = (m.rand(2), m.rand(3))
    j = m.autograd.functional.jacobian(lambda a, b: (a.sum() * b, a * 2), inputs)
    assert [[tuple(block.shape) for block in row] for row in j] == [
        [(3, 2), (3, 3)],
        [(2, 2), (2, 3)],
    ]
    assert j[1][1].tolist() == [[0, 0, 0], [0, 0, 0]]
    with pytest.raises(RuntimeError):
        m.autograd.functional.jacobian(lambda a, b: (a.sum() * b, a * 2), inputs, strict=True)


def test_constants_and_flags_are_captured_by_a_lambda(m):
    constant, flag = m.tensor([1.0, 2.0]), True
    f = lambda input, constant, flag: input * constant if flag else input
    assert m.autograd.functional.jacobian(
        lambda x: f(x, constant, flag=flag), m.rand(2)
    ).tolist() == [[1, 0], [0, 2]]


def test_examples_of_hessian(m):
    hessian = m.autograd.functional.hessian
    x = m.rand(2, 2)
    h = hessian(sum_of_cubes, x)
    assert close(h.reshape(4, 4), m.eye(4) * (6 * x.reshape(4))) and tuple(h.shape) == (2, 2, 2, 2)
    recorded = hessian(sum_of_cubes, x.requires_grad_(), create_graph=True)
    assert recorded.grad_fn is not None and close(recorded.detach(), h)
    x.requires_grad_(False)

    (xx, xy), (yx, yy) = hessian(quadratic, (m.rand(2), m.rand(2)))
    assert xx.tolist() == [[4, 0], [0, 4]] and yy.tolist() == [[6, 0], [0, 6]]
    assert xy.tolist() == yx.tolist() == [[0, 0], [0, 0]]
    with pytest.raises(RuntimeError):
        hessian(lambda x, y: (x * y.detach()).sum(), (m.rand(2), m.rand(2)), strict=True)


def test_examples_of_vjp(m):
    vjp = m.autograd.functional.vjp
    x, v = m.rand(4, 4), m.ones(4)
    out, pulled = vjp(row_sums_of_exp, x, v)
    assert close(out, x.exp().sum(1)) and close(pulled, x.exp())
    assert not out.requires_grad and not pulled.requires_grad
    out, pulled = vjp(row_sums_of_exp, x.requires_grad_(), v, create_graph=True)
    assert out.grad_fn is not None and pulled.grad_fn is not None

    inputs = (m.rand(2), m.rand(2))
    out, (by_x, by_y) = vjp(linear, inputs, m.ones(2))
    assert (
        close(out, 2 * inputs[0] + 3 * inputs[1])
        and by_x.tolist() == [2, 2]
        and by_y.tolist() == [3, 3]
    )
    assert vjp(lambda x: x.sum(), m.rand(3))[1].tolist() == [
        1,
        1,
        1,
    ]  # v may be left out for one number
    with pytest.raises(RuntimeError):
        vjp(row_sums_of_exp, m.rand(4, 4))


def test_examples_of_jvp(m):
    jvp = m.autograd.functional.jvp
    x, v = m.rand(4, 4), m.ones(4, 4)
    out, pushed = jvp(row_sums_of_exp, x, v)
    assert close(out, x.exp().sum(1)) and close(
        pushed, out
    )  # the sum of exponentials is its own derivative along ones
    out, pushed = jvp(row_sums_of_exp, x.requires_grad_(), v, create_graph=True)
    assert out.grad_fn is not None and pushed.grad_fn is not None

    inputs = (m.rand(2), m.rand(2))
    out, pushed = jvp(linear, inputs, (m.ones(2), m.ones(2)))
    assert close(out, 2 * inputs[0] + 3 * inputs[1]) and pushed.tolist() == [5, 5]
    assert jvp(lambda x: x * 3, m.tensor(2.0))[1].item() == 3


def test_jvp_as_the_backward_of_the_backward_is_the_same():
    x, v = mg.rand(4, 4), mg.rand(4, 4)
    out, pushed = functional.jvp(row_sums_of_exp, x, v)
    twice = functional.jvp(row_sums_of_exp, x, v, strategy="double-backward")
    assert close(out, twice[0]) and close(pushed, twice[1])


@pytest.mark.parametrize("name", ["vhp", "hvp"])
def test_products_with_the_hessian(m, name):
    product = getattr(m.autograd.functional, name)
    x, v = m.rand(2, 2), m.ones(2, 2)
    out, p = product(sum_of_cubes, x, v)
    assert close(out, x.pow(3).sum()) and close(p, 6 * x)
    out, p = product(sum_of_cubes, x.requires_grad_(), v, create_graph=True)
    assert out.grad_fn is not None and p.grad_fn is not None

    out, (by_x, by_y) = product(quadratic, (m.rand(2), m.rand(2)), (m.zeros(2), m.ones(2)))
    assert by_x.tolist() == [0, 0] and by_y.tolist() == [6, 6] and tuple(out.shape) == ()
    assert product(lambda x: x * x, m.tensor(2.0))[1].item() == 2


@pytest.mark.parametrize("name", ["jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"])
def test_strict_refuses_an_input_without_influence_and_otherwise_it_is_zero(m, name):
    function = getattr(m.autograd.functional, name)
    constant = m.tensor(4.0)
    inputs = m.tensor(1.0)
    with pytest.raises(RuntimeError):
        function(lambda x: constant * 1, inputs, strict=True)
    result = function(lambda x: constant * 1, inputs, create_graph=False, strict=False)
    assert (result if name in ("jacobian", "hessian") else result[1]).item() == 0


# --------------------------------------------------------------------------------------- grad modes


def test_integers_cannot_require_grad(m):
    """The documentation's own examples of the modes begin with an integer; one point makes it a
    number.
    """
    with pytest.raises(RuntimeError):
        m.tensor([1], requires_grad=True)
    with pytest.raises(RuntimeError if m is not mg else DTypeError, match=r"[Ff]loat"):
        m.tensor([1]).requires_grad_()


def test_no_grad_works_as_documented(m):
    x = m.tensor([1.0], requires_grad=True)
    with m.no_grad():
        y = x * 2
    assert not y.requires_grad

    @m.no_grad()
    def twice(x):
        return x * 2

    @m.autograd.no_grad()
    def thrice(x):
        return x * 3

    assert not twice(x).requires_grad and not thrice(x).requires_grad and (x * 2).requires_grad


def test_enable_grad_works_as_documented(m):
    x = m.tensor([1.0], requires_grad=True)
    with m.no_grad(), m.enable_grad():
        y = x * 2
    assert y.requires_grad
    y.backward()
    assert x.grad.tolist() == [2]

    @m.enable_grad()
    def twice(x):
        return x * 2

    with m.no_grad():
        assert twice(x).requires_grad and not (x * 2).requires_grad


def test_set_grad_enabled(m):
    x = m.tensor([1.0], requires_grad=True)
    for training in (False, True):
        with m.set_grad_enabled(training):
            assert (x * 2).requires_grad is training
    try:
        m.set_grad_enabled(True)
        assert (x * 2).requires_grad
        m.set_grad_enabled(False)
        assert not (x * 2).requires_grad and not m.is_grad_enabled()
    finally:
        m.set_grad_enabled(True)


def test_modes_belong_to_a_thread(m):
    seen = []
    with m.no_grad():
        thread = threading.Thread(
            target=lambda: seen.append((m.ones(1, requires_grad=True) * 2).requires_grad)
        )
        thread.start()
        thread.join()
    assert seen == [True]


# --------------------------------------------------------------------------------- gradient layouts


def test_a_first_gradient_has_the_strides_of_a_dense_parameter(m):
    column_major = m.rand(3, 2).t().detach().requires_grad_()
    (column_major * m.rand(2, 3)).sum().backward()
    assert tuple(column_major.grad.stride()) == tuple(column_major.stride()) == (1, 2)
    with_gaps = m.rand(4, 6)[:, ::2].detach().requires_grad_()
    (with_gaps * 2).sum().backward()
    assert tuple(with_gaps.grad.stride()) == (3, 1)


@pytest.mark.filterwarnings("ignore:Using backward", "ignore:grad and param")
def test_accumulation_is_in_place_without_a_graph_and_replaces_with_one(m):
    p = m.rand(2, 3).requires_grad_()
    p.grad = m.zeros(3, 2).t()  # a layout of one's own
    kept = p.grad
    (p * 2).sum().backward()
    assert (
        p.grad is kept
        and tuple(kept.stride()) == (1, 2)
        and kept.tolist() == [[2, 2, 2], [2, 2, 2]]
    )
    (p * p).sum().backward(create_graph=True)
    assert p.grad is not kept and p.grad.requires_grad and kept.tolist() == [[2, 2, 2], [2, 2, 2]]
    assert close(p.grad.detach(), 2 + 2 * p.detach())


def test_gradients_set_to_none_start_from_zero(m):
    p = m.ones(2, requires_grad=True)
    for _ in range(3):
        p.grad = None
        (p * 3).sum().backward()
    assert p.grad.tolist() == [3, 3]


# ---------------------------------------------------------------------------------- in-place checks


def test_saved_tensors_are_checked(m):
    x = m.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)  # exp saved its result
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    if m is mg:
        assert (
            isinstance(caught.value, InPlaceError)
            and "exp" in str(caught.value)
            and "version 1" in str(caught.value)
        )
    z = x + 1
    z.mul_(2)  # an addition saves nothing
    z.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_examples_of_variable(m):
    data = m.tensor([1.0, 2.0])
    v = m.autograd.Variable(data, requires_grad=True)
    assert (
        isinstance(v, m.Tensor) and v.requires_grad and not m.autograd.Variable(data).requires_grad
    )
    v.register_hook(lambda g: g * 2)
    (v * 3).sum().backward()
    assert v.grad.tolist() == [6, 6] and v.data.tolist() == [1, 2] and not v.detach().requires_grad
    made = m.randn((2, 3, 4), requires_grad=True)
    assert made.requires_grad and tuple(made.shape) == (2, 3, 4)
    assert (
        m.zeros((2, 3), requires_grad=True).requires_grad
        and m.ones(2, requires_grad=True).requires_grad
    )


# -------------------------------------------------------------------------------- tensor attributes


def test_grad_and_requires_grad(m):
    x = m.ones(2, requires_grad=True)
    assert x.grad is None and x.requires_grad
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [4, 4]
    y = x * 2
    assert y.requires_grad and not m.ones(2).requires_grad


def test_leaves_on_the_host(m):
    a = m.rand(10, requires_grad=True)
    c = m.rand(10, requires_grad=True) + 2
    assert a.is_leaf and a.grad_fn is None and not c.is_leaf and c.grad_fn is not None
    assert m.rand(10).is_leaf and (m.rand(10) + 2).is_leaf  # whatever needs no gradient is a leaf
    assert m.rand(10).requires_grad_().is_leaf and c.detach().is_leaf


CUDA_LEAVES = {
    "a copy of a leaf was made by an operation": (
        lambda: mg.rand(10, requires_grad=True).cuda(),
        False,
    ),
    "a copy of a constant is a constant": (lambda: mg.rand(10).cuda(), True),
    "a copy of a constant may become a leaf": (lambda: mg.rand(10).cuda().requires_grad_(), True),
    "a tensor made there is a leaf": (lambda: mg.rand(10, requires_grad=True, device="cuda"), True),
}


@pytest.mark.parametrize("case", CUDA_LEAVES)
def test_leaves_on_a_gpu_or_a_clear_error(case):
    make, leaf = CUDA_LEAVES[case]
    if backend.cuda_is_available():
        assert make().is_leaf is leaf
        return
    with pytest.raises(DeviceError, match="CUDA"):
        make()


def test_detach_shares_memory(m):
    x = m.ones(3, requires_grad=True)
    y = x * x
    d = y.detach()
    assert not d.requires_grad and d.is_leaf
    d[0] = 7.0
    assert y[0].item() == 7
    (y * 2).sum().backward()  # multiplying by a constant saves nothing of y
    z = x.exp()
    z.detach().zero_()
    with pytest.raises(RuntimeError):
        z.sum().backward()


def test_detach_in_place(m):
    x = m.ones(3, requires_grad=True)
    y = x * 2
    assert y.detach_() is y and y.is_leaf and not y.requires_grad
    with pytest.raises(RuntimeError):
        (x * 2)[0:1].detach_()


def test_register_hook_works_as_documented(m):
    v = m.tensor([0.0, 0.0, 0.0], requires_grad=True)
    h = v.register_hook(lambda grad: grad * 2)
    v.backward(m.tensor([1.0, 2.0, 3.0]))
    assert v.grad.tolist() == [2, 4, 6]
    h.remove()
    v.backward(m.tensor([1.0, 2.0, 3.0]))
    assert v.grad.tolist() == [3, 6, 9]


def test_retain_grad_works_as_documented(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3, 3] and not y.is_leaf


# ----------------------------------------------------------------------------------------- Function


def exponential(m):
    class Exp(m.autograd.Function):
        @staticmethod
        def forward(ctx, i):
            result = i.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad_output):
            (result,) = ctx.saved_tensors
            return grad_output * result

    return Exp


def test_examples_of_function(m):
    x = m.rand(3, requires_grad=True)
    y = exponential(m).apply(x)
    y.sum().backward()
    assert close(x.grad, x.detach().exp()) and "Exp" in y.grad_fn.name()
    assert issubclass(Function, autograd.Function) and isinstance(
        mg.autograd.function.Function, type
    )


def test_everything_on_the_context(m):
    seen = {}

    class SortDescending(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, unused, flag):
            ctx.set_materialize_grads(False)
            order = m.tensor(sorted(range(x.shape[0]), key=lambda i: -x[i].item()))
            ctx.mark_non_differentiable(order)
            ctx.save_for_backward(x, None, order)
            ctx.factor = factor
            return x[order] * factor, order

        @staticmethod
        def backward(ctx, g, g_order):
            x, nothing, order = ctx.saved_tensors
            seen.update(needs=ctx.needs_input_grad, g_order=g_order, nothing=nothing)
            back = m.zeros(x.shape[0])
            back[order] = g * ctx.factor
            return back, None, None, None

    x = m.tensor([1.0, 3.0, 2.0], requires_grad=True)
    values, order = SortDescending.apply(x, 10, m.ones(1), True)
    assert (
        values.tolist() == [30, 20, 10] and order.tolist() == [1, 2, 0] and not order.requires_grad
    )
    values.backward(m.tensor([1.0, 2.0, 3.0]))
    assert x.grad.tolist() == [30, 10, 20]
    assert seen == {"needs": (True, False, False, False), "g_order": None, "nothing": None}


def test_mark_dirty_works_as_documented(m):
    class Double(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    a = m.ones(2, requires_grad=True)
    b = a * 3
    c = Double.apply(b)
    assert c is b and b.tolist() == [6, 6]
    b.sum().backward()
    assert a.grad.tolist() == [6, 6]


def test_undefined_gradients_are_zeros_unless_disabled(m):
    seen = []

    class Two(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g2, g3):
            seen.append(g3 if g3 is None else g3.tolist())
            return g2 * 2, None

    for materialize in (True, False):
        Two.apply(m.ones(2, requires_grad=True), materialize)[0].sum().backward()
    assert seen == [[0, 0], None]


# ------------------------------------------------------------------------------- checking gradients


def test_gradcheck_and_gradgradcheck(m):
    x = m.rand(3, dtype=m.float64, requires_grad=True)
    f = lambda x: (x**3).sum()
    assert m.autograd.gradcheck(
        f, (x,), eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0
    )
    assert m.autograd.gradcheck(f, x, check_undefined_grad=True, check_grad_dtypes=True)
    assert m.autograd.gradgradcheck(
        f, (x,), eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=True
    )
    assert m.autograd.gradgradcheck(
        f, (x,), (m.ones((), dtype=m.float64, requires_grad=True),), nondet_tol=1e-12
    )


def test_gradcheck_of_complex_functions(m):
    z = m.randn(3, dtype=m.complex128, requires_grad=True)
    assert m.autograd.gradcheck(lambda z: z * z.conj() + z.sin(), (z,))
    assert m.autograd.gradcheck(lambda z: z.abs().sum(), (z,))


def test_gradcheck_finds_a_mistake(m):
    class Wrong(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = m.rand(2, dtype=m.float64, requires_grad=True)
    assert m.autograd.gradcheck(Wrong.apply, x, raise_exception=False) is False
    with pytest.raises(RuntimeError) as caught:
        m.autograd.gradcheck(Wrong.apply, x)
    assert "numerical" in str(caught.value) and "analytical" in str(caught.value)


# ----------------------------------------------------------------------------------------- profiler


def profiled(**options):
    x = mg.randn((1, 1), requires_grad=True)
    with mg.autograd.profiler.profile(**options) as prof:
        for _ in range(100):
            y = x**2
            y.backward()
    return prof


def test_examples_of_the_profiler():
    prof = profiled()
    counts = {e.key: e.count for e in prof.key_averages()}
    assert (
        counts["pow"] == 200 and counts["PowBackward0"] == counts["AccumulateGrad"] == 100
    )  # pow also runs in its own pullback
    table = prof.key_averages().table(sort_by="self_cpu_time_total")
    assert "Self CPU" in table and "PowBackward0" in table
    assert prof.self_cpu_time_total == pytest.approx(
        sum(e.self_cpu_time_total for e in prof.key_averages())
    )
    assert prof.total_average().count == sum(counts.values())


def test_every_option_of_profile():
    assert not list(profiled(enabled=False).key_averages())
    shapes = profiled(record_shapes=True, profile_memory=True, with_stack=True)
    assert any(e.input_shapes for e in shapes.key_averages(group_by_input_shape=True))
    assert shapes.key_averages(group_by_stack_n=2)
    assert "Mem" in shapes.key_averages().table(sort_by="cpu_memory_usage")
    table = shapes.table(
        sort_by="cpu_time_total", row_limit=3, header="the first three", top_level_events_only=True
    )
    assert "the first three" in table
    if not backend.cuda_is_available():
        with pytest.raises(DeviceError, match="CUDA"):
            profiled(use_cuda=True)


@pytest.mark.parametrize(
    "key",
    "cpu_time cuda_time cpu_time_total cuda_time_total cpu_memory_usage cuda_memory_usage"
    " self_cpu_memory_usage self_cuda_memory_usage count".split(),
)
def test_every_documented_key_sorts(key):
    assert "pow" in profiled(profile_memory=True).key_averages().table(sort_by=key)


def test_export_chrome_trace(tmp_path):
    path = tmp_path / "trace.json"
    profiled().export_chrome_trace(str(path))
    events = json.loads(path.read_text())
    assert any(
        e.get("name") == "pow"
        for e in (events["traceEvents"] if isinstance(events, dict) else events)
    )


def test_emit_nvtx_works_as_documented():
    x = mg.ones(2, requires_grad=True)
    with mg.autograd.profiler.emit_nvtx(enabled=False, record_shapes=True):
        (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    if backend.cuda_is_available():
        with mg.cuda.profiler.profile(), mg.autograd.profiler.emit_nvtx():
            x * 2
        return
    with pytest.raises(DeviceError, match="CUDA"), mg.cuda.profiler.profile():
        pass
    with pytest.raises(AutogradError, match=r"NVTX|CuPy"), mg.autograd.profiler.emit_nvtx():
        pass


def test_load_nvprof_refuses_what_is_no_trace(tmp_path):
    (tmp_path / "no.prof").write_text("not a database")
    with pytest.raises(Exception, match=r"nvprof|database"):
        mg.autograd.profiler.load_nvprof(str(tmp_path / "no.prof"))


# -------------------------------------------------------------------------------- anomaly detection


class Fails(Function):
    @staticmethod
    def forward(ctx, inp):
        return inp.clone()

    @staticmethod
    def backward(ctx, gO):
        raise RuntimeError("a mistake in the reverse pass")


def run_forward(a):
    return Fails.apply(a).sum()  # the line to be found


def test_detect_anomaly_shows_the_forward_call():
    with pytest.raises(RuntimeError, match="a mistake in the reverse pass") as caught:
        run_forward(mg.rand(10, 10, requires_grad=True)).backward()
    assert not getattr(caught.value, "__notes__", [])
    with (
        pytest.raises(RuntimeError, match="a mistake in the reverse pass") as caught,
        autograd.detect_anomaly(),
    ):
        run_forward(mg.rand(10, 10, requires_grad=True)).backward()
    notes = "\n".join(caught.value.__notes__)
    assert (
        "Traceback of forward call that caused the error" in notes
        and "the line to be found" in notes
        and "in run_forward" in notes
    )


def test_detect_anomaly_raises_for_nan():
    x = mg.tensor(-1.0, requires_grad=True)
    x.sqrt().backward()
    assert math.isnan(x.grad.item())
    with pytest.raises(RuntimeError, match=r"SqrtBackward0.*nan"), autograd.detect_anomaly():
        x.sqrt().backward()


def test_set_detect_anomaly():
    with autograd.set_detect_anomaly(True):
        assert autograd.is_anomaly_enabled()
        with autograd.set_detect_anomaly(False):
            assert not autograd.is_anomaly_enabled()
    with contextlib.ExitStack() as stack:
        stack.callback(autograd.set_detect_anomaly, False)
        autograd.set_detect_anomaly(True)
        assert autograd.is_anomaly_enabled()
    assert not autograd.is_anomaly_enabled()


# ----------------------------------------------------------------------- what a user reads who errs


def second_backward():
    y = mg.tensor(2.0, requires_grad=True).exp()
    y.backward()
    y.backward()


def no_vector():
    (mg.ones(3, requires_grad=True) * 2).backward()


def unused_input():
    x, z = mg.ones(1, requires_grad=True), mg.ones(1, requires_grad=True)
    autograd.grad((x * 2).sum(), [x, z])


@pytest.mark.parametrize(
    ("misuse", "kind", "words"),
    [
        (second_backward, GraphFreedError, ["retain_graph=True", "exp"]),
        (no_vector, NonScalarError, ["(3,)", ".sum()"]),
        (unused_input, UnusedInputError, ["allow_unused=True", "1"]),
        (lambda: mg.tensor([1], requires_grad=True), DTypeError, ["int64", ".float()"]),
        (
            lambda: (mg.ones(2, requires_grad=True) * 2).requires_grad_(False),
            AutogradError,
            ["leaf", "detach"],
        ),
        (lambda: mg.ones(2, requires_grad=True).add_(1), InPlaceError, ["leaf", "no_grad"]),
    ],
)
def test_documented_misuse_is_explained(misuse, kind, words):
    with pytest.raises(kind) as caught:
        misuse()
    assert [w for w in words if w not in str(caught.value)] == []
