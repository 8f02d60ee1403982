"""The memory behind tensors, for copies that keep sharing: deepcopy, pickle and `mg.save`.

Tensors that look into one piece of memory (x, x[1:], x.T) have one `Storage`. It is copied once,
and each tensor's copy looks into the copied memory as the tensor does into the original: at the
same offset, with the same shape and strides.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

from . import backend
from .backend import Array, DType, Shape
from .core.graph import Version
from .core.tensor import Tensor, wrap

Place = tuple[int, Shape, Shape, DType]
"""Where an array lies in a storage: offset in bytes, shape, strides in bytes, dtype."""


class Storage:
    """A piece of host memory. memory: its bytes, an array of one axis; version: the counter of
    the tensors made by `tensor`.
    """

    __slots__ = ("__weakref__", "memory", "version")

    def __init__(self, memory: Array) -> None:
        self.memory = memory
        self.version: Version | None = None

    def tensor(self, place: Place) -> Tensor:
        """A constant tensor at a place of this memory; all of them share a version counter."""
        if self.version is None:
            self.version = Version()
        out = wrap(backend.array_in_storage(self.memory, *place))
        out.version = self.version
        return out

    def __deepcopy__(self, memo: dict[int, Any]) -> Storage:
        return Storage(self.memory.copy())

    def __reduce__(self) -> Any:
        return _loaded, (self.memory,)


def _loaded(memory: Array) -> Storage:
    return Storage(memory if backend.is_writable(memory) else memory.copy())


_storages: WeakValueDictionary[int, Storage] = WeakValueDictionary()
"""The storages in use, by the id of the array that owns their memory. Their `memory` keeps that
array alive.
"""


def storage_of(array: Array) -> tuple[Storage, Place]:
    """The storage of a host array, and the array's place in it. While a storage is in use, all
    arrays in its memory get the same one.
    """
    root, memory, place = backend.storage_of(array)
    storage = _storages.get(id(root))
    if storage is None:
        storage = Storage(memory)
        _storages[id(root)] = storage
    return storage, place
