"""`minigrad trace`: differentiate a formula and show every step, as text, JSON, a picture or a
page.
"""

import argparse
import io
import json
import numbers
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from minigrad import expression
from minigrad.cli import complain
from minigrad.cli.options import (
    FORMATS,
    PICTURES,
    as_options,
    dashes,
    ending,
    formula_parser,
    group_options,
    not_written,
    page_options,
    require_folder,
    save,
    warnings_told,
    with_status,
    wrote,
)
from minigrad.cli.target import ComputationError, PythonFunction, UsageError, target, with_place
from minigrad.cli.values import arguments, bindings, tangents_of
from minigrad.core.tensor import Tensor
from minigrad.errors import TraceTooLargeError
from minigrad.trace.text import table
from minigrad.watch import trace_function
from minigrad.watch.trace import default_mode

SIZES = "16:9, 4:3, 1:1, hd, small, or pixels such as 1280x720"

EXAMPLES = """\
values are numbers, constants such as pi/2, and for array formulas lists such as x=[1,2,3].

examples:
  minigrad trace "log(x1) + x1*x2 - sin(x2)" x1=2 x2=5
  minigrad trace "log(x1) + x1*x2 - sin(x2)" x1=2 x2=5 --mode forward --seed x2=1
  minigrad trace "sum(sin(x)**2)" "x=[0, 1, 2]" --mode reverse
  minigrad trace "exp(-x**2/2)" x=1 -o steps.html --views cut,memory
  minigrad trace "exp(-x**2/2)" x=1 -o frame.png --step 5 --size 16:9
  minigrad trace mine.py:f "x=[[1, 2], [3, 4]]" "w=[[0.5], [-0.5]]" -o lecture.html
"""


def main(argv: list[str]) -> int:
    """Runs `minigrad trace` with the arguments after its name; returns the exit status."""
    return _write(_parser().parse_intermixed_args(dashes(argv)))


@with_status
def _write(options: argparse.Namespace) -> int:
    require_folder(options.output)
    picture = options.format is None and ending(options.output) in PICTURES
    format = ending(options.output) if picture else _format(options)
    more = (
        page_options(options, format)
        | group_options(options, format)
        | _still_options(options, format)
    )
    trace = compute(options, drawn=picture or format == "svg")
    _require_step(options.step, trace)
    if picture:
        return save(trace, options.output, **more)
    text = _render(trace, format, more)
    if options.output in (None, "-"):
        # a terminal without our letters shows ?, a document is always UTF-8
        if isinstance(sys.stdout, io.TextIOWrapper):
            errors, encoding = ("replace", None) if format == "text" else (None, "utf-8")
            sys.stdout.reconfigure(errors=errors, encoding=encoding)
        sys.stdout.write(text)
        sys.stdout.flush()
        return 0
    try:
        Path(options.output).write_text(text, encoding="utf-8")
    except OSError as error:
        return not_written(options.output, error)
    wrote(options.output)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = formula_parser(
        "trace", "Differentiates a formula at given values and shows every step.", EXAMPLES
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="default: as the ending of FILE says, or else text"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write there instead of to the terminal; also .png, .pdf, .webp and .gif",
    )
    parser.add_argument(
        "--step",
        type=int,
        metavar="N",
        help=(
            "the state after N steps (0: nothing computed yet; default: the last, in a page the"
            " first)"
        ),
    )
    parser.add_argument("--size", help=f"of a picture: {SIZES} (default: the graph's own size)")
    parser.add_argument("--dpi", type=float, help="pixels an inch of a .png (default: 144)")
    parser.add_argument("--dark", action="store_true", help="a picture light on dark")
    return parser


def _still_options(options: argparse.Namespace, form: str) -> dict[str, Any]:
    """--step, --size, --dpi and --dark, as far as they are given. Raises UsageError where a
    format has no use for one.
    """
    drawn = {"size": options.size, "dpi": options.dpi, "dark": options.dark or None}
    for name, value in drawn.items():
        forms = PICTURES if name == "dpi" else ("svg", *PICTURES)
        if value is not None and form not in forms:
            raise UsageError(
                f"--{name} is for pictures: give an output that ends in"
                f" {', '.join(f'.{one}' for one in forms)}"
            )
    if form == "svg":
        drawn["dark"] = options.dark
    if options.step is not None and form == "json":
        raise UsageError("--step is for what is shown of a Trace; as JSON it is the whole Trace")
    if options.step is not None and form in ("webp", "gif"):
        raise UsageError(
            f"--step is for one frame, and a .{form} is a film; minigrad animate takes --steps 4-9"
        )
    return {
        name: value for name, value in {"step": options.step, **drawn}.items() if value is not None
    }


def _require_step(step: int | None, trace: dict[str, Any]) -> None:
    """Raises UsageError for a step that the Trace does not have."""
    last = len(trace["steps"])
    if step is not None and not 0 <= step <= last:
        raise UsageError(
            f"step {step} does not exist; this formula's steps are 0 (nothing computed yet) to"
            f" {last}"
        )


def _format(options: argparse.Namespace) -> str:
    found = ending(options.output)
    if options.format is None and found not in ("", "htm", "txt", "text", *FORMATS):
        known = ", ".join(f".{name}" for name in (*FORMATS[1:], *PICTURES, "txt"))
        raise UsageError(
            f"there is no format .{found}; the endings are {known}; with --format any name will do"
        )
    if options.format is not None and found in PICTURES:
        raise UsageError(
            f"--format {options.format} and the ending .{found} of {options.output} disagree; leave"
            " out --format for a picture"
        )
    found = "html" if found == "htm" else found
    return str(options.format or (found if found in FORMATS else "text"))


def compute(options: argparse.Namespace, drawn: bool = False) -> dict[str, Any]:
    """The Trace of the formula or function at the values that the options name.

    drawn: it becomes a still or a film, so the recording ends where the graph is too large for one.
    Raises UsageError or expression.ExpressionError for what the user has to correct, and
    ComputationError where the values do not do.
    """
    formula = target(options.formula)
    inputs = arguments(formula, options.values)
    tangents = tangents_of(options, formula, bindings(options.values, formula, "value"))
    point = ", ".join(_shortened(word) for word in options.values)
    title = f"{_on_one_line(formula.source)},  {point}"
    try:
        with warnings_told():
            backward = _has_adjoints(formula.source, formula(*inputs), options.mode)
            function, source = (
                (formula.function, None)
                if isinstance(formula, PythonFunction)
                else (formula, formula.source)
            )
            more: dict[str, Any] = {
                "mode": options.mode if backward else default_mode(inputs, tangents, backward),
                "tangents": tangents,
                "names": formula.names,
                "source": source,
                "title": title,
            }
            trace: dict[str, Any] = trace_function(
                function, *inputs, **more, most=_most_nodes() if drawn else None
            )
    except TraceTooLargeError as error:
        raise UsageError(
            import_module("minigrad.viz.scale").refusal(title, options.lang)
        ) from error
    except expression.ExpressionError:
        raise
    except (ValueError, RuntimeError, TypeError) as error:
        raise ComputationError(
            f"{formula.source} cannot be computed with these values: {with_place(error)}"
        ) from error
    except UsageError:
        raise
    except Exception as error:  # whatever the user's function raises is theirs to correct
        raise ComputationError(
            formula.stopped(error) if isinstance(formula, PythonFunction) else str(error)
        ) from error
    return trace


def _has_adjoints(source: str, result: Any, mode: str | None) -> bool:
    """Whether the result is one number, from which a reverse pass can start; where it is not and no
    mode is asked for, this is said. Raises UsageError for what is no tensor, and for more than one
    number where reverse mode is asked for."""
    if isinstance(result, numbers.Number):
        return True
    if not isinstance(result, Tensor):
        found = "nothing" if result is None else f"a {type(result).__name__}"
        raise UsageError(
            f"{source} gives {found}; only a function that returns one tensor can be traced"
        )
    if mode in ("primal", "forward") or result.numel() == 1:
        return True
    problem = f"the result has shape {tuple(result.shape)}, and reverse mode starts from one number"
    if mode is not None:
        raise UsageError(f"{problem}; reduce it with sum(...) or mean(...), or use --mode forward")
    complain(f"no adjoints are shown: {problem}; for adjoints reduce it with sum(...) or mean(...)")
    return False


def _most_nodes() -> int | None:
    """The nodes of the largest graph that is drawn; None where viz, which draws it, is not
    installed, and will be asked for later.
    """
    try:
        return int(import_module("minigrad.viz.scale").FULL_DETAIL)
    except ModuleNotFoundError:
        return None


def _on_one_line(program: str) -> str:
    """The statements of a program with ; between them."""
    return re.sub(r"\n\s*", "; ", re.sub(r":\s*\n\s*", ": ", program))


def _shortened(word: str) -> str:
    name, _, text = word.strip().partition("=")
    return f"{name} = {text if len(text) <= 40 else text[:37] + '...'}"


def _table_words(lang: str) -> dict[str, str]:
    """The words of the text tables; other languages than English are viz's."""
    words = import_module("minigrad.viz.texts").words(lang)
    found: dict[str, str] = import_module("minigrad.viz.speech").table_words(words)
    return found


def _render(trace: dict[str, Any], format: str, more: dict[str, Any]) -> str:
    if format == "json":
        text = json.dumps(trace, ensure_ascii=False, indent=1)
    elif format == "text":
        text = table(
            trace, more.get("step"), _table_words(more["lang"]) if "lang" in more else None
        )
    else:
        # Pictures belong to viz, which minigrad does not need and knows by name only, here in its
        # outermost layer.
        module, function = {
            "html": ("minigrad.viz.page", "to_html"),
            "svg": ("minigrad.viz.svg", "to_svg"),
        }[format]
        try:
            text = getattr(import_module(module), function)(trace, **more)
        except ModuleNotFoundError as error:
            raise UsageError(
                f'--format {format} needs the package {error.name}: pip install -e ".[viz]"'
            ) from None
        except ValueError as error:  # a graph too large for a picture
            raise UsageError(as_options(str(error))) from None
    return text if text.endswith("\n") else text + "\n"
