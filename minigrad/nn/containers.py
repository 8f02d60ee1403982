"""Modules that hold others: a chain, lists and dictionaries of modules and of parameters. Their
names and methods are PyTorch's.

Members are attributes under their names, so that registration, state and hooks are those of any
module. Kinder than PyTorch: a plain function may be a stage of a `Sequential`; a parameter list or
dict makes parameters of arrays and numbers too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import index as as_index
from typing import Any, TypeVar

from .. import backend
from ..core.tensor import Tensor
from ..roles import role_of
from .module import Module
from .parameter import Parameter

L = TypeVar("L", bound="_Listed")


class _Container(Module):
    """What all of them share."""

    def _names(self) -> list[str]:
        return [name for name, kind in self._kinds.items() if kind == "module"]

    def __len__(self) -> int:
        return len(self._names())


class _Listed(_Container):
    """What a chain and the lists share: members named "0", "1", …, in this order."""

    def _put(self, name: str, member: Any) -> None:
        """Make a member an attribute. Raises TypeError for what is none."""
        if not isinstance(member, Module):
            raise TypeError(
                f"{type(self).__name__}: member {name} is {_called(member)}, not a Module."
            )
        self._register(name, "module", member)

    def _renamed(self, members: Iterable[Any]) -> None:
        """Take these members in place of those that there are, numbered from 0."""
        members = list(members)
        for name in self._names():
            delattr(self, name)
        for number, member in enumerate(members):
            self._put(str(number), member)

    def _at(self, index: Any, end: int = 0) -> int:
        """The number of a member from 0. Raises TypeError, IndexError."""
        number, count = as_index(index), len(self) + end
        if not -len(self) <= number < max(count, 0):
            raise IndexError(
                f"{type(self).__name__}: index {number} is out of range; it has {len(self)}"
                " members."
            )
        return number if number >= 0 else number + len(self)

    def __iter__(self) -> Iterator[Any]:
        values = vars(self)
        return iter([values[name] for name in self._names()])

    def __contains__(self, member: object) -> bool:
        return any(m is member for m in self)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return vars(self)[self._names()[self._at(index)]]

    def __setitem__(self, index: Any, member: Any) -> None:
        if isinstance(index, slice):
            members = list(self)
            members[index] = member
            self._renamed(members)
        else:
            self._put(self._names()[self._at(index)], member)

    def __delitem__(self, index: Any) -> None:
        members = list(self)
        del members[index if isinstance(index, slice) else self._at(index)]
        self._renamed(members)

    def __add__(self: L, others: Any) -> L:
        if not isinstance(others, Iterable):
            return NotImplemented
        return type(self)([*self, *others])

    def __iadd__(self: L, others: Any) -> L:
        return self.extend(others)

    def append(self: L, member: Any) -> L:
        """Add a member at the end; returns the container."""
        self._put(str(len(self)), member)
        return self

    def extend(self: L, members: Iterable[Any]) -> L:
        """Add members at the end; returns the container. Raises TypeError for what cannot be
        iterated.
        """
        if not isinstance(members, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend: needs an iterable of members, got"
                f" {_called(members)}."
            )
        for member in list(members):
            self.append(member)
        return self

    def insert(self, index: int, member: Any) -> Any:
        """Put a member before the one at `index`."""
        members = list(self)
        members.insert(index, member)
        self._renamed(members)

    def pop(self, index: Any = -1) -> Any:
        """Take a member out, or a slice of them, and return it."""
        member = self[index]
        del self[index]
        return member


class Sequential(_Listed):
    """Modules (or plain functions) called one after another. Indexing gives a member, slicing a
    shorter Sequential.
    """

    def __init__(self, *stages: Any) -> None:
        if len(stages) == 1 and isinstance(stages[0], list | tuple):
            stages = tuple(stages[0])
        named = (
            stages[0]
            if len(stages) == 1 and isinstance(stages[0], Mapping)
            else {str(i): stage for i, stage in enumerate(stages)}
        )
        for name, stage in named.items():
            self._check_name("Sequential", name, "module")
            self._put(name, stage)

    def _put(self, name: str, member: Any) -> None:
        if isinstance(member, type) and issubclass(member, Module):
            raise TypeError(
                f"Sequential: stage {name} is the class {member.__name__}, not a layer. Make one of"
                f" it: {member.__name__}(…)."
            )
        if not callable(member):
            raise TypeError(
                f"Sequential: stage {name} is {_called(member)}, which cannot be called."
            )
        self._register(name, "module", member)

    def forward(self, x: Any) -> Any:
        """The stages' composition."""
        for stage in self:
            x = stage(x)
        return x

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Sequential({name: vars(self)[name] for name in self._names()[index]})
        return super().__getitem__(index)

    def __add__(self, others: Any) -> Sequential:
        if not isinstance(others, Sequential):
            return NotImplemented
        return Sequential(*self, *others)

    def __mul__(self, times: int) -> Sequential:
        """The stages repeated `times` times; the repetitions share their parameters."""
        if not isinstance(times, int):
            return NotImplemented
        if times < 1:
            raise ValueError(f"Sequential: it can be repeated once or more, got {times} times.")
        return Sequential(*list(self) * times)

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Sequential:
        repeated = self.__mul__(times)
        if repeated is not NotImplemented:
            self._renamed(repeated)
            return self
        return NotImplemented

    def insert(self, index: int, member: Any) -> Sequential:
        """Put a stage before the one at `index`; returns the Sequential. Raises IndexError where
        there is no such place.
        """
        members = list(self)
        members.insert(self._at(index, end=1), member)
        self._renamed(members)
        return self


class ModuleList(_Listed):
    """A list of modules. Members are named "0", "1", …"""

    def __init__(self, modules: Iterable[Any] = ()) -> None:
        self.extend(modules)

    def __repr__(self) -> str:
        """PyTorch's text, in which equal members that follow one another share a line."""
        runs: list[list[Any]] = []
        for number, member in enumerate(map(repr, self)):
            if runs and runs[-1][2] == member:
                runs[-1][1] = number
            else:
                runs.append([number, number, member])
        if not runs:
            return f"{type(self).__name__}()"
        lines = [
            f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}"
            for a, b, text in runs
        ]
        return (
            f"{type(self).__name__}(\n"
            + "".join("  " + line.replace("\n", "\n  ") + "\n" for line in lines)
            + ")"
        )


class ParameterList(_Listed):
    """A list of parameters, named "0", "1", …; a tensor, or an array, becomes one. Other values
    are kept as they are.
    """

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._size = 0
        self.extend(values)

    def _names(self) -> list[str]:
        return [str(i) for i in range(self._size)]

    def _put(self, name: str, member: Any) -> None:
        setattr(self, name, _parameter(member))
        self._size = max(self._size, int(name) + 1)

    def _renamed(self, members: Iterable[Any]) -> None:
        super()._renamed(members := list(members))
        self._size = len(members)

    def extra_repr(self) -> str:
        return ", ".join(_form(p) for p in self)


class _Named(_Container):
    """What dictionaries share: members under names of their own, which no method has."""

    def __init__(self, members: Any = ()) -> None:
        self.update(members)

    def _put(self, name: str, member: Any) -> None:
        raise NotImplementedError

    def update(self, members: Any) -> None:
        """Add members: a dict, or pairs of name and member."""
        if not isinstance(members, Iterable):
            raise TypeError(
                f"{type(self).__name__}.update: needs a dict, or pairs of name and member, got"
                f" {_called(members)}."
            )
        for name, member in members.items() if hasattr(members, "items") else members:
            self[name] = member

    def __setitem__(self, name: str, member: Any) -> None:
        if name not in self._names():
            self._check_name(type(self).__name__, name, "")
        self._put(name, member)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names():
            raise KeyError(
                f"{type(self).__name__} has no member {name!r}; it has"
                f" {', '.join(self._names()) or 'none'}."
            )
        return vars(self)[name]

    def __delitem__(self, name: str) -> None:
        self[name]
        delattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names())

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def keys(self) -> Any:
        """The names."""
        return dict(self.items()).keys()

    def values(self) -> Any:
        """The members."""
        return dict(self.items()).values()

    def items(self) -> Any:
        """Names and members."""
        return {name: vars(self)[name] for name in self._names()}.items()

    def pop(self, name: str) -> Any:
        """Take a member out."""
        member = self[name]
        del self[name]
        return member

    def clear(self) -> None:
        """Take all members out."""
        for name in self._names():
            del self[name]


class ModuleDict(_Named):
    """Modules by name. Raises TypeError for what is no module, KeyError for a name that is
    taken, empty or dotted.
    """

    def _put(self, name: str, member: Any) -> None:
        if not isinstance(member, Module):
            raise TypeError(f"ModuleDict: {name!r} is {_called(member)}, not a Module.")
        self._register(name, "module", member)


class ParameterDict(_Named):
    """Parameters by name; a tensor, or an array, becomes one. Other values are kept as they are."""

    def __init__(self, parameters: Any = ()) -> None:
        self._keys: dict[str, None] = {}
        super().__init__(parameters)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._keys = dict(self._keys)

    def _names(self) -> list[str]:
        return list(self._keys)

    def _put(self, name: str, member: Any) -> None:
        setattr(self, name, _parameter(member))
        self._keys[name] = None

    def update(self, members: Any) -> None:
        """Add members: a dict, in the order of the sorted names, as in PyTorch; or pairs of name
        and member, an OrderedDict, a ParameterDict."""
        super().update(sorted(members.items()) if type(members) is dict else members)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        del self._keys[name]

    def get(self, name: str, default: Any = None) -> Any:
        """A member, or `default` where there is none of this name."""
        return vars(self)[name] if name in self else default

    def setdefault(self, name: str, default: Any = None) -> Any:
        """A member, which is `default` from now on where there was none of this name."""
        if name not in self:
            self[name] = default
        return self[name]

    def popitem(self) -> tuple[str, Any]:
        """Take the last member out, with its name. Raises KeyError where there is none."""
        if not self._keys:
            raise KeyError("popitem: the ParameterDict is empty.")
        name = list(self._keys)[-1]
        return name, self.pop(name)

    def copy(self) -> ParameterDict:
        """A ParameterDict with the same members."""
        return ParameterDict(list(self.items()))

    def fromkeys(self, names: Iterable[str], default: Any = None) -> ParameterDict:
        """A ParameterDict with a member of each name, all of them `default`."""
        return ParameterDict([(name, default) for name in names])

    def __or__(self, other: Any) -> ParameterDict:
        if not isinstance(other, ParameterDict):
            return NotImplemented
        return ParameterDict([*self.items(), *other.items()])

    def __ior__(self, other: Any) -> ParameterDict:
        if not isinstance(other, ParameterDict):
            return NotImplemented
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return ", ".join(f"{name}: {_form(p)}" for name, p in self.items())


def _parameter(value: Any) -> Any:
    """A Parameter of a tensor, an array or a number; anything else as it is."""
    if role_of(value) == "parameter":
        return value
    if (
        isinstance(value, Tensor | backend.NumpyArray | float | complex)
        or type(value) in backend.MODULES
    ):
        return Parameter(value)
    return value


def _form(value: Any) -> str:
    return str(value.shape) if isinstance(value, Tensor) else repr(value)


def _called(value: Any) -> str:
    return type(value).__name__ if not isinstance(value, type) else f"the class {value.__name__}"
