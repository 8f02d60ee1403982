"""Files of plain data: nested dicts, lists and tuples of numbers, strings, None, arrays and
tensors, in NumPy's .npz format.

save(value, file), load(file)     what users keep: mg.save(model.state_dict(), "model.npz")
write(path, state, kind)          the file of a run (training/), which is whole at every moment
read(path, kind)                  its inverse

One member of the file is JSON, the others are arrays by name. Types, keys and every bit of every
number come back. No pickle: reading a file runs none of its contents. Equal values give the same
bytes.

What is one tensor comes back as one tensor, and tensors that share memory share memory again, which
is written once.

Never a broken file: `write` fills a second file beside the first, makes the disk keep it, and only
then gives it the first one's name, which file systems do at one stroke. Whoever is interrupted
before has the old file, afterwards the new one.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from . import backend
from .core.tensor import Leaf, Tensor, make_leaf, wrap
from .storage import Place, Storage

DATA, RUN = "minigrad.data", "minigrad.training"
KINDS = {DATA: "file that mg.save wrote", RUN: "saved run"}
"""What a file says that it holds, and how it is called in messages."""
CURES = {DATA: "", RUN: ": take an older copy, or delete it to start again"}
VERSION = 2
META = "meta.json"

PLAIN = (str, int, type(None))  # JSON gives these back as they are (bool is an int)


class CheckpointError(RuntimeError):
    """A file cannot be written, read or taken up: the message names the file, the part, and what
    to do. Nothing was changed. (The error of recomputation in a backward pass has this name too:
    `minigrad.autograd.checkpoint.CheckpointError`.)
    """


# ---------------------------------------------------------------------------------- what users keep


def save(value: Any, file: str | os.PathLike[str] | BinaryIO) -> None:
    """Write tensors, and dicts, lists and tuples of them and of plain data, to a file that `load`
    reads: `save(model.state_dict(), path)`.

    file: a path, whose file is replaced at one stroke, or an open binary file. Tensors on any
    device are written as their values; one that requires grad must be a leaf, and comes back as
    one. Tensors that share memory share it again when they are read. NumPy's `load` reads the
    arrays too, by names like "layer1.weight"; shared memory is there once, under the name of the
    first tensor that fills it.
    No pickle: what is no plain data (a Module, a function) raises CheckpointError, which names its
    place.
    """
    write(file if _is_open(file, "write") else Path(file), value, DATA)  # type: ignore[arg-type]


def load(
    file: str | os.PathLike[str] | BinaryIO,
    map_location: str | None = None,
    *,
    weights_only: bool = True,
) -> Any:
    """What `save` wrote, or the tensors by name of any other .npz file (Module.save's, NumPy's).

    map_location: the device of all its tensors, the CPU by default (on another device, different
    views of one memory become separate). Arrays come back as arrays. weights_only: PyTorch's switch
    against pickle; there is none here, so both values do the same. Raises CheckpointError for a
    damaged file or one of another kind.
    """
    opened = _is_open(file, "read")
    value = read(file if opened else Path(file), DATA)  # type: ignore[arg-type]
    return (
        value if map_location in (None, "cpu") else _moved(value, backend.Device(map_location), {})
    )


def _is_open(file: Any, method: str) -> bool:
    if isinstance(file, str | os.PathLike) or hasattr(file, method):
        return hasattr(file, method)
    swapped = " save takes the value first, then the file." if method == "write" else ""
    raise TypeError(
        f"{'save' if method == 'write' else 'load'}: file must be a path or an open binary file,"
        f" got {type(file).__name__}.{swapped}"
    )


def _moved(value: Any, device: str, known: dict[int, Tensor]) -> Any:
    if isinstance(value, Tensor):
        if id(value) not in known:
            moved = wrap(backend.to_device(value.array, device))
            known[id(value)] = moved if value.node is None else _leaf(moved)
        return known[id(value)]
    if isinstance(value, dict):
        return {k: _moved(v, device, known) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_moved(v, device, known) for v in value)
    return value


def _leaf(tensor: Tensor) -> Tensor:
    make_leaf(tensor)
    return tensor


# ---------------------------------------------------------------------------------- data and arrays


class _Memories:
    """Which tensors of a value share memory.

    numbers: the number of each tensor that is encoded, by its id; tensors: the array, the bytes of
    its memory and its place there for each different tensor, by its id; groups: the ids of the
    tensors in one memory, by the id of the array that owns it;
    names: of those memories that are among the arrays, by the same id.
    """

    def __init__(self, value: Any) -> None:
        self.numbers: dict[int, int] = {}
        self.tensors: dict[int, tuple[Any, int, Any, Place]] = {}
        self.groups: dict[int, list[int]] = {}
        self.names: dict[int, str] = {}
        self._roots: list[Any] = []
        self._look(value)

    def _look(self, value: Any) -> None:
        if isinstance(value, Tensor):
            if id(value) not in self.tensors:
                array = backend.materialise(backend.to_numpy(value.array))
                root, memory, place = backend.storage_of(array)
                self._roots.append(root)  # kept, so that its id stays its own
                self.tensors[id(value)] = array, id(root), memory, place
                self.groups.setdefault(id(root), []).append(id(value))
        elif isinstance(value, dict):
            for part in value.values():
                self._look(part)
        elif isinstance(value, list | tuple):
            for part in value:
                self._look(part)

    def encode(self, tensor: Tensor, where: str, arrays: dict[str, Any]) -> Any:
        """The array of a tensor that comes for the first time: alone, or as a place in a memory."""
        self.numbers[id(tensor)] = len(self.numbers)
        array, root, memory, (offset, shape, strides, dtype) = self.tensors[id(tensor)]
        if len(self.groups[root]) == 1 and (array.flags.forc or not backend.is_dense(array)):
            return _encode_array(array, where, arrays)
        if root not in self.names:
            self.names[root] = self._stored(root, memory, where, arrays)
        return {"placed": [self.names[root], offset, list(shape), list(strides), dtype.name]}

    def _stored(self, root: int, memory: Any, where: str, arrays: dict[str, Any]) -> str:
        """The name under which a memory is among the arrays from now on."""
        array = self.tensors[self.groups[root][0]][0]
        if not (array.flags.c_contiguous and array.nbytes == memory.nbytes):
            array = memory
        found = _encode_array(array, where, arrays)
        return str(found.get("bfloat16", found)["array"])


def encode(
    value: Any, where: str, arrays: dict[str, Any], memories: _Memories | None = None
) -> Any:
    """`value` as JSON data; its arrays go into `arrays`, by the path `where` that leads to them.

    What JSON does not know becomes an object of one member that says what it is: {"tuple": […]},
    {"array": "model/values/weight"}, {"again": 2} for the tensor that came as number 2, {"placed":
    […]} for a place in an array that several tensors share. Raises CheckpointError, naming the
    path, for what cannot be written as plain data.
    """
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) is bool or type(value) in PLAIN:
        return value
    if memories is None:
        memories = _Memories(value)
    if type(value) is complex:
        return {"complex": [encode(value.real, where, arrays), encode(value.imag, where, arrays)]}
    if isinstance(value, list):
        return [encode(v, f"{where}/{i}", arrays, memories) for i, v in enumerate(value)]
    if type(value) is tuple:
        return {"tuple": [encode(v, f"{where}/{i}", arrays, memories) for i, v in enumerate(value)]}
    if isinstance(value, dict):
        named = ((k, f"{where}/{k}" if where else str(k), v) for k, v in value.items())
        return {
            "dict": [
                [_encode_key(k, where), encode(v, name, arrays, memories)] for k, name, v in named
            ]
        }
    if isinstance(value, Tensor):
        if value.tangents or not isinstance(value.node, Leaf | None):
            raise CheckpointError(
                f"{where} is a tensor with a history, whose graph cannot be saved. Keep x.item() or"
                " x.detach()."
            )
        if id(value) in memories.numbers:
            return {"again": memories.numbers[id(value)]}
        return {"tensor" if value.node is None else "leaf": memories.encode(value, where, arrays)}
    if isinstance(value, backend.numpy.generic) and type(value.item()) in (
        bool,
        int,
        float,
        complex,
    ):
        return {"scalar": [value.dtype.name, encode(value.item(), where, arrays)]}
    if type(value) in backend.MODULES and backend.MODULES[type(value)] is not None:
        return _encode_array(backend.to_numpy(value), where, arrays)
    raise CheckpointError(
        f"{where or 'the value'} is of type {type(value).__name__}, which cannot be saved as plain"
        " data. "
        + (
            "Save its state_dict()."
            if hasattr(value, "state_dict")
            else "Use numbers, strings, lists, dicts, arrays."
        )
    )


def _encode_key(key: Any, where: str) -> Any:
    if isinstance(key, str | int | float | tuple | None):
        return encode(key, f"a key of {where}", {})
    raise CheckpointError(
        f"{where} is a dict with a key of type {type(key).__name__}. Use strings and numbers as"
        " keys."
    )


def _encode_array(array: Any, where: str, arrays: dict[str, Any]) -> Any:
    if array.dtype.name == "bfloat16":  # a type from outside NumPy; its bits are those of a uint16
        return {"bfloat16": _encode_array(array.view("uint16"), where, arrays)}
    if array.dtype.kind not in "biufc":
        raise CheckpointError(
            f"{where} is an array of dtype {array.dtype}, which cannot be saved as plain numbers."
        )
    # the names of members of a zip file, which cannot be all that keys can
    readable = re.sub(r"[^\w./ -]", "_", where)
    name, number = readable, 2
    while name in arrays or name == META or name.endswith(".npy"):
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


class _CheckpointArrays(dict[str, Any]):
    """The arrays of a file by name, and what was decoded of them: the tensors in turn, and the
    storages by the name of the array.
    """

    def __init__(self, arrays: dict[str, Any]) -> None:
        super().__init__(arrays)
        self.tensors: list[Tensor] = []
        self.storages: dict[str, Storage] = {}


def _decode_tensor(data: Any, arrays: Any) -> Tensor:
    if isinstance(data, dict) and "placed" in data:
        name, offset, shape, strides, dtype = data["placed"]
        if name not in arrays.storages:
            arrays.storages[name] = Storage(
                backend.numpy.array(arrays[name], order="C").reshape(-1).view("uint8")
            )
        known = backend.bfloat16_dtype() if dtype == "bfloat16" else backend.numpy.dtype(dtype)
        tensor: Tensor = arrays.storages[name].tensor((offset, tuple(shape), tuple(strides), known))
    else:
        tensor = wrap(_decode_array(data, arrays))
    arrays.tensors.append(tensor)
    return tensor


def _decode_array(data: Any, arrays: dict[str, Any]) -> Any:
    """The array that `data` stands for. Raises TypeError for what is none."""
    array = decode(data, arrays)
    if not isinstance(array, backend.NumpyArray):
        raise TypeError(f"{type(array).__name__} in the place of an array")
    return array


DECODERS: dict[str, Callable[[Any, Any], Any]] = {
    "float": lambda inner, arrays: float(inner),
    "complex": lambda inner, arrays: complex(*decode(inner, arrays)),
    "tuple": lambda inner, arrays: tuple(decode(inner, arrays)),
    "dict": lambda inner, arrays: {decode(k, arrays): decode(v, arrays) for k, v in inner},
    "tensor": _decode_tensor,
    "leaf": lambda inner, arrays: _leaf(_decode_tensor(inner, arrays)),
    "again": lambda inner, arrays: arrays.tensors[inner],
    "scalar": lambda inner, arrays: backend.numpy.dtype(inner[0]).type(decode(inner[1], arrays)),
    "bfloat16": lambda inner, arrays: _decode_array(inner, arrays).view(backend.bfloat16_dtype()),
    "array": lambda inner, arrays: arrays[inner].copy("K"),
}

# ----------------------------------------------------------------------------------------- the file


def write(file: Path | BinaryIO, value: Any, kind: str) -> None:
    """Replace the file at a path by one that holds `value`; until that one is whole, and whatever
    happens, the old one stays. An open file is written from where it is.

    Raises CheckpointError for what cannot be saved, OSError where the disk refuses.
    """
    arrays: dict[str, Any] = {}
    meta = {"format": kind, "version": VERSION, "state": encode(value, "", arrays)}
    text = json.dumps(meta, ensure_ascii=False, allow_nan=False).encode()
    members = {META: backend.numpy.frombuffer(text, "uint8"), **arrays}
    if not isinstance(file, Path):
        return backend.save_arrays(file, members)
    beside = file.with_name(file.name + ".part")
    with open(beside, "wb") as part:
        backend.save_arrays(part, members)
        part.flush()
        os.fsync(part.fileno())
    os.replace(beside, file)
    if hasattr(os, "O_DIRECTORY"):  # the new name is kept on disk too
        folder = os.open(file.parent, os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read(file: Path | BinaryIO, kind: str) -> Any:
    """The value in a file of this kind, or for DATA the tensors of a file of arrays only.

    Raises CheckpointError for a file that is damaged, of another kind, or of a later version.
    """
    try:
        arrays = backend.load_arrays(file)
    except ValueError as error:
        raise CheckpointError(
            f"{error}. The file is damaged or of another kind{CURES[kind]}."
        ) from None
    if META not in arrays:
        if kind == DATA:
            return {name: wrap(array) for name, array in arrays.items()}
        raise CheckpointError(
            f"{file} is no {KINDS[kind]}: it holds arrays only. Parameters that Module.save wrote"
            " are read by Module.load."
        )
    try:
        meta = json.loads(bytes(arrays[META]).decode())
        found, version, state = meta["format"], meta["version"], meta["state"]
        later = version > VERSION
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(
            f"{file} cannot be read: its description is damaged ({error!r})."
        ) from None
    if found != kind:
        raise CheckpointError(f"{file} is no {KINDS[kind]}: its format is {found!r}, not {kind!r}.")
    if later:
        raise CheckpointError(
            f"{file} has version {version}; this minigrad reads versions up to {VERSION}. Use the"
            " newer minigrad that wrote it."
        )
    try:
        return decode(state, _CheckpointArrays(arrays))
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError) as error:
        raise CheckpointError(
            f"{file} cannot be read: it is damaged, or needs a package that is missing here"
            f" ({error!r})."
        ) from error
