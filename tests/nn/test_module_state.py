"""What belongs to a module: put in by name, found by name, saved and loaded with hooks, as in
PyTorch.
"""

import copy
import gc
import pickle
import sys

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from tests.helpers.known_answers import plain
from tests.helpers.tables import in_one_test


def names(module):
    """All that a module says about its own members."""
    return {
        "state": list(module.state_dict()),
        "parameters": [name for name, _ in module.named_parameters()],
        "parameters twice": [name for name, _ in module.named_parameters(remove_duplicate=False)],
        "own": [name for name, _ in module.named_parameters("p", recurse=False)],
        "buffers": [name for name, _ in module.named_buffers()],
        "buffers twice": [name for name, _ in module.named_buffers(remove_duplicate=False)],
        "own buffers": [name for name, _ in module.named_buffers(recurse=False)],
        "children": [name for name, _ in module.named_children()],
        "modules": [name for name, _ in module.named_modules(prefix="m")],
        "modules twice": [name for name, _ in module.named_modules(remove_duplicate=False)],
        "counts": [
            len(list(module.parameters(recurse=False))),
            len(list(module.buffers(recurse=False))),
        ],
    }


def small(lib):
    """A module with parameters, buffers of both kinds, a shared module and a shared parameter."""
    nn = lib.nn

    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("first", lib.tensor([1.0]))
            self.weight = nn.Parameter(lib.tensor([2.0, 3.0]))
            self.mask = nn.Buffer(lib.tensor([4.0]), persistent=False)
            self.mean = nn.Buffer(lib.tensor([5.0]))
            self.inner = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
            self.again = self.inner
            self.tied = self.weight
            self.inner.register_buffer("shared", self.mean)

        def forward(self, x):
            return self.inner(x) * self.weight + self.mean

    return Small()


def put_in(lib):
    nn, module = lib.nn, lib.nn.Module()
    module.add_module("a", nn.ReLU())
    module.register_module("b", nn.Sequential(nn.ReLU()))
    module.add_module("a", nn.Linear(1, 1))
    module.register_parameter("w", nn.Parameter(lib.tensor([1.0])))
    module.register_parameter("w", nn.Parameter(lib.tensor([2.0])))
    module.register_buffer("c", lib.tensor([3.0]), persistent=False)
    module.register_buffer("d", lib.tensor([3.0]), False)
    module.register_buffer("d", lib.tensor([4.0]))
    module.register_parameter("nothing", None)
    module.register_buffer("none", None)
    module.none = lib.tensor([1.0])
    module.c = lib.tensor([7.0])  # as it was
    module.c = module.c * 2
    del module.d
    module.d = nn.Parameter(lib.tensor([1.0]))  # no longer a buffer
    module.list = nn.ModuleList([nn.ReLU()])
    module.list.add_module("1", nn.Linear(1, 1))
    module.dict = nn.ModuleDict()
    module.dict.add_module("x", nn.ReLU())
    return module


def changed_buffers(lib):
    module = small(lib)
    module.mean = module.mean * 2  # a tensor in a buffer's place is the buffer
    module.mask = lib.nn.Buffer(lib.tensor([1.0]))
    module.first = None
    return module


@pytest.mark.oracle
@pytest.mark.parametrize("make", [small, put_in, changed_buffers], ids=lambda f: f.__name__)
def test_names_are_pytorchs(torch, make):
    assert names(make(mg)) == names(make(torch))


@pytest.mark.parametrize("change", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_knows_its_buffers_and_frozen_parameters(change):
    module = nn.Sequential(nn.Linear(1, 1))
    module.kept = nn.Buffer(mg.ones(1))
    module.passing = nn.Buffer(mg.ones(1), persistent=False)
    module.requires_grad_(False)
    other = change(module)
    assert names(other) == names(module) and len(list(other.parameters())) == 2
    other.requires_grad_()
    assert all(p.requires_grad for p in other.parameters())


def frozen(lib):
    module = small(lib)
    module.other = lib.nn.Module()
    module.other.shared = module.weight
    module.many = lib.nn.ParameterList([lib.nn.Parameter(lib.ones(1))])
    module.named = lib.nn.ParameterDict({"x": lib.nn.Parameter(lib.ones(1))})
    return module


@pytest.mark.oracle
def test_frozen_parameters_stay_parameters(torch):
    wanted = names(frozen(torch))
    one, other = frozen(mg).requires_grad_(False), frozen(mg)
    for p in other.parameters():
        p.requires_grad_(False)
    for module in (one, other):
        assert names(module) == wanted and not any(p.requires_grad for p in module.parameters())
        assert [n for n, _ in module.other.named_parameters()] == ["shared"]
        assert names(module.requires_grad_()) == wanted
        assert all(p.requires_grad for p in module.parameters())


def test_a_buffer_is_a_tensor_on_the_same_memory():
    data = mg.tensor([1.0, 2.0])
    buffer = nn.Buffer(data, persistent=False)
    assert type(buffer) is mg.Tensor
    assert isinstance(buffer, nn.Buffer)
    assert not isinstance(data, nn.Buffer)
    assert not isinstance(3, nn.Buffer)
    data[0] = 5.0
    assert buffer.tolist() == [5.0, 2.0] and not buffer.requires_grad
    assert nn.Buffer(np.ones(2)).dtype == mg.float64 and nn.Buffer().shape == (0,)
    learned = nn.Buffer(mg.ones(1, requires_grad=True))
    module = nn.Module()
    module.learned = learned
    assert learned.requires_grad
    assert not list(module.parameters())
    assert next(module.buffers()) is learned
    kept = sys.modules["minigrad.roles"]

    del buffer, learned, module
    gc.collect()
    before = len(kept._roles)
    passing = nn.Buffer(data)
    assert len(kept._roles) == before + 1
    del passing
    assert len(kept._roles) == before


def test_conversions_and_switches():
    module = small(mg)
    for convert, dtype in (("half", mg.float16), ("double", mg.float64), ("float", mg.float32)):
        assert getattr(module, convert)() is module
        assert {t.dtype for t in (*module.parameters(), *module.buffers())} == {dtype}
        assert module.mask.dtype == dtype
    assert module.type(mg.float64).weight.dtype == mg.float64
    assert module.type("float32").weight.dtype == mg.float32
    pytest.importorskip("ml_dtypes")
    assert module.bfloat16().weight.dtype == mg.bfloat16
    for wrong in (mg.int64, "bool"):
        with pytest.raises(
            TypeError,
            match=(
                "Small.to: parameters are floating or complex numbers, which"
                f" {mg.tensor(1).to(wrong).dtype}"
            ),
        ):
            module.to(wrong)
    seen = []
    assert module.apply(lambda m: seen.append(type(m).__name__)) is module
    assert seen == ["Linear", "ReLU", "Sequential", "Small"]
    module.float()(mg.ones(1, 1)).sum().backward()
    module.zero_grad(set_to_none=False)
    assert module.weight.grad.tolist() == [0.0, 0.0]
    module.zero_grad()
    assert module.weight.grad is None


@pytest.mark.oracle
def test_positions_of_what_to_takes(torch):
    """A device, a dtype, non_blocking; or a dtype or a tensor, non_blocking."""
    for args in (
        lambda m: ("cpu", m.float64, True), lambda m: (m.float64, True),
        lambda m: (None, None, True),
        lambda m: (m.tensor(1.0, dtype=m.float64), False), lambda m: ("cpu", True),
        lambda m: (None, True), lambda m: (True,), lambda m: (m.float64, True, True),
    ):  # fmt: skip
        found = []
        for m in (mg, torch):
            try:
                found.append(str(m.nn.Linear(1, 1).to(*args(m)).weight.dtype).split(".")[-1])
            except (TypeError, RuntimeError):
                found.append("refused")
        assert found[0] == found[1], (args(mg), found)
    with pytest.raises(TypeError, match=r"Linear.to: True stands where .* non_blocking=True"):
        mg.nn.Linear(1, 1).to("cpu", True)


# ------------------------------------------------------------------------------------ found by name


@pytest.mark.oracle
def test_parts_are_found_by_their_names(torch):
    ours, theirs = small(mg), small(torch)
    for module in (ours, theirs):
        assert module.get_submodule("") is module
        assert module.get_submodule("again.1") is module.inner[1]
        assert module.get_parameter("inner.0.weight") is module.inner[0].weight
        assert module.get_parameter("weight") is module.weight
        assert module.get_buffer("mask") is module.mask
        assert module.get_buffer("again.shared") is module.mean
        for method, target, message in (
            ("get_submodule", "inner.5", "has no attribute"),
            ("get_submodule", "outer", "has no attribute"),
            ("get_submodule", "weight", "is not an nn.Module"),
            ("get_submodule", "inner.0.weight", "is not an nn.Module"),
            ("get_parameter", "inner.0.wait", "has no attribute"),
            ("get_parameter", "mean", "is not an nn.Parameter"),
            ("get_parameter", "inner", "is not an nn.Parameter"),
            ("get_buffer", "weight", "is not a buffer"),
            ("get_buffer", "nothing", "has no attribute"),
        ):
            with pytest.raises(AttributeError, match=message):
                getattr(module, method)(target)


@pytest.mark.oracle
def test_modules_are_exchanged_by_their_names(torch):
    for lib in (mg, torch):
        module, new = small(lib), lib.nn.Tanh()
        module.set_submodule("inner.1", new)
        assert module.inner[1] is new
        module.set_submodule("more", new)
        assert module.more is new and "more" in [name for name, _ in module.named_children()]
        for target, value, strict, error in (
            ("", new, False, ValueError),
            ("inner.1", 3, False, ValueError),
            ("weight", new, False, AttributeError),
            ("nowhere", new, True, AttributeError),
            ("nowhere.deep", new, False, AttributeError),
        ):
            with pytest.raises(error):
                module.set_submodule(target, value, strict)


WRONG = [
    (lambda lib, m: m.add_module("x", 3), TypeError),
    (lambda lib, m: m.add_module(3, lib.nn.ReLU()), TypeError),
    (lambda lib, m: m.add_module("a.b", lib.nn.ReLU()), KeyError),
    (lambda lib, m: m.add_module("", lib.nn.ReLU()), KeyError),
    (lambda lib, m: m.add_module("weight", lib.nn.ReLU()), KeyError),
    (lambda lib, m: m.add_module("forward", lib.nn.ReLU()), KeyError),
    (lambda lib, m: m.register_parameter("x", 3), TypeError),
    (lambda lib, m: m.register_parameter("x", lib.ones(1)), TypeError),
    (lambda lib, m: m.register_parameter(3, None), TypeError),
    (lambda lib, m: m.register_parameter("a.b", None), KeyError),
    (lambda lib, m: m.register_parameter("", None), KeyError),
    (lambda lib, m: m.register_parameter("inner", None), KeyError),
    (lambda lib, m: m.register_buffer("x", 3), TypeError),
    (lambda lib, m: m.register_buffer(3, None), TypeError),
    (lambda lib, m: m.register_buffer("a.b", None), KeyError),
    (lambda lib, m: m.register_buffer("", None), KeyError),
    (lambda lib, m: m.register_buffer("weight", lib.ones(1)), KeyError),
    (lambda lib, m: m.register_buffer("train", None), KeyError),
    (lambda lib, m: setattr(m, "mean", 3.0), TypeError),
    (lambda lib, m: m.load_state_dict([]), TypeError),
    (lambda lib, m: m.load_state_dict(None), TypeError),
]


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize(("do", "error"), WRONG)
def test_what_is_put_in_wrongly_is_refused_as_by_pytorch(torch, do, error):
    for lib in (mg, torch):
        with pytest.raises(error):
            do(lib, small(lib))


def test_a_parameter_is_a_leaf():
    with pytest.raises(TypeError, match="is a Parameter or None, got a plain tensor"):
        nn.Module().register_parameter("x", 2 * mg.ones(1, requires_grad=True))
    with pytest.raises(KeyError, match="add_module: Small has an attribute 'weight' already"):
        small(mg).add_module("weight", nn.ReLU())


# --------------------------------------------------------------------------------- saved and loaded


def values(lib):
    """A state for `small`, with a number of its own in each place."""
    return {
        name: lib.full(tuple(t.shape), float(i))
        for i, (name, t) in enumerate(small(lib).state_dict().items())
    }


def missing_and_unexpected(lib, log):
    module, state = small(lib), values(lib)
    del state["inner.0.bias"], state["first"]
    state.update(
        {
            "extra": lib.ones(1),
            "inner.0.more": lib.ones(1),
            "inner.7.weight": lib.ones(1),
            "mask": lib.ones(1),
        }
    )
    found = module.load_state_dict(state, strict=False)
    log += [list(found.missing_keys), sorted(found.unexpected_keys), plain(module.weight)]
    log.append(str(module.load_state_dict(values(lib))))
    return module


def all_hooks(lib, log):
    module, after = small(lib), []

    def renamed(owner, state, prefix, metadata, strict, missing, unexpected, errors):
        log.append(
            [type(owner).__name__, sorted(state), prefix, strict, missing, unexpected, errors]
        )
        state[prefix + "weight"] = state.pop(prefix + "old")

    module.inner[0].register_load_state_dict_pre_hook(renamed)
    module._register_load_state_dict_pre_hook(
        lambda state, prefix, *_: log.append([sorted(state), prefix])
    )
    module.inner.register_load_state_dict_post_hook(
        lambda m, keys: after.append([type(m).__name__, list(keys.missing_keys)])
    )
    module.register_load_state_dict_post_hook(
        lambda m, keys: (after.append(plain(m.weight)), keys.missing_keys.clear())[-1]
    )
    state = values(lib)
    del state["first"]
    for start in ("inner", "again"):
        state[f"{start}.0.old"] = state.pop(f"{start}.0.weight")
    log.append(str(module.load_state_dict(state)))
    log.append(after)

    def written(owner, state, prefix, metadata):
        log.append([type(owner).__name__, list(state), prefix])
        state[prefix + "note"] = lib.tensor([9.0])

    module.register_state_dict_pre_hook(
        lambda m, prefix, keep_vars: log.append([prefix, keep_vars])
    )
    module.inner.register_state_dict_post_hook(written)
    handle = module._register_state_dict_hook(
        lambda m, state, prefix, metadata: {**state, "replaced": 1}
    )
    log.append(plain(dict(module.state_dict())))
    handle.remove()
    there = {"before": 1}
    assert module.state_dict(destination=there, prefix="p.", keep_vars=True) is there
    log.append([list(there), there["p.weight"] is module.weight, there["p.mean"] is module.mean])
    return module


def assigned(lib, log):
    module, state = small(lib), values(lib)
    state = {name: value.double() for name, value in state.items()}
    before = module.weight
    state["inner.0.weight"] = lib.nn.Parameter(state["inner.0.weight"])
    state["again.0.weight"] = state["inner.0.weight"]
    module.inner[0].bias.requires_grad_(False)
    log.append(str(module.load_state_dict(state, assign=True)))
    log.append(
        [
            module.weight is before,
            module.weight.requires_grad,
            module.inner[0].weight is state["inner.0.weight"],
        ]
    )
    log.append(
        [
            module.inner[0].bias.requires_grad,
            module.mean is state["mean"],
            str(module.weight.dtype).split(".")[-1],
        ]
    )
    state["tied"][0] = 100.0
    log.append(plain(module.tied))  # the state's memory
    return module


def one_number_in_a_list(lib, log):
    class One(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = lib.nn.Parameter(lib.tensor(1.0))

    module = One()
    module.load_state_dict({"w": lib.tensor([3.0])})
    return module


@pytest.mark.oracle
@pytest.mark.parametrize(
    "case",
    [missing_and_unexpected, all_hooks, assigned, one_number_in_a_list],
    ids=lambda f: f.__name__,
)
def test_states_are_handled_as_by_pytorch(torch, case):
    ours, theirs = [], []
    mine, other = case(mg, ours), case(torch, theirs)
    assert ours == theirs
    assert {n: plain(t) for n, t in mine.named_parameters()} == {
        n: plain(t) for n, t in other.named_parameters()
    }
    assert {n: plain(t) for n, t in mine.named_buffers()} == {
        n: plain(t) for n, t in other.named_buffers()
    }


def test_a_state_that_does_not_fit_changes_nothing():
    for assign in (False, True):
        module = small(mg)
        before, kept = plain(module.state_dict()), module.weight
        state = {name: value + 7 for name, value in module.state_dict().items()}
        seen = []
        module.inner.register_load_state_dict_post_hook(lambda m, keys, seen=seen: seen.append(1))
        module.register_load_state_dict_post_hook(
            lambda m, keys: keys.unexpected_keys.append("made up")
        )
        with pytest.raises(nn.StateError, match="unknown: made up"):
            module.load_state_dict(state, assign=assign)
        assert seen and plain(module.state_dict()) == before and module.weight is kept
        module.load_state_dict(state, strict=False, assign=assign)
        assert module.weight.tolist() == [9.0, 10.0]


def test_problems_of_a_state_are_reported():
    module = small(mg)
    state = {**module.state_dict(), "weight": "text", "mean": mg.ones(2)}
    with pytest.raises(
        nn.StateError,
        match=(
            r"weight: str is neither a tensor nor an array(.|\n)*mean: shape \(2,\) does not fit"
            r" \(1,\)"
        ),
    ):
        module.load_state_dict(state, strict=False)
    with pytest.raises(nn.StateError, match="weight: int64 cannot take the place of a parameter"):
        module.load_state_dict({"weight": mg.tensor([1, 2])}, strict=False, assign=True)
    module._register_load_state_dict_pre_hook(lambda *args: args[-1].append("a hook complains"))
    with pytest.raises(nn.StateError, match="a hook complains"):
        module.load_state_dict({}, strict=False)
    with pytest.raises(
        TypeError, match=r"Small.load_state_dict: expected a dict-like state.*got list"
    ):
        module.load_state_dict([("weight", 1)])
    with pytest.raises(TypeError, match="a hook on the state of Small is a function, got int"):
        module.register_state_dict_post_hook(3)


def test_what_hooks_on_states_may_not_return():
    module = small(mg)
    module.register_load_state_dict_post_hook(lambda m, keys: keys)
    with pytest.raises(RuntimeError, match="a load_state_dict post-hook of Small must return None"):
        module.load_state_dict(module.state_dict())
    module.register_state_dict_post_hook(lambda m, state, prefix, metadata: state)
    with pytest.raises(
        RuntimeError, match="a state_dict post-hook of Small must return None, got OrderedDict"
    ):
        module.state_dict()


def test_states_are_assigned_inside_containers():
    module = nn.Module()
    module.many = nn.ParameterList([mg.ones(1)])
    module.named = nn.ParameterDict({"x": mg.ones(1)})
    module.modules_ = nn.ModuleList([nn.Linear(1, 1, bias=False)])
    state = {
        name: mg.full(t.shape, float(i), dtype=mg.float64)
        for i, (name, t) in enumerate(module.state_dict().items())
    }
    wanted = [name for name, _ in module.named_parameters()]
    module.load_state_dict(state, assign=True)
    assert plain(module.state_dict()) == plain(state)
    assert {t.dtype for t in module.state_dict().values()} == {np.dtype("float64")}
    assert [name for name, _ in module.named_parameters()] == wanted


def test_a_module_that_knows_its_owner_has_an_end():
    outer, inner = nn.Module(), nn.Linear(1, 1)
    outer.inner = inner
    inner.owner = outer
    assert (
        list(outer.state_dict())
        == ["inner.weight", "inner.bias"]
        == [n for n, _ in outer.named_parameters(remove_duplicate=False)]
    )
    assert str(outer.load_state_dict(outer.state_dict())) == "<All keys matched successfully>"
