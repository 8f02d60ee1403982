"""Programs in files come back exactly; malformed files are refused; a run of a program is a
Trace; CUDA graphs need CUDA.
"""

import json
import math
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.errors import DeviceError, ProgramError
from minigrad.program import load, recorded, trace
from minigrad.trace.schema import validate
from tests.helpers.exact_values import bits

RNG = np.random.default_rng(0)


def tensor(*shape: int, requires_grad: bool = False) -> mg.Tensor:
    return mg.tensor(RNG.standard_normal(shape).astype("float32"), requires_grad=requires_grad)


def sample(x: Any, i: Any) -> Any:
    """Parameters and constants of every kind."""
    table = mg.tensor(np.arange(12, dtype="float64").reshape(3, 4).T)
    y = x * math.inf + x * math.nan + (x * -0.0) + x[:, None, ...][..., ::2].sum() + 0.1
    y = y.clone()
    y[1:] = 3
    return {
        "y": [y, table.sum(0)],
        "at": (x[i], x[mg.tensor([0, 1]), 1:], mg.tensor(2.5), None, "text"),
        "z": (x * (1 + 2j)).abs(),
    }


def test_a_loaded_program_is_the_saved_one(tmp_path: Any) -> None:
    """A loaded program prints, checks and computes as the saved one, bit by bit; and saves to
    the same text.
    """
    x, i = tensor(3, 4), mg.tensor([2, 0])
    program = trace(sample, x, i)
    program.save(tmp_path / "sample")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["sample.json", "sample.npz"]
    again = load(tmp_path / "sample.json")
    assert again.text(None) == program.text(None) and again.types == program.types
    for _ in range(3):
        assert bits(again(x, i)) == bits(program(x, i)) == bits(sample(x, i))
    again.save(tmp_path / "second")
    assert (tmp_path / "second.json").read_text() == (tmp_path / "sample.json").read_text()
    assert [a.strides for a in again.constants.values()] == [
        a.strides for a in program.constants.values()
    ]


def test_captured_state_in_files(tmp_path: Any) -> None:
    """A training step keeps its parameters in the file; the loaded one goes on from there."""
    w = tensor(3, requires_grad=True)

    def step(x: Any) -> Any:
        w.grad = None
        loss = ((w * x) ** 2).sum()
        loss.backward()
        with mg.no_grad():
            w.sub_(0.1 * w.grad)
        return loss.detach()

    x = tensor(3)
    program, _ = recorded(step, x)
    program.save(tmp_path / "step.npz")
    again = load(tmp_path / "step")
    for _ in range(4):
        assert bits(again(x)) == bits(program(x))
    (place,) = again.captured.values()
    assert place.name == "w" and bits(place.tensor) == bits(w.detach()) and place.tensor is not w


def test_bfloat16_in_files(tmp_path: Any) -> None:
    """A dtype that .npz files cannot hold is kept by its bits."""
    pytest.importorskip("ml_dtypes")
    table = mg.tensor([1.5, -2.25, 3.0], dtype=mg.bfloat16)
    x = mg.tensor([1.0, 2.0, 3.0], dtype=mg.bfloat16)
    program = trace(lambda x: x * table, x)
    program.save(tmp_path / "p")
    assert bits(load(tmp_path / "p")(x)) == bits(program(x))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.update(format="minigrad.program/9"), "format 'minigrad.program/9'"),
        (
            lambda d: d["instructions"][0].__setitem__(0, "frobnicate"),
            "'frobnicate', which is no operation",
        ),
        (lambda d: d.pop("types"), "malformed: KeyError"),
        (lambda d: d["values"].append(99), "malformed"),
        (lambda d: d["instructions"][0].pop(), "malformed"),
        (lambda d: d["types"][0].__setitem__(1, "float33"), "no dtype 'float33'"),
        (lambda d: d["types"][0].__setitem__(0, [7]), "program says|cannot be applied|is float32"),
        (
            lambda d: d["instructions"][0][1].__setitem__(0, {"surprise": 1}),
            "unknown kind 'surprise'",
        ),
        (lambda d: d["instructions"].reverse(), "before it is made"),
        (lambda d: d["constants"][0].__setitem__(1, "a77"), "malformed: KeyError"),
    ],
)
def test_malformed_files_are_refused_with_the_reason(
    tmp_path: Any, damage: Any, message: str
) -> None:
    """Whatever is wrong with a file is said, and nothing is run."""
    constant = tensor(3)
    trace(lambda x: (x + constant) * 2, tensor(3)).save(tmp_path / "p")
    document = json.loads((tmp_path / "p.json").read_text())
    damage(document)
    (tmp_path / "p.json").write_text(json.dumps(document))
    with pytest.raises(ProgramError, match=message):
        load(tmp_path / "p")


def test_files_that_are_no_programs_are_refused(tmp_path: Any) -> None:
    """Text that is no JSON, arrays that are pickled, files that are not there."""
    (tmp_path / "p.json").write_text("{")
    with pytest.raises(ProgramError, match="no JSON"):
        load(tmp_path / "p")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")
    trace(lambda x: x + 1, tensor(3)).save(tmp_path / "q")
    np.savez(tmp_path / "q.npz", a0=np.array([{}], dtype=object))
    text = json.loads((tmp_path / "q.json").read_text())
    text["constants"], text["layouts"] = [[0, "a0"]], {"a0": ["float32", [0], False]}
    (tmp_path / "q.json").write_text(json.dumps(text))
    with pytest.raises(ProgramError, match="malformed: ValueError"):
        load(tmp_path / "q")


# ------------------------------------------------------------------------------------------- Traces


def test_a_run_is_a_trace() -> None:
    """The document is valid; its last state holds the values of the run; buffers are born, taken
    over and freed in it.
    """
    w = tensor(3, 3, requires_grad=True)
    program = trace(lambda x: ((x @ w).relu() * 2 + 1).sum(), tensor(4, 3), backward=True)
    x = tensor(4, 3)
    document = validate(program.as_trace(x))
    result, gradients = program(x)
    out, grad = document["outputs"]
    assert json.loads(json.dumps(document)) == document
    written = {node: value for step in document["steps"] for node, _, value in step["writes"]}
    assert written[out] == result.item() and written[grad]["sample"] == [
        v.item() for v in gradients["w"].numpy().reshape(-1)
    ]
    said = " ".join(step["say"] for step in document["steps"])
    assert "It is written where" in said and "of the buffers" in said and "are free" in said
    freed = [n for step in document["steps"] for n in step.get("free", [])]
    assert len(freed) == len(set(freed)) >= 4 and out not in freed
    assert {n["stage"] for n in document["nodes"]} == {"primal", "backward"}
    kinds = {n["id"]: n["kind"] for n in document["nodes"]}
    assert kinds["x"] == "input" and kinds["w"] == "param"


def test_traces_of_several_results_tangents_and_second_derivatives() -> None:
    """All stages and operations with several results make valid documents."""
    from minigrad.func import grad, jvp

    f = lambda x: jvp(grad(lambda x: (x.exp() * x).sum()), (x,), (x,))
    g = lambda a: mg.linalg.eigh(a @ a.T)
    h = lambda x: grad(lambda x: (grad(lambda x: (x**3).sum())(x) ** 2).sum())(x)
    for function, shape in ((f, (3,)), (g, (3, 3)), (h, (3,))):
        x = tensor(*shape)
        document = validate(trace(function, x, simplify=False).as_trace(x))
        assert document["steps"]
    stages = {n["stage"] for n in document["nodes"]}
    assert {"backward", "second backward"} <= stages


def test_traces_write_nothing_and_have_an_end() -> None:
    """Showing a step does not take it; very long programs are refused."""
    w = tensor(3, requires_grad=True)

    def step(x: Any) -> Any:
        with mg.no_grad():
            w.sub_(x)
        return w.sum()

    program, _ = recorded(step, tensor(3))
    before = bits(w.detach())
    validate(program.as_trace(tensor(3)))
    assert bits(w.detach()) == before

    def long(x: Any) -> Any:
        for _ in range(5001):
            x = x + 1.0
        return x

    with pytest.raises(ProgramError, match="at most 5,000"):
        trace(long, tensor(1)).as_trace(tensor(1))


def test_readers_and_makers() -> None:
    """What drawings read: who reads what, who makes what."""
    program = trace(lambda x, i: (x * x)[i], tensor(3), mg.tensor([0, 2]))
    assert program.readers() == {3: [2], 0: [0, 0], 2: [1], 1: [1]}
    assert program.makers() == [-1, -1, 0, 1] and program.last_reads() == [0, 1, 1, 2]


# -------------------------------------------------------------------------------------- CUDA graphs


def test_capture_on_the_cpu_is_an_error() -> None:
    """With advice, and before anything runs."""
    with pytest.raises(DeviceError, match="one CUDA device; this program's are on cpu"):
        trace(lambda x: x + 1, tensor(3)).capture()


@pytest.mark.gpu
def test_capture_on_a_gpu() -> None:
    """A captured program gives the bits of the program itself, on several inputs, and its
    results are fresh.
    """
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to("cuda")
    x = tensor(16, 4).to("cuda")
    program = trace(lambda x: model(x).sum(1), x)
    captured = program.capture()
    first = captured(x)
    kept = bits(first.cpu())
    for _ in range(3):
        y = tensor(16, 4).to("cuda")
        assert bits(captured(y).cpu()) == bits(program(y).cpu())
    assert bits(first.cpu()) == kept


def test_numbers_of_an_optimiser_in_a_file(tmp_path: Any) -> None:
    """A step by Adam: the numbers of the step are computed again in each run; in a file they are
    as they were, and so named.
    """
    from minigrad.optim import Adam

    w = mg.tensor([1.0, -2.0], requires_grad=True)
    optimizer = Adam([w], lr=0.1)

    def step() -> None:
        w.grad = None
        (w * w).sum().backward()
        optimizer.step()

    step()
    program = trace(step)
    program()
    assert optimizer.state[id(w)]["step"] == 3
    program.save(tmp_path / "step")
    again = load(tmp_path / "step")
    held = {place.name: place.value for n, place in again.captured.items() if again.types[n].number}
    assert held == {
        "lr": pytest.approx(0.1 / (1 - 0.9**3)),
        "correction": pytest.approx((1 - 0.999**3) ** 0.5),
    }
    assert str(again) == str(program) and "lr: number" in str(program)
    again()
    (own,) = (
        place.tensor
        for place in again.captured.values()
        if getattr(place, "tensor", None) is not None and place.name == "w"
    )
    assert own.shape == w.shape and program.as_trace()["nodes"]
