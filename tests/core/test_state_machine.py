"""A state machine grows arbitrary graphs on minigrad and on a naive engine, differentiates here and
there, and compares.

The naive engine knows no rule of differentiation: every value carries its whole Jacobian with
respect to each leaf, and the Jacobian of one operation is found by the complex step, ∂f/∂x ≈ Im f(x
+ ih) / h, which is exact to the last digits (no difference is taken) for analytic functions.
"""

from __future__ import annotations

import numpy as np
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

import minigrad as mg

STEP = 1e-30


class Naive:
    """A value and, for each leaf, the matrix of derivatives of all its elements by all elements
    of the leaf.
    """

    def __init__(
        self,
        value: np.ndarray,
        jacobians: dict[Naive, np.ndarray] | None = None,
        leaf: bool = False,
    ) -> None:
        self.value = value
        self.jacobians = {self: np.eye(value.size)} if leaf else jacobians or {}
        self.grad: np.ndarray | None = None

    @staticmethod
    def apply(function, *operands: Naive, record: bool) -> Naive:
        """function(*operands), with the chain rule as a product of matrices."""
        out = np.asarray(function(*(o.value for o in operands)))
        jacobians: dict[Naive, np.ndarray] = {}
        for place, operand in enumerate(operands if record else ()):
            if not operand.jacobians:
                continue
            local = np.zeros((out.size, operand.value.size))
            for k in range(operand.value.size):
                moved = operand.value.astype(complex)
                moved.reshape(-1)[k] += STEP * 1j
                values = [o.value for o in operands]
                values[place] = moved
                local[:, k] = np.asarray(function(*values)).imag.reshape(-1) / STEP
            for leaf, matrix in operand.jacobians.items():
                jacobians[leaf] = jacobians.get(leaf, 0) + local @ matrix
        return Naive(out, jacobians)

    def pull(self, cotangent: np.ndarray) -> dict[Naive, np.ndarray]:
        """The gradient of ⟨cotangent, value⟩ by each leaf."""
        return {
            leaf: (cotangent.reshape(-1) @ m).reshape(leaf.value.shape)
            for leaf, m in self.jacobians.items()
        }


UNARY = {
    "sin": (lambda x: x.sin(), np.sin),
    "tanh": (lambda x: x.tanh(), np.tanh),
    "exp": (lambda x: (x * 0.3).exp(), lambda x: np.exp(x * 0.3)),
    "square": (lambda x: x * x, lambda x: x * x),
    "sum": (lambda x: x.sum(), np.sum),
    "mean of rows": (lambda x: x.mean(-1), lambda x: np.mean(x, -1)),
    "flat": (lambda x: x.reshape(-1), lambda x: x.reshape(-1)),
    "transposed": (lambda x: x.T, np.transpose),
    "first": (lambda x: x[0], lambda x: x[0]),
    "reversed rows": (lambda x: x.flip(0), lambda x: x[::-1]),
    "repeated": (lambda x: x[[0, 0, -1]], lambda x: x[[0, 0, -1]]),
    "new axis": (lambda x: x[None], lambda x: x[None]),
    "expanded": (lambda x: x.expand(2, *x.shape), lambda x: np.broadcast_to(x, (2, *x.shape))),
}
BINARY = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "sub": (lambda a, b: a - b, lambda a, b: a - b),
    "mul": (lambda a, b: a * b, lambda a, b: a * b),
    "div": (lambda a, b: a / (b * b + 2), lambda a, b: a / (b * b + 2)),
}
MATRICES = {"matmul": (lambda a, b: a @ b, lambda a, b: a @ b)}
shapes = st.lists(st.integers(1, 3), max_size=3).map(tuple)


class GraphMachine(RuleBasedStateMachine):
    """Each value is a pair (minigrad tensor, naive value). Values can be made, forgotten,
    differentiated; recording can be switched.
    """

    values = Bundle("values")

    def __init__(self):
        super().__init__()
        self.leaves: list[tuple[mg.Tensor, Naive]] = []
        self.recording = True
        self.random = np.random.default_rng(0)

    def teardown(self):
        mg.set_grad_enabled(True)

    @initialize(target=values, shape=shapes)
    def start(self, shape):
        return self.new_leaf(shape)

    @rule(target=values, shape=shapes)
    def leaf(self, shape):
        return self.new_leaf(shape)

    def new_leaf(self, shape):
        data = self.random.uniform(-1, 1, shape)
        pair = mg.tensor(data, requires_grad=True), Naive(np.asarray(data), leaf=True)
        self.leaves.append(pair)
        return pair

    @rule(target=values, shape=shapes)
    def constant(self, shape):
        data = self.random.uniform(-1, 1, shape)
        return mg.tensor(data), Naive(np.asarray(data))

    @rule(target=values, a=values, name=st.sampled_from(sorted(UNARY)))
    def unary(self, a, name):
        mine, theirs = UNARY[name]
        assume(a[0].ndim > 0 or name not in ("mean of rows", "first", "reversed rows", "repeated"))
        assume(a[0].numel() * 3 <= 60 and a[0].ndim < 4)
        return mine(a[0]), Naive.apply(theirs, a[1], record=self.recording)

    @rule(target=values, a=values, b=values, name=st.sampled_from(sorted(BINARY)))
    def binary(self, a, b, name):
        try:
            size = np.prod(np.broadcast_shapes(a[0].shape, b[0].shape))
        except ValueError:
            assume(False)
        assume(size <= 60)
        mine, theirs = BINARY[name]
        return mine(a[0], b[0]), Naive.apply(theirs, a[1], b[1], record=self.recording)

    @rule(target=values, a=values, b=values)
    def product(self, a, b):
        assume(a[0].ndim in (1, 2) and b[0].ndim in (1, 2) and a[0].shape[-1] == b[0].shape[0])
        mine, theirs = MATRICES["matmul"]
        return mine(a[0], b[0]), Naive.apply(theirs, a[1], b[1], record=self.recording)

    @rule(target=values, a=values)
    def detached(self, a):
        return a[0].detach(), Naive(a[1].value)

    @rule(a=consumes(values))
    def forget(self, a):
        """The program drops a value; graphs that need it must not notice."""
        del a

    @rule(on=st.booleans())
    def switch_recording(self, on):
        self.recording = on
        mg.set_grad_enabled(on)

    @rule(a=values)
    def backward(self, a):
        tensor, naive = a
        if not naive.jacobians:
            assert not tensor.requires_grad
            return
        cotangent = self.random.uniform(-1, 1, tensor.shape)
        tensor.backward(mg.tensor(cotangent), retain_graph=True)
        for leaf, g in naive.pull(cotangent).items():
            leaf.grad = g if leaf.grad is None else leaf.grad + g

    @rule(a=values, twice=st.booleans())
    def gradients(self, a, twice):
        """grad of all leaves at once; `twice`: also the derivative of ⟨g, g⟩ by the cotangent,
        which is 2 J Jᵀ u.
        """
        tensor, naive = a
        if not naive.jacobians:
            return
        u = mg.tensor(self.random.uniform(-1, 1, tensor.shape), requires_grad=True)
        leaves = [mine for mine, _ in self.leaves]
        found = mg.autograd.grad(
            tensor, leaves, u, create_graph=twice, retain_graph=True, allow_unused=True
        )
        expected = naive.pull(u.detach().numpy())
        for (_, leaf), g in zip(self.leaves, found, strict=True):
            assert (g is None) == (leaf not in expected)
            if g is not None:
                np.testing.assert_allclose(
                    g.detach().numpy(), expected[leaf], rtol=1e-9, atol=1e-12
                )
        if twice:
            mg.set_grad_enabled(True)
            norm = sum((g * g).sum() for g in found if g is not None)
            mg.set_grad_enabled(self.recording)
            (h,) = mg.autograd.grad(norm, u)
            wanted = sum(
                2 * m @ (m.T @ u.detach().numpy().reshape(-1)) for m in naive.jacobians.values()
            )
            np.testing.assert_allclose(h.numpy().reshape(-1), wanted, rtol=1e-8, atol=1e-10)

    @rule(a=values)
    def clear(self, a):
        for mine, theirs in self.leaves:
            mine.grad = theirs.grad = None

    @rule(a=values)
    def values_agree(self, a):
        tensor, naive = a
        assert tensor.shape == naive.value.shape
        np.testing.assert_allclose(tensor.detach().numpy(), naive.value, rtol=1e-11, atol=1e-13)
        assert tensor.requires_grad is bool(naive.jacobians)

    @invariant()
    def accumulated_gradients_agree(self):
        for mine, theirs in self.leaves:
            if theirs.grad is None:
                assert mine.grad is None
            else:
                np.testing.assert_allclose(mine.grad.numpy(), theirs.grad, rtol=1e-8, atol=1e-10)


GraphMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestGraphs = GraphMachine.TestCase
