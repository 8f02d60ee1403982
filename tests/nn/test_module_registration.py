"""What a module registers, and refuses: random programs of assignments, in minigrad and in
PyTorch.
"""

import copy
import pickle
import random

import pytest

import minigrad as mg
from minigrad import nn
from tests.helpers.tables import in_one_test

NAMES = ["a", "b", "c"]
VALUES = {
    "parameter": lambda lib: lib.nn.Parameter(lib.ones(2)),
    "frozen": lambda lib: lib.nn.Parameter(lib.ones(2), requires_grad=False),
    "tensor": lambda lib: lib.ones(2),
    "leaf": lambda lib: lib.ones(2, requires_grad=True),
    "buffer": lambda lib: lib.nn.Buffer(lib.ones(2)),
    "passing": lambda lib: lib.nn.Buffer(lib.ones(2), persistent=False),
    "module": lambda lib: lib.nn.Linear(1, 1),
    "other module": lambda lib: lib.nn.ReLU(),
    "none": lambda lib: None,
    "number": lambda lib: 3,
    "list": lambda lib: [lib.nn.Linear(1, 1)],
    "dict": lambda lib: {"x": lib.nn.Parameter(lib.ones(1))},
}
STEPS = {
    "set": lambda lib, m, n, k, v, on: setattr(m, n, VALUES[v](lib)),
    "tie": lambda lib, m, n, k, v, on: setattr(m, n, getattr(m, k)),
    "delete": lambda lib, m, n, k, v, on: delattr(m, n),
    "register_buffer": lambda lib, m, n, k, v, on: m.register_buffer(
        n, None if v == "none" else lib.ones(2), persistent=on
    ),
    "register_parameter": lambda lib, m, n, k, v, on: m.register_parameter(n, VALUES[v](lib)),
    "add_module": lambda lib, m, n, k, v, on: m.add_module(n, VALUES[v](lib)),
    "set_submodule": lambda lib, m, n, k, v, on: m.set_submodule(n, lib.nn.ReLU()),
    "get": lambda lib, m, n, k, v, on: m.get_parameter(n) if on else m.get_buffer(n),
    "freeze": lambda lib, m, n, k, v, on: m.requires_grad_(on),
    "load": lambda lib, m, n, k, v, on: m.load_state_dict(m.state_dict(), assign=on),
    "deepcopy": lambda lib, m, n, k, v, on: copy.deepcopy(m),
    "pickle": lambda lib, m, n, k, v, on: pickle.loads(pickle.dumps(m)),
}


def program(seed):
    r = random.Random(seed)
    kinds = ["set"] * 8 + list(STEPS)
    return [
        (
            r.choice(kinds),
            r.choice(NAMES),
            r.choice(NAMES),
            r.choice(list(VALUES)),
            r.random() < 0.5,
        )
        for _ in range(r.randint(2, 10))
    ]


def facts(m):
    return {
        "state": list(m.state_dict()),
        "parameters": [n for n, _ in m.named_parameters()],
        "shared": [n for n, _ in m.named_parameters(remove_duplicate=False)],
        "buffers": [n for n, _ in m.named_buffers(remove_duplicate=False)],
        "modules": [n for n, _ in m.named_modules()],
        "names": [list(m._parameters), list(m._buffers), list(m._modules)],
        "learned": [p.requires_grad for p in m.parameters()],
    }


def run(lib, steps):
    module, log = lib.nn.Module(), []
    for kind, *rest in steps:
        try:
            made = STEPS[kind](lib, module, *rest)
            module = made if kind in ("deepcopy", "pickle") else module
            log.append("done")
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            log.append(type(error).__name__)
        log.append(facts(module))
    return log


def differences(torch, seeds):
    return [
        (seed, program(seed))
        for seed in seeds
        if run(mg, program(seed)) != run(torch, program(seed))
    ]


@pytest.mark.oracle
def test_random_programs_register_what_pytorch_registers(torch):
    assert differences(torch, range(300)) == []


@pytest.mark.oracle
@pytest.mark.whole
def test_thousands_of_random_programs_register_what_pytorch_registers(torch):
    assert differences(torch, range(300, 3000)) == []


def test_a_plain_tensor_cannot_take_a_parameters_place():
    layer = nn.Linear(2, 2)
    with pytest.raises(
        TypeError,
        match=(
            r"Linear\.weight is a parameter: it must be an nn\.Parameter or None, got a plain"
            r" tensor"
        ),
    ):
        layer.weight = mg.zeros(2, 2)
    with pytest.raises(TypeError, match=r"bias is a parameter"):
        nn.Linear(2, 2, bias=False).bias = mg.zeros(2)
    layer.bias = None
    assert [n for n, _ in layer.named_parameters()] == ["weight"]
    assert list(layer._parameters) == ["weight", "bias"]
    layer.bias = nn.Parameter(mg.ones(2))
    assert list(layer.state_dict()) == ["weight", "bias"]


def test_a_constructor_need_not_call_that_of_module():
    class Plain(nn.Module):
        def __init__(self):
            self.w, self.inner, self.lists = (
                nn.Parameter(mg.ones(1)),
                nn.Linear(1, 1),
                [nn.Linear(1, 1)],
            )

    class Late(Plain):
        def __init__(self):
            Plain.__init__(self)
            nn.Module.__init__(self)
            self.last = nn.Buffer(mg.ones(1))

    inner = ["inner.weight", "inner.bias"]
    assert list(Plain().state_dict()) == ["w", *inner]
    late = Late()
    assert list(late.state_dict()) == ["w", "last", *inner]
    assert [id(p) for p in late.parameters()] == [id(late.w), *map(id, late.inner.parameters())]
    assert "before, or without" in " ".join(nn.Module.__doc__.split())


@pytest.mark.parametrize("change", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_tied_weights_stay_tied(change):
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    other = change(model)
    assert other[0].weight is other[1].weight and isinstance(other[0].weight, nn.Parameter)
    assert len(list(other.parameters())) == 3 and len(other.state_dict()) == 4
    other.double().half()
    assert other[0].weight is other[1].weight and other[1].weight.dtype == mg.float16
    assert isinstance(change(nn.Parameter(mg.ones(1), requires_grad=False)), nn.Parameter)
    assert isinstance(change(nn.Buffer(mg.ones(1))), nn.Buffer)


def test_a_shallow_copy_registers_for_itself():
    first = nn.Linear(1, 1)
    second = copy.copy(first)
    second.more = nn.Parameter(mg.ones(1))
    del second.bias
    assert list(first.state_dict()) == ["weight", "bias"]
    assert list(second.state_dict()) == ["weight", "more"]


def test_a_parameter_has_the_memory_of_its_tensor_and_gradients_follow_a_conversion():
    data = mg.ones(2)
    parameter = nn.Parameter(data)
    data.mul_(3)
    assert parameter.tolist() == [3.0, 3.0]
    assert parameter.is_leaf
    assert parameter.requires_grad
    assert not data.requires_grad
    layer = nn.Linear(1, 1)
    layer(mg.ones(1, 1)).sum().backward()
    layer.double()
    assert layer.weight.grad.tolist() == [[1.0]] and layer.weight.grad.dtype == mg.float64


def with_extra(lib):
    class Extra(lib.nn.Module):
        def __init__(self, count=0):
            super().__init__()
            self.w, self.count = lib.nn.Parameter(lib.ones(1)), count

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    return Extra


@pytest.mark.oracle
def test_extra_state_is_saved_and_asked_for_as_by_pytorch(torch):
    seen = []
    for lib in (mg, torch):
        extra = with_extra(lib)
        outer = lib.nn.Sequential(extra(7), lib.nn.ReLU())
        other = lib.nn.Sequential(extra(), lib.nn.ReLU())
        state = outer.state_dict()
        keys = other.load_state_dict(state)
        without = {k: v for k, v in state.items() if "extra" not in k}
        missing = other.load_state_dict(without, strict=False)
        unknown = lib.nn.Sequential(lib.nn.ReLU()).load_state_dict(
            {"0._extra_state": 3}, strict=False
        )
        seen.append([list(state), other[0].count, list(keys), list(missing), list(unknown)])
        with pytest.raises(RuntimeError):
            other.load_state_dict(without)
    assert seen[0] == seen[1] and seen[0][1] == 7


LISTS = {
    "assign": lambda lib, s: s.__setitem__(1, lib.nn.Tanh()),
    "assign from the end": lambda lib, s: s.__setitem__(-1, lib.nn.Tanh()),
    "out of range": lambda lib, s: s.__setitem__(7, lib.nn.Tanh()),
    "delete": lambda lib, s: s.__delitem__(1),
    "delete a slice": lambda lib, s: s.__delitem__(slice(0, 2)),
    "insert": lambda lib, s: s.insert(1, lib.nn.Tanh()),
    "insert at the end": lambda lib, s: s.insert(3, lib.nn.Tanh()),
    "append": lambda lib, s: s.append(lib.nn.Tanh()),
    "extend": lambda lib, s: s.extend([lib.nn.Tanh(), lib.nn.Linear(2, 1)]),
    "pop": lambda lib, s: s.pop(1),
    "slice": lambda lib, s: s[1:],
    "step": lambda lib, s: s[::2],
    "add": lambda lib, s: (
        s + type(s)([lib.nn.Linear(4, 4)])
        if isinstance(s, lib.nn.ModuleList)
        else s + lib.nn.Sequential(lib.nn.Tanh())
    ),
    "add a number": lambda lib, s: s + 1,
    "wrong member": lambda lib, s: s.append(1),
}
CHAINS = {
    "insert before the end": lambda lib, s: s.insert(-1, lib.nn.Tanh()),
    "insert too far": lambda lib, s: s.insert(9, lib.nn.Tanh()),
    "twice": lambda lib, s: s * 2,
    "from the left": lambda lib, s: 2 * s,
    "none": lambda lib, s: s * 0,
    "by a float": lambda lib, s: s * 1.5,
    "in place": lambda lib, s: s.__imul__(2),
    "named": lambda lib, s: s.add_module("last", lib.nn.Tanh()),
    "an attribute": lambda lib, s: setattr(s, "last", lib.nn.Tanh()),
}


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize(
    ("container", "step"),
    [(c, s) for c in ("Sequential", "ModuleList") for s in LISTS]
    + [("Sequential", s) for s in CHAINS],
)
def test_containers_are_edited_as_pytorchs(torch, container, step):
    seen = []
    for lib in (mg, torch):
        members = [lib.nn.Linear(2, 3), lib.nn.ReLU(), lib.nn.Linear(3, 2, bias=False)]
        made = (
            lib.nn.Sequential(*members) if container == "Sequential" else lib.nn.ModuleList(members)
        )
        try:
            result = {**LISTS, **CHAINS}[step](lib, made)
            log = [
                "done",
                repr(result),
                list(result.state_dict()) if isinstance(result, lib.nn.Module) else None,
            ]
        except (TypeError, ValueError, IndexError) as error:
            log = [
                "raised",
                (
                    (TypeError, ValueError)
                    if isinstance(error, TypeError | ValueError)
                    else type(error)
                ),
            ]
        seen.append(
            [
                log,
                repr(made),
                list(made.state_dict()),
                len(made),
                [n for n, _ in made.named_children()],
            ]
        )
    assert seen[0] == seen[1]
