"""A tensor among Python's own customs: truth, length, iteration, equality, copying, pickling,
printing, and NumPy beside it.
"""

import copy
import pickle

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import AutogradError, DTypeError, NoGradientError, ShapeError
from tests.helpers.known_answers import Scenarios

s = Scenarios()

# ----------------------------------------------------------------------------- requires_grad, .grad


@s.gives([True, False, True, False])
def the_flag_can_be_set_on_leaves(m):
    x = m.ones(2)
    seen = []
    for value in (True, False, True, False):
        x.requires_grad = value
        seen.append(x.requires_grad)
    return seen


@s.gives([True, True])
def setting_a_flag_that_is_set_is_harmless(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    (y + x).sum().backward()
    x.requires_grad_()
    return x.requires_grad, x.grad is not None


@s.gives([True, False, True, True, True, False, False])
def which_tensors_are_leaves(m):
    a = m.ones(3, requires_grad=True)
    constant = m.ones(3)
    return (
        a.is_leaf,
        (a + 1).is_leaf,
        constant.requires_grad_().is_leaf,
        (m.ones(3) + 1).is_leaf,
        a.detach().is_leaf,
        a.double().is_leaf,
        a[0].is_leaf,
    )


@s.refuses(AutogradError, "requires_grad", "leaf", "detach")
def the_flag_of_a_result(m):
    (m.ones(2, requires_grad=True) * 2).requires_grad = False


@s.refuses(DTypeError, "int64", "floating", "float()")
def integers_have_no_gradient(m):
    m.tensor([1], requires_grad=True)


@s.refuses(DTypeError, "bool", "floating")
def booleans_have_no_gradient(m):
    m.tensor([True]).requires_grad_()


@s.gives([False, False, False])
def results_without_a_derivative_need_no_gradient(m):
    x = m.ones(2, requires_grad=True)
    return (x > 0).requires_grad, x.argmax().requires_grad, x.long().requires_grad


@s.refuses(ShapeError, ".grad", "(2,)", "(3,)", "shape")
def a_grad_of_another_shape(m):
    m.ones(2, requires_grad=True).grad = m.ones(3)


@s.refuses(DTypeError, ".grad", "float32", "float64", "dtype")
def a_grad_of_another_dtype(m):
    m.ones(2, requires_grad=True).grad = m.ones(2, dtype=m.float64)


@s.refuses(DTypeError, "None")
def a_tensor_of_nothing(m):
    m.tensor(None)


@s.refuses(ShapeError, "[[1.0, 2.0], [3.0]]", "differ in length")
def a_tensor_of_unequal_rows(m):
    m.tensor([[1.0, 2.0], [3.0]])


@s.refuses(DTypeError, "takes tensors, arrays and numbers", "None")
def an_operand_that_is_nothing(m):
    m.add(m.ones(2), None)


@s.refuses(TypeError, ".grad", "float", "Tensor or None")
def a_grad_that_is_a_number(m):
    m.ones(2, requires_grad=True).grad = 1.0


@s.refuses(NoGradientError, "its own .grad")
def a_grad_that_is_its_tensor(m):
    x = m.ones(2, requires_grad=True)
    x.grad = x


@s.gives([True, True])
def a_grad_can_be_cleared(m):
    x = m.ones(2, requires_grad=True)
    x.grad = m.ones(2)
    x.grad = None
    first = x.grad is None
    x.grad = m.ones(2)
    del x.grad
    return first, x.grad is None


# -------------------------------------------------------------------------------- numbers and truth


@s.gives([False, True, True, 2.0, 3, True, 2.5, "3.14", [1.0, 2.0], 1 + 2j])
def tensors_of_one_element_are_numbers(m):
    return (
        bool(m.tensor([0.0])),
        bool(m.tensor(2)),
        not m.tensor(0.0),
        float(m.tensor(2.0, requires_grad=True)),
        int(m.tensor([3.7])),
        m.tensor([True]).item(),
        m.tensor([[2.5]]).item(),
        f"{m.tensor(3.14159):.2f}",
        m.tensor([1.0, 2.0]).tolist(),
        m.tensor(1 + 2j).item(),
    )


@s.refuses(RuntimeError, "truth value", "2 elements", "any()", "all()")
def the_truth_of_several(m):
    bool(m.tensor([0.0, 1.0]))


@s.refuses(RuntimeError, "truth value", "0 elements")
def the_truth_of_none(m):
    bool(m.zeros(0))


@s.refuses(RuntimeError, "2 elements", "(2,)")
def the_item_of_several(m):
    m.ones(2).item()


@s.gives([2, [0, 1, 2], 2])
def integer_tensors_are_indices(m):
    return [1, 2, 3][m.tensor(1)], list(range(m.tensor(3))), [1, 2, 3][m.tensor([1])]


@s.refuses(TypeError, "integer", "index")
def floats_are_no_indices(m):
    [1, 2, 3][m.tensor(1.0)]


# ------------------------------------------------------------------------------ sequences, equality


@s.gives([3, [[2], [2], [2]], True, False])
def tensors_are_sequences(m):
    x = m.arange(6).reshape(3, 2)
    return len(x), [r.shape for r in x], 5 in x, 9 in x


@s.gives([2.0, 4.0])
def iterating_keeps_the_history(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    sum(v * v for v in x).backward()
    return x.grad


@s.refuses(TypeError, "0-d")
def the_length_of_a_number(m):
    len(m.tensor(1.0))


@s.refuses(TypeError, "0-d")
def iteration_over_a_number(m):
    list(m.tensor(1.0))


@s.gives([[True, False], [False, True], False, True, True, 2, True, True])
def equality_is_by_element_and_hash_by_identity(m):
    x, y = m.tensor([1.0, 2.0]), m.tensor([1.0, 2.0])
    z = m.tensor([1.0, 3.0])
    table = {x: "x", y: "y"}
    return (
        x == z,
        x != z,
        x == None,  # noqa: E711
        x != None,  # noqa: E711
        hash(x) == hash(x),
        len(table),
        table[x] == "x",
        (x == "text") is False,
    )


# -------------------------------------------------------------------------------------------- NumPy


@s.gives([[7.0, 9.0], [7.0, 9.0]])
def from_numpy_shares(m):
    a = np.array([1.0, 2.0])
    x = m.from_numpy(a)
    a[0] = 7
    x[1] = 9
    return x, a


@s.gives([[5.0, 1.0], "float32"])
def numpy_shares(m):
    x = m.ones(2)
    x.numpy()[0] = 5
    return x, str(x.numpy().dtype)


@s.gives([1.0, 2.0])
def tensor_copies(m):
    a = np.array([1.0, 2.0])
    x = m.tensor(a)
    a[0] = 7
    return x


@s.refuses(AutogradError, "requires grad", "detach().numpy()")
def numpy_of_a_tensor_that_requires_grad(m):
    m.ones(1, requires_grad=True).numpy()


@s.refuses(AutogradError, "requires grad", "detach().numpy()")
def asarray_of_a_tensor_that_requires_grad(m):
    np.asarray(m.ones(1, requires_grad=True))


@s.gives([[2.0, 4.0], "float32", "float64"])
def numpy_scalars_on_the_left(m):
    x = m.ones(2, requires_grad=True) * m.tensor([1.0, 2.0])
    y = np.float32(2) * x
    return y.detach(), (np.float64(2) * x).dtype, (np.float64(2) * x.double()).dtype


@s.gives([[3.0, 8.0], [4.0, 6.0], [-2.0, -2.0], 11.0, [1 / 3, 0.5], True], mine_only=True)
def numpy_arrays_on_the_left(m):
    """PyTorch leaves these to NumPy, which fails for tensors that require grad."""
    a, x = np.array([1.0, 2.0], np.float32), m.tensor([3.0, 4.0], requires_grad=True)
    return (
        (a * x).detach(),
        (a + x).detach(),
        (a - x).detach(),
        (a @ x).detach(),
        (a / x).detach(),
        (a * x).requires_grad,
    )


@s.gives([[1.0, 2.0], 2.0])
def asarray(m):
    return np.asarray(m.tensor([1.0, 2.0])), float(np.array(m.tensor(2.0)))


# ------------------------------------------------------------------------------- copies and pickles


@s.gives([[1.0, 2.0], True, None, [3.0, 3.0], False, True, True])
def copies_of_leaves(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    x.grad = m.tensor([3.0, 3.0])
    pickled = pickle.loads(pickle.dumps(x))
    deep = copy.deepcopy(x)
    shallow = copy.copy(x)
    apart = deep.data_ptr() == x.data_ptr() or deep.grad.data_ptr() == x.grad.data_ptr()
    return (
        pickled.detach(),
        pickled.requires_grad,
        pickled.grad,
        deep.grad,
        apart,
        shallow.data_ptr() == x.data_ptr(),
        shallow.requires_grad,
    )


@s.gives([True, True])
def deepcopy_knows_what_it_has_copied(m):
    x = m.ones(2, requires_grad=True)
    a, b = copy.deepcopy([x, x])
    return a is b, a is not x


@s.refuses(AutogradError, "leaf", "detach")
def a_deep_copy_of_a_result(m):
    copy.deepcopy(m.ones(2, requires_grad=True) * 2)


@s.refuses(AutogradError, "leaf", "detach", mine_only=True)
def a_pickle_of_a_result(m):
    """PyTorch pickles the values and drops the history silently."""
    pickle.dumps(m.ones(2, requires_grad=True) * 2)


@s.gives([[2.0, 2.0], True, [2.0, 2.0]])
def a_clone_stays_in_the_graph(m):
    x = m.ones(2, requires_grad=True)
    y = (x * 1).clone()
    z = y.detach().clone()
    z.mul_(2)
    (y * 2).sum().backward()
    return x.grad, y.requires_grad, z


# ----------------------------------------------------------------------------------------- printing


@s.gives([
    "tensor(2.)",
    "tensor(1.5000)",
    "tensor([1.5000, 2.0000])",
    "tensor([1.0000e-08, 1.0000e+00])",
    "tensor([nan, 1.])",
    "tensor([-1.2500,     inf])",
    "tensor([1.5000+2.j])",
    "tensor([True])",
    "tensor([1., 2.])",
    "tensor([1, 2])",
    "tensor([ True, False])",
    "tensor([[1., 2.],\n        [3., 4.]], requires_grad=True)",
    "tensor([2.], grad_fn=<MulBackward0>)",
    "tensor([])",
    "tensor([], size=(2, 0))",
    "tensor(3)",
])  # fmt: skip
def printed(m):
    return [
        repr(x)
        for x in (
            m.tensor(2.0),
            m.tensor(1.5),
            m.tensor([1.5, 2.0]),
            m.tensor([1e-8, 1.0]),
            m.tensor([float("nan"), 1.0]),
            m.tensor([-1.25, float("inf")]),
            m.tensor([1.5 + 2j]),
            m.tensor([True]),
            m.tensor([1.0, 2.0]),
            m.tensor([1, 2]),
            m.tensor([True, False]),
            m.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True),
            m.tensor([1.0], requires_grad=True) * 2,
            m.zeros(0),
            m.zeros(2, 0),
            m.tensor(3),
        )
    ]


@s.gives(
    [
        name + "Backward0"
        for name in (
            "Add Mul Sin Sum Div Sub Neg Exp Mean Clone Relu Abs Maximum Cat Permute".split()
        )
    ]
)
def names_of_nodes(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    made = (
        x + 1,
        x * 2,
        x.sin(),
        x.sum(),
        x / 2,
        x - 1,
        -x,
        x.exp(),
        x.mean(),
        x.clone(),
        x.relu(),
        x.abs(),
        m.maximum(x, x),
        m.cat([x, x]),
    )
    return [y.grad_fn.name() for y in (*made, x[None].permute(1, 0))]


@s.gives([1, 0, ["MulBackward0", "AccumulateGrad"], ["AccumulateGrad", None], None])
def edges_of_the_graph(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    name = lambda node: node and node.name().split("::")[-1]
    total = (x * 2 + x).sum().grad_fn.next_functions
    product = (x * m.tensor([3.0, 4.0])).grad_fn.next_functions
    return (
        len(total),
        total[0][1],
        [name(n) for n, _ in total[0][0].next_functions],
        [name(n) for n, _ in product],
        x.grad_fn,
    )


test_minigrad, test_pytorch = s.tests()


@pytest.mark.oracle
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int64", "int32", "bool", "complex64"]
)
def test_numbers_are_written_as_pytorch_writes_them(dtype, torch):
    r = np.random.default_rng(0)
    for shape in [(), (0,), (1,), (3,), (2, 3), (2, 0), (2, 3, 4)]:
        for scale in [1, 3, 1e-3, 1e3, 1e9]:
            for values in [
                scale * r.standard_normal(shape),
                np.round(scale * r.standard_normal(shape)),
                np.zeros(shape),
            ]:
                with np.errstate(all="ignore"):
                    a = np.asarray(np.nan_to_num(values).astype(dtype))
                mine, theirs = (
                    repr(mg.tensor(a, requires_grad=dtype[0] == "f")),
                    repr(torch.tensor(a, requires_grad=dtype[0] == "f")),
                )
                assert (
                    mine.split() == theirs.replace("torch.", "").split()
                )  # PyTorch breaks lines earlier for its longer dtype names


def test_long_tensors_are_shortened():
    assert (
        repr(mg.arange(2000.0))
        == "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00, ..., 1.9970e+03, 1.9980e+03,\n       "
        " 1.9990e+03])"
    )
    assert len(repr(mg.zeros(1000, 1000))) < 500


def test_creator_is_grad_fn():
    x = mg.ones(2, requires_grad=True)
    y = x * 2
    assert y.creator is y.grad_fn is not None and x.creator is None
    assert repr(y.grad_fn).startswith("<MulBackward0 object at 0x")


def test_the_repr_of_a_view_with_an_ambiguous_history_does_not_raise():
    x = mg.ones(3, requires_grad=True)
    with mg.no_grad():
        v = x[:2]
        x.add_(1)
    assert repr(v) == "tensor([2., 2.], grad_fn=<Invalid>)"


def test_graphs_are_neither_copied_nor_pickled():
    node = (mg.ones(2, requires_grad=True) * 2).grad_fn
    assert copy.copy(node) is node
    with pytest.raises(TypeError, match="detach"):
        copy.deepcopy(node)
    with pytest.raises(TypeError, match="detach"):
        pickle.dumps(node)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "bool", "complex64"])
def test_copies_keep_dtype_shape_and_values(dtype):
    for shape in [(), (0,), (2, 3), (1, 0, 2)]:
        x = mg.tensor(np.ones(shape, dtype))
        for y in (
            copy.copy(x),
            copy.deepcopy(x),
            pickle.loads(pickle.dumps(x)),
            x.clone(),
            mg.tensor(x),
            x.detach(),
        ):
            assert (y.dtype, y.shape, y.tolist()) == (x.dtype, x.shape, x.tolist())


def test_float16_is_kept_in_both_modes():
    x = mg.tensor([1.0, 2.0], dtype=mg.float16, requires_grad=True)
    y = ((x * 2 + 1).sin() / 3).sum()
    y.backward()
    assert y.dtype == x.grad.dtype == mg.float16
    assert (
        mg.func.jvp(lambda x: x.exp() * 2, (x.detach(),), (mg.ones_like(x),))[1].dtype == mg.float16
    )


def test_operators_leave_strangers_to_python():
    x = mg.ones(2)

    class Stranger:
        def __radd__(self, other):
            return "mine"

    assert x + Stranger() == "mine"
    y = x
    y += Stranger()
    assert y == "mine"
    for operation in (
        lambda: x + "a",
        lambda: x.__class__.__iadd__(x, "a") + 1,
        lambda: x @ None,
        lambda: x < object(),
    ):
        with pytest.raises(TypeError, match=r"unsupported operand|not supported"):
            operation()


def test_the_old_name_of_the_cotangents():
    x = mg.ones(2, requires_grad=True)
    mg.autograd.backward(x * 2, grad_variables=mg.ones(2))
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(TypeError, match="grad_variables"):
        mg.autograd.backward(x * 2, mg.ones(2), grad_variables=mg.ones(2))
