"""Hooks see (and may replace) complete gradients, in the order in which they were registered,
for backward and grad alike.
"""

import pytest

import minigrad as mg
from minigrad.errors import AutogradError, NoGradientError
from tests.helpers.known_answers import Scenarios

s = Scenarios()


@s.gives([["first 1.0", "third 2.0", "fourth 2.0"], 10.0, 20.0])
def hooks_run_in_order_and_removed_ones_do_not(m):
    log = []
    x = m.ones((), requires_grad=True)
    y = x * 2

    def note(name, factor=None):
        def hook(g):
            log.append(f"{name} {g.item()}")
            return None if factor is None else g * factor

        return hook

    y.register_hook(note("first", 2))
    second = y.register_hook(note("second", 100))
    y.register_hook(note("third"))
    y.retain_grad()  # keeps what the hooks made of it, also those registered later
    y.register_hook(note("fourth", 5))
    second.remove()
    second.remove()
    y.backward()
    return log, y.grad, x.grad


@s.gives([["a", "c"], ["a"]])
def removal_is_selective(m):
    log = []
    x = m.ones((), requires_grad=True)
    x.register_hook(lambda g: log.append("a"))
    b = x.register_hook(lambda g: log.append("b"))
    c = x.register_hook(lambda g: log.append("c"))
    b.remove()
    (x * 1).backward()
    first = list(log)
    log.clear()
    c.remove()
    b.remove()
    (x * 1).backward()
    return first, log


@s.gives([["in"], True])
def a_handle_is_a_context_manager(m):
    log = []
    x = m.ones((), requires_grad=True)
    with x.register_hook(lambda g: log.append("in")):
        (x * 1).backward()
    (x * 1).backward()
    return log, x.grad.item() == 2


@s.gives([[[5.0, 5.0]], [5.0, 5.0]])
def a_leaf_hook_sees_the_sum_once(m):
    log = []
    x = m.ones(2, requires_grad=True)
    x.register_hook(lambda g: log.append(g.tolist()))
    (x * 2 + x * 3).sum().backward()
    return log, x.grad


@s.gives([[20.0, 20.0], [[1.0, 1.0]], None])
def hooks_run_for_grad_too(m):
    log = []
    x = m.ones(2, requires_grad=True)
    x.register_hook(lambda g: g * 10)
    y = x * 2
    y.register_hook(lambda g: log.append(g.tolist()))
    return m.autograd.grad(y.sum(), x)[0], log, x.grad


@s.gives([[["after", 5.0], ["before", 15.0]], 30.0])
def a_hook_registered_before_an_in_place_change_sees_the_old_tensors_gradient(m):
    log = []
    x = m.ones((), requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: log.append(["before", g.item()]))
    y.mul_(3)
    y.register_hook(lambda g: log.append(["after", g.item()]))
    (y * 5).backward()
    return log, x.grad


@s.gives([5.0, 5.0])
def retain_grad_follows_the_tensor_through_an_in_place_change(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * 5).sum().backward()
    return y.grad


@s.gives([[5.0, 7.0], [5.0, 7.0]])
def retain_grad_of_a_view_and_of_its_base(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    v = y.view(2)
    v.retain_grad()
    y.mul_(3)
    (v * m.tensor([5.0, 7.0])).sum().backward()
    w = m.ones(2, requires_grad=True)
    z = w * 2
    z.retain_grad()
    z[0] = 1.0
    (z * m.tensor([5.0, 7.0])).sum().backward()
    return v.grad, z.grad


@s.gives([[3.0, 3.0], [6.0, 6.0]])
def retained_gradients_add_up(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    z = (y * 3).sum()
    z.backward(retain_graph=True)
    first = y.grad.tolist()
    z.backward()
    return first, y.grad


@s.gives([False, True, False, True])
def retains_grad_is_about_tensors_that_are_no_leaves(m):
    x = m.ones(2, requires_grad=True)
    x.retain_grad()
    y = x * 2
    before = y.retains_grad
    y.retain_grad()
    (y * 1).sum().backward()
    return before, y.retains_grad, x.retains_grad, x.grad is not None


@s.gives([[3.0, 4.0], 4.0])
def post_accumulate_hooks_run_after_the_sum_is_stored(m):
    log = []
    x = m.ones((), requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.item()))
    (x * 2 + x).backward()
    (x * 1).backward()
    m.autograd.grad(x * 2, x)  # stores nothing, so there is nothing to run after
    return log, x.grad


@s.gives([0.5, None])
def a_post_accumulate_hook_may_update_and_clear(m):
    x = m.ones((), requires_grad=True)

    def step(p):
        with m.no_grad():
            p.sub_(p.grad * 0.25)
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).backward()
    return x.detach(), x.grad


@s.gives([4.0, 4.0])
def hooks_on_graph_nodes_of_a_view(m):
    x = m.ones(2, requires_grad=True)
    v = (x * 2)[:]
    v.register_hook(lambda g: g * 2)
    v.sum().backward()
    return x.grad


@s.gives([6.0, 1.0])
def a_hook_under_create_graph_is_differentiated(m):
    x = m.tensor(1.0, requires_grad=True)
    k = m.tensor(3.0, requires_grad=True)
    y = x * x
    y.register_hook(lambda g: g * k)
    (g,) = m.autograd.grad(y, x, create_graph=True)  # 2xk
    return g.detach(), m.autograd.grad(g, k)[0] / 2


@s.refuses(RuntimeError, "hook", "(2,)", "(3,)", "shape")
def a_hook_that_changes_the_shape(m):
    x = m.ones(2, requires_grad=True)
    x.register_hook(lambda g: m.ones(3))
    (x * 2).sum().backward()


@s.refuses(TypeError, "hook", "float", "Tensor or None")
def a_hook_that_returns_a_number(m):
    x = m.ones(2, requires_grad=True)
    x.register_hook(lambda g: 3.0)
    (x * 2).sum().backward()


@s.refuses(RuntimeError, "hook", "float64", "float32")
def a_hook_that_changes_the_dtype(m):
    x = m.ones(2, requires_grad=True)
    x.register_hook(lambda g: g.double())
    (x * 2).sum().backward()


@s.refuses(NoGradientError, "register_hook", "does not require grad")
def a_hook_on_a_constant(m):
    m.ones(3).register_hook(print)


@s.refuses(NoGradientError, "retain_grad", "requires_grad=True")
def retain_grad_of_a_constant(m):
    m.ones(3).retain_grad()


@s.refuses(AutogradError, "leaf")
def a_post_accumulate_hook_on_a_result(m):
    (m.ones(3, requires_grad=True) * 2).register_post_accumulate_grad_hook(print)


test_minigrad, test_pytorch = s.tests()


def test_a_hook_removed_by_another_hook_during_the_pass_still_ran_or_did_not_but_the_pass_goes_on():
    """The hooks of one tensor are fixed when its gradient arrives; changes count from the next
    pass on.
    """
    x = mg.ones((), requires_grad=True)
    log, handles = [], []
    x.register_hook(lambda g: (log.append("remover"), handles[0].remove())[0])
    handles.append(x.register_hook(lambda g: log.append("removed")))
    (x * 1).backward()
    (x * 1).backward()
    assert log == ["remover", "removed", "remover"]


def test_a_hook_stays_with_the_values_from_before_an_in_place_change():
    """Of a tensor as of a view: it sees the gradient with respect to the old values."""
    for change_itself in (True, False):
        x = mg.ones(3, requires_grad=True)
        b = x * 1
        v = b[:2]
        seen = []
        v.register_hook(lambda g, seen=seen: seen.append(("view", g.tolist())))
        b.register_hook(lambda g, seen=seen: seen.append(("base", g.tolist())))
        (v if change_itself else b).mul_(2)
        ((v * 3).sum() + (b * 5).sum()).backward()
        assert x.grad.tolist() == [16, 16, 5 if change_itself else 10]
        of_view = [("view", [16, 16])] if change_itself else []  # nothing reads v before the change
        assert sorted(seen, reverse=True) == [*of_view, ("base", x.grad.tolist())]


def test_hooks_do_not_keep_a_tensor_alive():
    import weakref

    x = mg.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: None)
    y.retain_grad()
    alive = weakref.ref(y)
    z = y.sum()
    del y
    assert alive() is None
    z.backward()  # no tensor is left to receive the retained gradient
    assert x.grad.tolist() == [2, 2]


def test_what_a_hook_keeps_is_not_changed_later():
    """The engine adds in place only in buffers of its own, never in one that a hook was shown."""
    x = mg.ones(2, requires_grad=True)
    kept = []
    a, b, c = x * 1, x * 2, x * 3
    for t in (a, b, c):
        t.register_hook(kept.append)
    x.register_hook(kept.append)
    (a + b + c).sum().backward()
    (x * 10).sum().backward()
    assert [g.tolist() for g in kept] == [[1, 1], [1, 1], [1, 1], [6, 6], [10, 10]]
    assert x.grad.tolist() == [16, 16]


def test_observers_look_and_hooks_act():
    """A node has hooks of its own, around its rule."""
    x = mg.ones((), requires_grad=True)
    y = x * 2
    y.grad_fn.register_hook(lambda grads, _: (grads[0] * 3, *grads[1:]))
    y.backward()
    assert x.grad.item() == 6


def test_an_exception_in_a_hook_names_itself():
    x = mg.ones((), requires_grad=True)
    x.register_hook(lambda g: {}["missing"])
    with pytest.raises(KeyError, match="missing"):
        (x * 1).backward()
    assert x.grad is None
