"""Names of other libraries that are not offered: what is told, in attributes, imports and
assignments; `out=`; the names of utils.
"""

import subprocess
import sys

import pytest

import minigrad as mg
from minigrad import hints, nn
from minigrad.errors import AutogradError, DTypeError, ShapeError
from tests.helpers.tables import in_one_test

X = mg.tensor([1.0], requires_grad=True)

PROGRAMS = [
    ("mg.grad", AttributeError, r"mg\.func\.grad"),
    ("mg.jit", AttributeError, "compile"),
    ("mg.optim.ADAM", AttributeError, r"Adam\?"),
    ("mg.Value", AttributeError, r"mg\.tensor"),
    ("x.grad = 0", TypeError, r"x\.grad = None"),
    ("x.zero_grad()", AttributeError, r"x\.grad = None"),
    ("x.require_grad = True", AttributeError, r"requires_grad\?"),
    ("x.label = 'a'", AttributeError, "Tensors have no names"),
    ("x.draw_dot()", AttributeError, "draw_graph"),
    ("from minigrad import grad", ImportError, r"mg\.func\.grad"),
    ("from minigrad import sine", ImportError, r"sin\?"),
    ("from minigrad.nn import Linaer", ImportError, r"Linear\?"),
    ("from minigrad.core import Value", ImportError, r"mg\.tensor"),
    ("from minigrad.optim import ADAM", ImportError, r"Adam\?"),
    ("from minigrad.data import IterableDataset", ImportError, "Dataset with __len__"),
    ("import minigrad.jit", ModuleNotFoundError, r"compile\?"),
    ("import minigrad.numpy as jnp", ModuleNotFoundError, r"mg\.sin"),
    ("import minigrad.nothing", ModuleNotFoundError, r"^No module named 'minigrad\.nothing'$"),
    ("mg.linalg.eigvalz", AttributeError, "eigvals"),
    ("mg.np", AttributeError, r"functions are those of mg"),
    ("mg.cuda.amp", AttributeError, r"no automatic mixed precision"),
    ("mg.nn.parallel", AttributeError, "one process"),
    ("mg.nn.SyncBatchNorm", AttributeError, "one process here: BatchNorm1d"),
    ("mg.library", AttributeError, r"autograd\.Function\?"),
    ("mg.einops", AttributeError, r"mg\.einsum"),
    ("mg.compiler", AttributeError, r"one function for it: mg\.compile\.$"),
    ("mg.vjp", AttributeError, r"Write mg\.func\.vjp\.$"),
    ("mg.onnx", AttributeError, "no export to ONNX"),
    ("mg.optim.lr_scheduler.StepLr", AttributeError, r"StepLR\?"),
    ("mg.masked.summ", AttributeError, r"sum\?"),
    # names that the library has in another place
    ("mg.StepLR", AttributeError, r"mg\.optim\.lr_scheduler\.StepLR\?"),
    ("mg.optim.StepLR", AttributeError, r"mg\.optim\.lr_scheduler\.StepLR\?"),
    ("mg.nn.relu", AttributeError, r"mg\.relu or ReLU\?"),
    ("mg.view", AttributeError, r"x\.view\(\)\?"),
    ("x.hardshrink()", AttributeError, r"mg\.nn\.functional\.hardshrink\(x\)\?"),
    ("mg.CosineAnealingLR", AttributeError, r"mg\.optim\.lr_scheduler\.CosineAnnealingLR\?"),
    ("from minigrad.nn import clip_grad_norm_", ImportError, r"mg\.optim\.clip_grad_norm_\?"),
]


@in_one_test
@pytest.mark.parametrize(("program", "error", "words"), PROGRAMS)
def test_the_message_names_what_to_use(program, error, words):
    with pytest.raises(error, match=words):
        exec(program, {"mg": mg, "x": X})


def place_of(name):
    found = mg
    for part in name.split(".")[1:]:
        found = mg.Tensor if part == "Tensor" else getattr(found, part)
    return found


def test_every_name_of_the_table_is_missing_and_every_plain_answer_exists():
    places = {name: X if name == "Tensor" else place_of(name) for name in hints.TABLE}
    offered = [
        (place, name)
        for place, entries in hints.TABLE.items()
        for name in entries
        if hasattr(places[place], name)
    ]
    assert offered == []
    wrong = []
    for place, entries in hints.TABLE.items():
        for name, text in entries.items():
            words = text.removeprefix("mg.").split("(")[0]
            if (
                text.endswith(".")
                or not words.replace(".", "").replace("_", "").isalnum()
                or words.startswith(("x", "y.", "viz", "numpy", "len"))
            ):
                continue
            roots = [places[place], mg, nn, nn.functional, X]
            if words != "mg" and not any(reaches(root, words) for root in roots):
                wrong.append((place, name, text))
    assert wrong == []


def test_names_of_other_places_are_found_where_the_hint_says():
    found = hints.elsewhere()
    for name, path in found.items():
        thing = eval(path.removesuffix("()"), {"mg": mg, "x": mg.ones(1, 1)})
        assert name == path.removesuffix("()").rpartition(".")[2], path
        assert path.startswith("x.") or thing is not None or name == "newaxis", path
    assert found["Adam"] == "mg.optim.Adam" and found["sin"] == "mg.sin"  # the nearest place


def test_every_public_module_answers_with_hints():
    without = [
        name for name in hints.PLACES if "__getattr__" not in vars(place_of(f"minigrad.{name}"))
    ]
    assert without == []


def reaches(root, path):
    for part in path.split("."):
        if not hasattr(root, part):
            return False
        root = getattr(root, part)
    return True


def test_the_table_and_utils_are_not_loaded_by_the_import():
    code = (
        "import sys, minigrad; from minigrad import program; print([m for m in sys.modules if"
        " 'hints' in m or 'utils' in m and m.startswith('minigrad')])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def test_dir_of_a_tensor_lists_what_it_has():
    z = mg.ones(2, 2, dtype=mg.complex64)
    assert [name for name in dir(z) if not hasattr(z, name)] == []
    assert {"requires_grad", "sum", "shape"} <= set(dir(z))


def test_pytorchs_names_of_data_and_checkpoint():
    from minigrad.utils.data import (
        ConcatDataset,
        DataLoader,
        SubsetRandomSampler,
        TensorDataset,
        random_split,
    )

    from minigrad.utils.checkpoint import checkpoint

    a, b = TensorDataset(mg.arange(4)), TensorDataset(mg.arange(10, 13))
    both = a + b
    assert isinstance(both, ConcatDataset)
    assert [int(both[i][0]) for i in (0, 4, -1)] == [0, 10, 12]
    assert len(both) == 7
    assert [len(part) for part in random_split(both, [0.5, 0.5])] == [4, 3]
    assert sorted(
        int(x) for (x,) in DataLoader(both, sampler=SubsetRandomSampler([1, 5]), num_workers=2)
    ) == [1, 11]
    assert [x.tolist() for (x,) in DataLoader(both, batch_sampler=[[0, 6], [3]])] == [[0, 12], [3]]
    assert list(DataLoader(a, 2, collate_fn=lambda rows: [int(r[0]) for r in rows])) == [
        [0, 1],
        [2, 3],
    ]
    assert next(iter(DataLoader([{"x": 1.0, "name": "p"}, {"x": 2.0, "name": "q"}], 2)))[
        "name"
    ] == ["p", "q"]
    assert checkpoint(mg.sin, X).item() == mg.sin(X).item()


def test_out_takes_the_result():
    for function, inputs in (
        (mg.sin, [mg.ones(3)]),
        (mg.add, [mg.ones(3), 2]),
        (mg.matmul, [mg.ones(2, 2), mg.ones(2, 2)]),
        (mg.sum, [mg.ones(3)]),
    ):
        wanted = function(*inputs)
        kept, empty = mg.zeros(wanted.shape), mg.empty(0)
        seen = kept.detach()
        assert function(*inputs, out=kept) is kept and seen.tolist() == wanted.tolist()
        assert function(*inputs, out=empty) is empty and empty.tolist() == wanted.tolist()
    values, indices = mg.empty(2), mg.empty(2, dtype=mg.int64)
    mg.max(mg.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=0, out=(values, indices))
    assert values.tolist() == [2, 3] and indices.tolist() == [1, 0]
    for call, error in (
        (lambda: mg.exp(X, out=mg.empty(1)), AutogradError),
        (lambda: mg.sum(mg.ones(3), out=mg.zeros((), dtype=mg.int64)), DTypeError),
        (lambda: mg.sum(mg.ones(3), out=mg.zeros(2)), ShapeError),
        (lambda: mg.sin(mg.ones(3), out=[]), TypeError),
    ):
        with pytest.raises(error, match="out"):
            call()
    with mg.no_grad():
        assert mg.exp(X, out=mg.empty(1)).tolist() == mg.exp(X).tolist()


@pytest.mark.parametrize(
    ("layer", "shape", "words"),
    [
        (
            nn.Conv2d(1, 2, 3),
            (8, 28, 28, 1),
            r"Channels come second: is \(8, 1, 28, 28\) meant\? Write x\.permute\(0, 3, 1, 2\)",
        ),
        (nn.Conv2d(3, 2, 3), (28, 28, 3), r"Channels come first: is \(3, 28, 28\) meant"),
        (nn.Conv2d(1, 2, 3), (8, 28, 28), r"For 8 samples of one channel write x\.unsqueeze\(1\)"),
        (nn.ConvTranspose2d(3, 2, 3), (8, 5, 5, 3), "Channels come second"),
        (nn.BatchNorm2d(3), (8, 5, 5, 3), "Channels come second"),
        (nn.GroupNorm(2, 4), (2, 5, 5, 4), "Channels come second"),
        (nn.Linear(784, 10), (8, 1, 28, 28), r"Write x\.flatten\(1\)"),
    ],
)
def test_images_with_channels_last_are_named(layer, shape, words):
    with pytest.raises(ShapeError, match=words):
        layer(mg.zeros(*shape))
