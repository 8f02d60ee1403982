"""Reading and writing of .npz files, without pickle."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from contextlib import nullcontext
from typing import Any

import numpy as np

from ..errors import DTypeError
from .payload import Array, to_numpy


def save_arrays(path: Any, arrays: dict[str, Array]) -> None:
    """Write arrays by name to a file in NumPy's .npz format: plain numbers, no pickle. The same
    arrays give the same bytes.

    `path` is a name (".npz" is added if missing) or an open file. Raises DTypeError for what is not
    numbers, before anything is written.
    """
    host = {name: np.asarray(to_numpy(array)) for name, array in arrays.items()}
    for name, array in host.items():
        if array.dtype.kind not in "biufc":
            raise DTypeError(
                f"save: {name} has dtype {array.dtype}, which .npz files cannot hold without"
                " pickle. Convert it first, for instance with .float()."
            )
    if not hasattr(path, "write"):
        path = os.fspath(path)
        path += "" if path.endswith(".npz") else ".npz"
    with zipfile.ZipFile(
        path, "w", allowZip64=True
    ) as file:  # as numpy.savez, which cannot hold an array named "file" and writes the time
        for name, array in host.items():
            with file.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def load_arrays(path: Any) -> dict[str, Array]:
    """Read what `save_arrays` wrote. Raises ValueError for a file that is none, is damaged, or
    holds pickled objects (which could run code).
    """
    with open(path, "rb") if isinstance(path, str | os.PathLike) else nullcontext(path) as source:
        try:
            arrays = {}
            with zipfile.ZipFile(source) as file:
                for name in file.namelist():
                    with file.open(name) as member:
                        arrays[name.removesuffix(".npy")] = np.lib.format.read_array(
                            member, allow_pickle=False
                        )
            return arrays
        except DAMAGE as error:
            raise ValueError(
                f"{path} holds no plain arrays by name in the .npz format: {error}"
            ) from None


DAMAGE = (
    ValueError,
    EOFError,
    KeyError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)
"""What reading a damaged .npz file can raise, by where the damage is."""
