"""Wrong answers to the exercises of lessons 24, 24b and 24c, each with a phrase that the check must
say. Broken engines are made by lessons/exercises/broken_engines.py.
"""

from itertools import cycle

import numpy as np
from minigrad.lessons.exercises import own_engine
from minigrad.lessons.exercises.lesson24 import greedy

from .answers import one
from .own_engine_answers import names_of, table

# -------------------------------------------------------------------------------------- lesson 24

SLOPES = {
    "the real part": (one(lambda f, x, d: np.real(f(x + 1e-30j * d))), "value of the function"),
    "not divided": (one(lambda f, x, d: np.imag(f(x + 1e-30j * d))), "do not divide"),
    "no direction": (one(lambda f, x, d: np.imag(f(x + 1e-30j)) / 1e-30), "d is left out"),
    "the sign": (one(lambda f, x, d: -np.imag(f(x + 1e-30j * d)) / 1e-30), "sign is reversed"),
    "central": (
        one(lambda f, x, d: (f(x + 1e-5 * d) - f(x - 1e-5 * d)) / 2e-5),
        "a difference of f",
    ),
    "forward": (one(lambda f, x, d: (f(x + 1e-7 * d) - f(x)) / 1e-7), "nearly right"),
    "a large step": (one(lambda f, x, d: np.imag(f(x + 1e-3j * d)) / 1e-3), "too large"),
    "complex": (one(lambda f, x, d: f(x + 1e-30j * d) / 1e-30), "should be real"),
}

FEW = {
    "all of them": (one(lambda caught: list(range(caught.shape[1]))), "all trials"),
    "one": (one(lambda caught: [int(np.argmax(caught.sum(axis=0)))]), "and stop"),
    "one too few": (one(lambda caught: greedy(caught)[:-1]), "last trial is missing"),
    "none": (one(lambda caught: []), "choose nothing"),
    "twice": (one(lambda caught: greedy(caught) * 2), "more than once"),
    "truth values": (one(lambda caught: caught.any(axis=0)), "whole numbers"),
    "beyond": (one(lambda caught: [caught.shape[1]]), "trials 0 to"),
}


BAITS = {
    "a product alone": (one(lambda x, y: (x * y).sum()), "of the six bugs"),
    "no stretched sum": (one(lambda x, y: (x * y - (x * y + x * y)).sum()), "C, a sum"),
    "cancelled": (one(lambda x, y: (lambda p: (p - (p + y)).sum())(x * y)), "A, a product"),
    "no difference": (one(lambda x, y: (lambda p: (p + p * y).sum())(x + y)), "E, a difference"),
    "the long path first": (
        one(lambda x, y: (lambda p: (p * y - p).sum())(x + y)),
        "D, an order",
    ),
    "no number": (one(lambda x, y: x + y - x * y), "end with sum()"),
    "too many": (
        one(lambda x, y: (lambda p: (p - p * y).exp().exp().exp().sum())(x + y)),
        "operations",
    ),
    "y left out": (one(lambda x, y: x.sum()), "does not depend on y"),
    "a constant": (one(lambda x, y: (2 * x * y).sum()), "no operation of the zoo"),
}

# ------------------------------------------------------------------------------------- lesson 24b

TANH = """
def tanh(x):
    y = np.tanh(x.value)
    return Tensor(y, (x,), lambda g: (g * (1 - y * y),), "tanh")
"""
UNROLL = """
def unroll(letters, parameters):
    E, W, b, U, c = parameters
    h = Tensor(np.zeros((len(letters[0]), W.value.shape[0])))
    scores = []
    for x in letters:
        h = tanh(Tensor(x) @ E + h @ W + b)
        scores.append(h @ U + c)
    return scores
"""
STATE = "tanh(Tensor(x) @ E + h @ W + b)"
WRONG_UNROLLS = {
    "no memory": (STATE, "tanh(Tensor(x) @ E + b)", "not handed on"),
    "no tanh": (STATE, "Tensor(x) @ E + h @ W + b", "tanh is missing"),
    "memory outside": (STATE, "tanh(Tensor(x) @ E + b) + h @ W", "belongs inside"),
    "W turned": (STATE, "tanh(Tensor(x) @ E + h @ W.t() + b)", "transposed"),
    "no b": (STATE, "tanh(Tensor(x) @ E + h @ W)", "bias b is left out"),
    "no c": ("h @ U + c", "h @ U", "bias c of the scores"),
    "ones": ("np.zeros(", "np.ones(", "nothing has been read yet"),
    "from the end": (
        "    for x in letters:",
        "    for x in letters[::-1]:",
        "from the last letter",
    ),
    "the last one alone": ("return scores", "return scores[-1:]", "should be scores for"),
    "one Tensor": ("return scores", "return scores[-1]", "list of Tensors"),
    "detached": ("h @ W", "Tensor(h.value) @ W", "made of Tensors"),
    "added up": (STATE, f"h + {STATE}", "takes the place"),
}
LOSS = """
def name_loss(scores, targets, weights):
    total, count = Tensor(0.0), 0.0
    for s, target, weight in zip(scores, targets, weights):
        z = s - Tensor(s.value.max(1, keepdims=True))
        surprise = z.exp().sum(1).log() - (z * Tensor(target)).sum(1)
        total = total + (surprise * Tensor(weight)).sum()
        count = count + weight.sum()
    return total / Tensor(count)
"""
EACH = "z.exp().sum(1).log() - (z * Tensor(target)).sum(1)"
CHANCE = "((z * Tensor(target)).sum(1) - z.exp().sum(1).log()).exp()"
WRONG_LOSSES = {
    "the sum": ("total / Tensor(count)", "total", "should be the mean"),
    "the blanks too": ("weight.sum()", "len(weight)", "does not count"),
    "no weights": ("surprise * Tensor(weight)", "surprise", "behind the end"),
    "the sign": (EACH, "(z * Tensor(target)).sum(1) - z.exp().sum(1).log()", "sign is reversed"),
    "no logarithm": (EACH, CHANCE, "average probabilities"),
    "one minus": (EACH, f"Tensor(1.0) - {CHANCE}", "1 minus the probability"),
    "the score alone": (EACH, "Tensor(0.0) - (s * Tensor(target)).sum(1)", "sum over all letters"),
    "overflow": ("s - Tensor(s.value.max(1, keepdims=True))", "s", "overflows"),
    "one maximum for all": ("s.value.max(1, keepdims=True)", "s.value.max()", "its own largest"),
    "the logarithm of p": (
        EACH,
        "Tensor(0.0) - ((z.exp() / (z.exp() @ Tensor(np.ones((4, 1))))).log()"
        " * Tensor(target)).sum(1)",
        "logarithm of 0",
    ),
    "detached": ("s - Tensor", "Tensor(s.value) - Tensor", "slope by the scores"),
    "a float": ("total / Tensor(count)", "float(total.value) / count", "Tensor"),
}

PICKS = {
    "the likeliest": (one(lambda p, u: int(np.argmax(p))), "always take the likeliest"),
    "all alike": (one(lambda p, u: int(u * len(p))), "equally often"),
    "one too far": (
        one(lambda p, u: min(int(np.searchsorted(np.cumsum(p), u, "right")) + 1, len(p) - 1)),
        "behind the right one",
    ),
    "one too early": (
        one(lambda p, u: max(int(np.searchsorted(np.cumsum(p), u, "right")) - 1, 0)),
        "before the right one",
    ),
    "the first large enough": (one(lambda p, u: int(np.argmax(p >= u))), "sums that divide"),
    "squared": (
        one(lambda p, u: int(np.searchsorted(np.cumsum(p**2) / np.sum(p**2), u, "right"))),
        "squared before",
    ),
    "u = 0": (one(lambda p, u: int(np.argmax(np.cumsum(p) >= u))), "once, for u = 0"),
    "a float": (one(lambda p, u: float(np.argmax(p))), "number of a letter"),
    "beyond": (one(lambda p, u: len(p)), "there are letters"),
}


def network(hidden=4, kinds=22, size=0.0):
    shapes = ((kinds, hidden), (hidden, hidden), (hidden,), (hidden, kinds), (kinds,))
    return [np.full(shape, size) for shape in shapes]


TRAINED = {
    "nothing learned": (one(network()), "knows the letter before"),
    "the wrong letters": (one(network(kinds=21)), "has the shape"),
    "four arrays": (one(network()[:4]), "five arrays"),
    "not finite": (one(network(size=np.nan)), "no finite number"),
    "lists": (one([a.tolist() for a in network()]), "hold arrays"),
    "too wide": (one(network(hidden=300)), "256 hidden units"),
}

# ------------------------------------------------------------------------------------- lesson 24c

LENS = """
def residuals(numbers):
    a, b, c = numbers
    R = np.linspace(-2, 2, 101)
    r, r2, r4, r6 = Tensor(R), Tensor(R**2), Tensor(R**4), Tensor(R**6)
    s = a * r2 + b * r4 + c * r6
    u = Tensor(2 * R) * a + Tensor(4 * R**3) * b + Tensor(6 * R**5) * c
    D = (Tensor(1.0) + u * u - Tensor(2.25) * u * u).pow(0.5)
    down = (Tensor(5.0) + s) * u * (Tensor(1.5) - D) / (D + Tensor(1.5) * u * u)
    return (r - down) / Tensor(101**0.5)


choice = "lens"
"""
WRONG_LENSES = {
    "no mean": (" / Tensor(101**0.5)", "", "division by √101"),
    "up": ("(r - down)", "(r + down)", "referee finds"),
    "another glass": ("Tensor(2.25)", "Tensor(2.0)", "referee finds"),
    "detached": ("(Tensor(5.0) + s) * u", "(Tensor(5.0) + s) * Tensor(u.value)", "slopes of lens"),
    "an array": (
        "return (r - down) / Tensor(101**0.5)",
        "return (r - down).value",
        "give a Tensor",
    ),
    "no such project": ('choice = "lens"', 'choice = "lense"', "should be one of"),
}
GOOD_LENS = [0.19876666, -0.00862394, 0.00040595]
GOOD_PUTT = [1.9956165, 2.2642836]


def numbers(name, found, choice="lens", program=LENS):
    """An answer to the exercise on the numbers, with a program and its choice."""
    return {"name": name, "numbers": found}, names_of(program)["residuals"], choice


def preferred(name, found):
    """The numbers of any project, with a program whose residuals are less there than at the start:
    it is called for the numbers first.
    """
    residuals = cycle([1.0, 2.0])
    return {"name": name, "numbers": found}, lambda given: own_engine.Tensor(next(residuals)), name


NUMBERS = {
    "the start": (numbers("lens", [0.2, 0.0, 0.0]), "no better than those to start with"),
    "another project": (numbers("golf", GOOD_PUTT), "program is for another project"),
    "a poor lens": (numbers("lens", [0.2, -0.004, 0.0]), "referee finds"),
    "good, not fine": (numbers("lens", [0.1988, -0.0085, 0.00038]), "passes"),
    "two numbers": (numbers("lens", GOOD_LENS[:2]), "lens has 3"),
    "no project": (numbers("lense", GOOD_LENS, "lense"), "no project"),
    "no name": (({"numbers": GOOD_LENS}, *numbers("", [])[1:]), "should be"),
    "texts": (numbers("lens", ["a", "b", "c"]), "list of numbers"),
    "not finite": (numbers("lens", [1.0, float("nan"), 0.0]), "finite"),
    "too fast": (preferred("golf", [40.0, 30.0]), "faster than"),
    "half a disc": (preferred("renderer", [5.0] * 9), "six belong to each"),
    "no time": (preferred("orbit", [0.3, 0.5, 0.0]), "T is 0, and not between 3 and 20"),
    "a collision": (preferred("orbit", [0.0, 0.0, 6.0]), "bodies come nearer"),
}

WRONG = {
    "slope": SLOPES,
    "fewest": FEW,
    "bait": BAITS,
    "unroll": table(UNROLL, ("unroll",), WRONG_UNROLLS, TANH),
    "name_loss": table(LOSS, ("name_loss",), WRONG_LOSSES),
    "pick": PICKS,
    "trained": TRAINED,
    "program": table(LENS, ("residuals", "choice"), WRONG_LENSES),
    "project": NUMBERS,
}
