"""`python -m benchmarks.observing`: what it costs that the engine can be observed, while no
observer is active.

The engine asks in a few places whether anybody observes. Here the same functions are made once more
without these questions (their syntax trees are cut), and the scalar chain runs with the one set and
with the other in turns: pairs of runs, in an order that changes each time.
"""

import ast
import inspect
import sys
import textwrap
from functools import cache
from time import process_time
from types import CodeType, FunctionType, ModuleType
from typing import Any

from benchmarks import command, machine, report
from benchmarks.harness import frozen_heap, quartiles
from benchmarks.workloads import scalar_chain


class _Unasked(ast.NodeTransformer):
    """Keeps only the branch that runs when there are no observers."""

    found = 0

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if ast.unparse(node.test).endswith("observers"):
            self.found += 1
            return self.visit(node.orelse)
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> Any:
        if ast.unparse(node.test).endswith("observers") and not node.orelse:
            self.found += 1
            return None
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if isinstance(node.op, ast.And) and ast.unparse(node.values[0]) == "observers":
            self.found += 1
            return ast.Constant(False)
        question = "not observers" if isinstance(node.op, ast.And) else "observers"
        others = [value for value in node.values if ast.unparse(value) != question]
        if len(others) == len(node.values):
            return self.generic_visit(node)
        self.found += 1
        return self.visit(ast.BoolOp(node.op, others) if len(others) > 1 else others[0])


def without_questions(function: FunctionType) -> CodeType:
    """The code of a function without the question for observers."""
    maker, _, inner = function.__qualname__.partition(".<locals>.")
    code = _cut(getattr(sys.modules[function.__module__], maker) if inner else function)
    return (
        next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == inner)
        if inner
        else code
    )


@cache
def _cut(function: FunctionType) -> CodeType:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    cut = _Unasked()
    tree = ast.fix_missing_locations(cut.visit(tree))
    assert cut.found, f"{function.__qualname__} does not ask for observers any more"
    made: dict[str, Any] = {}
    exec(compile(tree, inspect.getfile(function), "exec"), function.__globals__, made)
    code = made[function.__name__].__code__
    assert isinstance(code, CodeType)
    return code


def asking() -> list[FunctionType]:
    """The functions of the engine that ask, as far as the scalar chain meets them."""
    from minigrad import functions
    from minigrad.core import primitive, tensor
    from minigrad.fast import backward, operations

    modules: tuple[ModuleType, ...] = (backward, functions)
    found = [
        f
        for module in modules
        for f in vars(module).values()
        if isinstance(f, FunctionType) and f.__module__ == module.__name__
    ]
    found.append(tensor.Tensor.__init__)
    ways = (
        "call_unary.<locals>.run",
        "call_binary.<locals>.run",
    )  # one function for each operation
    held = [
        f for owner in (*primitive.registry.values(), tensor.Tensor) for f in vars(owner).values()
    ]
    held += [
        cell.cell_contents for f in held if type(f) is FunctionType for cell in f.__closure__ or ()
    ]
    found += [
        f
        for f in dict.fromkeys(f for f in held if type(f) is FunctionType)
        if f.__module__ == operations.__name__ and f.__qualname__ in ways
    ]
    return [f for f in found if "observers" in f.__code__.co_names]


def main(argv: list[str]) -> int:
    parser = command.parser("observing", __doc__)
    parser.count("--pairs", 60, "pairs of runs")
    parser.folder()
    options = parser.parse_args(argv)
    facts = machine.describe(1, parser.prog, *argv)
    ratios = measure(options.pairs)
    low, middle, high = quartiles(ratios)
    text = (
        f"{report.heading(facts)}  \n`{facts['command']}`\n\nProcessor time of the scalar chain"
        f" ({scalar_chain.OPERATIONS:,} operations, forward and backward) as it is, with no"
        f" observer, to the same engine without the questions: median {middle:.4f}, quartiles"
        f" {low:.4f} to {high:.4f}, {len(ratios)} pairs.\n"
    )
    print(text)
    report.keep(options.out, "observing", {**facts, "ratios": ratios}, text)
    return 0


def measure(pairs: int) -> list[float]:
    """For each pair the time of the engine as it is over the time of the engine that does not
    ask.
    """
    run = scalar_chain.minigrad()
    functions = asking()
    codes = {
        "asks": [f.__code__ for f in functions],
        "does not": [without_questions(f) for f in functions],
    }
    run()
    ratios = []
    try:
        with frozen_heap():
            for number in range(pairs):
                took = {}
                for name in list(codes)[:: 1 if number % 2 else -1]:
                    for function, code in zip(functions, codes[name], strict=True):
                        function.__code__ = code
                    run()  # the interpreter adapts new code while it runs
                    start = process_time()
                    run()
                    took[name] = process_time() - start
                ratios.append(took["asks"] / took["does not"])
    finally:
        for function, code in zip(functions, codes["asks"], strict=True):
            function.__code__ = code
    return ratios


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
