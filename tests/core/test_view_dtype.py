"""`view(dtype)`: the bytes of a tensor as another dtype, in the same memory, as PyTorch reads
them.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import AutogradError, BatchingError, DTypeError, ProgramError, ShapeError
from minigrad.func import vmap
from tests.helpers.tables import in_one_test

NAMES = [
    "float64",
    "float32",
    "float16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "complex64",
    "bool",
]


@pytest.mark.oracle
@in_one_test
@pytest.mark.parametrize("own", NAMES)
@pytest.mark.parametrize("new", NAMES)
@pytest.mark.parametrize("shape", [(), (8,), (2, 3), (0, 4), (3, 1), (2, 2, 4)])
def test_every_dtype_as_every_other(torch, own: str, new: str, shape: tuple[int, ...]) -> None:
    results = []
    for library in (mg, torch):
        try:
            results.append(
                library.ones(shape, dtype=getattr(library, own)).view(getattr(library, new))
            )
        except RuntimeError as error:
            results.append(error)
    ours, theirs = results
    if isinstance(theirs, RuntimeError):
        assert isinstance(ours, ShapeError) and str(ours).startswith("view: ")
        return
    assert tuple(ours.shape) == tuple(theirs.shape) and str(ours.dtype) == new
    assert ours.numpy().tobytes() == theirs.numpy().tobytes()


@pytest.mark.parametrize("new", ["int32", "int16"])
def test_memory_and_version_are_shared(new: str) -> None:
    x = mg.arange(4.0)
    y = x.view(new)
    y.zero_()
    assert x.tolist() == [0.0] * 4 and x._version == y._version == 1
    x.fill_(1.0)
    assert y.view("float32").tolist() == [1.0] * 4 and y._version == 2
    number = mg.tensor(1.0)
    bits = number.view(dtype=mg.int32)
    bits.zero_()
    assert number.item() == 0.0 and bits.shape == ()


def test_the_result_has_no_history_and_a_change_is_noticed() -> None:
    x = mg.ones(3, requires_grad=True)
    y = (x * 1).exp()
    assert not y.view(mg.int32).requires_grad and not y.view(mg.float32).requires_grad
    y.view(mg.int32).zero_()
    with pytest.raises(AutogradError, match=r"overwritten|modified"):
        y.sum().backward()


def test_non_contiguous_layouts_are_viewed_or_refused() -> None:
    x = mg.arange(12.0).reshape(3, 4)
    assert x.T.view(mg.int32).shape == (4, 3) and x[:, ::2].view(mg.int32).shape == (3, 2)
    assert x[:, :2].view(mg.float64).shape == (3, 1)
    for y in (x.T, x[:, ::2], mg.ones(3, 1).expand(3, 4)):
        with pytest.raises(ShapeError, match="last axis must be contiguous"):
            y.view(mg.int16)
    with pytest.raises(ShapeError, match=r"last axis of \(3, 3\) holds 12 bytes"):
        x[:, :3].view(mg.float64)
    with pytest.raises(ShapeError, match="a single number of float32"):
        x[0, 0].view(mg.float64)


def test_bad_arguments_name_the_problem() -> None:
    x = mg.ones(4)
    with pytest.raises(DTypeError, match="names no dtype"):
        x.view("numbers")
    with pytest.raises(DTypeError, match="a dtype of numbers"):
        x.view("datetime64[s]")
    with pytest.raises(TypeError, match="not both"):
        x.view(4, dtype=mg.int32)
    with pytest.raises(BatchingError, match="inside vmap"):
        vmap(lambda v: v.view(mg.int32))(mg.ones(2, 3))
    with pytest.raises(ProgramError, match="while operations are recorded"):
        mg.graph.trace(lambda v: v.view(mg.int32) + 1, x)
    assert x.view(np.int64(2), 2).shape == (2, 2)
