"""What a function can find besides its arguments, and whether that is still what it was.

A recorded program is right as long as Python would do the same again. What Python does depends on what the function reads: variables of its
closure and its module, attributes, settings, lists. `World` walks all that can be reached from the function and from the objects among its
arguments, and remembers it: tensors (which a program reads anew in each run) and everything else (which it does not).

    world = World([("step", step)])
    world.difference()        # None, or "lr was 0.1, is 0.05"

What is followed: functions (their closures, defaults, and the globals that their code names), lists, tuples, sets, dicts, and objects: all
attributes of the library's own (modules, schedules), of others those whose names occur in the code. The settings of optimisers are followed
but for what they hand on as numbers. What Python cannot look into (generators, files, objects of extension modules) is remembered by
identity only.
"""

from __future__ import annotations

import builtins
import dis
import functools
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .. import backend
from ..nn.module import Module
from ..nodes import Leaf
from ..optim.optimizer import Optimizer
from ..tensor import Tensor
from .instructions import Program

PLAIN = (bool, int, float, complex, str, bytes, type(None))
MOST = 20_000
"""Things to look at; who can reach more is not compiled."""
SMALL_ARRAY = 4096
"""Bytes up to which an array of numbers (not a tensor) is compared by its contents."""
EFFECTS = {"print": "prints", "input": "asks the user", "open": "opens a file", "next": "takes the next item of an iterator"}
"""Python's own functions that do something in each call which would not happen in replays."""
OUR_EFFECTS = {
    "manual_seed": "seeds the random numbers",
    "set_random_state": "sets the random numbers",
    "set_default_dtype": "sets a dtype",
}
"""The same of this library's."""
_MISSING = object()
_NOT_THE_USERS = (str(Path(__file__).parent.parent), sysconfig.get_paths()["stdlib"], "<frozen")


class Watched:
    """Some variables: `read` gives their values, `labels` their names; `name` is what holds them."""

    __slots__ = ("ids", "kept", "labels", "name", "read")

    def __init__(self, name: str, labels: list[str], read: Callable[[], Iterable[Any]]) -> None:
        self.name, self.labels, self.read = name, labels, read
        self.kept = list(read())
        self.ids = [*map(id, self.kept)]

    def difference(self) -> str | None:
        """The first that is not what it was. Looks at identities first: that is fast, and nearly always enough."""
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


class WatchedTensor:
    """What a program takes for granted of a tensor: whether it is a leaf, whether it has a gradient, that no hooks wait on it."""

    __slots__ = ("has_grad", "hooked", "name", "node", "tensor")

    def __init__(self, name: str, tensor: Tensor) -> None:
        self.name, self.tensor, self.node, self.has_grad = name, tensor, tensor.node, tensor._grad is not None
        self.hooked = _hooks(tensor.node)

    def difference(self, gradients: bool = True) -> str | None:
        """What is not as it was (`gradients`: also whether there is a .grad)."""
        t = self.tensor
        if t.node is not self.node:
            return f"{self.name} was {_role(self.node)}, is {_role(t.node)}"
        if _hooks(t.node) is not self.hooked:
            return f"a hook was added to {self.name}, or removed"
        if gradients and (t._grad is not None) is not self.has_grad:
            return f"{self.name}.grad was {'there' if self.has_grad else 'None'}, is {'there' if t._grad is not None else 'None'}"
        return None

    def problem(self) -> str | None:
        """Why a step that uses this tensor cannot be recorded."""
        t, node = self.tensor, self.tensor.node
        if node is not None and not isinstance(node, Leaf):
            return f"{self.name} is the result of an operation that was recorded outside: detach() it"
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
        self._words: set[str] = {"forward", "rule", "numbers", "__call__"}  # attributes in the code found, and what the library calls
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
        for leaf in self.leaves:
            found = leaf.difference(gradients)
            if found is not None:
                return found
        return None

    def obstacle(self) -> str | None:
        """Why nothing can be recorded now, in words; None if it can."""
        return self.problem or next((p for leaf in self.leaves if (p := leaf.problem()) is not None), None)

    # ----------------------------------------------------------------------------------------------------------------- the walk

    def _visit(self, name: str, thing: Any) -> None:
        if isinstance(thing, PLAIN) or id(thing) in self._seen:
            return
        if len(self._seen) >= MOST:
            self.problem = f"it can reach more than {MOST:,} things (the last was {name}): give it what it needs as arguments"
            return
        self._seen[id(thing)] = thing
        if isinstance(thing, Tensor):
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
        elif isinstance(thing, dict):
            self._watch(name, [f"{name}[{key!r}]" for key in thing], thing.values)
        elif isinstance(thing, list | tuple):
            self._watch(name, [f"{name}[{i}]" for i in range(len(thing))], lambda: thing)
        elif isinstance(thing, set | frozenset):
            self._watch(name, [f"an item of {name}"] * len(thing), lambda: thing)
        elif isinstance(thing, backend.HostArray) or (hasattr(thing, "dtype") and hasattr(thing, "nbytes") and hasattr(thing, "tobytes")):
            self._array(name, thing)
        elif isinstance(thing, types.ModuleType):
            if _is_users(getattr(thing, "__file__", None)):
                self._objects.append((name, thing, set()))
        elif isinstance(thing, type):
            if _is_users_class(thing):
                self._objects.append((thing.__name__, thing, set()))
        elif isinstance(getattr(thing, "__wrapped__", None), types.FunctionType):  # a compiled function within another, a cached one
            self._visit(name, thing.__wrapped__)
        elif not isinstance(thing, Program):
            self._object(name, thing, set())

    def _object(self, name: str, thing: Any, known: set[str]) -> None:
        """An object of any other kind; `known`: attributes that are not to be looked at."""
        kinds = [kind for kind in type(thing).__mro__ if _is_users_class(kind)]
        if hasattr(thing, "__dict__") or any("__slots__" in vars(kind) for kind in kinds):
            self._objects.append((name, thing, known))
            if hasattr(thing, "__dict__") and kinds:
                self._watch(name, [f"the number of attributes of {name}"], lambda: [len(vars(thing))])
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
            return
        names, words = _names_in(code)
        self._words |= words
        found = function.__globals__
        effects = [EFFECTS[n] for n in names & EFFECTS.keys() if n not in found] + [
            OUR_EFFECTS[n] for n in (names | words) & OUR_EFFECTS.keys()
        ]
        if effects:
            self.problem = f"{function.__name__} {effects[0]}, which a replay would not do"
            return
        wanted = sorted(n for n in names if n in found or not hasattr(builtins, n))
        if wanted:
            self._watch(name, wanted, lambda: [found.get(n, _MISSING) for n in wanted])

    def _optimizer(self, name: str, optimizer: Optimizer) -> None:
        """Its settings. Its state changes with each step, and programs read it anew; rates on a schedule likewise."""
        self.optimizers.append(optimizer)
        groups = [*optimizer.param_groups, optimizer.defaults]
        for group in groups:
            self._seen[id(group)] = group
            keys = [key for key in group if key not in optimizer.scheduled and key != "initial_lr"]
            self._watch(name, [f"the setting {key}" for key in keys], functools.partial(_values_of, group, keys))
        labels = [f"{name}.param_groups[{i}]" for i in range(len(optimizer.param_groups))]
        self._watch(f"{name}.param_groups", labels, lambda: optimizer.param_groups)
        self._object(name, optimizer, {"state", "defaults", "param_groups", "_known"})

    def _array(self, name: str, array: Any) -> None:
        if type(array) in backend.MODULES and getattr(array, "ndim", 0) == 0 and not isinstance(array, backend.HostArray):
            return  # a NumPy scalar: it cannot change
        if array.nbytes > SMALL_ARRAY:
            self.problem = f"it can reach the array {name} {tuple(array.shape)}, which may change unseen: make it a tensor, or an argument"
            return
        self.watched.append(Watched(name, [name], lambda: [array.tobytes()]))

    def _attributes(self, name: str, instance: Any, known: set[str]) -> None:
        """Watch those attributes of an object that the code can ask for: all of the library's own objects, else those it names."""
        a_class = isinstance(instance, type)
        own: Any = vars(instance) if hasattr(instance, "__dict__") else _Slots(instance)
        if not a_class and (isinstance(instance, Module) or _is_library(type(instance))) and not isinstance(instance, Optimizer):
            if not known:
                known.add("")
                self._watch(name, [f"{name}.{key}" for key in own], own.values)
            return
        new = sorted(key for key in self._words - known if key in own)
        if new:
            known.update(new)
            self._watch(name, [f"{name}.{key}" for key in new], lambda: [_plain_attribute(own.get(key, _MISSING)) for key in new])


# ------------------------------------------------------------------------------------------------------------------------ helpers


class _Slots:
    """The attributes of an object without a dictionary."""

    def __init__(self, instance: Any) -> None:
        self.instance = instance

    def __contains__(self, name: str) -> bool:
        return hasattr(self.instance, name) and not callable(getattr(self.instance, name))

    def get(self, name: str, default: Any) -> Any:
        """An attribute as it is now."""
        return getattr(self.instance, name, default)


def _hooks(node: Any) -> bool:
    """Whether somebody waits for this leaf's gradient."""
    return node is not None and bool(node.hooks or node.awaited)


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
    """The globals and the attributes that code reads or sets (attributes as strings too, for getattr), inner functions included."""
    names: set[str] = set()
    words: set[str] = set()
    stack = [code]
    while stack:
        part = stack.pop()
        for instruction in dis.get_instructions(part):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
                names.add(instruction.argval)
            elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR"):
                words.add(instruction.argval)
        stack += [c for c in part.co_consts if isinstance(c, types.CodeType)]
        words.update(c for c in part.co_consts if isinstance(c, str) and c.isidentifier())
    return names, words


def _is_users(file: str | None) -> bool:
    """Whether a file is the user's: neither the library's, nor Python's, nor an installed package's."""
    return file is not None and not file.startswith(_NOT_THE_USERS) and "site-packages" not in file and "dist-packages" not in file


def _is_users_class(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    if kind.__module__ == "builtins" or _is_library(kind):
        return False
    return _is_users(getattr(module, "__file__", None) or "<notebook>")


def _is_library(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).partition(".")[0] == "minigrad"


def _same(old: Any, new: Any) -> bool:
    """Whether two values are the same to whoever reads them: numbers and strings by value, bound methods by their parts, else identical."""
    if type(old) is not type(new):
        return False
    if isinstance(old, PLAIN):
        return repr(old) == repr(new)
    if isinstance(old, types.MethodType):
        return old.__func__ is new.__func__ and old.__self__ is new.__self__
    return isinstance(old, backend.host.generic | backend.host.dtype) and repr(old) == repr(new)


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
