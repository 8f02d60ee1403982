"""Hooks around a module: what they see, what they may replace, and in which order they are
called, as in PyTorch.
"""

import copy
import gc
import warnings
from collections import namedtuple

import pytest

import minigrad as mg
from minigrad import nn
from tests.helpers.known_answers import plain

Both = namedtuple("Both", "first second")


def several(nn):
    """A module with several inputs and results, not all of which are tensors."""

    class Several(nn.Module):
        def forward(self, a, b=None, other=None, scale=1):
            return a * b * scale, (a + 1,), a * 3, 5

    return Several()


def watched(module, log):
    module.register_full_backward_hook(
        lambda m, grads, outs: log.append((type(m).__name__, plain(grads), plain(outs)))
    )
    module.register_full_backward_pre_hook(
        lambda m, outs: log.append((type(m).__name__, plain(outs)))
    )
    return module


# ---------------------------------------------------------------------------------- backward hooks


def several_in_and_out(lib, log):
    module = watched(several(lib.nn), log)
    a, b = (lib.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
    module(a, b, "text")[0].sum().backward()
    out = module(a, b)
    (out[0].sum() + out[2].sum()).backward()
    module(a, a)[0].sum().backward()
    # inside a nested tuple: passes by the second node, and comes to the first
    module(a, b)[1][0].sum().backward()
    out = module(a, b)[0].sum()
    out.backward(retain_graph=True)
    out.backward()
    return [a.grad, b.grad]


def second_derivative(lib, log):
    module = watched(several(lib.nn), log)
    a, b = (lib.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
    (first,) = lib.autograd.grad((module(a, b)[0] ** 2).sum() + 0 * b.sum(), [a], create_graph=True)
    log.clear()
    return lib.autograd.grad(first.sum(), [a, b])


def past_the_results(lib, log):
    module = watched(several(lib.nn), log)
    a, b = (lib.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
    # b, whatever the results are
    (first,) = lib.autograd.grad(module(a, b)[0].sum() + 0 * b.sum(), [a], create_graph=True)
    log.clear()
    return lib.autograd.grad(first.sum(), [b])  # comes to the arguments, but not by the results


def replacing(lib, log):
    module = watched(several(lib.nn), log)
    times = lambda k: lambda m, grads, outs: tuple(None if g is None else k * g for g in grads)
    plus = lambda k: lambda m, outs: [None if g is None else k + g for g in outs]
    module.register_full_backward_hook(times(10))
    module.register_full_backward_hook(
        lambda m, grads, outs: (grads[0] + 1, *grads[1:]), prepend=True
    )
    handle = module.register_full_backward_hook(times(7))
    module.register_full_backward_pre_hook(plus(1))
    module.register_full_backward_pre_hook(
        lambda m, outs: tuple(None if g is None else 5 * g for g in outs), prepend=True
    )
    handle.remove()
    a, b = (lib.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
    module(a, b, scale=2)[0].sum().backward()
    return [a.grad, b.grad]


def named_tuple(lib, log):
    class Pair(lib.nn.Module):
        def forward(self, a):
            return Both(a * 2, a * 3)

    a = lib.tensor([1.0], requires_grad=True)
    out = watched(Pair(), log)(a)
    (out.second * 2).sum().backward()
    return [type(out).__name__, a.grad]


def nested_modules(lib, log):
    inner = watched(lib.nn.Tanh(), log)
    outer = watched(lib.nn.Sequential(inner, lib.nn.ReLU()), log)
    a = lib.tensor([0.0, 0.0], requires_grad=True)
    with lib.no_grad():
        assert not outer(a).requires_grad
    outer(a).sum().backward()
    return [a.grad]


def removed_in_between(lib, log):
    module = lib.nn.Tanh()
    handle = module.register_full_backward_hook(lambda m, grads, outs: log.append("called"))
    a = lib.tensor([0.0], requires_grad=True)
    out = module(a)
    handle.remove()  # what was there when the module was called counts
    out.backward()
    module(a).backward()
    return [a.grad]


CASES = [
    several_in_and_out,
    second_derivative,
    past_the_results,
    replacing,
    named_tuple,
    nested_modules,
    removed_in_between,
]


@pytest.mark.oracle
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_backward_hooks_are_pytorchs(torch, case):
    ours, theirs = [], []
    assert plain(case(mg, ours)) == plain(case(torch, theirs))
    assert ours == theirs


def test_what_needs_no_gradient_is_none():
    log = []
    module = watched(several(nn), log)
    a, b = mg.tensor([1.0, 2.0], requires_grad=True), mg.tensor([3.0, 4.0])
    module(a, b)[0].sum().backward()
    assert log == [
        ("Several", [[1.0, 1.0], None, None, None]),
        ("Several", [[3.0, 4.0], None], [[1.0, 1.0], None, None, None]),
    ]
    log.clear()
    b.requires_grad_()
    mg.autograd.grad(module(a, b)[0].sum(), [b])
    assert log[1][1] == [None, [1.0, 2.0]]  # the gradient of a was not asked for
    log.clear()
    out = module(a, b)
    mg.autograd.grad((out[0] + out[2]).sum(), [b])  # nor for what comes by the other result
    assert log[1][1:] == ([None, [1.0, 2.0]], [[1.0, 1.0], None, [1.0, 1.0], None])
    log.clear()
    b.grad = None
    module(a, b)[2].sum().backward()  # on which b has no influence
    assert log[1][1] == [[3.0, 3.0], None] and b.grad is None


def test_a_result_whose_gradient_leads_nowhere_wanted():
    class Learned(nn.Module):
        def __init__(self):
            self.one, self.other = nn.Parameter(mg.ones(2)), nn.Parameter(mg.ones(2))

        def forward(self, x):
            return x * self.one, 3 * self.other

    log = []
    module = watched(Learned(), log)
    out = module(mg.tensor([5.0, 6.0], requires_grad=True))
    (grad,) = mg.autograd.grad((out[0] + out[1]).sum(), [module.one])
    assert grad.tolist() == [5.0, 6.0] and log == [("Learned", [[1.0, 1.0], [1.0, 1.0]])]


def test_without_recording_nothing_is_in_between():
    x = mg.ones(2, requires_grad=True)
    with mg.no_grad():
        assert watched(nn.Identity(), [])(x) is x


def test_without_an_input_that_needs_a_gradient():
    log = []
    layer = watched(nn.Linear(2, 1), log)
    layer.weight.set_value(1.0)
    with pytest.warns(UserWarning, match="Linear: no input of this call requires grad"):
        layer(mg.ones(1, 2)).sum().backward()
    assert log == [("Linear", [[[1.0]]]), ("Linear", [None], [[[1.0]]])]
    # no full hook, nothing to warn of
    handle = layer.register_full_backward_pre_hook(lambda m, outs: (3 * outs[0],))
    layer._call_hooks.after_backward.clear()
    layer.zero_grad()
    layer(mg.ones(1, 2)).sum().backward()
    assert layer.weight.grad.tolist() == [[3.0, 3.0]]
    handle.remove()
    layer.register_full_backward_hook(lambda m, grads, outs: (mg.ones(1, 2),))
    with (
        pytest.warns(UserWarning),
        pytest.raises(
            RuntimeError, match="a backward hook of Linear returned gradients, but no input"
        ),
    ):
        layer(mg.ones(1, 2)).sum().backward()


@pytest.mark.parametrize(
    ("kind", "returned", "error", "message"),
    [
        (
            "full_backward_hook",
            (),
            RuntimeError,
            "backward hook of Tanh returned an invalid number of grad_input: got 0, but expected 1",
        ),
        (
            "full_backward_pre_hook",
            (1, 2),
            RuntimeError,
            "pre-hook of Tanh .* number of grad_output: got 2, but expected 1",
        ),
        (
            "full_backward_hook",
            3.0,
            TypeError,
            (
                "a backward hook of Tanh returned float; return None, or a tuple in the place of"
                " grad_input"
            ),
        ),
        ("full_backward_hook", (3.0,), TypeError, "returned float as number 0 of grad_inputs"),
        ("full_backward_hook", (mg.ones(3),), mg.errors.ShapeError, r"from \(2,\) to \(3,\)"),
    ],
)
def test_what_a_backward_hook_may_not_return(kind, returned, error, message):
    module = nn.Tanh()
    getattr(module, f"register_{kind}")(lambda *_: returned)
    with pytest.raises(error, match=message):
        module(mg.ones(2, requires_grad=True)).sum().backward()


def test_a_single_gradient_needs_no_tuple():
    module = nn.Tanh()
    module.register_full_backward_hook(lambda m, grads, outs: 2 * grads[0])
    x = mg.zeros(2, requires_grad=True)
    module(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_results_that_are_no_tensors_are_reported():
    class Listing(nn.Module):
        def forward(self, x):
            return [x * 2]

    log = []
    x = mg.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="Listing: .* this one returned list"):
        (out,) = watched(Listing(), log)(x)
    out.backward()
    assert x.grad.tolist() == [2.0] and log == []


def test_results_are_views_that_cannot_be_modified():
    module = watched(nn.Tanh(), [])
    out = module(mg.zeros(2, requires_grad=True))
    with pytest.raises(mg.errors.InPlaceError, match="this view is the output of a Function"):
        out.add_(1)


def test_backward_hooks_in_transformations():
    module = nn.Linear(2, 2)
    value = lambda x: (module(x) ** 2).sum()
    x, batch = mg.tensor([1.0, -2.0]), mg.tensor([[1.0, -2.0], [0.5, 3.0]])
    expected, expected_batch = mg.func.grad(value)(x), mg.func.vmap(mg.func.grad(value))(batch)
    _, pushed = mg.func.jvp(module, (x,), (mg.ones(2),))
    second = mg.autograd.functional.hessian(value, x)
    module.register_full_backward_hook(lambda m, grads, outs: (2 * grads[0],))
    assert mg.func.grad(value)(x).tolist() == (2 * expected).tolist()
    assert mg.func.vmap(mg.func.grad(value))(batch).tolist() == (2 * expected_batch).tolist()
    # the hook belongs to the reverse pass
    assert mg.func.jvp(module, (x,), (mg.ones(2),))[1].tolist() == pushed.tolist()
    # both passes come through the module
    assert mg.allclose(mg.autograd.functional.hessian(value, x), 4 * second)
    leaf = mg.tensor([1.0, -2.0], requires_grad=True)
    assert mg.func.jvp(lambda t: module(t * leaf), (x,), (mg.ones(2),))[1].shape == (2,)


def test_compiled_steps_with_backward_hooks():
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))

    def step(x):
        model.zero_grad()
        model(x).sum().backward()
        return model[0].weight.grad

    compiled, x = mg.compile(step), mg.ones(4, 2)
    plainly = step(x).tolist()
    handle = model[1].register_full_backward_hook(lambda m, grads, outs: (2 * grads[0],))
    for _ in range(4):
        assert compiled(x).tolist() == [[2 * g for g in row] for row in plainly]
    assert compiled.statistics["replayed"] > 0
    handle.remove()
    for _ in range(4):
        assert compiled(x).tolist() == plainly
    seen = []
    model[1].register_full_backward_hook(lambda m, grads, outs: seen.append(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            compiled(x)
    # what a replay would leave out keeps it eager
    assert len(seen) == 5 and "seen" in compiled.reason


def test_hooks_leave_no_circles_and_go_with_copies():
    module = watched(nn.Linear(2, 2), [])
    x = mg.ones(2, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        module(x).sum().backward()
        module(x)
        assert gc.collect() == 0
    finally:
        gc.enable()
    other = copy.deepcopy(module)
    other._call_hooks.after_backward.clear()
    assert len(module._call_hooks.after_backward) == 1


# ----------------------------------------------------------------------------------- forward hooks


def order_of_hooks(lib, log):
    module = several(lib.nn)
    noted = lambda name: lambda *_: log.append(name)
    for name in ("first", "second"):
        module.register_forward_pre_hook(noted(f"{name} before"))
        module.register_forward_hook(noted(f"{name} after"))
    module.register_forward_pre_hook(noted("third before"), prepend=True)
    module.register_forward_hook(noted("third after"), prepend=True)
    handle = module.register_forward_hook(noted("removed"), prepend=True)
    handle.remove()
    handle.remove()
    return module(lib.tensor([1.0]), lib.tensor([2.0]))


def replaced_inputs_and_results(lib, log):
    module = several(lib.nn)
    module.register_forward_pre_hook(lambda m, args: (args[0] + 1, *args[1:]))
    module.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {**kwargs, "scale": 10}), with_kwargs=True
    )
    module.register_forward_pre_hook(lambda m, args: (2 * args[0], args[1]), prepend=True)
    module.register_forward_hook(
        lambda m, args, result: log.append(plain([args, result])) or result[0]
    )
    module.register_forward_hook(
        lambda m, args, kwargs, result: log.append(plain([args, result, kwargs["scale"]])),
        with_kwargs=True,
    )
    module.register_forward_hook(lambda m, args, result: result + 1)
    single = lib.nn.ReLU()
    single.register_forward_pre_hook(lambda m, args: args[0] + 1)
    return module(lib.tensor([1.0]), lib.tensor([2.0]), scale=3), single(lib.tensor([1.0]))


def keyword_arguments(lib, log):
    module = several(lib.nn)
    seen = lambda *_: log.append(plain([list(a) if isinstance(a, dict) else a for a in _[1:]]))
    module.register_forward_pre_hook(seen, with_kwargs=True)
    module.register_forward_pre_hook(seen)
    module.register_forward_hook(seen, with_kwargs=True)
    module.register_forward_hook(seen)
    return module(lib.tensor([1.0]), b=lib.tensor([2.0]), other=None)


def always_called(lib, log):
    module = several(lib.nn)
    module.register_forward_hook(
        lambda m, args, result: log.append(("always", result)), always_call=True
    )
    module.register_forward_hook(lambda m, args, result: log.append("only if it went well"))
    module.register_forward_hook(
        lambda m, args, kwargs, result: log.append(list(kwargs)), always_call=True, with_kwargs=True
    )
    with pytest.raises(TypeError):
        module(1, None, other=2)
    return []


def always_called_once(lib, log):
    module = several(lib.nn)

    def failing(m, args, result):
        log.append("failing")
        raise ValueError("a hook fails")

    module.register_forward_hook(lambda m, args, result: log.append("before it"), always_call=True)
    module.register_forward_hook(failing)
    module.register_forward_hook(
        lambda m, args, result: log.append(["after it", plain(result)]), always_call=True
    )
    with pytest.raises(ValueError, match="a hook fails"):
        module(lib.tensor([1.0]), lib.tensor([2.0]))
    return []


FORWARD = [
    order_of_hooks,
    replaced_inputs_and_results,
    keyword_arguments,
    always_called,
    always_called_once,
]


@pytest.mark.oracle
@pytest.mark.parametrize("case", FORWARD, ids=lambda c: c.__name__)
def test_forward_hooks_are_pytorchs(torch, case):
    ours, theirs = [], []
    assert plain(case(mg, ours)) == plain(case(torch, theirs))
    assert ours == theirs and ours


def test_a_hook_that_is_always_called_may_fail_too():
    def fails(*_):
        raise KeyError("also")

    module = several(nn)
    module.register_forward_hook(fails, always_call=True)
    told = pytest.warns(
        UserWarning,
        match="Several: a forward hook with always_call=True failed .* KeyError: 'also'",
    )
    with told, pytest.raises(TypeError):
        module(1, None)


def test_hooks_that_are_wrong():
    module = several(nn)
    module.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(
        RuntimeError,
        match=(
            r"Several: a forward pre-hook .* must return None or a tuple of \(new_args,"
            r" new_kwargs\)"
        ),
    ):
        module(mg.ones(1))
    for kind in (
        "forward_hook",
        "forward_pre_hook",
        "full_backward_hook",
        "full_backward_pre_hook",
    ):
        with pytest.raises(TypeError, match=f"register_{kind}: a hook is a function, got int"):
            getattr(module, f"register_{kind}")(3)


def test_backward_hooks_come_between_the_forward_ones():
    """They see the arguments that the pre-hooks made and the result that the hooks made."""
    module, log = nn.ReLU(), []
    module.register_forward_pre_hook(lambda m, args: (3 * args[0],))
    module.register_forward_hook(lambda m, args, result: 5 * result)
    watched(module, log)
    x = mg.ones(1, requires_grad=True)
    module(x).backward(mg.tensor([2.0]))
    assert log == [("ReLU", [[2.0]]), ("ReLU", [[10.0]], [[2.0]])] and x.grad.tolist() == [30.0]
