"""Where generated kernels lie: each in a file named by the hash of its text. Numba keeps the
machine code beside it, so the next process compiles nothing.

The folder is `minigrad/kernels` in the user's folder for caches, or what the environment variable
MINIGRAD_KERNELS names; where neither can be written to, one that lasts as long as the process.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..cache_folder import cache_folder, write_whole
from ..errors import ProgramError

DECORATOR = '@njit(cache=True, nogil=True, error_model="numpy")\n'


def need_numba() -> None:
    """Raise ProgramError with advice where Numba is not installed."""
    if importlib.util.find_spec("numba") is None:
        raise ProgramError(
            "kernels on the CPU are compiled by Numba, which is not installed. Get it: pip install"
            ' "minigrad[jit]". Without fuse=True, programs run on NumPy alone.'
        )


@functools.cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="minigrad-kernels-")


def folder() -> Path:
    """The folder of kernels, which is there and can be written to."""
    try:
        path = cache_folder("kernels")
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):
        return Path(_temporary().name)
    return path if os.access(path, os.W_OK) else Path(_temporary().name)


@functools.cache
def compiled(head: str, source: str, name: str) -> Any:
    """The function `kernel` of this text. Numba compiles it when it is first called, or reads its
    machine code from the folder."""
    from . import numba_functions

    functions = Path(numba_functions.__file__).read_bytes()
    text = f"# {name}\n{head}# with functions {hashlib.sha256(functions).hexdigest()[:16]}\n\n\n"
    text += DECORATOR + source
    key = hashlib.sha256(text.encode()).hexdigest()[:24]
    path = folder() / f"k{key}.py"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_whole(path, text)
    module_name = f"minigrad_kernel_{key}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    return module.kernel
