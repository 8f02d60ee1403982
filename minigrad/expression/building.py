"""From a checked syntax tree to a Python function that can reach the allowed functions and nothing
else."""

from __future__ import annotations

import ast
import builtins
import itertools
import linecache
import operator
from collections.abc import Callable
from typing import Any, cast

from .. import backend, functions
from ..core.observe import unobserved
from ..core.tensor import Tensor
from ..grad_mode import no_grad
from .checking import operations_in
from .grammar import BINARY, CONSTANTS, FUNCTIONS, MAX_RUN
from .refusals import refusal

_numbers = itertools.count(1)
# no identifiers, so that no formula can spell them
_TO_TENSOR, _OPERATION, _CALL, _RANGE = "<float64>", "<operation>", "<call>", "<range>"
_RUN: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "**": operator.pow,
}  # fmt: skip


def _float64_tensor(number: Any) -> Tensor:
    return functions.tensor(number, dtype=backend.float64)


class Budget:
    """The operations that one run of a program has left."""

    def __init__(self) -> None:
        self.left = MAX_RUN

    def range(self, operations: int, *given: Any) -> range:
        """`range` of a loop whose body has so many operations."""
        for value in given:
            whole = not isinstance(value, Tensor) and float(value).is_integer()
            if not whole:
                shown = "a value that was computed" if isinstance(value, Tensor) else f"{value:g}"
                raise refusal("whole", "", 0, value=shown)
        if len(given) == 3 and given[2] == 0:
            raise refusal("whole", "", 0, value="a step of 0")
        counted = range(*map(int, given))
        self.left -= max(1, operations) * len(counted)
        if self.left < 0:
            raise refusal("endless", "", 0, most=f"{MAX_RUN:,}")
        return counted


def _of_numbers(function: Callable[..., Any], *operands: Any) -> float:
    """An operation on numbers alone, in double precision: what is not finite is no error."""
    with unobserved(), no_grad(), backend.ignore_float_errors():
        return float(function(*map(_float64_tensor, operands)).item())


def _operation(sign: str, a: Any, b: Any) -> Any:
    """An operation of which it is known only now whether its operands are numbers."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return _RUN[sign](a, b)
    return _of_numbers(_RUN[sign], a, b)


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    if any(isinstance(a, Tensor) for a in arguments):
        return function(*arguments)
    return _of_numbers(function, *arguments)


def _choice(test: Any, a: Any, b: Any) -> Any:
    """`where`; what numbers alone decide is no operation."""
    if not isinstance(test, Tensor):
        return a if test else b
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        a, b = _float64_tensor(a), _float64_tensor(b)
    return functions.where(test, a, b)


class _Numbers(ast.NodeTransformer):
    """Makes the operations of a program that may meet numbers alone ask for it."""

    def __init__(self, assigned: set[str]) -> None:
        self._assigned = assigned

    def _may_be_number(self, node: ast.AST) -> bool:
        match node:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return name in self._assigned or name in CONSTANTS
            case ast.UnaryOp(operand=operand):
                return self._may_be_number(operand)
            case ast.Call(func=ast.Name(id=name)):
                return name in (_OPERATION, _CALL) or _chooses(name)
        return False

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.copy_location(ast.Constant(float(cast(float, node.value))), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        node.left, node.right = left, right
        if not (self._may_be_number(left) and self._may_be_number(right)):
            return node
        sign = ast.Constant(BINARY[type(node.op)])
        made = ast.Call(ast.Name(_OPERATION, ast.Load()), [sign, left, right], [])
        return ast.copy_location(made, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.args = [self.visit(argument) for argument in node.args]
        if _chooses(node.func) or not all(map(self._may_be_number, node.args)):
            return node
        made = ast.Call(ast.Name(_CALL, ast.Load()), [node.func, *node.args], [])
        return ast.copy_location(made, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        target = cast(ast.Name, node.target)
        read = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        return ast.copy_location(ast.Assign([target], self.visit(value)), node)

    def visit_For(self, node: ast.For) -> ast.For:
        given = cast(ast.Call, node.iter).args
        operations = ast.Constant(operations_in(node.body))
        made = ast.Call(ast.Name(_RANGE, ast.Load()), [operations, *given], [])
        node.iter = ast.copy_location(made, node.iter)
        node.body = [self.visit(statement) for statement in node.body]
        return node


def _chooses(function: ast.expr | str) -> bool:
    name = function.id if isinstance(function, ast.Name) else function
    return name in FUNCTIONS and FUNCTIONS[name].chooses


def of_formula(tree: ast.expr, names: tuple[str, ...], text: str) -> Callable[..., Any]:
    """The formula as a function of its variables."""
    _use_float64_where_numbers_meet(tree)
    body = tree if names else _float64(tree)
    return _compiled([ast.copy_location(ast.Return(body), tree)], names, text, Budget())


def of_program(
    body: list[ast.stmt], names: tuple[str, ...], assigned: set[str], text: str, budget: Budget
) -> Callable[..., Any]:
    """The program as a function of its variables; what it assigns last, or the formula at its end,
    is the result."""
    change = _Numbers(assigned)
    made = [change.visit(statement) for statement in body]
    last = made[-1]
    if isinstance(last, ast.Expr):
        made[-1] = ast.copy_location(ast.Return(last.value), last)
    else:
        target = last.targets[0]
        result = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        made.append(ast.copy_location(ast.Return(result), target))
    return _compiled(made, names, text, budget)


def _compiled(
    body: list[ast.stmt], names: tuple[str, ...], text: str, budget: Budget
) -> Callable[..., Any]:
    parameters = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(name) for name in names],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    definition = ast.FunctionDef("f", parameters, body, [])
    program = ast.Module([ast.copy_location(definition, body[0])], [])
    filename = f"<formula {next(_numbers)}>"
    try:
        code = builtins.compile(ast.fix_missing_locations(program), filename, "exec")
    except (RecursionError, MemoryError):
        raise refusal("deep", text, 0) from None
    # Tracebacks and Traces find the text of a function by its file's name; this is how notebooks
    # register their cells, too.
    lines = text.splitlines(keepends=True)
    linecache.cache[filename] = (len(text), None, lines, filename)
    reachable: dict[str, Any] = {
        name: _choice if function.chooses else getattr(functions, function.target)
        for name, function in FUNCTIONS.items()
    }
    reachable |= CONSTANTS | {
        "__builtins__": {},
        _TO_TENSOR: _float64_tensor,
        _OPERATION: _operation,
        _CALL: _call,
        _RANGE: budget.range,
    }
    found: dict[str, Any] = {}
    exec(code, reachable, found)  # the code of the checked tree, with the allowed names
    return cast(Callable[..., Any], found["f"])


def assignments(body: list[ast.stmt]) -> dict[tuple[int, int, int, int], str]:
    """By the range of lines and columns of a value, the name that it is given."""
    found = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign | ast.AugAssign):
                value = node.value if isinstance(node, ast.Assign) else node
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                ends = value.end_lineno or 0, value.col_offset, value.end_col_offset or 0
                found[value.lineno, *ends] = cast(ast.Name, target).id
    return found


def _use_float64_where_numbers_meet(tree: ast.expr) -> None:
    """Makes the numbers in operations on numbers alone, such as ``log(2)`` or ``1/3``, into float64
    tensors.

    An operation on a tensor and a number takes the tensor's dtype, so those numbers stay as they
    are. Numbers among themselves would be computed by Python, where a negative number to the power
    of a half is complex, or by the library in its default, single precision.
    """
    constant: dict[ast.expr, bool] = {}
    for node in reversed(_parents_first(tree)):  # so this meets operands first
        match node:
            case ast.Constant(value=value):
                node.value = float(cast(float, value))  # the check has seen to that
                constant[node] = True
            case ast.Name(id=name):
                constant[node] = name in CONSTANTS
            case ast.BinOp(left=left, right=right):
                constant[node] = constant[left] and constant[right]
                if constant[node]:
                    node.left, node.right = _float64(left), _float64(right)
            case ast.Compare(left=left, comparators=[right]):
                constant[node] = constant[left] and constant[right]
                if constant[node]:
                    node.left, node.comparators = _float64(left), [_float64(right)]
            case ast.UnaryOp(operand=operand):
                constant[node] = constant[operand]
            case ast.Call(args=args):
                constant[node] = all(constant[argument] for argument in args)
                if constant[node] and not _chooses(node.func):
                    node.args = [_float64(argument) for argument in args]


def _parents_first(tree: ast.expr) -> list[ast.expr]:
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        found.append(node)
        match node:
            case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
                waiting += [right, left]
            case ast.UnaryOp(operand=operand):
                waiting.append(operand)
            case ast.Call(args=args):
                waiting += reversed(args)
    return found


def _float64(node: ast.expr) -> ast.expr:
    bare = node
    while isinstance(bare, ast.UnaryOp):
        bare = bare.operand
    if not isinstance(bare, ast.Constant | ast.Name):
        return node  # an operation on tensors is a tensor already
    call = ast.Call(ast.Name(_TO_TENSOR, ast.Load()), [node], [])
    return ast.fix_missing_locations(ast.copy_location(call, node))
