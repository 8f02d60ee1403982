"""Wrong answers to the exercises of lesson 23, each with a phrase that the check must say."""

import ast

from minigrad.lessons.exercises.drive23 import Traced

from .own_engine_answers import changed


def table(source, name, rows, **more):
    """The rows {what: (old, new, says)} as a table of wrong answers."""
    made = {}
    for what, (old, new, says) in rows.items():
        scope = dict(more)
        exec(compile(changed(source, old, new), "<cell>", "exec"), scope)
        made[what] = ((scope[name],), says)
    return made


TRACED = """
def traced(op, forward):
    def apply(*operands):
        program = operands[0].program
        name = f"v{len(program) + 1}"
        program.append((name, op, tuple(o.name for o in operands)))
        return Traced(name, forward(*(o.value for o in operands)), program)

    return apply
"""
ROW = "program.append((name, op, tuple(o.name for o in operands)))"
WRONG_TRACED = {
    "values in the rows": ("tuple(o.name for", "tuple(o.value for", "not values"),
    "objects in the rows": ("tuple(o.name for o in operands)", "operands", "names alone"),
    "no row": (ROW, "pass", "no row was appended"),
    "one name for all": ('f"v{len(program) + 1}"', '"v1"', "so is something before it"),
    "another name": ("Traced(name,", 'Traced(f"v{len(program) + 1}",', "and the Traced"),
    "turned round": ("for o in operands)))", "for o in operands[::-1])))", "in the wrong order"),
    "the first operand twice": (
        "tuple(o.name for o in operands)",
        "(operands[0].name,) * len(operands)",
        "the first operand twice",
    ),
    "not computed": (
        "forward(*(o.value for o in operands))",
        "operands[0].value",
        "value of its first operand",
    ),
    "the function for its name": (
        "(name, op, tuple",
        "(name, forward.__name__, tuple",
        "there are",
    ),
    "a number": (
        "return Traced(name, forward(*(o.value for o in operands)), program)",
        "return forward(*(o.value for o in operands))",
        "not a Traced",
    ),
}

PULL_ROWS = """
def pull_rows(program, values, g, pulls):
    adjoint = {program[-1][0]: g}
    for name, op, operands in reversed(program):
        if name in adjoint:
            parts = pulls[op](adjoint[name], *(values[o] for o in operands))
            for o, part in zip(operands, parts):
                adjoint[o] = adjoint[o] + part if o in adjoint else part
    return adjoint
"""
SUM = "adjoint[o] = adjoint[o] + part if o in adjoint else part"
WRONG_PULLS = {
    "from the first row": ("reversed(program)", "program", "from the first to the last"),
    "overwritten": (SUM, "adjoint[o] = part", "overwrites the first"),
    "one for each operand": (
        "zip(operands, parts)",
        "dict(zip(operands, parts)).items()",
        "only one contribution",
    ),
    "no g": ("{program[-1][0]: g}", "{program[-1][0]: 1.0}", "begin with 1"),
    "begun with zeros": (SUM, "adjoint[o] = adjoint.get(o, 0.0) + part", "met the plain number 0"),
    "a row without a use": ("        if name in adjoint:", "        if True:", "KeyError"),
    "the first operand alone": (
        "zip(operands, parts)",
        "zip(operands[:1], parts)",
        "only the first",
    ),
    "subtracted": ("adjoint[o] + part", "adjoint[o] - part", "are subtracted"),
    "a list": ("return adjoint", "return list(adjoint.values())", "a dictionary"),
}

ROWS_OF = """
def rows_of(text, named):
    program = []

    def place(node):
        if isinstance(node, ast.Name):
            return node.id
        parts = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
        operands = tuple(place(part) for part in parts)
        name = f"v{len(program) + 1}"
        program.append((name, named[type(node.op).__name__], operands))
        return name

    place(ast.parse(text, mode="eval").body)
    return program
"""
PLACED = """        operands = tuple(place(part) for part in parts)
        name = f"v{len(program) + 1}"
"""
EARLY = """        name = f"v{len(program) + 1}"
        operands = tuple(place(part) for part in parts)
"""
BOTH = "[node.left, node.right]"
WRONG_ROWS = {
    "the name too early": (PLACED, EARLY, "so is something before it"),
    "the row too early": (
        PLACED + "        program.append((name, named[type(node.op).__name__], operands))\n",
        """        name = f"v{len(program) + 1}"
        program.append(None)
        i = len(program) - 1
        operands = tuple(place(part) for part in parts)
        program[i] = (name, named[type(node.op).__name__], operands)
""",
        "nor has a row before it",
    ),
    "turned round": (BOTH, "[node.right, node.left]", "the left one comes first"),
    "the left operand twice": (BOTH, "[node.left, node.left]", "both operands are the left one"),
    "products for quotients": (
        "named[type(node.op).__name__]",
        'named["Mult" if isinstance(node.op, ast.Div) else type(node.op).__name__]',
        "became products",
    ),
    "sums for differences": (
        "named[type(node.op).__name__]",
        'named["Add" if isinstance(node.op, ast.Sub) else type(node.op).__name__]',
        "became sums",
    ),
    "no minus": (
        "        parts = [node.operand] if isinstance(node, ast.UnaryOp) else",
        "        if isinstance(node, ast.UnaryOp):\n            return place(node.operand)\n"
        "        parts =",
        "and 0 rows",
    ),
    "Python's names": ("named[type(node.op).__name__]", "type(node.op).__name__", "there are"),
    "turned round in the row": (
        "program.append((name, named[type(node.op).__name__], operands))",
        "program.append((name, named[type(node.op).__name__], operands[::-1]))",
        "in the wrong order",
    ),
    "no parentheses": ("ast.parse(text,", 'ast.parse(text.replace("(", "").replace(")", ""),',
        "parentheses are ignored"),
    "the last name": (
        """    place(ast.parse(text, mode="eval").body)
    return program""",
        """    return place(ast.parse(text, mode="eval").body)""",
        "a list of rows",
    ),
}  # fmt: skip

REVERSE = """
def oven_reverse(power, loss, limit, steps):
    t, stack = power, []
    for _ in range(steps):
        stack.append(t)
        t = t - loss * t
        heated = t < limit
        stack.append(heated)
        if heated:
            t = t + power
    t_bar, power_bar, loss_bar = 1.0, 0.0, 0.0
    for _ in range(steps):
        if stack.pop():
            power_bar += t_bar
        before = stack.pop()
        loss_bar -= t_bar * before
        t_bar -= loss * t_bar
    power_bar += t_bar
    return t, power_bar, loss_bar
"""
BACK = """        loss_bar -= t_bar * before
        t_bar -= loss * t_bar
"""
LATE = """        t_bar -= loss * t_bar
        loss_bar -= t_bar * before
"""
WRONG_REVERSES = {
    "decided again": (
        "        if stack.pop():",
        "        stack.pop()\n        if t < limit:",
        "decide again",
    ),
    "in the wrong order": (
        """        if stack.pop():
            power_bar += t_bar
        before = stack.pop()""",
        """        if stack[2 * _ + 1]:
            power_bar += t_bar
        before = stack[2 * (steps - _) - 2]""",
        "in which they were taken",
    ),
    "always heated": (
        "        if stack.pop():",
        "        if stack.pop() or True:",
        "where there was no heating",
    ),
    "the start": ("    power_bar += t_bar\n    return", "    return", "`t = power`, is missing"),
    "the start alone": (
        "            power_bar += t_bar\n",
        "            pass\n",
        "gets nothing from the steps",
    ),
    "too late": (BACK, LATE, "by the factor 1 − loss"),
    "overwritten": (
        "            power_bar += t_bar",
        "            power_bar = t_bar",
        "overwritten",
    ),
    "a loss": ("t_bar -= loss * t_bar", "t_bar *= loss", "1 − loss"),
    "no loss": ("        t_bar -= loss * t_bar\n", "", "as if nothing were lost"),
    "a sign": ("loss_bar -= t_bar * before", "loss_bar += t_bar * before", "the wrong sign"),
    "after the loss": (
        "before = stack.pop()",
        "before = stack.pop() * (1 - loss)",
        "temperature before the loss",
    ),
    "the slopes alone": (
        "return t, power_bar, loss_bar",
        "return power_bar, loss_bar",
        "3 numbers",
    ),
    "popped in the order of pushing": (
        """        if stack.pop():
            power_bar += t_bar
        before = stack.pop()""",
        """        before = stack.pop()
        if stack.pop():
            power_bar += t_bar""",
        "what you take for a decision is a temperature",
    ),
}

WRONG = {
    "traced": table(TRACED, "traced", WRONG_TRACED, Traced=Traced),
    "pull_rows": table(PULL_ROWS, "pull_rows", WRONG_PULLS),
    "rows_of": table(ROWS_OF, "rows_of", WRONG_ROWS, ast=ast),
    "oven_reverse": table(REVERSE, "oven_reverse", WRONG_REVERSES),
}
