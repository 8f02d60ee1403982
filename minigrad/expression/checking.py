"""From a text to a syntax tree in which only formulas, assignments, loops and branches are left."""

from __future__ import annotations

import ast
import difflib
import keyword
import math
import re
import warnings
from collections.abc import Iterable
from typing import Any, NoReturn

from .grammar import (
    BINARY,
    COMPARISONS,
    CONSTANTS,
    FUNCTIONS,
    MAX_CHARACTERS,
    MAX_OPERATIONS,
    OTHER_OPERATORS,
    PROGRAM_WORDS,
    SIGNS,
    is_program,
)
from .refusals import (
    ANYTHING_ELSE,
    NODES,
    NUMBERS,
    OPERATORS,
    TYPOGRAPHY,
    ExpressionError,
    refusal,
)


def parsed(text: str) -> ast.expr | list[ast.stmt]:
    """The syntax tree of a formula, or the statements of a program, as Python reads them."""
    program = is_program(text)
    if not text:
        raise refusal("empty", text, 0)
    if len(text) > MAX_CHARACTERS:
        raise refusal(
            "long", text, MAX_CHARACTERS, count=f"{len(text):,}", most=f"{MAX_CHARACTERS:,}"
        )
    refused = "\r\0\\" if program else "\r\n\0#\\;"
    for column, character in enumerate(text):
        if character in refused or "\ud800" <= character <= "\udfff":
            raise refusal("character", text, column, character=ascii(character))
    try:
        with warnings.catch_warnings():
            # about the text, which is judged here and not by Python
            warnings.simplefilter("ignore")
            if program:
                return ast.parse(text, filename="<formula>").body
            return ast.parse(text, filename="<formula>", mode="eval").body
    except SyntaxError as error:
        raise _syntax_error(error, text, program) from None
    except (RecursionError, MemoryError):
        raise refusal("deep", text, 0) from None


def _syntax_error(error: SyntaxError, whole: str, program: bool) -> ExpressionError:
    message = error.msg.partition(". Perhaps")[0].partition("; perhaps")[0]
    lines = whole.split("\n")
    text = lines[min(error.lineno or 1, len(lines)) - 1] if program else whole
    column = min(max((error.offset or 1) - 1, 0), len(text))
    return (
        _unusual(text, message, program)
        or _badly_joined(text, message, column)
        or (
            refusal("digits", text, column)
            if message.startswith("Exceeds the limit")
            else refusal("early", text, len(text))
            if not error.offset
            else refusal("syntax", text, column, message=message)
        )
    )


def _unusual(text: str, message: str, program: bool) -> ExpressionError | None:
    """The error of a sign or a word that formulas do not have."""
    for place, character in enumerate(text):
        usual = (program and character == "=") or (character == "|" and message != "invalid syntax")
        if character in TYPOGRAPHY and not usual:
            return refusal("sign", text, place, character=character, hint=TYPOGRAPHY[character])
    for word in re.finditer(r"[^\W\d]\w*", text):
        if keyword.iskeyword(word[0]) and not (program and word[0] in PROGRAM_WORDS):
            place, width = word.start(), len(word[0])
            return refusal("used", text, place, width, what=word[0], hint=ANYTHING_ELSE)
    return None


def _badly_joined(text: str, message: str, column: int) -> ExpressionError | None:
    """The error of numbers, names and parentheses that stand side by side."""
    if "too many nested parentheses" in message:
        return refusal("deep", text, column)
    glued = re.search(r"(?<![\w.])(\d+\.?\d*|\.\d+)([^\W\d]\w*)", text)
    if glued:
        return refusal("glued", text, glued.start(2), number=glued[1], name=glued[2])
    called = re.search(rf"\b({'|'.join(FUNCTIONS)})\s+(\w+)", text)
    if called:
        return refusal("argument", text, called.start(2), name=called[1], argument=called[2])
    spaced = re.search(r"[\w)](\s+)[\w(]", text)
    known = re.search(r"\b(?:for|in|if|elif|and|or|not)\b", text) or "expected" in message
    return refusal("spaced", text, spaced.start(1)) if spaced and not known else None


class FormulaChecker:
    """Checks the statements of one text. `names` are its variables, those that are read before
    they are assigned, in order of appearance; `assigned` are the others."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.names: dict[str, None] = {}
        self.assigned: dict[str, None] = {}
        self._operations = 0

    # ---------------------------------------------------------------------------------- statements

    def program(self, body: list[ast.stmt]) -> None:
        """The statements of a program, of which the last one gives the result."""
        if not body:
            raise refusal("result", self.lines[-1], len(self.lines[-1]))
        for statement in body[:-1]:
            self._statement(statement)
        last = body[-1]
        if isinstance(last, ast.Expr):
            self.formula(last.value)
        else:
            self._statement(last)
            if not isinstance(last, ast.Assign | ast.AugAssign):
                self._refuse(last, "result", 1)

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[target], value=value):
                self.formula(value)
                self._assign(target)
            case ast.AugAssign(target=target, op=op, value=value):
                if type(op) not in BINARY:
                    self._refuse(statement, "statement", what=f"{_sign_of(op)}=")
                if isinstance(target, ast.Name):
                    self.formula(ast.copy_location(ast.Name(target.id, ast.Load()), target))
                self.formula(value)
                self._operations += 1
                self._assign(target)
            case ast.For(target=target, iter=iter, body=body, orelse=[]):
                self._range(iter)
                if not isinstance(target, ast.Name):
                    self._refuse(target, "counter")
                self._assign(target)
                for inner in body:
                    self._statement(inner)
            case ast.If(test=test, body=body, orelse=orelse):
                self._condition(test)
                for inner in (*body, *orelse):
                    self._statement(inner)
            case ast.Expr(value=value):
                self._refuse(value, "unused")
            case ast.Assign():
                self._refuse(statement.targets[1], "target")
            case _:
                word = re.match(r"\w+", self.lines[statement.lineno - 1][statement.col_offset :])
                what = word[0] if word else "this"
                self._refuse(statement, "statement", len(what), what=what)

    def _assign(self, target: ast.expr) -> None:
        if not isinstance(target, ast.Name):
            self._refuse(target, "target")
        name = target.id
        if name.startswith("_"):
            self._refuse(target, "underscore", name=name)
        if name in FUNCTIONS or name in CONSTANTS or name == "range":
            kind = "constant" if name in CONSTANTS else "function"
            self._refuse(target, "assigned", name=name, kind=kind)
        self.assigned[name] = None

    def _range(self, node: ast.expr) -> None:
        """range(n) of whole numbers and of names."""
        match node:
            case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]) if 0 < len(args) < 4:
                for argument in args:
                    if not isinstance(_bare(argument), ast.Constant | ast.Name):
                        self._refuse(argument, "range")
                    self.formula(argument)
            case _:
                self._refuse(node, "range")

    def _condition(self, node: ast.expr) -> None:
        match node:
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                if not all(isinstance(op, COMPARISONS) for op in ops):
                    self._refuse(node, "condition")
                self._operations += len(ops)
                for value in (left, *comparators):
                    self.formula(value)
            case ast.BoolOp(values=values):
                for value in values:
                    self._condition(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._condition(operand)
            case _:
                self._refuse(node, "condition")

    # -------------------------------------------------------------------------------- expressions

    def formula(self, tree: ast.expr) -> None:
        """One formula, its parts in the order of the text; the first one that is not allowed is
        refused."""
        waiting = [tree]  # a stack, not a recursion: the depth of a formula is its writer's choice
        while waiting:
            node = waiting.pop()
            match node:
                case ast.Constant():
                    self._number(node)
                    continue
                case ast.Name(id=name):
                    self._name(node, name)
                    continue
                case ast.BinOp(left=left, op=operator, right=right):
                    if type(operator) not in BINARY:
                        self._operator(operator, node, _end(left, self.lines))
                    waiting += [right, left]
                case ast.UnaryOp(op=sign, operand=operand):
                    if not isinstance(sign, SIGNS):
                        self._operator(sign, node, _start(node, self.lines))
                    waiting.append(operand)
                case ast.Call():
                    waiting += reversed(self._call(node))
                case _:
                    known = ("this", ANYTHING_ELSE)
                    what, hint = NODES.get(type(node).__name__, known)
                    self._refuse(node, "used", what=what, hint=hint)
            self._operations += 1
            if self._operations > MAX_OPERATIONS:
                self._refuse(node, "many", most=MAX_OPERATIONS)

    def _name(self, node: ast.expr, name: str) -> None:
        if name in FUNCTIONS:
            self._refuse(node, "function", name=name)
        if name.startswith("_"):
            self._refuse(node, "underscore", name=name)
        if name not in CONSTANTS and name not in self.assigned:
            self.names[name] = None

    def _number(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool) or value is None:
            self._refuse(node, "boolean", name=value)
        if isinstance(value, complex):
            self._refuse(node, "complex")
        if not isinstance(value, (int, float)):
            what = "..." if value is ... else "a string"
            self._refuse(node, "used", what=what, hint=NUMBERS)
        try:
            fits = math.isfinite(float(value))
        except OverflowError:
            fits = False
        if not fits:
            self._refuse(node, "large")

    def _call(self, node: ast.Call) -> list[ast.expr]:
        """The parts of a call that are formulas."""
        if not isinstance(node.func, ast.Name):
            if isinstance(node.func, ast.Attribute):
                what, hint = NODES["Attribute"]
                self._refuse(node.func, "used", what=what, hint=hint)
            self._refuse(node.func, "call")
        name = node.func.id
        if name not in FUNCTIONS:
            if len(name) == 1 or name in CONSTANTS:
                self._refuse(node.func, "product", name=name)
            near = difflib.get_close_matches(name.lower(), FUNCTIONS, n=2, cutoff=0.55)
            known = "the functions are " + ", ".join(FUNCTIONS)
            hint = f"did you mean {' or '.join(near)}?" if near else known
            self._refuse(node.func, "unknown", name=name, hint=hint)
        arity = FUNCTIONS[name].arity
        example = FUNCTIONS[name].call(name, "xyzuvw")
        if node.keywords:
            self._refuse(node.keywords[0], "keyword", name=name, example=example)
        if len(node.args) != arity:
            plural, count = "s" * (arity > 1), len(node.args)
            self._refuse(
                node, "arity", name=name, arity=arity, s=plural, count=count, example=example
            )
        if not FUNCTIONS[name].chooses:
            return node.args
        test, *values = node.args
        match test:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                if isinstance(op, COMPARISONS):
                    self._operations += 1
                    return [left, right, *values]
        self._refuse(test, "chooses", name=name, example=example)

    def _operator(self, operator: ast.operator | ast.unaryop, node: ast.expr, first: int) -> None:
        symbol = OTHER_OPERATORS[type(operator)]
        row = node.lineno - 1
        if isinstance(node, ast.BinOp):
            row = (node.left.end_lineno or 1) - 1
        while symbol not in self.lines[row][first:]:  # a program's formula may have several lines
            row, first = row + 1, 0
        place = self.lines[row].index(symbol, first)
        raise refusal(
            "used", self.lines[row], place, len(symbol), what=symbol, hint=OPERATORS[symbol]
        )

    def _refuse(self, node: Any, key: str, width: int = 0, /, **blanks: Any) -> NoReturn:
        start, line = _start(node, self.lines), self.lines[node.lineno - 1]
        last = _end(node, self.lines) if node.end_lineno == node.lineno else len(line)
        raise refusal(key, line, start, width or last - start, **blanks)


def operations_in(nodes: Iterable[ast.AST]) -> int:
    """The operations that these statements run once, inner loops not repeated."""
    kinds = ast.BinOp | ast.UnaryOp | ast.Call | ast.Compare | ast.AugAssign
    return sum(isinstance(one, kinds) for node in nodes for one in ast.walk(node))


def _bare(node: ast.expr) -> ast.expr:
    """A formula without the signs before it."""
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    return node


def _sign_of(op: ast.operator) -> str:
    return BINARY.get(type(op)) or OTHER_OPERATORS[type(op)]


def _start(node: Any, lines: list[str]) -> int:
    # The parser counts in bytes of UTF-8, people count in characters.
    return len(lines[node.lineno - 1].encode()[: node.col_offset].decode())


def _end(node: Any, lines: list[str]) -> int:
    return len(lines[node.end_lineno - 1].encode()[: node.end_col_offset].decode())
