"""What a function can find besides its arguments, and whether that is still what it was.

A recorded program is right as long as Python would do the same again. What Python does depends on
what the function reads: variables of its closure and its module, attributes, settings, lists.
`World` walks all that can be reached from the function and from the objects among its arguments,
and remembers it: tensors (which a program reads again in each run) and everything else (which it
does not).

    world = World([("step", step)])
    world.difference()        # None, or "lr was 0.1, is 0.05"

What is followed: functions (their closures, defaults, and the globals that their code names),
lists, tuples, sets, dicts, and objects: all attributes of the library's own (modules, schedules),
of others those whose names occur in the code. The settings of optimisers are followed but for what
they hand on as numbers. What Python cannot look into (generators, files, objects of extension
modules) is remembered by identity only.
"""

from __future__ import annotations

import argparse
import array as arrays_of_python
import builtins
import collections
import contextvars
import datetime
import decimal
import dis
import functools
import inspect
import io
import itertools
import logging
import operator
import pathlib
import random
import re
import sys
import sysconfig
import threading
import types
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .. import backend
from ..core.tensor import Leaf, Tensor
from ..nn.module import Module
from ..optim.optimizer import Optimizer
from .program import Program

PLAIN = (bool, int, float, complex, str, bytes, type(None))
MOST = 20_000
"""Things to look at; who can reach more is not compiled."""
SMALL_ARRAY = 4096
"""Bytes up to which an array of numbers (not a tensor) is compared by its contents."""
EFFECTS = {
    "print": "prints",
    "input": "asks the user",
    "open": "opens a file",
    "next": "takes the next item of an iterator",
}
"""Python's own functions that do something in each call which would not happen in replays."""
OUR_EFFECTS = {
    "manual_seed": "seeds the random numbers",
    "set_random_state": "sets the random numbers",
    "set_default_dtype": "sets a dtype",
}
"""This library's functions with side effects, and what they do."""
BY_NAME = frozenset(("globals", "locals", "eval", "exec", "__import__"))
"""Python's own functions that find variables which the code does not name."""
DYNAMIC = frozenset(
    (
        "getattr",
        "setattr",
        "delattr",
        "hasattr",
        "vars",
        "dir",
        "__dict__",
        "attrgetter",
        "__getattribute__",
    )
)
"""Names in code that may mean any attribute: then all attributes of the objects found are
watched."""
OUTER_WORLD = {
    "time": "asks the clock", "datetime": "asks the clock",
    "secrets": "draws numbers that are not this library's",
    "uuid": "draws numbers that are not this library's", "os": "asks the operating system",
    "posix": "asks the operating system",
    "nt": "asks the operating system", "subprocess": "starts a process", "logging": "logs",
    "warnings": "warns", "_warnings": "warns",
}  # fmt: skip
"""Modules whose functions do, or answer, something else in each call."""
IMMUTABLE_KINDS = (
    range, slice, property, type(Ellipsis), type(NotImplemented), re.Pattern, decimal.Decimal,
    datetime.timedelta, datetime.date,
    datetime.time, datetime.tzinfo, pathlib.PurePath, types.BuiltinFunctionType,
    types.WrapperDescriptorType,
    types.MethodWrapperType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType, types.GenericAlias, types.UnionType, types.CodeType,
    operator.itemgetter, operator.attrgetter,
    operator.methodcaller, backend.numpy.ufunc, backend.numpy.dtype, type(threading.Lock()),
    type(threading.RLock()), backend.numpy.generic,
)  # fmt: skip
"""Kinds of objects that do not change, or that hold nothing that a function could read."""
_GRADIENT_WORDS = frozenset(("backward", "step", "update", "closure", "adopt", *DYNAMIC))
NOTHING_OF_THEIR_OWN = (types.SimpleNamespace, argparse.Namespace)
"""Classes whose methods read no attribute: only what the code names counts."""
UNWRAPPED: dict[type, str] = {}
"""Kinds of objects that stand for another one, and the attribute in which that is."""
_MISSING = object()
_NOT_THE_USERS = (str(Path(__file__).parent.parent), sysconfig.get_paths()["stdlib"], "<frozen")


class Watched:
    """Some variables: `read` gives their values, `labels` their names; `name` is what holds
    them.
    """

    __slots__ = ("ids", "kept", "labels", "name", "read")

    def __init__(self, name: str, labels: list[str], read: Callable[[], Iterable[Any]]) -> None:
        self.name, self.labels, self.read = name, labels, read
        self.kept = list(read())
        self.ids = [*map(id, self.kept)]

    def difference(self) -> str | None:
        """The first that is not what it was. Looks at identities first: that is fast, and nearly
        always enough.
        """
        if [*map(id, self.read())] == self.ids:
            return None
        now = list(self.read())
        if len(now) != len(self.kept):
            return f"{self.name} has {len(now)} items, had {len(self.kept)}"
        for i, (old, new) in enumerate(zip(self.kept, now, strict=True)):
            if old is not new and not _same(old, new):
                return f"{self.labels[i]} was {_shown(old)}, is {_shown(new)}"
        self.kept, self.ids = now, [*map(id, now)]
        return None


class WatchedWords(Watched):
    """A dictionary from words to words, such as the kinds of a module's attributes: compared whole,
    which takes a third of the time."""

    __slots__ = ("copy", "order", "words")

    def __init__(self, name: str, labels: list[str], words: dict[str, str]) -> None:
        super().__init__(name, labels, lambda: itertools.chain(words, words.values()))
        self.words, self.copy, self.order = words, dict(words), list(words)

    def difference(self) -> str | None:
        if self.words == self.copy and [*self.words] == self.order:
            return None
        return super().difference() or f"{self.name} has another order"


class WatchedTensor:
    """What a program takes for granted of a tensor: whether it is a leaf, whether it has a
    gradient, that no hooks wait on it.
    """

    __slots__ = ("dtype", "elsewhere", "has_grad", "hooked", "name", "node", "shape", "tensor")

    def __init__(self, name: str, tensor: Tensor) -> None:
        self.name, self.tensor, self.node, self.has_grad = (
            name,
            tensor,
            tensor.node,
            tensor.stored_grad is not None,
        )
        self.shape, self.dtype = tensor.array.shape, tensor.array.dtype
        self.elsewhere = False  # whether a program looks at its shape and dtype
        self.hooked = _hooks(tensor.node)

    def difference(self, gradients: bool = True) -> str | None:
        """What is not as it was (`gradients`: also whether there is a .grad)."""
        t = self.tensor
        if t.node is not self.node:
            return f"{self.name} was {_role(self.node)}, is {_role(t.node)}"
        if _hooks(t.node) is not self.hooked:
            return f"a hook was added to {self.name}, or removed"
        if not self.elsewhere and (t.array.shape != self.shape or t.array.dtype != self.dtype):
            return f"{self.name} was {self.dtype} {tuple(self.shape)}, is {t.dtype} {t.shape}"
        if gradients and (t.stored_grad is not None) is not self.has_grad:
            return (
                f"{self.name}.grad was {'there' if self.has_grad else 'None'}, is"
                f" {'there' if t.stored_grad is not None else 'None'}"
            )
        return None

    def problem(self) -> str | None:
        """Why a step that uses this tensor cannot be recorded."""
        t, node = self.tensor, self.tensor.node
        if node is not None and not isinstance(node, Leaf):
            return (
                f"{self.name} is the result of an operation that was recorded outside: detach() it"
            )
        if t.tangents is not None:
            return f"{self.name} carries tangents"
        if self.hooked:
            return f"a hook waits for the gradient of {self.name}"
        return None


class World:
    """All that can be reached from `roots` (pairs of name and object), as it is now.

    tensors: (name, tensor) pairs; problem: why no program can be right for this world, or None.
    """

    def __init__(self, roots: Iterable[tuple[str, Any]]) -> None:
        self.watched: list[Watched] = []
        self.leaves: list[WatchedTensor] = []
        self.tensors: list[tuple[str, Tensor]] = []
        self.optimizers: list[Optimizer] = []
        self.problem: str | None = None
        self._seen: dict[int, Any] = {}
        self._words: set[str] = {
            "forward",
            "rule",
            "numbers",
            "__call__",
        }  # attributes in the code found, and what the library calls
        self._names_gradients = False
        self._dynamic = False  # whether the code asks for attributes by names that it computes
        self._objects: list[tuple[str, Any, set[str]]] = []
        self._queue: list[tuple[str, Any]] = []
        for name, thing in roots:
            self.add(name, thing)

    def add(self, name: str, thing: Any) -> None:
        """Look at a further object, and at all that it leads to."""
        self._queue.append((name, thing))
        while self.problem is None:
            while self._queue and self.problem is None:
                self._visit(*self._queue.pop())
            before = len(self._queue)
            for label, instance, known in self._objects:
                self._attributes(label, instance, known)
            if len(self._queue) == before:
                return

    def difference(self, gradients: bool = True) -> str | None:
        """What is not as it was, in words; None if nothing."""
        for watched in self.watched:
            found = watched.difference()
            if found is not None:
                return found
        gradients = gradients and self.reads_gradients
        for leaf in self.leaves:
            found = leaf.difference(gradients)
            if found is not None:
                return found
        return None

    @property
    def reads_gradients(self) -> bool:
        """Whether what is found can ask for a `.grad`, as its words show. A model's forward method
        does not."""
        return bool(self.optimizers) or self._names_gradients

    def obstacle(self) -> str | None:
        """Why nothing can be recorded now, in words; None if it can."""
        return self.problem or next(
            (p for leaf in self.leaves if (p := leaf.problem()) is not None), None
        )

    # ------------------------------------------------------------------------------------- the walk

    def _visit(self, name: str, thing: Any) -> None:
        if isinstance(thing, PLAIN) or id(thing) in self._seen:
            return
        if len(self._seen) >= MOST:
            self.problem = (
                f"it can reach more than {MOST:,} things (the last was {name}): give it what it"
                " needs as arguments"
            )
            return
        self._seen[id(thing)] = thing
        if type(thing) in UNWRAPPED:
            self._visit(name, getattr(thing, UNWRAPPED[type(thing)]))
        elif isinstance(thing, Tensor):
            self.tensors.append((name, thing))
            self.leaves.append(WatchedTensor(name, thing))
        elif isinstance(thing, types.FunctionType):
            self._function(name, thing)
        elif isinstance(thing, types.MethodType):
            self._visit(name, thing.__func__)
            self._queue.append((_owner(name), thing.__self__))
        elif isinstance(thing, functools.partial):
            self._queue += [(name, thing.func), (name, thing.args), (name, thing.keywords)]
        elif isinstance(thing, Optimizer):
            self._optimizer(name, thing)
        elif isinstance(thing, dict | types.MappingProxyType):
            labels = [f"a key of {name}"] * len(thing) + [f"{name}[{key!r}]" for key in thing]
            if type(thing) is dict and all(type(v) is str for v in (*thing, *thing.values())):
                self.watched.append(WatchedWords(name, labels, thing))
            else:
                self._watch(name, labels, lambda: itertools.chain(thing, thing.values()))
            self._more_than(dict, name, thing)
        elif isinstance(thing, list | tuple | collections.deque):
            self._watch(name, [f"{name}[{i}]" for i in range(len(thing))], lambda: thing)
            self._more_than((list, tuple, collections.deque), name, thing)
        elif isinstance(thing, set | frozenset):
            self._watch(name, [f"an item of {name}"] * len(thing), lambda: thing)
        elif isinstance(thing, bytearray | memoryview | arrays_of_python.array):
            self._bytes(name, thing, memoryview(thing).nbytes)
        elif isinstance(thing, weakref.ReferenceType):
            self._watch(name, [f"what {name} refers to"], lambda: [thing()])
        elif isinstance(thing, contextvars.ContextVar):
            self._watch(name, [name], lambda: [thing.get(_MISSING)])
        elif isinstance(thing, types.BuiltinFunctionType) and not isinstance(
            thing.__self__, types.ModuleType | None
        ):
            self._queue.append((_owner(name), thing.__self__))
        elif _has(thing, "dtype", "nbytes", "tobytes"):
            self._array(name, thing)
        elif _effect(thing) is not None:
            self.problem = f"it {_effect(thing)} ({name}), which a replay would not do"
        elif isinstance(thing, IMMUTABLE_KINDS):
            return
        elif isinstance(thing, types.ModuleType):
            if not _is_library_module(thing):
                self._objects.append((name, thing, set()))
        elif isinstance(thing, type):
            if _is_users_class(thing):
                self._objects.append((thing.__name__, thing, set()))
        # a cached function
        elif isinstance(inspect.getattr_static(thing, "__wrapped__", None), types.FunctionType):
            self._visit(name, thing.__wrapped__)
        elif not isinstance(thing, Program):
            self._object(name, thing, set())

    def _more_than(self, kinds: Any, name: str, thing: Any) -> None:
        """A container of a class of its own may have attributes and methods besides."""
        if type(thing).__module__ not in ("builtins", "collections") and isinstance(thing, kinds):
            self._object(name, thing, set())

    def _bytes(self, name: str, thing: Any, size: int) -> None:
        if size > SMALL_ARRAY:
            self.problem = (
                f"it can reach {name}, {size:,} bytes, which may change unseen: make it a tensor,"
                " or an argument"
            )
        else:
            self.watched.append(Watched(name, [name], lambda: [bytes(thing)]))

    def _object(self, name: str, thing: Any, known: set[str]) -> None:
        """An object of any other kind; `known`: attributes that are not to be looked at."""
        kinds = [kind for kind in type(thing).__mro__ if _is_users_class(kind)]
        slots = any("__slots__" in vars(kind) for kind in type(thing).__mro__ if kind is not object)
        if not hasattr(thing, "__dict__") and not slots and type(thing) is not object:
            self.problem = (
                f"it can reach {name}, a {type(thing).__module__}.{type(thing).__name__}, into"
                " which Python cannot look: give it what it needs of that as arguments"
            )
            return
        self._objects.append((name, thing, known))
        if hasattr(thing, "__dict__") and kinds:
            own = vars(thing)
            self._watch(name, [f"the names of the attributes of {name}"] * len(own), lambda: own)
        self._objects += [(kind.__name__, kind, set()) for kind in kinds]

    def _watch(self, name: str, labels: list[str], read: Callable[[], Iterable[Any]]) -> None:
        watched = Watched(name, labels, read)
        self.watched.append(watched)
        self._queue += zip(labels, watched.kept, strict=False)

    def _function(self, name: str, function: types.FunctionType) -> None:
        code = function.__code__
        cells = function.__closure__
        if cells:
            self._watch(name, list(code.co_freevars), lambda: [_content(cell) for cell in cells])
        self._queue += [(name, function.__defaults__), (name, function.__kwdefaults__)]
        if not _is_users(code.co_filename):
            if function.__module__ in OUTER_WORLD:
                self.problem = (
                    f"it {OUTER_WORLD[function.__module__]} ({name}), which a replay would not do"
                )
            return
        names, words = _names_in(code)
        self._words |= words
        self._names_gradients = self._names_gradients or any(
            "grad" in n or n in _GRADIENT_WORDS for n in names | words
        )
        self._dynamic = self._dynamic or not DYNAMIC.isdisjoint(names | words)
        found = function.__globals__
        effects = [EFFECTS[n] for n in names & EFFECTS.keys() if n not in found] + [
            OUR_EFFECTS[n] for n in (names | words) & OUR_EFFECTS.keys()
        ]
        if effects:
            self.problem = f"{function.__name__} {effects[0]}, which a replay would not do"
            return
        by_name = [n for n in names & BY_NAME if n not in found]
        if by_name:
            self.problem = (
                f"{function.__name__} finds variables by names that it computes ({by_name[0]}),"
                " which cannot be followed"
            )
            return
        wanted = sorted(n for n in names if n in found or not hasattr(builtins, n))
        if wanted:
            self._watch(name, wanted, lambda: [found.get(n, _MISSING) for n in wanted])

    def _optimizer(self, name: str, optimizer: Optimizer) -> None:
        """Its settings. Its state changes with each step, and programs read it again; rates on a
        schedule likewise."""
        self.optimizers.append(optimizer)
        groups = [*optimizer.param_groups, optimizer.defaults]
        for group in groups:
            self._seen[id(group)] = group
            keys = [key for key in group if key not in optimizer.scheduled and key != "initial_lr"]
            self._watch(
                name,
                [f"the setting {key}" for key in keys],
                functools.partial(_values_of, group, keys),
            )
        labels = [f"{name}.param_groups[{i}]" for i in range(len(optimizer.param_groups))]
        self._watch(f"{name}.param_groups", labels, lambda: optimizer.param_groups)
        self._object(name, optimizer, {"state", "defaults", "param_groups", "_known", "_stepped"})

    def _array(self, name: str, array: Any) -> None:
        if (
            type(array) in backend.MODULES
            and getattr(array, "ndim", 0) == 0
            and not isinstance(array, backend.NumpyArray)
        ):
            return  # a NumPy scalar: it cannot change
        if array.nbytes > SMALL_ARRAY:
            self.problem = (
                f"it can reach the array {name} {tuple(array.shape)}, which may change unseen: make"
                " it a tensor, or an argument"
            )
            return
        self.watched.append(Watched(name, [name], lambda: [array.tobytes()]))

    def _attributes(self, name: str, instance: Any, known: set[str]) -> None:
        """Watch those attributes of an object that the code can ask for: all of the library's
        own objects, else those it names.
        """
        a_class = isinstance(instance, type)
        own: Any = vars(instance) if hasattr(instance, "__dict__") else _Slots(instance)
        if isinstance(instance, types.ModuleType) and not _is_users(
            getattr(instance, "__file__", None)
        ):
            self._of_module(name, instance, known)
            return
        ours = isinstance(instance, Module) or _is_library(type(instance))
        foreign = not (
            ours
            or _is_users_class(type(instance))
            or isinstance(instance, (types.ModuleType, *NOTHING_OF_THEIR_OWN))
        )
        if not a_class and (ours or foreign) and not isinstance(instance, Optimizer):
            if not known:
                known.add("")
                self._watch(name, [f"{name}.{key}" for key in own], own.values)
            return
        every = self._dynamic and not isinstance(instance, Optimizer)
        new = sorted(
            k
            for k in own
            if k not in known and (k in self._words or every or (a_class and _is_special(own[k])))
        )
        if every and not a_class and "" not in known and type(own) is dict:
            known.add("")
            self._watch(name, [f"the names of the attributes of {name}"] * len(own), lambda: own)
        if new:
            known.update(new)
            self._watch(
                name,
                [f"{name}.{key}" for key in new],
                lambda: [_plain_attribute(own.get(key, _MISSING)) for key in new],
            )

    def _of_module(self, name: str, module: Any, known: set[str]) -> None:
        """What the code can ask of a module of others: its data. Functions and classes stay what
        they are."""
        own = vars(module)
        if module.__name__ in OUTER_WORLD:
            used = sorted(
                k
                for k in self._words
                if isinstance(own.get(k), _FUNCTIONS)
                or (isinstance(own.get(k), type) and k == "datetime")
            )
            if used:
                self.problem = (
                    f"it {OUTER_WORLD[module.__name__]} ({module.__name__}.{used[0]}), which a"
                    " replay would not do"
                )
                return
        new = sorted(
            k
            for k in self._words - known
            if k in own and not isinstance(own[k], (types.FunctionType, type))
        )
        if new:
            known.update(new)
            self._watch(
                name,
                [f"{name}.{key}" for key in new],
                lambda: [own.get(key, _MISSING) for key in new],
            )


# ------------------------------------------------------------------------------------------ helpers


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


class _Slots:
    """The attributes of an object without a dictionary."""

    def __init__(self, instance: Any) -> None:
        self.instance = instance
        declared = (vars(kind).get("__slots__", ()) for kind in type(instance).__mro__)
        self.names = [
            n
            for names in declared
            for n in ((names,) if isinstance(names, str) else names)
            if hasattr(instance, n)
        ]

    def __iter__(self) -> Any:
        return iter(self.names)

    def __getitem__(self, name: str) -> Any:
        return getattr(self.instance, name, _MISSING)

    def values(self) -> list[Any]:
        """The attributes as they are now."""
        return [self[name] for name in self.names]

    def get(self, name: str, default: Any) -> Any:
        """An attribute as it is now."""
        return getattr(self.instance, name, default)


def _has(thing: Any, *names: str) -> bool:
    """Whether an object's class has these attributes (an object's own `__getattr__` is not
    asked)."""
    return all(hasattr(type(thing), name) for name in names)


def _is_special(value: Any) -> bool:
    """Whether an attribute of a class is a function that Python calls unasked: `__getitem__`,
    `__len__`."""
    return (
        isinstance(value, types.FunctionType)
        and value.__name__.startswith("__")
        and value.__name__ != "__init__"
    )


def _effect(thing: Any) -> str | None:
    """What using such an object does besides: it moves on, or writes. None for all others."""
    if isinstance(thing, (random.Random, *_GENERATORS)):
        return "can draw from random numbers that are not this library's"
    if isinstance(thing, io.IOBase | logging.Logger | logging.LoggerAdapter):
        return "can write to a file or a log"
    if (
        isinstance(thing, types.BuiltinFunctionType | types.FunctionType)
        and thing.__module__ in OUTER_WORLD
    ):
        return OUTER_WORLD[thing.__module__]
    if _has(thing, "__next__", "__iter__") and not isinstance(thing, Tensor):
        return "can take items of an iterator"
    return None


_GENERATORS = (
    backend.numpy.random.Generator,
    backend.numpy.random.RandomState,
    backend.numpy.random.BitGenerator,
)


def _is_library_module(module: types.ModuleType) -> bool:
    return module.__name__.partition(".")[0] == "minigrad"


def _hooks(node: Any) -> bool:
    """Whether a hook waits for this leaf's gradient."""
    return node is not None and bool(node.hooks or node.has_post_hooks)


def _values_of(group: dict[str, Any], keys: list[str]) -> list[Any]:
    return [group.get(key, _MISSING) for key in keys]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable without a value yet
        return _MISSING


def _plain_attribute(value: Any) -> Any:
    """What stands behind an attribute of a class: the function of a static method or a property."""
    if isinstance(value, staticmethod | classmethod):
        return value.__func__
    return value.fget if isinstance(value, property) and value.fget is not None else value


def _names_in(code: types.CodeType) -> tuple[set[str], set[str]]:
    """The globals and the attributes that code reads or sets (attributes as strings too, for
    getattr), inner functions included.
    """
    names: set[str] = set()
    words: set[str] = set()
    stack = [code]
    while stack:
        part = stack.pop()
        for instruction in dis.get_instructions(part):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
                names.add(instruction.argval)
            elif instruction.opname in (
                "LOAD_ATTR",
                "LOAD_METHOD",
                "LOAD_SUPER_ATTR",
                "STORE_ATTR",
                "DELETE_ATTR",
            ):
                words.add(instruction.argval)
        stack += [c for c in part.co_consts if isinstance(c, types.CodeType)]
        words.update(c for c in part.co_consts if isinstance(c, str) and c.isidentifier())
    return names, words


def _is_users(file: str | None) -> bool:
    """Whether a file is the user's: neither the library's, nor Python's, nor an installed
    package's.
    """
    return (
        file is not None
        and not file.startswith(_NOT_THE_USERS)
        and "site-packages" not in file
        and "dist-packages" not in file
    )


def _is_users_class(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    if kind.__module__ == "builtins" or _is_library(kind):
        return False
    return _is_users(getattr(module, "__file__", None) or "<notebook>")


def _is_library(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).partition(".")[0] == "minigrad"


def _same(old: Any, new: Any) -> bool:
    """Whether two values are the same to whoever reads them: numbers and strings by value, bound
    methods by their parts, else identical.
    """
    if type(old) is not type(new):
        return False
    if isinstance(old, PLAIN):
        return repr(old) == repr(new)
    if isinstance(old, types.MethodType):
        return old.__func__ is new.__func__ and old.__self__ is new.__self__
    return isinstance(old, backend.numpy.generic | backend.numpy.dtype) and repr(old) == repr(new)


def _shown(value: Any) -> str:
    if value is _MISSING:
        return "missing"
    text = repr(value) if isinstance(value, PLAIN) else f"another {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def _role(node: Any) -> str:
    if node is None:
        return "a constant"
    return "a leaf" if isinstance(node, Leaf) else "the result of an operation"


def _owner(name: str) -> str:
    return name.partition(".")[0]
