"""A device without hardware, to practise on where there is no GPU, and how a student's function is
run on it.

    x = mg.ones(3).to("pretend")         from now on the engine treats its numbers as foreign
    x + mg.ones(3)                       DeviceError: both devices are named
    moved                                {"there": 12, "back": 0}: the bytes that travelled

To the engine, "on another device" means an array of another type, with a library of its own that
computes on it. Here that library wraps NumPy: nothing is copied in or out without an explicit call,
and each copy is counted. It is not faster than NumPy, and shows nothing about time. minigrad
registers it with the same interface as CuPy.

It runs on the student's side, knows no answers, and imports nothing but NumPy and minigrad.
"""

from types import ModuleType, SimpleNamespace

import numpy as np

import minigrad as mg
from minigrad import backend

moved = {"there": 0, "back": 0}
"""Bytes that were moved to the pretend device, and back."""


class PretendArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array in the memory of the pretend device. Only `get()` copies it to the host."""

    __array_priority__ = 100
    device = SimpleNamespace(id=0)

    def __init__(self, memory, base=None):
        self._memory, self.base = np.asarray(memory), base

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "The pretend device does not hand out its memory by itself; move it with .cpu()."
        )

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **settings):
        if any(isinstance(a, np.ndarray) for a in inputs):
            raise TypeError(
                "The pretend device got an array of the host's memory; move it there first."
            )
        if out is not None:
            settings["out"] = tuple(_open(a) for a in out)
        result = _closed(
            getattr(ufunc, method)(
                *map(_open, inputs), **{k: _open(v) for k, v in settings.items()}
            )
        )
        return out[0] if out is not None else result

    def get(self):
        """A copy in the host's memory; counted."""
        moved["back"] += self._memory.nbytes
        return self._memory.copy()

    def __getitem__(self, index):
        return PretendArray(self._memory[_open(index)], self)

    def __setitem__(self, index, value):
        self._memory[_open(index)] = _open(value)

    def __len__(self):
        return len(self._memory)

    def __bool__(self):
        return bool(self._memory)

    def __int__(self):
        return int(self._memory)

    def __float__(self):
        return float(self._memory)

    def __getattr__(self, name):
        if name.startswith("__"):  # __array_interface__ and its like are ways out as well
            raise AttributeError(name)
        found = getattr(self._memory, name)
        return _Wrapped(found) if callable(found) else _closed(found)


class _Library:
    """NumPy's functions for arrays of the pretend device."""

    __name__ = "pretend"
    ndarray = PretendArray
    moved = moved

    def asarray(self, a, *args, **settings):
        """From the host to the device (counted), or an array that is there already."""
        if isinstance(a, PretendArray):
            return (
                a
                if not (args or settings)
                else PretendArray(np.asarray(a._memory, *args, **settings))
            )
        memory = np.array(a, *args, **settings)
        moved["there"] += memory.nbytes
        return PretendArray(memory)

    def __getattr__(self, name):
        found = getattr(np, name)
        return (
            _Wrapped(found)
            if isinstance(found, ModuleType) or (callable(found) and not isinstance(found, type))
            else found
        )


def _open(value):
    """What NumPy computes on."""
    if isinstance(value, PretendArray):
        return value._memory
    if type(value) in (list, tuple):
        return type(value)(map(_open, value))
    return value


def _closed(value):
    """An array wrapped for the device; what is no array stays as it is."""
    if isinstance(value, np.ndarray | np.generic):
        return PretendArray(value)
    if type(value) in (list, tuple) and any(isinstance(v, np.ndarray) for v in value):
        return type(value)(map(_closed, value))
    return value


class _Wrapped:
    """A function of NumPy (or a part of it, such as `linalg`) that takes and gives arrays of the
    pretend device.
    """

    def __init__(self, inside):
        self._inside = inside

    def __call__(self, *args, **settings):
        return _closed(
            self._inside(*map(_open, args), **{k: _open(v) for k, v in settings.items()})
        )

    def __getattr__(self, name):
        return _Wrapped(getattr(self._inside, name))


_there = next(
    (m for m in backend.MODULES.values() if getattr(m, "__name__", "") == "pretend"), None
)
if _there is None:
    _there = _Library()
    backend.register_array_type(PretendArray, _there)
moved = _there.moved  # a grader runs this file a second time; there is one device, and one count


# -------------------------------------------------------------------------------- what a drive asks


def on_both(answers, call, x):
    """function(tensor) on the CPU and on the pretend device: values and gradients, and where the
    second result was.
    """
    found = {}
    for device in ("cpu", "pretend"):
        leaf = mg.tensor(np.array(x), dtype=mg.float64, device=device, requires_grad=True)
        before = dict(moved)
        out = answers[call](leaf)
        if out is None or not hasattr(out, "detach"):
            return out
        travelled = moved["back"] - before["back"]
        if out.requires_grad:
            out.sum().backward()
        gradient = np.zeros(np.shape(x)) if leaf.grad is None else np.array(leaf.grad.cpu().numpy())
        found[device] = {"value": np.array(out.detach().cpu().numpy()), "gradient": gradient}
    return {**found, "where": str(out.device), "back": int(travelled)}
