"""The arguments of `autograd.backward` and `autograd.grad`, by position and by name, as
torch.autograd documents them; which tensors are leaves on a GPU.

The fixture `m` is minigrad, and PyTorch where it is installed: what the documentation promises must
hold there too. Other parts of torch.autograd have files of their own, here and in tests/core.
"""

import pytest

import minigrad as mg
from minigrad import autograd, backend
from minigrad.errors import DeviceError


@pytest.fixture(params=["minigrad", pytest.param("torch", marks=pytest.mark.oracle)])
def m(request):
    """The library under examination."""
    return mg if request.param == "minigrad" else request.getfixturevalue("torch")


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
