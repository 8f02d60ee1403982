"""`Function`: every promise of its interface, and every way of breaking it, with the text that a
user reads.
"""

import gc
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import Function, forward_ad, grad, gradcheck, gradgradcheck
from minigrad.autograd.function import _ContextMethodMixin, once_differentiable
from minigrad.errors import (
    GraphFreedError,
    InPlaceError,
    NotDifferentiableError,
)
from minigrad.observers import observing
from tests.helpers.refusals import refusals
from tests.helpers.tables import in_one_test


def leaf(*values: float, dtype=mg.float64) -> mg.Tensor:
    return mg.tensor(list(values), dtype=dtype, requires_grad=True)


def function(forward, backward=None, name: str = "MyFunction", **more) -> type[Function]:
    """A Function from two plain functions."""
    methods = {"forward": forward, **({} if backward is None else {"backward": backward}), **more}
    return type(name, (Function,), {key: staticmethod(value) for key, value in methods.items()})


class Exp(Function):
    """The document's example: it saves its output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y

    @staticmethod
    def jvp(ctx, t):
        (y,) = ctx.saved_tensors
        return t * y


class Mul(Function):
    """It saves its inputs."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return (g * b).sum_to(a.shape), (g * a).sum_to(b.shape)

    @staticmethod
    def jvp(ctx, ta, tb):
        a, b = ctx.saved_tensors
        return ta * b + a * tb


def square_backward(ctx, g):
    return 2 * ctx.saved_tensors[0] * g


def save(ctx, x):
    ctx.save_for_backward(x)
    return x * x


Square = function(save, square_backward, "Square")

# -------------------------------------------------------------------------------- first derivatives


def test_the_documents_example() -> None:
    x = leaf(0.5, 1.0)
    y = Exp.apply(x)
    y.backward(mg.tensor([1.0, 10.0], dtype=mg.float64))
    np.testing.assert_allclose(y.detach().numpy(), np.exp([0.5, 1.0]))
    np.testing.assert_allclose(x.grad.numpy(), np.exp([0.5, 1.0]) * [1, 10])


def test_name_and_representation_of_grad_fn() -> None:
    y = Exp.apply(leaf(1.0))
    assert y.grad_fn.name() == "ExpBackward"
    assert "grad_fn=<ExpBackward>" in repr(y)
    assert repr(y.grad_fn).startswith("<ExpBackward object at")
    assert not y.is_leaf
    assert y.grad_fn.saved_tensors[0].tolist() == y.tolist()
    assert y.grad_fn.needs_input_grad == (True,)
    with pytest.raises(AttributeError):
        _ = y.grad_fn.nothing_of_the_kind


def test_forward_records_nothing_and_backward_only_with_create_graph() -> None:
    seen = []
    forward = lambda ctx, x: (seen.append(mg.is_grad_enabled()), x * 2)[1]
    backward = lambda ctx, g: (seen.append(mg.is_grad_enabled()), g * 2)[1]
    double = function(forward, backward)
    x = leaf(1.0)
    grad(double.apply(x).sum(), x)
    grad(double.apply(x).sum(), x, create_graph=True)
    assert seen == [False, False, False, True]
    assert mg.is_grad_enabled()


def test_grad_mode_is_restored_after_an_exception_in_forward() -> None:
    with pytest.raises(ZeroDivisionError):
        function(lambda ctx, x: 1 / 0).apply(leaf(1.0))
    assert mg.is_grad_enabled()


def test_an_exception_in_backward_passes_and_leaves_the_engine_usable() -> None:
    def backward(ctx, g):
        raise RuntimeError("some error in backward")

    x = leaf(1.0)
    y = function(lambda ctx, x: x.clone(), backward).apply(x)
    with pytest.raises(RuntimeError, match="some error in backward"):
        y.sum().backward()
    assert mg.is_grad_enabled()
    assert x.grad is None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0]


@in_one_test
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 3)])
@pytest.mark.parametrize("dtype", [mg.float32, mg.float64, mg.complex128])
def test_shapes_and_dtypes(shape, dtype) -> None:
    x = mg.randn(*shape, dtype=dtype).requires_grad_()
    y = Exp.apply(x)
    assert (y.shape, y.dtype) == (shape, dtype)
    (g,) = grad(y, x, mg.ones_like(y))
    assert (g.shape, g.dtype) == (shape, dtype)
    np.testing.assert_allclose(g.numpy(), np.exp(x.detach().numpy()), rtol=1e-6)


def test_non_contiguous_arguments_and_cotangents() -> None:
    x = mg.tensor(np.arange(12.0).reshape(3, 4)[::-1, ::2] / 12, requires_grad=True)
    v = mg.from_numpy(np.arange(12.0).reshape(2, 6)[:, ::2].T)
    (g,) = grad(Exp.apply(x.t().t()), x, v)
    np.testing.assert_allclose(g.numpy(), np.exp(x.detach().numpy()) * v.numpy())


def test_the_same_argument_twice() -> None:
    x = leaf(3.0)
    assert grad(Mul.apply(x, x), x, mg.ones_like(x))[0].tolist() == [6.0]


def test_arguments_that_are_not_tensors_pass_through() -> None:
    def forward(ctx, x, factor, label, options):
        ctx.factor, seen["args"] = factor, (label, options)
        return x * factor

    seen: dict = {}
    scale = function(forward, lambda ctx, g: (g * ctx.factor, None, None, None))
    x = leaf(2.0)
    assert grad(scale.apply(x, 3, "name", {"a": [1]}), x, mg.ones_like(x))[0].tolist() == [3.0]
    assert seen["args"] == ("name", {"a": [1]})


def test_keyword_arguments_take_their_place() -> None:
    scale = function(
        lambda ctx, x, factor=2, *, shift=0: (setattr(ctx, "factor", factor), x * factor + shift)[
            1
        ],
        lambda ctx, g: (g * ctx.factor, None),
    )
    x = leaf(1.0)
    y = scale.apply(factor=5, x=x, shift=1)
    assert y.tolist() == [6.0]
    assert grad(y.sum(), x)[0].tolist() == [5.0]


def test_no_history_where_nothing_requires_grad_or_recording_is_off() -> None:
    assert not Exp.apply(mg.tensor([1.0])).requires_grad
    with mg.no_grad():
        y = Exp.apply(leaf(1.0))
    assert not y.requires_grad
    assert y.grad_fn is None


def test_needs_input_grad() -> None:
    seen = []
    forward = lambda ctx, *args: (seen.append(ctx.needs_input_grad), args[0] * 2)[1]
    backward = lambda ctx, g: (seen.append(ctx.needs_input_grad), (g * 2, None, None))[1]
    f = function(forward, backward)
    x = leaf(1.0)
    f.apply(x, mg.tensor([1.0]), 5).sum().backward()
    assert seen == [(True, False, False)] * 2


def test_vjp_is_another_name_for_backward() -> None:
    x = leaf(1.0)
    f = function(lambda ctx, x: x * 7, vjp=lambda ctx, g: g * 7)
    assert grad(f.apply(x).sum(), x)[0].tolist() == [7.0]


def test_documented_name_of_the_context_methods() -> None:
    methods = (
        "mark_dirty",
        "mark_non_differentiable",
        "save_for_backward",
        "set_materialize_grads",
    )
    assert all(hasattr(_ContextMethodMixin, m) for m in methods)
    import minigrad.autograd.function as module

    assert module.Function is mg.autograd.Function


# ---------------------------------------------------------------------------- what backward returns


def wrong(backward, arguments: int = 1) -> None:
    """Run a Function of `arguments` vectors of length 2 with this backward."""
    leaves = [leaf(1.0, 2.0) for _ in range(arguments)]
    grad(
        function(lambda ctx, *args: sum(args[1:], args[0] * 1), backward).apply(*leaves).sum(),
        leaves,
        allow_unused=True,
    )


def pushed(f: type[Function]) -> None:
    """Apply it in forward mode."""
    with forward_ad.dual_level():
        f.apply(forward_ad.make_dual(mg.tensor([1.0, 2.0]), mg.tensor([1.0, 1.0])))


def same(ctx, x):
    return x * 1


MISTAKES = r"""
Exp()  # TypeError: Exp is not instantiated.*Exp\.apply
Nothing.apply(leaf(1.0))  # NotImplementedError: forward
function(same, name="Forwards").apply(leaf(1.0)).sum().backward()
    # NotDifferentiableError: Forwards has no rule for reverse mode.*Forwards\.backward
function(same, lambda ctx, g: g, vjp=lambda ctx, g: g).apply(leaf(1.0)).sum().backward()
    # AutogradError: both backward and vjp
function(lambda ctx, x, *, shift: x).apply(leaf(1.0), shift=leaf(1.0))
    # AutogradError: keyword-only argument 'shift' requires grad
wrong(lambda ctx, g: g, 2)
    # AutogradError: incorrect number of gradients: forward had 2 arguments, got 1
wrong(lambda ctx, g: (g, g), 1)
    # AutogradError: incorrect number of gradients: forward had 1 arguments, got 2
wrong(lambda ctx, g: [g, g], 2)  # AutogradError: returned a list; return a tuple
wrong(lambda ctx, g: 3.0)  # TypeError: MyFunction\.backward returned float for argument 0
wrong(lambda ctx, g: g.numpy())  # TypeError: returned ndarray
wrong(lambda ctx, g: mg.ones(3))
    # ShapeError: gradient of shape \(3,\) for argument 0 of shape \(2,\)
wrong(lambda ctx, g: mg.ones(()))  # ShapeError: gradient of shape \(\) for argument 0
wrong(lambda ctx, g: mg.ones(1))  # ShapeError: gradient of shape \(1,\) for argument 0
wrong(lambda ctx, g: mg.ones(2, 1))  # ShapeError: gradient of shape \(2, 1\) for argument 0
wrong(lambda ctx, g: g * mg.tensor(1j, dtype=mg.complex128))
    # DTypeError: complex128 gradient for argument 0 of dtype float64
function(lambda ctx, x, n: x * n, lambda ctx, g: (g, g)).apply(leaf(1.0), 3).sum().backward()
    # AutogradError: a gradient for argument 1, which was not a tensor
function(lambda ctx, x: [x * 2]).apply(leaf(1.0))
    # AutogradError: returned a list of tensors; return a tuple
function(lambda ctx, x: ctx.save_for_backward(x, 3)).apply(leaf(1.0))
    # TypeError: save_for_backward takes tensors and None, but argument 1 is of type int.*ctx\.size
function(lambda ctx, x: (ctx.mark_dirty(x), x * 2)[1]).apply(leaf(1.0) * 1)
    # InPlaceError: marked dirty but not returned
function(lambda ctx, x: ctx.mark_dirty(x * 2)).apply(leaf(1.0))
    # InPlaceError: argument 0 something that is not an input
function(lambda ctx, x: ctx.mark_dirty(3)).apply(leaf(1.0))  # TypeError: mark_dirty takes tensors
function(lambda ctx, x: x.mul_(2)).apply(leaf(1.0) * 1)
    # InPlaceError: modified argument 0 in place without saying so.*mark_dirty
pushed(function(same, lambda ctx, g: g, "Rules"))
    # NotDifferentiableError: Rules was called with a tangent.*Rules\.jvp
pushed(function(same, jvp=lambda ctx, t: (t, t)))  # AutogradError: 2 tangents for 1 outputs
pushed(function(same, jvp=lambda ctx, t: t.sum()))
    # ShapeError: tangent of shape \(\) for output 0 of shape \(2,\)
pushed(function(same, jvp=lambda ctx, t: 1.0))  # TypeError: returned float as tangent 0
pushed(function(same, jvp=lambda ctx, t: t * mg.tensor(1j)))  # DTypeError: complex64 tangent
"""
test_mistakes_are_answered_by_what_to_do = refusals(
    MISTAKES,
    Exp=Exp,
    Nothing=type("Nothing", (Function,), {}),
    function=function,
    leaf=leaf,
    pushed=pushed,
    same=same,
    wrong=wrong,
)


def test_trailing_gradients_of_none_may_be_many() -> None:
    wrong(lambda ctx, g: (g, None, None), 1)


def test_a_dirty_view_has_no_forward_mode() -> None:
    twice = function(overwrite, jvp=lambda ctx, t: t * 2)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(mg.tensor([1.0, 2.0]), mg.tensor([1.0, 1.0]))
        with pytest.raises(InPlaceError, match="cannot modify a view in place"):
            twice.apply(dual[:1])


def test_gradient_for_an_argument_that_needs_none_is_ignored() -> None:
    constant = mg.tensor([1.0, 2.0, 3.0], dtype=mg.float64)
    x = leaf(1.0, 2.0)
    f = function(lambda ctx, x, c: x * 2, lambda ctx, g: (g * 2, g.sum()))  # of a wrong shape even
    f.apply(x, constant).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert constant.grad is None


def test_gradient_that_the_argument_broadcasts_to_is_summed() -> None:
    x = leaf(1.0, 2.0)
    row = mg.ones(1, 3, dtype=mg.float64, requires_grad=True)
    number = mg.tensor(2.0, dtype=mg.float64, requires_grad=True)
    f = function(
        lambda ctx, x, row, number: x.sum() * row.sum() * number,
        lambda ctx, g: (mg.ones(5, 2), mg.ones(4, 3), mg.ones(7)),
    )
    gs = grad(f.apply(x, row, number), [x, row, number])
    assert [g.tolist() for g in gs] == [[5.0, 5.0], [[4.0, 4.0, 4.0]], 7.0]


def test_gradient_of_another_dtype() -> None:
    for backward in (lambda ctx, g: g.to(mg.float32), lambda ctx, g: g.long()):
        x = leaf(1.0, 2.0)
        (g,) = grad(function(lambda ctx, x: x * 1, backward).apply(x).sum(), x)
        assert (g.dtype, g.tolist()) == (mg.float64, [1.0, 1.0])


def test_real_gradient_of_a_complex_argument_becomes_complex() -> None:
    z = mg.tensor([1 + 1j], dtype=mg.complex128, requires_grad=True)
    f = function(lambda ctx, z: z.real * 1, lambda ctx, g: g)
    (g,) = grad(f.apply(z).sum(), z)
    assert (g.dtype, g.tolist()) == (mg.complex128, [1 + 0j])


def test_none_where_a_gradient_is_needed() -> None:
    x, y = leaf(1.0), leaf(2.0)
    f = function(lambda ctx, a, b: a * b, lambda ctx, g: (None, g))
    f.apply(x * 2, y).sum().backward()
    assert x.grad is None
    assert y.grad.tolist() == [1.0]
    assert grad(f.apply(x, y).sum(), [x, y], allow_unused=True)[0] is None


def test_returned_gradients_never_share_memory() -> None:
    kept = mg.tensor([5.0, 5.0], dtype=mg.float64)
    f = function(lambda ctx, a, b, c: a + b + c, lambda ctx, g: (kept, kept, g))
    a, b, c = leaf(1.0, 1.0), leaf(1.0, 1.0), leaf(1.0, 1.0)
    seed = mg.tensor([1.0, 2.0], dtype=mg.float64)
    y = f.apply(a, b, c)
    y.backward(seed, retain_graph=True)
    y.backward(seed)
    a.grad.mul_(100)
    assert (kept.tolist(), seed.tolist()) == ([5.0, 5.0], [1.0, 2.0])
    assert (b.grad.tolist(), c.grad.tolist()) == ([10.0, 10.0], [2.0, 4.0])
    both = a * 1
    # contributions are added up, in memory that only the engine holds
    (g,) = grad((f.apply(both, both, both) * 1 + both).sum(), both)
    assert g.tolist() == [12.0, 12.0]
    for g in (*grad(f.apply(a, b, c), a, seed), *grad(f.apply(a, b, c), [a, b, c], seed)):
        g.mul_(100)
    assert (kept.tolist(), seed.tolist()) == ([5.0, 5.0], [1.0, 2.0])


def test_backward_may_not_overwrite_its_incoming_gradient() -> None:
    x = leaf(1.0)
    f = function(lambda ctx, x: x * 2, lambda ctx, g: g.mul_(2))
    with pytest.raises(
        InPlaceError, match=r"MyFunction\.backward modified its incoming gradient in place.*clone"
    ):
        (f.apply(x) * 3).sum().backward()
    with pytest.raises(InPlaceError, match=r"MyFunction\.backward modified its incoming gradient"):
        f.apply(x).sum().backward()
    with pytest.raises(
        InPlaceError, match="expanded"
    ):  # of many elements the gradient of a sum is one number, seen many times
        f.apply(mg.ones(1000, requires_grad=True)).sum().backward()
    g = function(lambda ctx, x: x * 2, lambda ctx, g: g.clone().mul_(2))
    assert grad(g.apply(x).sum(), x)[0].tolist() == [2.0]


# ---------------------------------------------------------------------------------- several outputs


def two_outputs(ctx, x):
    ctx.save_for_backward(x)
    return x * x, x * x * x


def two_backward(ctx, g, h):
    (x,) = ctx.saved_tensors
    return g * 2 * x + h * 3 * x * x


Powers = function(two_outputs, two_backward, "Powers")


def test_several_outputs_share_a_node_and_add_their_gradients() -> None:
    x = leaf(2.0)
    a, b = Powers.apply(x)
    assert a.grad_fn.name() == b.grad_fn.name() == "PowersBackward"
    (a * 10 + b).sum().backward()
    assert x.grad.tolist() == [52.0]


def test_unused_outputs_get_zeros_or_none() -> None:
    seen = []

    def backward(ctx, g, h):
        seen.append(h if h is None else h.tolist())
        return g

    x = leaf(1.0, 2.0)
    for materialize in (True, False):
        f = function(
            lambda ctx, x, on=materialize: (ctx.set_materialize_grads(on), (x * 1, x.sum() * 1))[1],
            backward,
        )
        a, _ = f.apply(x)
        a.sum().backward()
    assert seen == [0.0, None]


def test_outputs_that_are_not_tensors_or_not_differentiable() -> None:
    seen = []

    def forward(ctx, x):
        index, mask = x.argmax(), x > 0
        ctx.mark_non_differentiable(index, mask)
        return x * 2, index, mask, 5, None

    f = function(forward, lambda ctx, g, *rest: (seen.append(rest), g * 2)[1])
    x = leaf(1.0, 2.0)
    y, index, mask, five, nothing = f.apply(x)
    assert (index.item(), mask.tolist(), five, nothing) == (1, [True, True], 5, None)
    assert y.requires_grad
    assert not index.requires_grad
    assert not mask.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert [r if r is None else r.tolist() for r in seen[0]] == [0, [False, False], None, None]


def test_floating_output_marked_non_differentiable() -> None:
    def forward(ctx, x):
        total = x.sum()
        ctx.mark_non_differentiable(total)
        return x / total, total

    x = leaf(1.0, 3.0)
    y, total = function(forward, lambda ctx, g, h: g).apply(x)
    assert y.requires_grad
    assert not total.requires_grad
    assert (
        not function(lambda ctx, x: (ctx.mark_non_differentiable(x), x)[1]).apply(x).requires_grad
    )
    assert x.requires_grad


def test_a_single_output_that_is_no_tensor() -> None:
    assert function(lambda ctx, x: 5).apply(leaf(1.0)) == 5


def test_a_one_tuple_stays_a_tuple() -> None:
    x = leaf(1.0)
    (y,) = function(lambda ctx, x: (x * 2,), lambda ctx, g: g * 2).apply(x)
    assert grad(y.sum(), x)[0].tolist() == [2.0]


def test_the_same_tensor_twice_as_output() -> None:
    def forward(ctx, x):
        y = x * 1
        return y, y

    x = leaf(1.0)
    a, b = function(forward, lambda ctx, g, h: g * 10 + h).apply(x)
    assert a is b and a.output_nr == 1  # as in PyTorch
    assert grad((a * 2 + b * 3).sum(), x)[0].tolist() == [5.0]


def test_hooks_and_retain_grad_on_outputs() -> None:
    x, seen = leaf(2.0), []
    a, b = Powers.apply(x)
    a.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
    b.retain_grad()
    (a * 3 + b).sum().backward()
    assert (seen, b.grad.tolist(), x.grad.tolist()) == ([[3.0]], [1.0], [36.0])


# ----------------------------------------------------------------- outputs that are inputs or views


def test_an_argument_returned_as_it_is() -> None:
    triple = function(lambda ctx, x: x, lambda ctx, g: g * 3, "Triple")
    x = leaf(1.0, 2.0)
    y = triple.apply(x)
    assert y is not x
    assert y.data_ptr() == x.data_ptr()
    assert y._base is x
    assert x.is_leaf
    assert y.grad_fn.name() == "TripleBackward"
    assert grad(y.sum(), x)[0].tolist() == [3.0, 3.0]
    with mg.no_grad():
        z = triple.apply(x)
    assert z is not x
    assert not z.requires_grad


@pytest.mark.parametrize(
    "forward",
    [
        lambda ctx, x: x,
        lambda ctx, x: x[:1],
        lambda ctx, x: (x * 2)[:1],
        lambda ctx, x: x.reshape(2, 1),
    ],
)
def test_in_place_change_of_an_output_that_is_a_view(forward) -> None:
    f = function(forward, lambda ctx, g: g.sum())
    x = leaf(1.0, 2.0)
    y = f.apply(x * 1)
    with pytest.raises(InPlaceError, match=r"output of a Function.*clone"):
        y.mul_(2)
    with pytest.raises(InPlaceError, match=r"output of a Function.*clone"):
        y[0] = 3.0


def test_in_place_change_of_what_an_output_looks_into() -> None:
    f = function(lambda ctx, x: x, lambda ctx, g: g * 3, "Triple")
    x = leaf(1.0, 2.0)
    base = x * 1
    y = f.apply(base)
    part = y[:1]
    base.mul_(5)
    for used in (y, part):
        with pytest.raises(InPlaceError, match="an output of Triple is a view"):
            _ = used * 2


def test_a_view_output_survives_changes_without_history() -> None:
    f = function(lambda ctx, x: x, lambda ctx, g: g * 3)
    x = leaf(1.0, 2.0)
    y = f.apply(x)
    y.retain_grad()
    with mg.no_grad():
        x.mul_(10)
    part = y[:1]
    assert y.tolist() == [10.0, 20.0]
    assert grad(part.sum() + y.sum(), x, retain_graph=True)[0].tolist() == [6.0, 3.0]
    assert y.grad.tolist() == [2.0, 1.0]


def test_an_outer_leaf_or_constant_as_output() -> None:
    w, c, x = leaf(5.0), mg.tensor([7.0], dtype=mg.float64), leaf(1.0)
    y = function(lambda ctx, x: w, lambda ctx, g: g * 2).apply(x)
    assert w.is_leaf
    assert grad(y.sum(), x)[0].tolist() == [2.0]
    f = function(lambda ctx, x: c, lambda ctx, g: g * 2)
    assert grad(f.apply(x).sum(), x)[0].tolist() == [2.0]
    assert grad(f.apply(f.apply(x)).sum(), x)[0].tolist() == [4.0]


# ------------------------------------------------------------------------------- in-place Functions


def overwrite(ctx, x, *_):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x


Twice = function(overwrite, lambda ctx, g, *_: g * 2, "Twice")


def test_a_dirty_input_is_the_output_with_a_new_history() -> None:
    x = leaf(1.0, 2.0)
    b = x * 3
    out = Twice.apply(b)
    assert out is b
    assert b.tolist() == [6.0, 12.0]
    assert b.grad_fn.name() == "TwiceBackward"
    assert b._version > 0
    assert grad((b * b).sum(), x)[0].tolist() == [72.0, 144.0]


def test_mark_dirty_on_a_view_changes_the_base() -> None:
    x = leaf(1.0, 2.0, 3.0)
    b = x * 1
    view = b[:2]
    assert Twice.apply(view) is view
    assert b.tolist() == [2.0, 4.0, 3.0]
    assert grad((b * b).sum() + view.sum(), x)[0].tolist() == [10.0, 18.0, 6.0]


def test_mark_dirty_checks_leaves() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(
        InPlaceError, match=r"Twice \(mark_dirty\): a leaf tensor that requires grad"
    ):
        Twice.apply(x)
    y = leaf(1.0, 2.0)
    with pytest.raises(InPlaceError, match=r"Twice \(mark_dirty\): a view of a leaf"):
        Twice.apply(y[:1])
    y = leaf(1.0, 2.0)
    with mg.no_grad():
        assert Twice.apply(y).tolist() == [2.0, 4.0]
    constant = mg.tensor([1.0, 2.0])
    assert Twice.apply(constant) is constant
    assert constant.tolist() == [2.0, 4.0]


def test_mark_dirty_is_seen_by_those_who_saved_the_old_value() -> None:
    x = leaf(1.0, 2.0)
    b = x * 1
    y = b.sin()
    Twice.apply(b)
    with pytest.raises(InPlaceError, match="the backward rule of sin needs"):
        y.sum().backward()


def test_a_buffer_without_history_may_be_updated_silently() -> None:
    running = mg.zeros(2, dtype=mg.float64)
    f = function(lambda ctx, x, running: (running.add_(x), x * 1)[1], lambda ctx, g: (g, None))
    x = leaf(1.0, 2.0)
    assert grad(f.apply(x, running).sum(), x)[0].tolist() == [1.0, 1.0]
    assert running.tolist() == [1.0, 2.0]


def test_a_dirty_argument_can_be_saved_as_the_output_that_it_is() -> None:
    class ExpInPlace(Function):
        @staticmethod
        def forward(ctx, x):
            x.exp_()
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = leaf(0.5, 1.0)
    run = lambda x: ExpInPlace.apply(x * 1)
    assert gradcheck(run, x)
    assert gradgradcheck(run, x)


def test_dirty_with_several_outputs() -> None:
    def forward(ctx, a, b):
        b.add_(a)
        ctx.mark_dirty(b)
        return a * 5, b

    f = function(forward, lambda ctx, g, h: (g * 5 + h, h))
    x, y = leaf(1.0), leaf(2.0)
    b = y * 1
    a, out = f.apply(x, b)
    assert out is b
    gx, gy = grad((a + b * 2).sum(), [x, y])
    assert (gx.tolist(), gy.tolist()) == ([7.0], [2.0])


# ------------------------------------------------------------------------------------ saved tensors


def test_saved_tensors_of_every_kind() -> None:
    outer = leaf(9.0)

    def forward(ctx, x):
        y, between = x * 2, x + 1
        ctx.save_for_backward(x, None, between, y, outer)
        return y

    seen = []
    f = function(forward, lambda ctx, g: (seen.append(ctx.saved_tensors), g * 2)[1])
    x = leaf(3.0)
    f.apply(x).sum().backward()
    x_, none, between, y, outer_ = seen[0]
    assert x_ is x
    assert none is None
    assert outer_ is outer
    assert (between.tolist(), y.tolist()) == ([4.0], [6.0])
    assert y.requires_grad
    assert y.grad_fn.name() == "MyFunctionBackward"
    assert not between.requires_grad


def test_saved_tensors_are_gone_after_a_backward_pass() -> None:
    x = leaf(1.0)
    y = Square.apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(
        GraphFreedError,
        match=r"Square: the tensors saved for backward were freed.*retain_graph=True",
    ):
        y.backward()
    double = function(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
    double.backward(mg.ones_like(x))
    double.backward(mg.ones_like(x))  # nothing was saved, so nothing is missing
    assert x.grad.tolist() == [8.0]


def test_saved_input_modified_in_place() -> None:
    x = leaf(1.0, 2.0)
    b = x * 1
    y = Square.apply(b)
    b.add_(1)
    with pytest.raises(
        InPlaceError,
        match=(
            r"Square\.backward needs saved tensor 0 .*shape \(2,\), dtype float64\) as it was at"
            r" version 0.*version 1.*clone"
        ),
    ):
        y.sum().backward()


def test_saved_output_modified_in_place() -> None:
    y = Exp.apply(leaf(1.0))
    y.mul_(2)
    with pytest.raises(InPlaceError, match=r"Exp\.backward needs saved tensor 0 \(output 0"):
        y.sum().backward()


def test_saved_tensor_modified_through_a_view_or_detached() -> None:
    for change in (
        lambda b: b[:1].zero_(),
        lambda b: b.detach().zero_(),
        lambda b: mg.no_grad(b.zero_)(),
    ):
        b = leaf(1.0, 2.0) * 1
        y = Square.apply(b)
        change(b)
        with pytest.raises(InPlaceError, match="Square"):
            y.sum().backward()


def test_an_output_that_was_not_saved_may_be_multiplied_in_place() -> None:
    x = leaf(1.0, 2.0)
    y = function(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
    y.mul_(y.detach().clone())
    assert grad(y.sum(), x)[0].tolist() == [4.0, 8.0]


def test_a_rule_for_complex_numbers_conjugates() -> None:
    z = mg.tensor([1 + 2j, -0.5 + 1j], dtype=mg.complex128, requires_grad=True)
    f = function(
        lambda ctx, z: (ctx.save_for_backward(z), z * z)[1],
        lambda ctx, g: g * 2 * ctx.saved_tensors[0].conj(),
    )
    (g,) = grad(f.apply(z).abs().sum(), z)
    np.testing.assert_allclose(g.numpy(), grad((z * z).abs().sum(), z)[0].numpy(), rtol=1e-12)


def test_what_was_not_saved_may_be_modified() -> None:
    x = leaf(1.0, 2.0)
    b = x * 1
    y = function(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(b)
    b.zero_()
    assert grad(y.sum(), x)[0].tolist() == [2.0, 2.0]


# ------------------------------------------------------------------------------- higher derivatives


def test_double_backward_through_saved_inputs_and_outputs() -> None:
    x, y = leaf(0.3, -1.2), leaf(2.0, 0.7)
    for f, inputs in ((Exp, (x,)), (Mul, (x, y)), (Square, (x,)), (Powers, (x,))):
        assert gradcheck(f.apply, inputs), f
        assert gradgradcheck(f.apply, inputs), f
        assert gradgradcheck(f.apply, inputs, gen_non_contig_grad_outputs=True), f


def test_backward_can_be_differentiated_three_times() -> None:
    x = leaf(2.0)
    a, b = Powers.apply(x)
    (first,) = grad((a + b).sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x, create_graph=True)
    (third,) = grad(second.sum(), x, create_graph=True)
    assert (first.tolist(), second.tolist(), third.tolist()) == ([16.0], [14.0], [6.0])
    y = Exp.apply(x * 1)
    for _ in range(4):
        (y,) = grad(y.sum(), x, create_graph=True)
    np.testing.assert_allclose(y.detach().numpy(), np.exp([2.0]))


def test_double_backward_with_respect_to_the_cotangent_and_an_output() -> None:
    x, v = leaf(0.5, 1.0), leaf(1.0, 3.0)
    y = Exp.apply(x)
    (g,) = grad(y, x, v, create_graph=True)
    by_v, by_y = grad(g.sum(), [v, y])
    np.testing.assert_allclose(by_v.numpy(), np.exp([0.5, 1.0]))
    assert by_y.tolist() == [1.0, 3.0]
    a, b = Powers.apply(x)
    assert b.grad_fn is not None
    (g,) = grad((a * a).sum(), a, create_graph=True)
    assert grad(g.sum(), a)[0].tolist() == [2.0, 2.0]


def test_saved_output_of_several_is_the_same_place_in_the_graph() -> None:
    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            a, b = x.exp(), x * 2
            ctx.save_for_backward(a)
            return a, b

        @staticmethod
        def backward(ctx, g, h):
            return g * ctx.saved_tensors[0] + 2 * h

    x, hooked = leaf(0.5), []
    a, b = Both.apply(x)
    (g,) = grad((a + b).sum(), x, create_graph=True)
    a.register_hook(lambda g: hooked.append(g.tolist()))
    second, by_a = grad(g.sum(), [x, a])
    np.testing.assert_allclose(second.numpy(), np.exp([0.5]))
    assert (by_a.tolist(), hooked) == ([1.0], [[1.0]])


def test_a_rule_that_is_once_differentiable_refuses_a_second_time() -> None:
    class Sine(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return mg.tensor(np.sin(x.detach().numpy()))

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            assert not mg.is_grad_enabled()
            return mg.tensor(g.detach().numpy() * np.cos(ctx.saved_tensors[0].detach().numpy()))

    x = leaf(0.5)
    assert gradcheck(Sine.apply, x)
    (g,) = grad((Sine.apply(x) * x).sum(), x, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), 0.5 * np.cos(0.5) + np.sin(0.5))
    with pytest.raises(
        NotDifferentiableError,
        match="differentiate twice a Function that was marked with @once_differentiable: Sine",
    ):
        grad(g.sum(), x)
    (g,) = grad(Sine.apply(x).sum(), x, create_graph=True)
    with pytest.raises(NotDifferentiableError, match="Sine"):
        g.sum().backward()
    with pytest.raises(NotDifferentiableError, match="once_differentiable"):
        mg.func.grad(lambda x: mg.func.grad(lambda x: Sine.apply(x).sum())(x).sum())(x.detach())


def test_once_differentiable_in_forward_mode() -> None:
    f = function(
        lambda ctx, x: (ctx.save_for_backward(x), x**3)[1],
        once_differentiable(
            lambda ctx, g: mg.tensor(
                3 * ctx.saved_tensors[0].detach().numpy() ** 2 * g.detach().numpy()
            )
        ),
        "Cube",
        jvp=lambda ctx, t: 3 * ctx.saved_tensors[0] ** 2 * t,
    )
    x, v = leaf(2.0).detach(), mg.ones(1, dtype=mg.float64)
    assert mg.func.jvp(f.apply, (x,), (v,))[1].tolist() == [12.0]
    with pytest.raises(
        NotDifferentiableError, match=r"forward mode cannot pass through Cube\.backward"
    ):
        mg.func.jvp(lambda x: mg.func.grad(lambda x: f.apply(x).sum())(x), (x,), (v,))


# ------------------------------------------------------------------------------------ setup_context


class Scaled(Function):
    @staticmethod
    def forward(x, factor=3):
        return x.exp() * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.factor = inputs
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None

    @staticmethod
    def jvp(ctx, t, _):
        return t * ctx.saved_tensors[0]


def test_a_rule_with_setup_context_passes_gradcheck() -> None:
    x = leaf(0.5, -0.5)
    assert gradcheck(Scaled.apply, x, check_forward_ad=True)
    assert gradgradcheck(
        lambda x: Scaled.apply(x, factor=2), x, check_fwd_over_rev=True, check_rev_over_fwd=True
    )
    assert gradcheck(lambda x: Scaled.apply(factor=5, x=x), x)


# ------------------------------------------------------------------------------------- forward mode


def test_forward_mode_in_every_combination() -> None:
    x, y = leaf(0.3, -1.2), leaf(2.0, 0.7)
    for f, inputs in ((Exp, (x,)), (Mul, (x, y))):
        assert gradcheck(f.apply, inputs, check_forward_ad=True)
        assert gradgradcheck(f.apply, inputs, check_fwd_over_rev=True, check_rev_over_fwd=True)


def test_forward_over_forward_over_reverse() -> None:
    derivative = lambda f: lambda x: mg.func.jvp(f, (x,), (mg.ones_like(x),))[1]
    x = mg.tensor(0.7, dtype=mg.float64)
    f = lambda x: Exp.apply(x * x)
    want = lambda x: (x * x).exp()
    for chain in (
        [derivative] * 3,
        [mg.func.grad] * 3,
        [derivative, mg.func.grad, derivative],
        [mg.func.grad, derivative, mg.func.grad],
    ):
        got, expected = f, want
        for step in chain:
            got, expected = step(got), step(expected)
        np.testing.assert_allclose(got(x).item(), expected(x).item(), rtol=1e-12)


def test_nested_levels_are_not_confused() -> None:
    """d/dx [x · d/dy (x·y)] = d/dx x² = 2x: the inner derivative must not see the outer
    infinitesimal as its own.
    """
    inner = lambda x: mg.func.jvp(
        lambda y: Mul.apply(x, y),
        (mg.tensor(1.0, dtype=mg.float64),),
        (mg.tensor(1.0, dtype=mg.float64),),
    )[1]
    x = mg.tensor(3.0, dtype=mg.float64)
    assert mg.func.jvp(lambda x: Mul.apply(x, inner(x)), (x,), (mg.ones_like(x),))[1].item() == 6.0


def test_jvp_gets_zeros_or_none_for_missing_tangents() -> None:
    seen = []
    for materialize in (True, False):
        forward = lambda ctx, a, b, n, materialize=materialize: (
            ctx.set_materialize_grads(materialize),
            a * 1,
        )[1]
        f = function(forward, jvp=lambda ctx, *t: (seen.append(t[1:]), t[0])[1])
        with forward_ad.dual_level():
            a = forward_ad.make_dual(mg.tensor([1.0]), mg.tensor([7.0]))
            assert forward_ad.unpack_dual(f.apply(a, mg.tensor([2.0]), 3)).tangent.tolist() == [7.0]
    assert (seen[0][0].tolist(), seen[0][1], seen[1]) == ([0.0], None, (None, None))
    with forward_ad.dual_level():  # integers have no tangents, so not even zeros
        f = function(lambda ctx, a, b: a * 1, jvp=lambda ctx, *t: (seen.append(t[1:]), t[0])[1])
        f.apply(forward_ad.make_dual(mg.tensor([1.0]), mg.tensor([7.0])), mg.tensor([2]))
    assert seen[2] == (None,)


def test_in_place_in_forward_mode() -> None:
    f = function(overwrite, lambda ctx, g: g * 2, "Twice", jvp=lambda ctx, t: t * 2)
    x = leaf(0.5, 1.5)
    assert gradcheck(lambda x: f.apply(x * x) + 1, x, check_forward_ad=True)


def test_no_tangent_for_constant_outputs_and_none_means_zero() -> None:
    f = function(lambda ctx, x: (x * 2, x.argmax(), x * 3), jvp=lambda ctx, t: (t * 2, None, None))
    with forward_ad.dual_level():
        outs = f.apply(forward_ad.make_dual(mg.tensor([1.0, 2.0]), mg.tensor([1.0, 1.0])))
        tangents = [forward_ad.unpack_dual(o).tangent for o in outs]
    assert tangents[0].tolist() == [2.0, 2.0]
    assert tangents[1:] == [None, None]


def test_tangents_of_attributes_are_not_lost() -> None:
    """A tensor kept as an attribute (not saved) still carries its tangent when forward mode goes
    through the backward pass.
    """

    class Attribute(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.x * ctx.x * g

        @staticmethod
        def jvp(ctx, t):
            return 3 * ctx.x * ctx.x * t

    assert gradgradcheck(Attribute.apply, leaf(0.5, 2.0), check_fwd_over_rev=True)


def test_the_tangent_that_jvp_returns_belongs_to_outer_levels_only() -> None:
    """jvp may return an argument itself, which carries the tangent of the very level that is
    being computed.
    """
    f = function(lambda ctx, x: (setattr(ctx, "x", x), x * x / 2)[1], jvp=lambda ctx, t: ctx.x)
    with forward_ad.dual_level():
        y = f.apply(forward_ad.make_dual(leaf(3.0).detach(), mg.ones(1, dtype=mg.float64)))
        tangent = forward_ad.unpack_dual(y).tangent
        assert tangent.tolist() == [3.0]
        assert forward_ad.unpack_dual(tangent * 2).tangent is None


def test_jvp_may_use_what_has_no_forward_mode() -> None:
    """For the level that is being computed the saved values are constants, so Functions without
    a jvp can be applied to them.
    """
    f = function(kept_cube, jvp=lambda ctx, t: 3 * Square.apply(ctx.saved_tensors[0]) * t)
    assert mg.func.jvp(f.apply, (leaf(2.0).detach(),), (mg.ones(1, dtype=mg.float64),))[
        1
    ].tolist() == [12.0]


def kept_cube(ctx, x):
    ctx.save_for_backward(x)
    return x**3


def test_gradients_without_create_graph_have_no_history_in_forward_over_reverse() -> None:
    f = function(
        lambda ctx, x: (ctx.save_for_backward(x), (x * x / 2).sum())[1],
        lambda ctx, g: ctx.saved_tensors[0],
        jvp=lambda ctx, t: (ctx.saved_tensors[0] * t).sum(),
    )
    x = leaf(3.0)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, mg.ones_like(x))
        (g,) = grad(f.apply(dual), dual)
        assert not g.requires_grad
        assert forward_ad.unpack_dual(g).tangent.tolist() == [1.0]


# --------------------------------------------------------------------------------------------- vmap


def test_functions_work_inside_vmap() -> None:
    x, w = mg.randn(5, 3, dtype=mg.float64), mg.randn(3, dtype=mg.float64).requires_grad_()
    y = mg.func.vmap(lambda row: Mul.apply(row, w).sum())(x)
    np.testing.assert_allclose(y.detach().numpy(), x.numpy() @ w.detach().numpy())
    np.testing.assert_allclose(grad(y.sum(), w)[0].numpy(), x.numpy().sum(0))
    per_example = mg.func.vmap(mg.func.grad(lambda row: Exp.apply(row).sum()))(x)
    np.testing.assert_allclose(per_example.numpy(), np.exp(x.numpy()))


def test_own_vmap_rule() -> None:
    calls = []

    class Cumulative(Function):
        """Leaves the tensors for NumPy, so it needs a rule of its own."""

        @staticmethod
        def forward(ctx, x, axis):
            ctx.axis = axis
            return mg.tensor(np.cumsum(x.detach().numpy(), axis))

        @staticmethod
        def backward(ctx, g):
            return mg.flip(Cumulative.apply(mg.flip(g, ctx.axis), ctx.axis), ctx.axis), None

        @staticmethod
        def vmap(info, in_dims, x, axis):
            calls.append((info.batch_size, in_dims))
            return Cumulative.apply(x.movedim(in_dims[0], 0), axis if axis < 0 else axis + 1), 0

    x = mg.randn(4, 3, dtype=mg.float64)
    got = mg.func.vmap(lambda row: Cumulative.apply(row, 0))(x)
    np.testing.assert_allclose(got.numpy(), np.cumsum(x.numpy(), 1))
    assert calls == [(4, (0, None))]
    assert gradcheck(mg.func.vmap(lambda row: Cumulative.apply(row, -1) ** 2), x.requires_grad_())
    cube = function(
        lambda ctx, x: x**3,
        vmap=lambda info, dims, x: (mg.func.grad(lambda y: (y**4).sum() / 4)(x), dims[0]),
    )
    np.testing.assert_allclose(
        mg.func.vmap(cube.apply, randomness="same")(x.detach()).numpy(), x.detach().numpy() ** 3
    )
    bad = function(lambda ctx, x: x, vmap=lambda info, dims, x: x, name="Bad")
    with pytest.raises(
        mg.errors.BatchingError, match=r"Bad\.vmap must return \(output, out_dims\)"
    ):
        mg.func.vmap(bad.apply)(x.detach())


@pytest.mark.parametrize(
    ("output", "dims"),
    [("one", (0,)), ("one", "first"), ("two", (0, 0, 0)), ("two", (0, (1,))), ("two", [0, 0])],
)
def test_out_dims_that_do_not_fit_the_outputs(output: str, dims) -> None:
    class Misfit(Function):
        @staticmethod
        def forward(x):
            return x * 1 if output == "one" else (x * 1, x * 2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return (x * 1 if output == "one" else (x * 1, x * 2)), dims

    with pytest.raises(
        mg.errors.BatchingError,
        match=r"Misfit\.vmap returned out_dims=.* for (one output|2 outputs)",
    ):
        mg.func.vmap(Misfit.apply)(mg.ones(3, 2))


# ------------------------------------------------------------------------------ memory and watching


def test_memory_returns_without_the_cycle_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        for run_backward in (False, True):
            x = leaf(1.0, 2.0)
            y = Exp.apply(x * 1)
            a, b = Powers.apply(y)
            dirty = Twice.apply(b * 1)
            view = function(lambda ctx, x: x, lambda ctx, g: g).apply(a)
            places = [weakref.ref(t.grad_fn) for t in (y, a, b, dirty, view)] + [
                weakref.ref(y.grad_fn.ctx)
            ]
            tensors = [weakref.ref(t) for t in (y, a, b, dirty, view)]
            if run_backward:
                (g,) = grad((dirty + view).sum(), x, create_graph=True)
                g.sum().backward()
                del g
                x.grad = None
            del y, a, b, dirty, view
            assert [p() for p in places + tensors] == [None] * 11
        with forward_ad.dual_level():
            out = Square.apply(leaf(1.0)) + Mul.apply(
                forward_ad.make_dual(leaf(1.0), mg.ones(1, dtype=mg.float64)),
                mg.ones(1, dtype=mg.float64),
            )
            place = weakref.ref(out.grad_fn)
            del out
            assert place() is None
    finally:
        gc.enable()


def test_a_chain_of_functions_is_no_recursion() -> None:
    x = leaf(1.0)
    y = x
    f = function(lambda ctx, x: x * 1, lambda ctx, g: g)
    for _ in range(20_000):
        y = f.apply(y)
    assert grad(y.sum(), x)[0].tolist() == [1.0]
    del y


class Log:
    def __init__(self) -> None:
        self.events: list = []

    def begin(self, event) -> None:
        if event.primitive is not None:  # a gradient that is stored is no operation
            around = event.parent and event.parent.primitive
            self.events.append((event.phase, event.primitive.name, around and around.name))

    def end(self, event) -> None:
        pass


def test_observers_see_one_operation() -> None:
    x = leaf(1.0)
    with observing(Log()) as log:
        y = Exp.apply(x)
        y.sum().backward()
    assert ("forward", "Exp", None) in log.events
    assert ("forward", "exp", "Exp") in log.events
    assert ("backward", "Exp", None) in log.events
    assert sum(e[:2] == ("forward", "Exp") for e in log.events) == 1
    with observing(Log()) as log, forward_ad.dual_level():
        Exp.apply(forward_ad.make_dual(x, mg.ones_like(x)))
    assert ("tangent", "Exp", "Exp") in log.events
