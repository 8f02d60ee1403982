"""Files of plain data: everything comes back bit for bit, and no damage, interruption or foreign
file does harm.
"""

import functools
import io
import json
import os
import random
import zipfile

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as mg
from minigrad import backend, serialization
from minigrad.serialization import DATA, META, RUN, VERSION
from minigrad.training import CheckpointError, epochs

write = functools.partial(serialization.write, kind=RUN)
read = functools.partial(serialization.read, kind=RUN)

NUMBERS = st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text()
KEYS = (
    st.text()
    | st.integers()
    | st.booleans()
    | st.none()
    | st.tuples(st.text(), st.floats(allow_nan=False))
)
VALUES = st.recursive(
    NUMBERS,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner),
    max_leaves=12,
)


@given(value=VALUES)
def test_plain_data_comes_back(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("plain") / "run.npz"
    write(path, value)
    assert repr(read(path)) == repr(value)


def test_arrays_of_all_kinds_come_back(tmp_path):
    path = tmp_path / "run.npz"
    values = [
        np.array([[1.5, np.nan], [-0.0, np.inf]]),
        np.float32([1, 2, 3])[::-2],
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.zeros((0, 3), np.int8),
        np.array(7, np.uint64),
        np.array([True, False]),
        np.array([1 + 2j], np.complex64),
        np.arange(3).astype(ml_dtypes.bfloat16),
        np.float32(0.1),
        np.int64(-3),
        np.bool_(True),
        np.complex128(1j),
        mg.tensor([1.0, 2.0]),
        mg.tensor(0.5),
    ]
    # Names that a zip file would confuse, and names that become alike.
    state = {
        "values": values,
        "a.npy": np.ones(1),
        "a": np.zeros(1),
        "x\0y": np.ones(2),
        "x_y": np.zeros(2),
        "file": np.ones(3),
    }
    write(path, state)
    found = read(path)
    assert list(found) == list(state)
    for ours, theirs in zip(
        [*values, *list(state.values())[1:]],
        [*found["values"], *list(found.values())[1:]],
        strict=True,
    ):
        assert (
            type(ours) is type(theirs) and ours.dtype == theirs.dtype and ours.shape == theirs.shape
        )
        assert np.asarray(ours.tolist() if isinstance(ours, mg.Tensor) else ours).tobytes() == (
            np.asarray(theirs.tolist() if isinstance(theirs, mg.Tensor) else theirs).tobytes()
        )


def test_the_same_state_gives_the_same_bytes_in_a_plain_npz_file(tmp_path):
    for name in ("one", "two"):
        write(tmp_path / name, {"parts": {"model": {"weight": np.arange(3.0)}}})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with np.load(tmp_path / "one", allow_pickle=False) as file:
        assert file["parts/model/weight"].tolist() == [0, 1, 2]
        assert json.loads(bytes(file[META]))["version"] == VERSION


def test_every_damaged_byte_is_found_or_does_no_harm(tmp_path):
    path = tmp_path / "run.npz"
    state = {"loss": [0.5, 0.25], "weight": np.arange(5, dtype=np.float32)}
    write(path, state)
    whole, draw = path.read_bytes(), random.Random(0)
    for place in range(len(whole)):
        path.write_bytes(
            whole[:place] + bytes([whole[place] ^ (1 << draw.randrange(8))]) + whole[place + 1 :]
        )
        try:
            found = read(path)
        except CheckpointError as error:
            assert "run.npz" in str(error)
        else:  # bytes that are never read, such as a member's date
            assert (
                found["loss"] == state["loss"]
                and found["weight"].tolist() == state["weight"].tolist()
            ), place


def test_every_truncation_is_found(tmp_path):
    path = tmp_path / "run.npz"
    write(path, {"weight": np.arange(5.0)})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=r"run\.npz.*damaged"):
            read(path)


@pytest.mark.parametrize("broken", ["fsync", "replace", "write"])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch, broken):
    path = tmp_path / "run.npz"
    write(path, {"epoch": 1})

    def fail(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(
            *{
                "fsync": (os, "fsync"),
                "replace": (os, "replace"),
                "write": (np.lib.format, "write_array"),
            }[broken],
            fail,
        )
        with pytest.raises(KeyboardInterrupt):
            write(path, {"epoch": 2})
    assert read(path) == {"epoch": 1}
    write(path, {"epoch": 3})
    assert read(path) == {"epoch": 3} and [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_what_cannot_be_saved_leaves_the_old_file(tmp_path):
    path = tmp_path / "run.npz"
    write(path, {"epoch": 1})
    with pytest.raises(CheckpointError, match="epoch/1 is of type set"):
        write(path, {"epoch": [1, {2}]})
    assert read(path) == {"epoch": 1} and len(list(tmp_path.iterdir())) == 1


def rewritten(path, change):
    arrays = backend.load_arrays(path)
    meta = json.loads(bytes(arrays[META]))
    change(meta)
    backend.save_arrays(path, {**arrays, META: np.frombuffer(json.dumps(meta).encode(), np.uint8)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda meta: meta.update(version=VERSION + 1),
            f"version {VERSION + 1}; this minigrad reads versions up to {VERSION}",
        ),
        (lambda meta: meta.update(format="other"), "its format is 'other'"),
        (lambda meta: meta.pop("version"), "its description is damaged"),
        (lambda meta: meta.update(version=[1]), "its description is damaged"),
    ],
)
def test_files_of_another_kind_or_time(tmp_path, change, words):
    path = tmp_path / "run.npz"
    epochs(2, save=path, show=False)
    rewritten(path, change)
    with pytest.raises(CheckpointError, match=words):
        epochs(2, save=path, show=False)


@pytest.mark.parametrize(
    "state",
    [
        {"leaf": [1]}, {"leaf": {"array": "a"}}, {"leaf": {"leaf": {"array": "a"}}},
        {"tensor": "x"}, {"bfloat16": 1}, {"scalar": []},
        {"scalar": ["int8", 4000]}, {"scalar": ["float32", "x"]}, {"array": "b"},
        {"dict": [[[], 1]]}, {"complex": 1}, {"other": 1}, {},
    ],
    ids=str,
)  # fmt: skip
def test_a_description_of_what_cannot_be_is_refused(state):
    text = json.dumps({"format": DATA, "version": VERSION, "state": [state]}).encode()
    stream = io.BytesIO()
    backend.save_arrays(stream, {META: np.frombuffer(text, np.uint8), "a": np.arange(3)})
    stream.seek(0)
    with pytest.raises(CheckpointError, match="cannot be read"):
        mg.load(stream)


def test_a_description_that_never_ends_is_refused():
    stream = io.BytesIO()
    backend.save_arrays(stream, {META: np.frombuffer(b"[" * 200_000, np.uint8)})
    stream.seek(0)
    with pytest.raises(CheckpointError, match="its description is damaged"):
        mg.load(stream)


def test_an_array_may_have_the_name_of_the_description():
    stream = io.BytesIO()
    mg.save({META: mg.tensor([1.0, 2.0]), META + ".npy": np.arange(2)}, stream)
    stream.seek(0)
    back = mg.load(stream)
    assert (
        list(back) == [META, META + ".npy"]
        and back[META].tolist() == [1.0, 2.0]
        and back[META + ".npy"].tolist() == [0, 1]
    )


def test_files_that_hold_no_saved_run_are_refused(tmp_path):
    layer = mg.nn.Linear(1, 1)
    layer.save(tmp_path / "parameters.npz")
    with pytest.raises(CheckpointError, match=r"no saved run.*Module\.load"):
        epochs(2, save=tmp_path / "parameters.npz", show=False)
    np.savez(tmp_path / "pickled.npz", x=np.array([{}]))
    with pytest.raises(CheckpointError, match=r"pickled\.npz holds no plain arrays"):
        epochs(2, save=tmp_path / "pickled.npz", show=False)


def test_a_damaged_file_of_parameters_is_named(tmp_path):
    layer, path = mg.nn.Linear(2, 2), tmp_path / "layer.npz"
    layer.save(tmp_path / "layer")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"layer\.npz holds no plain arrays"):
        layer.load(path)


def test_parameters_may_have_any_name(tmp_path):
    class Odd(mg.nn.Module):
        """Parameters with the names of numpy.savez's own arguments."""

        def __init__(self):
            self.file, self.allow_pickle = mg.nn.Parameter(mg.ones(2)), mg.nn.Parameter(mg.zeros(1))

    layer, stream = Odd(), io.BytesIO()
    layer.file.data *= 3
    layer.save(stream)
    assert sorted(zipfile.ZipFile(stream).namelist()) == ["allow_pickle.npy", "file.npy"]
    stream.seek(0)
    other = Odd()
    other.load(stream)
    assert other.file.tolist() == [3, 3]


# ------------------------------------------------------------------------------ mg.save and mg.load


def test_a_model_comes_back(tmp_path):
    model, other = (mg.nn.Sequential(mg.nn.Linear(3, 4), mg.nn.BatchNorm1d(4)) for _ in range(2))
    model(mg.randn(5, 3))
    optimizer = mg.optim.Adam(model.parameters(), lr=0.1)
    model(mg.randn(5, 3)).sum().backward()
    optimizer.step()
    path = tmp_path / "model.pt"  # any name: none is added to
    mg.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.pt"]
    kept = mg.load(str(path))
    other.load_state_dict(kept["model"])
    again = mg.optim.Adam(other.parameters(), lr=0.5)
    again.load_state_dict(kept["optimizer"])
    assert kept["epoch"] == 3 and again.param_groups[0]["lr"] == 0.1
    x = mg.randn(5, 3)
    for m, o in ((model, optimizer), (other, again)):
        o.zero_grad()
        m(x).sum().backward()
        o.step()
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), other.state_dict()[name].numpy())
    assert np.array_equal(np.load(path)["model/0.weight"], kept["model"]["0.weight"].numpy())


def test_tensors_keep_whether_they_require_grad():
    leaf, constant = mg.tensor([1.0, 2.0], requires_grad=True), mg.arange(3)
    mg.save([leaf, {"c": (constant,)}], buffer := io.BytesIO())
    buffer.seek(0)
    found, inner = mg.load(buffer, weights_only=True)
    assert found.requires_grad and found.is_leaf and not inner["c"][0].requires_grad
    (found * 3).sum().backward()
    assert (
        found.grad.tolist() == [3.0, 3.0]
        and inner["c"][0].tolist() == [0, 1, 2]
        and inner["c"][0].dtype == mg.int64
    )
    mg.save(leaf, buffer := io.BytesIO())
    buffer.seek(0)
    assert mg.load(buffer, map_location="cpu").requires_grad


def test_arrays_by_name_are_read_as_tensors(tmp_path):
    layer = mg.nn.Linear(2, 3)
    layer.save(tmp_path / "layer.npz")
    np.savez(tmp_path / "numpy.npz", a=np.arange(3.0))
    assert mg.load(tmp_path / "layer.npz")["weight"].shape == (3, 2)
    assert mg.load(tmp_path / "numpy.npz")["a"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"model": mg.nn.Linear(1, 1)}, "model is of type Linear.*state_dict"),
        ([mg.tensor(1.0, requires_grad=True) * 2], "0 is a tensor with a history"),
        ({"f": print}, "f is of type builtin_function_or_method"),
    ],
)
def test_what_is_no_plain_data_is_refused(tmp_path, value, message):
    (tmp_path / "kept").write_bytes(b"old")
    with pytest.raises(CheckpointError, match=message):
        mg.save(value, tmp_path / "kept")
    assert (tmp_path / "kept").read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


def test_files_and_arguments_that_are_wrong(tmp_path):
    with pytest.raises(TypeError, match="save takes the value first, then the file"):
        mg.save("model.npz", {"a": mg.ones(2)})
    with pytest.raises(
        TypeError, match="load: file must be a path or an open binary file, got int"
    ):
        mg.load(3)
    with pytest.raises(FileNotFoundError):
        mg.load(tmp_path / "none.npz")
    (tmp_path / "pickle.pt").write_bytes(b"\x80\x02}q\x00.")
    with pytest.raises(
        CheckpointError, match=r"pickle.pt holds no plain arrays .* of another kind\.$"
    ):
        mg.load(tmp_path / "pickle.pt")
    write(tmp_path / "run.npz", {"epoch": 1})
    with pytest.raises(
        CheckpointError, match=r"no file that mg\.save wrote: its format is 'minigrad.training'"
    ):
        mg.load(tmp_path / "run.npz")
    mg.save(1, tmp_path / "data.npz")
    assert serialization.read(tmp_path / "data.npz", DATA) == 1
    with pytest.raises(CheckpointError, match="no saved run"):
        read(tmp_path / "data.npz")
