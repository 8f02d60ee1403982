"""`minigrad trace`: differentiate a formula and show every step, as text, JSON, a picture or a
page.
"""

import argparse
import functools
import io
import json
import math
import numbers
import re
import sys
import textwrap
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from minigrad import backend, expression, functions, ops
from minigrad.cli import complain, parser_of
from minigrad.cli.target import Formula, PythonFunction, UsageError, target
from minigrad.core.tensor import Tensor
from minigrad.errors import TraceTooLargeError
from minigrad.trace.text import table
from minigrad.watch import trace_function

FORMATS = ("text", "json", "html", "svg")
PICTURES = ("png", "pdf", "webp", "gif")
"""Endings of files that are not text: written by viz.save, never to a terminal."""
MODES = ("primal", "forward", "reverse", "both")
GROUPS = ("auto", "open", "closed")
SIZES = "16:9, 4:3, 1:1, hd, small, or pixels such as 1280x720"
MAX_VALUE_CHARACTERS = 100_000

_ARGUMENT = re.compile(
    r"(?:draw_graph\((?:x, )?(limit|depth)=…\))"
    r"""|\b(size|dpi|fps|steps?|groups|lang)=(?:(["'])(.*?)\3)?"""
)
"""Arguments as viz's messages spell them."""

EXAMPLES = """\
values are numbers, constants such as pi/2, and for array formulas lists such as x=[1,2,3].

examples:
  minigrad trace "log(x1) + x1*x2 - sin(x2)" x1=2 x2=5
  minigrad trace "log(x1) + x1*x2 - sin(x2)" x1=2 x2=5 --mode forward --seed x2=1
  minigrad trace "sum(sin(x)**2)" "x=[0, 1, 2]" --mode reverse
  minigrad trace "exp(-x**2/2)" x=1 -o steps.html --views cut,memory
  minigrad trace "exp(-x**2/2)" x=1 -o frame.png --step 5 --size 16:9
"""


class ComputationError(Exception):
    """The formula is fine, but at these values it has no finite result; exit status 1."""


def main(argv: list[str]) -> int:
    """Runs `minigrad trace` with the arguments after its name; returns the exit status."""
    return _write(_parser().parse_intermixed_args(dashes(argv)))


def with_status(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Decorate what a command does: where it cannot, the reason is said, and the exit status is 2
    for what it was given and 1 for what could not be computed.
    """

    @functools.wraps(run)
    def status(options: argparse.Namespace) -> int:
        try:
            return run(options)
        except (UsageError, expression.ExpressionError) as error:
            complain(str(error))
            return 2
        except ComputationError as error:
            complain(str(error))
            return 1

    return status


@with_status
def _write(options: argparse.Namespace) -> int:
    picture = options.format is None and ending(options.output) in PICTURES
    format = ending(options.output) if picture else _format(options)
    more = (
        page_options(options, format)
        | group_options(options, format)
        | _still_options(options, format)
    )
    require_folder(options.output)
    trace = compute(options, drawn=picture or format == "svg")
    _require_step(options.step, trace)
    if picture:
        return save(trace, options.output, **more)
    text = _render(trace, format, more)
    if options.output in (None, "-"):
        if isinstance(
            sys.stdout, io.TextIOWrapper
        ):  # a terminal without our letters shows ?, a document is always UTF-8
            errors, encoding = ("replace", None) if format == "text" else (None, "utf-8")
            sys.stdout.reconfigure(errors=errors, encoding=encoding)
        sys.stdout.write(text)
        sys.stdout.flush()
        return 0
    try:
        Path(options.output).write_text(text, encoding="utf-8")
    except OSError as error:
        return not_written(options.output, error)
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


def formula_parser(command: str, description: str, examples: str) -> argparse.ArgumentParser:
    """A parser for what all commands about a formula share: the formula, its values, the passes
    and their seed.
    """
    functions_list = f"functions: {', '.join(sorted(expression.FUNCTIONS))}"
    parser = parser_of(
        command,
        description,
        (
            f"{textwrap.fill(functions_list, 79)}\nconstants:"
            f" {', '.join(expression.CONSTANTS)}\n\n{examples}"
        ),
    )
    parser.add_argument(
        "formula",
        metavar="FORMULA",
        help='for example "log(x1) + x1*x2 - sin(x2)"; or FILE.py:NAME, a function of your own',
    )
    parser.add_argument(
        "values", metavar="NAME=VALUE", nargs="*", help="one for each variable of the formula"
    )
    parser.add_argument(
        "--mode",
        choices=MODES,
        default="both",
        help="which derivatives: none, forward, reverse, or both (the default)",
    )
    parser.add_argument(
        "--seed",
        metavar="NAME=VALUE",
        nargs="+",
        default=[],
        help=(
            "tangents of the inputs in forward mode; what is not named is 0 (default: 1 for the"
            " first input)"
        ),
    )
    language_option(parser, "formula")
    parser.add_argument(
        "--views",
        metavar="NAMES",
        help=(
            "further views that are open in an .html page, with commas between: "
            + ", ".join(_view_names())
        ),
    )
    parser.add_argument(
        "--groups",
        choices=GROUPS,
        help=(
            "in a picture: modules, and stretches of a large graph, as single boxes where a page"
            " shows them so at first (auto, the default), open: every operation, closed: the fewest"
            " boxes"
        ),
    )
    return parser


def _view_names() -> Iterable[str]:
    """The names of the viewer's further views; none where viz is not installed."""
    try:
        found: Iterable[str] = import_module("minigrad.viz.texts").views()
    except ModuleNotFoundError:
        return ()
    return found


def language_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--lang`, the language of the words around the names or the formula."""
    parser.add_argument(
        "--lang",
        choices=("en", "zh"),
        default="en",
        help=f"language of the words around the {what} (default: %(default)s)",
    )


def group_options(options: argparse.Namespace, form: str) -> dict[str, Any]:
    """--groups, which is for pictures and films alone. Raises UsageError for another format."""
    if options.groups is None:
        return {}
    if form in ("text", "txt", "json"):
        raise UsageError(
            "--groups is for pictures: give an output that ends in .svg, .png, .pdf, .webp or .gif"
        )
    if form == "html":
        raise UsageError(
            "--groups is for pictures; in a page the reader opens and closes the boxes"
        )
    return {"groups": options.groups}


def page_options(options: argparse.Namespace, form: str) -> dict[str, Any]:
    """--lang, which is for all but the Trace itself, and --views, which are a page's. Raises
    UsageError elsewhere.
    """
    views = [name.strip() for name in options.views.split(",")] if options.views else []
    chosen = ({"lang": options.lang} if options.lang != "en" else {}) | (
        {"views": views} if views else {}
    )
    if views and form != "html":
        raise UsageError("--views are for pages: give an output that ends in .html")
    if chosen and form == "json":
        raise UsageError(
            "--lang is for what is shown of a Trace; as JSON it is the Trace itself, whose"
            " sentences are English"
        )
    try:
        import_module("minigrad.viz.page").options_of(**chosen)
    except ModuleNotFoundError:
        pass  # the page itself will say so
    except ValueError as error:
        raise UsageError(str(error)) from None
    return chosen


def _still_options(options: argparse.Namespace, form: str) -> dict[str, Any]:
    """--step, --size, --dpi and --dark, as far as they are given. Raises UsageError where a
    format has no use for one.
    """
    drawn = {"size": options.size, "dpi": options.dpi, "dark": options.dark or None}
    for name, value in drawn.items():
        if value is not None and form not in PICTURES:
            raise UsageError(
                f"--{name} is for pictures: give an output that ends in"
                f" {', '.join(f'.{one}' for one in PICTURES)}"
            )
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


def dashes(argv: list[str]) -> list[str]:
    """The arguments, with a blank before each formula or value that begins with a minus:
    argparse takes `-x*y` for an option.
    """
    return [
        f" {word}" if word[:1] == "-" and word[1:2] not in ("-", "", "h", "o") else word
        for word in argv
    ]


def ending(output: str | None) -> str:
    """The ending of a file's name, without its dot."""
    return Path(output or "").suffix.lower().removeprefix(".")


def require_folder(output: str | None) -> None:
    """Raises ComputationError where the file's folder does not exist: before the work is done
    rather than after.
    """
    if output is not None and output != "-" and not Path(output).parent.is_dir():
        raise ComputationError(f"cannot write {output}: there is no such folder; make it first")


def not_written(output: str, error: OSError) -> int:
    """Says why a file could not be written; returns the exit status."""
    is_folder = isinstance(error, IsADirectoryError)
    complain(
        f"cannot write {output}:"
        f" {'it is a folder; name a file in it' if is_folder else error.strerror}"
    )
    return 1


def save(trace: dict[str, Any], output: str, **options: Any) -> int:
    """Writes a Trace by `viz.save`; returns the exit status."""
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", UserWarning)
            import_module("minigrad.viz.export").save(trace, output, **options)
        for warning in warned:
            complain(as_options(str(warning.message)))
    except (ModuleNotFoundError, ValueError) as error:
        raise UsageError(as_options(str(error))) from None
    except OSError as error:
        return not_written(output, error)
    return 0


def as_options(message: str) -> str:
    """A message of viz's in the words of the command line: arguments such as steps="3-9" are
    options there.
    """

    def option(found: re.Match[str]) -> str:
        name, value = found[1] or found[2], found[4]
        return f"--{name}" if value is None else f"--{name} {value or repr(value)}"

    return _ARGUMENT.sub(option, message).removeprefix("save: ").removeprefix("to_svg: ")


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
    tangents = _tangents(options, formula, _bindings(options.values, formula, "value"))
    point = ", ".join(_shortened(word) for word in options.values)
    title = f"{_on_one_line(formula.source)},  {point}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns of what _require_finite explains
            _require_scalar(formula.source, formula(*inputs), options.mode)
            function, source = (
                (formula.function, None)
                if isinstance(formula, PythonFunction)
                else (formula, formula.source)
            )
            more = {
                "mode": options.mode,
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
            f"{formula.source} cannot be computed with these values: {error}"
        ) from error
    except UsageError:
        raise
    except Exception as error:  # whatever the user's function raises is theirs to correct
        raise ComputationError(
            formula.stopped(error) if isinstance(formula, PythonFunction) else str(error)
        ) from error
    _require_finite(trace)
    return trace


def _most_nodes() -> int | None:
    """The nodes of the largest graph that is drawn; None where viz, which draws it, is not
    installed, and will be asked for later.
    """
    try:
        return int(import_module("minigrad.viz.scale").FULL_DETAIL)
    except ModuleNotFoundError:
        return None


def arguments(formula: Formula, words: list[str]) -> list[Any]:
    """A tensor for each variable of the formula, from the words NAME=VALUE. Raises UsageError
    where one is missing or wrong.
    """
    values = _bindings(words, formula, "value")
    missing = [name for name in formula.names if name not in values]
    if missing:
        example = " ".join(f"{name}=2" for name in missing)
        raise UsageError(
            f"no value for {', '.join(missing)}; give one after the formula, for example: {example}"
        )
    if not formula.names:
        raise UsageError(
            f"{formula.source!r} has no variable to differentiate with respect to; write one"
            " in, for example x"
        )
    return [functions.tensor(values[name], dtype=backend.float64) for name in formula.names]


def _on_one_line(program: str) -> str:
    """The statements of a program with ; between them."""
    return re.sub(r"\n\s*", "; ", re.sub(r":\s*\n\s*", ": ", program))


def _shortened(word: str) -> str:
    name, _, text = word.strip().partition("=")
    return f"{name} = {text if len(text) <= 40 else text[:37] + '...'}"


def _bindings(words: list[str], formula: Formula, what: str) -> dict[str, Any]:
    bound: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = unicodedata.normalize(
            "NFKC", name.strip()
        )  # as Python does with the names in the formula
        if not equals:
            raise UsageError(
                f"{word.strip()!r} is not of the form NAME=VALUE; put the formula in quotes, and"
                " write values as x=2"
            )
        if name in bound:
            raise UsageError(f"{name} has two {what}s; give one")
        if name not in formula.names:
            has = (
                "it is a constant"
                if name in expression.CONSTANTS
                else f"its variables are {', '.join(formula.names) or 'none'}"
            )
            raise UsageError(
                f"{name or 'the empty name'} is not a variable of {formula.source}; {has}"
            )
        bound[name] = _value(name, text)
    return bound


def _value(name: str, text: str) -> Any:
    """The number, the nested list of numbers, or the value of the formula without variables that
    `text` spells.
    """
    text = text.strip()
    hint = f"write {name}=2, {name}=pi/2 or {name}=[1,2,3]"
    if len(text) > MAX_VALUE_CHARACTERS:
        raise UsageError(
            f"the value of {name} has {len(text):,} characters; at most {MAX_VALUE_CHARACTERS:,}"
            " are read"
        )
    if text.startswith("["):
        try:
            value = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise UsageError(
                f"{name}={text[:60]} is not a list of numbers ({error}); {hint}"
            ) from None
        _shape(name, value)
        return value
    try:
        value = float(text)
    except ValueError:
        value = _constant(name, text, hint)
    if not math.isfinite(value):
        raise UsageError(f"{name}={text[:60]} is not a finite number; {hint}")
    return value


def _constant(name: str, text: str, hint: str) -> float:
    try:
        formula = expression.compile(text)
    except expression.ExpressionError as error:
        raise UsageError(f"the value of {name} is not a number: {error.problem}; {hint}") from None
    if formula.names:
        raise UsageError(
            f"{name}={text} is not a number: there is no constant {formula.names[0]}; {hint}"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(formula().item())


def _shape(name: str, value: Any, depth: int = 0) -> tuple[int, ...]:
    if isinstance(value, list) and depth < 32:
        shapes = {_shape(name, item, depth + 1) for item in value}
        if len(shapes) > 1:
            raise UsageError(
                f"the lists in the value of {name} differ in length; all rows of an array are"
                " equally long"
            )
        return (len(value), *next(iter(shapes), ()))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(
            f"the value of {name} holds {json.dumps(value)[:40]}, which is not a number"
        )
    if not math.isfinite(value):
        raise UsageError(f"the value of {name} holds {value}, which is not a finite number")
    return ()


def _tangents(
    options: argparse.Namespace, formula: Formula, values: dict[str, Any]
) -> list[Any] | None:
    if not options.seed:
        return None
    if options.mode not in ("forward", "both"):
        raise UsageError(
            f"--seed gives tangents, and --mode {options.mode} computes none; use --mode forward or"
            " --mode both"
        )
    seeds = _bindings(options.seed, formula, "seed")
    tangents = []
    for name in formula.names:
        wanted = _shape(name, values[name])
        found = _shape(name, seeds.get(name, 0.0))
        if found not in (wanted, ()):
            raise UsageError(f"the seed of {name} has shape {found}, but {name} has shape {wanted}")
        tangent = functions.tensor(seeds.get(name, 0.0), dtype=backend.float64)
        tangents.append(functions.broadcast_to(tangent, wanted))
    return tangents


def _require_scalar(source: str, result: Any, mode: str) -> None:
    if isinstance(result, numbers.Number):
        return
    if not isinstance(result, Tensor):
        found = "nothing" if result is None else f"a {type(result).__name__}"
        raise UsageError(
            f"{source} gives {found}; only a function that returns one tensor can be traced"
        )
    if mode in ("reverse", "both") and result.numel() != 1:
        problem = (
            f"the result has shape {tuple(result.shape)}, and reverse mode starts from one number"
        )
        raise UsageError(f"{problem}; reduce it with sum(...) or mean(...), or use --mode forward")


def _require_finite(trace: dict[str, Any]) -> None:
    """Raises `ComputationError` that names the first step of the Trace whose result is not a
    finite number.
    """
    nodes = {node["id"]: node for node in trace["nodes"]}
    state: dict[tuple[str, str], Any] = {}
    for step in trace["steps"]:
        for node_id, column, value in step["writes"]:
            state[node_id, column] = value
            if not _finite(value):
                raise ComputationError(
                    _not_finite(trace, step, nodes[node_id], column, value, state)
                )


def _finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(
            _finite(part)
            for key in ("sample", "min", "max", "re", "im")
            if key in value
            for part in _parts(value[key])
        )
    return not isinstance(
        value, str
    )  # "nan", "inf" and "-inf" are the only texts among a Trace's values


def _parts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _not_finite(
    trace: dict[str, Any],
    step: dict[str, Any],
    node: dict[str, Any],
    column: str,
    value: Any,
    state: dict[tuple[str, str], Any],
) -> str:
    operands = [edge["src"] for edge in trace["edges"] if edge["dst"] == node["id"]]
    culprit = node
    kind = {"v": "value", "d": "tangent", "g": "adjoint"}.get(column, column)
    if (
        column == "g" and step["edges"]
    ):  # an adjoint is made by the operation that the edge leads to
        edge = next(edge for edge in trace["edges"] if edge["id"] == step["edges"][0])
        culprit = next(node for node in trace["nodes"] if node["id"] == edge["dst"])
        operands = [edge["src"] for edge in trace["edges"] if edge["dst"] == culprit["id"]]
    names = {n["id"]: n.get("name") or _label(n) for n in trace["nodes"]}
    reads = ", ".join(
        f"{names[source]} = {_show(state[source, 'v'])}"
        for source in dict.fromkeys(operands)
        if (source, "v") in state
    )
    operation = culprit.get("op", "the input").removesuffix(
        "_tensor"
    )  # of the two operations that are called pow
    message = (
        f"{operation} gives {_show(value)}"
        if column == "v"
        else f"the {kind} of {names[node['id']]} at {operation} is {_show(value)}"
    )
    message += f" where {reads}" if reads else ""
    hint = _reason(operation, column)
    source = trace.get("source", {}).get("code", "")
    span = culprit.get("span")
    if span and span[0] == span[2]:
        message += expression.mark(source.splitlines()[span[0] - 1], span[1], span[3] - span[1])
    return f"{message}\nhint: {hint}"


def _label(node: dict[str, Any]) -> str:
    label = node["label"]
    return f"{label['base']}{label.get('sub', '')}"


def _show(value: Any) -> str:
    if isinstance(value, dict) and "sample" in value:
        dots = ", ..." if math.prod(value["shape"]) > len(value["sample"]) else ""
        return f"[{', '.join(map(_show, value['sample']))}{dots}]"
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)


def _reason(operation: str, column: str) -> str:
    if column != "v":
        return (
            "the value is finite there but its derivative is not; use --mode primal for the value"
            " alone, or move away from that point"
        )
    domain = getattr(ops.find(operation), "domain", None)
    return domain or "the result is too large or undefined; float64 ends at about 1.8e308"


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
