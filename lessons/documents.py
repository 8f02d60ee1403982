"""The 83 examples of the five documents that this project is built on: which cell of which lesson
runs each, and what comes out.

    python -m minigrad.lessons.documents          writes lessons/documents.md
    python -m minigrad.lessons.documents --check  says what is missing; status 1 if anything is

A cell of a notebook runs an example by calling `shows`, which compares what the engine gave with
what the document promises and raises AssertionError where they differ by more than was allowed. The
call is the mark: the table is made of these calls as they stand in the notebooks. Cells of other
lessons that teach an example name it in their metadata ("minigrad": {"document": [...]}).

Start reading at DOCUMENTS, then `shows`, then `table`.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .front_page import anchor

LESSONS = Path(__file__).parent
PAGE = LESSONS / "documents.md"


@dataclass(frozen=True)
class Document:
    """A document: its title, who wrote it, where it is, and its examples (name → what it shows, in
    our words).
    """

    title: str
    author: str
    address: str
    examples: dict[str, str]


DOCUMENTS = {
    "singa": Document(
        "Autograd in SINGA",
        "Apache SINGA contributors",
        "https://github.com/apache/singa-doc/blob/master/docs-site/docs/autograd.md",
        {
            "stores-grad": "`requires_grad`, `stores_grad`; storing implies requiring",
            "switch-later": "`stores_grad` set later: one more gradient is handed over",
            "creator": "`.creator`, the operation that made a tensor",
            "operation": "`Operation` with `forward` and `backward`: ReLU as a subclass",
            "layer": "a `Layer` holds the parameters of an operation",
            "mlp": (
                "a perceptron of bare operations: shapes (2, 3), (1, 3), (3, 2), (1, 2), weights"
                " N(0, 0.1)"
            ),
            "sgd": "ten steps of SGD with 0.05, by the pairs of `backward`",
            "cnn": "a CNN of two branches with `cat`, batch normalisation and both poolings",
            "training-loop": "the training loop over slices, `Tensor(device=…, data=…)`",
            "operators": "75 operators with inputs and outputs; dropout scales by 1/(1 − ratio)",
        },
    ),
    "torch": Document(
        "Automatic differentiation package: torch.autograd",
        "PyTorch contributors (an edition from before forward mode)",
        "https://pytorch.org/docs/stable/autograd.html",
        {
            "backward": "`backward(tensors, grad_tensors)`: several roots, `None` for a number",
            "grad": (
                "`grad`: `grad_outputs`, `allow_unused`, `retain_graph`, `create_graph`,"
                " `only_inputs`"
            ),
            "jacobian": "`jacobian(exp_reducer)`",
            "jacobian-graph": "`jacobian(exp_reducer, create_graph=True)`",
            "jacobian-pair": "`jacobian(exp_adder)`: diag(2eˣ) and 3I",
            "captured": "a constant and a flag, captured in a `lambda`",
            "strict": "`strict` of the six functional calls: zeros, or an error",
            "hessian": "`hessian(pow_reducer)`, and with `create_graph`",
            "hessian-blocks": "`hessian(pow_adder_reducer)`: 4I, 0, 0, 6I",
            "vjp": "`vjp(exp_reducer, ones)`, 4 × 4",
            "vjp-pair": "`vjp(adder)`: (2, 2), (3, 3)",
            "jvp": "`jvp(exp_reducer, ones)` equals the value",
            "jvp-pair": "`jvp(adder)`: (5, 5)",
            "double-backward": "jvp as the backward of the backward",
            "hessian-products": "`vhp` and `hvp` of both functions",
            "hvp-cost": "`hvp` is much slower than `vhp`",
            "no-grad": "`no_grad` as a context and as a decorator",
            "enable-grad": "`enable_grad` inside `no_grad`",
            "set-grad-enabled": "`set_grad_enabled`, as a context and as a call",
            "threads": "`no_grad` is local to a thread",
            "integer-leaf": "an integer tensor with `requires_grad=True`",
            "layouts": "the four rules for the strides of `.grad`; `p.grad = None`",
            "in-place": "in-place writes are checked",
            "variable": "`Variable`, deprecated",
            "is-leaf": "`grad` and `is_leaf`: tensors a to f",
            "detach": "`detach` shares memory; `detach_`",
            "hook": "`register_hook`: 2, 4, 6; `remove`",
            "retain-grad": "`retain_grad`",
            "function": "a `Function` for exp",
            "context": (
                "`save_for_backward`, `mark_dirty`, `mark_non_differentiable`,"
                " `set_materialize_grads`, `needs_input_grad`"
            ),
            "gradcheck": "`gradcheck`, `gradgradcheck`, complex functions",
            "gradcheck-limits": "`gradcheck` of single precision, and of memory shared by `expand`",
            "profiler": "the profiler's table of 100 × `x ** 2`; `export_chrome_trace`",
            "profiler-sums": (
                "`group_by_input_shape`, `total_average`, `self_cpu_time_total`, `enabled=False`"
            ),
            "nvtx": "`emit_nvtx`, `load_nvprof`, numbers that join forward and backward",
            "correlation": "forward–backward correlation, also in a double backward",
            "anomaly": "`detect_anomaly`: the forward call of a failing rule; NaN",
            "set-anomaly": "`set_detect_anomaly(mode)`, as a call and as a context",
        },
    ),
    "mindspore": Document(
        "MindSpore Automatic Differentiation (design guide, release 1.5)",
        "MindSpore contributors",
        "https://gitee.com/mindspore/docs/blob/r1.5/docs/mindspore/programming_guide/source_zh_cn/design/gradient.md",
        {
            "forward": "forward mode of ln x₁ + x₁x₂ − sin x₂ at (2, 5): 5.5",
            "reverse": "reverse mode of the same: 11.652, 5.5, 1.716",
            "jacobian": "the Jacobian by columns and by rows",
            "composed": "the Jacobian of a composition as a product",
            "total-derivative": "the total derivative of f(g(x, y, z))",
            "k": "the operator K; `bprop: dout → (df, dinputs)`; `fprop`",
            "mapping": "`MapObject`, `MapMorphism`, `DFunctor`",
            "sin-rule": "the registered rule of Sin",
            "sin-cos": "sin, then cos: the network and its backward network",
            "jvp": "Jvp: three networks in three colours",
        },
    ),
    "autogradlib": Document(
        "Autogradlib",
        "Alexandre Carlier",
        "https://github.com/alexandre01/autogradlib",
        {
            "expression": "(xᵀ − eˣ)² summed, 3 × 3",
            "variable": "what `Variable` and `GradOperator` store",
            "draw-graph": "`draw_graph()` of it, written to a file",
            "rules": "the rules of the sum and of exp",
            "recursion": "`pass_grad`, which calls itself",
            "module": "`Module`: `forward`, `zero_grad`, `params()`",
            "softmax": "softmax out of `sum` and `repeat`",
            "xavier": "Xavier's initialisation",
            "network": "the network 2-25-25-25-2 with a softmax at its end",
            "results": "its table: losses 0.0228 and 0.0254, accuracies 0.986 and 0.983",
            "curves": "its learning curves",
            "timing": "0.804 s against 1.961 s",
        },
    ),
    "article": Document(
        "AutoDiff: an introduction and a simple implementation (in Chinese)",
        "L1aoXingyu",
        "https://github.com/L1aoXingyu/blogpages_fastai/blob/master/_posts/2021-11-10-autodiff.md",
        {
            "quotient": "the difference quotient, printed with f(h) for f(x)",
            "accuracy": "an operation's rule tested to 10⁻⁶",
            "soft-relu": "the formula of the derivative of two soft ReLUs",
            "forward-trace": "the forward trace of ln x₁ + x₁x₂ + sin x₂",
            "seed": "the seed (1, 0), printed as the point",
            "reverse-trace": "the reverse trace of the same function",
            "algorithm": "the algorithm on x₁ … x₄, step by step",
            "node-op": "`Node`, `Op.compute`, `Op.gradient`, `AddOp`",
            "constants": "`x + 5`, `5 + x`, `3 * x`: the number is kept in `const_attr`",
            "matmul": "`MatMulOp` with `trans_A` and `trans_B`",
            "executor": "`Executor.run(feed_dict)`",
            "gradients": "`gradients()`, also for a node without influence",
            "ones-like": "`oneslike`: the seed means the sum of all elements",
        },
    ),
}
EXAMPLES = [f"{key}/{name}" for key, document in DOCUMENTS.items() for name in document.examples]


# ---------------------------------------------------------------------------------------- comparing


def shows(example: str, found: Any, expected: Any, within: float = 0.0, differs: str = "") -> None:
    """Compare what the engine gave with what a document's example promises, and print a line about
    it.

    found, expected: numbers, booleans, texts, arrays, tensors, or (nested) lists, tuples and
    dictionaries of them, alike in structure. within: |found − expected| ≤ within · max(1,
    |expected|) for each number; 0 asks for equal numbers. differs: why the lesson's example is not
    the document's, to the letter; it stands in the table.

    Raises KeyError for an example that no document has, AssertionError where the two are not as
    near as that.
    """
    document, name = example.split("/")
    title = DOCUMENTS[document].examples[name]
    worst = _distance(found, expected, example, within)
    near = (
        "equal" if not within else f"the difference is {worst:.1e}, at most {within:g} was allowed"
    )
    print(f"✓ {re.sub('`', '', title)}: {near}")
    if differs:
        print(f"  differs from the document: {differs}")


def _distance(found: Any, expected: Any, where: str, within: float) -> float:
    """The largest difference of two nested structures, relative where numbers are larger than 1.
    Raises AssertionError.
    """
    found, expected = _plain(found), _plain(expected)
    if isinstance(expected, dict):
        assert isinstance(found, dict) and found.keys() == expected.keys(), (
            f"{where}: {found} is not {expected}"
        )
        return max(
            (_distance(found[k], v, f"{where}[{k!r}]", within) for k, v in expected.items()),
            default=0.0,
        )
    if isinstance(expected, list | tuple) and not isinstance(found, np.ndarray):
        assert isinstance(found, list | tuple) and len(found) == len(expected), (
            f"{where}: {found} is not {expected}"
        )
        pairs = enumerate(zip(found, expected, strict=True))
        return max((_distance(a, b, f"{where}[{i}]", within) for i, (a, b) in pairs), default=0.0)
    if isinstance(expected, str | bool | None):
        assert type(found) is type(expected) and found == expected, (
            f"{where}: {found!r} is not {expected!r}"
        )
        return 0.0
    a, b = np.asarray(found), np.asarray(expected)
    assert a.shape == b.shape, f"{where}: the shape {a.shape} is not {b.shape}"
    if not a.size:
        return 0.0
    off = np.max(np.abs(a - b) / np.maximum(1.0, np.abs(b)))
    assert off <= within, (
        f"{where}: {found} is not {expected} within {within:g}"
    )  # NaN is not near to anything
    return float(off)


def _plain(value: Any) -> Any:
    """A tensor as an array, a NumPy boolean as Python's; anything else as it is."""
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    return bool(value) if isinstance(value, np.bool_) else value


# ---------------------------------------------------------------------------------------- the table


@dataclass(frozen=True)
class ShownExample:
    """A call of `shows`: the example, the notebook and cell, the heading above it, what was
    allowed, and why it differs.
    """

    example: str
    notebook: str
    cell: str
    heading: str
    within: float
    differs: str


def notebooks(folder: Path = LESSONS) -> list[Path]:
    """All notebooks of the course."""
    return sorted(folder.glob("*.ipynb"))


def shown_in(path: Path) -> list[ShownExample]:
    """The calls of `shows` in a notebook, from top to bottom. Raises ValueError for a call whose
    example is not written out.
    """
    found, heading = [], ""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            heading = (re.findall(r"^#{2,3} (.*)$", source, re.MULTILINE) or [heading])[-1]
            continue
        for call in _calls(source):
            positional = zip(
                ("example", "found", "expected", "within", "differs"), call.args, strict=False
            )
            given = {k.arg: k.value for k in call.keywords} | dict(positional)
            example, within, differs = (
                ast.literal_eval(given[k]) if k in given else d for k, d in DEFAULTS.items()
            )
            if example not in EXAMPLES:
                raise ValueError(
                    f"{path.name}, cell {cell['id']}: no document has the example {example!r}"
                )
            found.append(
                ShownExample(example, path.name, cell["id"], heading, float(within), str(differs))
            )
    return found


DEFAULTS = {"example": "", "within": 0.0, "differs": ""}


def _calls(source: str) -> Iterator[ast.Call]:
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a cell with a line of IPython's own
        return
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "shows"
        ):
            yield node


def taught(folder: Path = LESSONS) -> dict[str, list[tuple[str, str]]]:
    """For each example the cells of other lessons that name it in their metadata: (notebook,
    cell).
    """
    found: dict[str, list[tuple[str, str]]] = {example: [] for example in EXAMPLES}
    for path in notebooks(folder):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for example in cell["metadata"].get("minigrad", {}).get("document", []):
                found[example].append((path.name, cell["id"]))
    return found


def missing(folder: Path = LESSONS) -> list[str]:
    """The examples that no cell runs."""
    there = {shown.example for path in notebooks(folder) for shown in shown_in(path)}
    return [example for example in EXAMPLES if example not in there]


def table(folder: Path = LESSONS) -> str:
    """The page: for each document its title, author and address, and a row for each of its
    examples.
    """
    every = [shown for path in notebooks(folder) for shown in shown_in(path)]
    taught_in = taught(folder)
    count = len({shown.example for shown in every})
    lines = [
        HEAD.format(
            count=count, total=len(EXAMPLES), differ=len({s.example for s in every if s.differs})
        )
    ]
    for key, document in DOCUMENTS.items():
        lines += [
            f"## {document.title}",
            "",
            f"{document.author}: <{document.address}>",
            "",
            "| example | run in | compared | agrees? |",
            "|---|---|---|---|",
        ]
        for name, title in document.examples.items():
            calls = [shown for shown in every if shown.example == f"{key}/{name}"]
            places = "; ".join(dict.fromkeys(_place(shown) for shown in calls)) or "**nowhere**"
            also = sorted({notebook for notebook, _ in taught_in[f"{key}/{name}"]})
            if also:
                places += "; taught in " + ", ".join(f"[{_short(n)}]({n})" for n in also)
            within = ", ".join(dict.fromkeys(_tolerance(s.within) for s in calls))
            differs = " ".join(
                dict.fromkeys(f"{s.differs[0].upper()}{s.differs[1:]}." for s in calls if s.differs)
            )
            lines.append(f"| {title} | {places} | {within} | {differs or 'agrees'} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _tolerance(within: float) -> str:
    """How it was compared: "within 0.002", "within 10⁻⁶" or "equal"."""
    if not within:
        return "equal"
    digits, _, power = f"{within:g}".partition("e")
    if not power:
        return f"within {digits}"
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"within 10{raised}" if digits == "1" else f"within {digits} · 10{raised}"


def _place(shown: ShownExample) -> str:
    return (
        f"[{_short(shown.notebook)}]({shown.notebook}#{anchor(shown.heading)}), cell `{shown.cell}`"
    )


def _short(notebook: str) -> str:
    stem = notebook.removesuffix(".ipynb")
    return (
        f"lesson {stem.partition('_')[0].lstrip('0')}"
        if stem[:2].isdigit()
        else stem.removeprefix("documents_").replace("_", " ")
    )


HEAD = """\
# The documents, example by example

This project implements what five documents describe, and the lessons walk through their examples. \
Each row below names an example, the cell
that runs it, and how close its numbers must be to the document's \
(relative to the number, or absolutely if it is below 1). Where
the document is wrong, or our example differs, the row says why. \
{count} of {total} examples are run; {differ} of them differ in some respect.
Each cell compares its own result: a number that is off stops the notebook. \
The examples are their authors'; the text and the code of the lessons
were written for this course.

*This page is generated by* `python -m minigrad.lessons.documents`.
"""


def main(arguments: list[str]) -> None:
    """Writes the page, or checks it. Raises SystemExit with what is missing."""
    page = table()
    if "--check" not in arguments:
        PAGE.write_text(page, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
        raise SystemExit(
            "lessons/documents.md is not what the notebooks say: run python -m"
            " minigrad.lessons.documents"
        )
    if absent := missing():
        raise SystemExit(f"no cell runs {', '.join(absent)}")
    print(f"{len(EXAMPLES)} of {len(EXAMPLES)} examples are run in a lesson")


if __name__ == "__main__":
    main(sys.argv[1:])
