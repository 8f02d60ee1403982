"""What runs on the student's side in lesson 24: functions of complex numbers, and a program that is
written down while it runs.

A drive gets (answers, call, *arguments), as told in lessons/grading/harness.py, and returns plain
values. It knows no answers.
"""

import numpy as np

FUNCTIONS = {
    "x³": lambda x, m: x * x * x,
    "exp(x) / (1 + x²)": lambda x, m: m.exp(x) / (1 + x * x),
    "sin(x²)": lambda x, m: m.sin(x * x),
    "the logarithm of a sum": lambda x, m: m.log(m.exp(x).sum()),
    "a product of neighbours": lambda x, m: (x[1:] * x[:-1]).sum() * x[0],
}
"""Functions of x and the module that has exp, sin and log: NumPy, or minigrad."""


def complex_slope(answers, call, name, x, d):
    """slope(f, x, d), f being one of FUNCTIONS, for real and for complex arrays."""
    found = answers[call](lambda v: FUNCTIONS[name](np.asarray(v), np), np.array(x), np.array(d))
    if found is None or found is ...:
        return found
    found = np.asarray(found)
    if np.iscomplexobj(found):
        raise TypeError("the slope should be real; np.imag(…) gives a real number or array")
    return found


class Written:
    """A value, and the program that made it: rows (name, operation, operands)."""

    def __init__(self, value, rows, name):
        self.value, self.rows, self.name = value, rows, name

    def _made(self, op, value, *others):
        name = f"v{len(self.rows) + 1}"
        self.rows.append([name, op, [self.name, *(o.name for o in others)]])
        return Written(value, self.rows, name)

    def _with(self, op, other, value):
        if not isinstance(other, Written):
            raise TypeError(
                f"an object of the type {type(other).__name__} cannot stand in this program: use x,"
                " y, and what is made of them"
            )
        return self._made(op, value(self.value, other.value), other)

    def __add__(self, other):
        return self._with("add", other, np.add)

    def __sub__(self, other):
        return self._with("sub", other, np.subtract)

    def __mul__(self, other):
        return self._with("mul", other, np.multiply)

    def exp(self):
        """e to the power of each element."""
        return self._made("exp", np.exp(self.value))

    def sum(self):
        """The sum of all elements."""
        return self._made("sum", np.sum(self.value))

    def __getattr__(self, name):
        if name.startswith("__"):  # NumPy and minigrad ask for __array__
            raise TypeError("functions of NumPy or minigrad do not work here: write u.exp()")
        raise TypeError(f"`{name}` is no operation of the zoo; it has + - * exp() and sum()")

    def _unknown(self, *others):
        raise TypeError("that is no operation of the zoo; it has + - * exp() and sum()")

    __matmul__ = __truediv__ = __pow__ = __neg__ = __radd__ = __rmul__ = __rsub__ = _unknown


def recorded(answers, call, x, y):
    """bait(x, y) as rows, the last one its result; what it does not need is left out."""
    rows = []
    result = answers[call](Written(np.array(x), rows, "x"), Written(np.array(y), rows, "y"))
    if result is None or result is ...:
        return result
    if not isinstance(result, Written) or not rows:
        return {"rows": [], "shape": [], "problem": "there is no operation in this program."}
    needed, kept = {result.name}, []
    for row in reversed(rows):
        if row[0] in needed:
            needed.update(row[2])
            kept.append(row)
    shape = [int(n) for n in np.shape(result.value)]
    unused = [name for name in ("x", "y") if name not in needed]
    problem = f"the result does not depend on {unused[0]}." if unused else ""
    return {"rows": kept[::-1], "shape": shape, "problem": problem}
