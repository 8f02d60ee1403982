"""Values that nodes keep: hooks that pack and unpack them, looking at them, and overwriting them
on purpose.
"""

import contextlib
import gc
import threading
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import AutogradError, GraphFreedError, InPlaceError, ShapeError
from tests.helpers.known_answers import Scenarios

s = Scenarios()
same = (lambda x: x, lambda x: x)


def hooks(m, pack, unpack):
    return m.autograd.graph.saved_tensors_hooks(pack, unpack)


@s.gives([[2.0, 4.0], [4.0, 8.0], [2.0, 4.0]])
def what_unpack_returns_is_what_the_rule_computes_with(m):
    def gradient(pack, unpack):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        with hooks(m, pack, unpack):
            y = x * x
        y.sum().backward()
        return x.grad

    return (
        gradient(lambda x: 2 * x, lambda x: x / 2),
        gradient(lambda x: 2 * x, lambda x: x),
        gradient(*same),
    )


@s.gives([[1, 0], [1, 1], [1, 2]])
def each_value_is_packed_once_and_unpacked_in_each_pass(m):
    counts = [0, 0]
    seen = []

    def pack(x):
        counts[0] += 1
        return x

    def unpack(x):
        counts[1] += 1
        return x

    x, c = m.ones(2, requires_grad=True), m.ones(2)
    with hooks(m, pack, unpack):
        y = (x * c * 3).sum()  # c is kept; the number 3 is no tensor
        seen.append(list(counts))
        y.backward(retain_graph=True)
        seen.append(list(counts))
    y.backward()
    return *seen, counts


@s.gives([2, True, False, [2.718282, 2.718282]])
def what_pack_is_given(m):
    """The operation's argument itself, with its history; of its result, the values."""
    seen = []
    c = m.ones(2)
    with hooks(m, lambda t: seen.append(t) or t, lambda t: t):
        m.ones(2, requires_grad=True).exp()
        m.ones(2, requires_grad=True) * c
        assert not m.is_grad_enabled() or len(seen) == 2
    return len(seen), seen[1] is c, seen[1] is seen[0], seen[0]


@s.gives([[False, False], [False], True])
def hooks_run_unrecorded(m):
    seen, also = [], []
    x = m.ones(2, requires_grad=True)
    with hooks(
        m,
        lambda t: seen.append(m.is_grad_enabled()) or t,
        lambda t: also.append((t * 2).requires_grad) or t,
    ):
        y = (x * x).sum()
    m.autograd.grad(y, x, create_graph=True)
    return seen, also[:1] if m is mg else [False], m.is_grad_enabled()


@s.gives([[50.0, 100.0], [18.0, 36.0]])
def the_innermost_hooks_count(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = m.tensor([1.0, 2.0], requires_grad=True)
    with hooks(m, lambda t: 3 * t, lambda t: 3 * t):
        with hooks(m, lambda t: 5 * t, lambda t: 5 * t):
            a = x * x
        b = y * y
    (a + b).sum().backward()
    return x.grad, y.grad


@s.gives([[12.0], [24.0], [48.0], [96.0]])
def a_pass_that_is_recorded_keeps_values_through_hooks_too(m):
    def second(outer, inner):
        x = m.tensor([2.0], requires_grad=True)
        with hooks(m, lambda t: outer * t, lambda t: t):
            y = (x**3).sum()
        with hooks(m, lambda t: inner * t, lambda t: t):
            (g,) = m.autograd.grad(y, x, create_graph=True)
            g.sum().backward()
        return x.grad

    return second(1, 1), second(2, 1), second(1, 2), second(2, 2)


@s.gives([[8.0, 16.0]])
def values_that_a_function_saves(m):
    class Square(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, none = ctx.saved_tensors
            assert none is None
            return 2 * g * x

    x = m.tensor([1.0, 2.0], requires_grad=True)
    with hooks(m, lambda t: t * 4, lambda t: t):
        y = Square.apply(x)
    y.sum().backward()
    return (x.grad,)


@s.gives([[1.0, 5.0], [1.0, 5.0]])
def results_of_several_results_are_packed_one_by_one(m):
    def gradient(*pair):
        x = m.tensor([[2.0, 0.0], [0.0, 5.0]], requires_grad=True)
        with hooks(m, *pair):
            _, r = m.linalg.qr(x)
        (r.abs() * m.tensor([[1.0, 0.0], [0.0, 5.0]])).sum().backward()
        return x.grad.diagonal()

    return gradient(*same), gradient(lambda t: t * 2, lambda t: t / 2)


@s.refuses(InPlaceError, "pack", "in place", "clone")
def pack_writes_into_its_argument(m):
    def pack(x):
        x *= 2
        return x

    with hooks(m, pack, lambda x: x):
        m.ones(2, requires_grad=True).exp()


@s.refuses(TypeError, "unpack", "int", "Tensor")
def unpack_returns_no_tensor(m):
    with hooks(m, lambda x: x, lambda x: 1):
        y = m.ones(2, requires_grad=True).exp()
    y.sum().backward()


@s.refuses(ShapeError, "unpack", "(3,)", "(2,)", mine_only=True)
def unpack_returns_another_shape(m):
    """PyTorch computes with what it gets."""
    with hooks(m, lambda x: x, lambda x: m.ones(3)):
        y = m.ones(2, requires_grad=True).exp()
    y.sum().backward()


@s.refuses(InPlaceError, "pack hook kept", "version 0", mine_only=True)
def a_packed_tensor_is_the_tensor_itself_and_is_modified(m):
    """PyTorch gives the gradient at the new values, which is wrong."""
    x = m.ones(2, requires_grad=True).clone()
    with hooks(m, *same):
        y = x * x
    x.mul_(2)
    y.sum().backward()


@s.gives([[2.0, 2.0]])
def a_packed_copy_may_outlive_a_change(m):
    leaf = m.ones(2, requires_grad=True)
    x = leaf.clone()
    with hooks(m, lambda t: t.clone(), lambda t: t):
        y = x * x
    x.mul_(2)
    y.sum().backward()
    return (leaf.grad,)


@s.gives([[12.0], [16.0], [8.0]], mine_only=True)
def an_in_place_operation_that_needs_what_it_overwrites(m):
    """PyTorch lets the hook keep the tensor itself, and computes with what it holds afterwards."""

    def gradient(change):
        x = m.tensor([2.0], requires_grad=True)
        y = x.clone()
        with hooks(m, *same):
            change(y)
        y.sum().backward()
        return x.grad

    return (
        gradient(lambda y: y.pow_(3)),
        gradient(lambda y: y.mul_(y).mul_(4)),
        gradient(lambda y: y.mul_(y).mul_(m.tensor([2.0]))),
    )


@s.refuses(RuntimeError, "not here")
def hooks_where_they_are_not_allowed(m):
    with (
        m.autograd.graph.disable_saved_tensors_hooks("never"),
        m.autograd.graph.disable_saved_tensors_hooks("not here"),
        hooks(m, *same),
    ):
        pass


@s.refuses(RuntimeError, "not here")
def forbidding_hooks_that_are_in_force(m):
    with hooks(m, *same), m.autograd.graph.disable_saved_tensors_hooks("not here"):
        pass


@s.gives([[4.0, 4.0]])
def hooks_are_allowed_again_after_the_block(m):
    try:
        with m.autograd.graph.disable_saved_tensors_hooks("never"):
            raise KeyError
    except KeyError:
        pass
    x = m.ones(2, requires_grad=True)
    with hooks(m, lambda t: 2 * t, lambda t: t):
        y = x * x
    y.sum().backward()
    return (x.grad,)


@s.gives([[2.0, 4.0], [2.0, 4.0]])
def save_on_cpu_changes_no_gradient(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    with m.autograd.graph.save_on_cpu():
        y = x * x
    kept = y.grad_fn._saved_self
    y.sum().backward()
    return x.grad, kept * 2


# ---------------------------------------------------------------------------------- looking at them


@s.gives([True, True, None, [1.0, 2.0], [2.718282, 7.389056], False, [2.0, 3.0]])
def saved_values_have_names(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    c = m.tensor([2.0, 3.0])
    y, z = x * x, x * c
    e = x.exp()
    return (
        y.grad_fn._saved_self is x,
        y.grad_fn._saved_other is x,
        z.grad_fn._saved_self,  # no rule needs it: c wants no gradient
        (x**2).grad_fn._saved_self,
        e.grad_fn._saved_result,
        e.grad_fn._saved_result is e,
        z.grad_fn._saved_other,
    )


@s.gives([2.0, 0, [2, 3], True])
def parameters_and_shapes_have_names(m):
    x = m.ones(2, 3, requires_grad=True)
    y = x**2
    assert y.grad_fn._saved_self.requires_grad
    return (
        float(y.grad_fn._saved_exponent),
        m.stack([x, x], dim=0).grad_fn._saved_dim,
        list(x.mean().grad_fn._saved_self_sym_sizes),
        True,
    )


@s.gives([[6.0, 12.0], True])
def a_saved_result_is_part_of_the_graph(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    z = y * y
    e = y.exp()
    (z.grad_fn._saved_self * x).sum().backward()
    return x.grad, e.grad_fn._saved_result.grad_fn is e.grad_fn


@s.gives([True, True])
def a_saved_value_shares_the_version(m):
    x = m.ones(2, requires_grad=True)
    y = x.exp()
    kept = y.grad_fn._saved_result
    with m.no_grad():
        y += 1
    return y._version == kept._version, y.tolist() == kept.tolist()


@s.refuses(GraphFreedError, "retain_graph")
def a_saved_value_that_is_gone(m):
    x = m.ones(2, requires_grad=True)
    y = x * x
    y.sum().backward()
    return y.grad_fn._saved_self


@s.refuses(AttributeError, "MulBackward0", "_saved_condition", "_saved_a", mine_only=True)
def a_saved_value_of_another_operation(m):
    """PyTorch does not say what there is."""
    x = m.ones(2, requires_grad=True)
    return (x * x).grad_fn._saved_condition


@s.refuses(AttributeError, "_saved_nothing", mine_only=True)
def a_saved_value_that_never_was(m):
    return (m.ones(2, requires_grad=True) * 2).grad_fn._saved_nothing


@s.gives([[1.0, 2.0], [3.0, 6.0], [6.0, 12.0]])
def hooks_on_one_saved_value(m):
    def made(pack, unpack):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        y = x * x
        y.grad_fn._raw_saved_self.register_hooks(pack, unpack)
        return x, y

    x, y = made(lambda t: 2 * t, lambda t: t / 2)
    value = y.grad_fn._saved_self
    x, y = made(lambda t: 2 * t, lambda t: t)
    y.sum().backward()
    x2 = m.tensor([1.0, 2.0], requires_grad=True)
    cube = x2**3
    cube.grad_fn._raw_saved_self.register_hooks(*same)
    (g,) = m.autograd.grad(cube.sum(), x2, create_graph=True)
    g.sum().backward()
    return value, x.grad, x2.grad


@s.gives([True, True, None, [1.0, 4.0]])
def a_saved_value_shows_what_is_kept(m):
    pack, unpack = same
    x = m.tensor([1.0, 2.0], requires_grad=True)
    with hooks(m, pack, unpack):
        y = x**2
    raw = y.grad_fn._raw_saved_self
    e = y.exp()
    plain = e.grad_fn._raw_saved_result
    return (
        raw.data is x,
        raw.unpack_hook is unpack,
        plain.unpack_hook,
        (y**2).grad_fn._raw_saved_self.data,
    )


for name, error, words, use in (
    (
        "twice",
        AutogradError,
        ("MulBackward0", "already been set"),
        lambda raw: [raw.register_hooks(*same) for _ in range(2)],
    ),
    (
        "that_are_no_functions",
        TypeError,
        ("two functions", "int"),
        lambda raw: raw.register_hooks(1, 2),
    ),
    (
        "with_too_many_parameters",
        TypeError,
        ("missing 1",),
        lambda raw: raw.register_hooks(lambda a, b: a, lambda a: a),
    ),
):

    def program(m, use=use):
        x = m.ones(2, requires_grad=True)
        use((x * x).grad_fn._raw_saved_self)

    program.__name__ = f"hooks_on_a_saved_value_{name}"
    s.refuses(error, *words)(program)


@s.refuses(InPlaceError, "mul", "version 0")
def a_saved_value_without_hooks_beside_one_with(m):
    x, y = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True).clone()
    z = x * y
    z.grad_fn._raw_saved_self.register_hooks(lambda t: t.clone(), lambda t: t)
    y.mul_(2)
    z.sum().backward()


@s.gives([[1.0, 2.0]])
def a_packed_copy_of_what_a_function_saved(m):
    class Saves(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    leaf = m.tensor([1.0, 2.0], requires_grad=True)
    x = leaf.clone()
    with hooks(m, lambda t: t.clone(), lambda t: t):
        y = Saves.apply(x)
    x.mul_(5)
    y.sum().backward()
    return (leaf.grad,)


@s.refuses(GraphFreedError, "freed")
def hooks_on_a_saved_value_that_is_gone(m):
    x = m.ones(2, requires_grad=True)
    y = x * x
    raw = y.grad_fn._raw_saved_self
    y.sum().backward()
    raw.register_hooks(*same)


def saving(m):
    class Saves(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = m.tensor([1.0, 2.0], requires_grad=True)
    return x, Saves.apply(x)


@s.gives([2, [2.0, 4.0], [2.0, 4.0]])
def hooks_on_what_a_function_saved(m):
    x, y = saving(m)
    raw = y.grad_fn._raw_saved_tensors
    raw[0].register_hooks(lambda t: 2 * t, lambda t: t)
    seen = y.grad_fn.saved_tensors[0]
    y.sum().backward()
    return len(raw), seen, x.grad


@s.refuses(AutogradError, "None is forbidden")
def hooks_on_none(m):
    _, y = saving(m)
    y.grad_fn._raw_saved_tensors[1].register_hooks(*same)


@s.refuses(GraphFreedError, "freed")
def what_a_function_saved_is_gone(m):
    _, y = saving(m)
    y.sum().backward()
    return y.grad_fn._raw_saved_tensors


# --------------------------------------------------------------------------- overwritten on purpose


@s.gives([[2.0, 4.0], [2.0, 4.0], [-2.478350, 3.312929], 0])
def what_is_kept_may_be_overwritten(m):
    def gradient(f):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        f(x).sum().backward()
        return x.grad

    def of_an_input(x):
        y = x.clone()
        z = y**2
        y.sin_()
        return z

    def through_a_view(x):
        y = x.clone()
        z = y * y
        y[:1].zero_()
        y.view(2)[1:] = 7.0
        return z

    def of_a_result(x):
        y = x.exp()
        z = y.sin()
        y.mul_(0)
        return z

    with m.autograd.graph.allow_mutation_on_saved_tensors() as state:
        a, b, c = gradient(of_an_input), gradient(through_a_view), gradient(of_a_result)
        return a, b, c, len(list(state.cloned.items()))


test_minigrad, test_pytorch = s.tests()


def test_what_a_hook_computes_is_not_packed_in_turn():
    x, seen = mg.ones(2, requires_grad=True), []

    def pack(t):
        seen.append(t)
        with mg.enable_grad():
            return t.exp() * t

    with hooks(mg, pack, lambda t: t):
        x.sin()
    assert len(seen) == 1


@pytest.mark.parametrize("result", [0, 1])
def test_results_of_an_operation_with_several_are_watched_when_a_hook_keeps_them(result):
    """An LSTM's rule needs all states: written into, they are refused if a hook kept them, and
    right if it kept copies.
    """
    from minigrad.ops import recurrent

    rng = np.random.default_rng(0)
    inputs = [
        mg.tensor(rng.normal(size=shape), requires_grad=True)
        for shape in ((3, 2, 8), (2, 2), (2, 2), (8, 2))
    ]

    def gradients(pair, factor):
        with hooks(mg, *pair) if pair else contextlib.nullcontext():
            results = recurrent.lstm(*inputs)
            if factor != 1:
                results[result].mul_(factor)
        return mg.autograd.grad(results[0].sum() + results[1].sum(), inputs[3])[0]

    for pair in (None, same, (lambda t: t.detach(), lambda t: t)):
        with pytest.raises(InPlaceError, match=r"shape \(3, 2, 2\)"):
            gradients(pair, 2.0)
    copying = (lambda t: t.clone(), lambda t: t)
    once, twice = gradients(None, 1), gradients(copying, 2.0)
    other = gradients(copying, 3.0)
    np.testing.assert_allclose((other - once).numpy(), 2 * (twice - once).numpy(), rtol=1e-10)

    def written_into(t):
        return t.mul_(2.0)

    with pytest.raises(InPlaceError, match="pack hook"):
        gradients((written_into, lambda t: t), 1)


def test_values_are_packed_into_another_form():
    """Half the memory: a float64 model that keeps float32."""
    x = mg.tensor(np.linspace(0.1, 1, 5), requires_grad=True)
    kept = []
    with hooks(mg, lambda t: kept.append(t.float()) or kept[-1], lambda t: t.double()):
        y = (x.exp() * x.sin()).sum()
    y.backward()
    assert x.grad.dtype == np.float64
    assert {t.dtype for t in kept} == {np.dtype("float32")}
    exact = np.exp(x.tolist()) * (np.sin(x.tolist()) + np.cos(x.tolist()))
    np.testing.assert_allclose(x.grad.numpy(), exact, rtol=1e-6)


def test_packed_values_go_with_the_graph_by_reference_count():
    class Held:
        pass

    gc.disable()
    try:
        for release in (lambda y: y.backward(), lambda y: None):
            x, held = mg.ones(2, requires_grad=True), []

            def pack(t, held=held):
                thing = Held()
                held.append(weakref.ref(thing))
                return thing, t

            with hooks(mg, pack, lambda p: p[1]):
                y = (x.exp() * x).sum()
            assert sum(ref() is not None for ref in held) == len(held) > 1
            release(y)
            del y
            assert [ref for ref in held if ref() is not None] == []
    finally:
        gc.enable()


def test_nothing_stays_behind_after_the_block():
    from minigrad.core import observe

    x = mg.ones(2, requires_grad=True)
    with hooks(mg, *same), hooks(mg, *same):
        pass
    with (
        pytest.raises(KeyError),
        mg.autograd.graph.allow_mutation_on_saved_tensors(),
        hooks(mg, *same),
    ):
        raise KeyError
    assert observe.observers == []
    assert type((x * x).grad_fn).__name__ == "OpNode"


def test_hooks_belong_to_a_thread():
    x = mg.ones(2, requires_grad=True)
    made, packed = [], []

    def elsewhere():
        made.append(x * x)  # the outer hooks are not this thread's
        with hooks(mg, lambda t: packed.append(t) or t, lambda t: t):
            made.append(x * x)

    with hooks(mg, lambda t: 1 / 0, lambda t: t):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert len(made) == len(packed) == 2
    made[0].sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_threads_may_walk_one_graph_with_packed_values():
    x = mg.tensor(np.linspace(0, 1, 100), requires_grad=True)
    together = threading.Barrier(4, timeout=60)

    def unpack(t):
        together.wait()
        return t

    with hooks(mg, lambda t: t, unpack):
        y = (x * x).sum()
    threads = [threading.Thread(target=lambda: y.backward(retain_graph=True)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(x.grad.tolist(), 8 * np.linspace(0, 1, 100), rtol=1e-12)


def test_an_error_in_a_hook_comes_through():
    class OwnError(Exception):
        pass

    def fail(_):
        raise OwnError

    x = mg.ones(2, requires_grad=True)
    with hooks(mg, fail, lambda t: t), pytest.raises(OwnError):
        x.exp()
    with hooks(mg, lambda t: t, fail):
        y = x.exp()
    with pytest.raises(OwnError):
        y.sum().backward()


def test_hooks_and_checkpoints():
    from minigrad.autograd.checkpoint import checkpoint

    def expected(x):
        x.grad = None
        x.pow(16).sum().backward()
        return x.grad.tolist()

    x = mg.tensor([1.5, 0.5], dtype=mg.float64, requires_grad=True)
    for pair in (same, (lambda t: t * 2, lambda t: t / 2)):
        x.grad = None
        with hooks(mg, *pair):
            y = checkpoint(lambda h: h.pow(2).pow(2), x.pow(2)).pow(2)
        y.sum().backward()
        got, x.grad = x.grad, None
        np.testing.assert_allclose(got.tolist(), expected(x), rtol=1e-12)

        def inside(x, pair=pair):
            h = x.pow(2)
            with hooks(mg, *pair):
                h = h.pow(2).pow(2)
            return h.pow(2)

        x.grad = None
        checkpoint(inside, x).sum().backward()
        got, x.grad = x.grad, None
        np.testing.assert_allclose(got.tolist(), expected(x), rtol=1e-12)


def test_forward_mode_passes_through_packed_values():
    from minigrad.autograd import forward_ad

    x = mg.tensor([2.0], dtype=mg.float64, requires_grad=True)
    with forward_ad.dual_level(), hooks(mg, lambda t: t.detach() * 2, lambda t: t / 2):
        y = forward_ad.make_dual(x, mg.ones(1, dtype=mg.float64)) ** 3
        (g,) = mg.autograd.grad(y.sum(), x)
        assert forward_ad.unpack_dual(g).tangent.tolist() == [12.0]


def test_a_trace_of_packed_values():
    from minigrad.watch import trace_function

    plain = trace_function(lambda x: x.exp() * x, 2.0)

    def packed(x):
        with hooks(mg, *same):
            return x.exp() * x

    steps = trace_function(packed, 2.0)["steps"]
    adjoint = lambda steps: [w for step in steps for w in step["writes"] if w[:2] == ["x", "g"]][-1]
    assert adjoint(steps) == adjoint(plain["steps"])


def test_mutation_is_allowed_in_the_block_alone():
    leaf = mg.tensor([1.0, 2.0], requires_grad=True)
    graph = mg.autograd.graph
    with graph.allow_mutation_on_saved_tensors() as state:
        x = leaf.clone()
        first, second = x * x, x * x * x
        x.zero_()
        assert len(state.cloned) == 1  # one copy for all nodes that keep the array
        third = x * x
    x.add_(1)
    (first + second).sum().backward()  # what was copied stays right, also outside
    assert leaf.grad.tolist() == [2 + 3, 4 + 12]
    with pytest.raises(InPlaceError):
        third.sum().backward()


def test_values_that_changed_unseen_are_not_taken_for_the_old_ones():
    leaf = mg.tensor([1.0, 2.0], requires_grad=True)
    with mg.autograd.graph.allow_mutation_on_saved_tensors():
        x = leaf.clone()
        y = x * x
        mg.autograd.graph.increment_version(x)  # a write that the library did not see
        x.zero_()
    with pytest.raises(InPlaceError):
        y.sum().backward()


def test_mutation_of_what_a_function_saved():
    class Square(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    leaf = mg.tensor([1.0, 2.0], requires_grad=True)
    with mg.autograd.graph.allow_mutation_on_saved_tensors():
        x = leaf.clone()
        y = Square.apply(x)
        x.zero_()
        y.sum().backward()
    assert leaf.grad.tolist() == [2, 4]


def test_blocks_that_allow_mutation_do_not_nest():
    graph = mg.autograd.graph
    with (
        graph.allow_mutation_on_saved_tensors(),
        pytest.raises(RuntimeError, match="one is enough"),
        graph.allow_mutation_on_saved_tensors(),
    ):
        pass
    with graph.allow_mutation_on_saved_tensors():
        pass


def test_what_was_computed_before_detach_keeps_its_gradient():
    """y = e^w · w with e^w detached in place afterwards: dy/dw = e^w (1 + w). PyTorch refuses."""
    w = mg.tensor([0.0, 1.0], requires_grad=True)
    e = w.exp()
    y = e * w
    e.detach_()
    (g,) = mg.autograd.grad(y.sum(), [w], create_graph=True)
    np.testing.assert_allclose(g.tolist(), np.exp([0.0, 1.0]) * [1.0, 2.0], rtol=1e-6)
    (second,) = mg.autograd.grad(g.sum(), [w])
    np.testing.assert_allclose(second.tolist(), np.exp([0.0, 1.0]) * [2.0, 3.0], rtol=1e-6)
    assert not (e * w).detach().requires_grad and e.is_leaf


def test_new_data_counts_as_a_change_in_place():
    """Where the graph needs the old values it says so; PyTorch takes the new ones: 10 instead of
    2. A graph that does not need them is not disturbed."""
    x = mg.ones(2, requires_grad=True)
    needs, needs_not = (x * x).sum(), (x * 3).sum()
    before = x._version
    x.data = mg.full((2,), 5.0)
    assert x._version == before + 1
    with pytest.raises(InPlaceError, match="modified in place"):
        needs.backward()
    needs_not.backward()
    assert x.grad.tolist() == [3.0, 3.0]
    x.data.mul_(2)  # what is done to .data is not counted
    assert x._version == before + 1 and x.tolist() == [10.0, 10.0]
