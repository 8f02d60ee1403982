"""What no lesson needs is loaded on first use, under the same names."""

import inspect
import subprocess
import sys

import pytest

import minigrad as mg
from minigrad import names, on_demand, ops
from minigrad.core.primitive import registry
from minigrad.nn import functional
from tests.helpers.tables import in_one_test

PACKAGES = "extras fft graph linalg masked nn optim signal special".split()


def modules_after(program: str) -> set[str]:
    """The modules of minigrad that are loaded after a program has run in a new process."""
    end = "; import sys; print(*(m for m in sys.modules if m.startswith('minigrad.')))"
    done = subprocess.run(
        [sys.executable, "-c", program + end], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_minigrad_loads_none_of_them():
    found = modules_after("import minigrad")
    assert "minigrad.arrays" in found
    assert {name.split(".")[1] for name in found}.isdisjoint(PACKAGES)


def test_a_network_loads_none_of_the_extras():
    found = modules_after(
        "import minigrad as mg; mg.nn.Linear(2, 3)(mg.ones(4, 2)).sum().backward()"
    )
    assert "minigrad.nn.layers.linear" in found
    assert {name.split(".")[1] for name in found}.isdisjoint({"extras", "linalg", "special"})


@pytest.mark.parametrize(
    ("program", "module"),
    [
        ("minigrad.det(minigrad.eye(2))", "minigrad.linalg"),
        pytest.param("minigrad.eye(2).det()", "minigrad.linalg", marks=pytest.mark.whole),
        pytest.param(
            "minigrad.Tensor.lgamma_(minigrad.ones(2))",
            "minigrad.special.functions",
            marks=pytest.mark.whole,
        ),
        ("1 << minigrad.tensor(3)", "minigrad.extras.pointwise"),
        pytest.param(
            "x = minigrad.tensor(3); x >>= 1", "minigrad.extras.pointwise", marks=pytest.mark.whole
        ),
        pytest.param(
            "minigrad.nn.functional.ctc_loss", "minigrad.extras.ctc", marks=pytest.mark.whole
        ),
        pytest.param(
            "minigrad.ops.find('bessel_j')", "minigrad.special.bessel", marks=pytest.mark.whole
        ),
        ("from minigrad.fft import fft", "minigrad.fft.transform"),
    ],
)
def test_first_use_loads_the_file(program, module):
    assert module in modules_after(f"import minigrad; {program}")


@in_one_test
@pytest.mark.parametrize("file", on_demand.FILES, ids=lambda file: file.module)
def test_the_list_is_what_the_files_offer(file):
    on_demand.load()
    module = sys.modules.get(f"minigrad{file.module}")
    for name in (*file.functions.split(), *file.methods.split(), *file.in_place.split()):
        assert callable(getattr(mg, name))
        if name in on_demand.LISTED:
            assert inspect.unwrap(getattr(mg, name)) is inspect.unwrap(getattr(module, name))
            assert name in module.__all__
    for name in on_demand.method_names(file):
        assert getattr(mg.Tensor, name) is names.attached[name]


def test_every_function_of_the_files_is_in_the_list():
    for module in on_demand.load():
        own = set(module.__all__)
        if module is not mg.linalg:  # torch.linalg has more names than torch
            assert own <= on_demand.FUNCTIONS.keys(), module


def test_operations_are_found_by_name():
    assert ops.find("svd") is registry["svd"]
    assert ops.find("no such operation") is None


def test_functions_of_networks_on_demand_are_public():
    assert "grid_sample" in functional.__all__
    assert callable(functional.grid_sample)
    with pytest.raises(AttributeError, match="grid_sampel"):
        functional.grid_sampel  # noqa: B018


def test_completion_and_hints_know_what_is_not_loaded_yet():
    program = """
import minigrad as mg
assert {"quantile", "det", "linalg", "compile"} <= set(dir(mg))
for slip, hint in (("quantil", "quantile"), ("linalgs", "linalg")):
    try:
        getattr(mg, slip)
    except AttributeError as error:
        assert f"Did you mean {hint}" in str(error), error
"""
    assert "minigrad.extras.statistics" not in modules_after(program + "pass")
