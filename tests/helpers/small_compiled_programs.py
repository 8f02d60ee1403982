"""Short programs, each with a mistake of the compiler of which it gives another result: for places
that random programs seldom reach.

A program is a function of `compile` that gives a function of the number of the call.
"""

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import optim
from minigrad.program import (
    bindings,
    graph_pattern,
    outcome,
    replayed_node,
    result_graphs,
    run,
    snapshot,
    variant,
)
from tests.helpers.exact_values import plain

Make = Callable[[Any], Callable[[int], Any]]
Place = tuple[Any, str, str, str]
"""Owner, function, what it holds, what it holds instead (see mutated_code.py)."""
PROGRAMS: dict[str, tuple[Make, list[Place]]] = {}


def program(*places: Place) -> Callable[[Make], Make]:
    """Declare a program, and the mistake that it notices."""

    def declare(make: Make) -> Make:
        PROGRAMS[make.__name__] = make, list(places)
        return make

    return declare


def results(make: Make, compile_: Any, calls: int) -> list[Any]:
    """What the calls gave, or the kind of error that they raised."""
    mg.manual_seed(3)
    call, seen = make(compile_), []
    for i in range(calls):
        try:
            seen.append(plain(call(i)))
        except (Exception, KeyboardInterrupt) as error:
            seen.append(type(error).__name__)
    return seen


def differs(make: Make, calls: int = 9) -> bool:
    """Whether the compiled program gives another result than the plain one."""
    return results(make, lambda f: f, calls) != results(make, mg.compile, calls)


def leaf(*values: float) -> Any:
    return mg.tensor(values, requires_grad=True)


def in_truth(x: Any) -> bool:
    """Whether a tensor holds an array: not while it is recorded."""
    return type(x.array) is np.ndarray


# --------------------------------------------------------------- what the second run is compared by


@program((outcome.RecordedResult, "agrees", "not alike(tensor.array, again.array)", "False"))
def other_values_in_the_second_run(compile_: Any) -> Any:
    f = compile_(lambda x: x * (2 if in_truth(x) else 3))
    return lambda i: f(mg.ones(2))


@program((snapshot.Snapshot, "same", "not alike(first.array, tensor.array)", "False"))
def other_values_written_in_the_second_run(compile_: Any) -> Any:
    kept = mg.zeros(2)
    f = compile_(lambda x: (kept.add_(x, alpha=2 if in_truth(x) else 3), None)[1])
    return lambda i: (f(mg.ones(2)), kept)


@program((snapshot.Snapshot, "same", "not alike(was.array, now.array)", "False"))
def other_gradients_in_the_second_run(compile_: Any) -> Any:
    w = leaf(1.0, 2.0)
    f = compile_(lambda x: (w * x * (2 if in_truth(x) else 3)).sum().backward())

    def call(i: int) -> Any:
        w.grad = None
        f(mg.ones(2))
        return w.grad

    return call


SECOND = "(id(tensor) in before.tensors) is not (id(again) in before.tensors)"


@program((outcome.RecordedResult, "agrees", SECOND, "False"))
def another_tensor_in_the_second_run(compile_: Any) -> Any:
    kept = mg.ones(2)
    f = compile_(lambda x: kept * 1 if in_truth(x) else kept)
    return lambda i: f(mg.ones(2)) is kept


# ----------------------------------------------------------------------- what no program can repeat


@program((snapshot.Snapshot, "change", "tensor.node is not old.node", "False"))
def a_gradient_that_takes_a_graph_in_place(compile_: Any) -> Any:
    w = leaf(1.0, 2.0)
    f = compile_(lambda x: (w.grad.mul_(w * x), None)[1])

    def call(i: int) -> Any:
        w.grad = mg.ones(2)
        f(mg.ones(2))
        return w.grad, w.grad.requires_grad

    return call


GRAPH = "gradient.node is not None or gradient.tangents is not None"


@program((snapshot.Snapshot, "change", GRAPH, "False"))
def a_gradient_with_a_graph(compile_: Any) -> Any:
    w = leaf(1.0, 2.0)
    f = compile_(lambda x: (w**2 * x).sum().backward(create_graph=True))

    def call(i: int) -> Any:
        w.grad = None
        f(mg.ones(2))
        return w.grad, w.grad.requires_grad

    return call


@program((variant.Variant, "_problem_of", "id(place.owner) not in before.tensors", "False"))
def a_hidden_tensor_that_is_written(compile_: Any) -> Any:
    hidden = functools.lru_cache(lambda: mg.zeros(2))
    f = compile_(lambda x: (hidden().add_(x), None)[1])

    def call(i: int) -> Any:
        if i == 6:
            hidden.cache_clear()
        f(mg.ones(2))
        return hidden()

    return call


@program((variant.Variant, "_run", "if n.fixed is not None]", "if False]"))
def a_number_of_a_state_that_the_rule_reads(compile_: Any) -> Any:
    class Scaled(optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": 1.0})

        def rule(self, p: Any, g: Any, state: Any, group: Any) -> None:
            p -= group["lr"] * state.setdefault("scale", 1.0) * g

    w = leaf(1.0, 2.0)
    o = Scaled([w])

    @compile_
    def f(x: Any) -> None:
        o.zero_grad()
        (w * x).sum().backward()
        o.step()

    def call(i: int) -> Any:
        if i == 6:
            o.state[id(w)]["scale"] = 5.0
        f(mg.ones(2))
        return w

    return call


# ----------------------------------------------------------------------------- what a replay leaves


@program((variant.Variant, "prepare", "self.outcome.gradient_versions", "()"))
def a_gradient_that_the_call_overwrites(compile_: Any) -> Any:
    w = leaf(1.0, 2.0)
    f = compile_(lambda x: ((w * x).sum().backward(), w.grad.mul_(2), None)[2])

    def call(i: int) -> Any:
        w.grad = None
        f(mg.ones(2))
        return w.grad, w.grad._version

    return call


WRITTEN = "_copied(value) if value in runner.copied_updates else ", ""


@program((run, "effects_code", *WRITTEN))
def a_parameter_that_takes_the_values_of_a_state_which_then_changes(compile_: Any) -> Any:
    class Slow(optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": 1.0})

        def rule(self, p: Any, g: Any, state: Any, group: Any) -> None:
            slow = state.setdefault("slow", p.copy())
            p[...] = slow
            slow += g

    w = leaf(1.0, 2.0)
    o = Slow([w])

    @compile_
    def f(x: Any) -> None:
        o.zero_grad()
        (w * x).sum().backward()
        o.step()

    return lambda i: (f(mg.ones(2)), w, o.state[id(w)]["slow"].tolist())


@program((run, "effects_code", "given if source in (owned or ()) else _copied(source)", "text"))
def gradients_that_are_kept_and_overwritten(compile_: Any) -> Any:
    w, kept = leaf(1.0, 2.0), []
    f = compile_(lambda x: w.clone().backward(x))

    def call(i: int) -> Any:
        w.grad, x = None, mg.ones(2) * (i + 1)
        f(x)
        kept.append(w.grad)
        w.grad.mul_(2)
        return kept, x

    return call


AGAIN = 'self._origins.setdefault(id(tensor), ("again", i))'


@program((outcome.RecordedResult, "_plan", AGAIN, "pass"))
def one_view_returned_twice(compile_: Any) -> Any:
    f = compile_(lambda x: (lambda part: (part, part))((x * 2)[:1]))

    def call(i: int) -> Any:
        a, b = f(mg.ones(2))
        return a is b

    return call


@program((outcome.Derivation, "apply", "if tensor.view_of is not None:", "if False:"))
def a_view_that_may_not_be_overwritten(compile_: Any) -> Any:
    w = leaf(1.0, 2.0)
    f = compile_(lambda x: (w * x).split(1))

    def call(i: int) -> Any:
        a, b = f(mg.ones(2))
        a.mul_(2)
        return a, b

    return call


MODES = "state.recording, state.levels, state.batches, state.running_pass = self.modes"


@program((snapshot._Rest, "put_back", MODES, "pass"))
def an_interrupt_while_the_second_run_has_gradients_off(compile_: Any) -> Any:
    def f(x: Any) -> Any:
        mg.set_grad_enabled(False)
        if not in_truth(x):
            raise KeyboardInterrupt
        y = x * 2
        mg.set_grad_enabled(True)
        return y

    compiled = compile_(f)

    def call(i: int) -> Any:
        with contextlib.suppress(KeyboardInterrupt):
            compiled(mg.ones(2))
        enabled = mg.is_grad_enabled()
        mg.set_grad_enabled(True)
        return enabled

    return call


HOOKS = "node.hooks or node.retained is not None or (node.saved_tangents is not None)"


@program((graph_pattern.Pattern, "__init__", HOOKS, "False"))
def a_result_that_keeps_its_gradient(compile_: Any) -> Any:
    w = leaf(1.0, 2.0)

    def f(x: Any) -> Any:
        y = w * x
        y.retain_grad()
        return y, y.sin()

    compiled = compile_(f)

    def call(i: int) -> Any:
        y, z = compiled(mg.ones(2))
        z.sum().backward()
        return y.grad

    return call


GRADIENTS = 'id(gradient) in seen or origin != ("gradient", leaf) or owner is not gradient'


@program((outcome.RecordedResult, "_check_gradients", GRADIENTS, "False"))
def one_gradient_of_two_tensors(compile_: Any) -> Any:
    v, w = leaf(1.0, 2.0), leaf(3.0, 4.0)

    def f(x: Any) -> None:
        (v * x).sum().backward()
        w.grad = v.grad

    compiled = compile_(f)

    def call(i: int) -> Any:
        v.grad = w.grad = None
        compiled(mg.ones(2))
        w.grad.mul_(2)
        return v.grad, w.grad

    return call


@program((replayed_node.ReplayedNode, "pull", "or self.freed is not None", ""))
def a_second_pass_over_values_that_an_index_keeps(compile_: Any) -> Any:
    w = leaf(1.0, 2.0)
    f = compile_(lambda x, at: (w.sin() * x)[at].sum())

    def call(i: int) -> Any:
        y = f(mg.ones(2), mg.tensor([0, 0, 1]))
        y.backward()
        y.backward()

    return call


READS = "self.reads = any(refs_in(part) for part in rest)"


@program((graph_pattern.Pattern, "__init__", READS, "self.reads = False"))
def two_passes_over_a_graph_of_which_nothing_is_freed(compile_: Any) -> Any:
    w = leaf(1.0, 2.0)
    f = compile_(lambda x, at: w[at].sum())

    def call(i: int) -> Any:
        w.grad = None
        y = f(mg.ones(2), mg.tensor([0, 0, 1]))
        y.backward()
        y.backward()
        return w.grad

    return call


APART = (run.Replayer, "_check_apart", "overlapping(payloads, arrays)", "False")
ALWAYS = (variant.Variant, "_learn", "layout is None", "True")


@program(APART, ALWAYS)
def arguments_that_begin_to_share_memory(compile_: Any) -> Any:
    f = compile_(lambda x, y: (x.mul_(2), x + y)[1])

    def call(i: int) -> Any:
        memory = np.ones(8)
        x, y = mg.from_numpy(memory[:4]), mg.from_numpy(memory[2:6])  # each counts its writes
        return f(x, y) if i > 4 else f(x.clone(), y.clone())

    return call


@program((bindings.UpdateNumbers, "commit", "if self.counted", "if False"))
def steps_that_adam_counts(compile_: Any) -> Any:
    w = leaf(1.0, 2.0)
    o = optim.Adam([w], lr=0.1)
    f = compile_(lambda x: (o.zero_grad(), (w * x).sum().backward(), o.step(), None)[3])
    return lambda i: (f(mg.ones(2) * (i - 4)), w)


# --------------------------------------------------------------- what is replayed, and would not be


REPLAYED: dict[str, tuple[Callable[[], Any], Place]] = {}
"""Functions that make a compiled function and call it, and the mistake by which it would run as
itself for good."""


def replayed(*place: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Declare one."""

    def declare(make: Callable[[], Any]) -> Callable[[], Any]:
        REPLAYED[make.__name__] = make, place
        return make

    return declare


@replayed(snapshot.Snapshot, "_enter", "slots.derived_at or 0", "0")
def a_constant_view_of_a_parameter_that_was_overwritten() -> Any:
    w = leaf(1.0, 2.0)
    with mg.no_grad():
        w.mul_(2)
        part = w[:1]
    f = mg.compile(lambda x: x * part)
    for _ in range(5):
        f(mg.ones(1))
    return f


@replayed(snapshot.Snapshot, "change", "return MADE_STATE", 'return "made"')
def a_step_whose_optimiser_makes_its_state_again() -> Any:
    w = leaf(1.0, 2.0)
    o = optim.SGD([w], lr=0.1, momentum=0.9)
    f = mg.compile(lambda x: (o.zero_grad(), (w * x).sum().backward(), o.step(), None)[3])
    for i in range(6):
        if i == 1:
            o.state.clear()
        f(mg.ones(2))
    return f


@replayed(result_graphs, "_error_of", "return error", "return None")
def a_result_whose_graph_the_call_has_freed() -> Any:
    w = leaf(1.0, 2.0)
    f = mg.compile(lambda x: (lambda y: (y.backward(), y)[1])((w.sin() * x).sum()))
    for _ in range(5):
        f(mg.ones(2))
    return f
