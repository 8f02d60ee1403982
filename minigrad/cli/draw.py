"""`minigrad draw`: the graph that the engine keeps after a formula or a function was computed,
as a picture or a DOT text.
"""

import argparse
import sys
from importlib import import_module
from typing import Any

from minigrad.cli import parser_of
from minigrad.cli.options import (
    as_options,
    dashes,
    ending,
    language_option,
    not_written,
    require_folder,
    warnings_told,
    with_status,
    wrote,
)
from minigrad.cli.target import (
    ComputationError,
    Drawable,
    PythonFunction,
    UsageError,
    drawing_target,
    with_place,
)
from minigrad.cli.values import arguments
from minigrad.core.tensor import Tensor
from minigrad.observers import observing
from minigrad.watch.plain_numbers import PlainNumbers

FORMATS = ("svg", "png", "pdf", "dot", "gv")

EXAMPLES = """\
FILE ends in .svg, .png, .pdf or .dot. Without FILE the graph is printed in the DOT language.
What to draw is a formula, or FILE.py:NAME in a Python file of yours, which is run: a function of \
tensors or a module, at the values that
you give; or, without values, a tensor, a node of a static graph or a Program.

examples:
  minigrad draw "log(x1) + x1*x2 - sin(x2)" x1=2 x2=5 -o graph.svg
  minigrad draw mine.py:f "x=[1, 2, 3]" -o graph.svg
  minigrad draw mine.py:model "x=[1, 2, 3]" -o layers.svg --groups closed
  minigrad draw mine.py:loss -o history.svg
  minigrad draw "sin(x)**2" x=1 -o graph.svg --lang zh
"""


def main(argv: list[str]) -> int:
    """Runs `minigrad draw` with the arguments after its name; returns the exit status."""
    parser = parser_of(
        "draw",
        (
            "Computes a formula or a function at given values and draws the graph that the engine"
            " recorded."
        ),
        EXAMPLES,
    )
    parser.add_argument("formula", metavar="FORMULA", help="a formula, or FILE.py:NAME")
    parser.add_argument("values", metavar="NAME=VALUE", nargs="*", help="one for each variable")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to write; the ending is the format"
    )
    parser.add_argument(
        "--groups",
        choices=("open", "closed"),
        help="of a module: every operation (open, the default), or its layers as boxes (closed)",
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=2_000,
        metavar="N",
        help="the largest number of boxes (default: 2,000)",
    )
    language_option(parser, "names")
    return _write(parser.parse_intermixed_args(dashes(argv)))


@with_status
def _write(options: argparse.Namespace) -> int:
    options.output = None if options.output == "-" else options.output
    require_folder(options.output)
    form = "dot" if options.output is None else ending(options.output)
    if form not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise UsageError(
            f"there is no drawing in the format of {options.output!r}; the endings are {known}"
        )
    if options.limit < 1:
        raise UsageError(f"--limit {options.limit} lets nothing be drawn; give at least 1")
    drawing = _drawing(options)
    if options.output is None:
        sys.stdout.write(drawing.source)
        return 0
    try:
        import_module("minigrad.viz.draw").write(drawing, options.output)
    except OSError as error:
        return not_written(options.output, error)
    except (
        RuntimeError,
        ValueError,
    ) as error:  # no program that could draw it, no space in a file of pixels, no letters
        raise ComputationError(str(error).removeprefix("paint: ")) from error
    wrote(options.output)
    return 0


def _drawing(options: argparse.Namespace) -> Any:
    formula = drawing_target(options.formula)
    if isinstance(formula, Drawable):
        return _as_it_is(formula, options)
    inputs = [x.requires_grad_() for x in arguments(formula, options.values)]
    module = getattr(formula, "function", None)
    layered = hasattr(module, "named_parameters")
    if options.groups and not layered:
        raise UsageError(f"--groups is for modules, and {formula.source} is none")
    try:
        draw = import_module("minigrad.viz.draw")
        with warnings_told():
            if options.groups == "closed":
                return draw.draw_graph(module, *inputs, limit=options.limit, lang=options.lang)
            with observing(PlainNumbers()):
                result = formula(*inputs)
        if not hasattr(result, "requires_grad"):
            raise UsageError(
                f"{formula.source} gives a {type(result).__name__}; only what returns a tensor has"
                " a graph to draw"
            )
        return draw.draw_graph(
            result,
            dict(zip(formula.names, inputs, strict=True)),
            limit=options.limit,
            lang=options.lang,
        )
    except ModuleNotFoundError as error:
        raise UsageError(str(error)) from None
    except (ValueError, RuntimeError, TypeError) as error:
        message = as_options(with_place(error)).removeprefix("draw_graph: ")
        raise ComputationError(
            f"{formula.source} cannot be drawn with these values: {message}"
        ) from error
    except UsageError:
        raise
    except Exception as error:  # whatever the user's function raises is theirs to correct
        raise ComputationError(
            formula.stopped(error) if isinstance(formula, PythonFunction) else str(error)
        ) from error


def _as_it_is(formula: Drawable, options: argparse.Namespace) -> Any:
    kind = type(formula.thing).__name__
    if options.values:
        raise UsageError(
            f"{formula.source} is a {kind}, which takes no values: leave out"
            f" {options.values[0].strip()}"
        )
    if options.groups:
        raise UsageError(f"--groups is for modules, and {formula.source} is none")
    try:
        draw = import_module("minigrad.viz.draw")
        names = _tensors(formula.variables) if isinstance(formula.thing, Tensor) else None
        return draw.draw_graph(formula.thing, names=names, limit=options.limit, lang=options.lang)
    except ModuleNotFoundError as error:
        raise UsageError(str(error)) from None
    except (ValueError, RuntimeError, TypeError) as error:
        message = as_options(str(error)).removeprefix("draw_graph: ")
        raise ComputationError(f"{formula.source} cannot be drawn: {message}") from error


def _tensors(variables: dict[str, Any]) -> dict[str, Any]:
    """The file's own names: its tensors, and the modules with their parameters."""
    return {
        name: value
        for name, value in variables.items()
        if isinstance(value, Tensor) or hasattr(type(value), "named_parameters")
    }
