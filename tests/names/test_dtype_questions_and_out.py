"""Questions about dtypes, `out=` of functions that join tensors, arguments in PyTorch's order,
what is said of inference tensors.
"""

from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.errors import AutogradError
from tests.helpers.tables import in_one_test

ROOT = Path(__file__).parents[2]


def test_questions_take_tensors_and_dtypes():
    for dtype in (mg.float16, mg.float32, mg.float64):
        x = mg.ones(2, dtype=dtype)
        assert mg.is_floating_point(x)
        assert mg.is_floating_point(dtype)
        assert mg.is_floating_point(x.dtype)
        assert not mg.is_complex(x) and not mg.is_complex(dtype) and not mg.is_complex(x.dtype)
    for dtype in (mg.complex64, mg.complex128):
        assert mg.is_complex(dtype)
        assert mg.is_complex(mg.ones(1, dtype=dtype).dtype)
        assert not mg.is_floating_point(dtype)
    for dtype in (mg.int64, mg.uint8, mg.bool_):
        assert not mg.is_complex(dtype) and not mg.is_floating_point(dtype)
    assert mg.ones(1, dtype=mg.float16).dtype.itemsize == 2
    for wrong in ("float32", 1.0, None):
        with pytest.raises(TypeError, match="a Tensor or a dtype is needed"):
            mg.is_floating_point(wrong)


def test_dtypes_are_numpys_and_take_no_further_attributes():
    """`x.dtype.is_floating_point` is NumPy's AttributeError, which names dtype and attribute; the
    documentation says what to write. NumPy's dtypes can be neither extended nor subclassed."""
    assert mg.float32 is np.dtype("float32") and mg.ones(1).dtype is mg.float32
    for name in ("is_floating_point", "is_complex", "is_signed"):
        with pytest.raises(AttributeError, match=f"Float32DType' object has no attribute '{name}'"):
            getattr(mg.float32, name)
    with pytest.raises((AttributeError, TypeError)):
        mg.float32.is_floating_point = True
    with pytest.raises(TypeError):
        np.dtype.is_floating_point = property(mg.is_floating_point)
    with pytest.raises(TypeError):
        type("Own", (np.dtype,), {})
    assert mg.float32.itemsize == 4 and mg.complex64.itemsize == 8
    for place in (mg, mg.is_floating_point, mg.is_complex):
        assert "dtype" in place.__doc__ and "NumPy's" in place.__doc__
    for page in ("README.md", "lessons/cheat_sheet.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert "mg.is_floating_point(x.dtype)" in text and "NumPy's" in text, page


X, Y = mg.tensor([[1.0, 2.0], [3.0, 4.0]]), mg.tensor([[5.0, 6.0], [7.0, 8.0]])
LOWER, I, J = mg.tensor([[2.0, 0.0], [1.0, 3.0]]), mg.tensor([5, 6]), mg.tensor([3, 4])
JOINING = {
    **dict.fromkeys(
        "cat concat concatenate stack hstack vstack row_stack dstack column_stack".split(),
        ([X, Y],),
    ),
    "bitwise_and": (I, J), "bitwise_or": (I, J), "bitwise_xor": (I, J), "bitwise_not": (I,),
    "complex": (X, Y), "polar": (X, Y),
    "cholesky_inverse": (LOWER,), "cholesky_solve": (X, LOWER),
    "div": (X, Y), "divide": (X, Y), "true_divide": (X, 2),
    "zeros": (2, 3), "ones": ((2, 3),), "full": ((2,), 7.0), "empty": (3,), "eye": (2,),
    "arange": (1, 7, 2), "linspace": (0, 1, 4), "logspace": (0, 1, 3),
}  # fmt: skip


@in_one_test
@pytest.mark.parametrize("name", JOINING)
def test_out_takes_the_result(name):
    function, inputs = getattr(mg, name), JOINING[name]
    wanted = function(*inputs)
    kept, empty = mg.zeros(wanted.shape, dtype=wanted.dtype), mg.empty(0, dtype=wanted.dtype)
    memory = kept.detach()
    assert function(*inputs, out=kept) is kept and memory.tolist() == wanted.tolist()
    assert function(*inputs, out=empty) is empty and empty.tolist() == wanted.tolist()


@pytest.mark.parametrize("name", ["rand", "randn", "randperm", "randint", "normal"])
def test_out_takes_what_is_drawn(name):
    inputs = {"randint": (0, 9, (4,)), "normal": (0.0, 1.0, (4,))}.get(name, (4,))
    mg.manual_seed(0)
    wanted = getattr(mg, name)(*inputs)
    mg.manual_seed(0)
    kept = mg.empty(4, dtype=wanted.dtype)
    assert getattr(mg, name)(*inputs, out=kept) is kept and kept.tolist() == wanted.tolist()


def test_out_is_refused_where_a_listed_tensor_requires_grad():
    with pytest.raises(AutogradError, match="out= cannot be differentiated"):
        mg.cat([X, X.clone().requires_grad_()], out=mg.empty(0))


def test_out_is_refused_where_a_tensor_has_a_tangent():
    with mg.autograd.forward_ad.dual_level():
        dual = mg.autograd.forward_ad.make_dual(mg.ones(2), mg.ones(2))
        for operands, out in (([X[0, :2], dual], mg.empty(0)), ([mg.ones(2), mg.ones(2)], dual)):
            with pytest.raises(AutogradError, match="has a tangent"):
                mg.add(*operands, out=out)
        assert mg.autograd.forward_ad.unpack_dual(dual).primal.tolist() == [1, 1]


def test_rnn_takes_its_arguments_in_the_order_of_pytorch():
    layer = nn.RNN(2, 3, 1, "relu", False, True)
    assert layer.nonlinearity == "relu" and layer.batch_first and not hasattr(layer, "bias_ih_l0")
    assert nn.RNN(2, 3, 2, nonlinearity="relu", bias=True).nonlinearity == "relu"
    with pytest.raises(ValueError, match="nonlinearity must be"):
        nn.RNN(2, 3, 1, True)


def test_tensors_of_inference_mode_are_ordinary_ones():
    """PyTorch refuses to keep them for a backward pass, and to modify them by what requires
    grad.
    """
    w = mg.tensor([2.0], requires_grad=True)
    with mg.inference_mode():
        x, z = w * 3, mg.ones(1)
    assert not x.is_inference() and not x.requires_grad
    assert mg.autograd.grad((x * w).sum(), [w])[0].tolist() == [6]
    z.mul_(w)
    assert mg.autograd.grad(z.sum(), [w])[0].tolist() == [1]


@pytest.mark.parametrize("name", ["as_strided", "storage_offset"])
def test_the_layout_of_memory_is_not_offered_and_says_so(name):
    with pytest.raises(AttributeError, match=r"as_strided_copy|data_ptr"):
        getattr(X, name)


def test_nan_where_the_docstrings_say_what_happens():
    nan = float("nan")
    for function in (mg.amax, mg.amin):
        x = mg.tensor([1.0, nan, nan], requires_grad=True)
        assert mg.autograd.grad(function(x), [x])[0].tolist() == [0, 0.5, 0.5]
    x = mg.tensor([nan], requires_grad=True)
    assert mg.autograd.grad(nn.functional.hardsigmoid(x).sum(), [x])[0].item() == pytest.approx(
        1 / 6
    )
    # NumPy has no complex numbers of half precision
    assert (mg.ones(2, dtype=mg.float16) * 1j).dtype == mg.complex64
