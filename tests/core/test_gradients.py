"""Where gradients are put: into memory of their own, in the leaf's layout, summed in place,
reported in the order of finality.
"""

import itertools

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.known_answers import Scenarios

s = Scenarios()


@s.gives([True, [4.0, 4.0], 1, False, [4.0, 4.0], [6.0, 6.0]])
def accumulation_is_in_place_without_create_graph(m):
    x = m.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    g = x.grad
    (x * 2).sum().backward()
    same, summed, version = g is x.grad, g.tolist(), g._version
    (x * 2).sum().backward(create_graph=True)  # replaces .grad
    return same, summed, version, g is x.grad, g, x.grad.detach()


@s.gives([True, True, 24.0])
def create_graph_gives_a_differentiable_grad(m):
    x = m.tensor(2.0, requires_grad=True)
    (x**3).backward(create_graph=True)
    first, wants = x.grad, x.grad.requires_grad
    first.backward()  # x.grad itself is added to: 3x² + 6x
    return wants, x.grad is not None, x.grad.detach()


@s.gives([3.0, 3.0])
def accumulation_into_an_assigned_grad(m):
    x = m.ones(2, requires_grad=True)
    x.grad = m.ones(2)
    (x * 2).sum().backward()
    return x.grad


@s.gives([[1, 4], [1, 4], [1, 4]])
def a_dense_leaf_gives_its_strides_to_its_gradient(m):
    x = m.ones(3, 4).t().detach().requires_grad_()
    (x * 2).sum().backward()
    after = x.grad.stride()
    (x * m.ones(4, 3)).sum().backward()
    return x.stride(), after, x.grad.stride()


@s.gives([[6, 2], [3, 1]])
def a_leaf_with_holes_gets_a_row_major_gradient(m):
    x = m.ones(2, 6)[:, ::2].detach().requires_grad_()
    (x * 2).sum().backward()
    return x.stride(), x.grad.stride()


@s.gives([[1, 2], [2.0, 2.0]])
def an_assigned_grad_keeps_its_strides(m):
    x = m.ones(2, 2, requires_grad=True)
    x.grad = m.zeros(2, 2).t()
    (x * 2).sum().backward()
    return x.grad.stride(), x.grad[0]


@s.gives(["float32", "float16", "float64"])
def a_gradient_has_its_leafs_dtype(m):
    x = m.ones(2, dtype=m.float32, requires_grad=True)
    h = m.ones(2, dtype=m.float16, requires_grad=True)
    d = m.ones(2, dtype=m.float64, requires_grad=True)
    (x * h * d).sum().backward()
    return x.grad.dtype, h.grad.dtype, d.grad.dtype


@s.gives([10.0, 10.0, "float16", 11.0])
def half_precision_numbers_accumulate(m):
    x = m.tensor(1.0, dtype=m.float16, requires_grad=True)
    (x * 1 + x * 2 + x * 3 + x * 4).backward()
    once = x.grad.clone()
    x.grad.add_(0)
    y = m.tensor(1.0, dtype=m.float16, requires_grad=True)
    got = m.autograd.grad(y * 1 + y * 2 + y * 3 + y * 4, y)[0]
    got.add_(1)  # the result is an ordinary tensor, which can be written to
    return once, x.grad, x.grad.dtype, got


@s.gives([[1.0, 1.0], [2.0, 2.0]])
def the_callers_seed_is_left_alone(m):
    x = m.ones(2, requires_grad=True)
    seed = m.ones(2)
    y = x + x  # the seed goes to x twice and is summed there
    y.backward(seed, retain_graph=True)
    return seed, x.grad


test_minigrad, test_pytorch = s.tests()


# -------------------------------------------------------------------------------- nothing is shared


def addresses(tensors):
    spans = []
    for t in tensors:
        start = t.data_ptr()
        spans.append((start, start + t.array.nbytes))
    return spans


def assert_apart(tensors):
    spans = sorted(addresses(tensors))
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans)), (
        "two of the tensors share memory"
    )


def passing_operations():
    """Operations whose rule hands the cotangent on as it is, or a window of it: where aliases
    come from.
    """
    return {
        "add": lambda x, z: x + z,
        "sub": lambda x, z: x - z,
        "clone": lambda x, z: x.clone() + z.clone(),
        "reshape": lambda x, z: x.reshape(4) + z.reshape(4),
        "transpose": lambda x, z: x.t() + z.t(),
        "sum": lambda x, z: x.sum() + z.sum(),
        "expand": lambda x, z: x.expand(3, 2, 2) + z.expand(3, 2, 2),
        "cat": lambda x, z: mg.cat([x, z, x]),
        "getitem": lambda x, z: x[0] + z[0],
        "where": lambda x, z: mg.where(x > 0, x, z),
        "maximum": lambda x, z: mg.maximum(x, z),
        "mul": lambda x, z: x * z,
        "matmul": lambda x, z: x @ z,
        "complex parts": lambda x, z: mg.complex(x, z).real + z,
    }


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", passing_operations())
def test_gradients_share_memory_with_nothing(name, create_graph):
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    z = mg.tensor([[0.5, 2.0], [5.0, 4.0]], requires_grad=True)
    y = passing_operations()[name](x, z)
    seed = mg.ones(y.shape)
    y.retain_grad()
    y.backward(seed, create_graph=create_graph, retain_graph=True)
    assert_apart([x, z, x.grad, z.grad, y.grad, seed])
    first = [x.grad.tolist(), z.grad.tolist(), y.grad.tolist(), seed.tolist()]
    x.grad.detach().zero_()
    assert [z.grad.tolist(), y.grad.tolist(), seed.tolist()] == first[1:]
    x.grad = z.grad = None
    y.backward(
        seed, retain_graph=True
    )  # nor with saved data: the second pass finds everything as it was
    assert [x.grad.tolist(), z.grad.tolist()] == first[:2]


@pytest.mark.parametrize("name", passing_operations())
def test_results_of_grad_share_memory_with_nothing(name):
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    z = mg.tensor([[0.5, 2.0], [5.0, 4.0]], requires_grad=True)
    y = passing_operations()[name](x, z)
    seed = mg.ones(y.shape)
    gx, gz, gy = mg.autograd.grad(y, [x, z, y], seed)
    assert_apart([x, z, gx, gz, gy, seed])


def test_backward_of_chosen_inputs_shares_no_memory():
    x = mg.ones(2, requires_grad=True)
    y = x * 1
    z = y.clone()
    w = z.clone()
    seed = mg.ones(2)
    w.backward(seed, inputs=[y, z], retain_graph=True)
    assert_apart([y.grad, z.grad, seed])
    w.backward(seed, inputs=[y, z])
    assert y.grad.tolist() == [2, 2] and seed.tolist() == [1, 1]


@pytest.mark.parametrize("given", ["y", "yy", "zy", "xy", "x", "xx", "zx"])
@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("retained", [True, False])
def test_a_chosen_input_gets_its_gradient_once_in_each_pass(given, passes, retained):
    """Also if it is named twice, or retains its gradient anyway, as in PyTorch."""
    x = mg.ones(2, requires_grad=True)
    tensors = {"x": x, "y": x * 2}
    tensors["z"] = tensors["y"] * 3
    if retained:
        tensors["y"].retain_grad()
    for _ in range(passes):
        total = (tensors["z"] ** 2).sum()
        total.backward(inputs=[tensors[name] for name in given], retain_graph=True)
    expected = {"x": 72.0, "y": 36.0, "z": 12.0}
    for name in given:
        assert tensors[name].grad.tolist() == [passes * expected[name]] * 2
    if "x" not in given:
        assert x.grad is None


def test_a_plain_pass_after_a_recorded_one_leaves_a_chosen_input_a_plain_gradient():
    x = mg.ones(2, requires_grad=True)
    y = x * 2
    total = (y**3).sum()
    total.backward(inputs=[y], create_graph=True)
    assert y.grad.requires_grad
    total.backward(inputs=[y])
    assert y.grad.tolist() == [24, 24] and not y.grad.requires_grad


def test_a_leaf_used_in_many_ways_keeps_a_private_gradient_between_passes():
    x = mg.ones(3, requires_grad=True)
    kept = []
    for k in range(4):
        (x * k + x).backward(mg.ones(3))
        kept.append(x.grad)
    assert all(g is kept[0] for g in kept) and x.grad.tolist() == [10, 10, 10]


# --------------------------------------------------------------- stores_grad and the reported pairs


def test_pairs_come_in_the_order_in_which_gradients_become_final():
    """The last layer's parameters first: each can be updated (or sent to another machine) while
    the pass goes on.
    """
    w = [mg.tensor([[0.1 * k, 0.3], [0.2, 0.5]], requires_grad=True) for k in range(1, 4)]
    h = mg.ones(1, 2)
    for p in w:
        h = (h @ p).tanh()
    pairs = mg.autograd.backward(h.sum())
    assert [p for p, _ in pairs] == w[::-1]
    for p, g in pairs:
        assert g.tolist() == p.grad.tolist() and g.data_ptr() != p.grad.data_ptr()


def test_a_shared_parameter_becomes_final_with_its_last_contribution():
    first, shared = mg.tensor(2.0, requires_grad=True), mg.tensor(3.0, requires_grad=True)
    y = (first * shared).sin() * shared
    pairs = mg.autograd.backward(y)
    assert len(pairs) == 2 and {id(p) for p, _ in pairs} == {id(first), id(shared)}
    assert pairs[0][1].item() == pairs[0][0].grad.item()


def test_a_pair_reports_this_pass_and_grad_the_sum():
    x = mg.tensor(2.0, requires_grad=True)
    mg.autograd.backward(x * 3)
    ((p, g),) = mg.autograd.backward(x * 5)
    assert p is x and g.item() == 5 and x.grad.item() == 8


def test_gradients_are_stored_where_stores_grad_says_so():
    x = mg.Tensor(np.ones(2, np.float32), requires_grad=True, stores_grad=False)
    y = mg.Tensor(np.ones(2, np.float32), stores_grad=True)  # implies requires_grad
    assert y.requires_grad and y.stores_grad and x.requires_grad and not x.stores_grad
    middle = x * y
    middle.stores_grad = True
    pairs = mg.autograd.backward(middle.sum())
    assert {id(p) for p, _ in pairs} == {id(middle), id(y)}
    assert x.grad is None and y.grad.tolist() == [1, 1] and middle.grad.tolist() == [1, 1]
    x.stores_grad = True
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    x.stores_grad = False
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2] and x.requires_grad
    plain = mg.ones(2)
    assert not plain.stores_grad
    plain.stores_grad = False
    assert not plain.requires_grad
    plain.stores_grad = True
    assert plain.requires_grad and plain.is_leaf
    with pytest.raises(mg.errors.DTypeError, match="int64"):
        mg.tensor([1]).stores_grad = True


def test_a_gradient_may_be_kept_over_a_dropped_leaf():
    """A leaf that the program dropped still takes part: its gradient is reported with a tensor
    made for it.
    """
    y = mg.tensor([1.0, 2.0], requires_grad=True) * 3
    ((leaf, g),) = mg.autograd.backward(y.sum())
    assert leaf.tolist() == [1, 2] and g.tolist() == [3, 3] and leaf.grad.tolist() == [3, 3]
