"""What runs on the student's side in the exercises of lessons 1, 4 and 13: the functions that a
student's code is called with.

The file gives no answer away: it holds functions to be differentiated, and no derivatives. A drive
gets (answers, call, *arguments), as told in lessons/grading/harness.py, and returns plain values.
"""

import math

import numpy as np

import minigrad as mg

# Of a number and the module whose exp, log, … are meant: `math` on the student's side, minigrad
# where a derivative is needed.
FUNCTIONS = {
    "x²": lambda x, m: x * x,
    "x³ + 2x": lambda x, m: x * x * x + 2 * x,
    "exp(x)": lambda x, m: m.exp(x),
    "sin(x)": lambda x, m: m.sin(x),
    "ln(x)": lambda x, m: m.log(x),
    "√x": lambda x, m: m.sqrt(x),
    "1/x": lambda x, m: 1 / x,
    "ln(1 + exp(x))": lambda x, m: m.log(1 + m.exp(x)),
}


def of_numbers(name):
    """A function of FUNCTIONS, of plain numbers."""
    return lambda x: FUNCTIONS[name](x, math)


def difference(answers, call, name, *numbers):
    """function(f, x) or function(f, x, h), f being one of FUNCTIONS."""
    return answers[call](of_numbers(name), *numbers)


def watched_difference(answers, call, name, x):
    """function(f, x): what it returned, and how far from x it asked for f, each distance once."""
    asked, f = {}, of_numbers(name)

    def watched(at):
        asked[float(at - x)] = None
        return f(at)

    found = answers[call](watched, x)
    return found if found is None or found is ... else {"value": found, "steps": list(asked)}


MATRIX = [[1.0, -2.0, 0.5, 3.0], [0.0, 1.5, -1.0, 2.0]]

# Of a tensor of the shape (n,); the result has the shape (m,).
MAPS = {
    "polar coordinates": lambda x: mg.stack(
        [x[0] * mg.cos(x[1]), x[0] * mg.sin(x[1]), x[0] * x[0]]
    ),
    "a matrix times x": lambda x: mg.tensor(MATRIX, dtype=x.dtype) @ x,
    "one result": lambda x: mg.sin(x).prod().reshape(1),
    "one input": lambda x: mg.exp(mg.tensor([0.5, -1.0, 0.25, 0.1], dtype=x.dtype) * x),
    "each by itself": lambda x: mg.tanh(x),
}


def jacobian(answers, call, name, x):
    """function(f, x) on one of MAPS: the matrix that it returned, and how often it ran f."""
    runs = []

    def f(x):
        runs.append(1)
        return MAPS[name](x)

    found = answers[call](f, mg.tensor(x))
    if found is None or found is ...:
        return found
    return {
        "jacobian": found.detach().numpy() if hasattr(found, "detach") else np.asarray(found),
        "runs": len(runs),
    }


# -------------------------------------------------------------------------- operations of one's own


def own_operation(answers, call, what, inputs, seeds):
    """A student's Function at a point. what: "value", "tangent", or of its one input "gradient" or
    "second derivative".

    seeds: the cotangent of the result, or a tangent for each input. None where a method returned
    nothing: it is not written yet. Raises ValueError for what is no Function.
    """
    kind, told = answers[call], []
    if not (isinstance(kind, type) and issubclass(kind, mg.autograd.Function)):
        raise ValueError(
            "it should be a class derived from `Function`, which begins with `class"
            f" {call}(Function):`"
        )

    keeping = answers.watched_function(kind)

    def told_by(rule):
        def run(ctx, *given):
            told.append(getattr(keeping, rule)(ctx, *given))
            return told[-1]

        return staticmethod(run)

    rule = "jvp" if what == "tangent" else "backward"
    watched = keeping if what == "value" else type(call, (keeping,), {rule: told_by(rule)})
    points = [
        mg.tensor(x).requires_grad_(what in ("gradient", "second derivative")) for x in inputs
    ]
    if what == "tangent":
        try:
            _, found = mg.func.jvp(watched.apply, tuple(points), tuple(mg.tensor(t) for t in seeds))
        except mg.AutogradError:
            if told and isinstance(
                told[-1], tuple | list
            ):  # a tangent for each input; the engine wants one, for the result
                return list(told[-1])
            raise
        return None if any(one is None for one in told) else found
    y = watched.apply(*points)
    if what == "value" or y is None:
        return y
    grads = mg.autograd.grad(
        y, points, mg.tensor(seeds[0]), create_graph=what != "gradient", allow_unused=True
    )
    if any(one is None for one in told):
        return None
    if what == "gradient":
        return grads[0]
    if not grads[0].requires_grad:
        return mg.zeros_like(points[0])  # the gradient is a constant
    return mg.autograd.grad(grads[0].sum(), points[0])[0]
