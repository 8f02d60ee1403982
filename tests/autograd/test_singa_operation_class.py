"""SINGA's class for an operation of one's own."""

import gc
import weakref

import numpy as np
import pytest
from minigrad.tensor import Tensor

import minigrad as mg
from minigrad import autograd
from minigrad.autograd import Operation
from minigrad.trace import validate
from minigrad.watch import trace_function


class Product(Operation):
    """x · y, element by element."""

    def forward(self, x, y):
        self.saved = x, y
        return x * y

    def backward(self, dy):
        x, y = self.saved
        return dy * y, dy * x


class Scale(Operation):
    """factor · x, with a setting of its own."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        self.seen = x.tolist()
        return x * self.factor

    def backward(self, dy):
        return dy * self.factor


class Halves(Operation):
    """The first and the second half of a vector."""

    def forward(self, x):
        self.n = len(x) // 2
        return [x[: self.n], x[self.n :]]

    def backward(self, first, second):
        return mg.cat([first, second])


def test_value_and_gradients() -> None:
    x, y = (mg.tensor(v, requires_grad=True, dtype="float64") for v in ([1.0, 2.0], [3.0, -4.0]))
    (z,) = Product()(x, y)
    assert z.tolist() == [3.0, -8.0] and z.requires_grad and "ProductBackward" in repr(z.creator)
    (z * mg.tensor([10.0, 1.0], dtype="float64")).sum().backward()
    assert x.grad.tolist() == [30.0, -4.0] and y.grad.tolist() == [10.0, 2.0]
    assert autograd.gradcheck(lambda a, b: Product()(a, b)[0], [x, y])


def test_forward_sees_no_history_and_constants_get_no_gradient() -> None:
    seen = []

    class Look(Product):
        def forward(self, x, y):
            seen.extend([x.requires_grad, y.requires_grad])
            return super().forward(x, y)

    x = mg.tensor([2.0], requires_grad=True)
    (z,) = Look()(x, [5.0])  # what is no tensor becomes one
    z.backward()
    assert seen == [False, False] and x.grad.tolist() == [5.0]
    assert Look()(mg.ones(1), mg.ones(1))[0].requires_grad is False
    with mg.no_grad():
        assert Look()(x, x)[0].requires_grad is False


def test_several_results_of_which_one_is_used() -> None:
    x = mg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    first, second = Halves()(x)
    assert first.tolist() == [1.0, 2.0] and second.tolist() == [3.0, 4.0]
    (second * second).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 6.0, 8.0]


def test_an_object_called_twice_keeps_each_calls_values() -> None:
    product, scale = Product(), Scale(3.0)
    a, b, c = (mg.tensor([v], requires_grad=True) for v in (2.0, 5.0, 7.0))
    (first,), (second,) = product(a, b), product(b, c)
    first.backward()
    assert (a.grad.item(), b.grad.item()) == (5.0, 2.0)
    second.backward()
    assert (b.grad.item(), c.grad.item()) == (2.0 + 7.0, 5.0)
    assert scale(a)[0].item() == 6.0
    assert scale.seen == [2.0]
    assert scale.name == "Scale"
    assert scale.requires_grad
    assert scale(scale(a)[0])[0].item() == 18.0 and scale.seen == [6.0]


def test_in_the_documentations_training_loop() -> None:
    w = Tensor(data=np.array([[1.0], [2.0]]), requires_grad=True, stores_grad=True)
    x = Tensor(data=np.array([[3.0, 4.0]]), requires_grad=False)
    (y,) = Scale(0.5)(autograd.matmul(x, w))
    y.stores_grad = True
    pairs = {id(p): g.tolist() for p, g in autograd.backward(autograd.reduce_sum(y))}
    assert pairs == {id(w): [[1.5], [2.0]], id(y): [[1.0]]}


def test_it_is_one_step_of_a_trace() -> None:
    document = trace_function(lambda x: Scale(2.0)(x)[0] * x, 3.0, mode="reverse")
    (node,) = [n["id"] for n in document["nodes"] if n.get("op") == "Scale"]
    (edge,) = [e for e in document["edges"] if e["dst"] == node]
    assert (edge["src"], edge["slot"]) == ("x", 0)
    validate(document)


def test_what_is_kept_does_not_keep_the_graph_alive() -> None:
    class Kept(Scale):
        def forward(self, x):
            self.x, self.y = x, super().forward(x)
            return self.y

    class Same(Operation):
        def forward(self, x):
            return x

        def backward(self, dy):
            return dy

    x = mg.tensor([2.0], requires_grad=True)
    operation = Kept(3.0)
    (y,) = operation(x * 1)
    node = weakref.ref(y.creator)
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()
    (same,) = Same()(x)
    with mg.no_grad():
        same += 1
    assert x.tolist() == [2.0]


def test_what_is_not_there_is_said() -> None:
    x = mg.tensor([2.0], requires_grad=True)
    (y,) = Product()(x, x)
    (g,) = autograd.grad(y, x, create_graph=True)
    assert g.item() == 4.0
    with pytest.raises(mg.errors.AutogradError, match="Product"):
        autograd.grad(g.sum(), x)
    with pytest.raises(mg.errors.AutogradError, match="Scale"):
        mg.func.jvp(lambda v: Scale(2.0)(v)[0], (x,), (x,))

    class Nothing(Operation):
        pass

    with pytest.raises(NotImplementedError, match="Nothing must implement forward"):
        Nothing()(x)

    class Wrong(Scale):
        def backward(self, dy):
            return dy, dy

    with pytest.raises(mg.errors.AutogradError, match="2 gradients; Wrong has 1 inputs"):
        Wrong(1.0)(x)[0].backward()
    assert autograd.Operator is Operation
