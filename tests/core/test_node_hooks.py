"""Hooks around a node's rule, on several tensors at once, and after a leaf's sum; edges of the
graph as places to differentiate by.
"""

import gc
import weakref

import pytest

import minigrad as mg
from minigrad.errors import AutogradError, NoGradientError, ShapeError
from minigrad.watch import trace_function
from tests.helpers.known_answers import Scenarios

s = Scenarios()


def accumulate(x):
    """The node that stores a leaf's gradient."""
    return x.view_as(x).grad_fn.next_functions[0][0]


@s.gives([["tensor 1.0", "before 3.0", "after 30.0 60.0 None"], 60.0, 3.0])
def hooks_of_a_tensor_then_of_its_node(m):
    log = []
    x = m.tensor(5.0, requires_grad=True)
    y = x * m.tensor(2.0)
    y.retain_grad()

    def before(grads):
        log.append(f"before {grads[0].item()}")
        return (grads[0] * 10,)

    def after(sent, received):
        log.append(f"after {received[0].item()} {sent[0].item()} {sent[1]}")

    y.grad_fn.register_prehook(before)
    y.grad_fn.register_hook(after)
    y.register_hook(lambda g: log.append(f"tensor {g.item()}") or g * 3)
    y.backward()
    return log, x.grad, y.grad  # what is retained is what the tensor's hooks made of it


@s.gives([[7.0, 8.0], [16.0]])
def what_an_after_hook_returns_replaces_what_the_rule_gave(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = x * m.tensor([3.0, 4.0])
    y.grad_fn.register_hook(lambda sent, _: (sent[0] + 4, None))
    z = x[:1].clone()
    z.grad_fn.register_hook(lambda sent, _: (sent[0] * 2,))
    z.grad_fn.register_hook(lambda sent, _: None)
    z.grad_fn.register_hook(lambda sent, received: (sent[0] * 8 * received[0],))
    return m.autograd.grad(y.sum(), x)[0], m.autograd.grad(z.sum(), x)[0][:1]


@s.gives([[1.0, None, 1.0], [8.0, 0.0, 18.0], True])
def an_operation_with_several_results_has_one_node(m):
    class Three(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x[0] * 2, "no tensor", x[2] * 3

        @staticmethod
        def backward(ctx, a, none, c):
            assert none is None
            return m.stack([a * 2, m.zeros(()), c * 3])

    seen = []
    x = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
    a, _, c = Three.apply(x)
    a.grad_fn.register_prehook(
        lambda grads: seen.extend(None if g is None else g.item() for g in grads)
    )
    c.grad_fn.register_prehook(lambda grads: (grads[0] * 4, grads[1], grads[2] * 6))
    (a + c).backward()
    return seen, x.grad, a.grad_fn is c.grad_fn


@s.gives([[2.0, 12.0], 1])
def a_library_operation_with_several_results_has_one_node(m):
    seen = []
    x = m.tensor([[3.0, 0.0], [0.0, 2.0]], requires_grad=True)
    q, r = m.linalg.qr(x)
    q.grad_fn.register_prehook(lambda grads: seen.append(1) or (grads[0], grads[1] * 2))
    (r.abs() * m.tensor([[1.0, 0.0], [0.0, 6.0]])).sum().backward()
    return x.grad.diagonal(), len(seen)


@s.gives([8.0, 2, 1])
def hooks_on_the_node_of_a_function(m):
    class Double(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    counts = [0, 0]
    x = m.tensor(1.0, requires_grad=True)
    y = Double.apply(x)

    def before(grads):
        counts[0] += 1
        return (grads[0] * 2,)

    def after(sent, received):
        assert received[0].item() == 4
        assert sent[0].item() == 8
        counts[1] += 1
        return sent

    y.grad_fn.register_hook(after)
    y.grad_fn.register_prehook(before)
    y.grad_fn.register_prehook(lambda grads: None)
    y.grad_fn.register_prehook(before)
    y.backward()
    return x.grad, *counts


@s.gives([["a", "c"], ["c"]])
def handles_of_node_hooks_remove_one_hook(m):
    log = []
    x = m.ones((), requires_grad=True)
    y = x.clone()
    a = y.grad_fn.register_prehook(lambda _: log.append("a"))
    with y.grad_fn.register_hook(lambda *_: log.append("b")):
        pass
    y.grad_fn.register_hook(lambda *_: log.append("c"))
    y.backward(retain_graph=True)
    first = list(log)
    a.remove()
    a.remove()
    y.backward()
    return first, log[len(first) :]


@s.gives([1, 0, 0, 2, 1, 1, 2, 2, 2, 2, 2, 2])
def which_hooks_run_when_a_gradient_is_asked_for(m):
    counts = [0, 0, 0]

    def count(i):
        counts[i] += 1

    a = m.tensor(1.0, requires_grad=True)
    b = a * 2
    c = b * 2
    a.register_hook(lambda _: count(0))
    b.register_hook(lambda _: count(0))
    for node in (b.grad_fn.next_functions[0][0], b.grad_fn):
        node.register_prehook(lambda _: count(1))
        node.register_hook(lambda *_: count(2))
    found = []
    for run in (
        lambda: m.autograd.grad(c, b, retain_graph=True),
        lambda: m.autograd.grad(c, (a, b), retain_graph=True),
        lambda: c.backward(retain_graph=True),
        lambda: c.backward(inputs=(a, b), retain_graph=True),
    ):
        run()
        found += counts
        counts[:] = [0, 0, 0]
    return found


@s.gives([[1, 2, 2], 3.0])
def a_result_that_is_an_input_of_backward_has_its_node_hooks_run(m):
    log = []
    a = m.tensor(1.0, requires_grad=True)
    b = a.clone()
    b.grad_fn.register_prehook(lambda g: log.append(2) or (g[0] * 2,))
    b.register_hook(lambda g: log.append(1) or g * 3)
    b.grad_fn.register_prehook(lambda g: log.append(2) or (g[0] * 2,))
    b.sum().backward(inputs=(b,))
    return log, b.grad


@s.gives([["tensor", "before", "stored -0.2", "after 0 0.3"], 3.0])
def hooks_around_a_leaf(m):
    """What hooks of the leaf's node see afterwards shares the memory of a `.grad` that was
    stored for the first time.
    """
    log = []
    x = m.tensor(0.0, requires_grad=True)
    node = accumulate(x)

    def after(sent, received):
        log.append(f"after {len(sent)} {received[0].item():.1f}")
        x.grad = received[0] * 10

    def stored(tensor):
        log.append(f"stored {tensor.grad.item():.1f}")
        tensor.grad.add_(0.5)

    node.register_hook(after)
    x.register_post_accumulate_grad_hook(stored)
    node.register_prehook(lambda g: log.append("before") or (g[0] / 5,))
    x.register_hook(lambda g: log.append("tensor") or g - 2)
    x.sum().backward()
    return log, x.grad


@s.gives([[3.0, 7.0], [2.0, 5.0]])
def hooks_of_a_leafs_node_see_this_passs_share(m):
    seen = []
    x = m.tensor(1.0, requires_grad=True)
    node = accumulate(x)  # PyTorch forgets the hooks of a node without references
    node.register_hook(lambda _, received: seen.append(received[0].item()))
    (x * 2).backward()
    first = seen[:]
    (x * 5).backward()
    return [3.0, x.grad.item()], [first[0], seen[1]]


@s.refuses(AutogradError, "post-accumulate", "None")
def a_post_accumulate_hook_that_returns_something(m):
    x = m.ones((), requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    (x * 2).backward()


def bad_hook(result, kind="register_hook"):
    def program(m):
        x = m.ones(2, requires_grad=True)
        y = x.clone()
        getattr(y.grad_fn, kind)(lambda *_: result(m))
        y.sum().backward()

    return program


for name, error, words, result in (
    ("nothing_of_a_tuple", TypeError, ("str", "tuple"), lambda m: "text"),
    ("too_many", RuntimeError, ("2 values", "1"), lambda m: (m.ones(2), m.ones(2))),
    ("no_tensor", TypeError, ("int", "number 0"), lambda m: (1,)),
    (
        "another_dtype",
        RuntimeError,
        ("float32", "float64"),
        lambda m: (m.ones(2, dtype=m.float64),),
    ),
):
    for kind in ("register_hook", "register_prehook"):
        program = bad_hook(result, kind)
        program.__name__ = f"a_{kind}_returns_{name}"
        s.refuses(error, "CloneBackward0", *words)(program)


@s.refuses(ShapeError, "shape", "(3,)", mine_only=True)
def an_after_hook_returns_another_shape(m):
    """PyTorch accepts a shape that can be summed to the right one."""
    bad_hook(lambda m: (m.ones(3),))(m)


@s.refuses(RuntimeError, "no gradient", mine_only=True)
def an_after_hook_makes_a_gradient_where_there_is_none(m):
    """PyTorch drops it."""
    x = m.ones(2, requires_grad=True)
    y = x * m.ones(2)
    y.grad_fn.register_hook(lambda sent, _: (sent[0], m.ones(2)))
    y.sum().backward()


@s.gives([[6.0], [36.0]])
def node_hooks_can_be_differentiated_through(m):
    x = m.tensor([1.0], requires_grad=True)
    y = x**2
    y.grad_fn.register_prehook(lambda g: (g[0] * x,))
    y.grad_fn.register_hook(lambda sent, received: (sent[0] * 3, *sent[1:]))
    (g,) = m.autograd.grad(y.sum(), x, create_graph=True)  # 3 · x · 2x
    return g, m.autograd.grad((g**2 / 2).sum(), x)[0] / 2  # g · 12 x / 2


@s.gives([[2.0, 2.0], [3.0, 8.0], True, [3.0, 4.0], []])
def a_node_can_be_called(m):
    x = m.tensor([3.0, 4.0], requires_grad=True)
    a, none = (x * 2).grad_fn(m.ones(2))
    assert none is None
    square = x * x
    left, right = square.grad_fn(m.tensor([1.0, 2.0]))
    assert left.tolist() == right.tolist()
    returned = accumulate(x)(m.tensor([3.0, 4.0]))
    with m.no_grad():
        assert not square.grad_fn(m.ones(2))[0].requires_grad
    return a, left, left.requires_grad, x.grad, list(returned)


@s.refuses(TypeError, "expected 1 arguments", "got 0")
def a_node_called_with_too_few_cotangents(m):
    (m.ones(2, requires_grad=True) * 2).grad_fn()


# -------------------------------------------------------------------------- several tensors at once


@s.gives([[[1.0, 2.0], [2.0, None], [None, 1.0]], [[1.0, 2.0]], 3])
def all_gradients_of_a_pass(m):
    seen = []
    a, b = m.tensor(2.0, requires_grad=True), m.tensor(1.0, requires_grad=True)
    p, q = a.clone(), b.clone()
    handle = m.autograd.graph.register_multi_grad_hook(
        (p, q), lambda gs: seen.append([g if g is None else g.item() for g in gs])
    )
    (p * q).backward(retain_graph=True)
    (p * 2).backward(retain_graph=True)
    m.autograd.grad(p * 0 + q, b, retain_graph=True)
    first = [seen[0]]
    handle.remove()
    (p * q).backward()
    return seen, first, len(seen)


@s.gives([[1.0], [1.0, 2.0]])
def the_first_gradient_of_a_pass(m):
    seen = []
    x = m.tensor(2.0, requires_grad=True)
    p, q = x.clone(), x.clone()
    with m.autograd.graph.register_multi_grad_hook(
        [p, q], lambda g: seen.append(g.item()), mode="any"
    ):
        (p * 2 + q).backward(retain_graph=True)  # the younger of the two is first
        first = seen[:]
        (p * 2).backward(retain_graph=True)
    (p * q).backward()
    return first, seen


@s.gives([[[20.0, 10.0], [1.0, 1.0]]])
def passes_within_passes_are_told_apart(m):
    seen = []
    x = m.tensor(1.0, requires_grad=True)
    q = x.clone()
    z = q * 1
    p = x.clone()
    m.autograd.graph.register_multi_grad_hook(
        [p, q], lambda gs: seen.append([g.item() for g in gs])
    )

    def inner(_):  # when the outer pass has reached p, and not yet q
        with m.enable_grad():
            (p * 20 + q * 10).backward()

    z.register_hook(inner)
    (z + p).backward()
    return (seen,)


@s.refuses(ValueError, "mode", "'some'", "all", "any")
def a_multi_grad_hook_of_another_mode(m):
    m.autograd.graph.register_multi_grad_hook([m.ones((), requires_grad=True)], print, mode="some")


@s.refuses(NoGradientError, "tensor 1", mine_only=True)
def a_multi_grad_hook_on_a_constant(m):
    """PyTorch fails with an AssertionError."""
    m.autograd.graph.register_multi_grad_hook([m.ones((), requires_grad=True), m.ones(())], print)


def test_a_multi_grad_hook_keeps_neither_its_tensors_nor_a_failed_pass():
    gc.disable()
    try:
        x = mg.ones((), requires_grad=True)
        y, z = x.clone(), x.clone()
        mg.autograd.graph.register_multi_grad_hook([y, z], print)
        y.register_hook(lambda g: 1 / 0)
        nodes = [weakref.ref(y.node), weakref.ref(z.node)]
        with pytest.raises(ZeroDivisionError):
            (y + z).backward()
        del y, z
        assert [ref() for ref in nodes] == [None, None]
    finally:
        gc.enable()


# ---------------------------------------------------------------------------------- edges, metadata


@s.gives([[4.0], [2.0], [4.0], [1.0], [2.0]])
def edges_stand_for_tensors(m):
    edge = m.autograd.graph.get_gradient_edge
    x = m.tensor([1.0], requires_grad=True)
    y = x * 2
    z = y * 2
    places = edge(x), edge(y)
    a = m.autograd.grad(z.sum(), places, retain_graph=True)
    b = m.autograd.grad(edge(z), places[0], grad_outputs=m.ones(1), retain_graph=True)
    y *= 3  # the edge is about the old value
    c = m.autograd.grad(y.sum() / 3, (edge(y), places[0]), retain_graph=True)
    m.autograd.backward(y.sum() / 3, inputs=[places[0]])
    return *a, *b, c[0] * 3, x.grad


@s.gives([1, 0, [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
def an_edge_to_one_of_several_results(m):
    edge = m.autograd.graph.get_gradient_edge
    q, r = m.linalg.qr(m.tensor([[3.0, 0.0], [0.0, 2.0]], requires_grad=True))
    out = (r.diagonal() * m.tensor([1.0, 2.0]) + q.diagonal() * m.tensor([3.0, 4.0])).sum()
    second = m.autograd.grad(out, edge(r), retain_graph=True)[0]
    first = m.autograd.grad(out, m.autograd.graph.GradientEdge(r.grad_fn, 0), retain_graph=True)[0]
    from_there = m.autograd.grad(
        edge(r),
        m.autograd.graph.GradientEdge(q.grad_fn, 1),
        grad_outputs=m.tensor([[5.0, 0.0], [0.0, 6.0]]),
    )[0]
    return (
        edge(r).output_nr,
        edge(q).output_nr,
        second.diagonal(),
        first.diagonal(),
        from_there.diagonal(),
    )


@s.refuses(AutogradError, "GradientEdge", "materialize_grads")
def zeros_for_an_unused_edge(m):
    x = m.ones(2, requires_grad=True)
    y = m.ones(2, requires_grad=True).clone()
    m.autograd.grad(
        (x * 2).sum(),
        (x, m.autograd.graph.get_gradient_edge(y)),
        allow_unused=True,
        materialize_grads=True,
    )


@s.refuses(NoGradientError, "require grad")
def the_edge_of_a_constant(m):
    m.autograd.graph.get_gradient_edge(m.ones(2))


@s.gives([{"a": [2.0], "b": [0.0]}, {"0": [2.0]}, [2.0]])
def inputs_by_name(m):
    a, b = m.ones(1, requires_grad=True), m.ones(1, requires_grad=True)
    first = m.autograd.grad((a * 2).sum(), {"a": a, "b": b}, materialize_grads=True)
    second = m.autograd.grad((a * 2).sum(), {"0": a})
    (a * 2 + b).sum().backward(inputs={"a": a})
    assert b.grad is None
    return (
        {k: v.tolist() for k, v in first.items()},
        {k: v.tolist() for k, v in second.items()},
        a.grad,
    )


@s.refuses(TypeError, "dict", "OrderedDict")
def inputs_of_another_kind_of_mapping(m):
    from collections import OrderedDict

    a = m.ones(1, requires_grad=True)
    m.autograd.grad((a * 2).sum(), OrderedDict(a=a))


@s.refuses(AutogradError, "inputs", "empty")
def the_gradient_by_nothing(m):
    m.autograd.grad(m.ones((), requires_grad=True) * 2, [])


@s.gives([{}, {"k": 1}, {"k": 2}, True])
def nodes_have_metadata(m):
    x = m.tensor([[3.0, 0.0], [0.0, 2.0]], requires_grad=True)
    q, r = m.linalg.qr(x)
    y = q @ r
    before = dict(y.grad_fn.metadata)
    y.grad_fn.metadata["k"] = 1
    q.grad_fn.metadata["k"] = 2
    return (
        before,
        y.grad_fn.metadata,
        r.grad_fn.metadata,
        y.grad_fn._sequence_nr() > r.grad_fn._sequence_nr(),
    )


@s.gives([[[2, 2], "float32"], [[2, 2], [2, 2]]])
def nodes_know_their_results(m):
    q, r = m.linalg.qr(m.eye(2).requires_grad_())
    (one,) = (q @ r).grad_fn._input_metadata
    return [list(one.shape), str(one.dtype).removeprefix("torch.")], [
        list(i.shape) for i in r.grad_fn._input_metadata
    ]


test_minigrad, test_pytorch = s.tests()


def test_a_node_with_hooks_stays_what_it_was():
    x = mg.ones(2, requires_grad=True)
    y = x.exp()
    node, kind, name = y.grad_fn, type(y.grad_fn).__name__, y.grad_fn.name()
    node.register_prehook(lambda g: None)
    assert y.grad_fn is node
    assert type(node).__name__ == kind
    assert node.name() == name
    assert isinstance(node, mg.autograd.graph.Node)


def test_node_hooks_inside_a_checkpoint_and_with_packed_values():
    from minigrad.autograd.checkpoint import checkpoint

    seen = []

    def block(x):
        y = x.exp()
        y.grad_fn.register_hook(lambda sent, _: seen.append(sent[0].tolist()))
        return y * x

    x = mg.tensor([0.0, 0.0], requires_grad=True)
    with mg.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        checkpoint(block, x).sum().backward()
    assert seen == [[0.0, 0.0]]
    assert x.grad.tolist() == [1.0, 1.0]
    with mg.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        block(x).sum().backward()
    assert len(seen) == 2


def test_a_trace_shows_what_node_hooks_made_of_the_gradients():
    def f(x):
        y = x * x
        y.grad_fn.register_hook(lambda sent, _: tuple(g * 2 for g in sent))
        return y * 5

    steps = trace_function(f, 3.0, mode="reverse")["steps"]
    assert [write[2] for step in steps for write in step["writes"] if write[:2] == ["x", "g"]][
        -1
    ] == 60.0
