"""Run a lesson's notebook without a kernel and keep every Trace that its cells make or show.

    python lesson_traces.py NOTEBOOK FOLDER        writes made-001.json … (by the engine) and shown-001.json … (by viz) into FOLDER

In `collect` the same as a subprocess, so that a notebook has a process of its own, as in Jupyter.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "lessons").glob("*.ipynb"))


@functools.cache
def collect(notebook: Path) -> dict[str, list[dict]]:
    """{"made": Traces that the engine wrote, "shown": documents that viz was given} of one notebook. Fails where a cell does."""
    with tempfile.TemporaryDirectory() as folder:
        own = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg", "IPYTHONDIR": folder}
        done = subprocess.run(
            [sys.executable, __file__, str(notebook), folder], env=own, cwd=folder, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{notebook.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return {
            kind: [json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(folder).glob(f"{kind}-*.json"))]
            for kind in ("made", "shown")
        }


def main(notebook: str, folder: str) -> int:
    from IPython.core.interactiveshell import InteractiveShell

    import minigrad.watch
    import viz.compare
    import viz.page
    import viz.sliders
    from minigrad.trace.schema import to_json

    count = {"made": 0, "shown": 0}

    def keep(kind, document):
        count[kind] += 1
        (Path(folder) / f"{kind}-{count[kind]:03}.json").write_text(to_json(dict(document)), encoding="utf-8")

    engine = minigrad.watch.trace_function

    @functools.wraps(engine)
    def traced(*args, **options):
        document = engine(*args, **options)
        keep("made", document)
        return document

    laid_out = viz.page.with_layout

    def shown(document):
        keep("shown", document)
        return laid_out(document)

    for module in (viz.page, viz.compare, viz.sliders):
        module.with_layout = shown
    shell = InteractiveShell.instance()
    for cell in json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        for module in list(sys.modules.values()):
            if vars(module).get("trace_function") is engine and module.__name__ != "minigrad.watch.trace":
                module.trace_function = traced
        result = shell.run_cell("".join(cell["source"]))
        if not result.success and "raises-exception" not in cell.get("metadata", {}).get("tags", []):
            print("in the cell", cell["id"])
            return 1
        shell.display_formatter.format(result.result)  # a page is made when it is shown
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
