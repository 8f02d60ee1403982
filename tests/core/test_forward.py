"""Forward mode: real dual numbers on nested levels that never confuse one derivative's
infinitesimal with another's.
"""

import itertools
import math
import threading
from contextlib import nullcontext

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import forward_ad as fwad
from minigrad.core.graph import state
from minigrad.core.primitive import general, registry
from minigrad.errors import AutogradError
from minigrad.func import grad, jvp
from tests.helpers.known_answers import Scenarios

s = Scenarios()


def fwad_of(m):
    return m.autograd.forward_ad


def jvp_of(m):
    return m.func.jvp


@s.gives([8.0, 12.0])
def a_dual_number_carries_its_derivative(m):
    f = fwad_of(m)
    with f.dual_level():
        x = f.make_dual(m.tensor(2.0), m.tensor(1.0))
        primal, tangent = f.unpack_dual(x * x * x)
    return primal, tangent


@s.gives([None, None])
def no_tangent_is_none(m):
    f = fwad_of(m)
    with f.dual_level():
        x = f.make_dual(m.tensor(2.0), m.tensor(1.0))
        unrelated = f.unpack_dual(m.tensor(3.0) * 2).tangent
        cut = f.unpack_dual(x.detach() * 2).tangent
    return unrelated, cut


@s.gives([[0.0, 0.0], 0.0])
def tangents_of_constant_functions_are_zero_in_func(m):
    g = jvp_of(m)(lambda x: m.ones(2), (m.tensor(1.0),), (m.tensor(1.0),))[1]
    h = jvp_of(m)(lambda x: x.floor(), (m.tensor(1.5),), (m.tensor(1.0),))[1]
    return g, h


@s.gives([[6.0, 2.0], [3.0, 3.0], [9.0, 5.0]])
def tangents_of_broadcast_operands(m):
    a, b = m.tensor([[1.0], [2.0]]), m.tensor([3.0, 1.0])
    push = lambda ta, tb: jvp_of(m)(lambda a, b: (a * b).sum(0), (a, b), (ta, tb))[1]
    return (
        push(m.ones(2, 1), m.zeros(2)),
        push(m.zeros(2, 1), m.ones(2)),
        push(m.ones(2, 1), m.ones(2)),
    )


@s.gives([1.0, 0.0])
def the_classic_confusion(m):
    """d/dx (x · d/dy (x + y)) is 1, not 2: the inner derivative must not see the outer
    infinitesimal.
    """
    d = lambda f, x: jvp_of(m)(f, (x,), (m.ones_like(x),))[1]
    one = m.tensor(1.0)
    first = d(lambda x: x * d(lambda y: x + y, one), one)
    second = d(lambda x: d(lambda y: x * m.ones_like(y), one), one)
    return first, second


@s.gives([8.0, 8.0, 8.0, 8.0])
def confusion_between_modes(m):
    """d/dx (x · d/dy (x y²)) at y = 2: d/dx (4x²) = 8x, in all four pairings of the modes."""
    d = lambda f, x: jvp_of(m)(f, (x,), (m.ones_like(x),))[1]
    g = lambda f, x: m.func.grad(f)(x)
    one, two = m.tensor(1.0), m.tensor(2.0)
    return [
        outer(lambda x, inner=inner: x * inner(lambda y: x * y * y, two), one)
        for outer in (d, g)
        for inner in (d, g)
    ]


@s.gives([6.0, 4.0])
def a_closure_over_a_dual_of_the_outer_level(m):
    """Both levels differentiate by the same variable, which enters once as the argument and once
    through the closure.
    """
    d = lambda f, x: jvp_of(m)(f, (x,), (m.ones_like(x),))[1]
    one = m.tensor(1.0)
    by_argument = d(lambda x: d(lambda y: y * y * y, x), one)  # 3x², so 6x
    by_closure = d(lambda x: d(lambda y: x * y * y, x), one)  # 2x·x, so 4x
    return by_argument, by_closure


@s.gives([-0.0872758, -0.0872758, -0.0872758, -0.0872758])
def forward_over_reverse_over_forward(m):
    """The third derivative of sin at 1.4833 by four nestings of the modes."""
    d = lambda f: lambda x: jvp_of(m)(f, (x,), (m.ones_like(x),))[1]
    g = lambda f: m.func.grad(f)
    x = m.tensor(1.4834088, dtype=m.float64)
    return [
        outer(middle(inner(m.sin)))(x)
        for outer, middle, inner in ((d, g, d), (g, d, g), (d, d, d), (g, g, g))
    ]


@s.gives([[2.0, 3.0], [4.0, 6.0]])
def reverse_through_a_dual(m):
    """Forward over reverse by hand: the gradient of a dual loss is dual."""
    f = fwad_of(m)
    x = m.tensor([1.0, 1.5], requires_grad=True)
    with f.dual_level():
        dual = f.make_dual(x, m.tensor([2.0, 3.0]))
        (g,) = m.autograd.grad((dual * dual).sum(), x, create_graph=True)
        primal, tangent = f.unpack_dual(g)
    return primal.detach(), tangent.detach()


@s.refuses(RuntimeError, "dual_level")
def a_dual_needs_a_level(m):
    fwad_of(m).make_dual(m.ones(2), m.ones(2))


@s.refuses(ValueError, "(2,)", "(3,)", "make_dual")
def a_tangent_of_another_shape(m):
    with fwad_of(m).dual_level():
        fwad_of(m).make_dual(m.ones(2), m.ones(3))


@s.refuses(ValueError, "int64", "floating")
def a_dual_integer(m):
    with fwad_of(m).dual_level():
        fwad_of(m).make_dual(m.tensor([1]), m.tensor([1]))


@s.refuses(ValueError, "tangent", "int64", "floating")
def an_integer_tangent(m):
    with fwad_of(m).dual_level():
        fwad_of(m).make_dual(m.ones(1), m.tensor([1]))


@s.refuses(AutogradError, "tangent", "level")
def a_tangent_with_a_tangent_of_the_same_level(m):
    f = fwad_of(m)
    with f.dual_level():
        f.make_dual(m.ones(2), f.make_dual(m.ones(2), m.ones(2)))


@s.gives([None, [1.0, 2.0], [3.0, 4.0]])
def a_dual_outside_of_its_level(m):
    f = fwad_of(m)
    with f.dual_level():
        x = f.make_dual(m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0]))
        y = f.unpack_dual(x).tangent
    return f.unpack_dual(x).tangent, f.unpack_dual(x).primal, y


@s.gives(["tensor([1.], tangent=tensor([2.]))", "tensor([1.])", "tensor([1.])"])
def a_dual_shows_its_tangent(m):
    f = fwad_of(m)
    with f.dual_level():
        x = f.make_dual(m.tensor([1.0]), m.tensor([2.0]))
        inside, alone = repr(x), repr(f.unpack_dual(x).primal)
    return inside, alone, repr(x)


@s.gives([[3.0, 5.0], [3.0, 5.0]])
def numpy_drops_the_tangent_without_a_word(m):
    """As PyTorch: an array cannot carry one, and forward mode does not need to see what it is
    used for.
    """
    f = fwad_of(m)
    with f.dual_level():
        x = f.make_dual(m.tensor([3.0, 5.0]), m.ones(2))
        return x.numpy().tolist(), x.tolist()


@s.gives([[0.0, 4.0, 4.0], [4.0, 4.0]])
def in_place_operations_move_tangents(m):
    """y = x·1; y[0] is overwritten, the rest multiplied in place: x₁ ↦ (0, 2x₁), seen through
    base and view alike.
    """

    def f(x):
        y = x * 1
        v = y[1:]
        y[0] = 5.0
        y.mul_(2)
        return y, v

    return jvp_of(m)(f, (m.tensor([1.0, 2.0, 3.0]),), (m.tensor([7.0, 2.0, 2.0]),))[1]


@s.gives([3.0, 15.0, 15.0, 5.0])
def tangents_of_a_view_that_was_made_and_written_under_no_grad(m):
    """The view's node may be out of date under no_grad, its tangents may not: x, w both require a
    derivative, x a forward one. The view is zeroed, scaled, its base is scaled, or nothing.
    """

    def pushed(write):
        def f(x):
            a = x * m.ones(3, requires_grad=True)
            with m.no_grad():
                v = a[0]
                write(a, v)
                return v * 5 + (3 * x[1] if write is zero else 0)

        return jvp_of(m)(f, (m.ones(3),), (m.ones(3),))[1]

    zero = lambda a, v: v.zero_()
    writes = zero, lambda a, v: v.mul_(3), lambda a, v: a.mul_(3), lambda a, v: None
    return m.stack([pushed(write) for write in writes])


test_minigrad, test_pytorch = s.tests()


# ---------------------------------------------------------------------- what PyTorch does not offer


def test_levels_of_forward_mode_nest():
    """PyTorch has one level; minigrad as many as there are `with` blocks."""
    with fwad.dual_level() as outer:
        x = fwad.make_dual(mg.tensor(2.0, dtype=mg.float64), mg.tensor(1.0, dtype=mg.float64))
        with fwad.dual_level() as inner:
            assert inner > outer
            y = fwad.make_dual(x, mg.tensor(1.0, dtype=mg.float64))
            z = y**3
            first = fwad.unpack_dual(z).tangent
        assert fwad.unpack_dual(first).tangent.item() == 12.0
        assert fwad.unpack_dual(z, level=outer).tangent.item() == 12.0
    assert (
        fwad.unpack_dual(z).tangent is None
    )  # as PyTorch: with no level open there are no tangents
    with pytest.raises(mg.AutogradError, match="level"):
        fwad.unpack_dual(z, level=outer)


def test_tangents_of_a_closed_level_are_forgotten():
    """A dual that outlives its level is a constant afterwards, also inside a new level, whose
    number is another.
    """
    with fwad.dual_level():
        x = fwad.make_dual(mg.tensor(2.0), mg.tensor(1.0))
    with fwad.dual_level():
        y = fwad.make_dual(mg.tensor(5.0), mg.tensor(1.0))
        primal, tangent = fwad.unpack_dual(x * y)
        assert (primal.item(), tangent.item()) == (10.0, 2.0)
        assert fwad.unpack_dual(x * 3).tangent is None
    z = x * 3
    assert z.tangents is None


def test_a_level_is_closed_after_an_exception():
    with pytest.raises(KeyError), fwad.dual_level():
        raise KeyError
    with pytest.raises(mg.AutogradError, match="open a level first"):
        fwad.make_dual(mg.ones(1), mg.ones(1))


def test_a_level_that_is_not_open_is_refused():
    with fwad.dual_level() as level:
        pass
    with fwad.dual_level(), pytest.raises(mg.AutogradError, match=f"level {level} is not open"):
        fwad.make_dual(mg.ones(1), mg.ones(1), level=level)


def test_levels_belong_to_a_thread():
    seen = []
    with fwad.dual_level():

        def work():
            try:
                fwad.make_dual(mg.ones(1), mg.ones(1))
            except mg.AutogradError:
                seen.append("none open here")

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == ["none open here"]


def test_a_dual_shares_memory_and_its_version():
    """Writing to the primal is noticed by what was computed from the dual."""
    x = mg.ones(3)
    with fwad.dual_level():
        dual = fwad.make_dual(x, mg.ones(3))
        assert dual.data_ptr() == x.data_ptr()
        x.add_(1)
        assert dual._version == x._version == 1
        primal = fwad.unpack_dual(dual).primal
        primal.add_(1)
        assert x.tolist() == [3, 3, 3] and x._version == 2


def test_a_primal_with_a_graph_is_a_copy_so_that_a_write_to_it_changes_no_gradient():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    with fwad.dual_level():
        dual = fwad.make_dual(x * 1, mg.ones(2))
        primal = fwad.unpack_dual(dual).primal
        primal.mul_(3)
        (dual * dual + primal).sum().backward()
    assert dual.tolist() == [1, 2] and primal.tolist() == [3, 6]
    assert x.grad.tolist() == [2 + 3, 4 + 3]


def test_the_jacobian_column_by_column_and_row_by_row():
    """J·v from forward mode and uᵀ·J from reverse mode are the same numbers: ⟨u, J v⟩ = ⟨Jᵀ u,
    v⟩.
    """
    r = np.random.default_rng(0)
    w = mg.tensor(r.standard_normal((3, 4)))
    f = lambda x: (w @ x).tanh() * (w @ x).sum()
    x, v, u = (mg.tensor(r.standard_normal(n)) for n in (4, 4, 3))
    _, pushed = jvp(f, (x,), (v,))
    _, pull = mg.func.vjp(f, x)
    assert math.isclose((u * pushed).sum().item(), (pull(u)[0] * v).sum().item(), rel_tol=1e-13)
    step = 1e-6
    numeric = (f(x + v * step) - f(x - v * step)) / (2 * step)
    assert np.allclose(pushed.numpy(), numeric.numpy(), rtol=1e-8)


def test_forward_mode_keeps_dtypes_and_shapes():
    x = mg.tensor(np.ones((2, 3), np.float32))
    value, tangent = jvp(lambda x: (x.sin() * 2.0).sum(1) / 3, (x,), (x,))
    assert value.dtype == tangent.dtype == mg.float32 and value.shape == tangent.shape == (2,)
    value, tangent = jvp(lambda x: x.T[:, :0], (x,), (x,))
    assert tangent.shape == (3, 0)


def test_ten_nested_levels_give_the_tenth_derivative():
    """The tenth derivative of e^(2x) at 0 is 2¹⁰."""
    f = lambda x: (x * 2).exp()
    for _ in range(10):
        f = (lambda inner: lambda x: jvp(inner, (x,), (mg.ones_like(x),))[1])(f)
    assert f(mg.tensor(0.0, dtype=mg.float64)).item() == 1024.0


def test_gradients_of_tangents_reach_what_the_tangents_were_made_of():
    """The tangent itself may require grad: d/dv of J·v is Jᵀ."""
    x = mg.tensor([1.0, 2.0])
    v = mg.tensor([3.0, 4.0], requires_grad=True)
    _, pushed = jvp(lambda x: (x * x).sum(), (x,), (v,))
    pushed.backward()
    assert v.grad.tolist() == [2.0, 4.0]
    w = mg.tensor(2.0, requires_grad=True)
    _, pushed = jvp(lambda x: (x**2 * w).sum(), (x,), (mg.ones(2),))
    assert mg.autograd.grad(pushed, w)[0].item() == 6.0


def test_nested_grad_in_jvp_in_grad_with_a_shared_variable():
    """One x is the variable of all three: d/dx [ d/dx( d/dx x⁴ ) · x ] = d/dx (12x² · x) =
    36x².
    """
    inner = lambda x: grad(lambda y: y**4)(x)
    middle = lambda x: jvp(inner, (x,), (mg.ones_like(x),))[1]
    outer = grad(lambda x: middle(x) * x)
    assert outer(mg.tensor(2.0, dtype=mg.float64)).item() == 144.0


def test_in_place_operations_on_a_dual_tensor_leave_the_given_tangent():
    """Other tangents may share its memory: writing into it would change those, silently."""
    with fwad.dual_level():
        tangent = mg.ones(3)
        x = fwad.make_dual(mg.full((3,), 2.0), tangent)
        y, table = x + 1, mg.ones((2, 3))
        table += x
        x.mul_(3)
        assert fwad.unpack_dual(x).tangent.tolist() == [3.0] * 3
        assert tangent.tolist() == fwad.unpack_dual(y).tangent.tolist() == [1.0] * 3
        assert fwad.unpack_dual(table).tangent.tolist() == [[1.0] * 3] * 2


def test_tangents_of_others_stay_as_they_are():
    """A result may share its tangent's memory with its input: an in-place operation on the result
    does not reach it. Nor does one on a dual tensor reach a tangent that cannot be overwritten."""
    with fwad.dual_level():
        tangent = mg.ones(2)
        x = fwad.make_dual(mg.ones(2), tangent)
        y = x + 1
        y.mul_(5)
        assert tangent.tolist() == [1.0, 1.0] and fwad.unpack_dual(y).tangent.tolist() == [5.0] * 2
        expanded, leaf = mg.ones(1).expand(2), mg.ones(2, requires_grad=True)
        for given in (expanded, leaf):
            z = fwad.make_dual(mg.ones(2), given)
            z.mul_(4)
            assert (
                given.tolist() == [1.0, 1.0] and fwad.unpack_dual(z).tangent.tolist() == [4.0] * 2
            )
        fwad.unpack_dual(z).tangent.sum().backward()
        assert leaf.grad.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("fast", [True, False])
def test_values_that_a_tangent_needs_are_guarded_against_overwriting(fast):
    def square(x):
        u = x.clone()
        y = u * u
        u.add_(10)
        return y

    w = mg.tensor([1.0], requires_grad=True)
    with nullcontext() if fast else mg.fast.disabled():
        _, tangent = mg.func.jvp(square, (mg.tensor([2.0]),), (w,))
        assert tangent.item() == 4.0
        with pytest.raises(mg.errors.InPlaceError, match="modified in place"):
            tangent.sum().backward()


# ------------------------------------------------------------------------------- what nodes keep


@pytest.mark.parametrize("fast", [True, False])
def test_a_node_keeps_tangents_of_the_values_that_it_saves_and_a_pass_frees_them(fast):
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    with nullcontext() if fast else mg.fast.disabled(), fwad.dual_level():
        dual = fwad.make_dual(x, mg.tensor([1.0, 0.0]))
        squared = dual.sin()
        total = squared.sum()
        scaled = squared * 3
        saves_input, saves_shape = squared.node, total.node
        assert [next(iter(t.values())).tolist() for t in saves_input.saved_tangents] == [[1.0, 0.0]]
        assert saves_shape.saved_tangents is None, "the rule of sum reads a shape alone"
        assert scaled.node.saved_tangents is None, "the rule of this product reads the number alone"
        total.backward()
        assert saves_input.saved_tangents is None
    assert fwad.unpack_dual(x.grad).primal.tolist() == pytest.approx(np.cos([1.0, 2.0]), abs=1e-6)


def test_tangents_of_several_results_have_the_shape_and_dtype_of_their_values():
    rule = lambda t: (1.0, t)
    both = general("new", lambda xp, x: (x, x + 1), [None], [rule], outputs=2)
    try:
        x = mg.tensor([1.0, 2.0])
        _, (first, second) = jvp(both, (x,), (mg.tensor([3.0, 4.0]),))
        assert first.tolist() == [1.0, 1.0] and second.tolist() == [3.0, 4.0]
        assert first.dtype == x.dtype
    finally:
        del registry["new"]


def _hook_times(lib, t):
    """dx of sum(2x), whose hook multiplies the cotangent by t."""
    x = lib.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * t)
    return lib.autograd.grad(y.sum(), x)[0]


def _node_hook_times(lib, t):
    x = lib.ones(3, requires_grad=True)
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (grads[0] * t,))
    return lib.autograd.grad(y.sum(), x)[0]


def _function_times(lib, t):
    class Scaled(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * t * 2  # t is no argument and not saved

    x = lib.ones(3, requires_grad=True)
    return lib.autograd.grad(Scaled.apply(x).sum(), x)[0]


@pytest.mark.parametrize("gradient", [_hook_times, _node_hook_times, _function_times])
def test_a_tangent_that_a_users_function_brings_into_a_backward_pass_is_kept(gradient):
    value, tangent = mg.func.jvp(lambda t: gradient(mg, t), (mg.tensor(3.0),), (mg.tensor(1.0),))
    assert value.tolist() == [6.0] * 3
    assert tangent.tolist() == [2.0] * 3


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("gradient", [_hook_times, _node_hook_times, _function_times])
def test_pytorch_keeps_it_too(gradient, torch):
    duals = torch.autograd.forward_ad
    with duals.dual_level():
        dual = duals.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        found = duals.unpack_dual(gradient(torch, dual))
    assert found.primal.tolist() == [6.0] * 3
    assert found.tangent.tolist() == [2.0] * 3


def test_a_write_under_no_grad_keeps_the_graph_of_the_other_elements_tangents():
    def cubed(y):
        h = y * y * y
        with mg.no_grad():
            h[0] = 0.0
        return h

    x = mg.tensor([1.0, 2.0, 3.0])
    directional = lambda x: jvp(cubed, (x,), (mg.ones(3),))[1].sum()
    assert grad(directional)(x).tolist() == [0, 12, 18]


def test_a_result_of_jvp_may_be_overwritten():
    v = mg.ones(2)
    for f in (lambda x: x + 1, lambda x: x, lambda x: (x + 1, x)):
        _, pushed = jvp(f, (mg.ones(2),), (v,))
        for tangent in pushed if isinstance(pushed, tuple) else (pushed,):
            tangent.mul_(3)
    assert v.tolist() == [1, 1]


def test_results_of_jvp_that_share_a_tangent_are_apart():
    _, (a, b) = jvp(lambda x: (x * 3 + 1, (x * 3)[:]), (mg.ones(2),), (mg.ones(2),))
    _, (c, d) = jvp(lambda x: (x + 1, x + 2), (mg.ones(2),), (mg.ones(2),))
    a.mul_(10), c.mul_(10)
    assert (b.tolist(), d.tolist()) == ([3, 3], [1, 1])


@pytest.mark.parametrize("fast", [True, False])
def test_a_write_to_an_unpacked_tangent_changes_no_other(fast):
    with nullcontext() if fast else mg.fast.disabled(), fwad.dual_level():
        t = mg.tensor([1.0, 2.0])
        x = fwad.make_dual(mg.ones(2), t)
        for y in (x + 1, x - 3, x.reshape(2, 1), x[:], x.to(x.dtype)):
            fwad.unpack_dual(y).tangent.mul_(10)
        assert t.tolist() == [1, 2] and fwad.unpack_dual(x * x).tangent.tolist() == [2, 4]


def test_mixed_derivatives_are_unpacked_in_any_order():
    with fwad.dual_level() as a, fwad.dual_level() as b, fwad.dual_level() as c:
        x = mg.tensor(2.0)
        for level in (a, b, c):
            x = fwad.make_dual(x, mg.tensor(1.0), level=level)
        for order in itertools.permutations((a, b, c)):
            y = x**4
            for level, derivative in zip(order, (32.0, 48.0, 48.0), strict=True):
                y = fwad.unpack_dual(y, level=level).tangent
                assert y.item() == derivative, order
        rest = fwad.unpack_dual(x**4, level=a).primal
        assert fwad.unpack_dual(fwad.unpack_dual(rest, level=b).tangent, level=a).tangent is None


def test_a_tangent_with_one_of_an_inner_level_is_refused():
    with fwad.dual_level() as outer, fwad.dual_level() as inner:
        s = fwad.make_dual(mg.tensor(2.0), mg.tensor(1.0))
        with pytest.raises(
            AutogradError, match=f"level {outer}, carries a tangent at level {inner}"
        ):
            fwad.make_dual(s, s * 3, level=outer)


def test_a_level_that_ends_after_an_outer_one_opens_none():
    def generate():
        with fwad.dual_level():
            yield

    with fwad.dual_level():
        generator = generate()
        next(generator)
    generator.close()
    assert state.levels == ()
    with pytest.raises(AutogradError, match="open a level first"):
        fwad.make_dual(mg.ones(1), mg.ones(1))
