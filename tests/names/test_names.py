"""The names that programs take for granted beside the operations: making tensors, asking about
them, converting, devices and dtypes.

Each program is written once and run with `m` = minigrad and, where it is installed, `m` = torch:
both must give the stated answer.
"""

import pickle

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import DTypeError, InPlaceError


@pytest.fixture(params=["minigrad", pytest.param("torch", marks=pytest.mark.oracle)])
def m(request):
    """The library under examination."""
    return mg if request.param == "minigrad" else request.getfixturevalue("torch")


def test_functions_that_make_tensors_are_pytorchs(m):
    assert tuple(m.empty(2, 3).shape) == (2, 3) and m.empty((0,), dtype=m.int64).dtype == m.int64
    assert m.empty(2, requires_grad=True).is_leaf
    assert m.empty_like(m.ones(2, 3), dtype=m.float64).dtype == m.float64
    assert m.logspace(0, 2, 3).tolist() == [1, 10, 100]
    assert m.logspace(0, 3, 4, base=2).tolist() == [1, 2, 4, 8]
    assert sorted(m.randperm(5).tolist()) == [0, 1, 2, 3, 4]
    assert m.randperm(3).dtype == m.int64
    assert tuple(m.randperm(0).shape) == (0,)
    assert all(2 <= v < 5 for v in m.randint(2, 5, (50,)).tolist())
    assert tuple(m.randint(3, (2, 2)).shape) == (2, 2)
    assert m.randint_like(m.ones(3), 0, 2).dtype == m.float32
    assert tuple(m.randint_like(m.ones(3, dtype=m.int64), 4).shape) == (3,)
    like = m.ones(2, dtype=m.float64)
    for made in (
        m.zeros_like(like, device="cpu"),
        m.ones_like(like, device="cpu"),
        m.full_like(like, 3.0, device="cpu"),
    ):
        assert made.dtype == m.float64
    assert (
        m.rand_like(like, dtype=m.float32).dtype
        == m.randn_like(like, dtype=m.float32).dtype
        == m.float32
    )
    assert m.arange(3, device="cpu").tolist() == [0, 1, 2]
    assert m.linspace(0, 1, 3, device="cpu").tolist() == [0, 0.5, 1]
    assert m.eye(2, device="cpu").tolist() == [[1, 0], [0, 1]]


def test_making_tensors_like_this_one(m):
    x = m.ones(2, dtype=m.float64, requires_grad=True)
    for made, values in (
        (x.new_zeros(2), [0, 0]),
        (x.new_zeros((1, 2)), [[0, 0]]),
        (x.new_ones(1), [1]),
        (x.new_full((2,), 7.0), [7, 7]),
        (x.new_tensor([1.5]), [1.5]),
    ):
        assert made.tolist() == values and made.dtype == m.float64 and not made.requires_grad
    assert tuple(x.new_empty(3, 1).shape) == (3, 1)
    assert x.new_zeros(1, dtype=m.int64).dtype == m.int64
    assert x.new_ones(2, requires_grad=True).is_leaf


def test_the_state_of_random_numbers_is_set_and_restored(m):
    m.manual_seed(3)
    first, state = m.rand(3).tolist(), m.get_rng_state()
    again = m.rand(2).tolist()
    m.set_rng_state(state)
    assert m.rand(2).tolist() == again
    m.manual_seed(3)
    assert m.rand(3).tolist() == first
    draws = m.bernoulli(m.full((2000,), 0.25))
    assert set(draws.tolist()) == {0.0, 1.0} and 380 < float(draws.sum()) < 620
    assert m.bernoulli(m.tensor([0.0, 1.0])).tolist() == [0, 1]
    n = m.normal(m.full((2000,), 5.0), m.full((2000,), 2.0))
    assert abs(float(n.mean()) - 5) < 0.3 and abs(float(n.std()) - 2) < 0.3
    assert tuple(m.normal(0.0, 1.0, (2, 3)).shape) == (2, 3)
    assert tuple(m.normal(m.zeros(4), 1.0).shape) == (4,)
    x = m.empty(2000)
    assert set(x.bernoulli_(0.5).tolist()) == {0.0, 1.0}
    assert set(x.random_(2, 4).tolist()) == {2.0, 3.0}
    assert abs(float(x.exponential_(2.0).mean()) - 0.5) < 0.1 and float(x.min()) >= 0


def test_random_numbers_refused():
    with pytest.raises(DTypeError, match="int64"):
        mg.bernoulli(mg.ones(2, dtype=mg.int64))
    with pytest.raises(ValueError, match="between 0 and 1"):
        mg.bernoulli(mg.tensor([2.0]))
    for fill in (lambda x: x.bernoulli_(), lambda x: x.random_(3), lambda x: x.exponential_()):
        with pytest.raises(InPlaceError, match="leaf"):
            fill(mg.ones(2, requires_grad=True))


def test_questions_about_tensors_agree_with_pytorch(m):
    x, i, c = m.ones(2, 3, dtype=m.float64), m.ones(2, dtype=m.int64), m.ones(1, dtype=m.complex64)
    assert m.is_floating_point(x)
    assert not m.is_floating_point(i)
    assert m.is_complex(c)
    assert not m.is_complex(x)
    assert m.is_nonzero(m.tensor(2.0)) and not m.tensor([0]).is_nonzero()
    assert x.element_size() == 8 and x.nbytes == 48 and x.itemsize == 8 and x.ndimension() == 2
    assert x.is_signed()
    assert not m.ones(1, dtype=m.uint8).is_signed()
    assert x.is_same_size(m.zeros(2, 3))
    assert not x.is_same_size(i)
    assert x.get_device() == -1 and x.is_cpu and not x.is_cuda and x.output_nr == 0
    assert isinstance(x.dtype, m.dtype) and m.promote_types(m.int64, m.float32) == m.float32
    assert m.can_cast(m.int32, m.float32)
    assert m.can_cast(m.float64, m.float32)
    assert not m.can_cast(m.float32, m.int32)
    assert m.finfo(m.float32).eps == 2**-23 and m.iinfo(m.int8).max == 127
    with pytest.raises(RuntimeError):
        m.is_nonzero(x)


def test_conversions_give_the_dtype_of_their_name(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    for name, dtype in {
        "short": m.int16,
        "char": m.int8,
        "byte": m.uint8,
        "bfloat16": m.bfloat16,
        "half": m.float16,
    }.items():
        y = getattr(x, name)()
        assert y.dtype == dtype and [float(v) for v in y.detach()] == [1, 2]
        assert y.requires_grad == (name in ("bfloat16", "half"))
    assert x.type(m.float64).dtype == m.float64 and m.short == m.int16
    x.bfloat16().sum().backward()
    assert x.grad.tolist() == [1, 1] and x.grad.dtype == m.float32
    assert m.tensor([1.0], dtype=m.bfloat16).dtype == m.bfloat16


def test_a_device_is_equal_printed_and_compared_as_in_pytorch(m):
    d = m.device("cpu")
    assert d == m.ones(1).device
    assert d.type == "cpu"
    assert d.index is None
    assert str(d) == "cpu"
    assert repr(d) == "device(type='cpu')"
    g = m.device("cuda", 1)
    assert g == m.device("cuda:1") and (g.type, g.index, str(g)) == ("cuda", 1, "cuda:1") and g != d
    assert repr(g) == "device(type='cuda', index=1)" and pickle.loads(pickle.dumps(g)) == g
    assert m.zeros(1, device=d).device == d
    assert m.ones(1).to(d).tolist() == [1]
    assert isinstance(m.ones(1).device, m.device)
    assert m.cuda.device_count() >= 0 and m.cuda.is_available() == (m.cuda.device_count() > 0)


def test_methods_of_shapes_give_pytorchs_results(m):
    x = m.arange(6.0).reshape(2, 3)
    assert x.shape == m.Size([2, 3]) == (2, 3)
    assert isinstance(x.shape, m.Size)
    assert x.size() == m.Size((2, 3))
    assert x.size(-1) == 3
    assert x.view_as(m.zeros(3, 2)).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert x.sum_to_size(1, 3).tolist() == [[3, 5, 7]]
    assert x.sum_to_size((2, 1)).tolist() == [[3], [12]]
    assert m.ravel(x).tolist() == [0, 1, 2, 3, 4, 5]
    assert tuple(m.moveaxis(x, 0, 1).shape) == tuple(x.moveaxis(0, 1).shape) == (3, 2)
    assert x[:, m.newaxis].shape == (2, 1, 3)
    assert [tuple(p.shape) for p in x.split_with_sizes([1, 2], 1)] == [(2, 1), (2, 2)]
    with pytest.raises((RuntimeError, ValueError)):
        x.sum_to_size(4)


def test_other_names_of_functions(m):
    x = m.tensor([-1.5, 0.5])
    assert m.clamp_min(x, 0.0).tolist() == x.clamp_min(0.0).tolist() == [0, 0.5]
    assert m.clamp_max(x, 0.0).tolist() == [-1.5, 0]
    assert m.fix(x).tolist() == x.fix().tolist() == [-1, 0]
    assert m.positive(x).tolist() == x.positive().tolist() == [-1.5, 0.5]
    assert m.not_equal(x, 0.5).tolist() == [True, False]
    assert m.greater_equal(x, 0.5).tolist() == [False, True]
    assert x.where(x > 0, m.zeros(2)).tolist() == [0, 0.5]
    assert not m.detach(m.ones(1, requires_grad=True)).requires_grad
    assert m.vmap(lambda v: v * 2)(m.ones(2, 2)).tolist() == [[2, 2], [2, 2]]
    z = m.tensor([[1 + 2j, 3 - 1j]])
    assert z.mH.tolist() == [[1 - 2j], [3 + 1j]]
    assert z.conj().resolve_conj().tolist() == [[1 - 2j, 3 + 1j]]
    assert m.polar(m.tensor([2.0]), m.tensor([0.0])).tolist() == [2 + 0j]
    assert m.is_anomaly_enabled() is False


def test_gradients_flow_through_the_other_names(m):
    x = m.tensor([[1.0, -2.0]], requires_grad=True)
    y = (
        x.clamp_min(0.0)
        + x.view_as(m.zeros(1, 2)) * 2
        + x.expand(3, 2).sum_to_size(1, 2)
        + x.where(x < 0, m.zeros(1, 2))
    )
    y.sum().backward()
    assert x.grad.tolist() == [[6, 6]]


def test_bitwise_functions_and_methods_agree(m):
    a, b = m.tensor([12, 10]), m.tensor([10, 6])
    assert m.bitwise_and(a, b).tolist() == a.bitwise_and(b).tolist() == [8, 2]
    assert m.bitwise_or(a, b).tolist() == [14, 14]
    assert m.bitwise_xor(a, b).tolist() == [6, 12]
    assert m.bitwise_not(a).tolist() == [-13, -11]
    assert m.bitwise_not(m.tensor([True])).tolist() == [False]


def test_more_in_place_names(m):
    x = m.tensor([-1.0, 2.0])
    assert x.clamp_min_(0.0) is x and x.tolist() == [0, 2] and x.multiply_(3).tolist() == [0, 6]
    assert x.subtract_(1).tolist() == [-1, 5]
    assert x.negative_().tolist() == [1, -5]
    assert x.absolute_().tolist() == [1, 5]
    assert x.gt_(2).tolist() == [0, 1] and x.dtype == m.float32
    assert m.tensor([6]).bitwise_and_(m.tensor([3])).tolist() == [2]
    leaf = m.ones(1, requires_grad=True)
    y = leaf * 2
    y.divide_(4)
    y.sum().backward()
    assert leaf.grad.tolist() == [0.5]


def test_modules_of_autograd(m):
    assert m.autograd.grad_mode.no_grad is m.no_grad
    assert m.autograd.anomaly_mode.detect_anomaly is m.autograd.detect_anomaly
    assert isinstance((m.ones(1, requires_grad=True) * 2).grad_fn, m.autograd.graph.Node)


def test_what_does_not_exist():
    with pytest.raises(AttributeError, match="no attribute 'tensr'"):
        _ = mg.tensr
    assert not [name for name in mg.__all__ if not hasattr(mg, name)]


def test_new_tensor_copies_its_data():
    x = np.ones(2)
    assert mg.tensor(x).new_tensor(x).data_ptr() != mg.from_numpy(x).data_ptr()


@pytest.mark.parametrize(
    "name",
    [
        "resize_",
        "resize_as_",
        "set_",
        "squeeze_",
        "swapaxes_",
        "swapdims_",
        "t_",
        "transpose_",
        "unsqueeze_",
    ],
)
def test_shapes_are_not_changed_in_place(name):
    with pytest.raises(InPlaceError, match=f"{name}.*reshape"):
        getattr(mg.ones(2, 2).detach(), name)(0, 1)


def test_assert_close_passes_and_fails_as_pytorchs(m):
    close = m.testing.assert_close
    close(m.tensor([1.0, 2.0]), m.tensor([1.0, 2.000001]))
    close((m.ones(2), [m.zeros(1)]), (m.ones(2), [m.zeros(1)]))
    close(m.tensor([1, 2]), m.tensor([1, 2]))
    close(
        m.tensor([float("nan"), float("inf")]),
        m.tensor([float("nan"), float("inf")]),
        equal_nan=True,
    )
    close(m.tensor([1 + 1j]), m.tensor([1 + 1.000001j]))
    close(m.zeros(0), m.zeros(0))
    close(m.ones(1), m.ones(1, dtype=m.float64), check_dtype=False)
    close(m.tensor([1.0]), m.tensor([1.1]), rtol=0.2, atol=0.0)
    close(m.tensor(1.0, requires_grad=True), m.tensor(1.0))
    for a, b in (
        (m.tensor([1.0, 2.0]), m.tensor([1.0, 2.001])),
        (m.tensor([1]), m.tensor([2])),
        (m.ones(1, 2), m.ones(2)),
        (m.ones(1), m.ones(1, dtype=m.float64)),
        (m.tensor([float("nan")]), m.tensor([float("nan")])),
        ([m.ones(1)], [m.ones(1), m.ones(1)]),
    ):
        with pytest.raises(AssertionError):
            close(a, b)
    with pytest.raises(ValueError):
        close(m.ones(1), m.ones(1), rtol=1e-3)


def test_assert_close_says_where():
    with pytest.raises(
        AssertionError, match=r"1 of 4 elements .* first at \(1, 0\): 3.5, expected 3.0"
    ):
        mg.testing.assert_close(
            mg.tensor([[1.0, 2.0], [3.5, 4.0]]), mg.tensor([[1.0, 2.0], [3.0, 4.0]])
        )
    with pytest.raises(AssertionError, match="element 1: shapes differ"):
        mg.testing.assert_close([mg.ones(1), mg.ones(2)], [mg.ones(1), mg.ones(3)])
