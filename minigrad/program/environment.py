"""What a function can find besides its arguments, and whether that is still what it was.

A recorded program is right as long as Python would do the same again. What Python does depends on
what the function reads: variables of its closure and its module, attributes, settings, lists.
`Environment` walks all that can be reached from the function and from the objects among its
arguments, and guards it: tensors (which a program reads again in each run) and everything else
(which it does not).

    environment = Environment([("step", step)])
    environment.difference()        # None, or "lr was 0.1, is 0.05"

What is followed: functions (their closures, defaults, attributes, and the globals and modules that
their code names), lists, tuples, sets, dicts, and objects: all attributes of the library's own
(modules, schedules), of others those whose names occur in the code. The settings of optimisers are
followed but for what they pass on as numbers. What Python cannot look into (generators, files,
objects of extension modules) is an obstacle, as is calling a function of which nothing is known
(python_code.py).
"""

from __future__ import annotations

import abc
import argparse
import array as arrays_of_python
import builtins
import collections
import contextvars
import datetime
import decimal
import functools
import importlib.util
import inspect
import itertools
import operator
import pathlib
import re
import sys
import threading
import types
import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple

from .. import backend
from ..core.primitive import Primitive
from ..core.tensor import Tensor
from ..nn.module import Module
from ..optim.optimizer import Optimizer
from . import python_code
from .attributes import (
    SlotAttributes,
    called_by_the_library,
    cell_content,
    cell_paths,
    is_special,
    item_paths,
    plain_attribute,
    values_of,
)
from .guards import MISSING, PLAIN, Guard, TensorGuard
from .program import Program
from .python_code import (
    CALLABLES,
    DYNAMIC,
    LIBRARY_EFFECTS,
    REFLECTING,
    UNSEEN_ATTRIBUTES,
    foreign_effect,
    has,
    is_library,
    is_users,
    is_users_class,
    is_users_module,
)

MOST = 20_000
"""Things to look at; who can reach more is not compiled."""
FEW = 8
"""Items up to which those of a list are compared one by one."""
SMALL_ARRAY = 4096
"""Bytes up to which an array of numbers (not a tensor) is compared by its contents."""
IMMUTABLE_KINDS = (
    range, slice, property, type(Ellipsis), type(NotImplemented), re.Pattern, decimal.Decimal,
    datetime.timedelta, datetime.date,
    datetime.time, datetime.tzinfo, pathlib.PurePath, types.BuiltinFunctionType,
    types.WrapperDescriptorType,
    types.MethodWrapperType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType, types.GenericAlias, types.UnionType, types.CodeType,
    operator.itemgetter, backend.numpy.ufunc, backend.numpy.dtype, type(threading.Lock()),
    type(threading.RLock()), backend.numpy.generic,
)  # fmt: skip
"""Kinds of objects that do not change, or that hold nothing that a function could read."""
READS_FILES = frozenset(dir(pathlib.Path)) - frozenset(dir(pathlib.PurePath))
"""The methods of paths that ask the file system."""
DESCRIBED = frozenset(
    ("__name__", "__qualname__", "__doc__", "__annotations__", "__module__", "__bases__")
)
"""What functions and classes say of themselves, apart from the attributes in their dictionaries."""
_GRADIENT_WORDS = frozenset(("backward", "step", "update", "closure", "adopt", *DYNAMIC))
SETTINGS = frozenset(
    ("param_groups", "defaults", "state_dict", "load_state_dict", "add_param_group", "_group_of")
)
"""Attributes of optimisers by which code reads or writes rates on a schedule."""
NOTHING_OF_THEIR_OWN = (types.SimpleNamespace, argparse.Namespace)
"""Classes whose methods read no attribute: only what the code names counts."""
UNWRAPPED: dict[type, str] = {}
"""Kinds of objects that stand for another one, and the attribute in which that is."""


class Environment:
    """All that can be reached from `roots` (pairs of name and object), as it is now.

    tensors: (name, tensor) pairs; problem: why no program can be right here, or None.
    """

    def __init__(self, roots: Iterable[tuple[str, Any]]) -> None:
        self.guards: list[Guard] = []
        self.leaves: list[TensorGuard] = []
        self.tensors: list[tuple[str, Tensor]] = []
        self.optimizers: list[Optimizer] = []
        self.problem: str | None = None
        self._seen: dict[int, Any] = {}
        # attributes in the code found, and what the library calls
        self._words = {"forward", "rule", "numbers", "__call__"}
        self._kinds: dict[int, type] = {}
        self._names_gradients = False
        self._dynamic = False  # whether the code asks for attributes by names that it computes
        self._objects: list[tuple[str, Any, set[str]]] = []
        self._queue: list[tuple[str, Any]] = []
        self._weak: list[tuple[str, weakref.ReferenceType[Any]]] = []
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
                break
        for name, reference in self._weak:  # a guard would keep what it refers to alive
            if reference() is not None and id(reference()) not in self._seen:
                self.problem = f"it finds an object by a weak reference alone ({name})"

    def difference(self, gradients: bool = True) -> str | None:
        """What is not as it was, in words; None if nothing."""
        for guard in self.guards:
            found = guard.difference()
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

    def holds(self, thing: Any) -> bool:
        """Whether an object was found."""
        return id(thing) in self._seen

    def obstacle(self) -> str | None:
        """Why nothing can be recorded now, in words; None if it can."""
        return self.problem or next(
            (p for leaf in self.leaves if (p := leaf.problem()) is not None), None
        )

    # ------------------------------------------------------------------------------------- the walk

    def _visit(self, name: str, thing: Any) -> None:
        if id(thing) in self._seen or thing is MISSING:
            return
        if isinstance(thing, PLAIN) and not is_users_class(type(thing)):
            return
        if len(self._seen) >= MOST:
            self.problem = (
                f"it can reach more than {MOST:,} things (the last was {name}): give it what it"
                " needs as arguments"
            )
            return
        self._seen[id(thing)] = thing
        if type(thing) is _KindOf:
            self._kind(name, thing)
        elif type(thing) in UNWRAPPED:
            self._visit(name, getattr(thing, UNWRAPPED[type(thing)]))
        elif isinstance(thing, Tensor):
            self.tensors.append((name, thing))
            self.leaves.append(TensorGuard(name, thing))
        elif isinstance(thing, CALLABLES):
            self._callable(name, thing)
        elif isinstance(thing, types.MethodType):
            self._visit(name, thing.__func__)
            self._queue.append((_owner(name), thing.__self__))
        elif isinstance(thing, functools.partial):
            self._queue += [(name, thing.func), (name, thing.args), (name, thing.keywords)]
        elif isinstance(thing, operator.attrgetter | operator.methodcaller):
            self._accessor(name, thing)
        elif isinstance(thing, Optimizer):
            self._optimizer(name, thing)
        elif isinstance(thing, weakref.ReferenceType):
            self._weak.append((name, thing))
        elif isinstance(thing, contextvars.ContextVar):
            self._guard(name, [name], lambda: [thing.get(MISSING)])
        elif not self._container(name, thing):
            self._other(name, thing)

    def _container(self, name: str, thing: Any) -> bool:
        """Guard the items of a container; whether it is one."""
        if isinstance(thing, dict | types.MappingProxyType):
            labels = [f"a key of {name}"] * len(thing) + [f"{name}[{key!r}]" for key in thing]
            self._guard(name, labels, lambda: itertools.chain(thing, thing.values()))
            self._more_than(dict, name, thing)
        elif isinstance(thing, list | tuple | collections.deque):
            few = type(thing) in (list, tuple) and len(thing) <= FEW
            paths = [(thing, f"[{i}]") for i in range(len(thing))] if few else []
            labels = [f"{name}[{i}]" for i in range(len(thing))]
            self._guard(name, labels, lambda: thing, paths, (thing, ""))
            self._more_than((list, tuple, collections.deque), name, thing)
        elif isinstance(thing, set | frozenset):
            self._guard(name, [f"an item of {name}"] * len(thing), lambda: thing)
        elif isinstance(thing, bytearray | memoryview | arrays_of_python.array):
            self._bytes(name, thing, memoryview(thing).nbytes)
        else:
            return False
        return True

    def _other(self, name: str, thing: Any) -> None:
        """An object that is no container."""
        effect = python_code.effect_of(thing)
        wrapped = inspect.getattr_static(thing, "__wrapped__", None)
        if has(thing, "dtype", "nbytes", "tobytes"):
            self._array(name, thing)
        elif effect is not None:
            self.problem = f"it {effect} ({name}), which a replay would not do"
        elif type(type(thing)).__module__ == "_ctypes":
            self.problem = f"it can reach {name}, memory of ctypes, which may change unseen"
        elif isinstance(thing, types.ModuleType | pathlib.Path):
            self._objects.append((name, thing, set()))
        elif isinstance(thing, backend.numpy.ufunc) and all("O" in t for t in thing.types):
            self.problem = f"it can reach {name}, a function that np.frompyfunc has wrapped"
        elif isinstance(thing, IMMUTABLE_KINDS):
            return
        elif isinstance(wrapped, types.FunctionType):  # a cached function
            if hasattr(thing, "cache_info"):  # how often it was computed, how many results it has
                read = lambda: thing.cache_info()[1::2]
                self.guards.append(Guard(name, [f"what {name} has cached"] * 2, read, fresh=True))
            self._visit(name, wrapped)
        elif isinstance(thing, Primitive):  # the library's own functions are not looked through
            rules = [r.function for r in (*thing.pull_rules, *thing.push_rules) if r is not None]
            self._queue += [
                (name, f)
                for f in (thing.forward, *rules)
                if is_users(getattr(getattr(f, "__code__", None), "co_filename", ""))
            ]
        elif not isinstance(thing, Program):
            self._object(name, thing, set())

    def _callable(self, name: str, thing: Any) -> None:
        """A function or a class."""
        if isinstance(thing, abc.ABCMeta):  # classes can be registered with it at any time
            self._guard(name, ["the classes registered with ABCs"], lambda: [abc.get_cache_token()])
        if isinstance(thing, type) and is_users_class(thing):
            self._objects.append((thing.__name__, thing, set()))
            bases = [kind for kind in thing.__mro__[1:] if is_users_class(kind)]
            self._queue += [(kind.__name__, kind) for kind in (type(thing), *bases)]
            return
        if isinstance(thing, types.FunctionType):
            self._function(name, thing)
            self._objects.append((name, thing, set()))
            if is_users(thing.__code__.co_filename):
                return
        elif isinstance(thing, types.BuiltinFunctionType):
            owner = thing.__self__
            if not isinstance(owner, types.ModuleType | None):  # a bound method
                self._queue.append((_owner(name), owner))
                return
        self._foreign(name, thing)

    def _kind(self, name: str, kind: _KindOf) -> None:
        """The class of an object that was found, which the code need not call: what makes new
        objects does not count."""
        if not is_users_class(kind.kind):
            self._visit(name, kind.kind)
        elif id(kind.kind) not in self._seen and id(kind.kind) not in self._kinds:
            self._kinds[id(kind.kind)] = kind.kind
            self._objects.append((name, kind.kind, {"__init__", "__new__"}))
            self._queue.append((name, _KindOf(type(kind.kind))))

    def _foreign(self, name: str, thing: Any) -> None:
        """A function or class of which the code cannot be followed."""
        module, own = thing.__module__ or "builtins", thing.__name__
        if isinstance(thing, types.FunctionType):  # which may bear the name of one that it wraps
            module, own = thing.__globals__.get("__name__", module), thing.__code__.co_name
        if module.partition(".")[0] == "minigrad":
            self._names_gradients = self._names_gradients or "grad" in own
            effect = None if isinstance(thing, type) else LIBRARY_EFFECTS.get(own)
        elif isinstance(thing, type) and issubclass(thing, BaseException):
            effect = None
        else:
            effect = foreign_effect(module, own)
            self._dynamic = self._dynamic or module.partition(".")[0] in REFLECTING
        if effect is not None:
            self.problem = f"it {effect} ({name}), which a replay would not do"

    def _accessor(self, name: str, thing: Any) -> None:
        """An object that reads an attribute, or calls a method, of what it is given."""
        made, arguments = thing.__reduce__()[:2]
        if isinstance(made, functools.partial):
            arguments = (*arguments, *made.args, made.keywords)
        texts = [part for a in arguments if isinstance(a, str) for part in a.split(".")]
        self._words.update(texts)
        self._queue += [(name, a) for a in arguments]

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
            self.guards.append(Guard(name, [name], lambda: [bytes(thing)], fresh=True))

    def _object(self, name: str, thing: Any, known: set[str]) -> None:
        """An object of any other kind; `known`: attributes that are not to be looked at."""
        kinds = [kind for kind in type(thing).__mro__ if is_users_class(kind)]
        slots = any("__slots__" in vars(kind) for kind in type(thing).__mro__ if kind is not object)
        if not hasattr(thing, "__dict__") and not slots and type(thing) is not object:
            self.problem = (
                f"it can reach {name}, a {type(thing).__module__}.{type(thing).__name__}, into"
                " which Python cannot look: give it what it needs of that as arguments"
            )
            return
        self._objects.append((name, thing, known))
        if kinds or isinstance(thing, NOTHING_OF_THEIR_OWN):
            own: Any = vars(thing) if hasattr(thing, "__dict__") else SlotAttributes(thing)
            labels = [f"the class of {name}"]
            labels += [f"the names of the attributes of {name}"] * len([*own])
            self.guards.append(Guard(name, labels, lambda: (type(thing), *own)))
        self._queue += [(kind.__name__, _KindOf(kind)) for kind in kinds]
        if isinstance(thing, BaseException):
            self._guard(name, [f"{name}.args"], lambda: [thing.args])

    def _guard(self, *variables: Any) -> None:
        """Ask a guard of these variables in each replay, and look at what their values lead to."""
        guard = Guard(*variables)
        self.guards.append(guard)
        self._queue += zip(guard.labels, guard.kept, strict=False)

    def _function(self, name: str, function: types.FunctionType) -> None:
        code, cells = function.__code__, function.__closure__ or ()
        if not is_users(code.co_filename):
            if cells:
                read = lambda: [cell_content(c) for c in cells]
                self._guard(name, list(code.co_freevars), read, cell_paths(cells))
            self._queue += [(name, function.__defaults__), (name, function.__kwdefaults__)]
            return
        labels = [f"the code of {name}", f"the defaults of {name}", f"the defaults of {name}"]
        labels += code.co_freevars
        labels += [f"{name}.{attribute}" for attribute in vars(function)]
        own = [(function, f".{what}") for what in ("__code__", "__defaults__", "__kwdefaults__")]
        self._guard(
            name,
            labels,
            lambda: [
                function.__code__,
                function.__defaults__,
                function.__kwdefaults__,
                *map(cell_content, cells),
                *vars(function).values(),
            ],
            [*own, *cell_paths(cells)],
            (function, ".__dict__"),
        )
        names = python_code.names_in(code)
        self._words |= names.attributes
        every = names.variables | names.attributes
        self._names_gradients = self._names_gradients or any(
            "grad" in n or n in _GRADIENT_WORDS for n in every
        )
        self._dynamic = self._dynamic or names.dynamic or not DYNAMIC.isdisjoint(every)
        unseen = [UNSEEN_ATTRIBUTES[n] for n in sorted(every & UNSEEN_ATTRIBUTES.keys())]
        if unseen:
            self.problem = f"{function.__name__} {unseen[0]}, which no guard sees"
            return
        self._imports(name, function, names.imports)
        found = function.__globals__
        wanted = sorted(names.variables)
        if wanted:
            self._guard(
                name,
                wanted,
                lambda: [found.get(n, MISSING) for n in wanted],
                item_paths(found, wanted),
            )
        python = vars(builtins)
        others = [n for n in wanted if n not in found]
        if others:
            read = lambda: [python.get(n, MISSING) for n in others]
            self._guard(name, others, read, item_paths(python, others))

    def _imports(
        self, name: str, function: types.FunctionType, imports: Iterable[tuple[int, str]]
    ) -> None:
        """The modules that a function imports while it runs."""
        package = function.__globals__.get("__package__") or ""
        wanted: list[str] = []
        for level, module in sorted(imports):
            full = importlib.util.resolve_name("." * level + module, package) if level else module
            wanted += dict.fromkeys((full.partition(".")[0], full))
        if wanted:
            modules = sys.modules
            read = lambda: [modules.get(n, MISSING) for n in wanted]
            self._guard(name, wanted, read, item_paths(modules, wanted))

    def _optimizer(self, name: str, optimizer: Optimizer) -> None:
        """Its settings. Its state changes with each step, and programs read it again; rates on a
        schedule likewise."""
        self.optimizers.append(optimizer)
        groups = [*optimizer.param_groups, optimizer.defaults]
        for group in groups:
            self._seen[id(group)] = group
            keys = [key for key in group if key not in optimizer.scheduled and key != "initial_lr"]
            self._guard(
                name,
                [f"the setting {key}" for key in keys],
                functools.partial(values_of, group, keys),
                item_paths(group, keys),
            )
        labels = [f"{name}.param_groups[{i}]" for i in range(len(optimizer.param_groups))]
        self._guard(f"{name}.param_groups", labels, lambda: optimizer.param_groups)
        self._object(name, optimizer, {"defaults", "param_groups", "_known", "_stepped"})

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
        if getattr(array.dtype, "hasobject", False):
            labels = [f"an item of {name}"] * array.size
            self._guard(name, labels, lambda: array.ravel().tolist())
        else:
            read = functools.partial(_array_as_it_is, array)
            self.guards.append(Guard(name, [name] * len(read()), read, fresh=True))
        if type(array) not in backend.MODULES and hasattr(array, "__dict__"):  # a class of a user's
            self._object(name, array, set())

    def _attributes(self, name: str, instance: Any, known: set[str]) -> None:
        """Guard those attributes of an object that the code can ask for: all of the library's
        own objects, else those it names."""
        a_class = isinstance(instance, type)
        described = DESCRIBED if self._dynamic else DESCRIBED & self._words
        if described - known and isinstance(instance, type | types.FunctionType):
            known |= described
            asked = sorted(n for n in described if hasattr(instance, n))
            labels = [f"{name}.{n}" for n in asked]
            self._guard(name, labels, lambda: [getattr(instance, n) for n in asked])
        if isinstance(instance, types.FunctionType):
            return
        if isinstance(instance, Optimizer):
            self._settings(name, instance, known)
        own: Any = vars(instance) if hasattr(instance, "__dict__") else SlotAttributes(instance)
        if isinstance(instance, pathlib.Path) and (asked := sorted(READS_FILES & self._words)):
            self.problem = f"it asks the operating system ({name}.{asked[0]}), which no guard sees"
            return
        if isinstance(instance, types.ModuleType) and not is_users_module(instance):
            self._of_module(name, instance, known)
            return
        ours = isinstance(instance, Module) or is_library(type(instance))
        foreign = not (
            ours
            or is_users_class(type(instance))
            or isinstance(instance, (types.ModuleType, pathlib.Path, *NOTHING_OF_THEIR_OWN))
        )
        if not a_class and (ours or foreign) and not isinstance(instance, Optimizer):
            if not known:
                known.add("")
                self._guard(name, [f"{name}.{key}" for key in own], own.values)
            return
        if a_class and "" not in known:  # another attribute may change what operators mean
            known.add("")
            label = f"how many attributes {name} has"
            self.guards.append(Guard(name, [label], lambda: [len(own)], fresh=True))
        every = self._dynamic and not isinstance(instance, Optimizer)
        called = called_by_the_library(instance) if a_class else frozenset()
        new = sorted(
            k
            for k in own
            if k not in known
            and (
                k in self._words
                or k in called
                or every
                or (a_class and is_special(k, own[k]))
                or (k == "__getattr__" and isinstance(instance, types.ModuleType))
            )
        )
        if every and not a_class and "" not in known and type(own) is dict:
            known.add("")
            self._guard(name, [f"the names of the attributes of {name}"] * len(own), lambda: own)
        if new:
            known.update(new)
            self._guard(
                name,
                [f"{name}.{key}" for key in new],
                lambda: [plain_attribute(own.get(key, MISSING)) for key in new],
                item_paths(own, new),
            )

    def _settings(self, name: str, optimizer: Optimizer, known: set[str]) -> None:
        """Guard an optimiser's settings (rates on a schedule too), where the code reads some."""
        if "settings" not in known and not self._words.isdisjoint(SETTINGS):
            known.add("settings")
            for group in (*optimizer.param_groups, optimizer.defaults):
                labels = [f"the setting {key}" for key in group]
                self.guards.append(Guard(name, labels, group.values))

    def _of_module(self, name: str, module: Any, known: set[str]) -> None:
        """What the code can ask of a module of others: its data, and functions, which are not
        followed."""
        own = vars(module)
        if module.__name__ == "minigrad":  # some of its names are found when they are asked for
            asked = [k for k in sorted(LIBRARY_EFFECTS.keys() & self._words) if hasattr(module, k)]
            if asked:
                self._foreign(f"{name}.{asked[0]}", getattr(module, asked[0]))
        new = sorted(k for k in self._words - known if k in own)
        known.update(new)
        functions = [k for k in new if isinstance(own[k], CALLABLES)]
        for k in functions:
            effect = foreign_effect(module.__name__, k)
            if effect is not None:
                self.problem = f"it {effect} ({module.__name__}.{k}), which a replay would not do"
                return
            self._foreign(f"{name}.{k}", own[k])
        if functions:
            read = lambda: [own.get(k, MISSING) for k in functions]
            self.guards.append(Guard(name, functions, read, item_paths(own, functions)))
        data = [k for k in new if k not in functions]
        if data:
            labels = [f"{name}.{k}" for k in data]
            self._guard(
                name, labels, lambda: [own.get(k, MISSING) for k in data], item_paths(own, data)
            )


# ------------------------------------------------------------------------------------------ helpers


class _KindOf(NamedTuple):
    """A class that was found as the class of an object."""

    kind: type


def _array_as_it_is(array: Any) -> list[Any]:
    return [array.tobytes(), array.dtype, backend.is_writable(array), *array.shape]


def _owner(name: str) -> str:
    return name.partition(".")[0]
