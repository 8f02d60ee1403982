"""deepcopy, pickle, save and load keep sharing, strides, and one tensor under several names."""

import copy
import io
import pickle

import numpy as np
import pytest

import minigrad as mg


def saved_and_loaded(value):
    file = io.BytesIO()
    mg.save(value, file)
    file.seek(0)
    return mg.load(file)


def pickled(value, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(value, protocol))


WAYS = [copy.deepcopy, pickled, lambda value: pickled(value, 2), saved_and_loaded]
every_way = pytest.mark.parametrize("again", WAYS, ids=["deepcopy", "pickle", "pickle 2", "save"])


@every_way
def test_tensors_that_share_memory_share_it_again(again):
    x = mg.arange(12.0).reshape(3, 4) * 1
    made = again(
        {"x": x, "rows": x[1:], "again": x, "nested": [(x.T, x[:, ::2])], "alone": mg.ones(2)}
    )
    turned, columns = made["nested"][0]
    assert made["again"] is made["x"]
    assert [t.stride() for t in (made["x"], made["rows"], turned, columns)] == [
        (4, 1),
        (4, 1),
        (1, 4),
        (4, 2),
    ]
    made["x"].add_(100)
    assert (
        made["rows"].tolist() == (x[1:] + 100).tolist() and turned.tolist() == (x.T + 100).tolist()
    )
    columns.zero_()
    assert (
        made["x"][:, 0].tolist() == [0, 0, 0] and made["x"]._version == made["rows"]._version == 2
    )
    assert x.tolist() == mg.arange(12.0).reshape(3, 4).tolist() and made["alone"].tolist() == [1, 1]


@every_way
def test_a_change_of_shared_memory_is_noticed_in_the_graph(again):
    x = mg.ones(4)
    whole, part = again([x, x[:2]])
    w = mg.ones(4, requires_grad=True)
    y = (w * whole).sum()
    part.add_(1)
    with pytest.raises(RuntimeError, match="modified in place"):
        y.backward()


@every_way
def test_parts_of_memory_without_the_whole(again):
    x = mg.arange(6.0) * 1
    first, second = again((x[1:5], x[3:]))
    second[0] = -1
    assert first.tolist() == [1, 2, -1, 4]
    z = mg.tensor([1 + 2j, 3 + 4j])
    numbers, parts = again([z, z.imag])
    parts.zero_()
    assert numbers.tolist() == [1, 3]


@every_way
@pytest.mark.parametrize(
    ("make", "strides"),
    [
        (lambda: mg.zeros(3, 4).T, (1, 4)),
        (lambda: mg.zeros(2, 3, 4).permute(2, 0, 1), (1, 12, 4)),
        (lambda: mg.zeros(2, 3, 4).transpose(0, 1) * 1, None),
        (lambda: mg.zeros(0, 4), (4, 1)),
        (lambda: mg.tensor(2.0), ()),
        (lambda: mg.from_numpy(np.asfortranarray(np.ones((2, 3)))), (1, 2)),
    ],
)
def test_strides_and_values_are_kept(again, make, strides):
    x = make()
    made = again(x)
    assert made.tolist() == x.tolist() and made.dtype == x.dtype and made.shape == x.shape
    assert made.stride() == (x.stride() if strides is None else strides)


@every_way
def test_leaves_and_tied_weights(again):
    first, second = mg.nn.Linear(2, 2), mg.nn.Linear(2, 2)
    second.weight = first.weight
    state = mg.nn.Sequential(first, second).state_dict()
    made = again(state)
    made["0.weight"].fill_(5)
    assert (
        made["1.weight"].tolist() == [[5, 5], [5, 5]]
        and made["0.bias"].tolist() == state["0.bias"].tolist()
    )
    w = mg.ones(2, requires_grad=True)
    a, b, view = again([w, w, w.detach()])
    assert a is b and a.requires_grad and not view.requires_grad
    view.add_(1)
    assert a.tolist() == [2, 2]
    (a * 3).sum().backward()
    assert a.grad.tolist() == [3, 3] and w.grad is None


def test_deepcopy_and_pickle_keep_the_tied_weights_of_a_module():
    model = mg.nn.Sequential(mg.nn.Linear(2, 2), mg.nn.Linear(2, 2))
    model[1].weight = model[0].weight
    for made in (copy.deepcopy(model), pickled(model)):
        assert made[0].weight is made[1].weight and made[0].weight is not model[0].weight


def test_state_dict_looks_into_the_parameters():
    layer = mg.nn.Linear(2, 2)
    layer.state_dict()["weight"].fill_(3)
    assert layer.weight.tolist() == [[3, 3], [3, 3]]


def test_a_lone_part_of_a_large_tensor_is_saved_alone():
    file = io.BytesIO()
    mg.save({"row": mg.zeros(1000, 10)[3]}, file)
    assert len(file.getvalue()) < 2000


def test_arrays_of_shared_memory_have_the_first_name():
    file, x = io.BytesIO(), mg.arange(3.0) * 1
    mg.save({"weight": x, "same memory": x.detach()}, file)
    file.seek(0)
    assert np.load(file)["weight"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("shape", [(0, 4), (2, 0, 3), (0,), (4, 0)])
@pytest.mark.oracle
def test_strides_of_empty_tensors_are_those_of_pytorch(torch, shape):
    assert mg.zeros(*shape).stride() == torch.zeros(shape).stride()
    reverse = tuple(reversed(range(len(shape))))
    assert (
        mg.zeros(*shape).permute(reverse).stride() == torch.zeros(shape).permute(reverse).stride()
    )
    assert mg.zeros(3, 4)[:0].stride() == torch.zeros(3, 4)[:0].stride()


@pytest.mark.oracle
def test_a_deep_copy_has_the_gradient_of_a_tensor_and_not_of_a_parameter(torch):
    """As in PyTorch: what a copied model adds to begins at zero."""
    for lib in (mg, torch):
        model, x = lib.nn.Linear(2, 1), lib.ones(2, requires_grad=True)
        model(x).sum().backward()
        copied, y = copy.deepcopy((model, x))
        assert [p.grad for p in copied.parameters()] == [None, None]
        assert y.grad is not None and y.grad.tolist() == x.grad.tolist()
        assert all(p.grad is not None for p in model.parameters())


@every_way
def test_windows_share_the_memory_of_their_tensor_again(again):
    x = mg.arange(5.0) * 1
    made = again({"x": x, "windows": x.unfold(0, 2, 1)})
    made["x"].add_(10)
    assert made["windows"].tolist() == [[10, 11], [11, 12], [12, 13], [13, 14]]
    assert made["windows"].stride() == (1, 1)
