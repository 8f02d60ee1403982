"""What lesson 6 hands to the student's side: functions for `hessian_times`, and how `Sigmoid` is
called. It knows no answers.
"""

import numpy as np

import minigrad as mg


def turned(x):
    """A form whose matrix is not symmetric: its Hessian is the matrix plus its transpose."""
    matrix = mg.tensor([[1.0, 2.0, 0.0], [0.0, -1.0, 4.0], [3.0, 0.0, 0.5]], dtype=mg.float64)
    return (x * (matrix @ x)).sum()


FUNCTIONS = {
    "x.pow(3).sum()": lambda x: x.pow(3).sum(),
    "(x.sin() * x).sum()": lambda x: (x.sin() * x).sum(),
    "x.prod()": lambda x: x.prod(),
    "a quadratic form": turned,
    "x.sum().exp()": lambda x: x.sum().exp(),
    "a quick wave": lambda x: (20000.0 * x).sin().sum(),
    "a long vector": lambda x: (x[1:] * x[:-1].sin()).sum(),
}
LONG = 100_000


def hessian_times(answers, call, which, x, v):
    """hessian_times(f, x, v) for one of the functions; x requires grad."""
    return times(which, x, v, lambda x, v: answers[call](FUNCTIONS[which], x, v))


def times(which, x, v, product):
    """The product for tensors of x and v. A long vector repeats them, and of its product a weighted
    sum is taken: whoever builds the Hessian is not done in time.
    """
    if which != "a long vector":
        return product(mg.tensor(x, requires_grad=True), mg.tensor(v))
    weights = np.linspace(0.5, 1.0, LONG)
    long_x, long_v = np.resize(x, LONG) * weights, np.resize(v, LONG)
    found = product(mg.tensor(long_x, requires_grad=True), mg.tensor(long_v))
    fits = isinstance(found, mg.Tensor | np.ndarray) and found.shape == (LONG,)
    return (found * weights).sum() if fits else found


class _Listener:
    """Stands for ctx while forward is called only to see whether it has been written."""

    def save_for_backward(self, *tensors):
        """Nothing is kept."""


def own_function(answers, call, part, x, g):
    """A subclass of Function, used: its value, its gradient for the cotangent g, or the gradient
    of that (part).
    """
    if not (isinstance(answers[call], type) and issubclass(answers[call], mg.autograd.Function)):
        raise ValueError("it should be a class, made with `class Sigmoid(mg.autograd.Function):`")
    x = mg.tensor(x, requires_grad=True)
    if answers[call].forward(_Listener(), x) is None:
        return None
    y = answers.watched_function(answers[call]).apply(x)
    if part == "value":
        return y
    (gradient,) = mg.autograd.grad(
        y, x, mg.tensor(g), create_graph=part == "again", allow_unused=True
    )
    if gradient is None:  # backward returns nothing yet
        return None
    return gradient if part == "gradient" else mg.autograd.grad(gradient.sum(), x)[0]
