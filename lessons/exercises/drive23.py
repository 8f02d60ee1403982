"""What runs on the student's side in lesson 23: operations that record themselves, and values
that compute with their own kind alone. It knows no answers.

A drive gets (answers, call, *arguments), as told in lessons/grading/harness.py, and returns plain
values.
"""

import operator

FORWARD = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
}
PULLS = {
    "add": lambda g, a, b: (g, g),
    "sub": lambda g, a, b: (g, -g),
    "mul": lambda g, a, b: (g * b, g * a),
    "div": lambda g, a, b: (g / b, -(g * a / (b * b))),
    "neg": lambda g, a: (-g,),
}
"""The operations of the lesson, and the pull rule of each."""


class Traced:
    """The lesson's own: a name, a value, and the program in which operations are recorded."""

    def __init__(self, name, value, program):
        self.name, self.value, self.program = name, value, program


class Sealed:
    """A number that computes with its own kind alone, as a traced value does."""

    def __init__(self, value):
        self.value = value


def _sealed(operation):
    def apply(*operands):
        for operand in operands:
            if not isinstance(operand, Sealed):
                raise TypeError(
                    f"a traced value met the plain number {operand!r}. Traced values compute with"
                    " each other only, so no adjoint may begin with a number of your own"
                )
        return Sealed(operation(*(operand.value for operand in operands)))

    return apply


for _op, _method in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("div", "truediv")):
    setattr(Sealed, f"__{_method}__", _sealed(FORWARD[_op]))
    setattr(Sealed, f"__r{_method}__", _sealed(FORWARD[_op]))
Sealed.__neg__ = _sealed(operator.neg)


def _plain(part):
    """A row, or a part of one, as it is sent."""
    if isinstance(part, tuple | list):
        return [_plain(one) for one in part]
    if isinstance(part, str | int | float):
        return part
    raise TypeError(
        f"a row of the program holds a {type(part).__name__}; it should hold names alone"
    )


def recorded(answers, call, inputs, rows):
    """Rows, computed by operations that function(op, forward) made: the program that this leaves,
    and name and value of the last result.
    """
    scope = getattr(answers[call], "__globals__", {})
    kind, program, operations = scope.setdefault("Traced", Traced), [], {}
    for op, forward in FORWARD.items():
        operations[op] = answers[call](op, forward)
        if not callable(operations[op]):
            return None
    nodes = {name: kind(name, value, program) for name, value in inputs.items()}
    for row, op, operands in rows:
        result = operations[op](*(nodes[o] for o in operands))
        if not all(hasattr(result, part) for part in ("name", "value", "program")):
            raise TypeError(f"the operation {op} gave a {type(result).__name__}, not a Traced")
        nodes[row] = result
    last = nodes[rows[-1][0]]
    return {"program": _plain(program), "name": last.name, "value": last.value}


def pulled(answers, call, program, values, g, sealed):
    """function(program, values, g, pulls): the adjoints of the inputs; 0 where there is none."""
    kind = Sealed if sealed else float
    rows = [(name, op, tuple(operands)) for name, op, operands in program]
    given = {name: kind(value) for name, value in values.items()}
    found = answers[call](rows, given, kind(g), dict(PULLS))
    if not isinstance(found, dict):
        return found
    made = {name for name, _, _ in rows}
    sent = {name: found.get(name, kind(0.0)) for name in values if name not in made}
    if sealed and not all(isinstance(one, Sealed) for one in sent.values()):
        raise TypeError("an adjoint is a plain number where the values are traced")
    return {name: one.value if sealed else one for name, one in sent.items()}
