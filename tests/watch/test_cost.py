"""Counting operations: the table is complete, its formulas agree with counts made another way,
and the counts tell what lessons tell.
"""

from typing import ClassVar

import numpy as np
import pytest

import minigrad as mg
from minigrad.core.primitive import registry
from minigrad.errors import ShapeError
from minigrad.observers import observing
from minigrad.watch.cost import MODES, Cost, cost_of, count_operations
from tests.helpers.op_cases import CASES
from tests.helpers.tables import in_one_test


def f64(*shape):
    return mg.ones(*shape, dtype=mg.float64)


def test_every_operation_has_a_cost():
    """What costs nothing but a guess shows here: a declaration without a cost that is not
    pointwise.
    """
    assert [
        name for name, prim in registry.items() if prim.cost is None and not prim.pointwise
    ] == []


@in_one_test
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_formula_works_on_the_operations_own_sample(case):
    seen = []

    class Watch:
        def begin(self, event):
            pass

        def end(self, event):
            if event.phase == "forward" and event.primitive is registry[case.primitive]:
                results = event.result if isinstance(event.result, tuple) else (event.result,)
                seen.append(cost_of(event.primitive, event.args, results, event.params))

    dtype = "float64" if case.real else "complex128"
    with mg.no_grad(), observing(Watch()):
        case.run([mg.tensor(a) for a in case.inputs(dtype)])
    assert seen
    for cost in seen:
        assert all(
            isinstance(n, int) and n >= 0 for n in (cost.mul, cost.add, cost.other, cost.bytes)
        )
        assert cost.estimated == hasattr(registry[case.primitive].cost, "estimated")


class Counted(float):
    """A number that counts what is done with it."""

    done: ClassVar = {"mul": 0, "add": 0}

    def _did(kind, operation):
        def method(self, other):
            Counted.done[kind] += 1
            return Counted(operation(float(self), float(other)))

        return method

    __mul__ = __rmul__ = _did("mul", lambda a, b: a * b)
    __add__ = __radd__ = _did("add", lambda a, b: a + b)
    __sub__ = _did("add", lambda a, b: a - b)
    __truediv__ = _did("mul", lambda a, b: a / b)


def counted(array):
    return np.vectorize(Counted, otypes=[object])(array)


def plain_convolution(x, w):
    """By the definition, without padding and with stride 1: every product and every sum is made
    one by one.
    """
    n, _, height, width = x.shape
    out, channels, kh, kw = w.shape
    y = np.empty((n, out, height - kh + 1, width - kw + 1), object)
    for place in np.ndindex(y.shape):
        i, o, r, c = place
        products = [
            x[i, k, r + a, c + b] * w[o, k, a, b]
            for k in range(channels)
            for a in range(kh)
            for b in range(kw)
        ]
        total = products[0]
        for p in products[1:]:
            total = total + p
        y[place] = total
    return y


@pytest.mark.parametrize(
    ("operation", "shapes", "by_hand"),
    [
        (mg.matmul, [(3, 4), (4, 5)], lambda a, b: a @ b),
        (mg.matmul, [(2, 3, 4), (2, 4, 2)], lambda a, b: a @ b),
        (mg.matmul, [(4,), (4,)], lambda a, b: a @ b),
        (lambda x: x.sum(), [(3, 4)], lambda x: np.add.reduce(x.reshape(-1))),
        (lambda x: x.sum(1), [(3, 4)], lambda x: np.add.reduce(x, axis=1)),
        (lambda x: x.mean(0), [(3, 4)], lambda x: np.add.reduce(x, axis=0) / 3.0),
        (lambda x: mg.prod(x), [(7,)], lambda x: np.multiply.reduce(x)),
        (lambda x: mg.cumsum(x, 1), [(3, 4)], lambda x: np.add.accumulate(x, axis=1)),
        (mg.add, [(3, 4), (4,)], lambda a, b: a + b),
        (mg.mul, [(3, 1), (4,)], lambda a, b: a * b),
        (lambda x: x**3, [(5,)], lambda x: x * x * x),
        (mg.nn.functional.conv2d, [(2, 3, 5, 4), (2, 3, 2, 3)], plain_convolution),
        (
            lambda x, w, b: mg.nn.functional.linear(x, w, b),
            [(6, 3), (4, 3), (4,)],
            lambda x, w, b: x @ w.T + b,
        ),
    ],
    ids=[
        "matrices",
        "batches",
        "dot",
        "sum",
        "rows",
        "mean",
        "prod",
        "cumsum",
        "add",
        "broadcast",
        "cube",
        "convolution",
        "layer",
    ],
)
def test_formulas_against_numbers_that_count(operation, shapes, by_hand):
    counts = count_operations(operation, *(f64(*s) for s in shapes)).forward
    Counted.done = {"mul": 0, "add": 0}
    by_hand(*(counted(np.ones(s)) for s in shapes))
    assert Counted.done["mul"] > 0 or Counted.done["add"] > 0
    assert {"mul": counts.mul, "add": counts.add} == Counted.done


def test_bytes_are_what_is_read_and_written():
    assert count_operations(mg.mul, f64(3, 4), f64(4)).forward.bytes == 8 * (12 + 4 + 12)
    assert count_operations(mg.sin, mg.ones(3)).forward.bytes == 4 * 6
    assert count_operations(lambda x: x.t(), f64(3, 4)).forward == Cost()  # a view moves nothing
    assert count_operations(lambda x: x * 2.0, f64(3)).forward.bytes == 48


def test_the_cost_of_nothing():
    assert count_operations(mg.sin, f64(0, 3)).forward == Cost()
    assert count_operations(lambda x: x, f64(3), mode="vjp").total == Cost()


# -------------------------------------------------------------------------------- what lessons tell


def test_jacobian_by_rows_or_by_columns():
    """A tall Jacobian (5 inputs, 50 outputs) is cheaper by columns, a flat one by rows."""
    for inputs, outputs, cheaper in ((5, 50, "jvp"), (50, 5, "vjp")):
        w = f64(outputs, inputs)
        f = lambda x, w=w: mg.tanh(w @ x)
        columns = inputs * count_operations(f, f64(inputs), mode="jvp").derivative.mul
        rows = outputs * count_operations(f, f64(inputs), mode="vjp").derivative.mul
        assert ("jvp" if columns < rows else "vjp") == cheaper


def test_the_gradient_costs_a_small_multiple_of_the_function():
    layers = [f64(20, 20) for _ in range(6)]

    def f(x):
        for w in layers:
            x = mg.tanh(x @ w)
        return x.sum()

    counts = count_operations(f, f64(8, 20), mode="vjp")
    assert (
        counts.derivative.mul <= 1.2 * counts.forward.mul
    )  # only the input's gradient: one product for each of the function's
    assert counts.forward.mul == 6 * 8 * 20 * 20


def test_a_layers_backward_pass_is_two_products():
    counts = count_operations(lambda x, w: (x @ w).sum(), f64(8, 30), f64(30, 10), mode="vjp")
    assert counts.derivative.mul == 2 * counts.forward.mul == 2 * 8 * 30 * 10


def test_forward_mode_and_two_reverse_passes_count_the_same_function():
    for mode in MODES:
        counts = count_operations(lambda x: (x.exp() * x).sum(), f64(5), mode=mode)
        assert counts.forward == count_operations(lambda x: (x.exp() * x).sum(), f64(5)).forward
        assert counts.total == counts.forward + counts.derivative
    assert counts.of("second vjp").mul > 0


def test_a_vector_may_be_given():
    ones = count_operations(lambda x: (x * 2, x.sum()), f64(3), mode="vjp")
    given = count_operations(lambda x: (x * 2, x.sum()), f64(3), mode="vjp", vector=(f64(3), f64()))
    assert ones == given
    with pytest.raises(ShapeError, match="tangent 0"):
        count_operations(mg.sin, f64(3), mode="jvp", vector=f64(2))
    with pytest.raises(ValueError, match="mode must be one of"):
        count_operations(mg.sin, f64(3), mode="backward")


def test_what_a_users_function_does_inside_is_counted():
    class Own(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sin() * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    counts = count_operations(Own.apply, f64(4), mode="vjp")
    assert [line.operation for line in counts.lines] == ["sin", "mul", "mul"]
    assert [line.phase for line in counts.lines] == ["forward", "forward", "vjp"]


def test_estimates_say_so():
    counts = count_operations(mg.linalg.inv, f64(3, 3) + mg.eye(3, dtype=mg.float64))
    assert counts.forward.estimated and "≈" in str(counts)
    assert not count_operations(mg.sin, f64(2)).forward.estimated


def test_the_table_for_the_eye():
    lines = str(count_operations(lambda x: x * x, f64(2, 3), mode="vjp")).splitlines()
    assert lines[1].split() == ["forward", "mul", "(2,3)", "6", "0", "0", "144"]
    assert lines[-1].split()[:3] == ["derivative", "total", "12"]
