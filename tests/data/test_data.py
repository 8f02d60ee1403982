"""Datasets, batches and files: every example arrives once, in a repeatable order, and a bad file
says what is wrong with it.
"""

import collections
import gzip
import math
import struct
import subprocess
import sys

import numpy as np
import pytest

import minigrad as mg
from minigrad.data import (
    DataLoader,
    Dataset,
    IdxError,
    TensorDataset,
    WeightedRandomSampler,
    digits,
    disc,
    mnist,
    random_split,
    read_idx,
    two_moons,
)
from tests.helpers.refusals import refusals
from tests.helpers.tables import in_one_test


def test_the_package_is_loaded_on_first_use():
    program = (
        "import sys, minigrad as mg; assert 'minigrad.data' not in sys.modules; mg.data.disc(1);"
        " assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


# ----------------------------------------------------------------------------------------- datasets


def test_tensor_dataset_gives_examples_and_batches():
    x, t = np.arange(12.0).reshape(4, 3), [3, 2, 1, 0]
    dataset = TensorDataset(x, t)
    assert len(dataset) == 4
    one, label = dataset[2]
    assert one.tolist() == [6, 7, 8] and label.item() == 1
    several, labels = dataset.batch([3, 0, 3])
    assert several.tolist() == [[9, 10, 11], [0, 1, 2], [9, 10, 11]]
    assert labels.tolist() == [0, 3, 0]
    assert several.dtype == mg.float64 and labels.dtype == mg.int64


def test_batches_of_a_leaf_are_part_of_the_graph():
    table = mg.ones(3, 2, requires_grad=True)
    (rows,) = TensorDataset(table).batch([0, 0, 2])
    rows.sum().backward()
    assert table.grad.tolist() == [[2, 2], [0, 0], [1, 1]]


class Squares(Dataset):
    """(i, i²) as a number and a tensor."""

    def __len__(self):
        return 5

    def __getitem__(self, index):
        return index, mg.tensor([float(index * index)])


def test_examples_of_any_dataset_are_stacked():
    numbers, squares = next(iter(DataLoader(Squares(), batch_size=3)))
    assert numbers.tolist() == [0, 1, 2] and squares.tolist() == [[0], [1], [4]]
    pairs = [(np.float32(1), [1, 2]), (np.float32(2), [3, 4])]
    first, second = next(iter(DataLoader(pairs, batch_size=2)))
    assert first.dtype == mg.float32 and second.tolist() == [[1, 2], [3, 4]]
    assert [batch.tolist() for batch in DataLoader([1.0, 2.0, 3.0], batch_size=2)] == [[1, 2], [3]]
    listed = [[mg.ones(2) * i, i] for i in range(3)]
    rows, labels = next(iter(DataLoader(listed, batch_size=3)))
    assert rows.tolist() == [[0, 0], [1, 1], [2, 2]] and labels.tolist() == [0, 1, 2]
    named = collections.namedtuple("named", "x name")
    (batch,) = DataLoader([named(1.0, "a"), named(2.0, "b")], batch_size=2)
    assert type(batch) is named and batch.x.tolist() == [1, 2] and batch.name == ["a", "b"]


def test_a_weighted_sampler_draws_in_proportion():
    mg.manual_seed(1)
    weights = [0.0, 1.0, 3.0, 0.0]
    drawn = list(WeightedRandomSampler(weights, 4000))
    assert set(drawn) == {1, 2} and abs(drawn.count(2) / 4000 - 0.75) < 0.03
    once = [tuple(WeightedRandomSampler(weights, 2, replacement=False)) for _ in range(2000)]
    assert set(once) == {(1, 2), (2, 1)} and abs(once.count((2, 1)) / 2000 - 0.75) < 0.04
    sampler = WeightedRandomSampler(mg.tensor([1.0, 1.0]), 5)
    assert len(sampler) == 5 and len(list(DataLoader(range(2), 2, sampler=sampler))) == 3


def test_a_split_loses_and_doubles_nothing():
    dataset = TensorDataset(mg.arange(10))
    first, second = random_split(dataset, [7, 3], seed=1)
    assert (len(first), len(second)) == (7, 3)
    assert sorted(
        [first[i][0].item() for i in range(7)] + [second[i][0].item() for i in range(3)]
    ) == list(range(10))
    assert (
        first.indices
        == random_split(dataset, [7, 3], seed=1)[0].indices
        != random_split(dataset, [7, 3], seed=2)[0].indices
    )
    assert first.batch([2, 0])[0].tolist() == [first.indices[2], first.indices[0]]


REFUSED = r"""
TEN[10]  # IndexError
TensorDataset(mg.ones(3, 2), mg.ones(2))  # ShapeError: \(3, 2\), \(2,\)
TensorDataset(mg.tensor(1.0))  # ShapeError: 0-d
TensorDataset()  # ValueError: at least one tensor
next(iter(DataLoader([[1.0], [1.0, 2.0]], batch_size=2)))  # ShapeError: different shapes
next(iter(DataLoader([(1.0,), (1.0, 2.0)], batch_size=2)))  # ShapeError: different lengths
next(iter(DataLoader([["a"], ["a", "b"]], batch_size=2)))  # ShapeError: different lengths
len(Dataset())  # NotImplementedError: __len__
Dataset()[0]  # NotImplementedError: __getitem__
random_split(TEN, [7, 4])  # ValueError: add up to
random_split(TEN, [11, -1])  # ValueError: at least 0
Subset(TEN, [0, 10])  # IndexError: no example 10
WeightedRandomSampler([-1.0, 2.0], 1)  # ValueError: from 0 on
WeightedRandomSampler([math.inf, 1.0], 1)  # ValueError: finite
WeightedRandomSampler([math.nan], 1)  # ValueError: finite
WeightedRandomSampler([[1.0]], 1)  # ValueError: for each
WeightedRandomSampler([1.0], 0)  # ValueError: at least 1
WeightedRandomSampler([0.0], 1)  # ValueError: 1 weights above 0
WeightedRandomSampler([0.0, 1.0], 2, replacement=False)
    # ValueError: 2 weights above 0 are needed to draw 2 examples, got 1
DataLoader([1.0], 0)  # ValueError: batch_size
DataLoader([1.0], -1)  # ValueError: batch_size
DataLoader([1.0], 2.0)  # ValueError: batch_size
DataLoader([1.0], True)  # ValueError: batch_size
DataLoader([1.0], None)  # ValueError: batch_size
DataLoader([1.0], 1, True, seed=-1)  # ValueError: seed
two_moons(3, noise=-1)  # ValueError: noise
two_moons(-1)  # ValueError: at least 0
disc(-1)  # ValueError: at least 0
"""
test_wrong_arguments_are_refused = refusals(
    REFUSED, **vars(mg.data), TEN=TensorDataset(mg.arange(10))
)


# ------------------------------------------------------------------------------------------- loader


def loaded(loader):
    return [int(v) for (batch,) in loader for v in batch]


@pytest.mark.parametrize(("n", "size", "drop", "sizes"),
    [(7, 3, False, [3, 3, 1]), (7, 3, True, [3, 3]), (6, 3, False, [3, 3]),
                                                          (2, 3, False, [2]), (2, 3, True, []),
                                                          (0, 3, False, [])])  # fmt: skip
def test_batches_have_the_sizes_that_were_asked_for(n, size, drop, sizes):
    for shuffle in (False, True):
        loader = DataLoader(TensorDataset(mg.arange(n)), size, shuffle, seed=0, drop_last=drop)
        assert [len(batch) for (batch,) in loader] == sizes and len(loader) == len(sizes)


def test_without_shuffling_the_order_is_the_datasets():
    loader = DataLoader(TensorDataset(mg.arange(5)), 2)
    assert loaded(loader) == loaded(loader) == [0, 1, 2, 3, 4]


def test_shuffling_visits_each_example_once_in_another_order_per_epoch():
    def make(seed):
        return DataLoader(TensorDataset(mg.arange(50)), 8, shuffle=True, seed=seed)

    loader = make(4)
    first, second = loaded(loader), loaded(loader)
    assert sorted(first) == sorted(second) == list(range(50)) and first != second
    again = make(4)
    assert [loaded(again), loaded(again)] == [first, second]
    assert loaded(make(5)) != first


def test_a_loader_resumes_at_an_epoch():
    loader = DataLoader(TensorDataset(mg.arange(20)), 6, shuffle=True, seed=0)
    orders = [loaded(loader) for _ in range(3)]
    resumed = DataLoader(TensorDataset(mg.arange(20)), 6, shuffle=True, seed=0)
    resumed.epoch = 2
    assert loaded(resumed) == orders[2]


def test_two_iterators_do_not_share_an_epoch():
    loader = DataLoader(TensorDataset(mg.arange(20)), 20, shuffle=True, seed=0)
    a, b = iter(loader), iter(loader)
    assert next(a)[0].tolist() != next(b)[0].tolist()


def test_without_a_seed_minigrads_generator_decides():
    orders = []
    for _ in range(2):
        mg.manual_seed(11)
        orders.append(loaded(DataLoader(TensorDataset(mg.arange(30)), 7, shuffle=True)))
    assert (
        orders[0] == orders[1] != loaded(DataLoader(TensorDataset(mg.arange(30)), 7, shuffle=True))
    )


# ---------------------------------------------------------------------------------------------- idx


def idx(code, shape, payload):
    return bytes([0, 0, code, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + payload


@in_one_test
@pytest.mark.parametrize(
    ("code", "letter", "dtype", "values"),
    [(0x08, "B", "uint8", [0, 255]), (0x09, "b", "int8", [-128, 127]),
        (0x0B, "h", "int16", [-300, 300]),
     (0x0C, "i", "int32", [-70000, 70000]), (0x0D, "f", "float32", [-0.5, math.inf]),
     (0x0E, "d", "float64", [0.1, -1e300])],
)  # fmt: skip
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx_of_every_element_type(tmp_path, code, letter, dtype, values, pack):
    file = tmp_path / "file"
    file.write_bytes(pack(idx(code, (2, 1), struct.pack(f">2{letter}", *values))))
    tensor = read_idx(file)
    assert tensor.shape == (2, 1)
    assert tensor.dtype == dtype
    assert tensor.dtype.isnative
    assert tensor.flatten().tolist() == values
    assert not tensor.requires_grad
    tensor += 0  # the memory is the tensor's own, not the file's


def test_idx_without_elements_or_axes(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(idx(8, (0, 28), b""))
    assert read_idx(file).shape == (0, 28)
    file.write_bytes(idx(8, (), b"\x07"))
    assert read_idx(file).shape == () and read_idx(file).item() == 7


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "0 bytes are too few"),
        (b"\x89PNG....", "89 50 4e 47"),
        (b"\x00\x01\x08\x01....", "must be 00 00"),
        (idx(0x0A, (1,), b"."), "element type 0a"),
        (b"\x00\x00\x08\x03\x00\x00", "header of 16 bytes, but the file has 6"),
        (
            idx(8, (2, 3), b"....."),
            r"truncated: shape \(2, 3\) of uint8 needs 6 bytes after the header, but there are 5",
        ),
        (idx(8, (2, 3), b"......."), "too long"),
        (idx(0x0E, (2**32 - 1,) * 4, b""), "truncated"),
        (gzip.compress(idx(8, (4,), b"1234"), mtime=0)[:-9], "gzip file is damaged"),
        (gzip.compress(idx(8, (4,), b"1234"), mtime=0)[:-1] + b"!", "gzip file is damaged"),
        (gzip.compress(b"no idx", mtime=0), "not an IDX file"),
    ],
)
def test_a_bad_idx_file_says_what_is_wrong(tmp_path, content, says):
    file = tmp_path / "broken.gz"
    file.write_bytes(content)
    with pytest.raises(IdxError, match=says) as caught:
        read_idx(file)
    assert "broken.gz" in str(caught.value)


def test_a_missing_idx_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_idx(tmp_path / "nowhere")


def test_mnist_from_a_folder(tmp_path):
    pixels = bytes(range(8))
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(8, (2, 2, 2), pixels))
    (tmp_path / "train-labels.idx1-ubyte.gz").write_bytes(gzip.compress(idx(8, (2,), b"\x07\x03")))
    images, labels = mnist(tmp_path).tensors
    assert images.shape == (2, 1, 2, 2)
    assert images.dtype == mg.float32
    assert labels.dtype == mg.int64
    assert labels.tolist() == [7, 3]
    np.testing.assert_array_equal(
        images.numpy().ravel(), np.arange(8, dtype=np.float32) / np.float32(255)
    )
    with pytest.raises(FileNotFoundError, match=r"t10k-images-idx3-ubyte, .*digits\(\)"):
        mnist(tmp_path, train=False)
    (tmp_path / "train-labels.idx1-ubyte.gz").write_bytes(
        gzip.compress(idx(8, (3,), b"\x07\x03\x01"))
    )
    with pytest.raises(IdxError, match="do not belong together"):
        mnist(tmp_path)


# --------------------------------------------------------------------------------------- small sets


def test_points_in_the_disc_are_labelled_by_their_radius():
    x, label = disc(20_000, seed=3).tensors
    assert x.shape == (20_000, 2) and x.dtype == mg.float32 and label.dtype == mg.int64
    points = x.numpy().astype(np.float64)
    assert points.min() >= 0 and points.max() < 1
    radius = np.hypot(*(points - 0.5).T)
    # float32 may decide differently on the rim itself
    clear = np.abs(radius - 1 / math.sqrt(2 * math.pi)) > 1e-6
    np.testing.assert_array_equal(
        label.numpy()[clear], (radius < 1 / math.sqrt(2 * math.pi))[clear]
    )
    # half the area, within four standard deviations
    assert abs(label.numpy().mean() - 0.5) < 4 * 0.5 / math.sqrt(20_000)
    assert (
        disc(5, seed=3).tensors[0].tolist()
        == disc(5, seed=3).tensors[0].tolist()
        != disc(5, seed=4).tensors[0].tolist()
    )


def test_the_two_moons_lie_on_their_arcs():
    x, label = (t.numpy() for t in two_moons(101, seed=1, noise=0.0).tensors)
    assert x.dtype == np.float32
    assert label.dtype == np.int64
    assert np.bincount(label).tolist() == [50, 51]
    upper, lower = x[label == 0], x[label == 1] - [1, 0.5]
    np.testing.assert_allclose(np.hypot(*upper.T), 1, atol=1e-6)
    np.testing.assert_allclose(np.hypot(*lower.T), 1, atol=1e-6)
    assert upper[:, 1].min() >= 0 and lower[:, 1].max() <= 1e-6
    assert np.any(np.diff(label) < 0), "the labels come mixed, not one moon after the other"
    noisy = two_moons(4000, seed=1, noise=0.2).tensors
    distance = np.hypot(*(noisy[0].numpy()[noisy[1].numpy() == 0]).T) - 1
    assert 0.17 < distance.std() < 0.23


@pytest.mark.parametrize("make", [disc, two_moons])
def test_no_points_and_less(make):
    assert [t.shape for t in make(0).tensors] == [(0, 2), (0,)]


def test_digits_are_those_of_scikit_learn():
    load_digits = pytest.importorskip(
        "sklearn.datasets", reason='scikit-learn is not installed: pip install "minigrad[lab]"'
    ).load_digits
    images, labels = digits().tensors
    assert images.shape == (1797, 1, 8, 8)
    assert images.dtype == mg.float32
    assert labels.dtype == mg.int64
    source = load_digits()
    np.testing.assert_array_equal(images.numpy()[:, 0] * 16, source.images)
    np.testing.assert_array_equal(labels.numpy(), source.target)


def test_digits_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ModuleNotFoundError, match=r"scikit-learn is not installed: pip install"):
        digits()
