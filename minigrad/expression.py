"""A formula typed as text, made into a function: read this to see how to accept formulas without
accepting programs.

A formula such as ``log(x1) + x1*x2 - sin(x2)`` is parsed by Python's own parser into a syntax tree.
Every node of the tree must then be on a short list: numbers, names, ``+ - * / **``, a sign,
parentheses, and calls to the functions of `FUNCTIONS`. Whatever else the text holds, be it an
attribute, a subscript, a lambda or a string, is refused with its column marked. Only after that is
the tree compiled, as the body of a ``lambda`` whose global names are those functions and nothing
more: what is not on the list cannot be reached.

The compiled code keeps the columns of the text, so a Trace of the function lights the very
characters that each step comes from.
"""

import ast
import builtins
import difflib
import itertools
import keyword
import linecache
import math
import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, cast

from minigrad import backend, functions

__all__ = ["CONSTANTS", "FUNCTIONS", "Expression", "ExpressionError", "Function", "compile"]

MAX_CHARACTERS = 10_000
MAX_OPERATIONS = 500

ANYTHING_ELSE = "a formula holds numbers, names, + - * / **, parentheses and functions"


class Function(NamedTuple):
    """A function that a formula may call."""

    target: str
    """Its name in `minigrad.functions`."""
    arity: int
    """How many arguments it takes."""


_OF_ONE = (
    "abs acos acosh arccos arcsin arctan asin asinh atan atanh cos cosh erf exp expm1 log log10"
    " log1p log2 mean reciprocal relu sigmoid sin sinh softplus sqrt square sum tan tanh"
)
_OF_TWO = "atan2 logaddexp maximum minimum"

FUNCTIONS: dict[str, Function] = {
    **{name: Function(name, 1) for name in _OF_ONE.split()},
    **{name: Function(name, 2) for name in _OF_TWO.split()},
    "ln": Function("log", 1),  # as mathematicians write it; log is the natural logarithm, too
}
"""What a formula may call, by the name that it uses."""

CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e, "tau": math.tau}

_ONLY_THESE = "the operations are + - * / **"
_BINARY = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_SIGNS = (ast.UAdd, ast.USub)

_REFUSED_OPERATORS: dict[type[ast.operator] | type[ast.unaryop], tuple[str, str]] = {
    ast.BitXor: ("^", "write a power as **, for example x**2"),
    ast.FloorDiv: ("//", "it has no useful derivative; divide with /"),
    ast.Mod: ("%", _ONLY_THESE),
    ast.MatMult: ("@", _ONLY_THESE),
    ast.BitAnd: ("&", _ONLY_THESE),
    ast.BitOr: ("|", "write an absolute value as abs(x)"),
    ast.LShift: ("<<", _ONLY_THESE),
    ast.RShift: (">>", _ONLY_THESE),
    ast.Invert: ("~", _ONLY_THESE),
    ast.Not: ("not", _ONLY_THESE),
}

_SUM = "write the terms out, or give an array and use sum(x)"
_NUMBERS = "a formula holds numbers and names only"
_PARENTHESES = "group with parentheses ( )"

_REFUSED_NODES: dict[type[ast.expr], tuple[str, str]] = {
    ast.Attribute: (
        "a dot after a name",
        "call the functions by their bare names: log(x), not np.log(x)",
    ),
    ast.Subscript: (
        "an index in brackets",
        "give each number a name of its own, such as x1 and x2",
    ),
    ast.Lambda: ("a lambda", "write the formula itself, without lambda"),
    ast.ListComp: ("a comprehension", _SUM),
    ast.SetComp: ("a comprehension", _SUM),
    ast.DictComp: ("a comprehension", _SUM),
    ast.GeneratorExp: ("a comprehension", _SUM),
    ast.Compare: (
        "a comparison",
        "a formula computes a number; for the larger of two write maximum(a, b)",
    ),
    ast.BoolOp: ("and / or", "a formula computes a number"),
    ast.IfExp: ("an if", "a formula has no branches; maximum, relu and abs may do what you need"),
    ast.JoinedStr: ("a string", _NUMBERS),
    ast.List: ("a list", "give the array as a value: x=[1,2,3]"),
    ast.Tuple: ("a comma", "a formula has one result; write decimals with a point, 0.5"),
    ast.Set: ("braces", _PARENTHESES),
    ast.Dict: ("braces", _PARENTHESES),
    ast.Starred: ("a star before a name", "write the arguments one by one"),
    ast.NamedExpr: (":=", "write the formula alone; names get their values after it, as x=2"),
    ast.Await: ("await", ANYTHING_ELSE),
    ast.Yield: ("yield", ANYTHING_ELSE),
    ast.YieldFrom: ("yield", ANYTHING_ELSE),
}

# What people type from the page of a book, and what to type instead.
_TYPOGRAPHY = {
    "·": "write multiplication as *",
    "×": "write multiplication as *",
    "⋅": "write multiplication as *",
    "÷": "write division as /",
    "−": "write minus as the - of the keyboard",
    "–": "write minus as the - of the keyboard",
    "√": "write a square root as sqrt(x)",
    "²": "write a power as x**2",
    "³": "write a power as x**3",
    "|": "write an absolute value as abs(x)",
    "=": "write only the right-hand side; names get their values after it, as x=2",
}

_numbers = itertools.count(1)
_TO_TENSOR = "<float64>"  # no identifier, so that no formula can spell it


class ExpressionError(ValueError):
    """A text that is not a formula, or not one that is allowed here.

    `str(error)` is three or four lines: what is wrong, the text, a caret under the place, and what
    to do. `column` counts characters from 0.
    """

    def __init__(
        self, problem: str, text: str, column: int, hint: str = "", width: int = 1
    ) -> None:
        self.problem, self.text, self.column, self.hint, self.width = (
            problem,
            text,
            column,
            hint,
            width,
        )
        super().__init__(problem + mark(text, column, width) + (f"\nhint: {hint}" if hint else ""))


def mark(text: str, column: int, width: int = 1) -> str:
    """The text on a line of its own and carets under `width` characters from `column`; a long
    text is cut around that place.
    """
    first = max(0, column - 60) if len(text) > 100 else 0
    shown = "".join(c if c.isprintable() else "?" for c in text[first : first + 100])
    carets = max(1, min(width, first + 100 - column))
    return f"\n  {shown}\n  {' ' * (column - first)}{'^' * carets}"


class Expression:
    """A formula as a function of tensors.

    Attributes:
        source: the text, without the blanks around it. Columns of source spans count in it.
        names: its variables in order of appearance. Calling takes one argument for each, in that
        order.

        __name__: "f"; an `Expression` looks like any other Python function to those who ask for its
        name or its code.

    Constants have full double precision; where an operation has constants alone as operands, as in
    ``log(2)``, it runs in float64.
    """

    __name__ = "f"

    def __init__(self, text: str) -> None:
        self.source = text.strip()
        tree = _parse(self.source)
        nodes = _check(tree, self.source)
        self.names = tuple(
            dict.fromkeys(
                node.id for node in nodes if isinstance(node, ast.Name) and node.id not in CONSTANTS
            )
        )
        self._function = _build(tree, nodes, self.names, self.source)
        self.__code__ = self._function.__code__  # where a tracer looks for the columns

    def __call__(self, *values: Any) -> Any:
        """The formula's value; `values` are tensors or numbers in the order of `names`."""
        if len(values) != len(self.names):
            wanted = ", ".join(self.names) or "none"
            raise TypeError(
                f"{self.source!r} takes {len(self.names)} value(s) ({wanted}), but {len(values)}"
                " were given"
            )
        return self._function(*values)

    def __repr__(self) -> str:
        return f"Expression({self.source!r})"


def compile(text: str) -> Expression:
    """The formula `text` as a callable `Expression`; raises `ExpressionError` where the text is
    anything else.
    """
    return Expression(text)


def _parse(text: str) -> ast.expr:
    if not text:
        raise ExpressionError(
            "the formula is empty", text, 0, "for example: log(x1) + x1*x2 - sin(x2)"
        )
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(
            f"the formula has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read",
            text,
            MAX_CHARACTERS,
        )
    for column, character in enumerate(text):
        if character in "\r\n\0#\\;" or "\ud800" <= character <= "\udfff":
            raise ExpressionError(
                f"unexpected character {character!a}",
                text,
                column,
                "write the formula on one line, with nothing after it",
            )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # about the text, which is judged here and not by Python
            return ast.parse(text, filename="<formula>", mode="eval").body
    except SyntaxError as error:
        raise _syntax_error(error, text) from None
    except (RecursionError, MemoryError):
        raise _too_deep(text, 0) from None


def _too_deep(text: str, column: int) -> ExpressionError:
    return ExpressionError(
        "the formula is nested too deeply to be read",
        text,
        column,
        "give parts of it as values of their own",
    )


def _syntax_error(error: SyntaxError, text: str) -> ExpressionError:
    message = error.msg.partition(". Perhaps")[0].partition("; perhaps")[0]
    column = min(max((error.offset or 1) - 1, 0), len(text))
    for place, character in enumerate(text):
        if character in _TYPOGRAPHY and (character != "|" or message == "invalid syntax"):
            return ExpressionError(
                f"{character!r} cannot be used in a formula", text, place, _TYPOGRAPHY[character]
            )
    for word in re.finditer(r"[^\W\d]\w*", text):
        if keyword.iskeyword(word[0]):
            return ExpressionError(
                f"{word[0]} cannot be used in a formula",
                text,
                word.start(),
                ANYTHING_ELSE,
                len(word[0]),
            )
    if "too many nested parentheses" in message:
        return _too_deep(text, column)
    glued = re.search(r"(?<![\w.])(\d+\.?\d*|\.\d+)([^\W\d]\w*)", text)
    if glued:
        return ExpressionError(
            "a number and a name with nothing between them",
            text,
            glued.start(2),
            f"write {glued[1]}*{glued[2]}",
        )
    called = re.search(rf"\b({'|'.join(FUNCTIONS)})\s+(\w+)", text)
    if called:
        hint = f"write {called[1]}({called[2]})"
        return ExpressionError(
            f"the argument of {called[1]} stands in parentheses", text, called.start(2), hint
        )
    spaced = re.search(r"[\w)](\s+)[\w(]", text)
    if spaced:
        return ExpressionError(
            "an operation is missing here",
            text,
            spaced.start(1),
            "multiplication is written out: a*b",
        )
    if message.startswith("Exceeds the limit"):
        return ExpressionError(
            "a number with too many digits", text, column, "write large numbers as 1e300"
        )
    if not error.offset:
        return ExpressionError("the formula ends too early", text, len(text), ANYTHING_ELSE)
    return ExpressionError(f"this is not a formula: {message}", text, column, ANYTHING_ELSE)


def _check(tree: ast.expr, text: str) -> list[ast.expr]:
    """The tree's nodes as they appear in the text, parents first; raises `ExpressionError` at
    the first one that is not allowed.
    """
    nodes: list[ast.expr] = []
    operations = 0
    waiting = [tree]  # a stack, not a recursion: the depth of a formula is its writer's choice
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        match node:
            case ast.Constant():
                _check_number(node, text)
                continue
            case ast.Name(id=name):
                if name in FUNCTIONS:
                    _refuse(
                        node,
                        text,
                        f"{name} is a function and needs its argument",
                        f"write {name}(...)",
                    )
                if name.startswith("_"):
                    _refuse(
                        node,
                        text,
                        f"{name} cannot be used in a formula",
                        "names begin with a letter",
                    )
                continue
            case ast.BinOp(left=left, op=operator, right=right):
                if not isinstance(operator, _BINARY):
                    _refuse_operator(operator, text, _end(left, text), len(text))
                waiting += [right, left]
            case ast.UnaryOp(op=sign, operand=operand):
                if not isinstance(sign, _SIGNS):
                    _refuse_operator(sign, text, _start(node, text), len(text))
                waiting.append(operand)
            case ast.Call():
                _check_call(node, text)
                waiting += reversed(node.args)
            case _:
                what, hint = _REFUSED_NODES.get(type(node), ("this", ANYTHING_ELSE))
                _refuse(node, text, f"{what} cannot be used in a formula", hint)
        operations += 1
        if operations > MAX_OPERATIONS:
            _refuse(
                node,
                text,
                f"the formula has more than {MAX_OPERATIONS} operations",
                "its trace would be too long to follow; write a Python function",
            )
    return nodes


def _check_number(node: ast.Constant, text: str) -> None:
    value = node.value
    if isinstance(value, bool) or value is None:
        _refuse(node, text, f"{value} cannot be used in a formula", "write the number 1 or 0")
    if isinstance(value, complex):
        _refuse(node, text, "complex numbers cannot be used in a formula", "write real numbers")
    if not isinstance(value, (int, float)):
        _refuse(
            node,
            text,
            f"{'...' if value is ... else 'a string'} cannot be used in a formula",
            _NUMBERS,
        )
    try:
        fits = math.isfinite(float(value))
    except OverflowError:
        fits = False
    if not fits:
        _refuse(node, text, "the number is too large", "float64 ends at about 1.8e308")


def _check_call(node: ast.Call, text: str) -> None:
    if not isinstance(node.func, ast.Name):
        if isinstance(node.func, ast.Attribute):
            _refuse(
                node.func,
                text,
                "a dot after a name cannot be used in a formula",
                *_REFUSED_NODES[ast.Attribute][1:],
            )
        _refuse(
            node.func,
            text,
            "only a function's name can stand before ( )",
            "multiplication is written out: 2*(x + 1)",
        )
    name = node.func.id
    if name not in FUNCTIONS:
        if len(name) == 1 or name in CONSTANTS:
            _refuse(
                node.func,
                text,
                f"{name} is not a function",
                f"multiplication is written out: {name}*(...)",
            )
        near = difflib.get_close_matches(name.lower(), FUNCTIONS, n=2, cutoff=0.55)
        known = "the functions are " + ", ".join(FUNCTIONS)
        _refuse(
            node.func,
            text,
            f"there is no function {name}",
            f"did you mean {' or '.join(near)}?" if near else known,
        )
    if node.keywords:
        _refuse(
            node.keywords[0],
            text,
            f"{name} takes its arguments by position",
            f"write {_example(name)}",
        )
    arity = FUNCTIONS[name].arity
    if len(node.args) != arity:
        _refuse(
            node,
            text,
            f"{name} takes {arity} argument{'s' * (arity > 1)}, not {len(node.args)}",
            f"write {_example(name)}",
        )


def _example(name: str) -> str:
    return f"{name}({', '.join('xyzuvw'[: FUNCTIONS[name].arity])})"


def _start(node: ast.expr | ast.keyword, text: str) -> int:
    # The parser counts in bytes of UTF-8, people count in characters.
    return len(text.encode()[: node.col_offset].decode())


def _end(node: ast.expr | ast.keyword, text: str) -> int:
    return len(text.encode()[: node.end_col_offset].decode())


def _refuse(node: ast.expr | ast.keyword, text: str, problem: str, hint: str) -> NoReturn:
    start = _start(node, text)
    raise ExpressionError(problem, text, start, hint, _end(node, text) - start)


def _refuse_operator(
    operator: ast.operator | ast.unaryop, text: str, first: int, last: int
) -> NoReturn:
    symbol, hint = _REFUSED_OPERATORS[type(operator)]
    raise ExpressionError(
        f"{symbol} cannot be used in a formula",
        text,
        text.index(symbol, first, last),
        hint,
        len(symbol),
    )


def _build(
    tree: ast.expr, nodes: list[ast.expr], names: tuple[str, ...], text: str
) -> Callable[..., Any]:
    """Compiles the checked tree as the body of a lambda that reaches the allowed functions and
    nothing else.
    """
    _use_float64_where_numbers_meet(nodes)
    if not names:
        tree = _float64(tree)
    parameters = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(name) for name in names],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    program = ast.Expression(ast.copy_location(ast.Lambda(parameters, tree), tree))
    filename = f"<formula {next(_numbers)}>"
    try:
        code = builtins.compile(ast.fix_missing_locations(program), filename, "eval")
    except (RecursionError, MemoryError):
        raise _too_deep(text, 0) from None
    # Tracebacks and Traces find the text of a function by its file's name; this is how notebooks
    # register their cells, too.
    linecache.cache[filename] = (len(text), None, [text], filename)
    reachable: dict[str, Any] = {
        name: getattr(functions, function.target) for name, function in FUNCTIONS.items()
    }
    reachable |= CONSTANTS | {
        "__builtins__": {},
        _TO_TENSOR: lambda number: functions.tensor(number, dtype=backend.float64),
    }
    function: Callable[..., Any] = eval(
        code, reachable
    )  # the code of the allow-listed tree, with the allow-listed names
    return function


def _use_float64_where_numbers_meet(nodes: list[ast.expr]) -> None:
    """Makes the numbers in operations on numbers alone, such as ``log(2)`` or ``1/3``, into float64
    tensors.

    An operation on a tensor and a number takes the tensor's dtype, so those numbers stay as they
    are. Numbers among themselves would be computed by Python, where a negative number to the power
    of a half is complex, or by the library in its default, single precision.
    """
    constant: dict[ast.expr, bool] = {}
    for node in reversed(nodes):  # the nodes stand parents first, so this meets operands first
        match node:
            case ast.Constant(value=value):
                node.value = float(cast(float, value))  # _check_number has seen to that
                constant[node] = True
            case ast.Name(id=name):
                constant[node] = name in CONSTANTS
            case ast.BinOp(left=left, right=right):
                constant[node] = constant[left] and constant[right]
                if constant[node]:
                    node.left, node.right = _float64(left), _float64(right)
            case ast.UnaryOp(operand=operand):
                constant[node] = constant[operand]
            case ast.Call(args=args):
                constant[node] = all(constant[argument] for argument in args)
                if constant[node]:
                    node.args = [_float64(argument) for argument in args]


def _float64(node: ast.expr) -> ast.expr:
    bare = node
    while isinstance(bare, ast.UnaryOp):
        bare = bare.operand
    if not isinstance(bare, ast.Constant | ast.Name):
        return node  # an operation on tensors is a tensor already
    call = ast.Call(ast.Name(_TO_TENSOR, ast.Load()), [node], [])
    return ast.fix_missing_locations(ast.copy_location(call, node))
