"""What lesson 2 hands to the student's side: a formula, row by row, on dual numbers of the
student's class. It knows no answers.
"""

import operator

OPERATORS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def carried(answers, call, inputs, rows):
    """Each row computed with Dual, and with sin and log where it asks for them: its name -> [value,
    tangent].

    inputs: name -> [value, tangent]; rows: [name, operation, operands], an operand being a name or
    a plain number. What is no dual number comes back as the name of its type, and ends the list;
    None where a function is not written yet.
    """
    nodes = {name: answers["Dual"](value, tangent) for name, (value, tangent) in inputs.items()}
    found = {}
    for name, op, operands in rows:
        run = OPERATORS.get(op) or answers.get(op)
        given = [nodes[o] if isinstance(o, str) else o for o in operands]
        made = run and answers.computed(run, given, op)
        if made is None:
            return None
        if not (hasattr(made, "value") and hasattr(made, "tangent")):
            return found | {name: type(made).__name__}
        nodes[name], found[name] = made, [float(made.value), float(made.tangent)]
    return found
