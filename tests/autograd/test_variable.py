"""The deprecated Variable: it returns Tensors, on the memory that it was given."""

import pytest

import minigrad as mg
from minigrad.autograd import Variable
from minigrad.errors import DTypeError


def test_variable_returns_a_tensor_on_the_same_memory() -> None:
    data = mg.tensor([1.0, 2.0])
    v = Variable(data, requires_grad=True)
    assert type(v) is mg.Tensor
    assert v is not data
    assert v.requires_grad
    assert v.is_leaf
    assert not data.requires_grad
    assert v.data_ptr() == data.data_ptr()
    (v * v).sum().backward()
    assert v.grad.tolist() == [2.0, 4.0]
    data[0] = 5.0
    assert v.tolist() == v.data.tolist() == [5.0, 2.0]


def test_every_tensor_is_a_variable() -> None:
    assert isinstance(mg.ones(2), Variable)
    assert isinstance(Variable(mg.ones(2)), Variable)
    assert not isinstance(3, Variable)
    assert issubclass(mg.Tensor, Variable)
    assert not issubclass(int, Variable)


def test_variable_without_gradient_or_of_other_data() -> None:
    x = mg.tensor([1.0], requires_grad=True)
    assert not Variable(x).requires_grad
    assert Variable([1.0, 2.0]).tolist() == [1.0, 2.0]
    with pytest.raises(DTypeError, match="floating or complex"):
        Variable(mg.tensor([1]), requires_grad=True)
