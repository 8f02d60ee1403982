"""Whether a result is a copy, a view or the input itself: for every public function, as in
PyTorch.
"""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minigrad as mg
import minigrad.masked
import minigrad.signal
from tests.helpers import copy_or_view_calls as table
from tests.helpers.copy_or_view_calls import ARRAYS, COPY, EXPANDED, ITSELF, VIEW, WINDOWS

F = mg.nn.functional
MINIGRAD = {
    "T": mg,
    "F": F,
    "L": mg.linalg,
    "FT": mg.fft,
    "SP": mg.special,
    "SG": mg.signal,
    "MK": mg.masked,
    "N": mg.nn,
}
METHODS = table.as_methods(mg.Tensor)
BETTER_HERE = {
    "T.as_strided_scatter(x, y, (3, 4), (4, 1))": "what is overwritten gets no gradient",
    "T.cholesky_inverse(m)": "only the triangle that is read gets a gradient",
    "T.cholesky_solve(m, m)": "only the triangle that is read gets a gradient",
    "F.ctc_loss(logp, targets, lens, tlens)": "the logarithms here are not normalised",
    "L.eigh(m)": "eigenvectors have two signs",
    "T.svd(m)": "singular vectors have two signs",
    "L.svd(m)": "singular vectors have two signs",
}
"""Calls whose gradient differs from PyTorch's, and why."""
RANDOM = (
    "rand",
    "bernoulli",
    "multinomial",
    "rop",
    "gumbel",
    "rrelu",
    "fractional",
    "lowrank",
    "empty",
)


class Library:
    """A library on which the calls of the table are made."""

    def __init__(self, names: dict[str, Any], make: Callable[[np.ndarray], Any]) -> None:
        self.names, self.T, self.make = names, names["T"], make

    def inputs(self, call: str) -> dict[str, Any]:
        return {
            name: self.make(ARRAYS["x"]).T if name == "t" else self.make(ARRAYS[name])
            for name in table.names_in(call)
        }

    def run(self, call: str, inputs: dict[str, Any]) -> list[Any]:
        """The tensors that a call gives, or shares memory with."""
        if any(word in call for word in RANDOM):
            self.T.manual_seed(0)
        return self.tensors(eval(call, dict(self.names), inputs))

    def tensors(self, value: Any) -> list[Any]:
        if isinstance(value, self.T.Tensor):
            return [value]
        if isinstance(value, np.ndarray):
            return [self.T.from_numpy(value)]
        return (
            [t for part in value for t in self.tensors(part)]
            if isinstance(value, tuple | list)
            else []
        )

    def value(self, tensor: Any) -> np.ndarray:
        tensor = tensor.detach()
        if self.T is mg:
            return np.array(tensor.numpy())
        return np.array(
            (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy(force=True)
        )

    def change(self, tensor: Any) -> None:
        with self.T.no_grad():
            if "bool" in str(tensor.dtype):
                tensor.logical_not_()
            else:
                tensor.add_(1 + 1j if "complex" in str(tensor.dtype) else 1)

    def given(self, call: str) -> str:
        """What a call gives: found by writing into its inputs, and into its results."""
        inputs = self.inputs(call)
        results = self.run(call, inputs)
        assert results, "no tensor comes out"
        if all(any(r is x for x in inputs.values()) for r in results):
            return ITSELF
        if not any(r.numel() for r in results):
            return COPY if all(r._base is None for r in results) else VIEW
        before, versions = [self.value(r) for r in results], [r._version for r in results]
        for x in inputs.values():
            self.change(x)
        followed = {
            not same(self.value(r), old)
            for r, old in zip(results, before, strict=True)
            if r.numel()
        }
        counted = {r._version != old for r, old in zip(results, versions, strict=True)}
        if self.T is mg and followed == {True} and not call.endswith((".data", "numpy()")):
            assert counted == {True}, "a view does not count the changes of its base"
        return self._written(call, followed)

    def _written(self, call: str, followed: set[bool]) -> str:
        inputs = self.inputs(call)
        reached, refused = set(), set()
        for r in self.run(call, inputs):
            if r.numel():
                before = {name: self.value(x) for name, x in inputs.items()}
                try:
                    self.change(r)
                except RuntimeError as error:
                    refused.add("windows" if "windows" in str(error) else "expanded")
                    continue
                reached.add(
                    any(not same(self.value(x), before[name]) for name, x in inputs.items())
                )
        kinds = {(True, True): VIEW, (False, False): COPY}
        if refused:
            kind = {"windows": WINDOWS, "expanded": EXPANDED}[refused.pop()]
            return kind if followed == {True} and not reached and not refused else "some of each"
        if len(followed) != 1 or len(reached) != 1:
            return "some of each"
        return kinds.get((followed.pop(), reached.pop()), "a view in one direction only")


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


OURS = Library(MINIGRAD, mg.tensor)


@pytest.fixture(scope="module")
def theirs(torch):
    import torch.masked

    signal = SimpleNamespace(stft=torch.stft, istft=torch.istft)
    names = {
        "T": torch,
        "F": torch.nn.functional,
        "L": torch.linalg,
        "FT": torch.fft,
        "SP": torch.special,
        "SG": signal,
        "MK": torch.masked,
        "N": torch.nn,
    }
    return Library(names, lambda array: torch.from_numpy(np.array(array)))


def differences(library: Library, expected: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Calls that give something else, with what was expected and what came."""
    found = {}
    for call, kind in expected.items():
        try:
            given = library.given(call)
        except Exception as error:
            given = f"{type(error).__name__}: {error}"
        if given != kind:
            found[call] = kind, given
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("calls", [table.CALLS, METHODS], ids=["functions", "methods"])
def test_calls_give_what_the_table_says(calls):
    assert differences(OURS, {call: ours for call, (ours, _) in calls.items()}) == {}


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_the_table_says_what_pytorch_does(theirs):
    calls = table.CALLS | {
        call: kinds
        for call, kinds in METHODS.items()
        if hasattr(theirs.T.Tensor, call.partition(".")[2].partition("(")[0])
        and call != "k.repeat_interleave()"  # a function only
    }
    assert (
        differences(theirs, {call: kind for call, (_, kind) in calls.items() if kind is not None})
        == {}
    )


def public(module: Any) -> list[str]:
    """The functions that a module offers."""
    names = getattr(module, "__all__", None) or dir(module)
    found = [(name, getattr(module, name)) for name in names if not name.startswith("_")]
    return [name for name, value in found if callable(value) and not isinstance(value, type)]


@pytest.mark.parametrize("prefix", ["T", "F", "L", "FT", "SP", "SG", "MK"])
def test_every_public_function_is_in_the_table(prefix):
    listed = {call.partition("(")[0] for call in table.CALLS}
    missing = [name for name in public(MINIGRAD[prefix]) if f"{prefix}.{name}" not in listed]
    missing = [name for name in missing if name not in table.NO_TENSORS]
    assert not missing, f"say in {table.__file__} whether these copy or give a view: {missing}"


def test_every_method_is_in_the_table():
    calls = " ".join((*table.CALLS, *METHODS)) + " "
    inner = table.in_place(mg.Tensor)
    missing = [
        name
        for name in dir(mg.Tensor)
        if not name.startswith("_")
        and hasattr(
            mg.ones(2, 2, dtype=mg.complex64), name
        )  # not a slip for which there is a message only
        and f".{name}(" not in calls
        and f".{name} " not in calls
        and name not in (*inner, *table.NO_TENSORS_OF_METHODS)
    ]
    assert not missing, f"say in {table.__file__} whether these copy or give a view: {missing}"


def test_in_place_methods_return_their_tensor():
    """Each at least once: on calls whose result has the shape of the tensor."""
    wrong, untried = {}, []
    for name, calls in table.in_place(mg.Tensor).items():
        if name == "detach_":  # which changes no element
            continue
        tried = 0
        for call in calls:
            inputs = OURS.inputs(call)
            target = inputs[call.partition(".")[0]]
            memory, version = target.data, target._version
            try:
                (result,) = OURS.run(call, inputs)
            except (RuntimeError, TypeError, ValueError, IndexError):
                continue  # the result has another shape or dtype
            tried += 1
            if (
                result is not target
                or not same(OURS.value(memory), OURS.value(target))
                or version == target._version
            ):
                wrong[call] = result
        if not tried and name not in table.NO_TENSORS_OF_METHODS:
            untried.append(name)
    assert (wrong, untried) == ({}, [])


# ------------------------------------------------------------------------------ places in the graph


def recorded(library: Library, call: str) -> tuple[dict[str, Any], list[Any]]:
    """The inputs of a call that have a history, and the results."""
    inputs = library.inputs(call)
    intermediate = {
        name: x.detach().requires_grad_() * 1
        for name, x in inputs.items()
        if "float" in str(x.dtype) or "complex" in str(x.dtype)
    }
    return intermediate, library.run(call, inputs | intermediate)


@pytest.mark.filterwarnings("ignore")
def test_results_have_a_gradient_of_their_own():
    """Of 3 y + h, the gradient with respect to y is 3, whether or not y has the values of h."""
    wrong = {}
    tried = 0
    for call, (kind, _) in table.CALLS.items():
        if kind == ITSELF:
            continue
        try:
            inputs, results = recorded(OURS, call)
        except (mg.AutogradError, mg.errors.NotDifferentiableError):
            continue
        for y in results:
            if not y.requires_grad or mg.is_complex(y):
                continue
            tried += 1
            loss = (y * 3).sum() + sum(mg.real(h).sum() for h in inputs.values())
            (gradient,) = mg.autograd.grad(loss, [y], retain_graph=True)
            if (
                y.is_leaf
                or any(y.grad_fn is h.grad_fn for h in inputs.values())
                or not bool((gradient == 3).all())
            ):
                wrong[call] = gradient
    assert wrong == {} and tried > 800


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_gradients_are_those_of_pytorch(theirs):
    def gradients(library: Library, call: str) -> list[Any] | None:
        try:
            inputs, results = recorded(library, call)
            results = [r for r in results if r.requires_grad]
            total = library.T.zeros((), dtype=library.T.float64)
            for r in results:
                parts = (r.real, r.imag) if "complex" in str(r.dtype) else (r,)
                for part in parts:
                    weights = np.cos(np.arange(part.numel())).reshape(tuple(part.shape))
                    total = total + (part.double() * library.make(weights)).sum()
            found = (
                library.T.autograd.grad(total, list(inputs.values()), allow_unused=True)
                if results
                else []
            )
        except RuntimeError:  # not differentiable
            return None
        return [None if g is None else library.value(g) for g in found]

    compared, wrong = 0, {}
    for call, (_, kind) in table.CALLS.items():
        if kind is None or call in BETTER_HERE or any(word in call for word in RANDOM):
            continue
        ours, expected = gradients(OURS, call), gradients(theirs, call)
        for a, b in zip(ours or (), expected or (), strict=False):
            if a is not None and b is not None:
                compared += 1
                if not np.allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True):
                    wrong[call] = a, b
    assert wrong == {} and compared > 1000


def changed(library: Library, call: str, which: int | None) -> tuple[list[str], Any]:
    """What a call was made on and its differentiable results, by name; and the gradients if one of
    these is overwritten before the backward pass (None: none is): how they cannot be had."""
    inputs, results = recorded(library, call)
    results = [r for r in results if r.requires_grad]
    named = [*inputs.items(), *((f"result {i}", r) for i, r in enumerate(results))]
    names = [name for name, _ in named]
    if not results:
        return [], None
    try:
        if which is not None:
            library.change(named[which][1])
    except RuntimeError:
        return names, "refused"
    total = library.T.zeros((), dtype=library.T.float64)
    for r in results:
        total = total + (r.real if "complex" in str(r.dtype) else r).double().sum()
    try:
        found = library.T.autograd.grad(total, list(inputs.values()), allow_unused=True)
    except RuntimeError as error:
        return names, "overwritten" if "modified" in str(error) else type(error).__name__
    return names, [None if g is None else library.value(g) for g in found]


KEPT_HERE_ONLY = {
    "expm1": "exp(x): e^x - 1 + 1 has lost its digits where x is far below 0",
    "kron|polar|ldexp": "the operands, of which PyTorch makes copies",
    "1 / x": "the divisor, where PyTorch multiplies by a reciprocal, which rounds twice",
    "max_pool|MaxPool": "the maxima, with which the windows are compared",
    "i0": "the value, for one rule with the scaled function",
}
"""What is kept here and not in PyTorch, by a pattern of calls, and why."""


@pytest.mark.filterwarnings("ignore")
def test_what_is_overwritten_before_the_backward_pass_changes_no_gradient():
    """It raises, or the gradient is the one without the change."""
    wrong, tried = {}, {"overwritten": 0, "right": 0}
    for call in table.CALLS | METHODS:
        if any(word in call for word in RANDOM):
            continue
        try:
            names, expected = changed(OURS, call, None)
        except (mg.AutogradError, mg.errors.NotDifferentiableError):
            continue
        for which, name in enumerate(names):
            found = changed(OURS, call, which)[1]
            if isinstance(found, list):
                tried["right"] += 1
                pairs = zip(found, expected, strict=True)
                if not all((a is b is None) or same(a, b) for a, b in pairs):
                    wrong[call, name] = found, expected
            elif found == "overwritten":
                tried["overwritten"] += 1
            elif found != "refused":
                wrong[call, name] = found
    assert wrong == {} and tried["overwritten"] > 500 and tried["right"] > 1500


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_what_may_be_overwritten_in_pytorch_may_be_overwritten_here(theirs):
    differing, compared = {}, 0
    for call, (_, kind) in table.CALLS.items():
        if kind is None:
            continue
        try:
            names, _ = changed(OURS, call, None)
            same_names = changed(theirs, call, None)[0] == names
        except RuntimeError:
            continue
        for which, name in enumerate(names if same_names else ()):
            compared += 1
            if changed(OURS, call, which)[1] == "overwritten":
                found = changed(theirs, call, which)[1]
                if isinstance(found, list):
                    differing[call, name] = found
    stated = {
        pattern: [key for key in differing if re.search(pattern, key[0])]
        for pattern in KEPT_HERE_ONLY
    }
    assert all(stated.values()) and compared > 2500
    assert differing.keys() == {key for keys in stated.values() for key in keys}


def test_hooks_and_retained_gradients_of_a_copy_are_its_own():
    h = mg.tensor([1.0, 2.0], requires_grad=True) * 2
    for copied in (lambda: F.pad(h, (0, 0)), lambda: h.repeat(1), lambda: mg.diff(h, n=0)):
        y, seen = copied(), []
        y.register_hook(seen.append)
        y.retain_grad()
        (y * 3 + h).sum().backward(retain_graph=True)
        assert y.grad.tolist() == [3, 3] and seen[0].tolist() == [3, 3]
        assert [g.tolist() for g in mg.autograd.grad((copied() * 3 + h).sum(), [h])] == [[4, 4]]


@pytest.mark.filterwarnings("ignore")
def test_copies_are_views_of_nothing():
    """Not even of an intermediate result: a copy made under no_grad can be modified by what
    requires grad.
    """
    w = mg.tensor(2.0, requires_grad=True)
    tried, views, wrong = 0, {}, {}
    for call, (kind, _) in (table.CALLS | METHODS).items():
        if kind != COPY or call.endswith(("numpy()", ".data")):
            continue
        with mg.no_grad():
            results = OURS.run(call, OURS.inputs(call))
        for y in results:
            if y._is_view() or y._base is not None:
                views[call] = y
            elif y.dtype in (mg.float32, mg.float64):
                tried += 1
                total = OURS.value(y).sum(dtype="float64")
                y.mul_(w)
                (gradient,) = mg.autograd.grad(y.sum(), [w])
                if np.isfinite(total) and not np.isclose(gradient.item(), total, rtol=1e-4):
                    wrong[call] = gradient.item(), total
    assert (views, wrong) == ({}, {}) and tried > 1000


def every_second(make: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
    """Inputs with a gap behind each element."""
    return lambda a: make(np.repeat(a, 2, -1))[..., ::2] if a.ndim else make(a)


def columns_first(make: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
    """Inputs whose first axis is the innermost one in memory."""
    return lambda a: make(np.ascontiguousarray(a.T)).permute(*range(a.ndim - 1, -1, -1))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "layout", [every_second, pytest.param(columns_first, marks=pytest.mark.whole)]
)
def test_inputs_that_are_not_contiguous_are_copied_where_pytorch_copies(theirs, layout):
    """All calls of the table for which minigrad and PyTorch do the same with contiguous inputs."""
    calls = {c: kind for c, (kind, other) in (table.CALLS | METHODS).items() if kind == other}
    differing, compared = {}, 0
    for call in calls:
        given = []
        for library in (OURS, theirs):
            try:
                given.append(Library(library.names, layout(library.make)).given(call))
            except (RuntimeError, AttributeError, TypeError, ValueError):
                given.append("refused")
        if "refused" not in given:
            compared += 1
            if given[0] != given[1]:
                differing[call] = given
    assert differing == {} and compared > 1500


@pytest.mark.parametrize("ravel", [mg.ravel, lambda x: x.ravel()])
def test_ravel_copies_what_is_not_contiguous(ravel):
    for x in (mg.arange(6.0)[::2], mg.ones(3, 4)[:, ::2], mg.ones(3, 4).T, mg.ones(1).expand(4)):
        before = x.tolist()
        flat = ravel(x.detach())
        assert flat.is_contiguous() and flat._base is None
        flat.mul_(0)
        assert x.tolist() == before
    y = mg.ones(3, 4)
    ravel(y).mul_(0)
    assert y.sum().item() == 0


UNSAFE = (
    "PyTorch does not track the parts, which are views all the same: no in-place change of one is"
    " refused there."
)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_views_are_views_where_they_are_in_pytorch(theirs):
    for call, (ours, expected) in (table.CALLS | METHODS).items():
        if (
            ours == expected
            and ours in (VIEW, EXPANDED, WINDOWS)
            and hasattr(theirs.T.Tensor, call.partition(".")[2].partition("(")[0])
        ):
            found, wanted = (
                [r._is_view() for r in lib.run(call, lib.inputs(call))] for lib in (OURS, theirs)
            )
            assert found == wanted or ("unsafe" in call and UNSAFE), call


def test_to_copies_where_it_is_told_to_by_position_or_by_name():
    x, like = mg.ones(2), mg.zeros(1)
    places = [(mg.float32,), ("cpu",), ("cpu", mg.float32), (like,)]
    for place in places:
        for copied in (x.to(*place, False, True), x.to(*place, copy=True)):
            assert copied is not x and not np.may_share_memory(copied.numpy(), x.numpy())
        assert x.to(*place, True) is x.to(*place, non_blocking=True) is x.to(*place) is x
    layer = mg.nn.Linear(1, 1)
    assert layer.to("cpu", mg.float64, True) is layer.to("cpu", non_blocking=True) is layer
    assert layer.weight.dtype == mg.float64
    assert x.copy_(mg.zeros(2), non_blocking=True).tolist() == [0, 0]
