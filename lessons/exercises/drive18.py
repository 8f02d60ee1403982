"""What lesson 18 hands to the student's side: steps of conjugate gradients, a Newton direction from
products that are counted. It knows no answers.
"""

import numpy as np


def walked(answers, call, matrix, b, steps):
    """So many times function(x, r, d, Ad), from x = 0 and r = d = b, which are one array as in the
    lesson: x, r and d after each step.
    """
    x, r = np.zeros(b.shape), np.array(b)
    d, found = r, {"x": [], "r": [], "d": []}
    for _ in range(steps):
        given = answers[call](x, r, d, matrix @ d)
        if given is None or given is ...:
            return given
        if not isinstance(given, tuple | list) or len(given) != 3:
            raise TypeError(f"`{call}` should return three arrays: x, r, d")
        x, r, d = given
        for name, one in zip(found, given, strict=True):
            found[name].append(np.array(one, dtype=float))
    return found


def directed(answers, call, matrix, gradient, tolerance):
    """function(product, gradient, tolerance): what it returned, and how many products with the
    matrix it asked for.
    """
    asked, most = [], 10 * gradient.size + 10

    def product(v):
        asked.append(1)
        if len(asked) > most:
            size = f"{gradient.size} × {gradient.size}"
            raise RuntimeError(
                f"it asks for {most} products with a {size} matrix and does not stop"
            )
        return matrix @ v

    found = answers[call](product, np.array(gradient), tolerance)
    if found is None or found is ...:
        return found
    p = np.array(found, dtype=float)
    if not np.all(np.isfinite(p)):
        raise ArithmeticError("p holds NaN or infinity: is d·Hd ≤ 0 ruled out before each step?")
    return {"p": p, "products": len(asked)}
