"""Wrong answers to the exercises of lessons 9 to 15 and of the bug zoo, in the form of
answers.py.
"""

import math

import numpy as np
from minigrad.lessons.exercises import zoo
from minigrad.lessons.exercises.bug_zoo import NAMES
from minigrad.lessons.exercises.lesson10 import shapes as right_shapes
from minigrad.lessons.exercises.lesson12 import OPERATIONS, fate, keeps

import minigrad as mg

from .answers import both, one

F = mg.autograd.Function


def softmax(s, axis=1):
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def shapes(**changed):
    return one({**right_shapes(), **changed})


# ----------------------------------------------------------------------------------------- lesson 9


def summed_gradients(parameter, gradient, state):
    state["sum"] = state.get("sum", 0.0) + gradient
    return parameter - 0.05 * state["sum"]


def untrained(x, labels, seed):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in ((2, 8), (1, 8), (8, 2), (1, 2))]


def relu_in_place(x, g):
    g[x <= 0] = 0
    return g


def softmax_in_place(s, t, g):
    s -= s.max(axis=1, keepdims=True)
    return g * (softmax(s) - t) / len(s)


NINE = {
    "sgd": {
        "no rate": (one(lambda p, g, s: p - g), "the whole gradient is taken"),
        "uphill": (one(lambda p, g, s: p + 0.05 * g), "the step goes uphill"),
        "length one": (
            one(lambda p, g, s: p - 0.05 * g / np.linalg.norm(g)),
            "you divide the gradient by its length",
        ),
        "no gradient": (one(lambda p, g, s: p - 0.05), "you subtract the rate alone"),
        "a share": (one(lambda p, g, s: p * (1 - 0.05 * g)), "multiplied by the gradient"),
        "ten times the rate": (one(lambda p, g, s: p - 0.5 * g), "your rate is 0.5"),
        "twice": (one(lambda p, g, s: p - 0.1 * g), "a factor 2 too many"),
        "half": (one(lambda p, g, s: p - 0.025 * g), "lacks a factor 2"),
        "stale": (one(summed_gradients), "gradients of the steps before"),
        "another rate": (one(lambda p, g, s: p - 0.01 * g), "your rate is 0.01"),
        "in place": (
            one(lambda p, g, s: p.__isub__(0.05 * g)),
            "`sgd` changed its argument `p` in place",
        ),
    },
    "train": {
        "untrained": (one(untrained), "it should be at most"),
        "zeros": (one(lambda *a: [0 * p for p in untrained(*a)]), "it should be at most"),
        "diverged": (one(lambda *a: [np.nan * p for p in untrained(*a)]), "not a finite number"),
        "one layer only": (one(lambda *a: untrained(*a)[:2]), "cannot be used as parameters"),
        "a number": (one(lambda *a: 0.1), "cannot be used as parameters"),
        "the loss": (one(lambda *a: [0.1, 0.2]), "cannot be used as parameters"),
    },
    "pull_relu": {
        "all": (one(lambda x, g: g), "`g` passes unchanged"),
        "the value": (one(lambda x, g: np.maximum(x, 0.0)), "relu(x) itself"),
        "relu of g": (one(lambda x, g: np.maximum(g, 0.0)), "you applied relu to `g`"),
        "no g": (one(lambda x, g: 1.0 * (x > 0)), "you left out `g`"),
        "times x": (
            one(lambda x, g: g * np.maximum(x, 0.0)),
            "the operation's value instead of its derivative",
        ),
        "as for abs": (one(lambda x, g: g * np.sign(x)), "the rule of |x|"),
        "g in place": (
            one(relu_in_place),
            "`pull_relu` changed its argument `g` in place",
        ),
        "sign": (one(lambda x, g: -g * (x > 0)), "the sign is reversed"),
    },
    "pull_cross_entropy": {
        "back to the probabilities": (
            one(lambda s, t, g: -g * t / softmax(s) / len(s)),
            "with respect to the probabilities",
        ),
        "no softmax": (one(lambda s, t, g: g * (s - t) / len(s)), "the softmax is missing"),
        "one softmax": (
            one(lambda s, t, g: g * (softmax(s, None) - t) / len(s)),
            "each row has a softmax of its own",
        ),
        "over the columns, which overflows": (
            one(lambda s, t, g: g * (np.exp(s) / np.exp(s).sum(0) - t) / len(s)),
            "explains the cases of “one example”, but not all others",
        ),
        "no mean": (
            one(lambda s, t, g: g * (softmax(s) - t)),
            "the mean over the batch is forgotten",
        ),
        "one maximum": (
            one(
                lambda s, t, g: (
                    g
                    * (np.exp(s - s.max()) / np.exp(s - s.max()).sum(axis=1, keepdims=True) - t)
                    / len(s)
                )
            ),
            "the largest score of the whole batch",
        ),
        "overflow": (
            one(
                lambda s, t, g: g * (np.exp(s) / np.exp(s).sum(axis=1, keepdims=True) - t) / len(s)
            ),
            "np.exp overflows",
        ),
        "scores in place": (
            one(softmax_in_place),
            "`pull_cross_entropy` changed its argument `s` in place",
        ),
        "no g": (one(lambda s, t, g: (softmax(s) - t) / len(s)), "you left out `g`"),
        "sign": (one(lambda s, t, g: g * (t - softmax(s)) / len(s)), "the sign is reversed"),
        "no target": (one(lambda s, t, g: g * softmax(s) / len(s)), "the target is missing"),
        "all elements": (one(lambda s, t, g: g * (softmax(s) - t) / s.size), "not of all elements"),
        "columns": (one(lambda s, t, g: g * (softmax(s, 0) - t) / len(s)), "over each row"),
        "logarithms": (
            one(lambda s, t, g: g * (np.log(softmax(s) + 1e-300) - t) / len(s)),
            "the logarithm of the softmax",
        ),
        "the wrong classes only": (
            one(lambda s, t, g: g * softmax(s) * (1 - t) / len(s)),
            "the right class gets nothing",
        ),
    },
}

# ---------------------------------------------------------------------------------------- lesson 10


def pooled(x, g, choose):
    out = np.zeros_like(x)
    for i in range(g.shape[0]):
        for j in range(g.shape[1]):
            window = x[2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
            out[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = choose(window, g[i, j])
    return out


def winner(window, g):
    out = np.zeros((2, 2))
    out.flat[window.argmax()] = g
    return out


def wide(g):
    return g.repeat(2, 0).repeat(2, 1)


def cut(g, channels):
    return np.split(g, np.cumsum(channels)[:-1], axis=1)


TEN = {
    "shapes": {
        "one channel": (shapes(conv1=(2, 1, 8, 8)), "the number of channels"),
        "without padding": (shapes(conv1=(2, 32, 6, 6)), "the number of rows"),
        "pooling halves": (shapes(pooling1=(2, 32, 4, 4)), "the number of rows"),
        "a branch has all channels": (shapes(conv21=(2, 32, 8, 8)), "the number of channels"),
        "cat adds images": (shapes(cat=(4, 16, 8, 8)), "the number of images"),
        "flatten keeps four": (shapes(flatten=(2, 32, 8, 8)), "should have 2 numbers"),
    },
    "adjoint_cat": {
        "everyone gets all": (one(lambda g, c: [g for _ in c]), "its own channels only"),
        "equal parts": (
            one(lambda g, c: list(np.array_split(g, len(c), axis=1))),
            "cut into equal parts",
        ),
        "the first channels": (one(lambda g, c: [g[:, :n] for n in c]), "the start must move on"),
        "along the images": (one(lambda g, c: [g[:n] for n in c]), "axis 1 holds the channels"),
        "reversed": (one(lambda g, c: cut(g, c)[::-1]), ""),
        "divided": (one(lambda g, c: [p / len(c) for p in cut(g, c)]), "nothing is shared out"),
    },
    "adjoint_max_pool": {
        "everyone": (one(lambda x, g: wide(g)), "all four places of a window"),
        "a quarter": (one(lambda x, g: wide(g) / 4), "average pooling"),
        "times x": (one(lambda x, g: x * pooled(x, g, winner)), "you multiplied by x"),
        "no g": (one(lambda x, g: pooled(x, np.ones_like(g), winner)), "you left out g"),
        "all that are equal": (
            one(lambda x, g: pooled(x, g, lambda w, g: g * (w == w.max()))),
            "you gave g to each of them",
        ),
        "the last": (
            one(lambda x, g: pooled(x, g, lambda w, g: winner(w[::-1, ::-1], g)[::-1, ::-1])),
            "not the last",
        ),
        "sign": (one(lambda x, g: -pooled(x, g, winner)), "the sign is reversed"),
    },
    "adjoint_centred": {
        "a constant": (one(lambda g: g), "the mean as a constant"),
        "the sum": (one(lambda g: g - g.sum(0)), "divided by their number"),
        "one mean": (one(lambda g: g - g.mean()), "the mean of the whole array"),
        "rows": (one(lambda g: g - g.mean(1, keepdims=True)), "the mean of each row"),
        "plus": (one(lambda g: g + g.mean(0)), "has a minus"),
        "the mean only": (one(lambda g: np.broadcast_to(-g.mean(0), g.shape)), "the direct way"),
        "the factor only": (one(lambda g: g * (1 - 1 / len(g))), "leave the direct way whole"),
    },
}

# ---------------------------------------------------------------------------------------- lesson 11


def stop(
    better=lambda new, best: new < best,
    enough=lambda waited, patience: waited == patience,
    reset=True,
    back="best",
):
    def early_stop(losses, patience):
        best, waited, epoch = 0, 0, 0
        for epoch in range(1, len(losses)):
            if better(losses[epoch], losses[best]):
                best, waited = epoch, 0 if reset else waited
            else:
                waited += 1
                if enough(waited, patience):
                    break
        return {"best": best, "epoch": epoch, "loss": losses[best], "next": best + 1}[back]

    return one(early_stop)


def neighbours(losses, patience):
    best, waited = 0, 0
    for epoch in range(1, len(losses)):
        best = epoch if losses[epoch] < losses[best] else best
        waited = waited + 1 if losses[epoch] >= losses[epoch - 1] else 0
        if waited == patience:
            break
    return best


def adam(
    first=0,
    m=0.1,
    square=lambda g: g**2,
    correct=(True, True),
    root=lambda v: np.sqrt(v) + 1e-8,
    betas=(0.9, 0.999),
    keep=True,
):
    b1, b2 = betas

    def step(p, g, state):
        state = state if keep else {}
        with np.errstate(all="ignore"):
            state["t"] = t = state.get("t", first) + 1
            state["m"] = mean = (
                b1 * state.get("m", 0.0) + (m if betas == (0.9, 0.999) else 1 - b1) * g
            )
            state["v"] = v = b2 * state.get("v", 0.0) + (1 - b2) * square(g)
            mean = mean / np.float64(1 - b1**t) if correct[0] else mean
            v = v / np.float64(1 - b2**t) if correct[1] else v
            return p - 0.01 * mean / root(v)

    return one(step)


def adam_with(square, power=lambda decay, t: decay**t):
    """Adam with another square, or another correction."""

    def step(p, g, state):
        state["t"] = t = state.get("t", 0) + 1
        state["m"] = m = 0.9 * state.get("m", 0.0) + 0.1 * g
        state["v"] = v = 0.999 * state.get("v", 0.0) + 0.001 * square(m, g)
        with np.errstate(all="ignore"):
            return p - 0.01 * m / (1 - power(0.9, t)) / (np.sqrt(v / (1 - power(0.999, t))) + 1e-8)

    return step


ELEVEN = {
    "bands": {
        "the mean": (one(lambda c: (c.mean(0), c.std(0))), "you take the mean"),
        "the other axis": (
            one(lambda c: (np.median(c, 1), c.std(1))),
            "you summarise over the epochs",
        ),
        "the variance": (one(lambda c: (np.median(c, 0), c.var(0))), "you return the variance"),
        "one number": (one(lambda c: (np.median(c), c.std())), "one number for all"),
        "the edges": (
            one(lambda c: (np.median(c, 0) - c.std(0), np.median(c, 0) + c.std(0))),
            "the edges of the band",
        ),
        "unbiased, and NaN for one run": (
            one(lambda c: (np.median(c, 0), np.where(len(c) > 1, c.std(0, ddof=1), np.nan))),
            "you divide by n − 1",
        ),
    },
    "early_stop": {
        "no patience": (
            one(lambda losses, patience: int(np.argmin(losses))),
            "the smallest loss of all",
        ),
        "where it stopped": (stop(back="epoch"), "the epoch at which it stops"),
        "never begins again": (stop(reset=False), "must start again at 0"),
        "neighbours": (one(neighbours), "compare with the best so far"),
        "the first rise": (
            one(
                lambda losses, patience: next(
                    (i for i in range(len(losses) - 1) if losses[i + 1] > losses[i]),
                    len(losses) - 1,
                )
            ),
            "the first loss that is larger than the one before",
        ),
        "one too long": (stop(enough=lambda w, p: w > p), "one epoch too long"),
        "ties count": (stop(better=lambda new, best: new <= best), ""),
    },
    "adam": {
        "no correction": (adam(correct=(False, False)), "the bias correction is missing"),
        "m not corrected": (adam(correct=(False, True)), "m lacks its bias correction"),
        "v not corrected": (adam(correct=(True, False)), "v lacks its bias correction"),
        "one ahead": (adam(first=1), "one ahead"),
        "epsilon under the root": (adam(root=lambda v: np.sqrt(v + 1e-8)), "under the root"),
        "no root": (adam(root=lambda v: v + 1e-8), "the root is missing"),
        "|g|": (adam(square=np.abs), "mean of |g|"),
        "betas exchanged": (adam(betas=(0.999, 0.9)), "the two decays are swapped"),
        "the whole gradient": (adam(m=1.0), "whole gradient"),
        "no memory": (adam(keep=False), "nothing is kept from step to step"),
        "descent": (one(lambda p, g, s: p - 0.01 * g), "plain gradient descent"),
        "the square of the mean": (one(adam_with(lambda m, g: m * m)), "v is a mean of m²"),
        "t times the decay": (
            one(adam_with(lambda m, g: g * g, lambda decay, t: decay * t)),
            "raised to the power t",
        ),
    },
}

# ---------------------------------------------------------------------------------------- lesson 12

KEPT = {name: keeps(name) for name in OPERATIONS}
FATES = {row: fate(row) for row in "abcde"}
TWELVE = {
    "kept": {
        "always x": (one({name: "x" for name in KEPT}), ""),
        "exp keeps x": (one(KEPT | {"exp": "x"}), "`exp`"),
        "sin keeps y": (one(KEPT | {"sin": "y"}), "`sin`"),
        "tanh keeps x": (one(KEPT | {"tanh": "x"}), "`tanh`"),
        "triple keeps x": (one(KEPT | {"triple": "x"}), "keep something"),
        "log keeps nothing": (one(KEPT | {"log": "nothing"}), "`log`"),
    },
    "fates": {
        "all errors": (one(dict.fromkeys("abcde", "error")), "every overwriting an error"),
        **{
            f"row {row}": (
                one(FATES | {row: {"fine": "error", "error": "fine"}[FATES[row]]}),
                "he rule of",
            )
            for row in "abcde"
        },
    },
    "most_kept": {
        "one piece": (one(lambda n, k: n // k), "one piece's values"),
        "inputs": (one(lambda n, k: k), "the pieces' inputs"),
        "everything": (one(lambda n, k: n), "as if nothing were checkpointed"),
        "one twice": (one(lambda n, k: n // k + k), "one value twice"),
        "the product": (one(lambda n, k: n * k), ""),
        "two roots": (one(lambda n, k: round(2 * n**0.5)), ""),
    },
    "best_segments": {
        "two": (one(lambda n: 2 if n % 2 == 0 else 1), "cut the chain in two"),
        "every stage": (one(lambda n: n), "every stage by itself"),
        "one": (one(lambda n: 1), ""),
        "the rounded root": (one(lambda n: round(n**0.5)), ""),
        "a float": (one(lambda n: n**0.5), ""),
        "the largest divisor": (
            one(lambda n: max(k for k in range(1, n + 1) if n % k == 0 and k < max(n, 2))),
            "",
        ),
    },
    "frugal": {
        "nothing checkpointed": (one(lambda stages, x: run_all(stages, x)), "without a checkpoint"),
        "one around all": (
            one(lambda stages, x: mg.checkpoint(lambda x: run_all(stages, x), x)),
            "with one around everything",
        ),
        "each by itself": (one(lambda stages, x: each(stages, x)), "one around each stage"),
        "two pieces": (
            one(lambda stages, x: mg.checkpoint_sequential(stages, 2, x)),
            "at most a third",
        ),
        "one stage left out": (
            one(lambda stages, x: mg.checkpoint_sequential(stages[1:], 7, x)),
            "35 of the 36 stages ran",
        ),
        "cut off": (
            one(lambda stages, x: mg.checkpoint_sequential(stages, 8, x).detach()),
            "has no history",
        ),
    },
}


def run_all(stages, x):
    for stage in stages:
        x = stage(x)
    return x


def each(stages, x):
    for stage in stages:
        x = mg.checkpoint(stage, x)
    return x


# ---------------------------------------------------------------------------------------- lesson 13


def operation(name, forward, backward, keep=lambda *a: a):
    def run(ctx, *inputs):
        out = forward(*inputs)
        ctx.save_for_backward(*keep(*inputs, out))
        return out

    return one(
        type(
            name,
            (F,),
            {
                "forward": staticmethod(run),
                "backward": staticmethod(lambda ctx, g: backward(*ctx.saved_tensors, g)),
            },
        )
    )


def softplus(
    value=lambda x: mg.maximum(x, 0 * x) + mg.log1p(mg.exp(-mg.abs(x))),
    pull=lambda x, y, g: g * mg.sigmoid(x),
):
    return operation("Softplus", value, pull)


def length(pull):
    return operation("Norm", lambda x: mg.sqrt((x * x).sum()), pull)


def hypotenuse(tangent):
    class Hypotenuse(F):
        @staticmethod
        def forward(ctx, a, b):
            y = mg.sqrt(a * a + b * b)
            ctx.save_for_backward(a, b, y)
            ctx.save_for_forward(a, b, y)
            return y

        @staticmethod
        def backward(ctx, g):
            a, b, y = ctx.saved_tensors
            return g * a / y, g * b / y

        @staticmethod
        def jvp(ctx, da, db):
            a, b, y = ctx.saved_tensors
            return tangent(a, b, y, da, db)

    return one(Hypotenuse)


def cube(pull, keep=lambda x, y: (x,)):
    return operation("Cube", lambda x: x * x * x, pull, keep)


def constant_cube():
    class Cube(F):
        @staticmethod
        def forward(ctx, x):
            ctx.slope = 3 * x * x
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.slope

    return one(Cube)


THIRTEEN = {
    "Softplus": {
        "as written": (
            softplus(lambda x: mg.log(1 + mg.exp(x))),
            "the exponential of a large number",
        ),
        "log for log1p": (
            softplus(lambda x: mg.maximum(x, 0 * x) + mg.log(1 + mg.exp(-mg.abs(x)))),
            "`mg.log1p(…)` keeps them",
        ),
        "no g": (softplus(pull=lambda x, y, g: mg.sigmoid(x)), "you left out `g`"),
        "g alone": (softplus(pull=lambda x, y, g: g + 0 * x), "`g` passes unchanged"),
        "the value": (softplus(pull=lambda x, y, g: g * y), "the value instead of the derivative"),
        "one derivative too many": (
            softplus(pull=lambda x, y, g: g * mg.sigmoid(x) * mg.sigmoid(-x)),
            "the second one of softplus",
        ),
        "sign of x": (softplus(pull=lambda x, y, g: g * mg.sigmoid(-x)), "x has the wrong sign"),
        "at the result": (
            softplus(pull=lambda x, y, g: g * mg.sigmoid(y)),
            "at the result instead of at the input",
        ),
    },
    "Norm": {
        "0/0": (length(lambda x, y, g: g * x / y), "0 is still divided by 0"),
        "chosen too late": (
            length(lambda x, y, g: mg.where(y > 0, g * x / y, 0.0)),
            "only hides the NaN",
        ),
        "under the root": (
            length(lambda x, y, g: g * x / mg.sqrt(y * y + 1e-12)),
            "a small number",
        ),
        "no g": (length(lambda x, y, g: x / mg.where(y > 0, y, 1.0)), "you left out `g`"),
        "not divided": (length(lambda x, y, g: g * x), "forgot to divide"),
        "exchanged": (
            length(lambda x, y, g: g * y / mg.where(x > 0, x, 1.0)),
            "x and y are swapped",
        ),
        "the square": (length(lambda x, y, g: 2 * g * x), "the sum of squares"),
    },
    "Hypotenuse": {
        "a pair": (
            hypotenuse(lambda a, b, y, da, db: (a * da / y, b * db / y)),
            "one tangent, the sum of both",
        ),
        "the square": (
            hypotenuse(lambda a, b, y, da, db: 2 * a * da + 2 * b * db),
            "without the root",
        ),
        "tangents added": (
            hypotenuse(lambda a, b, y, da, db: da + db),
            "the local derivatives are missing",
        ),
        "length of the tangents": (
            hypotenuse(lambda a, b, y, da, db: mg.sqrt(da * da + db * db)),
            "the operation to the tangents",
        ),
        "swapped": (
            hypotenuse(lambda a, b, y, da, db: (b * da + a * db) / y),
            "the operands are swapped",
        ),
        "not divided": (hypotenuse(lambda a, b, y, da, db: a * da + b * db), "forgot to divide"),
        "divided twice": (
            hypotenuse(lambda a, b, y, da, db: (a * da + b * db) / (y * y)),
            "you divide by y²",
        ),
        "the first only": (
            hypotenuse(lambda a, b, y, da, db: a * da / y),
            "the term with `db` is missing",
        ),
        "the second only": (hypotenuse(lambda a, b, y, da, db: b * db / y), ""),
    },
    "Cube": {
        "in forward": (constant_cube(), "reaches the engine as a constant"),
        "half detached": (cube(lambda x, g: g * 3 * x.detach() * x), "one of the factors"),
        "no g": (cube(lambda x, g: 3 * x * x), "you left out `g`"),
        "the second derivative": (cube(lambda x, g: g * 6 * x), "the second derivative of x³"),
        "3x": (cube(lambda x, g: g * 3 * x), "The power rule"),
        "the value": (cube(lambda x, g: g * x * x * x), "you multiply by x³"),
    },
}

# ---------------------------------------------------------------------------------------- lesson 14


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def busiest(key=lambda r: r[2], whole=lambda r: r[2], factor=1.0):
    def run(rows):
        row = max(rows, key=key)
        return row[0], factor * row[2] / sum(whole(r) for r in rows)

    return one(run)


def skewed(mean=lambda m: m, variance=lambda v: v, power=3):
    def skew(x):
        d = x - mean(x.mean())
        return (d**power).mean() / variance((d * d).mean())

    return one(skew)


def where_after(x):
    s = (x * x).sum()
    return mg.where(s > 0, mg.sqrt(s), 0.0)


FOURTEEN = {
    "wrong-rules": {
        "one only": (one(["swish"]), "positive points only"),
        "all": (one(["swish", "softsign", "leaky"]), "One of the three is right"),
        "none": (one([]), ""),
        "the right one": (one(["softsign"]), "passes gradcheck"),
        "leaky only": (one(["leaky"]), "ne more of them is wrong"),
        "a name that is none": (one(["swish", "gelu"]), "here is no operation"),
    },
    "adjoint_swish": {
        "the first term": (
            one(lambda x, g: g * sigmoid(x)),
            "the derivative of the sigmoid is missing",
        ),
        "the second term": (
            one(lambda x, g: g * x * sigmoid(x) * (1 - sigmoid(x))),
            "the derivative of the first one",
        ),
        "the colleague's": (
            one(lambda x, g: g * sigmoid(x) * (1 - sigmoid(x))),
            "as in the colleague's rule",
        ),
        "no g": (
            one(lambda x, g: sigmoid(x) + x * sigmoid(x) * (1 - sigmoid(x))),
            "you left out `g`",
        ),
        "the value": (one(lambda x, g: g * x * sigmoid(x)), "the operation's value instead"),
        "x in both terms": (
            one(lambda x, g: g * x * (sigmoid(x) + sigmoid(x) * (1 - sigmoid(x)))),
            "both terms have the factor x",
        ),
        "the square of s": (one(lambda x, g: g * (sigmoid(x) + x * sigmoid(x) ** 2)), "not s²"),
    },
    "raised_exp": {
        "detached": (one(lambda x: mg.exp(x).detach() * 2.0 + 1.0 + 0.0 * x), "so is the gradient"),
        "no factor": (one(lambda x: mg.exp(x) + 1.0), "the factor 2 is missing"),
        "no 1": (one(lambda x: mg.exp(x) * 2.0), "the 1 is missing"),
        "inside": (one(lambda x: mg.exp(2.0 * x) + 1.0), "inside exp"),
        "added first": (one(lambda x: (mg.exp(x) + 1.0) * 2.0), ""),
        "still in place": (one(lambda x: mg.exp(x).mul_(2.0) + 1.0), "raised"),
    },
    "length": {
        "chosen too late": (one(where_after), "choosing after that is too late"),
        "the root of zero": (one(lambda x: mg.sqrt((x * x).sum())), ""),
        "a small number": (
            one(lambda x: mg.sqrt((x * x).sum() + 1e-9)),
            "a small number under the root",
        ),
        "bounded below": (
            one(lambda x: mg.sqrt(mg.maximum((x * x).sum(), mg.tensor(1e-30, dtype=x.dtype)))),
            "",
        ),
        "the square": (one(lambda x: (x * x).sum()), ""),
        "the sum of sizes": (one(lambda x: mg.abs(x).sum()), ""),
    },
    "skew": {
        "unchanged": (skewed(variance=lambda v: v.detach()), "the adjoint of v is still missing"),
        "the mean cut": (skewed(mean=lambda m: m.detach()), "the mean is cut off"),
        "no division": (skewed(variance=lambda v: 1.0), "do not divide by the variance"),
        "the square": (skewed(power=2), ""),
        "the usual skewness": (skewed(variance=lambda v: v**1.5), "to the power 3/2"),
        "a sum for a mean": (
            one(lambda x: ((x - x.mean()) ** 3).sum() / ((x - x.mean()) ** 2).mean()),
            "the cubes are summed",
        ),
    },
    "busiest": {
        "the time itself": (
            one(lambda rows: max(rows, key=lambda r: r[2])[0::2]),
            "that is the time itself",
        ),
        "the total": (
            one(
                lambda rows: (
                    max(rows, key=lambda r: r[3])[0],
                    max(r[3] for r in rows) / sum(r[3] for r in rows),
                )
            ),
            "you went by the total",
        ),
        "share of totals": (busiest(whole=lambda r: r[3]), "the sum of all own times"),
        "calls": (
            one(
                lambda rows: (
                    max(rows, key=lambda r: r[1])[0],
                    max(r[1] for r in rows) / sum(r[1] for r in rows),
                )
            ),
            "Many calls need not take much time",
        ),
        "percent": (busiest(factor=100.0), "not percent"),
        "the largest total as the whole": (
            one(
                lambda rows: (
                    max(rows, key=lambda r: r[2])[0],
                    max(r[2] for r in rows) / max(r[3] for r in rows),
                )
            ),
            "you divide by the largest total",
        ),
        "the name only": (one(lambda rows: max(rows, key=lambda r: r[2])[0]), "should be a pair"),
    },
}

# ---------------------------------------------------------------------------------------- lesson 15


def weights(x, device=None, first=1, dtype=None):
    n = x.shape[0]
    return 1 / mg.arange(
        first, n + first, dtype=dtype or x.dtype, device=x.device if device is None else device
    ).reshape(n, 1)


def travelled(shape, itemsize, parameters, steps, stays):
    return steps * (math.prod(shape) + 1) * itemsize + 2 * parameters * itemsize * (
        1 if stays else steps
    )


def size(cpu, gpu, link, factor=6):
    return factor / (link * (1 / cpu - 1 / gpu))


def adds(cpu, gpu, link):
    return 1 / cpu > 1 / gpu + 12 / link


def ends(count, launch, run, wait_each):
    return count * (launch + run) if wait_each else count * max(launch, run) + min(launch, run)


FIFTEEN = {
    "weighted": {
        "made on the cpu": (one(lambda x: x * weights(x, device="cpu")), "raised"),
        "moved to the cpu": (one(lambda x: x.cpu() * weights(x.cpu())), "you moved x to the CPU"),
        "there and back": (
            one(lambda x: (x.cpu() * weights(x.cpu())).to(x.device)),
            "two transfers for nothing",
        ),
        "divided by 2": (one(lambda x: x * weights(x, first=2)), "your count begins at 2"),
        "multiplied": (one(lambda x: x / weights(x)), ""),
        "cut off": (one(lambda x: x.detach() * weights(x)), "cut off from its history"),
    },
    "bytes_moved": {
        "exchanged": (
            one(
                lambda shape, itemsize, parameters, steps, stays: travelled(
                    shape, itemsize, parameters, steps, not stays
                )
            ),
            "the other way round",
        ),
        "one step": (
            one(
                lambda shape, itemsize, parameters, steps, stays: travelled(
                    shape, itemsize, parameters, 1, stays
                )
            ),
            "All steps count",
        ),
        "never moved": (
            one(
                lambda shape, itemsize, parameters, steps, stays: (
                    travelled(shape, itemsize, parameters, steps, stays)
                    - 2 * parameters * itemsize * stays
                )
            ),
            "goes to the device once",
        ),
        "numbers": (
            one(
                lambda shape, itemsize, parameters, steps, stays: travelled(
                    shape, 1, parameters, steps, stays
                )
            ),
            "you counted numbers",
        ),
        "no loss": (
            one(
                lambda shape, itemsize, parameters, steps, stays: (
                    travelled(shape, itemsize, parameters, steps, stays) - steps * itemsize
                )
            ),
            "One number comes back",
        ),
        "one way": (
            one(
                lambda shape, itemsize, parameters, steps, stays: travelled(
                    shape, itemsize, parameters / 2, steps, stays
                )
            ),
            "also come back",
        ),
        "always travelling": (
            one(
                lambda shape, itemsize, parameters, steps, stays: travelled(
                    shape, itemsize, parameters, steps, False
                )
            ),
            "moved once",
        ),
        "no gradients": (
            one(
                lambda shape, itemsize, parameters, steps, stays: (
                    travelled(shape, itemsize, parameters, steps, stays)
                    - (0 if stays else steps * parameters * itemsize)
                )
            ),
            "gradients back",
        ),
        "the loss once": (
            one(
                lambda shape, itemsize, parameters, steps, stays: (
                    travelled(shape, itemsize, parameters, steps, stays) - (steps - 1) * itemsize
                )
            ),
            "not once in all",
        ),
        "the sum of the shape": (
            one(
                lambda shape, itemsize, parameters, steps, stays: travelled(
                    (sum(shape),), itemsize, parameters, steps, stays
                )
            ),
            "the product of the shape",
        ),
    },
    "pays": {
        "two arrays": (
            both(lambda cpu, gpu, link: size(cpu, gpu, link, 4), adds),
            "three arrays are moved",
        ),
        "numbers": (both(lambda cpu, gpu, link: size(cpu, gpu, link, 1.5), adds), "four bytes"),
        "n³": (both(lambda cpu, gpu, link: size(cpu, gpu, link, 12), adds), "as many additions"),
        "no time there": (both(lambda cpu, gpu, link: 6 * cpu / link, adds), "1/gpu is missing"),
        "always": (
            both(size, lambda cpu, gpu, link: gpu > cpu),
            "the transfer may cost more than the work",
        ),
        "never": (both(size, lambda cpu, gpu, link: False), ""),
        "no time there, in an addition": (
            both(size, lambda cpu, gpu, link: 1 / cpu > 12 / link),
            "add 1/gpu to the transfer",
        ),
    },
    "finished": {
        "one job at the end": (
            one(
                lambda count, launch, run, wait_each: (
                    count * (launch + run) if wait_each else count * launch + run
                )
            ),
            "still has a queue",
        ),
        "exchanged": (
            one(
                lambda count, launch, run, wait_each: (
                    min(launch, run) + count * max(launch, run)
                    if wait_each
                    else count * (launch + run)
                )
            ),
            "the other way round",
        ),
        "waiting with overlap": (
            one(
                lambda count, launch, run, wait_each: (
                    count * max(launch, run) + (0 if wait_each else min(launch, run))
                )
            ),
            "when the one before is done",
        ),
        "the stopwatch": (
            one(lambda count, launch, run, wait_each: count * (launch + run * wait_each)),
            "explains the cases of “wait at the end”",
        ),
        "launches": (
            one(lambda count, launch, run, wait_each: count * launch),
            "launched the last job",
        ),
        "nothing overlaps": (
            one(lambda count, launch, run, wait_each: count * (launch + run)),
            "while the device works",
        ),
        "runs": (
            one(lambda count, launch, run, wait_each: count * run),
            "before the device can begin",
        ),
        "device slower": (
            one(
                lambda count, launch, run, wait_each: (
                    count * (launch + run) if wait_each else launch + count * run
                )
            ),
            "the device waits for the host",
        ),
        "the pace": (
            one(
                lambda count, launch, run, wait_each: (
                    count * (launch + run) if wait_each else count * max(launch, run)
                )
            ),
            "the other one counts once",
        ),
        "as without waiting": (
            one(lambda count, launch, run, wait_each: ends(count, launch, run, False)),
            "",
        ),
    },
}

# ------------------------------------------------------------------------------------------ the zoo

PART = {letter: part.__name__ for letter, part in zoo.ANIMALS.items()}
BUG = {
    "pull_mul": "operand",
    "accumulate": "fan-out",
    "pull_add": "broadcast",
    "order": "order",
    "pull_sub": "sign",
    "start": "stale",
}
MENDS = {
    "pull_mul": [
        lambda g, a, b: (g * b, g * a),
        lambda g, a, b: (zoo.summed_to(b, a.shape), zoo.summed_to(a, b.shape)),
        lambda g, a, b: (zoo.summed_to(g * b, a.shape), zoo.summed_to(g * b, b.shape)),
        lambda g, a, b: (zoo.summed_to(g * b, a.shape), 0 * b),
        lambda g, a, b: (g, g),
        lambda g, a, b: (zoo.summed_to(-g * b, a.shape), zoo.summed_to(g * a, b.shape)),
    ],
    "accumulate": [
        lambda node, part: setattr(node, "grad", part if node.grad is None else node.grad),
        lambda node, part: setattr(node, "grad", part if node.grad is None else node.grad - part),
        lambda node, part: setattr(node, "grad", part if node.grad is None else node.grad * part),
        lambda node, part: setattr(
            node, "grad", part if node.grad is None else (node.grad + part) / 2
        ),
        lambda node, part: setattr(
            node, "grad", 2 * part if node.grad is None else node.grad + part
        ),
        lambda node, part: setattr(node, "grad", node.grad + part),
    ],
    "pull_add": [
        lambda g, a, b: (zoo.summed_to(g, a.shape), g),
        lambda g, a, b: (g, zoo.summed_to(g, b.shape)),
        lambda g, a, b: (np.full(a.shape, g.sum()), np.full(b.shape, g.sum())),
        lambda g, a, b: (zoo.summed_to(g, a.shape), -zoo.summed_to(g, b.shape)),
        lambda g, a, b: (zoo.summed_to(g * b, a.shape), zoo.summed_to(g * a, b.shape)),
        lambda g, a, b: (
            zoo.summed_to(g, a.shape),
            zoo.summed_to(g, b.shape) / max(g.size // b.size, 1),
        ),
    ],
    "order": [
        lambda output: zoo.ANIMALS["D"](output)[::-1],
        lambda output: sorted(zoo.ANIMALS["D"](output), key=lambda node: node.sequence_number),
        lambda output: sorted(zoo.ANIMALS["D"](output), key=lambda node: node.name, reverse=True),
        lambda output: [output],
        lambda output: [n for n in zoo.order(output) if n.parents],
        lambda output: zoo.order(output)[1:],
    ],
    "pull_sub": [
        lambda g, a, b: (zoo.summed_to(-g, a.shape), zoo.summed_to(g, b.shape)),
        lambda g, a, b: (zoo.summed_to(-g, a.shape), zoo.summed_to(-g, b.shape)),
        lambda g, a, b: (g, -g),
        lambda g, a, b: (zoo.summed_to(g, a.shape), 0 * b),
        lambda g, a, b: (zoo.summed_to(g, a.shape), -b),
        lambda g, a, b: (zoo.summed_to(g, a.shape), zoo.summed_to(-g, b.shape) / 2),
    ],
    "start": [
        lambda nodes: [setattr(n, "grad", None) for n in nodes if not n.parents] and None,
        lambda nodes: setattr(nodes[-1], "grad", None),
        lambda nodes: [setattr(n, "grad", np.ones_like(n.value)) for n in nodes] and None,
        lambda nodes: (
            [setattr(n, "grad", n.grad / 2) for n in nodes if n.grad is not None] and None
        ),
        lambda nodes: len(nodes),
        lambda nodes: [setattr(n, "grad", None) for n in nodes[1:-1]] and None,
    ],
}
ZOO = {
    f"bug-{letter}": {
        name: (one(name), f"t is not '{name}'") for name in NAMES if name != BUG[PART[letter]]
    }
    | {"no name": (one("a bug"), "rite one of the names")}
    for letter in zoo.ANIMALS
} | {
    f"mend-{letter}": {
        f"{PART[letter]} {i + 1}": (one(f), "") for i, f in enumerate(MENDS[PART[letter]])
    }
    | {"unchanged": (one(zoo.ANIMALS[letter]), "the broken part as it was")}
    for letter in zoo.ANIMALS
}

WRONG = NINE | TEN | ELEVEN | TWELVE | THIRTEEN | FOURTEEN | FIFTEEN | ZOO
