"""What Python code names, and what calling foreign functions does besides computing.

A replay does not run Python. So code may be recorded only if each of its calls would compute the
same again: functions of the user are read (their code names what they need), the library's are
known, and of all others only those in `PURE` are trusted. Everything else answers differently in
another call, or does something in the world outside, for all that is known.
"""

from __future__ import annotations

import dis
import functools
import io
import logging
import random
import sys
import sysconfig
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import backend
from ..core.tensor import Tensor

BUILTIN_EFFECTS = {
    "print": "prints", "input": "asks the user", "open": "opens a file",
    "next": "takes the next item of an iterator", "breakpoint": "starts a debugger",
    "id": "asks where an object lies in memory",
    "globals": "finds variables by names that it computes",
    "locals": "finds variables by names that it computes",
    "eval": "finds variables by names that it computes",
    "exec": "finds variables by names that it computes",
    "__import__": "finds variables by names that it computes",
}  # fmt: skip
"""Python's own functions that do something in each call which would not happen in replays, or read
what no guard sees."""
LIBRARY_EFFECTS = {
    "manual_seed": "seeds the random numbers", "seed": "seeds the random numbers",
    "set_random_state": "sets the random numbers", "set_rng_state": "sets the random numbers",
    "random_state": "asks for the state of the random numbers",
    "get_rng_state": "asks for the state of the random numbers",
    "initial_seed": "asks for the seed of the random numbers",
    "is_inference_mode_enabled": "asks for the inference mode",
    "set_default_dtype": "sets a dtype", "load": "reads a file", "save": "writes a file",
}  # fmt: skip
"""This library's functions with side effects, or whose answers no guard sees."""
UNSEEN_ATTRIBUTES = {
    "_version": "asks how often a tensor was overwritten",
    "data_ptr": "asks where a tensor lies in memory",
    "ctypes": "asks where an array lies in memory",
    "__array_interface__": "asks where an array lies in memory",
    "__subclasses__": "asks for the subclasses of a class",
}
"""Attributes that differ between a call and its recording."""
ANSWERS_OTHERWISE = {
    "time": "asks the clock", "datetime": "asks the clock",
    "random": "draws numbers that are not this library's",
    "numpy.random": "draws numbers that are not this library's",
    "secrets": "draws numbers that are not this library's",
    "uuid": "draws numbers that are not this library's", "os": "asks the operating system",
    "posix": "asks the operating system", "nt": "asks the operating system",
    "pathlib": "asks the operating system", "subprocess": "starts a process", "logging": "logs",
    "warnings": "warns", "_warnings": "warns",
}  # fmt: skip
"""Modules whose functions do, or answer, something else in each call, and what."""
PURE = frozenset(
    """
    __future__ _bisect _collections _collections_abc _functools _heapq _operator _struct _weakref
    _weakrefset abc array ast base64 binascii bisect builtins cmath collections colorsys contextlib
    contextvars _contextvars copy copyreg dataclasses decimal _decimal enum fractions functools
    graphlib hashlib _hashlib heapq html itertools json keyword math minigrad numbers numpy operator
    pprint re reprlib statistics string struct textwrap types typing typing_extensions unicodedata
    weakref zlib
    """.split()
)
"""Modules (with all below them) whose functions give the same for the same arguments, but for
`IMPURE_FUNCTIONS`."""
IMPURE_FUNCTIONS = frozenset(
    """
    load loadtxt genfromtxt fromfile memmap save savez savez_compressed savetxt tofile seterr
    seterrcall seterrobj setbufsize set_printoptions geterr geterrcall getbufsize get_printoptions
    """.split()
)
"""Functions of NumPy that read or write files or settings."""
REFLECTING = frozenset("copy dataclasses inspect json pprint reprlib pickle".split())
"""Modules whose functions read all attributes of what they are given."""
DYNAMIC = frozenset(
    """
    getattr setattr delattr hasattr vars dir __dict__ attrgetter __getattribute__ format format_map
    """.split()
)
"""Names in code that may mean any attribute: then all attributes of the objects found are
guarded."""
CALLABLES = (types.FunctionType, types.BuiltinFunctionType, type)
_GENERATORS = (
    random.Random,
    backend.numpy.random.Generator,
    backend.numpy.random.RandomState,
    backend.numpy.random.BitGenerator,
)
_KNOWN = {"minigrad", "numpy", *sys.stdlib_module_names}
_MADE_BY_CODE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_STANDARD = sysconfig.get_paths()["stdlib"]
_LIBRARIES = (
    str(Path(__file__).parent.parent),
    str(Path(backend.numpy.__file__).parent),
    "<frozen",
)


@dataclass
class CodeNames:
    """What code names, inner functions included.

    variables: globals; attributes: of whatever object (those in strings too, for getattr); imports:
    modules that it imports, as (level, name); dynamic: whether a pattern reads attributes by the
    names that a class lists.
    """

    variables: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    imports: set[tuple[int, str]] = field(default_factory=set)
    dynamic: bool = False


@functools.lru_cache(maxsize=1024)
def names_in(code: types.CodeType) -> CodeNames:
    """All names in a function's code. (Remembered: callers must not change the answer.)"""
    found = CodeNames()
    stack = [code]
    while stack:
        current = stack.pop()
        constants: list[Any] = [None, None]
        for instruction in dis.get_instructions(current):
            kind, value = instruction.opname, instruction.argval
            if kind in ("LOAD_CONST", "LOAD_SMALL_INT"):
                constants = [constants[-1], value]
            elif kind == "IMPORT_NAME":
                level = constants[0] if isinstance(constants[0], int) else 0
                found.imports.add((level, value))
            elif kind == "MATCH_CLASS":
                found.dynamic = True
            elif instruction.opcode in dis.hasname:
                by_name = "GLOBAL" in kind or kind.endswith("_NAME")
                (found.variables if by_name else found.attributes).add(value)
        for constant in current.co_consts:
            if isinstance(constant, types.CodeType):
                stack.append(constant)
            words = constant if isinstance(constant, tuple) else (constant,)
            found.attributes.update(w for w in words if isinstance(w, str) and w.isidentifier())
    return found


def foreign_effect(module: str | None, name: str) -> str | None:
    """What using a function or class of a module that is neither the user's nor this library's may
    do besides computing its result, in words; None for nothing."""
    module = module or "builtins"
    if module in ("builtins", "_io", "io") and name in BUILTIN_EFFECTS:
        return BUILTIN_EFFECTS[name]
    for known, effect in ANSWERS_OTHERWISE.items():
        if module == known or module.startswith(known + "."):
            return effect
    top = module.partition(".")[0]
    if top in PURE:
        return "uses files or settings" if top == "numpy" and name in IMPURE_FUNCTIONS else None
    return f"calls {module}.{name}, which may answer otherwise in another call"


def effect_of(thing: Any) -> str | None:
    """What using an object does besides: it moves on, or writes. None for all others."""
    if isinstance(thing, _GENERATORS):
        return "can draw from random numbers that are not this library's"
    if isinstance(thing, io.IOBase | logging.Logger | logging.LoggerAdapter):
        return "can write to a file or a log"
    if has(thing, "__next__", "__iter__") and not isinstance(thing, Tensor):
        return "can take items of an iterator"
    return None


def has(thing: Any, *names: str) -> bool:
    """Whether an object's class has these attributes (an object's own `__getattr__` is not
    asked)."""
    return all(hasattr(type(thing), name) for name in names)


def is_users(file: Any) -> bool:
    """Whether a file is the user's, or an installed package's: neither this library's nor NumPy's
    nor Python's."""
    if not isinstance(file, str) or file.startswith(_LIBRARIES):
        return False
    installed = "site-packages" in file or "dist-packages" in file
    return installed or not file.startswith(_STANDARD)


def is_users_class(kind: type) -> bool:
    """Whether a class was declared in such a file, or in a notebook."""
    if kind.__module__ == "builtins":  # Python's own, or made by code without a module
        return bool(kind.__flags__ & _MADE_BY_CODE)
    module = sys.modules.get(kind.__module__)
    if module is not None:
        return is_users_module(module)
    return kind.__module__.partition(".")[0] not in _KNOWN


def is_users_module(module: types.ModuleType) -> bool:
    """Whether a module is such a file, a notebook, or made by code of the user's."""
    file = vars(module).get("__file__")  # a module's own `__getattr__` is not asked
    return module.__name__.partition(".")[0] not in _KNOWN if file is None else is_users(file)


def is_library(thing: Any) -> bool:
    """Whether a class, a function or an object's class is this library's."""
    return str(getattr(thing, "__module__", "")).partition(".")[0] == "minigrad"
