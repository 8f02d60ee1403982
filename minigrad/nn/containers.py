"""Modules that hold others: a chain, lists and dictionaries of modules and of parameters.

A plain list or dict as an attribute of a module serves as well (module.py finds what is in it); these have PyTorch's names and methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..tensor import Tensor
from .layers import Parameter
from .module import Module


class Sequential(Module):
    """Modules (or plain functions) called one after another. Indexing gives a member, slicing a shorter Sequential."""

    def __init__(self, *stages: Any) -> None:
        if len(stages) == 1 and isinstance(stages[0], list | tuple):
            stages = tuple(stages[0])
        named = stages[0] if len(stages) == 1 and isinstance(stages[0], dict) else {str(i): stage for i, stage in enumerate(stages)}
        self._stages = list(named)
        for name, stage in named.items():
            if isinstance(stage, type) and issubclass(stage, Module):
                raise TypeError(
                    f"Sequential: stage {name} is the class {stage.__name__}, not a layer. Make one of it: {stage.__name__}(…)."
                )
            if not callable(stage):
                raise TypeError(f"Sequential: stage {name} is {type(stage).__name__}, which cannot be called.")
            setattr(self, name, stage)

    def forward(self, x: Any) -> Any:
        """The stages' composition."""
        for name in self._stages:
            x = getattr(self, name)(x)
        return x

    def __len__(self) -> int:
        return len(self._stages)

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, name) for name in self._stages)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Sequential({name: getattr(self, name) for name in self._stages[index]})
        return getattr(self, self._stages[index])

    def append(self, stage: Any) -> Sequential:
        """Add a stage at the end; returns the Sequential."""
        name = str(len(self._stages))
        self._stages.append(name)
        setattr(self, name, stage)
        return self


class ModuleList(Module):
    """A list of modules. Members are named "0", "1", …"""

    def __init__(self, modules: Any = ()) -> None:
        self.items = list(modules)

    def _members(self) -> Iterator[tuple[str, Any]]:
        return ((str(i), m) for i, m in enumerate(self.items))

    def _exchange(self, path: str, value: Any) -> None:
        if path == str(len(self.items)):
            self.items.append(value)
        else:
            self.items[int(path)] = value

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Module]:
        return iter(self.items)

    def __getitem__(self, index: int) -> Module:
        return self.items[index]  # type: ignore[no-any-return]

    def __setitem__(self, index: int, module: Module) -> None:
        self.items[index] = module

    def append(self, module: Module) -> ModuleList:
        """Add a module at the end; returns the list."""
        self.items.append(module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add modules at the end; returns the list."""
        self.items.extend(modules)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at `index`."""
        self.items.insert(index, module)


class _Named(Module):
    """What dictionaries share: members under names of their own."""

    def __init__(self, members: Any = ()) -> None:
        self._members_by_name: dict[str, Any] = {}
        self.update(members)

    def _members(self) -> Iterator[tuple[str, Any]]:
        return iter(self._members_by_name.items())

    def _exchange(self, path: str, value: Any) -> None:
        self._members_by_name[path] = value

    def update(self, members: Any) -> None:
        """Add members: a dict, or pairs of name and member."""
        for name, member in members.items() if hasattr(members, "items") else members:
            self[name] = member

    def __setitem__(self, name: str, member: Any) -> None:
        if not isinstance(name, str) or not name or "." in name:
            raise ValueError(f"{type(self).__name__}: a name is a string without dots, got {name!r}.")
        self._members_by_name[name] = self._checked(name, member)

    def _checked(self, name: str, member: Any) -> Any:
        raise NotImplementedError

    def __getitem__(self, name: str) -> Any:
        if name not in self._members_by_name:
            raise KeyError(f"{type(self).__name__} has no member {name!r}; it has {', '.join(self._members_by_name) or 'none'}.")
        return self._members_by_name[name]

    def __delitem__(self, name: str) -> None:
        del self._members_by_name[name]

    def __len__(self) -> int:
        return len(self._members_by_name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members_by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._members_by_name

    def keys(self) -> Any:
        """The names."""
        return self._members_by_name.keys()

    def values(self) -> Any:
        """The members."""
        return self._members_by_name.values()

    def items(self) -> Any:
        """Names and members."""
        return self._members_by_name.items()

    def pop(self, name: str) -> Any:
        """Take a member out."""
        return self._members_by_name.pop(name)


class ModuleDict(_Named):
    """Modules by name. Raises TypeError for what is no module."""

    def _checked(self, name: str, member: Any) -> Any:
        if not isinstance(member, Module):
            raise TypeError(f"ModuleDict: {name!r} is {type(member).__name__}, not a Module.")
        return member


class ParameterDict(_Named):
    """Parameters by name; a tensor without requires_grad, or an array, becomes one."""

    def _checked(self, name: str, member: Any) -> Any:
        return _parameter(member)

    def _is_parameter(self, name: str, value: Tensor) -> bool:
        return True

    def extra_repr(self) -> str:
        return ", ".join(f"{name}: {p.shape}" for name, p in self.items())


class ParameterList(Module):
    """A list of parameters, named "0", "1", …; a tensor without requires_grad, or an array, becomes one."""

    def __init__(self, parameters: Iterable[Any] = ()) -> None:
        self._list: list[Tensor] = []
        self.extend(parameters)

    def _members(self) -> Iterator[tuple[str, Any]]:
        return ((str(i), p) for i, p in enumerate(self._list))

    def _is_parameter(self, name: str, value: Tensor) -> bool:
        return True

    def _exchange(self, path: str, value: Any) -> None:
        self._list[int(path)] = value

    def __len__(self) -> int:
        return len(self._list)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._list)

    def __getitem__(self, index: int) -> Tensor:
        return self._list[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self._list[index] = _parameter(value)

    def append(self, value: Any) -> ParameterList:
        """Add a parameter at the end; returns the list."""
        self._list.append(_parameter(value))
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add parameters at the end; returns the list."""
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return ", ".join(str(p.shape) for p in self._list)


def _parameter(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) and value.requires_grad else Parameter(value)
