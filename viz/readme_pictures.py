"""`python -m minigrad.viz.readme_pictures FOLDER`: README's pictures, drawn by the engine."""

from __future__ import annotations

import sys
from copy import deepcopy
from pathlib import Path

from minigrad.viz.compare import Comparison
from minigrad.viz.export import save
from minigrad.viz.svg import to_svg
from minigrad.viz.training.figure import draw_curves
from minigrad.viz.training.live import Live

import minigrad as mg
from minigrad.core.tensor import Tensor
from minigrad.trace.schema import Trace
from minigrad.watch import trace_function

MOST_BYTES = 300_000
"""What a picture may weigh."""


def f(x1: Tensor, x2: Tensor) -> Tensor:
    """The function of lesson 1."""
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


def reverse_pass() -> Trace:
    """The Trace of the film."""
    return trace_function(f, 2.0, 5.0, mode="reverse", title="ln x1 + x1 · x2 − sin x2")


def stepper(path: Path, dark: bool = False) -> Path:
    """Reverse mode, one step after the other, as a film."""
    return save(reverse_pass(), path, size=(900, 440), fps=1.5, dark=dark)


def network(path: Path) -> Path:
    """A network of two layers at the end of its reverse pass."""

    def loss(x: Tensor, W1: Tensor, W2: Tensor) -> Tensor:
        return ((mg.tanh(x @ W1) @ W2) ** 2).sum()

    arguments = [[1.0, -0.5]], [[0.5, -1.0, 0.25], [1.0, 0.75, -0.5]], [[1.0], [-0.5], [0.75]]
    trace = trace_function(loss, *arguments, mode="reverse")
    path.write_text(to_svg(trace, len(trace["steps"]) - 1), encoding="utf-8")
    return path


def comparison(path: Path) -> Path:
    """An engine that overwrites where it should add, beside the right one, at the step where it
    does so first.
    """
    right = trace_function(f, 2.0, 5.0, mode="reverse")
    first = next(k for k, step in enumerate(right["steps"], 1) if step["phase"] == "accumulate")
    return Comparison(right, _overwriting(right), ("minigrad", "yours"), step=first).save(
        path, dark=None
    )


def _overwriting(trace: Trace) -> Trace:
    wrong = deepcopy(trace)
    for step in wrong["steps"]:
        if step["phase"] == "accumulate":
            step["writes"][0][2] = step["contribs"][0]["product"]
    return wrong


def training(path: Path, dark: bool = False) -> Path:
    """The two moons: loss, accuracy and decision surface of a training of 60 epochs."""
    mg.manual_seed(0)
    points, labels = mg.data.two_moons(160)[:]
    model = mg.nn.Sequential(mg.nn.Linear(2, 16), mg.nn.Tanh(), mg.nn.Linear(16, 2))
    optimizer = mg.optim.Adam(model.parameters(), lr=0.05)
    with Live(model=model, points=points, labels=labels, share=None, show=False) as live:
        for _ in range(60):
            logits = model(points)
            loss = mg.nn.functional.cross_entropy(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right = (logits.argmax(1) == labels).numpy().mean()
            live.log(loss=loss.item(), accuracy=float(right))
    return draw_curves(live.history, path, dark=dark)


DRAWINGS = {"network.svg": network, "comparison.svg": comparison}
"""Pictures that follow the reader's preference for light or dark by themselves."""

IN_BOTH = {"stepper.webp": stepper, "training.png": training}
"""Pictures of pixels, of which there are two."""


def dark_name(name: str) -> str:
    """The file of a picture for dark pages."""
    return f"{Path(name).stem}_dark{Path(name).suffix}"


def main(arguments: list[str]) -> int:
    """Writes the pictures into a folder."""
    folder = Path(arguments[0] if arguments else ".")
    folder.mkdir(parents=True, exist_ok=True)
    made = [draw(folder / name) for name, draw in (DRAWINGS | IN_BOTH).items()]
    made += [draw(folder / dark_name(name), dark=True) for name, draw in IN_BOTH.items()]
    for path in made:
        print(f"{path}: {path.stat().st_size:,} bytes", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
