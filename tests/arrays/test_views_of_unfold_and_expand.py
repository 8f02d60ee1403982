"""unfold and expand as views: writes, versions, gradients of every order, vmap and compile."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import InPlaceError
from tests.helpers.tables import in_one_test


def x_and_h(n=7):
    x = mg.arange(float(n), dtype=mg.float64).requires_grad_()
    return x, x * 1


@pytest.mark.parametrize(("size", "step"), [(2, 2), (3, 1), (3, 2), (1, 1), (2, 5), (7, 1), (0, 1)])
def test_gradients_of_unfold(size, step):
    x = mg.tensor(np.random.default_rng(1).normal(size=(2, 7)), requires_grad=True)
    assert mg.autograd.gradcheck(lambda a: a.unfold(1, size, step), x)
    assert mg.autograd.gradgradcheck(lambda a: a.unfold(1, size, step) ** 3, x)
    assert mg.autograd.gradcheck(lambda a: a.T.unfold(0, size, step), x, check_forward_ad=True)


def test_in_place_changes_of_windows_reach_the_base():
    x, h = x_and_h()
    windows = h.unfold(0, 2, 3)
    windows.mul_(mg.tensor([[1.0, 10.0], [100.0, 1000.0]], dtype=mg.float64))
    assert h.tolist() == [0, 10, 2, 300, 4000, 5, 6] and windows._version == h._version == 1
    h.sum().backward()
    assert x.grad.tolist() == [1, 10, 1, 100, 1000, 1, 1]


def test_windows_follow_in_place_changes_of_the_base():
    x, h = x_and_h()
    windows = h.unfold(0, 3, 2)
    h.mul_(2)
    assert windows.tolist() == [[0, 2, 4], [4, 6, 8], [8, 10, 12]]
    (windows**2).sum().backward()
    assert x.grad.tolist() == [0, 8, 32, 24, 64, 40, 48]  # 8 x for each window in which x lies


def test_a_saved_base_notices_a_change_through_windows():
    _, h = x_and_h()
    y = (h * h).sum()
    h.unfold(0, 2, 2).zero_()
    with pytest.raises(InPlaceError, match="modified in place"):
        y.backward()


def test_overlapping_windows_can_be_filled_with_one_number_only():
    x, h = x_and_h(5)
    windows = h[1:].unfold(0, 2, 1)
    for change in (
        lambda w: w.mul_(2),
        lambda w: w.copy_(mg.arange(6.0).reshape(3, 2)),
        lambda w: w.fill_(mg.tensor(1.0, dtype=mg.float64, requires_grad=True)),
        lambda w: w.detach().__iadd__(1),
    ):
        with pytest.raises(InPlaceError, match="windows of unfold overlap"):
            change(windows)
    assert h.tolist() == [0, 1, 2, 3, 4] and h._version == 0
    windows.fill_(7)
    windows[0] = 8
    assert h.tolist() == [0, 8, 8, 7, 7]
    (h * mg.arange(1.0, 6.0)).sum().backward()
    assert x.grad.tolist() == [1, 0, 0, 0, 0]


def test_strided_views_that_do_not_overlap_can_be_written():
    memory = np.zeros(12)
    interleaved = mg.from_numpy(np.lib.stride_tricks.as_strided(memory, (2, 3), (24, 16)))
    interleaved.add_(1)  # the elements at 0, 2, 4 and at 3, 5, 7
    assert memory.tolist() == [1, 0, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0]
    overlapping = mg.from_numpy(np.lib.stride_tricks.as_strided(memory, (3, 3), (24, 24)))
    with pytest.raises(InPlaceError, match="share one memory location"):
        overlapping.add_(1)


def test_unfold_in_vmap_and_compile():
    def changed(a):
        b = a * 1
        b.unfold(0, 2, 2).mul_(3)
        return b, b.unfold(0, 3, 1).sum(1)

    batch = mg.arange(14.0).reshape(2, 7)
    one_by_one = [changed(row) for row in batch]
    for got, expected in zip(mg.vmap(changed)(batch), zip(*one_by_one, strict=True), strict=True):
        assert got.tolist() == mg.stack(list(expected)).tolist()
    compiled = mg.compile(changed)
    for i in range(5):
        row = batch[0] + i
        assert [t.tolist() for t in compiled(row)] == [t.tolist() for t in changed(row)]


def test_in_place_changes_where_expand_does_not_grow():
    x, h = x_and_h(3)
    for view in (
        lambda t: t.expand(3),
        lambda t: t.expand(1, 3),
        lambda t: t.expand_as(x),
        lambda t: mg.broadcast_to(t, (1, 1, 3)),
        lambda t: mg.meshgrid(t, indexing="ij")[0],
        lambda t: mg.broadcast_tensors(t, mg.ones(3))[0],
    ):
        h = x * 1
        view(h).mul_(3)
        (h * mg.tensor([1.0, 2.0, 3.0])).sum().backward()
        assert h.tolist() == [0, 3, 6] and x.grad.tolist() == [3, 6, 9]
        x.grad = None
    with pytest.raises(InPlaceError, match="it was expanded"):
        h.expand(2, 3).mul_(2)


@in_one_test
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.repeat(1, 1),
        lambda x: x.repeat(2, 1, 1),
        lambda x: x.repeat_interleave(1, 0),
        lambda x: mg.diff(x, n=0),
        lambda x: mg.nn.functional.pad(x, (0, 0)),
        lambda x: mg.nn.functional.pad(x, (-1, 0)),
        lambda x: mg.nn.functional.interpolate(x[None], 4),
        lambda x: mg.nn.functional.adaptive_avg_pool1d(x[None], 4),
        lambda x: mg.nn.functional.pixel_shuffle(x[None], 1),
        lambda x: mg.nn.functional.channel_shuffle(x[None], 1),
        lambda x: x.expand(1, 2, 4),
        lambda x: mg.real(x) * mg.conj(x),
        lambda x: x.sum_to_size(2, 4),
        lambda x: mg.fill(x, 2.0) * x,
    ],
)
def test_gradients_where_nothing_has_to_be_computed(function):
    x = mg.tensor(np.random.default_rng(2).normal(size=(2, 4)), requires_grad=True)
    assert mg.autograd.gradcheck(function, x, check_forward_ad=True)
    assert mg.autograd.gradgradcheck(lambda a: function(a) ** 2, x)
    assert mg.vmap(function)(x[None])[0].tolist() == function(x).tolist()
