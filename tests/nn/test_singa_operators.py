"""SINGA's 75 operators and its layers under their names, with ONNX semantics, and the two
trainings of its documentation.
"""

# tables: one case a line

import math

import numpy as np
import pytest
from minigrad.tensor import Tensor

import minigrad as mg
from minigrad import autograd, opt, tensor
from minigrad.singa import NAMES
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import normal

A, B = normal(3, 4), normal(3, 4, seed=1)
P = abs(A) % 0.9 + 0.05
"""Numbers strictly between 0 and 1."""
ROW, COLUMN, BATCH = normal(4), normal(3, 1), normal(2, 3, 4)
GATE, OTHER = A > 0, B > 0


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


ELU = lambda x, a: np.where(x > 0, x, a * (np.exp(x) - 1))
TABLE = {
    # name: list of (positional arguments, keyword arguments, what NumPy says)
    "mean": [(([A, B],), {}, (A + B) / 2), ((A, B, COLUMN), {}, (A + B + COLUMN) / 3)],
    "relu": [((A,), {}, A * (A > 0))],
    "less": [((A, ROW), {}, A < ROW)],
    "clip": [((A,), {"min": -0.5, "max": 0.5}, np.clip(A, -0.5, 0.5)),
        ((A,), {"max": 0.1}, np.minimum(A, 0.1)), ((A,), {}, A)],
    "identity": [((A,), {}, A)],
    "matmul": [((A, B.T), {}, A @ B.T)],
    "greater": [((COLUMN, ROW), {}, COLUMN > ROW)],
    "add_bias": [((A, ROW), {}, A + ROW), ((A, ROW[None]), {"axis": 0}, A + ROW),
        ((A, COLUMN[:, 0]), {"axis": 1}, A + COLUMN)],
    "reshape": [((A, [2, 6]), {}, A.reshape(2, 6)), ((BATCH, (0, -1)), {}, BATCH.reshape(2, 12))],
    "prelu": [((A, ROW), {}, np.where(A < 0, A * ROW, A)),
        ((ROW, COLUMN), {}, np.where(ROW < 0, ROW * COLUMN, ROW + 0 * COLUMN))],
    "add": [((A, ROW), {}, A + ROW), ((ROW, COLUMN), {}, ROW + COLUMN)],
    "equal": [((np.round(A), np.round(B)), {}, np.round(A) == np.round(B))],
    "elu": [((A,), {}, ELU(A, 1)), ((A,), {"alpha": 0.3}, ELU(A, 0.3))],
    "selu": [((A,), {}, 1.0507 * ELU(A, 1.67326)),
        ((A,), {"alpha": 2.0, "gamma": 3.0}, 3 * ELU(A, 2))],
    "softmax": [((A,), {}, softmax(A, 1)), ((A,), {"axis": 0}, softmax(A, 0)),
        ((BATCH,), {"axis": -2}, softmax(BATCH, 1))],
    "sum": [(([A, B, ROW],), {}, A + B + ROW), ((A,), {}, A)],
    "cross_entropy": [((softmax(A, 1), np.eye(4)[[0, 3, 1]]), {},
        -np.log(softmax(A, 1))[range(3), [0, 3, 1]].mean()),
        ((softmax(A, 1), np.array([0, 3, 1])), {},
            -np.log(softmax(A, 1))[range(3), [0, 3, 1]].mean()),
                      ((softmax(ROW, 0), np.eye(4)[2]), {}, -np.log(softmax(ROW, 0))[2]),
                      ((softmax(A, 1), softmax(B, 1)), {},
                          -(softmax(B, 1) * np.log(softmax(A, 1))).sum() / 3)],
    "softmax_cross_entropy": [((A, softmax(B, 1)), {},
        -(softmax(B, 1) * np.log(softmax(A, 1))).sum() / 3)] + [((A, t), {},
        -np.log(softmax(A, 1))[range(3), [0, 3, 1]].mean()) for t in (np.array([0, 3, 1]),
        np.array([[0.0], [3.0], [1.0]]), np.eye(4)[[0, 3, 1]], np.eye(4, dtype=int)[[0, 3, 1]])],
    "mse_loss": [((A, B), {}, ((A - B) ** 2).mean())],
    "flatten": [((BATCH,), {}, BATCH.reshape(2, 12)), ((BATCH,), {"axis": 2}, BATCH.reshape(6, 4)),
        ((BATCH,), {"axis": 0}, BATCH.reshape(1, 24)),
        ((BATCH,), {"axis": 3}, BATCH.reshape(24, 1))],
    "cat": [(((A, B), 1), {}, np.concatenate([A, B], 1)),
        (((A, B),), {"axis": -2}, np.concatenate([A, B], 0))],
    "tanh": [((A,), {}, np.tanh(A))],
    "cos": [((A,), {}, np.cos(A))],
    "cosh": [((A,), {}, np.cosh(A))],
    "acos": [((P,), {}, np.arccos(P))],
    "acosh": [((P + 1,), {}, np.arccosh(P + 1))],
    "sin": [((A,), {}, np.sin(A))],
    "sinh": [((A,), {}, np.sinh(A))],
    "asin": [((P,), {}, np.arcsin(P))],
    "asinh": [((A,), {}, np.arcsinh(A))],
    "tan": [((P,), {}, np.tan(P))],
    "atan": [((A,), {}, np.arctan(A))],
    "atanh": [((P,), {}, np.arctanh(P))],
    "sigmoid": [((A,), {}, 1 / (1 + np.exp(-A)))],
    "mul": [((A, ROW), {}, A * ROW), ((ROW, COLUMN), {}, ROW * COLUMN)],
    "unsqueeze": [((A,), {}, A[..., None]), ((A, 0), {}, A[None]),
        ((A,), {"axis": [0, -1]}, A[None, ..., None])],
    "transpose": [((BATCH, (1, 2, 0)), {}, BATCH.transpose(1, 2, 0)), ((BATCH,), {}, BATCH.T)],
    "abs": [((A,), {}, abs(A))],
    "exp": [((A,), {}, np.exp(A))],
    "leakyrelu": [((A,), {}, np.where(A > 0, A, 0.01 * A)),
        ((A,), {"a": 0.3}, np.where(A > 0, A, 0.3 * A))],
    "sign": [((A,), {}, np.sign(A))],
    "pow": [((P, ROW), {}, P**ROW), ((P, A), {}, P**A)],
    "softsign": [((A,), {}, A / (1 + abs(A)))],
    "sqrt": [((P,), {}, np.sqrt(P))],
    "softplus": [((A,), {}, np.log(1 + np.exp(A)))],
    "sub": [((A, ROW), {}, A - ROW)],
    "min": [(([A, B, ROW],), {}, np.minimum(np.minimum(A, B), ROW))],
    "log": [((P,), {}, np.log(P))],
    "hardsigmoid": [((3 * A,), {}, np.clip(0.6 * A + 0.5, 0, 1)),
        ((A,), {"alpha": 0.7, "gamma": 0.1}, np.clip(0.7 * A + 0.1, 0, 1))],
    "squeeze": [((A[:, None, :, None],), {}, A), ((A[:, None, :, None], [1]), {}, A[:, :, None]),
        ((A[:, None],), {"axis": -2}, A)],
    "div": [((A, P), {}, A / P), ((ROW, COLUMN), {}, ROW / COLUMN)],
    "shape": [((BATCH,), {}, np.array([2, 3, 4]))],
    "max": [(([A, B, ROW],), {}, np.maximum(np.maximum(A, B), ROW))],
    "_and": [((GATE, OTHER), {}, GATE & OTHER), ((GATE, OTHER[0]), {}, GATE & OTHER[0])],
    "_or": [((GATE, OTHER), {}, GATE | OTHER)],
    "_not": [((GATE,), {}, ~GATE)],
    "_xor": [((GATE, OTHER), {}, GATE ^ OTHER)],
    "negative": [((A,), {}, -A)],
    "reciprocal": [((P,), {}, 1 / P)],
    "gemm": [((A, B.T), {}, A @ B.T),
        ((A, B, COLUMN), {"alpha": 2.0, "beta": 0.5, "transB": 1}, 2 * A @ B.T + 0.5 * COLUMN),
        ((A, B, ROW), {"transA": 1}, A.T @ B + ROW)],
    "constant_of_shape": [((np.array([2, 3]),), {}, np.zeros((2, 3), "float32")),
        ((np.array([2]),), {"value": np.array([7])}, np.array([7, 7])),
        ((np.array([], int),), {}, np.zeros((), "float32"))],
    "reduce_sum": [((BATCH,), {}, BATCH.sum(keepdims=True)),
        ((BATCH, [0, -1]), {"keepdims": 0}, BATCH.sum((0, 2))),
        ((BATCH,), {"axes": [1]}, BATCH.sum(1, keepdims=True))],
    "reduce_mean": [((BATCH,), {}, BATCH.mean(keepdims=True)),
        ((BATCH, [0, -1], 0), {}, BATCH.mean((0, 2)))],
    "slice": [((BATCH, [1, 0], [3, 2], [1, -1]), {}, BATCH[:, 1:3, 0:2]),
        ((BATCH, [0], [100]), {}, BATCH),
        ((BATCH, [3, -1], [-100, 0], [2, 1], [-2, -1]), {}, BATCH[:, -1:0:-1, 3::-2])],
    "ceil": [((A,), {}, np.ceil(A))],
    "gather": [((BATCH, 1, [2, 0, 2]), {}, BATCH[:, [2, 0, 2]]),
        ((BATCH, -1, np.array([[0, -1], [1, 1]])), {}, BATCH[..., [[0, -1], [1, 1]]])],
    "tile": [((A, [2, 3]), {}, np.tile(A, (2, 3))), ((A, np.array([2])), {}, np.tile(A, 2)),
        ((A, (2, 1, 3)), {}, np.tile(A, (2, 1, 3)))],
    "nonzero": [((np.array([[0, 3, 0], [1, 0, 2]]),), {}, np.array([[0, 1, 1], [1, 0, 2]]))],
    "cast": [((3 * A, "int64"), {}, (3 * A).astype("int64")),
        ((A, "float32"), {}, A.astype("float32")), ((A, mg.bool_), {}, A != 0)],
    "onehot": [((-1, [0, 2, -1, 5], 3, [2.0, 9.0]), {},
        np.array([[9, 2, 2], [2, 2, 9], [2, 2, 9], [2, 2, 2]], "float32")),
        ((0, np.array([[1], [0]]), 2, np.array([0, 1])), {}, np.array([[[0], [1]], [[1], [0]]]))],
}  # fmt: skip
FLAT = [
    "less",
    "greater",
    "equal",
    "shape",
    "_and",
    "_or",
    "_not",
    "_xor",
    "constant_of_shape",
    "nonzero",
    "onehot",
]
"""What has no derivative."""
OWN_TESTS = {"conv2d", "batchnorm_2d", "pooling_2d", "dropout", "split"}


def test_all_75_are_there_and_tested() -> None:
    assert len(set(NAMES)) == 75
    assert all(callable(getattr(autograd, name)) for name in NAMES)
    assert set(TABLE) | OWN_TESTS == set(NAMES)
    for heading in (
        "Equal",
        "Mul",
        "SoftSign",
        "SoftPlus",
        "MeanSquareError",
        "Pooling2d",
        "constantOfShape",
        "reduceSum",
        "reduceMean",
    ):
        assert callable(getattr(autograd, heading))
    with pytest.raises(AttributeError, match="no attribute"):
        autograd.nothing_of_this_name  # noqa: B018


CALLS = [(name, i) for name, calls in TABLE.items() for i in range(len(calls))]


def leaves(args):
    """Arrays (and lists of arrays) as tensors, leaves if they hold fractions (whole numbers are
    indices and classes); other arguments as they are.
    """
    made: list[Tensor] = []

    def convert(a):
        if isinstance(a, np.ndarray):
            made.append(
                mg.tensor(a, requires_grad=a.dtype.kind == "f" and bool((a != np.round(a)).any()))
            )
            return made[-1]
        return (
            type(a)(convert(x) for x in a)
            if isinstance(a, list | tuple) and any(isinstance(x, np.ndarray) for x in a)
            else a
        )

    return [convert(a) for a in args], [x for x in made if x.requires_grad]


@in_one_test
@pytest.mark.parametrize(("name", "number"), CALLS, ids=[f"{n}-{i}" for n, i in CALLS])
def test_each_operator_gives_its_value_and_gradients(name: str, number: int) -> None:
    """Values and dtypes; a derivative against central differences where there is one, and none
    where there is none.
    """
    args, kwargs, want = TABLE[name][number]
    function = getattr(autograd, name)
    inputs, variables = leaves(args)
    y = function(*inputs, **kwargs)
    want = np.asarray(want)
    assert y.shape == want.shape and y.dtype == want.dtype
    np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-12, atol=1e-12)
    if name in FLAT or want.dtype.kind != "f":
        assert not y.requires_grad
        return
    assert y.requires_grad
    if want.dtype == "float32":
        return

    def through(*values):
        rest = iter(values)
        swap = lambda a: (
            next(rest)
            if isinstance(a, Tensor) and a.requires_grad
            else type(a)(swap(x) for x in a)
            if isinstance(a, list | tuple)
            else a
        )
        return function(*[swap(a) for a in inputs], **kwargs)

    assert autograd.gradcheck(through, variables, eps=1e-6, atol=1e-6)


def test_split_gives_the_parts_and_joins_their_gradients() -> None:
    x = mg.tensor(BATCH, requires_grad=True)
    for a, b in zip(autograd.split(x, 2, [1, 3]), (BATCH[..., :1], BATCH[..., 1:]), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b)
    first, second = autograd.split(x, axis=-3, num_output=2)
    (first.sum() + 2 * second.sum()).backward()
    np.testing.assert_array_equal(
        x.grad.numpy(), np.array([1.0, 2.0])[:, None, None] * np.ones(BATCH.shape)
    )
    # the last may be shorter
    assert [p.shape[0] for p in autograd.split(mg.arange(7), 0, num_output=4)] == [2, 2, 2, 1]
    for wrong in ({"parts": [1, 1]}, {"num_output": 3}, {}):
        with pytest.raises(mg.errors.ShapeError, match="split"):
            autograd.split(x, 2, **wrong)


def test_integers_stay_integers() -> None:
    a, b = mg.tensor([7, -7, 6]), mg.tensor([2, 2, 3])
    assert autograd.div(a, b).tolist() == [3, -3, 2] and autograd.div(a, b).dtype == mg.int64
    assert autograd.div(a, b.float()).tolist() == [3.5, -3.5, 2.0]
    assert autograd.div(a.float(), 2).dtype == mg.float32
    y = autograd.pow(b, mg.tensor([1.5, 2.0, -1.0]))
    assert y.tolist() == [2, 4, 0] and y.dtype == mg.int64
    x = mg.tensor([2.0], requires_grad=True)
    autograd.pow(x, 3).backward()
    assert x.grad.tolist() == [12.0]


def test_a_sum_of_integers_keeps_their_dtype() -> None:
    x = mg.tensor(np.array([[1, 2], [3, 250]], "uint8"))
    assert autograd.reduce_sum(x, 1).dtype == "uint8"
    assert autograd.reduce_sum(x, 1).tolist() == [[3], [253]]
    assert autograd.reduce_sum(x.to("int32"), [0], keepdims=0).tolist() == [4, 252]
    assert autograd.reduce_sum(x.to("int32")).dtype == "int32"
    assert autograd.reduce_sum(x > 2).dtype == mg.int64  # a count
    assert autograd.reduce_mean(x.double(), -1, 0).tolist() == [1.5, 126.5]


def test_pooling_with_wide_padding() -> None:
    """A handle's padding may be wider than half of the window, as in ONNX; it never is a
    maximum, not even of integers.
    """
    x = mg.arange(1, 10).reshape(1, 1, 3, 3)
    handle = autograd.PoolingHandle(x, (3, 3), (1, 1), (2, 2))
    corner = autograd.pooling_2d(handle, -x)
    assert corner.shape == (1, 1, 5, 5)
    assert corner.dtype == mg.int64
    assert corner[0, 0, 0].tolist() == [-1, -1, -1, -2, -3]
    mean = autograd.pooling_2d(autograd.PoolingHandle(x, (3, 3), (1, 1), (2, 2), False), x.double())
    # of what is there: padding does not count
    np.testing.assert_allclose(mean[0, 0, 0].numpy(), [1, 1.5, 2, 2.5, 3])
    np.testing.assert_allclose(mean[0, 0, 1].numpy(), [2.5, 3, 3.5, 4, 4.5])
    nothing = autograd.pooling_2d(
        autograd.PoolingHandle(x, (1, 1), (1, 1), (1, 1), False), x.double()
    )
    assert autograd.pooling_2d(autograd.PoolingHandle(x, (3, 3), (1, 1), (1, 1), False), x)[
        0, 0, 0
    ].tolist() == [3, 3, 4]  # whole parts
    assert nothing[0, 0].tolist() == [
        [0, 0, 0, 0, 0],
        [0, 1, 2, 3, 0],
        [0, 4, 5, 6, 0],
        [0, 7, 8, 9, 0],
        [0, 0, 0, 0, 0],
    ]


def test_the_layers_mean_leaves_out_the_padding() -> None:
    x = mg.tensor(np.arange(12.0).reshape(1, 1, 3, 4), requires_grad=True)
    y = autograd.AvgPool2d(3, 1, padding=1)(x)
    assert y.shape == (1, 1, 3, 4)
    # of four, six, six and four elements
    np.testing.assert_allclose(y.detach().numpy()[0, 0, 0], [2.5, 3, 4, 4.5])
    handle = autograd.PoolingHandle(x, 3, 1, 1, False)
    np.testing.assert_allclose(
        autograd.pooling_2d(handle, x).detach().numpy(), y.detach().numpy(), rtol=1e-12
    )
    assert autograd.gradcheck(
        lambda v: autograd.pooling_2d(handle, v, odd_padding=(0, 1, 2, 0)), [x]
    )
    y[0, 0, 0, 0].backward()
    assert x.grad[0, 0].tolist() == [[0.25, 0.25, 0, 0], [0.25, 0.25, 0, 0], [0, 0, 0, 0]]


def test_global_pool_and_similarity() -> None:
    x = mg.tensor(np.arange(24.0).reshape(2, 3, 2, 2), requires_grad=True)
    y = autograd.globalaveragepool(x)
    np.testing.assert_array_equal(
        y.detach().numpy(), x.detach().numpy().mean((2, 3), keepdims=True)
    )
    last = autograd.globalaveragepool(x.permute(0, 2, 3, 1), data_format="channels_last")
    assert last.shape == (2, 1, 1, 3) and last.tolist() == y.permute(0, 2, 3, 1).tolist()
    y.sum().backward()
    assert (x.grad == 0.25).all()
    a, b = mg.tensor([[3.0, 4.0], [1.0, 0.0]]), mg.tensor([[4.0, 3.0], [0.0, 2.0]])
    np.testing.assert_allclose(autograd.cossim(a, b).numpy(), [0.96, 0.0], rtol=1e-6)
    loss = autograd.qa_lstm_loss(mg.tensor([0.9, 0.5]), mg.tensor([0.1, 0.6]), M=0.2)
    np.testing.assert_allclose(loss.item(), 0.15, rtol=1e-6)
    with pytest.raises(ValueError, match="channels_first"):
        autograd.globalaveragepool(x, "NHWC")


@pytest.fixture
def training():
    """The switch on during a test."""
    autograd.training = True
    yield
    autograd.training = False


@pytest.mark.oracle
@pytest.mark.parametrize("odd", [(0, 0, 0, 0), (1, 0, 0, 2)])
def test_conv2d_and_pooling_with_odd_padding(torch, odd) -> None:
    x, w, b = normal(2, 3, 6, 7), normal(4, 3, 3, 2), normal(4)
    above, below, left, right = odd
    ours = [mg.tensor(a, requires_grad=True) for a in (x, w, b)]
    theirs = [torch.tensor(a, requires_grad=True) for a in (x, w, b)]
    handle = autograd.ConvHandle(ours[0], (3, 2), (2, 1), (1, 0), 3, 4, True)
    y = autograd.conv2d(handle, *ours, odd_padding=odd)
    around = lambda value: torch.nn.functional.pad(
        theirs[0], (left, right, above, below), value=value
    )
    z = torch.nn.functional.conv2d(around(0.0), *theirs[1:], stride=(2, 1), padding=(1, 0))
    pairs = [(y, z)]
    for is_max in (True, False):
        pooling = autograd.PoolingHandle(ours[0], (3, 3), (2, 2), (1, 1), is_max)
        if is_max:
            reference = torch.nn.functional.max_pool2d(around(-math.inf), 3, 2, 1)
        else:
            inside = torch.nn.functional.pad(
                torch.ones_like(theirs[0]), (left + 1, right + 1, above + 1, below + 1)
            )
            share = torch.nn.functional.avg_pool2d(inside, 3, 2)
            reference = torch.nn.functional.avg_pool2d(around(0.0), 3, 2, 1) / torch.where(
                share == 0, 1.0, share
            )
        pairs.append((autograd.pooling_2d(pooling, ours[0], odd_padding=odd), reference))
    for a, c in pairs:
        np.testing.assert_allclose(a.detach().numpy(), c.detach().numpy(), atol=1e-12)
    sum((a**2).sum() for a, _ in pairs).backward()
    sum((c**2).sum() for _, c in pairs).backward()
    for a, c in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), c.grad.numpy(), atol=1e-10)


@pytest.mark.oracle
def test_batchnorm_2d_follows_the_switch(torch) -> None:
    x = normal(4, 3, 5, 5)
    scale = normal(3)
    bias = normal(3)
    mean = normal(3)
    variance = abs(normal(3)) + 1
    ours = [mg.tensor(a) for a in (mean, variance)]
    theirs = [torch.tensor(a) for a in (mean, variance)]
    handle = autograd.BatchNormHandle(0.7, x)
    for on in (True, False):
        autograd.training = on
        try:
            y = autograd.batchnorm_2d(
                handle, mg.tensor(x), mg.tensor(scale), mg.tensor(bias), *ours
            )
        finally:
            autograd.training = False
        z = torch.nn.functional.batch_norm(
            torch.tensor(x), *theirs, torch.tensor(scale), torch.tensor(bias), on, 0.3
        )
        np.testing.assert_allclose(y.numpy(), z.numpy(), atol=1e-12)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-12)


def test_dropout_follows_the_switch(training) -> None:
    mg.manual_seed(0)
    x = mg.ones(100, 10, requires_grad=True)
    y = autograd.dropout(x, 0.4)
    y.sum().backward()
    np.testing.assert_array_equal(y.detach().numpy(), x.grad.numpy())
    np.testing.assert_allclose(np.unique(y.detach().numpy()), [0, 1 / 0.6], rtol=1e-6)
    autograd.training = False
    assert autograd.dropout(x, 0.4) is x
    assert autograd.Dropout(0.4)(x) is x
    with pytest.raises(ValueError, match="ratio"):
        autograd.dropout(x, 1.0)


# -------------------------------------------------------------------- the documentation's trainings


@pytest.mark.oracle
def test_the_operations_only_network(torch, training) -> None:
    """The losses of ten steps are PyTorch's, to rounding of float32."""
    rng = np.random.default_rng(0)
    data = rng.standard_normal((200, 2)).astype("float32")
    label = (data[:, 0] > data[:, 1]).astype("int32")
    mg.manual_seed(1)
    w0 = Tensor(shape=(2, 3), requires_grad=True, stores_grad=True)
    w0.gaussian(0.0, 0.1)
    b0 = Tensor(shape=(1, 3), requires_grad=True, stores_grad=True)
    b0.set_value(0.0)
    w1 = Tensor(shape=(3, 2), requires_grad=True, stores_grad=True)
    w1.gaussian(0.0, 0.1)
    b1 = Tensor(shape=(1, 2), requires_grad=True, stores_grad=True)
    b1.set_value(0.0)
    theirs = [torch.tensor(p.detach().numpy().copy(), requires_grad=True) for p in (w0, b0, w1, b1)]
    inputs, target = Tensor(data=data), Tensor(data=label)
    sgd = opt.SGD(0.05)
    losses = []
    for _ in range(10):
        x = autograd.matmul(inputs, w0)
        x = autograd.add_bias(x, b0)
        x = autograd.relu(x)
        x = autograd.matmul(x, w1)
        x = autograd.add_bias(x, b1)
        loss = autograd.softmax_cross_entropy(x, target)
        for p, g in autograd.backward(loss):
            sgd.update(p, g)
        hidden = torch.relu(torch.tensor(data) @ theirs[0] + theirs[1])
        other = torch.nn.functional.cross_entropy(
            hidden @ theirs[2] + theirs[3], torch.tensor(label).long()
        )
        for p, g in zip(theirs, torch.autograd.grad(other, theirs), strict=True):
            p.data -= 0.05 * g
        np.testing.assert_allclose(float(loss), other.item(), rtol=1e-6)
        losses.append(float(loss))
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]
    for p, q in zip((w0, b0, w1, b1), theirs, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-5, atol=1e-7)


@pytest.mark.oracle
@pytest.mark.whole
def test_the_convolutional_network(torch, training) -> None:
    """The documentation's layers and calls, with images of the size of its own; ten steps follow
    PyTorch's.
    """
    mg.manual_seed(0)
    conv1 = autograd.Conv2d(1, 32, 3, padding=1, bias=False)
    bn1 = autograd.BatchNorm2d(32)
    pooling1 = autograd.MaxPool2d(3, 1, padding=1)
    conv21 = autograd.Conv2d(32, 16, 3, padding=1)
    conv22 = autograd.Conv2d(32, 16, 3, padding=1)
    bn2 = autograd.BatchNorm2d(32)
    linear = autograd.Linear(32 * 28 * 28, 10)
    pooling2 = autograd.AvgPool2d(3, 1, padding=1)

    def forward(x, t):
        y = conv1(x)
        y = autograd.relu(y)
        y = bn1(y)
        y = pooling1(y)
        y1 = conv21(y)
        y2 = conv22(y)
        y = autograd.cat((y1, y2), 1)
        y = autograd.relu(y)
        y = bn2(y)
        y = pooling2(y)
        y = autograd.flatten(y)
        y = linear(y)
        loss = autograd.softmax_cross_entropy(y, t)
        return loss, y

    F = torch.nn.functional
    ours = [p for layer in (conv1, bn1, conv21, conv22, bn2, linear) for p in layer.parameters()]
    k1, s1, c1, k2, a2, k3, a3, s2, c2, w, b = theirs = [
        torch.tensor(p.detach().numpy().copy(), requires_grad=True) for p in ours
    ]

    def reference(x, t):
        y = F.max_pool2d(
            F.batch_norm(F.relu(F.conv2d(x, k1, padding=1)), None, None, s1, c1, True), 3, 1, 1
        )
        y = F.relu(torch.cat([F.conv2d(y, k2, a2, padding=1), F.conv2d(y, k3, a3, padding=1)], 1))
        y = F.avg_pool2d(
            F.batch_norm(y, None, None, s2, c2, True), 3, 1, 1, count_include_pad=False
        )
        return F.cross_entropy(F.linear(y.flatten(1), w, b), t)

    rng = np.random.default_rng(0)
    images, labels = rng.random((8, 1, 28, 28)).astype("float32"), rng.integers(0, 10, 8)
    sgd = opt.SGD(0.002)
    losses = []
    for _ in range(10):
        inputs = tensor.Tensor(device=None, data=images, stores_grad=False)
        targets = tensor.Tensor(device=None, data=labels, requires_grad=False, stores_grad=False)
        loss, _ = forward(inputs, targets)
        for p, gp in autograd.backward(loss):
            sgd.update(p, gp)
        other = reference(torch.tensor(images), torch.tensor(labels))
        for p, g in zip(theirs, torch.autograd.grad(other, theirs), strict=True):
            p.data -= 0.002 * g
        np.testing.assert_allclose(float(loss), other.item(), rtol=2e-3, atol=2e-4)
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]
