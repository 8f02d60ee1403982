"""`python -m benchmarks.trainings disc|digits`: runs a training of the documents and prints its
figures.

As in `python -m benchmarks`, threads are set before anything is imported that might load a
linear-algebra library.
"""

import argparse
import importlib.util
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import command, machine


def main(argv: list[str]) -> int:
    parser = command.parser("trainings", __doc__)
    commands = parser.add_subparsers(dest="name", required=True, metavar="disc|digits")
    disc = commands.add_parser(
        "disc", help="Autogradlib's 2-25-25-25-2 network, against PyTorch where it is installed"
    )
    disc.count("--repeats", 20, "trainings of each engine")
    disc.count("--epochs", 500, "passes over the data")
    disc.add_argument(
        "--curves",
        type=Path,
        metavar="DIR",
        help="draw the learning curves there, as trainings_disc.png",
    )
    digits = commands.add_parser(
        "digits", help="SINGA's convolutional network on scikit-learn's digits"
    )
    digits.count("--epochs", 8, "passes over the data")
    digits.count("--seed", 0, "of parameters, split and batches", least=0)
    digits.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="keep the run there after each epoch, and go on from there",
    )
    for training in (disc, digits):
        training.threads()
        training.copy("trainings.md")
    options = parser.parse_args(argv)
    machine.limit_threads(options.threads)

    from benchmarks import harness, report

    harness.set_torch_threads(options.threads)
    facts = machine.describe(options.threads, parser.prog, *argv)
    print(report.heading(facts), flush=True)
    figures = _disc(options) if options.name == "disc" else _digits(options)
    print(figures)
    if options.out:
        heading = f"{report.heading(facts)}  \n`{facts['command']}`"
        print("wrote", keep(options.out, options.name, f"{heading}\n\n{figures}"))
    return 0


def _disc(options: argparse.Namespace) -> str:
    import minigrad
    from benchmarks.trainings import disc

    engines: dict[str, Any] = {"minigrad": minigrad}
    if importlib.util.find_spec("torch"):
        import torch

        engines["torch"] = torch
    results = disc.run(
        engines,
        options.repeats,
        options.epochs,
        lambda repeats: minigrad.training.progress(repeats, unit="repeat"),
    )
    if options.curves:
        options.curves.mkdir(parents=True, exist_ok=True)
        disc.draw_curves(results["minigrad"], options.curves / "trainings_disc.png")
        print(f"drew {options.curves / 'trainings_disc.png'}")
    return disc.report(results, options.epochs)


def _digits(options: argparse.Namespace) -> str:
    from benchmarks.trainings import digits

    start = perf_counter()
    accuracy = digits.train(options.epochs, options.seed, save=options.save)
    return digits.report(options.epochs, accuracy, perf_counter() - start)


def keep(folder: Path, name: str, text: str) -> Path:
    """Put `text` under the heading `name` in the folder's trainings.md; the other trainings'
    sections stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "trainings.md"
    sections = {}
    if path.exists():
        for section in ("\n" + path.read_text(encoding="utf-8")).split("\n## ")[1:]:
            heading, _, rest = section.partition("\n")
            sections[heading] = rest.strip()
    sections[name] = text.strip()
    path.write_text(
        "\n\n".join(f"## {heading}\n\n{sections[heading]}" for heading in sorted(sections)) + "\n",
        encoding="utf-8",
    )
    return path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
