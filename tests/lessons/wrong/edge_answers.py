"""Wrong answers to the exercises of lesson 22, each with a phrase that the check must say."""

import numpy as np

from .answers import one
from .own_engine_answers import table

# ------------------------------------------------------------------------------- the score function

ONE, TWO = (lambda f, z, s: f * z / s), (lambda f, z, s: f * (z**2 - 1) / s)


def terms(by_theta=ONE, by_sigma=TWO):
    return one(lambda values, z, sigma: (by_theta(values, z, sigma), by_sigma(values, z, sigma)))


SCORES = {
    "no one": (terms(by_sigma=lambda f, z, s: f * z**2 / s), "−1 is missing"),
    "the one alone": (terms(by_sigma=lambda f, z, s: f * (z**2 / s - 1)), "not divided by σ"),
    "divided twice": (terms(lambda f, z, s: f * z / s**2), "once too often"),
    "no sigma": (
        terms(lambda f, z, s: f * z, lambda f, z, s: f * (z**2 - 1)),
        "σ is missing",
    ),
    "a minus": (
        terms(lambda f, z, s: -f * z / s, lambda f, z, s: f * (1 - z**2) / s),
        "sign is reversed",
    ),
    "no f": (terms(lambda f, z, s: z / s, lambda f, z, s: (z**2 - 1) / s), "scores alone"),
    "swapped": (terms(TWO, ONE), "θ comes first"),
    "density": (
        terms(
            lambda f, z, s: ONE(f, z, s) * np.exp(-(z**2) / 2) / (s * np.sqrt(2 * np.pi)),
            lambda f, z, s: TWO(f, z, s) * np.exp(-(z**2) / 2) / (s * np.sqrt(2 * np.pi)),
        ),
        "the density as well",
    ),
    "averaged": (terms(lambda f, z, s: np.mean(f * z / s)), "shape"),
    "theta alone": (one(lambda f, z, s: f * z / s), "2 arrays"),
}

# ------------------------------------------------------------------------------------- the baseline


def others(f):
    return (f.sum() - f) / (len(f) - 1)


BASELINES = {
    "the mean of all": (one(lambda f, s: (f - f.mean()) * s), "contains the value itself"),
    "no baseline": (one(lambda f, s: f * s), "subtract nothing"),
    "divided by n": (one(lambda f, s: (f - (f.sum() - f) / len(f)) * s), "n − 1 others"),
    "the sum": (one(lambda f, s: (2 * f - f.sum()) * s), "others instead of their mean"),
    "a minus": (one(lambda f, s: (others(f) - f) * s), "sign is reversed"),
    "no score": (one(lambda f, s: f - others(f)), "scores are missing"),
    "a baseline of terms": (one(lambda f, s: f * s - others(f * s)), "other *terms*"),
    "the neighbour": (one(lambda f, s: (f - np.roll(f, 1)) * s), "one other draw"),
    "averaged": (one(lambda f, s: np.mean((f - others(f)) * s)), "return"),
}

# ------------------------------------------------------------------------------------ edge, painter

COVER = """
def cover(d, width):
    return Tensor(1.0) / (Tensor(1.0) + (d / Tensor(width)).exp())
"""
RIGHT = "return Tensor(1.0) / (Tensor(1.0) + (d / Tensor(width)).exp())"
WRONG_COVERS = {
    "outside": ("(d / Tensor(width))", "(Tensor(-1 / width) * d)", "outside of it"),
    "no width": ("(d / Tensor(width))", "d", "width is missing"),
    "times the width": ("(d / Tensor(width))", "(d * Tensor(width))", "becomes sharper"),
    "half the width": ("Tensor(width)", "Tensor(width / 2)", "half as wide"),
    "hard": (RIGHT, "return Tensor(1.0 * (d.value < 0))", "edge is hard"),
    "detached": ("(d /", "(Tensor(d.value) /", "no adjoint gets to"),
    "no one": ("(Tensor(1.0) + (d / Tensor(width)).exp())", "(d / Tensor(width)).exp()",
        "denominator"),
    "a bell": (RIGHT, """c = Tensor(1.0) / (Tensor(1.0) + (d / Tensor(width)).exp())
    return c * (Tensor(1.0) - c) / Tensor(width)""", "not the density"),
    "a ramp": (RIGHT, """ramp = relu(Tensor(0.5) - d / Tensor(4 * width))
    return ramp - relu(ramp - Tensor(1.0))""", "straight ramp"),
    "an array": (RIGHT, "return 1 / (1 + np.exp(d.value / width))", "Tensor"),
}  # fmt: skip
PAINT = """
def paint(canvas, covers, colours):
    seen = canvas
    for c, colour in zip(covers, colours):
        seen = seen * (Tensor(1.0) - c) + c * colour
    return seen
"""
RULE = "seen * (Tensor(1.0) - c) + c * colour"
WRONG_PAINTS = {
    "from the top": ("zip(covers, colours)", "zip(covers[::-1], colours[::-1])", "at the bottom"),
    "nothing hidden": (RULE, "seen + c * colour", "hide nothing"),
    "the whole colour": (RULE, "seen * (Tensor(1.0) - c) + colour", "whole colour"),
    "turned round": (RULE, "seen * c + (Tensor(1.0) - c) * colour", "exchanged"),
    "the canvas each time": (RULE, "canvas * (Tensor(1.0) - c) + c * colour", "last one is left"),
    "no colour": (RULE, "seen * (Tensor(1.0) - c) + c", "colours are missing"),
    "half and half": (RULE, "Tensor(0.5) * (seen + c * colour)", "mean of a disc"),
    "hidden twice": (RULE, "seen * (Tensor(1.0) - c).pow(2) + c * colour", "twice"),
    "detached": ("(Tensor(1.0) - c)", "Tensor(1 - c.value)", "no adjoint passes"),
    "the first disc": ("return seen", "    return seen", "inside the loop"),
}

WRONG = {
    "score_terms": SCORES,
    "with_baseline": BASELINES,
    "cover": table(COVER, ("cover",), WRONG_COVERS),
    "paint": table(PAINT, ("paint",), WRONG_PAINTS),
}
