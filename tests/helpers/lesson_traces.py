"""The Traces that a lesson's cells make (by the engine) and show (by viz), kept while the lesson is
executed.

`collect` gives them. As an extension of IPython, this module keeps them as files made-001.json …
and shown-001.json … in the folder that the environment variable lesson_runs.TRACES names.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.helpers import lesson_runs
from tests.helpers.lesson_runs import NOTEBOOKS

__all__ = ["NOTEBOOKS", "collect"]


@functools.cache
def collect(notebook: Path) -> dict[str, list[dict]]:
    """{"made": Traces that the engine wrote, "shown": documents that viz was given} of one
    notebook as students get it. Fails where a cell does.
    """
    folder = lesson_runs.run(notebook, "students")
    return {
        kind: [
            json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(folder.glob(f"{kind}-*.json"))
        ]
        for kind in ("made", "shown")
    }


def load_ipython_extension(shell: Any) -> None:
    """Called by IPython before the first cell."""
    import minigrad.watch
    from minigrad import viz
    from minigrad.trace.schema import to_json

    folder, count = Path(os.environ[lesson_runs.TRACES]), {"made": 0, "shown": 0}

    def keep(kind: str, document: Any) -> None:
        count[kind] += 1
        document = {
            key: value for key, value in document.items() if key != "layout"
        }  # it is viz's own
        (folder / f"{kind}-{count[kind]:03}.json").write_text(to_json(document), encoding="utf-8")

    engine = minigrad.watch.trace_function

    @functools.wraps(engine)
    def traced(*args: Any, **options: Any) -> Any:
        document = engine(*args, **options)
        keep("made", document)
        return document

    def kept(lay_out: Any) -> Any:
        def shown(document: Any) -> Any:
            keep("shown", document)
            return lay_out(document)

        return shown

    for module in (viz.page, viz.trace_frame):
        module.placed = kept(module.placed)
    for module in (sys.modules["minigrad.viz.compare"], sys.modules["minigrad.viz.sliders"]):
        module.with_layout = kept(module.with_layout)

    def before_a_cell(info: Any) -> None:
        for module in list(sys.modules.values()):
            if (
                vars(module).get("trace_function") is engine
                and module.__name__ != "minigrad.watch.trace"
            ):
                module.trace_function = traced

    shell.events.register("pre_run_cell", before_a_cell)
