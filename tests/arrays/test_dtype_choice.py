"""Which dtype comes out of mixed operands and of data: PyTorch's choice, for NumPy's scalars,
numbers, 0-d tensors, nested lists.
"""

import copy
import io
import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test

DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
SCALARS = ["int8", "int32", "int64", "float16", "float32", "float64"]
OPERATIONS = {
    "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "radd": lambda a, b: b + a, "eq": lambda a, b: a == b,
    "sub": lambda a, b: a - b, "pow": lambda a, b: a**b,
}  # fmt: skip


def dtype_of(function):
    try:
        return str(function().dtype).removeprefix("torch.")
    except (RuntimeError, TypeError, OverflowError, NotImplementedError):
        return "error"


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_operands_are_promoted_as_by_pytorch(torch, operation):
    do = OPERATIONS[operation]
    for dtype, shape in itertools.product(DTYPES, [(), (2,)]):
        others = [1, 2.5, 1j, True, *(np.dtype(s).type(2) for s in SCALARS)]
        others += [np.ones(s, d) for s, d in itertools.product([(), (2,)], DTYPES)]
        for other in others:
            results = []
            for lib in (mg, torch):
                x = lib.ones(shape, dtype=getattr(lib, dtype))
                y = lib.tensor(other) if isinstance(other, np.ndarray) else other
                results.append(dtype_of(lambda x=x, y=y: do(x, y)))
            ours, theirs = results
            if theirs not in (
                "error",
                "complex32",
            ):  # NumPy has no complex numbers of half precision; what PyTorch refuses may work
                assert ours == theirs, (
                    f"{dtype} {shape} {operation} {other!r}: {ours}, PyTorch: {theirs}"
                )


DATA = [
    "arange(0, m.tensor(3))", "arange(m.tensor(3.0))", "arange(np.int64(3))",
    "arange(np.float64(3))", "tensor([np.float32(1), 2])",
    "tensor([2, np.float64(1)])", "tensor([m.tensor([1.0])])", "tensor([m.tensor(1), 2.5])",
    "tensor([1, 2j])", "Tensor([1, 2])",
    "Tensor([True])", "linspace(1, 2j, 3)", "linspace(0, 1, 3)", "logspace(0, 1j, 3)",
    "full((2,), np.float64(1))",
    "full((2,), np.int32(1))",
    "full((2,), m.tensor(1.0, dtype=m.float64))", "tensor([1, 0], dtype=m.uint8).any()",
    "tensor([[1, 0]], dtype=m.uint8).all(1)",
    "clamp(m.tensor([1, 2]), 1.5)", "where(m.tensor([1, 0], dtype=m.uint8), 1, 2)",
    "tensor([1, 2, -1]) ** m.tensor([1, -1, -3])",
    "tensor([[1.0, 2], [3, 4]]).trace()", "trace(m.tensor([[1, 2], [3, 4]]))",
    "pow(2, m.tensor([1, -1]))",
    "tensor([[]])", "tensor([range(2)])",
]  # fmt: skip


@in_one_test
@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", DATA)
def test_data_gets_the_dtype_that_pytorch_gives_it(torch, text):
    ours, theirs = (eval(f"m.{text}", {"m": lib, "np": np}) for lib in (mg, torch))
    assert str(ours.dtype) == str(theirs.dtype).removeprefix("torch.")
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)
    assert tuple(ours.shape) == tuple(theirs.shape)


@pytest.mark.oracle
def test_copies_and_empty_tensors_have_the_strides_that_pytorch_gives_them(torch):
    """A pickled or deep copied tensor keeps the order of its axes in memory."""
    found = []
    for lib in (mg, torch):
        x = lib.arange(24.0).reshape(4, 6).t()
        file = io.BytesIO()
        lib.save(x, file)
        file.seek(0)
        copies = [pickle.loads(pickle.dumps(x)), copy.deepcopy(x), lib.load(file), x.clone()]
        empty = [lib.zeros(0, 3), lib.zeros(3, 0, 2), lib.zeros(2, 3)[:0], lib.zeros(0)]
        found.append([tuple(t.stride()) for t in (*copies, *empty)])
    assert found[0] == found[1]
    assert (mg.ones(1, dtype=mg.float16) * 1j).dtype == mg.complex64  # NumPy has no smaller one


def test_randint_takes_its_arguments_by_name():
    assert mg.randint(high=5, size=(3,)).shape == (3,)


def test_trace_is_the_package_and_the_function():
    import minigrad.trace

    assert minigrad.trace is mg.trace and mg.trace.TraceError
    x = mg.tensor([[1.0, 2], [3, 4]], requires_grad=True)
    mg.trace(x).backward()
    assert x.grad.tolist() == [[1, 0], [0, 1]]


def test_module_level_names():
    x = mg.tensor([-1.0, 2.0])
    assert mg.relu_(x) is x and x.tolist() == [0, 2]
    assert mg.conv2d is mg.nn.functional.conv2d
    assert mg.nn.functional.relu_(mg.tensor([-1.0])).tolist() == [0]
    with mg.inference_mode():
        assert mg.is_inference_mode_enabled() and not mg.is_inference(x) and not x.is_inference()
        with mg.inference_mode(False):
            assert not mg.is_inference_mode_enabled()
    assert not mg.is_inference_mode_enabled()
    with pytest.raises(AttributeError):
        mg.batch_norm  # PyTorch's takes its arguments in another order there  # noqa: B018


@pytest.mark.oracle
def test_gaussian_nll_variances(torch):
    F, t = mg.nn.functional, torch.nn.functional
    for shape in ((2, 3), (2, 1), (1, 3), (2,)):
        v = np.linspace(0.5, 4, int(np.prod(shape))).reshape(shape)
        ours = F.gaussian_nll_loss(
            mg.zeros(2, 3), mg.ones(2, 3), mg.tensor(v).float(), reduction="none"
        )
        theirs = t.gaussian_nll_loss(
            torch.zeros(2, 3), torch.ones(2, 3), torch.tensor(v).float(), reduction="none"
        )
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


@pytest.mark.parametrize("wanted", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("given", ["float16", "bfloat16"])
def test_half_precision_comes_out_in_the_dtype_asked_for(torch, given, wanted):
    """The functions that compute half precision in float32 rounded their results to the input's
    dtype, whatever `dtype=` said."""
    data = [[1.0, 3.0, 0.1], [300.0, 250.0, 7.0]]
    calls = {
        "vector_norm": lambda m, x, dtype: m.linalg.vector_norm(x, dim=1, dtype=dtype),
        "vector_norm of order 3": lambda m, x, dtype: m.linalg.vector_norm(x, 3, dtype=dtype),
        "norm": lambda m, x, dtype: m.norm(x, 2, 1, dtype=dtype),
        "nanmean": lambda m, x, dtype: m.nanmean(x, 1, dtype=dtype),
        "mean": lambda m, x, dtype: m.mean(x, 1, dtype=dtype),
        "softmax": lambda m, x, dtype: m.softmax(x, 1, dtype=dtype),
    }
    for name, call in calls.items():
        x, y = torch.tensor(data, dtype=getattr(torch, given)), mg.tensor(data).to(given)
        want, got = call(torch, x.double(), torch.float64), call(mg, y, getattr(mg, wanted))
        assert str(got.dtype) == wanted, name
        unit = {"float16": 2.0**-10, "bfloat16": 2.0**-7}.get(wanted, 1e-5)
        np.testing.assert_allclose(
            got.double().numpy(), want.numpy(), rtol=unit, atol=1e-6, err_msg=name
        )
    masked = mg.masked.median(mg.tensor(data).to(given), 1, dtype=getattr(mg, wanted))
    assert str(masked.dtype) == wanted and masked.tolist()[1] == 250


def test_spaced_numbers_between_tensors_and_integers(torch):
    """Ends that are float32 tensors do not make float64 numbers inaccurate; integers are cut off
    at the end alone, not in each exponent."""
    for m in (torch, mg):
        start = m.tensor(-2.0)
        np.testing.assert_allclose(
            m.linspace(start, 0, 50, dtype=m.float64).numpy(), np.linspace(-2, 0, 50), rtol=1e-14
        )
        assert m.logspace(0, 1.2, 4, dtype=m.int64).tolist() == [1, 2, 4, 10]
        assert m.logspace(0, 3, 7, base=2, dtype=m.int32).tolist() == [1, 1, 2, 2, 4, 5, 8]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_random_integers_reach_as_far_as_the_dtype_counts(torch, dtype):
    """PyTorch fills with integers up to 2^24 in float32; in float16 that is infinity."""
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[dtype]
    for m in (torch, mg):
        x = m.zeros(2000).to(getattr(torch, dtype) if m is torch else dtype).random_().double()
        assert 0.9 * 2**digits < x.max().item() <= 2**digits and x.min().item() >= 0


def test_bfloat16_is_a_name_without_ml_dtypes_imported_first():
    code = (
        "import sys, minigrad as mg; assert 'ml_dtypes' not in sys.modules; "
        "print(mg.ones(1, dtype='bfloat16').dtype, mg.ones(1).to('bfloat16').dtype)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.split() == ["bfloat16", "bfloat16"], run.stderr
