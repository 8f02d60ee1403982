"""The programs on which the laws of the Trace are tried, each with its arguments."""

import numpy as np

import minigrad as mg

OUTSIDE = mg.tensor([0.5, -1.5, 2.0], dtype=mg.float64)
ARRAY = np.array([2.0, 0.25, -1.0])


def article(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


def square(x):
    return x * x


def used_often(x):
    y = x * x + x
    return y * y - x * y + x


def constants(x):
    return ((3 * x + 2.5) ** 2 - x / 4) * True


def outside_array(x):
    return (x * ARRAY + ARRAY).sum()


def outside_tensor(x):
    return (x * OUTSIDE).sum() * 2


def broadcasting(a, b):
    return (a * b + b / a).sum()


def a_row_added_to_a_matrix(a, b):
    return ((a + b) * (b - a) + 2.0 * b).sum()


def matrices(a, b):
    return mg.tanh(a @ b).mean()


def in_place(x):
    y = x * 1
    y += x
    y *= y
    return y


def in_place_on_a_view(x):
    y = x * 1
    y[0] = x[1] * 3
    first = y[:1]
    y += 1
    first *= 2
    return (y * first).sum()


def in_place_on_a_constant(x):
    buffer = mg.zeros(3, dtype=mg.float64)
    buffer[1] = x[0] * x[0]
    buffer += 1
    buffer[2:] = x[1:2]
    return (buffer * buffer).sum() + x.sum()


def in_place_on_a_block(x):
    y = x * 1
    y[0:2, 1].mul_(3)
    y[1] = y[0]
    return (y * x).sum()


def mixed_dtypes(x, y):
    return (x * y).sum() + mg.arange(3).sum() * x.sum()


def kinks(x):
    return mg.where(x > 0, mg.relu(x) + mg.maximum(x, 0.5), x.abs()).sum()


def shapes(x):
    return (x.reshape(3, 2).T @ x[:3] + x.flip(0)[1]).sum()


def empty(x):
    return x.sum() + 1.0


def zero_dimensional(x):
    return x.sum().reshape(1, 1)[0, 0] * 2


def inner_gradient(x):
    slope = mg.func.grad(lambda z: z * z * z)(x)
    return slope * x


def inner_jvp(x):
    _, slope = mg.func.jvp(lambda z: mg.exp(z) * z, (x,), (mg.ones_like(x),))
    return slope * x


def inner_backward(x):
    z = mg.tensor(3.0, dtype=mg.float64, requires_grad=True)
    (z * z * z).backward()
    return x * z.grad


class Cube(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * 3 * x * x


class SumAndProduct(mg.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a + b, a * b

    @staticmethod
    def backward(ctx, g, h):
        a, b = ctx.saved_tensors
        return g + h * b, g + h * a

    @staticmethod
    def jvp(ctx, s, t):
        a, b = ctx.saved_tensors
        return s + t, s * b + a * t


def own_function(x):
    return Cube.apply(x) * x


def several_results(a, b):
    total, product = SumAndProduct.apply(a, b)
    return total * product + a


def one_of_several_results(a, b):
    return SumAndProduct.apply(a, b)[1] * a


PROGRAMS = {
    "article": (article, 2.0, 5.0),
    "square": (square, 3.0),
    "used often": (used_often, 0.7),
    "constants": (constants, 1.5),
    "array from outside": (outside_array, [1.0, 2.0, 3.0]),
    "tensor from outside": (outside_tensor, [1.0, 2.0, 3.0]),
    "broadcasting": (broadcasting, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [0.5, 1.5, 2.5]),
    "a number against an array": (broadcasting, 2.0, [0.5, 1.5, 2.5]),
    "a row added to a matrix": (
        a_row_added_to_a_matrix,
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        [0.5, 1.5, 2.5],
    ),
    "matrices": (matrices, [[1.0, 0.2], [0.3, 0.4]], [[0.1, 0.5], [0.6, 0.7]]),
    "in place": (in_place, 1.5),
    "in place on a view": (in_place_on_a_view, [1.0, 2.0]),
    "in place on a constant": (in_place_on_a_constant, [1.0, 2.0]),
    "in place on a block": (in_place_on_a_block, [[1.0, 2.0], [0.5, 0.25]]),
    "mixed dtypes": (mixed_dtypes, np.array([1.0, 2.0], np.float32), np.array([3.0, 4.0])),
    "kinks": (kinks, [-1.5, 0.3, 2.0]),
    "shapes": (shapes, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0][:3] * 2),
    "empty": (empty, np.zeros((0, 3))),
    "zero dimensions": (zero_dimensional, np.array(2.0)),
    "gradient inside": (inner_gradient, 1.5),
    "forward mode inside": (inner_jvp, 0.5),
    "backward inside": (inner_backward, 2.0),
    "a Function": (own_function, 1.5),
    "several results": (several_results, 2.0, 3.0),
    "one of several results": (one_of_several_results, 2.0, 3.0),
}
