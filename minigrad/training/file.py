"""One file for everything a run needs, whole at every moment: plain data as JSON and arrays by name, in NumPy's .npz format.

`write(path, state)` and `read(path)` are inverses for nested dicts, lists and tuples of numbers, strings, None, arrays, NumPy scalars and
constant tensors. Types, keys and every bit of every number come back. No pickle: reading a file runs none of its contents. The same state
gives the same bytes.

Never a broken file: `write` fills a second file beside the first, makes the disk keep it, and only then gives it the first one's name,
which file systems do at one stroke. Whoever is interrupted before has the old file, afterwards the new one.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import backend
from ..tensor import Tensor, wrap

FORMAT = "minigrad.training"
VERSION = 1
META = "meta.json"

PLAIN = (str, int, type(None))  # JSON gives these back as they are (bool is an int)


class CheckpointError(RuntimeError):
    """A saved run cannot be written or taken up: the message names the file, the part, and what to do. Nothing was changed."""


# ------------------------------------------------------------------------------------------------------------ data and arrays


def encode(value: Any, where: str, arrays: dict[str, Any]) -> Any:
    """`value` as JSON data; its arrays go into `arrays`, by the path `where` that leads to them.

    What JSON does not know becomes an object of one member that says what it is: {"tuple": […]}, {"array": "model/values/weight"}.
    Raises CheckpointError, naming the path, for what cannot be written as plain data.
    """
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) is bool or type(value) in PLAIN:
        return value
    if type(value) is complex:
        return {"complex": [encode(value.real, where, arrays), encode(value.imag, where, arrays)]}
    if isinstance(value, list):
        return [encode(v, f"{where}/{i}", arrays) for i, v in enumerate(value)]
    if type(value) is tuple:
        return {"tuple": [encode(v, f"{where}/{i}", arrays) for i, v in enumerate(value)]}
    if isinstance(value, dict):
        return {"dict": [[_encode_key(k, where), encode(v, f"{where}/{k}" if where else str(k), arrays)] for k, v in value.items()]}
    if isinstance(value, Tensor):
        if value.node is not None or value.tangents:
            raise CheckpointError(f"{where} is a tensor that requires grad, whose graph cannot be saved. Keep x.item() or x.detach().")
        return {"tensor": encode(value.array, where, arrays)}
    if isinstance(value, backend.host.generic) and type(value.item()) in (bool, int, float, complex):
        return {"scalar": [value.dtype.name, encode(value.item(), where, arrays)]}
    if type(value) in backend.MODULES and backend.MODULES[type(value)] is not None:
        return _encode_array(backend.to_numpy(value), where, arrays)
    raise CheckpointError(
        f"{where} is of type {type(value).__name__}, which cannot be saved as plain data. Use numbers, strings, lists, dicts, arrays."
    )


def _encode_key(key: Any, where: str) -> Any:
    if isinstance(key, str | int | float | tuple | None):
        return encode(key, f"a key of {where}", {})
    raise CheckpointError(f"{where} is a dict with a key of type {type(key).__name__}. Use strings and numbers as keys.")


def _encode_array(array: Any, where: str, arrays: dict[str, Any]) -> Any:
    if array.dtype.name == "bfloat16":  # a type from outside NumPy; its bits are those of a uint16
        return {"bfloat16": _encode_array(array.view("uint16"), where, arrays)}
    if array.dtype.kind not in "biufc":
        raise CheckpointError(f"{where} is an array of dtype {array.dtype}, which cannot be saved as plain numbers.")
    readable = re.sub(r"[^\w./ -]", "_", where)  # the names of members of a zip file, which cannot be all that keys can
    name, number = readable, 2
    while name in arrays or name.endswith(".npy"):
        name, number = f"{readable} ({number})", number + 1
    arrays[name] = array
    return {"array": name}


def decode(data: Any, arrays: dict[str, Any]) -> Any:
    """The value that `encode` made `data` of."""
    if isinstance(data, list):
        return [decode(v, arrays) for v in data]
    if not isinstance(data, dict):
        return data
    ((kind, inner),) = data.items()
    return DECODERS[kind](inner, arrays)


DECODERS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "float": lambda inner, arrays: float(inner),
    "complex": lambda inner, arrays: complex(*decode(inner, arrays)),
    "tuple": lambda inner, arrays: tuple(decode(inner, arrays)),
    "dict": lambda inner, arrays: {decode(k, arrays): decode(v, arrays) for k, v in inner},
    "tensor": lambda inner, arrays: wrap(decode(inner, arrays)),
    "scalar": lambda inner, arrays: backend.host.dtype(inner[0]).type(decode(inner[1], arrays)),
    "bfloat16": lambda inner, arrays: decode(inner, arrays).view(backend.bfloat16_dtype()),
    "array": lambda inner, arrays: arrays[inner].copy(),
}

# ------------------------------------------------------------------------------------------------------------------- the file


def write(path: Path, state: Any) -> None:
    """Replace the file at `path` by one that holds `state`; until that one is whole, and whatever happens, the old one stays.

    Raises CheckpointError for what cannot be saved, OSError where the disk refuses.
    """
    arrays: dict[str, Any] = {}
    meta = {"format": FORMAT, "version": VERSION, "state": encode(state, "", arrays)}
    text = json.dumps(meta, ensure_ascii=False, allow_nan=False).encode()
    beside = path.with_name(path.name + ".part")
    with open(beside, "wb") as file:
        backend.save_arrays(file, {META: backend.host.frombuffer(text, "uint8"), **arrays})
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    if hasattr(os, "O_DIRECTORY"):  # the new name is kept on disk too
        folder = os.open(path.parent, os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read(path: Path) -> Any:
    """The state in the file at `path`. Raises CheckpointError for a file that is damaged, of another kind, or of a later version."""
    try:
        arrays = backend.load_arrays(path)
    except ValueError as error:
        raise CheckpointError(f"{error}. The file is damaged or of another kind: take an older copy, or delete it to begin anew.") from None
    if META not in arrays:
        raise CheckpointError(f"{path} is no saved run: it holds arrays only. Parameters that Module.save wrote are read by Module.load.")
    try:
        meta = json.loads(bytes(arrays[META]).decode())
        kind, version, state = meta["format"], meta["version"], meta["state"]
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} cannot be read: its description is damaged ({error!r}).") from None
    if kind != FORMAT:
        raise CheckpointError(f"{path} is no saved run: its format is {kind!r}, not {FORMAT!r}.")
    if version > VERSION:
        raise CheckpointError(
            f"{path} has version {version}; this minigrad reads versions up to {VERSION}. Use the newer minigrad that wrote it."
        )
    try:
        return decode(state, arrays)
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} cannot be read: it is damaged, or needs a package that is missing here ({error!r}).") from error
