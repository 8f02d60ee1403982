"""How figures are shown and kept: a Markdown table for people, and JSON with every single time
for whoever wants to look again.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.harness import REFERENCE, Result, quartiles

WARM = (
    "warm: short runs are repeated within a round, and the heap is collected and frozen once,"
    " before the first"
)
ASLEEP = (
    "before each turn the process sleeps until the threads of the turn before have stopped"
    " spinning, and then one run is not timed"
)


def how(threads: int) -> str:
    """How was timed, in a line: with more than one thread the engines must not disturb each
    other by threads that wait.
    """
    return WARM if threads == 1 else f"{WARM}; {ASLEEP}"


def heading(facts: dict[str, Any]) -> str:
    """The machine and the versions in two lines."""
    gpu = f", {facts['gpu']}" if facts.get("gpu") else ""
    versions = ", ".join(
        f"{name} {version or 'not installed'}" for name, version in facts["versions"].items()
    )
    return (
        f"{facts['date']}, {facts['cpu']}{gpu}, {facts['cores']} cores, {facts['threads']}"
        f" thread(s), load {facts['load']} at the start  \nPython {facts['python']}, {versions}"
    )


def table(results: list[Result]) -> str:
    """A Markdown table for each workload: median time with quartiles, the median ratio to
    PyTorch with quartiles, and the memory's peak.
    """
    parts = []
    for result in results:
        rounds = len(next(iter(result.timings.values())).seconds)
        lines = [
            f"\n### {result.workload.name}",
            (
                f"{result.workload.title}. One run is {result.workload.unit}; {rounds} rounds;"
                f" results agree to {result.difference:.1e}.\n"
            ),
            f"| engine | median | quartiles | ratio to {REFERENCE} | quartiles | peak memory |",
            "|---|---|---|---|---|---|",
        ]
        for name, timing in result.timings.items():
            low, middle, high = (1000 * figure for figure in quartiles(timing.seconds))
            ratio = "| - | - |"
            if timing.ratios:
                r_low, r_middle, r_high = quartiles(timing.ratios)
                ratio = f"| {times(r_middle)} | {times(r_low)} to {times(r_high)} |"
            lines.append(
                f"| {name} | {middle:.3f} ms | {low:.3f} to {high:.3f} ms {ratio}"
                f" {_size(timing.peak)} |"
            )
        lines += [f"| {name} | not installed | - | - | - | - |" for name in result.missing]
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _size(peak: int | None) -> str:
    return "-" if peak is None else f"{peak / 2**20:.1f} MiB"


def write(folder: Path, facts: dict[str, Any], results: list[Result]) -> list[Path]:
    """Keeps one JSON and one Markdown file a workload in `folder`, in place of the ones of an
    earlier run; returns their paths.
    """
    written: list[Path] = []
    for result in results:
        document = {
            **facts,
            "workload": result.workload.name,
            "title": result.workload.title,
            "unit": result.workload.unit,
            "largest_relative_difference": result.difference,
            "peers": {
                name: {
                    "seconds": named_quartiles(timing.seconds),
                    "ratio_to_torch": named_quartiles(timing.ratios) if timing.ratios else None,
                    "peak_bytes": timing.peak,
                    "every_run_seconds": short(timing.seconds),
                }
                for name, timing in result.timings.items()
            },
            "not_installed": result.missing,
        }
        text = (
            f"{heading(facts)}  \n{how(facts['threads'])} "
            f" \n`{facts['command']}`\n{table([result])}\n"
        )
        written += keep(folder, f"{result.workload.name}-threads{facts['threads']}", document, text)
    return written


def times(ratio: float) -> str:
    """A ratio with two decimals, or with two digits where it is small."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def make_folder(parser: argparse.ArgumentParser, folder: Path) -> None:
    """Makes the folder for the figures before minutes are spent on them; ends the command where
    that cannot be.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {folder} cannot be a folder: {error.strerror}")


def keep(folder: Path, stem: str, document: dict[str, Any], text: str) -> list[Path]:
    """Writes `stem`.json and `stem`.md into `folder`, which is made where it is not there;
    returns their paths.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{stem}.json", folder / f"{stem}.md"]
    paths[0].write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    paths[1].write_text(text, encoding="utf-8")
    return paths


def keep_copy(folder: Path | None, name: str, text: str) -> None:
    """Write the figures where the command's `--out` says, if it does."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        print("wrote", folder / name)


def named_quartiles(figures: list[float]) -> dict[str, float]:
    """The quartiles by their names, as the JSON files have them."""
    return dict(
        zip(("lower_quartile", "median", "upper_quartile"), quartiles(figures), strict=True)
    )


def short(figures: list[float]) -> list[float]:
    """Four digits of each: what a clock says beyond that is noise."""
    return [float(f"{figure:.4g}") for figure in figures]
