"""scatter_reduce and its relatives at the edges: zeros among factors, integers, numbers, empty
tensors, operands of no dimension, mistakes.
"""

import itertools

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ShapeError

INDEX = mg.tensor([0, 0, 1, 0])
KINDS = ["sum", "prod", "mean", "amax", "amin"]


def test_products_have_derivatives_where_factors_are_zero():
    x = mg.tensor([2.0, 3.0, 5.0], requires_grad=True)
    s = mg.tensor([0.0, 4.0, 0.0, 6.0], requires_grad=True)
    y = mg.scatter_reduce(x, 0, INDEX, s, "prod")
    assert y.tolist() == [0, 0, 5]
    by_x, by_s = mg.autograd.grad(y.sum(), (x, s), create_graph=True)
    assert by_x.tolist() == [0, 0, 1] and by_s.tolist() == [2 * 4 * 6, 0, 3, 0]
    (second,) = mg.autograd.grad(by_s[0], s)
    assert second.tolist() == [0, 12, 0, 8]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.oracle
def test_integers_agree_with_pytorch(torch, kind, own):
    x, s = [7, -3, 5], [2, -5, 4, -4]
    ours = mg.scatter_reduce(mg.tensor(x), 0, INDEX, mg.tensor(s), kind, include_self=own)
    theirs = torch.scatter_reduce(
        torch.tensor(x), 0, torch.tensor(INDEX.tolist()), torch.tensor(s), kind, include_self=own
    )
    assert ours.tolist() == theirs.tolist() and ours.dtype == mg.int64


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_and_nothing(kind):
    number = mg.scatter_reduce(mg.tensor(2.0), 0, mg.tensor(0), mg.tensor(6.0), kind)
    assert number.shape == ()
    assert number.item() == {"sum": 8, "prod": 12, "mean": 4, "amax": 6, "amin": 2}[kind]
    x, nothing = mg.tensor([1.0, 2.0], requires_grad=True), mg.zeros(0)
    y = x.scatter_reduce(0, nothing.to(mg.int64), nothing, kind)
    y.sum().backward()
    assert y.tolist() == [1, 2] and x.grad.tolist() == [1, 1]


OPERANDS = [(), (1,), (3,), (0,), (1, 1), (2, 3)]
PICK_AND_WRITE = {
    "gather": lambda x, i, s: x.gather(0, i),
    "scatter": lambda x, i, s: x.scatter(0, i, s),
    "scatter of a number": lambda x, i, s: x.scatter(0, i, value=2.0),
    "scatter of a 0-d tensor": lambda x, i, s: x.scatter(0, i, value=s.detach().sum()),
    "scatter and add": lambda x, i, s: x.detach().scatter(0, i, s.detach(), reduce="add"),
    "scatter_add": lambda x, i, s: x.scatter_add(0, i, s),
    "scatter_reduce": lambda x, i, s: x.scatter_reduce(0, i, s, "amax"),
}


@pytest.mark.parametrize("call", PICK_AND_WRITE.values(), ids=PICK_AND_WRITE)
@pytest.mark.filterwarnings("ignore:The reduce argument")
@pytest.mark.oracle
def test_operands_of_no_dimension_are_taken_where_pytorch_takes_them(torch, call):
    """With every combination of shapes of x, index and src: the result and its gradients, or a
    ShapeError where PyTorch raises. PyTorch raises in backward for a src larger, or of more
    dimensions, than a 0-d index: these gradients are not compared.
    """

    def outcome(m, *shapes):
        x, s = (m.full(shapes[k], v, requires_grad=True) for k, v in ((0, 1.0), (2, 2.0)))
        y = call(x, m.zeros(shapes[1], dtype=m.int64), s)
        single = {shapes[1], shapes[2]} <= {(), (1,)} and shapes[1:] != ((), (1,))
        if y.requires_grad and single:
            y.sum().backward()
        return tuple(y.shape), y.tolist(), [getattr(t.grad, "tolist", list)() for t in (x, s)]

    for shapes in itertools.product(OPERANDS, repeat=3):
        try:
            expected = outcome(torch, *shapes)
        except (RuntimeError, IndexError):
            with pytest.raises((ShapeError, IndexError), match=r"shape|out of range"):
                outcome(mg, *shapes)
        else:
            assert outcome(mg, *shapes) == expected, shapes


def test_a_value_of_several_elements_is_refused():
    with pytest.raises(ShapeError, match="value must be one number"):
        mg.ones(3).scatter(0, mg.tensor([0]), value=mg.ones(1))


def test_the_in_place_form_writes_into_its_operand():
    x = mg.tensor([1.0, 2.0])
    x.scatter_reduce_(0, mg.tensor([1, 1]), mg.tensor([5.0, 7.0]), "amax")
    assert x.tolist() == [1, 7]


@pytest.mark.parametrize("kind", ["amax", "amin"])
@pytest.mark.parametrize("own", [True, False])
def test_ties_share_the_derivative_in_equal_parts(kind, own):
    """Three equal elements of src; x has an equal one at index 0, which takes part only if it is
    included.
    """
    x, s = mg.tensor([0.5, 2.0], requires_grad=True), mg.tensor([0.5, 0.5, 0.5], requires_grad=True)
    y = mg.scatter_reduce(x, 0, mg.tensor([0, 0, 0]), s, kind, include_self=own)
    by_x, by_s = mg.autograd.grad(y[0], (x, s))
    share = 1 / 4 if own else 1 / 3
    np.testing.assert_allclose(by_s.numpy(), [share] * 3, rtol=1e-6)
    np.testing.assert_allclose(by_x.numpy(), [share if own else 0, 0], rtol=1e-6)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3, 1)])
def test_an_index_of_nothing_may_have_any_shape(torch, shape):
    calls = {
        "gather": lambda m, x, i: m.gather(x, 1, i),
        "scatter": lambda m, x, i: x.scatter(0, i, m.ones(2, 2)),
        "scatter of a number": lambda m, x, i: x.scatter(0, i, 3.0),
        "scatter_add": lambda m, x, i: x.scatter_add(0, i, m.ones(2, 2)),
        "scatter_reduce": lambda m, x, i: x.scatter_reduce(0, i, m.ones(2, 2), "amax"),
    }
    for name, call in calls.items():
        results = []
        for m in (torch, mg):
            x = m.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
            y = call(m, x, m.zeros(shape, dtype=m.int64))
            results.append((tuple(y.shape), y.tolist()))
        assert results[0] == results[1], name
        (g,) = mg.autograd.grad(y.sum(), x)  # PyTorch's raises for scatter
        assert g.tolist() == ([[0, 0], [0, 0]] if name == "gather" else [[1, 1], [1, 1]])
    with pytest.raises(mg.errors.DTypeError):
        mg.gather(mg.ones(2), 0, mg.zeros(shape))


def test_tensors_without_elements_are_inverted(torch):
    for m in (torch, mg):
        nothing = m.ones(0, 0, 1, 2, 3, 0)
        assert tuple(m.linalg.tensorinv(nothing, ind=3).shape) == (2, 3, 0, 0, 0, 1)
        assert tuple(m.linalg.tensorsolve(nothing, m.ones(0, 0)).shape) == (1, 2, 3, 0)
