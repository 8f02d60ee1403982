"""How figures are shown and kept: a Markdown table for people, and JSON with every single time for whoever wants to look again."""

import json
from pathlib import Path
from typing import Any

from benchmarks.harness import REFERENCE, Result, quartiles

HOW = "warm: short runs are repeated within a round, and the heap is collected and frozen once, before the first"


def heading(facts: dict[str, Any]) -> str:
    """The machine and the versions in two lines."""
    gpu = f", {facts['gpu']}" if facts.get("gpu") else ""
    versions = ", ".join(f"{name} {version or 'not installed'}" for name, version in facts["versions"].items())
    return (
        f"{facts['date']}, {facts['cpu']}{gpu}, {facts['cores']} cores, {facts['threads']} thread(s), load {facts['load']} at the start  \n"
        f"Python {facts['python']}, {versions}"
    )


def table(results: list[Result]) -> str:
    """A Markdown table for each workload: median time with quartiles, the median ratio to PyTorch with quartiles, and the memory's peak."""
    parts = []
    for result in results:
        rounds = len(next(iter(result.timings.values())).seconds)
        lines = [
            f"\n### {result.workload.name}",
            f"{result.workload.title}. One run is {result.workload.unit}; {rounds} rounds; results agree to {result.difference:.1e}.\n",
            f"| engine | median | quartiles | ratio to {REFERENCE} | quartiles | peak memory |",
            "|---|---|---|---|---|---|",
        ]
        for name, timing in result.timings.items():
            low, middle, high = (1000 * figure for figure in quartiles(timing.seconds))
            ratio = "| - | - |"
            if timing.ratios:
                r_low, r_middle, r_high = quartiles(timing.ratios)
                ratio = f"| {r_middle:.2f} | {r_low:.2f} to {r_high:.2f} |"
            lines.append(f"| {name} | {middle:.3f} ms | {low:.3f} to {high:.3f} ms {ratio} {_size(timing.peak)} |")
        lines += [f"| {name} | not installed | - | - | - | - |" for name in result.missing]
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _size(peak: int | None) -> str:
    return "-" if peak is None else f"{peak / 2**20:.1f} MiB"


def write(folder: Path, facts: dict[str, Any], results: list[Result]) -> list[Path]:
    """Keeps one JSON and one Markdown file a workload in `folder`, in place of the ones of an earlier run; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for result in results:
        document = {
            **facts,
            "workload": result.workload.name,
            "title": result.workload.title,
            "unit": result.workload.unit,
            "largest_relative_difference": result.difference,
            "peers": {
                name: {
                    "seconds": dict(zip(("lower_quartile", "median", "upper_quartile"), quartiles(timing.seconds), strict=True)),
                    "ratio_to_torch": dict(zip(("lower_quartile", "median", "upper_quartile"), quartiles(timing.ratios), strict=True))
                    if timing.ratios
                    else None,
                    "peak_bytes": timing.peak,
                    "every_run_seconds": [float(f"{second:.4g}") for second in timing.seconds],
                }
                for name, timing in result.timings.items()
            },
            "not_installed": result.missing,
        }
        stem = folder / f"{result.workload.name}-threads{facts['threads']}"
        for path, text in (
            (stem.with_suffix(".json"), json.dumps(document, indent=1) + "\n"),
            (stem.with_suffix(".md"), f"{heading(facts)}  \n{HOW}  \n`{facts['command']}`\n{table([result])}\n"),
        ):
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written
