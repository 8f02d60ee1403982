"""`viz.save`: a Trace, what shows one, or a training, in the format of the file's ending."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minigrad.viz import export
from minigrad.viz.reading import check


@functools.wraps(export.save)
def save(trace: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    if isinstance(trace, Mapping):
        return export.save(trace, path, **options)
    from minigrad.viz.training.saving import history_of, save_history

    if (history := history_of(trace)) is not None:
        return save_history(history, path, options)
    if callable(getattr(trace, "save", None)):
        return Path(trace.save(path, **options))
    return export.save(check(trace), path, **options)  # the check raises
